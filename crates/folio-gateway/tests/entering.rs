//! Who may call a function from outside.

use folio_core::request::{Fields, Publish, Start};
use folio_core::token::NewToken;
use folio_model::{Access, Grant, Right, Role, RunSettings};

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

/// Every access of a function, for everybody: nobody, and every role in this app, in another and in all.
#[tokio::test]
async fn who_gets_in_depends_on_the_access_and_the_role_alone() {
    let world = World::new().await;
    world.route(exact("/hello"), "echo").await;
    world.folio.create_app(&caller(), &"other".parse().unwrap()).await.unwrap();
    let mut tokens = vec![(None, String::new())];
    for role in Role::ALL {
        for app in [None, Some("default"), Some("other")] {
            let token = world.token(role, app).await;
            tokens.push((Some((role, app)), format!("Authorization: Bearer {token}\r\n")));
        }
    }
    for access in [Access::Public, Access::Token, Access::Internal] {
        world.open_to(access).await;
        for (who, header) in &tokens {
            let answer = world.hello(header).await;
            let expected = match (access, who) {
                (Access::Public, _) => 200,
                (Access::Internal, _) => 403,
                (Access::Token, None) => 401,
                (Access::Token, Some((_, Some("other")))) => 403,
                (Access::Token, Some((role, _))) if role.has(Right::Invoke) => 200,
                (Access::Token, Some(_)) => 403,
            };
            assert_eq!(answer.status, expected, "{access:?} for {who:?}");
        }
    }
}
