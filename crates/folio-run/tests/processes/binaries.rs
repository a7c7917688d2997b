//! Programs of packages, one process per request.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use folio_core::ports::runtime::{CallError, Plan};
use folio_core::ports::{Body, BodyError};
use folio_model::RuntimeKind;
use folio_run::binary::BinaryRuntime;
use folio_run::jail::Mode;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};

use super::place::{Calls, MIB, Place, call, file, get, plan, post, program, text};

struct Programs {
    place: Place,
    runtime: BinaryRuntime,
}

impl Programs {
    async fn new(mode: Mode) -> Self {
        let place = Place::new(mode).await;
        let (jail, codes) = (Arc::clone(&place.jail), Arc::clone(&place.codes));
        let runtime = BinaryRuntime::new(&place.run(), jail, codes, place.ports.clone()).unwrap();
        Self { place, runtime }
    }

    async fn script(&self, script: &str) -> Plan {
        let code = self.place.single(program("run", script)).await;
        plan(RuntimeKind::Binary, code, None)
    }

    async fn says(&self, plan: Plan, call: folio_core::ports::runtime::Call) -> String {
        text(self.runtime.call(&Arc::new(plan), call).await.unwrap()).await
    }
}

async fn a_program_answers(mode: Mode) {
    let programs = Programs::new(mode).await;
    let script = "#!/bin/sh\n\
        echo \"$REQUEST_METHOD $REQUEST_URI $CONTENT_LENGTH $HTTP_X_FISSION_FUNCTION_NAME $MINE\"\n\
        cat\necho in the log >&2\n";
    let mut plan = programs.script(script).await;
    plan.variables.insert("MINE".to_owned(), "mine".to_owned());
    let answer = programs.says(plan.clone(), post("/a?b=c", "the body")).await;
    assert_eq!(answer, "POST /a?b=c 8 hello mine\nthe body");
    programs.place.logged(&plan, "in the log").await;
}

#[tokio::test]
async fn a_program_reads_the_request_and_prints_the_answer() {
    a_program_answers(Mode::Off).await;
}

#[tokio::test]
async fn a_program_in_the_jail_reads_the_request_and_prints_the_answer() {
    a_program_answers(Mode::Enforced).await;
}

#[tokio::test]
async fn a_head_that_a_program_prints_becomes_the_answers() {
    let programs = Programs::new(Mode::Off).await;
    let script = "#!/bin/sh\nprintf 'Status: 418 Teapot\\nX-Tea: green\\n\\nshort and stout'\n";
    let plan = Arc::new(programs.script(script).await);
    let answer = programs.runtime.call(&plan, get("/")).await.unwrap();
    assert_eq!(answer.status(), 418);
    assert_eq!(answer.headers()["x-tea"], "green");
    assert_eq!(text(answer).await, "short and stout");
}

#[tokio::test]
async fn a_program_that_fails_gives_no_answer() {
    let programs = Programs::new(Mode::Off).await;
    let plan = Arc::new(programs.script("#!/bin/sh\necho half\necho why >&2\nexit 3\n").await);
    let refused = programs.runtime.call(&plan, get("/")).await.unwrap_err();
    assert_eq!(refused, CallError::Failed);
    programs.place.logged(&plan, "why").await;
    programs.place.logged(&plan, "exited with code 3").await;
    let plan = Arc::new(programs.script("#!/bin/sh\nkill -9 $$\n").await);
    let refused = programs.runtime.call(&plan, get("/")).await.unwrap_err();
    assert!(matches!(&refused, CallError::Crashed(how) if how.contains("signal 9")), "{refused:?}");
}

