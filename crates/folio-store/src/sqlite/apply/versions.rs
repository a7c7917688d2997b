//! Writes the edits of versions. No edit alters one: publishing adds, deleting hides, restoring shows again.

use folio_core::ports::{State, StoreError};
use folio_model::{
    AppName, Digest, Edit, Kind, Number, Timestamp, Unit, UnitUid, Version, VersionId, VersionKey,
};
use rusqlite::params;

use super::{Writing, ensure};
use crate::sqlite::newest::Newest;
use crate::sqlite::query::{moment, run, signed};
use crate::sqlite::state::{Seen, versions};

impl Writing<'_> {
    /// Publishes a unit's version: that its number was never given, its id and the app are compared as it is written.
    pub(super) fn publish(
        &self,
        app: &AppName,
        uid: UnitUid,
        version: &Version,
        waits: bool,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE units SET next_number = ?3 + 1, newest = ?3, \
                   latest = CASE WHEN ?5 THEN latest ELSE ?3 END, revision = ?4 \
                   WHERE uid = ?1 AND app = ?2 AND next_number <= ?3 AND deleted_in IS NULL";
        let number = signed(version.number.get());
        let values = params![uid.0.as_bytes(), app.as_str(), number, signed(self.seq), waits];
        let next = run(self.conn, sql, values)? == 1;
        ensure(next, || format!("version {number} of unit {uid}"))?;
        let kind = self.note_published(uid, version.number, waits)?;
        let awaited = if waits { Some(self.awaited(version)?) } else { None };
        self.insert(uid, version, awaited)?;
        if kind == Some(Kind::Trigger) && !waits {
            self.aim(app, uid, Some(version.snapshot))?;
        }
        let taken = self.take_id(app, &version.id, (uid.0.as_bytes(), version.number))?;
        ensure(taken, || format!("version `{}`", version.id))
    }

    /// Notes what a publish makes of its unit, and says what kind of unit it is.
    fn note_published(
        &self,
        uid: UnitUid,
        number: Number,
        waits: bool,
    ) -> Result<Option<Kind>, StoreError> {
        self.session.known(|known| {
            if let Some(unit) = known.units.get_mut(&uid) {
                unit.next_number = number.next();
                unit.newest = Some(number);
                unit.latest = if waits { unit.latest } else { Some(number) };
                unit.revision = self.seq;
            }
        });
        Ok(Newest(self.session).unit_by_uid(uid)?.map(|unit| unit.key.kind))
    }

    /// Gives an id to a version of a unit, or to an app version, which has no owner. False if it had it already.
    pub(super) fn take_id(
        &self,
        app: &AppName,
        id: &VersionId,
        (owner, number): (&[u8], Number),
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO ids (app, id, owner, number) VALUES (?1, ?2, ?3, ?4) \
                   ON CONFLICT DO NOTHING";
        let values = params![app.as_str(), id.as_str(), owner, signed(number.get())];
        Ok(run(self.conn, sql, values)? == 1)
    }

    fn insert(
        &self,
        uid: UnitUid,
        version: &Version,
        awaited: Option<Digest>,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO versions (unit, number, id, snapshot, uses_unit, uses_number, archive, \
                   created_at, created_by, description, waits_for, described_at) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let values = params![
            uid.0.as_bytes(),
            signed(version.number.get()),
            version.id.as_str(),
            version.snapshot.as_bytes(),
            version.uses.as_ref().map(|uses| uses.unit.0.as_bytes()),
            version.uses.map(|uses| signed(uses.number.get())),
            version.archive.as_ref().map(Digest::as_bytes),
            moment(version.created_at),
            version.created_by.as_str(),
            version.description,
            awaited.as_ref().map(Digest::as_bytes),
            version.described_at.map(moment),
        ];
        run(self.conn, sql, values).map(|_| ())
    }

    pub(super) fn delete_version(&self, unit: &Unit, version: &Version) -> Result<(), StoreError> {
        let key = VersionKey { unit: unit.uid, number: version.number };
        let found = Seen(self.conn).version(key)?;
        ensure(found.as_ref() == Some(version), || what(unit, version.number))?;
        let sql = "UPDATE versions SET deleted = 1 WHERE unit = ?1 AND deleted = 0 AND number = ?2";
        run(self.conn, sql, params![unit.uid.0.as_bytes(), signed(version.number.get())])?;
        self.find_latest(unit)
    }

    pub(super) fn restore_version(&self, unit: &Unit, version: &Version) -> Result<(), StoreError> {
        let key = VersionKey { unit: unit.uid, number: version.number };
        let found = versions::surviving_or_not(self.conn, key)?;
        let deleted = found.filter(|(_, survives)| !survives).map(|(deleted, _)| deleted);
        ensure(deleted.as_ref() == Some(version), || what(unit, version.number))?;
        let sql = "UPDATE versions SET deleted = 0 WHERE unit = ?1 AND deleted = 1 AND number = ?2";
        run(self.conn, sql, params![unit.uid.0.as_bytes(), signed(version.number.get())])?;
        self.wait_again(unit, version)?;
        self.find_latest(unit)
    }

    pub(super) fn describe(
        &self,
        unit: &Unit,
        number: Number,
        (from, from_at): (&str, Option<Timestamp>),
        (to, to_at): (&str, Option<Timestamp>),
    ) -> Result<(), StoreError> {
        let sql = "UPDATE versions SET description = ?5, described_at = ?6 \
                   WHERE unit = ?1 AND deleted = 0 AND number = ?2 AND description = ?3 \
                   AND described_at IS ?4";
        let [from_at, to_at] = [from_at, to_at].map(|at| at.map(moment));
        let key = (unit.uid.0.as_bytes(), signed(number.get()));
        let values = params![key.0, key.1, from, from_at, to, to_at];
        ensure(run(self.conn, sql, values)? == 1, || what(unit, number))
    }

    /// Finds out anew which versions of a unit are its last.
    pub(super) fn find_latest(&self, unit: &Unit) -> Result<(), StoreError> {
        let beyond = VersionKey { unit: unit.uid, number: unit.next_number };
        let state = Seen(self.conn);
        let (newest, latest) = (state.version_before(beyond)?, state.ready_before(beyond)?);
        if unit.key.kind == Kind::Trigger {
            let snapshot = latest.as_ref().map(|version| version.snapshot);
            self.aim(&unit.key.app, unit.uid, snapshot)?;
        }
        let number = |version: Option<Version>| version.map(|version| signed(version.number.get()));
        self.session.known(|known| known.forget_unit(unit.uid));
        let sql = "UPDATE units SET latest = ?2, newest = ?3 WHERE uid = ?1";
        let values = params![unit.uid.0.as_bytes(), number(latest), number(newest)];
        run(self.conn, sql, values).map(|_| ())
    }

    /// Refuses a change that leaves a version without its package, or a pointer or version without its
    /// target. Asked after all edits, so that their order does not matter.
    pub(super) fn nothing_dangles(&self, edit: &Edit) -> Result<(), StoreError> {
        let state = Seen(self.conn);
        match edit {
            Edit::Publish { version, .. } if version.uses.is_none() => Ok(()),
            Edit::Publish { uid, version, .. } | Edit::RestoreVersion { uid, version } => {
                let key = VersionKey { unit: *uid, number: version.number };
                if self.survives(key)? { self.package_survives(version.uses) } else { Ok(()) }
            }
            Edit::SetDraft { uid, to: Some(_), .. } => {
                let draft = state.unit_by_uid(*uid)?.and_then(|unit| unit.draft);
                self.package_survives(draft.and_then(|draft| draft.uses))
            }
            Edit::DeleteVersion { uid, version } => {
                let key = VersionKey { unit: *uid, number: version.number };
                let unused = state.users(key)?.is_empty() && state.draft_users(key)?.is_empty();
                let free = unused && state.pointers_to(key)?.is_empty();
                ensure(free || self.survives(key)?, || {
                    format!("what uses version `{}`", version.id)
                })
            }
            _ => Ok(()),
        }
    }

    fn package_survives(&self, uses: Option<VersionKey>) -> Result<(), StoreError> {
        let Some(key) = uses else { return Ok(()) };
        ensure(self.survives(key)?, || format!("version {} of a package", key.number))
    }
}

fn what(unit: &Unit, number: Number) -> String {
    format!("version {number} of {}", unit.key)
}
