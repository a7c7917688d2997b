//! Snapshots in the form of the hub: what a manifest says comes back from the disk, and what an older version of
//! the hub left behind is read, rewritten and still called by the digest it was published with.

mod crash;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use folio_core::ports::{Ledger as _, Migrated, SystemClock};
use folio_core::{Folio, Settings};
use folio_kinds::{HUB_VERSION, Manifest, Stored, mapping};
use folio_model::{AppName, Change, Digest, Edit, Kind, Snapshot, Timestamp, Version, canonical};
use folio_store::DataDirectory;
use folio_testkit::conformance::ledger::world::{World, package};
use serde_json::{Value, json};

/// The version of the hub that the older program stored.
const OLDER: &str = "folio.dev/v1beta1";

/// Functions and routes of each kind that the older program left.
const UNITS: usize = 5;

async fn open(directory: &Path) -> DataDirectory {
    DataDirectory::open(directory, Arc::new(SystemClock), Duration::from_secs(60)).await.unwrap()
}

fn folio(data: &DataDirectory) -> Folio {
    let (ledger, blobs) = (data.ledger.clone(), data.blobs.clone());
    Folio::new(ledger, blobs, Arc::new(SystemClock), Settings::default())
}

/// What the older program stored of a function, and what it means.
fn old_function(number: usize, package: Digest) -> (Value, Value) {
    let body = |entry: &str| {
        json!({"kind": "function", "environment": "python", entry: format!("main{number}"),
            "package": {"name": "code", "snapshot": package.to_string()},
            "$bag": {"podspec@fission.io/v1": {"number": number}}})
    };
    (body("entry"), body("entrypoint"))
}

/// What the older program stored of a route, and what it means.
fn old_route(number: usize) -> (Value, Value) {
    let body = |path: Value| {
        json!({"kind": "trigger", "trigger": "http", "path": path,
            "targets": [{"function": format!("f{number}"), "weight": 10_000}]})
    };
    let prefix = json!({"prefix": {"path": format!("/r{number}")}});
    (body(format!("/r{number}/*").into()), body(prefix))
}

/// Makes a directory as a program would leave it that stored [`OLDER`]. Returns what is published in it: digests,
/// and what reading them must give.
async fn left_behind(directory: &Path) -> Vec<(Digest, Snapshot)> {
    open(directory).await.close().await.unwrap();
    let code = package("code");
    let pin = code.digest();
    let mut published = Vec::new();
    let database = rusqlite::Connection::open(directory.join("folio.db")).unwrap();
    for number in 0..UNITS {
        let function = (Kind::Function, format!("f{number}"), old_function(number, pin), Some(pin));
        let route = (Kind::Trigger, format!("r{number}"), old_route(number), None);
        for (kind, name, (old, new), pin) in [function, route] {
            let body = canonical::encode(&old);
            let digest = Digest::of(&body);
            let sql = "INSERT INTO snapshots (digest, encoding, body, pin, hub) VALUES (?1, 1, ?2, ?3, ?4)";
            let pin = pin.as_ref().map(Digest::as_bytes);
            database.execute(sql, rusqlite::params![digest.as_bytes(), body, pin, OLDER]).unwrap();
            let snapshot: Snapshot = serde_json::from_value(new).unwrap();
            published.push((kind, name, digest, snapshot));
        }
    }
    drop(database);
    let data = open(directory).await;
    let world = World::of(data.ledger.as_ref(), AppName::default_app());
    world.must(vec![Edit::CreateApp { app: AppName::default_app() }]).await;
    let unit = world.create(Kind::Package, "code").await;
    world.publish_as(&unit, "v1", code, false).await;
    for (kind, name, digest, snapshot) in &published {
        let unit = world.create(*kind, name).await;
        let next = world.unit(&unit).await.next_number;
        let version =
            Version { snapshot: *digest, ..world.version(next, &format!("{name}v"), snapshot) };
        let edits = vec![Edit::Publish { uid: unit.uid, version, waits: false }];
        let change: Change = world.change(edits);
        world.append(change).await.unwrap();
    }
    data.close().await.unwrap();
    published.into_iter().map(|(_, _, digest, snapshot)| (digest, snapshot)).collect()
}

/// Every digest leads to what was published under it, and nothing is damaged.
async fn check_whole(data: &DataDirectory, published: &[(Digest, Snapshot)]) {
    let world = World::of(data.ledger.as_ref(), AppName::default_app());
    for (digest, snapshot) in published.iter().cloned() {
        let read = world.look(move |state| state.snapshot(digest)).await;
        assert_eq!(read, Some(snapshot), "{digest}");
    }
    let routes = world.look(|state| state.triggers()).await;
    assert_eq!(routes.len(), UNITS);
    assert_eq!(data.ledger.verify().await.unwrap(), []);
}

