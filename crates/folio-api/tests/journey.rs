//! Every operation once, as a client would use them, on both stores.

use std::collections::BTreeSet;

use folio_core::binding::WebhookCall;
use folio_model::Digest;
use serde_json::{Value, json};

use crate::client::{APP, FUNCTIONS, World, frames, one_file};
use crate::contract::operations;

const PACKAGES: &str = "/folio/v1/apps/default/packages";

#[tokio::test]
async fn every_operation_answers_as_documented_in_memory() {
    journey(&World::memory().await).await;
}

#[tokio::test]
async fn every_operation_answers_as_documented_in_a_data_directory() {
    journey(&World::directory().await).await;
}

async fn journey(world: &World) {
    about_itself(world).await;
    drafts(world).await;
    versions(world).await;
    aliases(world).await;
    tags(world).await;
    running(world).await;
    executions(world).await;
    bindings(world).await;
    settings(world).await;
    deployments(world).await;
    looking_back(world).await;
    releases(world).await;
    apps(world).await;
    tokens(world).await;
    statics(world).await;
    domains(world).await;
    bundles(world).await;
    leaving(world).await;
    storage(world).await;
    let all: BTreeSet<_> = operations().into_iter().collect();
    let missed: Vec<_> = all.difference(&world.seen()).cloned().collect();
    assert_eq!(missed, [], "operations that no step of the journey used");
}

async fn statics(world: &World) {
    let (tree, body) = one_file("index.html", "<h1>hello</h1>");
    world.call("POST", "/folio/v1/blobs").nodes(body).send().await.ok();
    let item = format!("{APP}/statics/site");
    let content = json!({ "tree": tree, "layout": "directory" });
    let fields = json!({ "path": "/", "content": content, "expires": 60 });
    let made = world.call("PUT", &item).json(&fields).send().await.ok();
    assert_eq!((&made["changed"], &made["files"]), (&json!(true), &json!(1)));
    let again = world.call("PUT", &item).json(&fields).send().await.ok();
    assert_eq!(again["changed"], false);
    assert_eq!(world.get(&item).await.ok()["spec"]["path"], "/");
    assert_eq!(world.get(&format!("{APP}/statics")).await.ok()["items"][0]["name"], "site");
    let other = format!("{APP}/statics/other");
    let taken = world.call("PUT", &other).json(&fields).send().await;
    taken.refused(409, "static_path_taken");
    let lost = json!({ "path": "/x", "content": content, "fallback": "gone.html" });
    world.call("PUT", &other).json(&lost).send().await.refused(400, "static_file_missing");
    let bad = json!({ "path": "x", "content": content });
    world.call("PUT", &other).json(&bad).send().await.refused(400, "bad_spec");
    world.delete(&item).await.ok();
}

async fn tokens(world: &World) {
    let me = world.get("/folio/v1/self").await.ok();
    assert_eq!(me, json!({ "actor": "ada", "role": "admin" }));
    let body =
        json!({ "actor": "grace", "role": "viewer", "app": "default", "validForSeconds": 60 });
    let made = world.post("/folio/v1/tokens", body).await.ok();
    let token = format!("Bearer {}", made["token"].as_str().unwrap());
    let as_grace = |method, path: &str| {
        world.call(method, path).anonymous().header("authorization", &token).send()
    };
    assert_eq!(as_grace("GET", "/folio/v1/self").await.ok()["app"], "default");
    as_grace("GET", FUNCTIONS).await.ok();
    as_grace("DELETE", &format!("{FUNCTIONS}/hello")).await.refused(403, "forbidden");
    as_grace("GET", "/folio/v1/apps/other/functions").await.refused(403, "forbidden");
    let listed = world.get("/folio/v1/tokens").await.ok();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    let one = format!("/folio/v1/tokens/{}", made["id"].as_str().unwrap());
    world.delete(&one).await.ok();
    as_grace("GET", FUNCTIONS).await.refused(401, "token_invalid");
    world.delete(&one).await.refused(404, "token_not_found");
}

