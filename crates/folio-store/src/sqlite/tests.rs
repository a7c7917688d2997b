//! Facts about SQLite as a store that no port promises: files, locks, schemas, groups, damage and cost.

use std::path::Path;

use folio_core::ports::Ledger;
use folio_model::{
    Answer, AppName, Change, Digest, Draft, Edit, Kind, PackageSpec, Place, Placement, Pointer,
    Release, ReleaseState, Snapshot, TokenRecord, TokenTerms, UnitUid, Version,
};
use folio_testkit::conformance::ledger::world::{
    World, actor, draft, environment, failed, function, number, package, route, source, succeeded,
    version_id,
};
use folio_testkit::{Depth, dump};
use serde_json::{Value, json};

use super::{Db, Options, SqliteLedger};

mod cost;
mod damage;
mod directory;
mod fold;
mod schemas;
mod writer;

fn open(directory: &Path) -> SqliteLedger {
    SqliteLedger::new(Db::open(directory, Options::default()).unwrap()).unwrap()
}

/// Puts one of everything into a ledger.
async fn fill(ledger: &dyn Ledger) -> AppName {
    let world = World::new(ledger).await;
    let code = world.create(Kind::Package, "code").await;
    let one = world.publish(&code, "v1").await;
    let gone = world.publish(&code, "v2").await;
    world.delete(&code, &gone).await;
    let hello = world.create(Kind::Function, "hello").await;
    let frozen = function(&package("v1"));
    let version = Version { uses: Some(code.at(1)), ..world.version(number(1), "f1", &frozen) };
    let drafted = Draft { uses: Some(code.at(1)), ..draft(&frozen) };
    let placement = |uid: UnitUid, latest: bool| Placement {
        uid,
        kind: Kind::Function,
        name: "hello".parse().unwrap(),
        latest: latest.then(|| (number(1), version_id("f1"), frozen.digest())),
        pending: None,
        draft: Some(frozen.digest()),
    };
    let token = Edit::AddToken {
        id: format!("t-{}", world.app),
        token: TokenRecord {
            secret: Digest::of(b"secret"),
            actor: actor(),
            terms: TokenTerms::default(),
        },
    };
    let body = json!("done");
    let publish = Change {
        snapshots: vec![frozen.clone()],
        app_version: Some(version_id("g1")),
        placements: vec![(hello.uid, Some(placement(hello.uid, true)))],
        answer: Some(Answer { key: world.app.to_string(), request: Digest::of(b"request"), body }),
        ..world.change(vec![
            Edit::Publish { uid: hello.uid, version, waits: false },
            Edit::SetDraft { uid: hello.uid, from: None, to: Some(drafted) },
            hello.point("stable", None, Some(1)),
            token,
        ])
    };
    let entry = world.append(publish).await.unwrap();
    let describe = Edit::Describe {
        uid: code.uid,
        number: one.number,
        from: String::new(),
        to: "words".to_owned(),
        from_at: None,
        to_at: Some(world.now()),
    };
    let again = Change {
        app_version: Some(version_id("g2")),
        placements: vec![(hello.uid, Some(placement(hello.uid, false)))],
        undoes: Some(entry.seq),
        ..world.change(vec![describe])
    };
    world.append(again).await.unwrap();
    fill_releases(&world).await;
    fill_builds(&world).await;
    world.app.clone()
}

/// Puts in a release that expired, made with its app version, and one that can be reached, made later.
async fn fill_releases(world: &World<'_>) {
    let release = |entry: u64| Release {
        app_version: version_id("g3"),
        entry,
        created_at: world.now(),
        state: ReleaseState::Accessible,
        ended_at: None,
        aside: false,
    };
    let to = |id: &str, from: Option<&Release>, to: &Release| Edit::Move {
        pointer: Pointer::Release { app: world.app.clone(), id: id.parse().unwrap() },
        from: from.cloned().map(Place::Release),
        to: Some(Place::Release(to.clone())),
    };
    let head = world.look(|state| state.head()).await;
    let (first, second) = (release(head + 1), release(head + 2));
    let make = Change {
        app_version: Some(version_id("g3")),
        ..world.change(vec![to("r1", None, &first)])
    };
    world.append(make).await.unwrap();
    let ended = first.ended(ReleaseState::Expired, world.now());
    world.must(vec![to("r2", None, &second), to("r1", Some(&first), &ended)]).await;
}

/// Puts in what was built and what waits, and triggers.
async fn fill_builds(world: &World<'_>) {
    let built = world.create(Kind::Package, "built").await;
    let text = |what: &str| format!("{what} of {}", world.app);
    let (good, bad) = (source(&text("good")), source(&text("bad")));
    for (id, spec) in [("b1", &good), ("b2", &bad)] {
        world.publish_as(&built, id, Snapshot::Package(spec.clone()), true).await;
    }
    let ended = |spec: &PackageSpec, to, readies| {
        let key = spec.build_key().unwrap();
        Edit::Built { key, from: None, to, readies }
    };
    world.must(vec![ended(&good, succeeded("good"), vec![built.at(1)])]).await;
    world.must(vec![ended(&bad, failed("bad"), Vec::new())]).await;
    let shop = world.create(Kind::Trigger, "shop").await;
    world.publish_as(&shop, "t1", route(&["hello", "other"]), false).await;
    let python = world.create(Kind::Environment, "python").await;
    world.publish_as(&python, "e1", environment("one"), false).await;
}

async fn dumped(
    ledger: &SqliteLedger,
    app: &AppName,
) -> Result<Value, folio_core::ports::StoreError> {
    let app = app.clone();
    ledger.db.read(move |conn| dump(&super::state::Seen(conn), &app, Depth::Whole)).await
}
