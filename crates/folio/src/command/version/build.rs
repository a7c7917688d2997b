//! How the build of a version or a draft goes: what it prints, and how it ends.

use std::time::Duration;

use anyhow::Result;
use folio_core::view::VersionView;
use folio_model::{Build, Kind, Qualifier};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Session, UnitAt, show, version, words};
use crate::client::Client;
use crate::output::{self, Format, Progress, Reader};
use crate::problem::Problem;

/// How often the build of a draft is asked for.
pub(super) const PAUSE: Duration = Duration::from_millis(250);

/// What is built.
pub(super) struct Building {
    /// Where the server tells of it.
    path: Vec<String>,
    /// What people call it.
    name: String,
    kind: Kind,
}

/// How far a build is, and what it printed since the last question.
#[derive(Debug, Deserialize)]
pub(super) struct Part {
    build: Build,
    pub(super) text: String,
    pub(super) next: u64,
}

/// Whether an answer may wait until there is something to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    AtOnce,
    WithNews,
}

/// Who wants the log of a build that is not over to be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// Whoever typed the command.
    Asked,
    /// Whoever reads at a terminal.
    Reader,
}

impl From<&VersionView> for Building {
    fn from(view: &VersionView) -> Self {
        let unit = UnitAt { app: view.app.clone(), name: view.name.clone() };
        let name = format!("{}@{}", view.name, view.id);
        Self::new(&unit, view.kind, (&Qualifier::Number(view.number), name))
    }
}

impl Building {
    /// The draft of a unit.
    pub(super) fn draft(unit: &UnitAt, kind: Kind) -> Self {
        Self::new(unit, kind, (&Qualifier::Draft, format!("the draft of {}", unit.name)))
    }

    fn new(unit: &UnitAt, kind: Kind, (at, name): (&Qualifier, String)) -> Self {
        let mut path = version(unit, kind, at);
        path.push("build".to_owned());
        Self { path, name, kind }
    }

    /// Shows that it is waited for.
    pub(super) fn waiting(&self) -> Progress {
        Progress::waiting(&format!("building {}", self.name))
    }

    /// Asks what it printed after a place.
    pub(super) async fn ask(&self, client: &Client, after: u64, answer: Answer) -> Result<Part> {
        let wait = answer == Answer::WithNews;
        let query = [("after", after.to_string()), ("wait", wait.to_string())];
        client.get(&words(&self.path), &query).await
    }

    /// Hands over each line that it prints, and how it ends.
    async fn until_end(
        &self,
        client: &Client,
        mut hear: impl FnMut(String) -> Result<()>,
    ) -> Result<Build> {
        let mut after = 0;
        loop {
            let part = self.ask(client, after, Answer::WithNews).await?;
            after = part.next;
            part.text.lines().map(output::one_line).try_for_each(&mut hear)?;
            if part.build.is_settled() {
                return Ok(part.build);
            }
        }
    }

    /// Shows what it prints until it has ended: on a terminal the last line, and all of it if it fails. A failed build is
    /// a failure.
    pub(super) async fn follow(&self, client: &Client) -> Result<()> {
        let progress = self.waiting();
        let mut unseen = Vec::new();
        let ended = self.until_end(client, |line| {
            if progress.is_shown() {
                progress.say(&line);
                unseen.push(line);
            } else {
                output::talk(&line);
            }
            Ok(())
        });
        let ended = ended.await?;
        drop(progress);
        let Self { name, kind, .. } = self;
        match ended {
            Build::Failed => {
                unseen.iter().for_each(|line| output::talk(line));
                let problem = Problem::new(format!("the build of {name} failed"));
                let hint = "shows its log; mend it and publish again";
                Err(problem.hint(format!("`folio {kind} version show {name}` {hint}")).into())
            }
            Build::Succeeded => {
                output::talk(&format!("build of {name} succeeded"));
                Ok(())
            }
            Build::None | Build::Pending | Build::Running => Ok(()),
        }
    }

