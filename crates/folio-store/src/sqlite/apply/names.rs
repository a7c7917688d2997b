//! Notes which configs and secrets units name. A store without any never asks.

use std::collections::BTreeSet;

use folio_core::ports::StoreError;
use folio_model::{Change, Digest, Edit, Snapshot, UnitUid};
use rusqlite::params;

use super::Writing;
use crate::sqlite::query::{exists, run};

impl Writing<'_> {
    /// Notes what a new snapshot names.
    pub(super) fn snapshot_names(
        &self,
        digest: Digest,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO snapshot_names (snapshot, kind, name) VALUES (?1, ?2, ?3) \
                   ON CONFLICT DO NOTHING";
        for (kind, pin) in snapshot.named() {
            run(self.conn, sql, params![digest.as_bytes(), kind.as_str(), pin.name.as_str()])?;
            self.session.known(|known| known.any_names = Some(true));
        }
        Ok(())
    }

    /// Finds out anew what the units that a change touched name: by their latest and newest version and their
    /// draft.
    pub(super) fn names(&self, change: &Change) -> Result<(), StoreError> {
        if !self.any_names()? {
            return Ok(());
        }
        let clear = "DELETE FROM named WHERE unit = ?1";
        let note = "INSERT INTO named (app, kind, name, unit) \
                    SELECT units.app, names.kind, names.name, units.uid \
                    FROM units JOIN versions ON versions.unit = units.uid AND deleted = 0 \
                    AND number IN (latest, newest) \
                    JOIN snapshot_names AS names ON names.snapshot = versions.snapshot \
                    WHERE units.uid = ?1 AND deleted_in IS NULL \
                    UNION SELECT units.app, names.kind, names.name, units.uid \
                    FROM units JOIN drafts ON drafts.unit = units.uid \
                    JOIN snapshot_names AS names ON names.snapshot = drafts.snapshot \
                    WHERE units.uid = ?1 AND deleted_in IS NULL";
        let touched: BTreeSet<UnitUid> = change.edits.iter().flat_map(touched).collect();
        for uid in touched {
            run(self.conn, clear, [uid.0.as_bytes()])?;
            run(self.conn, note, [uid.0.as_bytes()])?;
        }
        Ok(())
    }

    fn any_names(&self) -> Result<bool, StoreError> {
        if let Some(known) = self.session.known(|known| known.any_names) {
            return Ok(known);
        }
        let any = exists(self.conn, "SELECT 1 FROM snapshot_names", [])?;
        self.session.known(|known| known.any_names = Some(any));
        Ok(any)
    }
}

/// The units whose versions or draft an edit may change.
fn touched(edit: &Edit) -> Vec<UnitUid> {
    match edit {
        Edit::Built { readies, .. } => readies.iter().map(|key| key.unit).collect(),
        other => other.unit().into_iter().collect(),
    }
}
