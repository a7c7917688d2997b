//! `folio function tag`: groups of function versions across the app.

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::moves::TagMove;
use folio_core::view::{Done, TagView};
use folio_model::{Name, Reference, VersionId};
use reqwest::Method;
use serde_json::json;

use super::Session;
use crate::client::{Change, Items};
use crate::output::{Format, Table, list as join, moment};
use crate::problem::Problem;

/// What one can do with tags.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add function versions to a tag, making it if it is not there
    Add(Add),
    /// Take a function out of a tag
    Remove(Remove),
    /// Show what a tag holds
    Show(Which),
    /// List tags
    List,
    /// Delete a tag; the versions stay
    Delete(Delete),
    /// List what a tag held, newest first, with who changed it and why
    History(Which),
}

/// What to add.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The tag
    #[arg(long, value_name = "TAG")]
    tag: VersionId,
    /// Function versions, such as `hello@v1.0.0`; without a version, the latest
    #[arg(value_name = "FUNCTION", required_unless_present = "name")]
    functions: Vec<Reference>,
    /// One of them, as a flag
    #[arg(long, value_name = "FUNCTION")]
    name: Option<Reference>,
    /// Refuse unless the tag is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// What to take out.
#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// The tag
    #[arg(long, value_name = "TAG")]
    tag: VersionId,
    /// The function
    #[arg(value_name = "FUNCTION", required_unless_present = "name")]
    function: Option<Name>,
    /// The same, as a flag
    #[arg(long, value_name = "FUNCTION", conflicts_with = "function")]
    name: Option<Name>,
    /// Refuse unless the tag is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// Which tag to delete.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    which: Which,
    /// Refuse unless the tag is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// Which tag.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The tag
    #[arg(value_name = "TAG", conflicts_with = "tag")]
    positional: Option<VersionId>,
    /// The same, as a flag
    #[arg(long, value_name = "TAG")]
    tag: Option<VersionId>,
}

impl Which {
    fn tag(self) -> Result<VersionId> {
        let tag = self.positional.or(self.tag);
        tag.ok_or_else(|| Problem::usage("which tag?").hint("give --tag TAG").into())
    }
}

/// Runs a command on tags.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    let app = session.app(None);
    let tags = ["apps", app.as_str(), "tags"];
    let client = &session.client;
    match command {
        Command::Add(Add { tag, functions, name, expect }) => {
            let functions: Vec<_> = functions.into_iter().chain(name).collect();
            let path = [&tags[..], &[tag.as_str(), "members"]].concat();
            let body = json!({ "functions": functions });
            let change = Change::new(Method::POST).body(&body)?.expect(expect);
            held(session, client.change(&path, change).await?)
        }
        Command::Remove(Remove { tag, function, name, expect }) => {
            let function = function.or(name).map(String::from).unwrap_or_default();
            let path = [&tags[..], &[tag.as_str(), "members", &function]].concat();
            let change = Change::new(Method::DELETE).expect(expect);
            held(session, client.change(&path, change).await?)
        }
        Command::Show(which) => {
            let tag = which.tag()?;
            let view: TagView = client.get(&[&tags[..], &[tag.as_str()]].concat(), &[]).await?;
            session.output.item(&view, |view| members(view).to_string())
        }
        Command::List => {
            let found: Items<TagView> = client.get(&tags, &[]).await?;
            session.output.items(&found.items, table)
        }
        Command::Delete(Delete { which, expect }) => {
            let tag = which.tag()?;
            let path = [&tags[..], &[tag.as_str()]].concat();
            let change = Change::new(Method::DELETE).expect(expect);
            let done: Done<TagView> = client.change(&path, change).await?;
            session.output.item(&done, |done| format!("tag {} deleted", done.result.name))
        }
        Command::History(which) => {
            let tag = which.tag()?;
            history(session, &[&tags[..], &[tag.as_str(), "history"]].concat()).await
        }
    }
}

/// Lists the moves of a tag, on function versions or on a release.
pub(crate) async fn history(session: &Session, path: &[&str]) -> Result<()> {
    let found: Items<TagMove> = session.client.get(path, &[]).await?;
    session.output.items(&found.items, moves)
}

fn held(session: &Session, done: Done<TagView>) -> Result<()> {
    session.output.item(&done, |done| {
        let TagView { name, members, .. } = &done.result;
        let held = join(members.iter().map(|member| format!("{}@{}", member.function, member.id)));
        format!("tag {name} holds {}", if held.is_empty() { "nothing" } else { &held })
    })
}

fn members(view: &TagView) -> Table {
    let mut table = Table::new(["FUNCTION", "VERSION", "NUMBER"]);
    for member in &view.members {
        table.row([member.function.to_string(), member.id.to_string(), member.number.to_string()]);
    }
    table
}

fn moves(moves: &[TagMove], _: Format) -> Table {
    let mut table = Table::new(["ENTRY", "TIME", "BY", "FROM", "TO", "REASON"]);
    let words = |on: &[String]| if on.is_empty() { "-".to_owned() } else { join(on) };
    for step in moves {
        table.row([
            step.entry.to_string(),
            moment(step.at),
            step.by.to_string(),
            words(&step.from),
            words(&step.to),
            step.reason.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table
}

fn table(tags: &[TagView], _: Format) -> Table {
    let mut table = Table::new(["TAG", "FUNCTIONS", "REVISION"]);
    for tag in tags {
        let held = tag.members.iter().map(|member| format!("{}@{}", member.function, member.id));
        table.row([tag.name.to_string(), join(held), tag.revision.to_string()]);
    }
    table
}
