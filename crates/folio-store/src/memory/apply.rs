//! Applies a change to the rows in memory. Every edit is compared with what is there before it is made; the
//! first that does not fit refuses the change, and the caller rolls back. Start at [`Rows::apply`].

use folio_core::ports::{State, StoreError};
use folio_model::{
    AppName, Change, Digest, Draft, Edit, Entry, Kind, Number, Origin, Owner, Snapshot, Timestamp,
    Unit, UnitKey, UnitUid, Version, VersionKey,
};

use super::rows::{Rows, UnitRow};

mod builds;
mod names;
mod places;
mod pointers;
mod triggers;

impl Rows {
    /// Writes an entry and everything it changes, or fails with some of it written.
    pub(super) fn apply(&mut self, change: &Change, entry: &Entry) -> Result<(), StoreError> {
        self.add_entry(entry);
        change
            .snapshots
            .iter()
            .for_each(|snapshot| self.keep_snapshot(snapshot.digest(), snapshot));
        let mut pins = change.snapshots.iter().flat_map(Snapshot::pins);
        pins.try_for_each(|pin| self.has_snapshot(pin))?;
        for edit in &change.edits {
            self.edit(&change.app, edit, entry.seq)?;
            edit.unit().map_or(Ok(()), |uid| self.touch(&change.app, uid, entry.seq))?;
        }
        change.edits.iter().try_for_each(|edit| self.nothing_dangles(edit))?;
        self.note_names(change);
        self.app_version(change, entry)?;
        if let Some(answer) = &change.answer {
            let new = !self.answers.has(&answer.key);
            ensure(new, || format!("the answer to request `{}`", answer.key))?;
            self.answers.put(answer.key.clone(), answer.clone());
        }
        Ok(())
    }

    fn add_entry(&mut self, entry: &Entry) {
        let previous = self.hashes.get(&(entry.seq - 1)).copied();
        let hash = entry.hash(previous.unwrap_or_else(|| Digest::of(b"")));
        self.hashes.put(entry.seq, hash);
        self.entries.put(entry.seq, entry.clone());
        self.app_entries.put((entry.app.clone(), entry.seq), ());
        if let Some(undone) = entry.undoes.filter(|undone| *undone < entry.seq) {
            self.undoing.put(undone, entry.seq);
        }
    }

    fn edit(&mut self, app: &AppName, edit: &Edit, seq: u64) -> Result<(), StoreError> {
        match edit {
            Edit::CreateApp { app } => {
                ensure(!self.apps.has(app), || format!("app `{app}`"))?;
                self.apps.put(app.clone(), true);
            }
            Edit::DeleteApp { app } => {
                let bare = !self.names.range(..).any(|(key, _)| key.app == *app);
                ensure(bare && self.has_app(app)?, || format!("app `{app}`"))?;
                self.apps.put(app.clone(), false);
            }
            Edit::AddToken { id, token } => {
                ensure(!self.tokens.has(id), || format!("token `{id}`"))?;
                self.tokens.put(id.clone(), token.clone());
            }
            Edit::RevokeToken { id, token } => {
                let known = self.tokens.get(id) == Some(token);
                ensure(known, || format!("token `{id}`"))?;
                self.tokens.remove(id);
            }
            Edit::CreateUnit { uid, key, origin } => self.create_unit(*uid, key, *origin, seq)?,
            Edit::DeleteUnit { uid, key } => self.delete_unit(*uid, key)?,
            Edit::RestoreUnit { uid, key } => self.restore_unit(*uid, key)?,
            Edit::Own { uid, from, to } => self.own(*uid, from.as_ref(), to.as_ref())?,
            Edit::SetDraft { uid, from, to } => self.set_draft(*uid, from.as_ref(), to.as_ref())?,
            Edit::Publish { uid, version, waits } => {
                self.publish(self.living(*uid)?, version, *waits)?;
            }
            Edit::DeleteVersion { uid, version } => {
                self.delete_version(self.living(*uid)?, version)?;
            }
            Edit::RestoreVersion { uid, version } => {
                self.restore_version(self.living(*uid)?, version)?;
            }
            Edit::Describe { uid, number, from, to, from_at, to_at } => {
                self.describe(&self.living(*uid)?, *number, (from, *from_at), (to, *to_at))?;
            }
            Edit::Built { key, from, to, readies } => {
                self.built(*key, from.as_ref(), to)?;
                for ready in readies {
                    self.ready(*key, *ready)?;
                    self.touch(app, ready.unit, seq)?;
                }
            }
            Edit::Forget { key, from } => self.forget_build(*key, from)?,
            Edit::Move { pointer, from, to } => {
                self.move_pointer(pointer, from.as_ref(), to.as_ref(), seq)?;
            }
        }
        Ok(())
    }

