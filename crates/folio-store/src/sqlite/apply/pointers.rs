//! Writes moves of pointers.

use folio_core::ports::{State as _, StoreError};
use folio_model::{Place, Pointer};
use rusqlite::params;

use super::{Writing, ensure};
use crate::sqlite::newest::Newest;
use crate::sqlite::query::{run, signed, to_json};
use crate::sqlite::state::pointers::Columns;

impl Writing<'_> {
    pub(super) fn move_pointer(
        &self,
        pointer: &Pointer,
        from: Option<&Place>,
        to: Option<&Place>,
    ) -> Result<(), StoreError> {
        if let Pointer::Release { app, id } = pointer {
            return self.move_release((app, id), from, to);
        }
        let now = Newest(self.session).place(pointer)?.map(|(place, _)| place);
        ensure(now.as_ref() == from, || pointer.to_string())?;
        let at = Columns::of(pointer);
        let key = params![at.kind, at.owner, at.name];
        if from.is_some_and(|from| from.versions(pointer).next().is_some()) {
            let sql = "DELETE FROM pointer_targets WHERE kind = ?1 AND owner = ?2 AND name = ?3";
            run(self.conn, sql, key)?;
        }
        self.note_move(pointer, to);
        match to {
            Some(to) => self.set_pointer(pointer, to)?,
            None => {
                let table = at.table();
                let sql =
                    format!("DELETE FROM {table} WHERE kind = ?1 AND owner = ?2 AND name = ?3");
                run(self.conn, &sql, key)?;
            }
        }
        let sql = "INSERT INTO pointer_moves (kind, owner, name, seq) VALUES (?1, ?2, ?3, ?4) \
                   ON CONFLICT DO NOTHING";
        run(self.conn, sql, params![at.kind, at.owner, at.name, signed(self.seq)]).map(|_| ())
    }

    /// Notes a move where the writer knows where the pointer is.
    fn note_move(&self, pointer: &Pointer, to: Option<&Place>) {
        let place = to.map(|to| (to.clone(), self.seq));
        self.session.known(|known| {
            known.note_pointer(pointer, place);
            if let Pointer::ReleaseTag { app, .. } = pointer {
                known.release_tags.remove(app);
            }
        });
    }

    fn set_pointer(&self, pointer: &Pointer, to: &Place) -> Result<(), StoreError> {
        let fits = match (pointer, to) {
            (Pointer::Alias { unit, .. }, Place::Versions(_))
            | (Pointer::Split { unit }, Place::Targets(_)) => self.living(*unit).map(|_| true)?,
            (Pointer::Tag { .. }, Place::Members(_))
            | (Pointer::Canary { .. }, Place::Canary(_))
            | (Pointer::ReleaseTag { .. }, Place::Tagged(_))
            | (Pointer::Live { .. }, Place::Live(_))
            | (Pointer::Plan { .. }, Place::Plan(_))
            | (Pointer::Binding { .. }, Place::Binding(_))
            | (Pointer::Marks { .. }, Place::Marks(_))
            | (Pointer::Domain { .. }, Place::App(_)) => true,
            _ => false,
        };
        ensure(fits, || pointer.to_string())?;
        let at = Columns::of(pointer);
        let table = at.table();
        let sql = format!(
            "INSERT INTO {table} (kind, owner, name, place, revision) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT DO UPDATE SET place = excluded.place, revision = excluded.revision"
        );
        let values = params![at.kind, at.owner, at.name, to_json(to), signed(self.seq)];
        run(self.conn, &sql, values)?;
        let sql = "INSERT INTO pointer_targets (unit, number, kind, owner, name) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        for target in to.versions(pointer) {
            ensure(self.survives(target)?, || format!("the target of {pointer}"))?;
            let number = signed(target.number.get());
            let values = params![target.unit.0.as_bytes(), number, at.kind, at.owner, at.name];
            run(self.conn, sql, values)?;
        }
        Ok(())
    }
}
