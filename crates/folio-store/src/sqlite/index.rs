//! The index of blobs in the ledger's own database, so that a change and the use of its blobs are one
//! transaction. Only rows here: what they mean is decided in [`crate::blobs::index`].

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use folio_core::ports::{Encoding, StoreError};
use folio_model::{Digest, NodeKind, Timestamp, TreeTotals};
use rusqlite::{Connection, OptionalExtension, Params, params};

use super::Db;
use super::error::failure;
use super::session::{Known, Session};
use crate::blobs::index::{self, Home, Index, Job, Meta, Pack, PackId, Place, Row, Spot, Table};

/// Notes the use of blobs inside a transaction; refuses if one is not stored.
pub(crate) fn require(
    session: &Session,
    digests: &[Digest],
    now: Timestamp,
) -> Result<(), StoreError> {
    index::require(&mut Rows(session, Some(session)), digests, now)
}

/// Starts the grace period of blobs that lost a user, inside a transaction.
pub(crate) fn free(
    session: &Session,
    digests: &[Digest],
    now: Timestamp,
) -> Result<(), StoreError> {
    index::free(&mut Rows(session, Some(session)), digests, now)
}

#[async_trait]
impl Index for Db {
    async fn look(&self, job: Job) -> Result<(), StoreError> {
        self.read(move |conn| job(&mut Rows(conn, None))).await
    }

    async fn change(&self, job: Job, callers: usize) -> Result<(), StoreError> {
        self.write_for(callers, move |session| job(&mut Rows(session, Some(session)))).await
    }
}

/// The rows a connection sees, and what is known of them if it is the one that writes.
struct Rows<'a>(&'a Connection, Option<&'a Session>);

impl Rows<'_> {
    fn known<T>(&self, job: impl FnOnce(&mut Known) -> T) -> Option<T> {
        self.1.map(|session| session.known(job))
    }

    fn execute(&self, sql: &str, values: impl Params) -> Result<(), StoreError> {
        let run = |conn: &Connection| conn.prepare_cached(sql)?.execute(values);
        run(self.0).map(|_| ()).map_err(failure("write to the index of blobs"))
    }

    fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let find = |conn: &Connection| conn.prepare_cached(sql)?.query_row(values, read).optional();
        find(self.0).map_err(failure("read the index of blobs"))
    }

    /// Reads all rows of a query.
    fn all<T>(
        &self,
        sql: &str,
        read: fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
        visit: &mut dyn FnMut(T),
    ) -> Result<(), StoreError> {
        let mut list = |conn: &Connection| {
            for row in conn.prepare_cached(sql)?.query_map([], read)? {
                visit(row?);
            }
            Ok(())
        };
        list(self.0).map_err(failure("list the index of blobs"))
    }
}

