//! Gets the files of a version back. A file appears under its name only when all of it has arrived.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::Args;
use folio_core::upload::Part;
use folio_model::{Digest, EntryName, Kind, Qualifier};
use reqwest::Response;
use sha2::{Digest as _, Sha256};

use super::{Session, version, words};
use crate::name::{UnitAt, Versioned};
use crate::output::{self, Progress, Reader};
use crate::problem::Problem;

/// What to get, and where to put it.
#[derive(Debug, Args)]
pub(crate) struct Download {
    #[command(flatten)]
    versioned: Versioned,
    /// Get what it is built from
    #[arg(long, conflicts_with = "deployment")]
    source: bool,
    /// Get what runs
    #[arg(long)]
    deployment: bool,
    #[command(flatten)]
    target: Target,
}

/// Where to put a download.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Write to this file, or `-` for standard output [default: the name the server gives]
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

/// Downloads the files of a version.
pub(super) async fn run(session: &Session, kind: Kind, download: Download) -> Result<()> {
    let found = download.versioned.or_latest(session, kind).await?;
    let part = match (download.source, download.deployment) {
        (true, _) => Some(Part::Source),
        (_, true) => Some(Part::Deployment),
        _ => None,
    };
    write(fetch(session, kind, &found, part).await?, download.target).await
}

/// Puts a download where it is wanted.
pub(crate) async fn write(answer: Response, target: Target) -> Result<()> {
    match target.file {
        Some(file) if file.as_os_str() == "-" => to_output(answer).await,
        file => {
            let file = match file {
                Some(file) => file,
                None => suggested(&answer)?,
            };
            let bytes = to_file(answer, &file, target.force).await?;
            output::talk(&format!("wrote {bytes} bytes to {}", file.display()));
            Ok(())
        }
    }
}

/// Asks for the files of a version or a draft.
pub(crate) async fn fetch(
    session: &Session,
    kind: Kind,
    (unit, at): &(UnitAt, Qualifier),
    part: Option<Part>,
) -> Result<Response> {
    let mut path = version(unit, kind, at);
    path.push("download".to_owned());
    let part = part.map(|part| serde_json::to_value(part).map(text)).transpose()?;
    let query: Vec<_> = part.into_iter().map(|part| ("part", part)).collect();
    session.client.fetch(&words(&path), &query).await
}

fn text(value: serde_json::Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Writes a download to standard output.
pub(crate) async fn to_output(mut answer: Response) -> Result<()> {
    // On a terminal, what is printed shows how far it is.
    let progress = match Reader::of_output() {
        Reader::Person => Progress::default(),
        Reader::Program => arriving(&answer),
    };
    let mut check = Check::new(&answer, progress);
    while let Some(piece) = next(&mut answer).await? {
        check.take(&piece);
        output::bytes(&piece)?;
    }
    check.finish()
}

/// A download that is not larger than this; nothing if it is.
pub(crate) async fn at_most(mut answer: Response, bytes_max: usize) -> Result<Option<Vec<u8>>> {
    let mut check = Check::new(&answer, Progress::default());
    let mut bytes = Vec::new();
    while let Some(piece) = next(&mut answer).await? {
        check.take(&piece);
        bytes.extend_from_slice(&piece);
        if bytes.len() > bytes_max {
            return Ok(None);
        }
    }
    check.finish()?;
    Ok(Some(bytes))
}

/// Writes a download to a file, which appears when it is complete.
pub(crate) async fn to_file(mut answer: Response, file: &Path, force: bool) -> Result<u64> {
    let context = || format!("cannot write `{}`", file.display());
    if !force && file.exists() {
        let problem = Problem::new(format!("`{}` is there already", file.display()));
        return Err(problem.hint("choose another name, or replace it with --force").into());
    }
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    if !parent.is_dir() {
        let problem = Problem::new(format!("`{}` is not a directory", parent.display()));
        return Err(problem.hint("make it first, or choose another place").into());
    }
    let mut unfinished = tempfile::NamedTempFile::new_in(parent).with_context(context)?;
    let mut check = Check::new(&answer, arriving(&answer));
    while let Some(piece) = next(&mut answer).await? {
        check.take(&piece);
        unfinished.write_all(&piece).with_context(context)?;
    }
    let bytes = check.bytes;
    check.finish()?;
    if force {
        unfinished.persist(file).with_context(context)?;
    } else {
        unfinished.persist_noclobber(file).with_context(context)?;
    }
    Ok(bytes)
}

/// The next bytes of a download.
async fn next(answer: &mut Response) -> Result<Option<Bytes>> {
    answer.chunk().await.with_context(|| {
        Problem::new("the download broke off").hint(
            "repeat the command; if it breaks off again, the log of the server says why, and \
             `folio check` what is damaged",
        )
    })
}

/// Compares what arrives with the digest it was announced with.
struct Check {
    expected: Option<Digest>,
    hasher: Sha256,
    bytes: u64,
    progress: Progress,
}

/// Shows how much of a download has arrived.
fn arriving(answer: &Response) -> Progress {
    Progress::bytes("downloading", answer.content_length())
}

impl Check {
    fn new(answer: &Response, progress: Progress) -> Self {
        let tag = answer.headers().get("ETag").and_then(|tag| tag.to_str().ok());
        let expected = tag.and_then(|tag| tag.trim_matches('"').parse().ok());
        Self { expected, hasher: Sha256::new(), bytes: 0, progress }
    }

    fn take(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
        self.bytes += piece.len() as u64;
        self.progress.add(piece.len() as u64);
    }

    fn finish(self) -> Result<()> {
        let found = Digest::from_bytes(self.hasher.finalize().into());
        match self.expected {
            Some(expected) if expected != found => {
                let problem = format!("what arrived is {found}, not {expected}");
                Err(Problem::new(problem).hint("repeat the command").into())
            }
            _ => Ok(()),
        }
    }
}

/// The name the server gives, which may only be a plain name.
pub(crate) fn suggested(answer: &Response) -> Result<PathBuf> {
    let header = answer.headers().get("Content-Disposition").and_then(|value| value.to_str().ok());
    let name = header.and_then(name_in);
    let name = name.and_then(|name| name.parse::<EntryName>().ok());
    let name = name.ok_or_else(|| {
        Problem::new("the server gives no name for the file").hint("choose one with --file PATH")
    })?;
    Ok(PathBuf::from(name.as_str()))
}

/// `attachment; filename="a.js"; filename*=UTF-8''a.js`; the second form carries any character.
fn name_in(header: &str) -> Option<String> {
    if let Some((_, encoded)) = header.split_once("filename*=UTF-8''") {
        return percent_decode(encoded.split(';').next()?.trim());
    }
    let (_, rest) = header.split_once("filename=")?;
    let rest = rest.trim();
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().map(str::to_owned),
        None => rest.split(';').next().map(|name| name.trim().to_owned()),
    }
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        bytes.extend(hex::decode(digits).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &str, expected: Option<&str>) {
        assert_eq!(name_in(header).as_deref(), expected, "{header}");
    }

    #[test]
    fn the_name_of_a_download_is_read_from_either_form() {
        check("attachment; filename=\"a b.js\"", Some("a b.js"));
        check("attachment; filename=a.js", Some("a.js"));
        check("attachment; filename=\"_.js\"; filename*=UTF-8''%C3%A4.js", Some("ä.js"));
        check("attachment", None);
        check("attachment; filename*=UTF-8''%C", None);
    }
}
