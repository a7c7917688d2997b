//! How the build of a version goes: what it prints, and how it ends.

use std::time::Duration;

use anyhow::Result;
use folio_core::view::VersionView;
use folio_model::Build;
use serde::Deserialize;

use crate::client::Client;
use crate::output;
use crate::problem::Problem;

/// How often the build of a draft is asked for.
pub(super) const PAUSE: Duration = Duration::from_millis(250);

/// How far a build is, and what it printed since the last question.
#[derive(Debug, Deserialize)]
pub(super) struct Part {
    build: Build,
    pub(super) text: String,
    next: u64,
}

/// Asks what a build printed after a place; with `wait`, gives it a while to say something.
pub(super) async fn ask(
    client: &Client,
    version: &VersionView,
    after: u64,
    wait: bool,
) -> Result<Part> {
    let number = version.number.to_string();
    let (app, name) = (version.app.as_str(), version.name.as_str());
    let path = ["apps", app, version.kind.plural(), name, "versions", &number, "build"];
    client.get(&path, &[("after", after.to_string()), ("wait", wait.to_string())]).await
}

/// Shows what a build prints until it has ended. A failed build is a failure.
pub(super) async fn follow(client: &Client, version: &VersionView) -> Result<()> {
    let name = format!("{}@{}", version.name, version.id);
    let mut after = 0;
    loop {
        let part = ask(client, version, after, true).await?;
        after = part.next;
        part.text.lines().for_each(|line| output::talk(&output::one_line(line)));
        match part.build {
            Build::Pending | Build::Running => {}
            Build::None => return Ok(()),
            Build::Succeeded => {
                output::talk(&format!("build of {name} succeeded"));
                return Ok(());
            }
            Build::Failed => {
                let problem = Problem::new(format!("the build of {name} failed"));
                let (kind, hint) = (version.kind, "shows its log");
                let hint =
                    format!("`folio {kind} version show {name}` {hint}; mend it and publish again");
                return Err(problem.hint(hint).into());
            }
        }
    }
}
