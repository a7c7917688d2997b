//! Builds: what source needs before it can be called. A build is done once for everything with the same key;
//! how it ended is the system's own entry, and only then does `latest` move.
//!
//! Whatever waits is pushed to the queue inside the commit that makes it wait, and again at start. Start at
//! [`Folio::run_builds`].

mod import;
mod perform;
mod progress;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use folio_model::{
    AppName, Build, Digest, Edit, Entry, PackageSpec, Qualifier, Snapshot, Timestamp, UnitKey,
    UnitUid, VersionKey,
};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub(crate) use self::progress::Builds;

use crate::ports::{Lease, Queue, State, StoreError, Task};
use crate::{Folio, content, history, resolve, view};

/// What the queue calls builds.
const TOPIC: &str = "build";

/// Builds that run at the same time.
const AT_ONCE: usize = 2;

/// How long a worker has a build to itself: longer than any build may take.
const LEASE: Duration = Duration::from_secs(20 * 60);

/// The longest wait between two looks at the queue, and after a store that failed.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// What a worker needs to know of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Order {
    /// The app that asked first.
    app: AppName,
    /// The snapshot of the package.
    package: Digest,
    /// What the result is kept under.
    key: Digest,
}

/// A build's log, as far as it is.
#[derive(Debug)]
pub struct LogPart {
    /// How far the build is.
    pub build: Build,
    /// What it printed after the place that was asked for.
    pub text: Bytes,
    /// Changes when there is more; absent once there never will be.
    pub more: Option<watch::Receiver<u64>>,
}

impl Folio {
    /// Builds what waits, until told to stop. What is being built then is left to the next start.
    pub async fn run_builds(&self, shutdown: impl Future<Output = ()>) -> Result<(), StoreError> {
        let Some(queue) = self.queue.clone() else { return Ok(()) };
        self.push_pending(queue.as_ref()).await?;
        let mut pushed = queue.pushed();
        let mut at_work = JoinSet::new();
        tokio::pin!(shutdown);
        loop {
            pushed.borrow_and_update();
            let pause = match self.take(queue.as_ref(), &mut at_work).await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::error!(%error, "The queue of builds could not be read");
                    PAUSE_MAX
                }
            };
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                _ = pushed.changed() => {}
                Some(_) = at_work.join_next() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Lists an app's versions that wait for a build, by what is built. They go on waiting for one that failed.
    pub async fn awaiting_build(
        &self,
        app: &AppName,
        key: Digest,
    ) -> Result<Vec<VersionKey>, StoreError> {
        let app = app.clone();
        self.look(move |state| perform::waiting_in(state, key, &app)).await
    }

    /// Leases what is due while there is room, and says how long to wait for more.
    async fn take(
        &self,
        queue: &dyn Queue,
        at_work: &mut JoinSet<()>,
    ) -> Result<Duration, StoreError> {
        while at_work.len() < AT_ONCE {
            let Some(lease) = queue.lease(TOPIC, self.clock.now(), LEASE).await? else { break };
            let folio = self.clone();
            at_work.spawn(async move { folio.work(lease).await });
        }
        if at_work.len() == AT_ONCE {
            // What is due is taken when one of these ends.
            return Ok(PAUSE_MAX);
        }
        let due = queue.next_due(TOPIC).await?;
        let wait = due.map_or(PAUSE_MAX, |due| {
            Duration::try_from(due.duration_since(self.clock.now())).unwrap_or_default()
        });
        Ok(wait.clamp(Duration::from_millis(50), PAUSE_MAX))
    }

