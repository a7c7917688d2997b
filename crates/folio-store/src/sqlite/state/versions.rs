//! Reads versions and snapshots, and what they keep alive.

use folio_core::ports::{Page, StoreError};
use folio_kinds::{HUB_VERSION, mapping};
use folio_model::{AppName, Digest, Snapshot, UnitUid, Version, VersionId, VersionKey};
use rusqlite::{Connection, Row, params};

use crate::sqlite::query::{
    all, digest, digest_option, exists, key_option, limit, number, one, signed, text, text_option,
    uid,
};

macro_rules! select_versions {
    ($rest:literal) => {
        concat!(
            "SELECT number, id, snapshot, uses_unit, uses_number, archive, created_at, created_by, \
             description, described_at, deleted = 0 FROM versions ",
            $rest
        )
    };
}

pub(super) fn by_key(conn: &Connection, key: VersionKey) -> Result<Option<Version>, StoreError> {
    let sql = select_versions!("WHERE unit = ?1 AND deleted = 0 AND number = ?2");
    one(conn, sql, params![key.unit.0.as_bytes(), signed(key.number.get())], read)
}

/// A version by number and whether it survives.
pub(crate) fn surviving_or_not(
    conn: &Connection,
    key: VersionKey,
) -> Result<Option<(Version, bool)>, StoreError> {
    let sql = select_versions!("WHERE unit = ?1 AND deleted IN (0, 1) AND number = ?2");
    one(conn, sql, params![key.unit.0.as_bytes(), signed(key.number.get())], read_with_fate)
}

pub(super) fn by_id(
    conn: &Connection,
    unit: UnitUid,
    id: &VersionId,
) -> Result<Option<(Version, bool)>, StoreError> {
    let sql = select_versions!(
        "WHERE unit = ?1 AND deleted IN (0, 1) AND number = (SELECT number FROM ids WHERE \
         app = (SELECT app FROM units WHERE uid = ?1) AND id = ?2 AND owner = ?1)"
    );
    one(conn, sql, params![unit.0.as_bytes(), id.as_str()], read_with_fate)
}

pub(super) fn of_unit(
    conn: &Connection,
    unit: UnitUid,
    page: Page,
) -> Result<Vec<Version>, StoreError> {
    let sql = select_versions!(
        "WHERE unit = ?1 AND deleted = 0 AND number > ?2 ORDER BY number LIMIT ?3"
    );
    let values = params![unit.0.as_bytes(), signed(page.after), limit(page.limit)];
    all(conn, sql, values, read)
}

pub(super) fn count(conn: &Connection, unit: UnitUid) -> Result<u64, StoreError> {
    let sql = "SELECT count(*) FROM versions WHERE unit = ?1 AND deleted = 0";
    let counted = one(conn, sql, [unit.0.as_bytes()], |row| row.get::<_, i64>(0))?;
    Ok(counted.map_or(0, i64::unsigned_abs))
}

pub(super) fn before(conn: &Connection, key: VersionKey) -> Result<Option<Version>, StoreError> {
    let sql = select_versions!(
        "WHERE unit = ?1 AND deleted = 0 AND number < ?2 ORDER BY number DESC LIMIT 1"
    );
    one(conn, sql, params![key.unit.0.as_bytes(), signed(key.number.get())], read)
}

pub(super) fn ready_before(
    conn: &Connection,
    key: VersionKey,
) -> Result<Option<Version>, StoreError> {
    let sql = select_versions!(
        "WHERE unit = ?1 AND deleted = 0 AND number < ?2 AND waits_for IS NULL \
         ORDER BY number DESC LIMIT 1"
    );
    one(conn, sql, params![key.unit.0.as_bytes(), signed(key.number.get())], read)
}

pub(super) fn users(conn: &Connection, key: VersionKey) -> Result<Vec<VersionKey>, StoreError> {
    let sql = "SELECT unit, number FROM versions \
               WHERE uses_unit = ?1 AND uses_number = ?2 AND deleted = 0 ORDER BY unit, number";
    let values = params![key.unit.0.as_bytes(), signed(key.number.get())];
    all(conn, sql, values, |row| Ok(VersionKey { unit: uid(row, 0)?, number: number(row, 1)? }))
}

pub(super) fn id_taken(
    conn: &Connection,
    app: &AppName,
    id: &VersionId,
) -> Result<bool, StoreError> {
    exists(conn, "SELECT 1 FROM ids WHERE app = ?1 AND id = ?2", [app.as_str(), id.as_str()])
}

/// Reads a snapshot and checks that it is what its digest says.
pub(super) fn snapshot(conn: &Connection, wanted: Digest) -> Result<Option<Snapshot>, StoreError> {
    let sql = "SELECT body, hub, rewritten FROM snapshots WHERE digest = ?1";
    let body = one(conn, sql, [wanted.as_bytes()], |row| Body::read(row, 0))?;
    body.map(|body| read_snapshot(wanted, &body)).transpose()
}

/// A snapshot as it is stored: its bytes, and what is needed to read them.
pub(crate) struct Body {
    bytes: Vec<u8>,
    /// The version of the hub they are in.
    hub: String,
    /// Their digest, if they are not those the snapshot was published with.
    rewritten: Option<Digest>,
}

impl Body {
    /// Reads the columns `body`, `hub` and `rewritten`.
    pub(crate) fn read(row: &Row<'_>, column: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            bytes: row.get(column)?,
            hub: row.get(column + 1)?,
            rewritten: digest_option(row, column + 2)?,
        })
    }

    /// A body from before there was more than one version of the hub.
    pub(crate) fn published(bytes: Vec<u8>) -> Self {
        Self { bytes, hub: HUB_VERSION.to_owned(), rewritten: None }
    }
}

/// Reads a snapshot's bytes, whatever version of the hub they are in, and checks that they are what their digest
/// says.
pub(crate) fn read_snapshot(wanted: Digest, body: &Body) -> Result<Snapshot, StoreError> {
    let damaged = |why: String| StoreError::corrupt(format!("snapshot {wanted}{why}"));
    if Digest::of(&body.bytes) != body.rewritten.unwrap_or(wanted) {
        return Err(damaged(String::new()));
    }
    mapping::read_body(&body.hub, &body.bytes).map_err(|error| damaged(format!(": {error}")))
}

pub(super) fn content_roots(conn: &Connection) -> Result<Vec<Digest>, StoreError> {
    let sql = "WITH frozen (snapshot) AS (
            SELECT snapshot FROM held
            UNION SELECT pin FROM held JOIN snapshots ON digest = snapshot WHERE pin IS NOT NULL
        )
        SELECT tree FROM frozen JOIN snapshot_trees USING (snapshot)
        UNION SELECT archive FROM versions WHERE deleted = 0 AND archive IS NOT NULL
        UNION SELECT archive FROM drafts WHERE archive IS NOT NULL
        ORDER BY 1";
    all(conn, sql, [], |row| digest(row, 0))
}

fn read(row: &Row<'_>) -> rusqlite::Result<Version> {
    Ok(Version {
        number: number(row, 0)?,
        id: text(row, 1)?,
        snapshot: digest(row, 2)?,
        uses: key_option(row, 3)?,
        archive: digest_option(row, 5)?,
        created_at: text(row, 6)?,
        created_by: text(row, 7)?,
        description: row.get(8)?,
        described_at: text_option(row, 9)?,
    })
}

fn read_with_fate(row: &Row<'_>) -> rusqlite::Result<(Version, bool)> {
    Ok((read(row)?, row.get(10)?))
}
