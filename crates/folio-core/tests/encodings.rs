//! Encodings of static files: made once, found again, gone with their file, never sent broken.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use folio_core::ports::{
    About, Blobs, Damage, Encoding, Node, StoreError, Stored, SweepMark, Swept, Usage,
};
use folio_core::request::Caller;
use folio_core::serving::{AssetEntry, AssetFile, Encoded, Site};
use folio_core::static_item::StaticFields;
use folio_core::{Folio, Settings};
use folio_model::{AppName, Digest, Name, Timestamp};
use folio_store::{MemoryIndex, MemoryLedger, PackOptions, PackStore};
use folio_testkit::clock::TestClock;
use folio_testkit::sample;
use tokio::task::JoinSet;

use crate::world::{World, app};

/// Blobs that count encodings, and of which some cannot be read.
pub(crate) struct Watched {
    store: PackStore,
    encoded: Mutex<Vec<Digest>>,
    pub(crate) unreadable: Mutex<HashMap<Digest, Way>>,
}

/// What became of encodings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    Damaged,
    Lost,
    Other,
}

#[async_trait]
impl Blobs for Watched {
    async fn missing(&self, digests: Vec<Digest>) -> Result<Vec<Digest>, StoreError> {
        self.store.missing(digests).await
    }
    async fn read_back(&self, digests: Vec<Digest>) -> Result<(), StoreError> {
        self.store.read_back(digests).await
    }
    async fn put(&self, nodes: Vec<Node>) -> Result<Stored, StoreError> {
        self.store.put(nodes).await
    }
    async fn get(&self, digest: Digest) -> Result<Node, StoreError> {
        let way = self.unreadable.lock().unwrap().get(&digest).copied();
        match way {
            Some(Way::Lost) => Err(StoreError::MissingBlob { digest }),
            Some(_) => Err(StoreError::corrupt(format!("blob {digest}"))),
            None => self.store.get(digest).await,
        }
    }
    async fn about(&self, digest: Digest) -> Result<Option<About>, StoreError> {
        self.store.about(digest).await
    }
    async fn unpacked(&self, archive: Digest) -> Result<Option<Digest>, StoreError> {
        self.store.unpacked(archive).await
    }
    async fn remember_unpacked(&self, archive: Digest, tree: Digest) -> Result<(), StoreError> {
        self.store.remember_unpacked(archive, tree).await
    }
    async fn encodings(&self, files: Vec<Digest>) -> Result<Vec<Option<Digest>>, StoreError> {
        self.store.encodings(files).await
    }
    async fn remember_encodings(&self, made: Vec<Encoding>) -> Result<(), StoreError> {
        self.encoded.lock().unwrap().extend(made.iter().map(|made| made.file));
        self.store.remember_encodings(made).await
    }
    async fn mark(&self) -> Result<SweepMark, StoreError> {
        self.store.mark().await
    }
    async fn sweep(
        &self,
        mark: SweepMark,
        roots: Vec<Digest>,
        keep_since: Timestamp,
    ) -> Result<Swept, StoreError> {
        self.store.sweep(mark, roots, keep_since).await
    }
    async fn usage(&self) -> Result<Usage, StoreError> {
        self.store.usage().await
    }
    async fn verify(&self) -> Result<Vec<Damage>, StoreError> {
        self.store.verify().await
    }
}

/// A platform that serves static files, and can be started again.
pub(crate) struct Served {
    pub(crate) world: World,
    ledger: Arc<MemoryLedger>,
    pub(crate) blobs: Arc<Watched>,
    pub(crate) told: Arc<Mutex<Vec<Arc<Site>>>>,
    /// Makes encodings.
    work: JoinSet<()>,
}

