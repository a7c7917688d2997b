//! Accepts what the code produces now: tests that compare with a golden or generated file write
//! the file instead. The diff is then read and committed like any other change.

use anyhow::{Result, ensure};

use crate::run::{self, Program};

/// `FOLIO_BLESS=1` is what such a test looks at; with `CI=true` it has to fail instead of writing.
const BLESS: Program<'static> = Program::new(
    "cargo",
    &[
        "test",
        "--package",
        "folio",
        "--package",
        "folio-api",
        "--package",
        "folio-run",
        "--package",
        "hubgen",
        "--package",
        "folio-kinds",
    ],
)
.with(&[("FOLIO_BLESS", "1")]);

pub(crate) fn run() -> Result<()> {
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    ensure!(!in_ci, "cannot bless with CI=true: there the committed files are what counts");
    run::stream(&BLESS)?;
    run::say("blessed; read the change with `git diff` before committing it");
    Ok(())
}
