//! What the files of a spec directory held when they were sent last, so that those that did not change since are
//! neither read nor sent again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use folio_core::ports::{Clock, SystemClock};
use folio_model::{Digest, Owner};

use super::archives::{ArchiveSpec, Shape};
use super::directory::{Holds, Spec, SpecFile};
use super::fetch::Origin;
use super::manifest::{Before, Said, Side};
use crate::content::DotFiles;
use crate::memory::{self, Reader, Stamp, Writer};

/// Another build may read manifests in another way.
const MARK: &str = concat!("folio manifests ", env!("CARGO_PKG_VERSION"), "\n");

/// What is remembered of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    Archive(ArchiveSpec),
    Deployment(Owner),
    Manifest { at: String, before: Before },
    Remark(String),
}

/// What is remembered of a directory.
#[derive(Debug)]
pub(super) struct Memory {
    path: PathBuf,
    files: HashMap<String, KnownFile>,
    /// When looking at the files began, in nanoseconds.
    began: i128,
    /// Whether no file was found that is not remembered.
    is_current: bool,
}

type KnownFile = (Stamp, Vec<Known>);

/// What to remember for the next time.
pub(super) struct Lesson {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Lesson {
    /// Keeps it, if it can be kept: without it, the next time only takes longer.
    pub(super) fn keep(&self) {
        drop(memory::save(&self.path, &self.bytes));
    }
}

impl Memory {
    /// Opens what is remembered of a directory; where nothing can be remembered, there is no memory.
    pub(super) fn open(memories: &Path, directory: &Path) -> Option<Self> {
        let began = SystemClock.now().as_nanosecond();
        let path = memory::path(memories, directory, "manifests").ok()?;
        let files = memory::load(&path).and_then(|bytes| decode(&bytes)).unwrap_or_default();
        Some(Self { path, files, began, is_current: true })
    }

    /// The same, as if nothing were remembered.
    pub(super) fn forget(self) -> Self {
        Self { files: HashMap::new(), ..self }
    }

    /// What a file held, if nothing happened to it since.
    pub(super) fn take(&mut self, path: &Path, stamp: &Stamp) -> Option<Vec<Known>> {
        let known = path.to_str().and_then(|path| self.files.remove(path));
        let known = known.filter(|(then, _)| then == stamp);
        self.is_current &= known.is_some();
        known.map(|(_, known)| known)
    }

