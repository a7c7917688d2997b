//! Calls: who answers, what is counted, and what is said when nobody answers.

use std::time::Duration;

use folio_core::ports::runtime::CallError;

use crate::runtime::{call, reference, running};
use crate::world::{app, function, refused, request, world};

#[tokio::test]
async fn every_name_of_a_version_calls_it() {
    let running = running().await;
    let world = &running.world;
    world.version(&function("hello"), "one", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    world.point("hello", "prod", "v1").await;
    for (name, answer) in [
        ("hello@1", "hello@v1"),
        ("hello@v2", "hello@v2"),
        ("hello@prod", "hello@v1"),
        ("hello@latest", "hello@v2"),
        ("hello", "hello@v2"),
        ("hello-prod", "hello@v1"),
        ("hello_v2", "hello@v2"),
        ("default/hello@1", "hello@v1"),
    ] {
        assert_eq!(running.answers(name).await.unwrap(), answer, "{name}");
    }
    let drafted = world.code("three").await;
    let onto = (folio_core::request::Onto::Existing, None);
    world.folio.set_draft(&world.caller, &function("hello"), drafted, onto).await.unwrap();
    assert_eq!(running.answers("hello").await.unwrap(), "hello@draft");
    assert_eq!(running.answers("hello@draft").await.unwrap(), "hello@draft");
    assert_eq!(running.answers("hello@latest").await.unwrap(), "hello@v2");
}

#[tokio::test]
async fn what_leads_nowhere_says_why() {
    let running = running().await;
    running.world.version(&function("hello"), "one", "v1").await;
    assert_eq!(refused(running.answers("hallo").await).0, "unit_not_found");
    assert_eq!(refused(running.answers("hello@v9").await).0, "version_not_found");
    assert_eq!(refused(running.answers("hello@draft").await).0, "draft_not_found");
    assert_eq!(refused(running.answers("nowhere/hello").await).0, "app_not_found");
}

#[tokio::test]
async fn a_platform_without_a_runtime_says_so() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    let called = world.folio.invoke(&world.caller, (&app(), &reference("hello")), call(0)).await;
    assert_eq!(refused(called).0, "environment_unavailable");
}

#[tokio::test]
async fn functions_that_call_one_another_without_end_are_stopped() {
    let running = running().await;
    running.world.version(&function("hello"), "one", "v1").await;
    let (folio, caller) = (&running.world.folio, &running.world.caller);
    let (app, hello) = (app(), reference("hello"));
    assert!(folio.invoke(caller, (&app, &hello), call(16)).await.is_ok());
    let called = folio.invoke(caller, (&app, &hello), call(17)).await;
    assert_eq!(refused(called).0, "call_loop");
}

#[tokio::test]
async fn every_failure_has_a_code_of_its_own_and_counts_as_one() {
    let running = running().await;
    running.world.version(&function("hello"), "one", "v1").await;
    let failures = [
        (CallError::Load("x".to_owned()), "function_load_failed"),
        (CallError::Damaged("x".to_owned()), "corrupt"),
        (CallError::Failed, "function_failed"),
        (CallError::Timeout(Duration::from_secs(1)), "function_timeout"),
        (CallError::Crashed("x".to_owned()), "function_crashed"),
        (CallError::Garbled("x".to_owned()), "function_garbled"),
        (CallError::Busy, "function_busy"),
        (CallError::Full, "server_full"),
        (CallError::Unavailable("x".to_owned()), "environment_unavailable"),
        (CallError::Body("x".to_owned()), "request_body_broken"),
        (CallError::Stopping, "server_stopping"),
    ];
    let count = failures.len() as u64;
    for (failure, code) in failures {
        *running.stub.failure.lock().unwrap() = Some(failure);
        assert_eq!(refused(running.answers("hello").await).0, code);
    }
    let measured = running.world.folio.measured(&folio_core::Caller::new("ada".parse().unwrap()));
    let [hello] = &measured[..] else { panic!("{measured:?}") };
    assert_eq!((hello.function.as_str(), hello.version.as_str()), ("hello", "v1"));
    assert_eq!(hello.environment.as_str(), "nodejs");
    assert_eq!(hello.measured.requests, count);
    assert_eq!((hello.measured.client_errors, hello.measured.server_errors), (2, count - 2));
    assert_eq!(hello.measured.active, 0);
}

