//! A platform in memory and short ways to talk to it.

use std::sync::Arc;
use std::time::Duration;

use folio_core::ports::Page;
use folio_core::request::{AliasTarget, Caller, Expect, Fields, Publish};
use folio_core::view::{Done, Published, VersionView};
use folio_core::{Explain, Folio, Limits, Settings, publish};
use folio_model::{AppName, FULL_WEIGHT, Kind, UnitKey, VersionId};
use folio_store::{MemoryIndex, MemoryLedger, PackOptions, PackStore};
use folio_testkit::clock::TestClock;
use folio_testkit::sample;

pub(crate) struct World {
    pub(crate) folio: Folio,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) caller: Caller,
}

pub(crate) async fn world() -> World {
    limited(Limits::default()).await
}

/// As [`world`], under other limits.
pub(crate) async fn limited(limits: Limits) -> World {
    let clock = Arc::new(TestClock::new(1));
    let index = MemoryIndex::default();
    let options = PackOptions { grace: Duration::ZERO };
    let blobs = PackStore::in_memory(index.clone(), clock.clone(), options).await.unwrap();
    let settings = Settings { grace: Duration::ZERO, limits, ..Settings::default() };
    let folio = Folio::new(
        Arc::new(MemoryLedger::new(index)),
        Arc::new(blobs),
        Arc::clone(&clock) as Arc<_>,
        settings,
    );
    let token = folio.draw_token();
    folio.admit(&"admin".parse().unwrap(), &token).await.unwrap();
    World { folio, clock, caller: Caller::new("ada".parse().unwrap()) }
}

pub(crate) fn app() -> AppName {
    AppName::default_app()
}

pub(crate) fn function(name: &str) -> UnitKey {
    UnitKey { app: app(), kind: Kind::Function, name: name.parse().unwrap() }
}

pub(crate) fn package(name: &str) -> UnitKey {
    UnitKey { app: app(), kind: Kind::Package, name: name.parse().unwrap() }
}

pub(crate) fn id(text: &str) -> VersionId {
    text.parse().unwrap()
}

pub(crate) fn request(fields: Fields) -> Publish {
    Publish::fresh(fields)
}

impl World {
    pub(crate) async fn code(&self, text: &str) -> Fields {
        let deployment = Some(sample::file(&self.folio, "main.js", text).await);
        let environment = Some("nodejs".parse().unwrap());
        Fields { environment, deployment, ..Fields::default() }
    }

    pub(crate) async fn publish(
        &self,
        key: &UnitKey,
        request: Publish,
    ) -> Result<Done<Published>, publish::Error> {
        self.folio.publish(&self.caller, key, request).await
    }

    /// Publishes code under an id and returns the version.
    pub(crate) async fn version(&self, key: &UnitKey, text: &str, at: &str) -> VersionView {
        let request = Publish { id: Some(id(at)), ..request(self.code(text).await) };
        self.publish(key, request).await.unwrap().result.version
    }

    pub(crate) async fn point(&self, function_name: &str, alias: &str, at: &str) {
        let target = AliasTarget { version: at.parse().unwrap(), weight: FULL_WEIGHT };
        let key = function(function_name);
        let exists = self.folio.aliases(&key).await.unwrap();
        let exists = exists.iter().any(|found| found.name.as_str() == alias);
        let expect = if exists { Expect::Present } else { Expect::Absent };
        let pointer = (&key, &id(alias));
        self.folio.point(&self.caller, pointer, vec![target], expect).await.unwrap();
    }

    /// Lets only one release be reached at a time, so that what is deleted is not shown any more.
    pub(crate) async fn one_release(&self) {
        let change = folio_core::app::PlanChange { releases: Some(1), tagged: None };
        self.folio.set_plan(&self.caller, &app(), change).await.unwrap();
    }

    pub(crate) async fn ids(&self, key: &UnitKey) -> Vec<String> {
        let versions = self.folio.versions(key, Page::ALL).await.unwrap();
        versions.iter().map(|version| version.id.to_string()).collect()
    }
}

/// The code and message of a failure.
pub(crate) fn refused<T, E: Explain>(result: Result<T, E>) -> (&'static str, String) {
    match result {
        Ok(_) => panic!("this should have been refused"),
        Err(error) => (error.code().0, error.to_string()),
    }
}
