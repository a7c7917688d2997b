//! Reads triggers: which lead to a function, and what each says.

use folio_core::ports::{StandingTrigger, StoreError};
use folio_model::{AppName, Name, Snapshot, Unit};
use rusqlite::Connection;

use super::units::{read, select_units};
use super::versions::{Body, read_snapshot};
use crate::sqlite::query::{all, digest};

pub(super) fn aimed_at(
    conn: &Connection,
    app: &AppName,
    function: &Name,
) -> Result<Vec<Unit>, StoreError> {
    let sql = select_units!(
        "JOIN trigger_targets AS targets ON targets.unit = units.uid \
         WHERE targets.app = ?1 AND targets.function = ?2 ORDER BY name"
    );
    all(conn, sql, [app.as_str(), function.as_str()], read)
}

pub(super) fn standing(conn: &Connection) -> Result<Vec<StandingTrigger>, StoreError> {
    let sql = "SELECT uid, app, kind, name, origin, next_number, latest, revision, newest, \
               drafts.snapshot, drafts.uses_unit, drafts.uses_number, drafts.archive, owner, owner_name, \
               digest, body, hub, rewritten \
               FROM units INDEXED BY units_triggers LEFT JOIN drafts ON drafts.unit = units.uid \
               JOIN versions ON versions.unit = units.uid AND deleted = 0 AND versions.number = units.latest \
               JOIN snapshots ON snapshots.digest = versions.snapshot \
               WHERE kind = 'trigger' AND units.deleted_in IS NULL ORDER BY app, name";
    let rows = all(conn, sql, [], |row| Ok((read(row)?, digest(row, 15)?, Body::read(row, 16)?)))?;
    let mut triggers = Vec::with_capacity(rows.len());
    for (unit, name, body) in rows {
        if let Snapshot::Trigger(spec) = read_snapshot(name, &body)? {
            triggers.push(StandingTrigger { unit, spec });
        }
    }
    Ok(triggers)
}
