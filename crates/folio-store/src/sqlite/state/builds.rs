//! Reads builds: how they ended, what waits for them, and which were never done.

use folio_core::ports::{PendingBuild, StoreError};
use folio_model::{BuildRecord, Digest, Snapshot, VersionKey};
use rusqlite::{Connection, params};

use crate::sqlite::query::{all, digest, digest_option, json, limit, number, one, signed, uid};

/// What has to be built of a snapshot's own files.
pub(crate) fn own_key(snapshot: &Snapshot) -> Option<Digest> {
    match snapshot {
        Snapshot::Package(spec) => spec.build_key(),
        Snapshot::Function(_)
        | Snapshot::Environment(_)
        | Snapshot::Trigger(_)
        | Snapshot::Config(_)
        | Snapshot::Secret(_)
        | Snapshot::Static(_) => None,
    }
}

/// What has to be built before a stored snapshot can run: its own files or its package's.
pub(crate) fn key_of(conn: &Connection, snapshot: Digest) -> Result<Option<Digest>, StoreError> {
    let sql = "SELECT coalesce(own.build, package.build) FROM snapshots AS own \
               LEFT JOIN snapshots AS package ON package.digest = own.pin WHERE own.digest = ?1";
    Ok(one(conn, sql, [snapshot.as_bytes()], |row| digest_option(row, 0))?.flatten())
}

pub(crate) fn record(conn: &Connection, key: Digest) -> Result<Option<BuildRecord>, StoreError> {
    let sql = "SELECT record FROM builds WHERE key = ?1";
    one(conn, sql, [key.as_bytes()], |row| json(row, 0))
}

/// The builds that made or printed something.
pub(super) fn of(conn: &Connection, made: Digest) -> Result<Vec<Digest>, StoreError> {
    let sql = "SELECT key, record FROM builds ORDER BY key";
    let builds: Vec<(Digest, BuildRecord)> =
        all(conn, sql, [], |row| Ok((digest(row, 0)?, json(row, 1)?)))?;
    let made_it = |record: &BuildRecord| record.made().any(|digest| digest == made);
    Ok(builds.into_iter().filter(|(_, record)| made_it(record)).map(|(key, _)| key).collect())
}

/// Whether a surviving version or a draft needs a build.
pub(crate) fn is_needed(conn: &Connection, key: Digest) -> Result<bool, StoreError> {
    let sql = "WITH held (snapshot) AS (
            SELECT snapshot FROM versions WHERE deleted = 0
            UNION SELECT snapshot FROM drafts
        )
        SELECT 1 FROM held JOIN snapshots AS own ON own.digest = held.snapshot
        LEFT JOIN snapshots AS package ON package.digest = own.pin
        WHERE coalesce(own.build, package.build) = ?1 LIMIT 1";
    Ok(one(conn, sql, [key.as_bytes()], |_| Ok(()))?.is_some())
}

pub(super) fn is_ready(conn: &Connection, key: VersionKey) -> Result<bool, StoreError> {
    let sql = "SELECT waits_for IS NULL FROM versions \
               WHERE unit = ?1 AND deleted IN (0, 1) AND number = ?2";
    let values = params![key.unit.0.as_bytes(), signed(key.number.get())];
    Ok(one(conn, sql, values, |row| row.get(0))?.unwrap_or(false))
}

pub(super) fn waiting(conn: &Connection, key: Digest) -> Result<Vec<VersionKey>, StoreError> {
    let sql = "SELECT unit, number FROM versions INDEXED BY versions_waiting \
               WHERE waits_for = ?1 AND deleted = 0 ORDER BY unit, number";
    all(conn, sql, [key.as_bytes()], |row| {
        Ok(VersionKey { unit: uid(row, 0)?, number: number(row, 1)? })
    })
}

pub(super) fn pending(conn: &Connection, rows: usize) -> Result<Vec<PendingBuild>, StoreError> {
    let sql = "WITH needed (key) AS (
            SELECT waits_for FROM versions INDEXED BY versions_waiting
            WHERE deleted = 0 AND waits_for IS NOT NULL
            UNION SELECT coalesce(own.build, package.build)
            FROM drafts JOIN snapshots AS own ON own.digest = drafts.snapshot
            LEFT JOIN snapshots AS package ON package.digest = own.pin
        )
        SELECT needed.key, snapshots.digest FROM needed JOIN snapshots ON snapshots.build = needed.key
        WHERE NOT EXISTS (SELECT 1 FROM builds WHERE builds.key = needed.key)
        ORDER BY needed.key LIMIT ?1";
    all(conn, sql, [limit(rows)], |row| {
        Ok(PendingBuild { key: digest(row, 0)?, package: digest(row, 1)? })
    })
}

/// What the builds of surviving versions and drafts made and printed.
pub(super) fn roots(conn: &Connection) -> Result<Vec<Digest>, StoreError> {
    let sql = "WITH needed (key) AS (
            SELECT coalesce(own.build, package.build)
            FROM held JOIN snapshots AS own ON own.digest = held.snapshot
            LEFT JOIN snapshots AS package ON package.digest = own.pin
        )
        SELECT DISTINCT record FROM builds JOIN needed USING (key)";
    let records: Vec<BuildRecord> = all(conn, sql, [], |row| json(row, 0))?;
    Ok(records.iter().flat_map(BuildRecord::made).collect())
}
