//! What a Python function may look like.

use std::sync::Arc;

use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, CallError};
use folio_model::RuntimeKind;

use super::stage::Stage;
use crate::processes::place::{call, file, get, post, text};

fn json(path: &str, body: &'static str) -> Call {
    let request = http::Request::post(path).header("content-type", "application/json");
    call(request.body(Body::from(bytes::Bytes::from_static(body.as_bytes()))).unwrap())
}

#[tokio::test]
async fn plain_returns_answer() {
    let stage = Stage::new().await;
    let check = async |body: &str, expected: (u16, &str), kind: &str| {
        let plan = stage.plan("hello.py", &format!("def main():\n    return {body}\n")).await;
        let answer = stage.call(&plan, get("/")).await.unwrap();
        assert_eq!(answer.headers()["content-type"], kind, "{body}");
        let status = answer.status().as_u16();
        assert_eq!((status, text(answer).await.as_str()), expected, "{body}");
    };
    let html = "text/html; charset=utf-8";
    check("'text'", (200, "text"), html).await;
    check("b'bytes'", (200, "bytes"), html).await;
    check("{'a': 1}", (200, "{\"a\": 1}"), "application/json").await;
    check("[1, 2]", (200, "[1, 2]"), "application/json").await;
    check("'made', 201", (201, "made"), html).await;
    check("'own', 202, {'Content-Type': 'x/y'}", (202, "own"), "x/y").await;
    check("({'a': 2}, 203)", (203, "{\"a\": 2}"), "application/json").await;
}

#[tokio::test]
async fn flask_is_there_without_being_installed() {
    let stage = Stage::new().await;
    let source = "\
from flask import request, Response, jsonify, abort, make_response, redirect, current_app
def main():
    what = request.args.get('what')
    if what == 'json':
        return jsonify(got=request.get_json()['n'], method=request.method, path=request.path)
    if what == 'form':
        return request.form['a'] + request.headers['X-Mine'] + request.cookies['c'] + request.view_args['id']
    if what == 'data':
        current_app.logger.info('logged %s', request.get_data())
        return Response(request.data, status=201, mimetype='text/plain', headers={'X-A': 'b'})
    if what == 'redirect':
        return redirect('/there')
    if what == 'made':
        made = make_response('made', 206)
        made.headers['X-B'] = 'c'
        return made
    abort(418, 'teapot')
";
    let plan = stage.plan("hello.py", source).await;
    let said = stage.says(&plan, json("/p?what=json", "{\"n\": 5}")).await;
    assert_eq!(said, (200, "{\"got\": 5, \"method\": \"POST\", \"path\": \"/p\"}".to_owned()));
    let request = http::Request::post("/?what=form")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("x-mine", "mine")
        .header("cookie", "b=1; c=2");
    let mut asked = call(request.body(Body::from(bytes::Bytes::from_static(b"a=b"))).unwrap());
    asked.parameters.push((Arc::from("id"), "é".to_owned()));
    assert_eq!(stage.says(&plan, asked).await, (200, "bmine2é".to_owned()));
    let answer = stage.call(&plan, post("/?what=data", "raw")).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(answer.headers()["x-a"], "b");
    assert_eq!((answer.status().as_u16(), text(answer).await), (201, "raw".to_owned()));
    stage.place.logged(&plan, "logged b'raw'").await;
    let answer = stage.call(&plan, get("/?what=redirect")).await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["location"]),
        (302, &"/there".parse().unwrap())
    );
    let answer = stage.call(&plan, get("/?what=made")).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["x-b"].to_str().unwrap()), (206, "c"));
    assert_eq!(stage.says(&plan, get("/")).await, (418, "teapot".to_owned()));
    let (status, why) = stage.says(&plan, json("/?what=json", "{broken")).await;
    assert!(status == 400 && why.contains("not JSON"), "{status} {why}");
}

