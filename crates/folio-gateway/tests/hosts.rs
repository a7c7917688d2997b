//! Whose request it is.

use folio_core::route::RouteFields;

use crate::world::{World, caller, exact, prefix};

async fn world() -> World {
    let world = World::new().await;
    world.publish("own", "v1").await;
    world.route(prefix("/"), "echo").await;
    let own = RouteFields { host: Some("shop.example".to_owned()), ..RouteFields::default() };
    world.route_with(exact("/own"), "own", own).await;
    world
}

fn get(path: &str, host: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

#[tokio::test]
async fn addresses_localhost_and_the_domain_are_the_default_app() {
    let world = world().await;
    let mut client = world.client().await;
    let address = world.address.to_string();
    for host in [
        "localhost",
        "LOCALHOST:80",
        "127.0.0.1",
        "[::1]:9",
        "d.test",
        "D.test.",
        "default.d.test",
        &address,
    ] {
        assert_eq!(client.ask(get("/", host)).await.told("version"), "echo@v1", "{host}");
    }
}

#[tokio::test]
async fn other_hosts_are_nobodys() {
    let world = world().await;
    let mut client = world.client().await;
    for host in ["shop.d.test", "example.com", "d.test.example.com", "xd.test", "a.b.c.d.test"] {
        let answer = client.ask(get("/", host)).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "host_not_found"), "{host}");
    }
    for host in ["default.v1.d.test", "v1--default.d.test"] {
        let answer = client.ask(get("/", host)).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "release_not_found"), "{host}");
    }
}

#[tokio::test]
async fn a_routes_own_host_comes_first() {
    let world = world().await;
    let mut client = world.client().await;
    assert_eq!(client.ask(get("/own", "Shop.Example:80")).await.told("version"), "own@v1");
    assert_eq!(client.ask(get("/own", "localhost")).await.told("version"), "echo@v1");
    assert_eq!(client.ask(get("/other", "shop.example")).await.told("version"), "echo@v1");
}

#[tokio::test]
async fn malformed_and_missing_hosts_are_refused() {
    let world = world().await;
    for host in [
        "",
        "user@localhost",
        "local host",
        "localhost:",
        "localhost:x",
        "a..d.test",
        "127.1",
        "d.test/x",
    ] {
        let answer = world.client().await.ask(get("/", host)).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "bad_request"), "{host:?}");
    }
    let none = world.client().await.ask("GET / HTTP/1.1\r\n\r\n").await;
    assert_eq!((none.status, none.code().as_str()), (400, "bad_request"));
}

#[tokio::test]
async fn all_that_names_a_host_has_to_agree() {
    let world = world().await;
    let mut client = world.client().await;
    let agreed = client.ask("GET http://D.TEST/x HTTP/1.1\r\nHost: d.test\r\n\r\n").await;
    assert_eq!(agreed.told("original"), serde_json::Value::Null);
    for bytes in [
        "GET http://d.test/ HTTP/1.1\r\nHost: shop.example\r\n\r\n",
        "GET http://d.test/ HTTP/1.1\r\n\r\n",
        "GET http://user@d.test/ HTTP/1.1\r\nHost: d.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: d.test\r\nHost: d.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: d.test\r\nhost: shop.example\r\n\r\n",
        "CONNECT d.test:80 HTTP/1.1\r\nHost: d.test:80\r\n\r\n",
    ] {
        let answer = world.client().await.ask(bytes).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "bad_request"), "{bytes}");
    }
}

#[tokio::test]
async fn a_domain_is_the_apps_own_host_from_the_call_that_adds_it_on() {
    let world = world().await;
    let mut client = world.client().await;
    let ask = async |client: &mut crate::client::Client, host: &str| {
        let answer = client.ask(get("/x", host)).await;
        match answer.status {
            200 => answer.told("version").to_string(),
            status => format!("{status} {}", answer.code()),
        }
    };
    assert_eq!(ask(&mut client, "www.example.com").await, "404 host_not_found");
    let (app, domain) = ("default".parse().unwrap(), "www.example.com".parse().unwrap());
    world.folio.add_domain(&caller(), &app, &domain).await.unwrap();
    for host in ["www.example.com", "WWW.Example.com.:8080"] {
        assert_eq!(ask(&mut client, host).await, "\"echo@v1\"", "{host}");
    }
    for host in ["example.com", "a.www.example.com", "v1--www.example.com"] {
        assert_eq!(ask(&mut client, host).await, "404 host_not_found", "{host}");
    }
    let named = "GET /x HTTP/1.1\r\nHost: www.example.com\r\nFolio-Release: nobody\r\n\r\n";
    assert_eq!(client.ask(named).await.code(), "release_not_found");
    world.folio.remove_domain(&caller(), &app, &domain).await.unwrap();
    assert_eq!(ask(&mut client, "www.example.com").await, "404 host_not_found");
}

#[tokio::test]
async fn a_domain_of_an_app_without_a_release_says_so() {
    let world = world().await;
    let (app, domain) = ("shop".parse().unwrap(), "shop.test".parse().unwrap());
    world.folio.create_app(&caller(), &app).await.unwrap();
    world.folio.add_domain(&caller(), &app, &domain).await.unwrap();
    let answer = world.client().await.ask(get("/", "shop.test")).await;
    assert_eq!((answer.status, answer.code().as_str()), (404, "no_live_release"));
}
