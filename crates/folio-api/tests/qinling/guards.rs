//! What stands in the way of deleting or changing versions, functions and runtimes, and what no longer does.

use serde_json::{Value, json};

use super::face::{Face, id, zip};

async fn published(face: &Face) -> String {
    let function = face.function("def main(): return 1").await;
    face.publish(&function).await;
    function
}

#[tokio::test]
async fn a_version_is_kept_for_a_job_that_runs_or_is_paused() {
    let face = Face::new().await;
    let function = published(&face).await;
    let job = json!({ "function_id": function, "function_version": 1, "pattern": "0 0 * * *" });
    let job = face.post("/jobs", job).await.with(201);
    let (at, version) =
        (format!("/jobs/{}", id(&job)), format!("/functions/{function}/versions/1"));
    let text = "The function version is still associated with running job(s).";
    for status in ["running", "paused"] {
        face.put(&at, json!({ "status": status })).await.with(200);
        face.delete(&version).await.refused(403, text);
    }
    face.put(&at, json!({ "status": "cancelled" })).await.with(200);
    face.delete(&version).await.with(204);
    face.get(&version).await.refused(404, "FunctionVersion not found");
}

#[tokio::test]
async fn jobs_that_are_over_stand_in_nobodys_way() {
    let face = Face::new().await;
    let function = published(&face).await;
    let at = format!("/functions/{function}");
    let new = json!({ "function_id": function, "pattern": "* * * * *", "count": 1 });
    let done = face.post("/jobs", new.clone()).await.with(201);
    face.delete(&at).await.refused(403, "The function is still associated with running job(s).");
    face.pass(60).await;
    face.pass(60).await;
    assert_eq!(face.get(&format!("/jobs/{}", id(&done))).await.with(200)["status"], "done");
    let cancelled = face.post("/jobs", new).await.with(201);
    let cancelled = format!("/jobs/{}", id(&cancelled));
    face.put(&cancelled, json!({ "status": "cancelled" })).await.with(200);
    face.delete(&at).await.with(204);
    face.get(&at).await.refused(404, "Function not found [id=");
    let left = face.get(&cancelled).await.with(200);
    assert_eq!(left["status"], "cancelled", "it can still be looked at");
    face.delete(&cancelled).await.with(204);
}

