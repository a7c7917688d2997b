//! A function of Fission's: its package and entry point are one property, its settings for running
//! are spread over the spec, times are in seconds.

use std::mem::replace;

use hub::{Augment, Bag, Field, Result, Spoke as _};

use super::lens::{self, Lens};
use super::reference::{self, Reference as _, say};
use crate::generated::kinds::fission_io_v1::{
    FunctionSpec, FunctionSpecEnvironment, FunctionSpecInvokeStrategy,
    FunctionSpecInvokeStrategyExecutionStrategy, FunctionSpecPackage,
    FunctionSpecPackagePackageref,
};
use crate::generated::kinds::storage;

const PACKAGE: &str = "package@fission.io/v1";
const SECRETS: &str = "secrets@fission.io/v1";
const STRATEGY: &str = "InvokeStrategy@fission.io/v1";

impl Augment<storage::FunctionSpec> for FunctionSpec {
    const WRITTEN_FOR: &'static str = "folio.dev/v1";

    fn into_stored(mut self) -> Result<storage::FunctionSpec> {
        let environment = replace(&mut self.environment, FunctionSpecEnvironment::unnamed());
        let package = replace(&mut self.package, FunctionSpecPackage::empty());
        let strategy = replace(&mut self.invoke_strategy, FunctionSpecInvokeStrategy::empty());
        let (timeout, idle) = (self.function_timeout.take(), self.idletimeout.take());
        let (requests, once) = (self.requests_per_pod.take(), self.once_only.take());
        let secrets = self.secrets.take();
        let mut hub: storage::FunctionSpec = self.up()?;
        let bag = &mut hub.bag;
        bag.put(SECRETS, secrets);
        hub.environment = environment.up(bag);
        (hub.package, hub.entrypoint) = package_up(package, bag);
        let mut run = storage::FunctionSpecRun {
            timeout_ms: lens::up::<Timeout>(timeout, bag),
            idle_ms: lens::up::<Idle>(idle, bag),
            concurrency: lens::up::<Concurrency>(requests, bag),
            requests_per_worker: lens::up::<OnceOnly>(once, bag),
            ..Default::default()
        };
        strategy_up(strategy, &mut run, bag);
        if run != storage::FunctionSpecRun::default() {
            hub.run = Field::Value(run);
        }
        Ok(hub)
    }

    fn from_stored(mut stored: storage::FunctionSpec) -> Result<Self> {
        let bag = &mut stored.bag;
        let environment = FunctionSpecEnvironment::down(stored.environment.take(), bag)?;
        let package = package_down(stored.package.take(), stored.entrypoint.take(), bag)?;
        let run = stored.run.take().into_value().unwrap_or_default();
        let function_timeout = lens::down::<Timeout>(&run.timeout_ms, bag)?;
        let idletimeout = lens::down::<Idle>(&run.idle_ms, bag)?;
        let requests_per_pod = lens::down::<Concurrency>(&run.concurrency, bag)?;
        let once_only = lens::down::<OnceOnly>(&run.requests_per_worker, bag)?;
        let invoke_strategy = strategy_down(&run, bag)?;
        let secrets = bag.take(SECRETS)?;
        Ok(Self {
            environment,
            function_timeout,
            idletimeout,
            invoke_strategy,
            once_only,
            package,
            requests_per_pod,
            secrets,
            ..Self::down(stored)?
        })
    }

    fn complete(stored: &mut storage::FunctionSpec, new: &mut storage::FunctionSpec) {
        reference::overlay(&mut stored.environment, &mut new.environment);
        // A pin is that of the package it was made for.
        if package_name(&stored.package) == package_name(&new.package) {
            new.package = stored.package.take();
        }
        if stored.entrypoint.value() == new.entrypoint.value() {
            new.entrypoint = stored.entrypoint.take();
        }
        // Fission's are beside them, in the bag.
        new.secrets = stored.secrets.take();
        match stored.run.take() {
            Field::Value(stored) => {
                let written = new.run.take().into_value().unwrap_or_default();
                new.run = Field::Value(run_over(stored, written));
            }
            stored => hub::keep(stored, &mut new.run),
        }
    }
}

