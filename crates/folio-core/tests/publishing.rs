//! Publishing versions and drafts.

use folio_core::request::{Fields, IfSame, Onto, Publish, Repeat, Start};
use folio_model::{Digest, Snapshot};
use folio_testkit::sample;

use crate::world::{function, id, package, refused, request, world};

#[tokio::test]
async fn code_brings_its_own_package_under_the_same_id() {
    let world = world().await;
    let version = world.version(&function("hello"), "one", "v1").await;
    let used = version.package.unwrap();
    assert_eq!(used.name.as_str(), "hello-pkg");
    assert_eq!(used.id, Some(id("v1")));
    assert_eq!(world.ids(&package("hello-pkg")).await, ["v1"]);
}

#[tokio::test]
async fn numbers_count_up_and_latest_is_the_newest() {
    let world = world().await;
    for (text, at) in [("one", "v1"), ("two", "v2"), ("three", "v3")] {
        world.version(&function("hello"), text, at).await;
    }
    let unit = world.folio.show(&function("hello")).await.unwrap();
    let latest = unit.latest.unwrap();
    assert_eq!((latest.number.get(), latest.id), (3, id("v3")));
}

#[tokio::test]
async fn a_random_id_is_made_where_none_is_given() {
    let world = world().await;
    let done = world.publish(&function("hello"), request(world.code("one").await)).await.unwrap();
    assert_eq!(done.result.version.id.as_str().len(), 5);
    assert_ne!(done.app_version, Some(done.result.version.id));
}

#[tokio::test]
async fn the_same_content_again_is_a_new_version_with_the_same_digest() {
    let world = world().await;
    let first = world.version(&function("hello"), "one", "v1").await;
    let second = world.version(&function("hello"), "one", "v2").await;
    assert_eq!(first.digest, second.digest);
    assert_eq!(second.number.get(), 2);
}

#[tokio::test]
async fn if_changed_answers_with_the_latest_and_changes_nothing() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    let head = *world.folio.head().borrow();
    let fields = world.code("one").await;
    let same = Publish { if_same: IfSame::Keep, ..request(fields) };
    let done = world.publish(&function("hello"), same).await.unwrap();
    assert!(!done.changed);
    assert_eq!(done.result.version.id, id("v1"));
    assert_eq!(*world.folio.head().borrow(), head);
    let other = Publish { if_same: IfSame::Keep, ..request(world.code("two").await) };
    assert!(world.publish(&function("hello"), other).await.unwrap().changed);
}

#[tokio::test]
async fn an_update_keeps_what_it_does_not_name() {
    let world = world().await;
    let fields = Fields { entrypoint: Some("main.run".to_owned()), ..world.code("one").await };
    world.publish(&function("hello"), request(fields)).await.unwrap();
    let deployment = Some(sample::file(&world.folio, "main.js", "two").await);
    let fields = Fields { deployment, ..Fields::default() };
    let update = Publish { start: Start::Latest, ..request(fields) };
    let done = world.publish(&function("hello"), update).await.unwrap();
    let Snapshot::Function(spec) = done.result.version.spec else { panic!("a function") };
    assert_eq!(spec.environment.as_str(), "nodejs");
    assert_eq!(spec.entrypoint.as_deref(), Some("main.run"));
}

#[tokio::test]
async fn an_update_needs_something_to_start_from() {
    let world = world().await;
    let update = Publish { start: Start::Latest, ..request(world.code("one").await) };
    assert_eq!(refused(world.publish(&function("hello"), update).await).0, "unit_not_found");
}

#[tokio::test]
async fn ids_are_never_used_twice_not_even_after_deletion() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    let again = || async { Publish { id: Some(id("v1")), ..request(world.code("two").await) } };
    assert_eq!(refused(world.publish(&function("hello"), again().await).await).0, "id_taken");
    let all = folio_core::request::Which::All;
    world.folio.delete_versions(&world.caller, &function("hello"), all, None).await.unwrap();
    let (code, message) = refused(world.publish(&function("hello"), again().await).await);
    assert_eq!((code, message.contains("deleted")), ("id_taken", true));
    let next = world.version(&function("hello"), "two", "v2").await;
    assert_eq!(next.number.get(), 2, "numbers go on where they were");
}

#[tokio::test]
async fn a_version_must_not_be_called_like_another_unit() {
    let world = world().await;
    world.version(&function("a-b"), "one", "v1").await;
    let clash = Publish { id: Some(id("b")), ..request(world.code("one").await) };
    assert_eq!(refused(world.publish(&function("a"), clash).await).0, "object_name_taken");
    world.version(&function("x"), "one", "y").await;
    let clash = request(world.code("one").await);
    assert_eq!(refused(world.publish(&function("x-y"), clash).await).0, "object_name_taken");
}

