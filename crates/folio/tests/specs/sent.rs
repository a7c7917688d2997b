//! What an apply sends, counted between the command and its server.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use folio_testkit::transcript::Session;

use crate::program::{session, works};

const FUNCTIONS: usize = 200;

/// Passes everything on and counts what clients send.
struct Counter {
    url: String,
    bytes: Arc<AtomicUsize>,
}

impl Counter {
    fn before(session: &Session) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = session.url().trim_start_matches("http://").to_owned();
        let bytes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&bytes);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(&server).unwrap();
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let counted = Arc::clone(&counted);
                std::thread::spawn(move || pass(from, to, &counted));
                std::thread::spawn(move || pass(server, client, &AtomicUsize::new(0)));
            }
        });
        Self { url, bytes }
    }

    /// What an apply says, and how many bytes it sends.
    fn apply(&self, session: &Session) -> (String, usize) {
        let before = self.bytes.load(Ordering::SeqCst);
        let said = works(session, &format!("folio --server {} spec version apply 2>&1", self.url));
        (said, self.bytes.load(Ordering::SeqCst) - before)
    }

    /// As [`Self::apply`], of a directory that is as it was.
    fn apply_unchanged(&self, session: &Session) -> usize {
        let (said, bytes) = self.apply(session);
        assert!(said.contains("Everything up to date."), "{said}");
        bytes
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, count: &AtomicUsize) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        count.fetch_add(bytes, Ordering::SeqCst);
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    // Either side may be gone already.
    drop(to.shutdown(Shutdown::Write));
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
