//! URLs that clients are told: as they name the server themselves, or as whoever serves says.

use folio_core::Settings;
use serde_json::json;

use super::face::{Face, id};

#[tokio::test]
async fn webhooks_are_found_at_the_public_address_if_there_is_one() {
    let public_url = Some("https://functions.example/folio".to_owned());
    let face = Face::with(Settings { public_url, ..Settings::default() }).await;
    let function = face.function("def main(): return 1").await;
    let hook = face.post("/webhooks", json!({ "function_id": function })).await.with(201);
    let url = format!("https://functions.example/folio/v1/webhooks/{}/invoke", id(&hook));
    assert_eq!(hook["webhook_url"], url);
    let at = format!("/webhooks/{}", id(&hook));
    assert_eq!(face.get(&at).await.with(200)["webhook_url"], url);
    assert_eq!(face.get("/webhooks").await.with(200)["webhooks"][0]["webhook_url"], url);
    let said = face.put(&at, json!({ "description": "d" })).await.with(200);
    assert_eq!(said["webhook_url"], url);
}
