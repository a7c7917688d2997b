//! What applying a directory says, in Fission's words.

use folio_core::apply::{
    AdoptedUnit, Applied, AppliedPointer, AppliedUnit, DeployedUnit, Outcome, PointerKind,
};
use folio_core::release::Late;
use folio_model::{AppName, Kind, Owner};

use crate::output::{Format, Table, list};
use crate::spec::Spec;

/// Names that are said of one kind.
const NAMES_MAX: usize = 50;

/// What a kind is called in manifests.
pub(super) fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Function => "Function",
        Kind::Package => "Package",
        Kind::Environment => "Environment",
        Kind::Trigger => "Trigger",
        Kind::Static => "StaticAsset",
        Kind::Config => "ConfigMap",
        Kind::Secret => "Secret",
    }
}

/// What a directory holds.
pub(super) fn resources(spec: &Spec, deployment: &Owner) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for manifest in &spec.manifests {
        let kind = manifest.value()["kind"].as_str().unwrap_or_default();
        match counts.iter_mut().find(|(known, _)| known == kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((kind.to_owned(), 1)),
        }
    }
    let lines = counts.iter().map(|(kind, count)| format!("\n * {count} {kind}s"));
    format!("DeployUID: {}\nResources:{}", deployment.uid, lines.collect::<String>())
}

/// What was done, or would be.
pub(in crate::command) fn applied(applied: &Applied, dry_run: bool) -> String {
    if applied.units.is_empty() && applied.pointers.is_empty() && applied.adopted.is_empty() {
        return match &applied.late {
            None => "Everything up to date.".to_owned(),
            Some(late) => format!("Everything up to date; {}.", shown_late(late, dry_run)),
        };
    }
    let mut lines = Vec::new();
    for kind in Kind::ALL_BY_NEED {
        for (what, word) in [
            (Outcome::Created, "created"),
            (Outcome::Updated, "updated"),
            (Outcome::Deleted, "deleted"),
        ] {
            let of_kind =
                applied.units.iter().filter(|unit| unit.kind == kind && unit.what == what);
            let names: Vec<_> = of_kind.map(named).collect();
            if names.is_empty() {
                continue;
            }
            let count = names.len();
            let kind = if count == 1 { kind.as_str() } else { kind.plural() };
            let word = if dry_run { format!("would be {word}") } else { word.to_owned() };
            lines.push(format!("{count} {kind} {word}: {}", short(&names)));
        }
    }
    for pointer in &applied.pointers {
        let word = match pointer.what {
            Outcome::Created => "created",
            Outcome::Updated => "updated",
            Outcome::Deleted => "deleted",
        };
        let word = if dry_run { format!("would be {word}") } else { word.to_owned() };
        lines.push(format!("{} {} {word}", noun(pointer), pointer.name));
    }
    lines.extend(applied.adopted.iter().map(|unit| adopted(unit, dry_run)));
    lines.extend(applied.late.iter().map(|late| shown_late(late, dry_run)));
    if dry_run {
        lines.push("(dry run - no changes made)".to_owned());
    }
    if let Some(id) = &applied.id {
        lines.push(format!("version {id}"));
    }
    lines.join("\n")
}

/// What a pointer is.
fn noun(pointer: &AppliedPointer) -> &'static str {
    match pointer.kind {
        PointerKind::Alias => "alias",
        PointerKind::Canary => "canary",
    }
}

/// What was deleted, a line each.
pub(super) fn destroyed(applied: &Applied, app: &AppName) -> String {
    let unit = |unit: &AppliedUnit| format!("Deleted {} {app}/{}", title(unit.kind), named(unit));
    let pointer = |pointer: &AppliedPointer| format!("Deleted {} {}", noun(pointer), pointer.name);
    let units = applied.units.iter().map(unit);
    let lines: Vec<_> = units.chain(applied.pointers.iter().map(pointer)).collect();
    if lines.is_empty() { "Nothing to delete.".to_owned() } else { lines.join("\n") }
}

/// A unit, and how much went with it.
fn named(unit: &AppliedUnit) -> String {
    match unit.versions {
        0 | 1 => unit.name.to_string(),
        versions => format!("{} ({versions} versions)", unit.name),
    }
}

/// What was kept from people and is shown to them now.
fn shown_late(late: &Late, dry_run: bool) -> String {
    let verb = if dry_run { "would be" } else { "is" };
    match late {
        Late::Released(version) => format!("app version {version} {verb} released"),
        Late::Live(release) => format!("release {release} {verb} live"),
    }
}

/// A unit that was taken over, or would be, and from whom.
fn adopted(unit: &AdoptedUnit, dry_run: bool) -> String {
    let AdoptedUnit { kind, name, from } = unit;
    let would = if dry_run { "would be " } else { "" };
    match from {
        Some(Owner { name: deployment, uid }) => {
            format!("{kind} {name} {would}taken over from deployment {deployment} ({uid})")
        }
        None => format!("{kind} {name} {would}taken over; no deployment made it"),
    }
}

/// The first names, and how many more there are: nobody reads thousands.
fn short(names: &[String]) -> String {
    match names.split_at_checked(NAMES_MAX) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} and {} more", first.join(", "), rest.len())
        }
        _ => names.join(", "),
    }
}

/// What a deployment owns.
pub(super) fn deployed(units: &[DeployedUnit], _format: Format) -> Table {
    let mut table = Table::new(["KIND", "NAME", "VERSION", "DRAFT"]);
    for unit in units {
        let draft = if unit.draft { "yes" } else { "no" }.to_owned();
        table.row([unit.kind.to_string(), unit.name.to_string(), list(&unit.version), draft]);
    }
    table
}
