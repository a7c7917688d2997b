//! What a Node.js function may look like.

use std::sync::Arc;

use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, CallError};
use folio_model::RuntimeKind;

use super::stage::Stage;
use crate::processes::place::{call, file, get, post};

fn json(path: &str, body: &'static str) -> Call {
    let request = http::Request::post(path).header("content-type", "application/json");
    call(request.body(Body::from(bytes::Bytes::from_static(body.as_bytes()))).unwrap())
}

#[tokio::test]
async fn fissions_signatures_answer() {
    let stage = Stage::new().await;
    let check = async |source: &str, expected: (u16, &str)| {
        let plan = stage.plan("hello.js", source).await;
        let (status, body) = stage.says(&plan, get("/")).await;
        assert_eq!((status, body.as_str()), expected, "{source}");
    };
    check("module.exports = async (context) => ({ status: 201, body: 'async' })", (201, "async"))
        .await;
    check("module.exports = (context) => ({ status: 200, body: 'sync' })", (200, "sync")).await;
    check("module.exports = async () => ({ status: 200, body: 'none' })", (200, "none")).await;
    check(
        "module.exports = (context, callback) => setTimeout(() => callback(202, 'called'), 1)",
        (202, "called"),
    )
    .await;
    check(
        "module.exports = async (context) => ({ status: 200, body: { a: [1] } })",
        (200, "{\"a\":[1]}"),
    )
    .await;
    check("module.exports = async (context) => 'bare'", (200, "bare")).await;
    check(
        "module.exports = async (context) => { context.response.status(203).send('sent') }",
        (203, "sent"),
    )
    .await;
    check(
        "export default async function (context) { return { status: 200, body: 'module' } }",
        (200, "module"),
    )
    .await;
    check("export default async (context) => new Response('web', { status: 206 })", (206, "web"))
        .await;
}

#[tokio::test]
async fn the_request_is_what_express_makes_of_it() {
    let stage = Stage::new().await;
    let source = "module.exports = async ({ request: r }) => ({ status: 200, headers: { 'x-kind': 'k', many: ['1', '2'] }, \
        body: [r.method, r.path, r.url, r.originalUrl, r.query, r.body, r.get('X-Mine'), r.headers['x-mine'], r.params] })";
    let plan = stage.plan("hello.js", source).await;
    let mut asked = json("/a/b?c=d&c=e&f=%20", "{\"n\":1}");
    asked.request.headers_mut().insert("x-mine", "mine".parse().unwrap());
    asked.parameters.push((Arc::from("id"), "ü/\n".to_owned()));
    asked.original = Some("/prefix/a/b".parse().unwrap());
    let answer = stage.call(&plan, asked).await.unwrap();
    assert_eq!(answer.headers()["x-kind"], "k");
    assert_eq!(answer.headers().get_all("many").iter().count(), 2);
    assert_eq!(answer.headers()["content-type"], "application/json; charset=utf-8");
    let body: serde_json::Value =
        serde_json::from_str(&crate::processes::place::text(answer).await).unwrap();
    let expected = serde_json::json!([
        "POST", "/a/b", "/a/b?c=d&c=e&f=%20", "/prefix/a/b", { "c": ["d", "e"], "f": " " },
        { "n": 1 }, "mine", "mine", { "id": "ü/\n" }
    ]);
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_body_is_read_as_its_type_says() {
    let stage = Stage::new().await;
    let source = "module.exports = async ({ request }) => ({ status: 200, \
        body: `${Buffer.isBuffer(request.body)} ${JSON.stringify(request.body)}` })";
    let plan = stage.plan("hello.js", source).await;
    let check = async |kind: &str, body: &'static str, expected: (u16, &str)| {
        let request = http::Request::post("/").header("content-type", kind);
        let body = Body::from(bytes::Bytes::from_static(body.as_bytes()));
        let (status, text) = stage.says(&plan, call(request.body(body).unwrap())).await;
        assert_eq!((status, text.as_str()), expected);
    };
    check("application/json", "", (200, "false {}")).await;
    check("application/json; charset=utf-8", "[\"é\"]", (200, "false [\"é\"]")).await;
    check("application/x-www-form-urlencoded", "a=b+c", (200, "false {\"a\":\"b c\"}")).await;
    check("text/plain", "hi", (200, "false \"hi\"")).await;
    check("image/png", "\u{1}", (200, "true {\"type\":\"Buffer\",\"data\":[1]}")).await;
    let (status, text) = stage.says(&plan, json("/", "{not json")).await;
    assert_eq!(status, 400);
    assert!(text.contains("not JSON"), "{text}");
}

