//! The tasks of a developer: `cargo xtask <task>`. Start at [`Task`].
//!
//! A task is a module with a `run`; adding one means a variant of [`Task`] and an arm in
//! [`perform`]. Programs are started in [`run`] and nowhere else.

mod bench;
mod bless;
mod check;
mod run;
mod setup;
mod test;
#[cfg(test)]
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

fn main() -> ExitCode {
    match perform(&Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            run::say(&describe(&error));
            ExitCode::FAILURE
        }
    }
}

/// Develop folio
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every gate a change has to pass
    Check(check::Options),
    /// Install what the tests need, then run every test
    Test,
    /// Check only the rules about the tree itself
    Tidy,
    /// Rewrite the golden and generated files that tests compare with
    Bless,
    /// Compile the generated types of all real providers, and convert values between their versions
    HubAll,
    /// Measure folio beside its peers, as ratios
    Bench {
        /// What to measure
        subject: bench::Subject,
    },
}

fn perform(task: &Task) -> anyhow::Result<()> {
    match task {
        Task::Check(options) => check::run(options),
        Task::Test => test::run(),
        Task::Tidy => check::tidy(),
        Task::Bless => bless::run(),
        Task::HubAll => run::stream(&HUB_ALL),
        Task::Bench { subject } => bench::run(*subject),
    }
}

/// The test of hubgen that compiles what it generates, for all providers instead of two.
const HUB_ALL: run::Program<'static> =
    run::Program::new("cargo", &["test", "--package", "hubgen", "real_providers_compile"])
        .with(&[("HUBGEN_PROVIDERS", "all")]);

/// Writes an error the way `folio` itself does: what happened, then each cause.
fn describe(error: &anyhow::Error) -> String {
    let mut text = format!("error: {error}");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("\ncause: {cause}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_error_is_followed_by_its_causes() {
        let error = anyhow::anyhow!("exit status 1").context("gate `clippy` failed");
        assert_eq!(describe(&error), "error: gate `clippy` failed\ncause: exit status 1");
    }
}
