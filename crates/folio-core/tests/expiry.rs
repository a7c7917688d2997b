//! Releases that expire without anybody asking: by their bytes and by their age.

use std::time::Duration;

use folio_core::app::PlanChange;
use folio_core::release::{PolicyChange, ReleaseRef};
use folio_model::{Actor, ReleaseState, Retention};
use tokio::task::JoinSet;

use crate::world::{World, app, function, request, world};

/// So many releases can be reached as anybody wants.
async fn roomy() -> World {
    let world = world().await;
    let change = PlanChange { releases: Some(100), tagged: None };
    world.folio.set_plan(&world.caller, &app(), change).await.unwrap();
    world
}

impl World {
    /// Releases a function whose code has so many bytes, and differs from all others by its first.
    async fn sized(&self, first: &str, bytes: usize) -> String {
        let text = first.repeat(bytes);
        let request = request(self.code(&text).await);
        let done = self.folio.publish(&self.caller, &function("hello"), request).await.unwrap();
        done.release.unwrap().id.to_string()
    }

    async fn rules(&self, retention: Retention) {
        let change = PolicyChange { retention: Some(retention), ..PolicyChange::default() };
        self.folio.set_policy(&self.caller, &app(), change).await.unwrap();
    }

    async fn is_reached(&self, release: &str) -> bool {
        let at: ReleaseRef = release.parse().unwrap();
        let view = self.folio.show_release(&app(), &at).await.unwrap();
        view.label.state == ReleaseState::Accessible
    }

    /// Expires what is due, as a server does.
    fn expires(&self) -> JoinSet<()> {
        let (folio, mut work) = (self.folio.clone(), JoinSet::new());
        work.spawn(async move { folio.run_expiry(std::future::pending()).await.unwrap() });
        work
    }

    async fn until_gone(&self, release: &str) {
        let gone = async {
            while self.is_reached(release).await {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), gone).await.expect("it expires");
    }
}

fn bytes(budget: u64) -> Retention {
    Retention { bytes: Some(budget), ..Retention::default() }
}

#[tokio::test]
async fn collecting_takes_the_oldest_until_the_others_are_within_their_bytes() {
    let world = roomy().await;
    let made = [world.sized("a", 100).await, world.sized("b", 100).await];
    let latest = world.sized("c", 100).await;
    world.rules(bytes(200)).await;
    assert!(world.is_reached(&made[0]).await);
    let done = world.folio.expire_releases(&world.caller, &app()).await.unwrap();
    let expired: Vec<_> = done.result.expired.iter().map(|gone| gone.id.as_str()).collect();
    assert_eq!(expired, [made[0].as_str()]);
    let stay = (world.is_reached(&made[1]).await, world.is_reached(&latest).await);
    assert_eq!((world.is_reached(&made[0]).await, stay), (false, (true, true)));
}

#[tokio::test]
async fn what_is_over_its_bytes_expires_by_itself() {
    let world = roomy().await;
    let _work = world.expires();
    let first = world.sized("a", 100).await;
    world.rules(bytes(250)).await;
    let second = world.sized("b", 100).await;
    let third = world.sized("c", 100).await;
    world.until_gone(&first).await;
    assert!(world.is_reached(&second).await);
    let log = world.folio.log(&app(), None, 1).await.unwrap();
    assert_eq!(
        (&log[0].entry.by, log[0].entry.message.as_str()),
        (&Actor::system(), "expire releases that are due")
    );
    assert!(world.is_reached(&third).await);
}

/// Lets time go by until a release is gone. What threads do takes none of it.
async fn later_gone(world: &World, release: &str) {
    for _ in 0..100_000 {
        if !world.is_reached(release).await {
            return;
        }
        tokio::time::advance(Duration::from_secs(60)).await;
    }
    panic!("{release} is still there");
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_is_lowered_takes_what_is_over_it_a_while_later() {
    let world = roomy().await;
    let _work = world.expires();
    let first = world.sized("a", 100).await;
    let second = world.sized("b", 100).await;
    world.rules(bytes(150)).await;
    later_gone(&world, &first).await;
    assert!(world.is_reached(&second).await);
}

#[tokio::test(start_paused = true)]
async fn what_became_too_old_expires_by_itself() {
    let world = roomy().await;
    let _work = world.expires();
    let first = world.sized("a", 1).await;
    let second = world.sized("b", 1).await;
    world.rules(Retention { age_s: Some(24 * 60 * 60), ..Retention::default() }).await;
    assert!(world.is_reached(&first).await);
    world.clock.jump(2 * 24 * 60 * 60);
    // Nothing is changed that would make anybody look; only time goes by.
    later_gone(&world, &first).await;
    assert!(world.is_reached(&second).await, "the latest stays");
}
