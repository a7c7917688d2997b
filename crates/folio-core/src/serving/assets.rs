//! The files of static items, as directories that are shared by everything that holds them. A changed file makes new
//! the directories above it and no other, so that a release costs what differs from the one before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use bytes::Bytes;
use folio_model::{Digest, Layout, Name, StaticSpec, Tree, TreeEntry};
use http::HeaderValue;

use super::encode::Encoded;
use super::encodings::{Encodings, Wanted};
use super::room::Held;
use crate::Folio;
use crate::ports::{Blobs, StoreError};

/// Files larger than this are read from the store a piece at a time.
const WHOLE_BYTES_MAX: u64 = 1024 * 1024;

/// A static item with its files.
#[derive(Debug)]
pub struct Asset {
    /// The item's name.
    pub name: Name,
    /// What it says.
    pub spec: StaticSpec,
    /// Its files.
    pub files: AssetEntry,
}

/// A file or a directory of files.
#[derive(Debug, Clone)]
pub enum AssetEntry {
    /// A directory.
    Directory(Arc<AssetDirectory>),
    /// A file.
    File(Arc<AssetFile>),
    /// What the store cannot give back. Only ever a whole item.
    Unreadable,
}

/// Files by name.
#[derive(Debug)]
pub struct AssetDirectory {
    entries: HashMap<Box<str>, AssetEntry>,
}

/// A file, and what a door keeps of it to answer without asking the store.
#[derive(Debug)]
pub struct AssetFile {
    /// What it holds.
    pub digest: Digest,
    /// Its length.
    pub bytes: u64,
    /// Its bytes, once somebody asked for them and there was room.
    kept: OnceLock<Held<Bytes>>,
    /// The same of its encodings.
    pub(super) encoded: OnceLock<Held<Arc<Encoded>>>,
    encodings: Mutex<Encodings>,
    validator: OnceLock<HeaderValue>,
}

impl Asset {
    /// Whether its files could be read.
    pub(super) fn is_readable(&self) -> bool {
        !matches!(self.files, AssetEntry::Unreadable)
    }

    /// What says of an item that is a single file what it holds: its path has an ending, or it is taken for a page.
    pub fn own_name(&self) -> &str {
        own_name(&self.spec)
    }
}

fn own_name(spec: &StaticSpec) -> &str {
    let last = spec.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if last.contains('.') { last } else { "index.html" }
}

impl AssetFile {
    fn new(digest: Digest, bytes: u64) -> Self {
        let (kept, encoded) = (OnceLock::new(), OnceLock::new());
        let (encodings, validator) = (Mutex::default(), OnceLock::new());
        Self { digest, bytes, kept, encoded, encodings, validator }
    }

    /// What clients know its bytes by, as an `ETag`.
    pub fn validator(&self) -> &HeaderValue {
        self.validator.get_or_init(|| {
            let quoted = format!("\"{}\"", self.digest.to_string().replace(':', "-"));
            HeaderValue::try_from(quoted).expect("a digest is plain text")
        })
    }

    /// Whether it is small enough to be read as a whole; others are read a piece at a time.
    pub fn fits_memory(&self) -> bool {
        self.bytes <= WHOLE_BYTES_MAX
    }

    /// Where its encodings are.
    pub(super) fn encodings(&self) -> Encodings {
        *self.standing()
    }

    pub(super) fn set_encodings(&self, to: Encodings) {
        *self.standing() = to;
    }

    /// Whether its encodings are wanted for the first time.
    pub(super) fn wants_encodings(&self) -> bool {
        let mut standing = self.standing();
        let first = *standing == Encodings::Unwanted;
        if first {
            *standing = Encodings::Awaited;
        }
        first
    }

    /// Notes that the node of its encodings cannot be read; false if somebody did already.
    pub(super) fn lose_encodings(&self, node: Digest) -> bool {
        let mut standing = self.standing();
        let held = *standing == Encodings::Stored(node);
        if held {
            *standing = Encodings::Awaited;
        }
        held
    }

    // Nothing that holds the lock leaves it half changed.
    fn standing(&self) -> MutexGuard<'_, Encodings> {
        self.encodings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AssetDirectory {
    /// What a relative path leads to. Segments are compared as they are: no dots, no case, no Unicode forms.
    pub fn find(self: &Arc<Self>, path: &str) -> Option<AssetEntry> {
        let mut here = self;
        let mut segments = path.split('/').peekable();
        if path.is_empty() {
            return Some(AssetEntry::Directory(Arc::clone(self)));
        }
        while let Some(segment) = segments.next() {
            let entry = here.entries.get(segment)?;
            match (entry, segments.peek().is_none()) {
                (entry, true) => return Some(entry.clone()),
                (AssetEntry::Directory(directory), false) => here = directory,
                (AssetEntry::File(_) | AssetEntry::Unreadable, false) => return None,
            }
        }
        None
    }

    /// Every file of it.
    pub fn files(&self) -> Vec<(String, Arc<AssetFile>)> {
        let mut found = Vec::new();
        self.collect("", &mut found);
        found
    }

    fn collect(&self, above: &str, found: &mut Vec<(String, Arc<AssetFile>)>) {
        for (name, entry) in &self.entries {
            let path = if above.is_empty() { name.to_string() } else { format!("{above}/{name}") };
            match entry {
                AssetEntry::File(file) => found.push((path, Arc::clone(file))),
                AssetEntry::Directory(directory) => directory.collect(&path, found),
                AssetEntry::Unreadable => {}
            }
        }
    }
}

/// Everything that some release holds, so that equal files are kept once.
#[derive(Default)]
pub(super) struct Shelf(Mutex<Known>);

#[derive(Default)]
struct Known {
    directories: HashMap<Digest, Weak<AssetDirectory>>,
    files: HashMap<Digest, Weak<AssetFile>>,
}

impl Shelf {
    fn directory(&self, digest: Digest) -> Option<Arc<AssetDirectory>> {
        self.known().directories.get(&digest).and_then(Weak::upgrade)
    }

