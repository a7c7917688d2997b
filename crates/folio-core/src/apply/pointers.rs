//! The aliases and canaries of an apply: what they are to point to, and what has to move for that.
//!
//! They are no units, so they have no versions: an alias that is no longer asked for stays, and a canary that is
//! asked for as before is left alone, wherever it has got to.

mod moving;
mod shares;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use folio_kinds::spec::{AliasAsked, CanaryAsked, Part, PointerAsked, Words};
use folio_model::{
    AppName, CanaryPlan, CanarySubject, Kind, Name, Number, Owner, RouteSpec, Share, Snapshot,
    TriggerSpec, Unit, UnitKey, VersionId, Weights,
};

use uuid::Uuid;

pub(super) use self::moving::{Made, callable, carry_out};
use super::plan::{Step, place};
use super::said::{Said, Saying};
use super::{
    AppliedPointer, Error, Fault, Form, Others, Outcome, PointerKind, Rest, Scope, Wanted, Wish,
};
use crate::canary::PlanFields;
use crate::object::identity;
use crate::ports::{StandingCanary, State, StoreError};
use crate::route::{self, served};

/// A pointer that an apply asks for.
pub(super) struct PointerWish {
    /// Where it is written.
    pub(super) at: String,
    /// In which words.
    pub(super) words: Words,
    pub(super) asked: PointerAsked,
    /// What its manifest says that is no part of where it points.
    pub(super) said: Said,
}

impl PointerWish {
    fn fault(&self, part: Part, what: String) -> Fault {
        Fault { at: self.at.clone(), path: part.path(self.words).to_owned(), what }
    }
}

/// A pointer that is to move.
pub(super) enum PointerStep {
    Alias(AliasMove),
    Canary(Box<CanaryStart>),
    Forget(Box<StandingCanary>),
    /// One that points to the right place, and of which something else is to be said.
    Say(Box<Saying>),
}

/// An alias that is to point somewhere else.
pub(super) struct AliasMove {
    function: Name,
    alias: VersionId,
    shares: Shares,
    exists: bool,
}

/// A canary that is to begin, in the place of another.
pub(super) struct CanaryStart {
    /// Where it is written.
    at: String,
    asked: CanaryAsked,
    plan: CanaryPlan,
    before: Option<StandingCanary>,
}

/// A version that an alias is to point to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionAt {
    /// One that is there.
    Number(Number),
    /// The one that the same apply makes.
    Made,
}

/// The versions that an alias is to point to, each with its share.
type Shares = Vec<(VersionAt, u32)>;

/// What is to become of pointers.
#[derive(Default)]
pub(super) struct Pointers {
    pub(super) steps: Vec<PointerStep>,
    pub(super) faults: Vec<Fault>,
    pub(super) foreign: Vec<Fault>,
    pub(super) unchanged: u64,
    /// What waits for something, and for what.
    pub(super) remarks: Vec<String>,
}

impl PointerStep {
    /// What becomes of the pointer; nothing if another step says so.
    pub(super) fn outcome(&self) -> Option<AppliedPointer> {
        let pointer = |kind, name, what| AppliedPointer { kind, name, what };
        let set = |exists| if exists { Outcome::Updated } else { Outcome::Created };
        Some(match self {
            Self::Alias(AliasMove { function, alias, exists, .. }) => {
                pointer(PointerKind::Alias, format!("{function}@{alias}"), set(*exists))
            }
            Self::Canary(start) => {
                let name = start.asked.name.to_string();
                pointer(PointerKind::Canary, name, set(start.before.is_some()))
            }
            Self::Forget(found) => {
                pointer(PointerKind::Canary, found.name.to_string(), Outcome::Deleted)
            }
            Self::Say(saying) => return saying.of.clone(),
        })
    }
}

