//! A function of Fission's: its package and entry point are one property, its settings for running
//! are spread over the spec, times are in seconds.

use hub::{Augment, Bag, Field, Result};

use super::lens::{self, Lens};
use crate::generated::kinds::fission_io_v1::{
    FunctionSpec, FunctionSpecEnvironment, FunctionSpecInvokeStrategy,
    FunctionSpecInvokeStrategyExecutionStrategy, FunctionSpecPackage,
    FunctionSpecPackagePackageref,
};
use crate::generated::kinds::storage;

const PACKAGE: &str = "package@fission.io/v1";
const STRATEGY: &str = "InvokeStrategy@fission.io/v1";

impl Augment<storage::FunctionSpec> for FunctionSpec {
    const WRITTEN_FOR: &'static str = "folio.dev/v1";

    fn assign_to(&self, hub: &mut storage::FunctionSpec) -> Result<()> {
        let bag = &mut hub.bag;
        hub.environment = lens::up::<Environment>(&Field::Value(self.environment.clone()), bag)?;
        hub.entrypoint = package_up(&self.package, &mut hub.package, bag)?;
        let mut run = storage::FunctionSpecRun {
            timeout_ms: lens::up::<Timeout>(&self.function_timeout, bag)?,
            idle_ms: lens::up::<Idle>(&self.idletimeout, bag)?,
            concurrency: lens::up::<Concurrency>(&self.requests_per_pod, bag)?,
            requests_per_worker: lens::up::<OnceOnly>(&self.once_only, bag)?,
            ..Default::default()
        };
        strategy_up(&self.invoke_strategy, &mut run, bag)?;
        if run != storage::FunctionSpecRun::default() {
            hub.run = Field::Value(run);
        }
        Ok(())
    }

    fn assign_from(&mut self, hub: &storage::FunctionSpec) -> Result<()> {
        let bag = &hub.bag;
        self.environment = lens::down_required::<Environment>(&hub.environment, bag)?;
        self.package = package_down(hub)?;
        let nothing = storage::FunctionSpecRun::default();
        let run = hub.run.value().unwrap_or(&nothing);
        self.function_timeout = lens::down::<Timeout>(&run.timeout_ms, bag)?;
        self.idletimeout = lens::down::<Idle>(&run.idle_ms, bag)?;
        self.requests_per_pod = lens::down::<Concurrency>(&run.concurrency, bag)?;
        self.once_only = lens::down::<OnceOnly>(&run.requests_per_worker, bag)?;
        self.invoke_strategy = strategy_down(run, bag)?;
        Ok(())
    }

    fn complete(stored: &storage::FunctionSpec, new: &mut storage::FunctionSpec) {
        lens::overlay::<Environment>(&stored.environment, &mut new.environment);
        let name = |package: &Field<storage::FunctionSpecPackage>| {
            package.value().and_then(|package| package.name.value().cloned())
        };
        // A pin is that of the package it was made for.
        if name(&stored.package) == name(&new.package) {
            new.package = stored.package.clone();
        }
        if stored.entrypoint.value() == new.entrypoint.value() {
            new.entrypoint = stored.entrypoint.clone();
        }
        let Field::Value(stored) = &stored.run else {
            return hub::keep(stored.run.clone(), &mut new.run);
        };
        let written = std::mem::take(&mut new.run).into_value().unwrap_or_default();
        new.run = Field::Value(run_over(stored, written));
    }
}

/// What is stored of the settings, with those that Fission has a word for as they were written.
fn run_over(
    stored: &storage::FunctionSpecRun,
    mut written: storage::FunctionSpecRun,
) -> storage::FunctionSpecRun {
    lens::overlay::<Timeout>(&stored.timeout_ms, &mut written.timeout_ms);
    lens::overlay::<Idle>(&stored.idle_ms, &mut written.idle_ms);
    lens::overlay::<Concurrency>(&stored.concurrency, &mut written.concurrency);
    lens::overlay::<OnceOnly>(&stored.requests_per_worker, &mut written.requests_per_worker);
    for (stored, written) in
        [(&stored.scale_min, &mut written.scale_min), (&stored.scale_max, &mut written.scale_max)]
    {
        if scale(stored) == scale(written) {
            *written = *stored;
        }
    }
    storage::FunctionSpecRun {
        timeout_ms: written.timeout_ms,
        idle_ms: written.idle_ms,
        concurrency: written.concurrency,
        requests_per_worker: written.requests_per_worker,
        scale_min: written.scale_min,
        scale_max: written.scale_max,
        ..stored.clone()
    }
}

