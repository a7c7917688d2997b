//! Reads releases: pointers like the others, in a table of their own in the order in which they were made.

use folio_core::ports::{Releases, StandingRelease, StoreError};
use folio_model::{AppName, Entry, Place, ReleaseId};
use rusqlite::{Connection, Row, params};

use super::history;
use crate::sqlite::query::{all, json, limit, one, seq, signed, text};

/// How a release stands, and the entry that last moved it.
pub(super) fn place(
    conn: &Connection,
    app: &AppName,
    id: &ReleaseId,
) -> Result<Option<(Place, u64)>, StoreError> {
    let sql = "SELECT place, revision FROM releases WHERE id = ?1 AND app = ?2";
    one(conn, sql, [id.as_str(), app.as_str()], |row| Ok((json(row, 0)?, seq(row, 1)?)))
}

pub(super) fn list(
    conn: &Connection,
    app: &AppName,
    which: Releases<'_>,
) -> Result<Vec<StandingRelease>, StoreError> {
    let read = |row: &Row<'_>| Ok((text(row, 0)?, json(row, 1)?));
    let found = match which {
        Releases::Accessible => {
            let sql =
                "SELECT id, place FROM releases WHERE app = ?1 AND accessible = 1 ORDER BY made_in";
            all(conn, sql, [app.as_str()], read)
        }
        Releases::Of(version) => {
            let sql = "SELECT id, place, made_in FROM releases \
                       WHERE app = ?1 AND later = 0 AND app_version = ?2 AND made_in = ( \
                           SELECT seq FROM ids JOIN app_versions USING (app, number) \
                           WHERE ids.id = ?2 AND app = ?1 AND owner = x'') \
                       UNION ALL SELECT id, place, made_in FROM releases \
                       WHERE app = ?1 AND later = 1 AND app_version = ?2 ORDER BY made_in";
            all(conn, sql, [app.as_str(), version.as_str()], read)
        }
        Releases::Before(below, rows) => {
            let sql = "SELECT id, place FROM releases WHERE app = ?1 AND made_in < ?2 \
                       ORDER BY made_in DESC LIMIT ?3";
            all(conn, sql, params![app.as_str(), signed(below), limit(rows)], read)
        }
    };
    found?.into_iter().map(|(id, place)| as_release(id, place)).collect()
}

/// The entries that moved a release.
pub(super) fn moves(
    conn: &Connection,
    app: &AppName,
    id: &ReleaseId,
) -> Result<Vec<Entry>, StoreError> {
    let sql = "SELECT moves FROM releases WHERE id = ?1 AND app = ?2";
    let moves: Option<Vec<u64>> = one(conn, sql, [id.as_str(), app.as_str()], |row| json(row, 0))?;
    let missing = || StoreError::corrupt(format!("the moves of release `{id}`"));
    let entries = moves.unwrap_or_default().into_iter();
    entries.map(|seq| history::entry(conn, seq)?.ok_or_else(missing)).collect()
}

fn as_release(id: ReleaseId, place: Place) -> Result<StandingRelease, StoreError> {
    match place {
        Place::Release(release) => Ok(StandingRelease { id, release }),
        _ => Err(StoreError::corrupt(format!("release `{id}`"))),
    }
}
