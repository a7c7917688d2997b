//! `folio release policy|keep|unkeep`: how an app treats its releases.

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::release::{PolicyChange, PolicyPart, ReleaseView};
use folio_core::view::Done;
use folio_model::{ReleaseId, ReleasePolicy, Retention, Skew};
use jiff::SignedDuration;
use reqwest::Method;

use super::Which;
use crate::client::Change;
use crate::command::Session;
use crate::output::{Details, list};

/// What one can do with how an app treats its releases.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show it
    Show,
    /// Change it; what is then too much expires with the next release or `folio release gc`
    Set(Set),
}

/// What to change. The rules for what stays replace those before as a whole.
#[derive(Debug, Args)]
pub(crate) struct Set {
    /// Keep so many of the newest
    #[arg(long, value_name = "COUNT")]
    newest: Option<u32>,
    /// Keep those that are not older, such as `12h` or `30d`
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    age: Option<u64>,
    /// Keep the last one of each of so many days
    #[arg(long, value_name = "COUNT")]
    daily: Option<u32>,
    /// Keep the last one of each of so many weeks
    #[arg(long, value_name = "COUNT")]
    weekly: Option<u32>,
    /// Keep no more than hold so many bytes together
    #[arg(long, value_name = "BYTES")]
    bytes: Option<u64>,
    /// Keep a client with the release it began with for so long, such as `12h`
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    skew: Option<u64>,
    /// Keep no client with a release that is older than this one
    #[arg(long, value_name = "RELEASE", requires = "skew")]
    skew_oldest: Option<ReleaseId>,
    /// Forget what was said about `retention` or `skew`; repeat it for both
    #[arg(long, value_name = "PART", value_parser = part)]
    unset: Vec<PolicyPart>,
}

fn part(text: &str) -> Result<PolicyPart, &'static str> {
    match text {
        "retention" => Ok(PolicyPart::Retention),
        "skew" => Ok(PolicyPart::Skew),
        _ => Err("write `retention` or `skew`"),
    }
}

/// Reads a time in whole seconds; days have 24 hours.
fn seconds(text: &str) -> Result<u64, &'static str> {
    const WRONG: &str = "write a time such as `12h` or `30d`";
    if let Some(days) = text.strip_suffix('d') {
        let days: u64 = days.parse().map_err(|_| WRONG)?;
        return days.checked_mul(24 * 60 * 60).ok_or(WRONG);
    }
    let time: SignedDuration = text.parse().map_err(|_| WRONG)?;
    u64::try_from(time.as_secs()).map_err(|_| WRONG)
}

/// Runs a command on how an app treats its releases.
pub(super) async fn run(session: &Session, command: Command) -> Result<()> {
    let app = session.app(None);
    let path = ["apps", app.as_str(), "release-policy"];
    match command {
        Command::Show => {
            let policy: ReleasePolicy = session.client.get(&path, &[]).await?;
            session.output.item(&policy, in_words)
        }
        Command::Set(command) => {
            let change = Change::new(Method::PATCH).body(&command.change())?;
            let done: Done<ReleasePolicy> = session.client.change(&path, change).await?;
            session.output.item(&done, |done| in_words(&done.result))
        }
    }
}

impl Set {
    fn change(&self) -> PolicyChange {
        let retention = Retention {
            newest: self.newest,
            age_s: self.age,
            daily: self.daily,
            weekly: self.weekly,
            bytes: self.bytes,
        };
        let skew = self.skew.map(|max_age_s| Skew { max_age_s, oldest: self.skew_oldest.clone() });
        PolicyChange {
            retention: Some(retention).filter(|retention| *retention != Retention::default()),
            skew,
            unset: self.unset.iter().copied().collect(),
        }
    }
}

/// Keeps a release from expiring, or lets it.
pub(super) async fn keep(session: &Session, which: Which, method: Method) -> Result<()> {
    let (app, release) = (session.app(None), which.release.to_string());
    let path = ["apps", app.as_str(), "releases", &release, "kept"];
    let kept = method == Method::PUT;
    let done: Done<ReleaseView> = session.client.change(&path, Change::new(method)).await?;
    session.output.item(&done, |done| {
        let id = &done.result.label.id;
        match kept {
            true => format!("release {id} never expires"),
            false => format!("release {id} may expire"),
        }
    })
}

fn in_words(policy: &ReleasePolicy) -> String {
    let Retention { newest, age_s, daily, weekly, bytes } = policy.retention;
    let time = |seconds: u64| {
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        format!("{:#}", SignedDuration::from_secs(seconds))
    };
    let rules = [
        newest.map(|count| format!("the newest {count}")),
        age_s.map(|seconds| format!("those of the last {}", time(seconds))),
        daily.map(|count| format!("the last of {count} days")),
        weekly.map(|count| format!("the last of {count} weeks")),
    ];
    let rules: Vec<_> = rules.into_iter().flatten().collect();
    let rules = if rules.is_empty() { "what the plan allows".to_owned() } else { list(&rules) };
    let skew = policy.skew.as_ref().map(|skew| {
        let oldest = skew.oldest.as_ref().map(|id| format!(", with none older than {id}"));
        format!("{}{}", time(skew.max_age_s), oldest.unwrap_or_default())
    });
    let details = Details::default()
        .line("Stay", rules)
        .line("Bytes", bytes.map(|bytes| format!("at most {bytes}")).unwrap_or_default())
        .line("Kept", list(&policy.kept))
        .line("Clients stay", skew.unwrap_or_default());
    details.to_string()
}
