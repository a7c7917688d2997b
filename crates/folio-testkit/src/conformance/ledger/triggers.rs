//! Facts about triggers: which lead to a function, and what they say.

use folio_core::ports::Ledger;
use folio_model::{Kind, Snapshot};

use super::world::{Named, World, environment, route};

/// The triggers that lead to a function, by name.
async fn leading_to(world: &World<'_>, function: &str) -> Vec<String> {
    let (app, function) = (world.app.clone(), function.parse().expect("a name"));
    let found = world.look(move |state| state.triggers_of(&app, &function)).await;
    found.iter().map(|unit| unit.key.name.to_string()).collect()
}

/// The app's triggers as they stand.
async fn standing(world: &World<'_>) -> Vec<(String, Snapshot)> {
    let all = world.look(|state| state.triggers()).await;
    assert!(all.is_sorted_by(|a, b| a.unit.key < b.unit.key), "by app and name, each once");
    let own = all.into_iter().filter(|found| found.unit.key.app == world.app);
    own.map(|found| (found.unit.key.name.to_string(), Snapshot::Trigger(found.spec))).collect()
}

async fn publish(world: &World<'_>, unit: &Named, id: &str, functions: &[&str]) {
    world.publish_as(unit, id, route(functions), false).await;
}

/// A trigger leads to the functions its latest version names, whatever is published, deleted or restored.
pub async fn a_function_knows_the_triggers_that_lead_to_it(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let shop = world.create(Kind::Trigger, "shop").await;
    let admin = world.create(Kind::Trigger, "admin").await;
    assert_eq!(standing(&world).await, []);
    publish(&world, &shop, "t1", &["hello@stable", "hello@2"]).await;
    publish(&world, &admin, "t1", &["other", "hello"]).await;
    assert_eq!(leading_to(&world, "hello").await, ["admin", "shop"]);
    assert_eq!(leading_to(&world, "other").await, ["admin"]);
    let second = world.publish_as(&shop, "t2", route(&["other@1"]), false).await;
    assert_eq!(leading_to(&world, "hello").await, ["admin"]);
    assert_eq!(leading_to(&world, "other").await, ["admin", "shop"]);
    let expected = [("admin", route(&["other", "hello"])), ("shop", route(&["other@1"]))];
    assert_eq!(standing(&world).await, expected.map(|(name, spec)| (name.to_owned(), spec)));

    world.delete(&shop, &second).await;
    assert_eq!(leading_to(&world, "hello").await, ["admin", "shop"]);
    assert_eq!(leading_to(&world, "other").await, ["admin"]);
    world.must(vec![shop.restore(&second)]).await;
    assert_eq!(leading_to(&world, "other").await, ["admin", "shop"]);

    let elsewhere = World::new(ledger).await;
    assert_eq!(leading_to(&elsewhere, "hello").await, Vec::<String>::new());
    assert_eq!(standing(&elsewhere).await, []);
}

/// A trigger that is gone leads nowhere; another may take its name.
pub async fn a_deleted_trigger_leads_nowhere(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let shop = world.create(Kind::Trigger, "shop").await;
    let version = world.publish_as(&shop, "t1", route(&["hello"]), false).await;
    let gone = world.must(vec![shop.delete(&version), shop.remove()]).await;
    assert_eq!(leading_to(&world, "hello").await, Vec::<String>::new());
    assert_eq!(standing(&world).await, []);
    let again = world.create(Kind::Trigger, "shop").await;
    publish(&world, &again, "t1", &["hello"]).await;
    let (app, function) = (world.app.clone(), "hello".parse().expect("a name"));
    let found = world.look(move |state| state.triggers_of(&app, &function)).await;
    let found: Vec<_> = found.iter().map(|unit| (unit.uid, unit.revision > gone.seq)).collect();
    assert_eq!(found, [(again.uid, true)]);
}

/// Environments are units like others, and no trigger.
pub async fn environments_are_versioned_and_listed(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let python = world.create(Kind::Environment, "python").await;
    world.publish_as(&python, "e1", environment("one"), false).await;
    world.publish_as(&python, "e2", environment("two"), false).await;
    let app = world.app.clone();
    let listed = world.look(move |state| state.units(&app, Kind::Environment)).await;
    let listed: Vec<_> = listed.iter().map(|unit| (unit.uid, unit.latest)).collect();
    assert_eq!(listed, [(python.uid, Some(super::world::number(2)))]);
    let digest = environment("two").digest();
    assert_eq!(world.look(move |state| state.snapshot(digest)).await, Some(environment("two")));
    assert_eq!(standing(&world).await, []);
}
