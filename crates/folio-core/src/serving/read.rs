//! Reads what a reference means in one state, and what that depends on.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use folio_model::{
    AppName, Build, CONCURRENCY_MAX, Content, Digest, EnvironmentSpec, FunctionSpec, Kind, Name,
    Number, PackageSpec, Placement, Qualifier, Reference, RunSettings, Share, Subject, Unit,
    UnitKey, UnitUid, Version, VersionId, VersionKey,
};

use super::delivery::{self, Delivery};
use super::plans::{PlanKey, Plans};
use super::table::Interest;
use super::{Meaning, Slot, Split, Unresolved};
use crate::ports::runtime::{Plan, RunLimits, Stage, Variables};
use crate::ports::{State, StoreError, Vault};
use crate::resolve::{self, Resolved, What};
use crate::{Class, Code, Explain, Folio, Limits, compose, environment, view};

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
pub enum Unready {
    /// It is being built.
    #[error("{what} cannot be called yet: its build is not done")]
    Pending {
        /// The version, for people.
        what: String,
        /// Its package, as a reference.
        package: String,
    },
    /// It could not be built.
    #[error("{what} cannot be called: its build failed")]
    Failed {
        /// The version, for people.
        what: String,
        /// Its package, as a reference.
        package: String,
    },
}

impl Unready {
    /// What a build means for something that needs its result; none once it is there.
    pub(crate) fn new(build: Build, what: String, package: String) -> Option<Self> {
        match build {
            Build::None | Build::Succeeded => None,
            Build::Pending | Build::Running => Some(Self::Pending { what, package }),
            Build::Failed => Some(Self::Failed { what, package }),
        }
    }

    /// As [`Unready::new`], of a version of a function or package.
    pub(crate) fn of(
        state: &dyn State,
        unit: &Unit,
        version: &Version,
    ) -> Result<Option<Self>, StoreError> {
        let snapshot = view::snapshot(state, version.snapshot)?;
        let package = view::package_use(state, &snapshot, version.uses)?;
        let package = match package {
            Some(used) => package_name(&used.name, used.id.as_ref()),
            None => format!("{}@{}", unit.key.name, version.id),
        };
        let what = format!("version `{}` of {}", version.id, unit.key);
        Ok(Self::new(view::build(state, &snapshot)?, what, package))
    }
}

fn package_name(name: &Name, id: Option<&VersionId>) -> String {
    id.map_or_else(|| name.to_string(), |id| format!("{name}@{id}"))
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
            Self::Pending { package, .. } => {
                format!("wait for it; `folio pkg info {package}` shows how far it is")
            }
            Self::Failed { package, .. } => format!("see `folio pkg info {package}`"),
        })
    }
}

/// Reads a slot's meaning in a state.
pub(super) fn read(state: &dyn State, slot: &Slot, folio: &Folio) -> Result<Reading, StoreError> {
    let (plans, limits, vault) = (&folio.serving.plans, folio.limits(), folio.vault.as_ref());
    let mut reader = Reader { state, slot, plans, limits, vault, interests: HashSet::new() };
    let as_of = state.head()?;
    let found = resolve::resolve(state, &slot.app, Kind::Function, &slot.reference);
    let meaning = match found.map(|resolved| reader.resolved(resolved)) {
        // Whoever calls this is told; what else hosts show is none the worse for it.
        Ok(Err(error)) if error.is_lasting() => {
            tracing::error!(%error, app.name = %slot.app, "`{}` cannot be read; calls of it fail", slot.reference);
            reader.watch_all_names()?;
            Meaning::Nothing(Unresolved::of(&error))
        }
        Ok(meaning) => meaning?,
        Err(resolve::Error::Store(error)) => return Err(error),
        Err(error) => {
            reader.watch_all_names()?;
            Meaning::Nothing(Unresolved::of(&error))
        }
    };
    Ok(Reading { as_of, meaning, interests: reader.interests })
}

/// What a function means in a release that holds it; nothing if it holds no version that can be called.
pub(super) fn of_placement(
    state: &dyn State,
    folio: &Folio,
    app: &AppName,
    placed: &Placement,
) -> Result<Option<Meaning>, StoreError> {
    let Some((number, id, snapshot)) = placed.latest.clone() else { return Ok(None) };
    let reference = Reference::to(placed.name.clone()).at(Qualifier::Number(number));
    let slot = Slot::empty(app, &reference);
    let (plans, limits, vault) = (&folio.serving.plans, folio.limits(), folio.vault.as_ref());
    let mut reader = Reader { state, slot: &slot, plans, limits, vault, interests: HashSet::new() };
    let key = UnitKey { app: app.clone(), kind: Kind::Function, name: placed.name.clone() };
    let stage = Stage::Version(number, id);
    let plan = reader.plan(&Target { unit: placed.uid, key: &key, stage, snapshot, uses: None })?;
    Ok(Some(plan.map_or_else(Meaning::Nothing, |plan| Meaning::Versions(Split::only(plan)))))
}

