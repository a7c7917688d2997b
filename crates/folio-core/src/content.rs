//! Placeholder until the content module lands: the signatures the verbs rely on.

use bytes::Bytes;
use folio_model::{Digest, TreeEntry, TreePath};

use crate::Limits;
use crate::archive::Error;
use crate::ports::{Blobs, StoreError};

/// Unpacks a stored archive into a tree and returns its root.
pub async fn unpack(_: &dyn Blobs, _: Digest, _: &Limits) -> Result<Digest, Error> {
    todo!()
}

/// Lists every file of a tree, by path.
pub async fn list_files(
    _: &dyn Blobs,
    _: Digest,
) -> Result<Vec<(TreePath, TreeEntry)>, StoreError> {
    todo!()
}

/// Packs a tree into a deterministic zip.
pub async fn pack_zip(_: &dyn Blobs, _: Digest) -> Result<Vec<u8>, StoreError> {
    todo!()
}

/// Reads a whole file, stored raw or in chunks. For files whose size was checked before.
pub async fn read_whole(_: &dyn Blobs, _: Digest) -> Result<Bytes, StoreError> {
    todo!()
}
