//! Blobs: bytes by digest. A node is only ever stored after everything it names, so whoever can read a
//! tree's root can read all of it, whatever crashed when.

use async_trait::async_trait;
use bytes::Bytes;
use folio_model::{Digest, NodeKind, Timestamp, TreeTotals};

use super::StoreError;

/// Bytes on their way in or out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What the bytes are.
    pub kind: NodeKind,
    /// Their name: the SHA-256 of the bytes, or of the whole file for [`NodeKind::Chunked`].
    pub digest: Digest,
    /// The bytes.
    pub bytes: Bytes,
}

/// What is known of a stored node without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// What it is.
    pub kind: NodeKind,
    /// Files and bytes behind it: for a file one and its length, for a tree all levels together.
    pub totals: TreeTotals,
}

/// A file and the node that holds it in other encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    /// The file.
    pub file: Digest,
    /// The node.
    pub node: Digest,
}

/// What storing a batch did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    /// Nodes that were new.
    pub added: u64,
    /// Nodes that were there already.
    pub reused: u64,
}

/// The moment a sweep started looking. Whatever is used after it is not swept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepMark(pub u64);

/// What a sweep removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Nodes removed.
    pub nodes: u64,
    /// Bytes of storage given back.
    pub bytes: u64,
}

/// How much is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Distinct nodes.
    pub nodes: u64,
    /// Their bytes before compression.
    pub bytes: u64,
    /// Objects they are packed into.
    pub objects: u64,
    /// Bytes of those objects.
    pub stored_bytes: u64,
}

/// Something that does not read back as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// What is damaged, for people.
    pub what: String,
    /// The node that cannot be read, if one is known.
    pub digest: Option<Digest>,
}

/// Bytes by digest.
///
/// Every method may run at the same time as any other, from many callers.
#[async_trait]
pub trait Blobs: Send + Sync + 'static {
    /// Which of these are not stored, or lead to something that was found damaged since the store was opened. The
    /// others are kept from the sweep for a grace period from now.
    async fn missing(&self, digests: Vec<Digest>) -> Result<Vec<Digest>, StoreError>;

    /// Reads these and everything they lead to, and the trees of archives among them, from where it is kept, so that [`Self::missing`] knows all damage.
    async fn read_back(&self, digests: Vec<Digest>) -> Result<(), StoreError>;

    /// Stores a batch, all or nothing: durable when this returns. What was found damaged is stored anew. Refuses bytes that are not what their digest
    /// says, tree nodes that are not canonical or whose totals are wrong, and nodes that name something neither
    /// stored nor in the batch.
    async fn put(&self, nodes: Vec<Node>) -> Result<Stored, StoreError>;

    /// Reads one node and checks it against its digest (a chunk list: its own checksum).
    async fn get(&self, digest: Digest) -> Result<Node, StoreError>;

    /// What is known of a node without reading it.
    async fn about(&self, digest: Digest) -> Result<Option<About>, StoreError>;

    /// The tree an archive was unpacked into before, if both are still stored.
    async fn unpacked(&self, archive: Digest) -> Result<Option<Digest>, StoreError>;

    /// Remembers the tree of an archive. Both must be stored.
    async fn remember_unpacked(&self, archive: Digest, tree: Digest) -> Result<(), StoreError>;

    /// The nodes that hold these files in other encodings, in their order, where any were remembered. Says nothing
    /// of whether they can be read.
    async fn encodings(&self, files: Vec<Digest>) -> Result<Vec<Option<Digest>>, StoreError>;

    /// Remembers nodes that hold files in other encodings: of each file one, the last. A sweep keeps such a node for as
    /// long as its file. What is not stored, or whose file is not, is not remembered.
    async fn remember_encodings(&self, made: Vec<Encoding>) -> Result<(), StoreError>;

    /// Starts a sweep. Take the roots after this.
    async fn mark(&self) -> Result<SweepMark, StoreError>;

    /// Removes what neither the roots nor anything used since `keep_since` or since the mark reach. What it
    /// removes is checked again in the transaction that removes it.
    async fn sweep(
        &self,
        mark: SweepMark,
        roots: Vec<Digest>,
        keep_since: Timestamp,
    ) -> Result<Swept, StoreError>;

    /// How much is stored.
    async fn usage(&self) -> Result<Usage, StoreError>;

    /// Reads everything back and lists what is damaged or missing.
    async fn verify(&self) -> Result<Vec<Damage>, StoreError>;
}
