//! Reads bodies: JSON in the way of the original server, with its sentences, and the three encodings of functions.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::fault::{Fault, Outcome};

/// Reads a body whole.
pub(super) async fn whole(body: Body, max: usize) -> Outcome<Bytes> {
    let read = Limited::new(body, max).collect().await;
    let whole = read.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "The request body is too large."),
        None => Fault::invalid(format!("The request body ended early: {error}. Send it again.")),
    })?;
    Ok(whole.to_bytes())
}

/// A JSON object that was sent, whose fields are taken one by one.
pub(super) struct Object {
    fields: Map<String, Value>,
}

impl Object {
    /// Reads the argument of a call: an object with none but known fields; `null` means not given.
    pub(super) fn read(bytes: &[u8], argument: &str, known: &[&str]) -> Outcome<Self> {
        Self::read_with(bytes, argument, known, &[])
    }

    /// As [`Object::read`], for an argument some of whose fields can only be read.
    pub(super) fn read_with(
        bytes: &[u8],
        argument: &str,
        known: &[&str],
        read_only: &[&str],
    ) -> Outcome<Self> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Fault::invalid(format!("Missing argument: \"{argument}\"")));
        }
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|_| Fault::invalid("Request is not in valid JSON format"))?;
        let Value::Object(fields) = value else {
            return Err(Fault::invalid("Request is not in valid JSON format"));
        };
        for (field, value) in &fields {
            if read_only.contains(&field.as_str()) {
                let value = shown(value);
                return Err(wrong(field, &value, "Cannot set read only field."));
            }
            if !known.contains(&field.as_str()) {
                let text = format!("Unknown attribute for argument {argument}: {field}");
                return Err(Fault::invalid(text));
            }
        }
        let fields: Map<_, _> = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
        let read = Self { fields };
        read.fields.keys().try_for_each(|field| read.check(field))?;
        Ok(read)
    }

    /// Refuses a field of the wrong type, whether it is used or not. Each has the same type wherever it is.
    fn check(&self, field: &str) -> Outcome<()> {
        match field {
            // What a function is given, it understands.
            "input" => Ok(()),
            "count" | "function_version" => self.number(field).map(drop),
            "is_public" | "sync" | "trusted" => self.truth(field).map(drop),
            "function_id" | "id" => self.uuid(field).map(drop),
            _ => self.text(field).map(drop),
        }
    }

    /// Whether a field was given.
    pub(super) fn has(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    /// A text.
    pub(super) fn text(&self, field: &str) -> Outcome<Option<String>> {
        match self.fields.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(value) => Err(wrong_type(field, value, "str")),
        }
    }

    /// A number, which may be written as a text.
    pub(super) fn number(&self, field: &str) -> Outcome<Option<u64>> {
        let Some(value) = self.fields.get(field) else { return Ok(None) };
        let parsed = match value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let why = || {
            let literal = match value {
                Value::String(text) => format!("'{text}'"),
                value => value.to_string(),
            };
            let why = format!("invalid literal for int() with base 10: {literal}");
            wrong(field, &shown(value), &format!("unable to convert to int. Error: {why}"))
        };
        parsed.map(Some).ok_or_else(why)
    }

    /// A truth value, which may be written as a text.
    pub(super) fn truth(&self, field: &str) -> Outcome<Option<bool>> {
        match self.fields.get(field) {
            None => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(*truth)),
            Some(Value::String(text)) if is_true(text) => Ok(Some(true)),
            Some(Value::String(text)) if is_false(text) => Ok(Some(false)),
            Some(value) => Err(wrong_type(field, value, "bool")),
        }
    }

    /// An identity.
    pub(super) fn uuid(&self, field: &str) -> Outcome<Option<Uuid>> {
        match self.text(field)? {
            None => Ok(None),
            Some(text) => text
                .parse()
                .map(Some)
                .map_err(|_| Fault::invalid(format!("Expected a uuid but received {text}."))),
        }
    }
}

/// Whether a text says yes.
pub(super) fn is_true(text: &str) -> bool {
    matches!(&*text.to_ascii_lowercase(), "true" | "1" | "yes" | "on" | "t" | "y")
}

fn is_false(text: &str) -> bool {
    matches!(&*text.to_ascii_lowercase(), "false" | "0" | "no" | "off" | "f" | "n")
}