fn package_name(package: &Field<storage::FunctionSpecPackage>) -> Option<&String> {
    package.value().and_then(|package| package.name.value())
}

/// What is stored of the settings, with those that Fission has a word for as they were written.
fn run_over(
    mut stored: storage::FunctionSpecRun,
    mut written: storage::FunctionSpecRun,
) -> storage::FunctionSpecRun {
    lens::overlay::<Timeout>(&mut stored.timeout_ms, &mut written.timeout_ms);
    lens::overlay::<Idle>(&mut stored.idle_ms, &mut written.idle_ms);
    lens::overlay::<Concurrency>(&mut stored.concurrency, &mut written.concurrency);
    lens::overlay::<OnceOnly>(&mut stored.requests_per_worker, &mut written.requests_per_worker);
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
        ..stored
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

/// Takes the name of the package and the entry point for the hub, and keeps what they do not say.
fn package_up(
    mut package: FunctionSpecPackage,
    bag: &mut Bag,
) -> (Field<storage::FunctionSpecPackage>, Field<String>) {
    let entry = value_of(&mut package.function_name);
    let name = package.packageref.value_mut().map(|reference| value_of(&mut reference.name));
    let name = name.unwrap_or_default();
    if name.value().is_some() && package.packageref.value() == Some(&named_only()) {
        package.packageref = Field::Absent;
    }
    if package != FunctionSpecPackage::empty() {
        bag.put(PACKAGE, Field::Value(package));
    }
    let package = |name| storage::FunctionSpecPackage { name, ..Default::default() };
    let name = if name.is_absent() { Field::Absent } else { Field::Value(package(name)) };
    (name, entry)
}

/// Takes a value out; `null` stays, for the hub does not say it.
fn value_of<T>(field: &mut Field<T>) -> Field<T> {
    if field.value().is_some() { field.take() } else { Field::Absent }
}

/// Puts the hub's name and entry point to what was kept.
fn package_down(
    hub: Field<storage::FunctionSpecPackage>,
    entry: Field<String>,
    bag: &mut Bag,
) -> Result<FunctionSpecPackage> {
    let kept: Field<FunctionSpecPackage> = bag.take(PACKAGE)?;
    let mut package = kept.into_value().unwrap_or_else(FunctionSpecPackage::empty);
    let name = hub.into_value().and_then(|package| package.name.into_value());
    if name.is_some() && package.packageref.value().is_none() {
        package.packageref = Field::Value(named_only());
    }
    if let Some(reference) = package.packageref.value_mut() {
        say(&mut reference.name, name);
    }
    say(&mut package.function_name, entry.into_value());
    Ok(package)
}

/// A reference that has nothing but its name, without it.
fn named_only() -> FunctionSpecPackagePackageref {
    FunctionSpecPackagePackageref {
        name: Field::Absent,
        namespace: Field::Absent,
        resourceversion: Field::Absent,
        unknown: hub::Object::new(),
    }
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

/// Keeps the strategy, and takes its scales where they count: only two of the three executors
/// know them.
fn strategy_up(
    strategy: FunctionSpecInvokeStrategy,
    run: &mut storage::FunctionSpecRun,
    bag: &mut Bag,
) {
    (run.scale_min, run.scale_max) = scales(&strategy);
    let is_said = strategy.strategy_type.is_absent()
        && scaled(FunctionSpecInvokeStrategy::empty(), run) == strategy;
    if !is_said {
        bag.put(STRATEGY, Field::Value(strategy));
    }
}

fn strategy_down(
    run: &storage::FunctionSpecRun,
    bag: &mut Bag,
) -> Result<FunctionSpecInvokeStrategy> {
    let kept: Field<FunctionSpecInvokeStrategy> = bag.take(STRATEGY)?;
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
