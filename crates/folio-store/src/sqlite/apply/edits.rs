//! Writes the edits of apps, tokens, units and drafts.

use folio_core::ports::{State, StoreError};
use folio_model::{
    AppName, Digest, Draft, Edit, Origin, Owner, TokenRecord, Unit, UnitKey, UnitUid,
};
use rusqlite::params;

use super::{Writing, ensure};
use crate::sqlite::query::{exists, run, signed, to_json};
use crate::sqlite::state::{Seen, units::origin_word};

impl Writing<'_> {
    pub(super) fn edit(&self, app: &AppName, edit: &Edit) -> Result<(), StoreError> {
        match edit {
            Edit::CreateApp { app } => self.create_app(app)?,
            Edit::DeleteApp { app } => self.delete_app(app)?,
            Edit::AddToken { id, token } => self.add_token(id, token)?,
            Edit::RevokeToken { id, token } => {
                let known = Seen(self.conn).token(id)?.as_ref() == Some(token);
                ensure(known, || format!("token `{id}`"))?;
                run(self.conn, "DELETE FROM tokens WHERE id = ?1", [id])?;
            }
            Edit::CreateUnit { uid, key, origin } => self.create_unit(*uid, key, *origin)?,
            Edit::DeleteUnit { uid, key } => self.delete_unit(*uid, key)?,
            Edit::RestoreUnit { uid, key } => self.restore_unit(*uid, key)?,
            Edit::Own { uid, from, to } => self.own(*uid, from.as_ref(), to.as_ref())?,
            Edit::SetDraft { uid, from, to } => self.set_draft(*uid, from.as_ref(), to.as_ref())?,
            Edit::Publish { uid, version, waits } => {
                return self.publish(app, *uid, version, *waits);
            }
            Edit::DeleteVersion { uid, version } => {
                self.delete_version(&self.living(*uid)?, version)?;
            }
            Edit::RestoreVersion { uid, version } => {
                self.restore_version(&self.living(*uid)?, version)?;
            }
            Edit::Describe { uid, number, from, to, from_at, to_at } => {
                let unit = self.living(*uid)?;
                self.describe(&unit, *number, (from, *from_at), (to, *to_at))?;
            }
            Edit::Built { key, from, to, readies } => {
                self.built(*key, from.as_ref(), to)?;
                self.ready(app, (*key, to), readies)?;
            }
            Edit::Forget { key, from } => self.forget_build(*key, from)?,
            Edit::Move { pointer, from, to } => {
                self.move_pointer(pointer, from.as_ref(), to.as_ref())?;
            }
        }
        edit.unit().map_or(Ok(()), |uid| self.touch(app, uid))
    }

    /// A living unit, or a refusal.
    pub(super) fn living(&self, uid: UnitUid) -> Result<Unit, StoreError> {
        let gone = || StoreError::Conflict { what: format!("unit {uid}") };
        Seen(self.conn).unit_by_uid(uid)?.ok_or_else(gone)
    }

    fn add_token(&self, id: &str, token: &TokenRecord) -> Result<(), StoreError> {
        let sql = "INSERT INTO tokens (id, secret, actor, terms) VALUES (?1, ?2, ?3, ?4) \
                   ON CONFLICT DO NOTHING";
        let (secret, terms) = (token.secret.as_bytes(), to_json(&token.terms));
        let values = params![id, secret, token.actor.as_str(), terms];
        ensure(run(self.conn, sql, values)? == 1, || format!("token `{id}`"))
    }

    fn create_app(&self, app: &AppName) -> Result<(), StoreError> {
        let sql = "INSERT INTO apps (name) VALUES (?1) ON CONFLICT DO NOTHING";
        ensure(run(self.conn, sql, [app.as_str()])? == 1, || format!("app `{app}`"))
    }

    fn delete_app(&self, app: &AppName) -> Result<(), StoreError> {
        let sql = "UPDATE apps SET deleted = 1 WHERE name = ?1 AND deleted = 0 AND NOT EXISTS \
                   (SELECT 1 FROM units WHERE app = ?1 AND deleted_in IS NULL)";
        self.session.known(|known| known.apps.remove(app));
        ensure(run(self.conn, sql, [app.as_str()])? == 1, || format!("app `{app}`"))
    }

    fn create_unit(&self, uid: UnitUid, key: &UnitKey, origin: Origin) -> Result<(), StoreError> {
        let sql = "INSERT INTO units (uid, app, kind, name, origin, revision) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
        let (app, kind, name) = (key.app.as_str(), key.kind.as_str(), key.name.as_str());
        let seq = signed(self.seq);
        let values = params![uid.0.as_bytes(), app, kind, name, origin_word(origin), seq];
        ensure(run(self.conn, sql, values)? == 1, || key.to_string())
    }

    fn delete_unit(&self, uid: UnitUid, key: &UnitKey) -> Result<(), StoreError> {
        let unit = self.living(uid)?;
        let bare = unit.draft.is_none() && unit.newest.is_none();
        let unnamed = Seen(self.conn).aliases(uid)?.is_empty();
        ensure(unit.key == *key && bare && unnamed, || key.to_string())?;
        let sql = "UPDATE units SET deleted_in = ?2 WHERE uid = ?1";
        run(self.conn, sql, params![uid.0.as_bytes(), signed(self.seq)]).map(|_| ())
    }

    fn restore_unit(&self, uid: UnitUid, key: &UnitKey) -> Result<(), StoreError> {
        let (app, kind, name) = (key.app.as_str(), key.kind.as_str(), key.name.as_str());
        let free = Seen(self.conn).unit(key)?.is_none();
        ensure(free, || key.to_string())?;
        let sql = "UPDATE units SET deleted_in = NULL \
                   WHERE uid = ?1 AND deleted_in IS NOT NULL AND app = ?2 AND kind = ?3 AND name = ?4";
        let restored = run(self.conn, sql, params![uid.0.as_bytes(), app, kind, name])?;
        ensure(restored == 1, || key.to_string())
    }

    fn own(
        &self,
        uid: UnitUid,
        from: Option<&Owner>,
        to: Option<&Owner>,
    ) -> Result<(), StoreError> {
        let unit = self.living(uid)?;
        ensure(unit.owner.as_ref() == from, || format!("the owner of {}", unit.key))?;
        let sql = "UPDATE units SET owner = ?2, owner_name = ?3 WHERE uid = ?1";
        let (owner, name) = (to.map(|to| &to.uid), to.map(|to| &to.name));
        run(self.conn, sql, params![uid.0.as_bytes(), owner, name]).map(|_| ())
    }

    fn set_draft(
        &self,
        uid: UnitUid,
        from: Option<&Draft>,
        to: Option<&Draft>,
    ) -> Result<(), StoreError> {
        let unit = self.living(uid)?;
        ensure(unit.draft.as_ref() == from, || format!("the draft of {}", unit.key))?;
        let Some(to) = to else {
            let sql = "DELETE FROM drafts WHERE unit = ?1";
            return run(self.conn, sql, [uid.0.as_bytes()]).map(|_| ());
        };
        self.has_snapshot(to.snapshot)?;
        let sql = "INSERT OR REPLACE INTO drafts (unit, snapshot, uses_unit, uses_number, archive) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let uses_unit = to.uses.as_ref().map(|uses| uses.unit.0.as_bytes());
        let uses_number = to.uses.map(|uses| signed(uses.number.get()));
        let archive = to.archive.as_ref().map(Digest::as_bytes);
        let snapshot = to.snapshot.as_bytes();
        let values = params![uid.0.as_bytes(), snapshot, uses_unit, uses_number, archive];
        run(self.conn, sql, values).map(|_| ())
    }

    /// Notes the entry that last touched a unit. A change touches units of its own app only.
    pub(super) fn touch(&self, app: &AppName, uid: UnitUid) -> Result<(), StoreError> {
        let sql = "UPDATE units SET revision = ?3 WHERE uid = ?1 AND app = ?2";
        let values = params![uid.0.as_bytes(), app.as_str(), signed(self.seq)];
        self.session.known(|known| known.forget_unit(uid));
        ensure(run(self.conn, sql, values)? == 1, || format!("unit {uid}"))
    }

    /// Whether a version was published and not deleted.
    pub(super) fn survives(&self, key: folio_model::VersionKey) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM versions WHERE unit = ?1 AND deleted = 0 AND number = ?2";
        exists(self.conn, sql, params![key.unit.0.as_bytes(), signed(key.number.get())])
    }
}
