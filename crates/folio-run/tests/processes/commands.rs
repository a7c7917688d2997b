//! Servers that speak Fission's contract, and servers that packages bring.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use folio_core::ports::Body;
use folio_core::ports::runtime::{CallError, Plan, WorkerStatus};
use folio_model::{Content, EnvironmentSpec, RuntimeKind};
use folio_run::command::{CommandParts, CommandRuntime};
use folio_run::jail::Mode;
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::place::{Calls, Place, call, file, get, plan, post, program, text};

struct Servers {
    place: Place,
    runtime: CommandRuntime,
    directory: PathBuf,
}

impl Servers {
    async fn new(mode: Mode) -> Self {
        let place = Place::new(mode).await;
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../folio/tests/servers");
        let directory = directory.canonicalize().unwrap();
        let parts = CommandParts {
            jail: Arc::clone(&place.jail),
            codes: Arc::clone(&place.codes),
            ports: place.ports.clone(),
            directories: vec![directory.clone()],
            keep_warm: Duration::from_secs(300),
        };
        let runtime = CommandRuntime::new(&place.run(), parts).unwrap();
        Self { place, runtime, directory }
    }

    fn plan(&self, command: &str, code: Content, entrypoint: Option<&str>) -> Plan {
        let command = command.replace("{servers}", self.directory.to_str().unwrap());
        let mut plan = plan(RuntimeKind::Command, code, entrypoint);
        plan.spec = EnvironmentSpec {
            command: Some(command),
            poolsize: Some(0),
            ..EnvironmentSpec::of(RuntimeKind::Command)
        };
        plan
    }

    async fn python(&self, source: &str) -> Plan {
        let code = self.place.single(file("hello.py", source)).await;
        self.plan(PYTHON, code, None)
    }

    async fn node(&self, source: &str) -> Plan {
        let code = self.place.single(file("hello.js", source)).await;
        self.plan(NODE, code, None)
    }

    async fn says(&self, plan: &Arc<Plan>, call: folio_core::ports::runtime::Call) -> String {
        text(self.runtime.call(plan, call).await.unwrap()).await
    }

    fn workers(&self) -> Vec<WorkerStatus> {
        self.runtime.status().workers
    }

    /// Waits until the workers are as they should be.
    async fn until(&self, fine: impl Fn(&[WorkerStatus]) -> bool) {
        let wait = async {
            while !fine(&self.workers()) {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), wait).await;
        waited.unwrap_or_else(|_| panic!("{:?}", self.workers()));
    }
}

const PYTHON: &str = "python3 {servers}/fission_env.py";
const NODE: &str = "node {servers}/fission_env.js --port {port}";

const PYTHON_HELLO: &str = "
import context
def main():
    request = context.context.request
    name = request.headers['X-Fission-Function-Name']
    return f'{request.command} {request.path} {name} ' + request.data.decode(), 201, {'X-Mine': '1'}
";

const NODE_HELLO: &str = "
module.exports = async ({request}) => ({
  status: 201,
  headers: {'x-mine': '1'},
  body: `${request.method} ${request.url} ${request.headers['x-fission-function-name']} ${request.body}`,
});
";

async fn an_unmodified_server_answers(mode: Mode) {
    let servers = Servers::new(mode).await;
    for plan in [servers.python(PYTHON_HELLO).await, servers.node(NODE_HELLO).await] {
        let plan = Arc::new(plan);
        let answer = servers.runtime.call(&plan, post("/a?b=c", "body")).await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["x-mine"]),
            (201, &"1".parse().unwrap())
        );
        assert_eq!(text(answer).await, "POST /a?b=c hello body");
        assert_eq!(servers.says(&plan, get("/")).await, "GET / hello ");
    }
    let status = servers.runtime.status();
    assert_eq!((status.warm_starts, status.cold_starts), (2, 2), "each server answered twice");
}

#[tokio::test]
async fn unmodified_fission_servers_run_functions() {
    an_unmodified_server_answers(Mode::Off).await;
}

#[tokio::test]
async fn unmodified_fission_servers_run_functions_in_the_jail() {
    an_unmodified_server_answers(Mode::Enforced).await;
}

#[tokio::test]
async fn a_server_starts_while_directories_of_others_come_and_go() {
    let servers = Servers::new(Mode::Off).await;
    let stop = Arc::new(AtomicBool::new(false));
    let others: Vec<_> = (0..2)
        .map(|_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    drop(tempfile::tempdir().unwrap());
                }
            })
        })
        .collect();
    for name in 0..10 {
        let plan = servers.python(&format!("def main():\n    return '{name}'\n")).await;
        assert_eq!(servers.says(&Arc::new(plan), get("/")).await, name.to_string());
    }
    stop.store(true, Ordering::Relaxed);
    others.into_iter().for_each(|other| other.join().unwrap());
}

