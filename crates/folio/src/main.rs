//! The folio command: server, client and demo in one binary. Knows every other crate and decides nothing that
//! `folio-core` could decide. Start at [`cli`] for what can be typed and [`command`] for what it does.

mod cli;
mod client;
mod command;
mod config;
mod content;
mod demo;
mod directory;
mod http;
mod memory;
mod name;
mod output;
mod problem;
mod serve;
mod spec;
mod upload;
mod vault;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // A stage of the jail, which the server starts: before anything else, while there is one thread.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "__jail") {
        folio_run::jail::stage()
    }
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    let runtime = tokio::runtime::Runtime::new().map_err(anyhow::Error::from);
    let config = config::Config::from_environment();
    let ran = runtime.and_then(|runtime| runtime.block_on(command::run(cli, config)));
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::failure(&error),
    }
}
