//! Splitting files where their content says, so that an edit in a large file makes few new chunks wherever it is.

use std::io::{self, Read};

use bytes::Bytes;
use fastcdc::v2020::StreamCDC;
use folio_model::{ChunkList, Digest, NodeKind};
use sha2::{Digest as _, Sha256};

use crate::ports::Node;

/// Files up to here are stored whole. Changing any of these makes old and new chunks differ, never wrong.
const WHOLE_BYTES_MAX: usize = 1024 * 1024;
const CHUNK_BYTES_MIN: usize = 64 * 1024;
const CHUNK_BYTES_AVERAGE: usize = 256 * 1024;
const CHUNK_BYTES_MAX: usize = 1024 * 1024;

/// A file that was split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunked {
    /// The digest of the whole file.
    pub digest: Digest,
    /// Its length.
    pub bytes: u64,
}

/// Reads a file and hands its nodes to the sink: one if it is small, else its chunks and then their list.
///
/// Holds one chunk in memory, whatever the file's length. Equal bytes give equal nodes.
pub fn chunk(
    reader: &mut dyn Read,
    sink: &mut dyn FnMut(Node) -> io::Result<()>,
) -> io::Result<Chunked> {
    let mut start = Vec::new();
    reader.take(WHOLE_BYTES_MAX as u64 + 1).read_to_end(&mut start)?;
    if start.len() <= WHOLE_BYTES_MAX {
        let whole = raw(start.into());
        let chunked = Chunked { digest: whole.digest, bytes: whole.bytes.len() as u64 };
        sink(whole)?;
        return Ok(chunked);
    }
    let source = start.chain(reader);
    let mut hasher = Sha256::new();
    let mut list = Vec::new();
    let mut bytes = 0;
    for piece in StreamCDC::new(source, CHUNK_BYTES_MIN, CHUNK_BYTES_AVERAGE, CHUNK_BYTES_MAX) {
        let piece = piece?.data;
        hasher.update(&piece);
        bytes += piece.len() as u64;
        let node = raw(piece.into());
        list.push(node.digest);
        sink(node)?;
    }
    let digest = Digest::from_bytes(hasher.finalize().into());
    let list = ChunkList(list).encode().into();
    sink(Node { kind: NodeKind::Chunked, digest, bytes: list })?;
    Ok(Chunked { digest, bytes })
}

fn raw(bytes: Bytes) -> Node {
    Node { kind: NodeKind::Raw, digest: Digest::of(&bytes), bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes_of(bytes: &[u8]) -> (Chunked, Vec<Node>) {
        let mut nodes = Vec::new();
        let take = &mut |node| {
            nodes.push(node);
            Ok(())
        };
        let chunked = chunk(&mut &bytes[..], take).unwrap();
        (chunked, nodes)
    }

    /// Bytes without repetition, the same every time.
    fn noise(count: usize) -> Vec<u8> {
        let mut state: u64 = 88_172_645_463_325_252;
        std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        })
        .take(count)
        .collect()
    }

    #[test]
    fn a_small_file_is_one_node() {
        for count in [0, 1, WHOLE_BYTES_MAX] {
            let bytes = noise(count);
            let (chunked, nodes) = nodes_of(&bytes);
            assert_eq!(chunked, Chunked { digest: Digest::of(&bytes), bytes: count as u64 });
            assert_eq!(nodes, [raw(bytes.into())]);
        }
    }

    #[test]
    fn a_large_file_is_its_chunks_in_order() {
        let bytes = noise(5 * WHOLE_BYTES_MAX + 17);
        let (chunked, nodes) = nodes_of(&bytes);
        assert_eq!(chunked.digest, Digest::of(&bytes));
        let (list, chunks) = nodes.split_last().unwrap();
        assert_eq!((list.kind, list.digest), (NodeKind::Chunked, chunked.digest));
        let named = ChunkList::decode(&list.bytes).unwrap().0;
        assert_eq!(named, chunks.iter().map(|chunk| chunk.digest).collect::<Vec<_>>());
        assert_eq!(chunks.iter().flat_map(|chunk| chunk.bytes.to_vec()).collect::<Vec<_>>(), bytes);
        assert!(chunks.iter().all(|chunk| chunk.bytes.len() <= CHUNK_BYTES_MAX));
    }

    #[test]
    fn an_edit_makes_few_new_chunks() {
        let bytes = noise(16 * WHOLE_BYTES_MAX);
        let mut edited = bytes.clone();
        edited.splice(bytes.len() / 2..bytes.len() / 2, *b"some more bytes");
        let (_, before) = nodes_of(&bytes);
        let (_, after) = nodes_of(&edited);
        let new = after.iter().filter(|node| !before.contains(node)).count();
        assert!(new <= 4, "{new} of {} nodes are new", after.len());
    }
}