#[tokio::test]
async fn a_function_sees_how_it_was_called() {
    let servers = Servers::new(Mode::Off).await;
    let source = "module.exports = async ({request}) => ({status: 200, body: JSON.stringify(request.headers)});";
    let plan = Arc::new(servers.node(source).await);
    let request = http::Request::get("/").header("host", "example.com").header("connection", "x-b");
    let request = request.header("x-b", "1").header("x-c", "2").body(Body::Empty).unwrap();
    let mut call = call(request);
    call.parameters.push((Arc::from("id"), "42".to_owned()));
    call.original = Some("/users/42?q".parse().unwrap());
    let headers: serde_json::Value =
        serde_json::from_str(&servers.says(&plan, call).await).unwrap();
    for (name, expected) in [
        ("x-fission-function-name", "hello"),
        ("x-fission-function-namespace", "default"),
        ("x-fission-params-id", "42"),
        ("x-fission-full-url", "/users/42?q"),
        ("x-fission-request-id", "00000000000000000000000000000007"),
        ("x-forwarded-host", "example.com"),
        ("host", "example.com"),
        ("x-c", "2"),
    ] {
        assert_eq!(headers[name], expected, "{name}");
    }
    assert!(headers.get("x-b").is_none(), "a header of one connection stays there");
}

#[tokio::test]
async fn a_directory_and_an_entry_point_find_the_function() {
    let servers = Servers::new(Mode::Off).await;
    let files = [
        file("app.py", "import other\ndef hello():\n    return 'hello ' + other.NAME\n"),
        file("other.py", "NAME = 'directory'\n"),
    ];
    let code = servers.place.directory(&files).await;
    let plan = Arc::new(servers.plan(PYTHON, code, Some("app.hello")));
    assert_eq!(servers.says(&plan, get("/")).await, "hello directory");
}

#[tokio::test]
async fn code_that_cannot_be_loaded_is_refused_with_the_reason() {
    let servers = Servers::new(Mode::Off).await;
    let plan = Arc::new(servers.python("def main(:\n").await);
    let refused = servers.runtime.call(&plan, get("/")).await.unwrap_err();
    assert!(matches!(&refused, CallError::Load(why) if why.contains("SyntaxError")), "{refused:?}");
    assert_eq!(servers.workers(), []);
}

#[tokio::test]
async fn a_server_that_ends_at_once_says_what_it_printed() {
    let servers = Servers::new(Mode::Off).await;
    let code = servers.place.single(file("a", "")).await;
    let plan = Arc::new(servers.plan("python3 -c raise(SystemExit('no_luck'))", code, None));
    let refused = servers.runtime.call(&plan, get("/")).await.unwrap_err();
    assert!(matches!(&refused, CallError::Load(why) if why.contains("no_luck")), "{refused:?}");
}

#[tokio::test]
async fn programs_elsewhere_on_the_host_are_refused() {
    let servers = Servers::new(Mode::Off).await;
    let code = servers.place.single(file("a", "")).await;
    for command in ["/etc/passwd", "python3 /etc/passwd", "python3 {servers}/../../Cargo.toml"] {
        let plan = Arc::new(servers.plan(command, code, None));
        let refused = servers.runtime.call(&plan, get("/")).await.unwrap_err();
        assert!(matches!(&refused, CallError::Unavailable(_)), "{refused:?}");
    }
}

#[tokio::test]
async fn a_server_of_the_first_contract_finds_its_code_where_it_expects_it() {
    let servers = Servers::new(Mode::Off).await;
    let code = servers.place.single(file("f.py", "def main(): return 'first'\n")).await;
    let plan = servers.plan("python3 {servers}/fission_env_v1.py", code, None);
    assert_eq!(servers.says(&Arc::new(plan), get("/")).await, "first");
}

#[tokio::test]
async fn a_server_that_waits_becomes_the_function() {
    let servers = Servers::new(Mode::Off).await;
    let mut plan = servers.node(NODE_HELLO).await;
    plan.spec.poolsize = Some(1);
    let plan = Arc::new(plan);
    servers.says(&plan, get("/")).await;
    let generic = |worker: &&WorkerStatus| worker.app.is_none();
    servers.until(|workers| workers.iter().filter(generic).count() == 1).await;
    let waiting = servers.workers().iter().find(generic).unwrap().pid;
    let mut other = Plan::clone(&plan);
    other.function = "other".parse().unwrap();
    other.unit = folio_model::UnitUid(uuid::Uuid::from_u128(2));
    let other = Arc::new(other);
    assert_eq!(servers.says(&other, get("/")).await, "GET / other ");
    let workers = servers.workers();
    let serving = workers.iter().find(|worker| worker.function == Some(other.function.clone()));
    assert_eq!(serving.unwrap().pid, waiting);
}

