//! The body of an upload: nodes as frames, read as they arrive. Never holds more than one batch may have.
//!
//! A frame is the node's kind (one byte: 0 raw, 1 chunked, 2 tree), its digest (32 bytes), its length (u32,
//! big-endian) and its bytes. The end is the byte 0xFF and the number of frames (u32, big-endian), so an
//! upload that broke off is never taken for a whole one.

use bytes::{Buf, Bytes, BytesMut};
use folio_core::ports::Node;
use folio_core::{Class, Code, Explain, Limits, upload};
use folio_model::{Digest, NodeKind};

use crate::refusal::Refusal;

/// What `Content-Type` has to say.
pub const MEDIA_TYPE: &str = "application/vnd.folio.nodes";

const DIGEST_BYTES: usize = 32;
const HEAD_BYTES: usize = 1 + DIGEST_BYTES + 4;
const END: u8 = 0xFF;
const END_BYTES: usize = 1 + 4;

/// Why frames were not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// They are not frames.
    #[error(transparent)]
    Malformed(#[from] Refusal),
    /// There is too much of them.
    #[error(transparent)]
    TooMuch(#[from] upload::Error),
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::Malformed(error) => error.code(),
            Self::TooMuch(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Malformed(error) => error.class(),
            Self::TooMuch(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Malformed(error) => error.hint(),
            Self::TooMuch(error) => error.hint(),
        }
    }
}

/// Frames on their way in.
pub(crate) struct Frames {
    limits: Limits,
    unread: BytesMut,
    /// The head whose bytes have not all arrived.
    head: Option<Head>,
    nodes: Vec<Node>,
    /// Bytes of all nodes whose head was read.
    bytes: u64,
    is_ended: bool,
}

struct Head {
    kind: NodeKind,
    digest: Digest,
    length: usize,
}

impl Frames {
    pub(crate) fn new(limits: Limits) -> Self {
        let unread = BytesMut::new();
        Self { limits, unread, head: None, nodes: Vec::new(), bytes: 0, is_ended: false }
    }

    /// Takes the next stretch of the body. Refuses as soon as it is clear that the whole will be refused.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.unread.extend_from_slice(bytes);
        while !self.is_ended {
            let is_further = match self.head.take() {
                Some(head) => self.content(head),
                None => self.head()?,
            };
            if !is_further {
                return Ok(());
            }
        }
        match self.unread.len() {
            0 => Ok(()),
            _ => Err(malformed("there are bytes after its end")),
        }
    }

    /// The nodes, if the body was whole.
    pub(crate) fn finish(self) -> Result<Vec<Node>, Error> {
        if self.is_ended { Ok(self.nodes) } else { Err(malformed("it broke off before its end")) }
    }

    /// Reads the head of a frame or the end, if all of it is there.
    fn head(&mut self) -> Result<bool, Error> {
        let kind = match self.unread.first() {
            None => return Ok(false),
            Some(&END) => return self.end(),
            Some(0) => NodeKind::Raw,
            Some(1) => NodeKind::Chunked,
            Some(2) => NodeKind::Tree,
            Some(other) => {
                let place = self.nodes.len() + 1;
                return Err(malformed(format!("frame {place} starts with {other:#04x}")));
            }
        };
        if self.unread.len() < HEAD_BYTES {
            return Ok(false);
        }
        self.unread.advance(1);
        let mut digest = [0; DIGEST_BYTES];
        self.unread.copy_to_slice(&mut digest);
        let length = self.unread.get_u32();
        self.bytes += u64::from(length);
        at_most("bytes in one node", u64::from(length), self.limits.node_bytes_max)?;
        at_most("bytes in one upload", self.bytes, self.limits.batch_bytes_max)?;
        at_most("nodes", self.nodes.len() as u64 + 1, self.limits.batch_nodes_max)?;
        let length = usize::try_from(length).map_err(|_| malformed("a node is too long"))?;
        self.head = Some(Head { kind, digest: Digest::from_bytes(digest), length });
        Ok(true)
    }

    /// Takes a node whose bytes are all there.
    fn content(&mut self, head: Head) -> bool {
        if self.unread.len() < head.length {
            self.head = Some(head);
            return false;
        }
        let bytes: Bytes = self.unread.split_to(head.length).freeze();
        self.nodes.push(Node { kind: head.kind, digest: head.digest, bytes });
        true
    }

    fn end(&mut self) -> Result<bool, Error> {
        if self.unread.len() < END_BYTES {
            return Ok(false);
        }
        self.unread.advance(1);
        let (said, found) = (self.unread.get_u32() as usize, self.nodes.len());
        if said != found {
            return Err(malformed(format!("its end counts {said} frames, and {found} came")));
        }
        self.is_ended = true;
        Ok(true)
    }
}

fn at_most(what: &'static str, found: u64, max: u64) -> Result<(), upload::Error> {
    if found > max { Err(upload::Error::TooMuch { what, found, max }) } else { Ok(()) }
}

fn malformed(what: impl Into<String>) -> Error {
    Refusal::BadUpload { what: what.into() }.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(nodes: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let mut body = Vec::new();
        for (kind, bytes) in nodes {
            body.push(*kind);
            body.extend(Digest::of(bytes).as_bytes());
            body.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
            body.extend(bytes);
        }
        body.push(END);
        body.extend(u32::try_from(nodes.len()).unwrap().to_be_bytes());
        body
    }

    fn decode(pieces: &[&[u8]]) -> Result<Vec<Node>, Error> {
        let mut frames = Frames::new(Limits::default());
        pieces.iter().try_for_each(|piece| frames.push(piece))?;
        frames.finish()
    }

    fn nodes() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
        proptest::collection::vec((0..3_u8, proptest::collection::vec(any::<u8>(), 0..200)), 0..8)
    }

    proptest! {
        #[test]
        fn frames_read_back_however_they_are_cut(nodes in nodes(), step in 1..100_usize) {
            let body = encode(&nodes);
            let read = decode(&body.chunks(step).collect::<Vec<_>>()).unwrap();
            let read: Vec<_> = read.into_iter().map(|node| node.bytes.to_vec()).collect();
            let sent: Vec<_> = nodes.into_iter().map(|node| node.1).collect();
            prop_assert_eq!(read, sent);
        }

        #[test]
        fn a_part_is_never_taken_for_the_whole(nodes in nodes(), cut in any::<prop::sample::Index>()) {
            let body = encode(&nodes);
            let kept = cut.index(body.len());
            prop_assert!(decode(&[&body[..kept]]).is_err());
        }

        #[test]
        fn garbage_is_an_error_and_nothing_else(bytes: Vec<u8>) {
            decode(&[&bytes]).ok();
        }
    }

    #[test]
    fn a_wrong_count_and_bytes_after_the_end_are_refused() {
        let mut body = encode(&[(0, vec![1])]);
        body.push(0);
        assert!(decode(&[&body]).is_err());
        body.pop();
        *body.last_mut().unwrap() = 2;
        assert!(decode(&[&body]).is_err());
    }

    #[test]
    fn a_limit_is_hit_before_the_bytes_arrive() {
        let mut frames = Frames::new(Limits { node_bytes_max: 9, ..Limits::default() });
        let body = encode(&[(0, vec![7; 10])]);
        let error = frames.push(&body[..HEAD_BYTES]).unwrap_err();
        assert_eq!(error.code(), Code("upload_too_large"));
    }
}
