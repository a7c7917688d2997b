//! Checks a manifest: that everything it names is in it, each thing once, and of its kind. Whatever passes was, or could have
//! been, an app of folio.

use std::collections::{BTreeMap, BTreeSet};

use folio_model::{
    Kind, Name, Number, Qualifier, Snapshot, Subject, Target, TriggerSpec, VersionId,
};

use super::Error;
use super::gather::stands_on;
use super::manifest::{FORMAT, Manifest, SnapshotSaid, UnitSaid, UseSaid};

/// The largest number of a version: after it there is room for more than anybody publishes.
const NUMBER_MAX: u64 = 1 << 53;

/// Only what form a manifest has.
#[derive(serde::Deserialize)]
struct Form {
    format: u32,
}

/// Reads a manifest, and refuses one that does not fit together.
pub(super) fn read(bytes: &[u8]) -> Result<Manifest, Error> {
    let form: Form = serde_json::from_slice(bytes).map_err(|_| Error::Unknown)?;
    if form.format > FORMAT {
        return Err(Error::Newer { found: form.format, known: FORMAT });
    }
    let manifest: Manifest = serde_json::from_slice(bytes)
        .map_err(|error| damaged(format!("its manifest makes no sense: {error}")))?;
    check(&manifest)?;
    Ok(manifest)
}

/// The versions of every unit, by kind and name.
type Known<'a> = BTreeMap<(Kind, &'a Name), &'a UnitSaid>;

fn check(manifest: &Manifest) -> Result<(), Error> {
    let mut known = Known::new();
    for unit in &manifest.units {
        if known.insert((unit.kind, &unit.name), unit).is_some() {
            return Err(damaged(format!("{} `{}` is in it twice", unit.kind, unit.name)));
        }
    }
    for (digest, SnapshotSaid { older, value }) in &manifest.snapshots {
        if !older && value.digest() != *digest {
            return Err(damaged(format!("snapshot {digest} is not what its digest says")));
        }
        value.validate().map_err(|error| damaged(format!("snapshot {digest}: {error}")))?;
        let lacks = stands_on(value).into_iter().find(|pin| !manifest.snapshots.contains_key(pin));
        if let Some(pin) = lacks {
            return Err(damaged(format!("snapshot {digest} stands on {pin}, which is not in it")));
        }
        check_pins(manifest, value)?;
    }
    manifest.units.iter().try_for_each(|unit| check_unit(manifest, &known, unit))?;
    check_tags(manifest, &known)?;
    check_used(manifest)
}

/// Refuses a function that stands on something of another kind, or on a secret that is not listed.
fn check_pins(manifest: &Manifest, value: &Snapshot) -> Result<(), Error> {
    let kind_of = |digest| manifest.snapshots.get(&digest).map(|said| said.value.kind());
    let fits = match value {
        Snapshot::Function(spec) => {
            kind_of(spec.package.snapshot) == Some(Kind::Package)
                && spec.configs.iter().all(|pin| kind_of(pin.snapshot) == Some(Kind::Config))
                && spec.secrets.iter().all(|pin| manifest.secrets.contains_key(&pin.name))
        }
        Snapshot::Secret(_) => false,
        _ => true,
    };
    let environment = match value {
        Snapshot::Function(spec) => spec.environment_snapshot,
        Snapshot::Package(spec) => spec.environment_snapshot,
        _ => None,
    };
    let fits = fits && environment.is_none_or(|pin| kind_of(pin) == Some(Kind::Environment));
    if fits { Ok(()) } else { Err(damaged("a snapshot stands on something of another kind")) }
}

fn check_unit(manifest: &Manifest, known: &Known<'_>, unit: &UnitSaid) -> Result<(), Error> {
    let what = format!("{} `{}`", unit.kind, unit.name);
    let odd = |why: &str| damaged(format!("{what} {why}"));
    let is_coded = matches!(unit.kind, Kind::Function | Kind::Package);
    if unit.kind == Kind::Secret {
        return Err(odd("cannot be in a bundle"));
    }
    if unit.versions.is_empty() && unit.draft.is_none() {
        return Err(odd("has neither a version nor a draft"));
    }
    if !is_coded && unit.draft.is_some() || unit.kind != Kind::Function && !unit.aliases.is_empty()
    {
        return Err(odd("has what its kind never has"));
    }
    if unit.versions.iter().any(|version| version.number.get() > NUMBER_MAX) {
        return Err(odd("has a version with a number that no unit reaches"));
    }
    if unit.versions.windows(2).any(|pair| pair[0].number >= pair[1].number) {
        return Err(odd("has versions out of order"));
    }
    let ids: BTreeSet<_> = unit.versions.iter().map(|version| &version.id).collect();
    if ids.len() != unit.versions.len() || unit.aliases.keys().any(|alias| ids.contains(alias)) {
        return Err(odd("has two versions or aliases of one name"));
    }
    let versions = unit.versions.iter().map(|one| (one.snapshot, one.uses.as_ref(), one.archive));
    let draft = unit.draft.iter().map(|one| (one.snapshot, one.uses.as_ref(), one.archive));
    for (snapshot, uses, archive) in versions.chain(draft) {
        let said = manifest.snapshots.get(&snapshot);
        if said.is_none_or(|said| said.value.kind() != unit.kind) {
            return Err(odd("has a version of another kind, or of nothing"));
        }
        if uses.is_some_and(|uses| !has_package(known, uses)) {
            return Err(odd("uses a package that is not in it"));
        }
        if unit.kind != Kind::Function && uses.is_some() || !is_coded && archive.is_some() {
            return Err(odd("has what its kind never has"));
        }
    }
    let mut shares = unit.aliases.values().flat_map(|weights| weights.shares());
    if shares.any(|share| !has_version(unit, share.number)) {
        return Err(odd("has an alias that leads nowhere"));
    }
    check_targets(manifest, known, unit)
}

