//! Everything a ledger shows of one app, as one value: two ledgers that were told the same dump the same.

use folio_core::ports::{Page, Releases, State, StoreError};
use folio_model::{Alias, AppName, Digest, Kind, Pointer, Snapshot, Tag, Unit, VersionKey};
use serde_json::{Value, json};

/// How far back a dump reads entries and what each app version held.
///
/// Reading all of it after every step of a long story costs the square of its length, and what is old can only differ
/// where the whole is read once at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The newest few.
    Newest,
    /// All.
    Whole,
}

impl Depth {
    fn limit(self) -> usize {
        match self {
            Self::Newest => 3,
            Self::Whole => usize::MAX,
        }
    }
}

/// Reads the observable state of an app.
pub fn dump(state: &dyn State, app: &AppName, depth: Depth) -> Result<Value, StoreError> {
    let mut units = Vec::new();
    for kind in Kind::ALL {
        for found in state.units(app, kind)? {
            units.push(unit(state, &found)?);
        }
    }
    let tags = state.tags(app)?;
    let tags = tags.iter().map(|found| tag(state, app, found));
    let entries = state.entries_before(app, u64::MAX, depth.limit())?;
    let undone: Result<Vec<_>, _> =
        entries.iter().map(|entry| state.undone_by(entry.seq)).collect();
    Ok(json!({
        "exists": state.has_app(app)?,
        "units": units,
        "tags": tags.collect::<Result<Vec<_>, _>>()?,
        "appVersions": app_versions(state, app, depth)?,
        "undone": undone?,
        "head": state.head()?,
        "entries": entries,
        "roots": state.content_roots()?,
        "triggers": triggers(state, app)?,
        "canaries": canaries(state, app)?,
        "bindings": bindings(state, app)?,
        "pending": pending(state)?,
        "releases": releases(state, app)?,
    }))
}

fn unit(state: &dyn State, unit: &Unit) -> Result<Value, StoreError> {
    let versions = state.versions(unit.uid, Page::ALL)?;
    let mut referrers = Vec::new();
    let mut snapshots = Vec::new();
    let mut builds = Vec::new();
    let beyond = VersionKey { unit: unit.uid, number: unit.next_number };
    for version in &versions {
        let key = VersionKey { unit: unit.uid, number: version.number };
        let users = (state.users(key)?, state.draft_users(key)?, state.pointers_to(key)?);
        referrers.push(users);
        snapshots.push(state.snapshot(version.snapshot)?);
        builds.push((state.is_ready(key)?, build(state, version.snapshot)?));
    }
    let draft = unit.draft.as_ref().map(|draft| build(state, draft.snapshot)).transpose()?;
    let leading = match unit.key.kind {
        Kind::Function => state.triggers_of(&unit.key.app, &unit.key.name)?,
        _ => Vec::new(),
    };
    let naming = match unit.key.kind {
        Kind::Config | Kind::Secret => state.naming(&unit.key)?,
        _ => Vec::new(),
    };
    let aliases = state.aliases(unit.uid)?;
    let aliases = aliases.iter().map(|found| alias(state, unit, found));
    Ok(json!({
        "unit": unit,
        "versions": versions,
        "snapshots": snapshots,
        "referrers": referrers,
        "builds": builds,
        "draftBuild": draft,
        "triggers": leading,
        "naming": naming,
        "readyBefore": state.ready_before(beyond)?,
        "aliases": aliases.collect::<Result<Vec<_>, _>>()?,
        "split": state.split(unit.uid)?,
        "placement": state.placement(unit.uid)?,
        "byName": state.unit(&unit.key)?.map(|found| found.uid),
    }))
}

/// What has to be built of a snapshot or its package, what waits for it, and how it ended.
fn build(state: &dyn State, snapshot: Digest) -> Result<Value, StoreError> {
    let own = state.snapshot(snapshot)?;
    let package = match own {
        Some(Snapshot::Function(spec)) => state.snapshot(spec.package.snapshot)?,
        other => other,
    };
    let Some(Snapshot::Package(spec)) = package else { return Ok(Value::Null) };
    let Some(key) = spec.build_key() else { return Ok(Value::Null) };
    Ok(json!({ "key": key, "waiting": state.waiting(key)?, "record": state.build(key)? }))
}

