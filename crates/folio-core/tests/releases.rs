//! Releases: what makes them, what keeps them, what is live, and how hosts hear of it. The traps that others fell
//! into are told in the names of the tests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use folio_core::app::PlanChange;
use folio_core::history::Moment;
use folio_core::ports::{Damage, Ledger, Look, Migrated, Plan, StoreError};
use folio_core::release::{Deletion, Error, Keeping, ReleaseRef, Released};
use folio_core::request::{Cascade, IfSame, Onto, Releasing, Which};
use folio_core::route::RouteFields;
use folio_core::serving::{Meaning, Site};
use folio_core::{Caller, Class, Explain, Limits};
use folio_model::{Entry, ReleaseState, RoutePath, Target, Timestamp};
use folio_store::MemoryLedger;
use tokio::sync::{Barrier, watch};
use tokio::task::JoinSet;

use crate::runtime::{Running, call, reference, running, running_on_disk, running_with};
use crate::world::{World, app, function, package, refused, request, world};

fn at(text: &str) -> ReleaseRef {
    text.parse().unwrap()
}

impl World {
    /// Publishes code and returns what became of releases.
    async fn deploy(&self, text: &str) -> Option<Released> {
        self.deploy_as(text, Releasing::Release).await
    }

    async fn deploy_as(&self, text: &str, releasing: Releasing) -> Option<Released> {
        let caller = Caller { releasing, ..self.caller.clone() };
        let request = request(self.code(text).await);
        self.folio.publish(&caller, &function("hello"), request).await.unwrap().release
    }

    async fn release(&self, text: &str) -> String {
        self.deploy(text).await.unwrap().id.to_string()
    }

    /// Every release that can be reached, newest first, with what it is known as.
    async fn standing(&self) -> Vec<String> {
        let releases = self.folio.releases(&app(), None, usize::MAX).await.unwrap();
        let reached = releases.iter().filter(|view| view.label.state == ReleaseState::Accessible);
        reached
            .map(|view| {
                let latest = if view.label.latest { " latest" } else { "" };
                let live = if view.label.live.is_some() { " live" } else { "" };
                let tags: String = view.label.tags.iter().map(|tag| format!(" {tag}")).collect();
                format!("{}{latest}{live}{tags}", view.label.id)
            })
            .collect()
    }

    async fn state(&self, release: &str) -> ReleaseState {
        self.folio.show_release(&app(), &at(release)).await.unwrap().label.state
    }

    async fn live(&self) -> String {
        self.folio.show_release(&app(), &ReleaseRef::Live).await.unwrap().label.id.to_string()
    }

    async fn tag(&self, tag: &str, on: &str) -> Result<(), Error> {
        let tag = (&app(), &tag.parse().unwrap());
        self.folio.tag_release(&self.caller, tag, &at(on), None).await.map(|_| ())
    }

    async fn roll_back(&self) -> Result<String, Error> {
        let done = self.folio.roll_back_live(&self.caller, &app(), None).await?;
        Ok(done.result.label.id.to_string())
    }

    async fn plan(&self, releases: u32) -> folio_core::app::PlanView {
        let change = PlanChange { releases: Some(releases), tagged: None };
        self.folio.set_plan(&self.caller, &app(), change).await.unwrap().result
    }
}

#[tokio::test]
async fn every_change_of_a_unit_is_released_and_goes_live() {
    let world = world().await;
    let first = world.release("one").await;
    assert_eq!(world.standing().await, [format!("{first} latest live")]);
    let second = world.release("two").await;
    assert_eq!(world.standing().await, [format!("{second} latest live"), first]);
    // What changes no unit makes no release.
    world.point("hello", "prod", "latest").await;
    assert_eq!(world.standing().await.len(), 2);
    let versions = world.folio.app_versions(&app(), None, 9).await.unwrap();
    let released: Vec<_> = versions.iter().map(|found| found.releases.len()).collect();
    assert_eq!(released, [1, 1]);
}

