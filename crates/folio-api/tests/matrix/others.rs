//! A token for one app reveals nothing of another: what is refused reads the same whether the other app, and what is asked
//! for in it, exist or not; and nothing that is told names anything of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;

/// An app of others, and a word that is in the name of everything in it.
const OTHER: &str = "sesame";

/// What there is in the other app, by what paths call it.
pub(super) type Known = BTreeMap<&'static str, String>;

/// Fills the other app with one of everything.
pub(super) async fn fill(world: &World) -> Known {
    for app in [OWN, OTHER] {
        world.post("/folio/v1/apps", json!({ "name": app })).await.made();
    }
    let app = format!("/folio/v1/apps/{OTHER}");
    let post = |path: &str, body: Value| {
        let path = format!("{app}{path}");
        async move { world.post(&path, body).await.made() }
    };
    let fields = world.code("sesame").await;
    let version = json!({ "fields": fields, "id": "sesame-v1" });
    post("/functions/sesame/versions", version).await;
    let mut known = Known::new();
    let mut know = |name, value: &Value| known.insert(name, value.as_str().unwrap().to_owned());
    let all = world.get("/v1/functions?all_projects=true").await.ok();
    know("function", &all["functions"][0]["id"]);
    let targets = json!([{ "version": "1", "weight": 10_000 }]);
    post("/functions/sesame/aliases", json!({ "name": "sesame-qa", "targets": targets })).await;
    let members = json!({ "functions": ["sesame"] });
    world.post(&format!("{app}/tags/sesame-tag/members"), members).await.ok();
    let environment = json!({ "name": "sesame-env", "fields": { "runtime": "nodejs" } });
    post("/environments", environment).await;
    let config = json!({ "fields": { "set": { "sesame": "open" } } });
    let path = format!("{app}/configs/sesame");
    let set = world.call("PATCH", &path).json(&config).send().await;
    assert!(set.status.is_success(), "{}", String::from_utf8_lossy(&set.bytes));
    post("/secrets", json!({ "name": "sesame", "fields": { "set": { "sesame": "open" } } })).await;
    let route = json!({ "name": "sesame", "spec": { "path": "/sesame" } });
    let routed = world.post(&format!("{app}/routes"), route).await;
    assert!(routed.status.as_u16() < 500);
    know("execution", &post("/executions", json!({ "function": "sesame" })).await["id"]);
    let job = json!({ "function": "sesame", "name": "sesame", "pattern": "0 0 * * *" });
    know("job", &post("/jobs", job).await["id"]);
    know("webhook", &post("/webhooks", json!({ "function": "sesame" })).await["id"]);
    let releases = world.get(&format!("{app}/releases")).await.ok();
    know("release", &releases["items"][0]["id"]);
    let token = json!({ "actor": "sesame", "role": "viewer", "app": OTHER });
    know("token", &world.post("/folio/v1/tokens", token).await.ok()["id"]);
    known
}

/// A path about something that is in the other app, or about nothing, asked in an app.
fn path(template: &str, app: &str, known: Option<&Known>) -> String {
    let of = |name: &str, otherwise: &str| {
        known.map_or(otherwise.to_owned(), |known| known[name].clone())
    };
    let named = if known.is_some() { "sesame" } else { "nothing" };
    let (version, alias, tag) = match known {
        Some(_) => ("sesame-v1", "sesame-qa", "sesame-tag"),
        None => ("nothing-v1", "nothing-qa", "nothing-tag"),
    };
    let nobody = "9b0d3f6a-0000-4000-8000-000000000000";
    let id = match template {
        path if path.contains("/executions") => of("execution", nobody),
        path if path.contains("/jobs") => of("job", nobody),
        path if path.contains("/webhooks") => of("webhook", nobody),
        path if path.contains("/tokens") => of("token", "0123456789ab"),
        path if path.contains("/archives") => "sha256-of-nothing".to_owned(),
        _ => of("function", nobody),
    };
    let whole = template.replace("/namespaces/{name}", &format!("/namespaces/{app}"));
    let whole = whole.replace("{app}", app).replace("{namespace}", app).replace("{id}", &id);
    let whole = whole.replace("{kind}", "functions").replace("{name}", named);
    let whole = whole.replace("{at}", version).replace("{number}", "1").replace("{alias}", alias);
    let whole = whole.replace("{tag}", tag).replace("{function}", named);
    whole.replace("{release}", &of("release", "nothng"))
}

