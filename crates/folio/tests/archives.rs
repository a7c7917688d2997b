//! Archives of a spec directory that hold the same: uploaded and stored once.

use std::fmt::Write as _;

use crate::counter::Counter;
use crate::program::{session, works};

/// As many as a real directory had.
const ARCHIVES: usize = 58;

/// The bytes of each of the two files of an archive. Nothing makes them smaller.
const FILE_BYTES: usize = 16 * 1024;

#[test]
fn archives_with_the_same_content_are_uploaded_and_stored_once() {
    let session = session(&[]);
    works(&session, "folio spec init --name same --deployid same");
    works(&session, &format!("head -c {FILE_BYTES} /dev/urandom > one"));
    works(&session, &format!("head -c {FILE_BYTES} /dev/urandom > two"));
    let mut manifest = String::new();
    for at in 0..ARCHIVES {
        works(&session, &format!("mkdir a{at}; cp one two a{at}"));
        write!(
            manifest,
            "---\nkind: ArchiveUploadSpec\nname: a{at}\ninclude: [a{at}/one, a{at}/two]\n---\n\
             kind: Package\nmetadata: {{name: p{at}}}\n\
             spec: {{environment: {{name: nodejs}}, deployment: {{url: 'archive://a{at}'}}}}\n"
        )
        .unwrap();
    }
    session.write("all.yaml", &manifest).unwrap();
    works(&session, "mv all.yaml specs");
    let line = "folio --server $SERVER spec version apply 2>&1";
    let (said, sent) = Counter::before(&session).during(&session, line);
    assert!(said.contains("58 packages created"), "{said}");
    // The files once, and about each package less than a kilobyte.
    let (sent, once) = (sent.len(), 2 * FILE_BYTES);
    let room = once..once + ARCHIVES * 1024;
    assert!(room.contains(&sent), "{sent} bytes were sent for {once} bytes of files");
    let token = "\"Authorization: Bearer $(cat $FOLIO_DATA/admin.token)\"";
    let usage = works(&session, &format!("curl -s -H {token} $FOLIO_URL/folio/v1/storage"));
    // The files, and the directory that holds them.
    assert!(usage.contains("\"nodes\":3"), "{usage}");
}
