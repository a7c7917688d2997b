//! Facts about applying a deployment.

use folio_core::apply::{
    Applied, Apply, Document, Error, Fault, Form, Others, Outcome, Rest, Run, UnreadDocument,
};
use folio_core::history::Moment;
use folio_core::object::identity;
use folio_core::ports::Page;
use folio_core::release::Late;
use folio_core::request::{Caller, ContentRef, Expect, Releasing};
use folio_core::view::Done;
use folio_core::{Explain, Folio};
use folio_kinds::spec::ASKED;
use folio_model::{Digest, Kind, Layout, Marks, Owner, Place, Pointer, UnitKey};
use folio_testkit::sample;
use serde_json::{Value, json};

use crate::serving::gated;
use crate::world::{World, app, request, world};

fn owner(uid: &str) -> Owner {
    Owner { uid: uid.to_owned(), name: uid.to_owned() }
}

fn function(name: &str, package: &str) -> Document {
    let manifest = json!({ "kind": "Function", "metadata": { "name": name }, "spec": {
        "environment": { "name": "nodejs" },
        "package": { "packageref": { "name": package } },
    } });
    document(name, manifest)
}

async fn package(folio: &Folio, name: &str, code: &str) -> Document {
    let manifest = json!({ "kind": "Package", "metadata": { "name": name },
        "spec": { "environment": { "name": "nodejs" } } });
    let content = sample::file(folio, "main.js", code).await;
    Document { deployment: Some(content), ..document(name, manifest) }
}

fn document(at: &str, manifest: Value) -> Document {
    Document { at: at.to_owned(), manifest, source: None, deployment: None }
}

async fn apply(world: &World, uid: &str, documents: Vec<Document>) -> Result<Done<Applied>, Error> {
    world.folio.apply(&world.caller, &app(), asking(uid, documents), Run::Real).await
}

fn asking(uid: &str, documents: Vec<Document>) -> Apply {
    Apply {
        deployment: owner(uid),
        documents,
        known: Vec::new(),
        unread: Vec::new(),
        base: None,
        form: Form::Versions,
        rest: Rest::Delete,
        others: Others::Refuse,
    }
}

fn changed(applied: &Applied) -> Vec<(Kind, &str, Outcome)> {
    applied.units.iter().map(|unit| (unit.kind, unit.name.as_str(), unit.what)).collect()
}

#[tokio::test]
async fn what_happens_while_an_apply_is_planned_is_seen_by_it() {
    let (running, ledger) = gated().await;
    let world = &running.world;
    let both = async |code| vec![package(&world.folio, "p", code).await, function("f", "p")];
    apply(world, "a", both("one").await).await.unwrap();
    let documents = both("two").await;
    ledger.hold_after(0);
    let meanwhile = async {
        ledger.await_held().await;
        let own = crate::world::request(world.code("own").await);
        world.publish(&crate::world::function("f"), own).await.unwrap();
        ledger.let_go();
    };
    let (done, ()) = tokio::join!(apply(world, "a", documents), meanwhile);
    let expected =
        [(Kind::Package, "p", Outcome::Updated), (Kind::Function, "f", Outcome::Updated)];
    let done = done.unwrap();
    assert_eq!(changed(&done.result)[..2], expected);
    // The version that somebody else made is the one before.
    let versions = world.folio.versions(&crate::world::function("f"), Page::ALL).await.unwrap();
    assert_eq!(versions.len(), 3);
}

#[tokio::test]
async fn everything_that_changed_has_one_id_and_the_rest_keeps_its_own() {
    let world = world().await;
    let folio = &world.folio;
    let both = |code: &'static str| async move {
        let shared = package(folio, "shared", code).await;
        let alone = package(folio, "alone", "same").await;
        vec![
            function("foo", "shared"),
            function("bar", "shared"),
            function("baz", "alone"),
            shared,
            alone,
        ]
    };
    let first = apply(&world, "a", both("one").await).await.unwrap();
    assert_eq!(first.result.units.len(), 5);
    assert_eq!(first.app_version, first.result.id, "the group is called as its versions are");
    let again = apply(&world, "a", both("one").await).await.unwrap();
    assert_eq!((again.changed, again.entry, again.result.unchanged), (false, None, 5));

    let second = apply(&world, "a", both("two").await).await.unwrap();
    let expected = [
        (Kind::Package, "shared", Outcome::Updated),
        (Kind::Function, "bar", Outcome::Updated),
        (Kind::Function, "foo", Outcome::Updated),
    ];
    assert_eq!(changed(&second.result), expected);
    let deployed = folio.deployed(&app(), Some("a")).await.unwrap();
    let version = |name: &str| {
        let unit = deployed.iter().find(|unit| unit.name.as_str() == name);
        unit.and_then(|unit| unit.version.clone())
    };
    assert_eq!(version("foo"), second.result.id);
    assert_eq!(version("baz"), first.result.id);
}

