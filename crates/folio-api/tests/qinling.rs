//! What Qinling's own tests ask of a server, asked of this one over HTTP.

mod access;
mod bindings;
mod face;
mod following;
mod guards;
mod hostile;
mod jobs;
mod runs;
mod stub;
mod turns;
mod urls;

use folio_core::Caller;
use folio_core::request::{Fields, Onto};
use folio_model::{Actor, AppName, Kind, UnitKey};
use folio_testkit::sample;
use serde_json::{Value, json};

use self::face::{Face, zip};

const CODE: (&str, &str) = ("code", "{\"source\": \"package\"}");

#[tokio::test]
async fn the_root_says_which_version_there_is() {
    let face = Face::new().await;
    let root = axum::http::Request::builder().uri("/").header("host", "h:1");
    let root = face.send(root.body(axum::body::Body::empty()).unwrap()).await.with(200);
    assert_eq!(root["versions"][0]["links"][0]["href"], "http://h:1/v1");
    assert_eq!(face.get("/").await.with(200)["uri"], "http://folio.test:7070/v1");
    assert_eq!(face.get("").await.status, 302);
    assert_eq!(face.call("HEAD", "", "").await.status, 302);
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let text = format!("The method {method} is not allowed for this resource.");
        face.call(method, "", "{}").await.refused(405, &text);
    }
}

#[tokio::test]
async fn runtimes_are_environments() {
    let face = Face::new().await;
    face.post("/runtimes", json!({})).await.refused(400, "Required: {'image'}");
    face.post("/runtimes", json!({ "image": "x", "colour": 1 }))
        .await
        .refused(400, "Unknown attribute for argument runtime: colour");
    face.post("/runtimes", json!({ "image": "fortran" })).await.refused(400, "not supported");
    let new = json!({ "image": "a/python3-runtime:1", "name": "p3", "description": "three" });
    let made = face.post("/runtimes", new.clone()).await.with(201);
    assert_eq!((&made["status"], &made["name"]), (&json!("creating"), &json!("p3")));
    assert_eq!((&made["is_public"], &made["project_id"]), (&json!(true), &json!("default")));
    let twin = face.post("/runtimes", new).await.with(201);
    assert_ne!(twin["id"], made["id"], "two may have one name");
    let at = format!("/runtimes/{}", made["id"].as_str().unwrap());
    let shown = face.get(&at).await.with(200);
    assert_eq!((&shown["status"], &shown["updated_at"]), (&json!("available"), &Value::Null));
    assert!(shown["created_at"].as_str().unwrap().ends_with('Z'));
    let changed = face.put(&at, json!({ "name": "new", "image": null })).await.with(200);
    assert_eq!((&changed["name"], &changed["status"]), (&json!("new"), &json!("available")));
    let image = json!({ "image": "a/python3-runtime:2" });
    assert_eq!(face.put(&at, image).await.with(200)["status"], "upgrading");
    let capacity = json!({ "total": 0, "available": 0 });
    let pool = json!({ "name": made["id"], "capacity": capacity });
    assert_eq!(face.get(&format!("{at}/pool")).await.with(200), pool);
    face.delete(&at).await.with(204);
    face.get(&at).await.refused(404, "Runtime not found [id=");
    face.get("/runtimes/abc").await.refused(400, "Expected a uuid but received abc.");
}

#[tokio::test]
async fn a_runtime_in_use_is_kept() {
    let face = Face::new().await;
    let id = face.function("def main(): pass").await;
    let function = face.get(&format!("/functions/{id}")).await.with(200);
    let at = format!("/runtimes/{}", function["runtime_id"].as_str().unwrap());
    face.delete(&at).await.refused(403, "is still in use.");
}

