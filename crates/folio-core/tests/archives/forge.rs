//! Archives written field by field, so that every field can lie.

use std::io::Write;

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};

/// A zip entry and the lies in it.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) local_name: Option<Vec<u8>>,
    pub(crate) mode: u32,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) crc: Option<u32>,
    /// The length that headers claim.
    pub(crate) claimed: Option<u32>,
    /// Where the central directory says it is.
    pub(crate) at: Option<u32>,
    pub(crate) content: Vec<u8>,
    pub(crate) packed: Vec<u8>,
}

impl Entry {
    pub(crate) fn file(name: &str, content: &[u8]) -> Self {
        Self {
            name: name.as_bytes().to_vec(),
            local_name: None,
            mode: 0o100_644,
            flags: 0,
            method: 0,
            crc: None,
            claimed: None,
            at: None,
            content: content.to_vec(),
            packed: content.to_vec(),
        }
    }

    pub(crate) fn directory(name: &str) -> Self {
        Self { mode: 0o040_755, ..Self::file(name, b"") }
    }

    pub(crate) fn deflated(name: &str, content: &[u8]) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        Self { method: 8, packed: encoder.finish().unwrap(), ..Self::file(name, content) }
    }

    /// From the version needed to the length of the extra field.
    fn common(&self, name: &[u8]) -> Vec<u8> {
        let mut crc = Crc::new();
        crc.update(&self.content);
        let mut bytes = Vec::new();
        for field in [20, self.flags, self.method, 0, 0x21] {
            bytes.extend(field.to_le_bytes());
        }
        let length = self.claimed.unwrap_or(self.content.len() as u32);
        for field in [self.crc.unwrap_or(crc.sum()), self.packed.len() as u32, length] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend(0_u16.to_le_bytes());
        bytes
    }
}

pub(crate) fn zip(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let at = entry.at.unwrap_or(bytes.len() as u32);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(entry.common(&entry.name));
        directory.extend([0; 6]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(at.to_le_bytes());
        directory.extend(&entry.name);
        let name = entry.local_name.as_ref().unwrap_or(&entry.name);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(entry.common(name));
        bytes.extend(name);
        bytes.extend(&entry.packed);
    }
    let at = bytes.len();
    let length = directory.len();
    bytes.extend(directory);
    if entries.len() > usize::from(u16::MAX) {
        let end = bytes.len() as u64;
        bytes.extend(b"PK\x06\x06");
        bytes.extend(44_u64.to_le_bytes());
        bytes.extend([45, 3, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for field in [entries.len(), entries.len(), length, at] {
            bytes.extend((field as u64).to_le_bytes());
        }
        bytes.extend(b"PK\x06\x07\0\0\0\0");
        bytes.extend(end.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
    }
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    let count = u16::try_from(entries.len()).unwrap_or(u16::MAX);
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    bytes.extend((length as u32).to_le_bytes());
    bytes.extend((at as u32).to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

/// A tar entry of any type.
pub(crate) struct TarEntry {
    name: String,
    kind: u8,
    pub(crate) content: Vec<u8>,
}

impl TarEntry {
    pub(crate) fn new(name: &str, kind: u8, content: &[u8]) -> Self {
        Self { name: name.to_owned(), kind, content: content.to_vec() }
    }
}

pub(crate) fn tar(entries: &[TarEntry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for TarEntry { name, kind, content } in entries {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
        header[136..148].copy_from_slice(b"00000000000\0");
        header[156] = *kind;
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].copy_from_slice(b"        ");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        bytes.extend(header);
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
