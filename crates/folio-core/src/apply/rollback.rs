//! Rolls an app back to a group: makes everything what it was in an app version of the past, as one entry.
//!
//! Nothing is taken out of the past: what differs gets a new version with the old snapshot, which shares everything it
//! holds, and all of them have one new id. Triggers and static items that came later go, so that requests are answered
//! as they were; other units that came later stay where they are, since nothing leads to them any more. Aliases and
//! tags say which versions they mean, and stay. Start at [`Folio::roll_back_group`].

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use folio_kinds::spec::Words;
use folio_model::{
    AppName, AppVersion, Digest, Draft, Kind, Name, Number, Origin, Owner, Placement, Snapshot,
    Unit, UnitKey, UnitUid, VersionId, VersionKey,
};

use super::carry_out::{free_id, publish, remove};
use super::plan::{Step, Uses};
use super::removal::Doomed;
use super::triggers::{self, Taken, Within};
use super::{Applied, AppliedUnit, Error, Fault, Outcome, Run, Scope, Unread, Wish};
use crate::builder::Builder;
use crate::history::{self, Moment};
use crate::ports::{State, StoreError};
use crate::request::Caller;
use crate::view::{self, Done};
use crate::{Folio, code, publish as publishing};

/// Everything a rollback has to do.
struct Rollback {
    to: VersionId,
    steps: Vec<Step>,
    /// Whose those were that are gone.
    owners: HashMap<UnitKey, Owner>,
    /// Drafts that are to be what they were.
    drafts: Vec<(UnitKey, Option<Draft>)>,
    /// Triggers and static items that came later.
    doomed: Vec<Doomed>,
    unchanged: u64,
    remarks: Vec<String>,
}

impl Folio {
    /// Makes an app what it was at a moment, as one entry, or says what that would change.
    pub async fn roll_back_group(
        &self,
        caller: &Caller,
        app: &AppName,
        moment: Moment,
        run: Run,
    ) -> Result<Done<Applied>, Error> {
        if run == Run::Dry {
            let of = app.clone();
            let result =
                self.look(move |state| Ok::<_, Error>(plan(state, &of, &moment)?.outcome(None)));
            let result = result.await?;
            return Ok(Done::unchanged(result));
        }
        let of = app.clone();
        self.commit(caller, app, move |builder| {
            let rollback = plan(builder.state, &of, &moment)?;
            carry_out(builder, rollback)
        })
        .await
    }
}

impl Rollback {
    fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.drafts.is_empty() && self.doomed.is_empty()
    }

    fn outcome(&self, id: Option<VersionId>) -> Applied {
        let made = self.steps.iter().map(|step| {
            let what = if step.unit.is_some() { Outcome::Updated } else { Outcome::Created };
            (&step.key, what)
        });
        let stepped: BTreeSet<&UnitKey> = self.steps.iter().map(|step| &step.key).collect();
        let drafted = self.drafts.iter().map(|(key, _)| (key, Outcome::Updated));
        let drafted = drafted.filter(|(key, _)| !stepped.contains(key));
        let gone = self.doomed.iter().map(Doomed::outcome);
        let unit = |(key, what): (&UnitKey, Outcome)| AppliedUnit {
            kind: key.kind,
            name: key.name.clone(),
            what,
            versions: 0,
        };
        Applied {
            id,
            units: made.chain(drafted).map(unit).chain(gone).collect(),
            unchanged: self.unchanged,
            remarks: self.remarks.clone(),
            ..Applied::nothing()
        }
    }
}

/// Compares what was with what is.
fn plan(state: &dyn State, app: &AppName, moment: &Moment) -> Result<Rollback, Error> {
    let AppVersion { number, id, .. } = history::app_version(state, app, moment)?;
    let mut was = state.placements(app, number)?;
    was.sort_by_key(|placement| placement.kind.need());
    let mut planner = Planner {
        state,
        app,
        latest: HashMap::new(),
        wishes: Vec::new(),
        rollback: Rollback {
            to: id,
            steps: Vec::new(),
            owners: HashMap::new(),
            drafts: Vec::new(),
            doomed: Vec::new(),
            unchanged: 0,
            remarks: Vec::new(),
        },
    };
    for placement in &was {
        planner.unit(placement)?;
    }
    planner.later(&was)?;
    planner.check_triggers()?;
    Ok(planner.rollback)
}

