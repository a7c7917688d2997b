//! Facts about builds: what waits for them, what they let be called, and what they keep.

use folio_core::ports::{Ledger, PendingBuild};
use folio_model::{BuildRecord, Change, Digest, Edit, Kind, Snapshot, VersionKey};

use super::world::{
    Named, World, draft, environment, failed, function, number, package, source, succeeded,
};

/// Something to build, unlike anything in other worlds.
struct Recipe {
    key: Digest,
    package: Snapshot,
}

fn recipe(world: &World<'_>, text: &str) -> Recipe {
    let spec = source(&format!("{text} of {}", world.app));
    Recipe { key: spec.build_key().expect("it has source"), package: Snapshot::Package(spec) }
}

impl Recipe {
    fn built(&self, to: BuildRecord, readies: &[VersionKey]) -> Edit {
        Edit::Built { key: self.key, from: None, to, readies: readies.to_vec() }
    }
}

async fn last(world: &World<'_>, unit: &Named) -> (Option<u64>, Option<u64>) {
    let unit = world.unit(unit).await;
    (unit.latest.map(|number| number.get()), unit.newest.map(|number| number.get()))
}

async fn waiting(world: &World<'_>, recipe: &Recipe) -> Vec<VersionKey> {
    let key = recipe.key;
    world.look(move |state| state.waiting(key)).await
}

/// A version that waits is listed and is not latest, until its build succeeds.
pub async fn a_version_that_waits_becomes_latest_when_it_is_built(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let recipe = recipe(&world, "code");
    let code = world.create(Kind::Package, "code").await;
    world.publish(&code, "v1").await;
    world.publish_as(&code, "v2", recipe.package.clone(), true).await;
    let hello = world.create(Kind::Function, "hello").await;
    world.publish_as(&hello, "f1", function(&recipe.package), true).await;
    assert_eq!(last(&world, &code).await, (Some(1), Some(2)));
    assert_eq!(last(&world, &hello).await, (None, Some(1)));
    let (one, two, beyond) = (code.at(1), code.at(2), code.at(3));
    let look = world.look(move |state| {
        let before = (state.ready_before(beyond)?, state.version_before(beyond)?);
        let numbers = (before.0.map(|found| found.number), before.1.map(|found| found.number));
        Ok((state.is_ready(one)?, state.is_ready(two)?, state.is_ready(beyond)?, numbers))
    });
    let numbers = (Some(number(1)), Some(number(2)));
    assert_eq!(look.await, (true, false, false, numbers));

    let mut both = vec![two, hello.at(1)];
    both.sort();
    assert_eq!(waiting(&world, &recipe).await, both);
    let entry = world.must(vec![recipe.built(succeeded("code"), &both)]).await;
    assert_eq!(last(&world, &code).await, (Some(2), Some(2)));
    assert_eq!(last(&world, &hello).await, (Some(1), Some(1)));
    assert_eq!(world.unit(&hello).await.revision, entry.seq);
    assert_eq!(waiting(&world, &recipe).await, []);
    let key = recipe.key;
    let look = world.look(move |state| Ok((state.is_ready(two)?, state.build(key)?)));
    assert_eq!(look.await, (true, Some(succeeded("code"))));
}

/// A failed build readies nothing and may be done again; one that succeeded stands for ever.
pub async fn a_build_is_replaced_only_until_it_succeeds(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let recipe = recipe(&world, "code");
    let code = world.create(Kind::Package, "code").await;
    world.publish_as(&code, "v1", recipe.package.clone(), true).await;
    let one = code.at(1);
    let built = |from: Option<&BuildRecord>, to: &BuildRecord, readies: &[VersionKey]| {
        let (from, to) = (from.cloned(), to.clone());
        vec![Edit::Built { key: recipe.key, from, to, readies: readies.to_vec() }]
    };
    let (bad, worse, good) = (failed("no compiler"), failed("no disk"), succeeded("code"));
    world.refuses(built(Some(&bad), &good, &[one])).await;
    world.refuses(built(None, &bad, &[one])).await;
    world.must(built(None, &bad, &[])).await;
    assert_eq!(last(&world, &code).await, (None, Some(1)));
    assert_eq!(waiting(&world, &recipe).await, [one]);
    world.refuses(built(None, &worse, &[])).await;
    world.must(built(Some(&bad), &worse, &[])).await;
    world.must(built(Some(&worse), &good, &[one])).await;
    assert_eq!(last(&world, &code).await, (Some(1), Some(1)));
    world.refuses(built(Some(&good), &bad, &[])).await;
    world.refuses(built(Some(&good), &succeeded("other"), &[])).await;
    world.refuses(built(Some(&good), &good, &[one])).await;
    world.must(built(Some(&good), &good, &[])).await;
}