#[tokio::test]
async fn the_oldest_expires_unless_something_keeps_it() {
    let world = world().await;
    let mut made = Vec::new();
    for text in ["a", "b", "c", "d"] {
        made.push(world.release(text).await);
    }
    assert_eq!(world.state(&made[0]).await, ReleaseState::Expired);
    world.tag("beta", &made[1]).await.unwrap();
    let released = world.deploy("e").await.unwrap();
    assert_eq!(
        released.expired.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [made[2].clone()]
    );
    assert_eq!(world.state(&made[1]).await, ReleaseState::Accessible);
    // One that is live is kept as a tagged one is.
    world.folio.set_live(&world.caller, &app(), &at("beta")).await.unwrap();
    world.tag("gamma", &made[3]).await.unwrap();
    let over = world.deploy("f").await.unwrap();
    assert_eq!(over.expired.len(), 1, "{over:?}");
    world.tag("delta", "latest").await.unwrap();
    let over = world.deploy("g").await.unwrap();
    let limit = over.over_limit.unwrap();
    assert_eq!((limit.limit, limit.accessible, over.expired.len()), (3, 4, 0));
    assert!(limit.kept_by.contains(&"tag gamma".to_owned()), "{:?}", limit.kept_by);
}

/// Rounds of a race: enough that each side wins some.
const ROUNDS: usize = 40;