/// The environment's name; its namespace is kept.
struct Environment;

impl Lens for Environment {
    type Spoke = FunctionSpecEnvironment;
    type Hub = String;
    const KEY: &'static str = "environment@fission.io/v1";

    fn up(spoke: &FunctionSpecEnvironment) -> Option<String> {
        spoke.name.value().cloned()
    }

    fn down(
        name: &String,
        kept: Option<FunctionSpecEnvironment>,
    ) -> Option<FunctionSpecEnvironment> {
        let kept = kept.unwrap_or_else(unnamed);
        Some(FunctionSpecEnvironment { name: Field::Value(name.clone()), ..kept })
    }

    fn nothing() -> Option<FunctionSpecEnvironment> {
        Some(unnamed())
    }
}

fn unnamed() -> FunctionSpecEnvironment {
    FunctionSpecEnvironment {
        name: Field::Absent,
        namespace: String::new(),
        unknown: hub::Object::new(),
    }
}

/// Declares a number of seconds that the hub has in milliseconds.
macro_rules! seconds {
    ($name:ident, $key:literal) => {
        struct $name;

        impl Lens for $name {
            type Spoke = i64;
            type Hub = i64;
            const KEY: &'static str = $key;

            fn up(seconds: &i64) -> Option<i64> {
                seconds.checked_mul(1000).filter(|ms| *ms > 0)
            }

            fn down(ms: &i64, _kept: Option<i64>) -> Option<i64> {
                (*ms > 0 && ms % 1000 == 0).then_some(ms / 1000)
            }
        }
    };
}

seconds!(Timeout, "functionTimeout@fission.io/v1");
seconds!(Idle, "idletimeout@fission.io/v1");

/// Requests at the same time; for Fission, 0 is as good as nothing.
struct Concurrency;

impl Lens for Concurrency {
    type Spoke = i64;
    type Hub = i64;
    const KEY: &'static str = "requestsPerPod@fission.io/v1";

    fn up(requests: &i64) -> Option<i64> {
        Some(*requests).filter(|requests| *requests > 0)
    }

    fn down(requests: &i64, _kept: Option<i64>) -> Option<i64> {
        Self::up(requests)
    }
}

/// Whether a worker serves one request only.
struct OnceOnly;

impl Lens for OnceOnly {
    type Spoke = bool;
    type Hub = i64;
    const KEY: &'static str = "onceOnly@fission.io/v1";

    fn up(once: &bool) -> Option<i64> {
        once.then_some(1)
    }

    fn down(requests: &i64, _kept: Option<bool>) -> Option<bool> {
        (*requests == 1).then_some(true)
    }
}

/// Returns the entry point, and keeps what name and entry point do not say.
fn package_up(
    package: &FunctionSpecPackage,
    hub: &mut Field<storage::FunctionSpecPackage>,
    bag: &mut Bag,
) -> Result<Field<String>> {
    let name = package.packageref.value().and_then(|reference| reference.name.value());
    if let Some(name) = name {
        let name = Field::Value(name.clone());
        *hub = Field::Value(storage::FunctionSpecPackage { name, ..Default::default() });
    }
    let entry = package.function_name.value();
    if rebuilt(FunctionSpecPackage::empty(), name, entry) != *package {
        bag.put(PACKAGE, Field::Value(package.clone()))?;
    }
    Ok(entry.cloned().map_or(Field::Absent, Field::Value))
}

fn package_down(hub: &storage::FunctionSpec) -> Result<FunctionSpecPackage> {
    let kept: Field<FunctionSpecPackage> = lens::kept(&hub.bag, PACKAGE)?;
    let name = hub.package.value().and_then(|package| package.name.value());
    let kept = kept.into_value().unwrap_or_else(FunctionSpecPackage::empty);
    Ok(rebuilt(kept, name, hub.entrypoint.value()))
}

impl FunctionSpecPackage {
    fn empty() -> Self {
        Self {
            function_name: Field::Absent,
            packageref: Field::Absent,
            unknown: hub::Object::new(),
        }
    }
}

