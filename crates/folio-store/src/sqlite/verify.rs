//! Checks that the ledger is whole: that every line is the one that was written, that every rule of the state
//! holds, and that the state is what the lines add up to. Reads only, and believes nothing it reads.

use folio_core::ports::{Damage, State as _, StoreError};
use folio_model::{Digest, Entry, Snapshot, canonical};
use rusqlite::Connection;

use super::Db;
use super::apply::package_pin;
use super::error::failure;
use super::executions;
use super::query::{all, digest, digest_option, seq};
use super::queue;
use super::state::Seen;
use super::state::builds::own_key;
use super::state::units::{check_answer, read_answer};
use super::state::versions::{Body, read_snapshot};

mod compare;
mod replay;
mod rules;

/// Lists what is damaged, on one state that stands still.
pub(crate) async fn verify(db: &Db) -> Result<Vec<Damage>, StoreError> {
    db.read(|conn| {
        let mut found = Found::default();
        found.run(conn, chain)?;
        found.run(conn, snapshots)?;
        found.run(conn, answers)?;
        found.run(conn, |conn, _| queue::check(conn))?;
        found.run(conn, |conn, _| executions::check(conn))?;
        found.run(conn, rules::hold)?;
        // A replay of damaged lines would only repeat what was said.
        if found.damages.is_empty() {
            found.run(conn, replay::adds_up)?;
        }
        Ok(found.damages)
    })
    .await
}

/// What was found to be damaged.
#[derive(Default)]
struct Found {
    damages: Vec<Damage>,
}

impl Found {
    /// Runs one check. One that meets rows it cannot read has found damage, too.
    fn run(
        &mut self,
        conn: &Connection,
        check: fn(&Connection, &mut Self) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match check(conn, self) {
            Err(StoreError::Corrupt { what }) => {
                self.add(what);
                Ok(())
            }
            other => other,
        }
    }

    fn add(&mut self, what: impl Into<String>) {
        self.damages.push(Damage { what: what.into(), digest: None });
    }

    /// Adds a damage unless something is as it should be.
    fn expect(&mut self, sound: bool, what: impl FnOnce() -> String) {
        if !sound {
            self.add(what());
        }
    }
}

/// Every entry hashes, with the one before it, to what was noted when it was written.
fn chain(conn: &Connection, found: &mut Found) -> Result<(), StoreError> {
    let sql = "SELECT seq, app, undoes, body, hash FROM entries ORDER BY seq";
    let mut previous = Digest::of(b"");
    let mut expected = 1;
    let mut statement = conn.prepare(sql).map_err(failure("list entries"))?;
    let mut rows = statement.query([]).map_err(failure("list entries"))?;
    while let Some(row) = rows.next().map_err(failure("list entries"))? {
        let line = Line::read(row).map_err(failure("read an entry"))?;
        found.expect(line.seq == expected, || format!("entry {expected} is missing"));
        found.expect(line.hash == line.hash_after(previous), || {
            format!("entry {} is not the one that was written", line.seq)
        });
        found.expect(line.reads(), || format!("entry {} does not read as it should", line.seq));
        previous = line.hash;
        expected = line.seq + 1;
    }
    Ok(())
}

struct Line {
    seq: u64,
    app: String,
    undoes: Option<i64>,
    body: String,
    hash: Digest,
}

impl Line {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: seq(row, 0)?,
            app: row.get(1)?,
            undoes: row.get(2)?,
            body: row.get(3)?,
            hash: digest(row, 4)?,
        })
    }

    fn hash_after(&self, previous: Digest) -> Digest {
        let mut bytes = previous.as_bytes().to_vec();
        bytes.extend_from_slice(self.body.as_bytes());
        Digest::of(&bytes)
    }

    /// Whether the text is an entry, and the columns beside it say the same.
    fn reads(&self) -> bool {
        let Ok(entry) = serde_json::from_str::<Entry>(&self.body) else { return false };
        let undoes = self.undoes.map(i64::unsigned_abs);
        let columns =
            (entry.seq, entry.app.as_str(), entry.undoes) == (self.seq, &*self.app, undoes);
        columns && canonical::encode(&entry) == self.body.as_bytes()
    }
}

/// Every snapshot is what its digest says, and what is noted beside it is what it holds.
fn snapshots(conn: &Connection, found: &mut Found) -> Result<(), StoreError> {
    let sql = "SELECT digest, body, hub, rewritten, pin, build FROM snapshots ORDER BY digest";
    let mut statement = conn.prepare(sql).map_err(failure("list snapshots"))?;
    let mut rows = statement.query([]).map_err(failure("list snapshots"))?;
    while let Some(row) = rows.next().map_err(failure("list snapshots"))? {
        let read = || Ok((digest(row, 0)?, Body::read(row, 1)?));
        let (name, body) = read().map_err(failure("read a snapshot"))?;
        let noted = || Ok((digest_option(row, 4)?, digest_option(row, 5)?));
        let noted = noted().map_err(failure("read a snapshot"))?;
        match read_snapshot(name, &body) {
            Ok(snapshot) => notes(conn, found, (name, &snapshot), noted)?,
            Err(damage) => {
                found.damages.push(Damage { what: damage.to_string(), digest: Some(name) });
            }
        }
    }
    Ok(())
}

/// Every remembered answer is the one that was given.
fn answers(conn: &Connection, found: &mut Found) -> Result<(), StoreError> {
    let sql = "SELECT key, request, body, checksum FROM answers ORDER BY key";
    for written in all(conn, sql, [], read_answer)? {
        if let Err(damage) = check_answer(written) {
            found.add(damage.to_string());
        }
    }
    Ok(())
}

fn notes(
    conn: &Connection,
    found: &mut Found,
    (name, snapshot): (Digest, &Snapshot),
    (pin, build): (Option<Digest>, Option<Digest>),
) -> Result<(), StoreError> {
    for pinned in snapshot.pins() {
        let stored = Seen(conn).snapshot(pinned)?.is_some();
        found.expect(stored, || format!("snapshot {name} stands on {pinned}, which is missing"));
    }
    let holds = package_pin(snapshot) == pin && own_key(snapshot) == build;
    let sql = "SELECT tree FROM snapshot_trees WHERE snapshot = ?1 ORDER BY tree";
    let noted = all(conn, sql, [name.as_bytes()], |row| digest(row, 0))?;
    let mut trees: Vec<_> = snapshot.contents().map(|content| content.tree).collect();
    trees.sort_unstable();
    trees.dedup();
    found.expect(holds && trees == noted, || format!("what is noted of snapshot {name}"));
    Ok(())
}
