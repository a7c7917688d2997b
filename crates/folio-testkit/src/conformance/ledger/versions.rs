//! Facts about versions: their numbers, their ids, who uses them, and what they keep alive.

use folio_core::ports::{Ledger, Page};
use folio_model::{Change, Digest, Draft, Edit, Kind, Snapshot, Timestamp, Version};

use super::world::{Named, World, draft, function, number, package, version_id};

/// Numbers come from the unit's own counter, whatever was deleted. Some may be left out, and none comes again.
pub async fn numbers_go_up_and_are_never_reused(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Package, "code").await;
    let one = world.publish(&unit, "v1").await;
    let two = world.publish(&unit, "v2").await;
    assert_eq!((one.number.get(), two.number.get()), (1, 2));
    world.delete(&unit, &two).await;
    let snapshot = package("v1");
    for wrong in [1, 2] {
        let version = world.version(number(wrong), "v3", &snapshot);
        world.refuses(vec![Edit::Publish { uid: unit.uid, version, waits: false }]).await;
    }
    assert_eq!(world.publish(&unit, "v3").await.number.get(), 3);
    assert_eq!(world.unit(&unit).await.next_number.get(), 4);
    let left_out = world.version(number(7), "v7", &snapshot);
    world.must(vec![Edit::Publish { uid: unit.uid, version: left_out, waits: false }]).await;
    assert_eq!(world.unit(&unit).await.latest, Some(number(7)));
    for never in [4, 6, 7] {
        let version = world.version(number(never), "v8", &snapshot);
        world.refuses(vec![Edit::Publish { uid: unit.uid, version, waits: false }]).await;
    }
    assert_eq!(world.publish(&unit, "v8").await.number.get(), 8);
}

/// An id belongs to one version of a unit for ever; other units may use it.
pub async fn ids_are_never_reused(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Package, "code").await;
    let version = world.publish(&unit, "v1").await;
    let again = world.version(number(2), "v1", &package("v1"));
    let publish = Edit::Publish { uid: unit.uid, version: again, waits: false };
    world.refuses(vec![publish.clone()]).await;
    world.delete(&unit, &version).await;
    world.refuses(vec![publish]).await;
    let (uid, app) = (unit.uid, world.app.clone());
    let found = world.look(move |state| state.version_by_id(uid, &version_id("v1"))).await;
    assert_eq!(found, Some((version, false)));
    assert!(world.look(move |state| state.id_taken(&app, &version_id("v1"))).await);

    let world = World::new(ledger).await;
    let app = world.app.clone();
    assert!(!world.look(move |state| state.id_taken(&app, &version_id("v1"))).await);
    let unit = world.create(Kind::Package, "code").await;
    let other = world.create(Kind::Function, "code").await;
    world.publish(&unit, "v1").await;
    world.publish(&other, "v1").await;
}

/// Deleting latest makes the survivor before it latest; restoring brings it back.
pub async fn latest_is_the_last_survivor(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Package, "code").await;
    let mut versions = Vec::new();
    for id in ["a1", "a2", "a3", "a4"] {
        versions.push(world.publish(&unit, id).await);
    }
    let latest = || async { world.unit(&unit).await.latest.map(|number| number.get()) };
    world.delete(&unit, &versions[1]).await;
    assert_eq!(latest().await, Some(4));
    world.delete(&unit, &versions[3]).await;
    assert_eq!(latest().await, Some(3));
    world.delete(&unit, &versions[2]).await;
    assert_eq!(latest().await, Some(1));
    let before = unit.at(4);
    let found = world.look(move |state| state.version_before(before)).await;
    assert_eq!(found.as_ref(), Some(&versions[0]));
    world.must(vec![unit.restore(&versions[1])]).await;
    assert_eq!(latest().await, Some(2));
    world.must(vec![unit.delete(&versions[1]), unit.delete(&versions[0])]).await;
    assert_eq!(latest().await, None);
    assert_eq!(world.look(move |state| state.version_before(before)).await, None);
}

