//! Headers: who asks, why, from where in git, on what condition, whether to release it, and how to recognise the
//! request again.

use std::borrow::Cow;

use axum::http::{HeaderMap, HeaderName, header};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use folio_core::request::Releasing;
use folio_model::Git;
use percent_encoding::percent_decode_str;

use crate::refusal::Refusal;

/// The header that makes repeating a request safe.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header that says why.
pub(crate) const REASON: HeaderName = HeaderName::from_static("folio-reason");
/// The header that says where the caller's files stand in git.
pub(crate) const GIT: HeaderName = HeaderName::from_static("folio-git");

/// The header that says what becomes of the app version that a change makes.
pub(crate) const RELEASING: HeaderName = HeaderName::from_static("folio-releasing");

const KEY_BYTES_MAX: usize = 200;
const GIT_TEXT_BYTES_MAX: usize = 256;

/// What `If-Match` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfMatch {
    /// That the thing exists.
    Any,
    /// That it is at this revision.
    Revision(u64),
}

/// The token a request carries, as a bearer's or as the password of whoever names themselves. Something that is not
/// a token is handed on as one that nobody has.
pub(crate) fn token(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?;
    let (scheme, rest) = value.to_str().unwrap_or_default().split_once(' ').unwrap_or_default();
    let found = match values.next() {
        None if scheme.eq_ignore_ascii_case("bearer") => Some(Cow::Borrowed(rest.trim())),
        None if scheme.eq_ignore_ascii_case("basic") => password(rest.trim()).map(Cow::Owned),
        _ => None,
    };
    Some(found.unwrap_or_default())
}

fn password(encoded: &str) -> Option<String> {
    let bytes = BASE64_STANDARD.decode(encoded).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.split_once(':').map(|(_, password)| password.to_owned())
}

pub(super) fn if_match(headers: &HeaderMap) -> Result<Option<IfMatch>, Refusal> {
    let Some(text) = one(headers, &header::IF_MATCH)? else { return Ok(None) };
    if text == "*" {
        return Ok(Some(IfMatch::Any));
    }
    let digits = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let revision = digits
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|digits| digits.parse().ok());
    let refused = || {
        let what = format!("`If-Match: {text}` is not a revision");
        Refusal::bad(what, "send the `ETag` of an earlier answer, such as `If-Match: \"12\"`")
    };
    revision.map(IfMatch::Revision).map(Some).ok_or_else(refused)
}

pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(text) = one(headers, &IDEMPOTENCY_KEY)? else { return Ok(None) };
    let printable = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    if !(1..=KEY_BYTES_MAX).contains(&text.len()) || !text.bytes().all(printable) {
        let what = format!("`Idempotency-Key` is not 1 to {KEY_BYTES_MAX} printable characters");
        return Err(Refusal::bad(what, "send a random UUID"));
    }
    Ok(Some(text.to_owned()))
}

pub(super) fn reason(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let reason = decoded(headers, &REASON)?;
    Ok(reason.filter(|reason| !reason.is_empty()))
}

pub(super) fn git(headers: &HeaderMap) -> Result<Option<Git>, Refusal> {
    let Some(text) = decoded(headers, &GIT)? else { return Ok(None) };
    let refused = |why: String| {
        let what = format!("`Folio-Git`: {why}");
        Refusal::bad(what, "send percent-encoded JSON with `commit`, `branch` and `clean`")
    };
    let git: Git = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    let is_odd = |text: &str| text.len() > GIT_TEXT_BYTES_MAX || text.chars().any(char::is_control);
    if is_odd(&git.commit) || is_odd(&git.branch) {
        let why = format!("over {GIT_TEXT_BYTES_MAX} bytes, or a control character");
        return Err(refused(why));
    }
    Ok(Some(git))
}

pub(super) fn releasing(headers: &HeaderMap) -> Result<Releasing, Refusal> {
    match one(headers, &RELEASING)? {
        None | Some("release") => Ok(Releasing::Release),
        Some("hold") => Ok(Releasing::Hold),
        Some("promote") => Ok(Releasing::Promote),
        Some(other) => {
            let refused = |why: String| {
                let hint = "send `release`, `hold`, `promote` or `aside TAG`, or leave it out";
                Refusal::bad(format!("`Folio-Releasing: {other}` has no meaning{why}"), hint)
            };
            let tag = other.strip_prefix("aside ").ok_or_else(|| refused(String::new()))?;
            let tag = tag.trim().parse().map_err(|error| refused(format!(": {error}")))?;
            Ok(Releasing::Aside(tag))
        }
    }
}

/// Refuses a body that does not say it is of a type. Parameters such as `charset` do not matter.
pub(super) fn media_type(headers: &HeaderMap, expected: &'static str) -> Result<(), Refusal> {
    let found = one(headers, &header::CONTENT_TYPE)?.unwrap_or_default();
    let essence = found.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    let what = format!("the body has to be `{expected}`, and `Content-Type` says `{found}`");
    Err(Refusal::bad(what, "set the header `Content-Type`"))
}

/// A header that may be there once, as text.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    match (value.to_str(), values.next()) {
        (Ok(text), None) => Ok(Some(text.trim())),
        (Ok(_), Some(_)) => {
            Err(Refusal::bad(format!("header `{name}` came more than once"), "send it once"))
        }
        (Err(_), _) => Err(Refusal::bad(
            format!("header `{name}` holds bytes that are not printable ASCII"),
            "percent-encode it",
        )),
    }
}

fn decoded(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Refusal> {
    let Some(text) = one(headers, name)? else { return Ok(None) };
    let text = percent_decode_str(text).decode_utf8().map_err(|_| {
        Refusal::bad(format!("header `{name}` is not UTF-8"), "percent-encode UTF-8 text")
    })?;
    Ok(Some(text.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    fn check(value: &'static str, expected: Option<IfMatch>) {
        let found = if_match(&headers(header::IF_MATCH, value));
        assert_eq!(found.ok().flatten(), expected, "{value}");
    }

    #[test]
    fn a_condition_is_a_star_or_one_quoted_number() {
        check("*", Some(IfMatch::Any));
        check("\"12\"", Some(IfMatch::Revision(12)));
        for odd in [
            "12",
            "\"\"",
            "\"+1\"",
            "\"-1\"",
            "W/\"1\"",
            "\"1\", \"2\"",
            "\"",
            "\"99999999999999999999\"",
        ] {
            check(odd, None);
            assert!(if_match(&headers(header::IF_MATCH, odd)).is_err(), "{odd}");
        }
    }

    #[test]
    fn a_token_is_a_bearers_or_a_password() {
        let token =
            |value| token(&headers(header::AUTHORIZATION, value)).map(std::borrow::Cow::into_owned);
        assert_eq!(token("Bearer abc"), Some("abc".to_owned()));
        assert_eq!(token("bearer  abc "), Some("abc".to_owned()));
        assert_eq!(token("Basic YW5uYTphYmM="), Some("abc".to_owned()));
        for odd in ["Basic abc", "Basic YW5uYQ==", "Bearer", "", "abc"] {
            assert_eq!(token(odd), Some(String::new()), "{odd}");
        }
    }

    #[test]
    fn a_reason_is_percent_encoded_text() {
        let reason = |value| reason(&headers(REASON, value));
        assert_eq!(reason("f%C3%BCr%20Anna").unwrap(), Some("für Anna".to_owned()));
        assert_eq!(reason("").unwrap(), None);
        assert!(reason("%ff").is_err());
    }
}
