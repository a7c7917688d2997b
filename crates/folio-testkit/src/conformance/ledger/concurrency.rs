//! Facts about many callers at once.

use folio_core::ports::{Ledger, State};
use folio_model::{Change, Edit, Kind, UnitUid, Version};
use futures::future::join_all;

use super::world::{World, number, package, version_id};

const CALLERS: usize = 64;

/// Appends from many callers get places of their own, none is lost, and the head never goes back.
pub async fn concurrent_appends_are_all_kept_in_one_order(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Package, "code").await;
    let before = *ledger.head().borrow();
    let snapshot = package("same");
    let template = world.version(number(1), "same", &snapshot);
    let publish = |caller: usize| {
        let base = Change { snapshots: vec![snapshot.clone()], ..world.change(Vec::new()) };
        let (template, uid) = (template.clone(), unit.uid);
        let plan = move |state: &dyn State| next(state, uid, caller, &template, &base);
        async move {
            let entry = ledger.append(Box::new(plan)).await.expect("it fits").expect("a change");
            assert!(
                *ledger.head().borrow() >= entry.seq,
                "the head is behind an acknowledged entry"
            );
            entry.seq
        }
    };
    let mut seqs = join_all((0..CALLERS).map(publish)).await;
    seqs.sort_unstable();
    let expected: Vec<_> = (before + 1..=before + CALLERS as u64).collect();
    assert_eq!(seqs, expected);
    let found = world.unit(&unit).await;
    assert_eq!(found.latest, Some(number(CALLERS as u64)));
}

/// Publishes whatever number is next when the plan runs.
fn next(
    state: &dyn State,
    uid: UnitUid,
    caller: usize,
    template: &Version,
    base: &Change,
) -> Result<Option<Change>, folio_core::ports::StoreError> {
    let unit = state.unit_by_uid(uid)?.expect("it lives");
    let id = version_id(&format!("c{caller}"));
    let version = Version { number: unit.next_number, id, ..template.clone() };
    Ok(Some(Change { edits: vec![Edit::Publish { uid, version, waits: false }], ..base.clone() }))
}

/// Of many moves that expect the same place, one happens.
pub async fn exactly_one_of_many_racing_moves_wins(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Function, "hello").await;
    for index in 0..=CALLERS {
        world.publish(&unit, &format!("v{index}")).await;
    }
    world.must(vec![unit.point("live-one", None, Some(1))]).await;
    let race = (0..CALLERS as u64).map(|caller| {
        let change = world.change(vec![unit.point("live-one", Some(1), Some(caller + 2))]);
        world.append(change)
    });
    let won = join_all(race).await.into_iter().filter(Result::is_ok).count();
    assert_eq!(won, 1);
}

/// Whoever was told of an append sees it.
pub async fn a_view_sees_every_acknowledged_append(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let tasks = (0..CALLERS).map(|caller| {
        let unit = world.named(Kind::Function, &format!("f{caller}"));
        let world = &world;
        async move {
            let entry = world.must(vec![unit.create()]).await;
            let key = unit.key.clone();
            let (found, head) =
                world.look(move |state| Ok((state.unit(&key)?, state.head()?))).await;
            assert_eq!(found.map(|unit| unit.uid), Some(unit.uid));
            assert!(head >= entry.seq, "a view at {head} misses entry {}", entry.seq);
        }
    });
    join_all(tasks).await;
}
