//! Tokens: what each role may do, and when a token ceases to be one.

use std::time::Duration;

use folio_core::token::{NewToken, Token};
use folio_core::{Caller, Folio};
use folio_model::{Grant, Role};

use crate::world::{World, app, function, refused, request, world};

fn grant(role: Role, app: Option<&str>) -> Grant {
    Grant { role, app: app.map(|app| app.parse().unwrap()) }
}

async fn make(world: &World, grant: Grant, valid_for: Option<Duration>) -> Token {
    let new = NewToken { actor: "grace".parse().unwrap(), grant, valid_for };
    world.folio.create_token(&world.caller, new).await.unwrap().0
}

async fn who(folio: &Folio, token: &Token) -> Caller {
    folio.authenticate(Some(&token.reveal())).await.unwrap()
}

#[tokio::test]
async fn a_change_needs_the_right_in_its_app() {
    let world = world().await;
    let code = world.code("one").await;
    world.folio.create_app(&world.caller, &"other".parse().unwrap()).await.unwrap();
    for (role, app, may) in [
        (Role::Deployer, None, true),
        (Role::Deployer, Some("default"), true),
        (Role::Admin, Some("default"), true),
        (Role::Deployer, Some("other"), false),
        (Role::Viewer, None, false),
        (Role::Invoker, None, false),
    ] {
        let token = make(&world, grant(role, app), None).await;
        let caller = who(&world.folio, &token).await;
        assert_eq!(caller.actor.to_string(), "grace");
        let published =
            world.folio.publish(&caller, &function("hello"), request(code.clone())).await;
        match may {
            true => drop(published.unwrap()),
            false => assert_eq!(refused(published).0, "forbidden"),
        }
    }
}

#[tokio::test]
async fn a_revoked_token_is_none_from_the_next_request_on() {
    let world = world().await;
    let token = make(&world, grant(Role::Viewer, None), None).await;
    who(&world.folio, &token).await;
    let listed = world.folio.tokens(&world.caller).await.unwrap();
    let own = listed.iter().find(|token| token.actor.as_str() == "grace").unwrap();
    world.folio.revoke_token(&world.caller, &own.id).await.unwrap();
    let text = token.reveal();
    assert_eq!(refused(world.folio.authenticate(Some(&text)).await).0, "token_invalid");
    let again = world.folio.revoke_token(&world.caller, &own.id).await;
    assert_eq!(refused(again).0, "token_not_found");
}

#[tokio::test]
async fn somebody_can_always_administer_the_server() {
    let world = world().await;
    let first = world.folio.tokens(&world.caller).await.unwrap()[0].id.clone();
    let passing = Some(Duration::from_secs(60));
    make(&world, grant(Role::Admin, Some("default")), None).await;
    make(&world, grant(Role::Admin, None), passing).await;
    world.clock.jump(61);
    let revoked = world.folio.revoke_token(&world.caller, &first).await;
    assert_eq!(refused(revoked).0, "token_is_last");
    make(&world, grant(Role::Admin, None), None).await;
    world.folio.revoke_token(&world.caller, &first).await.unwrap();
}

#[tokio::test]
async fn a_token_ends_when_its_time_is_over() {
    let world = world().await;
    let token = make(&world, grant(Role::Viewer, None), Some(Duration::from_secs(60))).await;
    who(&world.folio, &token).await;
    world.clock.jump(61);
    let text = token.reveal();
    assert_eq!(refused(world.folio.authenticate(Some(&text)).await).0, "token_expired");
    let none = NewToken {
        actor: "grace".parse().unwrap(),
        grant: grant(Role::Viewer, None),
        valid_for: Some(Duration::ZERO),
    };
    assert_eq!(refused(world.folio.create_token(&world.caller, none).await).0, "bad_request");
}

#[tokio::test]
async fn nobody_gives_out_or_sees_more_than_they_have() {
    let world = world().await;
    let other = "other".parse().unwrap();
    world.folio.create_app(&world.caller, &other).await.unwrap();
    let everywhere = make(&world, grant(Role::Viewer, None), None).await;
    let elsewhere = make(&world, grant(Role::Viewer, Some("other")), None).await;
    let here = make(&world, grant(Role::Admin, Some("default")), None).await;
    let admin = who(&world.folio, &here).await;

    let new = |grant| NewToken { actor: "eve".parse().unwrap(), grant, valid_for: None };
    for asked in
        [grant(Role::Viewer, None), grant(Role::Admin, None), grant(Role::Viewer, Some("other"))]
    {
        assert_eq!(refused(world.folio.create_token(&admin, new(asked)).await).0, "forbidden");
    }
    let own = grant(Role::Admin, Some("default"));
    world.folio.create_token(&admin, new(own.clone())).await.unwrap();
    for name in ["admin", "system"] {
        let as_other = NewToken { actor: name.parse().unwrap(), ..new(own.clone()) };
        let made = world.folio.create_token(&admin, as_other).await;
        assert_eq!(refused(made).0, "token_name_taken", "{name}");
    }
    let seen = world.folio.tokens(&admin).await.unwrap();
    assert!(seen.iter().all(|token| token.terms.grant.app == Some(app())));
    for hidden in [&everywhere, &elsewhere] {
        let text = hidden.reveal();
        let id = text.split('_').nth(1).unwrap();
        assert_eq!(refused(world.folio.revoke_token(&admin, id).await).0, "token_not_found");
    }
    let apps = world.folio.apps(&admin).await.unwrap();
    assert_eq!(apps.len(), 1, "an app's admin sees that app");
    assert_eq!(
        refused(world.folio.create_app(&admin, &"third".parse().unwrap()).await).0,
        "forbidden"
    );
}
