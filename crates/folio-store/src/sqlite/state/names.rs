//! Reads which functions name a config or secret, and whether there are secrets at all.

use folio_core::ports::StoreError;
use folio_model::{Digest, Kind, Unit, UnitKey};
use rusqlite::Connection;

use super::units::{read, select_units};
use crate::sqlite::query::{all, digest, one, text};

pub(super) fn naming(conn: &Connection, key: &UnitKey) -> Result<Vec<Unit>, StoreError> {
    let sql = select_units!(
        "WHERE uid IN (SELECT unit FROM named WHERE app = ?1 AND kind = ?2 AND name = ?3) \
         ORDER BY name"
    );
    all(conn, sql, [key.app.as_str(), key.kind.as_str(), key.name.as_str()], read)
}

pub(super) fn some_secret(conn: &Connection) -> Result<Option<(UnitKey, Digest)>, StoreError> {
    let sql = "SELECT app, name, snapshot FROM units INDEXED BY units_secrets \
               JOIN versions ON versions.unit = units.uid \
               WHERE kind = 'secret' ORDER BY uid, number LIMIT 1";
    one(conn, sql, [], |row| {
        let key = UnitKey { app: text(row, 0)?, kind: Kind::Secret, name: text(row, 1)? };
        Ok((key, digest(row, 2)?))
    })
}
