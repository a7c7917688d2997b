//! Makes the encodings of new files beside the requests, so that none of them waits for it.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use folio_core::Folio;
use folio_core::serving::{AssetEntry, AssetFile, Encoded, Site};
use tokio::sync::mpsc;

use super::Kept;
use super::kept::{self, FILE_BYTES_MAX};

/// Files smaller than this fit into one packet anyway.
const FILE_BYTES_MIN: u64 = 860;

/// Brotli as strong as it is before it takes ten times as long for a tenth less.
const BROTLI_QUALITY: i32 = 9;
const ZSTD_LEVEL: i32 = 15;

/// Sets of files that wait to be encoded.
pub(crate) struct Encoder {
    sites: mpsc::UnboundedSender<Vec<Arc<Site>>>,
}

impl Encoder {
    /// An encoder, and its work, which ends when the encoder is gone.
    pub(crate) fn new(folio: Folio, kept: Arc<Kept>) -> (Self, impl Future<Output = ()> + Send) {
        let (sites, mut waiting) = mpsc::unbounded_channel::<Vec<Arc<Site>>>();
        let work = async move {
            while let Some(mut newest) = waiting.recv().await {
                while let Ok(newer) = waiting.try_recv() {
                    newest = newer;
                }
                encode_all(&folio, &kept, &newest).await;
            }
        };
        (Self { sites }, work)
    }

    /// Has the files of all sites encoded that are not yet.
    pub(crate) fn hear(&self, sites: &[Arc<Site>]) {
        // Without a receiver the gateway is stopping.
        drop(self.sites.send(sites.to_vec()));
    }
}

async fn encode_all(folio: &Folio, kept: &Kept, sites: &[Arc<Site>]) {
    let (mut seen, mut held) = (HashSet::new(), 0);
    let releases = sites.iter().flat_map(|site| site.releases.values());
    // The same bytes may be there under several names, and one that makes them worth it is enough.
    let mut waiting = HashMap::new();
    for asset in releases.flat_map(|shown| &shown.assets) {
        let files = match &asset.files {
            AssetEntry::File(file) => vec![(asset.spec.path.clone(), Arc::clone(file))],
            AssetEntry::Directory(directory) => directory.files(),
        };
        for (path, file) in files {
            if seen.insert(file.digest) {
                held += kept::of(&file);
            }
            if file.encoded.get().is_none() && is_worth_it(&path, &file) {
                waiting.insert(file.digest, file);
            }
        }
    }
    kept.recount(held);
    for file in waiting.into_values() {
        match folio.asset_bytes(&file).await {
            Ok(bytes) => {
                let made = tokio::task::spawn_blocking(move || encode(&bytes)).await;
                let Ok(encoded) = made else { continue };
                keep(kept, &file, encoded);
            }
            Err(error) => tracing::warn!("Cannot read static file {}: {error}", file.digest),
        }
    }
}

fn keep(kept: &Kept, file: &AssetFile, encoded: Encoded) {
    let length = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
    let all = length(&encoded.br) + length(&encoded.zstd) + length(&encoded.gzip);
    if kept.take(all) && file.encoded.set(encoded).is_err() {
        kept.give_back(all);
    }
}

fn is_worth_it(path: &str, file: &AssetFile) -> bool {
    let fits = (FILE_BYTES_MIN..=FILE_BYTES_MAX).contains(&file.bytes);
    fits && super::answer::is_compressible(&super::answer::content_type(path))
}

/// A file in every encoding that makes it smaller by a twentieth.
fn encode(bytes: &Bytes) -> Encoded {
    let worth = |made: Option<Vec<u8>>| {
        made.filter(|made| made.len() * 20 <= bytes.len() * 19).map(Bytes::from)
    };
    Encoded {
        br: worth(brotli(bytes)),
        zstd: worth(zstd::encode_all(&bytes[..], ZSTD_LEVEL).ok()),
        gzip: worth(gzip(bytes)),
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
