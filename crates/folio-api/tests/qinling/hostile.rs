//! What nobody should send. The answer is always one the client can read, and nothing is changed.

use super::face::Face;

const PATHS: [&str; 9] = [
    "/runtimes",
    "/functions",
    "/aliases",
    "/executions",
    "/jobs",
    "/webhooks",
    "/functions/9b0d3f6a-0000-4000-8000-000000000000/versions",
    "/functions/9b0d3f6a-0000-4000-8000-000000000000/scale_up",
    "/executions/9b0d3f6a-0000-4000-8000-000000000000/log",
];

#[tokio::test]
async fn bad_bodies_are_client_errors_everywhere() {
    let face = Face::new().await;
    let before = face.world.entries();
    let deep = "[".repeat(100_000);
    let bodies = [
        "",
        "{",
        "null",
        "[]",
        "7",
        "\"x\"",
        "{\"a\": 1}",
        "{\"function_id\": 7}",
        "{\"function_id\": \"x\"}",
        "{\"name\": {}}",
        "{\"image\": []}",
        "{\"count\": -1}",
        "\u{0}",
        "{\"pattern\": {}, \"function_id\": null}",
        &deep,
    ];
    for path in PATHS {
        for body in &bodies {
            for method in ["POST", "PUT"] {
                let said = face.call(method, path, body).await;
                assert!(
                    (400..500).contains(&said.status),
                    "{method} {path} {body:.40}: {}",
                    said.status
                );
            }
        }
    }
    assert_eq!(face.world.entries(), before, "nothing was changed");
}

#[tokio::test]
async fn unknown_paths_and_methods_are_said_as_json() {
    let face = Face::new().await;
    for path in
        ["/nobody", "/functions/x/y/z", "/jobs/a/b", "/runtimes/a/b/c", "/%ff", "/aliases/a/b"]
    {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            let said = face.call(method, path, "{}").await;
            assert!([404, 405, 400].contains(&said.status), "{method} {path}: {}", said.status);
        }
    }
    for path in PATHS {
        assert_eq!(face.call("PATCH", path, "{}").await.status, 405, "{path}");
    }
}

#[tokio::test]
async fn nobody_comes_in_without_a_token() {
    let face = Face::new().await;
    for token in [None, Some("notused"), Some("folio_0123456789ab_00")] {
        let mut request = axum::http::Request::builder().uri("/v1/functions");
        if let Some(token) = token {
            request = request.header("x-auth-token", token);
        }
        let said = face.send(request.body(axum::body::Body::empty()).unwrap()).await;
        said.refused(401, "token");
    }
}

#[tokio::test]
async fn refusals_have_the_shape_that_the_call_always_had() {
    let face = Face::new().await;
    let nobody = "9b0d3f6a-0000-4000-8000-000000000000";
    let check = async |method: &str, path: &str, fields: &[&str]| {
        let said = face.call(method, &path.replace("ID", nobody), "{").await.json();
        let mut found: Vec<_> = said.as_object().unwrap().keys().map(String::as_str).collect();
        found.sort_unstable();
        assert_eq!(found, fields, "{method} {path}");
    };
    let (full, brief) = (["debuginfo", "faultcode", "faultstring"], ["faultstring"]);
    check("POST", "/functions", &brief).await;
    check("GET", "/functions/ID", &brief).await;
    check("PUT", "/functions/ID", &brief).await;
    check("DELETE", "/functions/ID", &full).await;
    check("GET", "/functions/ID/versions/1", &brief).await;
    check("DELETE", "/functions/ID/versions/1", &full).await;
    check("GET", "/executions/ID/log", &brief).await;
    check("GET", "/executions/ID", &full).await;
    check("POST", "/webhooks/ID/invoke", &brief).await;
    check("POST", "/jobs", &full).await;
}