    /// A living unit, or a refusal.
    fn living(&self, uid: UnitUid) -> Result<Unit, StoreError> {
        let gone = || StoreError::Conflict { what: format!("unit {uid}") };
        self.unit_by_uid(uid)?.ok_or_else(gone)
    }

    fn put_unit(&mut self, unit: Unit) {
        self.units.put(unit.uid, UnitRow { unit, lives: true });
    }

    /// Notes the entry that last touched a unit. A change touches units of its own app only.
    fn touch(&mut self, app: &AppName, uid: UnitUid, seq: u64) -> Result<(), StoreError> {
        let row = self.units.get(&uid).filter(|row| row.unit.key.app == *app).cloned();
        let mut row = row.ok_or_else(|| StoreError::Conflict { what: format!("unit {uid}") })?;
        row.unit.revision = seq;
        self.units.put(uid, row);
        Ok(())
    }

    fn create_unit(
        &mut self,
        uid: UnitUid,
        key: &UnitKey,
        origin: Origin,
        revision: u64,
    ) -> Result<(), StoreError> {
        ensure(!self.names.has(key) && !self.units.has(&uid), || key.to_string())?;
        let next_number = Number::FIRST;
        let key = key.clone();
        self.names.put(key.clone(), uid);
        self.app_units.put((key.app.clone(), uid), ());
        self.put_unit(Unit {
            uid,
            key,
            origin,
            owner: None,
            next_number,
            latest: None,
            newest: None,
            draft: None,
            revision,
        });
        Ok(())
    }

    fn delete_unit(&mut self, uid: UnitUid, key: &UnitKey) -> Result<(), StoreError> {
        let unit = self.living(uid)?;
        let bare = unit.draft.is_none() && unit.newest.is_none() && self.aliases(uid)?.is_empty();
        ensure(unit.key == *key && bare, || key.to_string())?;
        self.names.remove(key);
        self.units.put(uid, UnitRow { unit, lives: false });
        Ok(())
    }

    fn restore_unit(&mut self, uid: UnitUid, key: &UnitKey) -> Result<(), StoreError> {
        let deleted = self.units.get(&uid).filter(|row| !row.lives && row.unit.key == *key);
        let deleted = deleted.filter(|_| !self.names.has(key)).cloned();
        let row = deleted.ok_or_else(|| StoreError::Conflict { what: key.to_string() })?;
        self.names.put(key.clone(), uid);
        self.put_unit(row.unit);
        Ok(())
    }

    fn own(
        &mut self,
        uid: UnitUid,
        from: Option<&Owner>,
        to: Option<&Owner>,
    ) -> Result<(), StoreError> {
        let mut unit = self.living(uid)?;
        ensure(unit.owner.as_ref() == from, || format!("the owner of {}", unit.key))?;
        unit.owner = to.cloned();
        self.put_unit(unit);
        Ok(())
    }

    fn set_draft(
        &mut self,
        uid: UnitUid,
        from: Option<&Draft>,
        to: Option<&Draft>,
    ) -> Result<(), StoreError> {
        let mut unit = self.living(uid)?;
        ensure(unit.draft.as_ref() == from, || format!("the draft of {}", unit.key))?;
        to.map_or(Ok(()), |draft| self.has_snapshot(draft.snapshot))?;
        if let Some(uses) = from.and_then(|draft| draft.uses) {
            self.draft_users.update(uses, |users| users.remove(&uid));
        }
        if let Some(uses) = to.and_then(|draft| draft.uses) {
            self.draft_users.update(uses, |users| users.insert(uid));
        }
        unit.draft = to.cloned();
        self.put_unit(unit);
        Ok(())
    }

    fn publish(
        &mut self,
        mut unit: Unit,
        version: &Version,
        waits: bool,
    ) -> Result<(), StoreError> {
        let what = || format!("the next version of {}", unit.key);
        ensure(version.number >= unit.next_number, what)?;
        let id = (unit.uid, version.id.clone());
        ensure(!self.ids.has(&id), || format!("version `{}` of {}", version.id, unit.key))?;
        self.has_snapshot(version.snapshot)?;
        self.ids.put(id, version.number);
        self.taken_ids.put((unit.key.app.clone(), version.id.clone()), ());
        let key = VersionKey { unit: unit.uid, number: version.number };
        self.versions.put(key, version.clone());
        if waits {
            self.wait(key, version)?;
        }
        unit.next_number = version.number.next();
        self.survive(unit, version)
    }

