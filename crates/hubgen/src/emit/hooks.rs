//! Where hand-written code can join in: markers for properties whose type changed, and the table
//! of all hooks.

use super::code::{Code, literal, mentions_module};
use super::docs;
use super::header;
use super::names::Names;
use crate::ir::TypeId;
use crate::plan::{Change, Pair, PairId, Plan, PropertyStep, Step};
use crate::version::Version;

/// The changed properties of a pair that a converter can be written for: those that neither side
/// has as a tag, and that are not left to the hook of the whole type.
fn changed<'a>(
    names: &Names<'_>,
    id: &PairId,
    pair: &'a Pair,
) -> Vec<(&'a PropertyStep, &'a Change)> {
    let Pair::Object(steps) = pair else { return Vec::new() };
    let has = |id, wire: &Option<String>| {
        names.properties(id).iter().any(|it| Some(&it.wire) == wire.as_ref())
    };
    let real = steps.iter().filter(|it| has(&id.hub, &it.hub) && has(&id.spoke, &it.spoke));
    let real = real.filter(|it| it.step != Step::Manual);
    real.filter_map(|step| Some((step, step.change.as_ref()?))).collect()
}

/// Writes the markers of a version's changed properties. Only the markers are in a module of their
/// own, because a type may have the name of one.
pub(super) fn changes(code: &mut Code, plan: &Plan, names: &Names<'_>, version: &Version) {
    let pairs = plan.pairs.iter().filter(|(id, _)| id.spoke.since == *version);
    let all: Vec<_> = pairs
        .flat_map(|(id, pair)| changed(names, id, pair).into_iter().map(move |it| (id, it)))
        .collect();
    if all.is_empty() {
        return;
    }
    code.line("/// Properties whose type is another in the hub, for [`hub::Convert`].");
    code.block("pub mod change {", "}", |code| {
        for (at, (id, (step, change))) in all.iter().enumerate() {
            if at > 0 {
                code.blank();
            }
            let (ty, property) = (&id.spoke.name, step.spoke.as_deref());
            let property = property.unwrap_or_default();
            let property = docs::quoted(property);
            code.line(&format!("/// {property} of [`{ty}`](super::{ty})."));
            code.line("#[derive(Debug)]");
            code.line(&format!("pub struct {};", names.marker(id, change)));
        }
    });
    for (id, (step, change)) in all {
        code.blank();
        let name = names.marker(id, change);
        implementation(code, names, (id, name), (step, change));
    }
}

fn implementation(
    code: &mut Code,
    names: &Names<'_>,
    (id, name): (&PairId, &str),
    (step, change): (&PropertyStep, &Change),
) {
    let boxed = |value: String, id, wire| match is_boxed(names, id, wire) {
        true => format!("Box<{value}>"),
        false => value,
    };
    let spoke = names.spoke_type(&change.spoke, &id.spoke.since);
    let hub = names.stored_type(&change.hub);
    code.block(&format!("impl Change for change::{name} {{"), "}", |code| {
        code.line(&format!("type Spoke = {};", boxed(spoke, &id.spoke, step.spoke.as_deref())));
        code.line(&format!("type Hub = {};", boxed(hub, &id.hub, step.hub.as_deref())));
        let version = literal(id.hub.since.as_str());
        code.line(&format!("const HUB_VERSION: &'static str = {version};"));
    });
}

/// Whether a property is behind an indirection.
fn is_boxed(names: &Names<'_>, id: &TypeId, wire: Option<&str>) -> bool {
    names.properties(id).iter().any(|it| Some(it.wire.as_str()) == wire && it.recursive)
}

/// The file with the table of hooks.
pub(super) fn file(plan: &Plan, names: &Names<'_>) -> String {
    let mut table = Code::default();
    table.line("/// Every place for a hook, in the order of versions and types.");
    table.block("pub const HOOKS: &[Hook] = &[", "];", |code| {
        for (id, pair) in &plan.pairs {
            if let Pair::Object(_) = pair {
                hooks_of(code, names, (id, pair));
            }
        }
    });
    let table = table.into_text();
    let modules = plan.group.versions.keys().map(|version| names.module(version));
    let mut modules: Vec<_> =
        modules.filter(|module| mentions_module(&table, module)).map(str::to_owned).collect();
    modules.push("storage".to_owned());
    modules.sort();
    let mut code = Code::default();
    code.line(&header(plan));
    code.line("//! Where hooks can be, and which are written.");
    code.blank();
    code.line("use hub::traits::*;");
    code.line("use hub::{Hook, Probe};");
    code.blank();
    code.list("use super::{", &modules, "};");
    code.blank();
    code.into_text() + &table
}

fn hooks_of(code: &mut Code, names: &Names<'_>, (id, pair): (&PairId, &Pair)) {
    let (spoke, stored) = (names.spoke_path(&id.spoke), names.stored(&id.hub));
    let version = literal(id.spoke.since.as_str());
    let mut hook = |kind: &str, name: &str, probe: &str| {
        let arguments = [version.clone(), literal(name), format!("Probe::<{probe}.is_some()")];
        code.list(&format!("Hook::{kind}("), &arguments, "),");
    };
    hook("augment", &id.spoke.name, &format!("({spoke}, storage::{stored})>::AUGMENT"));
    for (step, change) in changed(names, id, pair) {
        let property = step.spoke.as_deref().unwrap_or_default();
        let name = format!("{}.{property}", id.spoke.name);
        let marker = names.marker(id, change);
        let module = names.module(&id.spoke.since);
        hook("convert", &name, &format!("{module}::change::{marker}>::CONVERT"));
    }
}