/// The aliases that are asked for, each of its function.
pub(super) fn aliases(wishes: &[Arc<PointerWish>]) -> BTreeSet<(&Name, &VersionId)> {
    let asked = wishes.iter().map(|wish| &wish.asked);
    let alias = asked.filter_map(|asked| match asked {
        PointerAsked::Alias(asked) => Some((&asked.function, &asked.alias)),
        PointerAsked::Canary(_) => None,
    });
    alias.collect()
}

/// Plans every pointer that is asked for, given what becomes of units.
pub(super) fn plan(
    state: &dyn State,
    app: &AppName,
    wanted: &Wanted,
    steps: &[Step],
) -> Result<Pointers, Error> {
    let mut planner = Planner { state, app, wanted, steps, pointers: Pointers::default() };
    let mut wishes: Vec<_> = wanted.pointers.iter().collect();
    wishes.sort_by_cached_key(|wish| place(&wish.at));
    let mut seen = HashMap::new();
    for wish in wishes {
        let what = match &wish.asked {
            PointerAsked::Alias(asked) => {
                format!("alias '{}' of '{}'", asked.alias, asked.function)
            }
            PointerAsked::Canary(asked) => format!("canary '{}'", asked.name),
        };
        if let Some(first) = seen.insert(what.clone(), &wish.at) {
            planner.fault(wish, Part::Name, format!("Duplicate {what}, first defined in {first}"));
            continue;
        }
        match &wish.asked {
            PointerAsked::Alias(asked) => planner.alias(wish, asked)?,
            PointerAsked::Canary(asked) => planner.canary(wish, asked)?,
        }
    }
    if wanted.rest == Rest::Delete {
        planner.forget()?;
    }
    Ok(planner.pointers)
}

struct Planner<'a> {
    state: &'a dyn State,
    app: &'a AppName,
    wanted: &'a Wanted,
    steps: &'a [Step],
    pointers: Pointers,
}

