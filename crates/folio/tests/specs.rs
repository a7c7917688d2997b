//! Applying a directory again, with what is remembered here and on the server, and without.

mod flags;
mod sent;

use std::path::Path;

use folio_testkit::transcript::Session;

use crate::program::{session, works};

const MANIFESTS: &str = "\
kind: ArchiveUploadSpec
name: code
include: [main.js]
---
kind: Package
metadata: {name: code}
spec: {environment: {name: nodejs}, deployment: {url: 'archive://code'}}
---
kind: Function
metadata: {name: hello}
spec: {environment: {name: nodejs}, package: {packageref: {name: code}}}
---
kind: Whatever
metadata: {name: unknown}
";

fn apply(session: &Session) -> String {
    works(session, "folio spec version apply 2>&1")
}

#[test]
fn applying_again_is_right_whether_or_not_the_server_remembers() {
    let mut session = session(&[]);
    works(&session, "folio spec init --name memory --deployid memory");
    session
        .write("main.js", "module.exports = async () => ({ status: 200, body: '1' });\n")
        .unwrap();
    session.write("all.yaml", MANIFESTS).unwrap();
    works(&session, "mv all.yaml specs");
    assert!(apply(&session).contains("1 function created: hello"));
    // A file that was just written may change without showing it, so it is remembered a moment later.
    while session
        .run("grep -rq specs/all.yaml $XDG_CACHE_HOME/folio")
        .unwrap()
        .concat()
        .contains("exit")
    {
        assert!(apply(&session).contains("Everything up to date."));
    }
    let said = apply(&session);
    assert!(said.contains("Ignoring unknown type Whatever in specs/all.yaml"), "{said}");
    assert!(said.contains("Everything up to date."), "{said}");

    // New code of a package whose manifest is only named.
    session
        .write("main.js", "module.exports = async () => ({ status: 200, body: '2' });\n")
        .unwrap();
    let said = apply(&session);
    assert!(said.contains("1 package updated: code\n1 function updated: hello"), "{said}");
    assert_eq!(works(&session, "folio invoke hello"), "2");

    // A server that was started again has forgotten what it was sent.
    session.stop();
    session.start_again().unwrap();
    assert!(apply(&session).contains("Everything up to date."));
    session.stop();
    session.start_again().unwrap();
    session
        .write("main.js", "module.exports = async () => ({ status: 200, body: '3' });\n")
        .unwrap();
    let said = apply(&session);
    assert!(said.contains("1 package updated: code\n1 function updated: hello"), "{said}");
    assert_eq!(works(&session, "folio invoke hello"), "3");

    // What changes is read again, and what goes is gone.
    works(&session, "sed -i s/hello/other/ specs/all.yaml");
    let said = apply(&session);
    assert!(said.contains("1 function created: other\n1 function deleted: hello"), "{said}");
}

/// Serves the directory over TLS, and says on which port.
const SECURE: &str = "\
import http.server, ssl, sys
server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + '/certificate.pem', sys.argv[1] + '/key.pem')
server.socket = context.wrap_socket(server.socket, server_side=True)
open('port', 'w').write(str(server.server_address[1]))
server.serve_forever()
";

#[test]
fn an_archive_is_fetched_over_https_from_whom_this_machine_trusts() {
    let session = session(&[]);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../folio-run/tests/fixtures");
    session.write("serve.py", SECURE).unwrap();
    session
        .write("main.js", "module.exports = async () => ({ status: 200, body: 'far' });")
        .unwrap();
    works(&session, "folio spec init --name far --deployid far");
    let manifests = MANIFESTS.split_once("---\n").unwrap().1;
    let manifests = manifests.replace("archive://code", "https://localhost:PORT/main.js");
    session.write("all.yaml", &manifests).unwrap();
    works(&session, "mv all.yaml specs");
    let apply = |trust: &str| {
        let line = format!(
            "python3 serve.py {} 2> /dev/null & trap \"kill $!\" EXIT; until [ -s port ]; do :; done; \
             sed -i s/PORT/$(cat port)/ specs/all.yaml; {trust} folio spec version apply 2>&1; \
             sed -i s/$(cat port)/PORT/ specs/all.yaml; rm port",
            fixtures.display()
        );
        session.run(&line).unwrap().join("\n")
    };
    let said = apply("SSL_CERT_FILE=/dev/null");
    assert!(said.contains("cannot fetch `https://localhost:"), "{said}");
    let said = apply(&format!("SSL_CERT_FILE={}/certificate.pem", fixtures.display()));
    assert!(said.contains("1 package created: code"), "{said}");
    assert_eq!(works(&session, "folio invoke hello"), "far");
}

#[test]
fn a_server_that_lost_what_was_deployed_is_sent_everything_again() {
    let mut session = session(&[]);
    session.write("folio.yaml", "name: site\nstatic: [{src: public, path: /}]\n").unwrap();
    works(&session, "mkdir public && echo one > public/one.txt && echo two > public/two.txt");
    // Files that were just written are remembered a moment later.
    let deploy = "folio deploy --app site 2>&1";
    works(&session, "folio app create site");
    works(&session, deploy);
    works(&session, "touch -d '1 hour ago' public/*");
    works(&session, deploy);

    session.stop();
    std::fs::remove_dir_all(session.data()).unwrap();
    session.start_again().unwrap();
    works(&session, "folio app create site");
    works(&session, deploy);
    let fetch = format!("curl -sS -H 'Host: site.localhost' {}/two.txt", session.gateway());
    assert_eq!(works(&session, &fetch).trim_end(), "two");
    assert!(works(&session, "folio deploy --app site --no-cache 2>&1").contains("up to date"));
}
