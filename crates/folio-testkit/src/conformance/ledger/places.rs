//! Facts about app versions and what every unit was in them.

use std::collections::BTreeMap;

use folio_core::ports::{Ledger, StoreError};
use folio_model::{Change, Kind, Number, Placement, Timestamp, UnitUid, VersionId};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::world::{Named, World, number, package, version_id};

type Map = BTreeMap<UnitUid, Placement>;

fn placement(unit: &Named, latest: Option<u64>, draft: bool) -> Placement {
    Placement {
        uid: unit.uid,
        kind: unit.key.kind,
        name: unit.key.name.clone(),
        latest: latest.map(|n| (number(n), version_id(&format!("v{n}")), package("one").digest())),
        pending: None,
        draft: draft.then(|| package("two").digest()),
    }
}

/// After many changes, the map of every app version is what a replay of all changes says it was.
pub async fn every_app_version_keeps_its_map(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let mut chance = StdRng::seed_from_u64(7);
    let mut units = Vec::new();
    for name in ["a", "b", "c", "d"] {
        units.push(world.create(Kind::Function, name).await);
        units.push(world.create(Kind::Package, name).await);
    }
    let mut maps: Vec<Map> = Vec::new();
    let mut map = Map::new();
    for round in 0..60 {
        let mut placements = Vec::new();
        for _ in 0..chance.random_range(0..4) {
            let unit = &units[chance.random_range(0..units.len())];
            // A change places each unit once.
            if placements.iter().any(|(uid, _)| *uid == unit.uid) {
                continue;
            }
            let stays = chance.random_bool(0.7);
            let latest = chance.random_bool(0.8).then(|| chance.random_range(1..9));
            let to = stays.then(|| placement(unit, latest, chance.random_bool(0.3)));
            match &to {
                Some(to) => map.insert(unit.uid, to.clone()),
                None => map.remove(&unit.uid),
            };
            placements.push((unit.uid, to));
        }
        maps.push(map.clone());
        let app_version = Some(version_id(&format!("g{round}")));
        let snapshots = vec![package("one"), package("two")];
        let change = Change { app_version, placements, snapshots, ..world.change(Vec::new()) };
        world.append(change).await.expect("it fits");
    }
    for (index, map) in maps.iter().enumerate() {
        let (app, at) = (world.app.clone(), number(index as u64 + 1));
        let found = world.look(move |state| state.placements(&app, at)).await;
        let mut expected: Vec<_> = map.values().cloned().collect();
        expected.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        assert_eq!(found, expected, "app version {at}");
    }
    for unit in &units {
        let uid = unit.uid;
        let found = world.look(move |state| state.placement(uid)).await;
        assert_eq!(found.as_ref(), map.get(&uid));
    }
}

async fn make(world: &World<'_>, id: &str, at: i64) -> u64 {
    let change = Change {
        at: Timestamp::from_second(at).expect("within range"),
        app_version: Some(version_id(id)),
        ..world.change(Vec::new())
    };
    world.append(change).await.expect("it fits").seq
}

/// Numbers go up by one, each knows its parent, and ids are not shared.
pub async fn app_versions_are_found_by_number_id_and_time(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let other = World::new(ledger).await;
    let entry = make(&world, "g1", 100).await;
    make(&other, "g1", 100).await;
    make(&world, "g2", 200).await;
    make(&world, "g3", 200).await;
    make(&world, "g4", 300).await;
    let again = Change { app_version: Some(version_id("g2")), ..world.change(Vec::new()) };
    world.refuses_change(again).await;

    let app = world.app.clone();
    let first = world.look(move |state| state.app_version(&app, Number::FIRST)).await;
    let first = first.expect("it was made");
    assert_eq!((first.entry, first.parent.clone(), first.id.as_str()), (entry, None, "g1"));
    let app = world.app.clone();
    let by_id = world.look(move |state| state.app_version_by_id(&app, &version_id("g3"))).await;
    let by_id = by_id.expect("it was made");
    assert_eq!((by_id.number, by_id.parent), (number(3), Some(version_id("g2"))));
    let at = |at: Option<i64>| {
        let app = world.app.clone();
        let at = at.map(|at| Timestamp::from_second(at).expect("within range"));
        let found = world.look(move |state| state.app_version_at(&app, at));
        async { found.await.map(|version| version.number.get()) }
    };
    assert_eq!(at(Some(99)).await, None);
    assert_eq!((at(Some(100)).await, at(Some(199)).await), (Some(1), Some(1)));
    assert_eq!((at(Some(200)).await, at(Some(299)).await), (Some(3), Some(3)));
    assert_eq!((at(Some(1_000)).await, at(None).await), (Some(4), Some(4)));

    let before = |below: Option<u64>, limit| {
        let app = world.app.clone();
        let found =
            world.look(move |state| state.app_versions_before(&app, below.map(number), limit));
        async { found.await.iter().map(|version| version.number.get()).collect::<Vec<_>>() }
    };
    assert_eq!(before(None, 2).await, [4, 3]);
    assert_eq!(before(Some(3), usize::MAX).await, [2, 1]);
    let app = world.app.clone();
    let taken = |id: &str| {
        let (app, id): (_, VersionId) = (app.clone(), version_id(id));
        world.look(move |state| state.id_taken(&app, &id))
    };
    assert!(taken("g4").await);
    assert!(!taken("g5").await);
}

/// A unit is placed only in an app version, as itself, with snapshots that are stored.
pub async fn placements_need_an_app_version(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Function, "hello").await;
    let nobody = world.named(Kind::Function, "nobody");
    let change = |placed: &Named, to: Placement, id: Option<&str>| Change {
        snapshots: vec![package("one")],
        app_version: id.map(version_id),
        placements: vec![(placed.uid, Some(to))],
        ..world.change(Vec::new())
    };
    let before = world.dump().await;
    let nowhere = world.append(change(&unit, placement(&unit, Some(1), false), None)).await;
    assert!(matches!(nowhere, Err(StoreError::Failed { .. })), "{nowhere:?}");
    assert_eq!(world.dump().await, before);
    world.refuses_change(change(&nobody, placement(&nobody, None, false), Some("g1"))).await;
    world.refuses_change(change(&unit, placement(&nobody, None, false), Some("g1"))).await;
    let mut odd = placement(&unit, None, false);
    odd.draft = Some(package("never stored by anyone").digest());
    world.refuses_change(change(&unit, odd, Some("g1"))).await;
    let other = World::new(ledger).await;
    let theirs = other.create(Kind::Function, "hello").await;
    world.refuses_change(change(&theirs, placement(&theirs, None, false), Some("g1"))).await;
    world
        .append(change(&unit, placement(&unit, Some(1), false), Some("g1")))
        .await
        .expect("it fits");
}
