//! Archives that a manifest carries itself or names by address: fetched into a temporary directory, checked against
//! their checksum, and uploaded like any other file.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::http;
use crate::problem::Problem;

/// Bytes that are fetched at most.
const BYTES_MAX: u64 = 512 * 1024 * 1024;

/// What a part of a package's manifest says about its files.
pub(super) enum Origin {
    /// An archive of the same spec, by name.
    Archive(String),
    /// Bytes in the manifest.
    Literal(String),
    /// An address.
    Address(String),
    /// Nothing.
    Nothing,
}

/// Reads where the files of `source` or `deployment` come from.
pub(super) fn origin(part: &Value) -> Result<Origin, String> {
    let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
    let (literal, url) = (text("literal"), text("url"));
    match (text("type"), literal, url) {
        ("oci", _, _) => Err("an archive in a container registry cannot be used here".to_owned()),
        (_, "", "") => Ok(Origin::Nothing),
        (_, "", url) => Ok(match url.strip_prefix("archive://") {
            Some(name) => Origin::Archive(name.to_owned()),
            None => Origin::Address(url.to_owned()),
        }),
        (_, literal, "") => Ok(Origin::Literal(literal.to_owned())),
        _ => Err("it has both `literal` and `url`".to_owned()),
    }
}

/// Writes bytes that a manifest carries into a file.
pub(super) fn literal(text: &str, directory: &Path, name: &str) -> Result<PathBuf> {
    use base64::Engine as _;
    let text: String = text.split_whitespace().collect();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
    let bytes = bytes.context("its `literal` is not base64")?;
    let path = directory.join(name);
    std::fs::write(&path, bytes).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(path)
}

/// Fetches an archive into a file, and compares it with what its manifest says of it.
pub(super) async fn address(
    url: &str,
    part: &Value,
    directory: &Path,
    name: &str,
) -> Result<PathBuf> {
    let context = || format!("cannot fetch `{url}`");
    let http = http::anywhere().build().with_context(context)?;
    let mut answer = http.get(url).send().await.and_then(reqwest::Response::error_for_status);
    let answer =
        answer.as_mut().map_err(|error| anyhow::anyhow!("{error}")).with_context(context)?;
    let path = directory.join(name);
    let cannot = || format!("cannot write `{}`", path.display());
    let mut file = std::fs::File::create(&path).with_context(cannot)?;
    let (mut bytes, mut hasher) = (0, Sha256::new());
    // Piece by piece, because several are fetched at the same time.
    while let Some(piece) = answer.chunk().await.with_context(context)? {
        bytes += piece.len() as u64;
        if bytes > BYTES_MAX {
            let problem = Problem::new(format!("`{url}` has more than {BYTES_MAX} bytes"));
            return Err(problem.hint("download it and use an archive of files instead").into());
        }
        hasher.update(&piece);
        file.write_all(&piece).with_context(cannot)?;
    }
    let sum = part["checksum"]["sum"].as_str().unwrap_or_default();
    let found = hex::encode(hasher.finalize());
    if !sum.is_empty() && !sum.eq_ignore_ascii_case(&found) {
        let problem = Problem::new(format!("`{url}` has the checksum {found}, not {sum}"));
        return Err(problem.hint("mend the checksum in the manifest, or the address").into());
    }
    Ok(path)
}
