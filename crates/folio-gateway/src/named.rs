//! What a request names: the host it is for, and the release it asks for beside that.

use http::header::HOST;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Version};

use crate::authority::{Authority, Host};
use crate::headers::FOLIO_RELEASE;
use crate::problem::Problem;

/// The host that a request names. All places that name one have to agree.
pub(crate) fn named_host(parts: &Parts) -> Result<(Host<'_>, HeaderValue), Problem> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let header = hosts.next();
    if hosts.next().is_some() {
        return Err(Problem::bad("there are two Host headers"));
    }
    let parse = |text| Authority::parse(text).map_err(|_| Problem::bad("the host is malformed"));
    let text =
        header.map(|header| header.to_str().map_err(|_| Problem::bad("the host is malformed")));
    let by_header = text.transpose()?.map(parse).transpose()?;
    let by_target = parts.uri.authority().map(|authority| parse(authority.as_str())).transpose()?;
    let host = match (by_header, by_target) {
        (Some(one), Some(two)) if one != two => {
            return Err(Problem::bad("the target and the Host header name different hosts"));
        }
        (None, Some(_)) if parts.version < Version::HTTP_2 => None,
        (Some(authority), _) | (None, Some(authority)) => Some(authority.host),
        (None, None) => None,
    };
    let host = host.ok_or_else(|| Problem::bad("there is no Host header"))?;
    let named = match (header, parts.uri.authority()) {
        (Some(header), _) => header.clone(),
        (None, Some(authority)) => HeaderValue::from_str(authority.as_str())
            .map_err(|_| Problem::bad("the host is malformed"))?,
        (None, None) => HeaderValue::from_static(""),
    };
    Ok((host, named))
}

/// The release that a request asks for beside its host.
pub(crate) fn named_release(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut named = headers.get_all(FOLIO_RELEASE).iter();
    let Some(first) = named.next() else { return Ok(None) };
    let bad = || Problem::bad("the header `Folio-Release` does not name one release");
    match (first.to_str(), named.next()) {
        (Ok(name), None) => Ok(Some(name.trim())),
        _ => Err(bad()),
    }
}
