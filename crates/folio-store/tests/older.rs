//! A data directory that an older folio left behind: it opens, and everything in it is as it was.
//!
//! `older/schema-2` was written by the last release before builds: its database as SQL, its packs as they were.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use folio_core::ports::{Page, PendingBuild, SystemClock};
use folio_core::{Caller, Folio, Settings};
use folio_model::{
    AppName, BuildRecord, Content, Edit, Kind, Layout, Number, Snapshot, UnitKey, VersionKey,
};
use folio_store::DataDirectory;
use folio_testkit::conformance::ledger::world::World;

/// Makes the directory as the older folio left it.
fn left_behind(directory: &Path) {
    let older = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/older/schema-2");
    let sql = std::fs::read_to_string(older.join("folio.sql")).unwrap();
    let database = rusqlite::Connection::open(directory.join("folio.db")).unwrap();
    database.execute_batch(&sql).unwrap();
    super::machine::copy(&older.join("blobs"), &directory.join("blobs"));
}

async fn open(directory: &Path) -> (DataDirectory, Folio) {
    let clock = Arc::new(SystemClock);
    let grace = Duration::from_secs(60);
    let data = DataDirectory::open(directory, clock.clone(), grace).await.unwrap();
    let folio = Folio::new(data.ledger.clone(), data.blobs.clone(), clock, Settings::default());
    (data, folio)
}

fn key(kind: Kind, name: &str) -> UnitKey {
    UnitKey { app: AppName::default_app(), kind, name: name.parse().unwrap() }
}

#[tokio::test]
async fn functions_of_an_older_directory_are_listed_and_resolve() {
    let directory = tempfile::tempdir().unwrap();
    left_behind(directory.path());
    let (_data, folio) = open(directory.path()).await;
    assert_eq!(folio.check().await.unwrap(), [], "nothing is damaged");

    let (caller, app) = (Caller::new("ada".parse().unwrap()), AppName::default_app());
    let listed = folio.list(&app, Kind::Function).await.unwrap();
    let listed: Vec<_> = listed
        .iter()
        .map(|unit| (unit.name.as_str(), unit.latest.as_ref().map(|latest| latest.id.as_str())))
        .collect();
    assert_eq!(listed, [("hello", Some("v1.0.1")), ("sketch", None), ("tool", Some("d6vtw"))]);
    let versions = folio.versions(&key(Kind::Function, "hello"), Page::ALL).await.unwrap();
    let versions: Vec<_> = versions.iter().map(|version| version.id.as_str()).collect();
    assert_eq!(versions, ["v1.0.0", "v1.0.1"]);
    for (reference, id) in
        [("hello", "v1.0.1"), ("hello@prod", "v1.0.0"), ("hello@1", "v1.0.0"), ("tool", "d6vtw")]
    {
        let reference = reference.parse().unwrap();
        let found = folio.resolve(&caller, &app, Kind::Function, &reference).await.unwrap();
        let found = serde_json::to_value(found).unwrap().to_string();
        assert!(found.contains(&format!("\"{id}\"")), "{reference} is {found}");
    }
}

#[tokio::test]
async fn what_an_older_directory_never_built_can_be_built() {
    let directory = tempfile::tempdir().unwrap();
    left_behind(directory.path());
    let (data, folio) = open(directory.path()).await;
    let world = World::of(data.ledger.as_ref(), AppName::default_app());
    let (lib, units) = world
        .look(|state| {
            let lib = state.unit(&key(Kind::Package, "lib"))?.expect("it is there");
            let units = state.units(&AppName::default_app(), Kind::Package)?;
            Ok((lib, units))
        })
        .await;
    assert!(units.iter().all(|unit| unit.newest == unit.latest), "{units:?}");
    let one = VersionKey { unit: lib.uid, number: Number::FIRST };
    let (package, pending) = world
        .look(move |state| {
            assert!(state.is_ready(one)?, "what never waited can be called");
            let version = state.version(one)?.expect("it survives");
            Ok((version.snapshot, state.builds_pending(usize::MAX)?))
        })
        .await;
    let spec = world.look(move |state| state.snapshot(package)).await;
    let Some(Snapshot::Package(spec)) = spec else { panic!("{spec:?} is no package") };
    let build = spec.build_key().unwrap();
    // The draft of `sketch` has the same source, command and environment.
    assert_eq!(pending, [PendingBuild { key: build, package }]);

    let result = spec.source.unwrap().tree;
    let to = BuildRecord {
        result: Some(Content { tree: result, layout: Layout::Directory }),
        log: None,
        failure: None,
        at: folio_model::Timestamp::UNIX_EPOCH,
    };
    let built = Edit::Built { key: build, from: None, to: to.clone(), readies: Vec::new() };
    world.must(vec![built]).await;
    let seen = world.look(move |state| Ok((state.build(build)?, state.builds_pending(9)?)));
    assert_eq!(seen.await, (Some(to), Vec::new()));
    assert_eq!(folio.check().await.unwrap(), []);
}
