//! The past: app versions, undo and comparisons.

use folio_core::history::Moment;
use folio_core::ports::Clock as _;
use folio_core::release::ReleaseRef;
use folio_core::request::{Cascade, Expect, Fields, Onto, Publish, Which};
use folio_model::{Kind, UnitKey};

use crate::world::{World, app, function, id, package, refused, request, world};

async fn undo(world: &World) -> Result<String, folio_core::undo::Error> {
    Ok(world.folio.undo(&world.caller, &app(), None).await?.result.message)
}

async fn undo_entry(world: &World, seq: u64) -> Result<String, folio_core::undo::Error> {
    Ok(world.folio.undo(&world.caller, &app(), Some(seq)).await?.result.message)
}

fn head(world: &World) -> u64 {
    *world.folio.head().borrow()
}

/// Makes or changes a draft, and returns the entry.
async fn draft(world: &World, key: &UnitKey, fields: Fields) -> u64 {
    let onto = match world.folio.show(key).await {
        Ok(_) => Onto::Existing,
        Err(_) => Onto::Nothing,
    };
    world.folio.set_draft(&world.caller, key, fields, (onto, None)).await.unwrap();
    head(world)
}

fn using(package: &str) -> Fields {
    Fields { package: Some(package.parse().unwrap()), ..Fields::default() }
}

async fn delete(world: &World, key: &UnitKey) -> u64 {
    world.folio.delete(&world.caller, key, Cascade::No, None).await.unwrap();
    head(world)
}

async fn delete_version(world: &World, key: &UnitKey, at: &str) -> u64 {
    let which = Which::One(at.parse().unwrap());
    world.folio.delete_versions(&world.caller, key, which, None).await.unwrap();
    head(world)
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
    let fields = Fields { entrypoint: Some("other".to_owned()), ..Fields::default() };
    draft(&world, &function("hello"), fields).await;
    let before = world.folio.show(&function("hello")).await.unwrap();
    delete(&world, &function("hello")).await;
    undo(&world).await.unwrap();
    let after = world.folio.show(&function("hello")).await.unwrap();
    assert!(before.draft.is_some());
    assert_eq!((before.uid, before.latest, before.draft), (after.uid, after.latest, after.draft));
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
    world.one_release().await;
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
async fn undo_after_a_rollback_takes_the_rollback_back() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    world.point("hello", "prod", "v1").await;
    world.point("hello", "prod", "v2").await;
    let prod = (&function("hello"), &id("prod"));
    world.folio.roll_back(&world.caller, prod, None, Expect::Present).await.unwrap();
    assert_eq!(undo(&world).await.unwrap(), "roll alias prod of hello back");
    assert_eq!(undo(&world).await.unwrap(), "move alias prod of hello");
    assert_eq!(undo(&world).await.unwrap(), "create alias prod of hello");
}

#[tokio::test]
async fn a_deleted_alias_stays_away_from_a_version_that_took_its_name() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    world.point("hello", "qa", "v1").await;
    let prod = (&function("hello"), &id("qa"));
    world.folio.delete_alias(&world.caller, prod, Expect::Present).await.unwrap();
    let gone = head(&world);
    world.version(&function("hello"), "two", "qa").await;
    let (code, message) = refused(undo_entry(&world, gone).await);
    assert_eq!(code, "undo_conflict");
    assert!(message.contains("alias `qa`"), "{message}");
    delete_version(&world, &function("hello"), "qa").await;
    assert_eq!(refused(undo_entry(&world, gone).await).0, "undo_conflict", "ids are never reused");
}

#[tokio::test]
async fn what_returns_shares_no_name_with_a_version() {
    let world = world().await;
    world.version(&package("p-one"), "one", "v1").await;
    let gone = delete(&world, &package("p-one")).await;
    world.version(&package("p"), "two", "one").await;
    assert_eq!(refused(undo_entry(&world, gone).await).0, "undo_conflict");
    let gone = delete_version(&world, &package("p"), "one").await;
    world.version(&package("p-one"), "three", "v1").await;
    assert_eq!(refused(undo_entry(&world, gone).await).0, "undo_conflict");
    let hidden = delete_version(&world, &package("p-one"), "v1").await;
    undo_entry(&world, gone).await.unwrap();
    assert_eq!(refused(undo_entry(&world, hidden).await).0, "undo_conflict", "it would show again");
}

