//! Who may call a function from outside.

use folio_core::request::{Fields, Publish, Start};
use folio_core::token::NewToken;
use folio_model::{Access, Grant, Role, RunSettings};

use crate::client::Answer;
use crate::world::{World, caller, exact, key};

impl World {
    /// Publishes a version with another access.
    async fn open_to(&self, access: Access) {
        let run = RunSettings { access: Some(access), ..RunSettings::default() };
        let fields = Fields { run, ..Fields::default() };
        let request = Publish { start: Start::Latest, ..Publish::fresh(fields) };
        self.folio.publish(&caller(), &key("echo"), request).await.unwrap();
    }

    async fn token(&self, role: Role, app: Option<&str>) -> String {
        let grant = Grant { role, app: app.map(|app| app.parse().unwrap()) };
        let new = NewToken { actor: "grace".parse().unwrap(), grant, valid_for: None };
        self.folio.create_token(&caller(), new).await.unwrap().0.reveal()
    }

    async fn hello(&self, headers: &str) -> Answer {
        let request = format!("GET /hello HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        self.client().await.ask(request).await
    }
}

#[tokio::test]
async fn a_function_for_tokens_lets_in_who_may_call_and_is_told_who() {
    let world = World::new().await;
    world.route(exact("/hello"), "echo").await;
    world.open_to(Access::Token).await;
    let other = "other".parse().unwrap();
    world.folio.create_app(&caller(), &other).await.unwrap();

    let answer = world.hello("").await;
    assert_eq!((answer.status, answer.code().as_str()), (401, "token_missing"));
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    for (role, app, status) in [
        (Role::Invoker, Some("default"), 200),
        (Role::Deployer, None, 200),
        (Role::Viewer, None, 403),
        (Role::Invoker, Some("other"), 403),
    ] {
        let token = world.token(role, app).await;
        let forged = "Folio-Caller: admin\r\n";
        let answer = world.hello(&format!("{forged}Authorization: Bearer {token}\r\n")).await;
        assert_eq!(answer.status, status, "{role} {app:?}");
        if status == 200 {
            let headers = answer.told("headers");
            assert_eq!(headers["folio-caller"], "grace");
            assert!(!headers.to_string().contains(&token), "the function was given the token");
        }
    }
    for odd in ["Basic abc", "Bearer nonsense", "Bearer"] {
        let answer = world.hello(&format!("Authorization: {odd}\r\n")).await;
        assert_eq!(answer.status, 401, "{odd}");
    }
}

#[tokio::test]
async fn an_internal_function_is_closed_from_outside_and_opens_with_its_version() {
    let world = World::new().await;
    world.route(exact("/hello"), "echo").await;
    world.open_to(Access::Internal).await;
    let token = world.token(Role::Admin, None).await;
    let answer = world.hello(&format!("Authorization: Bearer {token}\r\n")).await;
    assert_eq!((answer.status, answer.code().as_str()), (403, "function_internal"));
    world.open_to(Access::Public).await;
    let answer = world.hello("Authorization: Basic of-the-app-itself\r\n").await;
    assert_eq!(answer.told("headers")["authorization"], "Basic of-the-app-itself");
}
