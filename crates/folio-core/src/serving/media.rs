//! What a static file holds, by the ending of its name.

/// The content type of a file.
pub fn content_type(path: &str) -> String {
    let kind = mime_guess::from_path(path).first_or_octet_stream();
    let text = kind.type_() == "text" || is_compressible(kind.essence_str());
    let plain = kind.get_param("charset").is_none() && kind.essence_str() != "image/svg+xml";
    match text && plain && kind.essence_str() != "application/wasm" {
        true => format!("{}; charset=utf-8", kind.essence_str()),
        false => kind.to_string(),
    }
}

/// Whether files of a content type become much smaller in other encodings.
pub fn is_compressible(kind: &str) -> bool {
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
