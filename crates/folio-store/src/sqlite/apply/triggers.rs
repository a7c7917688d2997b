//! Notes which functions triggers lead to.

use std::collections::BTreeSet;

use folio_core::ports::{State, StoreError};
use folio_model::{AppName, Digest, Name, Snapshot, Target, UnitUid};
use rusqlite::params;

use super::Writing;
use crate::sqlite::query::run;
use crate::sqlite::state::Seen;

impl Writing<'_> {
    /// Aims a trigger at the functions its latest version names, or at nothing if it has none.
    pub(super) fn aim(
        &self,
        app: &AppName,
        uid: UnitUid,
        latest: Option<Digest>,
    ) -> Result<(), StoreError> {
        run(self.conn, "DELETE FROM trigger_targets WHERE unit = ?1", [uid.0.as_bytes()])?;
        let snapshot = latest.map_or(Ok(None), |latest| Seen(self.conn).snapshot(latest))?;
        let Some(Snapshot::Trigger(spec)) = snapshot else { return Ok(()) };
        let names: BTreeSet<&Name> = spec.targets().iter().filter_map(Target::name).collect();
        let sql = "INSERT INTO trigger_targets (app, function, unit) VALUES (?1, ?2, ?3)";
        for name in names {
            run(self.conn, sql, params![app.as_str(), name.as_str(), uid.0.as_bytes()])?;
        }
        Ok(())
    }
}
