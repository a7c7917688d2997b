//! Finds out what an apply has to do, by comparing digests with what is there. Decides everything and changes
//! nothing. Start at [`plan`].

mod below;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use folio_kinds::spec::Part;
use folio_model::{
    AppName, Content, Digest, Kind, Name, Snapshot, SnapshotError, Unit, UnitKey, UnitUid,
    VersionKey,
};

use super::pointers::{self, PointerStep};
use super::removal::{self, Removal};
use super::triggers::{self, Taken, Within};
use super::work::{Places, Work};
use super::{Error, Fault, Form, Others, Rest, Wanted, Wish, statics};
use crate::ports::{State, StoreError};
use crate::publish;

/// Everything an apply has to do.
pub(super) struct Plan {
    /// Units that are to become something else, those first that others stand on.
    pub(super) steps: Vec<Step>,
    /// Units that are as they should be, but belong to nobody or to another deployment.
    pub(super) adopted: Vec<Unit>,
    /// Drafts that a version takes the place of.
    pub(super) drafts: Vec<Unit>,
    /// Aliases and canaries that are to move.
    pub(super) pointers: Vec<PointerStep>,
    /// Units that go.
    pub(super) removal: Removal,
    /// The app's last entry when this was planned.
    pub(super) entry: Option<u64>,
    /// How many are as they should be.
    pub(super) unchanged: u64,
    /// What was left alone, and why.
    pub(super) remarks: Vec<String>,
}

/// Units that are there, by name.
pub(super) type Units = HashMap<(Kind, Name), Unit>;

/// A unit that is to become something else.
pub(super) struct Step {
    /// The wish it comes from.
    pub(super) wish: usize,
    pub(super) key: UnitKey,
    pub(super) unit: Option<Unit>,
    pub(super) snapshot: Snapshot,
    pub(super) archive: Option<Digest>,
    /// The package version a function uses.
    pub(super) uses: Uses,
}

/// The package version that a function is to use.
pub(super) enum Uses {
    /// None: it is no function, or a draft that stands on a draft.
    Nothing,
    /// One that is there.
    Version(VersionKey),
    /// The one that the same apply makes of a package.
    Made(Name),
}

impl Plan {
    /// Whether everything is as it should be.
    pub(super) fn is_empty(&self) -> bool {
        self.adopted.is_empty() && self.pointers.is_empty() && !self.makes_an_app_version()
    }

    /// Whether what a unit is changes, and not only whose it is.
    pub(super) fn makes_an_app_version(&self) -> bool {
        !(self.steps.is_empty() && self.drafts.is_empty() && self.removal.is_empty())
    }

    /// The content of new packages, with the wishes that brought them.
    pub(super) fn contents(&self) -> impl Iterator<Item = (usize, Content)> {
        self.steps.iter().flat_map(|step| step.snapshot.contents().map(|found| (step.wish, found)))
    }
}

/// Compares what is asked for with what is there.
pub(super) fn plan(state: &dyn State, app: &AppName, wanted: &Wanted) -> Result<Plan, Error> {
    let mut faults = wanted.faults.clone();
    let wishes = places(&wanted.wishes, &mut faults);
    let work = Work::of(state, app, wanted, &wishes)?;
    let mut planner = Planner {
        state,
        app,
        wanted,
        wishes,
        units: HashMap::new(),
        faults,
        foreign: Vec::new(),
        environments: HashMap::new(),
        packages: HashMap::new(),
        configs: HashMap::new(),
        plan: Plan {
            steps: Vec::new(),
            adopted: Vec::new(),
            drafts: Vec::new(),
            pointers: Vec::new(),
            removal: Removal::default(),
            entry: Some(state.last_entry(app)?),
            unchanged: work.left_alone(),
            remarks: Vec::new(),
        },
        work,
    };
    planner.find_units()?;
    for kind in Kind::ALL_BY_NEED {
        planner.each(kind)?;
    }
    planner.sort();
    planner.triggers()?;
    let statics = planner.work.statics.then(|| statics::faults(&wanted.wishes));
    planner.faults.extend(statics.into_iter().flatten());
    let pointers = pointers::plan(state, app, wanted, &planner.plan.steps)?;
    planner.faults.extend(pointers.faults);
    planner.foreign.extend(pointers.foreign);
    planner.plan.pointers = pointers.steps;
    planner.plan.unchanged += pointers.unchanged;
    planner.plan.remarks = pointers.remarks;
    if !planner.faults.is_empty() {
        planner.faults.extend(planner.foreign.into_iter().map(Fault::of_another));
        planner.faults.sort_by_cached_key(|fault| place(&fault.at));
        return Err(Error::Faults(planner.faults));
    }
    if !planner.foreign.is_empty() {
        let name = wanted.owner.as_ref().map(|owner| owner.name.clone()).unwrap_or_default();
        return Err(Error::Foreign { name, faults: planner.foreign });
    }
    let mut plan = planner.plan;
    if wanted.rest == Rest::Delete && planner.work.removal {
        plan.removal = removal::plan(state, app, wanted, &planner.wishes)?;
        plan.remarks.append(&mut plan.removal.remarks);
    }
    Ok(plan)
}