/// An answer without what was in the question, and without what no two answers share.
pub(super) fn bare(said: Said, path: &str) -> Said {
    let mut text = said.text;
    // The longest first: a name may be part of another.
    let mut words: Vec<_> =
        path.split(['/', '?', '=', '&']).filter(|word| word.len() > 2).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    for word in words {
        text = text.replace(word, "_");
    }
    if let Some((before, rest)) = text.split_once("\"requestId\":\"") {
        text = format!("{before}{}", rest.split_once('"').map_or("", |(_, after)| after));
    }
    Said { text, ..said }
}

fn of_one_app() -> Vec<Grant> {
    let own = |grant: &Grant| grant.app.is_some();
    grants().into_iter().flatten().filter(own).collect()
}

#[tokio::test]
async fn what_is_refused_does_not_depend_on_what_there_is() {
    let world = World::memory().await;
    let known = fill(&world).await;
    for grant in of_one_app() {
        let visitor = Visitor::new(&world, Some(&grant)).await;
        for Endpoint { method, path: template, .. } in endpoints() {
            let ask = async |app, known| {
                let path = path(&template, app, known);
                bare(visitor.ask(&method, &path, "{}").await, &path)
            };
            let context = format!("{grant:?}: {method} {template}");
            if template.contains("{app}") || template.contains("{namespace}") {
                let there = ask(OTHER, Some(&known)).await;
                assert_eq!(there, ask(OTHER, None).await, "{context}");
                assert_eq!(there, ask(MISSING, Some(&known)).await, "{context}");
                assert_eq!(there.status, 403, "{context}");
            }
            // An app that its admin deletes is missed by what comes after.
            let is_app = matches!(
                template.as_str(),
                "/folio/v1/apps/{app}"
                    | "/api/v1/namespaces/{name}"
                    | "/api/v1/namespaces/{namespace}"
            );
            let is_read = method == "GET" && template.contains('{');
            if is_read || method == "DELETE" && !is_app {
                let (there, nowhere) = (ask(OWN, Some(&known)).await, ask(OWN, None).await);
                assert_eq!(there.status, nowhere.status, "{context}");
                if there.status >= 400 {
                    assert_eq!(there, nowhere, "{context}");
                }
            }
        }
        let shown = world.get(&format!("/folio/v1/apps/{OTHER}/functions/sesame")).await.ok();
        assert_eq!(shown["name"], "sesame");
    }
}

#[tokio::test]
async fn nothing_that_is_told_names_another_app() {
    let world = World::memory().await;
    let known = fill(&world).await;
    for grant in of_one_app() {
        let visitor = Visitor::new(&world, Some(&grant)).await;
        for Endpoint { method, path: template, .. } in endpoints() {
            if method != "GET" {
                continue;
            }
            let path = path(&template, OWN, None);
            let said = visitor.ask(&method, &path, "").await;
            assert!(!said.text.contains("sesame"), "{grant:?}: {path}: {}", said.text);
            for value in known.values() {
                assert!(!said.text.contains(value), "{grant:?}: {path}: {}", said.text);
            }
        }
    }
}

