//! Lists that are read page by page, and lists of a revision that has passed.

use super::*;

const PACKAGES: &str = "/apis/fission.io/v1/namespaces/default/packages";

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

fn token(list: &Value) -> String {
    list["metadata"]["continue"].as_str().unwrap_or_default().to_owned()
}

/// Objects without what is told as it is now: the revision of what was touched since, what is live, and builds.
fn bare(list: &Value) -> Vec<Value> {
    let mut items = list["items"].as_array().unwrap().clone();
    for item in &mut items {
        item["metadata"]["resourceVersion"] = Value::Null;
        item["metadata"]["creationTimestamp"] = Value::Null;
        let status = &item["status"];
        item["status"] = json!([status["versions"], status["latest"], status["draft"]]);
    }
    items
}

async fn packages(world: &World, names: &[&str]) {
    for name in names {
        ask(world, "POST", PACKAGES, package(name, name)).await.ok();
    }
}

/// Reads the rest of a list.
async fn rest(world: &World, path: &str, mut page: Value) -> Vec<Value> {
    let (mut items, revision) = (bare(&page), page["metadata"]["resourceVersion"].clone());
    while !token(&page).is_empty() {
        page = get(world, &format!("{path}limit=2&continue={}", token(&page))).await.ok();
        assert_eq!(page["metadata"]["resourceVersion"], revision);
        items.extend(bare(&page));
    }
    items
}

#[tokio::test]
async fn every_page_shows_what_was_when_the_first_was_read() {
    let world = World::memory().await;
    packages(&world, &["a", "b", "c", "d", "e", "f", "g"]).await;
    ask(&world, "POST", PACKAGES, published(package("h", "one"))).await.ok();
    for path in [format!("{PACKAGES}?"), "/apis/folio.dev/v1/packages?".to_owned()] {
        let whole = get(&world, &path).await.ok();
        let first = get(&world, &format!("{path}limit=2")).await.ok();
        assert_eq!(first["metadata"]["resourceVersion"], whole["metadata"]["resourceVersion"]);
        let one = |name: &str| format!("{PACKAGES}/{name}");
        ask(&world, "PUT", &one("d"), package("d", "other")).await.ok();
        ask(&world, "PATCH", &one("c"), json!({"metadata": {"labels": {"x": "y"}}})).await.ok();
        ask(&world, "PATCH", &one("g"), published(json!({"metadata": {}}))).await.ok();
        ask(&world, "PUT", &one("h"), published(package("h", "two"))).await.ok();
        ask(&world, "DELETE", &one("e"), Value::Null).await.ok();
        ask(&world, "DELETE", &one("f"), Value::Null).await.ok();
        packages(&world, &["cc", "f", "z"]).await;
        assert_eq!(rest(&world, &path, first).await, bare(&whole));
        let now = get(&world, &path).await.ok();
        assert_eq!(names(&now), ["a", "b", "c", "cc", "d", "f", "g", "h", "z"]);
        // Once more from what was at first.
        ask(&world, "DELETE", &one("z"), Value::Null).await.ok();
        ask(&world, "DELETE", &one("cc"), Value::Null).await.ok();
        packages(&world, &["e"]).await;
        ask(&world, "PUT", &one("d"), package("d", "d")).await.ok();
        ask(&world, "PUT", &one("h"), published(package("h", "one"))).await.ok();
    }
}

#[tokio::test]
async fn a_list_of_a_past_revision_is_what_it_was() {
    let world = World::memory().await;
    let path = "/apis/fission.io/v1/functions?";
    let mut past = Vec::new();
    hello(&world).await;
    let functions = format!("{FISSION}/functions");
    let (one, two) = (format!("{functions}/hello"), format!("{functions}/two"));
    let timeout = |seconds: u64| json!({"spec": {"functionTimeout": seconds}});
    let drafted = json!({"metadata": {"annotations": {"folio.dev/publish": null}}});
    let steps = [
        ("PATCH", one.clone(), timeout(5)),
        ("POST", functions.clone(), function("two", "code")),
        ("PATCH", one.clone(), drafted),
        ("PATCH", one.clone(), timeout(6)),
        ("PATCH", two.clone(), json!({"metadata": {"labels": {"tier": "db"}}})),
        ("PATCH", two.clone(), published(json!({"metadata": {}}))),
        ("PUT", format!("{PACKAGES}/code"), published(package("code", "two"))),
        ("DELETE", one.clone(), Value::Null),
        ("POST", functions, function("hello", "code")),
        ("PATCH", two.clone(), timeout(7)),
        ("DELETE", two, Value::Null),
        ("PATCH", one, published(timeout(8))),
    ];
    for (method, at, body) in steps {
        past.push(get(&world, path).await.ok());
        ask(&world, method, &at, body).await.ok();
    }
    world.publish("third", "v1", "one").await;
    past.push(get(&world, path).await.ok());
    for then in &past {
        let revision = then["metadata"]["resourceVersion"].as_str().unwrap();
        let exact = format!("{path}resourceVersion={revision}&resourceVersionMatch=Exact&");
        let found = get(&world, &exact).await.ok();
        assert_eq!(found["metadata"]["resourceVersion"], revision);
        assert_eq!(bare(&found), bare(then), "at {revision}");
        let paged = get(&world, &format!("{exact}limit=1")).await.ok();
        assert_eq!(rest(&world, path, paged).await, bare(then), "at {revision}, in pages");
        let newer = format!("{path}resourceVersion={revision}&resourceVersionMatch=NotOlderThan");
        assert_eq!(names(&get(&world, &newer).await.ok()), ["hello", "third"]);
    }
    let ahead = format!("{path}resourceVersion={}", world.entries() + 1);
    get(&world, &ahead).await.refused(504, "Timeout");
}

