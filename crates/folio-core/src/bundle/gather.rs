//! Gathers an app version: its units as they were, the versions that anything in it leads to, and what they hold. Aliases,
//! tags and marks are no part of an app version; they are taken as they stood when the next one was made, or stand now.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use folio_model::{
    AppName, AppVersion, Digest, Draft, Edit, Kind, Marks, Members, Name, Number, Origin, Place,
    Placement, Pointer, Qualifier, Snapshot, Subject, Target, UnitUid, Version, VersionId,
    VersionKey, Weights,
};
use uuid::Uuid;

use super::Error;
use super::manifest::{
    AppVersionSaid, DraftSaid, FORMAT, Manifest, SnapshotSaid, UnitSaid, UseSaid, VersionSaid,
};
use crate::history::{self, Moment};
use crate::ports::{State, StoreError};
use crate::{trigger, view};

/// Entries that are read at a time.
const STRETCH: usize = 256;

/// Everything of an app version but for the bytes.
pub(super) fn gather(state: &dyn State, app: &AppName, moment: &Moment) -> Result<Manifest, Error> {
    let version = history::app_version(state, app, moment)?;
    let mut placed = state.placements(app, version.number)?;
    // Its values are sealed for this server, and its name is all that others can use of it.
    placed.retain(|placement| placement.kind != Kind::Secret);
    placed.sort_by(|a, b| (a.kind.need(), &a.name).cmp(&(b.kind.need(), &b.name)));
    let past = Past::before_next(state, &version)?;
    let by_uid = placed.iter().map(|one| (one.uid, one)).collect();
    let functions = placed.iter().filter(|one| one.kind == Kind::Function);
    let functions = functions.map(|one| (&one.name, one.uid)).collect();
    let versions = BTreeMap::new();
    let mut gatherer = Gatherer { past, placed: &placed, by_uid, functions, versions };
    gatherer.needed(&version.app)?;
    let tags = gatherer.tags(&version.app)?;
    let units = placed.iter().map(|placement| gatherer.unit(&version.app, placement));
    let units = units.collect::<Result<Vec<_>, Error>>()?;
    let (snapshots, secrets) = values(state, &units)?;
    let AppVersion { id, number, at, by, message, git, .. } = version;
    let app_version = AppVersionSaid { id, number, at, by, message, git };
    let app = app.clone();
    Ok(Manifest { format: FORMAT, app, app_version, units, snapshots, tags, secrets })
}

/// What was then and is not now: found by taking back every entry since.
struct Past<'a> {
    state: &'a dyn State,
    /// Where aliases, tags and marks were that moved since.
    aliases: HashMap<UnitUid, BTreeMap<VersionId, Option<Place>>>,
    tags: BTreeMap<VersionId, Option<Place>>,
    marks: HashMap<Uuid, Option<Place>>,
    /// Versions that went since.
    versions: HashMap<VersionKey, Version>,
    /// Drafts that changed since.
    drafts: HashMap<UnitUid, Option<Draft>>,
}

impl<'a> Past<'a> {
    /// How everything stood just before the next app version was made; now, if there is none.
    fn before_next(state: &'a dyn State, version: &AppVersion) -> Result<Self, StoreError> {
        let mut past = Self {
            state,
            aliases: HashMap::new(),
            tags: BTreeMap::new(),
            marks: HashMap::new(),
            versions: HashMap::new(),
            drafts: HashMap::new(),
        };
        let next = state.app_version(&version.app, version.number.next())?;
        let Some(next) = next else { return Ok(past) };
        let mut below = u64::MAX;
        loop {
            let entries = state.entries_before(&version.app, below, STRETCH)?;
            let Some(last) = entries.last() else { return Ok(past) };
            below = last.seq;
            for entry in entries {
                if entry.seq < next.entry {
                    return Ok(past);
                }
                entry.edits.into_iter().rev().for_each(|edit| past.take_back(edit));
            }
        }
    }

    fn take_back(&mut self, edit: Edit) {
        match edit {
            Edit::Move { pointer: Pointer::Alias { unit, name }, from, .. } => {
                self.aliases.entry(unit).or_default().insert(name, from);
            }
            Edit::Move { pointer: Pointer::Tag { name, .. }, from, .. } => {
                self.tags.insert(name, from);
            }
            Edit::Move { pointer: Pointer::Marks { object, .. }, from, .. } => {
                self.marks.insert(object, from);
            }
            Edit::DeleteVersion { uid, version } => {
                let key = VersionKey { unit: uid, number: version.number };
                self.versions.insert(key, version);
            }
            Edit::SetDraft { uid, from, .. } => {
                self.drafts.insert(uid, from);
            }
            _ => {}
        }
    }