/// A package with the name and the entry point that are given.
fn rebuilt(
    mut package: FunctionSpecPackage,
    name: Option<&String>,
    entry: Option<&String>,
) -> FunctionSpecPackage {
    if name.is_some() && package.packageref.value().is_none() {
        package.packageref = Field::Value(FunctionSpecPackagePackageref {
            name: Field::Absent,
            namespace: Field::Absent,
            resourceversion: Field::Absent,
            unknown: hub::Object::new(),
        });
    }
    if let Some(reference) = package.packageref.value_mut() {
        say(&mut reference.name, name);
    }
    say(&mut package.function_name, entry);
    package
}

/// Writes what the hub says; what it does not say stays only where it is no value.
fn say<T: Clone>(field: &mut Field<T>, said: Option<&T>) {
    match said {
        Some(said) => *field = Field::Value(said.clone()),
        None if field.value().is_some() => *field = Field::Absent,
        None => {}
    }
}

/// Keeps the strategy, and takes its scales where they count: only two of the three executors
/// know them.
fn strategy_up(
    strategy: &FunctionSpecInvokeStrategy,
    run: &mut storage::FunctionSpecRun,
    bag: &mut Bag,
) -> Result<()> {
    let (min, max) = scales(strategy);
    (run.scale_min, run.scale_max) = (min, max);
    if scaled(FunctionSpecInvokeStrategy::empty(), run) != *strategy {
        bag.put(STRATEGY, Field::Value(strategy.clone()))?;
    }
    Ok(())
}

fn strategy_down(run: &storage::FunctionSpecRun, bag: &Bag) -> Result<FunctionSpecInvokeStrategy> {
    let kept: Field<FunctionSpecInvokeStrategy> = lens::kept(bag, STRATEGY)?;
    let kept = kept.into_value().unwrap_or_else(FunctionSpecInvokeStrategy::empty);
    Ok(scaled(kept, run))
}

impl FunctionSpecInvokeStrategy {
    fn empty() -> Self {
        Self {
            execution_strategy: Field::Absent,
            strategy_type: Field::Absent,
            unknown: hub::Object::new(),
        }
    }
}

/// The scales of a strategy that count.
fn scales(strategy: &FunctionSpecInvokeStrategy) -> (Field<i64>, Field<i64>) {
    let Some(execution) = strategy.execution_strategy.value() else {
        return (Field::Absent, Field::Absent);
    };
    if is_pooled(execution) {
        return (Field::Absent, Field::Absent);
    }
    (scale(&execution.min_scale), scale(&execution.max_scale))
}

/// Whether instances come from a pool, which is what Fission does where nothing is said.
fn is_pooled(execution: &FunctionSpecInvokeStrategyExecutionStrategy) -> bool {
    let executor = execution.executor_type.value().map(String::as_str);
    matches!(executor, None | Some("poolmgr" | ""))
}

/// A scale that is one.
fn scale(field: &Field<i64>) -> Field<i64> {
    match field {
        Field::Value(scale) if *scale > 0 => Field::Value(*scale),
        Field::Value(_) | Field::Null | Field::Absent => Field::Absent,
    }
}

/// A strategy with the scales that the hub has.
fn scaled(
    mut strategy: FunctionSpecInvokeStrategy,
    run: &storage::FunctionSpecRun,
) -> FunctionSpecInvokeStrategy {
    let wanted = (scale(&run.scale_min), scale(&run.scale_max));
    if scales(&strategy) == wanted {
        return strategy;
    }
    if strategy.execution_strategy.value().is_none() {
        strategy.execution_strategy =
            Field::Value(FunctionSpecInvokeStrategyExecutionStrategy::empty());
    }
    let Some(execution) = strategy.execution_strategy.value_mut() else { return strategy };
    if is_pooled(execution) {
        execution.executor_type = Field::Value("newdeploy".to_owned());
    }
    let before = (scale(&execution.min_scale), scale(&execution.max_scale));
    if before.0 != wanted.0 {
        execution.min_scale = wanted.0;
    }
    if before.1 != wanted.1 {
        execution.max_scale = wanted.1;
    }
    strategy
}

impl FunctionSpecInvokeStrategyExecutionStrategy {
    fn empty() -> Self {
        Self {
            executor_type: Field::Absent,
            max_scale: Field::Absent,
            min_scale: Field::Absent,
            specialization_timeout: Field::Absent,
            target_cpu_percent: Field::Absent,
            hpa_behavior: Field::Absent,
            hpa_metrics: Field::Absent,
            unknown: hub::Object::new(),
        }
    }
}
