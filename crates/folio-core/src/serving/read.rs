//! Reads what a reference means in one state, and what that depends on.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use folio_model::{
    Content, Digest, EnvironmentSpec, FunctionSpec, Kind, Name, Number, PackageSpec, Qualifier,
    Reference, RunSettings, Share, Subject, Unit, UnitKey, VersionKey,
};

use super::plans::{PlanKey, Plans};
use super::table::Interest;
use super::{Meaning, Slot, Split, Unresolved};
use crate::ports::runtime::{Plan, RunLimits, Stage};
use crate::ports::{State, StoreError};
use crate::resolve::{self, Resolved, What};
use crate::{Class, Code, Explain, Limits, compose, environment};

/// What a reference means in a state.
pub(super) struct Reading {
    /// The entry the state stands at.
    pub(super) as_of: u64,
    pub(super) meaning: Meaning,
    /// What the meaning depends on.
    pub(super) interests: HashSet<Interest>,
}

/// Why a version cannot be called, although it is there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unready {
    /// It is being built.
    #[error("{of} is not built yet")]
    Pending {
        /// The version.
        of: String,
    },
    /// It could not be built.
    #[error("{of} could not be built: {why}")]
    Failed {
        /// The version.
        of: String,
        /// The build's last word.
        why: String,
    },
}

impl Explain for Unready {
    fn code(&self) -> Code {
        match self {
            Self::Pending { .. } => Code("build_pending"),
            Self::Failed { .. } => Code("build_failed"),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Pending { .. } => Class::Unavailable,
            Self::Failed { .. } => Class::Conflict,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Pending { .. } => {
                "wait for its build; publish with --wait to wait at once".to_owned()
            }
            Self::Failed { .. } => {
                "read the build's log with `folio package info`, mend the source and publish again"
                    .to_owned()
            }
        })
    }
}

/// Reads a slot's meaning in a state.
pub(super) fn read(
    state: &dyn State,
    slot: &Slot,
    plans: &Plans,
    limits: &Limits,
) -> Result<Reading, StoreError> {
    let mut reader = Reader { state, slot, plans, limits, interests: HashSet::new() };
    let as_of = state.head()?;
    let meaning = match resolve::resolve(state, &slot.app, Kind::Function, &slot.reference) {
        Ok(resolved) => reader.resolved(resolved)?,
        Err(resolve::Error::Store(error)) => return Err(error),
        Err(error) => {
            reader.watch_all_names()?;
            Meaning::Nothing(Unresolved::of(&error))
        }
    };
    Ok(Reading { as_of, meaning, interests: reader.interests })
}

struct Reader<'a> {
    state: &'a dyn State,
    slot: &'a Slot,
    plans: &'a Plans,
    limits: &'a Limits,
    interests: HashSet<Interest>,
}

/// A version or draft to make a plan of.
struct Target<'a> {
    unit: &'a Unit,
    stage: Stage,
    snapshot: Digest,
}

