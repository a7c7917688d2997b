//! Cost: what a lookup or a change costs does not depend on how many versions exist. Counted in steps of
//! SQLite's machine, which are the same on every machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folio_core::ports::{Page, Plan, State, StoreError};
use folio_model::{Pointer, UnitKey};
use folio_testkit::conformance::ledger::world::Named;
use rusqlite::Connection;

use super::*;
use crate::sqlite::apply;
use crate::sqlite::session::Session;
use crate::sqlite::state::Seen;

type Question = fn(&dyn State, &Named) -> Result<(), StoreError>;

const QUESTIONS: &[(&str, Question)] = &[
    ("head", |state, _| state.head().map(drop)),
    ("unit", |state, unit| state.unit(&unit.key).map(drop)),
    ("unit_by_uid", |state, unit| state.unit_by_uid(unit.uid).map(drop)),
    ("units", |state, unit| state.units(&unit.key.app, Kind::Package).map(drop)),
    ("units_after", |state, unit| {
        state.units_after(&unit.key.app, Kind::Package, (None, 3)).map(drop)
    }),
    ("version", |state, unit| state.version(unit.at(11)).map(drop)),
    ("version_by_id", |state, unit| state.version_by_id(unit.uid, &version_id("v11")).map(drop)),
    ("versions", |state, unit| state.versions(unit.uid, Page { after: 0, limit: 3 }).map(drop)),
    ("version_before", |state, unit| state.version_before(unit.at(10_000)).map(drop)),
    ("ready_before", |state, unit| state.ready_before(unit.at(10_000)).map(drop)),
    ("is_ready", |state, unit| state.is_ready(unit.at(11)).map(drop)),
    ("build", |state, _| state.build(Digest::of(b"nothing")).map(drop)),
    ("waiting", |state, _| state.waiting(Digest::of(b"nothing")).map(drop)),
    ("builds_pending", |state, _| state.builds_pending(3).map(drop)),
    ("triggers_of", |state, unit| {
        state.triggers_of(&unit.key.app, &"hello".parse().expect("a name")).map(drop)
    }),
    ("triggers", |state, _| state.triggers().map(drop)),
    ("naming", |state, unit| {
        let key = UnitKey { kind: Kind::Config, ..unit.key.clone() };
        state.naming(&key).map(drop)
    }),
    ("some_secret", |state, _| state.some_secret().map(drop)),
    ("users", |state, unit| state.users(unit.at(11)).map(drop)),
    ("draft_users", |state, unit| state.draft_users(unit.at(11)).map(drop)),
    ("id_taken", |state, unit| state.id_taken(&unit.key.app, &version_id("v11")).map(drop)),
    ("aliases", |state, unit| state.aliases(unit.uid).map(drop)),
    ("pointers_to", |state, unit| state.pointers_to(unit.at(11)).map(drop)),
    ("entry", |state, _| state.entry(12).map(drop)),
    ("entries", |state, unit| {
        let page = Page { after: 10, limit: 3 };
        state.entries(Some(&unit.key.app), page).map(drop)
    }),
    ("last_entry", |state, unit| state.last_entry(&unit.key.app).map(drop)),
    ("entries_before", |state, unit| state.entries_before(&unit.key.app, 40, 3).map(drop)),
    ("undone_by", |state, _| state.undone_by(12).map(drop)),
    ("app_version", |state, unit| state.app_version(&unit.key.app, number(11)).map(drop)),
    ("app_version_at", |state, unit| {
        let at = state.app_version(&unit.key.app, number(11))?.map(|version| version.at);
        state.app_version_at(&unit.key.app, at).map(drop)
    }),
    ("newest app version", |state, unit| state.app_version_at(&unit.key.app, None).map(drop)),
    ("placements", |state, unit| state.placements(&unit.key.app, number(11)).map(drop)),
    ("placement", |state, unit| state.placement(unit.uid).map(drop)),
    ("moves", |state, unit| {
        let pointer = Pointer::Alias { unit: unit.uid, name: version_id("nowhere") };
        state.moves(&pointer).map(drop)
    }),
    ("newest moves", |state, unit| {
        let pointer = Pointer::Live { app: unit.key.app.clone() };
        state.moves_before(&pointer, u64::MAX, 8).map(drop)
    }),
];

/// Steps of each question, and of appending one more version, with so many versions.
async fn steps(versions: u64) -> Vec<(&'static str, u64)> {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    let world = World::new(&ledger).await;
    let unit = world.create(Kind::Package, "code").await;
    let changes: Vec<_> = (1..=versions).map(|n| publish(&world, &unit, n)).collect();
    let append = |session: &Session, change: Change| {
        let mut plan: Plan = Box::new(move |_| Ok(Some(change.clone())));
        apply::append(session, &mut plan)
    };
    let write =
        move |session: &Session| changes.into_iter().try_for_each(|c| append(session, c).map(drop));
    ledger.db.write(write).await.unwrap();
    let next = publish(&world, &unit, versions + 1);
    drop(world);
    drop(ledger);

    let mut conn = Connection::open(directory.path().join("folio.db")).unwrap();
    let count = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&count);
    let step = move || {
        counter.fetch_add(1, Ordering::SeqCst);
        false
    };
    conn.progress_handler(1, Some(step)).unwrap();
    let mut costs = Vec::new();
    for (name, question) in QUESTIONS {
        count.store(0, Ordering::SeqCst);
        question(&Seen(&conn), &unit).unwrap();
        costs.push((*name, count.load(Ordering::SeqCst)));
    }
    count.store(0, Ordering::SeqCst);
    append(&Session::new(conn), next).unwrap();
    costs.push(("append", count.load(Ordering::SeqCst)));
    costs
}

/// Publishes a version, and deletes most of those before it.
fn publish(world: &World<'_>, unit: &Named, n: u64) -> Change {
    let snapshot = package("same");
    let version = |n| Version {
        created_at: jiff::Timestamp::UNIX_EPOCH,
        ..world.version(number(n), &format!("v{n}"), &snapshot)
    };
    let mut edits = vec![Edit::Publish { uid: unit.uid, version: version(n), waits: false }];
    if n > 21 {
        edits.push(unit.delete(&version(n - 1)));
    }
    let latest = Some((number(n), version_id(&format!("v{n}")), snapshot.digest()));
    let (kind, name) = (Kind::Package, unit.key.name.clone());
    let placement = Placement { uid: unit.uid, kind, name, latest, pending: None, draft: None };
    Change {
        snapshots: vec![snapshot.clone()],
        app_version: Some(version_id(&format!("g{n}"))),
        placements: vec![(unit.uid, Some(placement))],
        ..world.change(edits)
    }
}

#[tokio::test]
async fn no_cost_depends_on_how_many_versions_exist() {
    let (few, many) = (steps(50).await, steps(2_000).await);
    for ((name, few), (_, many)) in few.into_iter().zip(many) {
        assert!(many <= few + few / 2, "{name}: {few} steps with few versions, {many} with many");
    }
}
