//! The form of the file: a plain tar archive with the manifest first, then every node under its digest, none before what it
//! names, and at the end the digest of all that came before.
//!
//! Reading never follows what a header says: a header is what this program would have written, byte for byte, or the
//! file is damaged. So there are no links, no paths, no extensions, and nothing is unpacked.

use bytes::{Buf as _, Bytes, BytesMut};
use folio_model::{Digest, NodeKind};
use sha2::{Digest as _, Sha256};
use tar::{EntryType, Header};

use super::Error;
use crate::Limits;
use crate::ports::Node;

const BLOCK_BYTES: usize = 512;
/// Two empty blocks end a tar archive.
const END_BYTES: usize = 2 * BLOCK_BYTES;
const MANIFEST: &str = "folio-app.json";
const DIGEST: &str = "digest";
/// `sha256:`, the digits and a line break.
const DIGEST_BYTES: usize = 72;

/// The header of an entry. The same for the same name and length, always.
fn header(name: &str, bytes: u64) -> [u8; BLOCK_BYTES] {
    let mut header = Header::new_ustar();
    header.set_path(name).expect("names of entries are short");
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_entry_type(EntryType::Regular);
    header.set_cksum();
    *header.as_bytes()
}

/// What fills the last block of an entry.
fn padding(bytes: u64) -> usize {
    let over = usize::try_from(bytes % BLOCK_BYTES as u64).expect("less than a block");
    if over == 0 { 0 } else { BLOCK_BYTES - over }
}

fn word(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Raw => "raw",
        NodeKind::Chunked => "chunked",
        NodeKind::Tree => "tree",
    }
}

/// Writes a bundle, piece by piece.
#[derive(Default)]
pub(super) struct Writer {
    hasher: Sha256,
}

impl Writer {
    /// The manifest, which comes first.
    pub(super) fn manifest(&mut self, bytes: &[u8]) -> Bytes {
        self.entry(MANIFEST, bytes)
    }

    /// A node.
    pub(super) fn node(&mut self, node: &Node) -> Bytes {
        let name = format!("{}/{}", word(node.kind), node.digest.hex());
        self.entry(&name, &node.bytes)
    }

    fn entry(&mut self, name: &str, bytes: &[u8]) -> Bytes {
        let piece = entry(name, bytes);
        self.hasher.update(&piece);
        piece
    }

    /// The digest of everything before, and the end.
    pub(super) fn end(self) -> Bytes {
        let digest = Digest::from_bytes(self.hasher.finalize().into());
        let mut piece = BytesMut::from(&*entry(DIGEST, format!("{digest}\n").as_bytes()));
        piece.resize(piece.len() + END_BYTES, 0);
        piece.freeze()
    }
}

fn entry(name: &str, bytes: &[u8]) -> Bytes {
    let mut piece = BytesMut::with_capacity(bytes.len() + 2 * BLOCK_BYTES);
    piece.extend_from_slice(&header(name, bytes.len() as u64));
    piece.extend_from_slice(bytes);
    piece.resize(piece.len() + padding(bytes.len() as u64), 0);
    piece.freeze()
}

/// What comes out of a bundle.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// The manifest, which comes first.
    Manifest(Bytes),
    /// A node. Whether its bytes are what its digest says is for the store to tell.
    Node(Node),
}

/// Reads a bundle as it arrives. Holds at most one entry.
pub(super) struct Reader {
    limits: Limits,
    unread: BytesMut,
    hasher: Sha256,
    taken: u64,
    at: At,
}

/// Where reading is.
enum At {
    /// Before the manifest.
    Start,
    /// Before an entry.
    Between,
    /// Before the bytes of one.
    Inside(Entry),
    /// After the digest, with so much of the end to come.
    End { left: usize, digest: Digest },
}

struct Entry {
    name: Name,
    bytes: u64,
}

enum Name {
    Manifest,
    Node(NodeKind, Digest),
    Digest,
}

impl Reader {
    pub(super) fn new(limits: Limits) -> Self {
        let (unread, hasher) = (BytesMut::new(), Sha256::new());
        Self { limits, unread, hasher, taken: 0, at: At::Start }
    }

