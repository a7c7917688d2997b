//! Refusals that nothing else brings about: each has its code and changes nothing.

use folio_core::request::{AliasTarget, Expect, Publish, Which};
use folio_core::view::AliasView;
use folio_core::{Explain, Limits};
use folio_model::{FULL_WEIGHT, Reference};

use crate::world::{World, app, function, id, limited, refused, request, world};

fn target(at: &str, weight: u32) -> AliasTarget {
    AliasTarget { version: at.parse().unwrap(), weight }
}

async fn aliases(world: &World) -> Vec<AliasView> {
    world.folio.aliases(&function("hello")).await.unwrap()
}

#[tokio::test]
async fn an_alias_has_no_more_targets_than_allowed() {
    let world = world().await;
    let hello = function("hello");
    world.version(&hello, "one", "v1").await;
    let max = usize::try_from(world.folio.limits().alias_targets_max).unwrap();
    let targets = vec![target("v1", 1); max + 1];
    let pointer = (&hello, &id("prod"));
    let pointed = world.folio.point(&world.caller, pointer, targets, Expect::Absent).await;
    assert_eq!(refused(pointed).0, "too_many_targets");
    assert!(aliases(&world).await.is_empty());
}

#[tokio::test]
async fn a_tag_has_no_more_members_than_allowed() {
    let limits = Limits { tag_members_max: 1, ..Limits::default() };
    let world = limited(limits).await;
    for name in ["hello", "other"] {
        world.version(&function(name), name, "v1").await;
    }
    let (app, tag) = (app(), id("stable"));
    let members: Vec<Reference> = vec!["hello".parse().unwrap(), "other".parse().unwrap()];
    let tagged = world.folio.tag(&world.caller, (&app, &tag), members, None).await;
    assert_eq!(refused(tagged).0, "tag_full");
    assert!(world.folio.tags(&app).await.unwrap().is_empty());
    let members = vec!["hello".parse().unwrap()];
    world.folio.tag(&world.caller, (&app, &tag), members, None).await.unwrap();
    // A publish that adds to it is refused as a whole.
    let fresh = request(world.code("new").await);
    let publish = Publish { tag: Some(tag.clone()), id: Some(id("v2")), ..fresh };
    assert_eq!(refused(world.publish(&function("other"), publish).await).0, "tag_full");
    assert_eq!(world.ids(&function("other")).await, ["v1"]);
}

#[tokio::test]
async fn a_rollback_to_a_version_that_is_gone_is_refused() {
    let world = world().await;
    let hello = function("hello");
    for at in ["v1", "v2"] {
        world.version(&hello, at, at).await;
        world.point("hello", "prod", at).await;
    }
    world.one_release().await;
    let which = Which::One("v1".parse().unwrap());
    world.folio.delete_versions(&world.caller, &hello, which, None).await.unwrap();
    let before = aliases(&world).await;
    let pointer = (&hello, &id("prod"));
    let back = world.folio.roll_back(&world.caller, pointer, None, Expect::Present).await;
    assert_eq!(refused(back).0, "rollback_target_deleted");
    assert_eq!(aliases(&world).await, before);
}

#[tokio::test]
async fn a_name_that_leaves_no_room_for_its_package_is_refused() {
    let world = world().await;
    let long = function(&"f".repeat(60));
    let publish = world.publish(&long, request(world.code("x").await)).await;
    assert_eq!(refused(publish).0, "name_too_long");
    assert_eq!(refused(world.folio.show(&long).await).0, "unit_not_found");
    world.version(&function(&"f".repeat(59)), "x", "v1").await;
}

#[tokio::test]
async fn an_alias_named_like_a_version_that_is_gone_says_so() {
    let world = world().await;
    let hello = function("hello");
    for at in ["v1", "v2"] {
        world.version(&hello, at, at).await;
    }
    let point = |alias| {
        let targets = vec![target("v2", FULL_WEIGHT)];
        let (world, hello) = (&world, &hello);
        async move {
            let pointer = (hello, &id(alias));
            world.folio.point(&world.caller, pointer, targets, Expect::Absent).await.unwrap_err()
        }
    };
    assert_eq!(point("v1").await.referrers().len(), 1);
    world.one_release().await;
    let which = Which::One("v1".parse().unwrap());
    world.folio.delete_versions(&world.caller, &hello, which, None).await.unwrap();
    let error = point("v1").await;
    assert_eq!(error.code().0, "alias_is_id");
    assert!(error.referrers().is_empty());
    assert!(error.to_string().contains("was the id"), "{error}");
}

#[tokio::test]
async fn a_draft_is_no_target_whether_there_is_one_or_not() {
    let world = world().await;
    let hello = function("hello");
    world.version(&hello, "one", "v1").await;
    let targets = vec![target("draft", FULL_WEIGHT)];
    let pointer = (&hello, &id("prod"));
    let pointed = world.folio.point(&world.caller, pointer, targets, Expect::Absent).await;
    assert_eq!(refused(pointed).0, "draft_not_version");
}