impl Served {
    pub(crate) async fn new() -> Self {
        let clock = Arc::new(TestClock::new(1));
        let (index, options) = (MemoryIndex::default(), PackOptions { grace: Duration::ZERO });
        let store = PackStore::in_memory(index.clone(), clock.clone(), options).await.unwrap();
        let (encoded, unreadable) = (Mutex::default(), Mutex::default());
        let blobs = Arc::new(Watched { store, encoded, unreadable });
        let ledger = Arc::new(MemoryLedger::new(index));
        let folio = folio(&ledger, &blobs, &clock);
        folio.admit(&"admin".parse().unwrap(), &folio.draw_token()).await.unwrap();
        let world = World { folio, clock, caller: Caller::new("ada".parse().unwrap()) };
        world.one_release().await;
        Self { world, ledger, blobs, told: Arc::default(), work: JoinSet::new() }.started().await
    }

    /// Forgets everything that is not stored, and makes no encodings.
    pub(crate) async fn restart(mut self) -> Self {
        self.work.shutdown().await;
        self.told = Arc::default();
        self.world.folio = folio(&self.ledger, &self.blobs, &self.world.clock);
        self.follow().await;
        self
    }

    async fn follow(&self) {
        let hear = Arc::clone(&self.told);
        let follower = move |sites: Arc<Vec<_>>| *hear.lock().unwrap() = sites.to_vec();
        self.world.folio.follow_sites(Arc::new(follower)).await.unwrap();
    }

    async fn started(mut self) -> Self {
        self.follow().await;
        self.encode();
        self
    }

    /// Makes encodings from here on.
    fn encode(&mut self) {
        let folio = self.world.folio.clone();
        self.work.spawn(async move { folio.run_encodings().await });
    }

    pub(crate) async fn deploy(&self, files: &[(&str, &str)]) {
        self.deploy_to(&app(), files).await;
    }

    pub(crate) async fn deploy_to(&self, app: &AppName, files: &[(&str, &str)]) {
        let fields = StaticFields {
            path: "/".to_owned(),
            content: sample::directory(&self.world.folio, files).await,
            index: None,
            fallback: None,
            error_page: None,
            headers: Default::default(),
            expires: None,
        };
        let at = (app, &site());
        self.world.folio.set_static(&self.world.caller, at, fields, None).await.unwrap();
    }

    fn file(&self, path: &str) -> Arc<AssetFile> {
        let sites = self.told.lock().unwrap();
        let AssetEntry::Directory(files) = &sites[0].live[0].0.assets[0].files else { panic!() };
        let Some(AssetEntry::File(file)) = files.find(path) else { panic!("no {path}") };
        file
    }

    /// What a request finds right now.
    async fn encoded(&self, path: &str) -> Option<Arc<Encoded>> {
        self.world.folio.asset_encoded(&self.file(path)).await
    }

    /// Waits until a request finds encodings.
    async fn until_encoded(&self, path: &str) -> Arc<Encoded> {
        let found = async {
            loop {
                if let Some(encoded) = self.encoded(path).await {
                    return encoded;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), found).await.expect("they are made")
    }

    /// How often encodings were made.
    fn made(&self) -> usize {
        self.blobs.encoded.lock().unwrap().len()
    }

    async fn node(&self, text: &str) -> Option<Digest> {
        let file = Digest::of(text.as_bytes());
        self.blobs.encodings(vec![file]).await.unwrap()[0]
    }
}

fn folio(ledger: &Arc<MemoryLedger>, blobs: &Arc<Watched>, clock: &Arc<TestClock>) -> Folio {
    let settings = Settings { grace: Duration::ZERO, ..Settings::default() };
    Folio::new(ledger.clone(), blobs.clone(), clock.clone(), settings)
}

fn site() -> Name {
    "site".parse().unwrap()
}

fn text(word: &str) -> String {
    format!("{word} and the same words again. ").repeat(60)
}

fn gunzipped(encoded: &Encoded) -> String {
    let mut text = String::new();
    let packed = encoded.gzip.as_ref().unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&packed[..]), &mut text)
        .unwrap();
    text
}

