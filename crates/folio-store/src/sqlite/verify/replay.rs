//! Replays every entry on an empty ledger in memory and compares what comes out with the stored state.

use std::collections::BTreeMap;

use folio_core::ports::{Page, State, StoreError};
use folio_model::{Change, Entry, canonical};
use rusqlite::Connection;

use super::Found;
use super::compare::{self, Side};
use crate::memory::MemoryLedger;
use crate::sqlite::query::{all, digest, seq};
use crate::sqlite::state::places::{self, Placed};
use crate::sqlite::state::{Seen, versions};

/// Entries read at a time.
const PAGE: usize = 1000;

/// The state is what the entries add up to.
pub(super) fn adds_up(conn: &Connection, found: &mut Found) -> Result<(), StoreError> {
    let memory = MemoryLedger::without_blobs();
    let sql = "SELECT digest, body, hub, rewritten FROM snapshots";
    let snapshots = all(conn, sql, [], |row| Ok((digest(row, 0)?, versions::Body::read(row, 1)?)))?;
    for (name, body) in snapshots {
        memory.know(name, versions::read_snapshot(name, &body)?);
    }
    let mut placed = placed(conn)?;
    as_noted(conn, &placed, found)?;
    let mut after = 0;
    loop {
        let entries = Seen(conn).entries(None, Page { after, limit: PAGE })?;
        let Some(last) = entries.last() else { break };
        after = last.seq;
        for entry in entries {
            let seq = entry.seq;
            let change = change(entry, placed.remove(&seq).unwrap_or_default());
            if let Err(error) = memory.append_now(|_| Ok(Some(change))) {
                found.add(format!("entry {seq} does not follow from those before it: {error}"));
                return Ok(());
            }
        }
    }
    memory.view_now(|state, keys| compare::states(conn, Side { state, keys }, found))
}

/// What each entry placed.
fn placed(conn: &Connection) -> Result<BTreeMap<u64, Placed>, StoreError> {
    let sql = "SELECT uid, kind, name, latest_number, latest_id, latest_snapshot, draft, \
               pending_number, pending_id, pending_snapshot, seq, stands \
               FROM placements JOIN units ON uid = unit \
               JOIN app_versions ON app_versions.app = units.app AND app_versions.number = since";
    let rows = all(conn, sql, [], |row| {
        Ok((places::read_placement(row)?, seq(row, 10)?, row.get::<_, bool>(11)?))
    })?;
    let mut placed: BTreeMap<u64, Placed> = BTreeMap::new();
    for (placement, entry, stands) in rows {
        placed.entry(entry).or_default().insert(placement.uid, stands.then_some(placement));
    }
    Ok(placed)
}

/// What each app version placed is what it was written with.
fn as_noted(
    conn: &Connection,
    placed: &BTreeMap<u64, Placed>,
    found: &mut Found,
) -> Result<(), StoreError> {
    let sql = "SELECT seq, app, id, placed FROM app_versions";
    let noted = all(conn, sql, [], |row| {
        Ok((seq(row, 0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?, digest(row, 3)?))
    })?;
    let nothing = Placed::default();
    for (entry, app, id, noted) in noted {
        let now = canonical::digest(placed.get(&entry).unwrap_or(&nothing));
        found.expect(now == noted, || format!("what app version `{id}` of app `{app}` changed"));
    }
    Ok(())
}

fn change(entry: Entry, placed: Placed) -> Change {
    Change {
        app: entry.app,
        at: entry.at,
        by: entry.by,
        message: entry.message,
        reason: entry.reason,
        edits: entry.edits,
        snapshots: Vec::new(),
        requires: Vec::new(),
        frees: Vec::new(),
        app_version: entry.app_version,
        placements: placed.into_iter().collect(),
        git: entry.git,
        undoes: entry.undoes,
        rollback: entry.rollback,
        unreleased: entry.unreleased,
        answer: None,
    }
}