#[tokio::test]
async fn functions_have_every_field_and_their_defaults() {
    let face = Face::new().await;
    let id = face.function("def main(): return 1").await;
    let function = face.get(&format!("/functions/{id}")).await.with(200);
    let mut fields: Vec<_> = function.as_object().unwrap().keys().cloned().collect();
    fields.sort();
    let expected = [
        "code",
        "count",
        "cpu",
        "created_at",
        "description",
        "entry",
        "id",
        "latest_version",
        "memory_size",
        "name",
        "project_id",
        "runtime_id",
        "timeout",
        "updated_at",
    ];
    assert_eq!(fields, expected);
    assert_eq!(function["entry"], "main.main");
    assert_eq!((&function["cpu"], &function["timeout"]), (&json!(100), &json!(5)));
    assert_eq!(function["memory_size"], 33_554_432);
    assert_eq!(function["code"]["source"], "package");
    assert_eq!(function["code"]["md5sum"].as_str().map(str::len), Some(32));
    assert_eq!((&function["latest_version"], &function["count"]), (&json!(0), &json!(0)));
    let listed = face.get("/functions").await.with(200);
    let code: Value =
        serde_json::from_str(listed["functions"][0]["code"].as_str().unwrap()).unwrap();
    assert_eq!(code, function["code"], "a list has the code as a text");
    let all = face.get("/functions?all_projects=true").await.with(200);
    assert_eq!(all["functions"].as_array().map(Vec::len), Some(1));
    face.get("/functions?limit=3").await.refused(400, "Unknown argument: \"limit\"");
    let bytes = face.get(&format!("/functions/{id}?download=true")).await;
    assert_eq!((bytes.status, &*bytes.kind), (200, "application/zip"));
    assert_eq!(bytes.bytes, zip("def main(): return 1"));
    assert_eq!(bytes.disposition, format!("attachment; filename=\"{id}\""));
    face.delete(&format!("/functions/{id}")).await.with(204);
    face.get(&format!("/functions/{id}")).await.refused(404, "Function not found [id=");
}

#[tokio::test]
async fn what_no_function_can_be_is_refused_in_the_originals_words() {
    let face = Face::new().await;
    let runtime = face.runtime().await;
    let runtime = ("runtime_id", &*runtime);
    let zip = zip("x = 1");
    let refuse = async |fields: &[(&str, &str)], package: Option<&[u8]>, text: &str| {
        face.form(("POST", "/functions"), fields, package).await.refused(400, text);
    };
    refuse(&[runtime], Some(&zip), "Required param is missing. Required: {'code'}").await;
    refuse(&[runtime, ("code", "{")], Some(&zip), "Invalid input").await;
    refuse(&[runtime, ("code", "{\"source\": \"x\"}")], None, "Invalid code source").await;
    refuse(&[CODE], Some(&zip), "\"runtime_id\" must be specified.").await;
    refuse(&[runtime, CODE], None, "Package is missing.").await;
    refuse(&[runtime, CODE], Some(b"no zip"), "Package is not a valid ZIP package.").await;
    refuse(&[runtime, CODE], Some(&zip[..40]), "Package is not a valid ZIP package.").await;
    let md5 = ("code", "{\"source\": \"package\", \"md5sum\": \"0123\"}");
    refuse(&[runtime, md5], Some(&zip), "Package md5 mismatch.").await;
    let range = "timeout resource limitation not within the allowable range: 1 ~ 300(seconds).";
    refuse(&[runtime, CODE, ("timeout", "301")], Some(&zip), range).await;
    let range = "cpu resource limitation not within the allowable range: 100 ~ 300(millicpu).";
    refuse(&[runtime, CODE, ("cpu", "10")], Some(&zip), range).await;
    let text = "Invalid memory resource specified. An integer is required.";
    refuse(&[runtime, CODE, ("memory_size", "much")], Some(&zip), text).await;
    let swift = ("code", "{\"source\": \"swift\", \"swift\": {\"container\": \"c\"}}");
    refuse(&[runtime, swift], None, "Both container and object must be provided").await;
    let swift = "{\"source\": \"swift\", \"swift\": {\"container\": \"c\", \"object\": \"o\"}}";
    refuse(&[runtime, ("code", swift)], None, "Swift object not supported.").await;
    let image = ("code", "{\"source\": \"image\", \"image\": \"i\"}");
    refuse(&[image], None, "no container runtime").await;
    assert_eq!(face.get("/functions").await.with(200)["functions"], json!([]), "nothing was made");
    let unknown = ("runtime_id", "9b0d3f6a-0000-4000-8000-000000000000");
    let said = face.form(("POST", "/functions"), &[unknown, CODE], Some(&zip)).await;
    said.refused(404, "Runtime not found [id=9b0d3f6a");
}