#[tokio::test]
async fn what_is_no_longer_asked_for_goes_but_not_what_is_still_used() {
    let world = world().await;
    let folio = &world.folio;
    let old = package(folio, "old", "one").await;
    let new = package(folio, "new", "two").await;
    apply(&world, "a", vec![function("foo", "old"), old]).await.unwrap();
    let moved = apply(&world, "a", vec![function("foo", "new"), new]).await.unwrap();
    let remark = moved.result.remarks.concat();
    assert!(remark.contains("package `old` is kept"), "{remark}");
    let nothing = apply(&world, "a", Vec::new()).await.unwrap();
    assert_eq!(nothing.result.units.len(), 3, "{:?}", nothing.result);
    assert_eq!(folio.deployed(&app(), None).await.unwrap(), []);
}

#[tokio::test]
async fn a_deployment_leaves_what_others_own_alone() {
    let world = world().await;
    let folio = &world.folio;
    let code = package(folio, "code", "one").await;
    apply(&world, "a", vec![function("foo", "code"), code.clone()]).await.unwrap();
    let theirs = apply(&world, "b", vec![function("foo", "code"), code.clone()]).await;
    assert!(matches!(theirs, Err(Error::Foreign { faults, .. }) if faults.len() == 2));
    let nothing = apply(&world, "b", Vec::new()).await.unwrap();
    assert!(!nothing.changed);

    let other = package(folio, "code", "two").await;
    // First as it is, and then with something else in it.
    for (uid, from, code) in [("b", "a", code), ("c", "b", other)] {
        let adopt = Apply {
            deployment: owner(uid),
            documents: vec![function("foo", "code"), code],
            known: Vec::new(),
            unread: Vec::new(),
            base: None,
            form: Form::Versions,
            rest: Rest::Delete,
            others: Others::Adopt,
        };
        let run = async |run| folio.apply(&world.caller, &app(), adopt.clone(), run).await.unwrap();
        for done in [run(Run::Dry).await, run(Run::Real).await] {
            let mut taken = done.result.adopted;
            taken.sort_by(|one, other| one.name.cmp(&other.name));
            let from = Some(owner(from));
            let taken = taken.iter().map(|unit| (unit.kind, unit.name.as_str(), &unit.from));
            let expected = [(Kind::Package, "code", &from), (Kind::Function, "foo", &from)];
            assert_eq!(taken.collect::<Vec<_>>(), expected);
        }
        assert_eq!(folio.deployed(&app(), Some(uid)).await.unwrap().len(), 2);
        assert_eq!(run(Run::Real).await.result.adopted, []);
    }
}

#[tokio::test]
async fn everything_that_is_wrong_is_said_and_nothing_changes() {
    let world = world().await;
    let folio = &world.folio;
    let odd =
        json!({ "kind": "Function", "metadata": { "name": "odd" }, "spec": { "package": 1 } });
    let elsewhere = json!({ "kind": "Package", "metadata": { "name": "x", "namespace": "other" },
        "spec": { "environment": { "name": "nodejs" } } });
    let unread = apply(&world, "a", vec![document("1", odd), document("2", elsewhere)]).await;
    let Err(Error::Faults(faults)) = unread else { panic!("{unread:?}") };
    assert!(faults.iter().any(|fault| fault.at == "1" && fault.what.contains("spec.package")));
    assert!(faults.iter().any(|fault| fault.at == "2" && fault.what.contains("namespace")));

    let code = package(folio, "code", "one").await;
    let twice = vec![function("foo", "code"), function("foo", "nowhere"), code];
    let Err(Error::Faults(faults)) = apply(&world, "a", twice).await else { panic!("it is wrong") };
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert_eq!(folio.deployed(&app(), None).await.unwrap(), []);
}

