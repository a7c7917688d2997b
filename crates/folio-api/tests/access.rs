//! Who gets in.

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
