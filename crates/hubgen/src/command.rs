//! The `hubgen` command: reads files, calls one stage, writes files or prints.
//!
//! Everything a run makes is made before the first file is written, for all configurations given.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::Config;
use crate::error::Error;
use crate::generate::{Focus, Generated, Purpose, generate, report, strict};
use crate::load::Input;
use crate::planner::Choice;
use crate::read;
use crate::report::{Report, table};
use crate::version::Version;

/// Generate versioned API types and the conversions between them
#[derive(Debug, Parser)]
#[command(version)]
pub struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write the types, conversions, report and blessed schemas of each group
    Generate(Common),
    /// Fail if a published schema would break, or generated files are not as generated
    Check(Common),
    /// Show what changes from each version to the stored one, and how it is handled
    Report(ReportArguments),
    /// Show what changed from one version to another
    Diff(DiffArguments),
}

#[derive(Debug, Args)]
struct Common {
    /// Configuration files, one for each group
    #[arg(default_value = "hubgen.toml")]
    config: Vec<PathBuf>,
    /// Directory of the schemas; by default, that of the configuration file
    #[arg(long, env = "HUBGEN_SCHEMAS")]
    schemas: Option<PathBuf>,
    /// Directory that holds each group's output directory; by default, that of its configuration
    #[arg(long)]
    output: Option<PathBuf>,
    /// Fail on what nobody has reviewed: losses, required values that may be missing, free JSON
    #[arg(long)]
    strict: bool,
}

#[derive(Debug, Args)]
struct ReportArguments {
    #[command(flatten)]
    common: Common,
    /// Only this kind of resource
    #[arg(long)]
    resource: Option<String>,
    /// Only this version
    #[arg(long)]
    spoke: Option<String>,
    /// Store this version instead of the configured or latest one
    #[arg(long)]
    hub: Option<String>,
    /// Only this type
    #[arg(long = "type")]
    ty: Option<String>,
    /// Only what changed
    #[arg(long)]
    changed: bool,
    /// Form of the report
    #[arg(short = 'o', long = "format", default_value = "table")]
    format: Form,
}

#[derive(Debug, Args)]
struct DiffArguments {
    /// The older version
    from: String,
    /// The newer version
    to: String,
    #[command(flatten)]
    common: Common,
    /// Form of the report
    #[arg(short = 'o', long = "format", default_value = "table")]
    format: Form,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// Tables to read
    Table,
    /// One JSON document for each group
    Json,
}

impl Command {
    /// Does what was asked, printing to `out`.
    pub fn run(self, out: &mut dyn Write) -> Result<(), Error> {
        match self.verb {
            Verb::Generate(common) => {
                let made = made(&common)?;
                for (generated, directory) in &made {
                    generated.output.is_free(directory)?;
                }
                for (generated, directory) in &made {
                    generated.output.write(directory)?;
                    let count = generated.output.files().len();
                    print(out, &format!("{count} files in {}\n", directory.display()))?;
                }
                Ok(())
            }
            Verb::Check(common) => check(&common, out),
            Verb::Report(arguments) => {
                let ReportArguments { common, resource, spoke, hub, ty, changed, format } =
                    arguments;
                let version = |text: Option<String>| text.as_deref().map(Version::new);
                let versions = Choice { hub: version(hub), spoke: version(spoke) };
                let focus = Focus { kind: resource, ty, versions, ..Focus::default() };
                show(&common, &focus, changed, format, out)
            }
            Verb::Diff(DiffArguments { from, to, common, format }) => {
                let version = |text: &str| Some(Version::new(text));
                let versions = Choice { hub: version(&to), spoke: version(&from) };
                let purpose = Purpose::Compare;
                show(&common, &Focus { versions, purpose, ..Focus::default() }, true, format, out)
            }
        }
    }
}

fn made(common: &Common) -> Result<Vec<(Generated, PathBuf)>, Error> {
    let mut made = Vec::new();
    let mut targets = BTreeSet::new();
    for path in &common.config {
        let (config, input, directory) = read(common, path)?;
        if !targets.insert(directory.join(config.module())) {
            return Err(Error::refused(
                format!("{} writes the same module as another configuration", config.file),
                "give each its own `module` or `output`",
            ));
        }
        let generated = generate(&config, &input)?;
        if common.strict {
            strict(&generated.report)?;
        }
        made.push((generated, directory));
    }
    Ok(made)
}

fn check(common: &Common, out: &mut dyn Write) -> Result<(), Error> {
    for (generated, directory) in made(common)? {
        let stale = generated.output.stale(&directory)?;
        if !stale.is_empty() {
            return Err(Error::refused(
                format!("{} is not as generated:\n  {}", directory.display(), stale.join("\n  ")),
                "run `hubgen generate` and commit what it writes; never edit these files",
            ));
        }
        print(out, &format!("{} is as generated\n", directory.display()))?;
    }
    Ok(())
}

fn show(
    common: &Common,
    focus: &Focus,
    changed: bool,
    format: Form,
    out: &mut dyn Write,
) -> Result<(), Error> {
    for path in &common.config {
        let (config, input, _) = read(common, path)?;
        let whole = report(&config, &input, focus)?;
        if common.strict {
            strict(&whole)?;
        }
        let shown = if changed { whole.changes() } else { whole };
        print(out, &formed(&shown, format))?;
    }
    Ok(())
}

fn formed(report: &Report, format: Form) -> String {
    match format {
        Form::Table => table::text(report),
        Form::Json => {
            let text = serde_json::to_string_pretty(report);
            text.expect("a report is always JSON") + "\n"
        }
    }
}

fn read(common: &Common, path: &Path) -> Result<(Config, Input, PathBuf), Error> {
    let config = read::config(path)?;
    let beside = path.parent().unwrap_or(Path::new("."));
    let output = common.output.as_deref().unwrap_or(beside).join(&config.said.output);
    let schemas = common.schemas.as_deref().unwrap_or(beside);
    let input = read::input(&config, schemas, &output)?;
    Ok((config, input, output))
}

fn print(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    let failed = |source| Error::File { verb: "write to", path: "the terminal".into(), source };
    out.write_all(text.as_bytes()).map_err(failed)
}