#[tokio::test]
async fn a_delete_can_be_done_again() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    world.point("hello", "qa", "v1").await;
    delete(&world, &function("hello")).await;
    undo(&world).await.unwrap();
    undo_entry(&world, head(&world)).await.unwrap();
    assert_eq!(refused(world.folio.show(&function("hello")).await).0, "unit_not_found");
    let next = world.version(&function("hello"), "another", "v2").await;
    assert_eq!(next.number.get(), 1, "a new unit under a free name");
}

#[tokio::test]
async fn a_publish_over_an_empty_package_can_be_undone() {
    let world = world().await;
    world.version(&package("hello-pkg"), "by hand", "v1").await;
    delete_version(&world, &package("hello-pkg"), "v1").await;
    world.version(&function("hello"), "one", "v2").await;
    assert_eq!(undo(&world).await.unwrap(), "publish function hello as v2");
    undo_entry(&world, head(&world)).await.unwrap();
    assert_eq!(world.ids(&package("hello-pkg")).await, ["v2"]);
}

#[tokio::test]
async fn a_version_described_since_goes_and_returns_with_its_words() {
    let world = world().await;
    world.version(&package("p"), "one", "v1").await;
    let at = "v1".parse().unwrap();
    world.version(&package("p"), "two", "v2").await;
    let published = head(&world);
    let at_two = "v2".parse().unwrap();
    for (at, words) in [(&at, "first"), (&at_two, "second")] {
        world.folio.describe(&world.caller, &package("p"), at, words.to_owned()).await.unwrap();
    }
    undo_entry(&world, published).await.unwrap();
    assert_eq!(world.ids(&package("p")).await, ["v1"]);
    undo_entry(&world, head(&world)).await.unwrap();
    let words = |version: folio_core::view::VersionView| version.description;
    let latest = || async { world.folio.show(&package("p")).await.unwrap().latest.map(words) };
    assert_eq!(latest().await.as_deref(), Some("second"));
    let gone = delete_version(&world, &package("p"), "v2").await;
    undo_entry(&world, gone).await.unwrap();
    let back = head(&world);
    world.folio.describe(&world.caller, &package("p"), &at_two, "third".to_owned()).await.unwrap();
    undo_entry(&world, back).await.unwrap();
    undo_entry(&world, gone).await.unwrap();
    assert_eq!(latest().await.as_deref(), Some("third"));
}

#[tokio::test]
async fn a_draft_does_not_return_to_a_unit_or_package_that_is_gone() {
    let world = world().await;
    let first = world.code("one").await;
    let made = draft(&world, &package("p"), first).await;
    delete(&world, &package("p")).await;
    assert_eq!(refused(undo_entry(&world, made).await).0, "undo_conflict", "the unit is gone");

    world.version(&package("q"), "one", "v1").await;
    world.version(&package("q"), "two", "v2").await;
    draft(&world, &function("f"), using("q")).await;
    world.version(&package("r"), "three", "v1").await;
    let changed = draft(&world, &function("f"), using("r")).await;
    delete_version(&world, &package("q"), "v2").await;
    assert_eq!(refused(undo_entry(&world, changed).await).0, "undo_conflict", "a version is gone");

    draft(&world, &package("s"), world.code("four").await).await;
    draft(&world, &function("g"), using("s")).await;
    let gone = delete(&world, &function("g")).await;
    delete(&world, &package("s")).await;
    assert_eq!(refused(undo_entry(&world, gone).await).0, "undo_conflict", "a draft is gone");
}

#[tokio::test]
async fn a_package_a_draft_stands_on_is_not_undone() {
    let world = world().await;
    let made = draft(&world, &package("p"), world.code("one").await).await;
    draft(&world, &function("f"), using("p")).await;
    let error = undo_entry(&world, made).await.unwrap_err();
    let names: Vec<_> = folio_core::Explain::referrers(&error);
    assert_eq!((names[0].kind.as_str(), names[0].name.as_str()), ("function draft", "f"));
    world.publish(&package("p"), request(Fields::default())).await.unwrap();
    assert_eq!(refused(undo_entry(&world, made).await).0, "undo_conflict");
    undo(&world).await.unwrap();
    undo(&world).await.unwrap();
    undo(&world).await.unwrap();
    assert_eq!(refused(world.folio.show(&package("p")).await).0, "unit_not_found");
}

