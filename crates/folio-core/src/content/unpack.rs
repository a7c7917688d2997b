//! Unpacking a stored archive into a tree. The archive is read on a thread of its own, which asks for the
//! chunks it needs and hands over the nodes it makes; nothing is ever written to a file system.
//!
//! What a refused archive left behind is named by nothing, and the sweep takes it.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};

use bytes::Bytes;
use folio_model::{ChunkList, Digest, NodeKind};
use tokio::sync::{mpsc, oneshot};

use super::chunk::chunk;
use super::tree::{Clash, FileEntry, TreeBuilder};
use crate::Limits;
use crate::archive::{self, Error, Item};
use crate::ports::{Blobs, Node, StoreError};

/// Bytes of nodes stored at once: few packs for a publish, little memory.
const BATCH_BYTES: usize = 32 * 1024 * 1024;

/// Unpacks a stored archive and returns the root of its tree. The second time, it only looks it up.
pub async fn unpack(blobs: &dyn Blobs, archive: Digest, limits: &Limits) -> Result<Digest, Error> {
    if let Some(tree) = blobs.unpacked(archive).await? {
        return Ok(tree);
    }
    let parts = parts(blobs, archive).await?;
    let (asks, mut asked) = mpsc::channel(1);
    let limits = *limits;
    let reading = tokio::task::spawn_blocking(move || read(parts, &limits, &asks));
    while let Some(ask) = asked.recv().await {
        match ask {
            Ask::Read(digest, answer) => {
                let read = blobs.get(digest).await.map(|node| node.bytes);
                // The reader is gone if it failed meanwhile; its own result says why.
                drop(answer.send(read));
            }
            Ask::Store(nodes) => drop(blobs.put(nodes).await?),
        }
    }
    let read = reading.await.map_err(|error| StoreError::failed("unpack an archive", error))?;
    let tree = read?;
    blobs.remember_unpacked(archive, tree).await?;
    Ok(tree)
}

/// What the reading thread wants.
enum Ask {
    Read(Digest, oneshot::Sender<Result<Bytes, StoreError>>),
    Store(Vec<Node>),
}

/// The chunks of a stored file with where each begins, and where the last ends.
struct Parts {
    chunks: Vec<(u64, Digest)>,
    bytes: u64,
}

async fn parts(blobs: &dyn Blobs, file: Digest) -> Result<Parts, StoreError> {
    let node = blobs.get(file).await?;
    let chunks = match node.kind {
        NodeKind::Raw | NodeKind::Tree => vec![file],
        NodeKind::Chunked => {
            let damaged = || StoreError::corrupt(format!("the chunk list of {file}"));
            ChunkList::decode(&node.bytes).ok_or_else(damaged)?.0
        }
    };
    let mut known: HashMap<Digest, u64> = HashMap::new();
    let mut parts = Parts { chunks: Vec::with_capacity(chunks.len()), bytes: 0 };
    for chunk in chunks {
        let bytes = match known.get(&chunk) {
            Some(bytes) => *bytes,
            None if chunk == file => node.bytes.len() as u64,
            None => chunk_bytes(blobs, chunk).await?,
        };
        known.insert(chunk, bytes);
        parts.chunks.push((parts.bytes, chunk));
        parts.bytes += bytes;
    }
    Ok(parts)
}

async fn chunk_bytes(blobs: &dyn Blobs, digest: Digest) -> Result<u64, StoreError> {
    let about = blobs.about(digest).await?.ok_or(StoreError::MissingBlob { digest })?;
    match about.kind {
        NodeKind::Raw | NodeKind::Chunked => Ok(about.totals.bytes),
        // What is known of a directory is what it holds, not how long its own bytes are.
        NodeKind::Tree => Ok(blobs.get(digest).await?.bytes.len() as u64),
    }
}

/// Reads the archive and hands over its nodes, the root last.
fn read(parts: Parts, limits: &Limits, asks: &mpsc::Sender<Ask>) -> Result<Digest, Error> {
    let stored = StoredFile { parts, asks: asks.clone(), at: 0, loaded: None };
    let mut builder = TreeBuilder::default();
    let mut batch = Batch { asks, nodes: Vec::new(), bytes: 0 };
    archive::read(stored, limits, &mut |item| match item {
        Item::Directory(path) => builder.insert_directory(&path).map_err(twice),
        Item::File(file) => {
            let chunked = chunk(file.content, &mut |node| batch.add(node))?;
            let executable = file.executable;
            let entry = FileEntry { digest: chunked.digest, bytes: chunked.bytes, executable };
            builder.insert(&file.path, entry).map_err(twice)
        }
    })?;
    let built = builder.build();
    let built = built.map_err(|_| Error::ContentTooLarge { max: limits.content_bytes_max })?;
    built.nodes.into_iter().try_for_each(|node| batch.add(node))?;
    batch.send()?;
    Ok(built.root)
}

fn twice(Clash { path }: Clash) -> Error {
    Error::Twice { path: path.to_string() }
}

/// Nodes on their way to the store.
struct Batch<'a> {
    asks: &'a mpsc::Sender<Ask>,
    nodes: Vec<Node>,
    bytes: usize,
}

impl Batch<'_> {
    fn add(&mut self, node: Node) -> io::Result<()> {
        self.bytes += node.bytes.len();
        self.nodes.push(node);
        if self.bytes >= BATCH_BYTES { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> io::Result<()> {
        self.bytes = 0;
        let nodes = std::mem::take(&mut self.nodes);
        self.asks.blocking_send(Ask::Store(nodes)).map_err(gone)
    }
}

/// Nobody waits for the result any more.
fn gone<E>(_: E) -> io::Error {
    io::Error::other(StoreError::failed("unpack an archive", "the caller went away"))
}

/// A stored file as something to read and seek in.
struct StoredFile {
    parts: Parts,
    asks: mpsc::Sender<Ask>,
    at: u64,
    /// The part that was read last, with its number.
    loaded: Option<(usize, Bytes)>,
}

impl StoredFile {
    /// The part that holds the current byte.
    fn part(&mut self) -> io::Result<(u64, Bytes)> {
        let after = self.parts.chunks.partition_point(|(start, _)| *start <= self.at);
        let number = after.checked_sub(1).ok_or_else(|| io::Error::other("no parts"))?;
        let (start, digest) = self.parts.chunks[number];
        if let Some((loaded, bytes)) = &self.loaded
            && *loaded == number
        {
            return Ok((start, bytes.clone()));
        }
        let (answer, answered) = oneshot::channel();
        self.asks.blocking_send(Ask::Read(digest, answer)).map_err(gone)?;
        let bytes = answered.blocking_recv().map_err(gone)?.map_err(io::Error::other)?;
        self.loaded = Some((number, bytes.clone()));
        Ok((start, bytes))
    }
}

impl Read for StoredFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.parts.bytes || buffer.is_empty() {
            return Ok(0);
        }
        let (start, bytes) = self.part()?;
        let skip = usize::try_from(self.at - start).map_err(io::Error::other)?;
        let rest = bytes.get(skip..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for StoredFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.parts.bytes.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
