//! `folio static`: files that are served as they are.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::Limits;
use folio_core::request::ContentRef;
use folio_core::static_item::{StaticFields, StaticView};
use folio_core::view::{Done, Removed};
use folio_model::Name;
use reqwest::Method;
use serde::Deserialize;
use tokio::task::spawn_blocking;

use super::{Session, settings, unit};
use crate::client::{Change, Items};
use crate::content::{self, DotFiles, Except, Given, Most, Trust};
use crate::output::{Details, Format, Table};
use crate::problem::Problem;
use crate::spec::static_name;
use crate::upload;

/// What one can do with static files.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a directory or a file, in place of what is at its path
    Deploy(Deploy),
    /// List static items
    List,
    /// Show a static item
    Show(Which),
    /// Delete a static item; releases that hold it keep it
    Delete(Which),
}

/// What to serve.
#[derive(Debug, Args)]
pub(crate) struct Deploy {
    /// A directory, whose contents are served, or a file
    #[arg(value_name = "SRC")]
    src: PathBuf,
    /// Serve it at this path
    #[arg(long, value_name = "PATH", default_value = "/")]
    path: String,
    /// Call the item so [default: made of its path]
    #[arg(long, value_name = "NAME")]
    name: Option<Name>,
    /// Serve this file for a directory [default: `index.html`]
    #[arg(long, value_name = "FILE")]
    index: Option<String>,
    /// Answer with this file where a path leads nowhere, as single-page apps need it
    #[arg(long, value_name = "FILE")]
    fallback: Option<String>,
    /// Show this file, with status 404, for what is not found
    #[arg(long, value_name = "FILE")]
    error_page: Option<String>,
    /// Set a header of every answer; repeat it for more
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// Let browsers keep files for a time, such as `1h`, without asking again
    #[arg(long, value_name = "TIME", value_parser = settings::time)]
    expires: Option<std::time::Duration>,
    /// Leave out what matches this pattern, relative to the directory that SRC is in; repeat it for more
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Serve files and directories whose names begin with a dot, too; else only `.well-known` of them is
    #[arg(long)]
    dotfiles: bool,
    /// Read every file again, even if it has not changed since it was last deployed, and have the server read back
    /// what it has of them: what is damaged there is sent again
    #[arg(long)]
    no_cache: bool,
}

/// Which item.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The item
    #[arg(value_name = "NAME")]
    name: Name,
}

#[derive(Deserialize)]
struct Server {
    limits: Limits,
}

/// Runs one command.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    let app = session.app(None);
    let items = ["apps", app.as_str(), "statics"];
    match command {
        Command::Deploy(what) => deploy(session, &items, what).await,
        Command::List => {
            let found: Items<StaticView> = session.client.get(&items, &[]).await?;
            session.output.items(&found.items, table)
        }
        Command::Show(Which { name }) => {
            let path = [&items[..], &[name.as_str()]].concat();
            let view: StaticView = session.client.get(&path, &[]).await?;
            session.output.item(&view, details)
        }
        Command::Delete(Which { name }) => {
            let path = [&items[..], &[name.as_str()]].concat();
            let change = Change::new(Method::DELETE);
            let done: Done<Removed> = session.client.change(&path, change).await?;
            session.output.item(&done, |done| unit::removed(&done.result))
        }
    }
}

async fn deploy(session: &Session, items: &[&str], what: Deploy) -> Result<()> {
    let name = match &what.name {
        Some(name) => name.clone(),
        None => static_name(&what.path).map_err(anyhow::Error::msg)?,
    };
    let content = put(session, &what).await?;
    let fields = StaticFields {
        path: what.path,
        content,
        index: what.index,
        fallback: what.fallback,
        error_page: what.error_page,
        headers: what.header.into_iter().collect::<BTreeMap<_, _>>(),
        expires: what.expires.map(|time| time.as_secs()),
    };
    let path = [items, &[name.as_str()]].concat();
    let change = Change::new(Method::PUT).body(&fields)?;
    let done: Done<StaticView> = session.client.change(&path, change).await?;
    session.output.item(&done, |done| {
        let StaticView { name, version, spec, files, .. } = &done.result;
        let (number, path) = (version.number, &spec.path);
        let several = if *files == 1 { "" } else { "s" };
        match done.changed {
            true => format!("static {name} version {number}: {files} file{several} at {path}"),
            false => format!("static {name} is as it was, version {number}"),
        }
    })
}

/// Puts the files on the server, as far as it lacks them.
async fn put(session: &Session, what: &Deploy) -> Result<ContentRef> {
    let Server { limits } = session.client.get(&[], &[]).await?;
    // A file is served as it is, also if it is an archive.
    let src = what.src.clone();
    // One that is named itself is meant.
    let is_file = src.is_file();
    let dot_files = if is_file || what.dotfiles { DotFiles::Included } else { DotFiles::LeftOut };
    let except = Except::beside(&src, &what.exclude, dot_files)?;
    let given = match is_file {
        true if except.has(&src) => {
            return Err(Problem::new(format!("nothing is left of `{}`", src.display())).into());
        }
        true => Given::Code(src),
        false => Given::Except(src, Arc::new(except)),
    };
    let caches = session.cache.clone().filter(|_| !what.no_cache);
    let (asked, memories) = (given.clone(), caches.clone());
    let most = Most::of(limits.content_files_max);
    let find = move || content::find(&asked, memories.as_deref(), &most);
    let found = spawn_blocking(find).await??;
    let given = (given, caches, Trust::unless(what.no_cache));
    upload::upload(&session.client, given, found, &limits).await
}

fn table(items: &[StaticView], _: Format) -> Table {
    let mut table = Table::new(["NAME", "PATH", "VERSION", "FILES", "BYTES", "FALLBACK"]);
    for item in items {
        table.row([
            item.name.to_string(),
            item.spec.path.clone(),
            item.version.number.to_string(),
            item.files.to_string(),
            item.bytes.to_string(),
            item.spec.fallback.clone().unwrap_or_default(),
        ]);
    }
    table
}

fn details(view: &StaticView) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let headers = view.spec.headers.iter().map(|(name, value)| format!("{name}: {value}"));
    let expires = view.spec.expires.map(|seconds| format!("{seconds} s")).unwrap_or_default();
    let details = Details::default()
        .line("Static", &view.name)
        .line("Path", &view.spec.path)
        .line("Version", view.version.number)
        .line("Files", view.files)
        .line("Bytes", view.bytes)
        .line("Tree", view.spec.content.tree)
        .line("Index", view.spec.index())
        .line("Fallback", text(&view.spec.fallback))
        .line("Error page", text(&view.spec.error_page))
        .line("Headers", headers.collect::<Vec<_>>().join(", "))
        .line("Expires", expires);
    details.to_string()
}

fn header(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once(':').ok_or("write it as NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
