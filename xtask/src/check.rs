//! Runs the gates a change has to pass, cheapest first, and stops at the first that fails.
//! A gate never changes a file. Start at [`GATES`].

use anyhow::{Context as _, Result};
use clap::Args;

use crate::run::{self, Program};

#[derive(Args)]
pub(crate) struct Options {
    /// Skip the tests, which take most of the time; the rules about the tree are still checked
    #[arg(long)]
    fast: bool,
}

#[derive(Debug)]
struct Gate {
    name: &'static str,
    program: Program<'static>,
    speed: Speed,
}

#[derive(Debug, PartialEq)]
enum Speed {
    Fast,
    Slow,
}

const TIDY: Program<'static> = Program::new("cargo", &["test", "--quiet", "--package", "xtask"]);

const GATES: &[Gate] = &[
    Gate {
        name: "format",
        program: Program::new("cargo", &["fmt", "--all", "--check"]),
        speed: Speed::Fast,
    },
    Gate {
        name: "clippy",
        program: Program::new(
            "cargo",
            &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        ),
        speed: Speed::Fast,
    },
    Gate {
        name: "docs",
        program: Program::new("cargo", &["doc", "--workspace", "--no-deps"])
            .with(&[("RUSTDOCFLAGS", "-D warnings")]),
        speed: Speed::Fast,
    },
    Gate { name: "tidy", program: TIDY, speed: Speed::Fast },
    Gate {
        name: "tests",
        program: Program::new("cargo", &["test", "--workspace"]),
        speed: Speed::Slow,
    },
];

/// Runs the chosen gates in order; the error names the gate that failed.
pub(crate) fn run(options: &Options) -> Result<()> {
    for gate in chosen(options) {
        run::say(&format!("gate {}: {}", gate.name, gate.program));
        run::stream(&gate.program).with_context(|| format!("gate `{}` failed", gate.name))?;
    }
    Ok(())
}

/// Checks only the rules about the tree: xtask's own tests, which take seconds.
pub(crate) fn tidy() -> Result<()> {
    run::stream(&TIDY)
}

fn chosen(options: &Options) -> impl Iterator<Item = &'static Gate> {
    let fast = options.fast;
    GATES.iter().filter(move |gate| !fast || gate.speed == Speed::Fast)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fast: bool, expected: &[&str]) {
        let names: Vec<_> = chosen(&Options { fast }).map(|gate| gate.name).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn every_gate_runs_by_default() {
        check(false, &["format", "clippy", "docs", "tidy", "tests"]);
    }

    #[test]
    fn fast_leaves_out_only_the_tests() {
        check(true, &["format", "clippy", "docs", "tidy"]);
    }
}
