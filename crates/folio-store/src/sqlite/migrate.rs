//! The numbered schemas and how a database reaches the newest. Each step is one transaction that also sets
//! the number, so whatever crashes, the next start goes on where the last finished step ended.

use folio_core::crash;
use folio_core::ports::StoreError;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection, params};

use super::error::failure;
use super::query::{all, digest, run};
use super::state::builds::own_key;
use super::state::versions::{Body, read_snapshot};

/// The steps: the first makes schema 1, the second turns 1 into 2. Never edit one that was released.
const STEPS: &[Step] = &[
    Step::plain(include_str!("../schema/001_ledger.sql")),
    Step::plain(include_str!("../schema/002_blobs.sql")),
    Step { sql: include_str!("../schema/003_builds.sql"), then: note_build_keys },
    Step::plain(include_str!("../schema/004_queue.sql")),
    Step::plain(include_str!("../schema/005_fewer_indexes.sql")),
    Step::plain(include_str!("../schema/006_hub.sql")),
    Step::plain(include_str!("../schema/007_fewer_pages.sql")),
    Step::plain(include_str!("../schema/008_small_packs.sql")),
    Step::plain(include_str!("../schema/009_owners.sql")),
    Step::plain(include_str!("../schema/010_pending.sql")),
    Step::plain(include_str!("../schema/011_named.sql")),
    Step::plain(include_str!("../schema/012_splits.sql")),
    Step::plain(include_str!("../schema/013_releases.sql")),
    Step::plain(include_str!("../schema/014_token_terms.sql")),
    Step::plain(include_str!("../schema/015_marks.sql")),
    Step::plain(include_str!("../schema/016_executions.sql")),
    Step::plain(include_str!("../schema/017_domains.sql")),
    Step::plain(include_str!("../schema/018_releases_apart.sql")),
    Step::plain(include_str!("../schema/019_encodings.sql")),
    Step::plain(include_str!("../schema/020_described.sql")),
];

/// What turns one schema into the next.
struct Step {
    sql: &'static str,
    /// What SQL cannot say.
    then: fn(&Connection) -> Result<(), StoreError>,
}

impl Step {
    const fn plain(sql: &'static str) -> Self {
        Self { sql, then: |_| Ok(()) }
    }
}

/// The newest schema this program knows.
pub(crate) fn newest() -> u32 {
    u32::try_from(STEPS.len()).expect("there are few steps")
}

/// The schema a database has, 0 for an empty one.
pub(crate) fn found(conn: &Connection) -> Result<u32, StoreError> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(failure("read the schema's number"))
}

/// Takes every step the database has not taken. Refuses a database that is newer than this program.
pub(crate) fn migrate(conn: &mut Connection) -> Result<(), StoreError> {
    migrate_to(conn, newest())
}

/// Takes the steps up to a schema.
pub(crate) fn migrate_to(conn: &mut Connection, newest: u32) -> Result<(), StoreError> {
    let found = refuse_newer(found(conn)?)?;
    for schema in found + 1..=newest {
        step(conn, schema)?;
        crash::point("migrate.step");
    }
    Ok(())
}

/// Passes a schema's number on if this program knows it.
pub(crate) fn refuse_newer(found: u32) -> Result<u32, StoreError> {
    let known = newest();
    if found > known { Err(StoreError::Newer { found, known }) } else { Ok(found) }
}

fn step(conn: &mut Connection, schema: u32) -> Result<(), StoreError> {
    let context = "bring the database to a newer schema";
    let transaction = conn.transaction().map_err(failure(context))?;
    let mut statements = Batch::new(&transaction, step_sql(schema));
    while let Some(mut statement) = statements.next().map_err(failure(context))? {
        statement.execute([]).map_err(failure(context))?;
        crash::point("migrate.step");
    }
    (STEPS[schema as usize - 1].then)(&transaction)?;
    transaction.pragma_update(None, "user_version", schema).map_err(failure(context))?;
    transaction.commit().map_err(failure(context))
}

/// The statements that make a schema from the one before.
pub(super) fn step_sql(schema: u32) -> &'static str {
    STEPS[schema as usize - 1].sql
}

/// Notes beside every package what has to be built of it.
fn note_build_keys(conn: &Connection) -> Result<(), StoreError> {
    let bodies = all(conn, "SELECT digest, body FROM snapshots", [], |row| {
        Ok((digest(row, 0)?, row.get::<_, Vec<u8>>(1)?))
    })?;
    for (name, body) in bodies {
        // Verify tells of damaged ones; the rest must stay within reach.
        if let Ok(snapshot) = read_snapshot(name, &Body::published(body))
            && let Some(key) = own_key(&snapshot)
        {
            let sql = "UPDATE snapshots SET build = ?2 WHERE digest = ?1";
            run(conn, sql, params![name.as_bytes(), key.as_bytes()])?;
        }
    }
    Ok(())
}