#[tokio::test]
async fn functions_are_changed_field_by_field() {
    let face = Face::new().await;
    let id = face.function("def main(): return 1").await;
    let at = format!("/functions/{id}");
    let before = face.get(&at).await.with(200);
    assert_eq!(face.put(&at, json!({})).await.with(200), before, "nothing given, nothing changed");
    let named = face.put(&at, json!({ "name": "other name" })).await.with(200);
    assert_eq!((&named["name"], &named["code"]), (&json!("other name"), &before["code"]));
    assert!(named["updated_at"].is_string());
    assert_eq!(face.put(&at, json!({ "timeout": 10 })).await.with(200)["timeout"], 10);
    face.put(&at, json!({ "timeout": 0 })).await.refused(400, "timeout resource limitation");
    let sized = json!({ "cpu": "200", "memory_size": "67108864" });
    let sized = face.put(&at, sized).await.with(200);
    assert_eq!((&sized["cpu"], &sized["memory_size"]), (&json!(200), &json!(67_108_864)));
    face.put(&at, json!({ "cpu": "x" })).await.refused(400, "Invalid cpu resource specified");
    face.put(&at, json!({ "cpu": 301 })).await.refused(400, "cpu resource limitation");
    let md5 = before["code"]["md5sum"].as_str().unwrap();
    let same = json!({ "source": "package", "md5sum": md5 }).to_string();
    face.form(("PUT", &at), &[("code", &same)], Some(&zip("def main(): return 1")))
        .await
        .refused(400, "The function code checksum is not changed.");
    let put = ("PUT", at.as_str());
    let again = face.form(put, &[("source", "package")], Some(&zip("def main(): return 1"))).await;
    assert_eq!(again.with(200)["code"], before["code"], "the same bytes change nothing");
    face.change(&id, "def main(): return 2").await;
    assert_ne!(face.get(&at).await.with(200)["code"], before["code"]);
    let swift = json!({ "code": "{\"source\": \"swift\"}" });
    face.put(&at, swift).await.refused(400, "The function code type can not be changed.");
}