/// A value as the original server quotes it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// A field that is not what it should be.
pub(super) fn wrong(field: &str, value: &str, why: &str) -> Fault {
    Fault::invalid(format!("Invalid input for field/attribute {field}. Value: '{value}'. {why}"))
}

fn wrong_type(field: &str, value: &Value, expected: &str) -> Fault {
    let found = match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    };
    let why = format!("Wrong type. Expected '<class '{expected}'>', got '<class '{found}'>'");
    wrong(field, &shown(value), &why)
}

/// The fields of a function, in whichever of the three encodings they came.
#[derive(Debug, Default)]
pub(super) struct Form {
    pub(super) fields: BTreeMap<String, String>,
    pub(super) package: Option<Bytes>,
}

impl Form {
    /// Reads a body by its content type.
    pub(super) fn read(content_type: Option<&str>, body: &Bytes) -> Outcome<Self> {
        let content_type = content_type.unwrap_or_default();
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match &*kind {
            "multipart/form-data" => multipart(content_type, body),
            "application/json" if body.is_empty() => Ok(Self::default()),
            "application/json" => json(body),
            _ => {
                let fields = pairs(&String::from_utf8_lossy(body)).into_iter().collect();
                Ok(Self { fields, package: None })
            }
        }
    }

    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field).map(String::as_str)
    }
}

/// The names and values of a form or a query.
pub(super) fn pairs(text: &str) -> Vec<(String, String)> {
    let plain = |text: &str| {
        let text = text.replace('+', " ");
        percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| (plain(name), plain(value))).collect()
}

/// The fields of a function that are nothing but texts. Numbers may be written in either way, and code is an object.
const TEXTS: [&str; 3] = ["name", "description", "entry"];

/// JSON members as if they were fields of a form; what is no text and need not be is written out.
fn json(body: &[u8]) -> Outcome<Form> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| Fault::invalid(format!("Invalid input, {error}")))?;
    let Value::Object(members) = value else {
        return Err(Fault::invalid("Invalid input, an object is expected"));
    };
    let mut fields = BTreeMap::new();
    for (name, value) in members.into_iter().filter(|(_, value)| !value.is_null()) {
        if TEXTS.contains(&name.as_str()) && !value.is_string() {
            return Err(wrong_type(&name, &value, "str"));
        }
        fields.insert(name, shown(&value));
    }
    Ok(Form { fields, package: None })
}

/// The parts of a form, cut where its boundary is.
fn multipart(content_type: &str, body: &Bytes) -> Outcome<Form> {
    let broken = || Fault::invalid("Invalid input, the multipart body cannot be read");
    let boundary = parameter(content_type, "boundary").ok_or_else(broken)?;
    let delimiter = format!("--{boundary}");
    let mut form = Form::default();
    let mut at = find(body, delimiter.as_bytes(), 0).ok_or_else(broken)? + delimiter.len();
    loop {
        if body.get(at..at + 2) == Some(b"--") {
            return Ok(form);
        }
        let start = skip_line_end(body, at).ok_or_else(broken)?;
        let mark = format!("\r\n{delimiter}");
        let head_end = find(body, b"\r\n\r\n", start).ok_or_else(broken)?;
        let content = head_end + 4;
        let end = find(body, mark.as_bytes(), content.saturating_sub(2)).ok_or_else(broken)?;
        let head = String::from_utf8_lossy(&body[start..head_end]).into_owned();
        let bytes = body.slice(content.min(end)..end);
        let line = head.lines().find(|line| starts(line, "content-disposition:"));
        let name = line.and_then(|line| parameter(line, "name")).ok_or_else(broken)?;
        if name == "package" {
            form.package = Some(bytes);
        } else {
            let text = std::str::from_utf8(&bytes).map_err(|_| broken())?;
            form.fields.insert(name, text.to_owned());
        }
        at = end + mark.len();
    }
}

fn starts(line: &str, with: &str) -> bool {
    line.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
}

fn skip_line_end(body: &[u8], at: usize) -> Option<usize> {
    (body.get(at..at + 2)? == b"\r\n").then_some(at + 2)
}

