//! Measures folio beside its peers, as ratios within one run. Nothing here fails because something is slow: each
//! figure stands beside its goal, and a person reads them.

mod apply;
mod assets;
mod executions;
mod gateway;
mod kube;
mod serving;
mod trees;

use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;

use crate::run::{self, Program, text};
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
    /// Ten thousand functions as objects, what kubectl asks first, and a hundred watchers
    Kube,
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
        Subject::Kube => {
            build()?;
            kube::run()
        }
        Subject::Hub => {
            bench("hubgen", "generate")?;
            bench("hubgen-example", "conversions")?;
            bench("folio-kinds", "convert")
        }
    }
}

/// Builds the program that is measured, the way `cargo run --release` does: with the features of one package alone, most of
/// it would be compiled again.
fn build() -> Result<()> {
    run::stream(&Program::new("cargo", &["build", "--release", "--bin", "folio"]))
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
    run::target().join("release/folio").display().to_string()
}
