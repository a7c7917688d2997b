//! What nobody should send. The answer is always one the client can read, and nothing is changed.

use serde_json::{Value, json};

use super::face::{Face, id, zip};

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

/// Everything that there is one of: its path and the fields that a change of it reads.
async fn everything(face: &Face) -> Vec<(String, Vec<&'static str>)> {
    let function = face.function("def main(): return 1").await;
    face.publish(&function).await;
    let at = format!("/functions/{function}");
    let runtime = face.get(&at).await.with(200)["runtime_id"].as_str().unwrap().to_owned();
    let alias = json!({ "name": "prod", "function_id": function, "function_version": 1 });
    face.post("/aliases", alias).await.with(201);
    let job = json!({ "function_alias": "prod", "pattern": "0 0 * * *" });
    let job = face.post("/jobs", job).await.with(201);
    let hook = face.post("/webhooks", json!({ "function_id": function })).await.with(201);
    let mut job_fields = vec!["name", "function_input", "status", "pattern", "function_id"];
    job_fields.extend(["first_execution_time", "next_execution_time", "count", "id"]);
    let runtime_fields = vec!["name", "description", "image", "is_public", "trusted"];
    vec![
        (format!("{at}/versions/1"), vec!["description"]),
        (format!("/runtimes/{runtime}"), runtime_fields),
        (
            "/aliases/prod".to_owned(),
            vec!["name", "function_id", "function_version", "description"],
        ),
        (format!("/jobs/{}", id(&job)), job_fields),
        (
            format!("/webhooks/{}", id(&hook)),
            vec!["function_id", "function_version", "function_alias", "description"],
        ),
        (at, vec!["name", "description", "entry", "code", "cpu", "memory_size", "timeout"]),
    ]
}