fn find(body: &[u8], what: &[u8], from: usize) -> Option<usize> {
    let rest = body.get(from..)?;
    let first = *what.first()?;
    let mut at = 0;
    while let Some(step) = rest[at..].iter().position(|byte| *byte == first) {
        at += step;
        if rest[at..].starts_with(what) {
            return Some(from + at);
        }
        at += 1;
    }
    None
}

/// A parameter of a header's value: `name="x"` or `name=x`.
fn parameter(header: &str, name: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|part| {
        let (key, value) = part.trim().split_once('=')?;
        let matches = key.trim().eq_ignore_ascii_case(name);
        matches.then(|| value.trim().trim_matches('"').to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(head: &str, content: &str) -> String {
        format!("--xyz\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
    }

    #[test]
    fn a_form_is_read_part_by_part() {
        let body = part("name=\"code\"", "{\"source\": \"package\"}")
            + &part("name=\"package\"; filename=\"fn.zip\"", "PK\r\n--xy\r\n")
            + &part("name=\"description\"", "")
            + "--xyz--\r\n";
        let content_type = Some("multipart/form-data; boundary=\"xyz\"");
        let form = Form::read(content_type, &Bytes::from(body)).unwrap();
        assert_eq!(form.text("code"), Some("{\"source\": \"package\"}"));
        assert_eq!(form.text("description"), Some(""));
        assert_eq!(form.package.as_deref(), Some(&b"PK\r\n--xy\r\n"[..]));
    }

    #[test]
    fn a_form_that_breaks_off_is_refused() {
        let whole = part("name=\"code\"", "x") + "--xyz--\r\n";
        let content_type = Some("multipart/form-data; boundary=xyz");
        for cut in 0..whole.len() - 3 {
            let body = Bytes::from(whole[..cut].to_owned());
            assert!(Form::read(content_type, &body).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn texts_of_a_function_are_texts_in_json_too() {
        let read = |text: &str| {
            let body = Bytes::from(text.to_owned());
            let form = Form::read(Some("application/json"), &body);
            form.map(|form| form.fields).map_err(|fault| fault.text)
        };
        let fields = read("{\"name\": \"a\", \"cpu\": 100, \"entry\": null}").unwrap();
        assert_eq!(fields.keys().collect::<Vec<_>>(), ["cpu", "name"]);
        for (name, kind) in [("7", "int"), ("{}", "dict"), ("[\"a\"]", "list"), ("true", "bool")] {
            let refused = read(&format!("{{\"name\": {name}}}")).unwrap_err();
            assert!(refused.contains("field/attribute name"), "{refused}");
            assert!(refused.contains(&format!("got '<class '{kind}'>'")), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_not_called_too_large() {
        let pieces = [Ok("half"), Err(std::io::Error::other("the client is gone"))];
        let broken = Body::from_stream(futures::stream::iter(pieces));
        let fault = whole(broken, 100).await.unwrap_err();
        assert_eq!(fault.status, StatusCode::BAD_REQUEST);
        assert!(fault.text.contains("the client is gone"), "{}", fault.text);
        let fault = whole(Body::from("x".repeat(101)), 100).await.unwrap_err();
        assert_eq!(fault.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[test]
    fn fields_are_refused_in_the_words_of_the_original() {
        let read = |text: &str| {
            let object =
                Object::read_with(text.as_bytes(), "body", &["description", "count"], &["id"]);
            let object = object.map_err(|fault| fault.text)?;
            object.text("description").map_err(|fault| fault.text)?;
            object.number("count").map_err(|fault| fault.text)
        };
        assert_eq!(read("{\"count\": \"7\"}"), Ok(Some(7)));
        assert_eq!(read("{\"count\": null}"), Ok(None));
        assert_eq!(read(""), Err("Missing argument: \"body\"".to_owned()));
        assert_eq!(read("{"), Err("Request is not in valid JSON format".to_owned()));
        let unknown = "Unknown attribute for argument body: x".to_owned();
        assert_eq!(read("{\"x\": 1}"), Err(unknown));
        let text = "Invalid input for field/attribute description. Value: '5'. \
                    Wrong type. Expected '<class 'str'>', got '<class 'int'>'";
        assert_eq!(read("{\"description\": 5}"), Err(text.to_owned()));
        let text = "Invalid input for field/attribute id. Value: 'x'. Cannot set read only field.";
        assert_eq!(read("{\"id\": \"x\"}"), Err(text.to_owned()));
    }
}
