//! Reads app versions and what every unit was in them.

use std::collections::BTreeMap;

use folio_core::ports::StoreError;
use folio_model::{AppName, AppVersion, Digest, Number, Placement, Timestamp, UnitUid, VersionId};
use rusqlite::{Connection, Row, params};

use super::units::kind;
use crate::sqlite::query::{
    all, digest, digest_option, json_option, limit, moment, number, number_option, one, seq,
    signed, text, text_option, uid,
};

macro_rules! select_app_versions {
    ($rest:literal) => {
        concat!(
            "SELECT app, number, id, parent, seq, at, by, message, git FROM app_versions ",
            $rest
        )
    };
}

macro_rules! select_placements {
    ($rest:literal) => {
        concat!(
            "SELECT uid, kind, name, latest_number, latest_id, latest_snapshot, draft, \
             pending_number, pending_id, pending_snapshot ",
            $rest
        )
    };
}

pub(super) fn by_number(
    conn: &Connection,
    app: &AppName,
    number: Number,
) -> Result<Option<AppVersion>, StoreError> {
    let sql = select_app_versions!("WHERE app = ?1 AND number = ?2");
    one(conn, sql, params![app.as_str(), signed(number.get())], read)
}

pub(super) fn by_id(
    conn: &Connection,
    app: &AppName,
    id: &VersionId,
) -> Result<Option<AppVersion>, StoreError> {
    let sql = select_app_versions!(
        "WHERE app = ?1 AND number = \
         (SELECT number FROM ids WHERE app = ?1 AND id = ?2 AND owner = x'')"
    );
    one(conn, sql, [app.as_str(), id.as_str()], read)
}

pub(super) fn newest_at(
    conn: &Connection,
    app: &AppName,
    at: Timestamp,
) -> Result<Option<AppVersion>, StoreError> {
    let sql =
        select_app_versions!("WHERE app = ?1 AND at <= ?2 ORDER BY at DESC, number DESC LIMIT 1");
    one(conn, sql, params![app.as_str(), moment(at)], read)
}

pub(crate) fn newest(conn: &Connection, app: &AppName) -> Result<Option<AppVersion>, StoreError> {
    let sql = select_app_versions!("WHERE app = ?1 ORDER BY number DESC LIMIT 1");
    one(conn, sql, [app.as_str()], read)
}

pub(super) fn before(
    conn: &Connection,
    app: &AppName,
    below: Option<Number>,
    rows: usize,
) -> Result<Vec<AppVersion>, StoreError> {
    let sql = select_app_versions!("WHERE app = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3");
    let below = below.map_or(i64::MAX, |below| signed(below.get()));
    all(conn, sql, params![app.as_str(), below, limit(rows)], read)
}

pub(super) fn at(
    conn: &Connection,
    app: &AppName,
    at: Number,
) -> Result<Vec<Placement>, StoreError> {
    let sql = select_placements!(
        "FROM units CROSS JOIN placements ON placements.unit = units.uid AND since = (
            SELECT max(since) FROM placements WHERE unit = units.uid AND since <= ?2
        )
        WHERE app = ?1 AND stands"
    );
    let values = params![app.as_str(), signed(at.get())];
    let mut placements = all(conn, sql, values, read_placement)?;
    placements.sort_by(|a, b| (a.kind, &a.name, a.uid).cmp(&(b.kind, &b.name, b.uid)));
    Ok(placements)
}

pub(super) fn standing(conn: &Connection, unit: UnitUid) -> Result<Option<Placement>, StoreError> {
    let sql = select_placements!(
        "FROM placements JOIN units ON uid = unit WHERE unit = ?1 AND stands \
         AND since = (SELECT max(since) FROM placements WHERE unit = ?1)"
    );
    one(conn, sql, [unit.0.as_bytes()], read_placement)
}

pub(super) fn at_app_version(
    conn: &Connection,
    unit: UnitUid,
    at: Number,
) -> Result<Option<Placement>, StoreError> {
    let sql = select_placements!(
        "FROM placements JOIN units ON uid = unit WHERE unit = ?1 AND stands \
         AND since = (SELECT max(since) FROM placements WHERE unit = ?1 AND since <= ?2)"
    );
    one(conn, sql, params![unit.0.as_bytes(), signed(at.get())], read_placement)
}

/// Which units an app version placed, and as what; nothing for those that left.
pub(crate) type Placed = BTreeMap<UnitUid, Option<Placement>>;

fn read(row: &Row<'_>) -> rusqlite::Result<AppVersion> {
    Ok(AppVersion {
        app: text(row, 0)?,
        number: number(row, 1)?,
        id: text(row, 2)?,
        parent: text_option(row, 3)?,
        entry: seq(row, 4)?,
        at: text(row, 5)?,
        by: text(row, 6)?,
        message: row.get(7)?,
        git: json_option(row, 8)?,
    })
}

/// Reads a placement from the columns the queries of this module select.
pub(crate) fn read_placement(row: &Row<'_>) -> rusqlite::Result<Placement> {
    Ok(Placement {
        uid: uid(row, 0)?,
        kind: kind(row, 1)?,
        name: text(row, 2)?,
        latest: version(row, 3)?,
        draft: digest_option(row, 6)?,
        pending: version(row, 7)?,
    })
}

/// Reads a version from the columns of its number, id and snapshot.
fn version(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<(Number, VersionId, Digest)>> {
    Ok(match number_option(row, column)? {
        Some(number) => Some((number, text(row, column + 1)?, digest(row, column + 2)?)),
        None => None,
    })
}