impl Table for Rows<'_> {
    fn row(&self, digest: Digest) -> Result<Option<Row>, StoreError> {
        let sql = "SELECT kind, pack, block_at, block_bytes, at, bytes, files_total, bytes_total, checksum, \
                   touched, digest FROM blobs WHERE digest = ?1";
        if let Some(row) = self.known(|known| known.blobs.get(&digest).copied()).flatten() {
            return Ok(Some(row));
        }
        let row = self.one(sql, [digest.as_bytes()], read_row)?;
        if let Some(row) = row {
            self.known(|known| known.blobs.put(digest, row));
        }
        Ok(row)
    }

    fn set(&mut self, digest: Digest, row: &Row) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO blobs (digest, kind, pack, block_at, block_bytes, at, bytes, \
                   files_total, bytes_total, checksum, touched) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
        self.known(|known| known.blobs.put(digest, *row));
        let spot = row.place.spot;
        let checksum = row.checksum.as_ref().map(Digest::as_bytes);
        self.execute(
            sql,
            params![
                digest.as_bytes(),
                kind_number(row.kind),
                row.place.pack,
                signed(spot.block_at)?,
                spot.block_bytes,
                spot.at,
                signed(row.bytes)?,
                signed(row.totals.files)?,
                signed(row.totals.bytes)?,
                checksum,
                signed(row.touched)?,
            ],
        )
    }

    fn touch(&mut self, digest: Digest, at: u64) -> Result<(), StoreError> {
        self.known(|known| known.blobs.remove(&digest));
        let sql = "UPDATE blobs SET touched = ?2 WHERE digest = ?1";
        self.execute(sql, params![digest.as_bytes(), signed(at)?])
    }

    fn remove(&mut self, digest: Digest) -> Result<(), StoreError> {
        self.known(|known| known.blobs.remove(&digest));
        self.execute("DELETE FROM blobs WHERE digest = ?1", [digest.as_bytes()])?;
        self.execute("DELETE FROM unpacked WHERE archive = ?1", [digest.as_bytes()])?;
        self.execute("DELETE FROM unpacked WHERE tree = ?1", [digest.as_bytes()])?;
        self.execute("DELETE FROM encodings WHERE file = ?1", [digest.as_bytes()])?;
        self.execute("DELETE FROM encodings WHERE node = ?1", [digest.as_bytes()])
    }

    fn each(&self, visit: &mut dyn FnMut(Digest, Row)) -> Result<(), StoreError> {
        let sql = "SELECT kind, pack, block_at, block_bytes, at, bytes, files_total, bytes_total, checksum, \
                   touched, digest FROM blobs ORDER BY digest";
        let read = |row: &rusqlite::Row<'_>| Ok((Digest::from_bytes(row.get(10)?), read_row(row)?));
        self.all(sql, read, &mut |(digest, row)| visit(digest, row))
    }

    fn packs(&self) -> Result<Vec<(PackId, Pack)>, StoreError> {
        let sql = "SELECT name, bytes, raw_bytes, body IS NULL, id FROM packs ORDER BY id";
        let mut packs = Vec::new();
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(4)?, read_pack(row)?));
        self.all(sql, read, &mut |pack| packs.push(pack))?;
        Ok(packs)
    }

    fn pack(&self, id: PackId) -> Result<Option<Pack>, StoreError> {
        let sql = "SELECT name, bytes, raw_bytes, body IS NULL FROM packs WHERE id = ?1";
        self.one(sql, [id], read_pack)
    }

    fn add_pack(&mut self, pack: &Pack, body: Option<&Bytes>) -> Result<PackId, StoreError> {
        let sql = "INSERT INTO packs (name, bytes, raw_bytes, body) VALUES (?1, ?2, ?3, ?4)";
        let (bytes, raw_bytes) = (signed(pack.bytes)?, signed(pack.raw_bytes)?);
        self.execute(sql, params![pack.name, bytes, raw_bytes, body.map(|body| &body[..])])?;
        Ok(self.0.last_insert_rowid())
    }

    fn pack_part(&self, id: PackId, part: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        let sql = "SELECT substr(body, ?2 + 1, ?3) FROM packs WHERE id = ?1";
        let (start, length) = (signed(part.start)?, signed(part.end - part.start)?);
        let part =
            self.one(sql, params![id, start, length], |row| row.get::<_, Option<Vec<u8>>>(0))?;
        Ok(part.flatten().map(Bytes::from))
    }

    fn remove_pack(&mut self, id: PackId) -> Result<(), StoreError> {
        self.execute("DELETE FROM packs WHERE id = ?1", [id])
    }

    fn meta(&self, key: Meta) -> Result<u64, StoreError> {
        if let Some(value) = self.known(|known| known.numbers.get(&key).copied()).flatten() {
            return Ok(value);
        }
        let sql = "SELECT value FROM blob_meta WHERE key = ?1";
        let value = self.one(sql, [meta_key(key)], |row| unsigned(row, 0))?.unwrap_or(0);
        self.known(|known| known.numbers.insert(key, value));
        Ok(value)
    }

    fn set_meta(&mut self, key: Meta, value: u64) -> Result<(), StoreError> {
        self.known(|known| known.numbers.insert(key, value));
        let sql = "INSERT OR REPLACE INTO blob_meta (key, value) VALUES (?1, ?2)";
        self.execute(sql, params![meta_key(key), signed(value)?])
    }

    fn unpacked(&self, archive: Digest) -> Result<Option<Digest>, StoreError> {
        let sql = "SELECT tree FROM unpacked WHERE archive = ?1";
        self.one(sql, [archive.as_bytes()], |row| row.get(0).map(Digest::from_bytes))
    }

    fn set_unpacked(&mut self, archive: Digest, tree: Digest) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO unpacked (archive, tree) VALUES (?1, ?2)";
        self.execute(sql, params![archive.as_bytes(), tree.as_bytes()])
    }

    fn encoded(&self, file: Digest) -> Result<Option<Digest>, StoreError> {
        let sql = "SELECT node FROM encodings WHERE file = ?1";
        self.one(sql, [file.as_bytes()], |row| row.get(0).map(Digest::from_bytes))
    }

    fn set_encoded(&mut self, Encoding { file, node }: Encoding) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO encodings (file, node) VALUES (?1, ?2)";
        self.execute(sql, params![file.as_bytes(), node.as_bytes()])
    }

    fn each_encoded(&self, visit: &mut dyn FnMut(Encoding)) -> Result<(), StoreError> {
        let read = |row: &rusqlite::Row<'_>| {
            let (file, node) = (row.get(0)?, row.get(1)?);
            Ok(Encoding { file: Digest::from_bytes(file), node: Digest::from_bytes(node) })
        };
        self.all("SELECT file, node FROM encodings ORDER BY file", read, visit)
    }
}

fn meta_key(key: Meta) -> &'static str {
    match key {
        Meta::Touched => "touched",
        Meta::Mark => "mark",
        Meta::Grace => "grace_ms",
    }
}

fn kind_number(kind: NodeKind) -> i64 {
    match kind {
        NodeKind::Raw => 0,
        NodeKind::Chunked => 1,
        NodeKind::Tree => 2,
    }
}

fn read_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let kind = match row.get::<_, i64>(0)? {
        0 => NodeKind::Raw,
        1 => NodeKind::Chunked,
        2 => NodeKind::Tree,
        other => return Err(rusqlite::Error::IntegralValueOutOfRange(0, other)),
    };
    let spot = Spot { block_at: unsigned(row, 2)?, block_bytes: row.get(3)?, at: row.get(4)? };
    Ok(Row {
        kind,
        place: Place { pack: row.get(1)?, spot },
        bytes: unsigned(row, 5)?,
        totals: TreeTotals { files: unsigned(row, 6)?, bytes: unsigned(row, 7)? },
        checksum: row.get::<_, Option<[u8; 32]>>(8)?.map(Digest::from_bytes),
        touched: unsigned(row, 9)?,
    })
}

fn read_pack(row: &rusqlite::Row<'_>) -> rusqlite::Result<Pack> {
    let home = if row.get(3)? { Home::Object } else { Home::Index };
    Ok(Pack { name: row.get(0)?, bytes: unsigned(row, 1)?, raw_bytes: unsigned(row, 2)?, home })
}

/// SQLite's integers are signed.
fn signed(value: u64) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(|error| StoreError::failed("count beyond what SQLite can", error))
}

fn unsigned(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}
