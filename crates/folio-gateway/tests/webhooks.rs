//! Webhooks at the gateway: open to whoever knows one's id, whatever else they show; of what there is, nobody else learns.

use folio_core::binding::{NewBinding, NewTerms};
use folio_model::{AppName, Webhook};

use crate::client::Answer;
use crate::world::{World, caller};

const NOBODY: &str = "9b0d3f6a-0000-4000-8000-000000000000";

/// The id of a webhook of the function `echo`.
async fn webhook(world: &World) -> String {
    let app: AppName = "default".parse().unwrap();
    let to = world.folio.bound_to(&caller(), &app, &"echo".parse().unwrap()).await.unwrap();
    let terms = NewTerms::Webhook(Webhook::default());
    let new = NewBinding { to, name: None, description: None, terms };
    world.folio.bind(&caller(), &app, new).await.unwrap().result.id.to_string()
}

async fn call(world: &World, line: &str, host: &str, token: Option<&str>) -> Answer {
    let token = token.map_or_else(String::new, |token| format!("Authorization: {token}\r\n"));
    let request = format!("{line} HTTP/1.1\r\nHost: {host}\r\n{token}Content-Length: 0\r\n\r\n");
    world.client().await.ask(request).await
}

#[tokio::test]
async fn whoever_knows_a_webhook_may_call_it_with_any_token_or_none() {
    let world = World::new().await;
    let id = webhook(&world).await;
    let known = format!("Bearer {}", world.folio.draw_token().reveal());
    for token in [None, Some(known.as_str()), Some("Bearer nonsense"), Some("Basic eDp5")] {
        for path in [format!("/_folio/webhooks/{id}"), format!("/_folio/webhooks/{id}/invoke")] {
            let answer = call(&world, &format!("POST {path}"), "localhost", token).await;
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert_eq!(answer.status, 202, "{token:?}: {text}");
            assert!(text.contains("execution_id"), "{text}");
            assert!(!text.contains("echo"), "what runs is nobody's business: {text}");
        }
    }
}

#[tokio::test]
async fn a_webhook_that_is_not_there_is_told_the_same_whoever_asks() {
    let world = World::new().await;
    let id = webhook(&world).await;
    let token = format!("Bearer {}", world.folio.draw_token().reveal());
    let missing = format!("POST /_folio/webhooks/{NOBODY}");
    for token in [None, Some(token.as_str())] {
        let answer = call(&world, &missing, "localhost", token).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "binding_not_found"));
    }
    // A webhook is called; it cannot be read, changed or deleted here, nor asked for by anything but its id.
    for line in [
        format!("GET /_folio/webhooks/{id}"),
        format!("PUT /_folio/webhooks/{id}"),
        format!("DELETE /_folio/webhooks/{id}"),
        "GET /_folio/webhooks/".to_owned(),
        "POST /_folio/webhooks/echo".to_owned(),
        format!("POST /_folio/webhooks/{id}/log"),
    ] {
        let answer = call(&world, &line, "localhost", None).await;
        assert_eq!(answer.status, 404, "{line}");
        let nowhere = call(&world, &line.replace(&id, NOBODY), "localhost", None).await;
        assert_eq!((answer.status, answer.code()), (nowhere.status, nowhere.code()), "{line}");
    }
}