#[tokio::test]
async fn versions_are_numbered_frozen_and_guarded() {
    let face = Face::new().await;
    let id = face.function("def main(): return 1").await;
    let all = format!("/functions/{id}/versions");
    let made = face.post(&all, json!({ "description": "first" })).await.with(201);
    let mut fields: Vec<_> = made.as_object().unwrap().keys().cloned().collect();
    fields.sort();
    let expected = [
        "count",
        "created_at",
        "description",
        "function_id",
        "id",
        "project_id",
        "updated_at",
        "version_number",
    ];
    assert_eq!(fields, expected);
    assert_eq!((&made["version_number"], &made["description"]), (&json!(1), &json!("first")));
    face.post(&all, json!({}))
        .await
        .refused(403, "Function package not changed since the latest version 1.");
    face.change(&id, "def main(): return 2").await;
    assert_eq!(face.publish(&id).await, 2);
    assert_eq!(face.get(&format!("/functions/{id}")).await.with(200)["latest_version"], 2);
    let listed = face.get(&format!("{all}/")).await.with(200);
    assert_eq!(listed["function_versions"].as_array().map(Vec::len), Some(2));
    assert_eq!(listed["function_versions"][0], made);
    assert_eq!(face.get(&format!("{all}/1")).await.with(200), made);
    assert!(made["updated_at"].is_null());
    let said = face.put(&format!("{all}/1"), json!({ "description": "oldest" })).await.with(200);
    assert_eq!(said["description"], "oldest");
    assert!(said["updated_at"].is_string());
    assert_eq!(face.get(&format!("{all}/1")).await.with(200), said);
    let bytes = face.get(&format!("{all}/1?download=true")).await;
    assert_eq!(
        (bytes.kind.as_str(), &bytes.bytes),
        ("application/zip", &zip("def main(): return 1"))
    );
    assert_eq!(bytes.disposition, format!("attachment; filename=\"{id}_1\""));
    let described = face.put(&format!("{all}/1"), json!({ "description": "one" })).await.with(200);
    assert_eq!(described["description"], "one");
    for number in ["0", "3", "-1"] {
        face.get(&format!("{all}/{number}")).await.refused(404, "FunctionVersion not found");
        face.delete(&format!("{all}/{number}")).await.refused(404, "FunctionVersion not found");
    }
    face.get(&format!("{all}/abc")).await.refused(400, "invalid literal for int()");
    face.call("POST", &all, "").await.refused(400, "Missing argument: \"body\"");
    face.post(&all, json!({ "x": 1 })).await.refused(400, "Unknown attribute for argument body: x");
    face.post(&all, json!({ "count": 1 })).await.refused(400, "Cannot set read only field.");
    face.post(&all, json!({ "description": 5 })).await.refused(400, "Wrong type. Expected");
    let alias = json!({ "name": "prod", "function_id": id, "function_version": 1 });
    face.post("/aliases", alias).await.with(201);
    let guarded = face.delete(&format!("{all}/1")).await;
    guarded.refused(403, "The function version is still associated with alias.");
    face.delete("/aliases/prod").await.with(204);
    face.delete(&format!("{all}/2")).await.with(204);
    assert_eq!(face.get(&format!("/functions/{id}")).await.with(200)["latest_version"], 1);
    // Numbers are never reused, whatever was deleted.
    face.change(&id, "def main(): return 3").await;
    assert_eq!(face.publish(&id).await, 3);
    face.delete(&format!("/functions/{id}")).await.with(204);
    face.get(&all).await.refused(404, "Function not found [id=");
}

/// The identity that publishing answered with is as good as the number.
#[tokio::test]
async fn a_version_is_named_by_its_id_as_well() {
    let face = Face::new().await;
    let function = face.function("def main(): return 1").await;
    let all = format!("/functions/{function}/versions");
    let first = face.post(&all, json!({})).await.with(201);
    face.change(&function, "def main(): return 2").await;
    let second = face.post(&all, json!({})).await.with(201);
    let at = |version: &Value| format!("{all}/{}", version["id"].as_str().unwrap());
    for version in [&first, &second] {
        assert_eq!(face.get(&at(version)).await.with(200), *version);
    }
    let named = at(&first);
    let said = face.put(&named, json!({ "description": "named" })).await.with(200);
    assert_eq!((&said["description"], &said["version_number"]), (&json!("named"), &json!(1)));
    let bytes = face.get(&format!("{named}?download=true")).await;
    assert_eq!(bytes.bytes, zip("def main(): return 1"));
    assert_eq!(bytes.disposition, format!("attachment; filename=\"{function}_1\""));
    face.call("POST", &format!("{named}/detach"), "").await.with(202);
    let nobody = format!("{all}/9b7eb4d2-6c1e-4b04-9d2c-0b6ab0ae1e5f");
    for method in ["GET", "DELETE"] {
        face.call(method, &nobody, "").await.refused(404, "FunctionVersion not found");
    }
    face.put(&nobody, json!({ "description": "x" }))
        .await
        .refused(404, "FunctionVersion not found");
    face.delete(&at(&second)).await.with(204);
    face.get(&format!("{all}/2")).await.refused(404, "FunctionVersion not found");
    face.get(&at(&second)).await.refused(404, "FunctionVersion not found");
    assert_eq!(face.get(&named).await.with(200)["version_number"], 1);
}

