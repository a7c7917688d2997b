//! Releasing an app version again whose content may be gone.

use std::sync::Arc;
use std::time::Duration;

use folio_core::history::Moment;
use folio_core::ports::Blobs as _;
use folio_core::release::{Error, ReleaseRef, ReleaseView};
use folio_core::request::{Caller, Cascade, ContentRef, IfSame, Which};
use folio_core::view::Done;
use folio_core::{Class, Explain as _, Folio, Settings};
use folio_model::{Timestamp, VersionId};
use folio_store::{MemoryIndex, MemoryLedger, PackOptions, PackStore};
use folio_testkit::clock::TestClock;
use folio_testkit::sample;

use crate::builds::{await_build, builders, publish};
use crate::runtime::{Script, running, running_on_disk};
use crate::world::{World, app, function, package};

impl World {
    async fn release_again(&self, version: &VersionId) -> Result<Done<ReleaseView>, Error> {
        let of = Moment::Id(version.clone());
        self.folio.create_release(&self.caller, &app(), of, IfSame::Keep).await
    }

    async fn latest(&self) -> ReleaseView {
        self.folio.show_release(&app(), &ReleaseRef::Latest).await.unwrap()
    }

    async fn head(&self) -> u64 {
        self.folio.log(&app(), None, 1).await.unwrap()[0].entry.seq
    }

    /// Publishes `v1` of `hello` and then `v2`, and deletes `v1`; what is left is the app version of `v1`.
    async fn left_behind(&self) -> VersionId {
        self.one_release().await;
        self.version(&function("hello"), "first", "v1").await;
        let old = self.latest().await.shows;
        self.version(&function("hello"), "second", "v2").await;
        for key in [function("hello"), package("hello-pkg")] {
            let which = Which::One("v1".parse().unwrap());
            self.folio.delete_versions(&self.caller, &key, which, None).await.unwrap();
        }
        old
    }
}

#[tokio::test]
async fn what_was_swept_cannot_be_released_again() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        let old = world.left_behind().await;
        world.clock.jump(7 * 24 * 60 * 60);
        assert!(world.folio.sweep().await.unwrap().removed_nodes > 0);
        let (before, head) = (world.latest().await, world.head().await);
        let error = world.release_again(&old).await.unwrap_err();
        assert_eq!((error.code().0, error.class()), ("content_not_kept", Class::Gone));
        let text = error.to_string();
        assert!(text.contains(old.as_str()) && text.contains("function `hello`"), "{text}");
        assert_eq!((world.latest().await.label.id, world.head().await), (before.label.id, head));
    }
}

#[tokio::test]
async fn what_a_build_made_that_was_swept_cannot_be_released_again() {
    let running = running().await;
    let world = &running.world;
    world.one_release().await;
    running.stub.then(Script::Make(vec![("main.js", "built")]));
    let _work = builders(&running);
    publish(&running, "one", "v1").await;
    await_build(&running, "v1").await;
    let old = world.latest().await.shows;
    for key in [function("hello"), package("hello-pkg")] {
        world.folio.delete(&world.caller, &key, Cascade::No, None).await.unwrap();
    }
    world.version(&function("other"), "second", "v2").await;
    world.clock.jump(7 * 24 * 60 * 60);
    assert!(world.folio.sweep().await.unwrap().removed_nodes > 0);
    let error = world.release_again(&old).await.unwrap_err();
    assert_eq!(error.code().0, "content_not_kept", "{error}");
}

#[tokio::test]
async fn a_sweep_beside_a_release_sees_what_it_needs() {
    let clock = Arc::new(TestClock::new(1));
    let (index, options) = (MemoryIndex::default(), PackOptions { grace: Duration::ZERO });
    let blobs = PackStore::in_memory(index.clone(), clock.clone(), options).await.unwrap();
    let blobs = Arc::new(blobs);
    let settings = Settings { grace: Duration::ZERO, ..Settings::default() };
    let ledger = Arc::new(MemoryLedger::new(index));
    let folio = Folio::new(ledger, blobs.clone(), clock.clone(), settings);
    folio.admit(&"admin".parse().unwrap(), &folio.draw_token()).await.unwrap();
    let world = World { folio, clock, caller: Caller::new("ada".parse().unwrap()) };
    let old = world.left_behind().await;
    world.clock.jump(7 * 24 * 60 * 60);
    // The sweep has looked for its roots when the release is made: nothing but what is live is needed.
    let live = sample::file(&world.folio, "main.js", "second").await;
    let ContentRef::Tree { tree, .. } = live else { panic!("{live:?} is no tree") };
    let mark = blobs.mark().await.unwrap();
    world.release_again(&old).await.unwrap();
    let roots = vec![tree];
    blobs.sweep(mark, roots, Timestamp::MAX).await.unwrap();
    let report = world.folio.check().await.unwrap();
    let missing: Vec<_> = report.iter().filter(|damage| damage.digest.is_some()).collect();
    let whole = world.folio.app_at(&app(), Moment::Id(old)).await.unwrap();
    assert_eq!(whole.units.len(), 2);
    assert!(missing.is_empty(), "{missing:?}");
}