#[tokio::test]
async fn a_long_list_is_read_to_its_end_while_everything_changes() {
    let world = World::memory().await;
    let all: Vec<_> = (0..40).map(|at| format!("p{at:02}")).collect();
    packages(&world, &all.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut page = get(&world, &format!("{PACKAGES}?limit=3")).await.ok();
    let mut found = names(&page);
    for round in 0.. {
        let next = token(&page);
        if next.is_empty() {
            break;
        }
        let gone = format!("{PACKAGES}/p{:02}", 39 - round);
        ask(&world, "DELETE", &gone, Value::Null).await.ok();
        packages(&world, &[&format!("p{:02}x", 20 + round)]).await;
        page = get(&world, &format!("{PACKAGES}?limit=3&continue={next}")).await.ok();
        found.extend(names(&page));
    }
    assert_eq!(found, all);
}

#[tokio::test]
async fn what_are_no_units_stay_as_they_were_while_they_are_read() {
    let world = World::memory().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = |name: &str| json!({"metadata": {"name": name}, "data": {"k": "v"}});
    for name in ["a", "b", "c"] {
        ask(&world, "POST", maps, map(name)).await.ok();
    }
    let first = get(&world, &format!("{maps}?limit=1")).await.ok();
    ask(&world, "DELETE", &format!("{maps}/c"), Value::Null).await.ok();
    ask(&world, "PATCH", &format!("{maps}/b"), json!({"data": {"k": "w"}})).await.ok();
    ask(&world, "POST", maps, map("d")).await.ok();
    let second = get(&world, &format!("{maps}?limit=5&continue={}", token(&first))).await.ok();
    assert_eq!(names(&second), ["b", "c"]);
    assert_eq!(second["items"][0]["data"]["k"], "v");
    let revision = first["metadata"]["resourceVersion"].as_str().unwrap();
    assert_eq!(second["metadata"]["resourceVersion"], revision);
    // Of a list that nobody was given in pages it is only known what it is now.
    let exact = |revision: &str| {
        format!("{maps}?resourceVersion={revision}&resourceVersionMatch=Exact&labelSelector=!x")
    };
    get(&world, &exact(revision)).await.refused(410, "Expired");
    let now = get(&world, &exact(&world.entries().to_string())).await.ok();
    assert_eq!(names(&now), ["a", "b", "d"]);
}

#[tokio::test]
async fn a_token_holds_for_the_list_it_was_made_for_and_nothing_else() {
    let world = World::memory().await;
    packages(&world, &["a", "b", "c"]).await;
    let first = get(&world, &format!("{PACKAGES}?limit=1")).await.ok();
    let token = token(&first);
    let invalid = async |path: String| {
        let refused = get(&world, &path).await.refused(400, "BadRequest");
        assert_eq!(refused["message"], "continue key is not valid", "{path}");
    };
    invalid(format!("{PACKAGES}?labelSelector=!x&continue={token}")).await;
    invalid(format!("{PACKAGES}?fieldSelector=metadata.name%3Db&continue={token}")).await;
    invalid(format!("/apis/fission.io/v1/packages?continue={token}")).await;
    invalid(format!("{FOLIO}/packages?continue={token}")).await;
    invalid(format!("{FISSION}/functions?continue={token}")).await;
    invalid(format!("{PACKAGES}?continue={}", &token[..token.len() - 1])).await;
    for at in (0..token.len()).step_by(5) {
        let mut damaged = token.clone().into_bytes();
        damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
        let damaged = String::from_utf8(damaged).unwrap();
        let answer = get(&world, &format!("{PACKAGES}?continue={damaged}")).await;
        assert!(matches!(answer.status, 400 | 410), "{at}: {:#}", answer.body);
    }
    let continued = format!("{PACKAGES}?limit=2&continue={token}");
    assert_eq!(names(&get(&world, &continued).await.ok()), ["b", "c"]);
    // A server that was started anew makes tokens of its own.
    let other = folio_api::router(world.folio.clone());
    let asked = request(&world, "GET", &continued, "", String::new());
    let answer = answered(other.oneshot(asked).await.unwrap()).await;
    let refused = answer.refused(410, "Expired");
    assert!(refused["message"].as_str().unwrap().contains("start a new list"), "{refused:#}");
}