/// Only surviving versions of the change's app that wait for the very build can be made ready.
pub async fn a_build_readies_only_what_waits_for_it(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let (mine, other) = (recipe(&world, "mine"), recipe(&world, "other"));
    let code = world.create(Kind::Package, "code").await;
    world.publish(&code, "v1").await;
    let waits = world.publish_as(&code, "v2", mine.package.clone(), true).await;
    let good = succeeded("code");
    world.refuses(vec![mine.built(good.clone(), &[code.at(1)])]).await;
    world.refuses(vec![mine.built(good.clone(), &[code.at(3)])]).await;
    world.refuses(vec![mine.built(good.clone(), &[code.at(2), code.at(2)])]).await;
    world.refuses(vec![other.built(good.clone(), &[code.at(2)])]).await;
    world.delete(&code, &waits).await;
    world.refuses(vec![mine.built(good.clone(), &[code.at(2)])]).await;
    world.must(vec![code.restore(&waits)]).await;
    let elsewhere = World::new(ledger).await;
    elsewhere.refuses(vec![mine.built(good.clone(), &[code.at(2)])]).await;
    elsewhere.must(vec![mine.built(good.clone(), &[])]).await;
    let again = |readies: &[VersionKey]| Edit::Built {
        key: mine.key,
        from: Some(good.clone()),
        to: good.clone(),
        readies: readies.to_vec(),
    };
    elsewhere.refuses(vec![again(&[code.at(2)])]).await;
    world.must(vec![again(&[code.at(2)])]).await;
    assert_eq!(last(&world, &code).await, (Some(2), Some(2)));
}

/// A version waits only for a build that its package needs and that has not succeeded.
pub async fn a_version_waits_only_for_what_has_to_be_built(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let recipe = recipe(&world, "code");
    let code = world.create(Kind::Package, "code").await;
    let publish = |snapshot: &Snapshot| {
        let version = world.version(number(1), "v1", snapshot);
        let edits = vec![Edit::Publish { uid: code.uid, version, waits: true }];
        Change { snapshots: vec![snapshot.clone()], ..world.change(edits) }
    };
    world.refuses_change(publish(&package("ready to run"))).await;
    world.refuses_change(publish(&environment("no code"))).await;
    world.must(vec![recipe.built(succeeded("code"), &[])]).await;
    world.refuses_change(publish(&recipe.package)).await;
    world.publish_as(&code, "v1", recipe.package.clone(), false).await;
    assert_eq!(last(&world, &code).await, (Some(1), Some(1)));
}

/// A deleted version that waited still waits when it returns; one that was ready still is.
pub async fn a_version_returns_as_ready_as_it_left(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let (done, open) = (recipe(&world, "done"), recipe(&world, "open"));
    let code = world.create(Kind::Package, "code").await;
    let ready = world.publish_as(&code, "v1", done.package.clone(), true).await;
    world.must(vec![done.built(succeeded("done"), &[code.at(1)])]).await;
    let waits = world.publish_as(&code, "v2", open.package.clone(), true).await;
    world.refuses(vec![code.remove()]).await;
    world.must(vec![code.delete(&ready), code.delete(&waits)]).await;
    assert_eq!(last(&world, &code).await, (None, None));
    assert_eq!(waiting(&world, &open).await, []);
    let (one, two) = (code.at(1), code.at(2));
    let look = || world.look(move |state| Ok((state.is_ready(one)?, state.is_ready(two)?)));
    assert_eq!(look().await, (true, false));
    world.must(vec![code.restore(&waits)]).await;
    assert_eq!(last(&world, &code).await, (None, Some(2)));
    assert_eq!(waiting(&world, &open).await, [two]);
    world.refuses(vec![code.remove()]).await;
    world.must(vec![code.restore(&ready)]).await;
    assert_eq!(last(&world, &code).await, (Some(1), Some(2)));
    assert_eq!(look().await, (true, false));
}

/// A build is forgotten only while nothing needs it; what returns afterwards waits for it again.
pub async fn only_a_build_that_nothing_needs_is_forgotten(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let recipe = recipe(&world, "code");
    let code = world.create(Kind::Package, "code").await;
    let version = world.publish_as(&code, "v1", recipe.package.clone(), true).await;
    let good = succeeded("forgotten");
    let forget = |from: &BuildRecord| vec![Edit::Forget { key: recipe.key, from: from.clone() }];
    world.refuses(forget(&good)).await;
    world.must(vec![recipe.built(good.clone(), &[code.at(1)])]).await;
    let made = good.result.expect("it succeeded").tree;
    let key = recipe.key;
    assert_eq!(world.look(move |state| state.builds_of(made)).await, [key]);
    world.refuses(forget(&good)).await;
    world.delete(&code, &version).await;
    world.refuses(forget(&failed("no compiler"))).await;
    let to = Some(draft(&recipe.package));
    world.must(vec![Edit::SetDraft { uid: code.uid, from: None, to: to.clone() }]).await;
    world.refuses(forget(&good)).await;
    world.must(vec![Edit::SetDraft { uid: code.uid, from: to, to: None }]).await;
    world.must(forget(&good)).await;
    assert_eq!(
        world.look(move |state| Ok((state.build(key)?, state.builds_of(made)?))).await,
        (None, vec![])
    );
    world.must(vec![code.restore(&version)]).await;
    assert_eq!(last(&world, &code).await, (None, Some(1)));
    assert_eq!(waiting(&world, &recipe).await, [code.at(1)]);
    world.must(vec![recipe.built(good, &[code.at(1)])]).await;
    assert_eq!(last(&world, &code).await, (Some(1), Some(1)));
}

