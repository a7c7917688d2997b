//! Deleting, its guards and its cascades.

use folio_core::request::{Cascade, Fields, Onto, Publish, Which};
use folio_core::{Explain, delete};
use folio_model::UnitKey;

use crate::world::{World, app, function, id, package, refused, request, world};

async fn delete(world: &World, key: &UnitKey, at: &str) -> Result<Vec<String>, delete::Error> {
    let which = match at {
        "all" => Which::All,
        at => Which::One(at.parse().unwrap()),
    };
    let done = world.folio.delete_versions(&world.caller, key, which, None).await?;
    Ok(done.result.versions.iter().map(|gone| format!("{}@{}", gone.name, gone.id)).collect())
}

#[tokio::test]
async fn deleting_latest_makes_the_previous_survivor_latest() {
    let world = world().await;
    for (text, at) in [("one", "v1"), ("two", "v2"), ("three", "v3")] {
        world.version(&function("hello"), text, at).await;
    }
    delete(&world, &function("hello"), "v2").await.unwrap();
    delete(&world, &function("hello"), "v3").await.unwrap();
    let unit = world.folio.show(&function("hello")).await.unwrap();
    assert_eq!(unit.latest.unwrap().id, id("v1"));
    let next = world.version(&function("hello"), "four", "v4").await;
    assert_eq!(next.number.get(), 4);
}

#[tokio::test]
async fn a_version_an_alias_or_tag_names_stays_and_they_are_named() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    world.point("hello", "qa", "v1").await;
    let tag = (&app(), &id("nightly"));
    world.folio.tag(&world.caller, tag, vec!["hello@v1".parse().unwrap()], None).await.unwrap();
    let head = *world.folio.head().borrow();
    let error = delete(&world, &function("hello"), "v1").await.unwrap_err();
    let names: Vec<_> = error.referrers().into_iter().map(|referrer| referrer.name).collect();
    assert_eq!(names, ["hello@qa", "nightly"]);
    assert_eq!(*world.folio.head().borrow(), head);
}

#[tokio::test]
async fn an_alias_is_not_a_version_to_delete() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    world.point("hello", "qa", "v1").await;
    let error = delete(&world, &function("hello"), "qa").await.unwrap_err();
    assert_eq!(error.code().0, "alias_not_version");
    assert_eq!(error.to_string(), "`qa` is an alias of function `hello`, not a version");
    assert!(error.hint().unwrap().ends_with("`folio fn version delete hello --version v1`"));
}

#[tokio::test]
async fn a_package_stays_while_a_draft_stands_on_one_of_its_states() {
    let world = world().await;
    let (p, f) = (package("p"), function("f"));
    let make = (Onto::Nothing, None);
    world.folio.set_draft(&world.caller, &p, world.code("one").await, make).await.unwrap();
    let fields = Fields { package: Some("p".parse().unwrap()), ..Fields::default() };
    world.folio.set_draft(&world.caller, &f, fields, make).await.unwrap();
    let changed = (Onto::Existing, None);
    world.folio.set_draft(&world.caller, &p, world.code("two").await, changed).await.unwrap();
    let refusal = world.folio.delete(&world.caller, &p, Cascade::No, None).await;
    assert_eq!(refused(refusal).0, "in_use", "although its draft is another one now");
    world.folio.set_draft(&world.caller, &p, world.code("one").await, changed).await.unwrap();
    let publish = Publish { id: Some(id("v1")), ..request(Fields::default()) };
    world.publish(&p, publish).await.unwrap();
    assert_eq!(refused(delete(&world, &p, "v1").await).0, "in_use", "it was the draft");
    world.folio.delete(&world.caller, &f, Cascade::No, None).await.unwrap();
    assert_eq!(delete(&world, &p, "v1").await.unwrap(), ["p@v1"]);
}

/// Two functions on two versions of one package.
async fn shared() -> World {
    let world = world().await;
    for (text, at) in [("one", "v1"), ("two", "v2")] {
        world.version(&package("p"), text, at).await;
        for name in ["f", "g"] {
            let fields = Fields { package: Some("p".parse().unwrap()), ..Fields::default() };
            let request = Publish { id: Some(id(at)), ..request(fields) };
            world.publish(&function(name), request).await.unwrap();
        }
    }
    world
}

#[tokio::test]
async fn deleting_a_package_version_takes_the_versions_that_use_it() {
    let world = shared().await;
    let mut gone = delete(&world, &package("p"), "v1").await.unwrap();
    gone.sort();
    assert_eq!(gone, ["f@v1", "g@v1", "p@v1"]);
    assert_eq!(world.ids(&function("f")).await, ["v2"]);
}