/// A tag on the oldest of four releases of which the plan allows three, begun at the same moment as what would take it.
async fn race<F>(world: &World, round: usize, other: F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let oldest = world.standing().await.pop().unwrap();
    let oldest = oldest.split(' ').next().unwrap().to_owned();
    let start = Arc::new(Barrier::new(2));
    let (folio, caller, at_once) = (world.folio.clone(), world.caller.clone(), Arc::clone(&start));
    let (tag, on) = (format!("tag-{round}").parse().unwrap(), at(&oldest));
    let mut both = JoinSet::new();
    both.spawn(async move {
        at_once.wait().await;
        folio.tag_release(&caller, (&app(), &tag), &on, None).await.map(|_| ())
    });
    both.spawn(async move {
        start.wait().await;
        other.await;
        Ok(())
    });
    let ended = both.join_all().await;
    let refused = ended.iter().find_map(|ended| ended.as_ref().err());
    let kept = world.state(&oldest).await == ReleaseState::Accessible;
    match refused {
        None => assert!(kept, "round {round}: the tag dangles"),
        Some(error) => assert_eq!((error.code().0, kept), ("release_expired", false)),
    }
    if refused.is_none() {
        let tag = format!("tag-{round}").parse().unwrap();
        world.folio.untag_release(&world.caller, &app(), &tag).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_tag_made_beside_a_deploy_is_never_left_without_its_release() {
    let running = running_on_disk().await;
    let world = &running.world;
    for text in ["a", "b", "c"] {
        world.release(text).await;
    }
    for round in 0..ROUNDS {
        let (folio, caller) = (world.folio.clone(), world.caller.clone());
        let request = request(world.code(&format!("round {round}")).await);
        race(world, round, async move {
            folio.publish(&caller, &function("hello"), request).await.unwrap();
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_tag_made_beside_a_collection_is_never_left_without_its_release() {
    let running = running_on_disk().await;
    let world = &running.world;
    for text in ["a", "b", "c"] {
        world.release(text).await;
    }
    for round in 0..ROUNDS {
        // One more than the plan allows: tags held all others while the newest was made.
        let tags = ["x", "y", "z"];
        for (tag, held) in tags.iter().zip(world.standing().await) {
            world.tag(tag, held.split(' ').next().unwrap()).await.unwrap();
        }
        world.release(&format!("round {round}")).await;
        for tag in tags {
            let tag = tag.parse().unwrap();
            world.folio.untag_release(&world.caller, &app(), &tag).await.unwrap();
        }
        let (folio, caller) = (world.folio.clone(), world.caller.clone());
        race(world, round, async move {
            folio.expire_releases(&caller, &app()).await.unwrap();
        })
        .await;
    }
}

#[tokio::test]
async fn a_change_that_is_held_back_comes_with_the_next_release() {
    let world = world().await;
    let first = world.release("one").await;
    assert_eq!(world.deploy_as("two", Releasing::Hold).await, None);
    assert_eq!(world.deploy_as("three", Releasing::Hold).await, None);
    assert_eq!(world.standing().await, [format!("{first} latest live")]);
    let released = world.deploy("four").await.unwrap();
    assert_eq!((released.unreleased, released.pinned), (2, None));
    assert_eq!(world.live().await, released.id.to_string());
}

#[tokio::test]
async fn an_app_version_can_be_released_later_under_an_id_of_its_own() {
    let world = world().await;
    let first = world.release("one").await;
    world.deploy_as("two", Releasing::Hold).await;
    let create = |of: Moment, if_same| {
        let world = &world;
        async move { world.folio.create_release(&world.caller, &app(), of, if_same).await }
    };
    let made = create(Moment::Now, IfSame::Keep).await.unwrap();
    assert!(made.changed && made.result.label.latest && made.result.label.live.is_some());
    let again = create(Moment::Now, IfSame::Keep).await.unwrap();
    assert_eq!((again.changed, &again.result.label.id), (false, &made.result.label.id));
    let other = create(Moment::Now, IfSame::Publish).await.unwrap();
    assert_ne!(other.result.label.id, made.result.label.id);
    // Going back to what was released first makes a release of it; nothing tells two equal ones apart by content.
    let shown = world.folio.show_release(&app(), &at(&first)).await.unwrap();
    let back = create(Moment::Id(shown.shows.clone()), IfSame::Publish).await.unwrap();
    assert_eq!(back.result.shows, shown.shows);
    assert_eq!(world.live().await, back.result.label.id.to_string());
}

#[tokio::test]
async fn live_that_was_set_stays_and_every_deploy_says_so() {
    let world = world().await;
    let first = world.release("one").await;
    let second = world.release("two").await;
    let caller = Caller { reason: Some("two fails".to_owned()), ..world.caller.clone() };
    world.folio.set_live(&caller, &app(), &at(&first)).await.unwrap();
    let third = world.deploy("three").await.unwrap();
    let pinned = third.pinned.unwrap();
    assert_eq!(pinned.releases[0].as_str(), first);
    assert_eq!(pinned.reason.as_deref(), Some("two fails"));
    assert_eq!(world.live().await, first);
    // A tag is not dragged along either.
    world.tag("beta", &second).await.unwrap();
    let promoted = world.deploy_as("four", Releasing::Promote).await.unwrap();
    assert_eq!((promoted.pinned, world.live().await), (None, promoted.id.to_string()));
    assert_eq!(
        world.folio.show_release(&app(), &at("beta")).await.unwrap().label.id.as_str(),
        second
    );
    let fifth = world.release("five").await;
    assert_eq!(world.live().await, fifth);
    world.folio.set_live(&world.caller, &app(), &at("beta")).await.unwrap();
    world.folio.follow_live(&world.caller, &app()).await.unwrap();
    assert_eq!(world.live().await, fifth);
}

#[tokio::test]
async fn a_rollback_goes_by_what_was_live_and_makes_no_version() {
    let world = world().await;
    world.plan(9).await;
    let one = world.release("one").await;
    let two = world.release("two").await;
    let three = world.release("three").await;
    let versions = world.folio.app_versions(&app(), None, 99).await.unwrap().len();
    assert_eq!(world.roll_back().await.unwrap(), two);
    assert_eq!(world.roll_back().await.unwrap(), one);
    assert_eq!(refused(world.roll_back().await).0, "nothing_to_roll_back");
    assert_eq!(world.folio.app_versions(&app(), None, 99).await.unwrap().len(), versions);
    // What was live, not what was made, is before.
    world.folio.set_live(&world.caller, &app(), &at(&three)).await.unwrap();
    assert_eq!(world.roll_back().await.unwrap(), one);
    world.folio.set_live(&world.caller, &app(), &at(&two)).await.unwrap();
    world.folio.undo(&world.caller, &app(), None).await.unwrap();
    assert_eq!(world.live().await, one);
    // Numbers and ids are never given again.
    let mut seen: Vec<_> = world.ids(&function("hello")).await;
    world.release("four").await;
    seen.extend(world.ids(&function("hello")).await.pop());
    let total = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), total);
    let history = world.folio.live_history(&app()).await.unwrap();
    assert_eq!(history.last().unwrap().from, []);
    assert!(history.iter().any(|step| step.message == format!("roll back to release {two}")));
}

#[tokio::test]
async fn a_rollback_passes_over_what_can_no_longer_be_reached() {
    let world = world().await;
    world.plan(2).await;
    let one = world.release("one").await;
    world.tag("kept", &one).await.unwrap();
    let two = world.release("two").await;
    let three = world.release("three").await;
    assert_eq!(world.state(&two).await, ReleaseState::Expired);
    assert_eq!(world.live().await, three);
    assert_eq!(world.roll_back().await.unwrap(), one);
}

#[tokio::test]
async fn a_tag_that_no_host_could_carry_beside_its_app_is_refused() {
    let world = world().await;
    world.release("one").await;
    // One label has 63 characters, of which `--default` takes 9.
    world.tag(&"t".repeat(54), "latest").await.unwrap();
    let error = world.tag(&"t".repeat(55), "latest").await.unwrap_err();
    assert_eq!((error.code().0, error.class()), ("release_tag_too_long", Class::Invalid));
    assert!(error.hint().unwrap().contains("at most 54 characters"), "{:?}", error.hint());
}

#[tokio::test]
async fn names_that_would_hide_others_cannot_be_tags() {
    let world = world().await;
    let one = world.release("one").await;
    let version = world.ids(&function("hello")).await.pop().unwrap();
    for taken in [&one, &version] {
        assert_eq!(refused(world.tag(taken, "latest").await).0, "release_tag_is_id");
    }
    for odd in ["live", "latest", "Beta", "a.b", "a--b", "-a", "12", ""] {
        assert!(odd.parse::<folio_model::ReleaseId>().is_err(), "{odd}");
    }
    assert_eq!(refused(world.tag("beta", "nobody").await).0, "release_not_found");
    let app_version = world.folio.app_at(&app(), Moment::Now).await.unwrap().id;
    assert_eq!(refused(world.tag("beta", app_version.as_str()).await).0, "not_released");
    world.tag("beta", &one).await.unwrap();
    let two = world.release("two").await;
    let tag = (&app(), &"beta".parse().unwrap());
    let from = two.parse().unwrap();
    let moved = world.folio.tag_release(&world.caller, tag, &at(&two), Some(&from)).await;
    assert_eq!(refused(moved).0, "stale");
    let plan = async |tagged: u32| {
        let change = PlanChange { releases: None, tagged: Some(tagged) };
        world.folio.set_plan(&world.caller, &app(), change).await.unwrap().result.tags_over_limit
    };
    assert_eq!((plan(0).await, plan(1).await), (Some(1), None));
    assert_eq!(refused(world.tag("gamma", &two).await).0, "release_tags_full");
    world.tag("beta", &two).await.unwrap();
    let nobody = "nobody".parse().unwrap();
    let untagged = world.folio.untag_release(&world.caller, &app(), &nobody).await;
    assert_eq!(refused(untagged).0, "release_tag_not_found");
}

#[tokio::test]
async fn what_is_shown_cannot_be_deleted_and_what_was_is_gone() {
    let world = world().await;
    let one = world.release("one").await;
    let two = world.release("two").await;
    world.tag("beta", &one).await.unwrap();
    let delete = |which: &str, deletion: Deletion| {
        let (world, which) = (&world, at(which));
        async move { world.folio.delete_release(&world.caller, (&app(), &which), deletion).await }
    };
    let live = delete(&two, Deletion::default()).await.unwrap_err();
    assert_eq!((live.code().0, live.referrers()[0].kind.as_str()), ("in_use", "live"));
    let tagged = delete(&one, Deletion::default()).await.unwrap_err();
    assert_eq!(tagged.referrers()[0].name, "beta");
    let itself = Deletion { replace_with: Some(at(&two)), untag: false };
    assert_eq!(refused(delete(&two, itself).await).0, "bad_request");
    let replaced = Deletion { replace_with: Some(at("beta")), untag: false };
    delete(&two, replaced).await.unwrap();
    assert_eq!((world.live().await, world.state(&two).await), (one.clone(), ReleaseState::Deleted));
    assert_eq!(refused(world.tag("gamma", &two).await).0, "release_deleted");
    let error = world.folio.reach_release(&app(), &at(&two)).await.unwrap_err();
    assert_eq!(error.class(), folio_core::Class::Gone);
    world.folio.undo(&world.caller, &app(), None).await.unwrap_err();
}

#[tokio::test]
async fn a_lower_plan_expires_what_nothing_keeps_at_once() {
    let world = world().await;
    world.plan(5).await;
    let mut made = Vec::new();
    for text in ["a", "b", "c", "d"] {
        made.push(world.release(text).await);
    }
    world.tag("beta", &made[0]).await.unwrap();
    let would = world.folio.would_expire(&app()).await.unwrap();
    assert_eq!((would.expired.len(), would.kept.len()), (0, 4));
    let view = world.plan(1).await;
    assert_eq!(view.expiry.expired.len(), 2);
    assert_eq!(view.expiry.over_limit.unwrap().accessible, 2);
    let change = PlanChange { releases: Some(0), tagged: None };
    assert!(world.folio.set_plan(&world.caller, &app(), change).await.is_err());
    // Nobody undoes a plan.
    assert_eq!(refused(world.folio.undo(&world.caller, &app(), None).await).0, "cannot_undo");
}

#[tokio::test]
async fn a_plan_below_what_is_pinned_expires_none_of_it_and_says_what_keeps_it() {
    let world = world().await;
    world.plan(9).await;
    let mut made = Vec::new();
    for text in ["tagged", "kept", "pinned", "nothing's", "latest"] {
        made.push(world.release(text).await);
    }
    world.tag("beta", &made[0]).await.unwrap();
    let kept = at(&made[1]);
    world.folio.keep_release(&world.caller, (&app(), &kept), Keeping::Keep).await.unwrap();
    world.folio.set_live(&world.caller, &app(), &at(&made[2])).await.unwrap();
    let view = world.plan(1).await;
    let expired: Vec<_> = view.expiry.expired.iter().map(|gone| gone.id.to_string()).collect();
    assert_eq!(expired, [made[3].clone()]);
    let over = view.expiry.over_limit.unwrap();
    assert_eq!((over.limit, over.accessible, over.kept_by.len()), (1, 4, 4), "{over:?}");
    assert_eq!(world.live().await, made[2]);
    // The next one takes the place of the latest, and of nothing else.
    let next = world.release("next").await;
    assert_eq!(world.state(&made[4]).await, ReleaseState::Expired);
    for held in [&made[0], &made[1], &made[2], &next] {
        assert_eq!(world.state(held).await, ReleaseState::Accessible, "{held}");
    }
}

#[tokio::test]
async fn undoing_a_deploy_is_a_release_of_its_own() {
    let world = world().await;
    let one = world.release("one").await;
    let two = world.release("two").await;
    let undone = world.folio.undo(&world.caller, &app(), None).await.unwrap();
    let third = undone.release.unwrap().id.to_string();
    assert!(third != one && third != two);
    assert_eq!(world.live().await, third);
    assert_eq!(world.state(&two).await, ReleaseState::Accessible);
}

#[tokio::test]
async fn what_a_release_shows_stays_stored_when_its_versions_are_deleted() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        world.version(&function("hello"), "first", "v1").await;
        let first = world.live().await;
        world.tag("kept", &first).await.unwrap();
        world.version(&function("hello"), "second", "v2").await;
        let which = Which::One("v1".parse().unwrap());
        world.folio.delete_versions(&world.caller, &function("hello"), which, None).await.unwrap();
        world.clock.jump(7 * 24 * 60 * 60);
        world.folio.sweep().await.unwrap();
        let sites = running.follow().await;
        running.lead("hello", "hello").await;
        let shown = sites.lock().unwrap()[0].release("kept").cloned().unwrap();
        assert!(shown.routes.is_empty());
        let report = world.folio.check().await.unwrap();
        assert!(report.is_empty(), "{report:?}");
        let view = world.folio.show_release(&app(), &at("kept")).await.unwrap();
        let whole = world.folio.app_at(&app(), Moment::Id(view.shows)).await.unwrap();
        let placed = whole.units.iter().find(|unit| unit.name.as_str() == "hello").unwrap();
        assert_eq!(placed.id.as_ref().unwrap().as_str(), "v1");
    }
}

/// What hosts were told last.
type Told = Arc<Mutex<Vec<Arc<Site>>>>;

impl Running {
    async fn follow(&self) -> Told {
        let told = Told::default();
        let hear = Arc::clone(&told);
        let follower = move |sites: Arc<Vec<_>>| *hear.lock().unwrap() = sites.to_vec();
        self.world.folio.follow_sites(Arc::new(follower)).await.unwrap();
        told
    }

    async fn lead(&self, path: &str, target: &str) {
        let fields = RouteFields {
            path: Some(RoutePath::Exact(format!("/{path}"))),
            targets: Some(vec![Target::only(reference(target))]),
            ..RouteFields::default()
        };
        let name = path.parse().unwrap();
        let onto = (Onto::Nothing, None);
        let caller = &self.world.caller;
        self.world.folio.set_route(caller, (&app(), Some(&name)), fields, onto).await.unwrap();
    }
}

/// What the routes of a release lead to now.
fn leads(told: &Told, release: &str) -> Vec<String> {
    let sites = told.lock().unwrap();
    let Some(shown) = sites[0].release(release) else { return vec!["nothing".to_owned()] };
    let meaning = |slot: &folio_core::serving::Slot| match &**slot.load() {
        Meaning::Versions(split) => split.sole().unwrap().at.to_string(),
        Meaning::Nothing(unresolved) => unresolved.code.0.to_owned(),
    };
    shown
        .routes
        .iter()
        .map(|route| format!("{} {}", route.name, meaning(&route.targets[0].0)))
        .collect()
}

#[tokio::test]
async fn latest_means_the_version_in_the_release_and_an_alias_what_it_is() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        world.plan(9).await;
        let told = running.follow().await;
        world.version(&function("hello"), "one", "v1").await;
        world.point("hello", "prod", "v1").await;
        running.lead("latest", "hello").await;
        running.lead("prod", "hello@prod").await;
        let before = world.live().await;
        world.version(&function("hello"), "two", "v2").await;
        assert_eq!(leads(&told, "live"), ["latest v2", "prod v1"]);
        assert_eq!(
            leads(&told, &before),
            ["latest v1", "prod v1"],
            "both are there, not one twice"
        );
        world.point("hello", "prod", "v2").await;
        assert_eq!(leads(&told, &before), ["latest v1", "prod v2"]);
        // A route that is not released is not reached; one that left is, where it is still shown.
        let caller = Caller { releasing: Releasing::Hold, ..world.caller.clone() };
        let name = "prod".parse().unwrap();
        world.folio.delete_route(&caller, (&app(), &name), None).await.unwrap();
        assert_eq!(leads(&told, "live"), ["latest v2", "prod v2"]);
        world.folio.create_release(&caller, &app(), Moment::Now, IfSame::Keep).await.unwrap();
        assert_eq!(leads(&told, "live"), ["latest v2"]);
        assert_eq!(leads(&told, &before), ["latest v1", "prod v2"]);
        world.roll_back().await.unwrap();
        assert_eq!(leads(&told, "live"), ["latest v2", "prod v2"]);
        assert_eq!(leads(&told, "latest"), ["latest v2"]);
        world.folio.set_live(&world.caller, &app(), &at(&before)).await.unwrap();
        assert_eq!(leads(&told, "live"), ["latest v1", "prod v2"]);
        // A follower that comes late is told the same.
        let late = running.follow().await;
        for release in ["live", "latest", &before] {
            assert_eq!(leads(&late, release), leads(&told, release), "{release}");
        }
    }
}