#[tokio::test]
async fn version_0_is_there_whatever_becomes_of_the_others() {
    let face = Face::new().await;
    let id = face.function("def main(): return 1").await;
    let at = format!("/functions/{id}");
    face.publish(&id).await;
    face.change(&id, "def main(): return 2").await;
    face.put(&at, json!({ "timeout": "9" })).await.with(200);
    face.publish(&id).await;
    for (number, latest) in [(2, 1), (1, 0)] {
        face.delete(&format!("{at}/versions/{number}")).await.with(204);
        let function = face.get(&at).await.with(200);
        assert_eq!(
            (&function["latest_version"], &function["timeout"]),
            (&json!(latest), &json!(9))
        );
        let bytes = face.get(&format!("{at}?download=true")).await.bytes;
        assert_eq!(bytes, zip("def main(): return 2"), "the working copy stays as it was");
    }
    assert_eq!(face.publish(&id).await, 3, "numbers are never used again");
}

#[tokio::test]
async fn ten_versions_are_enough_and_each_keeps_its_own_code() {
    let face = Face::new().await;
    let id = face.function("def main(): return 0").await;
    for number in 1..=10 {
        if number > 1 {
            face.change(&id, &format!("def main(): return {number}")).await;
        }
        assert_eq!(face.publish(&id).await, number);
    }
    face.change(&id, "def main(): return 11").await;
    let all = format!("/functions/{id}/versions");
    face.post(&all, json!({})).await.refused(403, "maximum number of versions 10");
    // The original mistook version 10 for version 1, and the latest package for either.
    let first = face.get(&format!("{all}/1?download=1")).await.bytes;
    let tenth = face.get(&format!("{all}/10?download=yes")).await.bytes;
    assert_eq!((first, tenth), (zip("def main(): return 0"), zip("def main(): return 10")));
    face.delete(&format!("{all}/10")).await.with(204);
    assert_eq!(face.publish(&id).await, 11);
}

#[tokio::test]
async fn a_function_that_was_made_elsewhere_is_downloaded_as_a_zip_too() {
    let face = Face::new().await;
    let folio = &face.world.folio;
    let caller = Caller::new("ada".parse::<Actor>().unwrap());
    let key = UnitKey {
        app: AppName::default_app(),
        kind: Kind::Function,
        name: "elsewhere".parse().unwrap(),
    };
    let fields = Fields {
        environment: Some("python".parse().unwrap()),
        deployment: Some(sample::file(folio, "main.py", "def main(): return 1").await),
        ..Fields::default()
    };
    folio.set_draft(&caller, &key, fields, (Onto::Nothing, None)).await.unwrap();
    let all = face.get("/functions").await.with(200);
    let id = all["functions"][0]["id"].as_str().unwrap();
    let said = face.get(&format!("/functions/{id}?download=true")).await;
    assert_eq!((said.kind.as_str(), &said.bytes[..4]), ("application/zip", &b"PK\x03\x04"[..]));
    assert!(said.bytes.windows(7).any(|name| name == b"main.py"));
    assert!(said.disposition.ends_with(&format!("filename=\"{id}\"")), "{}", said.disposition);
}