    /// Takes the next stretch of the file.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.taken += bytes.len() as u64;
        at_most("bytes in one bundle", self.taken, self.limits.bundle_bytes_max)?;
        self.unread.extend_from_slice(bytes);
        Ok(())
    }

    /// The next entry, if all of it has arrived.
    pub(super) fn next(&mut self) -> Result<Option<Item>, Error> {
        loop {
            match std::mem::replace(&mut self.at, At::Between) {
                at @ (At::Start | At::Between) => {
                    let is_first = matches!(at, At::Start);
                    let Some(entry) = self.header(is_first)? else {
                        self.at = at;
                        return Ok(None);
                    };
                    self.at = At::Inside(entry);
                }
                At::Inside(entry) => match self.content(&entry)? {
                    None => {
                        self.at = At::Inside(entry);
                        return Ok(None);
                    }
                    Some(bytes) => {
                        if let Some(item) = self.item(entry.name, bytes)? {
                            return Ok(Some(item));
                        }
                    }
                },
                At::End { left, digest } => {
                    let more = left.min(self.unread.len());
                    if self.unread[..more].iter().any(|byte| *byte != 0) || self.unread.len() > left
                    {
                        return Err(damaged("something follows its end"));
                    }
                    self.unread.advance(more);
                    self.at = At::End { left: left - more, digest };
                    return Ok(None);
                }
            }
        }
    }

    /// The digest of the whole, if it came to its end.
    pub(super) fn finish(self) -> Result<Digest, Error> {
        match self.at {
            At::End { left: 0, digest } => Ok(digest),
            _ => Err(damaged("it breaks off before its end")),
        }
    }

    fn header(&mut self, is_first: bool) -> Result<Option<Entry>, Error> {
        if self.unread.len() < BLOCK_BYTES {
            return Ok(None);
        }
        let found = Header::from_byte_slice(&self.unread[..BLOCK_BYTES]);
        let odd = || match is_first {
            true => Error::Unknown,
            false => damaged("an entry has a header that folio does not write"),
        };
        let (path, bytes) = (found.path_bytes(), found.entry_size().map_err(|_| odd())?);
        let name = std::str::from_utf8(&path).map_err(|_| odd())?;
        if self.unread[..BLOCK_BYTES] != header_of(name, bytes).ok_or_else(odd)? {
            return Err(odd());
        }
        let name = read_name(name).ok_or_else(odd)?;
        match &name {
            Name::Manifest if !is_first => return Err(damaged("it has two manifests")),
            Name::Manifest => at_most("bytes of a manifest", bytes, self.limits.batch_bytes_max)?,
            _ if is_first => return Err(Error::Unknown),
            Name::Node(..) => at_most("bytes in one node", bytes, self.limits.node_bytes_max)?,
            Name::Digest if bytes != DIGEST_BYTES as u64 => return Err(odd()),
            Name::Digest => {}
        }
        if !matches!(name, Name::Digest) {
            self.hasher.update(&self.unread[..BLOCK_BYTES]);
        }
        self.unread.advance(BLOCK_BYTES);
        Ok(Some(Entry { name, bytes }))
    }

    fn content(&mut self, entry: &Entry) -> Result<Option<Bytes>, Error> {
        let bytes = usize::try_from(entry.bytes).map_err(|_| damaged("an entry is too long"))?;
        let padding = padding(entry.bytes);
        if self.unread.len() < bytes + padding {
            return Ok(None);
        }
        let whole = self.unread.split_to(bytes + padding).freeze();
        if whole[bytes..].iter().any(|byte| *byte != 0) {
            return Err(damaged("there is something between its entries"));
        }
        if !matches!(entry.name, Name::Digest) {
            self.hasher.update(&whole);
        }
        Ok(Some(whole.slice(..bytes)))
    }

    fn item(&mut self, name: Name, bytes: Bytes) -> Result<Option<Item>, Error> {
        match name {
            Name::Manifest => Ok(Some(Item::Manifest(bytes))),
            Name::Node(kind, digest) => Ok(Some(Item::Node(Node { kind, digest, bytes }))),
            Name::Digest => {
                let digest = Digest::from_bytes(self.hasher.clone().finalize().into());
                if bytes != format!("{digest}\n").as_bytes() {
                    return Err(damaged("its digest is not that of what is in it"));
                }
                self.at = At::End { left: END_BYTES, digest };
                Ok(None)
            }
        }
    }
}

/// The header that this program would have written; none for what it never writes.
fn header_of(name: &str, bytes: u64) -> Option<[u8; BLOCK_BYTES]> {
    read_name(name).map(|_| header(name, bytes))
}

fn read_name(name: &str) -> Option<Name> {
    match name {
        MANIFEST => return Some(Name::Manifest),
        DIGEST => return Some(Name::Digest),
        _ => {}
    }
    let (kind, digits) = name.split_once('/')?;
    let kinds = [NodeKind::Raw, NodeKind::Chunked, NodeKind::Tree];
    let kind = kinds.into_iter().find(|known| word(*known) == kind)?;
    let digest: Digest = format!("sha256:{digits}").parse().ok()?;
    (digest.hex() == digits).then_some(Name::Node(kind, digest))
}

/// As much of the manifest as the beginning of a bundle holds, and how long it is; nothing if it is no bundle.
pub(super) fn manifest_in(start: &[u8]) -> Option<(&[u8], usize)> {
    let found = Header::from_byte_slice(start.get(..BLOCK_BYTES)?);
    let bytes = found.entry_size().ok()?;
    let is_one = *start.get(..BLOCK_BYTES)? == header(MANIFEST, bytes);
    let bytes = usize::try_from(bytes).ok().filter(|_| is_one)?;
    Some((&start[BLOCK_BYTES..start.len().min(BLOCK_BYTES.saturating_add(bytes))], bytes))
}