#[tokio::test]
async fn what_cannot_be_read_what_is_missing_and_what_is_anothers_is_said_together() {
    let world = world().await;
    let folio = &world.folio;
    let code = package(folio, "code", "one").await;
    apply(&world, "a", vec![code.clone(), function("taken", "code")]).await.unwrap();

    let odd = json!({ "kind": "Package", "metadata": { "name": "odd" }, "spec": {
        "environment": { "name": "nodejs" }, "source": 1,
    } });
    let documents = vec![
        Document { at: "d.yaml:1:1".to_owned(), ..document("", odd) },
        // Its package is there, only that it cannot be read.
        Document { at: "d.yaml:2:1".to_owned(), ..function("patient", "odd") },
        Document { at: "d.yaml:3:1".to_owned(), ..function("lost", "nowhere") },
        Document { at: "d.yaml:4:1".to_owned(), ..function("taken", "odd") },
        Document { at: "d.yaml:5:1".to_owned(), ..route("r", "/r", "nobody") },
        Document {
            at: "d.yaml:10:1".to_owned(),
            ..alias("prod", json!({ "functionName": "lost" }))
        },
    ];
    let refused = apply(&world, "b", documents.clone()).await;
    let Err(Error::Faults(faults)) = refused else { panic!("{refused:?}") };
    let check = |faults: &[Fault], expected: &[(&str, &str)]| {
        assert_eq!(faults.len(), expected.len(), "{faults:#?}");
        for (fault, (at, what)) in faults.iter().zip(expected) {
            assert!(fault.at == *at && fault.what.contains(what), "{faults:#?}");
        }
    };
    let expected = [
        ("d.yaml:1:1", "spec.source: expected an object"),
        ("d.yaml:3:1", "references package 'nowhere'"),
        ("d.yaml:4:1", "belongs to deployment `a` (a); rename it, or take it over"),
        ("d.yaml:5:1", "references function 'nobody'"),
    ];
    check(&faults, &expected);

    // What whoever applies could not read is not missed either, and nothing is applied beside it.
    let unread = ["Package", "Function"].into_iter().zip(["nowhere", "nobody"]);
    let unread = unread.map(|(kind, name)| UnreadDocument {
        kind: Some(kind.to_owned()),
        name: Some(name.to_owned()),
    });
    let asked = Apply {
        deployment: owner("b"),
        documents: vec![documents[2].clone(), documents[4].clone()],
        known: Vec::new(),
        unread: unread.collect(),
        base: None,
        form: Form::Versions,
        rest: Rest::Keep,
        others: Others::Refuse,
    };
    let done = folio.apply(&world.caller, &app(), asked, Run::Real).await.unwrap();
    assert!(!done.changed);
    assert_eq!(folio.deployed(&app(), Some("b")).await.unwrap(), []);
}

#[tokio::test]
async fn only_what_would_happen_is_said_without_files() {
    let world = world().await;
    let folio = &world.folio;
    let content =
        |text: &str| ContentRef::Tree { tree: Digest::of(text.as_bytes()), layout: Layout::File };
    let archive = ContentRef::Archive { archive: Digest::of(b"an archive") };
    let here = package(folio, "code", "one").await;
    let asked = |deployment| Apply {
        deployment: owner("a"),
        documents: vec![
            Document { deployment: Some(deployment), ..here.clone() },
            function("foo", "code"),
        ],
        known: Vec::new(),
        unread: Vec::new(),
        base: None,
        form: Form::Versions,
        rest: Rest::Delete,
        others: Others::Refuse,
    };
    let apply = async |asked, run| folio.apply(&world.caller, &app(), asked, run).await;
    for awaited in [content("not here"), archive] {
        let dry = apply(asked(awaited), Run::Dry).await.unwrap();
        let expected =
            [(Kind::Package, "code", Outcome::Created), (Kind::Function, "foo", Outcome::Created)];
        assert_eq!(changed(&dry.result), expected);
        let refused = apply(asked(awaited), Run::Real).await.unwrap_err();
        assert_eq!(refused.code().0, "missing_blob");
    }
    assert_eq!(folio.deployed(&app(), None).await.unwrap(), []);
}

#[tokio::test]
async fn what_a_manifest_names_is_in_its_own_namespace() {
    let world = world().await;
    let code = package(&world.folio, "code", "one").await;
    let manifest = |namespace: &str| {
        json!({ "kind": "Function", "metadata": { "name": "foo" }, "spec": {
        "environment": { "name": "nodejs", "namespace": namespace },
        "package": { "packageref": { "name": "code", "namespace": namespace } },
    } })
    };
    let other = vec![code.clone(), document("1", manifest("other"))];
    let Err(Error::Faults(faults)) = apply(&world, "a", other).await else { panic!("it strays") };
    let expected = [
        "spec.environment.namespace: it is in namespace `other`, and nothing outside app `default` can \
         be named; leave it out, or use --force-namespace",
        "spec.package.packageref.namespace: it is in namespace `other`, and nothing outside app \
         `default` can be named; leave it out, or use --force-namespace",
    ];
    assert_eq!(faults.iter().map(|fault| fault.what.as_str()).collect::<Vec<_>>(), expected);
    for own in ["", "default"] {
        apply(&world, "a", vec![code.clone(), document("1", manifest(own))]).await.unwrap();
    }
}

