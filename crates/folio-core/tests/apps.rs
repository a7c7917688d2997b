//! Apps that go, and what goes with them.

use folio_core::binding::{NewBinding, NewTerms};
use folio_core::request::{AliasTarget, Cascade, Expect};
use folio_model::{AppName, FULL_WEIGHT, UnitKey, Webhook};

use crate::runtime::reference;
use crate::world::{function, id, refused, request, world};

#[tokio::test]
async fn an_app_goes_with_all_that_it_has() {
    let world = world().await;
    let shop: AppName = "shop".parse().unwrap();
    world.folio.create_app(&world.caller, &shop).await.unwrap();
    let key = UnitKey { app: shop.clone(), ..function("hello") };
    for text in ["one", "two"] {
        world.publish(&key, request(world.code(text).await)).await.unwrap();
    }
    let targets = vec![AliasTarget { version: "1".parse().unwrap(), weight: FULL_WEIGHT }];
    let alias = (&key, &id("prod"));
    world.folio.point(&world.caller, alias, targets, Expect::Absent).await.unwrap();
    let to = world.folio.bound_to(&world.caller, &shop, &reference("hello@prod")).await.unwrap();
    let terms = NewTerms::Webhook(Webhook::default());
    let hook = NewBinding { to, name: None, description: None, terms };
    world.folio.bind(&world.caller, &shop, hook).await.unwrap();
    let entries = world.folio.head().borrow().to_owned();
    world.folio.delete_app(&world.caller, &shop, Cascade::Yes).await.unwrap();
    assert_eq!(*world.folio.head().borrow(), entries + 1, "one command is one entry");
    assert_eq!(refused(world.folio.show_app(&shop).await).0, "app_not_found");
    assert_eq!(world.folio.check().await.unwrap(), []);
}