fn damaged(what: &str) -> Error {
    Error::Damaged { what: what.to_owned() }
}

fn at_most(what: &'static str, found: u64, max: u64) -> Result<(), Error> {
    if found > max { Err(Error::TooLarge { what, found, max }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn raw(text: &[u8]) -> Node {
        let bytes = Bytes::copy_from_slice(text);
        Node { kind: NodeKind::Raw, digest: Digest::of(text), bytes }
    }

    fn written(manifest: &[u8], nodes: &[Node]) -> Vec<u8> {
        let mut writer = Writer::default();
        let mut file = writer.manifest(manifest).to_vec();
        nodes.iter().for_each(|node| file.extend(writer.node(node)));
        file.extend(writer.end());
        file
    }

    fn read(pieces: &[&[u8]]) -> Result<Vec<Item>, Error> {
        let mut reader = Reader::new(Limits::default());
        let mut items = Vec::new();
        for piece in pieces {
            reader.push(piece)?;
            while let Some(item) = reader.next()? {
                items.push(item);
            }
        }
        reader.finish()?;
        Ok(items)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_however_it_is_cut(texts: Vec<Vec<u8>>, step in 1..2_000_usize) {
            let nodes: Vec<_> = texts.iter().map(|text| raw(text)).collect();
            let file = written(b"{}", &nodes);
            let items = read(&file.chunks(step).collect::<Vec<_>>()).unwrap();
            let expected = [Item::Manifest(Bytes::from_static(b"{}"))].into_iter();
            let expected: Vec<_> = expected.chain(nodes.into_iter().map(Item::Node)).collect();
            prop_assert_eq!(items, expected);
        }

        #[test]
        fn no_part_of_a_file_passes_for_the_whole(text: Vec<u8>, cut in any::<prop::sample::Index>()) {
            let file = written(b"{}", &[raw(&text)]);
            prop_assert!(read(&[&file[..cut.index(file.len())]]).is_err());
        }

        #[test]
        fn no_altered_byte_goes_unnoticed(
            text in prop::collection::vec(any::<u8>(), 1..600),
            at in any::<prop::sample::Index>(),
            by in 1..=255_u8,
        ) {
            let mut file = written(b"{\"format\":1}", &[raw(&text)]);
            let at = at.index(file.len());
            file[at] = file[at].wrapping_add(by);
            prop_assert!(read(&[&file]).is_err(), "byte {at}");
        }

        #[test]
        fn garbage_is_an_error_and_nothing_else(bytes: Vec<u8>) {
            read(&[&bytes]).ok();
        }
    }

    #[test]
    fn other_archives_are_told_apart_and_tricks_are_damage() {
        let mut other = Header::new_ustar();
        other.set_path("a.txt").unwrap();
        other.set_size(0);
        other.set_cksum();
        assert!(matches!(read(&[other.as_bytes()]), Err(Error::Unknown)));
        assert!(matches!(read(&[&[0; 1024]]), Err(Error::Unknown)));
        let mut writer = Writer::default();
        let start = writer.manifest(b"{}");
        let digits = "0".repeat(64);
        for name in [
            "raw/../../etc/passwd".to_owned(),
            "/etc/passwd".to_owned(),
            format!("raw/{digits}/x"),
            format!("RAW/{digits}"),
            format!("raw/{}", "A".repeat(64)),
            MANIFEST.to_owned(),
        ] {
            let mut header = Header::new_ustar();
            let bytes = header.as_mut_bytes();
            bytes[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
            header.set_size(0);
            header.set_cksum();
            assert!(read(&[&start, header.as_bytes()]).is_err(), "{name}");
        }
        for kind in [EntryType::Symlink, EntryType::Link, EntryType::Char, EntryType::XHeader] {
            let mut link = Header::new_ustar();
            link.set_path(format!("raw/{digits}")).unwrap();
            link.set_size(0);
            link.set_entry_type(kind);
            link.set_cksum();
            assert!(read(&[&start, link.as_bytes()]).is_err(), "{kind:?}");
        }
    }

    #[test]
    fn a_limit_is_hit_before_the_bytes_arrive() {
        let limits = Limits { node_bytes_max: 9, ..Limits::default() };
        let mut reader = Reader::new(limits);
        reader.push(&Writer::default().manifest(b"{}")).unwrap();
        assert!(reader.next().unwrap().is_some());
        let node = raw(&[7; 10]);
        reader.push(&Writer::default().node(&node)[..BLOCK_BYTES]).unwrap();
        assert!(matches!(reader.next(), Err(Error::TooLarge { .. })));
    }
}