#[tokio::test]
async fn one_pinned_user_refuses_the_whole_cascade() {
    let world = shared().await;
    world.point("g", "prod", "v1").await;
    assert_eq!(refused(delete(&world, &package("p"), "all").await).0, "in_use");
    assert_eq!(world.ids(&package("p")).await, ["v1", "v2"]);
    assert_eq!(world.ids(&function("f")).await, ["v1", "v2"]);
    assert_eq!(delete(&world, &package("p"), "v2").await.unwrap().len(), 3);
}

#[tokio::test]
async fn deleting_a_function_takes_its_versions_and_aliases_and_frees_its_name() {
    let world = world().await;
    let first = world.version(&function("hello"), "one", "v1").await;
    world.point("hello", "qa", "v1").await;
    let done =
        world.folio.delete(&world.caller, &function("hello"), Cascade::No, None).await.unwrap();
    assert_eq!(done.result.aliases, ["hello@qa"]);
    assert!(done.app_version.is_some());
    assert_eq!(refused(world.folio.show(&function("hello")).await).0, "unit_not_found");
    assert_eq!(world.ids(&package("hello-pkg")).await, ["v1"], "packages stay");
    let request = Publish { id: Some(id("v2")), ..request(world.code("one").await) };
    let again = world.publish(&function("hello"), request).await.unwrap().result.version;
    assert_eq!((again.number, again.digest), (first.number, first.digest), "a new unit");
}

#[tokio::test]
async fn a_tagged_function_goes_only_with_cascade() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    let tag = (&app(), &id("nightly"));
    world.folio.tag(&world.caller, tag, vec!["hello".parse().unwrap()], None).await.unwrap();
    let key = function("hello");
    let refusal = world.folio.delete(&world.caller, &key, Cascade::No, None).await;
    assert_eq!(refused(refusal).0, "in_use");
    world.folio.delete(&world.caller, &key, Cascade::Yes, None).await.unwrap();
    assert_eq!(world.folio.tags(&app()).await.unwrap(), []);
}

#[tokio::test]
async fn bytes_go_only_when_nothing_reaches_them() {
    let world = world().await;
    world.one_release().await;
    world.version(&package("p"), "shared", "v1").await;
    world.version(&package("q"), "shared", "v1").await;
    world.version(&package("q"), "only here", "v2").await;
    let before = world.folio.usage().await.unwrap().nodes;
    delete(&world, &package("p"), "v1").await.unwrap();
    delete(&world, &package("q"), "v2").await.unwrap();
    world.clock.jump(1);
    let swept = world.folio.sweep().await.unwrap();
    assert_eq!((swept.removed_nodes, swept.nodes), (2, before - 2));
    assert_eq!(world.folio.check().await.unwrap(), []);
}

#[tokio::test]
async fn packages_that_nothing_uses_are_orphans_and_go_at_once() {
    let world = world().await;
    let orphans = async || {
        let found = world.folio.orphans(&app()).await.unwrap();
        found.into_iter().map(|unit| unit.name.to_string()).collect::<Vec<_>>()
    };
    for name in ["drafted", "left", "used"] {
        world.version(&package(name), name, "v1").await;
    }
    world.version(&function("own"), "own", "v1").await;
    let using = |name: &str| Fields { package: Some(name.parse().unwrap()), ..Fields::default() };
    let version = Publish { id: Some(id("v1")), ..request(using("used")) };
    world.publish(&function("f"), version).await.unwrap();
    let onto = (Onto::Nothing, None);
    world.folio.set_draft(&world.caller, &function("g"), using("drafted"), onto).await.unwrap();
    assert_eq!(orphans().await, ["left"]);
    world.folio.delete(&world.caller, &function("own"), Cascade::No, None).await.unwrap();
    assert_eq!(orphans().await, ["left", "own-pkg"]);
    let head = *world.folio.head().borrow();
    let done = world.folio.delete_orphans(&world.caller, &app()).await.unwrap();
    let gone: Vec<_> = done.result.units.iter().map(|unit| unit.name.as_str()).collect();
    assert_eq!(gone, ["left", "own-pkg"]);
    assert_eq!(*world.folio.head().borrow(), head + 1, "in one entry");
    assert_eq!(orphans().await, [""; 0]);
    let done = world.folio.delete_orphans(&world.caller, &app()).await.unwrap();
    assert!(!done.changed);
}
