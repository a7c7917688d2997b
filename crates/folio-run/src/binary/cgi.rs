//! CGI: a request as variables, and output that may begin with headers.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use http::{HeaderName, HeaderValue, Request, Response, StatusCode, header};

/// Bytes of a head that are waited for.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The variables that describe a request.
pub(crate) fn variables<B>(request: &Request<B>) -> Vec<(OsString, OsString)> {
    let text = |text: &str| OsString::from(text);
    let uri = request.uri();
    let target = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let mut variables = vec![
        (text("GATEWAY_INTERFACE"), text("CGI/1.1")),
        (text("SERVER_PROTOCOL"), text("HTTP/1.1")),
        (text("REQUEST_METHOD"), text(request.method().as_str())),
        (text("REQUEST_URI"), text(target)),
        (text("PATH_INFO"), text(uri.path())),
        (text("QUERY_STRING"), text(uri.query().unwrap_or_default())),
    ];
    for name in request.headers().keys() {
        let Some(variable) = variable(name) else { continue };
        let values: Vec<&[u8]> =
            request.headers().get_all(name).iter().map(HeaderValue::as_bytes).collect();
        variables.push((variable.into(), OsString::from_vec(values.join(&b", "[..]))));
    }
    variables
}

/// The variable of a header. `Proxy` has none: programs would take `HTTP_PROXY` for the host's.
fn variable(name: &HeaderName) -> Option<String> {
    let upper = name.as_str().to_ascii_uppercase().replace('-', "_");
    match upper.as_str() {
        "PROXY" => None,
        "CONTENT_LENGTH" | "CONTENT_TYPE" => Some(upper),
        _ => Some(format!("HTTP_{upper}")),
    }
}

/// What the beginning of some output is.
#[derive(Debug)]
pub(crate) enum Beginning {
    /// The body, from its first byte.
    Body,
    /// A head that has not ended yet.
    Unfinished,
    /// A head, and how many bytes it takes.
    Head(Box<Response<()>>, usize),
}

/// Looks for a head at the beginning of some output.
pub(crate) fn beginning(output: &[u8]) -> Beginning {
    let starts = [&b"status:"[..], b"content-type:"].iter().any(|start| {
        let common = start.len().min(output.len());
        output[..common].eq_ignore_ascii_case(&start[..common])
    });
    if !starts {
        return Beginning::Body;
    }
    let Some((head, bytes)) = split(output) else {
        return if output.len() < HEAD_BYTES_MAX { Beginning::Unfinished } else { Beginning::Body };
    };
    match parse(head) {
        Some(response) => Beginning::Head(Box::new(response), bytes),
        None => Beginning::Body,
    }
}

/// The bytes before the first empty line, and how many there are with it.
fn split(output: &[u8]) -> Option<(&[u8], usize)> {
    let mut at = 0;
    while let Some(length) = output[at..].iter().position(|byte| *byte == b'\n') {
        let line = &output[at..at + length];
        if line.is_empty() || line == b"\r" {
            return Some((&output[..at], at + length + 1));
        }
        at += length + 1;
    }
    None
}

fn parse(head: &[u8]) -> Option<Response<()>> {
    let mut response = Response::new(());
    let mut status = None;
    for line in std::str::from_utf8(head).ok()?.lines() {
        let (name, value) = line.split_once(':')?;
        let (name, value) = (name.trim(), value.trim());
        if name.eq_ignore_ascii_case("status") {
            let code = value.split_whitespace().next()?;
            status = Some(StatusCode::from_bytes(code.as_bytes()).ok()?);
            continue;
        }
        let name: HeaderName = name.parse().ok()?;
        if name != header::CONTENT_LENGTH {
            response.headers_mut().append(name, HeaderValue::from_str(value).ok()?);
        }
    }
    let moved = response.headers().contains_key(header::LOCATION);
    let usual = if moved { StatusCode::FOUND } else { StatusCode::OK };
    *response.status_mut() = status.unwrap_or(usual);
    crate::headers::drop_hop_by_hop(response.headers_mut());
    (!response.status().is_informational()).then_some(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_only_one_if_it_says_so_first() {
        let body = |output: &str| assert!(matches!(beginning(output.as_bytes()), Beginning::Body));
        body("hello\n\nworld");
        body("X-Mine: 1\n\nbody");
        body("Status: nine\n\n");
        body("Status: 100 Continue\n\n");
        body("Status: 200\nno colon here\n\nbody");
        let unfinished = ["", "Sta", "content-type", "Status: 200\nX-A: b\n"];
        for output in unfinished {
            assert!(matches!(beginning(output.as_bytes()), Beginning::Unfinished), "{output}");
        }
    }

    #[test]
    fn a_head_sets_status_and_headers() {
        let check = |output: &str, status: u16, header: (&'static str, &str), rest: &str| {
            let Beginning::Head(response, bytes) = beginning(output.as_bytes()) else {
                panic!("{output:?} has a head");
            };
            assert_eq!(response.status(), status);
            assert_eq!(response.headers()[header.0], header.1);
            assert_eq!(&output[bytes..], rest);
        };
        check("Status: 404 Not Found\nX-A: b\n\nrest", 404, ("x-a", "b"), "rest");
        check("content-type: text/html\r\n\r\n<p>", 200, ("content-type", "text/html"), "<p>");
        check("Content-Type: a\nLocation: /x\n\n", 302, ("location", "/x"), "");
    }

    #[test]
    fn headers_become_variables_but_none_is_taken_for_the_hosts() {
        let request = Request::post("/a?b=c").header("X-One", "1").header("X-One", "2");
        let request = request.header("Proxy", "evil").header("Content-Type", "t").body(()).unwrap();
        let variables = variables(&request);
        let find = |name: &str| {
            variables
                .iter()
                .find(|(found, _)| found == name)
                .map(|(_, value)| value.to_str().unwrap())
        };
        assert_eq!(find("HTTP_X_ONE"), Some("1, 2"));
        assert_eq!(find("CONTENT_TYPE"), Some("t"));
        assert_eq!(find("REQUEST_URI"), Some("/a?b=c"));
        assert_eq!(find("QUERY_STRING"), Some("b=c"));
        assert_eq!(find("HTTP_PROXY"), None);
    }
}
