//! Facts about releases.

use folio_core::ports::{Ledger, Releases, StandingRelease, State};
use folio_model::{Change, Edit, Place, Pointer, Release, ReleaseId, ReleaseState};

use super::world::{World, version_id};

/// A release of an app version, as it is when it is made.
async fn release(world: &World<'_>, of: &str) -> Release {
    Release {
        app_version: version_id(of),
        entry: world.look(|state| state.head()).await + 1,
        created_at: world.now(),
        state: ReleaseState::Accessible,
        ended_at: None,
        aside: false,
    }
}

fn id(text: &str) -> ReleaseId {
    text.parse().expect("an id")
}

fn to(world: &World<'_>, name: &str, from: Option<&Release>, to: Option<&Release>) -> Edit {
    let pointer = Pointer::Release { app: world.app.clone(), id: id(name) };
    let place = |release: Option<&Release>| release.cloned().map(Place::Release);
    Edit::Move { pointer, from: place(from), to: place(to) }
}

/// A release is found by its id, by its app version and among those that can be reached, whether it was made with its
/// app version or later. It moves as other pointers do, but never goes.
pub async fn releases_are_found_and_never_removed(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let first = release(&world, "g1").await;
    let make = Change {
        app_version: Some(version_id("g1")),
        ..world.change(vec![to(&world, "r1", None, Some(&first))])
    };
    let made = world.append(make).await.expect("it is new");
    let again = release(&world, "g1").await;
    world.must(vec![to(&world, "r2", None, Some(&again))]).await;
    world.refuses(vec![to(&world, "r2", None, Some(&again))]).await;

    let ended = first.ended(ReleaseState::Expired, world.now());
    world.refuses(vec![to(&world, "r1", Some(&ended), Some(&first))]).await;
    let other = Release { app_version: version_id("g2"), ..ended.clone() };
    world.refuses(vec![to(&world, "r1", Some(&first), Some(&other))]).await;
    world.refuses(vec![to(&world, "r1", Some(&first), None)]).await;
    let expired = world.must(vec![to(&world, "r1", Some(&first), Some(&ended))]).await;

    let standing =
        |name: &str, release: &Release| StandingRelease { id: id(name), release: release.clone() };
    let (one, two) = (standing("r1", &ended), standing("r2", &again));
    let app = world.app.clone();
    let lists = world.look(move |state| {
        let of = |version: &str| state.releases(&app, Releases::Of(&version_id(version)));
        let before = |below, limit| state.releases(&app, Releases::Before(below, limit));
        let accessible = state.releases(&app, Releases::Accessible)?;
        Ok([accessible, of("g1")?, of("g2")?, before(u64::MAX, 9)?, before(u64::MAX, 1)?])
    });
    let both = vec![one.clone(), two.clone()];
    let newest_first = vec![two.clone(), one];
    assert_eq!(lists.await, [vec![two.clone()], both, vec![], newest_first, vec![two]]);

    let pointer = Pointer::Release { app: world.app.clone(), id: id("r1") };
    let look = move |state: &dyn State| Ok((state.place(&pointer)?, state.moves(&pointer)?));
    let (place, moves) = world.look(look).await;
    assert_eq!(place, Some((Place::Release(ended), expired.seq)));
    assert_eq!(moves, [made, expired]);
}
