//! Static files: which of them a path means, and what a client hears of it.

use std::collections::BTreeMap;

use folio_core::app::PlanChange;
use folio_core::ports::Blobs as _;
use folio_core::release::ReleaseRef;
use folio_core::route::RouteFields;
use folio_core::static_item::StaticFields;
use folio_model::{AppName, Timestamp};
use folio_testkit::sample;
use tokio::io::AsyncReadExt as _;

use crate::client::Answer;
use crate::world::{World, caller, exact, prefix};

const PAGE: &str = "<!doctype html><h1>one</h1>";

impl World {
    /// Serves files at a path.
    async fn files(&self, path: &str, files: &[(&str, &str)]) {
        self.files_with(path, files, |fields| fields).await;
    }

    async fn files_with(
        &self,
        path: &str,
        files: &[(&str, &str)],
        with: impl FnOnce(StaticFields) -> StaticFields,
    ) {
        let fields = StaticFields {
            path: path.to_owned(),
            content: sample::directory(&self.folio, files).await,
            index: None,
            fallback: None,
            error_page: None,
            headers: BTreeMap::new(),
            expires: None,
        };
        let name = format!("at{}", path.replace('/', "-"));
        let name = name.trim_end_matches('-').parse().unwrap();
        let at = (&AppName::default_app(), &name);
        self.folio.set_static(&caller(), at, with(fields), None).await.unwrap();
    }

    async fn fetch(&self, path: &str, more: &str) -> Answer {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n");
        self.client().await.ask(request).await
    }

    async fn newest(&self) -> String {
        let app = AppName::default_app();
        let view = self.folio.show_release(&app, &ReleaseRef::Latest).await.unwrap();
        view.label.id.to_string()
    }
}

#[tokio::test]
async fn a_path_means_the_file_whose_name_it_is() {
    let world = World::new().await;
    let files = [
        ("index.html", PAGE),
        ("app.js", "js"),
        ("docs/index.html", "docs"),
        ("a b/ü.txt", "text"),
    ];
    world.files("/", &files).await;
    for (path, body, kind) in [
        ("/", PAGE, "text/html; charset=utf-8"),
        ("/index.html", PAGE, "text/html; charset=utf-8"),
        ("/app.js", "js", "text/javascript; charset=utf-8"),
        ("/docs/", "docs", "text/html; charset=utf-8"),
        ("/a%20b/%C3%BC.txt", "text", "text/plain; charset=utf-8"),
    ] {
        let answer = world.fetch(path, "").await;
        assert_eq!((answer.status, answer.text().as_str()), (200, body), "{path}");
        assert_eq!(answer.header("content-type"), Some(kind), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.header("folio-release").is_some());
    }
    let answer = world.fetch("/docs?x=1", "").await;
    assert_eq!((answer.status, answer.header("location")), (308, Some("./docs/?x=1")));
    assert_eq!(answer.header("cache-control"), Some("no-cache"));
    for path in
        ["/App.js", "/app.js/", "/docs//", "/docs/../app.js", "/%2e%2e/etc/passwd", "/a%2fb"]
    {
        assert!([400, 404].contains(&world.fetch(path, "").await.status), "{path}");
    }
    let request = "POST /app.js HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    let answer = world.client().await.ask(request.to_owned()).await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")));
}

#[tokio::test]
async fn the_longest_path_answers_and_a_file_before_a_function_at_the_same() {
    let world = World::new().await;
    world.files("/", &[("index.html", PAGE), ("api/data.json", "{}"), ("hello", "file")]).await;
    world.files("/static", &[("a.js", "inner")]).await;
    world.route(prefix("/api"), "echo").await;
    world.route(exact("/hello"), "echo").await;
    world.route(prefix("/"), "echo").await;
    for (path, from) in [
        ("/", "file"),
        ("/static/a.js", "file"),
        ("/static/b.js", "function"),
        ("/api/data.json", "function"),
        ("/hello", "function"),
        ("/elsewhere", "function"),
    ] {
        let answer = world.fetch(path, "").await;
        let found = if answer.header("folio-version").is_some() { "function" } else { "file" };
        assert_eq!((answer.status, found), (200, from), "{path}");
    }
}

