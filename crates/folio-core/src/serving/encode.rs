//! A file in other encodings, and the one node that all of them are stored as.

use std::io::Write as _;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// What every stored node begins with. Another form of node gets another.
const MARK: &[u8; 16] = b"folio encodings1";

/// The mark, a salt and three lengths.
const HEAD_BYTES: usize = MARK.len() + size_of::<Salt>() + 3 * 4;

/// Tells nodes of the same encodings from one another.
pub(super) type Salt = [u8; 32];

/// Brotli as strong as it is before it takes ten times as long for a tenth less.
const BROTLI_QUALITY: i32 = 9;
const ZSTD_LEVEL: i32 = 15;

/// A file in other encodings; absent where that is not smaller.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// By Brotli.
    pub br: Option<Bytes>,
    /// By Zstandard.
    pub zstd: Option<Bytes>,
    /// By gzip.
    pub gzip: Option<Bytes>,
}

impl Encoded {
    /// A file in every encoding that makes it smaller by a twentieth. Takes seconds for a large one.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let worth = |made: Option<Vec<u8>>| {
            made.filter(|made| made.len() * 20 <= bytes.len() * 19).map(Bytes::from)
        };
        Self {
            br: worth(brotli(bytes)),
            zstd: worth(zstd::encode_all(bytes, ZSTD_LEVEL).ok()),
            gzip: worth(gzip(bytes)),
        }
    }

    /// As many encodings as one node holds; those that save the least go first.
    pub(super) fn within(mut self, most: u64) -> Self {
        let head = HEAD_BYTES as u64;
        while self.bytes() + head > most {
            let least = [&mut self.gzip, &mut self.zstd, &mut self.br]
                .into_iter()
                .find(|one| one.is_some());
            match least {
                Some(encoding) => *encoding = None,
                None => break,
            }
        }
        self
    }

    /// The bytes of all encodings.
    pub(super) fn bytes(&self) -> u64 {
        self.all().into_iter().flatten().map(|bytes| bytes.len() as u64).sum()
    }

    /// All of it in one piece. Another salt makes other bytes of it, with another digest.
    pub(super) fn pack(&self, salt: Salt) -> Bytes {
        let mut packed = BytesMut::from(&MARK[..]);
        packed.put_slice(&salt);
        for bytes in self.all() {
            let length = bytes.map_or(0, Bytes::len);
            packed.put_u32(u32::try_from(length).expect("files that are encoded are small"));
        }
        self.all().into_iter().flatten().for_each(|bytes| packed.extend_from_slice(bytes));
        packed.freeze()
    }

    /// Reads what [`Self::pack`] wrote; None if it did not.
    pub(super) fn unpack(packed: &Bytes) -> Option<Self> {
        let mut head = packed.get(..HEAD_BYTES)?.strip_prefix(MARK)?;
        head.advance(size_of::<Salt>());
        let mut rest = packed.slice(HEAD_BYTES..);
        let mut next = || {
            let length = usize::try_from(head.get_u32()).ok()?;
            let bytes = (length <= rest.len()).then(|| rest.split_to(length))?;
            Some(Some(bytes).filter(|bytes| !bytes.is_empty()))
        };
        let found = Self { br: next()?, zstd: next()?, gzip: next()? };
        rest.is_empty().then_some(found)
    }

    fn all(&self) -> [Option<&Bytes>; 3] {
        [self.br.as_ref(), self.zstd.as_ref(), self.gzip.as_ref()]
    }
}

fn brotli(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut made = Vec::new();
    let parameters =
        brotli::enc::BrotliEncoderParams { quality: BROTLI_QUALITY, ..Default::default() };
    brotli::BrotliCompress(&mut &bytes[..], &mut made, &parameters).ok()?;
    Some(made)
}

fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Vec<u8> {
        b"a page of many words, all of them the same. ".repeat(50)
    }

    #[test]
    fn every_encoding_reads_back_as_the_file() {
        use std::io::Read as _;
        let encoded = Encoded::of(&text());
        let (mut br, mut gzip) = (Vec::new(), Vec::new());
        brotli::BrotliDecompress(&mut &encoded.br.unwrap()[..], &mut br).unwrap();
        let packed = encoded.gzip.unwrap();
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut gzip).unwrap();
        let zstd = zstd::decode_all(&encoded.zstd.unwrap()[..]).unwrap();
        assert_eq!([br, gzip, zstd], [text(), text(), text()]);
    }

    #[test]
    fn what_is_packed_is_read_back_whatever_the_salt() {
        for encoded in [Encoded::of(&text()), Encoded::of(b"short"), Encoded::default()] {
            let (one, other) = (encoded.pack([0; 32]), encoded.pack([1; 32]));
            assert_ne!(one, other);
            assert_eq!(Encoded::unpack(&one).as_ref(), Some(&encoded));
            assert_eq!(Encoded::unpack(&other), Some(encoded));
        }
        assert_eq!(Encoded::of(b"short"), Encoded::default(), "nothing is smaller");
    }

    #[test]
    fn what_one_node_cannot_hold_is_left_out_the_least_useful_first() {
        let encoded = Encoded::of(&text());
        let Encoded { br: Some(br), zstd: Some(zstd), gzip: Some(_) } = &encoded else { panic!() };
        let check = |most: u64, expected: [bool; 3]| {
            let left = Encoded::of(&text()).within(most);
            let there = [left.br.is_some(), left.zstd.is_some(), left.gzip.is_some()];
            assert_eq!(there, expected, "{most}");
            let packed = left.pack([0; 32]).len() as u64;
            assert!(packed <= most || packed == HEAD_BYTES as u64);
        };
        let (all, head) = (encoded.pack([0; 32]).len() as u64, HEAD_BYTES as u64);
        check(all, [true; 3]);
        check(all - 1, [true, true, false]);
        check(head + (br.len() + zstd.len()) as u64 - 1, [true, false, false]);
        check(head, [false; 3]);
    }

    #[test]
    fn what_was_not_packed_is_not_read() {
        let packed = Encoded::of(&text()).pack([0; 32]);
        for length in [0, 10, HEAD_BYTES, packed.len() - 1] {
            assert_eq!(Encoded::unpack(&packed.slice(..length)), None, "{length}");
        }
        let longer = [&packed[..], b"x"].concat();
        assert_eq!(Encoded::unpack(&longer.into()), None);
        assert_eq!(Encoded::unpack(&text().into()), None);
    }
}