#[tokio::test]
async fn fields_nobody_knows_are_told_of_by_name() {
    let world = world().await;
    let mut code = package(&world.folio, "code", "one").await;
    code.manifest["spec"]["weather"] = "fine".into();
    let mut foo = function("foo", "code");
    foo.manifest["spec"]["package"]["colour"] = 7.into();
    let prod = alias("prod", json!({ "functionName": "foo", "mood": "good" }));
    let remarks = apply(&world, "a", vec![code, foo, prod]).await.unwrap().result.remarks;
    let expected = [
        "alias `foo@prod`: unknown field spec.mood is kept",
        "function `foo`: unknown field spec.package.colour is kept",
        "package `code`: unknown field spec.weather is kept",
    ];
    assert_eq!(remarks, expected);
    let (kind, name) = (Kind::Package, "code".parse().unwrap());
    let kept = world.folio.show(&UnitKey { app: app(), kind, name }).await;
    assert!(format!("{kept:?}").contains("weather"), "{kept:?}");
    let kept = said(&world).await.expect("something is said about it");
    assert!(kept.annotations[ASKED].contains(r#""mood":"good""#), "{kept:?}");
}

/// What is said about the alias `prod` of `foo`.
async fn said(world: &World) -> Option<Marks> {
    let (foo, prod) = ("foo".parse().unwrap(), "prod".parse().unwrap());
    let object = identity::function_alias(&app(), &foo, &prod);
    let pointer = Pointer::Marks { app: app(), object };
    match world.folio.places(vec![pointer]).await.unwrap().remove(0) {
        Some((Place::Marks(marks), _)) => Some(*marks),
        _ => None,
    }
}

#[tokio::test]
async fn what_a_manifest_says_of_an_alias_is_kept_as_long_as_the_alias_is_there() {
    let world = world().await;
    let folio = &world.folio;
    let with = |mood: Option<&'static str>| async move {
        let mut prod = alias("prod", json!({ "functionName": "foo" }));
        if let Some(mood) = mood {
            prod.manifest["spec"]["mood"] = mood.into();
            prod.manifest["metadata"]["labels"] = json!({ "team": "a" });
        }
        vec![package(folio, "code", "one").await, function("foo", "code"), prod]
    };
    apply(&world, "a", with(None).await).await.unwrap();
    assert_eq!(said(&world).await, None, "the alias says all of it");
    let only = apply(&world, "a", with(Some("good")).await).await.unwrap();
    assert_eq!((only.changed, only.app_version), (true, None));
    assert_eq!(only.result.pointers.len(), 1, "{:?}", only.result);
    let good = said(&world).await.unwrap();
    assert_eq!(good.labels["team"], "a");
    assert!(good.annotations[ASKED].contains("good"));
    let again = apply(&world, "a", with(Some("good")).await).await.unwrap();
    assert_eq!((again.changed, again.result.unchanged), (false, 3));

    let (key, prod) = (crate::world::function("foo"), "prod".parse().unwrap());
    folio.delete_alias(&world.caller, (&key, &prod), Expect::Present).await.unwrap();
    assert_eq!(said(&world).await, None, "another of that name is not that one");
    folio.undo(&world.caller, &app(), None).await.unwrap();
    assert_eq!(said(&world).await, Some(good));
}

#[tokio::test]
async fn what_is_wrong_names_the_field_in_the_words_of_its_manifest() {
    let world = world().await;
    let mut lost = function("foo", "nowhere");
    lost.manifest["spec"]["environment"]["name"] = "cobol".into();
    lost.manifest["spec"]["configmaps"] = json!([{ "name": "settings" }]);
    let bar = json!({ "apiVersion": "folio.dev/v1", "kind": "Function", "metadata": { "name": "bar" },
        "spec": { "environment": "nodejs", "package": { "name": "nowhere" } } });
    let timer = json!({ "kind": "TimeTrigger", "metadata": { "name": "t" }, "spec": {
        "cron": "never", "functionref": { "type": "name", "name": "baz" } } });
    let documents = vec![
        lost,
        document("bar", bar),
        document("t", timer),
        route("r", "/r", "baz"),
        alias("prod", json!({ "functionName": "baz" })),
        alias("half", json!({ "functionName": "baz", "weight": 50 })),
        route("r", "/s", "foo"),
    ];
    let wrong = apply(&world, "a", documents).await;
    let Err(Error::Faults(faults)) = wrong else { panic!("{wrong:?}") };
    let mut found: Vec<_> =
        faults.iter().map(|fault| (fault.at.as_str(), fault.path.as_str())).collect();
    found.sort_unstable();
    let expected = [
        ("bar", "spec.package.name"),
        ("foo", "spec.configmaps"),
        ("foo", "spec.environment.name"),
        ("foo", "spec.package.packageref.name"),
        ("half", "spec.weight"),
        ("prod", "spec.functionName"),
        ("r", "metadata.name"),
        ("r", "spec.functionref.name"),
        ("t", "spec.cron"),
        ("t", "spec.functionref.name"),
    ];
    assert_eq!(found, expected, "{faults:#?}");
}

#[tokio::test]
async fn an_apply_is_taken_back_as_one() {
    let world = world().await;
    let folio = &world.folio;
    let code = package(folio, "code", "one").await;
    apply(&world, "a", vec![function("foo", "code"), code.clone()]).await.unwrap();
    let before = folio.deployed(&app(), None).await.unwrap();
    apply(&world, "a", vec![code]).await.unwrap();
    folio.undo(&world.caller, &app(), None).await.unwrap();
    assert_eq!(folio.deployed(&app(), None).await.unwrap(), before);
    folio.undo(&world.caller, &app(), None).await.unwrap();
    assert_eq!(folio.deployed(&app(), None).await.unwrap(), []);
}

fn route(name: &str, path: &str, function: &str) -> Document {
    let manifest = json!({ "kind": "HTTPTrigger", "metadata": { "name": name }, "spec": {
        "relativeurl": path, "methods": ["GET"],
        "functionref": { "type": "name", "name": function },
    } });
    document(name, manifest)
}

/// What an app is: the digest of every function, package and trigger.
async fn page(folio: &Folio, name: &str, path: &str) -> Document {
    let manifest = json!({ "apiVersion": "folio.dev/v1", "kind": "StaticAsset",
        "metadata": { "name": name }, "spec": { "path": path } });
    let content = sample::file(folio, "index.html", "hello").await;
    Document { deployment: Some(content), ..document(name, manifest) }
}

async fn content(world: &World, at: Moment) -> Vec<(Kind, String, Digest)> {
    let app = world.folio.app_at(&app(), at).await.unwrap();
    app.units.into_iter().map(|unit| (unit.kind, unit.name.to_string(), unit.digest)).collect()
}

#[tokio::test]
async fn a_rollback_makes_the_whole_app_what_it_was_as_one_entry() {
    let world = world().await;
    let folio = &world.folio;
    let first = vec![
        package(folio, "code", "one").await,
        package(folio, "gone", "gone").await,
        function("foo", "code"),
        function("bar", "gone"),
        route("r", "/r", "foo"),
    ];
    let first = apply(&world, "a", first).await.unwrap().result.id.unwrap();
    let second = vec![
        package(folio, "code", "two").await,
        package(folio, "late", "late").await,
        function("foo", "code"),
        function("later", "late"),
        route("r", "/elsewhere", "foo"),
        route("s", "/r", "later"),
        page(folio, "site", "/").await,
    ];
    let second = apply(&world, "a", second).await.unwrap().result.id.unwrap();
    let was = content(&world, Moment::Id(first.clone())).await;

    let to = Moment::Id(first.clone());
    let dry = folio.roll_back_group(&world.caller, &app(), to.clone(), Run::Dry).await.unwrap();
    assert_eq!((dry.changed, dry.result.units.len()), (false, 7), "{:?}", dry.result);
    let back = folio.roll_back_group(&world.caller, &app(), to.clone(), Run::Real).await.unwrap();
    let expected = [
        (Kind::Package, "code", Outcome::Updated),
        (Kind::Package, "gone", Outcome::Created),
        (Kind::Function, "bar", Outcome::Created),
        (Kind::Function, "foo", Outcome::Updated),
        (Kind::Trigger, "r", Outcome::Updated),
        (Kind::Trigger, "s", Outcome::Deleted),
        (Kind::Static, "site", Outcome::Deleted),
    ];
    assert_eq!(changed(&back.result), expected);
    assert_eq!(
        back.result.remarks,
        ["function `later` came later and stays", "package `late` came later and stays"]
    );
    let owned = folio.deployed(&app(), Some("a")).await.unwrap();
    let names =
        |kind| owned.iter().filter(move |unit| unit.kind == kind).map(|unit| unit.name.as_str());
    assert_eq!(
        names(Kind::Function).collect::<Vec<_>>(),
        ["bar", "foo", "later"],
        "what is made again, too"
    );
    assert_eq!(names(Kind::Trigger).collect::<Vec<_>>(), ["r"]);
    let now: Vec<_> = content(&world, Moment::Now).await;
    let now: Vec<_> =
        now.into_iter().filter(|(_, name, _)| name != "late" && name != "later").collect();
    assert_eq!(now, was);
    let again = folio.roll_back_group(&world.caller, &app(), to, Run::Real).await.unwrap();
    assert_eq!((again.changed, again.entry), (false, None));

    // It is one entry, so it is taken back as one, and forward is a rollback too.
    folio.undo(&world.caller, &app(), None).await.unwrap();
    let undone = content(&world, Moment::Now).await;
    assert_eq!(undone, content(&world, Moment::Id(second)).await);
}

#[tokio::test]
async fn a_rollback_to_nowhere_is_refused() {
    let world = world().await;
    let documents = vec![package(&world.folio, "code", "one").await, function("foo", "code")];
    apply(&world, "a", documents).await.unwrap();
    let nowhere = Moment::Id("nowhere".parse().unwrap());
    let refused = world.folio.roll_back_group(&world.caller, &app(), nowhere, Run::Real).await;
    assert_eq!(crate::world::refused(refused).0, "app_version_not_found");
}

#[tokio::test]
async fn a_rollback_of_a_route_to_what_is_gone_changes_nothing() {
    let world = world().await;
    let folio = &world.folio;
    let documents = |path: &'static str| async move {
        vec![
            package(folio, "code", "one").await,
            function("foo", "code"),
            route("r", path, "foo@gone"),
        ]
    };
    let refused = apply(&world, "a", documents("/r").await).await;
    assert!(matches!(refused, Err(Error::Faults(_))), "an alias that is not there");
    let mut plain = documents("/r").await;
    plain[2] = route("r", "/r", "foo");
    let first = apply(&world, "a", plain).await.unwrap().result.id.unwrap();
    world.point("foo", "stable", first.as_str()).await;
    let mut pinned = documents("/r").await;
    pinned[2] = route("r", "/r", "foo@stable");
    let second = apply(&world, "a", pinned).await.unwrap().result.id.unwrap();
    let mut moved = documents("/r").await;
    moved[2] = route("r", "/r", "foo");
    apply(&world, "a", moved).await.unwrap();
    let key = crate::world::function("foo");
    let pointer = (&key, &"stable".parse().unwrap());
    folio.delete_alias(&world.caller, pointer, Expect::Present).await.unwrap();
    let before = content(&world, Moment::Now).await;
    let back = folio.roll_back_group(&world.caller, &app(), Moment::Id(second), Run::Real).await;
    assert!(matches!(&back, Err(Error::Faults(faults)) if faults.len() == 1), "{back:?}");
    assert_eq!(content(&world, Moment::Now).await, before);
}