/// A ledger that counts how often it is read.
struct Counted(MemoryLedger, Arc<AtomicUsize>);

#[async_trait]
impl Ledger for Counted {
    async fn append(&self, plan: Plan) -> Result<Option<Entry>, StoreError> {
        self.0.append(plan).await
    }
    async fn view(&self, look: Look) -> Result<(), StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.view(look).await
    }
    fn head(&self) -> watch::Receiver<u64> {
        self.0.head()
    }
    async fn verify(&self) -> Result<Vec<Damage>, StoreError> {
        self.0.verify().await
    }
    async fn migrate_storage(&self, limit: usize, at: Timestamp) -> Result<Migrated, StoreError> {
        self.0.migrate_storage(limit, at).await
    }
}

#[tokio::test]
async fn a_switch_of_live_is_told_without_reading_unless_something_else_happened() {
    let reads = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&reads);
    let wrap = move |ledger| Arc::new(Counted(ledger, counter));
    let running = running_with(Limits::default(), wrap).await;
    let world = &running.world;
    let told = running.follow().await;
    world.version(&function("hello"), "one", "v1").await;
    running.lead("hello", "hello").await;
    let one = world.live().await;
    world.version(&function("hello"), "two", "v2").await;
    let two = world.live().await;
    for (release, version) in [(&one, "hello v1"), (&two, "hello v2"), (&one, "hello v1")] {
        let before = reads.load(Ordering::SeqCst);
        world.folio.set_live(&world.caller, &app(), &at(release)).await.unwrap();
        assert_eq!(reads.load(Ordering::SeqCst), before, "the entry says it all");
        assert_eq!(leads(&told, "live"), [version]);
        assert_eq!(leads(&told, "latest"), ["hello v2"]);
    }
    // An entry of another app, and one of this app that hosts do not show, are no reason to be wrong.
    world.folio.create_app(&world.caller, &"shop".parse().unwrap()).await.unwrap();
    world.folio.set_live(&world.caller, &app(), &at(&two)).await.unwrap();
    assert_eq!(leads(&told, "live"), ["hello v2"]);
    world.tag("beta", &one).await.unwrap();
    world.roll_back().await.unwrap();
    assert_eq!(
        (leads(&told, "live"), leads(&told, "beta")),
        (leads(&told, &one), vec!["hello v1".to_owned()])
    );
    world.folio.follow_live(&world.caller, &app()).await.unwrap();
    assert_eq!(leads(&told, "live"), ["hello v2"]);
    let late = running.follow().await;
    for release in ["live", "latest", "beta"] {
        assert_eq!(leads(&late, release), leads(&told, release), "{release}");
    }
}