    /// What to remember of a spec whose manifests have these digests, if it is not what is remembered.
    pub(super) fn lesson(&self, spec: &Spec, digests: &[Digest]) -> Option<Lesson> {
        if self.is_current && self.files.is_empty() {
            return None;
        }
        let is_sure = |file: &&SpecFile| file.stamp.is_settled(self.began);
        let files = spec.files.iter().filter(is_sure);
        let known = files.filter_map(|file| {
            let path = file.path.to_str()?.to_owned();
            let known: Option<Vec<_>> =
                file.holds.iter().map(|holds| known(spec, digests, holds)).collect();
            Some((path, (file.stamp, known?)))
        });
        let bytes = encode(&known.collect());
        Some(Lesson { path: self.path.clone(), bytes })
    }
}

/// What to remember of a document. None if its files have to be fetched every time.
fn known(spec: &Spec, digests: &[Digest], holds: &Holds) -> Option<Known> {
    Some(match holds {
        Holds::Archive(name) => Known::Archive(spec.archives.get(name)?.clone()),
        Holds::Deployment(owner) => Known::Deployment(owner.clone()),
        Holds::Remark(remark) => Known::Remark(remark.clone()),
        Holds::Manifest(place) => {
            let manifest = spec.manifests.get(*place)?;
            let before = match &manifest.said {
                Said::Before(before) => before.clone(),
                Said::Now(_) => {
                    let archive = |side| match manifest.origin(side) {
                        Ok(Origin::Nothing) => Some(None),
                        Ok(Origin::Archive(name)) => Some(Some(name)),
                        Ok(Origin::Literal(_) | Origin::Address(_)) | Err(_) => None,
                    };
                    let [source, deployment] = Side::ALL.map(archive);
                    Before { digest: *digests.get(*place)?, archives: [source?, deployment?] }
                }
            };
            Known::Manifest { at: manifest.at.clone(), before }
        }
    })
}

fn encode(files: &HashMap<String, KnownFile>) -> Vec<u8> {
    let mut bytes = Writer::new(MARK);
    bytes.count(files.len());
    for (path, (stamp, known)) in files {
        bytes.text(path);
        bytes.stamp(stamp);
        bytes.count(known.len());
        known.iter().for_each(|known| encode_known(&mut bytes, known));
    }
    bytes.finish()
}

fn encode_known(bytes: &mut Writer, known: &Known) {
    match known {
        Known::Archive(archive) => {
            bytes.numbers(&[0]);
            encode_archive(bytes, archive);
        }
        Known::Deployment(Owner { uid, name }) => {
            bytes.numbers(&[1]);
            bytes.text(uid);
            bytes.text(name);
        }
        Known::Manifest { at, before: Before { digest, archives } } => {
            bytes.numbers(&[2]);
            bytes.text(at);
            bytes.digest(digest);
            archives.iter().for_each(|archive| encode_maybe(bytes, archive.as_deref()));
        }
        Known::Remark(remark) => {
            bytes.numbers(&[3]);
            bytes.text(remark);
        }
    }
}

/// Writes an archive down.
pub(super) fn encode_archive(bytes: &mut Writer, archive: &ArchiveSpec) {
    let ArchiveSpec { name, at, rootdir, include, exclude, .. } = archive;
    bytes.text(name);
    bytes.text(at);
    encode_maybe(bytes, rootdir.as_deref());
    for patterns in [include, exclude] {
        bytes.count(patterns.len());
        patterns.iter().for_each(|pattern| bytes.text(pattern));
    }
}

fn encode_maybe(bytes: &mut Writer, text: Option<&str>) {
    bytes.flag(text.is_some());
    if let Some(text) = text {
        bytes.text(text);
    }
}

fn decode(bytes: &[u8]) -> Option<HashMap<String, KnownFile>> {
    let mut rest = Reader::new(bytes, MARK)?;
    let count = rest.count(1)?;
    let mut files = HashMap::with_capacity(count);
    for _ in 0..count {
        let (path, stamp) = (rest.text()?, rest.stamp()?);
        let count = rest.count(1)?;
        let known = (0..count).map(|_| decode_known(&mut rest)).collect::<Option<_>>()?;
        files.insert(path, (stamp, known));
    }
    rest.is_done().then_some(files)
}

fn decode_known(rest: &mut Reader<'_>) -> Option<Known> {
    Some(match rest.number()? {
        0 => Known::Archive(decode_archive(rest)?),
        1 => Known::Deployment(Owner { uid: rest.text()?, name: rest.text()? }),
        2 => {
            let (at, digest) = (rest.text()?, rest.digest()?);
            let archives = [decode_maybe(rest)?, decode_maybe(rest)?];
            Known::Manifest { at, before: Before { digest, archives } }
        }
        3 => Known::Remark(rest.text()?),
        _ => return None,
    })
}

/// Reads an archive that was written down.
pub(super) fn decode_archive(rest: &mut Reader<'_>) -> Option<ArchiveSpec> {
    Some(ArchiveSpec {
        name: rest.text()?,
        at: rest.text()?,
        rootdir: decode_maybe(rest)?,
        include: decode_texts(rest)?,
        exclude: decode_texts(rest)?,
        shape: Shape::AsFound,
        dot_files: DotFiles::Included,
    })
}

fn decode_maybe(rest: &mut Reader<'_>) -> Option<Option<String>> {
    if rest.flag()? { rest.text().map(Some) } else { Some(None) }
}

fn decode_texts(rest: &mut Reader<'_>) -> Option<Vec<String>> {
    let count = rest.count(1)?;
    (0..count).map(|_| rest.text()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> HashMap<String, KnownFile> {
        let stamp = Stamp { device: 1, inode: 2, bytes: 3, modified: 4, changed: 5 };
        let text = str::to_owned;
        let known = vec![
            Known::Archive(ArchiveSpec {
                name: text("code"),
                at: text("specs/a.yaml:1:1"),
                rootdir: Some(text("..")),
                include: vec![text("src/*"), text("lib")],
                exclude: vec![text("src/old")],
                ..ArchiveSpec::default()
            }),
            Known::Manifest {
                at: text("specs/a.yaml:5:1"),
                before: Before {
                    digest: Digest::of(b"a manifest"),
                    archives: [None, Some(text("code"))],
                },
            },
            Known::Deployment(Owner { uid: text("u"), name: text("n") }),
            Known::Remark(text("Ignoring unknown type")),
        ];
        [(text("specs/a.yaml"), (stamp, known))].into()
    }

    #[test]
    fn what_is_remembered_reads_back_and_damage_is_nothing() {
        let good = encode(&files());
        assert_eq!(decode(&good), Some(files()));
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert_eq!(decode(&bad), None, "byte {at}");
            assert_eq!(decode(&good[..at]), None, "cut at {at}");
        }
    }

    #[test]
    fn a_file_that_changed_is_not_what_is_remembered() {
        let path = PathBuf::new();
        let mut memory = Memory { path, files: files(), began: 0, is_current: true };
        let other = Stamp { device: 1, inode: 2, bytes: 3, modified: 9, changed: 5 };
        assert_eq!(memory.take(Path::new("specs/a.yaml"), &other), None);
        assert!(!memory.is_current);
    }
}
