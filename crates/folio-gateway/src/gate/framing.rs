//! Follows the framing of an HTTP/1 connection, to refuse what two servers could read differently.
//!
//! hyper reads the requests; this only watches the same bytes with the same parser, one step ahead. A head that is
//! malformed or ambiguous never reaches hyper, so each refusal has its code and no request hides in another.

use std::mem::MaybeUninit;

use httparse::{Header, Request, Status};

/// The most headers there is room for.
const HEADERS_ROOM: usize = 256;
/// The longest line of a chunk's size, or of a trailer.
const LINE_BYTES_MAX: u32 = 4096;

/// How much a head may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadLimits {
    pub(crate) bytes_max: usize,
    pub(crate) headers_max: usize,
}

/// Why bytes may not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The head is over a limit.
    HeadTooLarge,
    /// The head makes no sense; the text says why.
    Malformed(&'static str),
    /// A chunk of a body makes no sense. The request that has it is already on its way.
    Chunk,
}

/// Where in the stream of requests a connection is.
#[derive(Debug)]
pub(crate) struct Framing {
    limits: HeadLimits,
    state: State,
    /// The beginning of a head whose end has not come yet.
    partial: Vec<u8>,
    /// Heads that passed.
    passed: u64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Head,
    /// So many bytes of a body are left.
    Sized(u64),
    Chunked(Chunk),
}

#[derive(Debug, Clone, Copy)]
enum Chunk {
    /// In the digits of a size, with how many of them.
    Size {
        size: u64,
        digits: u32,
    },
    /// In the extension after it.
    Extension {
        size: u64,
        bytes: u32,
    },
    /// After the carriage return of the size's line.
    SizeEnd(u64),
    /// In the bytes.
    Bytes(u64),
    /// After the bytes, and after their carriage return.
    BytesEnd,
    BytesEndLine,
    /// At the start of a line of trailers, inside one, and after the carriage return of an empty one.
    TrailerStart(u32),
    Trailer(u32),
    LastEnd,
}

impl Framing {
    pub(crate) fn new(limits: HeadLimits) -> Self {
        Self { limits, state: State::Head, partial: Vec::new(), passed: 0 }
    }