fn alias(name: &str, spec: Value) -> Document {
    document(name, json!({ "kind": "FunctionAlias", "metadata": { "name": name }, "spec": spec }))
}

async fn shares(world: &World, name: &str) -> Vec<(u64, u32)> {
    let aliases = world.folio.aliases(&crate::world::function(name)).await.unwrap();
    let targets = aliases.iter().flat_map(|alias| &alias.targets);
    targets.map(|target| (target.number.get(), target.weight)).collect()
}

#[tokio::test]
async fn an_alias_in_a_manifest_points_where_it_says_after_the_apply() {
    let world = world().await;
    let folio = &world.folio;
    let with = |code: &'static str, spec: Value| async move {
        vec![package(folio, "code", code).await, function("foo", "code"), alias("prod", spec)]
    };
    let latest = json!({ "functionName": "foo" });
    let first = apply(&world, "a", with("one", latest.clone()).await).await.unwrap();
    assert_eq!(first.result.pointers.len(), 1);
    assert_eq!(shares(&world, "foo").await, [(1, 10_000)]);
    let id = first.result.id.unwrap();
    apply(&world, "a", with("two", latest.clone()).await).await.unwrap();
    assert_eq!(shares(&world, "foo").await, [(2, 10_000)]);
    let again = apply(&world, "a", with("two", latest).await).await.unwrap();
    assert!(!again.changed);
    let split = json!({
        "functionName": "foo", "version": format!("foo-{id}"), "weight": 70,
        "secondaryVersion": "latest",
    });
    let moved = apply(&world, "a", with("two", split).await).await.unwrap();
    assert_eq!((moved.app_version, moved.result.units), (None, vec![]), "only a pointer moved");
    assert_eq!(shares(&world, "foo").await, [(1, 7_000), (2, 3_000)]);
    for (spec, why) in [
        (json!({ "functionName": "foo", "version": "v9" }), "`v9` doesn't exist"),
        (json!({ "functionName": "bar" }), "function 'bar', which doesn't exist"),
        (json!({ "functionName": "foo", "packageDigest": "sha256:00" }), "no version has code"),
        (json!({ "functionName": "foo", "secondaryVersion": "2" }), "cannot be both"),
    ] {
        let wrong = apply(&world, "a", with("two", spec).await).await;
        let Err(Error::Faults(faults)) = wrong else { panic!("{wrong:?}") };
        assert!(faults[0].what.contains(why), "{faults:?}");
    }
    assert_eq!(shares(&world, "foo").await, [(1, 7_000), (2, 3_000)]);
    let mut twice = with("two", json!({ "functionName": "foo" })).await;
    let again = alias("prod", json!({ "functionName": "foo" }));
    twice.push(Document { at: "z.yaml:9:1".to_owned(), ..again });
    let Err(Error::Faults(faults)) = apply(&world, "a", twice).await else { panic!("it is taken") };
    assert_eq!(faults[0].at, "z.yaml:9:1");
    assert_eq!(faults[0].what, "Duplicate alias 'prod' of 'foo', first defined in prod");
}

