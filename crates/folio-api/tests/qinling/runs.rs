//! Executions: which code runs, what it is given and may use, and how its end is told.

use std::time::Duration;

use folio_core::ports::runtime::CallError;
use folio_core::{Limits, Settings};
use serde_json::{Value, json};

use super::face::{Face, id};

fn output(execution: &Value) -> Value {
    let result: Value = serde_json::from_str(execution["result"].as_str().unwrap()).unwrap();
    assert!(result["duration"].is_number());
    result["output"].clone()
}

/// The original took the first package whose name began like the version's: that of version 10 for version 1.
#[tokio::test]
async fn each_of_ten_versions_runs_its_own_code() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let run = async |version: u64| {
        let new = json!({ "function_id": function, "function_version": version });
        output(&face.post("/executions", new).await.with(201))
    };
    let mut codes = Vec::new();
    for number in 1..=10 {
        if number > 1 {
            face.change(&function, &format!("def main(): return {number}")).await;
        }
        face.publish(&function).await;
        codes.push(run(number).await);
    }
    face.change(&function, "def main(): return 'latest'").await;
    face.put(&format!("/functions/{function}"), json!({ "entry": "other.main" })).await.with(200);
    for number in (1..=10).rev() {
        assert_eq!(run(number).await, codes[number as usize - 1], "version {number}");
    }
    let latest = run(0).await;
    assert!(latest.as_str().unwrap().ends_with(" other.main"), "{latest}");
    assert!(codes.iter().all(|code| code.as_str().unwrap().ends_with(" main.main")), "{codes:?}");
    assert!(codes.iter().all(|code| *code != latest));
    codes.sort_by_key(ToString::to_string);
    codes.dedup();
    assert_eq!(codes.len(), 10, "each is other code");
}

#[tokio::test]
async fn runs_of_an_alias_count_for_the_version_it_leads_to() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    face.publish(&function).await;
    let counts = async || {
        let of = async |path: String| face.get(&path).await.with(200)["count"].clone();
        let function = format!("/functions/{function}");
        (of(function.clone()).await, of(format!("{function}/versions/1")).await)
    };
    let alias = json!({ "name": "prod", "function_id": function, "function_version": 1 });
    face.post("/aliases", alias).await.with(201);
    let run = json!({ "function_alias": "prod", "function_id": null, "function_version": null });
    let done = face.post("/executions", run.clone()).await.with(201);
    assert_eq!((&done["function_alias"], &done["function_version"]), (&json!("prod"), &json!(1)));
    assert_eq!(done["function_id"], json!(function));
    assert_eq!(counts().await, (json!(0), json!(1)));
    face.change(&function, "def main(): return 2").await;
    face.put("/aliases/prod", json!({ "function_version": 0 })).await.with(200);
    let newest = face.post("/executions", run).await.with(201);
    assert_eq!((&newest["function_version"], &newest["status"]), (&json!(0), &json!("success")));
    assert_ne!(output(&newest), output(&done), "the working copy runs");
    assert_eq!(counts().await, (json!(1), json!(1)));
    let other =
        json!({ "function_alias": "prod", "function_id": id(&done), "function_version": 1 });
    let other = face.post("/executions", other).await.with(201);
    assert_eq!(other["function_version"], 0, "an alias counts before everything else");
}

#[tokio::test]
async fn every_end_is_201_with_its_status() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let second = Duration::from_secs(1);
    let ends = [
        (CallError::Unavailable("no python".to_owned()), "error", "no python"),
        (CallError::Stopping, "error", "the server is stopping"),
        (CallError::Failed, "failed", "Function invocation error"),
        (CallError::Timeout(second), "failed", "Function execution timeout."),
        (CallError::Crashed("killed".to_owned()), "failed", "too much resource consumption"),
        (CallError::Load("No module named 'b'".to_owned()), "failed", "No module named 'b'"),
    ];
    for (error, status, text) in ends {
        *face.stub.failure.lock().unwrap() = Some(error.clone());
        let run = json!({ "function_id": function });
        let ended = face.post("/executions", run).await.with(201);
        assert_eq!(ended["status"], status, "{error}");
        let said = output(&ended);
        assert!(said.as_str().is_some_and(|said| said.contains(text)), "{error}: {said}");
        // The original has one sentence for all that goes wrong on its own side, which helps nobody.
        for vague in ["Internal service error.", "Function execution failed."] {
            assert_ne!(said, vague, "{error}");
        }
        assert_eq!(face.get(&format!("/executions/{}", id(&ended))).await.with(200), ended);
        // What never got to a worker has no log.
        let begun =
            face.log(&ended).await.starts_with(&format!("Start execution: {}\n", id(&ended)));
        assert_eq!(begun, status == "failed", "{error}");
    }
    assert_eq!(face.get(&format!("/functions/{function}")).await.with(200)["count"], 6);
}

