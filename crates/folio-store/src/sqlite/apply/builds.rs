//! Writes how builds end, and which versions they let be called.

use folio_core::ports::StoreError;
use folio_model::{AppName, BuildRecord, Digest, Unit, Version, VersionKey};
use rusqlite::params;

use super::{Writing, ensure};
use crate::sqlite::query::{run, signed, to_json};
use crate::sqlite::state::builds;

impl Writing<'_> {
    /// The build that a version published now has to wait for.
    pub(super) fn awaited(&self, version: &Version) -> Result<Digest, StoreError> {
        let what = || StoreError::Conflict { what: format!("the build of `{}`", version.id) };
        let key = builds::key_of(self.conn, version.snapshot)?.ok_or_else(what)?;
        match builds::record(self.conn, key)? {
            Some(record) if succeeded(&record) => Err(what()),
            _ => Ok(key),
        }
    }

    pub(super) fn built(
        &self,
        key: Digest,
        from: Option<&BuildRecord>,
        to: &BuildRecord,
    ) -> Result<(), StoreError> {
        let now = builds::record(self.conn, key)?;
        let stays = now.as_ref().is_none_or(|now| !succeeded(now) || now == to);
        ensure(now.as_ref() == from && stays, || format!("build {key}"))?;
        let sql = "INSERT INTO builds (key, record, seq) VALUES (?1, ?2, ?3) \
                   ON CONFLICT DO UPDATE SET record = excluded.record, seq = excluded.seq";
        run(self.conn, sql, params![key.as_bytes(), to_json(to), signed(self.seq)]).map(|_| ())
    }

    /// Forgets a build that nothing needs.
    pub(super) fn forget_build(&self, key: Digest, from: &BuildRecord) -> Result<(), StoreError> {
        let known = builds::record(self.conn, key)?.as_ref() == Some(from);
        ensure(known && !builds::is_needed(self.conn, key)?, || format!("build {key}"))?;
        run(self.conn, "DELETE FROM builds WHERE key = ?1", [key.as_bytes()]).map(|_| ())
    }

    /// Has a version that returns wait for its build, if that is not done.
    pub(super) fn wait_again(&self, unit: &Unit, version: &Version) -> Result<(), StoreError> {
        let Some(key) = builds::key_of(self.conn, version.snapshot)? else { return Ok(()) };
        if builds::record(self.conn, key)?.is_some_and(|record| succeeded(&record)) {
            return Ok(());
        }
        let sql = "UPDATE versions SET waits_for = ?3 WHERE unit = ?1 AND number = ?2";
        let number = signed(version.number.get());
        run(self.conn, sql, params![unit.uid.0.as_bytes(), number, key.as_bytes()]).map(|_| ())
    }

    /// Lets versions that waited for a build be called.
    pub(super) fn ready(
        &self,
        app: &AppName,
        (build, to): (Digest, &BuildRecord),
        readies: &[VersionKey],
    ) -> Result<(), StoreError> {
        let what = || format!("what waits for build {build}");
        ensure(succeeded(to) || readies.is_empty(), what)?;
        let sql = "UPDATE versions SET waits_for = NULL \
                   WHERE unit = ?1 AND number = ?2 AND waits_for = ?3 AND deleted = 0";
        for key in readies {
            let number = signed(key.number.get());
            let values = params![key.unit.0.as_bytes(), number, build.as_bytes()];
            ensure(run(self.conn, sql, values)? == 1, what)?;
            self.find_latest(&self.living(key.unit)?)?;
            self.touch(app, key.unit)?;
        }
        Ok(())
    }
}

fn succeeded(record: &BuildRecord) -> bool {
    record.result.is_some()
}