    /// Shows something that is or was built with its log, which is followed to its end if somebody wants that.
    pub(super) async fn show<T: Serialize + DeserializeOwned>(
        &self,
        session: &Session,
        path: &[&str],
        (found, build, words): (T, Build, impl Fn(&T) -> String),
        follow: Follow,
    ) -> Result<()> {
        let (client, form) = (&session.client, session.output);
        if !is_followed(build, follow, (form, Reader::of_output())) {
            let mut log = String::new();
            if build != Build::None && form.is_in_words() {
                log = self.ask(client, 0, Answer::AtOnce).await?.text;
            }
            return form.item(&found, |found| format!("{}{}", words(found), show::log(&log)));
        }
        if !form.is_in_words() {
            let talk = |line: String| {
                output::talk(&line);
                Ok(())
            };
            self.until_end(client, talk).await?;
            return form.item(&client.get::<T>(path, &[]).await?, words);
        }
        output::print(&format!("{}Log:", words(&found)))?;
        let ended = self.until_end(client, |line| output::print(&format!("  {line}"))).await?;
        output::talk(&format!("build of {} {}", self.name, show::build(ended)));
        Ok(())
    }
}

/// Whether the log of a build is followed. JSON and YAML hold no log, so only who asks for it waits for them.
fn is_followed(build: Build, follow: Follow, (form, reader): (Format, Reader)) -> bool {
    let is_wanted = match follow {
        Follow::Asked => true,
        Follow::Reader => reader == Reader::Person && form.is_in_words(),
    };
    is_wanted && !build.is_settled()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::tests::{Turn, against};

    fn check(build: Build, follow: Follow, to: (Format, Reader), expected: bool) {
        assert_eq!(is_followed(build, follow, to), expected, "{build:?} {follow:?} {to:?}");
    }

    #[test]
    fn a_build_that_goes_on_is_followed_on_a_terminal_and_where_it_is_asked_for() {
        use {Follow::Asked, Reader::Person, Reader::Program};
        for build in [Build::Pending, Build::Running] {
            check(build, Follow::Reader, (Format::Table, Person), true);
            check(build, Follow::Reader, (Format::Wide, Person), true);
            check(build, Follow::Reader, (Format::Json, Person), false);
            check(build, Follow::Reader, (Format::Table, Program), false);
            check(build, Asked, (Format::Table, Program), true);
            check(build, Asked, (Format::Yaml, Program), true);
        }
        for build in [Build::None, Build::Succeeded, Build::Failed] {
            check(build, Asked, (Format::Table, Person), false);
        }
    }

    #[tokio::test]
    async fn every_line_of_a_build_is_heard_once_until_it_ends() {
        let part = |build: &str, text: &str, next: u64| {
            Turn::Say(json!({ "build": build, "text": text, "next": next }))
        };
        let turns = vec![
            part("pending", "", 0),
            part("running", "one\ntwo\n", 8),
            part("running", "", 8),
            part("failed", "thr\u{7}ee\n", 15),
        ];
        let unit = UnitAt { app: "default".parse().unwrap(), name: "greetings".parse().unwrap() };
        let building = Building::draft(&unit, Kind::Package);
        let mut heard = Vec::new();
        let (ended, seen) = against(turns, async |client| {
            let hear = |line| {
                heard.push(line);
                Ok(())
            };
            building.until_end(&client, hear).await.unwrap()
        })
        .await;
        assert_eq!(
            (ended, &heard[..]),
            (Build::Failed, &["one", "two", "thr ee"].map(str::to_owned)[..])
        );
        let path = "/folio/v1/apps/default/packages/greetings/versions/draft/build";
        let asked = [0, 0, 8, 8].map(|after| format!("{path}?after={after}&wait=true"));
        assert_eq!(seen.into_iter().map(|seen| seen.path).collect::<Vec<_>>(), asked);
    }
}