async fn releases(world: &World) {
    let releases = format!("{APP}/releases");
    let listed = world.get(&format!("{releases}?limit=1")).await.ok();
    let latest = listed["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!((&listed["items"][0]["live"], listed["next"].is_u64()), (&json!(10_000), true));
    let one = format!("{releases}/{latest}");
    assert_eq!(world.get(&one).await.ok()["latest"], true);
    world.get(&format!("{releases}/nobody")).await.refused(404, "release_not_found");
    world.get(&format!("{releases}/No")).await.refused(400, "bad_request");
    let again = json!({ "appVersion": "latest" });
    assert_eq!(world.post(&releases, again).await.ok()["changed"], false);
    let other = json!({ "appVersion": "latest", "ifSame": "publish" });
    let made = world.post(&releases, other).await.made();
    let newest = made["id"].as_str().unwrap().to_owned();
    assert_eq!(made["release"]["id"], newest.as_str());
    let tag = format!("{APP}/release-tags/beta");
    let on = json!({ "release": latest });
    world.call("PUT", &tag).json(&on).send().await.ok();
    let moved = json!({ "release": newest, "from": newest });
    world.call("PUT", &tag).json(&moved).send().await.refused(412, "stale");
    let live = format!("{APP}/live");
    let set = world.call("PUT", &live).json(&json!({ "release": "beta" })).send().await.ok();
    assert_eq!(set["id"], latest.as_str());
    world.delete(&format!("{releases}/live")).await.refused(409, "in_use");
    assert_eq!(
        world.call("POST", &format!("{live}/follow")).send().await.ok()["id"],
        newest.as_str()
    );
    let back = world.post(&format!("{live}/rollback"), json!({})).await.ok();
    assert_eq!(back["id"], latest.as_str());
    let history = world.get(&format!("{live}/history")).await.ok();
    assert_eq!(history["items"][0]["mode"], "pinned");
    world.delete(&format!("{releases}/{newest}")).await.ok();
    world.delete(&format!("{releases}/{newest}")).await.refused(410, "release_deleted");
    world.delete(&tag).await.ok();
    let moves = world.get(&format!("{tag}/history")).await.ok();
    assert_eq!(moves["items"][0]["from"], json!([latest]));
    assert_eq!(moves["items"][1]["to"], json!([latest]));
    let never = world.get(&format!("{APP}/release-tags/never/history")).await;
    never.refused(404, "release_tag_not_found");
    sharing(world, &live, &latest).await;
    let expiry = format!("{APP}/expiry");
    assert_eq!(world.get(&expiry).await.ok()["expired"], json!([]));
    world.call("POST", &expiry).send().await.ok();
    world.call("POST", &format!("{live}/follow")).send().await.ok();
}

/// Shares what is live, rolls out a release, and says how releases are treated.
async fn sharing(world: &World, live: &str, old: &str) {
    let other = json!({ "appVersion": "latest", "ifSame": "publish" });
    let made = world.post(&format!("{APP}/releases"), other).await.made();
    let new = made["id"].as_str().unwrap().to_owned();
    let share = |release: &str, weight: u32| json!({ "release": release, "weight": weight });
    let split = json!({ "shares": [share(old, 9_000), share("latest", 1_000)] });
    let put = |path: String, body| world.call("PUT", &path).json(&body).send();
    let shared = put(format!("{live}/split"), split).await.ok();
    assert_eq!(shared["shares"][1]["release"], new.as_str());
    let odd = json!({ "shares": [share(old, 9_000)] });
    put(format!("{live}/split"), odd).await.refused(400, "bad_weights");
    assert_eq!(world.get(live).await.ok()["mode"], "pinned");
    world.delete(&format!("{APP}/releases/{new}")).await.refused(409, "in_use");
    put(live.to_owned(), json!({ "release": old })).await.ok();
    let rollout = format!("{APP}/rollout");
    world.get(&rollout).await.refused(404, "canary_not_found");
    let start = json!({ "release": new, "fields": { "stages": [{ "weight": 500 }] } });
    assert_eq!(world.post(&rollout, start).await.made()["weight"], 500);
    put(live.to_owned(), json!({ "release": old })).await.refused(409, "canary_running");
    let say = |to: &str| world.call("PATCH", &rollout).json(&json!({ "to": to })).send();
    say("approve").await.refused(409, "rollout_not_now");
    say("pause").await.ok();
    assert_eq!(say("abort").await.ok()["weight"], 0);
    assert!(world.get(&rollout).await.ok()["phase"]["failed"].is_object());
    let policy = format!("{APP}/release-policy");
    let change = json!({ "retention": { "newest": 5 }, "skew": { "maxAgeS": 60 } });
    world.call("PATCH", &policy).json(&change).send().await.ok();
    let off = json!({ "unset": ["retention", "skew"] });
    world.call("PATCH", &policy).json(&off).send().await.ok();
    assert_eq!(world.get(&policy).await.ok(), json!({ "retention": {} }));
    let kept = format!("{APP}/releases/{new}/kept");
    world.call("PUT", &kept).send().await.ok();
    world.delete(&kept).await.ok();
    world.delete(&format!("{APP}/releases/{new}")).await.ok();
}

async fn apps(world: &World) {
    const APPS: &str = "/folio/v1/apps";
    world.post(APPS, json!({ "name": "shop" })).await.made();
    world.post(APPS, json!({ "name": "shop" })).await.refused(409, "app_exists");
    assert_eq!(world.get(APPS).await.ok()["items"].as_array().map(Vec::len), Some(2));
    let shop = format!("{APPS}/shop");
    let plan = json!({ "releases": 5 });
    let set = world.call("PATCH", &format!("{shop}/plan")).json(&plan).send().await.ok();
    assert_eq!((&set["plan"]["releases"], &set["plan"]["tagged"]), (&json!(5), &json!(10)));
    assert_eq!(world.get(&shop).await.ok()["plan"]["releases"], 5);
    world.delete(&shop).await.ok();
    world.get(&shop).await.refused(404, "app_not_found");
    let odd = world.call("DELETE", APP).header("Folio-Releasing", "maybe").send().await;
    odd.refused(400, "bad_request");
}

async fn executions(world: &World) {
    let all = format!("{APP}/executions");
    let new = json!({ "function": "hello", "input": "{}", "description": "by hand" });
    let made = world.post(&all, new).await.made();
    assert_eq!((&made["status"], &made["function"]), (&json!("success"), &json!("hello")));
    let one = format!("{all}/{}", made["id"].as_str().unwrap());
    assert_eq!(world.get(&one).await.ok(), made);
    let log = world.get(&format!("{one}/log")).await;
    assert_eq!(log.header("content-type"), "text/plain; charset=utf-8");
    assert!(log.bytes.starts_with(b"Start execution: "));
    let later = world.post(&all, json!({ "function": "hello@latest", "mode": "async" })).await;
    let later = later.made();
    let waiting = format!("{all}/{}", later["id"].as_str().unwrap());
    let listed = world.get(&format!("{all}?status=running&function=hello&limit=1")).await.ok();
    assert_eq!(listed["items"][0], later);
    let cancelled = world.call("POST", &format!("{waiting}/cancel")).send().await.ok();
    assert_eq!(cancelled["status"], "cancelled");
    world.call("POST", &format!("{waiting}/cancel")).send().await.refused(409, "execution_ended");
    world.delete(&one).await.ok();
    world.get(&one).await.refused(404, "execution_not_found");
    world.get(&format!("{all}/x")).await.refused(400, "bad_request");
    world.get(&format!("{all}?status=odd")).await.refused(400, "bad_request");
    world.post(&all, json!({ "function": "nobody" })).await.refused(404, "unit_not_found");
}

async fn bindings(world: &World) {
    let jobs = format!("{APP}/jobs");
    let new = json!({ "function": "hello", "name": "nightly", "pattern": "0 0 * * *", "count": 2 });
    let made = world.post(&jobs, new).await.made();
    assert_eq!(
        (&made["name"], &made["terms"]["job"]["status"]),
        (&json!("nightly"), &json!("running"))
    );
    let job = format!("{jobs}/{}", made["id"].as_str().unwrap());
    assert_eq!(world.get(&job).await.ok()["left"], 2);
    let paused = world.call("PATCH", &job).json(&json!({ "status": "paused" })).send().await.ok();
    assert_eq!(paused["terms"]["job"]["status"], "paused");
    assert_eq!(world.get(&jobs).await.ok()["items"].as_array().map(Vec::len), Some(1));
    world.post(&jobs, json!({ "function": "hello" })).await.refused(400, "job_incomplete");
    let odd = json!({ "function": "hello", "pattern": "x" });
    world.post(&jobs, odd).await.refused(400, "bad_schedule");
    world.delete(&job).await.ok();
    world.get(&job).await.refused(404, "binding_not_found");
    let hooks = format!("{APP}/webhooks");
    let made = world.post(&hooks, json!({ "function": "hello@latest" })).await.made();
    let hook = format!("{hooks}/{}", made["id"].as_str().unwrap());
    let said = json!({ "description": "for all", "callsPerMinuteMax": 1 });
    let said = world.call("PATCH", &hook).json(&said).send().await.ok();
    assert_eq!(said["description"], "for all");
    assert_eq!(world.get(&hook).await.ok()["function"], "hello");
    assert_eq!(world.get(&hooks).await.ok()["items"].as_array().map(Vec::len), Some(1));
    let id = made["id"].as_str().unwrap().parse().unwrap();
    let started = world.folio.call_webhook(id, WebhookCall::default()).await.unwrap();
    world.delete(&format!("{APP}/executions/{}", started.id)).await.ok();
    assert!(
        world.folio.call_webhook(id, WebhookCall::default()).await.is_err(),
        "once in a minute"
    );
    world.delete(&hook).await.ok();
}

async fn deployments(world: &World) {
    const DEPLOYMENTS: &str = "/folio/v1/apps/default/deployments";
    let owner = json!({ "uid": "7f0b", "name": "shop" });
    let package = json!({ "kind": "Package", "metadata": { "name": "cart-pkg" },
        "spec": { "environment": { "name": "nodejs" } } });
    let function = json!({ "kind": "Function", "metadata": { "name": "cart" }, "spec": {
        "environment": { "name": "nodejs" },
        "package": { "packageref": { "name": "cart-pkg" } } } });
    let files = world.code("cart").await["deployment"].clone();
    let documents = json!([
        { "at": "a.yaml:1:1", "manifest": package, "deployment": files },
        { "at": "b.yaml:1:1", "manifest": function },
    ]);
    let body = json!({ "deployment": owner, "documents": documents, "rest": "delete" });
    let mut dry = body.clone();
    dry["dryRun"] = true.into();
    let plan = world.post(DEPLOYMENTS, dry).await.ok();
    assert_eq!(
        (&plan["changed"], plan["units"].as_array().map(Vec::len)),
        (&json!(false), Some(2))
    );
    let done = world.post(DEPLOYMENTS, body.clone()).await.ok();
    assert_eq!(done["appVersion"], done["id"], "the group is called as its versions are");
    let again = world.post(DEPLOYMENTS, body).await.ok();
    assert_eq!((&again["changed"], &again["unchanged"]), (&json!(false), &json!(2)));
    let listed = world.get(&format!("{DEPLOYMENTS}?uid=7f0b")).await.ok();
    assert_eq!(listed["items"][0]["version"], done["id"]);
    let lost = json!([{ "at": "b.yaml:1:1", "manifest": function }]);
    let body = json!({ "deployment": owner, "documents": lost });
    let refused = world.post(DEPLOYMENTS, body).await;
    assert_eq!(refused.json()["error"]["causes"][0]["at"], "b.yaml:1:1");
    refused.refused(400, "manifests_invalid");
    let empty = json!({ "deployment": owner, "rest": "delete" });
    let gone = world.post(DEPLOYMENTS, empty).await.ok();
    assert_eq!(gone["units"].as_array().map(Vec::len), Some(2));
}

async fn about_itself(world: &World) {
    assert_eq!(world.get("/healthz").await.ok(), json!({ "status": "ok" }));
    let about = world.get("/folio/v1").await.ok();
    assert_eq!(
        (&about["name"], &about["version"]),
        (&json!("folio"), &json!(env!("CARGO_PKG_VERSION")))
    );
    assert_eq!(about["limits"]["pageItemsMax"], 1000);
    let document = world.get("/folio/v1/openapi.json").await;
    assert_eq!(document.bytes, folio_api::document());
    let digest = folio_model::Digest::of(b"nobody has this");
    let missing = world.post("/folio/v1/blobs/missing", json!({ "digests": [digest] })).await;
    assert_eq!(missing.ok(), json!({ "missing": [digest] }));
}

async fn drafts(world: &World) {
    let body = json!({ "name": "hello", "fields": world.code("draft").await });
    let made = world.post(FUNCTIONS, body.clone()).await;
    assert_eq!(made.header("etag"), format!("\"{}\"", made.json()["revision"]));
    assert_eq!(made.made()["draft"]["spec"]["kind"], "function");
    world.post(FUNCTIONS, body).await.refused(409, "unit_exists");
    let unit = format!("{FUNCTIONS}/hello");
    let fields = json!({ "fields": { "entrypoint": "main" } });
    let changed = world.call("PATCH", &unit).json(&fields).send().await.ok();
    assert_eq!(changed["draft"]["spec"]["entrypoint"], "main");
    assert_eq!(changed["changed"], true);
    let same = world.call("PATCH", &unit).json(&fields).send().await.ok();
    assert_eq!((&same["changed"], same.get("entry")), (&json!(false), None));
    let shown = world.get(&unit).await.ok();
    assert_eq!(shown["draft"]["spec"], same["draft"]["spec"]);
    let names = |list: &Value| {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|unit| unit["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&world.get(FUNCTIONS).await.ok()), ["hello"]);
    assert_eq!(names(&world.get(PACKAGES).await.ok()), ["hello-pkg"]);
}

async fn versions(world: &World) {
    let versions = format!("{FUNCTIONS}/hello/versions");
    let first = world.post(&versions, json!({ "id": "v1" })).await.made();
    assert_eq!(first["version"]["number"], 1);
    assert_eq!(first["version"]["latest"], true);
    let fields = world.code("two").await;
    let body = json!({
        "start": "latest", "fields": fields, "id": "v2", "description": "the second",
        "ifSame": "publish", "tag": "stable",
    });
    let second = world.post(&versions, body).await.made();
    assert_eq!(second["version"]["tags"], json!(["stable"]));
    let same = json!({ "start": "latest", "fields": fields, "ifSame": "keep" });
    let kept = world.post(&versions, same).await.ok();
    assert_eq!((&kept["changed"], &kept["version"]["id"]), (&json!(false), &json!("v2")));
    let page = world.get(&format!("{versions}?limit=1")).await.ok();
    assert_eq!((&page["items"][0]["id"], &page["next"]), (&json!("v1"), &json!(1)));
    let page = world.get(&format!("{versions}?limit=5&after=1")).await.ok();
    assert_eq!((&page["items"][0]["id"], page.get("next")), (&json!("v2"), None));
    for at in ["2", "v2", "latest"] {
        assert_eq!(world.get(&format!("{versions}/{at}")).await.ok()["id"], "v2");
    }
    let words = json!({ "description": "changed" });
    let described = world.call("PATCH", &format!("{versions}/v1")).json(&words).send().await.ok();
    assert_eq!(described["description"], "changed");
    let file = world.get(&format!("{versions}/v2/download")).await;
    assert_eq!(
        (&file.bytes[..], file.header("content-type")),
        (&b"two"[..], "application/octet-stream")
    );
    let packages = world.get(&format!("{PACKAGES}/hello-pkg/versions")).await.ok();
    assert_eq!(packages["items"].as_array().unwrap().len(), 2);
}

async fn aliases(world: &World) {
    let aliases = format!("{FUNCTIONS}/hello/aliases");
    let targets = json!([{ "version": "v1", "weight": 10_000 }]);
    world.post(&aliases, json!({ "name": "qa", "targets": targets })).await.made();
    let alias = format!("{aliases}/qa");
    let split = json!({ "targets": [{ "version": "1", "weight": 9_000 }, { "version": "latest", "weight": 1_000 }] });
    let moved = world.call("PUT", &alias).json(&split).send().await.ok();
    assert_eq!(moved["targets"].as_array().unwrap().len(), 2);
    let resolved = world.get(&format!("{APP}/resolve?ref=hello@qa&kind=function")).await.ok();
    assert_eq!(resolved["targets"], moved["targets"]);
    world.get(&format!("{FUNCTIONS}/hello/versions/qa")).await.refused(400, "alias_is_split");
    world.post(&format!("{alias}/rollback"), json!({ "to": "v2" })).await.ok();
    let back = world.call("POST", &format!("{alias}/rollback")).send().await.ok();
    assert_eq!(back["targets"], moved["targets"]);
    let history = world.get(&format!("{alias}/history")).await.ok();
    assert_eq!(history["items"].as_array().unwrap().len(), 4);
    assert_eq!(world.get(&aliases).await.ok()["items"][0]["name"], "qa");
    world.delete(&alias).await.ok();
}

async fn tags(world: &World) {
    world.publish("other", "v1", "other").await;
    let tag = format!("{APP}/tags/stable");
    let functions = json!({ "functions": ["hello@v1", "other"] });
    let added = world.post(&format!("{tag}/members"), functions).await;
    assert_eq!(added.header("etag"), format!("\"{}\"", added.json()["revision"]));
    assert_eq!(added.ok()["members"].as_array().unwrap().len(), 2);
    assert_eq!(world.get(&tag).await.ok()["members"][0]["id"], "v1");
    assert_eq!(world.get(&format!("{APP}/tags")).await.ok()["items"][0]["name"], "stable");
    let moves = world.get(&format!("{tag}/history")).await.ok();
    assert_eq!(moves["items"][0]["by"], "ada");
    assert_eq!(moves["items"][0]["to"], json!(["hello@v1", "other@v1"]));
    world.delete(&format!("{tag}/members/hello")).await.ok();
    world.delete(&format!("{tag}/members/hello")).await.refused(404, "not_in_tag");
    world.delete(&tag).await.ok();
    world.get(&tag).await.refused(404, "tag_not_found");
}

async fn running(world: &World) {
    let environments = format!("{APP}/environments");
    let body = json!({ "name": "web", "fields": { "runtime": "nodejs", "network": "egress" } });
    assert_eq!(world.post(&environments, body).await.made()["version"]["number"], 1);
    let fields = json!({ "fields": { "poolsize": 2 } });
    let web = format!("{environments}/web");
    let changed = world.call("PATCH", &web).json(&fields).send().await.ok();
    assert_eq!(
        (&changed["spec"]["poolsize"], &changed["spec"]["network"]),
        (&json!(2), &json!("egress"))
    );
    assert_eq!(world.get(&web).await.ok()["spec"], changed["spec"]);
    assert_eq!(world.get(&environments).await.ok()["items"].as_array().unwrap().len(), 5);
    world.delete(&web).await.ok();

    let called =
        world.call("POST", &format!("{APP}/invoke?function=hello@v1&method=GET&path=/a?b=c"));
    let called = called.send().await;
    assert_eq!((called.status.as_u16(), &called.bytes[..]), (200, &b"GET /a?b=c"[..]));
    assert_eq!(called.header("folio-version"), "hello@v1");
    let nobody = world.call("POST", &format!("{APP}/invoke?function=nobody")).send().await;
    nobody.refused(404, "unit_not_found");
    assert_eq!(world.get(&format!("{FUNCTIONS}/hello/logs?version=v1")).await.bytes, "");
    let build = world.get(&format!("{FUNCTIONS}/hello/versions/v1/build")).await.ok();
    assert_eq!(build, json!({ "build": "none", "text": "", "next": 0 }));
    assert_eq!(world.get("/folio/v1/status").await.ok()["buildsWaiting"], 0);
    let measured = world.get("/folio/v1/measures").await.ok();
    assert_eq!(
        (&measured["items"][0]["version"], &measured["items"][0]["requests"]),
        (&json!("v1"), &json!(1))
    );
    let metrics = world.get("/metrics").await;
    assert!(metrics.bytes.ends_with(b"# EOF\n"));

    let archives = format!("{APP}/archives");
    assert_eq!(world.get(&archives).await.ok()["items"], json!([]));
    let nothing = Digest::of(b"");
    world.get(&format!("{archives}/{nothing}")).await.refused(404, "archive_not_found");
    archive(world, &archives).await;

    let routes = format!("{APP}/routes");
    let fields = json!({
        "path": { "exact": "/hello" }, "methods": ["GET"],
        "targets": [{ "function": "hello@v1", "weight": 10_000 }],
    });
    let body = json!({ "name": "hello", "fields": fields });
    world.post(&routes, body.clone()).await.made();
    world.post(&routes, body).await.refused(409, "unit_exists");
    let route = format!("{routes}/hello");
    let fields = json!({ "fields": { "host": "www.example.com" } });
    let changed = world.call("PATCH", &route).json(&fields).send().await.ok();
    assert_eq!(changed["spec"]["host"], "www.example.com");
    assert_eq!(world.get(&route).await.ok()["spec"], changed["spec"]);
    assert_eq!(world.get(&routes).await.ok()["items"][0]["name"], "hello");
    let refused = world.delete(&format!("{FUNCTIONS}/hello/versions/v1")).await;
    assert_eq!(refused.refused(409, "in_use")["referrers"][0]["kind"], "trigger");
    canary(world, &route).await;
    world.delete(&route).await.ok();
    triggers(world).await;
}

/// Publishes a package from an archive, and gets that back.
async fn archive(world: &World, archives: &str) {
    const BLOBS: &str = "/folio/v1/blobs";
    let stored = format!("{PACKAGES}/stored");
    let publish = async |id: &str, files: Value| {
        let fields = json!({ "environment": "nodejs", "deployment": files });
        let version = json!({ "fields": fields, "id": id });
        world.post(&format!("{stored}/versions"), version).await.made();
    };
    let (tree, body) = one_file("main.js", "hello");
    world.call("POST", BLOBS).nodes(body).send().await.ok();
    publish("v1", json!({ "tree": tree, "layout": "directory" })).await;
    let zip = world.get(&format!("{stored}/versions/v1/download")).await.bytes;
    let archive = Digest::of(&zip);
    world.call("POST", BLOBS).nodes(frames(&[(0, archive, &zip)])).send().await.ok();
    publish("v2", json!({ "archive": archive })).await;
    assert_eq!(world.get(archives).await.ok()["items"][0]["id"], json!(archive));
    assert_eq!(world.get(&format!("{archives}/{archive}")).await.bytes, zip);
    world.delete(&stored).await.ok();
}

/// Makes, changes and deletes a trigger that is no route.
async fn triggers(world: &World) {
    let triggers = format!("{APP}/triggers");
    let fields = json!({
        "trigger": "timer", "cron": "@hourly",
        "targets": [{ "function": "hello@v1", "weight": 10_000 }],
    });
    let body = json!({ "name": "tick", "fields": fields });
    world.post(&triggers, body.clone()).await.made();
    world.post(&triggers, body).await.refused(409, "unit_exists");
    let trigger = format!("{triggers}/tick");
    let fields = json!({ "fields": { "trigger": "timer", "cron": "often" } });
    world.call("PATCH", &trigger).json(&fields).send().await.refused(400, "bad_schedule");
    let fields = json!({ "fields": { "trigger": "timer", "zone": "Europe/Berlin" } });
    let changed = world.call("PATCH", &trigger).json(&fields).send().await.ok();
    assert_eq!(changed["spec"]["zone"], "Europe/Berlin");
    assert_eq!(world.get(&trigger).await.ok()["spec"], changed["spec"]);
    let timers = world.get(&format!("{triggers}?type=timer")).await.ok();
    assert_eq!(timers["items"][0]["name"], "tick");
    assert_eq!(world.get(&format!("{triggers}?type=watch")).await.ok()["items"], json!([]));
    world.get(&format!("{APP}/routes/tick")).await.refused(409, "other_trigger");
    world.delete(&trigger).await.ok();
}

/// Moves the shares of a route by a canary.
async fn canary(world: &World, route: &str) {
    let targets = json!([
        { "function": "hello@v1", "weight": 10_000 }, { "function": "hello@latest", "weight": 0 },
    ]);
    let fields = json!({ "fields": { "targets": targets } });
    world.call("PATCH", route).json(&fields).send().await.ok();
    let canaries = format!("{APP}/canaries");
    let of = json!({ "trigger": "hello", "new": "hello@latest", "fields": { "step": 2_500 } });
    let body = json!({ "name": "rollout", "canary": of });
    let started = world.post(&canaries, body.clone()).await.made();
    assert_eq!((&started["weight"], &started["phase"]), (&json!(2_500), &json!("running")));
    world.post(&canaries, body).await.refused(409, "canary_running");
    assert_eq!(world.get(route).await.ok()["spec"]["targets"][0]["weight"], 7_500);
    let one = format!("{canaries}/rollout");
    let fields = json!({ "fields": { "step": 0 } });
    world.call("PATCH", &one).json(&fields).send().await.refused(400, "bad_canary");
    let fields = json!({ "fields": { "intervalMs": 1_000 } });
    let changed = world.call("PATCH", &one).json(&fields).send().await.ok();
    assert_eq!(changed["plan"]["intervalMs"], 1_000);
    assert_eq!(world.get(&one).await.ok()["steps"][0]["weight"], 2_500);
    assert_eq!(world.get(&canaries).await.ok()["items"][0]["name"], "rollout");
    world.delete(&one).await.ok();
    world.get(&one).await.refused(404, "canary_not_found");

    let back = world.post(&format!("{APP}/versions/latest/rollback"), json!({})).await.ok();
    assert_eq!(back["units"], json!([]));
    let nowhere = world.post(&format!("{APP}/versions/nowhere/rollback"), json!({})).await;
    nowhere.refused(404, "app_version_not_found");
}

async fn settings(world: &World) {
    let configs = format!("{APP}/configs");
    let config = format!("{configs}/shop");
    let fields = json!({ "fields": { "set": { "db.pool.size": 5, "motd": "hi" } } });
    let set = world.call("PATCH", &config).json(&fields).send().await;
    assert_eq!(set.header("etag"), format!("\"{}\"", set.json()["revision"]));
    assert_eq!(set.ok()["values"], json!({ "db": { "pool": { "size": 5 } }, "motd": "hi" }));
    let secrets = format!("{APP}/secrets");
    let body = json!({ "name": "keys", "fields": { "set": { "password": "hunter2" } } });
    let made = world.post(&secrets, body.clone()).await;
    assert!(!String::from_utf8_lossy(&made.bytes).contains("hunter2"));
    let made = made.made();
    assert_eq!(made["version"]["spec"]["keys"]["password"].get("sealed"), None);
    world.post(&secrets, body).await.refused(409, "unit_exists");

    let fields = json!({ "configs": [{ "name": "shop" }], "secrets": [{ "name": "nope" }] });
    let body = json!({ "start": "latest", "fields": fields });
    let versions = format!("{FUNCTIONS}/hello/versions");
    world.post(&versions, body).await.refused(404, "secret_not_found");
    let mounted = json!([{ "name": "keys", "mountPath": "/etc/keys" }]);
    let fields = json!({ "configs": [{ "name": "shop" }], "secrets": mounted });
    let body = json!({ "start": "latest", "fields": fields });
    let reads = world.post(&versions, body).await.made();
    assert_eq!(reads["version"]["spec"]["secrets"][0]["mountPath"], "/etc/keys");

    let fields = json!({ "fields": { "set": { "password": { "base64": "/wA=" } } } });
    let secret = format!("{secrets}/keys");
    let rotated = world.call("PATCH", &secret).json(&fields).send().await.ok();
    assert_eq!(rotated["functions"][0]["name"], "hello");
    assert_ne!(rotated["keys"], made["keys"]);
    let same = world.call("PATCH", &secret).json(&fields).send().await.ok();
    assert_eq!((&same["changed"], &same["functions"]), (&json!(false), &json!([])));
    let renamed = world.post(&format!("{secret}/rename"), json!({ "name": "vault" })).await.ok();
    assert_eq!(
        (&renamed["name"], &renamed["functions"][0]["name"]),
        (&json!("vault"), &json!("hello"))
    );
    world.get(&secret).await.refused(404, "secret_not_found");
    let secret = format!("{secrets}/vault");
    assert_eq!(world.get(&secret).await.ok()["keys"], renamed["keys"]);
    assert_eq!(world.get(&secrets).await.ok()["items"][0]["name"], "vault");
    let gone = world.delete(&secret).await.ok();
    assert_eq!(gone["usedBy"]["functions"][0]["name"], "hello");
    let missing = json!({ "fields": { "unset": ["db.host"] } });
    let missing = world.call("PATCH", &config).json(&missing).send().await;
    missing.refused(404, "key_not_found");
    assert_eq!(world.get(&config).await.ok()["name"], "shop");
    assert_eq!(world.get(&configs).await.ok()["items"].as_array().unwrap().len(), 1);
    world.delete(&config).await.ok();
    let unnamed = json!({ "start": "latest", "fields": { "configs": [], "secrets": [] } });
    let unnamed = world.post(&versions, unnamed).await.made();
    let versions_made = unnamed["version"]["number"].as_u64().unwrap();
    for number in 3..=versions_made {
        world.delete(&format!("{versions}/{number}")).await.ok();
    }
}

async fn domains(world: &World) {
    let domain = format!("{APP}/domains/shop.example.com");
    let added = world.call("PUT", &domain).send().await.ok();
    assert_eq!((&added["app"], &added["changed"]), (&json!("default"), &json!(true)));
    let listed = world.get(&format!("{APP}/domains")).await.ok();
    assert_eq!(listed["items"][0]["domain"], "shop.example.com");
    let history = world.get(&format!("{domain}/history")).await.ok();
    assert_eq!(history["items"][0]["added"], true);
    world.delete(&domain).await.ok();
    world.delete(&domain).await.refused(404, "domain_not_found");
    let odd = world.call("PUT", &format!("{APP}/domains/Shop.example.com")).send().await;
    odd.refused(400, "bad_request");
}

async fn bundles(world: &World) {
    world.post("/folio/v1/apps", json!({ "name": "small" })).await.made();
    let (tree, body) = one_file("index.html", "<h1>small</h1>");
    world.call("POST", "/folio/v1/blobs").nodes(body).send().await.ok();
    let content = json!({ "tree": tree, "layout": "directory" });
    let fields = json!({ "path": "/", "content": content });
    let small = "/folio/v1/apps/small";
    world.call("PUT", &format!("{small}/statics/site")).json(&fields).send().await.ok();
    let file = world.get(&format!("{small}/versions/latest/export")).await;
    assert_eq!(file.status, 200);
    assert!(file.header("content-disposition").contains("small-"), "{:?}", file.headers);
    let import = |app: &str, bytes: bytes::Bytes, key: &str| {
        let call = world.call("POST", &format!("/folio/v1/apps/{app}/import"));
        let call = call.header("content-type", folio_api::BUNDLE_MEDIA_TYPE);
        call.header("idempotency-key", key).body(bytes).send()
    };
    let made = import("copied", file.bytes.clone(), "one").await.made();
    assert_eq!((&made["from"], &made["units"]), (&json!("small"), &json!(1)));
    let again = import("copied", file.bytes.clone(), "one").await.made();
    assert_eq!(again["entry"], made["entry"], "a repeated request does nothing again");
    import("copied", file.bytes.clone(), "two").await.refused(409, "app_not_empty");
    import("cut", file.bytes.slice(..900), "three").await.refused(400, "bundle_damaged");
    world.get("/folio/v1/apps/nobody/versions/latest/export").await.refused(404, "app_not_found");
}

async fn looking_back(world: &World) {
    let diff = world.get(&format!("{APP}/diff?kind=function&from=hello@1&to=hello@2")).await.ok();
    assert_eq!(diff["files"][0]["path"], "main.js");
    let page = world.get(&format!("{APP}/versions?limit=2")).await.ok();
    let (newest, number) = (page["items"][0].clone(), page["items"][1]["number"].clone());
    assert_eq!(page["next"], number);
    let older = world.get(&format!("{APP}/versions?below={number}")).await.ok();
    assert!(older["items"][0]["number"].as_u64() < number.as_u64());
    let shown = world.get(&format!("{APP}/versions/{}", newest["id"].as_str().unwrap())).await.ok();
    assert_eq!(world.get(&format!("{APP}/versions/latest")).await.ok(), shown);
    assert_eq!(world.get(&format!("{APP}/versions/{}", newest["number"])).await.ok(), shown);
    let now = newest["at"].as_str().unwrap();
    assert_eq!(world.get(&format!("{APP}/at?time={now}")).await.ok()["id"], newest["id"]);
    let compared = world.get(&format!("{APP}/compare?from=1&to=latest")).await.ok();
    assert_eq!(compared["to"], newest["id"]);
    let log = world.get(&format!("{APP}/log?limit=3")).await.ok();
    let next = log["next"].as_u64().unwrap();
    let below = world.get(&format!("{APP}/log?below={next}")).await.ok();
    assert_eq!(below["items"][0]["seq"], next - 1);
}

async fn leaving(world: &World) {
    let hello = format!("{FUNCTIONS}/hello");
    let removed = world.delete(&format!("{hello}/versions/v2")).await.ok();
    assert_eq!(removed["versions"][0]["id"], "v2");
    let undone =
        world.post(&format!("{APP}/undo"), json!({ "entry": removed["entry"] })).await.ok();
    assert_eq!(undone["undone"], removed["entry"]);
    world.get(&format!("{hello}/versions/v2")).await.ok();
    let all = world.delete(&format!("{hello}/versions/all")).await.ok();
    assert_eq!(all["versions"].as_array().unwrap().len(), 2);
    let removed = world.delete(&format!("{FUNCTIONS}/other?cascade=true")).await.ok();
    assert_eq!(removed["units"][0], json!({ "kind": "function", "name": "other" }));
    world.get(&format!("{FUNCTIONS}/other")).await.refused(404, "unit_not_found");
    let orphans = format!("{APP}/orphans");
    let count = |list: &Value| list.as_array().map_or(0, Vec::len);
    let found = world.get(&orphans).await.ok();
    let removed = world.delete(&orphans).await.ok();
    assert_eq!(count(&removed["units"]), count(&found["items"]));
    assert_eq!(world.get(&orphans).await.ok()["items"], json!([]));
}

async fn storage(world: &World) {
    let usage = world.get("/folio/v1/storage").await.ok();
    assert!(usage["nodes"].as_u64() > Some(0));
    world.call("POST", "/folio/v1/storage/sweep").send().await.ok();
    let migrated = world.call("POST", "/folio/v1/storage/migrate").send().await.ok();
    assert_eq!(migrated["rewritten"], 0);
    let checked = world.call("POST", "/folio/v1/storage/check").send().await.ok();
    assert_eq!(checked, json!({ "damage": [] }));
}
