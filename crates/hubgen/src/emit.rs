//! Writes a plan as Rust: one module for each version, one for what is stored, one that lists the
//! hooks, one with tests. Start at [`emit`].
//!
//! The same plan gives the same bytes: everything is written in the order of names, and nothing
//! comes from outside the plan. The text is written as it will be read, line by line.

mod code;
mod conversion;
mod docs;
mod hooks;
mod names;
mod object;
mod samples;
mod storage;
mod types;
mod union;
mod version;

use std::collections::BTreeMap;

use crate::output::mark;
use crate::plan::Plan;
use names::Names;

/// What every file starts with.
fn header(plan: &Plan) -> String {
    format!("// {} do not edit.", mark(&plan.group.name))
}

/// Writes a plan as the module `module`: its files by their paths, with slashes, from the
/// directory the module is in.
pub fn emit(plan: &Plan, module: &str) -> BTreeMap<String, String> {
    let names = Names::new(plan);
    let mut files = BTreeMap::new();
    files.insert(format!("{module}.rs"), root(plan, &names));
    let mut add = |name: &str, text| files.insert(format!("{module}/{name}.rs"), text);
    for version in plan.group.versions.keys() {
        add(names.module(version), version::file(plan, &names, version));
    }
    add("hooks", hooks::file(plan, &names));
    add("storage", storage::file(plan, &names));
    add("tests", samples::file(plan, &names));
    files
}

/// The file that declares the others. Their lines break where a reader wants them to, which is not
/// always where rustfmt would.
fn root(plan: &Plan, names: &Names<'_>) -> String {
    let mut modules: Vec<_> = plan.group.versions.keys().map(|it| names.module(it)).collect();
    modules.extend(["hooks", "storage"]);
    modules.sort_unstable();
    let mut text = format!("{}\n//! The API group `{}`.\n\n", header(plan), plan.group.name);
    for module in modules {
        text.push_str(&format!("#[rustfmt::skip]\npub mod {module};\n"));
    }
    text.push_str("\n#[cfg(test)]\n#[rustfmt::skip]\nmod tests;\n");
    text
}
