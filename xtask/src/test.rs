//! Runs every test, after making sure that the programs they start are there. What the caller
//! has in the environment (say, how many cases a property test tries) reaches the tests unchanged.

use anyhow::Result;

use crate::run::{self, Program};
use crate::setup;

const TESTS: Program<'static> = Program::new("cargo", &["test", "--workspace", "--no-fail-fast"]);

pub(crate) fn run() -> Result<()> {
    setup::run()?;
    run::stream(&TESTS)
}
