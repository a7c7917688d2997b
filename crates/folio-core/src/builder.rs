//! Builds one change: collects edits, the values and blobs they need, and what they make of each unit.
//!
//! A rule pushes edits and never fills in a [`Change`] itself, so no rule can forget the app version, a
//! snapshot, or a blob that must be kept.

mod brought;
mod touched;

use std::collections::{BTreeMap, BTreeSet};

use folio_model::{
    AppName, Build, BuildRecord, Change, Digest, Draft, Edit, Kind, Number, Origin, PackageSpec,
    Place, Placement, Pointer, Qualifier, Reference, ReleaseId, Snapshot, Timestamp, Unit, UnitKey,
    UnitUid, Version, VersionId, VersionKey,
};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use self::touched::Touched;
use crate::object::identity;
use crate::ports::{Clock, State, StoreError};
use crate::release::Released;
use crate::request::Releasing;
use crate::{Caller, environment};

/// A change in the making, on top of a state.
pub(crate) struct Builder<'a> {
    pub(crate) state: &'a dyn State,
    change: Change,
    chance: StdRng,
    units: BTreeMap<UnitUid, Touched>,
    /// Ids this change gives away.
    ids: BTreeSet<VersionId>,
    /// Where in the change the snapshots are that it brings.
    brought: BTreeMap<Digest, usize>,
    /// Builds this change forgets.
    forgotten: BTreeSet<Digest>,
    /// What the app version it makes is to be called.
    app_version: Option<VersionId>,
    releasing: Releasing,
    /// The release it makes, once it is made.
    released: Option<Released>,
    /// Versions of functions that can be called from now on and may be wasm.
    compiles: Vec<Reference>,
}

/// A change as it is to be written.
pub(crate) struct Finished {
    pub(crate) change: Change,
    /// The release it makes.
    pub(crate) released: Option<Released>,
    /// Versions of functions that can be called from then on and may be wasm.
    pub(crate) compiles: Vec<Reference>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(
        state: &'a dyn State,
        caller: &Caller,
        app: &AppName,
        clock: &dyn Clock,
    ) -> Self {
        let change = Change {
            app: app.clone(),
            at: clock.now(),
            by: caller.actor.clone(),
            message: String::new(),
            reason: caller.reason.clone(),
            edits: Vec::new(),
            snapshots: Vec::new(),
            requires: Vec::new(),
            frees: Vec::new(),
            app_version: None,
            placements: Vec::new(),
            git: caller.git.clone(),
            undoes: None,
            rollback: false,
            unreleased: false,
            answer: None,
        };
        Self {
            state,
            change,
            chance: StdRng::from_seed(clock.chance()),
            units: BTreeMap::new(),
            ids: BTreeSet::new(),
            brought: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            app_version: None,
            releasing: caller.releasing.clone(),
            released: None,
            compiles: Vec::new(),
        }
    }

    /// The app that is changed.
    pub(crate) fn app(&self) -> &AppName {
        &self.change.app
    }

    /// When it is changed.
    pub(crate) fn at(&self) -> Timestamp {
        self.change.at
    }

