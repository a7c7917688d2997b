//! Objects: whole packs under names that are never used twice. The only module that speaks to the object
//! store and knows what its failures mean.

use std::collections::BTreeSet;
use std::error::Error;
use std::io;
use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use folio_core::ports::StoreError;
use folio_model::{Digest, Timestamp};
use futures::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode};

use super::blocking;
use super::files::Files;

const PREFIX: &str = "packs";

/// Packs by name.
pub(crate) struct Objects {
    store: Arc<dyn ObjectStore>,
    /// Where objects are written as files, if they are.
    files: Option<Files>,
    writing: Arc<Mutex<BTreeSet<String>>>,
}

/// An object as a listing shows it.
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) written: Timestamp,
}

/// A name under which an object is being written. While it lives, no sweep takes the object for forgotten.
pub(crate) struct Reserved {
    name: String,
    writing: Arc<Mutex<BTreeSet<String>>>,
}

impl Reserved {
    /// The object's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

impl Objects {
    /// Works on a store that does not acknowledge a write before it is durable.
    pub(crate) fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store, files: None, writing: Arc::default() }
    }

    /// Works on a directory of this machine, making it if it is not there.
    pub(crate) fn in_directory(directory: &FilePath) -> Result<Self, StoreError> {
        let files = Files::open(directory);
        let context = || format!("open the blob directory `{}`", directory.display());
        let files = files.map_err(|error| StoreError::failed(context(), error))?;
        Ok(Self { files: Some(files), ..Self::new(existing(directory)?) })
    }

    /// Takes a name for an object that does not exist yet.
    pub(crate) fn reserve(&self, chance: [u8; 32], bytes: &[u8]) -> Reserved {
        // The content takes part, so that names differ even where chance is repeated.
        let id = Digest::of(&[chance, *Digest::of(bytes).as_bytes()].concat()).hex();
        let id = &id[..32];
        let name = format!("{PREFIX}/{}/{id}", &id[..1]);
        self.writing.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        Reserved { name, writing: Arc::clone(&self.writing) }
    }

    /// The names under which objects are being written.
    pub(crate) fn writing(&self) -> Arc<Mutex<BTreeSet<String>>> {
        Arc::clone(&self.writing)
    }

    /// Writes a new object; durable when this returns true. False if the name is taken.
    pub(crate) async fn write(&self, name: &str, bytes: Bytes) -> Result<bool, StoreError> {
        if let Some(files) = &self.files {
            let file = files.file(name);
            return blocking(move || file.write(&bytes)).await;
        }
        match self.store.put_opts(&path(name), bytes.into(), PutMode::Create.into()).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(failed("write a pack", error)),
        }
    }

    /// Reads a whole object, if it is there.
    pub(crate) async fn read(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let get = async { self.store.get(&path(name)).await?.bytes().await };
        present(get.await).map_err(|error| failed("read a pack", error))
    }

    /// Reads a part of an object, if it is there.
    pub(crate) async fn read_part(
        &self,
        name: &str,
        part: Range<u64>,
    ) -> Result<Option<Bytes>, StoreError> {
        let end = part.end;
        match present(self.store.get_range(&path(name), part).await) {
            Ok(bytes) => Ok(bytes),
            Err(error) => match self.store.head(&path(name)).await {
                Ok(meta) if meta.size < end => {
                    Err(StoreError::corrupt(format!("pack {name}, which is cut short,")))
                }
                _ => Err(failed("read a part of a pack", error)),
            },
        }
    }

    /// Removes an object, if it is there. It may return after a power cut; the next sweep finds it.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), StoreError> {
        let removed = present(self.store.delete(&path(name)).await);
        removed.map(|_| ()).map_err(|error| failed("remove a pack", error))
    }

    /// Lists all objects.
    pub(crate) async fn list(&self) -> Result<Vec<Found>, StoreError> {
        let listed = self.store.list(Some(&path(PREFIX))).map_ok(|meta| Found {
            name: meta.location.to_string(),
            bytes: meta.size,
            written: Timestamp::from_millisecond(meta.last_modified.timestamp_millis())
                .unwrap_or(Timestamp::MAX),
        });
        listed.try_collect().await.map_err(|error| failed("list packs", error))
    }
}

/// Opens a directory of this machine as it is, changing nothing. One that is not there is empty.
pub(crate) fn existing(directory: &FilePath) -> Result<Arc<dyn ObjectStore>, StoreError> {
    if !directory.exists() {
        return Ok(Arc::new(InMemory::new()));
    }
    let store = LocalFileSystem::new_with_prefix(directory);
    let context = || format!("open the blob directory `{}`", directory.display());
    Ok(Arc::new(store.map_err(|error| StoreError::failed(context(), error))?))
}

fn path(name: &str) -> Path {
    Path::from(name)
}

fn present<T>(result: object_store::Result<T>) -> object_store::Result<Option<T>> {
    match result {
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        result => result.map(Some),
    }
}

fn failed(context: &str, error: object_store::Error) -> StoreError {
    if is_full(&error) { StoreError::Full } else { StoreError::failed(context, error) }
}

fn is_full(error: &(dyn Error + 'static)) -> bool {
    let io = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let full = matches!(io, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded));
    full || error.source().is_some_and(is_full)
}
