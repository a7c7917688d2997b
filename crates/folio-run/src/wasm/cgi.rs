//! The head of what a command prints. A block of header lines before an empty line is one if it names a status,
//! a content type or a location; anything else is body from the first byte.

use folio_core::ports::runtime::CallError;
use http::header::{HeaderName, HeaderValue, LOCATION};
use http::{Response, StatusCode};

/// A head, and how many bytes it took.
#[derive(Debug)]
pub(super) struct Head {
    /// Status and headers.
    pub(super) response: Response<()>,
    /// Where the body begins.
    pub(super) bytes: usize,
}

/// Reads a head, or sees that there is none. Nothing means that more has to be seen, which `complete` rules out.
pub(super) fn head(seen: &[u8], complete: bool) -> Result<Option<Head>, CallError> {
    let none = || Some(Head { response: Response::new(()), bytes: 0 });
    let mut lines = Vec::new();
    let mut at = 0;
    loop {
        let Some(end) = seen[at..].iter().position(|byte| *byte == b'\n') else {
            let waited_for = !complete && may_become_header(&seen[at..]);
            return Ok(if waited_for { None } else { none() });
        };
        let line = seen[at..at + end].strip_suffix(b"\r").unwrap_or(&seen[at..at + end]);
        at += end + 1;
        if line.is_empty() {
            break;
        }
        let Some(header) = split(line) else { return Ok(none()) };
        lines.push(header);
    }
    let telling = ["status", "content-type", "location"];
    if !lines.iter().any(|(name, _)| telling.iter().any(|known| name.eq_ignore_ascii_case(known))) {
        return Ok(none());
    }
    Ok(Some(Head { response: response(&lines)?, bytes: at }))
}

fn may_become_header(start: &[u8]) -> bool {
    start.iter().all(|byte| is_token(*byte)) || split(start).is_some() || start == b"\r"
}

fn split(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = str::from_utf8(&line[..colon]).ok()?;
    (!name.is_empty() && name.bytes().all(is_token))
        .then_some((name, line[colon + 1..].trim_ascii()))
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn response(lines: &[(&str, &[u8])]) -> Result<Response<()>, CallError> {
    let mut response = Response::new(());
    let mut status = None;
    for (name, value) in lines {
        let odd = || CallError::Garbled(format!("the value of its header `{name}` is not one"));
        if name.eq_ignore_ascii_case("status") {
            let digits = value.get(..3).ok_or_else(odd)?;
            status = Some(StatusCode::from_bytes(digits).map_err(|_| odd())?);
            continue;
        }
        let name = HeaderName::try_from(*name).map_err(|_| odd())?;
        response.headers_mut().append(name, HeaderValue::from_bytes(value).map_err(|_| odd())?);
    }
    let found = response.headers().contains_key(LOCATION);
    let usual = if found { StatusCode::FOUND } else { StatusCode::OK };
    *response.status_mut() = status.unwrap_or(usual);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(printed: &str, expected: &str) {
        let said = match head(printed.as_bytes(), true) {
            Ok(Some(Head { response, bytes })) => {
                let headers: Vec<String> = response
                    .headers()
                    .iter()
                    .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
                    .collect();
                format!("{} {headers:?} {:?}", response.status().as_u16(), &printed[bytes..])
            }
            Ok(None) => "more".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said, expected, "{printed:?}");
    }

    #[test]
    fn a_block_of_headers_is_taken_off() {
        check("Content-Type: text/html\n\n<p>", r#"200 ["content-type=text/html"] "<p>""#);
        check("Status: 404 Not Found\r\nX-A: b\r\n\r\nno", r#"404 ["x-a=b"] "no""#);
        check("location: /there\n\n", r#"302 ["location=/there"] """#);
    }

    #[test]
    fn text_that_only_looks_like_headers_stays() {
        check("hello", r#"200 [] "hello""#);
        check("Note: this\n\nis text", r#"200 [] "Note: this\n\nis text""#);
        check("Status: 200\nnot a header\n\n", r#"200 [] "Status: 200\nnot a header\n\n""#);
        check("{\"a\": 1}\n\n", r#"200 [] "{\"a\": 1}\n\n""#);
        check("", r#"200 [] """#);
    }

    #[test]
    fn headers_that_are_none_are_refused() {
        let said = "the function's answer makes no sense: the value of its header `Status` is not one";
        check("Status: fine\n\n", said);
        let said = "the function's answer makes no sense: the value of its header `X-A` is not one";
        check("Status: 200\nX-A: \u{1}\n\n", said);
    }

    #[test]
    fn an_unfinished_block_is_waited_for() {
        assert!(head(b"Content-Ty", false).unwrap().is_none());
        assert!(head(b"Content-Type: text/plain\nX", false).unwrap().is_none());
        assert!(head(b"Content-Type: text/plain\r\n\r", false).unwrap().is_none());
    }

    #[test]
    fn text_that_cannot_become_a_header_is_not_waited_for() {
        assert_eq!(head(b"one moment", false).unwrap().unwrap().bytes, 0);
    }
}
