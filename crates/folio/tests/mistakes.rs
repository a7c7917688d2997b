//! Commands that make no sense, or that come too late: what is said of them.

use crate::program::{refused, session, works};

#[test]
fn a_tag_that_moved_since_it_was_seen_is_left_alone() {
    let session = session(&[]);
    works(&session, "echo 1 > a.js && folio fn version create a --env nodejs --code a.js");
    works(&session, "folio fn version create b --env nodejs --code a.js");
    works(&session, "folio fn tag add --tag stable a");
    let revision =
        "$(folio fn tag show stable -o json | sed -n 's/.*\"revision\": \\([0-9]*\\).*/\\1/p')";
    works(
        &session,
        &format!("revision={revision}; folio fn tag add --tag stable b --expect $revision"),
    );
    for line in ["add --tag stable a", "remove --tag stable a", "delete stable"] {
        let said = refused(&session, &format!("folio fn tag {line} --expect 1"));
        assert!(said.contains("revision"), "{line}: {said}");
    }
    works(&session, &format!("folio fn tag remove --tag stable a --expect {revision}"));
    works(&session, &format!("folio fn tag delete stable --expect {revision}"));
}

#[test]
fn flags_that_make_no_sense_are_refused_before_the_server_is_asked() {
    let session = session(&[]);
    for line in ["folio log --limit 0", "folio app list-version --limit 0"] {
        let said = session.run(line).unwrap().join("\n");
        assert!(said.contains("--limit <COUNT>") && said.ends_with("[exit 2]"), "{said}");
    }
    let line = "folio fn alias create a --alias prod --version 1 --expect 3";
    let said = session.run(line).unwrap().join("\n");
    assert!(said.contains("--expect") && said.ends_with("[exit 2]"), "{said}");
    let said = session.run("folio fn version show a --version all").unwrap().join("\n");
    assert!(said.contains("`all`") && !said.contains('@'), "{said}");
}

#[test]
fn names_of_files_are_shown_in_one_line() {
    let session = session(&[]);
    works(&session, "mkdir bad && touch \"bad/a\nb\"");
    let said = refused(&session, "folio pkg version create p --env nodejs --deploy bad");
    assert!(said.contains("cannot publish `bad/a\\nb`"), "{said}");
}

#[test]
fn a_download_into_a_directory_that_is_not_there_says_so() {
    let session = session(&[]);
    works(&session, "echo 1 > a.js && folio fn version create a --env nodejs --code a.js");
    let said = refused(&session, "folio fn version download a --file nowhere/a.js");
    assert!(said.contains("`nowhere` is not a directory") && !said.contains(".tmp"), "{said}");
}
