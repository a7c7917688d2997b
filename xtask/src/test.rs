//! Runs every test, after making sure that the programs they start are there. What the caller
//! has in the environment (say, how many cases a property test tries) reaches the tests unchanged.

use anyhow::Result;

use crate::run::{self, Program};
use crate::setup;

const TESTS: Program<'static> = Program::new("cargo", &["test", "--workspace", "--no-fail-fast"]);

/// The Rust client of Kubernetes, which is no part of the workspace.
const CLIENT: &[&str] =
    &["test", "--locked", "--manifest-path", "clients/kube-rs/Cargo.toml", "--no-fail-fast"];

pub(crate) fn run() -> Result<()> {
    setup::run()?;
    let tested = run::stream(&TESTS);
    tested.and(clients())
}

/// Runs the tests that clients in Rust bring, against the program as the tests before were built with it.
fn clients() -> Result<()> {
    let target = run::target();
    let (program, place) = (target.join("debug/folio"), target.join("clients-rs"));
    let environment =
        [("FOLIO_BIN", run::text(&program)?), ("CARGO_TARGET_DIR", run::text(&place)?)];
    run::stream(&Program::new("cargo", CLIENT).with(&environment))
}
