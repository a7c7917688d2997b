//! What a static file holds, by the ending of its name.

use std::collections::HashMap;
use std::sync::LazyLock;

use http::HeaderValue;

/// What a file holds, as far as its name tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Its content type.
    pub kind: HeaderValue,
    /// Whether it becomes much smaller in other encodings.
    pub is_compressible: bool,
}

/// What the endings of nearly all files of a site tell, worked out once instead of with every request.
static USUAL: LazyLock<HashMap<&str, Media>> = LazyLock::new(|| {
    let endings = [
        "avif",
        "bin",
        "css",
        "gif",
        "htm",
        "html",
        "ico",
        "jpeg",
        "jpg",
        "js",
        "json",
        "map",
        "md",
        "mjs",
        "mp4",
        "otf",
        "pdf",
        "png",
        "svg",
        "ttf",
        "txt",
        "wasm",
        "webmanifest",
        "webp",
        "woff",
        "woff2",
        "xml",
        "zip",
    ];
    endings.into_iter().map(|ending| (ending, told(&format!("file.{ending}")))).collect()
});

/// What the file at a path holds.
pub fn media(path: &str) -> Media {
    // A name that begins with its only dot has no ending.
    let named = path.rsplit_once('.').filter(|(name, _)| !name.is_empty() && !name.ends_with('/'));
    let usual = named.and_then(|(_, ending)| USUAL.get(ending));
    usual.cloned().unwrap_or_else(|| told(path))
}

fn told(path: &str) -> Media {
    let kind = content_type(path);
    let is_compressible = is_compressible(&kind);
    let kind = HeaderValue::try_from(kind).expect("a content type is plain text");
    Media { kind, is_compressible }
}

fn content_type(path: &str) -> String {
    let kind = mime_guess::from_path(path).first_or_octet_stream();
    let text = kind.type_() == "text" || is_compressible(kind.essence_str());
    let plain = kind.get_param("charset").is_none() && kind.essence_str() != "image/svg+xml";
    match text && plain && kind.essence_str() != "application/wasm" {
        true => format!("{}; charset=utf-8", kind.essence_str()),
        false => kind.to_string(),
    }
}

/// Whether files of a content type become much smaller in other encodings.
fn is_compressible(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or(kind);
    let known = [
        "application/javascript",
        "application/json",
        "application/ld+json",
        "application/manifest+json",
        "application/rss+xml",
        "application/atom+xml",
        "application/wasm",
        "application/xhtml+xml",
        "application/xml",
        "font/ttf",
        "font/otf",
        "image/bmp",
        "image/svg+xml",
        "image/x-icon",
    ];
    kind.starts_with("text/") || known.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worked_out_once_is_what_the_path_tells() {
        let paths = [
            "index.html",
            "a/b/app.js",
            "x.tar.gz",
            "A.PNG",
            ".html",
            "a/.js",
            "none",
            "d.css/x",
            "logo.svg",
            "m.wasm",
            "",
            "x.",
            "\u{fc}.txt",
        ];
        for path in paths {
            assert_eq!(media(path), told(path), "{path}");
        }
        assert_eq!(media("a.js").kind, "text/javascript; charset=utf-8");
        assert!(media("a.js").is_compressible && !media("a.png").is_compressible);
    }
}