/// A build is pending while a surviving version waits for it or a draft needs it, and it never ended.
pub async fn builds_that_never_ended_are_pending(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let (drafted, published) = (recipe(&world, "drafted"), recipe(&world, "published"));
    let wanted = [&drafted, &published]
        .map(|recipe| PendingBuild { key: recipe.key, package: recipe.package.digest() });
    let pending = || async {
        let all = world.look(|state| state.builds_pending(usize::MAX)).await;
        assert!(all.is_sorted());
        let some = world.look(|state| state.builds_pending(1)).await;
        assert_eq!(some, all.iter().take(1).copied().collect::<Vec<_>>());
        wanted.map(|wanted| all.contains(&wanted))
    };
    assert_eq!(pending().await, [false, false]);
    let code = world.create(Kind::Package, "code").await;
    let version = world.publish_as(&code, "v1", published.package.clone(), true).await;
    let hello = world.create(Kind::Function, "hello").await;
    let frozen = function(&drafted.package);
    let to = Some(draft(&frozen));
    let set = Edit::SetDraft { uid: hello.uid, from: None, to: to.clone() };
    let snapshots = vec![frozen, drafted.package.clone()];
    world.append(Change { snapshots, ..world.change(vec![set]) }).await.expect("it fits");
    assert_eq!(pending().await, [true, true]);
    world.delete(&code, &version).await;
    assert_eq!(pending().await, [true, false]);
    world.must(vec![code.restore(&version)]).await;
    world.must(vec![published.built(failed("no compiler"), &[])]).await;
    assert_eq!(pending().await, [true, false]);
    world.must(vec![Edit::SetDraft { uid: hello.uid, from: to, to: None }]).await;
    assert_eq!(pending().await, [false, false]);
}

/// What a build made and printed is kept as long as a version or draft of the same stands.
pub async fn content_roots_hold_what_builds_made(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let recipe = recipe(&world, "code");
    let record = succeeded(&world.app.to_string());
    let tree = record.result.expect("it succeeded").tree;
    let own = [Some(tree), record.log];
    let roots = || async {
        let all = world.look(|state| state.content_roots()).await;
        assert!(all.is_sorted_by(|a, b| a < b), "each root once, in order");
        own.map(|digest| digest.is_some_and(|digest| all.contains(&digest)))
    };
    let hello = world.create(Kind::Function, "hello").await;
    let frozen = function(&recipe.package);
    let version = world.version(number(1), "v1", &frozen);
    let publish = Edit::Publish { uid: hello.uid, version: version.clone(), waits: true };
    let snapshots = vec![frozen, recipe.package.clone()];
    world.append(Change { snapshots, ..world.change(vec![publish]) }).await.expect("it fits");
    assert_eq!(roots().await, [false, false]);
    world.must(vec![recipe.built(record, &[hello.at(1)])]).await;
    assert_eq!(roots().await, [true, true]);
    world.delete(&hello, &version).await;
    assert_eq!(roots().await, [false, false]);
    let to = Some(draft(&recipe.package));
    let code = world.create(Kind::Package, "code").await;
    world.must(vec![Edit::SetDraft { uid: code.uid, from: None, to: to.clone() }]).await;
    assert_eq!(roots().await, [true, true]);
    world.must(vec![Edit::SetDraft { uid: code.uid, from: to, to: None }]).await;
    assert_eq!(roots().await, [false, false]);
}

/// A snapshot comes with, or after, the package and the environment it stands on.
pub async fn a_snapshot_needs_what_it_stands_on(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let python = environment(&format!("image of {}", world.app));
    let mut spec = source(&format!("source of {}", world.app));
    spec.environment_snapshot = Some(python.digest());
    let code = Snapshot::Package(spec);
    let hello = function(&code);
    let change = |snapshots: &[&Snapshot]| Change {
        snapshots: snapshots.iter().copied().cloned().collect(),
        ..world.change(Vec::new())
    };
    world.refuses_change(change(&[&code])).await;
    world.refuses_change(change(&[&hello, &python])).await;
    world.refuses_change(change(&[&hello, &code])).await;
    world.append(change(&[&hello, &code, &python])).await.expect("everything is there");
    world.append(change(&[&hello])).await.expect("everything is still there");
}
