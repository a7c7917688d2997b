//! What makes no sense is refused with the right reason, and nothing is stored.

use super::*;

/// A request, and how it is refused.
type Row<'a> = (&'a str, String, &'a str, String, u16, &'a str);

#[expect(clippy::too_many_lines, reason = "a table is as long as what it lists")]
fn rows() -> Vec<Row<'static>> {
    let functions = format!("{FISSION}/functions");
    let hello = format!("{FISSION}/functions/hello");
    let with = |change: fn(&mut Value)| {
        let mut object = function("new", "code");
        change(&mut object);
        object.to_string()
    };
    let (json, merge, steps, applied) = (
        "application/json",
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/apply-patch+yaml",
    );
    let at = |path: &str, rest: &str| format!("{path}{rest}");
    let text = str::to_owned;
    vec![
        ("POST", functions.clone(), json, text("{"), 400, "BadRequest"),
        ("POST", functions.clone(), json, text("[]"), 400, "BadRequest"),
        ("POST", functions.clone(), "text/plain", text("x"), 415, "UnsupportedMediaType"),
        ("POST", functions.clone(), "application/yaml", text("a: ["), 400, "BadRequest"),
        (
            "POST",
            functions.clone(),
            "application/vnd.kubernetes.protobuf",
            text("k8s"),
            400,
            "BadRequest",
        ),
        (
            "POST",
            functions.clone(),
            json,
            with(|o| o["kind"] = "Package".into()),
            400,
            "BadRequest",
        ),
        (
            "POST",
            functions.clone(),
            json,
            with(|o| o["apiVersion"] = "v1".into()),
            400,
            "BadRequest",
        ),
        (
            "POST",
            functions.clone(),
            json,
            with(|o| o["metadata"]["namespace"] = "x".into()),
            400,
            "BadRequest",
        ),
        (
            "POST",
            functions.clone(),
            json,
            with(|o| o["metadata"]["name"] = Value::Null),
            422,
            "Invalid",
        ),
        (
            "POST",
            functions.clone(),
            json,
            with(|o| o["metadata"]["name"] = "Not A Name".into()),
            422,
            "Invalid",
        ),
        (
            "POST",
            functions.clone(),
            json,
            with(|o| o["metadata"]["labels"] = json!({"a": 1})),
            422,
            "Invalid",
        ),
        (
            "POST",
            functions.clone(),
            json,
            with(|o| o["metadata"]["labels"] = json!({"a": "b c"})),
            422,
            "Invalid",
        ),
        (
            "POST",
            functions.clone(),
            json,
            with(|o| o["metadata"]["resourceVersion"] = "1".into()),
            400,
            "BadRequest",
        ),
        (
            "POST",
            functions.clone(),
            json,
            with(|o| o["spec"]["functionTimeout"] = "x".into()),
            422,
            "Invalid",
        ),
        ("POST", functions.clone(), json, with(|o| o["spec"] = Value::Null), 422, "Invalid"),
        (
            "POST",
            functions.clone(),
            json,
            function("hello", "code").to_string(),
            409,
            "AlreadyExists",
        ),
        ("POST", functions.clone(), json, function("new", "none").to_string(), 422, "Invalid"),
        ("POST", at(&functions, "?dryRun=Some"), json, with(|_| ()), 422, "Invalid"),
        (
            "POST",
            at(&functions, "?fieldValidation=Strict"),
            json,
            with(|o| o["spec"]["x"] = 1.into()),
            400,
            "BadRequest",
        ),
        ("POST", at(&functions, "?fieldValidation=Odd"), json, with(|_| ()), 422, "Invalid"),
        (
            "POST",
            text("/apis/fission.io/v1/namespaces/none/functions"),
            json,
            with(|o| {
                o["metadata"]["namespace"] = "none".into();
                o["spec"]["environment"]["namespace"] = "none".into();
                o["spec"]["package"]["packageref"]["namespace"] = "none".into();
            }),
            404,
            "NotFound",
        ),
        (
            "PUT",
            at(&functions, "/none"),
            json,
            with(|o| o["metadata"]["name"] = "none".into()),
            404,
            "NotFound",
        ),
        ("PUT", hello.clone(), json, with(|_| ()), 400, "BadRequest"),
        ("PATCH", hello.clone(), json, text("{}"), 415, "UnsupportedMediaType"),
        ("PATCH", hello.clone(), merge, text("[]"), 400, "BadRequest"),
        ("PATCH", hello.clone(), merge, text(r#"{"metadata":{"name":"x"}}"#), 400, "BadRequest"),
        (
            "PATCH",
            hello.clone(),
            merge,
            text(r#"{"metadata":{"resourceVersion":"x"}}"#),
            422,
            "Invalid",
        ),
        ("PATCH", hello.clone(), merge, text(r#"{"metadata":{"uid":"x"}}"#), 409, "Conflict"),
        (
            "PATCH",
            hello.clone(),
            merge,
            text(r#"{"spec":{"environment":{"name":"none"}}}"#),
            422,
            "Invalid",
        ),
        ("PATCH", hello.clone(), steps, text("{}"), 400, "BadRequest"),
        (
            "PATCH",
            hello.clone(),
            steps,
            text(r#"[{"op":"remove","path":"/none"}]"#),
            422,
            "Invalid",
        ),
        ("PATCH", hello.clone(), merge, text(r#"{"metadata":5}"#), 422, "Invalid"),
        (
            "PATCH",
            hello.clone(),
            steps,
            text(r#"[{"op":"replace","path":"","value":5}]"#),
            422,
            "Invalid",
        ),
        ("PATCH", hello.clone(), steps, doubling(), 422, "Invalid"),
        ("PATCH", hello.clone(), applied, with(|_| ()), 422, "Invalid"),
        ("PATCH", at(&hello, "?fieldManager="), applied, with(|_| ()), 422, "Invalid"),
        ("PATCH", at(&hello, "?fieldManager=x"), applied, text("a: ["), 400, "BadRequest"),
        (
            "PATCH",
            at(&hello, "?fieldManager=x"),
            applied,
            text("{\"kind\":\"Package\"}"),
            400,
            "BadRequest",
        ),
        ("PATCH", at(&hello, "?force=true"), merge, text("{}"), 422, "Invalid"),
        ("DELETE", at(&functions, "/none"), json, text(""), 404, "NotFound"),
        ("DELETE", hello.clone(), json, text(r#"{"preconditions":{"uid":"x"}}"#), 409, "Conflict"),
        ("DELETE", hello.clone(), json, text(r#"{"dryRun":["Some"]}"#), 422, "Invalid"),
        ("DELETE", hello.clone(), json, text(r#"{"dryRun":"All"}"#), 400, "BadRequest"),
        ("DELETE", hello.clone(), json, text(r#"{"dryRun":[1]}"#), 400, "BadRequest"),
        ("DELETE", hello.clone(), json, text(r#"{"kind":"Pod"}"#), 400, "BadRequest"),
        ("DELETE", hello.clone(), json, text(r#"{"propagationPolicy":"No"}"#), 422, "Invalid"),
        ("GET", at(&functions, "/none"), json, text(""), 404, "NotFound"),
        ("GET", text("/apis/fission.io/v2/functions"), json, text(""), 404, "NotFound"),
        ("GET", text("/apis/none.io/v1/functions"), json, text(""), 404, "NotFound"),
        ("GET", text("/apis/fission.io/v1/nones"), json, text(""), 404, "NotFound"),
        ("GET", at(&functions, "?labelSelector=a%20of%20(b)"), json, text(""), 400, "BadRequest"),
        ("GET", at(&functions, "?fieldSelector=spec.x%3D1"), json, text(""), 400, "BadRequest"),
        ("GET", at(&functions, "?continue=forged"), json, text(""), 400, "BadRequest"),
        ("GET", at(&functions, "?limit=x"), json, text(""), 400, "BadRequest"),
        (
            "GET",
            at(&functions, "?watch=true&resourceVersion=999999"),
            json,
            text(""),
            504,
            "Timeout",
        ),
        ("GET", at(&functions, "?watch=true&resourceVersion=x"), json, text(""), 422, "Invalid"),
        ("GET", at(&functions, "?sendInitialEvents=true"), json, text(""), 422, "Invalid"),
        ("POST", hello.clone(), json, with(|_| ()), 405, "MethodNotAllowed"),
        (
            "POST",
            text("/apis/folio.dev/v1/namespaces/default/releases"),
            json,
            text("{}"),
            405,
            "MethodNotAllowed",
        ),
        ("GET", at(&hello, "/exec"), json, text(""), 404, "NotFound"),
        ("POST", text("/version"), json, text(""), 405, "MethodNotAllowed"),
        (
            "POST",
            text("/api/v1/namespaces"),
            json,
            text(r#"{"metadata":{"name":"A B"}}"#),
            422,
            "Invalid",
        ),
        ("DELETE", text("/api/v1/namespaces/default"), json, text(""), 422, "Invalid"),
    ]
}

/// Questions about oneself, objects for others, and places in a list that make no sense.
#[expect(clippy::too_many_lines, reason = "a table is as long as it has rows")]
fn more_rows() -> Vec<Row<'static>> {
    const REVIEWS: &str = "/apis/authorization.k8s.io/v1";
    let (json, text) = ("application/json", str::to_owned);
    let access = || format!("{REVIEWS}/selfsubjectaccessreviews");
    let rules = || format!("{REVIEWS}/selfsubjectrulesreviews");
    let functions = |query: &str| format!("{FISSION}/functions?{query}");
    let place = |revision: u64, app: &str| {
        let place = json!({ "revision": revision, "app": app, "name": "a" }).to_string();
        let place = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(place);
        functions(&format!("continue={place}"))
    };
    vec![
        ("POST", access(), json, text(""), 400, "BadRequest"),
        ("POST", access(), json, text("[]"), 400, "BadRequest"),
        ("POST", access(), json, text("{}"), 422, "Invalid"),
        ("POST", access(), json, text(r#"{"kind":"Secret"}"#), 400, "BadRequest"),
        ("POST", access(), json, text(r#"{"apiVersion":"v1"}"#), 400, "BadRequest"),
        (
            "POST",
            access(),
            json,
            text(r#"{"spec":{"resourceAttributes":{"verb":1}}}"#),
            400,
            "BadRequest",
        ),
        (
            "POST",
            access(),
            json,
            text(r#"{"spec":{"resourceAttributes":{},"nonResourceAttributes":{}}}"#),
            422,
            "Invalid",
        ),
        ("POST", access(), "text/plain", text("{}"), 415, "UnsupportedMediaType"),
        (
            "POST",
            access(),
            "application/vnd.kubernetes.protobuf",
            text("k8s\0x"),
            400,
            "BadRequest",
        ),
        ("GET", access(), json, text(""), 405, "MethodNotAllowed"),
        ("POST", rules(), json, text("{}"), 422, "Invalid"),
        ("GET", text("/apis/authorization.k8s.io/v2"), json, text(""), 404, "NotFound"),
        ("GET", text("/apis/authorization.k8s.io/v1/x"), json, text(""), 404, "NotFound"),
        ("GET", place(999_999, "default"), json, text(""), 400, "BadRequest"),
        ("GET", place(1, "Not An App"), json, text(""), 400, "BadRequest"),
        ("GET", functions("continue=e30"), json, text(""), 400, "BadRequest"),
        (
            "GET",
            functions("resourceVersion=1&resourceVersionMatch=Odd"),
            json,
            text(""),
            422,
            "Invalid",
        ),
        ("GET", functions("resourceVersionMatch=Exact"), json, text(""), 422, "Invalid"),
        ("GET", functions("resourceVersionMatch=NotOlderThan"), json, text(""), 422, "Invalid"),
        (
            "GET",
            functions("resourceVersion=0&resourceVersionMatch=Exact"),
            json,
            text(""),
            422,
            "Invalid",
        ),
        (
            "GET",
            functions("resourceVersion=1&resourceVersionMatch=Exact&continue=x"),
            json,
            text(""),
            422,
            "Invalid",
        ),
        ("GET", functions("resourceVersion=1&continue=x"), json, text(""), 400, "BadRequest"),
        ("GET", functions("resourceVersion=999999"), json, text(""), 504, "Timeout"),
        (
            "GET",
            functions("watch=true&resourceVersion=1&resourceVersionMatch=NotOlderThan"),
            json,
            text(""),
            422,
            "Invalid",
        ),
        ("GET", functions("watch=true&sendInitialEvents=true"), json, text(""), 422, "Invalid"),
        ("GET", functions("watch=true&sendInitialEvents=false"), json, text(""), 422, "Invalid"),
        (
            "GET",
            functions("watch=true&sendInitialEvents=true&resourceVersionMatch=Exact"),
            json,
            text(""),
            422,
            "Invalid",
        ),
        ("GET", functions("sendInitialEvents=false"), json, text(""), 422, "Invalid"),
        ("GET", functions("labelSelector=a%3D%3Db%3D%3Dc"), json, text(""), 400, "BadRequest"),
        ("GET", functions("labelSelector=-a"), json, text(""), 400, "BadRequest"),
        ("GET", functions("fieldSelector=metadata.name"), json, text(""), 400, "BadRequest"),
        ("GET", functions("labelSelector=%ff"), json, text(""), 400, "BadRequest"),
        ("GET", functions("limit=-1"), json, text(""), 400, "BadRequest"),
        ("GET", functions("watch=perhaps"), json, text(""), 400, "BadRequest"),
        (
            "PATCH",
            format!("{FISSION}/functions/hello?fieldManager={}", "x".repeat(200)),
            "application/merge-patch+json",
            text("{}"),
            422,
            "Invalid",
        ),
        (
            "PATCH",
            format!("{FISSION}/functions/hello"),
            "application/strategic-merge-patch+json",
            text("7"),
            400,
            "BadRequest",
        ),
        (
            "PATCH",
            format!("{FISSION}/functions/hello"),
            "application/json-patch+json",
            text(r#"[{"op":"add"}]"#),
            422,
            "Invalid",
        ),
        (
            "PATCH",
            format!("{FISSION}/functions/hello"),
            "application/cbor",
            text("{}"),
            415,
            "UnsupportedMediaType",
        ),
        ("OPTIONS", functions(""), json, text(""), 405, "MethodNotAllowed"),
    ]
}

/// A small patch that asks for something larger than any memory.
fn doubling() -> String {
    let copy = |at| json!({ "op": "copy", "from": "/spec", "path": format!("/spec/k{at}") });
    Value::from_iter((0..64).map(copy)).to_string()
}

#[tokio::test]
async fn every_refusal_has_its_reason_and_changes_nothing() {
    let world = World::memory().await;
    hello(&world).await;
    let entries = world.entries();
    for (method, path, media, body, code, reason) in rows().into_iter().chain(more_rows()) {
        let shown = format!("{method} {path} {body}");
        let answer = send(&world, request(&world, method, &path, media, body)).await;
        let found = (answer.status, answer.body["reason"].as_str().unwrap_or_default());
        assert_eq!(found, (code, reason), "{shown}: {:#}", answer.body);
        assert_eq!(world.entries(), entries, "{shown}");
    }
}

#[tokio::test]
async fn nobody_is_let_in_without_a_token() {
    let world = World::memory().await;
    for path in
        ["/apis", "/api/v1/namespaces", &format!("{FISSION}/functions"), "/openapi/v3", "/version"]
    {
        let mut asked = request(&world, "GET", path, "", String::new());
        asked.headers_mut().remove("authorization");
        send(&world, asked).await.refused(401, "Unauthorized");
        let mut asked = request(&world, "GET", path, "", String::new());
        asked.headers_mut().insert("authorization", "Bearer wrong".parse().unwrap());
        send(&world, asked).await.refused(401, "Unauthorized");
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let world = World::memory().await;
    let mut object = package("large", "x");
    object["spec"]["deployment"]["literal"] = "A".repeat(13 * 1024 * 1024).into();
    let answer = ask(&world, "POST", &format!("{FISSION}/packages"), object).await;
    answer.refused(413, "RequestEntityTooLarge");
    let mut object = package("large", "x");
    object["metadata"]["annotations"] = json!({"a": "x".repeat(300 * 1024)});
    ask(&world, "POST", &format!("{FISSION}/packages"), object).await.refused(422, "Invalid");
}

#[tokio::test]
async fn what_nobody_remembers_has_expired() {
    let world = World::memory().await;
    hello(&world).await;
    ask(&world, "POST", &format!("{FISSION}/packages"), package("more", "x")).await.ok();
    let first = get(&world, &format!("{FISSION}/packages?limit=1")).await.ok();
    let revision = first["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let place = first["metadata"]["continue"].as_str().unwrap();
    let caller = folio_core::Caller::new("ada".parse().unwrap());
    while world.entries() < 10_100 {
        // A token that is made and revoked again is little work.
        let (actor, grant) = ("grace".parse().unwrap(), folio_model::Grant::default());
        let new = folio_core::token::NewToken { actor, grant, valid_for: None };
        let (_, made) = world.folio.create_token(&caller, new).await.unwrap();
        world.folio.revoke_token(&caller, &made.result.id).await.unwrap();
    }
    get(&world, &format!("{FISSION}/packages?continue={place}")).await.refused(410, "Expired");
    let exact = format!("{FISSION}/packages?resourceVersion={revision}&resourceVersionMatch=Exact");
    get(&world, &exact).await.refused(410, "Expired");
    let old = format!("{FISSION}/functions?watch=true&resourceVersion={revision}");
    get(&world, &old).await.refused(410, "Expired");
    get(&world, &format!("{FISSION}/functions")).await.ok();
}