struct Planner<'a> {
    state: &'a dyn State,
    app: &'a AppName,
    /// The digests that packages had, and the versions that have them now.
    latest: HashMap<Name, (Digest, Option<VersionKey>)>,
    /// The functions and triggers that there were.
    wishes: Vec<Arc<Wish>>,
    rollback: Rollback,
}

impl Planner<'_> {
    fn unit(&mut self, was: &Placement) -> Result<(), Error> {
        let key = UnitKey { app: self.app.clone(), kind: was.kind, name: was.name.clone() };
        let unit = self.state.unit(&key)?.filter(Unit::is_visible);
        self.version((&key, unit.as_ref()), was)?;
        self.draft((&key, unit.as_ref()), was)
    }

    fn version(
        &mut self,
        (key, unit): (&UnitKey, Option<&Unit>),
        was: &Placement,
    ) -> Result<(), Error> {
        let Some((number, digest)) = self.target(was)? else { return Ok(()) };
        let snapshot = view::snapshot(self.state, digest)?;
        let same = match unit {
            Some(unit) => publishing::same_as_latest(self.state, unit, digest)?,
            None => None,
        };
        if key.kind == Kind::Package {
            let version = same
                .as_ref()
                .zip(unit)
                .map(|(version, unit)| VersionKey { unit: unit.uid, number: version.number });
            self.latest.insert(key.name.clone(), (digest, version));
        }
        if matches!(key.kind, Kind::Function | Kind::Trigger) {
            let (at, name) = (key.to_string(), key.name.clone());
            let (words, spec) = (Words::Folio, snapshot.clone());
            let wish = Wish { at, words, name, spec, archive: None };
            self.wishes.push(Arc::new(wish));
        }
        if same.is_some() {
            self.rollback.unchanged += 1;
            return Ok(());
        }
        if unit.is_none() {
            publishing::check_new_name(self.state, key)?;
            let owner = self.state.owner(was.uid)?;
            self.rollback.owners.extend(owner.map(|owner| (key.clone(), owner)));
        }
        let past = self.past(was.uid, number)?;
        let uses = match &snapshot {
            Snapshot::Function(spec) => {
                let pin = (&spec.package.name, spec.package.snapshot);
                match self.uses(pin, past.as_ref().and_then(|past| past.uses))? {
                    Uses::Nothing => return Err(self.lost(key, &spec.package.name)),
                    uses => uses,
                }
            }
            _ => Uses::Nothing,
        };
        let archive = past.and_then(|past| past.archive);
        let (key, unit) = (key.clone(), unit.cloned());
        self.rollback.steps.push(Step { wish: 0, key, unit, snapshot, archive, uses });
        Ok(())
    }

    /// The version a unit had: the newest that can be called by now.
    fn target(&self, was: &Placement) -> Result<Option<(Number, Digest)>, StoreError> {
        if let Some((number, _, digest)) = &was.pending
            && (was.latest.is_none()
                || self.state.is_ready(VersionKey { unit: was.uid, number: *number })?)
        {
            return Ok(Some((*number, *digest)));
        }
        Ok(was.latest.as_ref().map(|(number, _, digest)| (*number, *digest)))
    }

    /// A version of a unit, if it survives.
    fn past(
        &self,
        unit: UnitUid,
        number: Number,
    ) -> Result<Option<folio_model::Version>, StoreError> {
        self.state.version(VersionKey { unit, number })
    }

    /// The package version that a function is to use: the one it used, or one of the same content.
    fn uses(
        &self,
        (package, digest): (&Name, Digest),
        used: Option<VersionKey>,
    ) -> Result<Uses, Error> {
        if let Some(key) = used
            && self.state.version(key)?.is_some()
        {
            return Ok(Uses::Version(key));
        }
        match self.latest.get(package) {
            Some((then, Some(version))) if *then == digest => Ok(Uses::Version(*version)),
            Some((then, None)) if *then == digest => Ok(Uses::Made(package.clone())),
            _ => Ok(Uses::Nothing),
        }
    }

    /// The refusal of a function whose package is no longer what it was.
    fn lost(&self, key: &UnitKey, package: &Name) -> Error {
        let group = &self.rollback.to;
        let what = format!(
            "the version of package '{package}' that it used was deleted, and group {group} has none like it"
        );
        Error::Faults(vec![Fault::new(key.to_string(), what)])
    }

    fn draft(
        &mut self,
        (key, unit): (&UnitKey, Option<&Unit>),
        was: &Placement,
    ) -> Result<(), Error> {
        let now = unit.and_then(|unit| unit.draft.as_ref()).map(|draft| draft.snapshot);
        // A version takes the place of the draft that is there.
        let published = self.rollback.steps.last().is_some_and(|step| step.key == *key);
        if now == was.draft && !(published && now.is_some()) {
            return Ok(());
        }
        let draft = match was.draft {
            Some(snapshot) => {
                let uses = match view::snapshot(self.state, snapshot)? {
                    Snapshot::Function(spec) => {
                        let pin = (&spec.package.name, spec.package.snapshot);
                        match self.uses(pin, None)? {
                            Uses::Version(key) => Some(key),
                            Uses::Nothing | Uses::Made(_) => None,
                        }
                    }
                    _ => None,
                };
                Some(Draft { snapshot, uses, archive: None })
            }
            None => None,
        };
        self.rollback.drafts.push((key.clone(), draft));
        Ok(())
    }

    /// What came later: what answers requests by itself goes, and the rest is told of.
    fn later(&mut self, was: &[Placement]) -> Result<(), Error> {
        let then: BTreeSet<(Kind, &Name)> =
            was.iter().map(|placement| (placement.kind, &placement.name)).collect();
        for kind in Kind::ALL {
            let units = self.state.units(self.app, kind)?.into_iter();
            for unit in
                units.filter(|unit| unit.is_visible() && !then.contains(&(kind, &unit.key.name)))
            {
                if matches!(kind, Kind::Trigger | Kind::Static) {
                    self.rollback.doomed.push(Doomed::of(self.state, unit)?);
                } else {
                    self.rollback.remarks.push(format!("{} came later and stays", unit.key));
                }
            }
        }
        Ok(())
    }

    /// Refuses triggers that lead to what is gone, or take what another route takes by now.
    fn check_triggers(&self) -> Result<(), Error> {
        let own = self.state.units(self.app, Kind::Trigger)?.into_iter();
        let replaced: BTreeSet<UnitUid> = own.map(|unit| unit.uid).collect();
        let unread = Unread::default();
        let (scope, taken) = (Scope::Manifests, Taken::Before);
        let aliases = BTreeSet::new();
        let within = Within { app: self.app, scope, unread: &unread, taken, aliases };
        let faults = triggers::faults(self.state, &within, &self.wishes, replaced)?;
        if faults.is_empty() { Ok(()) } else { Err(Error::Faults(faults)) }
    }
}

fn carry_out(builder: &mut Builder<'_>, rollback: Rollback) -> Result<Applied, Error> {
    if rollback.is_empty() {
        return Ok(rollback.outcome(None));
    }
    let id = free_id(builder, &rollback.steps)?;
    let applied = rollback.outcome(Some(id.clone()));
    builder.name_app_version(id.clone());
    let (mut made, mut published) = (HashMap::new(), HashMap::new());
    for step in rollback.steps {
        let key = step.key.clone();
        let owner = rollback.owners.get(&key);
        published.insert(key, publish(builder, step, owner, (&id, &mut made))?);
    }
    for (key, draft) in rollback.drafts {
        let mut unit = match published.remove(&key) {
            Some(unit) => unit,
            None => code::claim(builder, &key, Origin::User)?,
        };
        match draft {
            Some(draft) => {
                let snapshot = view::snapshot(builder.state, draft.snapshot)?;
                builder.set_draft(&mut unit, &snapshot, draft)?;
            }
            None => builder.clear_draft(&mut unit)?,
        }
    }
    for doomed in rollback.doomed {
        remove(builder, doomed)?;
    }
    builder.say(format!("roll back to group {} as {id}", rollback.to));
    Ok(applied)
}