struct Reader<'a> {
    state: &'a dyn State,
    slot: &'a Slot,
    plans: &'a Plans,
    limits: &'a Limits,
    vault: &'a dyn Vault,
    interests: HashSet<Interest>,
}

/// A version or draft to make a plan of.
struct Target<'a> {
    unit: UnitUid,
    key: &'a UnitKey,
    stage: Stage,
    snapshot: Digest,
    uses: Option<VersionKey>,
}

impl<'a> Target<'a> {
    fn of(unit: &'a Unit, stage: Stage, snapshot: Digest, uses: Option<VersionKey>) -> Self {
        Self { unit: unit.uid, key: &unit.key, stage, snapshot, uses }
    }
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
                let plan = self.plan(&Target::of(&unit, stage, snapshot, draft.uses))?;
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
            let (snapshot, uses) = (version.snapshot, version.uses);
            match self.plan(&Target::of(unit, stage, snapshot, uses))? {
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
        let key = PlanKey { unit: target.unit, number, digest: target.snapshot };
        if let Some(plan) = self.plans.find(&key) {
            return Ok(Ok(plan));
        }
        let spec = compose::function_spec(self.state, target.snapshot)?;
        let Some(environment) = environment::frozen(self.state, &spec)? else {
            let app = &target.key.app;
            let error = environment::not_found(self.state, app, &spec.environment)?;
            return Ok(Err(Unresolved::of(&error)));
        };
        let package = compose::package_spec(self.state, spec.package.snapshot)?;
        let Some(code) = self.code(&package)? else {
            return Ok(Err(Unresolved::of(&self.unready(target, &spec, &package)?)));
        };
        let app = &target.key.app;
        let delivery = match delivery::open(self.state, self.vault, app, &spec)? {
            Ok(delivery) => delivery,
            Err(error) => return Ok(Err(Unresolved::of(&error))),
        };
        let plan = self.make(target, spec, environment, code);
        let Delivery { variables, files } = delivery;
        Ok(Ok(self.plans.keep(Plan { variables, files, ..plan })))
    }

    /// The files that a package runs, once they are there.
    fn code(&mut self, package: &PackageSpec) -> Result<Option<Content>, StoreError> {
        if let Some(content) = package.deployment {
            return Ok(Some(content));
        }
        let key = package.build_key().ok_or_else(|| StoreError::corrupt("a package"))?;
        self.interests.insert(Interest::Build(key));
        Ok(self.state.build(key)?.and_then(|record| record.result))
    }

    fn unready(
        &self,
        target: &Target<'_>,
        spec: &FunctionSpec,
        package: &PackageSpec,
    ) -> Result<Unready, StoreError> {
        let what = match &target.stage {
            Stage::Version(_, id) => format!("version `{id}` of {}", target.key),
            Stage::Draft => format!("the draft of {}", target.key),
        };
        let used = target.uses.map(|key| self.state.version(key)).transpose()?.flatten();
        let name = package_name(&spec.package.name, used.as_ref().map(|version| &version.id));
        let build = view::package_build(self.state, package)?;
        Unready::new(build, what, name).ok_or_else(|| StoreError::corrupt("the result of a build"))
    }

    fn make(
        &self,
        target: &Target<'_>,
        spec: FunctionSpec,
        environment: EnvironmentSpec,
        code: Content,
    ) -> Plan {
        Plan {
            app: target.key.app.clone(),
            function: target.key.name.clone(),
            unit: target.unit,
            at: target.stage.clone(),
            digest: target.snapshot,
            environment: spec.environment,
            spec: environment,
            code,
            entrypoint: spec.entrypoint,
            access: spec.run.access.unwrap_or_default(),
            limits: run_limits(&spec.run, self.limits),
            variables: Variables::default(),
            files: Vec::new(),
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

fn run_limits(run: &RunSettings, limits: &Limits) -> RunLimits {
    let count = |given: Option<u32>, default: u64| {
        given.unwrap_or_else(|| u32::try_from(default).unwrap_or(u32::MAX))
    };
    let scale_min = run.scale_min.unwrap_or(0);
    RunLimits {
        timeout: Duration::from_millis(run.timeout_ms.unwrap_or(limits.run_timeout_ms)),
        memory_bytes: run.memory_bytes.unwrap_or(limits.run_memory_bytes),
        cpu_millis: run.cpu_millis,
        concurrency: count(run.concurrency, limits.run_concurrency).clamp(1, CONCURRENCY_MAX),
        idle: Duration::from_millis(run.idle_ms.unwrap_or(limits.run_idle_ms)),
        scale_min,
        scale_max: count(run.scale_max, limits.run_scale_max).max(scale_min).max(1),
        requests_per_worker: run.requests_per_worker,
    }
}
