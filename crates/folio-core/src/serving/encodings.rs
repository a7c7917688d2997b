//! Encodings of static files: made once, when a release first holds the file, and kept among the blobs beside it.
//!
//! They are a cache. Until they are made, and if they are lost or damaged, the file is sent as it is and they are made
//! again. Nobody waits for them: start at [`Folio::run_encodings`] for the making, [`Folio::asset_encoded`] for the use.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use folio_model::{Digest, NodeKind};
use tokio::sync::Notify;

use super::assets::AssetFile;
use super::encode::{Encoded, Salt};
use super::media::media;
use crate::Folio;
use crate::content::read_whole;
use crate::ports::{Blobs, Encoding, Node, StoreError};

/// Files smaller than this fit into one packet anyway.
const FILE_BYTES_MIN: u64 = 860;

/// Files whose encodings are stored together: so many that few syncs are needed, so few that none waits for more than a
/// second or two.
const BATCH_FILES_MAX: usize = 256;
const BATCH_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How long to wait before a store is asked again that could not keep encodings.
const PAUSE: Duration = Duration::from_secs(5);

/// Where the encodings of a file are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Encodings {
    /// Nobody wanted them, because no name of the file says that they would be smaller.
    #[default]
    Unwanted,
    /// They are to be made.
    Awaited,
    /// In this node.
    Stored(Digest),
}

/// Files that wait for their encodings.
#[derive(Default)]
pub(super) struct Awaited {
    files: Mutex<VecDeque<Order>>,
    added: Notify,
}

/// A file to be encoded.
struct Order {
    file: Weak<AssetFile>,
    bytes: u64,
    /// Tells what is made from what was made before and cannot be read.
    salt: Salt,
}

impl Order {
    fn of(file: &Arc<AssetFile>, salt: Salt) -> Self {
        Self { file: Arc::downgrade(file), bytes: file.bytes, salt }
    }
}

impl Awaited {
    fn add(&self, orders: impl IntoIterator<Item = Order>) {
        self.lock().extend(orders);
        self.added.notify_one();
    }

    /// Waits for files and takes some. One caller at a time.
    async fn take(&self) -> Vec<Order> {
        loop {
            let added = self.added.notified();
            let batch = self.take_now();
            if !batch.is_empty() {
                return batch;
            }
            added.await;
        }
    }

    fn take_now(&self) -> Vec<Order> {
        let mut waiting = self.lock();
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH_FILES_MAX
            && bytes < BATCH_BYTES_MAX
            && let Some(order) = waiting.pop_front()
        {
            bytes += order.bytes;
            batch.push(order);
        }
        batch
    }

    // Nothing that holds the lock leaves it half changed.
    fn lock(&self) -> MutexGuard<'_, VecDeque<Order>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Files whose encodings are wanted for the first time. What is not found is made, also if whoever looks gives up half way.
pub(super) struct Wanted<'a> {
    awaited: &'a Awaited,
    bytes_max: u64,
    files: Vec<Arc<AssetFile>>,
}

impl<'a> Wanted<'a> {
    pub(super) fn new(awaited: &'a Awaited, bytes_max: u64) -> Self {
        Self { awaited, bytes_max, files: Vec::new() }
    }

    /// Adds a file that has a name, if it is worth it and nobody did before.
    pub(super) fn add(&mut self, name: &str, file: &Arc<AssetFile>) {
        let fits = (FILE_BYTES_MIN..=self.bytes_max).contains(&file.bytes);
        if fits && media(name).is_compressible && file.wants_encodings() {
            self.files.push(Arc::clone(file));
        }
    }

    /// Finds what was made before.
    pub(super) async fn find(self, blobs: &dyn Blobs) {
        if self.files.is_empty() {
            return;
        }
        match blobs.encodings(self.files.iter().map(|file| file.digest).collect()).await {
            Ok(found) => {
                for (file, node) in self.files.iter().zip(found) {
                    node.into_iter().for_each(|node| file.set_encodings(Encodings::Stored(node)));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "Encodings of static files cannot be looked up; they are made again");
            }
        }
    }
}

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        let missing = self.files.iter().filter(|file| file.encodings() == Encodings::Awaited);
        self.awaited.add(missing.map(|file| Order::of(file, Salt::default())));
    }
}