/// How many bodies are in the older version.
fn older_bodies(directory: &Path) -> i64 {
    let database = rusqlite::Connection::open(directory.join("folio.db")).unwrap();
    let sql = "SELECT count(*) FROM snapshots WHERE hub = ?1";
    database.query_row(sql, [OLDER], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_directory_of_an_older_hub_reads_and_migrates() {
    let directory = tempfile::tempdir().unwrap();
    let published = left_behind(directory.path()).await;
    let data = open(directory.path()).await;
    check_whole(&data, &published).await;
    assert_eq!(older_bodies(directory.path()), 2 * UNITS as i64, "reading rewrites nothing");

    let folio = folio(&data);
    let report = folio.migrate_storage().await.unwrap();
    assert_eq!((report.hub_version.as_str(), report.rewritten), (HUB_VERSION, 2 * UNITS as u64));
    check_whole(&data, &published).await;
    assert_eq!(older_bodies(directory.path()), 0);

    let again = folio.migrate_storage().await.unwrap();
    assert_eq!((again.rewritten, again.done_at), (0, report.done_at), "there is nothing to do");
    drop(folio);
    data.close().await.unwrap();
    let data = open(directory.path()).await;
    check_whole(&data, &published).await;
}

#[tokio::test]
async fn a_migration_goes_on_where_it_was_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let published = left_behind(directory.path()).await;
    let data = open(directory.path()).await;
    let half = data.ledger.migrate_storage(3, Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!(half, Migrated { hub: HUB_VERSION.to_owned(), rewritten: 3, done_at: None });
    check_whole(&data, &published).await;
    // Nothing is said to the store: the process just ends.
    drop(data);

    let data = open(directory.path()).await;
    check_whole(&data, &published).await;
    let report = folio(&data).migrate_storage().await.unwrap();
    assert_eq!(report.rewritten, 2 * UNITS as u64 - 3);
    check_whole(&data, &published).await;
}

#[tokio::test]
async fn a_rewritten_body_that_is_damaged_is_found() {
    let directory = tempfile::tempdir().unwrap();
    left_behind(directory.path()).await;
    let data = open(directory.path()).await;
    folio(&data).migrate_storage().await.unwrap();
    data.close().await.unwrap();
    let database = rusqlite::Connection::open(directory.path().join("folio.db")).unwrap();
    let sql = "UPDATE snapshots SET body = CAST(replace(body, 'main0', 'other') AS BLOB)";
    database.execute(sql, []).unwrap();
    drop(database);
    let data = open(directory.path()).await;
    let damages = data.ledger.verify().await.unwrap();
    assert!(damages.iter().any(|damage| damage.what.contains("snapshot sha256:")), "{damages:?}");
}

#[tokio::test]
async fn a_fission_function_with_a_pod_spec_comes_back_from_the_disk() {
    let text = include_str!("../../folio-kinds/tests/manifests/fission.yaml");
    let manifest = Manifest::parse_all(text).unwrap().remove(0);
    let code = package("code");
    let mut stored = manifest.store().unwrap();
    if let Stored::Function(function) = &mut stored {
        let package = function.spec.value_mut().and_then(|spec| spec.package.value_mut()).unwrap();
        package.snapshot = code.digest().to_string().into();
    }
    let snapshot = mapping::snapshot(&stored).unwrap();

    let directory = tempfile::tempdir().unwrap();
    let data = open(directory.path()).await;
    let world = World::new(data.ledger.as_ref()).await;
    let unit = world.create(Kind::Package, "code").await;
    world.publish_as(&unit, "v1", code, false).await;
    let unit = world.create(Kind::Function, "resize").await;
    let version = world.publish_as(&unit, "v2", snapshot, false).await;
    let app = world.app.clone();
    data.close().await.unwrap();

    let data = open(directory.path()).await;
    let world = World::of(data.ledger.as_ref(), app);
    let read = world.look(move |state| state.snapshot(version.snapshot)).await.unwrap();
    let stored = mapping::stored(&read, &"resize".parse().unwrap()).unwrap();
    let fission = Manifest::of(stored.clone(), "fission.io/v1").unwrap();
    assert_eq!(fission.as_value(), manifest.as_value());
    let clean = Manifest::of(stored, HUB_VERSION).unwrap().as_value();
    assert_eq!(clean["spec"]["run"]["timeoutMs"], 90_000);
    assert_eq!(clean["spec"]["environment"], "nodejs");
    assert_eq!(data.ledger.verify().await.unwrap(), []);
}