    fn delete_version(&mut self, unit: Unit, version: &Version) -> Result<(), StoreError> {
        let key = VersionKey { unit: unit.uid, number: version.number };
        let found = self.version(key)?;
        ensure(found.as_ref() == Some(version), || what(&unit, version.number))?;
        self.surviving.remove(&key);
        if let Some(uses) = version.uses {
            self.users.update(uses, |users| users.remove(&key));
        }
        self.find_latest(unit)
    }

    fn restore_version(&mut self, unit: Unit, version: &Version) -> Result<(), StoreError> {
        let key = VersionKey { unit: unit.uid, number: version.number };
        let deleted = self.versions.get(&key).filter(|_| !self.surviving.has(&key));
        ensure(deleted == Some(version), || what(&unit, version.number))?;
        let build = self.build_key(version.snapshot);
        if build.is_some_and(|build| !self.is_built(build)) {
            self.wait(key, version)?;
        }
        self.survive(unit, version)
    }

    /// Counts a version among the surviving ones.
    fn survive(&mut self, unit: Unit, version: &Version) -> Result<(), StoreError> {
        let key = VersionKey { unit: unit.uid, number: version.number };
        self.surviving.put(key, ());
        if let Some(uses) = version.uses {
            self.users.update(uses, |users| users.insert(key));
        }
        self.find_latest(unit)
    }

    /// Finds out anew which versions of a unit are its last.
    fn find_latest(&mut self, mut unit: Unit) -> Result<(), StoreError> {
        let beyond = VersionKey { unit: unit.uid, number: unit.next_number };
        unit.newest = self.version_before(beyond)?.map(|version| version.number);
        let latest = self.ready_before(beyond)?;
        unit.latest = latest.as_ref().map(|version| version.number);
        if unit.key.kind == Kind::Trigger {
            self.aim(&unit, latest.map(|version| version.snapshot));
        }
        self.put_unit(unit);
        Ok(())
    }

    fn describe(
        &mut self,
        unit: &Unit,
        number: Number,
        from: (&str, Option<Timestamp>),
        (to, to_at): (&str, Option<Timestamp>),
    ) -> Result<(), StoreError> {
        let key = VersionKey { unit: unit.uid, number };
        let version = self.version(key)?;
        let version =
            version.filter(|version| (&*version.description, version.described_at) == from);
        let gone = || StoreError::Conflict { what: what(unit, number) };
        let mut version = version.ok_or_else(gone)?;
        to.clone_into(&mut version.description);
        version.described_at = to_at;
        self.versions.put(key, version);
        Ok(())
    }

    fn has_snapshot(&self, digest: Digest) -> Result<(), StoreError> {
        ensure(self.snapshots.has(&digest), || format!("snapshot {digest}"))
    }

    /// Refuses a change that leaves a draft or version without its package, or a pointer without its target.
    fn nothing_dangles(&self, edit: &Edit) -> Result<(), StoreError> {
        match edit {
            Edit::Publish { uid, version, .. } | Edit::RestoreVersion { uid, version } => {
                let key = VersionKey { unit: *uid, number: version.number };
                let uses = version.uses.filter(|_| self.surviving.has(&key));
                self.package_survives(uses)
            }
            Edit::SetDraft { uid, to: Some(_), .. } => {
                let draft = self.unit_by_uid(*uid)?.and_then(|unit| unit.draft);
                self.package_survives(draft.and_then(|draft| draft.uses))
            }
            Edit::DeleteVersion { uid, version } => {
                let key = VersionKey { unit: *uid, number: version.number };
                let unused = State::users(self, key)?.is_empty()
                    && State::draft_users(self, key)?.is_empty()
                    && self.pointers_to(key)?.is_empty();
                let what = || format!("what uses version `{}`", version.id);
                ensure(unused || self.surviving.has(&key), what)
            }
            _ => Ok(()),
        }
    }

    fn package_survives(&self, uses: Option<VersionKey>) -> Result<(), StoreError> {
        let Some(key) = uses else { return Ok(()) };
        ensure(self.surviving.has(&key), || format!("version {} of a package", key.number))
    }
}

fn what(unit: &Unit, number: Number) -> String {
    format!("version {number} of {}", unit.key)
}

/// Refuses a change that does not fit what is there.
fn ensure(fits: bool, what: impl FnOnce() -> String) -> Result<(), StoreError> {
    if fits { Ok(()) } else { Err(StoreError::Conflict { what: what() }) }
}
