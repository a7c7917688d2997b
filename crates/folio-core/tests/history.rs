//! The past: app versions, undo and comparisons.

use folio_core::history::Moment;
use folio_core::ports::Clock as _;
use folio_core::request::{Cascade, Which};
use folio_model::Kind;

use crate::world::{World, app, function, id, package, refused, world};

async fn undo(world: &World) -> Result<String, folio_core::undo::Error> {
    Ok(world.folio.undo(&world.caller, &app(), None).await?.result.message)
}

#[tokio::test]
async fn the_app_at_any_moment_is_what_was_deployed_then() {
    let world = world().await;
    let mut moments = Vec::new();
    for (text, at) in [("one", "v1"), ("two", "v2"), ("three", "v3")] {
        world.clock.jump(60);
        world.version(&function("hello"), text, at).await;
        moments.push((world.clock.now(), at));
    }
    world.clock.jump(60);
    world.folio.delete(&world.caller, &function("hello"), Cascade::No, None).await.unwrap();
    for (time, at) in moments {
        let app = world.folio.app_at(&app(), Moment::Time(time)).await.unwrap();
        let ids: Vec<_> = app.units.iter().map(|unit| unit.id.clone().unwrap()).collect();
        assert_eq!(ids, [id(at), id(at)], "the function and its package");
    }
    let long_ago = Moment::Time(world.clock.now() - std::time::Duration::from_secs(86_400));
    assert_eq!(refused(world.folio.app_at(&app(), long_ago).await).0, "no_app_version_yet");
}

#[tokio::test]
async fn pointers_make_no_app_version_and_units_make_one() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    let count = || async { world.folio.app_versions(&app(), None, 100).await.unwrap().len() };
    assert_eq!(count().await, 1, "one command, two units, one app version");
    world.point("hello", "qa", "v1").await;
    assert_eq!(count().await, 1);
}

#[tokio::test]
async fn undoing_a_publish_removes_it_and_undoing_that_brings_it_back() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    assert_eq!(undo(&world).await.unwrap(), "publish function hello as v2");
    assert_eq!(world.ids(&function("hello")).await, ["v1"]);
    assert_eq!(world.ids(&package("hello-pkg")).await, ["v1"]);
    let head = *world.folio.head().borrow();
    world.folio.undo(&world.caller, &app(), Some(head)).await.unwrap();
    assert_eq!(world.ids(&function("hello")).await, ["v1", "v2"]);
}

#[tokio::test]
async fn undoing_a_delete_restores_numbers_aliases_and_the_draft() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    world.point("hello", "qa", "v1").await;
    let before = world.folio.show(&function("hello")).await.unwrap();
    world.folio.delete(&world.caller, &function("hello"), Cascade::No, None).await.unwrap();
    undo(&world).await.unwrap();
    let after = world.folio.show(&function("hello")).await.unwrap();
    assert_eq!((before.uid, before.latest), (after.uid, after.latest));
    assert_eq!(before.aliases[0].targets, after.aliases[0].targets);
    assert_eq!(world.ids(&function("hello")).await, ["v1", "v2"]);
}

#[tokio::test]
async fn undo_goes_back_step_by_step_to_the_beginning() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    world.point("hello", "qa", "v1").await;
    assert_eq!(undo(&world).await.unwrap(), "create alias qa of hello");
    assert_eq!(undo(&world).await.unwrap(), "publish function hello as v1");
    assert_eq!(refused(world.folio.show(&function("hello")).await).0, "unit_not_found");
    assert_eq!(refused(undo(&world).await).0, "nothing_to_undo");
}

#[tokio::test]
async fn what_came_to_stand_on_it_keeps_an_entry_from_being_undone() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    let published = *world.folio.head().borrow();
    world.point("hello", "qa", "v1").await;
    let app = app();
    let back = |seq| world.folio.undo(&world.caller, &app, Some(seq));
    assert_eq!(refused(back(published).await).0, "in_use");
    let made = *world.folio.head().borrow();
    world.version(&function("hello"), "two", "v2").await;
    world.point("hello", "qa", "v2").await;
    assert_eq!(refused(back(made).await).0, "undo_conflict");
}

#[tokio::test]
async fn an_undo_whose_bytes_are_gone_is_refused() {
    let world = world().await;
    world.version(&package("p"), "one", "v1").await;
    world.version(&package("p"), "two", "v2").await;
    let which = Which::One("v2".parse().unwrap());
    world.folio.delete_versions(&world.caller, &package("p"), which, None).await.unwrap();
    world.clock.jump(1);
    assert!(world.folio.sweep().await.unwrap().removed_nodes > 0);
    assert_eq!(refused(undo(&world).await).0, "missing_blob");
    assert_eq!(world.ids(&package("p")).await, ["v1"]);
}

#[tokio::test]
async fn a_comparison_shows_settings_and_lines() {
    let world = world().await;
    world.version(&function("hello"), "one\nsame\n", "v1").await;
    world.version(&function("hello"), "two\nsame\n", "v2").await;
    let (from, to) = ("hello@v1".parse().unwrap(), "hello@v2".parse().unwrap());
    let diff = world.folio.diff(&app(), Kind::Function, &from, &to).await.unwrap();
    assert_eq!(diff.fields, []);
    let [file] = &diff.files[..] else { panic!("one file differs") };
    assert_eq!(file.path, "main.js");
    assert_eq!(
        file.patch.as_deref(),
        Some("--- a/main.js\n+++ b/main.js\n@@ -1,2 +1,2 @@\n-one\n+two\n same\n")
    );
    let same = world.folio.diff(&app(), Kind::Function, &from, &from).await.unwrap();
    assert_eq!((same.files, same.fields), (vec![], vec![]));
}
