//! The `hubgen` command: arguments in, exit code out.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use hubgen::command::Command;

fn main() -> ExitCode {
    match Command::parse().run(&mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With no one left to tell, the exit code still says that it failed.
            tell(&error).ok();
            ExitCode::FAILURE
        }
    }
}

fn tell(error: &hubgen::error::Error) -> std::io::Result<()> {
    let mut err = std::io::stderr().lock();
    writeln!(err, "error: {error}")?;
    let mut cause = error.source();
    while let Some(inner) = cause {
        writeln!(err, "cause: {inner}")?;
        cause = inner.source();
    }
    writeln!(err, "hint: {}", error.hint())
}