impl Reader<'_> {
    fn resolved(&mut self, resolved: Resolved) -> Result<Meaning, StoreError> {
        let Resolved { unit, what } = resolved;
        let named =
            matches!(&self.slot.reference.name, Subject::Name(name) if *name == unit.key.name);
        if named {
            self.watch_name(&unit.key.name);
            match self.pinned(&unit, &what)? {
                Some(number) => {
                    self.interests.insert(Interest::Version(VersionKey { unit: unit.uid, number }));
                }
                None => {
                    self.interests.insert(Interest::Unit(unit.uid));
                }
            }
        } else {
            self.watch_all_names()?;
        }
        match what {
            What::Draft => {
                let draft = unit.draft.as_ref().expect("a draft was found");
                let (stage, snapshot) = (Stage::Draft, draft.snapshot);
                let plan = self.plan(&Target { unit: &unit, stage, snapshot })?;
                Ok(plan.map_or_else(Meaning::Nothing, |plan| Meaning::Versions(Split::only(plan))))
            }
            What::Version(number) => {
                self.split(&unit, &[Share { number, weight: folio_model::FULL_WEIGHT }])
            }
            What::Split(_, shares) => self.split(&unit, &shares),
        }
    }

    /// The version that a reference names by itself, so that only its own fate matters.
    fn pinned(&self, unit: &Unit, what: &What) -> Result<Option<Number>, StoreError> {
        match (&self.slot.reference.at, what) {
            (Some(Qualifier::Number(_)), What::Version(number)) => Ok(Some(*number)),
            (Some(Qualifier::Named(id)), What::Version(number)) => {
                let alias = self.state.alias(unit.uid, id)?;
                Ok(alias.is_none().then_some(*number))
            }
            _ => Ok(None),
        }
    }

    fn split(&mut self, unit: &Unit, shares: &[Share]) -> Result<Meaning, StoreError> {
        let mut plans = Vec::new();
        for share in shares.iter().filter(|share| share.weight > 0) {
            let key = VersionKey { unit: unit.uid, number: share.number };
            let version = self.state.version(key)?;
            let version = version.ok_or_else(|| {
                StoreError::corrupt(format!("version {} of {}", share.number, unit.key))
            })?;
            let stage = Stage::Version(version.number, version.id);
            match self.plan(&Target { unit, stage, snapshot: version.snapshot })? {
                Ok(plan) => plans.push((plan, share.weight)),
                Err(unresolved) => return Ok(Meaning::Nothing(unresolved)),
            }
        }
        Ok(Meaning::Versions(Split::new(plans)))
    }

    /// The plan of a version, or why there can be none.
    fn plan(&mut self, target: &Target<'_>) -> Result<Result<Arc<Plan>, Unresolved>, StoreError> {
        let number = match target.stage {
            Stage::Version(number, _) => Some(number),
            Stage::Draft => None,
        };
        let key = PlanKey { unit: target.unit.uid, number, digest: target.snapshot };
        if let Some(plan) = self.plans.find(&key) {
            return Ok(Ok(plan));
        }
        let spec = compose::function_spec(self.state, target.snapshot)?;
        let Some(environment) = environment::frozen(self.state, &spec)? else {
            let app = &target.unit.key.app;
            let error = environment::not_found(self.state, app, &spec.environment)?;
            return Ok(Err(Unresolved::of(&error)));
        };
        let package = compose::package_spec(self.state, spec.package.snapshot)?;
        Ok(match self.code(target, &package)? {
            Ok(code) => Ok(self.plans.keep(self.make(target, spec, environment, code))),
            Err(unready) => Err(Unresolved::of(&unready)),
        })
    }

    fn code(
        &mut self,
        target: &Target<'_>,
        package: &PackageSpec,
    ) -> Result<Result<Content, Unready>, StoreError> {
        if let Some(key) = package.build_key() {
            self.interests.insert(Interest::Build(key));
        }
        let of = format!("{}@{}", target.unit.key.name, target.stage);
        code(self.state, package, of)
    }

    fn make(
        &self,
        target: &Target<'_>,
        spec: FunctionSpec,
        environment: EnvironmentSpec,
        code: Content,
    ) -> Plan {
        Plan {
            app: target.unit.key.app.clone(),
            function: target.unit.key.name.clone(),
            unit: target.unit.uid,
            at: target.stage.clone(),
            digest: target.snapshot,
            environment: spec.environment,
            spec: environment,
            code,
            entrypoint: spec.entrypoint,
            limits: run_limits(&spec.run, self.limits),
            variables: spec.run.variables,
            meter: Arc::default(),
        }
    }

    /// Depends on every function that the reference could be read as.
    fn watch_all_names(&mut self) -> Result<(), StoreError> {
        let Reference { name: subject, at, .. } = &self.slot.reference;
        let mut names: Vec<Name> = Vec::new();
        if let Subject::Name(name) = subject {
            names.push(name.clone());
        }
        if at.is_none() {
            names.extend(subject.splits().map(|(name, _)| name));
        }
        for name in names {
            self.watch_name(&name);
            let key = UnitKey { app: self.slot.app.clone(), kind: Kind::Function, name };
            if let Some(unit) = self.state.unit(&key)? {
                self.interests.insert(Interest::Unit(unit.uid));
            }
        }
        Ok(())
    }

    fn watch_name(&mut self, name: &Name) {
        self.interests.insert(Interest::Name(self.slot.app.clone(), name.clone()));
    }
}

/// The files that a package runs, once they are there.
pub(crate) fn code(
    state: &dyn State,
    package: &PackageSpec,
    of: String,
) -> Result<Result<Content, Unready>, StoreError> {
    if let Some(content) = package.deployment {
        return Ok(Ok(content));
    }
    let Some(key) = package.build_key() else {
        return Err(StoreError::corrupt("a package without files"));
    };
    Ok(match state.build(key)? {
        Some(record) => match record.result {
            Some(content) => Ok(content),
            None => Err(Unready::Failed { of, why: record.failure.unwrap_or_default() }),
        },
        None => Err(Unready::Pending { of }),
    })
}

fn run_limits(run: &RunSettings, limits: &Limits) -> RunLimits {
    let count = |given: Option<u32>, default: u64| {
        given.unwrap_or_else(|| u32::try_from(default).unwrap_or(u32::MAX))
    };
    let scale_min = run.scale_min.unwrap_or(0);
    RunLimits {
        timeout: Duration::from_millis(run.timeout_ms.unwrap_or(limits.run_timeout_ms)),
        memory_bytes: run.memory_bytes.unwrap_or(limits.run_memory_bytes),
        cpu_millis: run.cpu_millis,
        concurrency: count(run.concurrency, limits.run_concurrency).max(1),
        idle: Duration::from_millis(run.idle_ms.unwrap_or(limits.run_idle_ms)),
        scale_min,
        scale_max: count(run.scale_max, limits.run_scale_max).max(scale_min).max(1),
        requests_per_worker: run.requests_per_worker,
    }
}
