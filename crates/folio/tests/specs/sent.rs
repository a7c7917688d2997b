//! What an apply sends, counted between the command and its server.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use folio_testkit::transcript::Session;

use crate::counter::Counter;
use crate::program::{session, works};

const FUNCTIONS: usize = 200;

impl Counter {
    /// What an apply says, and how many bytes it sends.
    fn apply(&self, session: &Session) -> (String, usize) {
        let (said, sent) = self.during(session, "folio --server $SERVER spec version apply 2>&1");
        (said, sent.len())
    }

    /// What a command says, whether or not it works, and how many bytes it sends.
    fn run(&self, session: &Session, command: &str) -> (String, usize) {
        let line = format!("folio --server $SERVER {command} 2>&1 || true");
        let (said, sent) = self.during(session, &line);
        (said, sent.len())
    }

    /// As [`Self::apply`], of a directory that is as it was.
    fn apply_unchanged(&self, session: &Session) -> usize {
        let (said, bytes) = self.apply(session);
        assert!(said.contains("Everything up to date."), "{said}");
        bytes
    }
}

/// A directory of functions, each with a file of its own but for one, which has several.
fn plant(session: &Session) {
    works(session, "folio spec init --name many --deployid many; mkdir src");
    let plant = format!(
        r#"for n in $(seq {FUNCTIONS}); do
            echo "module.exports = async () => ({{ status: 200, body: '$n' }});" > src/f$n.js
            printf 'kind: ArchiveUploadSpec\nname: f%s\ninclude: [src/f%s.js]\n---
kind: Package\nmetadata: {{name: f%s}}
spec: {{environment: {{name: nodejs}}, deployment: {{url: "archive://f%s"}}}}\n---
kind: Function\nmetadata: {{name: f%s}}
spec: {{environment: {{name: nodejs}}, package: {{packageref: {{name: f%s}}}}}}\n' $n $n $n $n $n $n > specs/f$n.yaml
        done; sed -i 's|src/f1.js|src/f19*|' specs/f1.yaml"#
    );
    works(session, &plant);
}

#[test]
fn only_what_changed_is_sent_and_nothing_if_nothing_did() {
    let mut session = session(&[]);
    plant(&session);
    let counter = Counter::before(&session);
    let (said, first) = counter.apply(&session);
    assert!(said.contains(&format!("{FUNCTIONS} functions created")), "{said}");
    assert!(first > FUNCTIONS * 200, "{first} bytes are not all manifests");
    // Files that were just written are remembered a moment later.
    let few = 4096;
    let tries = (0..50).take_while(|_| counter.apply_unchanged(&session) > few).count();
    assert!(tries < 50, "nothing is ever remembered");

    for (file, function) in [("src/f7.js", "f7"), ("src/f19.js", "f1, f19")] {
        let write = format!("echo 'module.exports = async () => ({{ status: 204 }});' > {file}");
        works(&session, &write);
        let (said, bytes) = counter.apply(&session);
        assert!(said.contains(function), "{said}");
        assert!(bytes < 2 * few, "{bytes} bytes for one file");
        assert!(counter.apply_unchanged(&session) < few);
    }

    // A server that has forgotten is sent everything, once.
    session.stop();
    session.start_again().unwrap();
    let counter = Counter::before(&session);
    assert!(counter.apply_unchanged(&session) > first / 2);
    assert!(counter.apply_unchanged(&session) < few);
}

#[test]
fn every_change_of_a_directory_is_seen_by_the_next_apply() {
    let session = session(&[]);
    plant(&session);
    let apply = || works(&session, "folio spec version apply 2>&1");
    assert!(apply().contains("functions created"));
    // One line each: what is done, and what the next apply says.
    let changes = [
        ("sed -i 's/: f9}/: g9}/' specs/f9.yaml", "1 function created: g9"),
        ("rm specs/f8.yaml src/f8.js", "1 function deleted: f8"),
        ("mkdir specs/deep && mv specs/f7.yaml specs/deep", "Everything up to date."),
        ("echo f6.yaml > specs/.specignore", "1 function deleted: f6"),
        ("rm specs/.specignore", "1 function created: f6"),
        ("echo >> src/f5.js", "1 function updated: f5"),
        ("echo x > new && mv new src/f4.js", "1 function updated: f4"),
        ("touch src/f3.js", "Everything up to date."),
        ("chmod +x src/f2.js", "1 function updated: f2"),
        ("echo x > src/f1900.js", "1 function updated: f1"),
        ("sed -i s/many/other/ specs/fission-deployment-config.yaml", "not belong to deployment"),
    ];
    for (change, expected) in changes {
        works(&session, change);
        let said = session.run("folio spec version apply 2>&1").unwrap().join("\n");
        assert!(said.contains(expected), "$ {change}\n{said}");
    }
}

const FILE_BYTES: usize = 3 << 20;

/// A directory with a large file, and a function that has a package of some name; there is one called `code`.
fn plant_large(session: &Session, package: &str) {
    works(session, "folio spec init --name large --deployid large; mkdir src");
    works(
        session,
        &format!("head -c {FILE_BYTES} /dev/urandom > src/data && echo x > src/main.js"),
    );
    let manifests = format!(
        "kind: ArchiveUploadSpec\nname: code\ninclude: [src/*]\n---\n\
         kind: Package\nmetadata: {{name: code}}\n\
         spec: {{environment: {{name: nodejs}}, deployment: {{url: 'archive://code'}}}}\n---\n\
         kind: Function\nmetadata: {{name: hello}}\n\
         spec: {{environment: {{name: nodejs}}, package: {{packageref: {{name: {package}}}}}}}\n"
    );
    session.write("specs/all.yaml", &manifests).unwrap();
}

