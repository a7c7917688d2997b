//! What stands in the way of removing something. Deleting and undoing ask the same questions here, so that no
//! way of removing a thing is laxer than another.

use std::collections::BTreeSet;

use folio_model::{
    AppName, BoundTo, Digest, Kind, Pointer, Qualifier, TriggerSpec, Unit, UnitUid, Version,
    VersionId, VersionKey,
};

use crate::ports::{Page, StandingBinding, State, StoreError};
use crate::{Referrer, trigger};

/// What one change removes: none of it stands in the way of the rest.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    /// Versions that go.
    pub(crate) versions: BTreeSet<VersionKey>,
    /// Pointers that go or move away.
    pub(crate) pointers: BTreeSet<Pointer>,
    /// Pointers that go and leave nothing in their place.
    pub(crate) gone: BTreeSet<Pointer>,
    /// Names of aliases that lead elsewhere instead.
    pub(crate) led: BTreeSet<VersionId>,
    /// Units whose draft goes or is replaced.
    pub(crate) drafts: BTreeSet<UnitUid>,
    /// Units that go with everything they have.
    pub(crate) units: BTreeSet<UnitUid>,
}

/// Everything that stays and uses a version, a pointer or a function that goes, by kind and name.
pub(crate) fn users(state: &dyn State, leaving: &Leaving) -> Result<Vec<Referrer>, StoreError> {
    let mut referrers = Vec::new();
    for &key in &leaving.versions {
        for pointer in state.pointers_to(key)? {
            if !leaving.pointers.contains(&pointer) {
                referrers.push(pointing(state, &pointer)?);
            }
        }
        for user in state.users(key)? {
            if !leaving.versions.contains(&user) {
                let name = format!("{}@{}", name(state, user.unit)?, user.number);
                referrers.push(Referrer { kind: "function version".to_owned(), name });
            }
        }
        for unit in state.draft_users(key)? {
            if !leaving.drafts.contains(&unit) {
                referrers.push(draft(name(state, unit)?));
            }
        }
    }
    referrers.extend(triggers(state, leaving)?);
    referrers.extend(bindings(state, leaving)?);
    for pointer in &leaving.gone {
        if let Pointer::Tag { app, name } = pointer {
            let naming = trigger::naming_tag(state, app, name)?;
            for unit in naming.iter().filter(|unit| !leaving.units.contains(&unit.uid)) {
                referrers.push(leading(state, unit)?);
            }
        }
    }
    Ok(in_order(referrers))
}

/// The triggers that stay and lead to something that goes.
fn triggers(state: &dyn State, leaving: &Leaving) -> Result<Vec<Referrer>, StoreError> {
    let versions = leaving.versions.iter().map(|key| key.unit);
    let aliases = leaving.gone.iter().filter_map(|pointer| match pointer {
        Pointer::Alias { unit, .. } => Some(*unit),
        _ => None,
    });
    let units: BTreeSet<_> = versions.chain(aliases).chain(leaving.units.iter().copied()).collect();
    let mut referrers = Vec::new();
    for uid in units {
        let Some(unit) = state.unit_by_uid(uid)? else { continue };
        if unit.key.kind != Kind::Function {
            continue;
        }
        for trigger in state.triggers_of(&unit.key.app, &unit.key.name)? {
            if !leaving.units.contains(&trigger.uid) && loses(state, &unit, &trigger, leaving)? {
                referrers.push(leading(state, &trigger)?);
            }
        }
    }
    Ok(referrers)
}

