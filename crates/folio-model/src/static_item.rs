//! Static items: files of an app that are served as they are. One item is one directory or one file at one path.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::snapshot::{Bag, SnapshotError, check_text};
use crate::{Content, Layout};

/// The longest path of an item.
const PATH_BYTES_MAX: usize = 1024;

/// Headers that an item may not set: folio answers for them.
const OWN_HEADERS: [&str; 12] = [
    "accept-ranges",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "date",
    "etag",
    "set-cookie",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
];

/// What decides what a static item shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StaticSpec {
    /// Where it is: the contents of a directory below this path, a file at it.
    pub path: String,
    /// The files.
    pub content: Content,
    /// The file that stands for a directory; `index.html` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// The file that answers for paths that lead nowhere, as single-page apps need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The file that is shown, with status 404, for what is not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_page: Option<String>,
    /// Headers that every answer has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// For how many seconds a browser need not ask again; it always asks if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// What a manifest says beyond this; folio keeps it and never reads it.
    #[serde(rename = "$bag", default, skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

impl StaticSpec {
    /// The file that stands for a directory.
    pub fn index(&self) -> &str {
        self.index.as_deref().unwrap_or("index.html")
    }

    pub(crate) fn validate(&self) -> Result<(), SnapshotError> {
        let bad = |why| Err(SnapshotError::Path { path: self.path.clone(), why });
        if !self.path.starts_with('/') {
            return bad("does not begin with `/`");
        }
        if self.path.len() > PATH_BYTES_MAX || self.path.chars().any(char::is_control) {
            return bad("is longer than 1024 bytes or holds a control character");
        }
        let mut segments = self.path.split('/').skip(1).peekable();
        while let Some(segment) = segments.next() {
            let last = segments.peek().is_none();
            match segment {
                "" if last => {}
                "" => return bad("has an empty segment"),
                "." | ".." => return bad("has a segment of dots, which no request keeps"),
                _ if segment.contains(['?', '#', '\\', '%', '{', '}', '*']) => {
                    return bad("holds a character that means something else in a path");
                }
                _ => {}
            }
        }
        if self.path.starts_with("/_folio") {
            return bad("begins with `/_folio`, which folio keeps for itself");
        }
        let inside = [&self.index, &self.fallback, &self.error_page];
        for file in inside.into_iter().flatten() {
            check_text("a file of a static item", Some(file))?;
            if self.content.layout == Layout::File {
                return Err(SnapshotError::StaticFile(file.clone()));
            }
            if file.is_empty() || file.starts_with('/') || file.split('/').any(|s| s == "..") {
                return Err(SnapshotError::StaticFile(file.clone()));
            }
        }
        for (name, value) in &self.headers {
            let token =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            let own = OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str());
            let plain = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
            let folio = name.to_ascii_lowercase().starts_with("folio-");
            if name.is_empty()
                || own
                || folio
                || !name.bytes().all(token)
                || !value.bytes().all(plain)
            {
                return Err(SnapshotError::StaticHeader(name.clone()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;

    fn item(path: &str) -> StaticSpec {
        StaticSpec {
            path: path.to_owned(),
            content: Content { tree: Digest::of(b"t"), layout: Layout::Directory },
            index: None,
            fallback: None,
            error_page: None,
            headers: BTreeMap::new(),
            expires: None,
            bag: Bag::new(),
        }
    }

    #[test]
    fn a_path_is_one_that_a_request_can_have() {
        for path in ["/", "/static", "/static/js/", "/a b/ü"] {
            assert_eq!(item(path).validate(), Ok(()), "{path}");
        }
        for path in
            ["", "static", "//", "/a//b", "/a/../b", "/.", "/%2e", "/a?b", "/_folio/x", "/{a}"]
        {
            assert!(item(path).validate().is_err(), "{path}");
        }
    }

    #[test]
    fn headers_that_folio_answers_for_are_not_an_items() {
        let with = |name: &str, value: &str| {
            let headers = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            StaticSpec { headers, ..item("/") }.validate().is_ok()
        };
        assert!(with("X-Frame-Options", "DENY") && with("Cache-Control", "no-store"));
        for (name, value) in
            [("ETag", "x"), ("", "x"), ("a b", "x"), ("X", "a\nb"), ("Folio-Release", "x")]
        {
            assert!(!with(name, value), "{name}");
        }
    }

    #[test]
    fn a_file_that_stands_for_others_is_inside() {
        let fallback = |file: &str| StaticSpec { fallback: Some(file.to_owned()), ..item("/") };
        assert!(fallback("app/index.html").validate().is_ok());
        for file in ["", "/etc/passwd", "../x", "a/../../x"] {
            assert!(fallback(file).validate().is_err(), "{file}");
        }
    }
}
