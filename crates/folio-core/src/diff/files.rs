//! Compares two trees of files.

use std::collections::BTreeMap;

use folio_model::{Digest, EntryName, NodeKind, Tree, TreeEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ports::{Blobs, StoreError};
use crate::{Limits, content};

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// What it was; absent if it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<FileSide>,
    /// What it is; absent if it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<FileSide>,
    /// The difference line by line, where both sides are text and not too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

/// A file on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileSide {
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its length.
    pub bytes: u64,
    /// Whether it may be executed.
    pub executable: bool,
}

/// A comparison under way.
pub(super) struct Comparison<'a> {
    blobs: &'a dyn Blobs,
    limits: &'a Limits,
    changes: Vec<FileChange>,
    text_bytes: u64,
    truncated: bool,
    lines: Lines,
}

/// Whether files are compared line by line.
#[derive(PartialEq, Eq)]
enum Lines {
    Compared,
    LeftOut,
}

/// Two directories that differ, still to be looked into.
struct Pair {
    prefix: String,
    old: Option<Digest>,
    new: Option<Digest>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(blobs: &'a dyn Blobs, limits: &'a Limits) -> Self {
        let (changes, lines) = (Vec::new(), Lines::Compared);
        Self { blobs, limits, changes, text_bytes: 0, truncated: false, lines }
    }

    /// One that only says which files differ, and reads none.
    pub(super) fn of_names(blobs: &'a dyn Blobs, limits: &'a Limits) -> Self {
        Self { lines: Lines::LeftOut, ..Self::new(blobs, limits) }
    }

    /// Compares two trees, either of which may be absent.
    pub(super) async fn compare(
        &mut self,
        prefix: &str,
        old: Option<Digest>,
        new: Option<Digest>,
    ) -> Result<(), StoreError> {
        let mut pairs = vec![Pair { prefix: prefix.to_owned(), old, new }];
        while let Some(pair) = pairs.pop() {
            if pair.old == pair.new {
                continue;
            }
            let (old, new) = (self.entries(pair.old).await?, self.entries(pair.new).await?);
            for name in names(&old, &new) {
                let path = format!("{}{name}", pair.prefix);
                self.compare_entry(&mut pairs, path, (old.get(&name), new.get(&name))).await?;
            }
        }
        Ok(())
    }

    /// The changes, by path, and whether text was left out.
    pub(super) fn finish(mut self) -> (Vec<FileChange>, bool) {
        self.changes.sort_by(|a, b| a.path.cmp(&b.path));
        (self.changes, self.truncated)
    }

    async fn entries(
        &self,
        tree: Option<Digest>,
    ) -> Result<BTreeMap<EntryName, TreeEntry>, StoreError> {
        let Some(digest) = tree else { return Ok(BTreeMap::new()) };
        let node = self.blobs.get(digest).await?;
        if node.kind != NodeKind::Tree {
            return Err(StoreError::corrupt(format!("tree {digest}")));
        }
        let tree = Tree::decode(&node.bytes)
            .map_err(|error| StoreError::corrupt(format!("tree {digest} ({error})")))?;
        Ok(tree.entries().iter().map(|entry| (entry.name().clone(), entry.clone())).collect())
    }

    async fn compare_entry(
        &mut self,
        pairs: &mut Vec<Pair>,
        path: String,
        (old, new): (Option<&TreeEntry>, Option<&TreeEntry>),
    ) -> Result<(), StoreError> {
        let (old_file, old_directory) = split(old);
        let (new_file, new_directory) = split(new);
        if old_directory.is_some() || new_directory.is_some() {
            let prefix = format!("{path}/");
            pairs.push(Pair { prefix, old: old_directory, new: new_directory });
        }
        if old_file != new_file {
            let patch = self.patch(&path, old_file, new_file).await?;
            self.changes.push(FileChange { path, from: old_file, to: new_file, patch });
        }
        Ok(())
    }

    async fn patch(
        &mut self,
        path: &str,
        old: Option<FileSide>,
        new: Option<FileSide>,
    ) -> Result<Option<String>, StoreError> {
        if self.lines == Lines::LeftOut {
            return Ok(None);
        }
        let bytes = old.map_or(0, |file| file.bytes) + new.map_or(0, |file| file.bytes);
        let large = |file: Option<FileSide>| {
            file.is_some_and(|file| file.bytes > self.limits.diff_file_bytes_max)
        };
        if large(old) || large(new) || self.text_bytes + bytes > self.limits.diff_bytes_max {
            self.truncated = true;
            return Ok(None);
        }
        let (Some(old), Some(new)) = (self.text(old).await?, self.text(new).await?) else {
            return Ok(None);
        };
        self.text_bytes += bytes;
        let diff = similar::TextDiff::from_lines(&old, &new);
        Ok(Some(diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string()))
    }

    /// A side's text, or nothing if it is not text. An absent side is empty text.
    async fn text(&self, file: Option<FileSide>) -> Result<Option<String>, StoreError> {
        let Some(file) = file else { return Ok(Some(String::new())) };
        let bytes = content::read_whole(self.blobs, file.digest).await?;
        Ok(String::from_utf8(bytes.into()).ok().filter(|text| !text.contains('\0')))
    }
}

fn names(
    old: &BTreeMap<EntryName, TreeEntry>,
    new: &BTreeMap<EntryName, TreeEntry>,
) -> Vec<EntryName> {
    let mut names: Vec<_> = old.keys().chain(new.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names
}

fn split(entry: Option<&TreeEntry>) -> (Option<FileSide>, Option<Digest>) {
    match entry {
        None => (None, None),
        Some(TreeEntry::Directory { digest, .. }) => (None, Some(*digest)),
        Some(&TreeEntry::File { digest, bytes, executable, .. }) => {
            (Some(FileSide { digest, bytes, executable }), None)
        }
    }
}
