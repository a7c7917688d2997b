//! Facts about applying a deployment.

use folio_core::Folio;
use folio_core::apply::{Applied, Apply, Document, Error, Form, Others, Outcome, Rest, Run};
use folio_core::view::Done;
use folio_model::{Kind, Owner};
use folio_testkit::sample;
use serde_json::{Value, json};

use crate::world::{World, app, world};

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
    let (form, rest, others) = (Form::Versions, Rest::Delete, Others::Refuse);
    let apply = Apply { deployment: owner(uid), documents, form, rest, others };
    world.folio.apply(&world.caller, &app(), apply, Run::Real).await
}

fn changed(applied: &Applied) -> Vec<(Kind, &str, Outcome)> {
    applied.units.iter().map(|unit| (unit.kind, unit.name.as_str(), unit.what)).collect()
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
        (Kind::Function, "foo", Outcome::Updated),
        (Kind::Function, "bar", Outcome::Updated),
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

    let documents = vec![function("foo", "code"), code];
    let (form, rest, others) = (Form::Versions, Rest::Delete, Others::Adopt);
    let adopt = Apply { deployment: owner("b"), documents, form, rest, others };
    let adopted = folio.apply(&world.caller, &app(), adopt, Run::Real).await.unwrap();
    assert!(adopted.changed);
    assert_eq!(folio.deployed(&app(), Some("b")).await.unwrap().len(), 2);
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
