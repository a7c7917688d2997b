//! Writes releases: each deploy makes one, and most end another.

use folio_core::ports::StoreError;
use folio_core::ports::{Releases, StandingRelease, State as _};
use folio_model::{AppName, Place, Pointer, Release, ReleaseId};
use rusqlite::params;

use super::{Writing, ensure};
use crate::sqlite::newest::Newest;
use crate::sqlite::query::{run, signed, to_json};

impl Writing<'_> {
    /// Makes a release, or has it stand otherwise. None is ever removed, and what it is of never changes.
    pub(super) fn move_release(
        &self,
        (app, id): (&AppName, &ReleaseId),
        from: Option<&Place>,
        to: Option<&Place>,
    ) -> Result<(), StoreError> {
        let moved = match (from, to) {
            (None, Some(Place::Release(made))) => self.add_release((app, id), made)?,
            (Some(Place::Release(before)), Some(Place::Release(after)))
                if (&before.app_version, before.entry) == (&after.app_version, after.entry) =>
            {
                self.stands((app, id), before)? && self.change_release((app, id), after)?
            }
            _ => false,
        };
        ensure(moved, || Pointer::Release { app: app.clone(), id: id.clone() }.to_string())
    }

    fn add_release(
        &self,
        (app, id): (&AppName, &ReleaseId),
        made: &Release,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO releases \
                   (app, made_in, id, app_version, later, accessible, place, revision, moves) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, json_array(?8)) ON CONFLICT DO NOTHING";
        let later = self.app_version != Some(&made.app_version);
        let values = params![
            app.as_str(),
            signed(made.entry),
            id.as_str(),
            made.app_version.as_str(),
            later,
            made.is_accessible(),
            to_json(&Place::Release(made.clone())),
            signed(self.seq),
        ];
        let added = run(self.conn, sql, values)? == 1;
        self.note_release((app, id), made);
        Ok(added)
    }

    fn change_release(
        &self,
        (app, id): (&AppName, &ReleaseId),
        after: &Release,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE releases SET accessible = ?4, place = ?5, revision = ?6, \
                   moves = CASE WHEN revision = ?6 THEN moves ELSE json_insert(moves, '$[#]', ?6) END \
                   WHERE app = ?1 AND made_in = ?2 AND id = ?3";
        let values = params![
            app.as_str(),
            signed(after.entry),
            id.as_str(),
            after.is_accessible(),
            to_json(&Place::Release(after.clone())),
            signed(self.seq),
        ];
        let changed = run(self.conn, sql, values)? == 1;
        self.note_release((app, id), after);
        Ok(changed)
    }

    /// Whether a release stands as an edit says it does.
    fn stands(
        &self,
        (app, id): (&AppName, &ReleaseId),
        said: &Release,
    ) -> Result<bool, StoreError> {
        let newest = Newest(self.session);
        if said.is_accessible() {
            let found = newest.releases(app, Releases::Accessible)?;
            return Ok(found.iter().any(|found| found.id == *id && found.release == *said));
        }
        let pointer = Pointer::Release { app: app.clone(), id: id.clone() };
        let now = newest.place(&pointer)?;
        Ok(now.is_some_and(|(now, _)| now == Place::Release(said.clone())))
    }

    /// Notes how a release stands where the writer knows those that can be reached.
    fn note_release(&self, (app, id): (&AppName, &ReleaseId), release: &Release) {
        self.session.known(|known| {
            let Some(accessible) = known.releases.get_mut(app) else { return };
            accessible.retain(|found| found.id != *id);
            if release.is_accessible() {
                accessible.push(StandingRelease { id: id.clone(), release: release.clone() });
                accessible.sort_by_key(|found| found.release.entry);
            }
        });
    }
}
