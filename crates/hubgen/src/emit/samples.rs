//! The tests of the generated code: how to make random values of every type, and one line for
//! each version of each resource.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{Code, literal, mentions, mentions_module};
use super::conversion::leaf;
use super::header;
use super::names::{Names, field};
use super::types::{is_plain, variant};
use crate::ir::{Property, Shape, TypeId};
use crate::plan::{Conversion, Pair, PairId, Plan, PropertyStep, Step};

pub(super) fn file(plan: &Plan, names: &Names<'_>) -> String {
    let mut body = Code::default();
    for id in &plan.storage {
        match &names.definition(id).shape {
            Shape::Object(_) => stored_object(&mut body, plan, names, id),
            Shape::Union(_) => {
                union(&mut body, names, id, &format!("storage::{}", names.stored(id)));
            }
            Shape::Enum(_) => {}
        }
    }
    for definition in plan.group.versions.values().flat_map(|api| api.definitions.values()) {
        let path = names.spoke_path(&definition.id);
        match &definition.shape {
            Shape::Object(_) => object(&mut body, names, &definition.id, &path),
            Shape::Union(_) => union(&mut body, names, &definition.id, &path),
            Shape::Enum(_) => body.line(&format!("hub::sample!(enum {path});")),
        }
    }
    body.blank();
    round_trips(&mut body, plan, names);
    body.blank();
    body.line("#[test]");
    body.block("fn nothing_is_lost_on_the_way() {", "}", |code| {
        code.line("check(ROUND_TRIPS, HOOKS);");
    });
    imports(plan, names, &body.into_text())
}

fn imports(plan: &Plan, names: &Names<'_>, body: &str) -> String {
    let mut code = Code::default();
    code.line(&header(plan));
    code.line("//! Every version of every resource to the hub and back, with random values.");
    code.blank();
    // Only what is put into bags is named by its type; all else in the samples are fields and arms.
    let bagged: Vec<_> = body.lines().filter(|line| line.trim_start().starts_with("bag")).collect();
    let bagged = bagged.join("\n");
    if mentions(&bagged, "BTreeMap") {
        code.line("use std::collections::BTreeMap;");
        code.blank();
    }
    code.line("use hub::testing::{RoundTrip, check};");
    if mentions(&bagged, "unless") {
        code.line("use hub::traits::*;");
    }
    let used: Vec<_> = ["Number", "Value"].into_iter().filter(|it| mentions(&bagged, it)).collect();
    match used.as_slice() {
        [] => {}
        [one] => code.line(&format!("use hub::{one};")),
        _ => code.line(&format!("use hub::{{{}}};", used.join(", "))),
    }
    code.blank();
    let modules = plan.group.versions.keys().map(|version| names.module(version));
    let mut modules: Vec<_> =
        modules.filter(|it| mentions_module(body, it)).map(str::to_owned).collect();
    modules.push("storage".to_owned());
    modules.sort();
    code.line("use super::hooks::HOOKS;");
    code.list("use super::{", &modules, "};");
    code.blank();
    code.into_text() + body
}

fn object(code: &mut Code, names: &Names<'_>, id: &TypeId, path: &str) {
    let properties = names.properties(id);
    let (present, others): (Vec<_>, Vec<_>) =
        properties.into_iter().partition(|it| it.required && it.nullable);
    let fields = |properties: Vec<&Property>| properties.into_iter().map(field).collect::<Vec<_>>();
    if present.is_empty() {
        return sample(code, &format!("hub::sample!(spoke {path}"), &fields(others), ");");
    }
    sample(code, &format!("hub::sample!(spoke {path}"), &fields(others), "");
    sample(code, "    present", &fields(present), ");");
}

/// Writes names in braces after `start`.
fn sample(code: &mut Code, start: &str, names: &[String], end: &str) {
    if names.is_empty() {
        return code.line(&format!("{start} {{}}{end}"));
    }
    code.list(&format!("{start} {{ "), names, &format!(" }}{end}"));
}

fn union(code: &mut Code, names: &Names<'_>, id: &TypeId, path: &str) {
    let Shape::Union(shape) = &names.definition(id).shape else { return };
    let arms: Vec<_> = shape.arms.iter().map(|arm| variant(&arm.name)).collect();
    sample(code, &format!("hub::sample!(union {path}, {}", literal(&shape.tag)), &arms, ");");
}

/// What hub values need so that every version can read them.
#[derive(Default)]
struct Needs {
    required: BTreeSet<String>,
    bag: BTreeMap<String, String>,
}