#[test]
fn an_upload_that_is_cut_half_way_leaves_nothing_and_applying_again_completes_it() {
    let session = session(&[]);
    plant_large(&session, "code");
    let entries = works(&session, "folio log -o json");
    let cut = Counter::cut_after(&session, FILE_BYTES / 2);
    let (said, sent) = cut.run(&session, "spec version apply");
    assert!(said.contains("error: "), "{said}");
    assert!((FILE_BYTES / 2..FILE_BYTES).contains(&sent), "{sent} bytes are not half of it");
    assert_eq!(works(&session, "folio log -o json"), entries);
    assert_eq!(works(&session, "folio spec list -o json").trim(), "[]");
    let said = works(&session, "folio spec version apply 2>&1");
    assert!(said.contains("1 function created: hello"), "{said}");
}

#[test]
fn nothing_is_uploaded_before_it_is_known_to_be_right() {
    let session = session(&[]);
    plant_large(&session, "missing");
    let counter = Counter::before(&session);
    let check = |command: &str, expected: &str, is_sent: bool| {
        let (said, bytes) = counter.run(&session, command);
        assert!(said.contains(expected), "$ {command}\n{said}");
        assert_eq!(bytes > FILE_BYTES, is_sent, "$ {command}\n{bytes} bytes");
    };
    check("spec version apply", "references package 'missing'", false);
    works(&session, "sed -i s/missing/code/ specs/all.yaml");
    check("spec validate", "Validation Successful", false);
    check("spec version apply --dry-run", "1 function would be created: hello", false);
    check("spec version apply", "1 function created: hello", true);
    check("spec version apply", "Everything up to date.", false);
    works(&session, &format!("head -c {FILE_BYTES} /dev/urandom > src/data"));
    check("spec version apply --dry-run", "1 function would be updated: hello", false);
    check("spec version apply", "1 function updated: hello", true);
}

/// Lets nobody go on before two are there, or until it is clear that nobody else comes.
#[derive(Default)]
struct Gate {
    here: Mutex<usize>,
    came: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut here = self.here.lock().unwrap();
        *here += 1;
        self.came.notify_all();
        let alone = |here: &mut usize| *here < 2;
        let waited = self.came.wait_timeout_while(here, Duration::from_secs(20), alone).unwrap();
        assert!(!waited.1.timed_out(), "a second one came only after the first was answered");
    }

    fn passed(&self) -> usize {
        *self.here.lock().unwrap()
    }
}

/// Packages of zips that are there already, with files of their own.
fn zipped(session: &Session, many: usize, source: impl Fn(usize) -> String) {
    works(session, "folio spec init --name zips --deployid zips");
    let mut manifests = String::new();
    for at in 0..many {
        works(
            session,
            &format!("echo {at} > main{at}.js; python3 -m zipfile -c {at}.zip main{at}.js"),
        );
        manifests += &source(at);
    }
    session.write("all.yaml", &manifests).unwrap();
    works(session, "mv all.yaml specs");
}

fn package(at: usize, url: &str) -> String {
    format!(
        "---\nkind: Package\nmetadata: {{name: p{at}}}\n\
         spec: {{environment: {{name: nodejs}}, deployment: {{type: url, url: '{url}'}}}}\n"
    )
}

#[test]
fn zips_are_sent_several_at_a_time() {
    let session = session(&[]);
    zipped(&session, 3, |at| {
        let archive = format!("---\nkind: ArchiveUploadSpec\nname: a{at}\ninclude: [{at}.zip]\n");
        archive + &package(at, &format!("archive://a{at}"))
    });
    let gate = Arc::new(Gate::default());
    let heard = Arc::clone(&gate);
    let counter = Counter::hearing(&session, move |bytes| {
        if bytes.starts_with(b"POST /folio/v1/blobs HTTP") {
            heard.pass();
        }
    });
    let (said, _) = counter.apply(&session);
    assert!(said.contains("3 packages created"), "{said}");
    assert_eq!(gate.passed(), 3);
}

#[test]
fn archives_with_an_address_are_fetched_several_at_a_time() {
    let session = session(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    zipped(&session, 3, |at| package(at, &format!("{url}/{at}.zip")));
    let gate = Arc::new(Gate::default());
    let zips: Vec<_> = (0..3)
        .map(|at| std::fs::read(session.directory().join(format!("{at}.zip"))).unwrap())
        .collect();
    let (zips, asked) = (Arc::new(zips), Arc::clone(&gate));
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (zips, gate, mut client) = (Arc::clone(&zips), Arc::clone(&asked), client);
            std::thread::spawn(move || {
                let mut head = [0; 4096];
                let read = client.read(&mut head).unwrap();
                let path = String::from_utf8_lossy(&head[..read]).into_owned();
                let at: usize = path["GET /".len()..].split('.').next().unwrap().parse().unwrap();
                gate.pass();
                let size = zips[at].len();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n"
                );
                client.write_all(&[head.as_bytes(), &zips[at]].concat()).unwrap();
            });
        }
    });
    let said = works(&session, "folio spec version apply 2>&1");
    assert!(said.contains("3 packages created"), "{said}");
    assert_eq!(gate.passed(), 3);
}
