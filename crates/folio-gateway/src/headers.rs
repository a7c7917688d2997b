//! Headers that stop here. Nothing a client sends can pass for what folio says, and nothing of one connection
//! leaks into another.

use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};

use crate::settings::GatewayLimits;

pub(crate) const FOLIO_VERSION: HeaderName = HeaderName::from_static("folio-version");
pub(crate) const FOLIO_REQUEST_ID: HeaderName = HeaderName::from_static("folio-request-id");
pub(crate) const FOLIO_CALLER: HeaderName = HeaderName::from_static("folio-caller");
pub(crate) const FOLIO_RELEASE: HeaderName = HeaderName::from_static("folio-release");
pub(crate) const FOLIO_RELEASE_FALLBACK: HeaderName =
    HeaderName::from_static("folio-release-fallback");
pub(crate) const FOLIO_PIN: HeaderName = HeaderName::from_static("folio-pin");
pub(crate) const FOLIO_APP_VERSION: HeaderName = HeaderName::from_static("folio-app-version");
pub(crate) const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");
pub(crate) const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub(crate) const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
pub(crate) const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// Beginnings of names that a client may not use, with dashes for underscores.
const RESERVED_STARTS: [&str; 4] = ["folio-", "x-folio-", "x-fission-", "x-forwarded-"];
/// Names that a client may not use. `proxy` becomes `HTTP_PROXY` where headers become variables.
const RESERVED: [&str; 5] = ["forwarded", "x-real-ip", "proxy", "proxy-connection", "keep-alive"];

/// Whether a head that came over HTTP/2 is over a limit, counted as it would be written over HTTP/1.
pub(crate) fn is_too_large(parts: &Parts, limits: &GatewayLimits) -> bool {
    let line = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + 4;
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    parts.headers.len() > limits.headers_max
        || target + parts.headers.iter().map(line).sum::<usize>() > limits.header_bytes_max
}

/// Removes what a function must not hear from a client.
pub(crate) fn strip_request(headers: &mut HeaderMap) {
    strip_listed(headers);
    strip_where(headers, |name| {
        is_hop(name)
            || *name == PROXY_AUTHORIZATION
            || *name == EXPECT
            || is_reserved(name.as_str())
    });
}

/// Removes what a client must not hear from a function.
pub(crate) fn strip_response(headers: &mut HeaderMap) {
    strip_listed(headers);
    strip_where(headers, |name| {
        is_hop(name) || *name == PROXY_AUTHENTICATE || mapped_starts(name.as_str(), "folio-")
    });
}

/// Leaves a length that a function gave only where it is one and nothing knows better.
pub(crate) fn settle_length(headers: &mut HeaderMap, is_known: bool) {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else { return };
    let digits = |value: &HeaderValue| {
        (1..=18).contains(&value.len()) && value.as_bytes().iter().all(u8::is_ascii_digit)
    };
    if is_known || lengths.next().is_some() || !digits(first) {
        headers.remove(CONTENT_LENGTH);
    }
}

fn strip_where(headers: &mut HeaderMap, doomed: impl Fn(&HeaderName) -> bool) {
    let doomed: Vec<HeaderName> = headers.keys().filter(|name| doomed(name)).cloned().collect();
    for name in doomed {
        headers.remove(name);
    }
}

/// Removes the headers that `Connection` lists. `Host` stays: it names the request, not the connection.
fn strip_listed(headers: &mut HeaderMap) {
    if !headers.contains_key(CONNECTION) {
        return;
    }
    let listed: Vec<HeaderName> = connection_words(headers)
        .filter_map(|word| HeaderName::from_bytes(word.as_bytes()).ok())
        .filter(|name| *name != HOST && *name != CONTENT_LENGTH)
        .collect();
    for name in listed {
        headers.remove(name);
    }
}

