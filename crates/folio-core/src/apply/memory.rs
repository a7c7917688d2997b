//! What deployments asked for the last time, so that what did not change since is neither sent, nor read, nor
//! compared again. It is only ever a shortcut: a server that has forgotten says so, and is sent everything.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio_model::{AppName, Digest};

use super::{Document, Form, Others, PointerWish, Rest, Wish};
use crate::request::ContentRef;

/// A manifest that was read.
pub(super) struct ReadDocument {
    /// What it is named by together with its files.
    name: Digest,
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
#[derive(Default, Clone)]
pub(super) struct Documents {
    by_digest: HashMap<Digest, Arc<ReadDocument>>,
    /// The names of all of them, one laid over the other, so that it does not matter which came first.
    names: [u8; 32],
}

impl Documents {
    pub(super) fn with_capacity(documents: usize) -> Self {
        Self { by_digest: HashMap::with_capacity(documents), ..Self::default() }
    }

    /// Adds one, in the place of what has its digest.
    pub(super) fn insert(&mut self, digest: Digest, document: Arc<ReadDocument>) {
        self.lay(document.name);
        if let Some(replaced) = self.by_digest.insert(digest, document) {
            self.lay(replaced.name);
        }
    }

    fn lay(&mut self, name: Digest) {
        self.names.iter_mut().zip(name.as_bytes()).for_each(|(all, one)| *all ^= one);
    }

    pub(super) fn get(&self, digest: &Digest) -> Option<&Arc<ReadDocument>> {
        self.by_digest.get(digest)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Digest, &Arc<ReadDocument>)> {
        self.by_digest.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.by_digest.len()
    }

    /// What all of them together are named by: the same for the same manifests with the same files.
    pub(super) fn base(&self) -> Digest {
        Digest::from_bytes(self.names)
    }
}

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
    /// What there was to say about them.
    pub(super) remarks: Vec<String>,
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
        let files = serde_json::to_vec(&(source, deployment)).expect("they have string keys");
        let name = Digest::of(&[Digest::of(&text).as_bytes().as_slice(), &files].concat());
        Self { name, text, source, deployment, asked, idle, unknown }
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

impl Last {
    /// What everything it asked for is named by, if that is known.
    pub(super) fn base(&self) -> Option<Digest> {
        (!self.documents.by_digest.is_empty()).then(|| self.documents.base())
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