fn stored_object(code: &mut Code, plan: &Plan, names: &Names<'_>, id: &TypeId) {
    let needs = needs(plan, names, id);
    let properties = names.properties(id);
    let (required, others): (Vec<_>, Vec<_>) =
        properties.into_iter().partition(|it| needs.required.contains(&it.wire));
    let fields = |properties: Vec<&Property>| properties.into_iter().map(field).collect::<Vec<_>>();
    let start = format!("hub::sample!(hub storage::{}", names.stored(id));
    sample(code, &start, &fields(others), "");
    if !required.is_empty() {
        sample(code, "    required", &fields(required), "");
    }
    code.block("    bag {", "    });", |code| {
        for entry in needs.bag.values() {
            code.line(&format!("    {entry};"));
        }
    });
}

fn needs(plan: &Plan, names: &Names<'_>, hub: &TypeId) -> Needs {
    let mut needs = Needs::default();
    for (id, pair) in plan.pairs.iter().filter(|(id, _)| id.hub == *hub) {
        let Pair::Object(steps) = pair else { continue };
        let unknown = format!("*@{}", id.spoke.since);
        needs.bag.insert(unknown.clone(), format!("bag_unknown {}", literal(&unknown)));
        let properties = names.properties(&id.spoke);
        for step in steps {
            let wire = step.spoke.as_deref();
            let Some(spoke) = properties.iter().find(|it| Some(it.wire.as_str()) == wire) else {
                continue;
            };
            let is_needed = spoke.required && step.default.is_none();
            if let Some(hub) = step.hub.as_ref().filter(|_| is_needed) {
                needs.required.insert(hub.clone());
            }
            if let Step::Bag { key } = &step.step {
                let entry = bag_entry(names, (id, step), spoke);
                needs.bag.insert(key.clone(), entry.replacen("KEY", &literal(key), 1));
            }
        }
    }
    needs
}

/// How a property that is kept in the bag is made there.
fn bag_entry(names: &Names<'_>, (id, step): (&PairId, &PropertyStep), spoke: &Property) -> String {
    let kind = if is_plain(spoke) && step.default.is_none() { "bag_required" } else { "bag" };
    let ty = names.spoke_type_path(&spoke.ty);
    let change = step.change.as_ref().filter(|_| step.hub.is_some()).map(|change| {
        let name = names.marker(id, change);
        format!(", unless {}::change::{name}", names.module(&id.spoke.since))
    });
    format!("{kind} KEY: {ty}{}", change.unwrap_or_default())
}

fn round_trips(code: &mut Code, plan: &Plan, names: &Names<'_>) {
    code.block("const ROUND_TRIPS: &[RoundTrip] = &[", "];", |code| {
        for (kind, resource) in &plan.resources {
            let mut done = BTreeSet::new();
            for (version, spoke) in &resource.spokes {
                // Versions that share their type need one round trip.
                if !done.insert(&spoke.root) {
                    continue;
                }
                let pair = PairId { spoke: spoke.root.clone(), hub: resource.storage.clone() };
                let partial = if may_refuse(plan, &pair) { ".partial()" } else { "" };
                let (spoke, hub) = (names.spoke_path(&pair.spoke), names.stored(&pair.hub));
                let name = literal(&format!("{kind} {version}"));
                let start = format!("RoundTrip::of::<{spoke}, storage::{hub}>(");
                code.list(&start, &[name], &format!("){partial},"));
            }
        }
    });
}

/// Whether a hub can hold what the version cannot express and refuses: free JSON, a fraction.
fn may_refuse(plan: &Plan, root: &PairId) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        let (true, Some(pair)) = (seen.insert(id), plan.pairs.get(id)) else { continue };
        match pair {
            Pair::Object(steps) => {
                for step in steps {
                    let Step::Convert { conversion, .. } = &step.step else { continue };
                    match leaf(conversion) {
                        Conversion::ToAny | Conversion::IntegerToNumber => return true,
                        Conversion::Object(pair) | Conversion::Union(pair) => open.push(pair),
                        _ => {}
                    }
                }
            }
            Pair::Union(steps) => {
                let arm = |step: &crate::plan::ArmStep| {
                    let hub = step.hub.clone()?;
                    plan.pairs.get_key_value(&PairId { spoke: step.spoke.clone(), hub })
                };
                open.extend(steps.iter().filter_map(arm).map(|(id, _)| id));
            }
        }
    }
    false
}
