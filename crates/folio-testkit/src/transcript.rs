//! Runs transcripts: Markdown that tells a story and shows commands with their output, which must be what a
//! real server and a real command say. See [`run`] for how one is written.

mod document;
mod lines;
mod session;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use self::document::{Block, Document, Step};
pub use self::session::{Session, Time, clients};

/// Runs one transcript against a fresh server of the given program.
///
/// In a block marked `console`, a line `$ command` is run by bash in an empty directory (a line that ends in
/// `\` goes on); what follows is its output, standard output and error together, then `[exit N]` if it failed.
/// `[..]` matches anything within a line, a line `...` any lines. A block with `file=NAME` in its mark is
/// written to that file. `<!-- serve: FLAGS -->` gives the server flags; with `<!-- requires: kubectl >= 1.26 -->`
/// nothing is run where kubectl is older, and standard error says so. `[DIR]` and `[URL]` stand for where
/// it all happens. With `FOLIO_BLESS=1`, outputs that do not match are written into the transcript.
pub fn run(program: &Path, transcript: &Path) -> Result<()> {
    run_with(program, transcript, &[])
}

/// As [`run`], with programs that commands find under these names before any other.
pub fn run_with(program: &Path, transcript: &Path, tools: &[(&str, &Path)]) -> Result<()> {
    let text = std::fs::read_to_string(transcript)?;
    let mut document = Document::parse(&text).context("cannot read the transcript")?;
    let session = Session::start(program, &document.serve)?;
    for (name, tool) in tools {
        session.add_tool(name, tool)?;
    }
    if let Some(needed) = &document.requires {
        let found = session.version(&needed.program)?;
        if found < needed.version {
            return skipped(transcript, (&needed.program, needed.version), found);
        }
    }
    let mut failures = Vec::new();
    for block in &mut document.blocks {
        match block {
            Block::Text(_) => {}
            Block::File { name, lines, .. } => session.write(name, &lines.join("\n"))?,
            Block::Console(steps) => {
                for step in steps {
                    failures.extend(perform(&session, step)?);
                }
            }
        }
    }
    match failures.is_empty() {
        true => Ok(()),
        false if is_set("FOLIO_BLESS") => {
            ensure!(!is_set("CI"), "cannot bless where committed files are what counts");
            Ok(std::fs::write(transcript, document.to_string())?)
        }
        false => bail!("{}", failures.join("\n")),
    }
}

/// Says that a transcript was not run. Not by `eprintln!`: what a test says in that way nobody sees if it passes.
fn skipped(
    transcript: &Path,
    (program, needed): (&str, (u32, u32)),
    found: (u32, u32),
) -> Result<()> {
    use std::io::Write as _;

    let name = transcript.file_name().unwrap_or_default().to_string_lossy();
    let ((major, minor), (is_major, is_minor)) = (needed, found);
    writeln!(
        std::io::stderr(),
        "skipped {name}: it needs {program} {major}.{minor}, and this is {is_major}.{is_minor}"
    )?;
    Ok(())
}

/// Runs a step; if its output is not as expected, says so and takes the output over.
fn perform(session: &Session, step: &mut Step) -> Result<Option<String>> {
    let found = session.run(&step.command)?;
    if lines::matches(&step.output, &found) {
        return Ok(None);
    }
    let failure = format!(
        "$ {}\n--- expected\n{}\n--- found\n{}\n",
        step.command,
        step.output.join("\n"),
        found.join("\n"),
    );
    step.output = lines::bless(&step.output, found);
    Ok(Some(failure))
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1" || value == "true")
}
