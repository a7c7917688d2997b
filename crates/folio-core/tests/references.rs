//! What references mean.

use folio_model::Kind;

use crate::world::{World, app, function, refused, world};

async fn check(world: &World, reference: &str, expected: &str) {
    let resolved = world
        .folio
        .resolve(&world.caller, &app(), Kind::Function, &reference.parse().unwrap())
        .await;
    let resolved = resolved.unwrap();
    let targets: Vec<_> = resolved.targets.iter().map(|target| target.number.to_string()).collect();
    let what = if resolved.draft { "draft".to_owned() } else { targets.join("+") };
    assert_eq!(format!("{}@{what}", resolved.name), expected, "{reference}");
}

#[tokio::test]
async fn every_form_leads_to_its_version() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1.0.0").await;
    world.version(&function("hello"), "two", "v1.0.1").await;
    world.point("hello", "qa", "v1.0.0").await;
    for (reference, expected) in [
        ("hello", "hello@2"),
        ("hello@1", "hello@1"),
        ("hello@v1.0.0", "hello@1"),
        ("hello@latest", "hello@2"),
        ("hello@qa", "hello@1"),
        ("default/hello@qa", "hello@1"),
        ("hello_v1.0.0", "hello@1"),
        ("hello-v1.0.1", "hello@2"),
        ("hello_qa", "hello@1"),
    ] {
        check(&world, reference, expected).await;
    }
}

#[tokio::test]
async fn a_joined_name_that_means_two_things_is_refused() {
    let world = world().await;
    world.version(&function("a"), "one", "b-c").await;
    world.version(&function("a-b"), "one", "c").await;
    let resolved =
        world.folio.resolve(&world.caller, &app(), Kind::Function, &"a-b-c".parse().unwrap()).await;
    let (code, message) = refused(resolved);
    assert_eq!(code, "ambiguous_reference");
    assert_eq!(message, "`a-b-c` can mean `a@b-c` or `a-b@c`");
}

#[tokio::test]
async fn a_wrong_name_suggests_the_nearest() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1.0.2").await;
    let hint = |reference: &'static str| {
        let world = &world;
        async move {
            let kind = Kind::Function;
            let error =
                world.folio.resolve(&world.caller, &app(), kind, &reference.parse().unwrap()).await;
            folio_core::Explain::hint(&error.unwrap_err()).unwrap()
        }
    };
    assert_eq!(hint("hello@1.0.2").await, "did you mean `v1.0.2`?");
    assert_eq!(hint("helo").await, "did you mean `hello`?");
    assert!(hint("zzz").await.contains("folio function list"));
}
