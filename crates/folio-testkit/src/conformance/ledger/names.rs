//! Facts about configs and secrets: which functions name one, and whether there are secrets at all.

use folio_core::ports::Ledger;
use folio_model::{Edit, FunctionSpec, Kind, MountPin, Snapshot};

use super::world::{
    Named, World, config, draft, function, package, pin, secret, source, succeeded,
};

/// The snapshot of a function that names configs and secrets.
fn naming(package: &Snapshot, configs: Vec<MountPin>, secrets: Vec<MountPin>) -> Snapshot {
    let Snapshot::Function(spec) = function(package) else { unreachable!("it is a function") };
    Snapshot::Function(FunctionSpec { configs, secrets, ..spec })
}

/// The functions that name a config or secret, by name.
async fn namers(world: &World<'_>, unit: &Named) -> Vec<String> {
    let key = unit.key.clone();
    let found = world.look(move |state| state.naming(&key)).await;
    found.iter().map(|unit| unit.key.name.to_string()).collect()
}

/// A config is named by a function's latest version or draft, whatever is published, deleted or restored.
pub async fn a_config_knows_the_functions_that_name_it(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let settings = world.create(Kind::Config, "settings").await;
    let keys = world.create(Kind::Secret, "keys").await;
    world.publish_as(&settings, "c1", config("one"), false).await;
    world.publish_as(&keys, "s1", secret("one"), false).await;
    world.publish_as(&world.create(Kind::Package, "code").await, "p1", package("a"), false).await;
    let (first, second) =
        (world.create(Kind::Function, "b").await, world.create(Kind::Function, "a").await);
    let both = naming(
        &package("a"),
        vec![pin("settings", &config("one"))],
        vec![pin("keys", &secret("one"))],
    );
    let one = world.publish_as(&first, "f1", both.clone(), false).await;
    world.publish_as(&second, "f2", both.clone(), false).await;
    assert_eq!(namers(&world, &settings).await, ["a", "b"]);
    assert_eq!(namers(&world, &keys).await, ["a", "b"]);

    let plain = world.publish_as(&first, "f3", function(&package("a")), false).await;
    assert_eq!(namers(&world, &settings).await, ["a"]);
    world.delete(&first, &plain).await;
    assert_eq!(namers(&world, &settings).await, ["a", "b"]);
    world.must(vec![first.restore(&plain)]).await;
    assert_eq!(namers(&world, &keys).await, ["a"]);

    let drafted = Some(draft(&both));
    let edit = Edit::SetDraft { uid: first.uid, from: None, to: drafted.clone() };
    world.must(vec![edit]).await;
    assert_eq!(namers(&world, &settings).await, ["a", "b"]);
    let gone = Edit::SetDraft { uid: first.uid, from: drafted, to: None };
    world.must(vec![gone, first.delete(&one), first.delete(&plain), first.remove()]).await;
    assert_eq!(namers(&world, &settings).await, ["a"]);

    let elsewhere = World::new(ledger).await;
    let other = elsewhere.create(Kind::Config, "settings").await;
    assert_eq!(namers(&elsewhere, &other).await, Vec::<String>::new());
    let same_name =
        Named { key: folio_model::UnitKey { kind: Kind::Secret, ..settings.key }, ..settings };
    assert_eq!(namers(&world, &same_name).await, Vec::<String>::new());
}

/// The newest version counts while it waits, beside the latest; once it is built, only it does.
pub async fn what_waits_for_a_build_names_too(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let (old, new) =
        (world.create(Kind::Config, "old").await, world.create(Kind::Config, "new").await);
    world.publish_as(&old, "c1", config("one"), false).await;
    world.publish_as(&new, "c2", config("one"), false).await;
    let code = world.create(Kind::Package, "code").await;
    world.publish_as(&code, "p1", package("a"), false).await;
    let recipe = source(&world.app.to_string());
    let unbuilt = Snapshot::Package(recipe.clone());
    world.publish_as(&code, "p2", unbuilt.clone(), true).await;
    let hello = world.create(Kind::Function, "hello").await;
    let naming_one =
        |name, package: &Snapshot| naming(package, vec![pin(name, &config("one"))], Vec::new());
    let ready = naming_one("old", &package("a"));
    world.publish_as(&hello, "f1", ready, false).await;
    world.publish_as(&hello, "f2", naming_one("new", &unbuilt), true).await;
    assert_eq!(namers(&world, &old).await, ["hello"]);
    assert_eq!(namers(&world, &new).await, ["hello"]);
    let key = recipe.build_key().expect("it has source");
    let readies = vec![hello.at(2)];
    let built = Edit::Built { key, from: None, to: succeeded("x"), readies };
    world.must(vec![built]).await;
    assert_eq!(namers(&world, &old).await, Vec::<String>::new());
    assert_eq!(namers(&world, &new).await, ["hello"]);
}

/// Whoever asks for a secret finds one, also after its name was given up: versions may have frozen it.
pub async fn a_secret_is_found_as_long_as_something_may_hold_it(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let keys = world.create(Kind::Secret, "keys").await;
    let version = world.publish_as(&keys, "s1", secret("one"), false).await;
    world.must(vec![keys.delete(&version), keys.remove()]).await;
    let (key, digest) = world.look(|state| state.some_secret()).await.expect("there was one");
    assert_eq!(key.kind, Kind::Secret);
    let found = world.look(move |state| state.snapshot(digest)).await;
    assert!(matches!(found, Some(Snapshot::Secret(_))), "{found:?}");
}
