//! Who may do what through this face: the same rights as everywhere, and nothing of another app is shown.

use folio_core::Caller;
use folio_core::token::NewToken;
use folio_model::{Actor, Grant, Right, Role};

use super::*;

#[tokio::test]
async fn every_request_asks_for_its_right() {
    let world = World::memory().await;
    let caller = Caller::new("ada".parse::<Actor>().unwrap());
    world.folio.create_app(&caller, &"shop".parse().unwrap()).await.unwrap();
    for (role, own) in Role::ALL.into_iter().flat_map(|role| [(role, None), (role, Some("shop"))]) {
        let grant = Grant { role, app: own.map(|app| app.parse().unwrap()) };
        let new =
            NewToken { actor: "grace".parse().unwrap(), grant: grant.clone(), valid_for: None };
        let (token, _) = world.folio.create_token(&caller, new).await.unwrap();
        let token = format!("Bearer {}", token.reveal());
        // What exists and what does not are refused alike.
        for app in ["shop", "default", "missing"] {
            let functions = format!("/apis/fission.io/v1/namespaces/{app}/functions");
            let one = format!("{functions}/x");
            let namespace = format!("/api/v1/namespaces/{app}");
            let (here, all) = (Some(app), None);
            for (method, path, right, place) in [
                ("GET", functions.clone(), Right::View, here),
                ("GET", one.clone(), Right::View, here),
                ("POST", functions.clone(), Right::Deploy, here),
                ("PUT", one.clone(), Right::Deploy, here),
                ("PATCH", one.clone(), Right::Deploy, here),
                ("DELETE", one, Right::Deploy, here),
                ("GET", format!("{namespace}/configmaps"), Right::View, here),
                ("GET", format!("{namespace}/secrets"), Right::View, here),
                ("GET", namespace.clone(), Right::View, here),
                ("DELETE", namespace, Right::Administer, here),
                ("GET", "/apis/fission.io/v1/functions".to_owned(), Right::View, all),
                ("GET", "/api/v1/namespaces".to_owned(), Right::View, all),
                ("POST", "/api/v1/namespaces".to_owned(), Right::Administer, all),
            ] {
                let place = place.map(|app| app.parse().unwrap());
                let may = grant.allows(right, place.as_ref());
                let mut asked = request(&world, method, &path, "application/json", "no".to_owned());
                asked.headers_mut().insert("authorization", token.parse().unwrap());
                // A namespace that is deleted is missed by what comes after.
                if may && method == "DELETE" {
                    continue;
                }
                let status = send(&world, asked).await.status;
                assert_eq!(status != 403, may, "{role} of {own:?}: {method} {path}: {status}");
            }
        }
    }
}
