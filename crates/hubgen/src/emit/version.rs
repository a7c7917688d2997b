//! The module of one version: the types it brings, their conversions, and names for those it
//! shares with older versions.

use std::collections::BTreeMap;

use super::code::{Code, mentions};
use super::names::Names;
use super::{header, hooks, object, types, union};
use crate::naming::reserved::RUNTIME;
use crate::plan::{Pair, Plan};
use crate::version::Version;

pub(super) fn file(plan: &Plan, names: &Names<'_>, version: &Version) -> String {
    let api = &plan.group.versions[version];
    let mut code = Code::default();
    for definition in api.definitions.values() {
        types::write(&mut code, names, definition);
        code.blank();
        for (id, pair) in plan.pairs.iter().filter(|(id, _)| id.spoke == definition.id) {
            match pair {
                Pair::Object(steps) => object::write(&mut code, plan, names, (id, steps)),
                Pair::Union(steps) => union::write(&mut code, names, id, steps),
            }
            code.blank();
        }
    }
    hooks::changes(&mut code, plan, names, version);
    let mut shared: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for id in api.names.values().filter(|id| id.since != *version) {
        shared.entry(names.module(&id.since)).or_default().push(id.name.clone());
    }
    let title = format!("Version `{version}` of the group `{}`.", plan.group.name);
    finish(plan, &title, code, &Vec::from_iter(shared))
}

/// Puts header, documentation and imports in front of a module's items.
pub(super) fn finish(
    plan: &Plan,
    title: &str,
    items: Code,
    shared: &[(&str, Vec<String>)],
) -> String {
    let items = items.into_text();
    let mut code = Code::default();
    code.line(&header(plan));
    code.line(&format!("//! {title}"));
    code.blank();
    if mentions(&items, "BTreeMap") {
        code.line("use std::collections::BTreeMap;");
        code.blank();
    }
    if items.contains("impl Spoke<") {
        code.line("use hub::traits::*;");
    }
    let used = RUNTIME.iter().filter(|name| mentions(&items, name));
    let used: Vec<_> = used.map(|&name| name.to_owned()).collect();
    match used.as_slice() {
        [] => {}
        [one] => code.line(&format!("use hub::{one};")),
        _ => code.list("use hub::{", &used, "};"),
    }
    if items.contains("Deserialize)]") {
        code.line("use serde::{Deserialize, Serialize};");
    }
    if items.contains("storage::") {
        code.blank();
        code.line("use super::storage;");
    }
    for (at, (module, types)) in shared.iter().enumerate() {
        if at == 0 && !items.contains("storage::") {
            code.blank();
        }
        match types.as_slice() {
            [one] => code.line(&format!("pub use super::{module}::{one};")),
            _ => code.list(&format!("pub use super::{module}::{{"), types, "};"),
        }
    }
    let mut text = code.into_text();
    if !items.is_empty() {
        text.push('\n');
        text.push_str(items.trim_end());
        text.push('\n');
    }
    text
}