#[tokio::test]
async fn what_leads_nowhere_is_answered_by_the_page_and_never_for_a_file() {
    let world = World::new().await;
    let files = [("index.html", PAGE), ("404.html", "gone"), ("a.js", "js")];
    world
        .files_with("/", &files, |fields| StaticFields {
            fallback: Some("index.html".to_owned()),
            error_page: Some("404.html".to_owned()),
            ..fields
        })
        .await;
    for path in ["/users/ada", "/users/ada.lovelace@x", "/v1.2/users"] {
        let answer = world.fetch(path, "").await;
        assert_eq!((answer.status, answer.text().as_str()), (200, PAGE), "{path}");
    }
    for path in ["/b.js", "/img/x.png", "/app.3f9a1c2b.css"] {
        let answer = world.fetch(path, "").await;
        assert_eq!((answer.status, answer.text().as_str()), (404, "gone"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-cache"), "{path}");
    }
}

#[tokio::test]
async fn a_client_that_has_the_file_is_told_so_and_a_part_is_a_part() {
    let world = World::new().await;
    world.files("/", &[("a.txt", "0123456789")]).await;
    let answer = world.fetch("/a.txt", "").await;
    let tag = answer.header("etag").unwrap().to_owned();
    assert!(tag.starts_with("\"sha256-") && tag.ends_with('"'), "{tag}");
    for (header, status) in [
        (format!("If-None-Match: {tag}"), 304),
        (format!("If-None-Match: \"x\", W/{tag}"), 304),
        ("If-None-Match: *".to_owned(), 304),
        ("If-None-Match: \"x\"".to_owned(), 200),
        (format!("If-Match: {tag}"), 200),
        ("If-Match: \"x\"".to_owned(), 412),
    ] {
        let answer = world.fetch("/a.txt", &format!("{header}\r\n")).await;
        assert_eq!(answer.status, status, "{header}");
        let kept = if status == 412 { "no-store" } else { "public, no-cache, max-age=0" };
        assert_eq!(answer.header("cache-control"), Some(kept), "{header}");
        assert_eq!(answer.header("etag"), Some(tag.as_str()), "{header}");
    }
    for (header, status, body, range) in [
        ("Range: bytes=2-4", 206, "234", Some("bytes 2-4/10")),
        ("Range: bytes=-3", 206, "789", Some("bytes 7-9/10")),
        ("Range: bytes=8-", 206, "89", Some("bytes 8-9/10")),
        ("Range: bytes=10-", 416, "", Some("bytes */10")),
        ("Range: bytes=0-1,3-4", 200, "0123456789", None),
        ("Range: bytes=2-4\r\nIf-Range: \"x\"", 200, "0123456789", None),
    ] {
        let answer = world.fetch("/a.txt", &format!("{header}\r\n")).await;
        assert_eq!((answer.status, answer.text().as_str()), (status, body), "{header}");
        assert_eq!(answer.header("content-range"), range, "{header}");
        let kept = if status == 416 { "no-store" } else { "public, no-cache, max-age=0" };
        assert_eq!(answer.header("cache-control"), Some(kept), "{header}");
    }
    for more in ["", "Range: bytes=2-4\r\n", "Range: bytes=10-\r\n"] {
        let mut client = world.client().await;
        let head = "HEAD /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
        client.send(&format!("{head}{more}\r\n")).await;
        let mut answer = Vec::new();
        client.stream.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\n"), "{answer}");
        assert!(answer.contains("content-length: 10\r\n"), "{answer}");
        assert!(!answer.contains("content-range"), "{answer}");
    }
}

#[tokio::test]
async fn how_long_a_file_may_be_kept_depends_on_its_address() {
    let world = World::new().await;
    let forever = "public, max-age=31536000, immutable";
    world.files("/", &[("a.txt", "a"), ("app.3f9a1c2b.js", "js")]).await;
    world
        .files_with("/hour", &[("a.txt", "a")], |fields| StaticFields {
            expires: Some(3600),
            headers: BTreeMap::from([("X-Frame-Options".to_owned(), "DENY".to_owned())]),
            ..fields
        })
        .await;
    let id = world.newest().await;
    for (host, path, expected) in [
        ("localhost", "/a.txt", "public, no-cache, max-age=0"),
        ("localhost", "/app.3f9a1c2b.js", forever),
        ("localhost", "/hour/a.txt", "public, must-revalidate, max-age=3600"),
        ("default.latest.d.test", "/a.txt", "public, no-cache, max-age=0"),
        (&format!("{id}--default.d.test"), "/a.txt", forever),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let answer = world.client().await.ask(request).await;
        assert_eq!(answer.header("cache-control"), Some(expected), "{host}{path}");
    }
    let answer = world.fetch("/hour/a.txt", "").await;
    assert_eq!(answer.header("x-frame-options"), Some("DENY"));
    for path in ["/a.txt", "/app.3f9a1c2b.js"] {
        let answer = world.fetch(path, &format!("Folio-Release: {id}\r\n")).await;
        assert_eq!(answer.header("cache-control"), Some("private, no-store"), "{path}");
    }
}

#[tokio::test]
async fn an_old_page_still_finds_the_files_that_it_was_built_with() {
    let world = World::new().await;
    world
        .files("/", &[("index.html", "old"), ("app.1111aaaa.js", "old js"), ("x.js", "old x")])
        .await;
    world.files("/", &[("index.html", "new"), ("app.2222bbbb.js", "new js")]).await;
    assert_eq!(world.fetch("/", "").await.text(), "new");
    let rescued = world.fetch("/app.1111aaaa.js", "").await;
    assert_eq!((rescued.status, rescued.text().as_str()), (200, "old js"));
    assert_eq!(world.fetch("/x.js", "").await.status, 404, "its name may be another's");
    assert_eq!(world.fetch("/app.3333cccc.js", "").await.status, 404);
}

#[tokio::test]
async fn a_route_that_takes_everything_does_not_hide_the_files_of_an_old_page() {
    let world = World::new().await;
    let change = PlanChange { releases: Some(10), tagged: None };
    world.folio.set_plan(&caller(), &AppName::default_app(), change).await.unwrap();
    world
        .files("/", &[("app.1111aaaa.js", "old js"), ("own.4444dddd.js", "old own"), ("x.js", "x")])
        .await;
    world.files("/", &[("app.2222bbbb.js", "new js")]).await;
    let only = |method: &str| RouteFields {
        methods: Some([method.to_owned()].into()),
        ..RouteFields::default()
    };
    world.route_with(exact("/own.4444dddd.js"), "echo", only("GET")).await;
    world.route_with(prefix("/"), "echo", only("POST")).await;
    let is_rescued = async || {
        let rescued = world.fetch("/app.1111aaaa.js", "").await;
        assert_eq!((rescued.status, rescued.text().as_str()), (200, "old js"));
        let own = world.fetch("/own.4444dddd.js", "").await;
        assert!(own.header("folio-version").is_some(), "an exact route comes first");
    };
    is_rescued().await;
    assert_eq!(world.fetch("/app.3333cccc.js", "").await.status, 405);
    world.route_with(prefix("/"), "echo", only("GET")).await;
    is_rescued().await;
    for path in ["/app.3333cccc.js", "/x.js"] {
        let answer = world.fetch(path, "").await;
        assert!(answer.header("folio-version").is_some(), "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn files_that_are_gone_fail_alone() {
    let world = World::new().await;
    world.files("/docs", &[("index.html", PAGE)]).await;
    world.route(exact("/hello"), "echo").await;
    let mark = world.stores.blobs.mark().await.unwrap();
    // Whatever the reason is: nothing is left of what the ledger names.
    world.stores.blobs.sweep(mark, Vec::new(), Timestamp::MAX).await.unwrap();
    assert!(!world.folio.check().await.unwrap().is_empty());
    let world = world.again().await;
    let answer = world.fetch("/docs/", "").await;
    assert_eq!(
        (answer.status, answer.json()["error"]["code"].as_str()),
        (500, Some("content_unreadable"))
    );
    assert_eq!(world.fetch("/hello", "").await.status, 200);
    world.files("/docs", &[("index.html", "new")]).await;
    assert_eq!(world.fetch("/docs/", "").await.text(), "new");
}

#[tokio::test]
async fn a_change_of_anything_else_keeps_all_files() {
    let world = World::new().await;
    world.files("/", &[("index.html", PAGE)]).await;
    let before = world.newest().await;
    world.publish("echo", "v2").await;
    assert_ne!(world.newest().await, before);
    assert_eq!(world.fetch("/", "").await.text(), PAGE);
}

#[tokio::test]
async fn a_file_that_is_read_in_pieces_is_sent_smaller_as_well() {
    let world = World::new().await;
    let text = "function hello() { return 'hello'; }\n".repeat(40_000);
    assert!(text.len() > 1024 * 1024);
    world.files("/", &[("large.js", &text)]).await;
    let gzip = "Accept-Encoding: gzip\r\n";
    let answer = loop {
        let answer = world.fetch("/large.js", gzip).await;
        match answer.header("content-encoding") {
            Some(_) => break answer,
            None => assert_eq!(answer.body.len(), text.len()),
        }
    };
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert!(answer.body.len() < text.len() / 20, "{}", answer.body.len());
    assert_eq!(world.fetch("/large.js", "").await.body.len(), text.len());
}

#[tokio::test]
async fn a_large_file_is_sent_smaller_to_who_can_read_it() {
    let world = World::new().await;
    let text = "function hello() { return 'hello'; }\n".repeat(200);
    world.files("/", &[("a.js", &text), ("b.png", &text)]).await;
    // Encodings are made beside requests; until then the file is sent as it is.
    let answer = loop {
        let answer = world.fetch("/a.js", "Accept-Encoding: gzip, br;q=0.9, zstd;q=0.8\r\n").await;
        assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
        if answer.header("content-encoding").is_some() {
            break answer;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert!(answer.body.len() < text.len() / 4);
    let tag = answer.header("etag").unwrap();
    assert!(tag.ends_with("-gzip\""), "{tag}");
    for (accepts, encoding) in [
        ("br", Some("br")),
        ("*", Some("br")),
        ("zstd", Some("zstd")),
        ("gzip;q=0", None),
        ("identity", None),
    ] {
        let answer = world.fetch("/a.js", &format!("Accept-Encoding: {accepts}\r\n")).await;
        assert_eq!(answer.header("content-encoding"), encoding, "{accepts}");
    }
    let ranged = world.fetch("/a.js", "Accept-Encoding: br\r\nRange: bytes=0-7\r\n").await;
    assert_eq!((ranged.status, ranged.text().as_str()), (206, "function"));
    // The same bytes under a name that says otherwise.
    let image = world.fetch("/b.png", "Accept-Encoding: br\r\n").await;
    assert_eq!((image.header("vary"), image.header("content-encoding")), (None, None));
}