#[tokio::test]
async fn input_is_text_whatever_is_in_it() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let given = async |input: Value| {
        let new = json!({ "function_id": function, "input": input });
        let done = face.post("/executions", new).await.with(201);
        assert_eq!(done["status"], "success", "{input}");
        assert_eq!(face.get(&format!("/executions/{}", id(&done))).await.with(200), done);
        (done["input"].clone(), face.log(&done).await)
    };
    for text in ["Qinling", "6", "\"x\"", "[1]", "true", "1.5", "{\"name\": \"x\"}"] {
        let (input, log) = given(json!(text)).await;
        assert_eq!(input, text);
        assert!(log.contains(&format!("Hello, {text}\n")), "{text}: {log}");
    }
    for nothing in [json!(""), json!("null"), Value::Null] {
        let (input, log) = given(nothing).await;
        assert_eq!(input, Value::Null);
        assert!(log.contains("Hello, \n"), "{log}");
    }
    for odd in [json!({}), json!([1]), json!(true), json!(6), json!(1.5)] {
        let new = json!({ "function_id": function, "input": odd });
        face.post("/executions", new).await.refused(400, "Wrong type. Expected '<class 'str'>'");
    }
}

#[tokio::test]
async fn a_run_may_use_what_its_version_says() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    face.publish(&function).await;
    let at = format!("/functions/{function}");
    let more = json!({ "cpu": "200", "memory_size": "67108864", "timeout": "9" });
    face.put(&at, more).await.with(200);
    let limits = async |version: u64| {
        let new = json!({ "function_id": function, "function_version": version });
        face.post("/executions", new).await.with(201);
        face.stub.limits.lock().unwrap().unwrap()
    };
    let (before, now) = (limits(1).await, limits(0).await);
    assert_eq!((before.cpu_millis, now.cpu_millis), (Some(100), Some(200)));
    assert_eq!((before.timeout, now.timeout), (Duration::from_secs(5), Duration::from_secs(9)));
    assert_eq!(now.memory_bytes - before.memory_bytes, 67_108_864 - 33_554_432);
    assert_eq!((now.concurrency, now.requests_per_worker), (1, Some(1)), "each has a worker");
}

#[tokio::test]
async fn runs_at_the_same_time_all_succeed() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let new = |sync: bool| json!({ "function_id": function, "sync": sync, "description": "many" });
    let run = || face.post("/executions", new(true));
    let said = tokio::join!(run(), run(), run(), run(), run(), run());
    for said in [said.0, said.1, said.2, said.3, said.4, said.5] {
        assert_eq!(said.with(201)["status"], "success");
    }
    for _ in 0..6 {
        assert_eq!(face.post("/executions", new(false)).await.with(201)["status"], "running");
    }
    face.pass(0).await;
    let all = face.described("many").await;
    assert_eq!(all.len(), 12);
    assert!(all.iter().all(|one| one["status"] == "success" && one["result"].is_string()));
}

/// What the client deletes by function is what it finds in one list.
#[tokio::test]
async fn a_list_has_all_executions_however_many() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let new = json!({ "function_id": function, "sync": false });
    let mut made = Vec::new();
    for _ in 0..1201 {
        made.push(face.post("/executions", new.clone()).await.with(201));
    }
    let list = async || {
        let listed = face.get(&format!("/executions?function_id={function}")).await;
        assert_eq!(listed.kind, "application/json");
        listed.with(200)["executions"].as_array().unwrap().clone()
    };
    assert_eq!(list().await, made);
    for one in &made {
        face.delete(&format!("/executions/{}", id(one))).await.with(204);
    }
    assert_eq!(list().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_list_has_as_many_executions_as_the_limit_says_the_newest() {
    let limits = Limits { qinling_executions_max: 3, ..Limits::default() };
    let face = Face::with(Settings { limits, ..Settings::default() }).await;
    let function = face.function("def main(): return 1").await;
    for number in 0..5 {
        let new =
            json!({ "function_id": function, "sync": false, "description": format!("n{number}") });
        face.post("/executions", new).await.with(201);
    }
    let described = |all: Vec<Value>| {
        all.iter().map(|one| one["description"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(described(face.described("n").await), ["n2", "n3", "n4"]);
    assert_eq!(described(face.described("n1").await), ["n1"], "those that fit are counted");
}
