//! Counting what comes out of an archive. Bytes that were read count, never what a header claims.

use std::io::{self, Read};

use super::Error;
use crate::Limits;

/// Small archives may swell freely up to here: a kilobyte of blanks packs a thousandfold.
const FREE_BYTES: u64 = 1024 * 1024;

/// How much came out of an archive, and how much may.
pub(super) struct Meter {
    bytes: u64,
    bytes_max: u64,
    swollen_max: u64,
    ratio_max: u64,
}

impl Meter {
    /// Counts the content of an archive of so many bytes.
    pub(super) fn new(archive_bytes: u64, limits: &Limits) -> Self {
        let ratio_max = limits.archive_ratio_max;
        let swollen_max = archive_bytes.saturating_mul(ratio_max).max(FREE_BYTES);
        Self { bytes: 0, bytes_max: limits.content_bytes_max, swollen_max, ratio_max }
    }

    /// Allows for headers and padding beside the content.
    pub(super) fn with_headers(mut self, limits: &Limits) -> Self {
        const HEADERS_BYTES: u64 = 4096;
        let headers = limits.content_files_max.saturating_mul(HEADERS_BYTES);
        self.bytes_max = self.bytes_max.saturating_add(headers);
        self
    }

    /// Reads through the meter.
    pub(super) fn counting<'a, R: Read + ?Sized>(
        &'a mut self,
        reader: &'a mut R,
    ) -> Counted<'a, R> {
        Counted { meter: self, reader, bytes: 0 }
    }

    fn add(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes += bytes as u64;
        self.check_claim(self.bytes)
    }

    /// Refuses early what claims to be too large. A claim that is small enough proves nothing.
    pub(super) fn check_claim(&self, bytes: u64) -> Result<(), Error> {
        if bytes > self.bytes_max {
            return Err(Error::ContentTooLarge { max: self.bytes_max });
        }
        if bytes > self.swollen_max {
            return Err(Error::Swells { max: self.ratio_max });
        }
        Ok(())
    }
}

/// A reader whose bytes count.
pub(super) struct Counted<'a, R: ?Sized> {
    meter: &'a mut Meter,
    reader: &'a mut R,
    bytes: u64,
}

impl<R: ?Sized> Counted<'_, R> {
    /// How many bytes were read through this reader.
    pub(super) fn count(&self) -> u64 {
        self.bytes
    }
}

impl<R: Read + ?Sized> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.meter.add(count)?;
        self.bytes += count as u64;
        Ok(count)
    }
}