#[tokio::test]
async fn a_flask_of_the_packages_own_comes_first() {
    let stage = Stage::new().await;
    let flask = "\
class Request: view_args = None
request = Request()
class Answer:
    status_code, headers, is_streamed = 299, {'x-from': 'package'}, False
    def __init__(self, value): self.value = value
    def get_data(self): return self.value.encode()
class Flask:
    def __init__(self, *a, **k): pass
    def request_context(self, environ):
        import contextlib
        request.path = environ['PATH_INFO'] + ' ' + environ['REMOTE_ADDR']
        return contextlib.nullcontext()
    def make_response(self, value): return Answer(value)
";
    let files = [
        file("flask.py", flask),
        file("main.py", "from flask import request\ndef main():\n    return request.path\n"),
    ];
    let plan = stage.package(RuntimeKind::Python, &files, None).await;
    let asked = http::Request::get("/where").header("x-forwarded-for", "192.0.2.7");
    let answer = stage.call(&plan, call(asked.body(Body::Empty).unwrap())).await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), answer.headers()["x-from"].to_str().unwrap()),
        (299, "package")
    );
    assert_eq!(text(answer).await, "/where 192.0.2.7");
}

#[tokio::test]
async fn contexts_keywords_and_coroutines_are_told_apart() {
    let stage = Stage::new().await;
    let check = async |source: &str, asked: Call, expected: &str| {
        let plan = stage.plan("hello.py", source).await;
        assert_eq!(stage.says(&plan, asked).await, (200, expected.to_owned()), "{source}");
    };
    check("def main(context):\n    return context.request.path\n", get("/p"), "/p").await;
    check(
        "def main(name, times=1, **kwargs):\n    return {'n': name * times}\n",
        json("/", "{\"name\": \"a\", \"times\": 3}"),
        "{\"n\": \"aaa\"}",
    )
    .await;
    check("def main(name='x', **kwargs):\n    return name\n", get("/?name=query"), "\"query\"")
        .await;
    check(
        "def main(context=None, **kwargs):\n    return [sorted(kwargs), 'os_session' in context]\n",
        json("/", "{\"b\": 1, \"a\": 2}"),
        "[[\"a\", \"b\"], true]",
    )
    .await;
    check("def main(text=None, **kwargs):\n    return text\n", post("/", "6"), "\"6\"").await;
    check(
        "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return 'awaited'\n",
        get("/"),
        "awaited",
    )
    .await;
    check(
        "from flask import request\nasync def main():\n    return request.args['a']\n",
        get("/?a=b"),
        "b",
    )
    .await;
}

#[tokio::test]
async fn an_execution_gives_a_sole_parameter_what_its_name_asks_for() {
    let stage = Stage::new().await;
    let named = "def main(name):\n    return name\n";
    let waits = "async def main(name):\n    return name\n";
    let context = "def main(context):\n    return [context['os_session'], dict(context), context.get('x', 1), \
                   context.method, 'os_session' in context, len(list(context)), context.request.json]\n";
    let request = "def main(request):\n    return request.json\n";
    let sent = |content_type: &'static str, body: &'static str| {
        let asked = http::Request::post("/").header("content-type", content_type);
        call(
            asked
                .header("folio-execution", "1")
                .body(Body::from(bytes::Bytes::from(body)))
                .unwrap(),
        )
    };
    let object = || sent("application/json", "{\"name\": \"ada\"}");
    let check = async |source: &str, asked: Call, expected: (u16, &str)| {
        let plan = stage.plan("hello.py", source).await;
        let (status, text) = expected;
        assert_eq!(stage.says(&plan, asked).await, (status, text.to_owned()), "{source}");
    };
    for source in [named, waits] {
        check(source, object(), (200, "\"ada\"")).await;
        check(source, sent("text/plain", "6"), (200, "\"6\"")).await;
        let nothing = "\"main() missing 1 required positional argument: 'name'\"";
        check(source, sent("text/plain", ""), (500, nothing)).await;
    }
    check("def main(n):\n    return n\n", sent("application/json", "{\"n\": 7}"), (200, "7")).await;
    let seen = "[null, {\"os_session\": null}, 1, \"POST\", true, 1, {\"name\": \"ada\"}]";
    check(context, object(), (200, seen)).await;
    check(request, object(), (200, "{\"name\": \"ada\"}")).await;
    // Any other request is given whole, whatever the parameter is called.
    let path = "def main(name):\n    return name.request.path\n";
    check(path, json("/p", "{\"name\": \"ada\"}"), (200, "/p")).await;
}

