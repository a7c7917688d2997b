//! Heads of requests and answers as lines. What a worker says is never trusted: names and values go through
//! the checks of `http`, and whatever describes the connection instead of the answer is dropped.

use std::fmt::Write as _;

use bytes::Bytes;
use folio_core::ports::runtime::{Call, Plan};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use crate::frames::HEAD_MAX;

const HEADERS_MAX: usize = 512;

/// Headers whose values are folio's to say, whoever sends them along.
const SAID: [&str; 7] = [
    "folio-request-id",
    "x-fission-request-id",
    "x-fission-full-url",
    "x-fission-function-uid",
    "x-fission-function-name",
    "x-fission-function-namespace",
    "x-fission-function-resourceversion",
];

/// What the head of every request says of its function, in Fission's words.
pub(crate) fn of_function(plan: &Plan) -> String {
    format!(
        "\nx-fission-function-uid\n{}\nx-fission-function-name\n{}\nx-fission-function-namespace\n{}\
         \nx-fission-function-resourceversion\n{}",
        plan.unit, plan.function, plan.app, plan.at
    )
}

/// Writes a request's head: method, target, the target the client asked for, parameters as JSON, and then names
/// and values in turn. The request's id and six headers of Fission's come first: the shims know them by their place.
pub(crate) fn encode(call: &Call, of_function: &str) -> Vec<u8> {
    let mut head = Vec::with_capacity(1024);
    head.extend_from_slice(call.request.method().as_str().as_bytes());
    head.push(b'\n');
    let target = call.request.uri().path_and_query();
    head.extend_from_slice(target.map_or("/", |target| target.as_str()).as_bytes());
    head.push(b'\n');
    if let Some(original) = &call.original {
        head.extend_from_slice(original.as_str().as_bytes());
    }
    head.push(b'\n');
    if !call.parameters.is_empty() {
        head.extend_from_slice(parameters(call).as_bytes());
    }
    let (id, full) = (call.id.to_string(), call.original.as_ref().or(target));
    let full = full.map_or("/", |full| full.as_str());
    let ids = ["\nfolio-request-id\n", &id, "\nx-fission-request-id\n", &id];
    for text in ids.into_iter().chain(["\nx-fission-full-url\n", full, of_function]) {
        head.extend_from_slice(text.as_bytes());
    }
    let claims = |name: &HeaderName| SAID.contains(&name.as_str());
    for (name, value) in call.request.headers().iter().filter(|(name, _)| !claims(name)) {
        head.push(b'\n');
        head.extend_from_slice(name.as_str().as_bytes());
        head.push(b'\n');
        head.extend_from_slice(value.as_bytes());
    }
    head
}

// Escapes everything beyond ASCII, because a worker reads the whole head as bytes of one character each.
fn parameters(call: &Call) -> String {
    let mut text = String::from("{");
    for (at, (name, value)) in call.parameters.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        quote(&mut text, name);
        text.push(':');
        quote(&mut text, value);
    }
    text.push('}');
    text
}

fn quote(text: &mut String, value: &str) {
    text.push('"');
    for unit in value.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ (b' '..=b'~')) if byte != b'"' && byte != b'\\' => text.push(byte as char),
            _ => write!(text, "\\u{unit:04x}").expect("a string takes everything"),
        }
    }
    text.push('"');
}

/// Reads an answer's payload: its head, and what there is of its body.
pub(crate) fn decode(payload: &Bytes) -> Result<(Response<()>, Bytes), String> {
    let length = payload.first_chunk::<4>().ok_or("an answer without a head")?;
    let end = (u32::from_le_bytes(*length) as usize).saturating_add(4);
    if end > payload.len() {
        return Err("a head longer than its frame".to_owned());
    }
    if end > HEAD_MAX {
        return Err(format!("a head of {} bytes", end - 4));
    }
    let head = payload.slice(4..end);
    let mut lines = Lines { head: &head, at: 0 };
    let status = lines.next().ok_or("an empty head")?;
    let status = StatusCode::from_bytes(&status).map_err(|_| "a status that is not one")?;
    if status.is_informational() {
        return Err(format!("the status {}", status.as_u16()));
    }
    let mut response = Response::new(());
    *response.status_mut() = status;
    headers(lines, response.headers_mut())?;
    Ok((response, payload.slice(end..)))
}