/// Requests to make something of what is in another app are refused as if it were not there.
#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table is as long as it has rows")]
async fn what_is_named_in_a_body_is_not_found_either() {
    let world = World::memory().await;
    let known = fill(&world).await;
    let grant = Grant { role: Role::Admin, app: Some(OWN.parse().unwrap()) };
    let visitor = Visitor::new(&world, Some(&grant)).await;
    let nobody = "9b0d3f6a-0000-4000-8000-000000000000";
    let shop = format!("/folio/v1/apps/{OWN}");
    let functions = "/apis/fission.io/v1/namespaces/shop/functions";
    let of_kube = |package: &str, namespace: &str| {
        json!({
            "apiVersion": "fission.io/v1", "kind": "Function", "metadata": { "name": "mine" },
            "spec": {
                "environment": { "name": "nodejs", "namespace": "default" },
                "package": { "packageref": { "name": package, "namespace": namespace } },
            },
        })
    };
    let target = |function: &str| json!([{ "function": function, "weight": 10_000 }]);
    let route = |function: &str| json!({ "fields": { "path": "/x", "targets": target(function) } });
    let timer = |function: &str| json!({ "fields": { "trigger": "timer", "cron": "@hourly", "targets": target(function) } });
    let function = known["function"].as_str();
    let pairs = [
        ("/v1/executions", json!({ "function_id": function }), json!({ "function_id": nobody })),
        ("/v1/webhooks", json!({ "function_id": function }), json!({ "function_id": nobody })),
        (
            "/v1/aliases",
            json!({ "name": "mine", "function_id": function }),
            json!({ "name": "mine", "function_id": nobody }),
        ),
        (
            "/v1/jobs",
            json!({ "function_id": function, "pattern": "0 0 * * *" }),
            json!({ "function_id": nobody, "pattern": "0 0 * * *" }),
        ),
        (
            &format!("{shop}/executions"),
            json!({ "function": "sesame" }),
            json!({ "function": "nothing" }),
        ),
        (
            &format!("{shop}/executions"),
            json!({ "function": "sesame/sesame" }),
            json!({ "function": "sesame/nothing" }),
        ),
        (
            &format!("{shop}/webhooks"),
            json!({ "function": "sesame/sesame" }),
            json!({ "function": "missing/nothing" }),
        ),
        (
            &format!("{shop}/tags/mine/members"),
            json!({ "functions": ["sesame/sesame"] }),
            json!({ "functions": ["missing/nothing"] }),
        ),
        (&format!("{shop}/routes"), route("sesame/sesame"), route("missing/nothing")),
        (&format!("{shop}/triggers"), timer("sesame/sesame"), timer("missing/nothing")),
        (
            &format!("{shop}/canaries"),
            json!({ "name": "mine", "canary": { "alias": "sesame/sesame@sesame-qa", "new": "sesame/sesame@1" } }),
            json!({ "name": "mine", "canary": { "alias": "missing/nothing@nothing-qa", "new": "missing/nothing@1" } }),
        ),
        (functions, of_kube("sesame-pkg", OTHER), of_kube("nothing-pkg", MISSING)),
    ];
    for (path, there, nowhere) in pairs {
        let before = world.entries();
        let bare = |said: Said| {
            let said = super::others::bare(said, path);
            let mut text = said.text;
            for word in [function, nobody, "sesame-pkg", "nothing-pkg", OTHER, "nothing", MISSING] {
                text = text.replace(word, "_");
            }
            (said.status, text)
        };
        let there = bare(visitor.ask("POST", path, &there.to_string()).await);
        let nowhere = bare(visitor.ask("POST", path, &nowhere.to_string()).await);
        assert_eq!(there, nowhere, "{path}");
        assert!((400..500).contains(&there.0), "{path}: {there:?}");
        assert_eq!(world.entries(), before, "{path}");
    }
    let questions = [
        ("GET", "resolve?kind=function&ref="),
        ("GET", "diff?kind=function&to=x@1&from="),
        ("POST", "invoke?function="),
    ];
    for (method, question) in questions {
        let ask = async |name: &str| {
            let path = format!("{shop}/{question}{name}");
            let said = bare(visitor.ask(method, &path, "").await, &path);
            assert_eq!(said.status, 403, "{path}: {}", said.text);
            said
        };
        assert_eq!(ask("sesame/sesame").await, ask("missing/nothing").await, "{question}");
    }
}