    fn version(&self, key: VersionKey) -> Result<Option<Version>, StoreError> {
        match self.state.version(key)? {
            Some(version) => Ok(Some(version)),
            None => Ok(self.versions.get(&key).cloned()),
        }
    }

    fn draft(&self, unit: UnitUid) -> Result<Option<Draft>, StoreError> {
        match self.drafts.get(&unit) {
            Some(draft) => Ok(draft.clone()),
            None => Ok(self.state.unit_by_uid(unit)?.and_then(|unit| unit.draft)),
        }
    }

    fn aliases(&self, unit: UnitUid) -> Result<BTreeMap<VersionId, Weights>, StoreError> {
        let now = self.state.aliases(unit)?.into_iter();
        let mut aliases: BTreeMap<_, _> = now.map(|alias| (alias.name, alias.weights)).collect();
        for (name, place) in self.aliases.get(&unit).into_iter().flatten() {
            match place {
                Some(Place::Versions(weights)) => {
                    aliases.insert(name.clone(), weights.clone());
                }
                _ => drop(aliases.remove(name)),
            }
        }
        Ok(aliases)
    }

    fn marks(&self, app: &AppName, object: Uuid) -> Result<Option<Marks>, StoreError> {
        let place = match self.marks.get(&object) {
            Some(place) => place.clone(),
            None => {
                let pointer = Pointer::Marks { app: app.clone(), object };
                self.state.place(&pointer)?.map(|(place, _)| place)
            }
        };
        Ok(match place {
            Some(Place::Marks(marks)) => Some(*marks),
            _ => None,
        })
    }

    fn tags(&self, app: &AppName) -> Result<BTreeMap<VersionId, Members>, StoreError> {
        let now = self.state.tags(app)?.into_iter();
        let mut tags: BTreeMap<_, _> = now.map(|tag| (tag.name, tag.members)).collect();
        for (name, place) in &self.tags {
            match place {
                Some(Place::Members(members)) => {
                    tags.insert(name.clone(), members.clone());
                }
                _ => drop(tags.remove(name)),
            }
        }
        Ok(tags)
    }
}

struct Gatherer<'a> {
    past: Past<'a>,
    placed: &'a [Placement],
    by_uid: HashMap<UnitUid, &'a Placement>,
    functions: HashMap<&'a Name, UnitUid>,
    /// The versions that something leads to.
    versions: BTreeMap<UnitUid, BTreeMap<Number, Version>>,
}

impl<'a> Gatherer<'a> {
    /// Finds every version that something in the app version leads to.
    fn needed(&mut self, app: &AppName) -> Result<(), Error> {
        let placed = self.placed;
        for placement in placed {
            for (number, _, _) in placement.latest.iter().chain(&placement.pending) {
                self.need(VersionKey { unit: placement.uid, number: *number })?;
            }
            for weights in self.past.aliases(placement.uid)?.into_values() {
                for share in weights.shares() {
                    self.need(VersionKey { unit: placement.uid, number: share.number })?;
                }
            }
            if let Some((_, _, snapshot)) = &placement.latest
                && placement.kind == Kind::Trigger
            {
                for target in trigger::spec(self.past.state, *snapshot)?.targets() {
                    self.need_target(target)?;
                }
            }
            if let Some(uses) = self.past.draft(placement.uid)?.and_then(|draft| draft.uses) {
                self.need(uses)?;
            }
        }
        for members in self.past.tags(app)?.into_values() {
            for (unit, number) in members {
                self.need(VersionKey { unit, number })?;
            }
        }
        Ok(())
    }

    /// Notes a version, and the package version that it uses. One of a unit that the app version does not have is
    /// not its own.
    fn need(&mut self, key: VersionKey) -> Result<(), Error> {
        let Some(placement) = self.placement(key.unit) else { return Ok(()) };
        let known = self.versions.get(&key.unit).is_some_and(|has| has.contains_key(&key.number));
        if known {
            return Ok(());
        }
        let lost = || Error::Lost {
            kind: placement.kind,
            name: placement.name.clone(),
            number: key.number,
        };
        let version = self.past.version(key)?.ok_or_else(lost)?;
        let uses = version.uses;
        self.versions.entry(key.unit).or_default().insert(key.number, version);
        uses.map_or(Ok(()), |uses| self.need(uses))
    }