#[tokio::test]
async fn a_canary_in_a_manifest_is_started_once_and_goes_with_its_deployment() {
    let world = world().await;
    let folio = &world.folio;
    let both = json!({ "kind": "HTTPTrigger", "metadata": { "name": "r" }, "spec": {
        "relativeurl": "/r", "methods": ["GET"],
        "functionref": { "type": "function-weights", "functionweights": { "foo": 100, "bar": 0 } },
    } });
    let canary = |step: u32, new: &str| {
        document(
            "c",
            json!({ "kind": "CanaryConfig", "metadata": { "name": "c" }, "spec": {
            "trigger": "r", "oldfunction": "foo", "newfunction": new, "weightincrement": step,
            "duration": "1m", "failurethreshold": 10,
        } }),
        )
    };
    let units = || async {
        let code = package(folio, "code", "one").await;
        vec![code, function("foo", "code"), function("bar", "code"), document("r", both.clone())]
    };
    let with = |canary: Document| async {
        let mut documents = units().await;
        documents.push(canary);
        apply(&world, "a", documents).await
    };
    let route_shares = || async {
        let route = folio.show_route(&app(), &"r".parse().unwrap()).await.unwrap();
        let weight = |target: &folio_model::Target| (target.function.to_string(), target.weight);
        let mut shares: Vec<_> = route.spec.targets.iter().map(weight).collect();
        shares.sort();
        shares.into_iter().map(|(_, weight)| weight).collect::<Vec<_>>()
    };
    let name = "c".parse().unwrap();
    with(canary(20, "bar")).await.unwrap();
    assert_eq!(route_shares().await, [2_000, 8_000]);
    assert!(!with(canary(20, "bar")).await.unwrap().changed, "it goes on by itself");
    with(canary(30, "bar")).await.unwrap();
    assert_eq!(route_shares().await, [3_000, 7_000], "another canary starts anew");
    let wrong = with(canary(30, "baz")).await;
    assert!(matches!(&wrong, Err(Error::Faults(faults)) if faults.len() == 1), "{wrong:?}");
    let same = with(canary(30, "foo")).await;
    let Err(Error::Faults(faults)) = same else { panic!("{same:?}") };
    assert_eq!(faults[0].what, "canary 'c': `foo` cannot replace itself");
    let gone = apply(&world, "a", units().await).await.unwrap();
    assert_eq!(gone.result.pointers.len(), 1);
    assert_eq!(route_shares().await, [3_000, 7_000]);
    assert!(folio.show_canary(&app(), &name).await.is_err());
}

