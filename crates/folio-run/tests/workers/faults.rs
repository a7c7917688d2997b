//! What happens when a function or its worker misbehaves: its own requests fail, others do not.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use folio_core::ports::Body;
use folio_core::ports::runtime::{CallError, Plan};
use folio_model::UnitUid;
use http_body_util::BodyExt as _;

use super::stage::{Stage, serving};
use crate::processes::place::{call, get, text};

#[tokio::test]
async fn an_error_of_the_function_is_in_its_log_and_not_in_the_answer() {
    let stage = Stage::new().await;
    let sources = [
        ("a.js", "module.exports = async () => { throw new Error('secret reason') }"),
        ("b.js", "module.exports = () => { throw new Error('secret reason') }"),
        ("c.js", "module.exports = (context, callback) => { throw new Error('secret reason') }"),
        ("d.mjs", "export default { fetch() { throw new Error('secret reason') } }"),
        ("e.py", "def main():\n    raise ValueError('secret reason')\n"),
        ("f.py", "async def main():\n    raise ValueError('secret reason')\n"),
        ("g.py", "async def app(scope, receive, send):\n    raise ValueError('secret reason')\n"),
    ];
    for (name, source) in sources {
        let mut plan = stage.plan(name, source).await;
        plan.function = format!("fails-{}", &name[..1]).parse().unwrap();
        assert_eq!(stage.call(&plan, get("/")).await.unwrap_err(), CallError::Failed, "{name}");
        stage.place.logged(&plan, "secret reason").await;
        let (lines, _) = stage.place.ports.logs.after(&plan.app, &plan.function, 0);
        assert!(lines.iter().all(|line| line.request.is_some()), "{lines:?}");
        assert!(!lines.iter().any(|line| line.text.contains("python.py")), "{lines:?}");
    }
}

#[tokio::test]
async fn a_log_says_what_is_behind_an_error_and_nothing_else_that_it_holds() {
    let stage = Stage::new().await;
    let source = "module.exports = async () => {
        const refused = new AggregateError([new Error('no way there')], 'many');
        throw Object.assign(new Error('no answer', { cause: refused }), { token: 'open sesame' });
    }";
    let plan = stage.plan("hello.js", source).await;
    assert_eq!(stage.call(&plan, get("/")).await.unwrap_err(), CallError::Failed);
    stage.place.logged(&plan, "caused by: Error: no way there").await;
    let (lines, _) = stage.place.ports.logs.after(&plan.app, &plan.function, 0);
    assert!(lines.iter().any(|line| line.text == "Error: no answer"), "{lines:?}");
    assert!(!lines.iter().any(|line| line.text.contains("sesame")), "{lines:?}");
}

#[tokio::test]
async fn only_a_header_of_that_name_makes_a_request_an_execution() {
    let stage = Stage::new().await;
    // An execution is told what was raised, which is nobody else's business; in Node it comes with its input.
    let python = "def main():\n    raise ValueError('secret reason')\n";
    let node = "exports.main = (context, second) => typeof second === 'function' ? second(200, 'callback') : 'input'";
    let mut plans = [stage.plan("hello.js", node).await, stage.plan("hello.py", python).await];
    plans[0].entrypoint = Some("hello.main".to_owned());
    let asked = |name: &'static str, value: &'static str| {
        let request = http::Request::get("/").header(name, value);
        call(request.body(Body::Empty).unwrap())
    };
    let [node, python] = &plans;
    let claim = || asked("x-any", "folio-execution");
    assert_eq!(stage.says(node, claim()).await, (200, "callback".to_owned()));
    assert_eq!(stage.call(python, claim()).await.unwrap_err(), CallError::Failed);
    let execution = || asked("folio-execution", "1");
    assert_eq!(stage.says(node, execution()).await, (200, "input".to_owned()));
    assert_eq!(stage.says(python, execution()).await, (500, "\"secret reason\"".to_owned()));
}

#[tokio::test]
async fn answers_that_make_no_sense_fail_where_they_are_made() {
    let stage = Stage::new().await;
    let sources = [
        "module.exports = async () => ({ status: 99, body: '' })",
        "module.exports = async () => ({ status: 200, headers: { 'bad name': 'x' } })",
        "module.exports = async () => ({ status: 200, headers: { a: 'x\\ny: z' } })",
        "module.exports = async () => undefined",
        "export default { fetch: () => 'no response' }",
    ];
    for (at, source) in sources.into_iter().enumerate() {
        let plan = stage.plan(if at == 4 { "x.mjs" } else { "x.js" }, source).await;
        let refused = stage.call(&plan, get("/")).await.unwrap_err();
        assert!(
            matches!(refused, CallError::Failed | CallError::Garbled(_)),
            "{source} {refused:?}"
        );
    }
    let plan = stage.plan("none.py", "def main():\n    return None\n").await;
    assert_eq!(stage.call(&plan, get("/")).await.unwrap_err(), CallError::Failed);
}

