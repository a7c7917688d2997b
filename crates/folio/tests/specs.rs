//! Applying a directory again: what did not change is not sent again, and nobody can tell.

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
fn what_did_not_change_is_not_sent_again_unless_the_server_has_forgotten_it() {
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
