//! Follows the frames of HTTP/2, to know whether one is unfinished and whether any belong to requests or answers.
//!
//! The connection reads and writes the frames itself; this only counts their bytes, and refuses nothing.

/// What a client sends before its first frame.
pub(crate) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const HEAD_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

/// Where in the stream of frames one direction of a connection is.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// Bytes that come before the next frame begins.
    left: usize,
    head: [u8; HEAD_BYTES],
    /// How much of the frame's head is there.
    known: usize,
    /// Whether the frames so far leave a block of headers open.
    block: bool,
}

/// What some bytes were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    /// They end within a frame or a block of headers.
    pub(super) within: bool,
    /// That began with them.
    pub(super) began: bool,
    /// Some are of a request or an answer.
    pub(super) content: bool,
}

impl Frames {
    /// What a client sends.
    pub(super) fn of_client() -> Self {
        Self { left: PREFACE.len(), ..Self::default() }
    }

    /// Whether something that began has not ended.
    fn is_within(&self) -> bool {
        self.left > 0 || self.known > 0 || self.block
    }

    pub(super) fn follow(&mut self, mut bytes: &[u8]) -> Seen {
        let (mut began, mut content) = (!self.is_within(), false);
        while !bytes.is_empty() {
            if self.left > 0 {
                let passed = self.left.min(bytes.len());
                self.left -= passed;
                bytes = &bytes[passed..];
                content |= self.is_content();
            } else {
                let taken = (HEAD_BYTES - self.known).min(bytes.len());
                self.head[self.known..self.known + taken].copy_from_slice(&bytes[..taken]);
                self.known += taken;
                bytes = &bytes[taken..];
                if self.known < HEAD_BYTES {
                    break;
                }
                self.enter();
                content |= self.is_content();
            }
            if self.left == 0 {
                self.known = 0;
                began |= !self.block;
            }
        }
        Seen { within: self.is_within(), began, content }
    }

    /// A frame's head is complete.
    fn enter(&mut self) {
        let [a, b, c, kind, flags, ..] = self.head;
        self.left = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        if matches!(kind, HEADERS | CONTINUATION) {
            self.block = flags & END_HEADERS == 0;
        }
    }

    fn is_content(&self) -> bool {
        self.known == HEAD_BYTES && matches!(self.head[3], DATA | HEADERS | CONTINUATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, bytes: usize) -> Vec<u8> {
        let length = u32::try_from(bytes).unwrap().to_be_bytes();
        let head = [&length[1..], &[kind, flags, 0, 0, 0, 1]].concat();
        [head, vec![0; bytes]].concat()
    }

    #[test]
    fn frames_are_followed_however_their_bytes_come() {
        const PING: u8 = 6;
        // The frames of a server, which sends no preface; then what is expected of their last piece.
        let check = |frames: &[Vec<u8>], cut: usize, expected: (bool, bool)| {
            let bytes = frames.concat();
            let bytes = &bytes[..bytes.len() - cut];
            for size in [1, 2, 7, 9, 10, bytes.len()] {
                let (mut followed, mut content, mut within) = (Frames::default(), false, false);
                for piece in bytes.chunks(size) {
                    let seen = followed.follow(piece);
                    content |= seen.content;
                    within = seen.within;
                }
                assert_eq!((within, content), expected, "{cut} cut, pieces of {size}");
            }
        };
        check(&[frame(HEADERS, END_HEADERS, 20)], 0, (false, true));
        check(&[frame(HEADERS, END_HEADERS, 20)], 1, (true, true));
        check(&[frame(HEADERS, 0, 20)], 0, (true, true));
        check(&[frame(HEADERS, 0, 20), frame(CONTINUATION, END_HEADERS, 5)], 0, (false, true));
        check(&[frame(HEADERS, 0, 0), frame(CONTINUATION, 0, 0)], 0, (true, true));
        check(&[frame(PING, 0, 8), frame(PING, 1, 8)], 0, (false, false));
        check(&[frame(PING, 0, 8), frame(4, 0, 0)], 3, (true, false));
        check(&[frame(PING, 0, 8), frame(DATA, 0, 70_000)], 69_999, (true, true));
        check(&[frame(8, 0, 4), frame(DATA, 0, 0)], 0, (false, true));
    }

    #[test]
    fn what_is_unfinished_began_when_the_frame_before_it_ended() {
        let mut frames = Frames::of_client();
        let seen = |within, began| Seen { within, began, content: false };
        assert_eq!(frames.follow(&PREFACE[..10]), seen(true, false));
        assert_eq!(frames.follow(&PREFACE[10..]), seen(false, true));
        let ping = frame(6, 0, 8);
        assert_eq!(frames.follow(&ping[..4]), seen(true, true));
        assert_eq!(frames.follow(&ping[4..16]), seen(true, false));
        let both = [&ping[16..], &ping[..1]].concat();
        assert_eq!(frames.follow(&both), seen(true, true));
        assert_eq!(frames.follow(&ping[1..]), seen(false, true));
    }
}