    /// Does one task, whatever comes of it.
    async fn work(&self, lease: Lease) {
        let Some(queue) = &self.queue else { return };
        let order = match serde_json::from_value::<Order>(lease.task.body.clone()) {
            Ok(order) => order,
            Err(error) => {
                tracing::error!(%error, task = lease.task.name, "A build makes no sense");
                drop(queue.done(lease.token).await);
                return;
            }
        };
        let ended = match self.perform(&order, lease.attempt).await {
            Ok(perform::Ended::Done) => {
                let done = queue.done(lease.token).await;
                // Its name was taken until now, so whoever asked meanwhile was not heard.
                if self.builds.ended(order.key)
                    && let Err(error) = self.push(queue.as_ref(), vec![order.clone()]).await
                {
                    tracing::error!(%error, build.key = %order.key, "A build was not asked for again");
                }
                done
            }
            Ok(perform::Ended::Later(wait)) => self.later(&lease, wait).await,
            Err(error) => {
                tracing::error!(%error, build.key = %order.key, "A build could not be kept");
                self.later(&lease, perform::pause(lease.attempt)).await
            }
        };
        if let Err(error) = ended {
            tracing::error!(%error, build.key = %order.key, "The queue of builds failed");
        }
    }

    async fn later(&self, lease: &Lease, wait: Duration) -> Result<bool, StoreError> {
        let Some(queue) = &self.queue else { return Ok(false) };
        let due = self.clock.now().checked_add(wait).unwrap_or(Timestamp::MAX);
        queue.retry(lease.token, due).await
    }

    /// Pushes every build that something waits for, whatever became of its task.
    async fn push_pending(&self, queue: &dyn Queue) -> Result<(), StoreError> {
        let orders = self
            .look(|state| {
                let pending = state.builds_pending(usize::MAX)?;
                let order = |pending: crate::ports::PendingBuild| {
                    let app = app_of(state, pending.key)?;
                    Ok(Order { app, package: pending.package, key: pending.key })
                };
                pending.into_iter().map(order).collect::<Result<Vec<_>, StoreError>>()
            })
            .await?;
        self.push(queue, orders).await
    }

    /// Pushes the builds that an entry makes something wait for.
    pub(crate) async fn push_builds(&self, entry: &Entry) -> Result<(), StoreError> {
        let Some(queue) = &self.queue else { return Ok(()) };
        let snapshots: Vec<Digest> = entry.edits.iter().filter_map(may_wait).collect();
        if snapshots.is_empty() {
            return Ok(());
        }
        let app = entry.app.clone();
        let orders = self
            .look(move |state| {
                let order = |snapshot| order(state, &app, snapshot);
                let orders = snapshots.into_iter().map(order).collect::<Result<Vec<_>, _>>()?;
                let mut orders: Vec<Order> = orders.into_iter().flatten().collect();
                // A function and its own package wait for the same.
                orders.dedup_by_key(|order| order.key);
                Ok::<_, StoreError>(orders)
            })
            .await?;
        self.push(queue.as_ref(), orders).await
    }

    async fn push(&self, queue: &dyn Queue, orders: Vec<Order>) -> Result<(), StoreError> {
        for order in orders {
            self.builds.queued(order.key);
            let body = serde_json::to_value(&order).expect("orders have string keys");
            let name = format!("build {}", order.key);
            let due = self.clock.now();
            queue.push(Task { name, topic: TOPIC.to_owned(), body, due }).await?;
        }
        Ok(())
    }

    /// Waits until the build of a version ended, and says how. At once if there is nothing to build. When it
    /// returns, calls see what the build made.
    pub async fn await_build(
        &self,
        key: &UnitKey,
        at: &Qualifier,
    ) -> Result<Build, history::Error> {
        let mut head = self.head();
        loop {
            head.borrow_and_update();
            let part = self.build_log(key, at, u64::MAX).await?;
            match part.more {
                // Its end is written before everybody has heard of it; then there is no more to follow.
                Some(mut more) => while more.changed().await.is_ok() {},
                None if part.build == Build::Pending => {
                    if head.changed().await.is_err() {
                        return Ok(part.build);
                    }
                }
                None => return Ok(part.build),
            }
        }
    }