    /// Notes the version that a trigger names, if it names one.
    fn need_target(&mut self, target: &Target) -> Result<(), Error> {
        let (Subject::Name(name), Some(at)) = (&target.function.name, &target.function.at) else {
            return Ok(());
        };
        let Some(unit) = self.functions.get(name).copied() else { return Ok(()) };
        let number = match at {
            Qualifier::Number(number) => Some(*number),
            Qualifier::Named(id) => {
                let found = self.past.state.version_by_id(unit, id)?;
                found.map(|(version, _)| version.number)
            }
            Qualifier::Latest | Qualifier::Draft => None,
        };
        number.map_or(Ok(()), |number| self.need(VersionKey { unit, number }))
    }

    fn placement(&self, unit: UnitUid) -> Option<&'a Placement> {
        self.by_uid.get(&unit).copied()
    }

    fn tags(
        &self,
        app: &AppName,
    ) -> Result<BTreeMap<VersionId, BTreeMap<Name, Number>>, StoreError> {
        let tags = self.past.tags(app)?.into_iter().map(|(tag, members)| {
            let named = members
                .into_iter()
                .filter_map(|(unit, number)| Some((self.placement(unit)?.name.clone(), number)));
            (tag, named.collect())
        });
        Ok(tags.collect())
    }

    fn unit(&self, app: &AppName, placement: &Placement) -> Result<UnitSaid, Error> {
        let Placement { uid, kind, name, .. } = placement;
        let living = self.past.state.unit_by_uid(*uid)?;
        let (origin, owner) = match living {
            Some(unit) => (unit.origin, unit.owner),
            None => (Origin::User, None),
        };
        let versions = self.versions.get(uid).into_iter().flatten();
        let versions = versions.map(|(_, version)| self.version(version)).collect();
        let draft = self.past.draft(*uid)?.filter(|_| placement.draft.is_some());
        let draft = draft.map(|Draft { snapshot, uses, archive }| DraftSaid {
            snapshot,
            uses: uses.and_then(|uses| self.uses(uses)),
            archive,
        });
        let marks = self.past.marks(app, uid.0)?;
        let aliases = self.past.aliases(*uid)?;
        let (kind, name) = (*kind, name.clone());
        Ok(UnitSaid { kind, name, origin, owner, versions, draft, aliases, marks })
    }

    fn version(&self, version: &Version) -> VersionSaid {
        let version = version.clone();
        VersionSaid {
            number: version.number,
            id: version.id,
            snapshot: version.snapshot,
            uses: version.uses.and_then(|uses| self.uses(uses)),
            archive: version.archive,
            created_at: version.created_at,
            created_by: version.created_by,
            description: version.description,
            described_at: version.described_at,
        }
    }

    fn uses(&self, key: VersionKey) -> Option<UseSaid> {
        let package = self.placement(key.unit)?.name.clone();
        Some(UseSaid { package, number: key.number })
    }
}

type Values = (BTreeMap<Digest, SnapshotSaid>, BTreeMap<Name, Vec<folio_model::SecretKey>>);

/// What units hold, with everything it stands on, and the keys of the secrets among that.
fn values(state: &dyn State, units: &[UnitSaid]) -> Result<Values, StoreError> {
    let versions = units.iter().flat_map(|unit| &unit.versions).map(|version| version.snapshot);
    let drafts = units.iter().filter_map(|unit| unit.draft.as_ref()).map(|draft| draft.snapshot);
    let mut ahead: Vec<_> = versions.chain(drafts).collect();
    let (mut found, mut secrets) = (BTreeMap::new(), BTreeMap::<Name, BTreeSet<_>>::new());
    while let Some(digest) = ahead.pop() {
        if found.contains_key(&digest) {
            continue;
        }
        let value = view::snapshot(state, digest)?;
        for (_, pin) in value.named().filter(|(kind, _)| *kind == Kind::Secret) {
            if let Snapshot::Secret(spec) = view::snapshot(state, pin.snapshot)? {
                secrets.entry(pin.name.clone()).or_default().extend(spec.keys.into_keys());
            }
        }
        ahead.extend(stands_on(&value));
        let older = value.digest() != digest;
        found.insert(digest, SnapshotSaid { older, value });
    }
    let secrets = secrets.into_iter().map(|(name, keys)| (name, keys.into_iter().collect()));
    Ok((found, secrets.collect()))
}

/// The values that a snapshot stands on, but for secrets.
pub(super) fn stands_on(value: &Snapshot) -> Vec<Digest> {
    let secrets = value.named().filter(|(kind, _)| *kind == Kind::Secret);
    let secrets: BTreeSet<_> = secrets.map(|(_, pin)| pin.snapshot).collect();
    value.pins().filter(|digest| !secrets.contains(digest)).collect()
}