#[tokio::test]
async fn a_restart_finds_encodings_at_once_and_makes_none() {
    let served = Served::new().await;
    let (page, script) = (text("page"), text("script"));
    let files = [("index.html", &*page), ("a.js", &*script), ("b.png", &page), ("c.js", "short")];
    served.deploy(&files).await;
    served.until_encoded("index.html").await;
    served.until_encoded("a.js").await;
    assert_eq!(served.made(), 2);
    let mut served = served.restart().await;
    let encoded = served.encoded("index.html").await.expect("it is there from the first request");
    assert_eq!(gunzipped(&encoded), page);
    assert!(served.encoded("a.js").await.is_some());
    assert!(served.encoded("c.js").await.is_none());
    // Had anything waited to be made, it would be made before what comes now.
    served.encode();
    served.deploy(&[("new.css", &text("style"))]).await;
    served.until_encoded("new.css").await;
    assert_eq!(served.made(), 3);
}

#[tokio::test]
async fn only_what_is_new_is_encoded() {
    let served = Served::new().await;
    let (same, before, after) = (text("same"), text("before"), text("after"));
    served.deploy(&[("a/same.js", &same), ("b/page.html", &before)]).await;
    served.until_encoded("a/same.js").await;
    served.until_encoded("b/page.html").await;
    served.deploy(&[("moved.txt", &same), ("a/same.js", &same), ("b/page.html", &after)]).await;
    let encoded = served.until_encoded("b/page.html").await;
    assert_eq!(gunzipped(&encoded), after);
    assert!(served.encoded("moved.txt").await.is_some(), "it is the same file");
    assert_eq!(served.made(), 3);
    // Going back finds what was made for the release that is gone.
    served.deploy(&[("b/page.html", &before)]).await;
    assert!(served.encoded("b/page.html").await.is_some());
    assert_eq!(served.made(), 3);
}

#[tokio::test]
async fn a_sweep_keeps_the_encodings_of_what_can_be_reached_and_takes_the_others() {
    let served = Served::new().await;
    let (old, new) = (text("old"), text("new"));
    served.deploy(&[("a.js", &old)]).await;
    served.until_encoded("a.js").await;
    served.deploy(&[("a.js", &new)]).await;
    served.until_encoded("a.js").await;
    let both = [served.node(&old).await.unwrap(), served.node(&new).await.unwrap()];
    served.world.folio.sweep().await.unwrap();
    assert_eq!(served.blobs.missing(both.to_vec()).await.unwrap(), [], "versions hold both");
    served.world.folio.delete_static(&served.world.caller, (&app(), &site()), None).await.unwrap();
    served.deploy(&[("a.js", &new)]).await;
    served.world.folio.sweep().await.unwrap();
    assert_eq!(served.blobs.missing(both.to_vec()).await.unwrap(), both[..1]);
    assert_eq!(served.node(&old).await, None);
    assert!(served.encoded("a.js").await.is_some());
    assert_eq!(served.world.folio.check().await.unwrap(), []);
}

#[tokio::test]
async fn encodings_that_cannot_be_read_are_not_sent_and_are_made_again() {
    let mut served = Served::new().await;
    let page = text("page");
    served.deploy(&[("index.html", &page)]).await;
    served.until_encoded("index.html").await;
    for (times, way) in [Way::Damaged, Way::Lost, Way::Other, Way::Damaged].into_iter().enumerate()
    {
        let before = served.node(&page).await.unwrap();
        let file = Digest::of(page.as_bytes());
        match way {
            Way::Damaged | Way::Lost => {
                served.blobs.unreadable.lock().unwrap().insert(before, way);
            }
            // The file's own bytes are no encodings.
            Way::Other => {
                let other = Encoding { file, node: file };
                served.blobs.store.remember_encodings(vec![other]).await.unwrap();
            }
        }
        served = served.restart().await;
        assert!(served.encoded("index.html").await.is_none(), "{way:?}");
        let bytes = served.world.folio.asset_bytes(&served.file("index.html")).await.unwrap();
        assert_eq!(bytes, page, "{way:?}");
        served.encode();
        let encoded = served.until_encoded("index.html").await;
        assert_eq!(gunzipped(&encoded), page, "{way:?}");
        assert_ne!(served.node(&page).await, Some(before), "{way:?}");
        assert_eq!(served.made(), times + 2, "{way:?}");
    }
}
