//! Environments: made, changed, deleted, and frozen into what is published in them.

use folio_core::environment::EnvironmentFields;
use folio_core::request::{Onto, Publish, Start};
use folio_core::serving::Meaning;
use folio_model::{EnvironmentSpec, Kind, Network, RuntimeKind, Snapshot, UnitKey};

use crate::runtime::{reference, running};
use crate::world::{World, app, function, refused, request, world};

fn environment(name: &str) -> UnitKey {
    UnitKey { app: app(), kind: Kind::Environment, name: name.parse().unwrap() }
}

async fn set(
    world: &World,
    name: &str,
    onto: Onto,
    fields: EnvironmentFields,
) -> Result<(bool, EnvironmentSpec), folio_core::environment::Error> {
    let key = environment(name);
    let done = world.folio.set_environment(&world.caller, &key, fields, (onto, None)).await?;
    Ok((done.changed, done.result.spec))
}

fn image(image: &str) -> EnvironmentFields {
    EnvironmentFields { image: Some(image.to_owned()), ..EnvironmentFields::default() }
}

fn network(network: Network) -> EnvironmentFields {
    EnvironmentFields { network: Some(network), ..EnvironmentFields::default() }
}

/// The environment that a version of `hello` froze.
async fn frozen(world: &World, at: &str) -> EnvironmentSpec {
    let slot = world.folio.slot(&app(), &reference(at)).await.unwrap();
    match &**slot.load() {
        Meaning::Versions(split) => split.sole().unwrap().spec.clone(),
        Meaning::Nothing(unresolved) => panic!("{unresolved}"),
    }
}

#[tokio::test]
async fn the_runtimes_are_there_from_the_start() {
    let world = world().await;
    let found = world.folio.environments(&app()).await.unwrap();
    let names: Vec<_> = found.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["binary", "nodejs", "python", "wasm"]);
    assert!(found.iter().all(|one| one.built_in && one.revision == 0));
}

#[tokio::test]
async fn an_image_says_which_runtime_is_meant() {
    let world = world().await;
    let (_, spec) =
        set(&world, "web", Onto::Nothing, image("ghcr.io/fission/python-fastapi-env:1"))
            .await
            .unwrap();
    assert_eq!(spec.runtime, RuntimeKind::Python);
    assert_eq!(spec.image.as_deref(), Some("ghcr.io/fission/python-fastapi-env:1"));
    let unknown = set(&world, "odd", Onto::Nothing, image("library/postgres")).await;
    assert_eq!(refused(unknown).0, "image_unknown");
    let command = Some("server --port 8888".to_owned());
    let fields = EnvironmentFields { command, ..image("library/postgres") };
    let (_, spec) = set(&world, "odd", Onto::Nothing, fields).await.unwrap();
    assert_eq!(spec.runtime, RuntimeKind::Command);
    let nothing = set(&world, "none", Onto::Nothing, EnvironmentFields::default()).await;
    assert_eq!(refused(nothing).0, "runtime_required");
}

#[tokio::test]
async fn an_update_changes_what_is_given_and_makes_a_version() {
    let world = world().await;
    set(&world, "web", Onto::Nothing, image("fission/node-env")).await.unwrap();
    assert_eq!(
        refused(set(&world, "web", Onto::Nothing, image("fission/node-env")).await).0,
        "unit_exists"
    );
    let (changed, spec) =
        set(&world, "web", Onto::Existing, network(Network::Egress)).await.unwrap();
    assert!(changed);
    assert_eq!(spec.image.as_deref(), Some("fission/node-env"));
    let (changed, _) = set(&world, "web", Onto::Existing, network(Network::Egress)).await.unwrap();
    assert!(!changed);
    let shown = world.folio.show_environment(&environment("web")).await.unwrap();
    assert_eq!(shown.version.unwrap().number.get(), 2);
    let absent = set(&world, "nope", Onto::Existing, network(Network::Egress)).await;
    assert_eq!(refused(absent).0, "environment_not_found");
}

