//! Brings stored snapshots to the newest version of the hub, a few at a time. A snapshot keeps its digest: what
//! was published stays what it is called, and the new body has a digest of its own beside it.

use folio_core::crash;
use folio_core::ports::{Migrated, StoreError};
use folio_kinds::HUB_VERSION;
use folio_model::{Digest, Timestamp, canonical};
use rusqlite::{Connection, params};

use super::query::{all, digest, limit as rows, moment, one, run, text};
use super::state::versions::{Body, read_snapshot};

/// Rewrites some snapshots that are in an older version, and notes the moment when there are none.
pub(super) fn batch(
    conn: &Connection,
    limit: usize,
    at: Timestamp,
) -> Result<Migrated, StoreError> {
    // Spelled out, because only then is the index of the few that are left used.
    let sql =
        "SELECT digest, body, hub, rewritten FROM snapshots WHERE hub <> 'folio.dev/v1' LIMIT ?1";
    let older = all(conn, sql, [rows(limit)], |row| Ok((digest(row, 0)?, Body::read(row, 1)?)))?;
    for (name, body) in &older {
        let body = canonical::encode(&read_snapshot(*name, body)?);
        let sql = "UPDATE snapshots SET body = ?2, hub = ?3, rewritten = ?4 WHERE digest = ?1";
        let own = Digest::of(&body);
        run(conn, sql, params![name.as_bytes(), body, HUB_VERSION, own.as_bytes()])?;
        crash::point("rewrite.body");
    }
    let rewritten = older.len() as u64;
    let done_at = if older.len() < limit { Some(done(conn, rewritten, at)?) } else { None };
    crash::point("rewrite.noted");
    Ok(Migrated { hub: HUB_VERSION.to_owned(), rewritten, done_at })
}

/// Notes that everything is in the newest version, and says since when.
fn done(conn: &Connection, rewritten: u64, at: Timestamp) -> Result<Timestamp, StoreError> {
    let again = if rewritten > 0 { "DO UPDATE SET at = excluded.at" } else { "DO NOTHING" };
    let sql = format!("INSERT INTO storage_versions (hub, at) VALUES (?1, ?2) ON CONFLICT {again}");
    run(conn, &sql, params![HUB_VERSION, moment(at)])?;
    let sql = "SELECT at FROM storage_versions WHERE hub = ?1";
    let noted = one(conn, sql, [HUB_VERSION], |row| text(row, 0))?;
    noted.ok_or_else(|| StoreError::corrupt("the note of the storage's version".to_owned()))
}