#[tokio::test]
async fn a_functions_variables_reach_its_own_server_only() {
    let servers = Servers::new(Mode::Off).await;
    let source = "module.exports = async () => ({status: 200, body: String(process.env.MINE)});";
    let mut with = servers.node(source).await;
    with.variables.insert("MINE".to_owned(), "yes".to_owned());
    with.digest = folio_model::Digest::of(b"with");
    let without = servers.node(source).await;
    assert_eq!(servers.says(&Arc::new(with), get("/")).await, "yes");
    assert_eq!(servers.says(&Arc::new(without), get("/")).await, "undefined");
}

#[tokio::test]
async fn a_crash_fails_its_requests_and_the_next_gets_a_new_server() {
    let servers = Servers::new(Mode::Off).await;
    let source = "
let count = 0;
module.exports = async ({request}) => {
  if (request.url === '/die') process.exit(7);
  return {status: 200, body: String(++count)};
};";
    let plan = Arc::new(servers.node(source).await);
    assert_eq!(servers.says(&plan, get("/")).await, "1");
    assert_eq!(servers.says(&plan, get("/")).await, "2");
    let refused = servers.runtime.call(&plan, get("/die")).await.unwrap_err();
    assert!(matches!(&refused, CallError::Crashed(how) if how.contains("code 7")), "{refused:?}");
    assert_eq!(servers.says(&plan, get("/")).await, "1");
}

#[tokio::test]
async fn a_hang_fails_in_time_and_the_server_is_replaced() {
    let servers = Servers::new(Mode::Off).await;
    let source = "
module.exports = async ({request}) => {
  if (request.url === '/hang') for (;;) {}
  return {status: 200, body: 'fine'};
};";
    let mut plan = servers.node(source).await;
    plan.limits.timeout = Duration::from_millis(500);
    let plan = Arc::new(plan);
    assert_eq!(servers.says(&plan, get("/")).await, "fine");
    let hung = servers.workers()[0].pid;
    let refused = servers.runtime.call(&plan, get("/hang")).await.unwrap_err();
    assert_eq!(refused, CallError::Timeout(Duration::from_millis(500)));
    assert_eq!(servers.says(&plan, get("/")).await, "fine");
    assert_ne!(servers.workers()[0].pid, hung);
}

#[tokio::test]
async fn a_server_gets_no_more_at_once_than_it_may_and_others_share_the_rest() {
    let servers = Servers::new(Mode::Off).await;
    let source = "
let busy = 0;
let most = 0;
module.exports = async () => {
  most = Math.max(most, ++busy);
  await new Promise((done) => setTimeout(done, 20));
  busy -= 1;
  return {status: 200, body: `${process.pid} ${most}`};
};";
    let mut plan = servers.node(source).await;
    plan.limits.concurrency = 2;
    plan.limits.scale_max = 2;
    let plan = Arc::new(plan);
    let calls = (0..24).map(|_| servers.says(&plan, get("/")));
    let answers = futures::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer.ends_with(" 1") || answer.ends_with(" 2")));
    assert!(servers.workers().len() <= 2, "{:?}", servers.workers());
}

#[tokio::test]
async fn a_server_without_requests_goes_and_one_that_must_stay_stays() {
    let servers = Servers::new(Mode::Off).await;
    let mut plan = servers.node(NODE_HELLO).await;
    plan.limits.idle = Duration::from_millis(1);
    let idle = Arc::new(plan.clone());
    plan.limits.scale_min = 1;
    plan.digest = folio_model::Digest::of(b"kept");
    plan.function = "kept".parse().unwrap();
    let kept = Arc::new(plan);
    servers.runtime.prepare(&kept).await.unwrap();
    servers.says(&idle, get("/")).await;
    servers.until(|workers| workers.len() == 1).await;
    assert_eq!(servers.workers()[0].function, Some(kept.function.clone()));
    assert_eq!(servers.workers()[0].served, 0);
}

#[tokio::test]
async fn a_server_is_replaced_after_as_many_requests_as_it_may_serve() {
    let servers = Servers::new(Mode::Off).await;
    let source = "module.exports = async () => ({status: 200, body: String(process.pid)});";
    let mut plan = servers.node(source).await;
    plan.limits.requests_per_worker = Some(1);
    let plan = Arc::new(plan);
    let first = servers.says(&plan, get("/")).await;
    assert_ne!(servers.says(&plan, get("/")).await, first);
}