/// Notes where each wish is; refuses two for the same unit.
fn places<'a>(wishes: &'a [Arc<Wish>], faults: &mut Vec<Fault>) -> Places<'a> {
    let mut places = HashMap::with_capacity(wishes.len());
    for (at, wish) in wishes.iter().enumerate() {
        let kind = wish.spec.kind();
        if let Some(other) = places.insert((kind, &wish.name), at) {
            let mut both = [&wishes[other], wish];
            both.sort_by_cached_key(|wish| place(&wish.at));
            let [first, second] = both;
            let what = format!("Duplicate {kind} '{}', first defined in {}", wish.name, first.at);
            faults.push(second.fault(Part::Name, what));
        }
    }
    places
}

/// A place in the order of files, lines and columns.
pub(super) fn place(at: &str) -> (String, Vec<u64>) {
    let mut numbers: Vec<u64> = Vec::new();
    let mut file = at;
    while let Some((rest, number)) = file.rsplit_once(':')
        && let Ok(number) = number.parse()
    {
        numbers.insert(0, number);
        file = rest;
    }
    (file.to_owned(), numbers)
}

struct Planner<'a> {
    state: &'a dyn State,
    app: &'a AppName,
    wanted: &'a Wanted,
    wishes: Places<'a>,
    work: Work,
    /// The units that are there already.
    units: Units,
    faults: Vec<Fault>,
    foreign: Vec<Fault>,
    /// The digests of the environments that are asked for.
    environments: HashMap<Name, Digest>,
    packages: HashMap<Name, PackageNow>,
    /// The digests of the configs that are asked for.
    configs: HashMap<Name, Digest>,
    plan: Plan,
}

/// What a package is after the apply.
struct PackageNow {
    digest: Digest,
    /// The version that already is this.
    version: Option<VersionKey>,
}

