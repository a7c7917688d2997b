//! Every resource of this face, by group: made from folio's table of kinds, and the few of Kubernetes' own groups that
//! folio has something for. Adding a kind is adding its schema there and, if it is no unit, one line in [`source`].

use std::sync::LazyLock;

use folio_kinds::KINDS;
use folio_model::{Kind, Snapshot, TriggerSpec};

/// One kind in one group.
#[derive(Debug)]
pub(crate) struct Resource {
    /// The group; empty for Kubernetes' first.
    pub(crate) group: &'static str,
    /// The versions, the preferred one first.
    pub(crate) versions: Vec<&'static str>,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) singular: String,
    pub(crate) short: &'static [&'static str],
    pub(crate) namespaced: bool,
    pub(crate) verbs: &'static [&'static str],
    pub(crate) categories: &'static [&'static str],
    pub(crate) source: Source,
}

/// Where the objects of a resource come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Units of a kind.
    Unit(Kind, Option<Trigger>),
    /// Apps, as Kubernetes calls them.
    Namespaces,
    /// Configs, as Kubernetes calls them.
    ConfigMaps,
    /// Secrets, as Kubernetes writes them.
    Secrets,
    /// What happened, as Kubernetes tells it.
    Events,
    /// Something that is shown of folio's own: see `views`.
    View,
}

/// Which triggers are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    Route,
    Timer,
    Queue,
    Watch,
}

impl Trigger {
    pub(crate) fn has(self, spec: &Snapshot) -> bool {
        let Snapshot::Trigger(spec) = spec else { return false };
        self == match spec {
            TriggerSpec::Http(_) => Self::Route,
            TriggerSpec::Timer(_) => Self::Timer,
            TriggerSpec::Queue(_) => Self::Queue,
            TriggerSpec::Watch(_) => Self::Watch,
        }
    }
}

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const NAMED: &[&str] = &["create", "delete", "get", "list", "watch"];

/// Kinds that are written in manifests and not shown as objects: what they make is an Alias, or moves a route.
pub(crate) const UNSHOWN: [&str; 2] = ["CanaryConfig", "FunctionAlias"];

/// The resources.
pub(crate) static RESOURCES: LazyLock<Vec<Resource>> = LazyLock::new(|| {
    let mut all = of_kubernetes();
    for kind in KINDS.iter().filter(|kind| !UNSHOWN.contains(&kind.name)) {
        for group in ["fission.io", "folio.dev"] {
            let of_group = |version: &&'static str| {
                version.split_once('/').filter(|(own, _)| *own == group).map(|(_, version)| version)
            };
            // The newest, which the table has last, is the one to use.
            let versions: Vec<_> = kind.versions.iter().filter_map(of_group).rev().collect();
            if versions.is_empty() {
                continue;
            }
            let (source, verbs) = source(kind.name);
            all.push(Resource {
                group,
                versions,
                kind: kind.name,
                plural: kind.plural,
                singular: kind.name.to_lowercase(),
                short: if group == "fission.io" || kind.versions.len() == 1 {
                    kind.short
                } else {
                    &[]
                },
                namespaced: true,
                verbs,
                categories: if group == "folio.dev" { &["folio"] } else { &["fission"] },
                source,
            });
        }
    }
    all
});

fn source(kind: &str) -> (Source, &'static [&'static str]) {
    let trigger = |trigger| (Source::Unit(Kind::Trigger, Some(trigger)), WRITE);
    match kind {
        "Function" => (Source::Unit(Kind::Function, None), WRITE),
        "Package" => (Source::Unit(Kind::Package, None), WRITE),
        "Environment" => (Source::Unit(Kind::Environment, None), WRITE),
        "HTTPTrigger" => trigger(Trigger::Route),
        "TimeTrigger" => trigger(Trigger::Timer),
        "MessageQueueTrigger" => trigger(Trigger::Queue),
        "KubernetesWatchTrigger" => trigger(Trigger::Watch),
        "Alias" | "Tag" => (Source::View, WRITE),
        "Release" => (Source::View, &["delete", "get", "list", "patch", "watch"]),
        _ => (Source::View, READ),
    }
}

fn of_kubernetes() -> Vec<Resource> {
    let own = |kind: &'static str, plural, short, (verbs, source)| Resource {
        group: "",
        versions: vec!["v1"],
        kind,
        plural,
        singular: kind.to_lowercase(),
        short,
        namespaced: source != Source::Namespaces,
        verbs,
        categories: &[],
        source,
    };
    vec![
        own("Namespace", "namespaces", &["ns"], (NAMED, Source::Namespaces)),
        own("ConfigMap", "configmaps", &["cm"], (WRITE, Source::ConfigMaps)),
        own("Secret", "secrets", &[], (WRITE, Source::Secrets)),
        own("Event", "events", &["ev"], (READ, Source::Events)),
    ]
}

impl Resource {
    /// Finds a resource by its group, version and name in paths.
    pub(crate) fn find(group: &str, version: &str, plural: &str) -> Option<&'static Self> {
        RESOURCES.iter().find(|resource| {
            resource.group == group
                && resource.plural == plural
                && resource.versions.contains(&version)
        })
    }

    /// The groups, Kubernetes' first one aside, with all their versions, the preferred one first.
    pub(crate) fn groups() -> Vec<(&'static str, Vec<&'static str>)> {
        ["fission.io", "folio.dev"]
            .map(|group| {
                let own = RESOURCES.iter().filter(|resource| resource.group == group);
                let mut versions = Vec::new();
                for version in own.flat_map(|resource| &resource.versions) {
                    if !versions.contains(version) {
                        versions.push(*version);
                    }
                }
                // `v1` comes before `v1beta1`.
                versions.sort_unstable();
                (group, versions)
            })
            .to_vec()
    }

    /// The resources of a version of a group.
    pub(crate) fn of(group: &str, version: &str) -> impl Iterator<Item = &'static Self> {
        RESOURCES
            .iter()
            .filter(move |resource| resource.group == group && resource.versions.contains(&version))
    }

    /// Every method of every path of this resource.
    pub(crate) fn endpoints(&self, root: &str) -> Vec<(&'static str, String)> {
        let all = format!("{root}/{}", self.plural);
        let one = match self.namespaced {
            true => format!("{root}/namespaces/{{namespace}}/{}", self.plural),
            false => all.clone(),
        };
        let mut found = Vec::new();
        let mut add = |verbs: &[&str], part: &str| {
            for verb in verbs {
                let named = format!("{one}/{{name}}{part}");
                match *verb {
                    "get" => found.push(("GET", named)),
                    "update" => found.push(("PUT", named)),
                    "patch" => found.push(("PATCH", named)),
                    "delete" => found.push(("DELETE", named)),
                    "create" if part.is_empty() => found.push(("POST", one.clone())),
                    "create" => found.push(("POST", named)),
                    "deletecollection" => found.push(("DELETE", one.clone())),
                    "list" => {
                        found.push(("GET", one.clone()));
                        found.push(("GET", all.clone()));
                    }
                    // A list with another word in its query.
                    _ => {}
                }
            }
        };
        add(self.verbs, "");
        for (name, verbs) in super::access::parts(self) {
            add(verbs, &format!("/{name}"));
        }
        found.sort();
        found.dedup();
        found
    }

    /// Whether a client may ask for this.
    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    /// Its name with its group.
    pub(crate) fn qualified(&self) -> String {
        match self.group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        }
    }
}
