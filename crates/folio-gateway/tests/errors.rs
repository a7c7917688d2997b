//! What a client hears when there is no answer.

use folio_model::AppName;

use crate::world::{World, exact};

#[tokio::test]
async fn every_failure_has_its_status_and_code() {
    let world = World::new().await;
    let mut client = world.client().await;
    for (function, status, code) in [
        ("load", 502, "function_load_failed"),
        ("failed", 500, "function_failed"),
        ("timeout", 504, "function_timeout"),
        ("crashed", 502, "function_crashed"),
        ("garbled", 502, "function_garbled"),
        ("busy", 429, "function_busy"),
        ("full", 503, "server_full"),
        ("loop", 508, "call_loop"),
        ("unavailable", 503, "environment_unavailable"),
        ("stopping", 503, "server_stopping"),
        ("early", 502, "function_garbled"),
        ("switch", 502, "function_garbled"),
    ] {
        world.publish(function, "v1").await;
        world.route(exact(&format!("/{function}")), function).await;
        let answer = client.get(&format!("/{function}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{function}");
        assert_eq!(answer.header("folio-version"), Some(&*format!("{function}@v1")));
        assert_eq!(
            answer.header("retry-after").is_some(),
            matches!(status, 429 | 503),
            "{function}"
        );
        assert!(!String::from_utf8_lossy(&answer.body).contains("secret"), "{answer:?}");
    }
}

#[tokio::test]
async fn what_code_cannot_say_itself_is_in_its_log_under_the_request() {
    let world = World::new().await;
    let mut client = world.client().await;
    for (function, said) in [
        ("load", true),
        ("crashed", true),
        ("garbled", true),
        ("timeout", true),
        ("unavailable", true),
        ("failed", false),
        ("busy", false),
    ] {
        world.publish(function, "v1").await;
        world.route(exact(&format!("/{function}")), function).await;
        let answer = client.get(&format!("/{function}")).await;
        let (app, name) = (AppName::default_app(), function.parse().unwrap());
        let lines = world.folio.function_logs(&app, &name, 0, None).await.unwrap().lines;
        let requests: Vec<_> = lines.iter().filter_map(|line| line.request.as_deref()).collect();
        let expected: Vec<_> =
            answer.header("folio-request-id").filter(|_| said).into_iter().collect();
        assert_eq!(requests, expected, "{function}: {lines:?}");
    }
}

#[tokio::test]
async fn browsers_get_a_page() {
    let world = World::new().await;
    let request = "GET /none HTTP/1.1\r\nHost: localhost\r\nAccept: text/html,*/*\r\n\r\n";
    let answer = world.client().await.ask(request).await;
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let body = String::from_utf8(answer.body.clone()).unwrap();
    assert!(
        body.contains("route_not_found")
            && body.contains(answer.header("folio-request-id").unwrap()),
        "{body}"
    );
}