impl Planner<'_> {
    /// Finds the units that are there and whose they are.
    fn find_units(&mut self) -> Result<(), Error> {
        for (place, wish) in self.wanted.wishes.iter().enumerate() {
            if !self.work.has(place) {
                continue;
            }
            let (kind, name) = (wish.spec.kind(), wish.name.clone());
            let key = UnitKey { app: self.app.clone(), kind, name };
            let Some(unit) = self.state.unit(&key)?.filter(Unit::is_visible) else { continue };
            let owned = self.wanted.owns(unit.owner.as_ref());
            if !owned && self.wanted.others == Others::Refuse {
                let whose = unit.owner.as_ref().map_or_else(
                    || "was not made by a deployment".to_owned(),
                    |owner| format!("belongs to deployment `{}` ({})", owner.name, owner.uid),
                );
                let what = format!("{key} {whose}");
                self.foreign.push(wish.fault(Part::Name, what));
            }
            self.units.insert((kind, key.name), unit);
        }
        Ok(())
    }

    /// Puts what is to be done in the order in which it is written, whatever order it was sent in.
    fn sort(&mut self) {
        let wishes = &self.wanted.wishes;
        self.plan
            .steps
            .sort_by_cached_key(|step| (step.key.kind.need(), place(&wishes[step.wish].at)));
    }

    /// Checks triggers among each other, and against those that stay.
    fn triggers(&mut self) -> Result<(), Error> {
        if !self.work.triggers {
            return Ok(());
        }
        let mut replaced: BTreeSet<UnitUid> = uids(&self.units, Kind::Trigger).collect();
        if let (Rest::Delete, Some(owner)) = (self.wanted.rest, &self.wanted.owner) {
            let owned = self.state.owned(self.app, &owner.uid)?;
            replaced.extend(owned.iter().map(|unit| unit.uid));
        }
        let wishes = &self.wanted.wishes;
        let scope = self.wanted.scope;
        let (unread, taken) = (&self.wanted.unread, Taken::Now);
        let aliases = pointers::aliases(&self.wanted.pointers);
        let within = Within { app: self.app, scope, unread, taken, aliases };
        self.faults.extend(triggers::faults(self.state, &within, wishes, replaced)?);
        Ok(())
    }

    /// Plans every unit of one kind.
    fn each(&mut self, kind: Kind) -> Result<(), Error> {
        let wanted = self.wanted;
        for (place, wish) in wanted.wishes.iter().enumerate() {
            if !self.work.has(place) || wish.spec.kind() != kind {
                continue;
            }
            let (snapshot, uses) = match &wish.spec {
                Snapshot::Package(spec) => match self.package(wish, spec)? {
                    Some(snapshot) => (snapshot, Uses::Nothing),
                    None => {
                        self.check(wish, &wish.spec);
                        continue;
                    }
                },
                Snapshot::Function(spec) => match self.function(wish, spec)? {
                    Some(found) => found,
                    None => {
                        self.check(wish, &wish.spec);
                        continue;
                    }
                },
                Snapshot::Environment(_)
                | Snapshot::Trigger(_)
                | Snapshot::Config(_)
                | Snapshot::Secret(_)
                | Snapshot::Static(_) => (wish.spec.clone(), Uses::Nothing),
            };
            if kind == Kind::Config && self.wanted.form == Form::Drafts {
                let what = "configs have no drafts; use `folio spec version apply`".to_owned();
                self.fault(wish, Part::Whole, what);
                continue;
            }
            if !self.check(wish, &snapshot) {
                continue;
            }
            self.step(place, wish, snapshot, uses)?;
        }
        Ok(())
    }

    /// Whether a spec makes sense by itself.
    fn check(&mut self, wish: &Wish, spec: &Snapshot) -> bool {
        match spec.validate() {
            Ok(()) => true,
            Err(error) => {
                self.fault(wish, part_of(&error), error.to_string());
                false
            }
        }
    }

    /// Compares one unit with what is there.
    fn step(
        &mut self,
        place: usize,
        wish: &Wish,
        snapshot: Snapshot,
        uses: Uses,
    ) -> Result<(), Error> {
        let kind = snapshot.kind();
        let digest = snapshot.digest();
        let unit = self.units.get(&(kind, wish.name.clone())).cloned();
        let drafts =
            self.wanted.form == Form::Drafts && matches!(kind, Kind::Function | Kind::Package);
        let same = match &unit {
            Some(unit) => self.same(unit, digest, drafts)?,
            None => None,
        };
        match kind {
            Kind::Environment => {
                self.environments.insert(wish.name.clone(), digest);
            }
            Kind::Package => {
                let version = same.as_ref().and_then(|same| same.version);
                self.packages.insert(wish.name.clone(), PackageNow { digest, version });
            }
            Kind::Config => {
                self.configs.insert(wish.name.clone(), digest);
            }
            _ => {}
        }
        match (same, unit) {
            (Some(_), Some(unit)) => self.unchanged(unit),
            (_, unit) => {
                let key = UnitKey { app: self.app.clone(), kind, name: wish.name.clone() };
                let archive = wish.archive;
                self.plan.steps.push(Step { wish: place, key, unit, snapshot, archive, uses });
            }
        }
        Ok(())
    }

    /// Whether a unit already is what is asked for, and which version of it is.
    fn same(&self, unit: &Unit, digest: Digest, drafts: bool) -> Result<Option<Same>, StoreError> {
        if drafts && let Some(draft) = &unit.draft {
            return Ok((draft.snapshot == digest).then_some(Same { version: draft.uses }));
        }
        let version = publish::same_as_latest(self.state, unit, digest)?;
        Ok(version.map(|version| Same {
            version: Some(VersionKey { unit: unit.uid, number: version.number }),
        }))
    }

    /// Notes a unit that is as it should be, except perhaps for whose it is, or for a draft beside it.
    fn unchanged(&mut self, unit: Unit) {
        let owned = self.wanted.owner.is_none() || unit.owner == self.wanted.owner;
        let drafted = self.wanted.form == Form::Versions && unit.draft.is_some();
        if drafted {
            self.plan.drafts.push(unit.clone());
        }
        if !owned {
            self.plan.adopted.push(unit);
        }
        self.plan.unchanged += 1;
    }

    fn fault(&mut self, wish: &Wish, part: Part, what: String) {
        self.faults.push(wish.fault(part, what));
    }
}

/// The part of a manifest that makes no sense by itself, as far as one can be named.
fn part_of(error: &SnapshotError) -> Part {
    match error {
        SnapshotError::NothingToBuild => Part::BuildCommand,
        SnapshotError::Path { .. } => Part::Path,
        SnapshotError::Weights(_) | SnapshotError::ForeignTarget(_) => Part::Targets,
        SnapshotError::Queue(_) => Part::Queue,
        SnapshotError::Topic { .. } => Part::Topic,
        SnapshotError::NoCluster(_) | SnapshotError::Watched(_) => Part::Watched,
        _ => Part::Whole,
    }
}

/// A unit that already is what is asked for.
struct Same {
    version: Option<VersionKey>,
}

/// The uids of the units that are there, of one kind.
fn uids<'a>(units: &'a Units, kind: Kind) -> impl Iterator<Item = UnitUid> + 'a {
    units.values().filter(move |unit| unit.key.kind == kind).map(|unit| unit.uid)
}
