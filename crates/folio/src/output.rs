//! Everything that is printed. Standard output is data, standard error is talk; nothing else writes to either.
//! A reader that went away is no failure: `folio log | head` ends quietly.

mod progress;
mod table;

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;

pub(crate) use self::progress::{Progress, while_reading};
pub(crate) use self::table::{Details, Table, list, moment, one_line};
use crate::problem::Problem;

/// How to print what a command found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// Columns for people
    #[default]
    Table,
    /// More columns, where there is more to say
    Wide,
    /// JSON, a list as an array
    Json,
    /// YAML
    Yaml,
}

/// What `--output` means: a form, or a file in commands that write one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Output {
    /// How results are printed.
    Form(Format),
    /// Where bytes are written.
    File(PathBuf),
}

/// A file that a command writes, where its `--output` means that.
#[expect(clippy::unnecessary_wraps, reason = "clap wants a parser that may refuse")]
pub(crate) fn file(text: &str) -> Result<Output, std::convert::Infallible> {
    Ok(Output::File(text.into()))
}

/// Who reads what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Somebody at a terminal.
    Person,
    /// A file or another program.
    Program,
}

impl Reader {
    /// Who reads standard output.
    pub(crate) fn of_output() -> Self {
        Self::of(&io::stdout())
    }

    fn of(stream: &impl IsTerminal) -> Self {
        if stream.is_terminal() { Self::Person } else { Self::Program }
    }
}

impl Format {
    /// Whether it is for people.
    pub(crate) fn is_in_words(self) -> bool {
        matches!(self, Self::Table | Self::Wide)
    }

    /// Prints a list: as it is for programs, as a table for people.
    pub(crate) fn items<T: Serialize>(
        self,
        items: &[T],
        table: impl FnOnce(&[T], Self) -> Table,
    ) -> Result<()> {
        match self {
            Self::Table | Self::Wide if items.is_empty() => {
                talk("nothing found");
                Ok(())
            }
            Self::Table | Self::Wide => print(&table(items, self).to_string()),
            Self::Json | Self::Yaml => self.value(&items),
        }
    }

    /// Prints one thing: as it is for programs, in words for people.
    pub(crate) fn item<T: Serialize>(
        self,
        item: &T,
        words: impl FnOnce(&T) -> String,
    ) -> Result<()> {
        match self {
            Self::Table | Self::Wide => print(&words(item)),
            Self::Json | Self::Yaml => self.value(item),
        }
    }

    fn value<T: Serialize>(self, value: &T) -> Result<()> {
        match self {
            Self::Yaml => print(&serde_saphyr::to_string(value)?),
            _ => print(&serde_json::to_string_pretty(value)?),
        }
    }
}

/// Prints data and ends the line if it has no end.
pub(crate) fn print(text: &str) -> Result<()> {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    write(&mut io::stdout().lock(), format_args!("{text}{end}"))
}

/// Prints bytes as they are.
pub(crate) fn bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    quiet(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Says something that is not data.
pub(crate) fn talk(text: &str) {
    // Whether anybody listens on standard error decides nothing.
    write(&mut io::stderr().lock(), format_args!("{text}\n")).unwrap_or_default();
}

/// Says bytes that are not data.
pub(crate) fn talk_bytes(bytes: &[u8]) {
    io::stderr().lock().write_all(bytes).unwrap_or_default();
}

/// Prints what clap made of a command line that asks for help or makes no sense.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    error.print().unwrap_or_default();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Prints a failure: what, why, what to do, and who stands in the way.
pub(crate) fn failure(error: &anyhow::Error) -> ExitCode {
    talk(&format!("error: {error}"));
    for cause in error.chain().skip(1) {
        talk(&format!("cause: {cause}"));
    }
    let Some(problem) = error.downcast_ref::<Problem>() else { return ExitCode::FAILURE };
    for cause in &problem.causes {
        talk(&format!("{}: {}", cause.at, cause.what));
    }
    for referrer in &problem.referrers {
        talk(&format!("in the way: {} {}", referrer.kind, referrer.name));
    }
    if let Some(hint) = &problem.hint {
        talk(&format!("hint: {hint}"));
    }
    ExitCode::from(problem.exit)
}

fn write(to: &mut dyn Write, text: std::fmt::Arguments<'_>) -> Result<()> {
    quiet(to.write_fmt(text).and_then(|()| to.flush()))
}

fn quiet(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_terminal_is_read_by_a_program() {
        assert_eq!(Reader::of(&std::fs::File::open("/dev/null").unwrap()), Reader::Program);
    }
}
