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
    ///
    /// What stays is one set of rules: giving any of --newest, --age, --daily, --weekly and --bytes drops those that
    /// are not given. The answer says what holds then, and what no longer does. --skew is apart from them.
    Set(Set),
}

/// What to change. The rules for what stays replace those before as a whole.
#[derive(Debug, Args)]
pub(crate) struct Set {
    /// Keep so many of the newest; of the rules for what stays, those that are not given no longer hold
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
            session.output.item(&policy, |policy| details(policy).to_string())
        }
        Command::Set(command) => {
            let before: ReleasePolicy = session.client.get(&path, &[]).await?;
            let change = Change::new(Method::PATCH).body(&command.change())?;
            let done: Done<ReleasePolicy> = session.client.change(&path, change).await?;
            session.output.item(&done, |done| {
                let gone = no_longer(&before, &done.result);
                details(&done.result).line("No longer", list(&gone)).to_string()
            })
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

/// The rules for what stays, each in words if it holds.
fn rules(retention: &Retention) -> [Option<String>; 4] {
    let Retention { newest, age_s, daily, weekly, .. } = *retention;
    [
        newest.map(|count| format!("the newest {count}")),
        age_s.map(|seconds| format!("those of the last {}", time(seconds))),
        daily.map(|count| format!("the last of {count} days")),
        weekly.map(|count| format!("the last of {count} weeks")),
    ]
}

fn at_most(retention: &Retention) -> Option<String> {
    retention.bytes.map(|bytes| format!("at most {bytes}"))
}

fn clients(policy: &ReleasePolicy) -> Option<String> {
    let skew = policy.skew.as_ref()?;
    let oldest = skew.oldest.as_ref().map(|id| format!(", with none older than {id}"));
    Some(format!("{}{}", time(skew.max_age_s), oldest.unwrap_or_default()))
}

fn time(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    format!("{:#}", SignedDuration::from_secs(seconds))
}

/// What held and no longer does. A rule that says something else now is not among it.
fn no_longer(before: &ReleasePolicy, now: &ReleasePolicy) -> Vec<String> {
    let all = |policy: &ReleasePolicy| {
        let bytes = at_most(&policy.retention).map(|most| format!("{most} bytes"));
        let clients = clients(policy).map(|time| format!("clients stay {time}"));
        rules(&policy.retention).into_iter().chain([bytes, clients])
    };
    let gone = |(before, now): (Option<String>, Option<String>)| before.filter(|_| now.is_none());
    all(before).zip(all(now)).filter_map(gone).collect()
}

fn details(policy: &ReleasePolicy) -> Details {
    let rules: Vec<_> = rules(&policy.retention).into_iter().flatten().collect();
    let rules = if rules.is_empty() { "what the plan allows".to_owned() } else { list(&rules) };
    Details::default()
        .line("Stay", rules)
        .line("Bytes", at_most(&policy.retention).unwrap_or_default())
        .line("Kept", list(&policy.kept))
        .line("Clients stay", clients(policy).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_longer_set_is_said() {
        let policy = |newest, daily, bytes, skew: Option<u64>| ReleasePolicy {
            retention: Retention { newest, daily, bytes, ..Retention::default() },
            skew: skew.map(|max_age_s| Skew { max_age_s, oldest: None }),
            ..ReleasePolicy::default()
        };
        let before = policy(Some(5), Some(7), Some(1_000), Some(60));
        let check = |now: &ReleasePolicy, expected: &[&str]| {
            assert_eq!(no_longer(&before, now), expected);
        };
        check(&before, &[]);
        check(&policy(Some(9), Some(7), Some(1_000), Some(60)), &[]);
        let only = policy(Some(5), None, None, Some(60));
        check(&only, &["the last of 7 days", "at most 1000 bytes"]);
        let none = ["the newest 5", "the last of 7 days", "at most 1000 bytes", "clients stay 1m"];
        check(&ReleasePolicy::default(), &none);
    }
}
