//! The packages behind functions: named, kept, or their own.

use folio_core::request::{Fields, IfSame, Onto, Publish, Start, Which};
use folio_model::{Kind, Snapshot, UnitKey};
use folio_testkit::sample;

use crate::world::{World, app, function, id, package, refused, request, world};

fn using(name: &str) -> Fields {
    Fields { package: Some(name.parse().unwrap()), ..Fields::default() }
}

async fn draft(world: &World, key: &UnitKey, fields: Fields) {
    let exists = world.folio.show(key).await.is_ok();
    let onto = if exists { Onto::Existing } else { Onto::Nothing };
    world.folio.set_draft(&world.caller, key, fields, (onto, None)).await.unwrap();
}

async fn delete_all(world: &World, key: &UnitKey) {
    world.folio.delete_versions(&world.caller, key, Which::All, None).await.unwrap();
}

#[tokio::test]
async fn a_draft_keeps_the_bytes_it_pins_also_through_undo() {
    let world = world().await;
    world.one_release().await;
    draft(&world, &package("p"), world.code("a").await).await;
    draft(&world, &function("f"), using("p")).await;
    draft(&world, &package("p"), world.code("b").await).await;
    draft(&world, &function("f"), using("p")).await;
    world.clock.jump(1);
    world.folio.sweep().await.unwrap();
    let undone = world.folio.undo(&world.caller, &app(), None).await;
    assert_eq!(refused(undone).0, "missing_blob");
    assert_eq!(world.folio.check().await.unwrap(), []);
}

#[tokio::test]
async fn a_download_is_the_part_that_runs() {
    let world = world().await;
    let source = Some(sample::directory(&world.folio, &[("a.py", "built")]).await);
    let fields = Fields { source, ..world.code("runs").await };
    world.publish(&package("p"), request(fields)).await.unwrap();
    let at = "latest".parse().unwrap();
    let files = world.folio.files(&package("p"), &at, None).await.unwrap();
    let Snapshot::Package(spec) = world.folio.version(&package("p"), &at).await.unwrap().spec
    else {
        panic!("a package")
    };
    assert_eq!((Some(files.content), files.archive), (spec.deployment, None));
}

#[tokio::test]
async fn a_build_command_belongs_to_the_package_it_builds() {
    let world = world().await;
    world.version(&package("p"), "one", "v1").await;
    let fields = Fields { build_command: Some("make".to_owned()), ..using("p") };
    let onto = (Onto::Nothing, None);
    let drafted = world.folio.set_draft(&world.caller, &function("f"), fields.clone(), onto).await;
    assert_eq!(refused(drafted).0, "foreign_build");
    assert_eq!(refused(world.publish(&function("f"), request(fields)).await).0, "foreign_build");
}

#[tokio::test]
async fn a_package_made_by_hand_where_a_function_left_one_is_the_users() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    delete_all(&world, &package("hello-pkg")).await;
    draft(&world, &package("hello-pkg"), world.code("mine").await).await;
    let taken = world.publish(&function("hello"), request(world.code("two").await)).await;
    assert_eq!(refused(taken).0, "package_taken");
}

#[tokio::test]
async fn the_package_version_can_be_named_on_its_own() {
    let world = world().await;
    world.version(&package("p"), "one", "a").await;
    world.version(&package("p"), "two", "b").await;
    world.publish(&function("f"), request(using("p"))).await.unwrap();
    let back = Publish {
        start: Start::Latest,
        package_version: Some(id("a")),
        ..request(Fields::default())
    };
    let version = world.publish(&function("f"), back).await.unwrap().result.version;
    assert_eq!(version.package.unwrap().id, Some(id("a")));
    let own = Publish { package_version: Some(id("mine")), ..request(world.code("x").await) };
    let version = world.publish(&function("g"), own).await.unwrap().result.version;
    assert_eq!(version.package.unwrap().id, Some(id("mine")));
    let odd = Publish { package_version: Some(id("a")), ..request(world.code("x").await) };
    assert_eq!(refused(world.publish(&package("q"), odd).await).0, "not_for_packages");
}

#[tokio::test]
async fn a_draft_on_a_state_nobody_published_says_so() {
    let world = world().await;
    draft(&world, &package("p"), world.code("a").await).await;
    draft(&world, &function("f"), using("p")).await;
    world.publish(&package("p"), request(Fields::default())).await.unwrap();
    world.version(&package("p"), "b", "v2").await;
    let publish = world.publish(&function("f"), request(Fields::default())).await;
    assert_eq!(refused(publish).0, "package_outdated");
}

#[tokio::test]
async fn a_draft_of_code_is_published_with_its_own_package_version() {
    let world = world().await;
    world.version(&function("hello"), "same", "v1").await;
    draft(&world, &function("hello"), world.code("same").await).await;
    let next = Publish { id: Some(id("v2")), ..request(Fields::default()) };
    world.publish(&function("hello"), next).await.unwrap();
    assert_eq!(world.ids(&package("hello-pkg")).await, ["v1", "v2"]);
    assert!(world.folio.show(&package("hello-pkg")).await.unwrap().draft.is_none());
}

#[tokio::test]
async fn an_update_without_content_leaves_the_draft_alone() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    draft(&world, &function("hello"), world.code("work in progress").await).await;
    let fields = Fields { entrypoint: Some("other".to_owned()), ..Fields::default() };
    let update = Publish { start: Start::Latest, ..request(fields) };
    world.publish(&function("hello"), update).await.unwrap();
    assert!(world.folio.show(&function("hello")).await.unwrap().draft.is_some());
}

#[tokio::test]
async fn a_revived_name_must_still_be_free_of_versions() {
    let world = world().await;
    world.version(&function("a-b"), "one", "v1").await;
    delete_all(&world, &function("a-b")).await;
    world.version(&function("a"), "one", "b").await;
    let clash = request(world.code("two").await);
    assert_eq!(refused(world.publish(&function("a-b"), clash).await).0, "object_name_taken");
}

#[tokio::test]
async fn a_draft_is_no_member_of_a_tag_and_a_split_alias_neither() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    draft(&world, &function("hello"), world.code("three").await).await;
    let split = [("v1", 9_000), ("v2", 1_000)].map(|(at, weight)| {
        folio_core::request::AliasTarget { version: at.parse().unwrap(), weight }
    });
    let alias = (&function("hello"), &id("qa"));
    let absent = folio_core::request::Expect::Absent;
    world.folio.point(&world.caller, alias, split.into(), absent).await.unwrap();
    let (default, nightly) = (app(), id("nightly"));
    let tag = |reference: &str| {
        let members = vec![reference.parse().unwrap()];
        world.folio.tag(&world.caller, (&default, &nightly), members, None)
    };
    assert_eq!(refused(tag("hello@draft").await).0, "draft_not_version");
    assert_eq!(refused(tag("hello_qa").await).0, "alias_is_split");
    assert_eq!(tag("hello").await.unwrap().result.members[0].id, id("v2"));
    let (from, to) = ("hello_qa".parse().unwrap(), "hello@v1".parse().unwrap());
    let diff = world.folio.diff(&world.caller, (&app(), Kind::Function), &from, &to).await;
    assert_eq!(refused(diff).0, "alias_is_split");
}

#[tokio::test]
async fn tagging_what_did_not_change_is_said_in_the_log() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    let same = Publish {
        if_same: IfSame::Keep,
        tag: Some(id("nightly")),
        ..request(world.code("one").await)
    };
    world.publish(&function("hello"), same).await.unwrap();
    let log = world.folio.log(&app(), None, 1).await.unwrap();
    assert_eq!(log[0].entry.message, "tag hello@v1 as nightly");
}
