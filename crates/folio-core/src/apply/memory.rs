//! What deployments asked for the last time, so that what did not change since is neither sent, nor read, nor
//! compared again. It is only ever a shortcut: a server that has forgotten says so, and is sent everything.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio_model::{AppName, Digest};

use super::{Document, Form, Others, PointerWish, Rest, Wish};
use crate::request::ContentRef;

/// A manifest that was read.
pub(super) struct ReadDocument {
    /// Where it is written and what it says, as it is hashed.
    text: Box<[u8]>,
    source: Option<ContentRef>,
    deployment: Option<ContentRef>,
    pub(super) asked: Asked,
    /// What folio keeps and does not act on.
    pub(super) idle: Vec<String>,
    /// What there is to say about fields that no version has.
    pub(super) unknown: Vec<String>,
}

/// What a manifest asks for.
pub(super) enum Asked {
    Unit(Arc<Wish>),
    Pointer(Arc<PointerWish>),
}

/// The manifests of one apply, by digest.
pub(super) type Documents = HashMap<Digest, Arc<ReadDocument>>;

/// How an apply goes about what it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manner {
    pub(super) form: Form,
    pub(super) rest: Rest,
    pub(super) others: Others,
}

/// A deployment as it was applied last.
#[derive(Default)]
pub(super) struct Last {
    pub(super) documents: Documents,
    /// After which entry of the app everything was as asked for, in which manner.
    pub(super) settled: Option<(u64, Manner)>,
}

/// The deployments that were applied last.
#[derive(Default)]
pub(crate) struct Memory(Mutex<Inner>);

type Key = (AppName, String);

#[derive(Default)]
struct Inner {
    deployments: HashMap<Key, (u64, Arc<Last>)>,
    /// Which was applied when, in the order of applies.
    order: BTreeMap<u64, Key>,
    applies: u64,
    documents: usize,
}

impl ReadDocument {
    pub(super) fn new(
        document: &Document,
        asked: Asked,
        (idle, unknown): (Vec<String>, Vec<String>),
    ) -> Self {
        let text = document.text().into_boxed_slice();
        let Document { source, deployment, .. } = *document;
        Self { text, source, deployment, asked, idle, unknown }
    }

    pub(super) fn has(&self, contents: (Option<ContentRef>, Option<ContentRef>)) -> bool {
        (self.source, self.deployment) == contents
    }

    /// The same manifest with other files.
    pub(super) fn with(
        &self,
        (source, deployment): (Option<ContentRef>, Option<ContentRef>),
    ) -> Document {
        let (at, manifest) = serde_json::from_slice(&self.text).expect("it was written as this");
        Document { at, manifest, source, deployment }
    }
}

impl Memory {
    /// What a deployment asked for the last time, as far as that is known.
    pub(super) fn recall(&self, app: &AppName, uid: &str) -> Arc<Last> {
        let inner = self.inner();
        let found = inner.deployments.get(&(app.clone(), uid.to_owned()));
        found.map(|(_, last)| Arc::clone(last)).unwrap_or_default()
    }

    /// Remembers what a deployment asks for, and forgets those applied longest ago that are too much.
    pub(super) fn remember(&self, app: &AppName, uid: &str, last: Last, documents_max: u64) {
        let key = (app.clone(), uid.to_owned());
        let mut inner = self.inner();
        inner.forget(&key);
        inner.applies += 1;
        inner.documents += last.documents.len();
        let now = inner.applies;
        inner.order.insert(now, key.clone());
        inner.deployments.insert(key, (now, Arc::new(last)));
        while inner.documents as u64 > documents_max
            && let Some((_, oldest)) = inner.order.first_key_value()
        {
            let oldest = oldest.clone();
            inner.forget(&oldest);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn forget(&mut self, key: &Key) {
        if let Some((applied, last)) = self.deployments.remove(key) {
            self.order.remove(&applied);
            self.documents -= last.documents.len();
        }
    }
}