impl Planner<'_> {
    fn fault(&mut self, wish: &PointerWish, part: Part, what: String) {
        self.pointers.faults.push(wish.fault(part, what));
    }

    fn key(&self, kind: Kind, name: &Name) -> UnitKey {
        UnitKey { app: self.app.clone(), kind, name: name.clone() }
    }

    fn alias(&mut self, wish: &PointerWish, asked: &AliasAsked) -> Result<(), Error> {
        let key = self.key(Kind::Function, &asked.function);
        let unit = self.state.unit(&key)?.filter(Unit::is_visible);
        let made = self.wanted.form == Form::Versions && self.makes(&key);
        let is_unpublished = unit.as_ref().is_none_or(|unit| unit.newest.is_none());
        if is_unpublished && self.wanted.form == Form::Drafts && self.asks_for(&asked.function) {
            self.pointers.remarks.push(format!(
                "alias {function}@{} waits until {function} has a version; `folio spec version apply` makes one",
                asked.alias,
                function = asked.function
            ));
            return Ok(());
        }
        if unit.is_none() && !made {
            if self.is_faulty(&asked.function) {
                return Ok(());
            }
            let what = format!(
                "alias '{}' references function '{}', which doesn't exist in the specs",
                asked.alias, asked.function
            );
            self.fault(wish, Part::Function, what);
            return Ok(());
        }
        if let Some(unit) = &unit
            && self.state.version_by_id(unit.uid, &asked.alias)?.is_some()
        {
            let what = format!("'{}' is the id of a version of '{}'", asked.alias, asked.function);
            self.fault(wish, Part::Name, what);
            return Ok(());
        }
        if let Some(owner) = unit.as_ref().and_then(|unit| unit.owner.as_ref())
            && self.is_of_another(owner)
            && !self.asks_for(&asked.function)
        {
            let (Owner { name, uid }, function) = (owner, &asked.function);
            let what = format!(
                "alias `{}` is of function `{function}`, which belongs to deployment `{name}` ({uid})",
                asked.alias
            );
            self.pointers.foreign.push(wish.fault(Part::Function, what));
            return Ok(());
        }
        let shares = match self.shares((unit.as_ref(), made), asked)? {
            Ok(shares) => shares,
            Err((part, what)) => {
                let what = format!("alias '{}' of '{}': {what}", asked.alias, asked.function);
                self.fault(wish, part, what);
                return Ok(());
            }
        };
        let standing = match &unit {
            Some(unit) => self.state.alias(unit.uid, &asked.alias)?,
            None => None,
        };
        let exists = standing.is_some();
        let same = weights(&shares, None)
            .is_some_and(|to| standing.is_some_and(|standing| standing.weights == to));
        let object = identity::function_alias(self.app, &asked.function, &asked.alias);
        let name = format!("{}@{}", asked.function, asked.alias);
        if same {
            return self.as_it_was(wish, object, (PointerKind::Alias, name));
        }
        self.say(wish, object, None)?;
        let (function, alias) = (asked.function.clone(), asked.alias.clone());
        let moved = AliasMove { function, alias, shares, exists };
        self.pointers.steps.push(PointerStep::Alias(moved));
        Ok(())
    }

    /// Whether a function has no version only because of something that is wrong with its own manifest.
    fn is_faulty(&self, function: &Name) -> bool {
        self.wanted.unread.may_have(Kind::Function, function)
            || (self.wanted.form == Form::Versions && self.asks_for(function))
    }

    /// Whether a function is asked for.
    fn asks_for(&self, function: &Name) -> bool {
        let is_it = |wish: &Arc<Wish>| wish.spec.kind() == Kind::Function && wish.name == *function;
        self.wanted.wishes.iter().any(is_it)
    }

    /// Whether what a deployment owns is none of this one's business.
    fn is_of_another(&self, owner: &Owner) -> bool {
        let adopts = self.wanted.others == Others::Adopt;
        self.wanted.owner.is_some() && !adopts && !self.wanted.owns(Some(owner))
    }

    /// Whether the apply makes a version of a unit.
    fn makes(&self, key: &UnitKey) -> bool {
        self.steps.iter().any(|step| step.key == *key)
    }

    fn canary(&mut self, wish: &PointerWish, asked: &CanaryAsked) -> Result<(), Error> {
        let fields = PlanFields {
            step: asked.step.map(|percent| percent * 100),
            interval_ms: asked.interval_ms,
            threshold_percent: asked.threshold,
            ..PlanFields::default()
        };
        let plan = match fields.over(&CanaryPlan::default()) {
            Ok(plan) => plan,
            Err(error) => {
                self.fault(wish, Part::Whole, format!("canary '{}': {error}", asked.name));
                return Ok(());
            }
        };
        let Some(route) = self.route(&asked.route)? else {
            if self.wanted.unread.may_have(Kind::Trigger, &asked.route) {
                return Ok(());
            }
            let what = format!(
                "canary '{}' references trigger '{}', which doesn't exist in the specs",
                asked.name, asked.route
            );
            self.fault(wish, Part::Route, what);
            return Ok(());
        };
        if served(&asked.old) == served(&asked.new) {
            let what = format!("canary '{}': `{}` cannot replace itself", asked.name, asked.new);
            self.fault(wish, Part::New, what);
            return Ok(());
        }
        for (part, function) in [(Part::Old, &asked.old), (Part::New, &asked.new)] {
            let mut targets = route.targets.iter();
            if !targets.any(|target| served(&target.function) == served(function)) {
                let what = format!(
                    "canary '{}': trigger '{}' does not lead to function '{function}'",
                    asked.name, asked.route
                );
                self.fault(wish, part, what);
                return Ok(());
            }
        }
        let before = self.state.canary(self.app, &asked.name)?;
        let object = identity::canary(self.app, &asked.name);
        if let Some(found) = &before {
            let owned = self.wanted.owns(found.canary.owner.as_ref());
            if !owned && self.wanted.others == Others::Refuse {
                let what = format!("canary `{}` was not made by this deployment", asked.name);
                self.pointers.foreign.push(wish.fault(Part::Name, what));
                return Ok(());
            }
            // What belongs to no deployment is asked for by whoever writes it.
            if (owned || self.wanted.owner.is_none()) && is_asked(found, asked, &plan) {
                return self.as_it_was(wish, object, (PointerKind::Canary, asked.name.to_string()));
            }
        }
        self.say(wish, object, None)?;
        let (at, asked) = (wish.at.clone(), asked.clone());
        let start = CanaryStart { at, asked, plan, before };
        self.pointers.steps.push(PointerStep::Canary(Box::new(start)));
        Ok(())
    }

    /// Notes a pointer that points where it should, except perhaps for what is said about it.
    fn as_it_was(
        &mut self,
        wish: &PointerWish,
        object: Uuid,
        (kind, name): (PointerKind, String),
    ) -> Result<(), Error> {
        let of = AppliedPointer { kind, name, what: Outcome::Updated };
        if !self.say(wish, object, Some(of))? {
            self.pointers.unchanged += 1;
        }
        Ok(())
    }

    /// Has said about a pointer what its manifest says. Whoever puts a single one says that themselves.
    fn say(
        &mut self,
        wish: &PointerWish,
        object: Uuid,
        of: Option<AppliedPointer>,
    ) -> Result<bool, Error> {
        if self.wanted.scope == Scope::App {
            return Ok(false);
        }
        let saying = Saying::plan(self.state, (self.app, object), &wish.said)?;
        let saying = saying.map(|saying| PointerStep::Say(Box::new(Saying { of, ..saying })));
        let is_new = saying.is_some();
        self.pointers.steps.extend(saying);
        Ok(is_new)
    }

    /// A route as it is asked for, or else as it stands.
    fn route(&self, name: &Name) -> Result<Option<RouteSpec>, StoreError> {
        for wish in &self.wanted.wishes {
            if let Snapshot::Trigger(TriggerSpec::Http(spec)) = &wish.spec
                && wish.name == *name
            {
                return Ok(Some(spec.clone()));
            }
        }
        standing_route(self.state, &self.key(Kind::Trigger, name))
    }

    /// Canaries that the deployment owns and no longer asks for.
    fn forget(&mut self) -> Result<(), StoreError> {
        let wished = |found: &StandingCanary| {
            self.wanted.pointers.iter().any(|wish| {
                matches!(&wish.asked, PointerAsked::Canary(asked) if asked.name == found.name)
            })
        };
        let owned = |found: &StandingCanary| self.wanted.owns(found.canary.owner.as_ref());
        let found = self.state.canaries(Some(self.app))?.into_iter();
        let gone: Vec<_> = found.filter(|found| owned(found) && !wished(found)).collect();
        self.pointers
            .steps
            .extend(gone.into_iter().map(|found| PointerStep::Forget(Box::new(found))));
        Ok(())
    }
}

/// Whether a canary is what a manifest asks for, wherever it has got to.
fn is_asked(found: &StandingCanary, asked: &CanaryAsked, plan: &CanaryPlan) -> bool {
    match &found.canary.subject {
        CanarySubject::Route { route, old, new, .. } => {
            *route == asked.route
                && served(old) == served(&asked.old)
                && served(new) == served(&asked.new)
                && found.canary.plan == *plan
        }
        CanarySubject::Alias { .. } | CanarySubject::Live { .. } => false,
    }
}

fn standing_route(state: &dyn State, key: &UnitKey) -> Result<Option<RouteSpec>, StoreError> {
    let Some(unit) = state.unit(key)? else { return Ok(None) };
    Ok(route::standing(state, &unit)?.map(|(_, spec)| spec))
}

fn weights(shares: &[(VersionAt, u32)], made: Option<Number>) -> Option<Weights> {
    let share = |(at, weight): &(VersionAt, u32)| {
        let number = match at {
            VersionAt::Number(number) => *number,
            VersionAt::Made => made?,
        };
        Some(Share { number, weight: *weight })
    };
    let shares: Option<Vec<_>> = shares.iter().map(share).collect();
    Weights::new(shares?).ok()
}