impl Folio {
    /// A file in other encodings, if they were made. Those that cannot be read are made again.
    pub async fn asset_encoded(&self, file: &Arc<AssetFile>) -> Option<Arc<Encoded>> {
        if let Some(held) = file.encoded.get() {
            return Some(Arc::clone(&held.value));
        }
        let Encodings::Stored(digest) = file.encodings() else { return None };
        // Whoever asks for a large one that is not kept needs room for it, or the file is sent as it is, a piece at a time:
        // many who ask at once must not hold many copies.
        let room = match file.fits_memory() {
            true => None,
            false => Some(self.serving.room.hold((), self.encoded_size(digest).await?)?),
        };
        let read = self.read_encoded(digest).await;
        drop(room);
        match read {
            Ok(encoded) => {
                let held = self.serving.room.hold(Arc::clone(&encoded), encoded.bytes());
                // Whoever was faster keeps the same.
                drop(held.map(|held| file.encoded.set(held)));
                Some(encoded)
            }
            Err(error) => {
                self.encodings_lost(file, digest, &error);
                None
            }
        }
    }

    /// The bytes of a node of encodings, if it is there.
    async fn encoded_size(&self, digest: Digest) -> Option<u64> {
        self.blobs.about(digest).await.ok().flatten().map(|about| about.totals.bytes)
    }

    async fn read_encoded(&self, digest: Digest) -> Result<Arc<Encoded>, StoreError> {
        let node = self.blobs.get(digest).await?;
        let damaged = || StoreError::corrupt(format!("encodings {digest}"));
        Encoded::unpack(&node.bytes).map(Arc::new).ok_or_else(damaged)
    }

    fn encodings_lost(&self, file: &Arc<AssetFile>, digest: Digest, error: &StoreError) {
        tracing::warn!(%error, blob.digest = %file.digest, "Encodings of a static file cannot be read; it is sent as it is");
        let gone = matches!(error, StoreError::Corrupt { .. } | StoreError::MissingBlob { .. });
        if gone && file.lose_encodings(digest) {
            // The same bytes would be taken for the damaged ones, which are stored under their digest.
            self.serving.awaited.add([Order::of(file, self.clock.chance())]);
        }
    }

    /// Makes the encodings of files as they come to be released. Never returns. Run it once, beside whatever serves them.
    pub async fn run_encodings(&self) {
        loop {
            let orders = self.serving.awaited.take().await;
            if let Err(error) = self.encode(&orders).await {
                tracing::warn!(%error, "Encodings of static files cannot be kept; trying again");
                self.serving.awaited.add(orders);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    async fn encode(&self, orders: &[Order]) -> Result<(), StoreError> {
        let mut nodes = BTreeMap::new();
        let mut made = Vec::new();
        for order in orders {
            // What no release holds any more is not worth the work.
            let Some(file) = order.file.upgrade() else { continue };
            let bytes = match read_whole(self.blobs.as_ref(), file.digest).await {
                Ok(bytes) => bytes,
                Err(error @ (StoreError::Corrupt { .. } | StoreError::MissingBlob { .. })) => {
                    tracing::warn!(%error, blob.digest = %file.digest, "A static file cannot be read");
                    continue;
                }
                Err(error) => return Err(error),
            };
            let most = self.limits().node_bytes_max.min(u64::from(u32::MAX));
            let Some(node) = encoded_node(bytes, order.salt, most).await else { continue };
            made.push((file, node.digest));
            nodes.insert(node.digest, node);
        }
        if made.is_empty() {
            return Ok(());
        }
        self.blobs.put(nodes.into_values().collect()).await?;
        let pairs = made.iter().map(|(file, node)| Encoding { file: file.digest, node: *node });
        self.blobs.remember_encodings(pairs.collect()).await?;
        for (file, node) in made {
            file.set_encodings(Encodings::Stored(node));
        }
        Ok(())
    }
}

/// The node of a file's encodings, made on a thread that may take long.
async fn encoded_node(bytes: Bytes, salt: Salt, most: u64) -> Option<Node> {
    let made = tokio::task::spawn_blocking(move || {
        let bytes = Encoded::of(&bytes).within(most).pack(salt);
        Node { kind: NodeKind::Raw, digest: Digest::of(&bytes), bytes }
    });
    made.await.ok()
}