    /// Heads that passed so far.
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// Whether a head has begun and not ended.
    pub(crate) fn is_within_head(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Whether a body has begun and not ended.
    pub(crate) fn is_within_body(&self) -> bool {
        !matches!(self.state, State::Head)
    }

    /// Follows the next bytes. On a fault returns how many of them, from the first, may still pass.
    pub(crate) fn follow(&mut self, bytes: &[u8]) -> Result<(), (usize, Fault)> {
        let mut at = 0;
        while at < bytes.len() {
            let left = &bytes[at..];
            let step = match self.state {
                State::Head => self.head(left),
                State::Sized(size) => {
                    let taken = left.len().min(usize::try_from(size).unwrap_or(usize::MAX));
                    self.state = match size - taken as u64 {
                        0 => State::Head,
                        size => State::Sized(size),
                    };
                    Ok(taken)
                }
                State::Chunked(chunk) => self.chunk(chunk, left),
            };
            at += step.map_err(|fault| (at, fault))?;
        }
        Ok(())
    }

    /// Follows a head. Returns how many of the bytes belong to it.
    fn head(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        let known = self.partial.len();
        if known == 0 {
            return match examine(bytes, self.limits)? {
                Some((length, state)) => {
                    self.state = state;
                    self.passed += 1;
                    Ok(length)
                }
                None => {
                    self.partial.extend_from_slice(bytes);
                    Ok(bytes.len())
                }
            };
        }
        self.partial.extend_from_slice(bytes);
        // Only a line's end can end a head; anything else need not be parsed again.
        let ends = bytes.contains(&b'\n') || self.partial.len() > self.limits.bytes_max;
        match if ends { examine(&self.partial, self.limits)? } else { None } {
            Some((length, state)) => {
                self.partial = Vec::new();
                self.state = state;
                self.passed += 1;
                Ok(length - known)
            }
            None => Ok(bytes.len()),
        }
    }

    /// Follows a chunked body. Returns how many of the bytes belong to it.
    fn chunk(&mut self, mut chunk: Chunk, bytes: &[u8]) -> Result<usize, Fault> {
        let mut at = 0;
        while at < bytes.len() {
            if let Chunk::Bytes(size) = chunk {
                let taken = (bytes.len() - at).min(usize::try_from(size).unwrap_or(usize::MAX));
                at += taken;
                chunk = match size - taken as u64 {
                    0 => Chunk::BytesEnd,
                    size => Chunk::Bytes(size),
                };
                continue;
            }
            let next = step(chunk, bytes[at])?;
            at += 1;
            match next {
                Some(next) => chunk = next,
                None => {
                    self.state = State::Head;
                    return Ok(at);
                }
            }
        }
        self.state = State::Chunked(chunk);
        Ok(at)
    }
}

/// One byte of a chunked body outside of its data; nothing at its end.
fn step(chunk: Chunk, byte: u8) -> Result<Option<Chunk>, Fault> {
    let next = match (chunk, byte) {
        (Chunk::Size { size, digits }, byte) if byte.is_ascii_hexdigit() && digits < 15 => {
            let digit = (byte as char).to_digit(16).expect("it is a digit");
            Chunk::Size { size: size * 16 + u64::from(digit), digits: digits + 1 }
        }
        (Chunk::Size { size, digits: 1.. } | Chunk::Extension { size, .. }, b'\r') => {
            Chunk::SizeEnd(size)
        }
        (Chunk::Size { size, digits: 1.. }, b';') => Chunk::Extension { size, bytes: 0 },
        (Chunk::Extension { size, bytes }, byte) if byte != b'\n' && bytes < LINE_BYTES_MAX => {
            Chunk::Extension { size, bytes: bytes + 1 }
        }
        (Chunk::SizeEnd(0), b'\n') => Chunk::TrailerStart(0),
        (Chunk::SizeEnd(size), b'\n') => Chunk::Bytes(size),
        (Chunk::BytesEnd, b'\r') => Chunk::BytesEndLine,
        (Chunk::BytesEndLine, b'\n') => Chunk::Size { size: 0, digits: 0 },
        (Chunk::TrailerStart(_), b'\r') => Chunk::LastEnd,
        (Chunk::LastEnd, b'\n') => return Ok(None),
        (Chunk::Trailer(bytes), b'\n') => Chunk::TrailerStart(bytes),
        (Chunk::TrailerStart(bytes) | Chunk::Trailer(bytes), byte)
            if byte != b'\n' && bytes < LINE_BYTES_MAX =>
        {
            Chunk::Trailer(bytes + 1)
        }
        _ => return Err(Fault::Chunk),
    };
    Ok(Some(next))
}

/// Looks at bytes that start with a head. Returns its length and what follows it, or nothing if its end has
/// not come yet.
fn examine(bytes: &[u8], limits: HeadLimits) -> Result<Option<(usize, State)>, Fault> {
    let mut room = [const { MaybeUninit::<Header<'_>>::uninit() }; HEADERS_ROOM];
    let room = &mut room[..limits.headers_max.min(HEADERS_ROOM)];
    let mut request = Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, room) {
        Ok(Status::Complete(length)) if length > limits.bytes_max => {
            return Err(Fault::HeadTooLarge);
        }
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) if bytes.len() > limits.bytes_max => return Err(Fault::HeadTooLarge),
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Fault::HeadTooLarge),
        Err(error) => return Err(Fault::Malformed(explain(error))),
    };
    // A carriage return is always followed by a line feed here, so equal numbers mean no line feed stands alone.
    if count(&bytes[..length], b'\n') != count(&bytes[..length], b'\r') {
        return Err(Fault::Malformed("a line of the head ends without a carriage return"));
    }
    if request.path.is_some_and(|target| !is_target(target)) {
        return Err(Fault::Malformed("the target of the request makes no sense"));
    }
    body(&request).map(|state| Some((length, state)))
}

