//! Archives of a spec directory that hold the same: uploaded and stored once.

use std::fmt::Write as _;

use crate::program::{session, works};

/// As many as a real directory had.
const ARCHIVES: usize = 58;

#[test]
fn archives_with_the_same_content_are_uploaded_and_stored_once() {
    let session = session(&[]);
    works(&session, "folio spec init --name same --deployid same");
    let mut manifest = String::new();
    for at in 0..ARCHIVES {
        works(&session, &format!("mkdir a{at}"));
        works(&session, &format!("printf 'module.exports = 1;\\n' > a{at}/main.js"));
        write!(
            manifest,
            "---\nkind: ArchiveUploadSpec\nname: a{at}\ninclude: [a{at}/main.js]\n---\n\
             kind: Package\nmetadata: {{name: p{at}}}\n\
             spec: {{environment: {{name: nodejs}}, deployment: {{url: 'archive://a{at}'}}}}\n"
        )
        .unwrap();
    }
    session.write("all.yaml", &manifest).unwrap();
    works(&session, "mv all.yaml specs");
    let said = works(&session, "folio spec version apply 2> /dev/null");
    assert!(said.starts_with("58 packages created"), "{said}");
    let token = "\"Authorization: Bearer $(cat $FOLIO_DATA/admin.token)\"";
    let usage = works(&session, &format!("curl -s -H {token} $FOLIO_URL/folio/v1/storage"));
    // The file, and the directory that holds it.
    assert!(usage.contains("\"nodes\":2"), "{usage}");
}
