//! Downloads: the bytes of a version's files, streamed, with a name to save them under.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use folio_core::Explain;
use folio_core::upload::Download;
use futures::stream::{self, StreamExt, TryStreamExt};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use crate::failure::Failure;
use crate::openapi::Schemas;
use crate::operation::{Encode, Output};

/// What RFC 8187 lets stand in a file name as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// Bytes that are read before the status is sent, if there are as many.
const AHEAD_BYTES_MIN: usize = 4 * 1024 * 1024;

/// Bytes and what to call them.
pub(crate) struct File {
    name: String,
    download: Download,
}

impl File {
    /// A download under a name.
    pub(crate) fn named(name: String, download: Download) -> Self {
        Self { name, download }
    }

    /// Names a download: as the file itself is called, or `<stem>.<what the bytes are>`. Reads its start, so that most
    /// of what cannot be read is refused in words before anything is sent.
    pub(crate) async fn new(stem: &str, mut download: Download) -> Result<Self, Failure> {
        let (mut ahead, mut bytes) = (Vec::new(), 0);
        while bytes < AHEAD_BYTES_MIN {
            let Some(piece) = download.content.next().await.transpose()? else { break };
            bytes += piece.len();
            ahead.push(piece);
        }
        let start = ahead.first().cloned().unwrap_or_default();
        let name = download.name.take();
        let name = name.unwrap_or_else(|| format!("{stem}{}", extension(&start)));
        download.content = stream::iter(ahead.into_iter().map(Ok)).chain(download.content).boxed();
        Ok(Self { name, download })
    }
}

fn extension(start: &[u8]) -> &'static str {
    const TAR_MAGIC: std::ops::Range<usize> = 257..262;
    match start {
        [b'P', b'K', 3 | 5, 4 | 6, ..] => ".zip",
        [0x1f, 0x8b, ..] => ".tar.gz",
        _ if start.get(TAR_MAGIC) == Some(b"ustar") => ".tar",
        _ => "",
    }
}

impl IntoResponse for File {
    fn into_response(self) -> Response {
        let Download { digest, bytes, content, .. } = self.download;
        // The status is sent by then: a client sees the bytes break off, and the log says why.
        let content = content.inspect_err(|error| {
            tracing::error!(error.code = error.code().0, "A download broke off: {error}");
        });
        let mut response = Body::from_stream(content).into_response();
        let headers = [
            (header::CONTENT_TYPE, Some("application/octet-stream".to_owned())),
            (header::X_CONTENT_TYPE_OPTIONS, Some("nosniff".to_owned())),
            (header::CONTENT_DISPOSITION, Some(disposition(&self.name))),
            (header::CONTENT_LENGTH, bytes.map(|bytes| bytes.to_string())),
            (header::ETAG, digest.map(|digest| format!("\"{digest}\""))),
        ];
        for (name, text) in headers {
            let value = text.and_then(|text| HeaderValue::try_from(text).ok());
            response.headers_mut().extend(value.map(|value| (name, value)));
        }
        response
    }
}

/// A name for any client: plain where it can be, and exact for those that read RFC 8187.
fn disposition(name: &str) -> String {
    let plain =
        |c: char| if c.is_ascii_graphic() && !"\"\\%".contains(c) || c == ' ' { c } else { '_' };
    let simple: String = name.chars().map(plain).collect();
    let mut text = format!("attachment; filename=\"{simple}\"");
    if simple != name {
        text.push_str(&format!("; filename*=UTF-8''{}", utf8_percent_encode(name, PLAIN)));
    }
    text
}

impl Encode for File {
    fn describe(_: &mut Schemas) -> Vec<Output> {
        let content = json!({ "application/octet-stream": {} });
        let headers = &["Content-Disposition", "ETag"];
        vec![Output { status: 200, says: "The bytes.", content, headers }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str) {
        assert_eq!(disposition(name), expected);
        assert!(HeaderValue::try_from(disposition(name)).is_ok());
    }

    #[test]
    fn any_name_is_a_safe_header() {
        check("hello.py", "attachment; filename=\"hello.py\"");
        check("a b", "attachment; filename=\"a b\"");
        check("ä\".py", "attachment; filename=\"__.py\"; filename*=UTF-8''%C3%A4%22.py");
        check("\r\nX: y", "attachment; filename=\"__X: y\"; filename*=UTF-8''%0D%0AX%3A%20y");
    }

    #[test]
    fn the_first_bytes_tell_the_kind_of_archive() {
        assert_eq!(extension(b"PK\x03\x04rest"), ".zip");
        assert_eq!(extension(b"\x1f\x8b\x08"), ".tar.gz");
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(extension(&tar), ".tar");
        assert_eq!(extension(b""), "");
    }
}
