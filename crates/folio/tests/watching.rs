//! What `folio status` says of this host: every protection with what becomes of it, as the jail itself finds it out. The
//! rest of what one watches a server by is a transcript.

use std::path::PathBuf;

use folio_run::jail::{Jail, Mode};

use crate::program::{session, works};

/// The rows of the table of protections: name, whether it is enforced, and how or why not.
fn protections(status: &str) -> Vec<[String; 3]> {
    let mut lines = status.lines();
    let head = lines.next().expect("there is a table");
    let columns = ["PROTECTION", "ENFORCED", "HOW"].map(|column| head.find(column).unwrap());
    let cell = |line: &str, from: usize, to: usize| {
        let cell = line.chars().skip(from).take(to - from).collect::<String>();
        cell.trim().to_owned()
    };
    let rows = lines.take_while(|line| !line.is_empty());
    rows.map(|line| {
        let [name, enforced, how] = columns;
        [cell(line, name, enforced), cell(line, enforced, how), cell(line, how, usize::MAX)]
    })
    .collect()
}

#[track_caller]
fn check(flags: &[&str], mode: Mode) {
    let jail = Jail::new(PathBuf::from(env!("CARGO_BIN_EXE_folio")), mode);
    let expected: Vec<_> = jail
        .enforcement()
        .into_iter()
        .map(|one| {
            let enforced = if one.enforced { "yes" } else { "NO" };
            // Nobody is left to guess why something is not had.
            assert!(one.enforced || !one.detail.is_empty(), "{one:?}");
            let how = if one.detail.is_empty() { "-" } else { &one.detail };
            [one.name, enforced.to_owned(), how.to_owned()]
        })
        .collect();
    assert!(!expected.is_empty());
    let session = session(flags);
    assert_eq!(protections(&works(&session, "folio status")), expected);
}

#[test]
fn status_shows_what_this_host_enforces_and_what_it_does_not() {
    check(&[], Mode::Enforced);
}

#[test]
fn status_shows_that_nothing_is_enforced_where_the_jail_is_off() {
    check(&["--no-jail"], Mode::Off);
}