#[tokio::test]
async fn weights_that_are_not_all_of_it_are_said_to_be() {
    let world = world().await;
    let route = json!({ "kind": "HTTPTrigger", "metadata": { "name": "r" }, "spec": {
        "relativeurl": "/r", "methods": ["GET"],
        "functionref": { "type": "function-weights", "functionweights": { "foo": 60, "bar": 30 } },
    } });
    let wrong = apply(&world, "a", vec![document("r", route)]).await;
    let Err(Error::Faults(faults)) = wrong else { panic!("{wrong:?}") };
    assert!(faults[0].what.ends_with("that sum to 100, found a sum of 90"), "{faults:?}");
}

#[tokio::test]
async fn a_timer_that_never_comes_is_said_with_the_rest() {
    let world = world().await;
    let timer = |cron: &str| {
        document(
            cron,
            json!({ "kind": "TimeTrigger", "metadata": { "name": "t" }, "spec": {
            "cron": cron, "functionref": { "type": "name", "name": "foo" },
        } }),
        )
    };
    let code = package(&world.folio, "code", "one").await;
    let wrong = apply(&world, "a", vec![code.clone(), function("foo", "code"), timer("often")]);
    let wrong = wrong.await;
    let Err(Error::Faults(faults)) = wrong else { panic!("{wrong:?}") };
    assert!(faults[0].what.contains("no cron expression"), "{faults:?}");
    let right = vec![code, function("foo", "code"), timer("@every 5m")];
    assert_eq!(apply(&world, "a", right).await.unwrap().result.units.len(), 3);
}

#[tokio::test]
async fn a_trigger_may_name_an_alias_that_the_same_apply_makes() {
    let world = world().await;
    let folio = &world.folio;
    let with = |name: &'static str| async move {
        vec![
            package(folio, "code", "one").await,
            function("foo", "code"),
            alias("prod", json!({ "functionName": "foo" })),
            route("r", "/r", name),
        ]
    };
    let wrong = apply(&world, "a", with("foo@test").await).await;
    let Err(Error::Faults(faults)) = wrong else { panic!("{wrong:?}") };
    assert!(faults[0].what.contains("leads nowhere"), "{faults:?}");
    apply(&world, "a", with("foo@prod").await).await.unwrap();
    let route = folio.show_route(&app(), &"r".parse().unwrap()).await.unwrap();
    assert_eq!(route.spec.targets[0].function.to_string(), "foo@prod");
    assert!(!apply(&world, "a", with("foo@prod").await).await.unwrap().changed);
}