#[tokio::test]
async fn a_function_can_share_a_package_and_its_id() {
    let world = world().await;
    let source = Some(sample::directory(&world.folio, &[("build.sh", "true")]).await);
    let fields = Fields {
        environment: Some("python".parse().unwrap()),
        source,
        build_command: Some("./build.sh".to_owned()),
        ..Fields::default()
    };
    let first = Publish { id: Some(id("bla")), ..request(fields) };
    world.publish(&package("src-pkg"), first).await.unwrap();
    let fields = Fields { package: Some("src-pkg".parse().unwrap()), ..Fields::default() };
    let shared = Publish { id: Some(id("bla")), ..request(fields.clone()) };
    let done = world.publish(&function("fnA"), shared).await.unwrap().result.version;
    assert_eq!(done.id, id("bla"));
    assert_eq!(done.package.unwrap().id, Some(id("bla")));
    assert_eq!(
        done.spec.environment().map(folio_model::Name::as_str),
        Some("python"),
        "the package's environment"
    );
    let wrong = Publish { id: Some(id("nope")), ..request(fields.clone()) };
    assert_eq!(refused(world.publish(&function("fnA"), wrong).await).0, "version_not_found");
    let own = Publish { id: Some(id("mine")), package_version: Some(id("bla")), ..request(fields) };
    assert_eq!(world.publish(&function("fnA"), own).await.unwrap().result.version.id, id("mine"));
}

#[tokio::test]
async fn an_unversioned_package_cannot_be_frozen() {
    let world = world().await;
    let fields = world.code("one").await;
    let onto = (Onto::Nothing, None);
    world.folio.set_draft(&world.caller, &package("p"), fields, onto).await.unwrap();
    let fields = Fields { package: Some("p".parse().unwrap()), ..Fields::default() };
    let (code, _) = refused(world.publish(&function("f"), request(fields)).await);
    assert_eq!(code, "package_unversioned");
}

#[tokio::test]
async fn a_package_made_by_hand_is_not_taken_over() {
    let world = world().await;
    let fields = world.code("one").await;
    world.publish(&package("hello-pkg"), request(fields.clone())).await.unwrap();
    assert_eq!(
        refused(world.publish(&function("hello"), request(fields)).await).0,
        "package_taken"
    );
}

#[tokio::test]
async fn publishing_without_content_publishes_the_draft_and_clears_it() {
    let world = world().await;
    let nothing = || request(Fields::default());
    assert_eq!(refused(world.publish(&function("hello"), nothing()).await).0, "nothing_to_publish");
    let fields = world.code("one").await;
    let onto = (Onto::Nothing, None);
    let draft =
        world.folio.set_draft(&world.caller, &function("hello"), fields, onto).await.unwrap();
    assert!(draft.result.draft.is_some());
    let done = world.publish(&function("hello"), nothing()).await.unwrap().result;
    assert_eq!(done.package.unwrap().name.as_str(), "hello-pkg");
    for key in [function("hello"), package("hello-pkg")] {
        let unit = world.folio.show(&key).await.unwrap();
        assert_eq!((unit.draft, unit.latest.is_some()), (None, true));
    }
}

#[tokio::test]
async fn a_draft_is_made_once_and_changed_after() {
    let world = world().await;
    let set = |onto, text: &'static str| {
        let world = &world;
        async move {
            let fields = world.code(text).await;
            world.folio.set_draft(&world.caller, &function("hello"), fields, (onto, None)).await
        }
    };
    assert_eq!(refused(set(Onto::Existing, "one").await).0, "unit_not_found");
    set(Onto::Nothing, "one").await.unwrap();
    assert_eq!(refused(set(Onto::Nothing, "one").await).0, "unit_exists");
    assert!(set(Onto::Existing, "two").await.unwrap().changed);
    assert!(!set(Onto::Existing, "two").await.unwrap().changed);
}

#[tokio::test]
async fn what_makes_no_spec_is_refused() {
    let world = world().await;
    let code = world.code("one").await;
    let check = |fields: Fields, expected: &'static str| {
        let world = &world;
        async move {
            let (code, _) = refused(world.publish(&function("hello"), request(fields)).await);
            assert_eq!(code, expected);
        }
    };
    check(Fields { environment: None, ..code.clone() }, "environment_required").await;
    let package = Some("p".parse().unwrap());
    check(Fields { package: package.clone(), ..code.clone() }, "code_and_package").await;
    check(Fields { package, ..Fields::default() }, "unit_not_found").await;
    check(Fields { build_command: Some("a".to_owned()), ..code.clone() }, "bad_spec").await;
    check(Fields { entrypoint: Some("a\nb".to_owned()), ..code.clone() }, "bad_spec").await;
    let missing = folio_core::request::ContentRef::Tree {
        tree: Digest::of(b"nothing"),
        layout: folio_model::Layout::File,
    };
    check(Fields { deployment: Some(missing), ..code }, "missing_blob").await;
}

#[tokio::test]
async fn the_same_key_gives_the_same_answer_and_no_second_version() {
    let mut world = world().await;
    let repeat = |request: &[u8]| Repeat { key: "k".to_owned(), request: Digest::of(request) };
    world.caller.repeat = Some(repeat(b"a"));
    let code = world.code("one").await;
    let first = world.publish(&function("hello"), request(code.clone())).await.unwrap();
    let second = world.publish(&function("hello"), request(code.clone())).await.unwrap();
    assert_eq!(first, second);
    assert_eq!(world.ids(&function("hello")).await.len(), 1);
    world.caller.repeat = Some(repeat(b"b"));
    let other = world.publish(&function("hello"), request(code)).await;
    assert_eq!(refused(other).0, "idempotency_key_reused");
}

#[tokio::test]
async fn a_stale_revision_is_refused() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    let seen = world.folio.show(&function("hello")).await.unwrap().revision;
    world.version(&function("hello"), "two", "v2").await;
    let stale = Publish { expect: Some(seen), ..request(world.code("three").await) };
    assert_eq!(refused(world.publish(&function("hello"), stale).await).0, "stale");
}