/// Whether a trigger loses a target when something of a function goes.
fn loses(
    state: &dyn State,
    function: &Unit,
    trigger: &Unit,
    leaving: &Leaving,
) -> Result<bool, StoreError> {
    let unit = function.uid;
    let (_, spec) = trigger::latest(state, trigger)?;
    let targets = spec.targets().iter().filter(|target| target.name() == Some(&function.key.name));
    for target in targets {
        let lost = match &target.function.at {
            _ if leaving.units.contains(&unit) => true,
            Some(Qualifier::Number(number)) => {
                leaving.versions.contains(&VersionKey { unit, number: *number })
            }
            Some(Qualifier::Named(name)) => {
                let pointer = Pointer::Alias { unit, name: name.clone() };
                let version = state.version_by_id(unit, name)?;
                let goes = |version: Version| {
                    leaving.versions.contains(&VersionKey { unit, number: version.number })
                };
                leaving.gone.contains(&pointer) || version.is_some_and(|(version, _)| goes(version))
            }
            Some(Qualifier::Draft) => false,
            None | Some(Qualifier::Latest) => loses_latest(state, function, leaving)?,
        };
        if lost {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether nothing is left of a function that could be latest, although there is something now.
fn loses_latest(state: &dyn State, function: &Unit, leaving: &Leaving) -> Result<bool, StoreError> {
    let unit = function.uid;
    let Some(mut number) = function.latest else { return Ok(false) };
    while leaving.versions.contains(&VersionKey { unit, number }) {
        match state.ready_before(VersionKey { unit, number })? {
            Some(version) => number = version.number,
            None => return Ok(true),
        }
    }
    Ok(false)
}

/// The function drafts that stay, stand on a state of this package that has no version, and lose it. `held`
/// says whether the package still has a state afterwards.
pub(crate) fn stranded_drafts(
    state: &dyn State,
    package: &Unit,
    leaving: &Leaving,
    held: &dyn Fn(Digest) -> Result<bool, StoreError>,
) -> Result<Vec<Referrer>, StoreError> {
    let mut referrers = Vec::new();
    if package.key.kind != Kind::Package {
        return Ok(referrers);
    }
    for function in state.units(&package.key.app, Kind::Function)? {
        let Some(theirs) = function.draft.filter(|draft| draft.uses.is_none()) else { continue };
        if leaving.drafts.contains(&function.uid) {
            continue;
        }
        let pin = crate::compose::function_spec(state, theirs.snapshot)?.package;
        if pin.name == package.key.name && !held(pin.snapshot)? {
            referrers.push(draft(function.key.name.to_string()));
        }
    }
    Ok(in_order(referrers))
}

/// Whether a unit holds a snapshot now, as its draft or as a version.
pub(crate) fn holds(state: &dyn State, unit: &Unit, snapshot: Digest) -> Result<bool, StoreError> {
    let draft = unit.draft.as_ref().is_some_and(|draft| draft.snapshot == snapshot);
    Ok(draft || survives(state, unit.uid, snapshot, &Leaving::default())?)
}

/// Whether a version of a unit that stays holds a snapshot.
pub(crate) fn survives(
    state: &dyn State,
    unit: UnitUid,
    snapshot: Digest,
    leaving: &Leaving,
) -> Result<bool, StoreError> {
    let stays = |number| !leaving.versions.contains(&VersionKey { unit, number });
    let versions = state.versions(unit, Page::ALL)?;
    Ok(versions.iter().any(|version| version.snapshot == snapshot && stays(version.number)))
}

/// Referrers as a sentence names them.
pub(crate) fn names(referrers: &[Referrer]) -> String {
    let names: Vec<_> =
        referrers.iter().map(|referrer| format!("{} `{}`", referrer.kind, referrer.name)).collect();
    names.join(", ")
}

/// The command that takes one referrer out of the way.
pub(crate) fn way_out(referrer: &Referrer) -> String {
    let parts = referrer.name.split_once('@');
    match (referrer.kind.as_str(), parts) {
        ("alias", Some((function, alias))) => {
            format!(
                "move it with `folio fn alias update {function} --alias {alias} --version ...`, or delete it"
            )
        }
        ("tag", _) => {
            format!("remove it from the tag with `folio fn tag remove --tag {} ...`", referrer.name)
        }
        ("trigger", _) => {
            format!("delete it first with `folio route delete {}`", referrer.name)
        }
        ("timer" | "mqtrigger" | "watch" | "webhook" | "job", _) => {
            format!("delete it first with `folio {} delete {}`", referrer.kind, referrer.name)
        }
        ("execution", _) => {
            format!("wait for its end, or end it with `folio execution cancel {}`", referrer.name)
        }
        ("function draft", _) => {
            format!(
                "point the draft elsewhere with `folio fn update {} --pkg ...`, or publish it",
                referrer.name
            )
        }
        ("function version", Some((function, at))) => {
            format!("delete it with `folio fn version delete {function} --version {at}`")
        }
        _ => format!("delete `{}` first", referrer.name),
    }
}

fn pointing(state: &dyn State, pointer: &Pointer) -> Result<Referrer, StoreError> {
    Ok(match pointer {
        Pointer::Alias { unit, name: alias } => {
            let name = format!("{}@{alias}", name(state, *unit)?);
            Referrer { kind: "alias".to_owned(), name }
        }
        Pointer::Tag { name, .. } => Referrer { kind: "tag".to_owned(), name: name.to_string() },
        Pointer::Split { unit } => {
            Referrer { kind: "trigger".to_owned(), name: name(state, *unit)? }
        }
        Pointer::Canary { name, .. } => {
            Referrer { kind: "canary".to_owned(), name: name.to_string() }
        }
        Pointer::Binding { app, id } => match state.binding(app, *id)? {
            Some(found) => binding(&found),
            None => return Err(StoreError::corrupt("what uses a version")),
        },
        // Of these none keeps a version; what a release shows is kept without its version.
        Pointer::Release { .. }
        | Pointer::ReleaseTag { .. }
        | Pointer::Live { .. }
        | Pointer::Plan { .. }
        | Pointer::Marks { .. }
        | Pointer::Domain { .. } => {
            Referrer { kind: "release".to_owned(), name: pointer.to_string() }
        }
    })
}

/// A job or webhook as what stands in the way.
fn binding(found: &StandingBinding) -> Referrer {
    Referrer { kind: found.binding.noun().to_owned(), name: found.id.to_string() }
}

/// The jobs and webhooks that stay and lead to a function or alias that goes.
fn bindings(state: &dyn State, leaving: &Leaving) -> Result<Vec<Referrer>, StoreError> {
    if leaving.gone.is_empty() && leaving.units.is_empty() {
        return Ok(Vec::new());
    }
    let names = names_gone(state, leaving)?;
    let loses = |found: &StandingBinding| match &found.binding.to {
        BoundTo::Function { unit, .. } => leaving.units.contains(unit),
        BoundTo::Alias(name) => names.contains(&(found.app.clone(), name.clone())),
        BoundTo::FunctionAlias { unit, alias } => {
            let pointer = Pointer::Alias { unit: *unit, name: alias.clone() };
            leaving.units.contains(unit) || leaving.gone.contains(&pointer)
        }
    };
    let all = state.bindings(None)?;
    Ok(all.iter().filter(|one| one.binding.holds() && loses(one)).map(binding).collect())
}

/// The names that lead nowhere afterwards, with the apps that know them.
fn names_gone(
    state: &dyn State,
    leaving: &Leaving,
) -> Result<BTreeSet<(AppName, VersionId)>, StoreError> {
    let mut names = BTreeSet::new();
    for pointer in &leaving.gone {
        match pointer {
            Pointer::Alias { unit, name } => {
                let unit = state.unit_by_uid(*unit)?;
                names.extend(unit.map(|unit| (unit.key.app, name.clone())));
            }
            Pointer::Binding { app, id } => {
                let name = state.binding(app, *id)?.and_then(|found| found.binding.alias());
                names.extend(name.map(|name| (app.clone(), name)));
            }
            _ => {}
        }
    }
    names.retain(|(_, name)| !leaving.led.contains(name));
    Ok(names)
}

/// A trigger as what stands in the way.
fn leading(state: &dyn State, unit: &Unit) -> Result<Referrer, StoreError> {
    let kind = match trigger::latest(state, unit)?.1 {
        TriggerSpec::Http(_) => "trigger",
        spec => spec.noun(),
    };
    Ok(Referrer { kind: kind.to_owned(), name: unit.key.name.to_string() })
}

fn draft(name: String) -> Referrer {
    Referrer { kind: "function draft".to_owned(), name }
}

fn name(state: &dyn State, unit: UnitUid) -> Result<String, StoreError> {
    let unit = state.unit_by_uid(unit)?;
    let unit = unit.ok_or_else(|| StoreError::corrupt("what uses a version"))?;
    Ok(unit.key.name.to_string())
}

fn in_order(mut referrers: Vec<Referrer>) -> Vec<Referrer> {
    referrers.sort_by(|a, b| (&a.kind, &a.name).cmp(&(&b.kind, &b.name)));
    referrers.dedup();
    referrers
}