/// The words of all `Connection` headers.
pub(crate) fn connection_words(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

fn is_hop(name: &HeaderName) -> bool {
    *name == CONNECTION
        || *name == TE
        || *name == TRAILER
        || *name == TRANSFER_ENCODING
        || *name == UPGRADE
        || *name == KEEP_ALIVE
}

fn is_reserved(name: &str) -> bool {
    // Few headers begin like these.
    if !matches!(name.as_bytes().first(), Some(b'f' | b'x' | b'p' | b'k')) {
        return false;
    }
    RESERVED_STARTS.iter().any(|start| mapped_starts(name, start))
        || RESERVED.iter().any(|word| name.len() == word.len() && mapped_starts(name, word))
}

/// Whether a name begins like this where dashes and underscores are the same.
fn mapped_starts(name: &str, start: &str) -> bool {
    let mapped = name.bytes().map(|byte| if byte == b'_' { b'-' } else { byte });
    name.len() >= start.len() && mapped.zip(start.bytes()).all(|(one, two)| one == two)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_static(value),
            );
        }
        headers
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        headers.keys().map(HeaderName::as_str).collect()
    }

    #[test]
    fn nothing_of_a_client_passes_for_folios() {
        let mut headers = map(&[
            ("Folio-Version", "x"),
            ("FOLIO_REQUEST_ID", "x"),
            ("X-Folio-App", "x"),
            ("x_folio_app", "x"),
            ("X-Fission-Function-Name", "x"),
            ("X_Fission-Params-Id", "x"),
            ("Forwarded", "x"),
            ("X-Forwarded-For", "x"),
            ("x_forwarded_host", "x"),
            ("X-Real-IP", "x"),
            ("X-Real_IP", "x"),
            ("Proxy", "x"),
            ("Proxy-Authorization", "x"),
            ("Expect", "100-continue"),
        ]);
        strip_request(&mut headers);
        assert_eq!(names(&headers), Vec::<&str>::new());
    }

    #[test]
    fn what_looks_similar_stays() {
        let lines = [
            ("x-request-id", "x"),
            ("traceparent", "x"),
            ("folio", "x"),
            ("x-real-ipx", "x"),
            ("x-folio", "x"),
            ("forwarded-by", "x"),
            ("accept", "x"),
            ("host", "x"),
            ("content-length", "1"),
        ];
        let mut headers = map(&lines);
        strip_request(&mut headers);
        assert_eq!(headers.len(), lines.len());
    }

    #[test]
    fn what_belongs_to_the_connection_ends_with_it() {
        let mut headers = map(&[
            ("connection", "close, X-Secret"),
            ("Connection", "x-other, host"),
            ("x-secret", "1"),
            ("x-other", "1"),
            ("host", "h"),
            ("te", "trailers"),
            ("keep-alive", "1"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("trailer", "x"),
            ("proxy-connection", "x"),
        ]);
        strip_request(&mut headers);
        assert_eq!(names(&headers), ["host"]);
    }

    #[test]
    fn a_function_cannot_speak_for_folio() {
        let mut headers = map(&[
            ("folio-version", "x"),
            ("folio_request_id", "x"),
            ("connection", "x-a"),
            ("x-a", "1"),
            ("transfer-encoding", "chunked"),
            ("x-mine", "1"),
            ("x-folio-b", "1"),
        ]);
        strip_response(&mut headers);
        assert_eq!(names(&headers), ["x-mine", "x-folio-b"]);
    }

    #[test]
    fn a_length_is_kept_where_nothing_knows_better() {
        let check = |lines: &[(&'static str, &'static str)], is_known: bool, kept: bool| {
            let mut headers = map(lines);
            settle_length(&mut headers, is_known);
            assert_eq!(headers.contains_key(CONTENT_LENGTH), kept, "{lines:?}");
        };
        check(&[("content-length", "12")], false, true);
        check(&[("content-length", "12")], true, false);
        check(&[("content-length", "12"), ("content-length", "12")], false, false);
        check(&[("content-length", "+12")], false, false);
    }
}