#[tokio::test]
async fn the_log_says_why_there_is_no_answer() {
    let running = running().await;
    running.world.version(&function("hello"), "one", "v1").await;
    let failures = [
        CallError::Load("no such file".to_owned()),
        CallError::Crashed("out of memory".to_owned()),
        CallError::Garbled("no status".to_owned()),
        CallError::Timeout(Duration::from_secs(7)),
        CallError::Unavailable("no such program".to_owned()),
    ];
    for failure in failures {
        let told = failure.to_string();
        *running.stub.failure.lock().unwrap() = Some(failure);
        refused(running.answers("hello").await);
        let name = "hello".parse().unwrap();
        let logs = running.world.folio.function_logs(&app(), &name, 0, None).await.unwrap();
        let line = logs.lines.last().unwrap();
        assert!(line.text.contains(&told) && line.request.is_some(), "{told}: {line:?}");
    }
}

#[tokio::test]
async fn functions_call_those_of_their_own_app_only() {
    let running = running().await;
    let world = &running.world;
    world.version(&function("hello"), "one", "v1").await;
    let slot = world.folio.slot(&app(), &reference("hello")).await.unwrap();
    let folio_core::serving::Meaning::Versions(split) = &**slot.load() else { panic!("callable") };
    let asks = split.sole().unwrap().clone();
    let calls = world.folio.calls_between_functions();
    let answer = calls(asks.clone(), reference("elsewhere/hello"), call(1)).await.unwrap();
    assert_eq!(answer.status(), 200);
    let answer = calls(asks, reference("nobody"), call(1)).await.unwrap();
    assert_eq!(answer.status(), 404);
}

#[tokio::test]
async fn settings_of_a_function_are_laid_over_those_it_has() {
    let running = running().await;
    let world = &running.world;
    let mut fields = world.code("one").await;
    fields.run.variables.insert("GREETING".to_owned(), "moin".to_owned());
    fields.run.variables.insert("OTHER".to_owned(), "x".to_owned());
    fields.run.timeout_ms = Some(5_000);
    world.publish(&function("hello"), request(fields)).await.unwrap();
    let mut fields = folio_core::request::Fields::default();
    fields.run.variables.insert("GREETING".to_owned(), "servus".to_owned());
    fields.run.memory_bytes = Some(1024);
    fields.unset.insert("OTHER".to_owned());
    let start = folio_core::request::Start::Latest;
    let update = folio_core::request::Publish { start, ..request(fields) };
    world.publish(&function("hello"), update).await.unwrap();
    let limits = |at: &str| {
        let at = at.to_owned();
        async move {
            let slot = world.folio.slot(&app(), &reference(&at)).await.unwrap();
            let meaning = slot.load();
            let folio_core::serving::Meaning::Versions(split) = &**meaning else { panic!() };
            split.sole().unwrap().clone()
        }
    };
    let (old, new) = (limits("hello@1").await, limits("hello@2").await);
    assert_eq!(old.variables["GREETING"], "moin");
    assert_eq!(new.variables.iter().collect::<Vec<_>>(), [(&"GREETING".into(), &"servus".into())]);
    assert_eq!((old.limits.memory_bytes, new.limits.memory_bytes), (512 * 1024 * 1024, 1024));
    assert_eq!(new.limits.timeout, Duration::from_secs(5));
    assert_eq!((new.limits.concurrency, new.limits.scale_max), (64, 4));
}

#[tokio::test]
async fn logs_and_status_tell_what_runs() {
    let running = running().await;
    let folio = &running.world.folio;
    assert_eq!(folio.status().runtime.unwrap().warm_starts, 7);
    let logs = folio.function_logs(&app(), &"hello".parse().unwrap(), 0, None).await;
    assert_eq!(refused(logs.map(|_| ())).0, "unit_not_found");
    running.world.version(&function("hello"), "one", "v1").await;
    let logs = folio.function_logs(&app(), &"hello".parse().unwrap(), 0, None).await.unwrap();
    assert!(logs.lines.is_empty() && logs.more.is_some());
    let printed = async |at: &str| {
        let at = at.parse().unwrap();
        folio.printed_by(&app(), &"hello".parse().unwrap(), at).await
    };
    for at in ["1", "v1", "latest"] {
        assert_eq!(printed(at).await.unwrap(), "v1");
    }
    assert_eq!(printed("draft").await.unwrap(), "draft");
    for at in ["2", "v2"] {
        assert_eq!(refused(printed(at).await.map(|_| ())).0, "version_not_found", "{at}");
    }
}