#[tokio::test]
async fn what_goes_with_a_unit_is_said() {
    let world = world().await;
    let folio = &world.folio;
    let documents = vec![package(folio, "code", "one").await, function("foo", "code")];
    let id = apply(&world, "a", documents).await.unwrap().result.id.unwrap();
    world.publish(&crate::world::function("foo"), request(world.code("two").await)).await.unwrap();
    world.point("foo", "mine", id.as_str()).await;
    let gone = apply(&world, "a", vec![]).await.unwrap().result;
    let versions: Vec<_> = gone.units.iter().map(|unit| (unit.kind, unit.versions)).collect();
    assert_eq!(versions, [(Kind::Function, 2), (Kind::Package, 1)]);
    let pointers: Vec<_> = gone.pointers.iter().map(|it| (it.name.as_str(), it.what)).collect();
    assert_eq!(pointers, [("foo@mine", Outcome::Deleted)]);
}

#[tokio::test]
async fn an_alias_of_a_function_that_is_being_built_waits_and_is_not_said_to_be_made() {
    let world = world().await;
    let folio = &world.folio;
    let source = sample::file(folio, "main.js", "one").await;
    let manifest = json!({ "kind": "Package", "metadata": { "name": "code" },
        "spec": { "environment": { "name": "nodejs" }, "buildcmd": "./build.sh" } });
    let built = Document { source: Some(source), ..document("code", manifest) };
    let prod = alias("prod", json!({ "functionName": "foo" }));
    let done = apply(&world, "a", vec![built, function("foo", "code"), prod]).await.unwrap();
    assert_eq!(done.result.pointers, []);
    let waiting: Vec<_> = done.result.waiting.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(waiting, ["foo@prod"]);
    assert!(done.result.remarks[0].contains("until foo is built"), "{:?}", done.result.remarks);
}

#[tokio::test]
async fn an_alias_of_what_is_only_a_draft_waits_for_a_version() {
    let world = world().await;
    let folio = &world.folio;
    let documents = vec![
        package(folio, "code", "one").await,
        function("foo", "code"),
        alias("prod", json!({ "functionName": "foo" })),
    ];
    let drafts = Apply { form: Form::Drafts, ..asking("a", documents.clone()) };
    let done = folio.apply(&world.caller, &app(), drafts, Run::Real).await.unwrap();
    assert_eq!((done.result.units.len(), done.result.pointers.len()), (2, 0));
    assert!(
        done.result.remarks[0].contains("until foo has a version"),
        "{:?}",
        done.result.remarks
    );
    let versions = apply(&world, "a", documents).await.unwrap().result;
    assert_eq!(versions.pointers.len(), 1);
}

#[tokio::test]
async fn an_alias_of_another_deployments_function_is_left_to_it() {
    let world = world().await;
    let folio = &world.folio;
    let documents = vec![package(folio, "code", "one").await, function("foo", "code")];
    apply(&world, "a", documents).await.unwrap();
    let prod = || vec![alias("prod", json!({ "functionName": "foo" }))];
    let refused = apply(&world, "b", prod()).await;
    let Err(Error::Foreign { faults, .. }) = refused else { panic!("{refused:?}") };
    assert!(faults[0].what.contains("`foo`, which belongs to deployment `a`"), "{faults:?}");
    assert_eq!(shares(&world, "foo").await, []);
    let adopting = Apply { others: Others::Adopt, ..asking("b", prod()) };
    folio.apply(&world.caller, &app(), adopting, Run::Real).await.unwrap();
    assert_eq!(shares(&world, "foo").await, [(1, 10_000)]);
}

#[tokio::test]
async fn what_was_kept_back_is_released_with_a_pointer_that_moves() {
    let world = world().await;
    let folio = &world.folio;
    let documents = |weight: u32| async move {
        let split = json!({
            "functionName": "foo", "version": "1", "weight": weight, "secondaryVersion": "2",
        });
        let code = package(folio, "code", "two").await;
        vec![code, function("foo", "code"), alias("prod", split)]
    };
    let code = package(folio, "code", "one").await;
    apply(&world, "a", vec![code, function("foo", "code")]).await.unwrap();
    let code = package(folio, "code", "two").await;
    let held = Caller { releasing: Releasing::Hold, ..world.caller.clone() };
    let asked = asking("a", vec![code, function("foo", "code")]);
    let kept = folio.apply(&held, &app(), asked, Run::Real).await.unwrap().result.id.unwrap();
    let done = apply(&world, "a", documents(90).await).await.unwrap().result;
    assert_eq!((done.pointers.len(), done.late), (1, Some(Late::Released(kept))));
    let entry = folio.log(&app(), None, 1).await.unwrap().pop().unwrap();
    assert!(
        entry.entry.message.starts_with("apply a; release app version"),
        "{}",
        entry.entry.message
    );
    let done = apply(&world, "a", documents(80).await).await.unwrap().result;
    assert_eq!((done.pointers.len(), done.late), (1, None));
}
