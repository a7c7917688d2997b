//! What the platform is doing right now: counters per version, workers, builds, and what functions print.

use folio_model::{AppName, Kind, Name, Qualifier, Right, UnitKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::Folio;
use crate::logs::Line;
use crate::ports::runtime::RuntimeStatus;
use crate::request::Caller;
use crate::resolve;
use crate::serving::MeasuredVersion;

/// What the platform is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// What runs functions; absent where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeStatus>,
    /// Builds that wait.
    pub builds_waiting: u64,
    /// Builds that run.
    pub builds_running: u64,
}

/// Lines a function printed, and a watch that changes when there are more.
pub struct LogLines {
    /// The lines, oldest first.
    pub lines: Vec<Line>,
    /// The place after which to ask for more.
    pub after: u64,
    /// Changes when the function prints; absent where nothing runs.
    pub more: Option<watch::Receiver<u64>>,
}

impl Folio {
    /// What every version that a caller may see did since the server started.
    pub fn measured(&self, caller: &Caller) -> Vec<MeasuredVersion> {
        let mut all = self.serving.measured();
        all.retain(|version| caller.may(Right::View, Some(&version.app)).is_ok());
        all
    }

    /// What runs, and what is being built.
    pub fn status(&self) -> StatusView {
        let (builds_waiting, builds_running) = self.builds.count();
        let runtime = self.serving.running().map(|running| running.runtime.status());
        StatusView { runtime, builds_waiting, builds_running }
    }

    /// The id of the version whose lines are meant, or `draft`. A deleted version still has its lines, by its id.
    pub async fn printed_by(
        &self,
        app: &AppName,
        name: &Name,
        at: Qualifier,
    ) -> Result<String, resolve::Error> {
        let key = UnitKey { app: app.clone(), kind: Kind::Function, name: name.clone() };
        self.look(move |state| {
            let unit = resolve::unit(state, &key)?;
            let id = match &at {
                Qualifier::Draft => return Ok(at.to_string()),
                Qualifier::Named(id) => state.version_by_id(unit.uid, id)?,
                _ => None,
            };
            let found = match id {
                Some((version, _)) => version,
                None => resolve::version(state, &unit, &at)?,
            };
            Ok(found.id.to_string())
        })
        .await
    }

    /// What a function printed after a place, of all its versions or of one by id.
    pub async fn function_logs(
        &self,
        app: &AppName,
        name: &Name,
        after: u64,
        version: Option<&str>,
    ) -> Result<LogLines, resolve::Error> {
        let key = UnitKey { app: app.clone(), kind: Kind::Function, name: name.clone() };
        self.look(move |state| resolve::unit(state, &key).map(|_| ())).await?;
        let Some(running) = self.serving.running() else {
            return Ok(LogLines { lines: Vec::new(), after, more: None });
        };
        let (mut lines, more) = running.logs.after(app, name, after);
        let after = lines.last().map_or(after, |line| line.seq);
        lines.retain(|line| version.is_none_or(|version| line.version == version));
        Ok(LogLines { lines, after, more: Some(more) })
    }
}