#[tokio::test]
async fn of_five_who_publish_at_once_one_does() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let all = format!("/functions/{function}/versions");
    let post = || face.post(&all, json!({}));
    let said = tokio::join!(post(), post(), post(), post(), post());
    let said = [said.0, said.1, said.2, said.3, said.4];
    let (made, refused): (Vec<_>, Vec<_>) = said.iter().partition(|said| said.status == 201);
    assert_eq!((made.len(), refused.len()), (1, 4));
    for said in refused {
        said.refused(403, "Function package not changed since the latest version 1.");
    }
    let listed = face.get(&all).await.with(200);
    assert_eq!(listed["function_versions"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn workers_of_a_version_are_seen_and_let_go() {
    let face = Face::new().await;
    let function = published(&face).await;
    let at = format!("/functions/{function}");
    let workers = async |version: u64| {
        let listed = face.get(&format!("{at}/workers?function_version={version}")).await.with(200);
        listed["workers"].as_array().unwrap().clone()
    };
    assert_eq!(workers(1).await, Vec::<Value>::new());
    let run = json!({ "function_id": function, "function_version": 1 });
    face.post("/executions", run).await.with(201);
    let one = workers(1).await;
    assert_eq!(one.len(), 1);
    assert_eq!(
        (&one[0]["function_id"], &one[0]["function_version"]),
        (&json!(function), &json!(1))
    );
    assert!(one[0]["worker_name"].is_string());
    assert_eq!(workers(0).await.len(), 0, "they are of that version alone");
    face.post(&format!("{at}/versions/1/scale_up"), json!({ "count": 2 })).await.with(202);
    assert_eq!(workers(1).await.len(), 3);
    let runtime = face.get(&at).await.with(200)["runtime_id"].as_str().unwrap().to_owned();
    let ready = ["python3", "nodejs", "python3"].map(|name| name.parse().unwrap());
    *face.stub.ready.lock().unwrap() = ready.to_vec();
    let pool = face.get(&format!("/runtimes/{runtime}/pool")).await.with(200);
    let capacity = json!({ "total": 5, "available": 2 });
    assert_eq!(pool, json!({ "name": runtime, "capacity": capacity }), "three are at work");
    for _ in 0..2 {
        face.post(&format!("{at}/versions/1/scale_down"), json!({ "count": 2 })).await.with(202);
        assert_eq!(workers(1).await.len(), 1, "one stays");
    }
    face.call("POST", &format!("{at}/versions/1/detach"), "").await.with(202);
    assert_eq!(workers(1).await.len(), 0);
}

#[tokio::test]
async fn workers_go_with_what_they_ran() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let at = format!("/functions/{function}");
    let run = async |version: u64| {
        let run = json!({ "function_id": function, "function_version": version });
        face.post("/executions", run).await.with(201);
        let listed = face.get(&format!("{at}/workers?function_version={version}")).await.with(200);
        assert_eq!(listed["workers"].as_array().map(Vec::len), Some(1), "version {version}");
        listed["workers"][0]["worker_name"].clone()
    };
    let ids = async || {
        let listed = face.world.get("/folio/v1/apps/default/functions/f1/versions").await.ok();
        let items = listed["items"].as_array().unwrap().clone();
        let mut ids: Vec<_> = items.iter().map(|one| id(one).to_owned()).collect();
        ids.sort();
        ids
    };
    face.publish(&function).await;
    face.change(&function, "def main(): return 2").await;
    run(0).await;
    run(1).await;
    face.stub.retired();
    face.change(&function, "def main(): return 3").await;
    assert_eq!(face.stub.retired(), ["draft"], "other code has other workers");
    let listed = face.get(&format!("{at}/workers?function_version=0")).await.with(200);
    assert_eq!(listed["workers"], json!([]));
    let first = ids().await;
    face.delete(&format!("{at}/versions/1")).await.with(204);
    assert_eq!(face.stub.retired(), first);
    for version in 2..=3 {
        face.publish(&function).await;
        face.change(&function, &format!("def main(): return {version} + 2")).await;
        run(version).await;
    }
    run(0).await;
    face.stub.retired();
    let mut all = ids().await;
    assert_eq!(all.len(), 2);
    all.push("draft".to_owned());
    all.sort();
    face.delete(&at).await.with(204);
    assert_eq!(face.stub.retired(), all, "those of both versions, and of version 0");
}

#[tokio::test]
async fn the_image_of_a_runtime_is_kept_while_functions_have_workers_on_it() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let at = format!("/functions/{function}");
    let runtime = face.get(&at).await.with(200)["runtime_id"].as_str().unwrap().to_owned();
    let path = format!("/runtimes/{runtime}");
    let before = face.get(&path).await.with(200);
    face.post("/executions", json!({ "function_id": function })).await.with(201);
    let other = json!({ "image": "other/python3-runtime:2" });
    face.put(&path, other.clone())
        .await
        .refused(403, &format!("Runtime {runtime} is still in use by functions."));
    assert_eq!(face.get(&path).await.with(200), before, "nothing was changed");
    let same = json!({ "image": before["image"], "description": "d" });
    let same = face.put(&path, same).await.with(200);
    assert_eq!((&same["status"], &same["description"]), (&json!("available"), &json!("d")));
    face.call("POST", &format!("{at}/detach"), "").await.with(202);
    assert_eq!(face.put(&path, other).await.with(200)["status"], "upgrading");
    assert_eq!(face.get(&path).await.with(200)["status"], "available");
}

