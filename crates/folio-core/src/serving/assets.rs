//! The files of static items, as directories that are shared by everything that holds them. A changed file makes new
//! the directories above it and no other, so that a release costs what differs from the one before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use bytes::Bytes;
use folio_model::{Digest, Layout, Name, StaticSpec, Tree, TreeEntry};

use crate::Folio;
use crate::ports::{Blobs, StoreError};

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
    /// Its bytes, once somebody found them worth keeping.
    pub kept: OnceLock<Bytes>,
    /// Its bytes in other encodings, once they were made.
    pub encoded: OnceLock<Encoded>,
}

/// A file in other encodings; absent where that is not smaller.
#[derive(Debug, Default)]
pub struct Encoded {
    /// By Brotli.
    pub br: Option<Bytes>,
    /// By Zstandard.
    pub zstd: Option<Bytes>,
    /// By gzip.
    pub gzip: Option<Bytes>,
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
                (AssetEntry::File(_), false) => return None,
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
        let (kept, encoded) = (OnceLock::new(), OnceLock::new());
        let file = Arc::new(AssetFile { digest, bytes, kept, encoded });
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
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of a tree. Reads only directories that no release holds.
    async fn read(
        &self,
        blobs: &dyn Blobs,
        tree: Digest,
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
                    (name, AssetEntry::File(self.file(*digest, *bytes)))
                }
                TreeEntry::Directory { name, digest, .. } => {
                    let directory = Box::pin(self.read(blobs, *digest)).await?;
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
    /// The files of a static item.
    pub(super) async fn asset(&self, name: Name, spec: StaticSpec) -> Result<Asset, StoreError> {
        let shelf = &self.serving.shelf;
        let directory = shelf.read(self.blobs.as_ref(), spec.content.tree).await?;
        let files = match spec.content.layout {
            Layout::Directory => AssetEntry::Directory(directory),
            Layout::File => {
                let mut entries = directory.entries.values();
                match (entries.next(), entries.next()) {
                    (Some(AssetEntry::File(file)), None) => AssetEntry::File(Arc::clone(file)),
                    _ => {
                        let tree = spec.content.tree;
                        return Err(StoreError::corrupt(format!(
                            "tree {tree}, which should hold one file"
                        )));
                    }
                }
            }
        };
        Ok(Asset { name, spec, files })
    }

    /// The bytes of a file of a release.
    pub async fn asset_bytes(&self, file: &AssetFile) -> Result<Bytes, StoreError> {
        crate::content::read_whole(self.blobs.as_ref(), file.digest).await
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