/// Refuses a trigger that leads nowhere.
fn check_targets(manifest: &Manifest, known: &Known<'_>, unit: &UnitSaid) -> Result<(), Error> {
    let newest = unit.versions.last().and_then(|last| manifest.snapshots.get(&last.snapshot));
    let Some(Snapshot::Trigger(spec)) = newest.map(|said| &said.value) else { return Ok(()) };
    let lost = |what: &dyn std::fmt::Display| {
        damaged(format!("trigger `{}` leads to {what}, which is not in it", unit.name))
    };
    if let Some(target) = spec.targets().iter().find(|target| !leads(known, target)) {
        return Err(lost(&target.function));
    }
    match spec.tag().filter(|tag| !manifest.tags.contains_key(*tag)) {
        Some(tag) => Err(lost(&format!("tag {tag}"))),
        None => Ok(()),
    }
}

fn leads(known: &Known<'_>, target: &Target) -> bool {
    // What is not a plain name is looked up by whoever calls it.
    let Subject::Name(name) = &target.function.name else { return true };
    let Some(function) = known.get(&(Kind::Function, name)) else { return false };
    match &target.function.at {
        None | Some(Qualifier::Latest | Qualifier::Draft) => true,
        Some(Qualifier::Number(number)) => has_version(function, *number),
        Some(Qualifier::Named(id)) => {
            function.aliases.contains_key(id)
                || function.versions.iter().any(|version| version.id == *id)
        }
    }
}

fn check_tags(manifest: &Manifest, known: &Known<'_>) -> Result<(), Error> {
    for (tag, members) in &manifest.tags {
        let there = |(name, number): (&Name, &Number)| {
            known.get(&(Kind::Function, name)).is_some_and(|unit| has_version(unit, *number))
        };
        if !members.iter().all(there) {
            return Err(lost_tag(tag));
        }
    }
    Ok(())
}

fn lost_tag(tag: &VersionId) -> Error {
    damaged(format!("tag `{tag}` names a version that is not in it"))
}

/// Refuses values that nothing holds.
fn check_used(manifest: &Manifest) -> Result<(), Error> {
    let versions = manifest.units.iter().flat_map(|unit| &unit.versions).map(|one| one.snapshot);
    let drafts = manifest.units.iter().filter_map(|unit| unit.draft.as_ref());
    let mut ahead: Vec<_> = versions.chain(drafts.map(|draft| draft.snapshot)).collect();
    let mut used = BTreeSet::new();
    while let Some(digest) = ahead.pop() {
        if used.insert(digest)
            && let Some(said) = manifest.snapshots.get(&digest)
        {
            ahead.extend(stands_on(&said.value));
        }
    }
    match manifest.snapshots.keys().find(|digest| !used.contains(digest)) {
        Some(foreign) => Err(damaged(format!("nothing in it holds snapshot {foreign}"))),
        None => Ok(()),
    }
}

fn has_package(known: &Known<'_>, uses: &UseSaid) -> bool {
    let package = known.get(&(Kind::Package, &uses.package));
    package.is_some_and(|package| has_version(package, uses.number))
}

fn has_version(unit: &UnitSaid, number: Number) -> bool {
    unit.versions.iter().any(|version| version.number == number)
}

/// Whether a trigger is a route.
pub(super) fn as_route(value: &Snapshot) -> Option<&folio_model::RouteSpec> {
    match value {
        Snapshot::Trigger(TriggerSpec::Http(spec)) => Some(spec),
        _ => None,
    }
}

fn damaged(what: impl Into<String>) -> Error {
    Error::Damaged { what: what.into() }
}
