//! Moving aliases and tags.

use folio_core::Explain as _;
use folio_core::request::{AliasTarget, Expect, Publish};
use folio_model::FULL_WEIGHT;

use crate::world::{World, app, function, id, refused, request, world};

fn target(at: &str, weight: u32) -> AliasTarget {
    AliasTarget { version: at.parse().unwrap(), weight }
}

async fn hello() -> World {
    let world = world().await;
    for (text, at) in [("one", "v1"), ("two", "v2"), ("three", "v3")] {
        world.version(&function("hello"), text, at).await;
    }
    world
}

async fn where_is(world: &World, alias: &str) -> Vec<(u64, u32)> {
    let aliases = world.folio.aliases(&function("hello")).await.unwrap();
    let alias = aliases.into_iter().find(|found| found.name.as_str() == alias).unwrap();
    alias.targets.iter().map(|target| (target.number.get(), target.weight)).collect()
}

#[tokio::test]
async fn an_alias_splits_calls_by_weight() {
    let world = hello().await;
    let key = (&function("hello"), &id("prod"));
    let split = vec![target("v1", 9_000), target("v2", 1_000)];
    world.folio.point(&world.caller, key, split, Expect::Absent).await.unwrap();
    assert_eq!(where_is(&world, "prod").await, [(1, 9_000), (2, 1_000)]);
    let wrong = vec![target("v1", 9_000), target("v2", 2_000)];
    let error = world.folio.point(&world.caller, key, wrong, Expect::Present).await.unwrap_err();
    assert_eq!(error.code().0, "bad_weights");
    assert!(error.hint().unwrap().starts_with("that is 110 %, not 100 %"), "{:?}", error.hint());
}

#[tokio::test]
async fn an_alias_is_made_once_and_moved_only_if_it_exists() {
    let world = hello().await;
    let key = (&function("hello"), &id("qa"));
    let to = || vec![target("v1", FULL_WEIGHT)];
    let missing = world.folio.point(&world.caller, key, to(), Expect::Present).await;
    assert_eq!(refused(missing).0, "alias_not_found");
    let made = world.folio.point(&world.caller, key, to(), Expect::Absent).await.unwrap();
    let again = world.folio.point(&world.caller, key, to(), Expect::Absent).await;
    assert_eq!(refused(again).0, "alias_exists");
    let stale = Expect::Revision(made.result.revision - 1);
    let error = world.folio.point(&world.caller, key, to(), stale).await;
    assert_eq!(refused(error).0, "stale");
    let same = world.folio.point(&world.caller, key, to(), Expect::Present).await.unwrap();
    assert!(!same.changed, "moving to where it is makes no entry");
}

#[tokio::test]
async fn ids_and_aliases_share_one_namespace() {
    let world = hello().await;
    let to = vec![target("v1", FULL_WEIGHT)];
    let taken = (&function("hello"), &id("v2"));
    let error = world.folio.point(&world.caller, taken, to, Expect::Absent).await;
    assert_eq!(refused(error).0, "alias_is_id");
    world.point("hello", "qa", "v1").await;
    let clash = Publish { id: Some(id("qa")), ..request(world.code("four").await) };
    assert_eq!(refused(world.publish(&function("hello"), clash).await).0, "id_is_alias");
}

#[tokio::test]
async fn rolling_back_twice_goes_back_two_moves() {
    let world = hello().await;
    for at in ["v1", "v2", "v3"] {
        world.point("hello", "prod", at).await;
    }
    let key = (&function("hello"), &id("prod"));
    let back = || world.folio.roll_back(&world.caller, key, None, Expect::Present);
    back().await.unwrap();
    assert_eq!(where_is(&world, "prod").await, [(2, FULL_WEIGHT)]);
    back().await.unwrap();
    assert_eq!(where_is(&world, "prod").await, [(1, FULL_WEIGHT)]);
    assert_eq!(refused(back().await).0, "nothing_to_roll_back");
    world.point("hello", "prod", "v3").await;
    back().await.unwrap();
    assert_eq!(where_is(&world, "prod").await, [(1, FULL_WEIGHT)]);
    let history = world.folio.alias_history(key.0, key.1).await.unwrap();
    assert_eq!(history.len(), 7, "every move is in the history");
}

#[tokio::test]
async fn a_rollback_that_was_undone_counts_no_more() {
    let world = hello().await;
    for at in ["v1", "v2", "v3"] {
        world.point("hello", "prod", at).await;
    }
    let key = (&function("hello"), &id("prod"));
    let back = || world.folio.roll_back(&world.caller, key, None, Expect::Present);
    for expected in [2, 1] {
        back().await.unwrap();
        world.folio.undo(&world.caller, &app(), None).await.unwrap();
        assert_eq!(where_is(&world, "prod").await, [(expected + 1, FULL_WEIGHT)]);
        back().await.unwrap();
        assert_eq!(where_is(&world, "prod").await, [(expected, FULL_WEIGHT)]);
    }
    assert_eq!(refused(back().await).0, "nothing_to_roll_back");
}

#[tokio::test]
async fn a_tag_holds_one_version_of_each_function() {
    let world = hello().await;
    world.version(&function("other"), "x", "v1").await;
    let tag = (&app(), &id("nightly"));
    let members = ["hello@v1", "other", "hello@v2"].map(|text| text.parse().unwrap());
    let done = world.folio.tag(&world.caller, tag, members.into(), None).await.unwrap();
    let members: Vec<_> = done
        .result
        .members
        .iter()
        .map(|member| format!("{}@{}", member.function, member.id))
        .collect();
    assert_eq!(members, ["hello@v2", "other@v1"]);
    let names = vec!["hello".parse().unwrap(), "other".parse().unwrap()];
    world.folio.untag(&world.caller, tag, names, None).await.unwrap();
    assert_eq!(world.folio.tags(&app()).await.unwrap(), [], "an empty tag goes");
}

#[tokio::test]
async fn publishing_can_add_to_a_tag() {
    let world = world().await;
    let tagged = Publish { tag: Some(id("v1.0.0")), ..request(world.code("foo").await) };
    let done = world.publish(&function("foo"), tagged).await.unwrap();
    assert_eq!(done.result.version.tags, [id("v1.0.0")]);
    let tag = world.folio.show_tag(&app(), &id("v1.0.0")).await.unwrap();
    assert_eq!(tag.members[0].id, done.result.version.id);
}