#[tokio::test]
async fn whoever_answers_first_is_believed() {
    let stage = Stage::new().await;
    let sources = [
        (
            "a.js",
            "module.exports = async (c) => { c.response.send('first'); return { status: 200, body: 'second' } }",
        ),
        (
            "b.js",
            "module.exports = (c, callback) => { callback(200, 'first'); callback(200, 'second'); c.response.send('third') }",
        ),
        (
            "c.js",
            "module.exports = async (c) => { c.response.send('first'); throw new Error('late') }",
        ),
    ];
    for (name, source) in sources {
        let plan = stage.plan(name, source).await;
        for _ in 0..3 {
            assert_eq!(stage.says(&plan, get("/")).await, (200, "first".to_owned()), "{name}");
        }
        assert_eq!(plan.meter.read().cold_starts, 1, "the worker lives");
    }
    let source = "from flask import Response, abort\ndef pieces():\n    yield 'first'\n    abort(400)\ndef main():\n    return Response(pieces())\n";
    let plan = stage.plan("d.py", source).await;
    for _ in 0..2 {
        let answer = stage.call(&plan, get("/")).await.unwrap();
        assert!(answer.into_body().collect().await.is_err(), "what was begun breaks off");
    }
    assert_eq!(plan.meter.read().cold_starts, 1, "the worker lives");
}