/// Deleting and restoring compare the whole version.
pub async fn a_version_is_deleted_and_restored_only_as_it_is(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Package, "code").await;
    let version = world.publish(&unit, "v1").await;
    let described = Version { description: "other words".to_owned(), ..version.clone() };
    let other = Version { snapshot: package("other").digest(), ..version.clone() };
    world.refuses(vec![unit.delete(&described)]).await;
    world.refuses(vec![unit.delete(&other)]).await;
    world.refuses(vec![unit.restore(&version)]).await;
    let entry = world.delete(&unit, &version).await;
    assert_eq!(world.unit(&unit).await.revision, entry.seq);
    world.refuses(vec![unit.delete(&version)]).await;
    world.refuses(vec![unit.restore(&other)]).await;
    let key = unit.at(1);
    assert_eq!(world.look(move |state| state.version(key)).await, None);
    world.must(vec![unit.restore(&version)]).await;
    assert_eq!(world.look(move |state| state.version(key)).await, Some(version));
}

/// What is written is in the newest form, and the moment at which all was is noted once.
pub async fn storage_is_brought_to_its_newest_form_once(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let first = ledger.migrate_storage(100, world.now()).await.expect("it can be rewritten");
    assert_eq!(first.rewritten, 0, "what is written today is in the newest form");
    let done_at = first.done_at.expect("nothing is left");
    let again = ledger.migrate_storage(100, world.now()).await.expect("it can be asked again");
    assert_eq!((again.hub, again.done_at), (first.hub, Some(done_at)));
}

/// Pages hold surviving versions, oldest first.
pub async fn versions_are_listed_in_pages(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Package, "code").await;
    let mut versions = Vec::new();
    for id in ["a1", "a2", "a3", "a4", "a5"] {
        versions.push(world.publish(&unit, id).await);
    }
    world.delete(&unit, &versions[2]).await;
    let uid = unit.uid;
    let page = |after, limit| {
        let page = world.look(move |state| state.versions(uid, Page { after, limit }));
        async { page.await.iter().map(|version| version.number.get()).collect::<Vec<_>>() }
    };
    assert_eq!(page(0, usize::MAX).await, [1, 2, 4, 5]);
    assert_eq!(world.look(move |state| state.version_count(uid)).await, 4);
    assert_eq!(page(1, 2).await, [2, 4]);
    assert_eq!(page(4, 9).await, [5]);
    assert!(page(5, 9).await.is_empty());
    assert!(page(u64::MAX, 9).await.is_empty());
    assert!(page(0, 0).await.is_empty());
}

/// Descriptions are compared before they change, and only surviving versions have one.
pub async fn descriptions_change_only_if_they_are_as_expected(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Package, "code").await;
    let version = world.publish(&unit, "v1").await;
    let (first, then) = (Some(Timestamp::UNIX_EPOCH), Some(world.now()));
    let describe = |(from, from_at): (&str, _), (to, to_at): (&str, _)| Edit::Describe {
        uid: unit.uid,
        number: version.number,
        from: from.to_owned(),
        to: to.to_owned(),
        from_at,
        to_at,
    };
    world.refuses(vec![describe(("other", None), ("new", first))]).await;
    world.refuses(vec![describe(("", first), ("new", first))]).await;
    let new = describe(("", None), ("new", first));
    world.must(vec![new, describe(("new", first), ("newer", then))]).await;
    let key = unit.at(1);
    let found = world.look(move |state| state.version(key)).await.expect("it survives");
    let newer = "newer".to_owned();
    assert_eq!(found, Version { description: newer, described_at: then, ..version.clone() });
    world.delete(&unit, &found).await;
    world.refuses(vec![describe(("newer", then), ("", None))]).await;
}

struct Using {
    package: Named,
    function: Named,
    version: Version,
}

/// A package version, and a function version that uses it.
async fn using(world: &World<'_>) -> Using {
    let package = world.create(Kind::Package, "code").await;
    world.publish(&package, "v1").await;
    let function_unit = world.create(Kind::Function, "hello").await;
    let snapshot = function(&super::world::package("v1"));
    let version = Version {
        uses: Some(package.at(1)),
        archive: Some(Digest::of(b"archive")),
        ..world.version(number(1), "f1", &snapshot)
    };
    let publish = Edit::Publish { uid: function_unit.uid, version: version.clone(), waits: false };
    let change = Change { snapshots: vec![snapshot], ..world.change(vec![publish]) };
    world.append(change).await.expect("it fits");
    Using { package, function: function_unit, version }
}