#[tokio::test]
async fn executions_count_for_what_was_asked() {
    let face = Face::new().await;
    let id = face.function("def main(): return 1").await;
    face.publish(&id).await;
    let run = async |body: Value| face.post("/executions", body).await.with(201);
    let done = run(json!({ "function_id": id, "input": "{\"a\": 1}" })).await;
    assert_eq!((&done["status"], &done["sync"]), (&json!("success"), &json!(true)));
    assert_eq!((&done["function_version"], &done["input"]), (&json!(0), &json!("{\"a\": 1}")));
    let result: Value = serde_json::from_str(done["result"].as_str().unwrap()).unwrap();
    assert!(result["output"].is_string());
    assert!(result["duration"].is_number());
    let pinned = run(json!({ "function_id": id, "function_version": "1", "sync": null })).await;
    assert_eq!(pinned["function_version"], 1);
    let later = run(json!({ "function_id": id, "sync": false, "description": "later on" })).await;
    assert_eq!((&later["status"], &later["result"]), (&json!("running"), &Value::Null));
    let counts = face.get(&format!("/functions/{id}")).await.with(200)["count"].clone();
    assert_eq!(counts, 2);
    let version = face.get(&format!("/functions/{id}/versions/1")).await.with(200);
    assert_eq!(version["count"], 1);
    // What runs keeps its version.
    let waits = run(json!({ "function_id": id, "function_version": 1, "sync": false })).await;
    let guarded = face.delete(&format!("/functions/{id}/versions/1")).await;
    guarded.refused(403, "The function version is still associated with running execution(s).");
    face.delete(&format!("/executions/{}", waits["id"].as_str().unwrap())).await.with(204);
    let list = async |query: &str| {
        let listed = face.get(&format!("/executions?{query}")).await.with(200);
        listed["executions"].as_array().unwrap().len()
    };
    assert_eq!(list(&format!("function_id={id}")).await, 3);
    assert_eq!(list("status=running").await, 1);
    assert_eq!(list("status=neq:running").await, 2);
    assert_eq!(list("description=has:later").await, 1);
    face.get("/executions?function_version=1").await.refused(400, "Unknown argument");
    let at = format!("/executions/{}", done["id"].as_str().unwrap());
    let log = face.get(&format!("{at}/log")).await;
    assert_eq!((log.status, &*log.kind), (200, "text/plain; charset=UTF-8"));
    assert!(log.bytes.starts_with(b"Start execution: "));
    face.delete(&at).await.with(204);
    face.get(&at).await.refused(404, "Execution not found [id=");
    face.get(&format!("{at}/log")).await.refused(404, "Execution not found [id=");
    face.get("/executions/abc").await.refused(400, "Expected a uuid but received abc.");
    let either = "Either function_alias or function_id must be provided.";
    face.post("/executions", json!({})).await.refused(400, either);
    let gone = json!({ "function_alias": "nobody" });
    face.post("/executions", gone).await.refused(404, "FunctionAlias not found [name=nobody]");
    let gone = json!({ "function_id": id, "function_version": 7 });
    face.post("/executions", gone).await.refused(404, "version_number=7]");
    let odd = json!({ "function_id": id, "input": { "a": 1 } });
    face.post("/executions", odd).await.refused(400, "Wrong type");
}

#[tokio::test]
async fn executions_of_a_deleted_function_stay_readable() {
    let face = Face::new().await;
    let id = face.function("def main(): return 1").await;
    let done = face.post("/executions", json!({ "function_id": id })).await.with(201);
    face.delete(&format!("/functions/{id}")).await.with(204);
    let at = format!("/executions/{}", done["id"].as_str().unwrap());
    assert_eq!(face.get(&at).await.with(200), done);
}

#[tokio::test]
async fn workers_and_scaling_answer_what_the_client_expects() {
    let face = Face::new().await;
    let id = face.function("def main(): return 1").await;
    face.publish(&id).await;
    for at in [format!("/functions/{id}"), format!("/functions/{id}/versions/1")] {
        for what in ["scale_up", "scale_down"] {
            face.post(&format!("{at}/{what}"), json!({ "count": 2 })).await.with(202);
            face.post(&format!("{at}/{what}"), json!({ "count": 0 }))
                .await
                .refused(400, "Value should be greater or equal to 1");
            face.call("POST", &format!("{at}/{what}"), "").await.refused(400, "\"scale\"");
        }
        face.call("POST", &format!("{at}/detach"), "").await.with(202);
    }
    let gone = format!("/functions/{id}/versions/9/detach");
    face.call("POST", &gone, "").await.refused(404, "FunctionVersion not found");
    let workers = face.get(&format!("/functions/{id}/workers?function_version=1")).await.with(200);
    assert_eq!(workers, json!({ "workers": [] }));
    let odd = format!("/functions/{id}/workers?function_version=x");
    face.get(&odd).await.refused(400, "invalid literal for int()");
}