/// How often a byte occurs. In pieces that one byte can count, which makes it a few instructions for each.
fn count(bytes: &[u8], wanted: u8) -> usize {
    let pieces = bytes.chunks(255);
    pieces
        .map(|piece| usize::from(piece.iter().map(|byte| u8::from(*byte == wanted)).sum::<u8>()))
        .sum()
}

/// Whether hyper will be able to read a target.
fn is_target(target: &str) -> bool {
    let plain = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~' | b'?' | b'&' | b'=' | b'%' | b'+')
    };
    target.bytes().all(plain) || target.parse::<http::Uri>().is_ok()
}

/// What follows a head.
fn body(request: &Request<'_, '_>) -> Result<State, Fault> {
    let (mut length, mut chunked) = (None, false);
    for header in request.headers.iter() {
        // Two lengths decide this often enough to not compare every name.
        if header.name.len() == 14 && header.name.eq_ignore_ascii_case("content-length") {
            if length.is_some() {
                return Err(Fault::Malformed("there are two Content-Length headers"));
            }
            length = Some(parse_length(header.value)?);
        }
        if header.name.len() == 17 && header.name.eq_ignore_ascii_case("transfer-encoding") {
            if chunked || !header.value.eq_ignore_ascii_case(b"chunked") {
                return Err(Fault::Malformed("the Transfer-Encoding is not `chunked` alone"));
            }
            chunked = true;
        }
    }
    match (length, chunked) {
        (Some(_), true) => {
            Err(Fault::Malformed("there are both a Content-Length and a Transfer-Encoding"))
        }
        (None, true) if request.version == Some(0) => {
            Err(Fault::Malformed("HTTP/1.0 has no Transfer-Encoding"))
        }
        (None, true) => Ok(State::Chunked(Chunk::Size { size: 0, digits: 0 })),
        (Some(0) | None, false) => Ok(State::Head),
        (Some(length), false) => Ok(State::Sized(length)),
    }
}

fn parse_length(value: &[u8]) -> Result<u64, Fault> {
    let odd = Fault::Malformed("the Content-Length is not a number");
    let digits = (1..=18).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok().filter(|_| digits);
    text.and_then(|text| text.parse().ok()).ok_or(odd)
}

