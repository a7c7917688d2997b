//! Writes the app version a change makes: one row, and one interval per unit whose place changed.

use folio_core::ports::StoreError;
use folio_model::{
    AppName, AppVersion, Change, Digest, Number, Placement, UnitUid, VersionId, canonical,
};
use rusqlite::params;

use super::{Writing, ensure};
use crate::sqlite::query::{exists, moment, run, signed, to_json};
use crate::sqlite::state::places::{Placed, newest};

impl Writing<'_> {
    pub(super) fn app_version(&self, change: &Change) -> Result<(), StoreError> {
        match &change.app_version {
            Some(id) => {
                let last = newest(self.conn, &change.app)?;
                let number = last.as_ref().map_or(Number::FIRST, |last| last.number.next());
                let mut placed = Placed::default();
                for (uid, to) in &change.placements {
                    let noted = self.place(&change.app, number, *uid, to.as_ref())?;
                    let again = noted && placed.insert(*uid, to.clone()).is_some();
                    ensure(!again, || format!("the place of unit {uid}"))?;
                }
                self.add_app_version(change, id, (last, &placed))
            }
            None if change.placements.is_empty() => Ok(()),
            None => Err(StoreError::failed("append a change", "it places units in no app version")),
        }
    }

    /// Adds the app version, with the digest of what it placed: no entry repeats the intervals, and verify must
    /// be able to tell if one is altered.
    fn add_app_version(
        &self,
        change: &Change,
        id: &VersionId,
        (last, placed): (Option<AppVersion>, &Placed),
    ) -> Result<(), StoreError> {
        let number = last.as_ref().map_or(Number::FIRST, |last| last.number.next());
        let app = change.app.as_str();
        let sql = "INSERT INTO app_versions (app, number, id, parent, seq, at, by, message, git, placed) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING";
        let digest = canonical::digest(placed);
        let values = params![
            app,
            signed(number.get()),
            id.as_str(),
            last.as_ref().map(|last| last.id.as_str()),
            signed(self.seq),
            moment(change.at),
            change.by.as_str(),
            change.message,
            change.git.as_ref().map(to_json),
            digest.as_bytes(),
        ];
        let added = run(self.conn, sql, values)?;
        ensure(added == 1, || format!("app version `{id}`"))?;
        let sql = "INSERT INTO taken_ids (app, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        run(self.conn, sql, [app, id.as_str()]).map(|_| ())
    }

    /// Ends the interval a unit stands in and, if it is still there, begins the next. False if nothing changed.
    fn place(
        &self,
        app: &AppName,
        number: Number,
        uid: UnitUid,
        to: Option<&Placement>,
    ) -> Result<bool, StoreError> {
        let since = signed(number.get());
        let sql =
            "UPDATE placements SET until = ?2 WHERE unit = ?1 AND until IS NULL AND since < ?2";
        let ended = run(self.conn, sql, params![uid.0.as_bytes(), since])? == 1;
        let Some(to) = to else { return Ok(ended) };
        self.fits(app, uid, to)?;
        let sql = "INSERT INTO placements (unit, since, latest_number, latest_id, latest_snapshot, draft) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
        let latest = to.latest.as_ref();
        let values = params![
            uid.0.as_bytes(),
            since,
            latest.map(|(number, _, _)| signed(number.get())),
            latest.map(|(_, id, _)| id.as_str()),
            latest.map(|(_, _, snapshot)| snapshot.as_bytes()),
            to.draft.as_ref().map(Digest::as_bytes),
        ];
        let begun = run(self.conn, sql, values)? == 1;
        ensure(begun, || format!("the place of unit {uid}"))?;
        Ok(true)
    }

    /// Refuses a placement of another unit. Its snapshots are held by their foreign keys.
    fn fits(&self, app: &AppName, uid: UnitUid, to: &Placement) -> Result<(), StoreError> {
        let sql = "SELECT 1 FROM units WHERE uid = ?1 AND app = ?2 AND kind = ?3 AND name = ?4";
        let values = params![uid.0.as_bytes(), app.as_str(), to.kind.as_str(), to.name.as_str()];
        let known = to.uid == uid && exists(self.conn, sql, values)?;
        ensure(known, || format!("{} `{}`", to.kind, to.name))
    }
}
