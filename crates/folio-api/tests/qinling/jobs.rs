//! Jobs: what they are made for, how they are changed, and that they run.

use serde_json::{Value, json};

use super::face::{Face, id};

/// A moment so many seconds from now, as the client writes it.
fn at(face: &Face, seconds: i64) -> String {
    let moment = face.world.folio.now() + jiff::SignedDuration::from_secs(seconds);
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[tokio::test]
async fn jobs_are_made_for_a_version_that_is_there() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    face.publish(&function).await;
    let new = |more: Value| {
        let mut job = json!({ "pattern": "0 0 * * *" });
        job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        job
    };
    let made = new(json!({ "function_id": function, "function_version": "1" }));
    let made = face.post("/jobs", made).await.with(201);
    assert_eq!((&made["function_version"], &made["function_id"]), (&json!(1), &json!(function)));
    assert_eq!((&made["function_alias"], &made["status"]), (&Value::Null, &json!("running")));
    let refuse = async |more: Value, status: u16, text: &str| {
        face.post("/jobs", new(more)).await.refused(status, text);
    };
    let gone = json!({ "function_id": function, "function_version": 7 });
    refuse(gone, 404, "version_number=7]").await;
    let nobody = "9b0d3f6a-0000-4000-8000-000000000000";
    refuse(json!({ "function_id": nobody }), 404, "Function not found [id=9b0d3f6a").await;
    let either = "Either function_alias or function_id must be provided.";
    refuse(json!({}), 400, either).await;
    refuse(json!({ "function_id": null, "function_alias": null }), 400, either).await;
    let listed = face.get("/jobs").await.with(200);
    assert_eq!(listed["jobs"], json!([made]), "nothing else was made");
}

#[tokio::test]
async fn a_job_runs_its_version_at_its_time_and_once() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    face.publish(&function).await;
    face.change(&function, "def main(): return 2").await;
    let job = json!({
        "function_id": function, "function_version": 1, "first_execution_time": at(&face, 90),
        "function_input": "{\"name\": \"World\"}",
    });
    let job = face.post("/jobs", job).await.with(201);
    let path = format!("/jobs/{}", id(&job));
    face.pass(89).await;
    assert_eq!(face.described(id(&job)).await, Vec::<Value>::new(), "not before its time");
    for _ in 0..3 {
        face.pass(1).await;
    }
    let runs = face.described(id(&job)).await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    let run = &runs[0];
    assert_eq!(run["description"], format!("Created by Job {}", id(&job)));
    assert_eq!((&run["function_version"], &run["status"]), (&json!(1), &json!("success")));
    assert_eq!((&run["sync"], &run["input"]), (&json!(false), &json!("{\"name\": \"World\"}")));
    assert!(face.log(run).await.contains("World"));
    let done = face.get(&path).await.with(200);
    assert_eq!((&done["status"], &done["count"]), (&json!("done"), &json!(0)));
    let counted = face.get(&format!("/functions/{function}/versions/1")).await.with(200);
    assert_eq!(counted["count"], 1);
    assert_eq!(face.get(&format!("/functions/{function}")).await.with(200)["count"], 0);
    face.put(&path, json!({ "status": "running" }))
        .await
        .refused(400, "Can not update a finished job.");
}

#[tokio::test]
async fn a_job_counts_down_to_its_end() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let job = json!({ "function_id": function, "pattern": "* * * * *", "count": 2 });
    let job = face.post("/jobs", job).await.with(201);
    let path = format!("/jobs/{}", id(&job));
    for (count, status) in [(1, "running"), (0, "done"), (0, "done")] {
        face.pass(60).await;
        let seen = face.get(&path).await.with(200);
        assert_eq!((&seen["count"], &seen["status"]), (&json!(count), &json!(status)));
    }
    assert_eq!(face.described(id(&job)).await.len(), 2);
    assert_eq!(face.get(&format!("/functions/{function}")).await.with(200)["count"], 2);
}

#[tokio::test]
async fn a_job_that_runs_once_is_paused_and_resumed_while_its_time_is_ahead() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let job = json!({ "function_id": function, "first_execution_time": at(&face, 300) });
    let job = face.post("/jobs", job).await.with(201);
    let path = format!("/jobs/{}", id(&job));
    let set = async |status: &str| face.put(&path, json!({ "status": status })).await;
    assert_eq!(set("paused").await.with(200)["status"], "paused");
    let resumed = set("running").await.with(200);
    assert_eq!(
        (&resumed["status"], &resumed["next_execution_time"]),
        (&json!("running"), &job["next_execution_time"])
    );
    set("paused").await.with(200);
    face.pass(400).await;
    assert_eq!(
        face.described(id(&job)).await,
        Vec::<Value>::new(),
        "nothing runs while it is paused"
    );
    let text = "Execution time must be at least 1 minute in the future";
    set("running").await.refused(400, text);
    let later = json!({ "status": "running", "next_execution_time": at(&face, 120) });
    let later = face.put(&path, later).await.with(200);
    assert_eq!(later["next_execution_time"], at(&face, 120));
    face.pass(120).await;
    assert_eq!(face.described(id(&job)).await.len(), 1);
}

#[tokio::test]
async fn a_job_that_recurs_is_changed_paused_and_resumed() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let job = json!({ "function_id": function, "pattern": "0 0 * * *" });
    let job = face.post("/jobs", job).await.with(201);
    let path = format!("/jobs/{}", id(&job));
    let put = async |body: Value| face.put(&path, body).await;
    let soon = at(&face, 600);
    let moved = put(json!({ "next_execution_time": soon })).await.with(200);
    assert_eq!(
        (&moved["next_execution_time"], &moved["pattern"]),
        (&json!(soon), &json!("0 0 * * *"))
    );
    let other = put(json!({ "pattern": "30 6 * * *" })).await.with(200);
    assert_eq!(other["pattern"], "30 6 * * *");
    assert_eq!(other["next_execution_time"], soon, "a pattern holds from the next time on");
    put(json!({ "pattern": "" })).await.refused(400, "Can not change job type.");
    put(json!({ "pattern": "soon" }))
        .await
        .refused(400, "The specified pattern is not valid: soon");
    let text = "Execution time must be at least 1 minute in the future";
    put(json!({ "next_execution_time": "2000-01-01 00:00:00" })).await.refused(400, text);
    put(json!({ "next_execution_time": "foo" })).await.refused(400, "Unknown string format: foo");
    assert_eq!(put(json!({ "status": "paused" })).await.with(200)["status"], "paused");
    let past = json!({ "status": "running", "next_execution_time": at(&face, -600) });
    put(past).await.refused(400, text);
    let named = at(&face, 900);
    let resumed = json!({ "status": "running", "next_execution_time": named });
    assert_eq!(put(resumed).await.with(200)["next_execution_time"], named);
    put(json!({ "status": "paused" })).await.with(200);
    let resumed = put(json!({ "status": "running" })).await.with(200);
    // The clock starts at midnight.
    assert_eq!(resumed["next_execution_time"], at(&face, (6 * 60 + 30) * 60));
    put(json!({ "name": "j2", "function_input": "{\"a\": 1}", "count": 7 })).await.with(200);
    let seen = face.get(&path).await.with(200);
    assert_eq!((&seen["name"], &seen["function_input"]), (&json!("j2"), &json!("{\"a\": 1}")));
    assert_eq!((&seen["count"], &seen["status"]), (&Value::Null, &json!("running")));
}
