//! Performs one build: has the runtime run it, keeps what it made and printed, and writes how it ended.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use folio_model::{
    Actor, AppName, Build, BuildRecord, Content, Digest, Edit, Layout, PackageSpec, VersionKey,
};
use tokio::sync::mpsc;

use super::{Order, app, import};
use crate::ports::runtime::{BuildError, BuildOrder, Built};
use crate::ports::{State, StoreError};
use crate::request::{Caller, Releasing};
use crate::view::Done;
use crate::{Folio, compose, environment, folio, release};

/// What comes after a task was worked on.
pub(super) enum Ended {
    /// Nothing: how it ended is written, or nobody needs it any more.
    Done,
    /// It is tried again after a while.
    Later(Duration),
}

/// How long to wait after so many attempts: 1, 2, 4 seconds and so on, at most five minutes.
pub(super) fn pause(attempt: u32) -> Duration {
    Duration::from_secs(1 << attempt.saturating_sub(1).min(8)).min(Duration::from_secs(300))
}

/// What the ledger knows of a build before it is started.
enum Known {
    /// Nothing waits for it.
    Unneeded,
    /// It succeeded before; whoever waits only has to be told.
    Built(BuildRecord),
    /// It has to be built, if there is an environment to build it in.
    Open(PackageSpec, Option<folio_model::EnvironmentSpec>),
}

/// How a build ended.
struct Outcome {
    result: Result<Content, String>,
    log: Option<Digest>,
}

impl Folio {
    /// Works on a build for the so-manieth time.
    pub(super) async fn perform(&self, order: &Order, attempt: u32) -> Result<Ended, StoreError> {
        let key = order.key;
        let ended = match self.known(order).await? {
            Known::Unneeded => Ended::Done,
            Known::Built(record) => {
                self.write_end(order, record).await?;
                Ended::Done
            }
            Known::Open(_, None) => {
                let result = Err("its environment does not exist".to_owned());
                self.conclude(order, Outcome { result, log: None }).await?;
                Ended::Done
            }
            Known::Open(package, Some(environment)) => {
                self.builds.started(key);
                let build = BuildOrder {
                    key,
                    app: order.app.clone(),
                    spec: environment,
                    source: package.source.ok_or_else(|| StoreError::corrupt("a package"))?,
                    command: package.build_command,
                };
                self.try_build(order, build, attempt).await?
            }
        };
        if matches!(ended, Ended::Later(_)) {
            self.builds.paused(key);
        }
        Ok(ended)
    }

    async fn known(&self, order: &Order) -> Result<Known, StoreError> {
        let Order { key, package, .. } = order.clone();
        self.look(move |state| {
            let waiting = !state.waiting(key)?.is_empty();
            let record = state.build(key)?;
            if let Some(record) = record.filter(|record| record.status() == Build::Succeeded) {
                return Ok(if waiting { Known::Built(record) } else { Known::Unneeded });
            }
            // A draft may need what no version waits for.
            let pending = || state.builds_pending(usize::MAX);
            if !waiting && !pending()?.iter().any(|pending| pending.key == key) {
                return Ok(Known::Unneeded);
            }
            let spec = compose::package_spec(state, package)?;
            let environment =
                environment::frozen_as(state, spec.environment_snapshot, &spec.environment)?;
            Ok(Known::Open(spec, environment))
        })
        .await
    }

    async fn try_build(
        &self,
        order: &Order,
        build: BuildOrder,
        attempt: u32,
    ) -> Result<Ended, StoreError> {
        let result = match self.run_build(build).await {
            Ok(built) => match import::import(self.blobs.as_ref(), built, self.limits()).await? {
                Ok(tree) => Ok(Content { tree, layout: Layout::Directory }),
                Err(why) => Err(why),
            },
            Err(BuildError::Failed(why)) => Err(why),
            Err(error) if u64::from(attempt) < self.limits().build_attempts_max => {
                tracing::warn!(%error, build.key = %order.key, attempt, "A build could not run");
                return Ok(Ended::Later(pause(attempt)));
            }
            Err(error) => Err(format!("{error} (tried {attempt} times)")),
        };
        let log = self.keep_log(order.key).await?;
        self.conclude(order, Outcome { result, log }).await?;
        Ok(Ended::Done)
    }

    /// Runs the build and collects what it prints.
    async fn run_build(&self, build: BuildOrder) -> Result<Built, BuildError> {
        let Some(running) = self.serving.running() else {
            return Err(BuildError::Unavailable("this server runs no functions".to_owned()));
        };
        let key = build.key;
        let max = usize::try_from(self.limits().build_log_bytes_max).unwrap_or(usize::MAX);
        let (log, mut printed) = mpsc::channel::<Bytes>(64);
        let collect = async {
            while let Some(text) = printed.recv().await {
                self.builds.printed(key, &text, max);
            }
        };
        let (built, ()) = tokio::join!(running.runtime.build(build, log), collect);
        built
    }