fn explain(error: httparse::Error) -> &'static str {
    match error {
        httparse::Error::HeaderName => "the name of a header holds a character that it cannot",
        httparse::Error::HeaderValue => "the value of a header holds a character that it cannot",
        httparse::Error::NewLine => "a line of the head does not end as one",
        httparse::Error::Status | httparse::Error::Token => "the request line makes no sense",
        httparse::Error::TooManyHeaders => "there are too many headers",
        httparse::Error::Version => "the version of HTTP is not known",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: HeadLimits = HeadLimits { bytes_max: 200, headers_max: 4 };

    /// How many heads pass, or what is wrong, for bytes that come in pieces of a size.
    fn follow(bytes: &[u8], piece: usize) -> Result<u64, Fault> {
        let mut framing = Framing::new(LIMITS);
        for piece in bytes.chunks(piece) {
            framing.follow(piece).map_err(|(_, fault)| fault)?;
        }
        Ok(framing.passed())
    }

    fn check(bytes: &str, expected: Result<u64, &str>) {
        for piece in [1, 2, 3, 7, usize::MAX] {
            let shown =
                follow(bytes.as_bytes(), piece.min(bytes.len())).map_err(|fault| match fault {
                    Fault::HeadTooLarge => "too large",
                    Fault::Malformed(why) => why,
                    Fault::Chunk => "chunk",
                });
            assert_eq!(shown, expected, "{bytes:?} in pieces of {piece}");
        }
    }

    #[test]
    fn requests_follow_one_another() {
        check("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n", Ok(2));
        check("\r\nGET / HTTP/1.1\r\nA: b\r\n\r\nGET", Ok(1));
        check("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nGET GET / HTTP/1.1\r\n\r\n", Ok(2));
        check("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\n\r\n", Ok(2));
        let chunked = "POST / HTTP/1.1\r\ntransfer-encoding: Chunked\r\n\r\n";
        check(&format!("{chunked}3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"), Ok(2));
        check(
            &format!("{chunked}a;x=y\r\n0123456789\r\n00\r\nT: u\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
            Ok(2),
        );
    }

    #[test]
    fn what_two_servers_could_read_differently_is_refused() {
        let both = "there are both a Content-Length and a Transfer-Encoding";
        check(
            "POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
            Err(both),
        );
        check(
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n",
            Err(both),
        );
        let twice = "there are two Content-Length headers";
        check("POST / HTTP/1.1\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n", Err(twice));
        for odd in ["+4", "4,4", "0x4", "-1", "4 4", "99999999999999999999"] {
            let text = format!("POST / HTTP/1.1\r\nContent-Length: {odd}\r\n\r\n");
            check(&text, Err("the Content-Length is not a number"));
        }
        for odd in ["gzip", "gzip, chunked", "xchunked", "chunked, chunked", "identity"] {
            let text = format!("POST / HTTP/1.1\r\nTransfer-Encoding: {odd}\r\n\r\n");
            check(&text, Err("the Transfer-Encoding is not `chunked` alone"));
        }
        check(
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            Err("HTTP/1.0 has no Transfer-Encoding"),
        );
        let bare = "a line of the head ends without a carriage return";
        check("GET / HTTP/1.1\nA: b\n\n", Err(bare));
        check("GET / HTTP/1.1\r\nA: b\n\r\n", Err(bare));
        check(
            "GET / HTTP/1.1\r\nContent-Length : 4\r\n\r\n",
            Err("the name of a header holds a character that it cannot"),
        );
        check(
            "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
            Err("the name of a header holds a character that it cannot"),
        );
        check("nonsense\r\n\r\n", Err("the request line makes no sense"));
        check("GET /<a> HTTP/1.1\r\n\r\n", Err("the target of the request makes no sense"));
        check("GET /a:b@c{d}\\ HTTP/1.1\r\n\r\n", Ok(1));
    }

    #[test]
    fn heads_have_limits() {
        check(&format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(200)), Err("too large"));
        check(&format!("GET /{}", "b".repeat(200)), Err("too large"));
        check("GET / HTTP/1.1\r\na:1\r\na:1\r\na:1\r\na:1\r\n\r\n", Ok(1));
        check("GET / HTTP/1.1\r\na:1\r\na:1\r\na:1\r\na:1\r\na:1\r\n\r\n", Err("too large"));
    }

    #[test]
    fn odd_chunks_are_refused() {
        for odd in
            ["x\r\n", "\r\n", "3\nabc", "3\r\nabcd\r\n", "3 \r\nabc\r\n", "ffffffffffffffff\r\n"]
        {
            check(
                &format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{odd}"),
                Err("chunk"),
            );
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(bytes in "(GET / HTTP/1.1\r\n|Content-Length: 3\r\n|\r\n|abc|3\r\n|\n|0\r\n|Transfer-Encoding: chunked\r\n){0,12}", piece in 1_usize..9) {
            let whole = follow(bytes.as_bytes(), bytes.len().max(1));
            prop_assert_eq!(follow(bytes.as_bytes(), piece), whole);
        }

        #[test]
        fn any_bytes_are_followed_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), piece in 1_usize..50) {
            let _ = follow(&bytes, piece);
        }
    }
}