fn triggers(state: &dyn State, app: &AppName) -> Result<Vec<Value>, StoreError> {
    let own = state.triggers()?.into_iter().filter(|found| found.unit.key.app == *app);
    Ok(own.map(|found| json!({ "unit": found.unit, "spec": found.spec })).collect())
}

fn canaries(state: &dyn State, app: &AppName) -> Result<Vec<Value>, StoreError> {
    let found = state.canaries(Some(app))?.into_iter().map(|found| {
        let pointer = Pointer::Canary { app: found.app, name: found.name.clone() };
        let moves = moves(state, &pointer)?;
        Ok(json!([found.name, found.canary, found.revision, moves]))
    });
    found.collect()
}

fn bindings(state: &dyn State, app: &AppName) -> Result<Vec<Value>, StoreError> {
    let found = state.bindings(Some(app))?.into_iter().map(|found| {
        let moves = moves(state, &Pointer::Binding { app: found.app, id: found.id })?;
        Ok(json!([found.id, found.binding, found.revision, moves]))
    });
    found.collect()
}

fn releases(state: &dyn State, app: &AppName) -> Result<Value, StoreError> {
    let found = |which| {
        let found = state.releases(app, which)?.into_iter();
        Ok::<_, StoreError>(found.map(|found| json!([found.id, found.release])).collect::<Vec<_>>())
    };
    let (live, plan) = (Pointer::Live { app: app.clone() }, Pointer::Plan { app: app.clone() });
    Ok(json!({
        "accessible": found(Releases::Accessible)?,
        "all": found(Releases::Before(u64::MAX, usize::MAX))?,
        "tags": state.release_tags(app)?,
        "live": state.place(&live)?,
        "plan": state.place(&plan)?,
        "domains": domains(state, app)?,
    }))
}

fn domains(state: &dyn State, app: &AppName) -> Result<Vec<Value>, StoreError> {
    let found = state.domains(Some(app))?.into_iter().map(|found| {
        let moves = moves(state, &Pointer::Domain { name: found.domain.clone() })?;
        Ok(json!([found.domain, found.revision, moves]))
    });
    found.collect()
}

fn pending(state: &dyn State) -> Result<Vec<Value>, StoreError> {
    let pending = state.builds_pending(usize::MAX)?;
    Ok(pending.iter().map(|build| json!([build.key, build.package])).collect())
}

fn alias(state: &dyn State, unit: &Unit, alias: &Alias) -> Result<Value, StoreError> {
    let pointer = Pointer::Alias { unit: unit.uid, name: alias.name.clone() };
    Ok(json!({
        "name": alias.name,
        "weights": alias.weights,
        "revision": alias.revision,
        "moves": moves(state, &pointer)?,
    }))
}

fn tag(state: &dyn State, app: &AppName, tag: &Tag) -> Result<Value, StoreError> {
    let pointer = Pointer::Tag { app: app.clone(), name: tag.name.clone() };
    Ok(json!({
        "name": tag.name,
        "members": tag.members.iter().collect::<Vec<_>>(),
        "revision": tag.revision,
        "moves": moves(state, &pointer)?,
    }))
}

fn moves(state: &dyn State, pointer: &Pointer) -> Result<Vec<u64>, StoreError> {
    Ok(state.moves(pointer)?.iter().map(|entry| entry.seq).collect())
}

fn app_versions(state: &dyn State, app: &AppName, depth: Depth) -> Result<Vec<Value>, StoreError> {
    let versions = state.app_versions_before(app, None, usize::MAX)?;
    let looked_into = versions.len().saturating_sub(depth.limit());
    let versions = versions.into_iter().rev().enumerate();
    let with_map = versions.map(|(place, version)| {
        if place < looked_into {
            return Ok(json!({ "version": version }));
        }
        let then = state.app_version_at(app, Some(version.at))?.map(|then| then.number);
        let placements = state.placements(app, version.number)?;
        Ok(json!({ "version": version, "newestThen": then, "placements": placements }))
    });
    with_map.collect()
}
