//! Every resource of this face, by group: made from folio's table of kinds, and the few of Kubernetes' own groups that
//! folio has something for. Adding a kind is adding its schema there, one line in [`source`] and, if it is no unit, its
//! mapping in `kinds`.

use std::sync::LazyLock;

use folio_kinds::KINDS;
use folio_model::{Kind, Snapshot, TriggerSpec};

use super::discovery::{Part, parts};
use super::kinds::alias::Aliases;
use super::kinds::app::{Apps, Namespaces};
use super::kinds::app_version::{AppVersions, Groups};
use super::kinds::canary::Canaries;
use super::kinds::config_map::ConfigMaps;
use super::kinds::domain::Domains;
use super::kinds::event::Events;
use super::kinds::execution::Executions;
use super::kinds::function_alias::FunctionAliases;
use super::kinds::job::Jobs;
use super::kinds::pod::Pods;
use super::kinds::release::Releases;
use super::kinds::secret::Secrets;
use super::kinds::tag::Tags;
use super::kinds::tracker::Trackers;
use super::kinds::version::Versions;
use super::kinds::webhook::Webhooks;
use super::mapping::Mapping;

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
    /// The units that its objects are in other words.
    pub(crate) shows: Option<Kind>,
}

/// Where the objects of a resource come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// Units of a kind.
    Unit(Kind, Option<Trigger>),
    /// Anything else that folio has.
    Mapped(&'static dyn Mapping),
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

/// The verbs of what can only be read.
pub(crate) const READ: &[&str] = &["get", "list", "watch"];

/// The verbs of what can be written as well.
pub(crate) const WRITE: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The resources.
pub(crate) static RESOURCES: LazyLock<Vec<Resource>> = LazyLock::new(|| {
    let mut all = of_kubernetes();
    for kind in KINDS {
        for group in ["fission.io", "folio.dev"] {
            let of_group = |version: &&'static str| {
                version.split_once('/').filter(|(own, _)| *own == group).map(|(_, version)| version)
            };
            // The newest, which the table has last, is the one to use.
            let versions: Vec<_> = kind.versions.iter().filter_map(of_group).rev().collect();
            if versions.is_empty() {
                continue;
            }
            let source = source(kind.name);
            let own = group == "fission.io" || kind.versions.len() == 1;
            all.push(Resource {
                group,
                versions,
                kind: kind.name,
                plural: kind.plural,
                singular: kind.name.to_lowercase(),
                short: if own { kind.short } else { &[] },
                namespaced: true,
                verbs: verbs(source),
                categories: if group == "folio.dev" { &["folio"] } else { &["fission", "all"] },
                source,
                shows: None,
            });
        }
    }
    all
});

/// Where the objects of a kind come from: for each there is a line.
fn source(kind: &str) -> Source {
    let trigger = |trigger| Source::Unit(Kind::Trigger, Some(trigger));
    match kind {
        "Function" => Source::Unit(Kind::Function, None),
        "Package" => Source::Unit(Kind::Package, None),
        "Environment" => Source::Unit(Kind::Environment, None),
        "StaticAsset" => Source::Unit(Kind::Static, None),
        "Config" => Source::Unit(Kind::Config, None),
        "HTTPTrigger" => trigger(Trigger::Route),
        "TimeTrigger" => trigger(Trigger::Timer),
        "MessageQueueTrigger" => trigger(Trigger::Queue),
        "KubernetesWatchTrigger" => trigger(Trigger::Watch),
        "Alias" => Source::Mapped(&Aliases),
        "FunctionAlias" => Source::Mapped(&FunctionAliases),
        "CanaryConfig" => Source::Mapped(&Canaries),
        "Tag" => Source::Mapped(&Tags),
        "Release" => Source::Mapped(&Releases),
        "Execution" => Source::Mapped(&Executions),
        "Job" => Source::Mapped(&Jobs),
        "Webhook" => Source::Mapped(&Webhooks),
        "Domain" => Source::Mapped(&Domains),
        "FunctionVersion" => Source::Mapped(&Versions(Kind::Function)),
        "PackageVersion" => Source::Mapped(&Versions(Kind::Package)),
        "FunctionVersionTracker" => Source::Mapped(&Trackers(Kind::Function)),
        "PackageVersionTracker" => Source::Mapped(&Trackers(Kind::Package)),
        "AppVersion" => Source::Mapped(&AppVersions),
        "GroupVersionTracker" => Source::Mapped(&Groups),
        "App" => Source::Mapped(&Apps),
        other => unreachable!("every kind has a line here, and {other} has none"),
    }
}

fn verbs(source: Source) -> &'static [&'static str] {
    match source {
        Source::Unit(..) => WRITE,
        Source::Mapped(mapping) => mapping.verbs(),
    }
}

fn of_kubernetes() -> Vec<Resource> {
    let own = |kind: &'static str, plural, short, mapping: &'static dyn Mapping| Resource {
        group: "",
        versions: vec!["v1"],
        kind,
        plural,
        singular: kind.to_lowercase(),
        short,
        namespaced: mapping.is_namespaced(),
        verbs: mapping.verbs(),
        categories: if kind == "Pod" { &["all"] } else { &[] },
        source: Source::Mapped(mapping),
        shows: match kind {
            "ConfigMap" => Some(Kind::Config),
            "Secret" => Some(Kind::Secret),
            _ => None,
        },
    };
    vec![
        own("Namespace", "namespaces", &["ns"], &Namespaces),
        own("ConfigMap", "configmaps", &["cm"], &ConfigMaps),
        own("Secret", "secrets", &[], &Secrets),
        own("Pod", "pods", &["po"], &Pods),
        own("Event", "events", &["ev"], &Events),
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
        for Part { name, verbs, .. } in parts(self) {
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
