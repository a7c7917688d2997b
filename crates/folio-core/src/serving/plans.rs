//! Plans, each made once: the same version always runs by the same plan, so a runtime recognises it and its
//! counters go on. Says to the runtime which plans are current and which no longer are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use folio_model::{AppName, Digest, Name, Number, UnitUid};

use super::tasks::Tasks;
use crate::logs::{Logs, Printer, Stream};
use crate::measure::{Measured, Meter};
use crate::ports::runtime::{Plan, Stage};
use crate::ports::{Clock, Runtime};

/// Names a plan for ever: a version, or the draft that had a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PlanKey {
    pub(super) unit: UnitUid,
    pub(super) number: Option<Number>,
    pub(super) digest: Digest,
}

impl PlanKey {
    fn of(plan: &Plan) -> Self {
        Self { unit: plan.unit, number: number(&plan.at), digest: plan.digest }
    }
}

fn number(stage: &Stage) -> Option<Number> {
    match stage {
        Stage::Version(number, _) => Some(*number),
        Stage::Draft => None,
    }
}

/// What runs plans, and what it is told about them.
pub(crate) struct Running {
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) logs: Arc<Logs>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// All plans that are in use.
#[derive(Default)]
pub(super) struct Plans {
    rows: Arc<Mutex<Rows>>,
}

#[derive(Default)]
struct Rows {
    made: HashMap<PlanKey, Weak<Plan>>,
    /// How many slots lead to a plan now.
    held: HashMap<PlanKey, usize>,
    meters: HashMap<(UnitUid, Option<Number>), Metered>,
    /// How many may have been made before those that are gone are forgotten.
    forget_at: usize,
}

struct Metered {
    app: AppName,
    function: Name,
    version: String,
    environment: Name,
    meter: Arc<Meter>,
}

/// What one version did since the server started.
#[derive(
    Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct MeasuredVersion {
    /// The app.
    pub app: AppName,
    /// The function.
    pub function: Name,
    /// The version's id, or `draft`.
    pub version: String,
    /// The environment it runs in.
    pub environment: Name,
    /// What was counted.
    #[serde(flatten)]
    pub measured: Measured,
}

impl Plans {
    /// A plan that was made before and is still in use.
    pub(super) fn find(&self, key: &PlanKey) -> Option<Arc<Plan>> {
        self.lock().made.get(key).and_then(Weak::upgrade)
    }

    /// The plan of a key: the one that was made first, or this one with the counters of its version.
    pub(super) fn keep(&self, mut plan: Plan) -> Arc<Plan> {
        let key = PlanKey::of(&plan);
        let mut rows = self.lock();
        if let Some(made) = rows.made.get(&key).and_then(Weak::upgrade) {
            return made;
        }
        rows.forget();
        let metered = rows.meters.entry((key.unit, key.number)).or_insert_with(|| Metered {
            app: plan.app.clone(),
            function: plan.function.clone(),
            version: plan.at.to_string(),
            environment: plan.environment.clone(),
            meter: Arc::clone(&plan.meter),
        });
        plan.meter = Arc::clone(&metered.meter);
        let plan = Arc::new(plan);
        rows.made.insert(key, Arc::downgrade(&plan));
        plan
    }

    /// Counts a slot that leads to a plan. The first one has the runtime prepare it.
    pub(super) fn hold(&self, plan: &Arc<Plan>, running: Option<&Arc<Running>>, tasks: &Tasks) {
        let key = PlanKey::of(plan);
        let mut rows = self.lock();
        let count = rows.held.entry(key).or_default();
        *count += 1;
        if *count == 1
            && let Some(running) = running
        {
            let (rows, running) = (Arc::clone(&self.rows), Arc::clone(running));
            let plan = Arc::clone(plan);
            tasks.spawn(async move {
                let current = || lock(&rows).held.contains_key(&key);
                if current() {
                    prepare(&running, &plan).await;
                }
            });
        }
    }

    /// Counts a slot that no longer leads to a plan. The last one has the runtime retire it.
    pub(super) fn release(&self, plan: &Arc<Plan>, running: Option<&Arc<Running>>) {
        let key = PlanKey::of(plan);
        let mut rows = self.lock();
        let Some(count) = rows.held.get_mut(&key) else { return };
        *count -= 1;
        if *count == 0 {
            rows.held.remove(&key);
            // Inside the lock, so that a slot that comes back at once is heard of after this.
            if let Some(running) = running {
                running.runtime.retire(plan);
            }
        }
    }

    /// Has the runtime retire a plan that no slot leads to.
    pub(super) fn retire_unless_held(&self, plan: &Arc<Plan>, running: &Running) {
        let rows = self.lock();
        if !rows.held.contains_key(&PlanKey::of(plan)) {
            running.runtime.retire(plan);
        }
    }

    /// What every version did that was called or can be.
    pub(super) fn measured(&self) -> Vec<MeasuredVersion> {
        let rows = self.lock();
        let mut measured: Vec<_> = rows.meters.values().map(Metered::read).collect();
        drop(rows);
        measured.sort_by(|a, b| {
            let key = |one: &MeasuredVersion| (one.app.clone(), one.function.clone());
            key(a).cmp(&key(b)).then_with(|| a.version.cmp(&b.version))
        });
        measured
    }

    /// What one version did.
    pub(super) fn measured_version(&self, unit: UnitUid, number: Number) -> Option<Measured> {
        let rows = self.lock();
        rows.meters.get(&(unit, Some(number))).map(|metered| metered.meter.read())
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        lock(&self.rows)
    }
}

// Nothing that holds the lock leaves the rows half changed.
fn lock(rows: &Mutex<Rows>) -> MutexGuard<'_, Rows> {
    rows.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rows {
    /// Forgets plans that are gone, with the counters of those that were never called.
    fn forget(&mut self) {
        const AT_LEAST: usize = 1024;
        if self.made.len() < self.forget_at.max(AT_LEAST) {
            return;
        }
        self.made.retain(|_, plan| plan.strong_count() > 0);
        self.meters.retain(|_, metered| {
            Arc::strong_count(&metered.meter) > 1 || metered.meter.read().requests > 0
        });
        self.forget_at = 2 * self.made.len();
    }
}

impl Metered {
    fn read(&self) -> MeasuredVersion {
        MeasuredVersion {
            app: self.app.clone(),
            function: self.function.clone(),
            version: self.version.clone(),
            environment: self.environment.clone(),
            measured: self.meter.read(),
        }
    }
}

async fn prepare(running: &Running, plan: &Arc<Plan>) {
    if let Err(error) = running.runtime.prepare(plan).await {
        let text = format!("could not be prepared: {error}");
        tracing::warn!(app.name = %plan.app, function.name = %plan.function, version.id = %plan.at,
            %error, "A version could not be prepared");
        running.logs.add(plan, running.clock.now(), Stream::System, Printer::default(), &text);
    }
}