#[tokio::test]
async fn an_unknown_environment_is_refused_with_those_there_are() {
    let world = world().await;
    set(&world, "web", Onto::Nothing, image("fission/node-env")).await.unwrap();
    let mut fields = world.code("one").await;
    fields.environment = Some("go".parse().unwrap());
    let error = world.publish(&function("hello"), request(fields)).await.unwrap_err();
    assert_eq!(error.to_string(), "environment `go` does not exist");
    let hint = folio_core::Explain::hint(&error).unwrap();
    assert!(hint.starts_with("there are binary, nodejs, python, wasm, web;"), "{hint}");
}

#[tokio::test]
async fn a_version_keeps_the_environment_it_was_published_in() {
    let running = running().await;
    let world = &running.world;
    set(world, "web", Onto::Nothing, image("fission/node-env")).await.unwrap();
    let mut fields = world.code("one").await;
    fields.environment = Some("web".parse().unwrap());
    world.publish(&function("hello"), request(fields)).await.unwrap();
    set(world, "web", Onto::Existing, network(Network::Egress)).await.unwrap();
    assert_eq!(frozen(world, "hello@1").await.network, Network::None);
    let again =
        || Publish { start: Start::Latest, ..request(folio_core::request::Fields::default()) };
    world.publish(&function("hello"), again()).await.unwrap();
    assert_eq!(frozen(world, "hello@2").await.network, Network::Egress);
    world.folio.delete_environment(&world.caller, &environment("web"), None).await.unwrap();
    assert_eq!(frozen(world, "hello@1").await.network, Network::None);
    // What is gone stays what was frozen of it.
    world.publish(&function("hello"), again()).await.unwrap();
    assert_eq!(frozen(world, "hello@3").await.network, Network::Egress);
    let gone = world.folio.delete_environment(&world.caller, &environment("web"), None).await;
    assert_eq!(refused(gone).0, "environment_not_found");
    let built_in = world.folio.delete_environment(&world.caller, &environment("wasm"), None).await;
    assert_eq!(refused(built_in).0, "environment_built_in");
}

#[tokio::test]
async fn a_draft_is_published_with_the_environment_it_was_tried_in() {
    let running = running().await;
    let world = &running.world;
    set(world, "web", Onto::Nothing, image("fission/node-env")).await.unwrap();
    let mut fields = world.code("one").await;
    fields.environment = Some("web".parse().unwrap());
    let key = function("hello");
    world.folio.set_draft(&world.caller, &key, fields, (Onto::Nothing, None)).await.unwrap();
    set(world, "web", Onto::Existing, network(Network::Egress)).await.unwrap();
    let drafted = frozen(world, "hello@draft").await;
    world.publish(&key, request(folio_core::request::Fields::default())).await.unwrap();
    assert_eq!(frozen(world, "hello@1").await, drafted);
}

#[tokio::test]
async fn an_environment_of_a_built_in_name_takes_its_place() {
    let running = running().await;
    let world = &running.world;
    set(world, "nodejs", Onto::Existing, network(Network::Egress)).await.unwrap();
    world.version(&function("hello"), "one", "v1").await;
    assert_eq!(frozen(world, "hello@1").await.network, Network::Egress);
    let listed = world.folio.environments(&app()).await.unwrap();
    assert_eq!(listed.iter().filter(|one| one.name.as_str() == "nodejs").count(), 1);
}

#[tokio::test]
async fn environments_are_neither_drafted_nor_deleted_version_by_version() {
    let world = world().await;
    set(&world, "web", Onto::Nothing, image("fission/node-env")).await.unwrap();
    let fields = world.code("one").await;
    let published = world.publish(&environment("web"), request(fields)).await;
    assert_eq!(refused(published).0, "not_drafted");
    let which = folio_core::request::Which::All;
    let deleted =
        world.folio.delete_versions(&world.caller, &environment("web"), which, None).await;
    assert_eq!(refused(deleted).0, "versions_kept");
}

#[tokio::test]
async fn a_built_in_environment_is_frozen_too() {
    let world = world().await;
    let version = world.version(&function("hello"), "one", "v1").await;
    let Snapshot::Function(spec) = version.spec else { panic!("a function") };
    let built_in = Snapshot::Environment(EnvironmentSpec::built_in("nodejs").unwrap());
    assert_eq!(spec.environment_snapshot, Some(built_in.digest()));
}
