//! What was applied of a directory the last time, as it is remembered: which files it was made of, and what each
//! archive was on the server.

use std::path::{Path, PathBuf};

use folio_core::request::ContentRef;
use folio_model::{Digest, Layout, Owner};

use crate::memory::{Reader, Stamp, Writer};
use crate::spec::archives::ArchiveSpec;
use crate::spec::memory::{decode_archive, encode_archive};

/// Another build may read manifests in another way.
const MARK: &str = concat!("folio applied ", env!("CARGO_PKG_VERSION"), "\n");
/// A stamp has three numbers of 8 bytes and two of 16.
const STAMP_BYTES: usize = 56;

/// What was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// What the server calls it.
    pub(super) base: Digest,
    pub(super) deployment: Owner,
    /// What there was to say about the manifests.
    pub(super) remarks: Vec<String>,
    /// What says which files are manifests: directories, and the file of patterns.
    pub(super) guides: Vec<(PathBuf, Stamp)>,
    pub(super) manifests: Vec<(PathBuf, Stamp)>,
    pub(super) archives: Vec<Archive>,
    /// The manifests that have files.
    pub(super) packages: Vec<Package>,
}

/// An archive and what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Archive {
    pub(super) files: Files,
    pub(super) content: ContentRef,
}

/// Which files an archive holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Files {
    /// One, by name. Without a stamp, nobody knows whether it changed since.
    Sole(PathBuf, Option<Stamp>),
    /// What patterns match.
    Matching(ArchiveSpec),
}

/// A manifest with files, by the places of its archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) digest: Digest,
    pub(super) source: Option<u32>,
    pub(super) deployment: Option<u32>,
}

impl Record {
    /// Its bytes; none if a path cannot be written down.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let mut bytes = Writer::new(MARK);
        bytes.digest(&self.base);
        bytes.text(&self.deployment.uid);
        bytes.text(&self.deployment.name);
        bytes.count(self.remarks.len());
        self.remarks.iter().for_each(|remark| bytes.text(remark));
        for files in [&self.guides, &self.manifests] {
            bytes.count(files.len());
            for (path, stamp) in files {
                bytes.text(path.to_str()?);
                bytes.stamp(stamp);
            }
        }
        bytes.count(self.archives.len());
        for Archive { files, content } in &self.archives {
            bytes.flag(matches!(files, Files::Sole(..)));
            match files {
                Files::Sole(path, stamp) => {
                    bytes.text(path.to_str()?);
                    bytes.flag(stamp.is_some());
                    stamp.iter().for_each(|stamp| bytes.stamp(stamp));
                }
                Files::Matching(archive) => encode_archive(&mut bytes, archive),
            }
            encode_content(&mut bytes, *content);
        }
        bytes.count(self.packages.len());
        for Package { digest, source, deployment } in &self.packages {
            bytes.digest(digest);
            bytes.numbers(&[source, deployment].map(|place| place.map_or(u64::MAX, u64::from)));
        }
        Some(bytes.finish())
    }

    /// Reads what was written; nothing if it was not, or is damaged.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = Reader::new(bytes, MARK)?;
        let base = rest.digest()?;
        let deployment = Owner { uid: rest.text()?, name: rest.text()? };
        let count = rest.count(1)?;
        let remarks = (0..count).map(|_| rest.text()).collect::<Option<_>>()?;
        let (guides, manifests) = (decode_files(&mut rest)?, decode_files(&mut rest)?);
        let count = rest.count(1)?;
        let mut archives = Vec::with_capacity(count);
        for _ in 0..count {
            archives.push(decode_one(&mut rest)?);
        }
        let count = rest.count(1)?;
        let mut packages = Vec::with_capacity(count);
        for _ in 0..count {
            let digest = rest.digest()?;
            let (source, deployment) = (rest.number()?, rest.number()?);
            let [source, deployment] = [source, deployment].map(|place| u32::try_from(place).ok());
            packages.push(Package { digest, source, deployment });
        }
        rest.is_done().then_some(Self {
            base,
            deployment,
            remarks,
            guides,
            manifests,
            archives,
            packages,
        })
    }
}

fn decode_files(rest: &mut Reader<'_>) -> Option<Vec<(PathBuf, Stamp)>> {
    let count = rest.count(STAMP_BYTES)?;
    let mut files = Vec::with_capacity(count);
    for _ in 0..count {
        files.push((Path::new(rest.word()?).to_owned(), rest.stamp()?));
    }
    Some(files)
}

fn decode_one(rest: &mut Reader<'_>) -> Option<Archive> {
    let files = if rest.flag()? {
        let path = Path::new(rest.word()?).to_owned();
        let stamp = if rest.flag()? { Some(rest.stamp()?) } else { None };
        Files::Sole(path, stamp)
    } else {
        Files::Matching(decode_archive(rest)?)
    };
    Some(Archive { files, content: decode_content(rest)? })
}

fn encode_content(bytes: &mut Writer, content: ContentRef) {
    let (kind, digest) = match content {
        ContentRef::Tree { tree, layout: Layout::File } => (0, tree),
        ContentRef::Tree { tree, layout: Layout::Directory } => (1, tree),
        ContentRef::Archive { archive } => (2, archive),
    };
    bytes.numbers(&[kind]);
    bytes.digest(&digest);
}

fn decode_content(rest: &mut Reader<'_>) -> Option<ContentRef> {
    let (kind, digest) = (rest.number()?, rest.digest()?);
    match kind {
        0 => Some(ContentRef::Tree { tree: digest, layout: Layout::File }),
        1 => Some(ContentRef::Tree { tree: digest, layout: Layout::Directory }),
        2 => Some(ContentRef::Archive { archive: digest }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let text = str::to_owned;
        let stamp = Stamp { device: 1, inode: 2, bytes: 3, modified: 4, changed: 5 };
        let patterns = ArchiveSpec {
            name: text("code"),
            at: text("specs/a.yaml:1:1"),
            rootdir: Some(text("..")),
            include: vec![text("src/*")],
            exclude: vec![text("src/old")],
            ..ArchiveSpec::default()
        };
        let [one, two, three] = [b"1", b"2", b"3"].map(|bytes| Digest::of(bytes));
        let tree = |tree, layout| ContentRef::Tree { tree, layout };
        let archive = |files, content| Archive { files, content };
        Record {
            base: one,
            deployment: Owner { uid: text("u"), name: text("n") },
            remarks: vec![text("Ignoring unknown type")],
            guides: vec![(PathBuf::from("specs"), stamp)],
            manifests: vec![(PathBuf::from("specs/a.yaml"), stamp)],
            archives: vec![
                archive(Files::Sole("src/a.js".into(), Some(stamp)), tree(one, Layout::File)),
                archive(Files::Sole("src/b.js".into(), None), ContentRef::Archive { archive: two }),
                archive(Files::Matching(patterns), tree(three, Layout::Directory)),
            ],
            packages: vec![Package { digest: two, source: None, deployment: Some(1) }],
        }
    }

    #[test]
    fn what_is_remembered_reads_back_and_damage_is_nothing() {
        let good = record().encode().unwrap();
        assert_eq!(Record::decode(&good), Some(record()));
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert_eq!(Record::decode(&bad), None, "byte {at}");
            assert_eq!(Record::decode(&good[..at]), None, "cut at {at}");
        }
    }
}