#[tokio::test]
async fn an_undo_names_aliases_as_references_and_says_how_to_go_on() {
    use folio_core::Explain as _;
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    let published = head(&world);
    world.point("hello", "qa", "v1").await;
    let error = undo_entry(&world, published).await.unwrap_err();
    assert_eq!(error.referrers()[0].name, "hello@qa");
    assert!(error.hint().unwrap().contains("folio fn alias update hello --alias qa"));
}

#[tokio::test]
async fn a_comparison_shows_settings_and_lines() {
    let world = world().await;
    world.version(&function("hello"), "one\nsame\n", "v1").await;
    world.version(&function("hello"), "two\nsame\n", "v2").await;
    let (from, to) = ("hello@v1".parse().unwrap(), "hello@v2".parse().unwrap());
    let diff = world.folio.diff(&world.caller, (&app(), Kind::Function), &from, &to).await.unwrap();
    assert_eq!(diff.fields, []);
    let [file] = &diff.files[..] else { panic!("one file differs") };
    assert_eq!(file.path, "main.js");
    assert_eq!(
        file.patch.as_deref(),
        Some("--- a/main.js\n+++ b/main.js\n@@ -1,2 +1,2 @@\n-one\n+two\n same\n")
    );
    let same =
        world.folio.diff(&world.caller, (&app(), Kind::Function), &from, &from).await.unwrap();
    assert_eq!((same.files, same.fields), (vec![], vec![]));
}

#[tokio::test]
async fn what_was_made_again_under_the_same_name_and_id_differs() {
    let world = world().await;
    let key = package("code");
    let publish = async |text: &str| {
        let request = Publish { id: Some(id("v1")), ..request(world.code(text).await) };
        world.publish(&key, request).await.unwrap().app_version.unwrap()
    };
    let before = publish("one").await;
    world.folio.delete(&world.caller, &key, Cascade::No, None).await.unwrap();
    let after = publish("two").await;
    let (from, to) = (Moment::Id(before.clone()), Moment::Id(after));
    let diff = world.folio.app_diff(&app(), from.clone(), to).await.unwrap();
    assert_eq!(diff.units.len(), 1);
    let same = world.folio.app_diff(&app(), from, Moment::Id(before)).await.unwrap();
    assert_eq!(same.units, []);
}

#[tokio::test]
async fn an_app_that_went_back_does_not_differ_and_what_differs_is_said() {
    let world = world().await;
    let publish = async |text: &str| {
        let published = world.publish(&function("hello"), request(world.code(text).await)).await;
        published.unwrap().app_version.unwrap()
    };
    let (first, second, back) = (publish("one").await, publish("two").await, publish("one").await);
    let compare =
        async |from: Moment, to: Moment| world.folio.app_diff(&app(), from, to).await.unwrap();
    let there = compare(Moment::Id(first.clone()), Moment::Id(second.clone())).await;
    let units: Vec<_> = there.units.iter().map(|unit| unit.name.as_str()).collect();
    assert_eq!(units, ["hello", "hello-pkg"]);
    for unit in &there.units {
        let files: Vec<_> = unit.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((files, &unit.fields[..]), (vec!["main.js"], &[][..]));
    }
    let same = compare(Moment::Id(first.clone()), Moment::Id(back.clone())).await;
    assert_eq!((same.units, same.from, same.to), (vec![], first, back.clone()));

    // Releases stand for the app versions they show.
    let live = compare(Moment::Id(second.clone()), Moment::Release(ReleaseRef::Live)).await;
    assert_eq!(live.to, back);
    let release = world.folio.show_release(&app(), &ReleaseRef::Live).await.unwrap().label.id;
    let named = Moment::Id(release.as_str().parse().unwrap());
    assert_eq!(compare(named, Moment::Id(second)).await.from, back);
    let error = world.folio.app_diff(&app(), Moment::Id(id("nobody")), Moment::Now).await;
    assert_eq!(refused(error).0, "app_version_not_found");
}
