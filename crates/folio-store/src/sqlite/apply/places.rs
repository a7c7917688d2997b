//! Writes the app version a change makes: one row, and one for each unit whose place changed.

use folio_core::ports::{State as _, StoreError};
use folio_model::{
    AppName, Change, Digest, Number, Placement, UnitKey, UnitUid, VersionId, canonical,
};
use rusqlite::params;

use super::{Writing, ensure};
use crate::sqlite::newest::Newest;
use crate::sqlite::query::{exists, moment, run, signed, to_json};
use crate::sqlite::session::Known;
use crate::sqlite::state::places::Placed;

impl Writing<'_> {
    pub(super) fn app_version(&self, change: &Change) -> Result<(), StoreError> {
        match &change.app_version {
            Some(id) => {
                let last = Newest(self.session).newest_app_version(&change.app)?;
                let number = last.as_ref().map_or(Number::FIRST, |(number, _)| number.next());
                let mut placed = Placed::default();
                for (uid, to) in &change.placements {
                    let noted = self.place(&change.app, number, *uid, to.as_ref())?;
                    let again = noted && placed.insert(*uid, to.clone()).is_some();
                    ensure(!again, || format!("the place of unit {uid}"))?;
                }
                let parent = last.map(|(_, id)| id);
                self.add_app_version(change, &placed, (number, id, parent.as_ref()))?;
                let newest = (number, id.clone());
                self.session.known(|known| known.newest.put(change.app.clone(), newest));
                Ok(())
            }
            None if change.placements.is_empty() => Ok(()),
            None => Err(StoreError::failed("append a change", "it places units in no app version")),
        }
    }

    /// Adds the app version, with the digest of what it placed: no entry repeats the places, and verify must be
    /// able to tell if one is altered.
    fn add_app_version(
        &self,
        change: &Change,
        placed: &Placed,
        (number, id, parent): (Number, &VersionId, Option<&VersionId>),
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO app_versions (app, number, id, parent, seq, at, by, message, git, placed) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        let digest = canonical::digest(placed);
        let values = params![
            change.app.as_str(),
            signed(number.get()),
            id.as_str(),
            parent.map(VersionId::as_str),
            signed(self.seq),
            moment(change.at),
            change.by.as_str(),
            change.message,
            change.git.as_ref().map(to_json),
            digest.as_bytes(),
        ];
        run(self.conn, sql, values)?;
        let taken = self.take_id(&change.app, id, (&[], number))?;
        ensure(taken, || format!("app version `{id}`"))
    }

    /// Writes what a unit is from an app version on. False if it was not there and is not.
    fn place(
        &self,
        app: &AppName,
        number: Number,
        uid: UnitUid,
        to: Option<&Placement>,
    ) -> Result<bool, StoreError> {
        match to {
            Some(to) => self.fits(app, uid, to)?,
            None if Newest(self.session).placement(uid)?.is_none() => return Ok(false),
            None => {}
        }
        self.session.known(|known| known.places.put(uid, to.cloned()));
        let sql = "INSERT INTO placements (unit, since, stands, latest_number, latest_id, latest_snapshot, draft, \
                   pending_number, pending_id, pending_snapshot) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING";
        let latest = to.and_then(|to| to.latest.as_ref());
        let pending = to.and_then(|to| to.pending.as_ref());
        let values = params![
            uid.0.as_bytes(),
            signed(number.get()),
            to.is_some(),
            latest.map(|(number, _, _)| signed(number.get())),
            latest.map(|(_, id, _)| id.as_str()),
            latest.map(|(_, _, snapshot)| snapshot.as_bytes()),
            to.and_then(|to| to.draft.as_ref()).map(Digest::as_bytes),
            pending.map(|(number, _, _)| signed(number.get())),
            pending.map(|(_, id, _)| id.as_str()),
            pending.map(|(_, _, snapshot)| snapshot.as_bytes()),
        ];
        ensure(run(self.conn, sql, values)? == 1, || format!("the place of unit {uid}"))?;
        Ok(true)
    }

    /// Refuses a placement of another unit. Its snapshots are held by their foreign keys.
    fn fits(&self, app: &AppName, uid: UnitUid, to: &Placement) -> Result<(), StoreError> {
        let fits = |key: &UnitKey| key.app == *app && key.kind == to.kind && key.name == to.name;
        let known = |known: &mut Known| known.units.get(&uid).is_some_and(|unit| fits(&unit.key));
        if to.uid == uid && self.session.known(known) {
            return Ok(());
        }
        let sql = "SELECT 1 FROM units WHERE uid = ?1 AND app = ?2 AND kind = ?3 AND name = ?4";
        let values = params![uid.0.as_bytes(), app.as_str(), to.kind.as_str(), to.name.as_str()];
        let known = to.uid == uid && exists(self.conn, sql, values)?;
        ensure(known, || format!("{} `{}`", to.kind, to.name))
    }
}