    fn file(&self, digest: Digest, bytes: u64) -> Arc<AssetFile> {
        let mut known = self.known();
        if let Some(file) = known.files.get(&digest).and_then(Weak::upgrade) {
            return file;
        }
        let file = Arc::new(AssetFile::new(digest, bytes));
        known.files.insert(digest, Arc::downgrade(&file));
        file
    }

    fn put(&self, digest: Digest, directory: &Arc<AssetDirectory>) {
        let mut known = self.known();
        known.directories.insert(digest, Arc::downgrade(directory));
        // What nobody holds any more is forgotten when there is as much of it as of the rest.
        if known.directories.len().is_power_of_two() {
            known.directories.retain(|_, held| held.strong_count() > 0);
            known.files.retain(|_, held| held.strong_count() > 0);
        }
    }

    // Nothing that holds the lock leaves it half changed.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of a tree. Reads only directories that no release holds.
    async fn read(
        &self,
        blobs: &dyn Blobs,
        tree: Digest,
        wanted: &mut Wanted<'_>,
    ) -> Result<Arc<AssetDirectory>, StoreError> {
        if let Some(known) = self.directory(tree) {
            return Ok(known);
        }
        let node = blobs.get(tree).await?;
        let listed = Tree::decode(&node.bytes)
            .map_err(|_| StoreError::corrupt(format!("directory {tree}")))?;
        let mut entries = HashMap::with_capacity(listed.entries().len());
        for entry in listed.entries() {
            let (name, found) = match entry {
                TreeEntry::File { name, digest, bytes, .. } => {
                    let file = self.file(*digest, *bytes);
                    wanted.add(name.as_str(), &file);
                    (name, AssetEntry::File(file))
                }
                TreeEntry::Directory { name, digest, .. } => {
                    let directory = Box::pin(self.read(blobs, *digest, wanted)).await?;
                    (name, AssetEntry::Directory(directory))
                }
            };
            entries.insert(name.as_str().into(), found);
        }
        let directory = Arc::new(AssetDirectory { entries });
        self.put(tree, &directory);
        Ok(directory)
    }
}

impl Folio {
    /// The files of a static item. Encodings of those that are new are found here, so that no request does, and are
    /// made later if there are none.
    pub(super) async fn asset(&self, name: Name, spec: StaticSpec) -> Result<Asset, StoreError> {
        let (shelf, blobs) = (&self.serving.shelf, self.blobs.as_ref());
        let mut wanted = Wanted::new(&self.serving.awaited, self.limits().encoded_bytes_max);
        let read = shelf.read(blobs, spec.content.tree, &mut wanted).await;
        let files = match read.and_then(|directory| entry(&directory, &spec)) {
            Ok(files) => files,
            // Others are none the worse for it, and trying again does not bring it back.
            Err(error) if error.is_lasting() => {
                tracing::error!(%error, static.name = %name, "Static item `{name}` cannot be read; requests for it fail");
                AssetEntry::Unreadable
            }
            Err(error) => return Err(error),
        };
        if let AssetEntry::File(file) = &files {
            wanted.add(own_name(&spec), file);
        }
        wanted.find(blobs).await;
        Ok(Asset { name, spec, files })
    }

    /// The bytes of a file of a release, kept in memory from then on if there is room.
    pub async fn asset_bytes(&self, file: &AssetFile) -> Result<Bytes, StoreError> {
        if let Some(kept) = file.kept.get() {
            return Ok(kept.value.clone());
        }
        let bytes = crate::content::read_whole(self.blobs.as_ref(), file.digest).await?;
        let held = self.serving.room.hold(bytes.clone(), bytes.len() as u64);
        // Whoever was faster keeps the same.
        drop(held.map(|held| file.kept.set(held)));
        Ok(bytes)
    }

    /// The bytes of a file of a release, from a byte on, a piece at a time.
    pub async fn asset_stream(
        &self,
        file: &AssetFile,
        from: u64,
    ) -> Result<crate::content::FileStream, StoreError> {
        crate::content::read_file_from(Arc::clone(&self.blobs), file.digest, from).await
    }
}

/// What an item's tree is: a directory, or the only file in it.
fn entry(directory: &Arc<AssetDirectory>, spec: &StaticSpec) -> Result<AssetEntry, StoreError> {
    if spec.content.layout == Layout::Directory {
        return Ok(AssetEntry::Directory(Arc::clone(directory)));
    }
    let mut entries = directory.entries.values();
    match (entries.next(), entries.next()) {
        (Some(AssetEntry::File(file)), None) => Ok(AssetEntry::File(Arc::clone(file))),
        _ => {
            let what = format!("tree {}, which should hold one file", spec.content.tree);
            Err(StoreError::corrupt(what))
        }
    }
}