    /// Why, in the author's words.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.change.reason.as_deref()
    }

    /// What is to become of the app version this makes.
    pub(crate) fn releasing(&self) -> &Releasing {
        &self.releasing
    }

    /// Says what is being done, for the log.
    pub(crate) fn say(&mut self, message: String) {
        self.change.message = message;
    }

    /// Says one more thing that the change does.
    pub(crate) fn say_too(&mut self, message: &str) {
        let said = Some(self.change.message.as_str()).filter(|said| !said.is_empty());
        self.change.message = said.into_iter().chain([message]).collect::<Vec<_>>().join("; ");
    }

    /// Gives the app version an id that was drawn for it and for what it holds.
    pub(crate) fn name_app_version(&mut self, id: VersionId) {
        self.app_version = Some(id);
    }

    /// Whether anything is being changed yet.
    pub(crate) fn has_edits(&self) -> bool {
        !self.change.edits.is_empty()
    }

    /// Marks the entry this change takes back.
    pub(crate) fn undoes(&mut self, entry: u64) {
        self.change.undoes = Some(entry);
    }

    /// Marks the move that this change takes back as a command of its own.
    pub(crate) fn rolls_back(&mut self, entry: u64) {
        self.undoes(entry);
        self.change.rollback = true;
    }

    /// A random id no version or app version of the app ever had.
    pub(crate) fn fresh_id(&mut self) -> Result<VersionId, StoreError> {
        loop {
            let id = VersionId::generate(&mut || self.chance.random());
            if !self.ids.contains(&id) && !self.names_something(&id)? {
                self.ids.insert(id.clone());
                return Ok(id);
            }
        }
    }

    /// A random id no version, app version or release of the app ever had, and no tag has.
    pub(crate) fn fresh_release_id(&mut self) -> Result<ReleaseId, StoreError> {
        loop {
            let id = self.fresh_id()?;
            // What is generated fits a host name.
            if let Ok(id) = id.as_str().parse::<ReleaseId>() {
                return Ok(id);
            }
        }
    }

    fn names_something(&self, id: &VersionId) -> Result<bool, StoreError> {
        let app = &self.change.app;
        let Ok(release) = id.as_str().parse::<ReleaseId>() else {
            return self.state.id_taken(app, id);
        };
        let named = Pointer::Release { app: app.clone(), id: release.clone() };
        let tagged = Pointer::ReleaseTag { app: app.clone(), name: release };
        Ok(self.state.id_taken(app, id)?
            || self.state.place(&named)?.is_some()
            || self.state.place(&tagged)?.is_some())
    }

    /// Makes a unit under a free name.
    pub(crate) fn create(
        &mut self,
        kind: Kind,
        name: folio_model::Name,
        origin: Origin,
    ) -> Result<Unit, StoreError> {
        let key = UnitKey { app: self.change.app.clone(), kind, name };
        let uid = UnitUid(uuid::Builder::from_random_bytes(self.chance.random()).into_uuid());
        self.push(Edit::CreateUnit { uid, key: key.clone(), origin })?;
        Ok(Unit {
            uid,
            key,
            origin,
            owner: None,
            next_number: Number::FIRST,
            latest: None,
            newest: None,
            draft: None,
            revision: 0,
        })
    }

    /// The identity behind a name, whether it exists already or is made by this change.
    pub(crate) fn uid_of(&self, key: &UnitKey) -> Result<UnitUid, StoreError> {
        let made = self.units.iter().find(|(_, touched)| touched.exists && touched.key == *key);
        let found = match made {
            Some((&uid, _)) => Some(uid),
            None => self.state.unit(key)?.map(|unit| unit.uid),
        };
        found.ok_or_else(|| StoreError::Conflict { what: key.to_string() })
    }

    /// Publishes a snapshot as the unit's next version.
    pub(crate) fn publish(
        &mut self,
        unit: &mut Unit,
        snapshot: &Snapshot,
        new: NewVersion,
    ) -> Result<Version, StoreError> {
        let version = Version {
            number: unit.next_number,
            id: new.id,
            snapshot: snapshot.digest(),
            uses: new.uses,
            archive: new.archive,
            created_at: self.change.at,
            created_by: self.change.by.clone(),
            description: new.description,
            described_at: None,
        };
        self.restate(unit, snapshot, version.clone())?;
        Ok(version)
    }

    /// Publishes a version that was made before, under its own number, which is the unit's next or a later one. Says whether
    /// it has to be built.
    pub(crate) fn restate(
        &mut self,
        unit: &mut Unit,
        snapshot: &Snapshot,
        version: Version,
    ) -> Result<bool, StoreError> {
        self.know(unit);
        self.keep(snapshot);
        self.clear_split(unit)?;
        let (number, waits) = (version.number, !self.build_of(snapshot)?.is_ready());
        self.push(Edit::Publish { uid: unit.uid, version, waits })?;
        unit.next_number = number.next();
        unit.newest = Some(number);
        if !waits {
            unit.latest = Some(number);
            if unit.key.kind == Kind::Function && environment::may_be_wasm(snapshot) {
                self.compiles.push(numbered(&unit.key, number));
            }
        }
        Ok(waits)
    }

    /// How far the build is that a snapshot of the state or of this change needs.
    pub(crate) fn build_of(&self, snapshot: &Snapshot) -> Result<Build, StoreError> {
        let package = match snapshot {
            Snapshot::Package(spec) => spec.clone(),
            Snapshot::Function(spec) => match self.snapshot(spec.package.snapshot)? {
                Snapshot::Package(spec) => spec,
                _ => return Err(StoreError::corrupt("a package's snapshot")),
            },
            Snapshot::Environment(_)
            | Snapshot::Trigger(_)
            | Snapshot::Config(_)
            | Snapshot::Secret(_)
            | Snapshot::Static(_) => return Ok(Build::None),
        };
        self.package_build(&package)
    }

    /// How far the build of a package is.
    pub(crate) fn package_build(&self, spec: &PackageSpec) -> Result<Build, StoreError> {
        match spec.build_key() {
            Some(key) if self.forgotten.contains(&key) => Ok(Build::Pending),
            _ => crate::view::package_build(self.state, spec),
        }
    }

    /// Forgets the builds that made what is no longer stored, so that they are done again. What something needs
    /// is stored, so nothing that can be called is concerned.
    pub(crate) fn forget_builds(&mut self, gone: Digest) -> Result<(), StoreError> {
        for key in self.state.builds_of(gone)? {
            if let Some(from) = self.state.build(key)?
                && self.forgotten.insert(key)
            {
                self.push(Edit::Forget { key, from })?;
            }
        }
        Ok(())
    }

    /// Sets a unit's draft.
    pub(crate) fn set_draft(
        &mut self,
        unit: &mut Unit,
        snapshot: &Snapshot,
        draft: Draft,
    ) -> Result<(), StoreError> {
        self.keep(snapshot);
        let from = unit.draft.replace(draft.clone());
        if from.as_ref() == Some(&draft) {
            return Ok(());
        }
        self.push(Edit::SetDraft { uid: unit.uid, from, to: Some(draft) })
    }

    /// Clears a unit's draft, if it has one.
    pub(crate) fn clear_draft(&mut self, unit: &mut Unit) -> Result<(), StoreError> {
        match unit.draft.take() {
            Some(draft) => self.push(Edit::SetDraft { uid: unit.uid, from: Some(draft), to: None }),
            None => Ok(()),
        }
    }

    /// Has a route's targets get what its spec says again: the shares of one spec mean nothing to another.
    pub(crate) fn clear_split(&mut self, unit: &Unit) -> Result<(), StoreError> {
        if unit.key.kind != Kind::Trigger {
            return Ok(());
        }
        let split = self.state.split(unit.uid)?.map(Place::Targets);
        self.point(Pointer::Split { unit: unit.uid }, split, None)
    }

    /// Moves a pointer, unless it is there already. What was said about one that goes, goes with it.
    pub(crate) fn point(
        &mut self,
        pointer: Pointer,
        from: Option<Place>,
        to: Option<Place>,
    ) -> Result<(), StoreError> {
        if from == to {
            return Ok(());
        }
        if to.is_none() {
            for object in identity::showing(self.state, &self.change.app, &pointer)? {
                let marks = Pointer::Marks { app: self.change.app.clone(), object };
                if let Some((said, _)) = self.state.place(&marks)? {
                    self.push(Edit::Move { pointer: marks, from: Some(said), to: None })?;
                }
            }
        }
        self.push(Edit::Move { pointer, from, to })
    }

    /// Whether a pointer is being moved.
    pub(crate) fn moves(&self, pointer: &Pointer) -> bool {
        let is_it =
            |edit: &Edit| matches!(edit, Edit::Move { pointer: moved, .. } if moved == pointer);
        self.change.edits.iter().any(is_it)
    }

    /// Adds an edit and notes what it needs and what it makes of its unit.
    pub(crate) fn push(&mut self, edit: Edit) -> Result<(), StoreError> {
        match &edit {
            Edit::CreateUnit { uid, key, .. } | Edit::RestoreUnit { uid, key } => {
                let touched = Touched::new(key.clone());
                self.units.insert(*uid, touched);
            }
            Edit::DeleteUnit { uid, .. } => self.touch(*uid)?.exists = false,
            Edit::SetDraft { uid, from, to } => {
                self.free(from.as_ref().map(|draft| (draft.snapshot, draft.archive)))?;
                self.require(to.as_ref().map(|draft| (draft.snapshot, draft.archive)))?;
                self.touch(*uid)?.draft = to.as_ref().map(|draft| draft.snapshot);
            }
            Edit::Publish { uid, version, waits } => self.appears(*uid, version, !waits)?,
            Edit::RestoreVersion { uid, version } => {
                let key = VersionKey { unit: *uid, number: version.number };
                let snapshot = self.snapshot(version.snapshot)?;
                let ready = self.state.is_ready(key)? && self.build_of(&snapshot)?.is_ready();
                self.appears(*uid, version, ready)?;
            }
            Edit::DeleteVersion { uid, version } => {
                self.free(Some((version.snapshot, version.archive)))?;
                let touched = self.touch(*uid)?;
                touched.added.remove(&version.number);
                touched.waiting.remove(&version.number);
                touched.removed.insert(version.number);
            }
            Edit::Built { to, readies, .. } => self.built(to, readies)?,
            Edit::Describe { .. } | Edit::Move { .. } | Edit::Forget { .. } | Edit::Own { .. } => {}
            Edit::CreateApp { .. }
            | Edit::DeleteApp { .. }
            | Edit::AddToken { .. }
            | Edit::RevokeToken { .. } => {}
        }
        self.change.edits.push(edit);
        Ok(())
    }

    /// Notes a version that appears; only one that can be called becomes latest.
    fn appears(&mut self, uid: UnitUid, version: &Version, ready: bool) -> Result<(), StoreError> {
        self.require(Some((version.snapshot, version.archive)))?;
        let touched = self.touch(uid)?;
        touched.removed.remove(&version.number);
        let appears = if ready { &mut touched.added } else { &mut touched.waiting };
        appears.insert(version.number, (version.id.clone(), version.snapshot));
        Ok(())
    }

    /// Notes what a build made, and the versions that it makes callable.
    fn built(&mut self, to: &BuildRecord, readies: &[VersionKey]) -> Result<(), StoreError> {
        self.change.requires.extend(to.made());
        for key in readies {
            let version = self.state.version(*key)?;
            let version =
                version.ok_or_else(|| StoreError::Conflict { what: "a version".to_owned() })?;
            let touched = self.touch(key.unit)?;
            touched.added.insert(version.number, (version.id, version.snapshot));
            if touched.key.kind == Kind::Function {
                let reference = numbered(&touched.key, version.number);
                self.compiles.push(reference);
            }
        }
        Ok(())
    }

    /// Notes the release that this change makes.
    pub(crate) fn releases(&mut self, released: Released) {
        self.released = Some(released);
    }

    /// The finished change with the release it makes, or nothing if nothing was pushed.
    pub(crate) fn finish(mut self) -> Result<Option<Finished>, StoreError> {
        if self.change.edits.is_empty() {
            return Ok(None);
        }
        let mut shows = false;
        for (&uid, touched) in &self.units {
            let before = self.state.placement(uid)?;
            let after = touched.placement(uid, self.state)?;
            if before != after {
                shows |= shown(before.as_ref()) != shown(after.as_ref());
                self.change.placements.push((uid, after));
            }
        }
        if !self.change.placements.is_empty() {
            let id = match self.app_version.take() {
                Some(id) => id,
                None => self.fresh_id()?,
            };
            self.change.app_version = Some(id.clone());
            self.change.unreleased = self.releasing.is_held();
            // What is still to be built changes nothing that can be reached; the end of the build will.
            if shows && self.releasing != Releasing::Hold {
                crate::release::make(&mut self, id)?;
            }
        }
        let Self { change, released, compiles, .. } = self;
        Ok(Some(Finished { change, released, compiles }))
    }

    /// Notes a unit as it stands, unless an edit has touched it already.
    fn know(&mut self, unit: &Unit) {
        self.units.entry(unit.uid).or_insert_with(|| Touched {
            latest: unit.latest,
            newest: unit.newest,
            draft: unit.draft.as_ref().map(|draft| draft.snapshot),
            ..Touched::new(unit.key.clone())
        });
    }

    fn touch(&mut self, uid: UnitUid) -> Result<&mut Touched, StoreError> {
        if !self.units.contains_key(&uid) {
            let unit = self.state.unit_by_uid(uid)?;
            let unit = unit.ok_or_else(|| StoreError::Conflict { what: format!("unit {uid}") })?;
            self.know(&unit);
        }
        Ok(self.units.get_mut(&uid).expect("known by now"))
    }
}

/// A version of a function of the app itself.
fn numbered(key: &UnitKey, number: Number) -> Reference {
    Reference::to(key.name.clone()).at(Qualifier::Number(number))
}

/// What can be reached of a unit.
fn shown(placement: Option<&Placement>) -> Option<(Option<VersionId>, Option<Digest>)> {
    let placement = placement?;
    let latest = placement.latest.as_ref().map(|(_, id, _)| id.clone());
    let shown = latest.is_some() || placement.draft.is_some();
    shown.then_some((latest, placement.draft))
}

/// What a version carries besides its snapshot.
pub(crate) struct NewVersion {
    pub(crate) id: VersionId,
    pub(crate) uses: Option<VersionKey>,
    pub(crate) archive: Option<Digest>,
    pub(crate) description: String,
}
