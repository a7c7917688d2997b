//! The protocol between the server and one worker process, over a socket pair that is descriptor 3 inside.
//!
//! A frame is `length: u32, kind: u8, stream: u32`, little endian, then `length` bytes. The top bit of the kind
//! says that this is the last frame of its side of the stream. Stream 0 is the worker itself, any other one
//! request. A head is lines joined by a line feed, which none can contain. [`Kind`] lists what there is.
//!
//! Either side sends at most [`WINDOW`] bytes of a body until the other has said with [`Kind::Credit`] that it
//! took some. Many frames share a read and a write; nothing waits for an answer before it sends the next frame.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// Bytes before a frame's payload.
pub(crate) const HEADER: usize = 9;
/// Body bytes one side may send before the other has to have taken any.
pub(crate) const WINDOW: usize = 256 * 1024;
/// The largest body piece folio sends in one frame.
pub(crate) const PIECE: usize = 64 * 1024;
/// The largest payload that is understood: a full window and a head.
pub(crate) const PAYLOAD_MAX: usize = WINDOW + HEAD_MAX + 4;
/// The largest head of an answer.
pub(crate) const HEAD_MAX: usize = 128 * 1024;

const LAST: u8 = 0x80;
// Below this a copy is cheaper than sharing the buffer, and does not pin it.
const COPY_MAX: usize = 4 * 1024;

/// What a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// To the worker: become this function. JSON.
    Specialise = 1,
    /// From the worker: the function is loaded.
    Ready = 2,
    /// From the worker: loading (stream 0) or this request failed; text. Ends the stream.
    Failed = 3,
    /// To the worker: `head length: u32`, the head, then what there is of the body.
    Request = 4,
    /// From the worker: the same for its answer.
    Response = 5,
    /// Both ways: a piece of a body.
    Body = 6,
    /// To the worker: nobody waits for this stream. The worker ends it.
    Cancel = 7,
    /// Both ways: so many bytes (`u32`) of the stream's body were taken.
    Credit = 8,
    /// From the worker: one line, printed on `1` or `2` (the first byte).
    Log = 9,
    /// To the worker: are you there?
    Ping = 10,
    /// From the worker: yes.
    Pong = 11,
}

/// What precedes a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) last: bool,
    pub(crate) stream: u32,
}

/// Bytes that are no frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Nonsense {
    #[error("a frame of unknown kind {0}")]
    Kind(u8),
    #[error("a frame of {0} bytes")]
    Length(usize),
}

/// Adds a frame.
pub(crate) fn put(buffer: &mut BytesMut, header: Header, payload: &[u8]) {
    put_header(buffer, header, payload.len());
    buffer.put_slice(payload);
}

/// Adds a request with its head and the beginning of its body.
pub(crate) fn put_request(buffer: &mut BytesMut, header: Header, head: &[u8], body: &[u8]) {
    put_header(buffer, header, 4 + head.len() + body.len());
    buffer.put_u32_le(u32::try_from(head.len()).expect("the gateway bounds heads"));
    buffer.put_slice(head);
    buffer.put_slice(body);
}

fn put_header(buffer: &mut BytesMut, header: Header, length: usize) {
    buffer.reserve(HEADER + length);
    buffer.put_u32_le(u32::try_from(length).expect("payloads are cut into pieces"));
    buffer.put_u8(header.kind as u8 | if header.last { LAST } else { 0 });
    buffer.put_u32_le(header.stream);
}

/// Takes the next whole frame from what was read so far.
pub(crate) fn take(buffer: &mut BytesMut) -> Result<Option<(Header, Bytes)>, Nonsense> {
    let Some((fixed, rest)) = buffer.split_at_checked(HEADER) else { return Ok(None) };
    let length = u32::from_le_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]) as usize;
    let stream = u32::from_le_bytes([fixed[5], fixed[6], fixed[7], fixed[8]]);
    let kind = Kind::decode(fixed[4] & !LAST)?;
    let last = fixed[4] & LAST != 0;
    if length > PAYLOAD_MAX {
        return Err(Nonsense::Length(length));
    }
    if rest.len() < length {
        return Ok(None);
    }
    let payload = if length <= COPY_MAX {
        let payload = Bytes::copy_from_slice(&rest[..length]);
        buffer.advance(HEADER + length);
        payload
    } else {
        buffer.advance(HEADER);
        buffer.split_to(length).freeze()
    };
    Ok(Some((Header { kind, last, stream }, payload)))
}

impl Kind {
    fn decode(byte: u8) -> Result<Self, Nonsense> {
        Ok(match byte {
            1 => Self::Specialise,
            2 => Self::Ready,
            3 => Self::Failed,
            4 => Self::Request,
            5 => Self::Response,
            6 => Self::Body,
            7 => Self::Cancel,
            8 => Self::Credit,
            9 => Self::Log,
            10 => Self::Ping,
            11 => Self::Pong,
            other => return Err(Nonsense::Kind(other)),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames() -> impl Strategy<Value = Vec<(u8, bool, u32, Vec<u8>)>> {
        let payload = prop::collection::vec(any::<u8>(), 0..6000);
        prop::collection::vec((1..=11_u8, any::<bool>(), any::<u32>(), payload), 0..12)
    }

    proptest! {
        #[test]
        fn frames_come_back_however_the_bytes_are_cut(frames in frames(), cuts in prop::collection::vec(1..3000_usize, 1..40)) {
            let mut wire = BytesMut::new();
            for (kind, last, stream, payload) in &frames {
                let kind = Kind::decode(*kind).unwrap();
                put(&mut wire, Header { kind, last: *last, stream: *stream }, payload);
            }
            let mut read = BytesMut::new();
            let mut seen = Vec::new();
            let mut cuts = cuts.into_iter().cycle();
            while !wire.is_empty() {
                let piece = wire.split_to(cuts.next().unwrap().min(wire.len()));
                read.extend_from_slice(&piece);
                while let Some((header, payload)) = take(&mut read).unwrap() {
                    seen.push((header.kind as u8, header.last, header.stream, payload.to_vec()));
                }
            }
            prop_assert!(read.is_empty());
            prop_assert_eq!(seen, frames);
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut buffer = BytesMut::from(&bytes[..]);
            while let Ok(Some(_)) = take(&mut buffer) {}
        }
    }

    #[test]
    fn a_frame_that_claims_too_much_is_refused_before_its_bytes_arrive() {
        let mut buffer = BytesMut::from(&[255, 255, 255, 255, 5, 1, 0, 0, 0][..]);
        assert_eq!(take(&mut buffer), Err(Nonsense::Length(u32::MAX as usize)));
    }
}