fn headers(mut lines: Lines<'_>, headers: &mut HeaderMap) -> Result<(), String> {
    let mut listed = Vec::new();
    while let Some(name) = lines.next() {
        let value = lines.next().ok_or("a header without a value")?;
        let name = HeaderName::from_bytes(&name)
            .map_err(|_| format!("the header name {:?}", String::from_utf8_lossy(&name)))?;
        let value = HeaderValue::from_maybe_shared(value)
            .map_err(|_| format!("the value of the header {name}"))?;
        if name == header::CONNECTION {
            listed.extend(value.to_str().unwrap_or_default().split(',').map(tidy));
        }
        if is_of_the_connection(&name) {
            continue;
        }
        if headers.len() >= HEADERS_MAX {
            return Err(format!("more than {HEADERS_MAX} headers"));
        }
        headers.append(name, value);
    }
    for name in listed {
        headers.remove(name);
    }
    Ok(())
}

fn tidy(name: &str) -> String {
    name.trim().to_ascii_lowercase()
}

fn is_of_the_connection(name: &HeaderName) -> bool {
    const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
    const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
    [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::TE,
        header::TRAILER,
        header::UPGRADE,
        KEEP_ALIVE,
        PROXY_CONNECTION,
    ]
    .contains(name)
}

// Lines as slices that share the head's memory, so that values are not copied.
struct Lines<'a> {
    head: &'a Bytes,
    at: usize,
}

impl Iterator for Lines<'_> {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let rest = self.head.get(self.at..)?;
        if self.at == self.head.len() && self.at == 0 {
            return None;
        }
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let line = self.head.slice(self.at..self.at + length);
        self.at += length + 1;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use folio_core::ports::Body;
    use folio_core::ports::runtime::RequestId;

    use super::*;

    fn payload(head: &str, body: &str) -> Bytes {
        let mut bytes = u32::try_from(head.len()).unwrap().to_le_bytes().to_vec();
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(body.as_bytes());
        bytes.into()
    }

    #[test]
    fn a_head_and_a_body_are_told_apart() {
        let (response, body) = decode(&payload("201\nx-one\n1\nx-two\n", "hello")).unwrap();
        assert_eq!(response.status(), 201);
        assert_eq!(response.headers()["x-one"], "1");
        assert_eq!(response.headers()["x-two"], "");
        assert_eq!(body, "hello");
    }

    #[test]
    fn what_describes_the_connection_is_dropped() {
        let head = "200\ncontent-length\n5\nTransfer-Encoding\nchunked\nconnection\nclose, x-mine\nx-mine\n1\nx-other\n2";
        let (response, _) = decode(&payload(head, "hello")).unwrap();
        let names: Vec<_> = response.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["x-other"]);
    }

    #[test]
    fn nonsense_is_refused_and_named() {
        let check = |head: &str, expected: &str| {
            let refused = decode(&payload(head, "")).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        };
        check("", "an empty head");
        check("nine", "a status that is not one");
        check("101", "the status 101");
        check("200\nname", "a header without a value");
        check("200\nbad name\n1", "the header name \"bad name\"");
        check("200\nname\na\rb", "the value of the header name");
        let many = "\na\n1".repeat(HEADERS_MAX + 1);
        check(&format!("200{many}"), "more than 512 headers");
        assert!(decode(&Bytes::from_static(&[9, 0, 0, 0, 1])).is_err());
        assert!(decode(&Bytes::from_static(&[9, 0])).is_err());
    }

    #[test]
    fn parameters_are_ascii_json() {
        let call = Call {
            id: RequestId(1),
            request: http::Request::builder().uri("/a?b").body(Body::Empty).unwrap(),
            parameters: vec![(Arc::from("id"), "é\"\n😀".to_owned())],
            original: None,
            hops: 0,
            release: None,
        };
        let text = String::from_utf8(encode(&call, "")).unwrap();
        let lines: Vec<_> = text.split('\n').collect();
        assert_eq!(lines[..3], ["GET", "/a?b", ""]);
        assert!(lines[3].is_ascii());
        let read: serde_json::Value = serde_json::from_str(lines[3]).unwrap();
        assert_eq!(read["id"], "é\"\n😀");
    }

    #[test]
    fn the_request_and_its_function_are_named_by_folio_alone() {
        let request = http::Request::get("/a").header("folio-request-id", "claimed");
        let request = request.header("x-fission-function-name", "claimed").header("x-other", "1");
        let call = Call {
            id: RequestId(11),
            request: request.body(Body::Empty).unwrap(),
            parameters: Vec::new(),
            original: Some("/b".parse().unwrap()),
            hops: 0,
            release: None,
        };
        let text = String::from_utf8(encode(&call, "\nx-fission-function-name\nhello")).unwrap();
        let id = "0000000000000000000000000000000b";
        let expected = format!(
            "GET\n/a\n/b\n\nfolio-request-id\n{id}\nx-fission-request-id\n{id}\nx-fission-full-url\n/b\n\
             x-fission-function-name\nhello\nx-other\n1"
        );
        assert_eq!(text, expected);
    }
}