#[tokio::test]
async fn a_long_answer_flows_and_its_end_frees_the_server() {
    let servers = Servers::new(Mode::Off).await;
    let source = "
module.exports = async ({response}) => {
  response.writeHead(200);
  for (let n = 0; n < 200; n++) if (!response.write(Buffer.alloc(65536, 7)))
    await new Promise((more) => response.once('drain', more));
  response.end();
  return new Promise(() => {});
};";
    let plan = Arc::new(servers.node(source).await);
    let mut answer = servers.runtime.call(&plan, get("/")).await.unwrap().into_body();
    let mut bytes = 0;
    while let Some(frame) = answer.frame().await {
        bytes += frame.unwrap().into_data().unwrap().len();
    }
    assert_eq!(bytes, 200 * 65536);
    servers.until(|workers| workers.iter().all(|worker| worker.busy == 0)).await;
}

#[tokio::test]
async fn a_connection_may_become_something_else() {
    let servers = Servers::new(Mode::Off).await;
    let plan = Arc::new(servers.node(NODE_HELLO).await);
    let request = http::Request::get("/").header("connection", "Upgrade").header("upgrade", "echo");
    let call = call(request.body(Body::Empty).unwrap());
    let mut answer = servers.runtime.call(&plan, call).await.unwrap();
    assert_eq!(answer.status(), 101);
    assert_eq!(answer.headers()["upgrade"], "echo");
    let upgraded = hyper::upgrade::on(&mut answer).await.unwrap();
    drop(answer);
    let mut io = TokioIo::new(upgraded);
    io.write_all(b"ping").await.unwrap();
    let mut echoed = [0; 4];
    io.read_exact(&mut echoed).await.unwrap();
    assert_eq!(&echoed, b"ping");
    assert_eq!(servers.workers()[0].busy, 1, "it is in hand while it lasts");
    drop(io);
    servers.until(|workers| workers[0].busy == 0).await;
}

const OWN_SERVER: &str = "#!/usr/bin/env python3
import http.server, os, sys, socketserver
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        body = f'{self.path} {os.getpid()} {sys.argv[1:]}'.encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def address_string(self):
        return ''
class OnSocket(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
if '--socket' in sys.argv:
    OnSocket(os.environ['FOLIO_SOCKET'], Handler).serve_forever()
http.server.ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
";

#[tokio::test]
async fn a_package_may_bring_a_server_that_stays() {
    let servers = Servers::new(Mode::Enforced).await;
    let code = servers.place.directory(&[program("server.py", OWN_SERVER)]).await;
    for (entry, arguments) in
        [("serve:server.py", "[]"), ("serve:server.py --socket", "['--socket']")]
    {
        let plan = Arc::new(plan(RuntimeKind::Binary, code, Some(entry)));
        assert!(CommandRuntime::takes(&plan));
        let first = servers.says(&plan, get("/x")).await;
        assert!(first.starts_with("/x ") && first.ends_with(arguments), "{first}");
        assert_eq!(servers.says(&plan, get("/x")).await, first, "the same process answers again");
    }
}

#[tokio::test]
async fn a_function_in_a_server_calls_another() {
    let servers = Servers::new(Mode::Enforced).await;
    let calls = Calls::default();
    assert!(servers.place.ports.invoke.set(calls.answering()).is_ok());
    let source = "
const http = require('node:http');
module.exports = () => new Promise((done) => {
  const request = {socketPath: process.env.FOLIO_INVOKE, path: '/other/x', method: 'POST'};
  http.request(request, async (answer) => {
    let body = '';
    for await (const piece of answer) body += piece;
    done({status: answer.statusCode, body});
  }).end('hi');
});";
    let plan = Arc::new(servers.node(source).await);
    let answer = servers.says(&plan, get("/")).await;
    assert_eq!(answer, "default/hello calls other POST /x hops 1 id 7: hi");
}

#[tokio::test]
async fn stopping_finishes_what_is_in_hand_and_takes_no_more() {
    let servers = Servers::new(Mode::Off).await;
    let source = "
module.exports = async () => {
  await new Promise((done) => setTimeout(done, 100));
  return {status: 200, body: 'done'};
};";
    let plan = Arc::new(servers.node(source).await);
    servers.says(&plan, get("/")).await;
    let (answer, ()) = tokio::join!(servers.says(&plan, get("/")), async {
        servers.until(|workers| workers[0].busy == 1).await;
        servers.runtime.stop(Duration::from_secs(10)).await;
    });
    assert_eq!(answer, "done");
    let refused = servers.runtime.call(&plan, post("/", Bytes::new())).await.unwrap_err();
    assert_eq!(refused, CallError::Stopping);
    assert_eq!(servers.workers(), []);
}