    /// What the build of a version, or of the draft, printed after a place in its log.
    pub async fn build_log(
        &self,
        key: &UnitKey,
        at: &Qualifier,
        after: u64,
    ) -> Result<LogPart, history::Error> {
        let (key, at) = (key.clone(), at.clone());
        let (build_key, record) = self
            .look(move |state| {
                let snapshot = snapshot_of(state, &key, &at)?;
                let build_key = view::build_key(state, &view::snapshot(state, snapshot)?)?;
                let record = build_key.map(|key| state.build(key)).transpose()?.flatten();
                Ok::<_, history::Error>((build_key, record))
            })
            .await?;
        let Some(build_key) = build_key else {
            return Ok(LogPart { build: Build::None, text: Bytes::new(), more: None });
        };
        if let Some(part) = self.builds.log(build_key, after) {
            return Ok(part);
        }
        let build = record.as_ref().map_or(Build::Pending, folio_model::BuildRecord::status);
        let text = match record.and_then(|record| record.log).filter(|_| after < u64::MAX) {
            Some(log) => content::read_whole(self.blobs.as_ref(), log).await?,
            None => Bytes::new(),
        };
        let from = usize::try_from(after).unwrap_or(usize::MAX).min(text.len());
        Ok(LogPart { build, text: text.slice(from..), more: None })
    }
}

fn snapshot_of(state: &dyn State, key: &UnitKey, at: &Qualifier) -> Result<Digest, resolve::Error> {
    let unit = resolve::unit(state, key)?;
    match (at, &unit.draft) {
        (Qualifier::Draft, Some(draft)) => Ok(draft.snapshot),
        _ => Ok(resolve::version(state, &unit, at)?.snapshot),
    }
}

/// The snapshot that an edit may make wait for a build.
fn may_wait(edit: &Edit) -> Option<Digest> {
    match edit {
        Edit::Publish { version, waits: true, .. } | Edit::RestoreVersion { version, .. } => {
            Some(version.snapshot)
        }
        Edit::SetDraft { to: Some(draft), .. } => Some(draft.snapshot),
        _ => None,
    }
}

/// What has to be built of a snapshot, if anything.
fn order(state: &dyn State, app: &AppName, snapshot: Digest) -> Result<Option<Order>, StoreError> {
    let package = match view::snapshot(state, snapshot)? {
        Snapshot::Function(spec) => spec.package.snapshot,
        Snapshot::Package(_) => snapshot,
        Snapshot::Environment(_)
        | Snapshot::Trigger(_)
        | Snapshot::Config(_)
        | Snapshot::Secret(_)
        | Snapshot::Static(_) => return Ok(None),
    };
    let spec: PackageSpec = crate::compose::package_spec(state, package)?;
    let Some(key) = spec.build_key() else { return Ok(None) };
    let built = view::package_build(state, &spec)?.is_ready();
    // What was built long ago only has to be told to whoever waits for it.
    let wanted = !built || !state.waiting(key)?.is_empty();
    Ok(wanted.then(|| Order { app: app.clone(), package, key }))
}

/// The app of the first version that waits for a build. A draft's build is nobody's but its own.
fn app_of(state: &dyn State, key: Digest) -> Result<AppName, StoreError> {
    for waiting in state.waiting(key)? {
        if let Some(app) = app(state, waiting.unit)? {
            return Ok(app);
        }
    }
    Ok(AppName::default_app())
}

fn app(state: &dyn State, unit: UnitUid) -> Result<Option<AppName>, StoreError> {
    Ok(state.unit_by_uid(unit)?.map(|unit| unit.key.app))
}

/// Shows a build that is on its way in a view, where the state only knows that none succeeded.
pub(crate) fn overlay(
    builds: &Arc<Builds>,
    state: &dyn State,
    spec: &Snapshot,
    build: &mut Build,
) -> Result<(), StoreError> {
    if build.is_ready() || builds.is_empty() {
        return Ok(());
    }
    if let Some(key) = view::build_key(state, spec)?
        && let Some(now) = builds.status(key)
    {
        *build = now;
    }
    Ok(())
}