    async fn keep_log(&self, key: Digest) -> Result<Option<Digest>, StoreError> {
        let text = self.builds.text(key);
        if text.is_empty() {
            return Ok(None);
        }
        let mut nodes = Vec::new();
        let stored = crate::content::chunk(&mut &text[..], &mut |node| {
            nodes.push(node);
            Ok(())
        });
        let stored = stored.map_err(|error| StoreError::failed("keep a build's log", error))?;
        self.blobs.put(nodes).await?;
        Ok(Some(stored.digest))
    }

    async fn conclude(&self, order: &Order, outcome: Outcome) -> Result<(), StoreError> {
        let Outcome { result, log } = outcome;
        let (result, failure) = match result {
            Ok(content) => (Some(content), None),
            Err(why) => (None, Some(why)),
        };
        self.write_end(order, BuildRecord { result, log, failure, at: self.clock.now() }).await
    }

    /// Writes how a build ended: an entry in every app where something waits for it, or in the one that asked.
    async fn write_end(&self, order: &Order, record: BuildRecord) -> Result<(), StoreError> {
        let (key, asked) = (order.key, order.app.clone());
        let succeeded = record.status() == Build::Succeeded;
        let apps = self
            .look(move |state| {
                let mut apps = BTreeSet::new();
                for waiting in state.waiting(key)?.into_iter().filter(|_| succeeded) {
                    apps.extend(app(state, waiting.unit)?);
                }
                Ok::<_, StoreError>(apps)
            })
            .await?;
        let apps = if apps.is_empty() { [asked].into() } else { apps };
        for app in apps {
            self.write_end_in(&app, order.clone(), record.clone()).await?;
        }
        Ok(())
    }

    async fn write_end_in(
        &self,
        app_name: &AppName,
        order: Order,
        record: BuildRecord,
    ) -> Result<(), StoreError> {
        let app = app_name.clone();
        // What is built was published from that work tree, and is released unless that was not wanted.
        let of = app.clone();
        let (releasing, git) = self
            .look(move |state| {
                let Some(newest) = state.app_version_at(&of, None)? else {
                    return Ok::<_, StoreError>((Releasing::Release, None));
                };
                let entry = state.entry(newest.entry)?;
                let held = entry.as_ref().is_some_and(|entry| entry.unreleased)
                    && !release::was_released(state, &of, &newest.id)?;
                let releasing = if held { Releasing::Hold } else { Releasing::Release };
                Ok((releasing, entry.and_then(|entry| entry.git)))
            })
            .await?;
        let caller = Caller { git, releasing, ..Caller::new(Actor::system()) };
        let written: Result<Done<Vec<VersionKey>>, folio::Error> = self
            .commit(&caller, app_name, move |builder| {
                let from = builder.state.build(order.key)?;
                // Whoever was first with a result is right.
                let to = match &from {
                    Some(first) if first.status() == Build::Succeeded => first.clone(),
                    _ => record.clone(),
                };
                let readies = match to.status() {
                    Build::Succeeded => waiting_in(builder.state, order.key, &app)?,
                    _ => Vec::new(),
                };
                if from.as_ref() == Some(&to) && readies.is_empty() {
                    return Ok(readies);
                }
                let end = if to.result.is_some() { "succeeded" } else { "failed" };
                let of = named(builder.state, &readies, order.key, &app)?;
                builder.say(format!("build of {of} {end}"));
                let key = order.key;
                builder.push(Edit::Built { key, from, to, readies: readies.clone() })?;
                Ok(readies)
            })
            .await;
        match written {
            Ok(_) => Ok(()),
            // The app is gone, and everything that waited with it.
            Err(folio::Error::NoApp(_)) => Ok(()),
            Err(folio::Error::Store(error)) => Err(error),
            Err(error) => Err(StoreError::failed("write how a build ended", error)),
        }
    }
}

/// The versions of an app that wait for a build.
pub(super) fn waiting_in(
    state: &dyn State,
    key: Digest,
    of: &AppName,
) -> Result<Vec<VersionKey>, StoreError> {
    let mut found = Vec::new();
    for waiting in state.waiting(key)? {
        if app(state, waiting.unit)?.as_ref() == Some(of) {
            found.push(waiting);
        }
    }
    Ok(found)
}

/// What a build is of, for the log: the packages that wait for it.
fn named(
    state: &dyn State,
    readies: &[VersionKey],
    key: Digest,
    of: &AppName,
) -> Result<String, StoreError> {
    let waiting = if readies.is_empty() { waiting_in(state, key, of)? } else { readies.to_vec() };
    let mut names = BTreeSet::new();
    for version in waiting {
        let found = state.unit_by_uid(version.unit)?.zip(state.version(version)?);
        let package = found.filter(|(unit, _)| unit.key.kind == folio_model::Kind::Package);
        names.extend(package.map(|(unit, version)| format!("{}@{}", unit.key.name, version.id)));
    }
    let names: Vec<_> = names.into_iter().collect();
    Ok(if names.is_empty() { "a draft".to_owned() } else { names.join(", ") })
}
