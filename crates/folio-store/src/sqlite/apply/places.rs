//! Writes the app version a change makes: one row, and one interval per unit whose place changed.

use folio_core::ports::StoreError;
use folio_model::{AppName, Change, Digest, Number, Placement, UnitUid, VersionId, canonical};
use rusqlite::params;

use super::{Writing, ensure};
use crate::sqlite::query::{exists, moment, run, signed, to_json};
use crate::sqlite::state::places::{Placed, newest, placed_in};

impl Writing<'_> {
    pub(super) fn app_version(&self, change: &Change) -> Result<(), StoreError> {
        match &change.app_version {
            Some(id) => {
                let number = self.add_app_version(change, id)?;
                for (uid, to) in &change.placements {
                    self.place(&change.app, number, *uid, to.as_ref())?;
                }
                self.note_placed(change, number)
            }
            None if change.placements.is_empty() => Ok(()),
            None => Err(StoreError::failed("append a change", "it places units in no app version")),
        }
    }

    fn add_app_version(&self, change: &Change, id: &VersionId) -> Result<Number, StoreError> {
        let last = newest(self.conn, &change.app)?;
        let number = last.as_ref().map_or(Number::FIRST, |last| last.number.next());
        let app = change.app.as_str();
        let sql = "INSERT INTO app_versions (app, number, id, parent, seq, at, by, message, git, placed) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, zeroblob(32)) \
                   ON CONFLICT DO NOTHING";
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
        ];
        let added = run(self.conn, sql, values)?;
        ensure(added == 1, || format!("app version `{id}`"))?;
        let sql = "INSERT INTO taken_ids (app, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        run(self.conn, sql, [app, id.as_str()])?;
        Ok(number)
    }

    /// Ends the interval a unit stands in and, if it is still there, begins the next.
    fn place(
        &self,
        app: &AppName,
        number: Number,
        uid: UnitUid,
        to: Option<&Placement>,
    ) -> Result<(), StoreError> {
        let since = signed(number.get());
        let key = params![uid.0.as_bytes(), since];
        run(self.conn, "DELETE FROM placements WHERE unit = ?1 AND since = ?2", key)?;
        let sql = "UPDATE placements SET until = ?2 WHERE unit = ?1 AND until IS NULL";
        run(self.conn, sql, key)?;
        let Some(to) = to else { return Ok(()) };
        self.fits(app, uid, to)?;
        let sql = "INSERT INTO placements (unit, since, latest_number, latest_id, latest_snapshot, draft) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let latest = to.latest.as_ref();
        let values = params![
            uid.0.as_bytes(),
            since,
            latest.map(|(number, _, _)| signed(number.get())),
            latest.map(|(_, id, _)| id.as_str()),
            latest.map(|(_, _, snapshot)| snapshot.as_bytes()),
            to.draft.as_ref().map(Digest::as_bytes),
        ];
        run(self.conn, sql, values).map(|_| ())
    }

    /// Notes what the intervals say, so that verify can tell if one is altered: no entry repeats them.
    fn note_placed(&self, change: &Change, number: Number) -> Result<(), StoreError> {
        let mut placed = Placed::default();
        for (uid, _) in &change.placements {
            if let Some(to) = placed_in(self.conn, *uid, number)? {
                placed.insert(*uid, to);
            }
        }
        let sql = "UPDATE app_versions SET placed = ?3 WHERE app = ?1 AND number = ?2";
        let digest = canonical::digest(&placed);
        let values = params![change.app.as_str(), signed(number.get()), digest.as_bytes()];
        run(self.conn, sql, values).map(|_| ())
    }

    /// Refuses a placement of another unit, or of snapshots that are not stored.
    fn fits(&self, app: &AppName, uid: UnitUid, to: &Placement) -> Result<(), StoreError> {
        let sql = "SELECT 1 FROM units WHERE uid = ?1 AND app = ?2 AND kind = ?3 AND name = ?4";
        let values = params![uid.0.as_bytes(), app.as_str(), to.kind.as_str(), to.name.as_str()];
        let known = to.uid == uid && exists(self.conn, sql, values)?;
        ensure(known, || format!("{} `{}`", to.kind, to.name))?;
        let latest = to.latest.as_ref().map(|(_, _, snapshot)| *snapshot);
        latest.into_iter().chain(to.draft).try_for_each(|digest| self.has_snapshot(digest))
    }
}
