//! Everything a ledger shows of one app, as one value: two ledgers that were told the same dump the same.

use folio_core::ports::{Page, State, StoreError};
use folio_model::{Alias, AppName, Kind, Pointer, Tag, Unit, VersionKey};
use serde_json::{Value, json};

/// Reads the whole observable state of an app.
pub fn dump(state: &dyn State, app: &AppName) -> Result<Value, StoreError> {
    let mut units = Vec::new();
    for kind in Kind::ALL {
        for found in state.units(app, kind)? {
            units.push(unit(state, &found)?);
        }
    }
    let tags = state.tags(app)?;
    let tags = tags.iter().map(|found| tag(state, app, found));
    let entries = state.entries(Some(app), Page::ALL)?;
    let undone: Result<Vec<_>, _> =
        entries.iter().map(|entry| state.undone_by(entry.seq)).collect();
    Ok(json!({
        "exists": state.has_app(app)?,
        "units": units,
        "tags": tags.collect::<Result<Vec<_>, _>>()?,
        "appVersions": app_versions(state, app)?,
        "undone": undone?,
        "entries": entries,
        "roots": state.content_roots()?,
    }))
}

fn unit(state: &dyn State, unit: &Unit) -> Result<Value, StoreError> {
    let versions = state.versions(unit.uid, Page::ALL)?;
    let mut referrers = Vec::new();
    let mut snapshots = Vec::new();
    for version in &versions {
        let key = VersionKey { unit: unit.uid, number: version.number };
        let users = (state.users(key)?, state.draft_users(key)?, state.pointers_to(key)?);
        referrers.push(users);
        snapshots.push(state.snapshot(version.snapshot)?);
    }
    let aliases = state.aliases(unit.uid)?;
    let aliases = aliases.iter().map(|found| alias(state, unit, found));
    Ok(json!({
        "unit": unit,
        "versions": versions,
        "snapshots": snapshots,
        "referrers": referrers,
        "aliases": aliases.collect::<Result<Vec<_>, _>>()?,
        "placement": state.placement(unit.uid)?,
        "byName": state.unit(&unit.key)?.map(|found| found.uid),
    }))
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

fn app_versions(state: &dyn State, app: &AppName) -> Result<Vec<Value>, StoreError> {
    let versions = state.app_versions_before(app, None, usize::MAX)?.into_iter().rev();
    let with_map = versions.map(|version| {
        let then = state.app_version_at(app, Some(version.at))?.map(|then| then.number);
        let placements = state.placements(app, version.number)?;
        Ok(json!({ "version": version, "newestThen": then, "placements": placements }))
    });
    with_map.collect()
}
