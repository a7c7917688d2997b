//! Measures folio beside its peers, as ratios within one run. Nothing here fails because something is slow: each
//! figure stands beside its goal, and a person reads them.

mod trees;

use anyhow::Result;
use clap::ValueEnum;

use crate::run::{self, Program};
use crate::setup;

/// What can be measured.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Subject {
    /// Publishes per second, the cost of history, and 50 versions of a tree against git and borg
    Store,
    /// Only the tree against git and borg
    Trees,
}

/// Programs only the benchmarks need.
const NEEDED: &[(&str, &str)] = &[("git", "git"), ("borg", "borgbackup")];

pub(crate) fn run(subject: Subject) -> Result<()> {
    setup::install(NEEDED)?;
    run::stream(&Program::new("cargo", &["build", "--release", "--package", "folio"]))?;
    match subject {
        Subject::Store => {
            let store = ["bench", "--package", "folio-store", "--bench", "store"];
            run::stream(&Program::new("cargo", &store))?;
            trees::run()
        }
        Subject::Trees => trees::run(),
    }
}
