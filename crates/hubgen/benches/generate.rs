//! How long all versions of six real providers take to generate, and how much memory.
//! The directory of their schemas is named by `HUBGEN_SCHEMAS`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark measures time and says what it found"
)]

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Parser as _;
use hubgen::command::Command;

const PROVIDERS: [&str; 6] =
    ["Batch", "Cache", "EventHub", "Search", "ServiceBus", "ServiceFabric"];

fn main() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/arm");
    let schemas = std::env::var_os("HUBGEN_SCHEMAS").map_or(beside, PathBuf::from);
    if !schemas.is_dir() {
        println!("SKIPPED: no schemas at {}; name them with HUBGEN_SCHEMAS", schemas.display());
        return;
    }
    let schemas = schemas.display().to_string();
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let all = Instant::now();
    for provider in PROVIDERS {
        let config = directory.path().join(format!("{provider}.toml"));
        std::fs::write(&config, said(provider)).expect("the configuration can be written");
        let config = config.display().to_string();
        let arguments = ["hubgen", "generate", &config, "--schemas", &schemas];
        let start = Instant::now();
        Command::parse_from(arguments).run(&mut std::io::sink()).expect("a provider is generated");
        println!("{provider}: {:.2} s", start.elapsed().as_secs_f64());
    }
    println!("all: {:.2} s, peak memory {}", all.elapsed().as_secs_f64(), peak_memory());
}

fn said(provider: &str) -> String {
    format!(
        "group = \"Microsoft.{provider}\"\nformat = \"arm\"\n\n\
         [remote]\n\"https://schema.management.azure.com/schemas/\" = \"_shared\"\n\n\
         [[schema]]\npath = \"Microsoft.{provider}\"\n"
    )
}

/// What the kernel says this process took at most.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown here".to_owned(), |peak| peak.trim().to_owned())
}
