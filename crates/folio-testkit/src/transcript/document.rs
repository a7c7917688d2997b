//! A transcript as its parts. Printing what was parsed gives the same text back.

use std::fmt;

use anyhow::{Context, Result, bail};

const FENCE: &str = "```";
const PROMPT: &str = "$ ";

/// A transcript.
#[derive(Debug)]
pub(super) struct Document {
    /// Flags of the server.
    pub(super) serve: Vec<String>,
    /// The program that is needed, and from which version on.
    pub(super) requires: Option<Requirement>,
    /// What it is made of, in order.
    pub(super) blocks: Vec<Block>,
}

/// A program that a transcript needs, in a version or a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requirement {
    pub(super) program: String,
    pub(super) version: (u32, u32),
}

impl Requirement {
    fn parse(text: &str) -> Option<Self> {
        let (program, version) = text.trim().split_once(" >= ")?;
        Some(Self { program: program.to_owned(), version: version_of(version)? })
    }
}

/// The first two numbers of a version: `1.26`, or what follows a `v`.
pub(super) fn version_of(text: &str) -> Option<(u32, u32)> {
    let text = text.trim_start_matches('v');
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// A part of a transcript.
#[derive(Debug)]
pub(super) enum Block {
    /// Prose, and code that is only shown.
    Text(Vec<String>),
    /// A file to write.
    File { name: String, language: String, lines: Vec<String> },
    /// Commands to run.
    Console(Vec<Step>),
}

/// A command and its output.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) command: String,
    pub(super) output: Vec<String>,
}

impl Document {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut blocks = vec![Block::Text(Vec::new())];
        let mut lines = text.lines();
        let (mut serve, mut requires) = (Vec::new(), None);
        while let Some(line) = lines.next() {
            if let Some(flags) = line.strip_prefix("<!-- serve:") {
                let flags = flags.strip_suffix("-->").context("a comment does not end")?;
                serve = flags.split_whitespace().map(str::to_owned).collect();
            }
            if let Some(needed) = line.strip_prefix("<!-- requires:") {
                let needed = needed.strip_suffix("-->").and_then(Requirement::parse);
                requires = Some(needed.context("what is required is written `kubectl >= 1.26`")?);
            }
            let mark = line.strip_prefix(FENCE);
            let name = mark.and_then(|mark| mark.split_once("file="));
            if mark == Some("console") {
                blocks.push(Block::Console(steps(&inside(&mut lines)?)?));
            } else if let Some((language, name)) = name {
                let (name, language) = (name.to_owned(), language.to_owned());
                blocks.push(Block::File { name, language, lines: inside(&mut lines)? });
            } else {
                let shown = if mark.is_some() { inside(&mut lines)? } else { Vec::new() };
                let end = mark.map(|_| FENCE.to_owned());
                push(&mut blocks, [line.to_owned()].into_iter().chain(shown).chain(end));
            }
        }
        Ok(Self { serve, requires, blocks })
    }
}

fn push(blocks: &mut Vec<Block>, lines: impl Iterator<Item = String>) {
    match blocks.last_mut() {
        Some(Block::Text(text)) => text.extend(lines),
        _ => blocks.push(Block::Text(lines.collect())),
    }
}

fn inside(lines: &mut std::str::Lines<'_>) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for line in lines {
        if line == FENCE {
            return Ok(found);
        }
        found.push(line.to_owned());
    }
    bail!("a block of code does not end")
}

fn steps(lines: &[String]) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    for line in lines {
        match (line.strip_prefix(PROMPT), steps.last_mut()) {
            (_, Some(step)) if step.output.is_empty() && step.command.ends_with('\\') => {
                step.command += "\n";
                step.command += line;
            }
            (Some(command), _) => {
                steps.push(Step { command: command.to_owned(), output: Vec::new() });
            }
            (None, Some(step)) => step.output.push(line.clone()),
            (None, None) => bail!("a console block starts with `{PROMPT}`, not with `{line}`"),
        }
    }
    Ok(steps)
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for block in &self.blocks {
            match block {
                Block::Text(lines) => write_lines(f, lines)?,
                Block::File { name, language, lines } => {
                    writeln!(f, "{FENCE}{language}file={name}")?;
                    write_lines(f, lines)?;
                    writeln!(f, "{FENCE}")?;
                }
                Block::Console(steps) => {
                    writeln!(f, "{FENCE}console")?;
                    for Step { command, output } in steps {
                        writeln!(f, "{PROMPT}{command}")?;
                        write_lines(f, output)?;
                    }
                    writeln!(f, "{FENCE}")?;
                }
            }
        }
        Ok(())
    }
}

fn write_lines(f: &mut fmt::Formatter<'_>, lines: &[String]) -> fmt::Result {
    lines.iter().try_for_each(|line| writeln!(f, "{line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_printed_as_it_was_written() {
        let text = "# A\n<!-- serve: --grace 0s -->\n\n```js file=a.js\n1;\n```\ntext\n```sh\nx\n```\n\
                    ```console\n$ a \\\n  b\nout\n[exit 1]\n$ c\n```\nend\n";
        let document = Document::parse(text).unwrap();
        assert_eq!(document.to_string(), text);
        assert_eq!(document.serve, ["--grace", "0s"]);
        let Some(Block::Console(steps)) = document.blocks.iter().rev().nth(1) else {
            panic!("{document:?}")
        };
        assert_eq!(steps[0].command, "a \\\n  b");
        assert_eq!(steps[0].output, ["out", "[exit 1]"]);
        assert!(steps[1].output.is_empty());
    }

    #[test]
    fn what_is_required_is_a_program_and_a_version() {
        let required = |text: &str| Document::parse(text).map(|document| document.requires);
        let found = required("<!-- requires: kubectl >= 1.26 -->\n").unwrap();
        let expected = Requirement { program: "kubectl".to_owned(), version: (1, 26) };
        assert_eq!(found, Some(expected));
        assert_eq!(required("text\n").unwrap(), None);
        assert!(required("<!-- requires: kubectl -->\n").is_err());
        assert_eq!(version_of("v1.32.4-dispatcher"), Some((1, 32)));
        assert_eq!(version_of("one"), None);
    }

    #[test]
    fn what_does_not_end_is_refused() {
        assert!(Document::parse("```console\n$ a\n").is_err());
        assert!(Document::parse("```console\nout\n```\n").is_err());
    }
}
