//! Compares the stored state with what the entries add up to, thing by thing, so that damage has a name.

use std::collections::BTreeSet;

use folio_core::ports::{Releases, State, StoreError};
use folio_model::{AppName, Digest, Kind, Number, UnitKey, UnitUid, VersionId, VersionKey};
use rusqlite::Connection;

use super::Found;
use crate::memory::Keys;
use crate::sqlite::query::{all, digest, number, text, uid};
use crate::sqlite::state::Seen;
use crate::sqlite::state::pointers::read_pointer;
use crate::sqlite::state::units::kind;

/// A state and everything it has a name for.
pub(super) struct Side<'a> {
    pub(super) state: &'a dyn State,
    pub(super) keys: Keys,
}

/// Adds a damage for everything that differs between the stored state and what it should be.
pub(super) fn states(
    conn: &Connection,
    replayed: Side<'_>,
    found: &mut Found,
) -> Result<(), StoreError> {
    let seen = Seen(conn);
    let stored = Side { state: &seen, keys: keys(conn)? };
    let name = |uid: UnitUid| unit_name(replayed.state, uid);
    let both = Both { stored: &stored, replayed: &replayed };
    both.each(found, |keys| &keys.apps, |app| format!("app `{app}`"), app)?;
    both.each(found, |keys| &keys.tokens, |id| format!("token `{id}`"), |s, id| s.token(id))?;
    both.each(found, |keys| &keys.units, |uid| name(*uid), unit)?;
    let version_name = |(uid, id): &_| format!("version `{id}` of {}", name(*uid));
    both.each(found, |keys| &keys.versions, version_name, version)?;
    let id_name = |(app, id): &_| format!("id `{id}` in app `{app}`");
    both.each(found, |keys| &keys.taken_ids, id_name, |s, (app, id)| s.id_taken(app, id))?;
    let moves_name = |pointer: &_| format!("the moves of {pointer}");
    let moves = |s: &dyn State, pointer: &_| Ok((s.moves(pointer)?, s.place(pointer)?));
    both.each(found, |keys| &keys.moved, moves_name, moves)?;
    let app_version_name = |(app, number): &_| format!("app version {number} of app `{app}`");
    both.each(found, |keys| &keys.app_versions, app_version_name, app_version)?;
    both.each(found, |keys| &keys.builds, |key| format!("build {key}"), build)?;
    let aimed_name = |(app, name): &_| format!("what leads to function `{name}` of app `{app}`");
    both.each(found, |keys| &keys.aimed_at, aimed_name, |s, (app, name)| s.triggers_of(app, name))?;
    let named_name = |key: &UnitKey| format!("what names {key} of app `{}`", key.app);
    both.each(found, |keys| &keys.named, named_name, |s, key| s.naming(key))?;
    let secrets = stored.state.some_secret()? == replayed.state.some_secret()?;
    found.expect(secrets, || "the first secret is not what the entries add up to".to_owned());
    let triggers = stored.state.triggers()? == replayed.state.triggers()?;
    found.expect(triggers, || "the list of triggers is not what the entries add up to".to_owned());
    let roots = stored.state.content_roots()? == replayed.state.content_roots()?;
    found.expect(roots, || {
        "the list of content to keep is not what the entries add up to".to_owned()
    });
    Ok(())
}

// What each sort of thing is compared by. Only that it can be compared matters.

fn app(state: &dyn State, app: &AppName) -> Result<impl PartialEq + use<>, StoreError> {
    let units = Kind::ALL.into_iter().map(|kind| state.units(app, kind));
    let units = units.collect::<Result<Vec<_>, _>>()?;
    let releases = (
        state.releases(app, Releases::Accessible)?,
        state.release_tags(app)?,
        state.domains(Some(app))?,
    );
    Ok((
        state.has_app(app)?,
        units,
        state.tags(app)?,
        (state.canaries(Some(app))?, state.bindings(Some(app))?),
        releases,
    ))
}

fn unit(state: &dyn State, uid: &UnitUid) -> Result<impl PartialEq + use<>, StoreError> {
    let pointers = (state.aliases(*uid)?, state.split(*uid)?);
    Ok((state.unit_by_uid(*uid)?, pointers, state.placement(*uid)?))
}

