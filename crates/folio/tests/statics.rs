//! Static files from the directory to the client: what is sent, what is refused, and which name is which file.

use std::fs;
use std::sync::Mutex;

use folio_testkit::transcript::Session;

use crate::counter::Counter;
use crate::program::{refused, session, works};
use crate::wire::{Answer, Connection};

const DEPLOY_YAML: &str = "folio --server $SERVER deploy site 2>&1";
const DEPLOY_STATIC: &str = "folio --server $SERVER static deploy site/public 2>&1";

fn get(session: &Session, path: &str) -> Answer {
    let mut connection = Connection::open(session.gateway()).unwrap();
    connection.ask(&format!("GET {path}"), "", b"").unwrap()
}

/// Files below `site/public`, and a `site/folio.yaml` that has them served with these further lines.
fn plant(session: &Session, lines: &str, files: &[(&str, &str)]) {
    let manifest = format!("name: site\nstatic:\n  - src: public\n    path: /\n{lines}");
    session.write("site/folio.yaml", &manifest).unwrap();
    for (path, text) in files {
        let path = session.directory().join("site/public").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn what_folio_yaml_says_of_static_files_is_how_they_are_served() {
    let session = session(&[]);
    let lines = "    index: home.htm\n    errorPage: lost.html\n    expires: 1h\n    headers:\n      X-Frame-Options: DENY\n";
    let files = [
        ("home.htm", "the start"),
        ("docs/home.htm", "the docs"),
        ("docs/index.html", "only a file"),
        ("bare/other.txt", "no index here"),
        ("lost.html", "nothing here"),
    ];
    plant(&session, lines, &files);
    works(&session, "folio deploy site");
    for (path, text) in [
        ("/", "the start"),
        ("/docs/", "the docs"),
        ("/docs/index.html", "only a file"),
        ("/bare/other.txt", "no index here"),
    ] {
        let answer = get(&session, path);
        assert_eq!((answer.status, answer.text().as_str()), (200, text), "{path}");
        assert_eq!(answer.header("X-Frame-Options"), Some("DENY"), "{path}");
        let caching = Some("public, must-revalidate, max-age=3600");
        assert_eq!(answer.header("Cache-Control"), caching, "{path}");
    }
    for path in ["/nothing", "/bare/", "/docs/nothing.css"] {
        let answer = get(&session, path);
        assert_eq!((answer.status, answer.text().as_str()), (404, "nothing here"), "{path}");
    }
}

#[test]
fn of_many_files_only_the_one_that_changed_is_sent() {
    const BYTES: usize = 16 * 1024;
    let session = session(&[]);
    plant(&session, "", &[]);
    let noise = "for n in $(seq 10 29); do mkdir -p site/public/$n; for m in $(seq 10); do \
                 head -c 16384 /dev/urandom > site/public/$n/$m.bin; done; done";
    works(&session, noise);
    let counter = Counter::before(&session);
    for (deploy, changed) in [(DEPLOY_YAML, "12/3.bin"), (DEPLOY_STATIC, "27/9.bin")] {
        let (_, all) = counter.during(&session, deploy);
        let is_first = deploy == DEPLOY_YAML;
        assert_eq!(all.len() > 200 * BYTES, is_first, "{} bytes", all.len());
        works(&session, &format!("head -c {BYTES} /dev/urandom > site/public/{changed}"));
        let (_, sent) = counter.during(&session, deploy);
        let one = BYTES..2 * BYTES;
        assert!(one.contains(&sent.len()), "{} bytes for one file of {BYTES}", sent.len());
        let (_, sent) = counter.during(&session, deploy);
        assert!(sent.len() < BYTES, "{} bytes for nothing", sent.len());
    }
}

#[test]
fn a_page_is_sent_smaller_from_the_first_request_after_a_restart_on() {
    let mut session = session(&[]);
    let page = "<p>the same words again</p>".repeat(100);
    plant(&session, "", &[("index.html", &page)]);
    works(&session, "folio deploy site");
    let encoding = |session: &Session| {
        let mut connection = Connection::open(session.gateway()).unwrap();
        let answer = connection.ask("GET /", "Accept-Encoding: br, gzip\r\n", b"").unwrap();
        assert_eq!(answer.status, 200);
        answer.header("Content-Encoding").map(str::to_owned)
    };
    assert!((0..100_000).any(|_| encoding(&session).is_some()), "encodings are never made");
    for _ in 0..2 {
        session.start_again().unwrap();
        assert_eq!(encoding(&session).as_deref(), Some("br"));
    }
}

#[test]
fn too_many_files_are_refused_at_both_doors_before_any_is_sent() {
    let session = session(&["--limit", "contentFilesMax=10"]);
    plant(&session, "", &[]);
    works(&session, "mkdir site/public; for n in $(seq 11); do echo $n > site/public/$n; done");
    let counter = Counter::before(&session);
    for deploy in [DEPLOY_YAML, DEPLOY_STATIC] {
        let said = refused(&session, &deploy.replace("$SERVER", &counter.url));
        assert!(
            said.contains("public` has more than 10 files, the server takes no more"),
            "{said}"
        );
        let sent = String::from_utf8_lossy(&counter.sent()).into_owned();
        assert!(!sent.contains("/blobs"), "{sent}");
    }
    assert_eq!(get(&session, "/1").status, 404);
    works(&session, "rm site/public/11; folio deploy site");
    assert_eq!(get(&session, "/1").text(), "1\n");
}

#[test]
fn names_are_files_byte_by_byte_whatever_they_look_like() {
    let session = session(&[]);
    let files = [
        ("Readme.txt", "upper"),
        ("readme.txt", "lower"),
        ("caf\u{e9}.txt", "composed"),
        ("cafe\u{301}.txt", "decomposed"),
        ("a b.txt", "a space"),
        ("a%20b.txt", "a percent sign"),
        ("%2e%2e", "only a name"),
    ];
    plant(&session, "", &files);
    works(&session, "folio deploy site");
    for (path, text) in [
        ("/Readme.txt", "upper"),
        ("/readme.txt", "lower"),
        ("/caf%C3%A9.txt", "composed"),
        ("/cafe%CC%81.txt", "decomposed"),
        ("/a%20b.txt", "a space"),
        ("/a%2520b.txt", "a percent sign"),
        ("/%252e%252e", "only a name"),
    ] {
        let answer = get(&session, path);
        assert_eq!((answer.status, answer.text().as_str()), (200, text), "{path}");
    }
    for path in [
        "/README.TXT",
        "/CAF%C3%89.txt",
        "/a%252520b.txt",
        "/%25252e%25252e",
        "/%252e%252e/folio.yaml",
        "/%2e%2e/folio.yaml",
        "/..%252ffolio.yaml",
        "/%c0%ae%c0%ae/folio.yaml",
    ] {
        let answer = get(&session, path);
        assert!((400..500).contains(&answer.status), "{path}: {}", answer.status);
        assert!(!answer.text().contains("name: site"), "{path}: {}", answer.text());
    }
}

#[test]
fn links_are_refused_wherever_they_lead_and_nothing_is_deployed() {
    let session = session(&[]);
    plant(&session, "", &[("index.html", "the start"), ("docs/a.txt", "a")]);
    let public = session.directory().join("site/public");
    for (link, to) in [
        ("passwd", "/etc/passwd"),
        ("above", ".."),
        ("self", "."),
        ("beside.html", "index.html"),
        ("docs/nowhere", "nothing"),
    ] {
        std::os::unix::fs::symlink(to, public.join(link)).unwrap();
        for deploy in ["folio deploy site 2>&1", "folio static deploy site/public 2>&1"] {
            let said = refused(&session, deploy);
            assert!(said.contains(&format!("{link}` is a symbolic link")), "{said}");
        }
        fs::remove_file(public.join(link)).unwrap();
        assert_eq!(get(&session, "/").status, 404, "{link}");
    }
    works(&session, "folio deploy site");
    assert_eq!(get(&session, "/").text(), "the start");
}

#[test]
fn deploys_at_the_same_time_are_all_whole_and_the_last_one_is_live() {
    let session = session(&[]);
    works(&session, "folio app plan set --releases 20");
    let words = ["one", "two", "three", "four"];
    for word in words {
        session.write(&format!("{word}/index.html"), word).unwrap();
        session.write(&format!("{word}/{word}.txt"), word).unwrap();
    }
    std::thread::scope(|scope| {
        for word in words {
            let line = format!("folio static deploy {word} --path / --name site");
            let session = &session;
            scope.spawn(move || works(session, &line));
        }
    });
    let listed = works(&session, "folio release list -o json");
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let ids: Vec<_> = listed.as_array().unwrap().iter().map(|found| &found["id"]).collect();
    assert_eq!(ids.len(), words.len(), "{listed}");
    let mut connection = Connection::open(session.gateway()).unwrap();
    let mut page = |release: &str, path: &str| {
        let header = format!("Folio-Release: {release}\r\n");
        connection.ask(&format!("GET {path}"), &header, b"").unwrap()
    };
    let mut seen = Vec::new();
    for id in &ids {
        let id = id.as_str().unwrap();
        let word = page(id, "/").text().trim().to_owned();
        for other in words {
            let status = if *other == word { 200 } else { 404 };
            assert_eq!(page(id, &format!("/{other}.txt")).status, status, "{word} {other}");
        }
        seen.push(word);
    }
    assert_eq!(get(&session, "/").text().trim(), seen[0], "the newest is listed first");
    seen.sort();
    assert_eq!(seen, ["four", "one", "three", "two"]);
}

#[test]
fn a_file_that_changes_while_it_is_uploaded_is_refused_and_the_next_deploy_is_whole() {
    let session = session(&[]);
    plant(&session, "", &[("page.html", "before"), ("other.html", "other")]);
    let page = session.directory().join("site/public/page.html");
    // The client asks what is missing once it has hashed everything, and has sent nothing yet.
    let asked = Mutex::new(Vec::new());
    let changed = page.clone();
    let counter = Counter::hearing(&session, move |bytes| {
        let mut asked = asked.lock().unwrap();
        asked.extend_from_slice(bytes);
        if asked.windows(13).any(|part| part == b"blobs/missing") {
            asked.clear();
            fs::write(&changed, "after!").unwrap();
        }
    });
    for deploy in [DEPLOY_YAML, DEPLOY_STATIC] {
        fs::write(&page, "before").unwrap();
        let said = refused(&session, &deploy.replace("$SERVER", &counter.url));
        assert!(said.contains("page.html` was changed while it was uploaded"), "{said}");
        assert!(said.contains("hint: repeat the command"), "{said}");
        assert_eq!(get(&session, "/page.html").status, 404);
    }
    works(&session, "folio deploy site");
    assert_eq!(get(&session, "/page.html").text(), "after!");
    assert_eq!(get(&session, "/other.html").text(), "other");
}
