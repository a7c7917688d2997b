//! A call that a function makes belongs to the request it makes it for, however many its worker has in hand.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use folio_core::environment::EnvironmentFields;
use folio_core::ports::runtime::{Call, Invoke, RequestId};
use folio_core::ports::{Body, SystemClock};
use folio_core::request::Onto;
use folio_core::serving::{Follower, Shown};
use folio_core::{Caller, Folio};
use folio_model::{AppName, Kind, RuntimeKind, UnitKey};
use folio_store::{MemoryIndex, MemoryLedger, PackOptions, PackStore};
use tokio::sync::Barrier;

use super::stage::{Stage, serving};
use crate::processes::place::{call, get};

/// Two releases of an app.
async fn releases() -> [Arc<Shown>; 2] {
    let (index, clock) = (MemoryIndex::default(), Arc::new(SystemClock));
    let blobs = PackStore::in_memory(index.clone(), clock.clone(), PackOptions::default()).await;
    let (ledger, settings) = (Arc::new(MemoryLedger::new(index)), folio_core::Settings::default());
    let folio = Folio::new(ledger, Arc::new(blobs.unwrap()), clock, settings);
    let caller = Caller::new("ada".parse().unwrap());
    folio.admit(&caller.actor, &folio.draw_token()).await.unwrap();
    for name in ["one", "two"] {
        let (app, name) = (AppName::default_app(), name.parse().unwrap());
        let key = UnitKey { app, kind: Kind::Environment, name };
        let fields = EnvironmentFields {
            runtime: Some(RuntimeKind::Nodejs),
            ..EnvironmentFields::default()
        };
        folio.set_environment(&caller, &key, fields, (Onto::Nothing, None)).await.unwrap();
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let follower: Follower = {
        let seen = Arc::clone(&seen);
        Arc::new(move |sites| {
            let all = sites.iter().flat_map(|site| site.releases.values().cloned());
            *seen.lock().unwrap() = all.collect();
        })
    };
    folio.follow_sites(follower).await.unwrap();
    let mut found = seen.lock().unwrap().drain(..).take(2).collect::<Vec<_>>().into_iter();
    [found.next().unwrap(), found.next().unwrap()]
}

/// Answers two calls at a time with whose they are, so that both are still in hand when the next ones come.
fn in_pairs() -> Invoke {
    let both = Arc::new(Barrier::new(2));
    Arc::new(move |_, _, call| {
        let both = Arc::clone(&both);
        Box::pin(async move {
            both.wait().await;
            let release = call.release.map(|release| release.id.to_string()).unwrap_or_default();
            let text = format!("{} {} {release}", call.id, call.hops);
            Ok(http::Response::new(Body::from(Bytes::from(text))))
        })
    })
}

const NODE: &str = "
const call = () => new Promise((done, failed) => {
  const options = { socketPath: process.env.FOLIO_INVOKE, path: '/other', method: 'POST' };
  http.request(options, async (answer) => {
    let text = '';
    for await (const piece of answer) text += piece;
    done(text);
  }).on('error', failed).end();
});
const twice = async (id) => { await call(); return `${id} ${await call()}`; };
";

const PYTHON: &str = "
import asyncio, http.client, os, socket, threading
from concurrent.futures import ThreadPoolExecutor

class Functions(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ['FOLIO_INVOKE'])

def call():
    connection = Functions('folio')
    connection.request('POST', '/other')
    return connection.getresponse().read().decode()

def twice(id):
    call()
    return id + ' ' + call()

# Its threads are there before any request.
helpers, started = ThreadPoolExecutor(2), threading.Barrier(2)
list(helpers.map(lambda _: started.wait(), range(2)))
";

/// Functions of every signature that call another twice and tell their own request's id.
fn callers() -> [(&'static str, String); 8] {
    let node = |source: &str| format!("const http = require('node:http');{NODE}{source}");
    let python = |source: &str| format!("{PYTHON}{source}");
    [
        (
            "context.js",
            node(
                "module.exports = async ({ request }) => twice(request.headers['folio-request-id'])",
            ),
        ),
        (
            "callback.js",
            node(
                "module.exports = ({ request }, done) => setTimeout(async () => \
                 done(200, await twice(request.get('Folio-Request-Id'))), 1)",
            ),
        ),
        (
            "web.mjs",
            format!(
                "import http from 'node:http';{NODE}export default {{ fetch: async ({{ headers }}) => \
                 new Response(await twice(headers.get('folio-request-id'))) }}"
            ),
        ),
        (
            "plain.py",
            python(
                "from flask import request\ndef main():\n    return twice(request.headers['Folio-Request-Id'])\n",
            ),
        ),
        (
            "thread.py",
            python(
                "def main(context):\n    said = []\n    \
                 work = lambda: said.append(twice(context.headers['folio-request-id']))\n    \
                 thread = threading.Thread(target=work)\n    \
                 thread.start()\n    thread.join()\n    return said[0]\n",
            ),
        ),
        (
            "executor.py",
            python(
                "def main(context):\n    \
                 return helpers.submit(twice, context.headers['folio-request-id']).result()\n",
            ),
        ),
        (
            "coroutine.py",
            python(
                "from flask import request\nasync def main():\n    \
                 return await asyncio.to_thread(twice, request.headers['folio-request-id'])\n",
            ),
        ),
        (
            "app.py",
            python(
                "async def app(scope, receive, send):\n    \
                 if scope['type'] != 'http':\n        raise NotImplementedError\n    \
                 text = await asyncio.to_thread(twice, dict(scope['headers'])[b'folio-request-id'].decode())\n    \
                 await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
                 await send({'type': 'http.response.body', 'body': text.encode()})\n",
            ),
        ),
    ]
}

#[tokio::test]
async fn requests_of_two_releases_in_one_worker_are_not_mixed() {
    let stage = Stage::new().await;
    assert!(stage.place.ports.invoke.set(in_pairs()).is_ok());
    let [one, two] = releases().await;
    for (name, source) in callers() {
        let mut plan = stage.plan(name, &source).await;
        plan.limits.scale_max = 1;
        plan.function = name.replace('.', "-").parse().unwrap();
        let before = serving(&stage.status());
        // The second came further, so it is the one that calls nobody claims are counted as.
        let asks = |id, hops, release: &Arc<Shown>| {
            stage.says(&plan, Call { id, hops, release: Some(Arc::clone(release)), ..get("/") })
        };
        let (near, far) = (RequestId(11), RequestId(12));
        let answers = tokio::join!(asks(near, 0, &one), asks(far, 5, &two));
        let near = format!("{near} {near} 1 {}", one.id);
        let far = format!("{far} {far} 6 {}", two.id);
        assert_eq!(answers, ((200, near), (200, far)), "{name}");
        assert_eq!(serving(&stage.status()), before + 1, "both were in one worker");
    }
}

#[tokio::test]
async fn a_function_that_says_itself_whose_call_it_is_is_believed() {
    let stage = Stage::new().await;
    let answer: Invoke = Arc::new(|_, _, call| {
        let id = Bytes::from(call.id.to_string());
        Box::pin(async move { Ok(http::Response::new(Body::from(id))) })
    });
    assert!(stage.place.ports.invoke.set(answer).is_ok());
    // A request that ended, and is claimed by the next: whichever header is added, only the function's is there.
    let node = "const http = require('node:http'); const said = []; \
        module.exports = async ({ request }) => { said.push(request.headers['folio-request-id']); \
        return new Promise((done) => http.request({ socketPath: process.env.FOLIO_INVOKE, path: '/other', \
        headers: ['Folio-Request-Id', said[0]] }, async (answer) => { for await (const id of answer) done(String(id)) }).end()) }";
    let python = format!(
        "{PYTHON}said = []\ndef main(context):\n    said.append(context.headers['folio-request-id'])\n    \
         connection = Functions('folio')\n    \
         connection.request('POST', '/other', headers={{'Folio-Request-Id': said[0]}})\n    \
         return connection.getresponse().read().decode()\n"
    );
    for (name, source) in [("hello.js", node), ("hello.py", &python)] {
        let plan = stage.plan(name, source).await;
        let first = RequestId(21).to_string();
        for id in [21, 22] {
            let asked = Call { id: RequestId(id), ..get("/") };
            assert_eq!(stage.says(&plan, asked).await, (200, first.clone()), "{name}");
        }
    }
}

#[tokio::test]
async fn fissions_signatures_are_told_what_its_router_would_say() {
    let stage = Stage::new().await;
    let names = "['x-fission-request-id', 'x-fission-function-name', 'x-fission-function-namespace', \
                 'x-fission-full-url', 'x-mine']";
    let node = format!(
        "module.exports = async ({{ request }}) => {names}.map((name) => request.headers[name]).join(' ')"
    );
    let python = format!(
        "from flask import request\ndef main():\n    return ' '.join(request.headers[name] for name in {names})\n"
    );
    let web =
        "export default { fetch: ({ headers }) => new Response([...headers.keys()].join(' ')) }";
    let asgi = "async def app(scope, receive, send):\n    \
        await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
        await send({'type': 'http.response.body', 'body': b' '.join(name for name, _ in scope['headers'])})\n";
    let all = format!("{} hello default /full?q mine", RequestId(7));
    let own = "folio-request-id x-mine";
    for (name, source, expected) in [
        ("hello.js", node.as_str(), all.as_str()),
        ("hello.py", &python, &all),
        ("web.mjs", web, own),
        ("app.py", asgi, own),
    ] {
        let plan = stage.plan(name, source).await;
        let request = http::Request::get("/").header("x-mine", "mine");
        let mut asked = call(request.body(Body::Empty).unwrap());
        asked.original = Some("/full?q".parse().unwrap());
        assert_eq!(stage.says(&plan, asked).await, (200, expected.to_owned()), "{name}");
    }
}

/// Says what is otherwise than it would be without folio.
const UNDISTURBED: &str = "
import gc, http.client, socket, threading, weakref
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

colour = ContextVar('colour', default='none')
painters = ThreadPoolExecutor(1, initializer=lambda: colour.set('red'))

def head_of_the_second_request():
    place = socket.socket()
    place.bind(('127.0.0.1', 0))
    connection = http.client.HTTPConnection(*place.getsockname())
    try:
        connection.request('POST', '/first')
    except OSError:
        connection.close()
    place.listen()
    connection.request('GET', '/second')
    return place.accept()[0].recv(1000).decode().split('\\r\\n')[0]

def is_thread_kept():
    thread = threading.Thread(target=str)
    thread.start()
    thread.join()
    ended = weakref.ref(thread)
    del thread
    return ended() is not None

def main():
    gc.disable()
    return f'{head_of_the_second_request()} {painters.submit(colour.get).result()} {is_thread_kept()}'
";

#[tokio::test]
async fn whose_call_it_is_changes_nothing_else_of_connections_and_threads() {
    let stage = Stage::new().await;
    let plan = stage.plan("hello.py", UNDISTURBED).await;
    let expected = "GET /second HTTP/1.1 red False".to_owned();
    assert_eq!(stage.says(&plan, get("/")).await, (200, expected));
}