#[tokio::test]
async fn a_release_survives_the_functions_it_shows() {
    let running = running().await;
    let world = &running.world;
    let told = running.follow().await;
    world.version(&function("hello"), "one", "v1").await;
    running.lead("hello", "hello").await;
    world.tag("kept", "live").await.unwrap();
    let key = function("hello");
    world.folio.delete(&world.caller, &key, Cascade::Yes, None).await.unwrap();
    world.version(&function("hello"), "other", "v9").await;
    assert_eq!(leads(&told, "live"), [""; 0]);
    assert_eq!(leads(&told, "kept"), ["hello v1"]);
    let late = running.follow().await;
    assert_eq!(leads(&late, "kept"), ["hello v1"]);
}

#[tokio::test]
async fn what_functions_call_in_a_request_is_of_the_release_it_was_admitted_to() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        let told = running.follow().await;
        world.version(&function("hello"), "one", "v1").await;
        world.tag("kept", "live").await.unwrap();
        world.version(&function("hello"), "two", "v2").await;
        world.point("hello", "prod", "v2").await;
        let shown = told.lock().unwrap()[0].release("kept").cloned();
        for (target, inside, outside) in [
            ("hello", "v1", "v2"),
            ("hello@latest", "v1", "v2"),
            ("hello@prod", "v2", "v2"),
            ("hello@v2", "v2", "v2"),
        ] {
            for (release, expected) in [(shown.clone(), inside), (None, outside)] {
                let call = folio_core::ports::runtime::Call { release, ..call(0) };
                let called = world
                    .folio
                    .invoke(&world.caller, (&app(), &reference(target)), call)
                    .await
                    .unwrap();
                assert_eq!(called.0.at.to_string(), expected, "{target}");
            }
        }
    }
}