#[tokio::test]
async fn of_those_who_change_an_image_at_once_each_is_told_what_became_of_it() {
    let face = Face::new().await;
    let runtime = face.runtime().await;
    let path = format!("/runtimes/{runtime}");
    let put = |tag: u32| face.put(&path, json!({ "image": format!("a/python3-runtime:{tag}") }));
    let said = tokio::join!(put(1), put(2), put(3));
    let mut done = 0;
    for said in [said.0, said.1, said.2] {
        match said.status {
            200 => done += 1,
            _ => said.refused(409, &format!("Runtime {runtime} is not available.")),
        }
    }
    assert!(done >= 1);
    let seen = face.world.get("/folio/v1/apps/default/environments/python3").await.ok();
    assert_eq!(seen["version"]["number"], done + 1, "each that was told so changed it");
}

#[tokio::test]
async fn what_is_built_in_can_be_described_and_not_deleted() {
    let face = Face::new().await;
    let listed = face.get("/runtimes").await.with(200);
    let runtimes = listed["runtimes"].as_array().unwrap();
    let names: Vec<_> = runtimes.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["nodejs", "python"]);
    for runtime in runtimes {
        let at = format!("/runtimes/{}", id(runtime));
        face.delete(&at).await.refused(403, "is built in.");
        let said = face.put(&at, json!({ "description": "d", "image": null })).await.with(200);
        assert_eq!((&said["id"], &said["description"]), (&runtime["id"], &json!("d")));
        assert_eq!(said["name"], runtime["name"]);
        face.put(&at, json!({ "image": "fortran" })).await.refused(400, "not supported");
        face.delete(&at).await.refused(403, "is built in.");
        assert_eq!(face.get(&at).await.with(200), said);
    }
}

#[tokio::test]
async fn functions_are_made_of_forms_and_of_json() {
    let face = Face::new().await;
    let runtime = face.runtime().await;
    let fields = [
        ("runtime_id", &*runtime),
        ("code", "{\"source\": \"package\"}"),
        ("name", "f3"),
        ("timeout", "3"),
    ];
    let package = zip("def main(): return 1");
    let made = face.form(("POST", "/functions"), &fields, Some(&package)).await.with(201);
    assert_eq!((&made["timeout"], &made["name"]), (&json!(3), &json!("f3")));
    // Neither of the others can carry a package, so each is read to its end and then lacks it.
    let code = json!({ "source": "package" });
    for code in [code.clone(), json!(code.to_string())] {
        let body = json!({ "runtime_id": runtime, "code": code, "name": "f4", "timeout": 3 });
        face.post("/functions", body).await.refused(400, "Package is missing.");
    }
    let urlencoded = async |body: &str| {
        let request = axum::http::Request::builder()
            .method("POST")
            .uri("/v1/functions")
            .header("x-auth-token", &face.world.token)
            .header("content-type", "application/x-www-form-urlencoded");
        face.send(request.body(body.to_owned().into()).unwrap()).await
    };
    let code = "code=%7B%22source%22%3A+%22package%22%7D&timeout=3";
    let body = format!("runtime_id={runtime}&{code}");
    urlencoded(&body).await.refused(400, "Package is missing.");
    urlencoded(code).await.refused(400, "\"runtime_id\" must be specified.");
    let image = "code=%7B%22source%22%3A%22image%22%2C%22image%22%3A%22i%22%7D&name=f&timeout=5";
    urlencoded(image).await.refused(400, "no container runtime");
    let object = json!({ "code": { "source": "image", "image": "i" } });
    face.post("/functions", object).await.refused(400, "no container runtime");
    let object = json!({ "runtime_id": runtime, "code": { "source": "x" } });
    face.post("/functions", object).await.refused(400, "Invalid code source specified");
    let at = format!("/functions/{}", id(&made));
    let object = json!({ "code": { "source": "package", "md5sum": made["code"]["md5sum"] } });
    face.put(&at, object).await.refused(400, "The function code checksum is not changed.");
    let listed = face.get("/functions").await.with(200);
    assert_eq!(listed["functions"].as_array().map(Vec::len), Some(1));
}