#[tokio::test]
async fn asgi_applications_answer() {
    let stage = Stage::new().await;
    let source = "\
started = []
async def app(scope, receive, send):
    if scope['type'] == 'lifespan':
        await receive()
        started.append(1)
        await send({'type': 'lifespan.startup.complete'})
        return
    body = b''
    more = True
    while more:
        message = await receive()
        body += message['body']
        more = message['more_body']
    text = f\"{scope['method']} {scope['path']} {scope['query_string'].decode()} {dict(scope['headers']).get(b'x-a')} {len(body)} {started} {scope['scheme']}\"
    await send({'type': 'http.response.start', 'status': 201, 'headers': [(b'x-b', b'c')]})
    await send({'type': 'http.response.body', 'body': text.encode()})
";
    let plan = stage.plan("hello.py", source).await;
    let body = bytes::Bytes::from(vec![b'x'; 700_000]);
    let request = http::Request::put("/a%20b?q").header("x-a", "1").body(Body::from(body)).unwrap();
    let answer = stage.call(&plan, call(request)).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["x-b"].to_str().unwrap()), (201, "c"));
    assert_eq!(text(answer).await, "PUT /a b q b'1' 700000 [1] http");
    let request = http::Request::get("/").header("x-forwarded-proto", "https").header("x-a", "2");
    let answer = stage.call(&plan, call(request.body(Body::Empty).unwrap())).await.unwrap();
    assert_eq!(text(answer).await, "GET /  b'2' 0 [1] https");
}

#[tokio::test]
async fn entry_points_choose_modules_and_functions() {
    let stage = Stage::new().await;
    let files = [
        file(
            "main.py",
            "import deep.inner\ndef main():\n    return 'main'\ndef other():\n    return deep.inner.run()\n",
        ),
        file("deep/__init__.py", ""),
        file("deep/inner.py", "def run():\n    return 'inner'\n"),
    ];
    let check = async |entry: Option<&str>, expected: &str| {
        let plan = stage.package(RuntimeKind::Python, &files, entry).await;
        assert_eq!(stage.says(&plan, get("/")).await, (200, expected.to_owned()), "{entry:?}");
    };
    check(None, "main").await;
    check(Some("main.main"), "main").await;
    check(Some("other"), "inner").await;
    check(Some("deep.inner.run"), "inner").await;
}

#[tokio::test]
async fn code_that_cannot_be_loaded_says_why_in_one_line() {
    let stage = Stage::new().await;
    let check = async |source: &str, entry: Option<&str>, expected: &str| {
        let mut plan = stage.plan("hello.py", source).await;
        plan.entrypoint = entry.map(str::to_owned);
        plan.digest = folio_model::Digest::of(format!("{source}{entry:?}").as_bytes());
        let refused = stage.call(&plan, get("/")).await.unwrap_err();
        let CallError::Load(why) = &refused else { panic!("{refused:?}") };
        assert!(why.contains(expected) && !why.contains('\n'), "{why:?}");
    };
    check("def main(:\n", None, "(hello.py:1)").await;
    check("raise ValueError('at load')", None, "ValueError: at load").await;
    check("import no_such_module", None, "No module named 'no_such_module'").await;
    check("def other(): pass", Some("hello.main"), "no function 'main', only other").await;
    check("main = 7", None, "cannot be called").await;
    check("import os; os._exit(3)", None, "exited with code 3").await;
}

#[tokio::test]
async fn what_a_function_prints_is_in_its_log_with_the_request() {
    let stage = Stage::new().await;
    let source = "import logging, sys\ndef main():\n    print('said', 5)\n    print('oops', file=sys.stderr)\n    \
        logging.warning('warned')\n    return 'ok'\n";
    let plan = stage.plan("hello.py", source).await;
    assert_eq!(stage.says(&plan, get("/")).await, (200, "ok".to_owned()));
    for text in ["said 5", "oops", "warned"] {
        stage.place.logged(&plan, text).await;
    }
    let (lines, _) = stage.place.ports.logs.after(&plan.app, &plan.function, 0);
    let of_request: Vec<_> = lines.iter().filter(|line| line.request.is_some()).collect();
    assert_eq!(of_request.len(), 3, "{lines:?}");
}

#[tokio::test]
async fn a_line_that_is_too_long_is_cut_and_says_so() {
    let stage = Stage::new().await;
    let source = "import sys\ndef main():\n    print('x' * 70000)\n    sys.stdout.write('y' * 70000)\n    \
        print('short')\n    return 'ok'\n";
    let plan = stage.plan("hello.py", source).await;
    assert_eq!(stage.says(&plan, get("/")).await, (200, "ok".to_owned()));
    for text in ["x [cut: longer than 61440 bytes]", "y [cut: longer than 61440 bytes]", "short"] {
        stage.place.logged(&plan, text).await;
    }
}