#[tokio::test]
async fn what_is_there_is_not_changed_by_what_makes_no_sense() {
    let face = Face::new().await;
    let everything = everything(&face).await;
    let before = face.world.entries();
    let deep = "[".repeat(100_000);
    for (path, fields) in &everything {
        let seen = face.get(path).await.with(200);
        for body in ["{", "[]", "7", "\"x\"", "null", "\u{0}", &deep] {
            let said = face.call("PUT", path, body).await;
            assert_eq!(said.status, 400, "{path} {body:.40}");
        }
        let is_function = path.starts_with("/functions/") && !path.contains("versions");
        for field in fields {
            for odd in [json!({ "a": [] }), json!([1]), json!(true), json!(-1.5), json!("\u{0}?")] {
                // Code may say more than is known of it.
                if *field == "code" && odd.is_object() {
                    continue;
                }
                // A text that is one may say anything, and so may one that cannot be changed.
                let texts =
                    ["name", "description", "entry", "function_input", "first_execution_time"];
                if texts.contains(field) && odd.is_string() {
                    continue;
                }
                if ["is_public", "trusted"].contains(field) && odd.is_boolean() {
                    continue;
                }
                let said = face.put(path, json!({ (*field): odd })).await;
                let text = String::from_utf8_lossy(&said.bytes);
                assert!([400, 404].contains(&said.status), "{path} {field} {odd}: {text}");
            }
            let nothing = face.put(path, json!({ (*field): null })).await.with(200);
            assert_eq!(nothing, seen, "{path} {field}: null means not given");
        }
        if !is_function {
            let said = face.put(path, json!({ "colour": 1 })).await;
            said.refused(400, "Unknown attribute for argument");
            face.call("PUT", path, "").await.refused(400, "Missing argument");
        }
        assert_eq!(face.get(path).await.with(200), seen, "{path}");
        for method in ["POST", "PATCH"] {
            let said = face.call(method, path, "{}").await;
            assert_eq!(said.status, 405, "{method} {path}");
        }
    }
    assert_eq!(face.world.entries(), before, "nothing was changed");
    for (path, _) in &everything {
        let unknown = path.replace(|c: char| c.is_ascii_digit(), "x");
        if unknown == *path {
            continue;
        }
        for method in ["GET", "PUT", "DELETE"] {
            let said = face.call(method, &unknown, "{}").await;
            assert!([400, 404].contains(&said.status), "{method} {unknown}: {}", said.status);
        }
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_it_is_read_to_its_end() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let before = face.world.entries();
    let huge = "x".repeat(53 * 1024 * 1024);
    let at = format!("/functions/{function}");
    for (method, path) in [("POST", "/functions"), ("PUT", &*at), ("POST", "/executions")] {
        face.call(method, path, &huge).await.refused(413, "The request body is too large.");
    }
    let package = vec![0; 53 * 1024 * 1024];
    let said = face.form(("PUT", &at), &[("source", "package")], Some(&package)).await;
    said.refused(413, "The request body is too large.");
    let limit = usize::try_from(face.world.folio.limits().execution_input_bytes_max).unwrap();
    let input = "y".repeat(limit + 1);
    let refuse = async |path: &str, body: Value| {
        let said = face.post(path, body).await;
        assert!([400, 413].contains(&said.status), "{path}: {}", said.status);
    };
    refuse("/executions", json!({ "function_id": function, "input": input })).await;
    let job = json!({ "function_id": function, "pattern": "0 0 * * *", "function_input": input });
    refuse("/jobs", job).await;
    let limit = usize::try_from(face.world.folio.limits().text_bytes_max).unwrap();
    let long = "z".repeat(limit + 1);
    refuse("/webhooks", json!({ "function_id": function, "description": long })).await;
    let alias = json!({ "name": "prod", "function_id": function, "description": long });
    refuse("/aliases", alias).await;
    refuse("/aliases", json!({ "name": long, "function_id": function })).await;
    assert_eq!(face.world.entries(), before, "nothing was changed");
    let hook = face.post("/webhooks", json!({ "function_id": function })).await.with(201);
    let invoke = format!("/webhooks/{}/invoke", id(&hook));
    face.call("POST", &invoke, &format!("{{\"a\": \"{input}\"}}")).await.refused(413, "too large");
    assert_eq!(face.get("/executions").await.with(200)["executions"], json!([]));
    // As much as is allowed is.
    let most = zip(&format!("# {}", "y".repeat(1024 * 1024)));
    face.form(("PUT", &at), &[("source", "package")], Some(&most)).await.with(200);
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

#[tokio::test]
async fn names_and_descriptions_have_an_end() {
    let face = Face::new().await;
    let (everything, runtime) = (everything(&face).await, face.runtime().await);
    let before = face.world.entries();
    let long = "x".repeat(5000);
    for (path, fields) in &everything {
        for field in fields.iter().filter(|field| ["name", "description"].contains(field)) {
            // The name of an alias is not changed.
            if path.starts_with("/aliases") && *field == "name" {
                continue;
            }
            face.put(path, json!({ (*field): long })).await.refused(400, "4096");
        }
    }
    for field in ["name", "description"] {
        let new = json!({ "image": "python", (field): long });
        face.post("/runtimes", new).await.refused(400, "4096");
        let code = "{\"source\": \"package\"}";
        let fields = [("code", code), ("runtime_id", &runtime), (field, &long)];
        let package = zip("def main(): return 1");
        face.form(("POST", "/functions"), &fields, Some(&package)).await.refused(400, "4096");
    }
    assert_eq!(face.world.entries(), before, "nothing was changed");
}

#[tokio::test]
async fn versions_that_cannot_be_are_not_there() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    face.publish(&function).await;
    let at = format!("/functions/{function}");
    for number in ["-1", "-9223372036854775808", "99"] {
        let text = format!("version_number={number}]");
        face.get(&format!("{at}/versions/{number}")).await.refused(404, &text);
        face.delete(&format!("{at}/versions/{number}")).await.refused(404, &text);
        let workers = format!("{at}/workers?function_version={number}");
        face.get(&workers).await.refused(404, &text);
    }
    let scale = format!("{at}/versions/1/scale_up");
    face.post(&scale, json!({ "count": 99_999_999_999_u64 })).await.refused(400, "holds so many");
}
