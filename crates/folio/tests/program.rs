//! The program under test, as the other modules use it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use folio_testkit::transcript::Session;

/// A fresh server with some flags.
pub(crate) fn session(flags: &[&str]) -> Session {
    let flags: Vec<_> = flags.iter().map(|&flag| flag.to_owned()).collect();
    Session::start(Path::new(env!("CARGO_BIN_EXE_folio")), &flags).unwrap()
}

/// Runs a command that must work, and returns what it says.
#[track_caller]
pub(crate) fn works(session: &Session, line: &str) -> String {
    let said = session.run(line).unwrap().join("\n");
    assert!(!said.contains("[exit "), "$ {line}\n{said}");
    said
}

/// Runs a command that must be refused with exit code 1, and returns what it says.
#[track_caller]
pub(crate) fn refused(session: &Session, line: &str) -> String {
    let said = session.run(line).unwrap().join("\n");
    assert!(said.ends_with("[exit 1]"), "$ {line}\n{said}");
    said
}

/// Says that a load is over when it is dropped, also because a test fails: else its threads would be waited for, for ever.
pub(crate) struct Over<'a>(pub(crate) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
