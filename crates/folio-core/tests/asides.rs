//! Facts about releases that stand aside: what `folio dev` makes.

use folio_core::history::Moment;
use folio_core::release::{Deletion, ReleaseRef};
use folio_core::request::{IfSame, Releasing};
use folio_core::{Caller, app};
use folio_model::ReleaseId;

use crate::world::{World, app as default_app, function, refused, request, world};

fn tag() -> ReleaseId {
    "dev-ada".parse().unwrap()
}

fn aside(world: &World) -> Caller {
    Caller { releasing: Releasing::Aside(tag()), ..world.caller.clone() }
}

async fn publish(
    world: &World,
    caller: &Caller,
    text: &str,
) -> Option<folio_core::release::Released> {
    let request = request(world.code(text).await);
    world.folio.publish(caller, &function("hello"), request).await.unwrap().release
}

async fn shown(world: &World, name: &str) -> Result<String, &'static str> {
    let at: ReleaseRef = name.parse().unwrap();
    match world.folio.reach_release(&default_app(), &at).await {
        Ok(view) => Ok(view.label.id.to_string()),
        error => Err(refused(error).0),
    }
}

#[tokio::test]
async fn live_and_latest_stay_and_the_next_one_takes_its_place() {
    let world = world().await;
    let public = publish(&world, &world.caller, "one").await.unwrap().id.to_string();
    let mut before = None;
    for text in ["two", "three", "four", "five", "six"] {
        let made = publish(&world, &aside(&world), text).await.unwrap();
        assert_eq!((made.aside, made.pinned, made.expired), (Some(tag()), None, Vec::new()));
        let id = made.id.to_string();
        assert_eq!(shown(&world, "dev-ada").await, Ok(id.clone()));
        assert_eq!(shown(&world, "live").await, Ok(public.clone()));
        assert_eq!(shown(&world, "latest").await, Ok(public.clone()));
        if let Some(before) = before.replace(id) {
            assert_eq!(shown(&world, &before).await, Err("release_deleted"));
        }
    }
    let summary = world.folio.show_app(&default_app()).await.unwrap();
    assert_eq!(summary.releases, 1, "the plan does not count it");
    let released = publish(&world, &world.caller, "seven").await.unwrap();
    assert_eq!(released.unreleased, 5, "it brings along what stood aside, and says so");
    assert_eq!(shown(&world, "live").await, Ok(released.id.to_string()));
    assert!(shown(&world, "dev-ada").await.is_ok());
}

#[tokio::test]
async fn one_is_made_of_what_is_there_already_and_only_once() {
    let world = world().await;
    publish(&world, &world.caller, "one").await;
    let caller = aside(&world);
    let make = async || {
        let app = default_app();
        world.folio.create_release(&caller, &app, Moment::Now, IfSame::Keep).await.unwrap()
    };
    let first = make().await;
    assert!(first.changed && first.result.label.aside);
    let again = make().await;
    assert_eq!((again.changed, &again.result.label.id), (false, &first.result.label.id));
    let (app, caller) = (default_app(), &world.caller);
    let public = world.folio.create_release(caller, &app, Moment::Now, IfSame::Keep).await;
    assert!(!public.unwrap().result.label.aside);
}

#[tokio::test]
async fn it_can_be_nothing_else() {
    let world = world().await;
    let (folio, caller) = (&world.folio, &world.caller);
    publish(&world, caller, "one").await;
    publish(&world, &aside(&world), "two").await;
    let (app, at) = (default_app(), ReleaseRef::Named(tag()));
    assert_eq!(refused(folio.set_live(caller, &app, &at).await).0, "release_aside");
    assert_eq!(refused(folio.roll_back_live(caller, &app, Some(&at)).await).0, "release_aside");
    let beta: ReleaseId = "beta".parse().unwrap();
    let tagged = folio.tag_release(caller, (&app, &beta), &at, None).await;
    assert_eq!(refused(tagged).0, "release_aside");
    folio.tag_release(caller, (&app, &beta), &ReleaseRef::Latest, None).await.unwrap();
    let taken = Caller { releasing: Releasing::Aside(beta), ..caller.clone() };
    let request = request(world.code("three").await);
    let published = folio.publish(&taken, &function("hello"), request).await;
    assert_eq!(refused(published).0, "release_tag_taken");
}

#[tokio::test]
async fn its_tag_takes_no_room_and_goes_with_it() {
    let world = world().await;
    let (folio, caller, app) = (&world.folio, &world.caller, default_app());
    publish(&world, caller, "one").await;
    let change = app::PlanChange { releases: None, tagged: Some(1) };
    folio.set_plan(caller, &app, change).await.unwrap();
    publish(&world, &aside(&world), "two").await;
    let beta: ReleaseId = "beta".parse().unwrap();
    folio.tag_release(caller, (&app, &beta), &ReleaseRef::Latest, None).await.unwrap();
    let deletion = Deletion { untag: true, ..Deletion::default() };
    let at = ReleaseRef::Named(tag());
    folio.delete_release(caller, (&app, &at), deletion).await.unwrap();
    assert_eq!(shown(&world, "dev-ada").await, Err("release_not_found"));
}

#[tokio::test]
async fn one_that_nobody_renews_goes_after_a_day_with_its_tag() {
    let world = world().await;
    let (folio, caller, app) = (&world.folio, &world.caller, default_app());
    publish(&world, caller, "one").await;
    publish(&world, &aside(&world), "two").await;
    assert_eq!(folio.expire_releases(caller, &app).await.unwrap().result.expired, []);
    world.clock.jump(25 * 60 * 60);
    let expired = folio.expire_releases(caller, &app).await.unwrap().result.expired;
    assert_eq!(expired.len(), 1, "{expired:?}");
    assert_eq!(shown(&world, "dev-ada").await, Err("release_not_found"));
    assert!(shown(&world, "live").await.is_ok());
}

#[tokio::test]
async fn an_undo_takes_the_deploy_back_and_leaves_the_tag() {
    let world = world().await;
    publish(&world, &world.caller, "one").await;
    publish(&world, &aside(&world), "two").await;
    publish(&world, &aside(&world), "three").await;
    world.folio.undo(&aside(&world), &default_app(), None).await.unwrap();
    assert!(shown(&world, "dev-ada").await.is_ok());
}
