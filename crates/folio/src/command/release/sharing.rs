//! `folio release split|live`: releases that share what is live.

use std::str::FromStr;

use anyhow::Result;
use clap::Args;
use folio_core::release::{LiveView, ReleaseRef};
use folio_core::view::Done;
use folio_model::{FULL_WEIGHT, LiveMode, LiveShare, Sticky, percent};
use reqwest::Method;
use serde_json::json;

use crate::client::Change;
use crate::command::{Session, alias};
use crate::output::{Details, list, moment};

/// The cookie that a client is given where none is named.
const COOKIE: &str = "folio-split";

/// How to share what is live.
#[derive(Debug, Args)]
pub(crate) struct Split {
    /// Releases with their shares of 10000 or percent, such as `r1=90% r2=10%`
    #[arg(value_name = "RELEASE=SHARE", required = true)]
    shares: Vec<Share>,
    /// Keep each client with its release: `client` for its address, `cookie[:NAME]` or `header:NAME`
    #[arg(long, value_name = "WHAT", value_parser = sticky)]
    sticky: Option<Sticky>,
}

/// One of the releases.
#[derive(Debug, Clone)]
struct Share {
    release: ReleaseRef,
    weight: u32,
}

impl FromStr for Share {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> Result<Self> {
        let (release, share) = text
            .split_once('=')
            .ok_or_else(|| anyhow::anyhow!("write RELEASE=SHARE, such as `latest=10%`"))?;
        let weight = alias::weight(share).ok_or_else(|| {
            anyhow::anyhow!("`{share}` is neither a share of 10000 nor a percentage")
        })?;
        Ok(Self { release: release.parse()?, weight })
    }
}

/// Reads what tells one client from another.
pub(super) fn sticky(text: &str) -> Result<Sticky, &'static str> {
    match text.split_once(':').unwrap_or((text, "")) {
        ("client" | "address", "") => Ok(Sticky::Address),
        ("cookie", "") => Ok(Sticky::Cookie(COOKIE.to_owned())),
        ("cookie", name) => Ok(Sticky::Cookie(name.to_owned())),
        ("header", name) if !name.is_empty() => Ok(Sticky::Header(name.to_owned())),
        _ => Err("write `client`, `cookie`, `cookie:NAME` or `header:NAME`"),
    }
}

/// Shares what is live.
pub(super) async fn split(session: &Session, command: Split) -> Result<()> {
    let app = session.app(None);
    let shares = command.shares.iter().map(|share| {
        let release = share.release.to_string();
        json!({ "release": release, "weight": share.weight })
    });
    let body = json!({ "shares": shares.collect::<Vec<_>>(), "sticky": command.sticky });
    let change = Change::new(Method::PUT).body(&body)?;
    let path = ["apps", app.as_str(), "live", "split"];
    let done: Done<LiveView> = session.client.change(&path, change).await?;
    session.output.item(&done, |done| format!("live: {}", in_words(&done.result.shares)))
}

/// Shows what is live.
pub(super) async fn live(session: &Session) -> Result<()> {
    let app = session.app(None);
    let view: LiveView = session.client.get(&["apps", app.as_str(), "live"], &[]).await?;
    session.output.item(&view, |view| {
        let mode = match view.mode {
            LiveMode::Following => "follows the newest release",
            LiveMode::Pinned => "stays as it is",
        };
        let sticky = view.sticky.as_ref().map(|sticky| match sticky {
            Sticky::Header(name) => format!("header {name}"),
            Sticky::Cookie(name) => format!("cookie {name}"),
            Sticky::Address => "client".to_owned(),
        });
        let details = Details::default()
            .line("Live", in_words(&view.shares))
            .line("Sticky", sticky.unwrap_or_default())
            .line("Mode", mode)
            .line("Since", moment(view.since))
            .line("Reason", view.reason.clone().unwrap_or_default());
        details.to_string()
    })
}

/// Releases with their shares: `r1 90 %, r2 10 %`.
pub(super) fn in_words(shares: &[LiveShare]) -> String {
    list(shares.iter().map(|share| match share.weight {
        FULL_WEIGHT => share.release.to_string(),
        weight => format!("{} {}", share.release, percent(weight)),
    }))
}
