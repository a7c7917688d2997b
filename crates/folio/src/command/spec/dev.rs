//! `folio dev`: deploys again with every save, under a tag that nobody else sees. The release stands aside: what is live and
//! what is latest stay as they are, and it goes when the command ends.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use folio_core::Hosts;
use folio_core::apply::{Form, Rest};
use folio_core::release::ReleaseView;
use folio_core::view::Done;
use folio_model::{AppName, ReleaseId};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::{Applier, Applying, USUAL_DIRECTORY, app_file, watch};
use crate::client::{self, Change};
use crate::command::Session;
use crate::output;

/// How long nothing may change before what changed is deployed.
const PAUSE: Duration = Duration::from_millis(150);

/// What begins a tag that was not named.
const TAG: &str = "dev";

/// The longest label of a host.
const LABEL_BYTES_MAX: usize = 63;

/// What to work on.
#[derive(Debug, Args)]
pub(crate) struct Dev {
    /// The directory of the app, or of its manifests
    #[arg(value_name = "DIR", default_value = USUAL_DIRECTORY, hide_default_value = true)]
    directory: PathBuf,
    /// Show it under this tag [default: `dev-` and who you are to the server]
    #[arg(long, value_name = "TAG")]
    tag: Option<ReleaseId>,
    /// Take over units that belong to others
    #[arg(long)]
    allowconflicts: bool,
    /// Read every file again each time, even if it has not changed, and have the server read back what it has of them
    #[arg(long)]
    no_cache: bool,
}

#[derive(Deserialize)]
struct Server {
    hosts: Hosts,
}

#[derive(Deserialize)]
struct Myself {
    actor: String,
}

/// Deploys now and after every change, until it is told to stop; then takes the release away.
pub(crate) async fn run(mut session: Session, dev: Dev) -> Result<()> {
    let app = session.app(None);
    let tag = match dev.tag {
        Some(tag) => tag,
        None => own_tag(&session, &app).await?,
    };
    session.client.release_aside(&tag);
    let Server { hosts } = session.client.get(&[], &[]).await?;
    let url = hosts.of_release(&app, tag.as_str());
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let directory = app_file(dev.directory);
    let (form, rest) = (Form::Versions, Rest::Delete);
    let Dev { allowconflicts, no_cache, .. } = dev;
    let applying = Applying { wait: true, allowconflicts, no_cache, ..Applying::default() };
    let applier = Applier { session: &session, directory, form, rest, applying };
    let work = watch::run(&applier.directory, PAUSE, || async {
        // What is just being edited may make no sense for a moment.
        match deploy(&applier, &app).await {
            Ok(release) => output::talk(&format!("release {release} at {url}")),
            Err(error) => {
                output::failure(&error);
            }
        }
    });
    let ended = tokio::select! {
        ended = work => ended,
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    };
    leave(&session, &app, &tag).await?;
    ended
}

/// Deploys, and makes sure that what is deployed can be seen: also if nothing changed, or a build came between.
async fn deploy(applier: &Applier<'_>, app: &AppName) -> Result<ReleaseId> {
    applier.apply().await?;
    let body = json!({ "appVersion": "latest" });
    let change = Change::new(Method::POST).body(&body)?;
    let path = ["apps", app.as_str(), "releases"];
    let done: Done<ReleaseView> = applier.session.client.change(&path, change).await?;
    Ok(done.result.label.id)
}

/// Takes the release away, with its tag.
async fn leave(session: &Session, app: &AppName, tag: &ReleaseId) -> Result<()> {
    let change = Change::new(Method::DELETE).query("untag", true);
    let path = ["apps", app.as_str(), "releases", tag.as_str()];
    match session.client.change::<Done<ReleaseView>>(&path, change).await {
        Ok(_) => {
            output::talk(&format!("{tag} is gone"));
            output::talk("hint: `folio deploy` releases what was deployed");
            Ok(())
        }
        Err(error) if client::is_unreleased(&error) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("{tag} is still there")),
    }
}

/// A tag of one's own, short enough that one label holds it together with the app.
async fn own_tag(session: &Session, app: &AppName) -> Result<ReleaseId> {
    let Myself { actor } = session.client.get(&["self"], &[]).await?;
    let words = actor.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<_> = [TAG].into_iter().chain(words).map(str::to_ascii_lowercase).collect();
    let room = LABEL_BYTES_MAX - "--".len() - app.as_str().len().min(LABEL_BYTES_MAX - 2);
    let tag: String = words.join("-").chars().take(room.max(TAG.len())).collect();
    tag.trim_end_matches('-').parse().context("no tag can be made of who you are; give --tag TAG")
}