#[tokio::test]
async fn the_entry_point_chooses_among_programs() {
    let programs = Programs::new(Mode::Off).await;
    let files = [
        program("one", "#!/bin/sh\necho one"),
        program("sub/two", "#!/bin/sh\necho two"),
        file("three", "echo three $0 | cut -c 1-11"),
        program("four", "#!/bin/sh\necho four"),
    ];
    let code = programs.place.directory(&files).await;
    let check = async |entry: &str, expected: &str| {
        let plan = plan(RuntimeKind::Binary, code, Some(entry));
        assert_eq!(programs.says(plan, get("/")).await, expected);
    };
    check("one", "one\n").await;
    check("sub/two", "two\n").await;
    check("three", "three /code\n").await;
    for (entry, expected) in [(None, "several"), (Some("five"), "`five`"), (Some("../x"), "`..`")] {
        let plan = Arc::new(plan(RuntimeKind::Binary, code, entry));
        let refused = programs.runtime.prepare(&plan).await.unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}

#[tokio::test]
async fn bodies_stream_both_ways() {
    let programs = Programs::new(Mode::Off).await;
    let plan = Arc::new(programs.script("#!/bin/sh\nexec cat\n").await);
    let (pieces, receiver) = tokio::sync::mpsc::channel::<Result<Frame<Bytes>, BodyError>>(1);
    let stream = futures::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    let body = Body::stream(StreamBody::new(Box::pin(stream)));
    let request = call(http::Request::post("/").body(body).unwrap());
    let begun = programs.runtime.call(&plan, request);
    pieces.send(Ok(Frame::data(Bytes::from_static(b"one")))).await.unwrap();
    let mut answer = begun.await.unwrap().into_body();
    let mut next = async || answer.frame().await.map(|frame| frame.unwrap().into_data().unwrap());
    assert_eq!(next().await.unwrap(), "one");
    pieces.send(Ok(Frame::data(Bytes::from_static(b"two")))).await.unwrap();
    assert_eq!(next().await.unwrap(), "two", "an answer flows before its request has ended");
    drop(pieces);
    assert_eq!(next().await, None);
}

#[tokio::test]
async fn much_in_and_much_out_neither_stops_nor_gathers() {
    let programs = Programs::new(Mode::Off).await;
    let plan = Arc::new(programs.script("#!/bin/sh\nexec cat\n").await);
    let sent = Bytes::from(vec![7; 8 * MIB as usize]);
    let answer = programs.runtime.call(&plan, post("/", sent.clone())).await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), sent);
}

#[tokio::test]
async fn a_program_that_says_nothing_is_ended_in_time() {
    let programs = Programs::new(Mode::Off).await;
    let mut plan = programs.script("#!/bin/sh\nsleep 600\n").await;
    plan.limits.timeout = Duration::from_millis(200);
    plan.limits.scale_max = 1;
    let plan = Arc::new(plan);
    for _ in 0..2 {
        let refused = programs.runtime.call(&plan, get("/")).await.unwrap_err();
        assert_eq!(refused, CallError::Timeout(Duration::from_millis(200)));
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_the_callers_fault() {
    let programs = Programs::new(Mode::Off).await;
    let plan = Arc::new(programs.script("#!/bin/sh\nexec cat >/dev/null\n").await);
    let broken = futures::stream::iter([Err::<Frame<Bytes>, _>(BodyError("gone".to_owned()))]);
    let body = Body::stream(StreamBody::new(broken));
    let request = call(http::Request::post("/").body(body).unwrap());
    let refused = programs.runtime.call(&plan, request).await.unwrap_err();
    assert_eq!(refused, CallError::Body("gone".to_owned()));
}

#[tokio::test]
async fn no_more_processes_than_allowed_run_at_once() {
    let programs = Programs::new(Mode::Off).await;
    let lock = programs.place.path().join("lock");
    let script = format!(
        "#!/bin/sh\nmkdir {0} || exit 1\nsleep 0.05\nrmdir {0}\necho alone\n",
        lock.display()
    );
    let mut plan = programs.script(&script).await;
    plan.limits.scale_max = 1;
    let plan = Arc::new(plan);
    let calls = (0..4).map(|_| programs.runtime.call(&plan, get("/")));
    for answer in futures::future::join_all(calls).await {
        assert_eq!(text(answer.unwrap()).await, "alone\n");
    }
}

#[tokio::test]
async fn whoever_finds_the_line_full_is_refused_and_counted() {
    let programs = Programs::new(Mode::Off).await;
    let mut plan = programs.script("#!/bin/sh\necho hello\n").await;
    plan.limits.scale_max = 1;
    let plan = Arc::new(plan);
    // One runs and 64 wait.
    let calls = (0..70).map(|_| programs.runtime.call(&plan, get("/")));
    let answers = futures::future::join_all(calls).await;
    let refused = answers.iter().filter(|answer| matches!(answer, Err(CallError::Busy))).count();
    assert_eq!(refused, 5);
    assert_eq!(programs.runtime.status().refused_starts, 5);
}

#[tokio::test]
async fn a_program_calls_other_functions() {
    let programs = Programs::new(Mode::Enforced).await;
    let calls = Calls::default();
    assert!(programs.place.ports.invoke.set(calls.answering()).is_ok());
    let script = "#!/bin/sh\n\
        exec curl --silent --unix-socket $FOLIO_INVOKE --data-binary hi http://folio/other@3/a?b=c\n";
    let plan = programs.script(script).await;
    let answer = programs.says(plan, get("/")).await;
    assert_eq!(answer, "default/hello calls other@3 POST /a?b=c hops 1 id 7: hi");
}
