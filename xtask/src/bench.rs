//! Measures folio beside its peers, as ratios within one run. Nothing here fails because something is slow: each
//! figure stands beside its goal, and a person reads them.

mod apply;
mod assets;
mod executions;
mod gateway;
mod serving;
mod trees;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result};
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
    /// Functions behind the gateway against wasmtime, workerd, Node, uvicorn and the functions frameworks
    Gateway,
    /// Ten thousand functions in one spec directory against git
    Apply,
    /// Static files against rsync and nginx, and switches of live under load
    Assets,
    /// Executions accepted per second, and the cost of a page of a million
    Executions,
    /// Generating the types of six real providers, and converting between versions
    Hub,
}

/// Programs only the benchmarks need.
const NEEDED: &[(&str, &str)] = &[("git", "git"), ("borg", "borgbackup")];

pub(crate) fn run(subject: Subject) -> Result<()> {
    setup::install(NEEDED)?;
    match subject {
        Subject::Store => {
            bench("folio-store", "store")?;
            build()?;
            trees::run()
        }
        Subject::Trees => {
            build()?;
            trees::run()
        }
        Subject::Gateway => {
            build()?;
            gateway::run()?;
            bench("folio-gateway", "overhead")
        }
        Subject::Apply => {
            setup::install(&[("time", "time")])?;
            build()?;
            apply::run()
        }
        Subject::Assets => {
            build()?;
            assets::run()
        }
        Subject::Executions => {
            build()?;
            executions::run()?;
            bench("folio-store", "executions")
        }
        Subject::Hub => {
            bench("hubgen", "generate")?;
            bench("hubgen-example", "conversions")?;
            bench("folio-kinds", "convert")
        }
    }
}

/// Builds the program that is measured.
fn build() -> Result<()> {
    run::stream(&Program::new("cargo", &["build", "--release", "--package", "folio"]))
}

/// Runs a crate's own benchmark.
fn bench(package: &str, name: &str) -> Result<()> {
    run::stream(&Program::new("cargo", &["bench", "--package", package, "--bench", name]))
}

#[expect(clippy::disallowed_methods, reason = "measuring time is what a benchmark is for")]
fn start() -> Instant {
    Instant::now()
}

/// The program that is measured.
fn binary() -> String {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| run::root().join("target"));
    target.join("release/folio").display().to_string()
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the project's path is not text")
}