#[tokio::test]
async fn the_web_standard_signature_answers() {
    let stage = Stage::new().await;
    let source = "export default { async fetch(request, env, ctx) { \
        const body = await request.text(); \
        return new Response(`${request.method} ${new URL(request.url).pathname} ${env.MINE} ${body}`, \
            { status: 207, headers: { 'x-a': 'b' } }); } }";
    let mut plan = stage.plan("hello.mjs", source).await;
    plan.variables.insert("MINE".to_owned(), "mine".to_owned());
    let answer = stage.call(&plan, post("/p?q", "the body")).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["x-a"].to_str().unwrap()), (207, "b"));
    assert_eq!(crate::processes::place::text(answer).await, "POST /p mine the body");
    let empty = stage
        .plan("empty.mjs", "export default { fetch: () => new Response(null, { status: 204 }) }")
        .await;
    assert_eq!(stage.says(&empty, get("/")).await, (204, String::new()));
}

#[tokio::test]
async fn entry_points_choose_files_and_exports() {
    let stage = Stage::new().await;
    let files = [
        file(
            "hello.js",
            "module.exports = async () => 'default'; module.exports.named = async () => 'named';",
        ),
        file("lib/deep.js", "exports.inner = async () => require('../hello').named();"),
        file("package.json", "{\"main\": \"hello\"}"),
    ];
    let check = async |entry: Option<&str>, expected: &str| {
        let plan = stage.package(RuntimeKind::Nodejs, &files, entry).await;
        assert_eq!(stage.says(&plan, get("/")).await, (200, expected.to_owned()), "{entry:?}");
    };
    check(None, "default").await;
    check(Some("hello"), "default").await;
    check(Some("hello.js"), "default").await;
    check(Some("hello.named"), "named").await;
    check(Some("named"), "named").await;
    check(Some("lib/deep.inner"), "named").await;
}

#[tokio::test]
async fn code_that_cannot_be_loaded_says_why_in_one_line() {
    let stage = Stage::new().await;
    let check = async |source: &str, entry: Option<&str>, expected: &str| {
        let mut plan = stage.plan("hello.js", source).await;
        plan.entrypoint = entry.map(str::to_owned);
        plan.digest = folio_model::Digest::of(format!("{source}{entry:?}").as_bytes());
        let refused = stage.call(&plan, get("/")).await.unwrap_err();
        let CallError::Load(why) = &refused else { panic!("{refused:?}") };
        assert!(why.contains(expected) && !why.contains('\n'), "{why:?}");
    };
    check("module.exports = (", None, "SyntaxError").await;
    check("throw new Error('at load')", None, "Error: at load").await;
    check("require('no-such-package')", None, "no-such-package").await;
    check("exports.other = () => 1", Some("hello.main"), "no export \"main\", only other").await;
    check("module.exports = 7", None, "neither a function nor an object").await;
    check("process.exit(3)", None, "exited with code 3").await;
}

#[tokio::test]
async fn what_a_function_prints_is_in_its_log_with_the_request() {
    let stage = Stage::new().await;
    let source = "module.exports = async () => { console.log('said %d', 5); console.error('oops'); \
        await null; console.log('later'); return 'ok' }";
    let plan = stage.plan("hello.js", source).await;
    assert_eq!(stage.says(&plan, get("/")).await, (200, "ok".to_owned()));
    for text in ["said 5", "oops", "later"] {
        stage.place.logged(&plan, text).await;
    }
    let (lines, _) = stage.place.ports.logs.after(&plan.app, &plan.function, 0);
    let of_request: Vec<_> = lines.iter().filter(|line| line.request.is_some()).collect();
    assert_eq!(of_request.len(), 3, "{lines:?}");
}

#[tokio::test]
async fn a_line_that_is_too_long_is_cut_and_says_so() {
    let stage = Stage::new().await;
    let source = "module.exports = async () => { console.log('x'.repeat(70000)); \
        process.stdout.write('y'.repeat(70000)); console.log('short'); return 'ok' }";
    let plan = stage.plan("hello.js", source).await;
    assert_eq!(stage.says(&plan, get("/")).await, (200, "ok".to_owned()));
    for text in ["x [cut: longer than 61440 bytes]", "y [cut: longer than 61440 bytes]", "short"] {
        stage.place.logged(&plan, text).await;
    }
}