#[tokio::test]
async fn apps_come_and_go_and_their_names_stay() {
    let world = world().await;
    let shop: folio_model::AppName = "shop".parse().unwrap();
    world.folio.create_app(&world.caller, &shop).await.unwrap();
    assert_eq!(refused(world.folio.create_app(&world.caller, &shop).await).0, "app_exists");
    let key = folio_model::UnitKey { app: shop.clone(), ..function("hello") };
    world.publish(&key, request(world.code("one").await)).await.unwrap();
    let summary = world.folio.show_app(&shop).await.unwrap();
    assert_eq!((summary.releases, summary.live.len()), (1, 1));
    let busy = world.folio.delete_app(&world.caller, &shop, Cascade::No).await.unwrap_err();
    assert_eq!((busy.code().0, busy.referrers().len()), ("in_use", 2));
    world.folio.delete(&world.caller, &key, Cascade::No, None).await.unwrap();
    let package = folio_model::UnitKey { app: shop.clone(), ..package("hello-pkg") };
    world.folio.delete(&world.caller, &package, Cascade::No, None).await.unwrap();
    world.folio.delete_app(&world.caller, &shop, Cascade::No).await.unwrap();
    assert_eq!(refused(world.folio.show_app(&shop).await).0, "app_not_found");
    assert_eq!(refused(world.folio.create_app(&world.caller, &shop).await).0, "app_retired");
    assert!(world.folio.delete_app(&world.caller, &app(), Cascade::No).await.is_err());
    assert_eq!(world.folio.apps(&world.caller).await.unwrap().len(), 1);
}