fn version(
    state: &dyn State,
    (unit, id): &(UnitUid, VersionId),
) -> Result<impl PartialEq + use<>, StoreError> {
    let Some((version, survives)) = state.version_by_id(*unit, id)? else { return Ok(None) };
    let key = VersionKey { unit: *unit, number: version.number };
    let users = (state.users(key)?, state.draft_users(key)?, state.pointers_to(key)?);
    Ok(Some((version, survives, users, state.version(key)?, state.is_ready(key)?)))
}

fn build(state: &dyn State, key: &Digest) -> Result<impl PartialEq + use<>, StoreError> {
    Ok((state.build(*key)?, state.waiting(*key)?))
}

fn app_version(
    state: &dyn State,
    (app, number): &(AppName, Number),
) -> Result<impl PartialEq + use<>, StoreError> {
    let Some(version) = state.app_version(app, *number)? else { return Ok(None) };
    let by_id = state.app_version_by_id(app, &version.id)?;
    let then = state.app_version_at(app, Some(version.at))?;
    let releases = state.releases(app, Releases::Of(&version.id))?;
    Ok(Some((version, by_id, then, releases)))
}

/// Two sides that must be equal.
struct Both<'a> {
    stored: &'a Side<'a>,
    replayed: &'a Side<'a>,
}

impl Both<'_> {
    /// Compares everything of one sort.
    fn each<K: Ord, V: PartialEq>(
        &self,
        found: &mut Found,
        keys: fn(&Keys) -> &BTreeSet<K>,
        name: impl Fn(&K) -> String,
        read: impl Fn(&dyn State, &K) -> Result<V, StoreError>,
    ) -> Result<(), StoreError> {
        let (stored, replayed) = (keys(&self.stored.keys), keys(&self.replayed.keys));
        for key in stored.union(replayed) {
            let known = stored.contains(key) && replayed.contains(key);
            let equal = known && read(self.stored.state, key)? == read(self.replayed.state, key)?;
            found.expect(equal, || format!("{} is not what the entries add up to", name(key)));
        }
        Ok(())
    }
}

fn unit_name(state: &dyn State, uid: UnitUid) -> String {
    let unit = state.unit_by_uid(uid).ok().flatten();
    unit.map_or_else(|| format!("unit {uid}"), |unit| unit.key.to_string())
}

/// Everything the database has a name for.
fn keys(conn: &Connection) -> Result<Keys, StoreError> {
    let aimed_at = "SELECT DISTINCT app, function FROM trigger_targets";
    let named = "SELECT DISTINCT app, kind, name FROM named";
    let moves = "SELECT DISTINCT kind, owner, name FROM pointer_moves \
                 UNION ALL SELECT 'release', app, id FROM releases";
    Ok(Keys {
        apps: set(all(conn, "SELECT name FROM apps", [], |row| text(row, 0))?),
        tokens: set(all(conn, "SELECT id FROM tokens", [], |row| row.get(0))?),
        units: set(all(conn, "SELECT uid FROM units", [], |row| uid(row, 0))?),
        versions: set(all(conn, "SELECT unit, id FROM versions", [], |row| {
            Ok((uid(row, 0)?, text(row, 1)?))
        })?),
        taken_ids: set(all(conn, "SELECT DISTINCT app, id FROM ids", [], |row| {
            Ok((text(row, 0)?, text(row, 1)?))
        })?),
        moved: set(all(conn, moves, [], read_pointer)?),
        app_versions: set(all(conn, "SELECT app, number FROM app_versions", [], |row| {
            Ok((text(row, 0)?, number(row, 1)?))
        })?),
        builds: set(all(conn, "SELECT key FROM builds", [], |row| digest(row, 0))?),
        named: set(all(conn, named, [], |row| {
            Ok(UnitKey { app: text(row, 0)?, kind: kind(row, 1)?, name: text(row, 2)? })
        })?),
        aimed_at: set(all(conn, aimed_at, [], |row| Ok((text(row, 0)?, text(row, 1)?)))?),
    })
}

fn set<K: Ord>(keys: Vec<K>) -> BTreeSet<K> {
    keys.into_iter().collect()
}