/// Surviving users are listed; deleted ones are not.
pub async fn a_package_version_knows_its_users(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let Using { package, function, version } = using(&world).await;
    let key = package.at(1);
    let users = || world.look(move |state| state.users(key));
    assert_eq!(users().await, [function.at(1)]);
    world.delete(&function, &version).await;
    assert_eq!(users().await, []);
    world.must(vec![function.restore(&version)]).await;
    assert_eq!(users().await, [function.at(1)]);

    let to = Some(Draft { uses: Some(key), ..draft(&super::world::package("v1")) });
    let drafting = world.create(Kind::Function, "drafting").await;
    world.must(vec![Edit::SetDraft { uid: drafting.uid, from: None, to: to.clone() }]).await;
    let draft_users = || world.look(move |state| state.draft_users(key));
    assert_eq!(draft_users().await, [drafting.uid]);
    world.must(vec![Edit::SetDraft { uid: drafting.uid, from: to, to: None }]).await;
    assert_eq!(draft_users().await, []);
}

/// A change cannot leave a version, a draft or a pointer without what it names, in whatever order it is put.
pub async fn what_is_used_cannot_be_deleted(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let Using { package, function, version } = using(&world).await;
    let key = package.at(1);
    let used = world.look(move |state| state.version(key)).await.expect("it survives");
    world.refuses(vec![package.delete(&used)]).await;

    let stable = function.point("stable", None, Some(1));
    world.must(vec![stable]).await;
    world.refuses(vec![function.delete(&version)]).await;
    let away = function.point("stable", Some(1), None);
    world.must(vec![package.delete(&used), function.delete(&version), away]).await;
    world.refuses(vec![function.restore(&version)]).await;
    world.must(vec![function.restore(&version), package.restore(&used)]).await;

    let to = Some(Draft { uses: Some(key), ..draft(&super::world::package("v1")) });
    world.must(vec![Edit::SetDraft { uid: function.uid, from: None, to: to.clone() }]).await;
    world.refuses(vec![function.delete(&version), package.delete(&used)]).await;
    let clear = Edit::SetDraft { uid: function.uid, from: to, to: None };
    world.must(vec![function.delete(&version), package.delete(&used), clear]).await;
    let missing = Some(Draft { uses: Some(key), ..draft(&super::world::package("v1")) });
    world.refuses(vec![Edit::SetDraft { uid: function.uid, from: None, to: missing }]).await;
}

/// Nothing is published whose snapshot is not stored; stored ones read back.
pub async fn a_version_needs_its_snapshot(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Package, "code").await;
    let unknown = package(&format!("unknown in {}", world.app));
    let version = world.version(number(1), "v1", &unknown);
    world.refuses(vec![Edit::Publish { uid: unit.uid, version, waits: false }]).await;
    let digest = unknown.digest();
    let find = || world.look(move |state| state.snapshot(digest));
    assert_eq!(find().await, None);
    let known: Snapshot = package("v1");
    world.publish(&unit, "v1").await;
    let digest = known.digest();
    assert_eq!(world.look(move |state| state.snapshot(digest)).await, Some(known));
}

/// Roots are the trees and archives of survivors and drafts, through the packages that functions froze.
pub async fn content_roots_follow_versions_and_drafts(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let text = |what: &str| format!("{what} of {}", world.app);
    let archive = Digest::of(text("archive").as_bytes());
    let (published, drafted) = (package(&text("published")), package(&text("drafted")));
    let roots = || async {
        let all = world.look(|state| state.content_roots()).await;
        let own = [text("published"), text("drafted"), text("archive")];
        own.map(|text| all.contains(&Digest::of(text.as_bytes())))
    };
    let unit = world.create(Kind::Package, "code").await;
    let function_unit = world.create(Kind::Function, "hello").await;
    let version = Version { archive: Some(archive), ..world.version(number(1), "v1", &published) };
    let frozen = function(&drafted);
    let set = Edit::SetDraft { uid: function_unit.uid, from: None, to: Some(draft(&frozen)) };
    let publish = Edit::Publish { uid: unit.uid, version: version.clone(), waits: false };
    let snapshots = vec![published, frozen.clone(), drafted];
    let change = Change { snapshots, ..world.change(vec![publish, set]) };
    assert_eq!(roots().await, [false, false, false]);
    world.append(change).await.expect("it fits");
    assert_eq!(roots().await, [true, true, true]);
    world.delete(&unit, &version).await;
    assert_eq!(roots().await, [false, true, false]);
    let from = Some(draft(&frozen));
    world.must(vec![Edit::SetDraft { uid: function_unit.uid, from, to: None }]).await;
    assert_eq!(roots().await, [false, false, false]);
    let sorted = world.look(|state| state.content_roots()).await;
    assert!(sorted.is_sorted(), "roots come in order");
}
