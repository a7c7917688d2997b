//! Who gets in.

use folio_core::Caller;
use folio_core::token::NewToken;
use folio_model::{Actor, AppName, Grant, Right, Role};

use crate::client::{APP, World};
use crate::contract::operations;

#[tokio::test]
async fn without_a_token_only_two_things_are_served() {
    let world = World::memory().await;
    for (method, template) in operations() {
        let path = template.replace("{kind}", "functions").replace(['{', '}'], "");
        let reply = world.call(&method.to_uppercase(), &path).anonymous().send().await;
        match template.as_str() {
            "/healthz" | "/folio/v1" => assert_eq!(reply.status, 200),
            _ => {
                reply.refused(401, "token_missing");
                assert_eq!(reply.header("www-authenticate"), "Bearer");
            }
        }
    }
}

#[tokio::test]
async fn what_is_not_our_token_is_refused_alike() {
    let world = World::memory().await;
    let right = world.token.clone();
    let (id, _) = right.rsplit_once('_').unwrap();
    let wrong_secret = format!("{id}_{}", "0".repeat(48));
    let header = |value: &str| {
        let call = world.call("GET", &format!("{APP}/log")).anonymous();
        call.header("authorization", value).send()
    };
    header(&format!("Bearer {right}")).await.ok();
    header(&format!("bearer {right}")).await.ok();
    let odd = [
        format!("Bearer {wrong_secret}"),
        format!("Bearer folio_{}_{}", "0".repeat(12), "0".repeat(48)),
        format!("Bearer {right}0"),
        format!("Bearer {}", &right[1..]),
        format!("Basic {right}"),
        format!("Bearer {}", "x".repeat(10_000)),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        right,
        String::new(),
    ];
    for value in odd {
        let error = header(&value).await.refused(401, "token_invalid");
        assert_eq!(error["message"], "the token is not valid here");
    }
}

#[tokio::test]
async fn two_tokens_in_one_request_are_none() {
    let world = World::memory().await;
    let call = world.call("GET", &format!("{APP}/log"));
    let value = format!("Bearer {}", world.token);
    call.header("authorization", &value).send().await.refused(401, "token_invalid");
}

#[tokio::test]
async fn who_asks_is_asked_before_anything_else_is_read() {
    let world = World::memory().await;
    let call = world.call("POST", &format!("{APP}/functions")).anonymous();
    call.body("not json").send().await.refused(401, "token_missing");
    let call = world.call("GET", &format!("{APP}/no kind").replace(' ', "%20")).anonymous();
    call.send().await.refused(401, "token_missing");
}

/// Whether someone may use an operation on an app, as the documentation tells it.
fn may(grant: &Grant, (method, path): (&str, &str), app: &str) -> bool {
    let usual = if method == "get" { Right::View } else { Right::Deploy };
    let app: AppName = app.parse().unwrap();
    match (method, path) {
        ("get", "/healthz" | "/folio/v1" | "/folio/v1/self") => true,
        (_, "/metrics" | "/folio/v1/status") => grant.allows(Right::View, None),
        ("post", "/folio/v1/apps") | (_, "/folio/v1/apps/{app}/plan") => {
            grant.allows(Right::Administer, None)
        }
        (_, path) if path.starts_with("/folio/v1/storage") => grant.allows(Right::Administer, None),
        (_, path) if path.starts_with("/folio/v1/tokens") => grant.role.has(Right::Administer),
        (_, path) if path.starts_with("/folio/v1/blobs") => grant.role.has(Right::Deploy),
        ("delete", "/folio/v1/apps/{app}") => grant.allows(Right::Administer, Some(&app)),
        ("post", "/folio/v1/apps/{app}/invoke" | "/folio/v1/apps/{app}/executions") => {
            grant.allows(Right::Invoke, Some(&app))
        }
        // A question whose text is long.
        ("post", "/folio/v1/apps/{app}/secrets/check") => grant.allows(Right::View, Some(&app)),
        (_, path) if path.contains("{app}") => grant.allows(usual, Some(&app)),
        _ => grant.role.has(usual),
    }
}

#[tokio::test]
async fn every_operation_asks_for_its_right() {
    let world = World::memory().await;
    let caller = Caller::new("ada".parse::<Actor>().unwrap());
    world.folio.create_app(&caller, &"shop".parse().unwrap()).await.unwrap();
    let before = world.entries() + 8;
    for (role, own) in Role::ALL.into_iter().flat_map(|role| [(role, None), (role, Some("shop"))]) {
        let grant = Grant { role, app: own.map(|app| app.parse().unwrap()) };
        let new =
            NewToken { actor: "grace".parse().unwrap(), grant: grant.clone(), valid_for: None };
        let (token, _) = world.folio.create_token(&caller, new).await.unwrap();
        let token = format!("Bearer {}", token.reveal());
        for (method, template) in operations() {
            // What exists and what does not are refused alike.
            for app in ["shop", "default", "missing"] {
                let path = template.replace("{app}", app).replace("{kind}", "functions");
                let call = world.call(&method.to_uppercase(), &path.replace(['{', '}'], ""));
                let call = call.anonymous().header("authorization", &token);
                // Nothing else is right about the request, so whoever may is told something else.
                let reply = call.body("not json").send().await;
                let may = may(&grant, (&method, &template), app);
                let context = format!("{role} of {own:?}: {method} {path}: {}", reply.status);
                assert_eq!(reply.status != 403, may, "{context}");
            }
        }
    }
    assert_eq!(world.entries(), before, "nothing but the tokens was written");
}
