//! Paths of requests: what may be asked for, and what a function sees of it. Nothing is normalised: a path that
//! two programs could read differently is refused.

use std::borrow::Cow;

use bytes::Bytes;
use http::Uri;
use http::uri::PathAndQuery;

use crate::problem::Problem;
use crate::served::View;

/// Checks a path and undoes its percent escapes, once.
pub(crate) fn check(path: &str) -> Result<Cow<'_, str>, Problem> {
    if !path.starts_with('/') {
        return Err(Problem::bad("the path does not begin with `/`"));
    }
    let (mut escaped, mut dotted, mut before) = (false, false, 0);
    for byte in path.bytes() {
        match byte {
            b'%' => escaped = true,
            b'.' if before == b'/' => dotted = true,
            b'\\' => return Err(Problem::bad("the path holds a backslash")),
            _ => {}
        }
        before = byte;
    }
    let decoded = if escaped { Cow::Owned(undo(path)?) } else { Cow::Borrowed(path) };
    let climbs = |segment: &str| matches!(segment, "." | "..");
    if (escaped || dotted) && decoded.split('/').any(climbs) {
        return Err(Problem::bad("the path holds a `.` or `..` segment"));
    }
    Ok(decoded)
}

fn undo(path: &str) -> Result<String, Problem> {
    let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
    let (mut decoded, mut bytes) = (Vec::with_capacity(path.len()), path.bytes());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let (Some(high), Some(low)) = (digit(bytes.next()), digit(bytes.next())) else {
            return Err(Problem::bad("the path holds a `%` without two digits after it"));
        };
        let byte = u8::try_from(high * 16 + low).expect("two hexadecimal digits are one byte");
        if matches!(byte, b'/' | b'\\' | 0) {
            return Err(Problem::bad("the path holds an escaped slash, backslash or zero byte"));
        }
        decoded.push(byte);
    }
    String::from_utf8(decoded).map_err(|_| Problem::bad("the path is not UTF-8"))
}

/// The target that a function sees, and the one the client asked for where that is another.
pub(crate) fn target(uri: &Uri, view: View, taken: Option<usize>) -> (Uri, Option<PathAndQuery>) {
    let original = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let seen = match view {
        View::Whole => return (Uri::from(original), None),
        View::Root => "/",
        View::Rest => rest(original.path(), taken.unwrap_or_default()),
    };
    if seen == original.path() {
        return (Uri::from(original), None);
    }
    let seen = match original.query() {
        Some(query) => format!("{seen}?{query}"),
        None if seen == "/" => return (Uri::default(), Some(original)),
        None => seen.to_owned(),
    };
    let seen = PathAndQuery::from_maybe_shared(Bytes::from(seen));
    (Uri::from(seen.expect("a part of a path is one")), Some(original))
}

/// What follows so many segments.
fn rest(path: &str, taken: usize) -> &str {
    let slash = path.bytes().enumerate().filter(|(_, byte)| *byte == b'/').nth(taken);
    slash.map_or("/", |(at, _)| &path[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &str) -> Option<String> {
        check(path).ok().map(Cow::into_owned)
    }

    #[test]
    fn escapes_are_undone_once() {
        for (path, expected) in [
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/%61", "/a"),
            ("/caf%C3%A9", "/café"),
            ("/%252e%252e", "/%2e%2e"),
            ("/a//b", "/a//b"),
            ("/...", "/..."),
            ("/.well-known", "/.well-known"),
            ("/a..b", "/a..b"),
        ] {
            assert_eq!(checked(path).as_deref(), Some(expected), "{path}");
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for path in [
            "", "*", "a", "/..", "/../a", "/a/../b", "/a/..", "/%2e%2e", "/.%2E/a", "/%2e", "/./a",
            "/a/.", "/a%2Fb", "/a%2fb", "/a%5Cb", "/a\\b", "/a%00", "/%", "/%4", "/%zz", "/%+1",
            "/%ff",
        ] {
            assert_eq!(checked(path), None, "{path}");
        }
    }

    #[test]
    fn a_function_sees_what_its_route_lets_it() {
        let check = |uri: &str, view, taken, seen: &str, original: Option<&str>| {
            let (uri, was) = target(&uri.parse().unwrap(), view, taken);
            assert_eq!(uri.to_string(), seen);
            assert_eq!(was.as_ref().map(PathAndQuery::as_str), original);
        };
        check("/a/b?c=d", View::Root, None, "/?c=d", Some("/a/b?c=d"));
        check("/a/b", View::Root, None, "/", Some("/a/b"));
        check("/", View::Root, None, "/", None);
        check("/a/b?c", View::Whole, Some(1), "/a/b?c", None);
        check("/a/b%20c/?d", View::Rest, Some(1), "/b%20c/?d", Some("/a/b%20c/?d"));
        check("/a", View::Rest, Some(1), "/", Some("/a"));
        check("/a/", View::Rest, Some(1), "/", Some("/a/"));
        check("/a/b", View::Rest, Some(0), "/a/b", None);
        check("http://host/a/b", View::Rest, Some(1), "/b", Some("/a/b"));
    }
}