#[tokio::test]
async fn a_worker_that_dies_fails_what_it_has_and_is_replaced() {
    let stage = Stage::new().await;
    let source = "module.exports = async ({ request }) => { \
        if (request.path === '/die') process.kill(process.pid, 'SIGKILL'); \
        if (request.path === '/wait') await new Promise(() => {}); \
        return String(process.pid) }";
    let plan = stage.plan("hello.js", source).await;
    let (_, first) = stage.says(&plan, get("/")).await;
    let (waiting, dying) =
        tokio::join!(stage.call(&plan, get("/wait")), stage.call(&plan, get("/die")));
    for refused in [waiting.unwrap_err(), dying.unwrap_err()] {
        let CallError::Crashed(how) = &refused else { panic!("{refused:?}") };
        assert!(how.contains("signal 9"), "{how}");
    }
    let (_, second) = stage.says(&plan, get("/")).await;
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_crash_in_the_middle_of_an_answer_breaks_it_off() {
    let stage = Stage::new().await;
    let source = "export default { fetch: () => new Response(new ReadableStream({ start(c) { \
        c.enqueue(new Uint8Array(10)); setTimeout(() => process.exit(1), 100) } })) }";
    let plan = stage.plan("half.mjs", source).await;
    let answer = stage.call(&plan, get("/")).await.unwrap();
    let broken = answer.into_body().collect().await.unwrap_err();
    assert!(broken.0.contains("exited with code 1"), "{broken:?}");
}

async fn hangs(plan: &Plan, stage: &Stage) {
    let refused = stage.call(plan, get("/hang")).await.unwrap_err();
    assert_eq!(refused, CallError::Timeout(plan.limits.timeout));
    let (status, _) = stage.says(plan, get("/")).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_worker_that_never_yields_is_ended_and_replaced() {
    let stage = Stage::new().await;
    let node =
        "module.exports = ({ request }) => { while (request.path === '/hang'); return 'ok' }";
    let python = "from flask import request\ndef main():\n    while request.path == '/hang':\n        pass\n    return 'ok'\n";
    // What comes while it is found out that a worker hangs does not end with it, although there is room in it.
    for (name, source, room) in
        [("hello.js", node, 1), ("hello.py", python, 1), ("hello.py", python, 8)]
    {
        let mut plan = stage.plan(name, source).await;
        plan.unit = UnitUid(uuid::Uuid::from_u128(room.into()));
        plan.limits.timeout = Duration::from_secs(4);
        plan.limits.concurrency = room;
        plan.limits.scale_max = 1;
        hangs(&plan, &stage).await;
    }
}

#[tokio::test]
async fn a_function_that_waits_for_ever_costs_only_its_own_request() {
    let stage = Stage::new().await;
    let node = "module.exports = async ({ request }) => { \
        if (request.path === '/hang') await new Promise(() => {}); return String(process.pid) }";
    let mut plan = stage.plan("hello.js", node).await;
    plan.limits.timeout = Duration::from_millis(700);
    let (_, before) = stage.says(&plan, get("/")).await;
    hangs(&plan, &stage).await;
    let (_, after) = stage.says(&plan, get("/")).await;
    assert_eq!(before, after, "the worker lives");
}

#[tokio::test]
async fn a_crash_loop_does_not_start_processes_as_fast_as_requests_come() {
    let stage = Stage::new().await;
    let plan = stage.plan("hello.js", "module.exports = () => process.exit(1)").await;
    for _ in 0..4 {
        let refused = stage.call(&plan, get("/")).await.unwrap_err();
        assert!(matches!(refused, CallError::Crashed(_)), "{refused:?}");
    }
    let broken = stage.plan("broken.js", "module.exports = (").await;
    for _ in 0..50 {
        assert!(matches!(stage.call(&broken, get("/")).await, Err(CallError::Load(_))));
    }
    assert!(broken.meter.read().cold_starts < 10, "{:?}", broken.meter.read().cold_starts);
}

#[tokio::test]
async fn a_flood_of_log_lines_costs_only_the_functions_own_older_lines() {
    let stage = Stage::new().await;
    let source = "module.exports = async () => { for (let n = 0; n < 200000; n++) console.log('x'.repeat(100), n); return 'done' }";
    let plan = stage.plan("flood.js", source).await;
    assert_eq!(stage.says(&plan, get("/")).await, (200, "done".to_owned()));
    stage.place.logged(&plan, " 199999").await;
}

#[tokio::test]
async fn a_worker_that_speaks_nonsense_is_not_believed() {
    let stage = Stage::new().await;
    // The function writes to the shim's own connection, as hostile code may.
    let check = async |bytes: &str, expected: &str| {
        let source = format!(
            "const fs = require('fs'); module.exports = () => {{ fs.writeSync(3, Buffer.from({bytes})); return new Promise(() => {{}}) }}"
        );
        let plan = stage.plan("hostile.js", &source).await;
        let refused = stage.call(&plan, get("/")).await.unwrap_err();
        let CallError::Garbled(why) = &refused else { panic!("{refused:?}") };
        assert!(why.contains(expected), "{why}");
        stage.until("the worker is gone", |status| serving(status) == 0).await;
    };
    check("[255, 255, 255, 255, 5, 0, 0, 0, 0]", "a frame of 4294967295 bytes").await;
    check("[0, 0, 0, 0, 99, 0, 0, 0, 0]", "unknown kind 99").await;
    check("[0, 0, 0, 0, 4, 0, 0, 0, 0]", "only folio sends").await;
    check("[0, 0, 0, 0, 5, 9, 0, 9, 0]", "an answer to nothing").await;
    check("[0, 0, 0, 0, 6, 0, 0, 1, 0]", "a body without an answer").await;
    check("[4, 0, 0, 0, 8, 0, 0, 1, 0, 255, 255, 255, 127]", "credit").await;
    check("[0, 0, 0, 0, 133, 0, 0, 1, 0]", "an answer without a head").await;
    check("[0, 0, 0, 0, 2, 0, 0, 0, 0]", "ready twice").await;
    check("[8, 0, 0, 0, 133, 0, 0, 1, 0, 4, 0, 0, 0, 57, 57, 57, 10]", "a header without a value")
        .await;
}

#[tokio::test]
async fn headers_beyond_all_measure_are_refused() {
    let stage = Stage::new().await;
    let source =
        "module.exports = async () => ({ status: 200, headers: { a: 'x'.repeat(200000) } })";
    let plan = stage.plan("hello.js", source).await;
    let refused = stage.call(&plan, get("/")).await.unwrap_err();
    assert!(matches!(refused, CallError::Garbled(_)), "{refused:?}");
}

#[tokio::test]
async fn what_describes_a_connection_does_not_reach_the_client() {
    let stage = Stage::new().await;
    let source = "module.exports = async () => ({ status: 200, body: 'four', headers: { \
        'content-length': '9', 'transfer-encoding': 'chunked', connection: 'x-hop', 'x-hop': '1', 'x-kept': '2' } })";
    let plan = stage.plan("hello.js", source).await;
    let answer = stage.call(&plan, get("/")).await.unwrap();
    let mut names: Vec<_> = answer.headers().keys().map(|name| name.as_str().to_owned()).collect();
    names.sort();
    assert_eq!(names, ["content-type", "x-kept"]);
    assert_eq!(text(answer).await, "four");
}

#[tokio::test]
async fn files_the_server_keeps_for_workers_are_not_writable_by_others() {
    let stage = Stage::new().await;
    let shims = stage.place.path().join("runtime/shims");
    let mode = std::fs::metadata(shims.join("node.js")).unwrap().permissions().mode();
    assert_eq!(mode & 0o022, 0);
}
