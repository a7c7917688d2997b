//! Dependencies point inward: doors and adapters use the core, the core uses the model, and what
//! exists for development is used by nothing that ships. Start at [`ALLOWED`].

use std::collections::BTreeMap;

use cargo_metadata::{DependencyKind, MetadataCommand};

use super::assert_none;
use crate::run;

/// Which of our crates each of our crates may use. Adding an entry is a design decision.
const ALLOWED: &[(&str, &[&str])] = &[
    ("folio-model", &[]),
    ("folio-core", &["folio-model", "folio-kinds"]),
    ("folio-kinds", &["folio-model", "hub"]),
    ("folio-store", &["folio-model", "folio-core", "folio-kinds"]),
    ("folio-api", &["folio-model", "folio-core", "folio-kinds"]),
    ("folio-gateway", &["folio-model", "folio-core"]),
    ("folio-run", &["folio-model", "folio-core"]),
    ("folio-messages", &["folio-core"]),
    (
        "folio",
        &[
            "folio-model",
            "folio-core",
            "folio-kinds",
            "folio-store",
            "folio-api",
            "folio-gateway",
            "folio-run",
            "folio-messages",
        ],
    ),
    ("folio-testkit", &["folio-model", "folio-core"]),
    ("hub", &[]),
    ("hubgen", &[]),
    ("hubgen-example", &["hub"]),
    ("xtask", &["folio-model", "folio-core", "folio-store", "folio-api"]),
];

/// Crates that may be used in tests, and only there.
const DEVELOPMENT: &[&str] = &["folio-testkit", "hubgen-example", "xtask"];

/// A crate of the workspace and what its code, as opposed to its tests, is built with.
struct Package {
    name: String,
    uses: Vec<String>,
}

fn packages() -> Vec<Package> {
    let manifest = run::root().join("Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec();
    let packages = metadata.expect("cargo can read the workspace").packages;
    packages
        .into_iter()
        .map(|package| {
            let shipped = |kind: DependencyKind| kind != DependencyKind::Development;
            let dependencies = package.dependencies.into_iter().filter(|used| shipped(used.kind));
            let uses = dependencies.map(|used| used.name).collect();
            Package { name: package.name.to_string(), uses }
        })
        .collect()
}

fn problems(packages: &[Package]) -> Vec<String> {
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let ours = |name: &str| packages.iter().any(|package| package.name == name);
    let mut problems = Vec::new();
    for Package { name, uses } in packages {
        let Some(allowed) = allowed.get(name.as_str()) else {
            problems.push(format!("{name} has no entry in xtask's table of dependencies"));
            continue;
        };
        for used in uses.iter().filter(|used| ours(used)) {
            if DEVELOPMENT.contains(&used.as_str()) {
                problems.push(format!("{name} may use {used} only in tests: see dev-dependencies"));
            } else if !allowed.contains(&used.as_str()) {
                problems.push(format!("{name} may not use {used}: see ARCHITECTURE.md"));
            }
        }
    }
    problems
}

#[test]
fn dependencies_point_inward() {
    assert_none(&problems(&packages()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, used: &str, expected: &[&str]) {
        let package = |name: &str, uses| Package { name: name.to_owned(), uses };
        let ours = ["folio-model", "folio-core", "folio-store", "folio-testkit", "folio"];
        let mut packages = vec![package(name, vec!["anyhow".to_owned(), used.to_owned()])];
        packages.extend(ours.iter().filter(|our| **our != name).map(|our| package(our, vec![])));
        assert_eq!(problems(&packages), expected);
    }

    #[test]
    fn inward_is_allowed() {
        check("folio-store", "folio-core", &[]);
        check("folio", "folio-store", &[]);
    }

    #[test]
    fn outward_and_sideways_are_not() {
        check(
            "folio-model",
            "folio-core",
            &["folio-model may not use folio-core: see ARCHITECTURE.md"],
        );
        check(
            "folio-api",
            "folio-store",
            &["folio-api may not use folio-store: see ARCHITECTURE.md"],
        );
        check("folio-core", "folio", &["folio-core may not use folio: see ARCHITECTURE.md"]);
    }

    #[test]
    fn development_crates_stay_out_of_what_ships() {
        let problem = "folio may use folio-testkit only in tests: see dev-dependencies";
        check("folio", "folio-testkit", &[problem]);
    }

    #[test]
    fn a_new_crate_needs_an_entry() {
        let problem = "folio-new has no entry in xtask's table of dependencies";
        check("folio-new", "folio-model", &[problem]);
    }
}
