//! The parts of a manifest that something can be wrong with, and what each is called in the words of its version. What
//! is found wrong with a unit is so said of the field that a user wrote.

use crate::FISSION_VERSION;

/// In which words a manifest is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// Fission's.
    Fission,
    /// Folio's own.
    Folio,
}

/// A part of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// What it is called.
    Name,
    /// The environment of a function or package.
    Environment,
    /// The package of a function.
    Package,
    /// The configs of a function.
    Configs,
    /// The secrets of a function.
    Secrets,
    /// The command that builds a package.
    BuildCommand,
    /// The functions that a trigger leads to.
    Targets,
    /// The path that a route or a static item is at.
    Path,
    /// The path that everything a route takes begins with.
    Prefix,
    /// The host that a route answers to.
    Host,
    /// When a timer calls.
    Schedule,
    /// The topic of a message queue.
    Topic,
    /// The type of a message queue.
    Queue,
    /// The kind of objects that are watched.
    Watched,
    /// The function of an alias.
    Function,
    /// The version that an alias points to.
    Version,
    /// The version that gets the rest.
    Secondary,
    /// The route of a canary.
    Route,
    /// Where the requests of a canary went.
    Old,
    /// Where they are to go.
    New,
}

impl Words {
    /// The words of an API version.
    pub fn of(version: &str) -> Self {
        if version == FISSION_VERSION { Self::Fission } else { Self::Folio }
    }
}

impl Part {
    /// The path of the part; empty for the whole. A manifest need not have it: then it is what holds it that lacks it.
    pub fn path(self, words: Words) -> &'static str {
        let (fission, folio) = match self {
            Self::Whole => ("", ""),
            Self::Name => ("metadata.name", "metadata.name"),
            Self::Environment => ("spec.environment.name", "spec.environment"),
            Self::Package => ("spec.package.packageref.name", "spec.package.name"),
            Self::Configs => ("spec.configmaps", "spec.configs"),
            Self::Secrets => ("spec.secrets", "spec.secrets"),
            Self::BuildCommand => ("spec.buildcmd", "spec.buildCommand"),
            Self::Targets => ("spec.functionref.name", "spec.targets"),
            Self::Path => ("spec.relativeurl", "spec.path"),
            Self::Prefix => ("spec.prefix", "spec.path"),
            Self::Host => ("spec.host", "spec.host"),
            Self::Schedule => ("spec.cron", "spec.cron"),
            Self::Topic => ("spec.topic", "spec.topic"),
            Self::Queue => ("spec.messageQueueType", "spec.queue"),
            Self::Watched => ("spec.type", "spec.kind"),
            Self::Function => ("spec.functionName", "spec.function"),
            Self::Version => ("spec.version", "spec.version"),
            Self::Secondary => ("spec.secondaryVersion", "spec.secondaryVersion"),
            Self::Route => ("spec.trigger", "spec.route"),
            Self::Old => ("spec.oldfunction", "spec.old"),
            Self::New => ("spec.newfunction", "spec.new"),
        };
        if words == Words::Fission { fission } else { folio }
    }
}

/// The path that a text about a manifest begins with, as in `spec.weight: expected a number`.
pub fn path_of(text: &str) -> &str {
    let (path, _) = text.split_once(": ").unwrap_or_default();
    let is_inside = ["spec", "metadata"].iter().any(|root| {
        let rest = path.strip_prefix(root);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    });
    if is_inside && !path.contains(char::is_whitespace) { path } else { "" }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::schema::{Schema, Shape};

    fn has(kind: &str, version: &str, path: &str) -> bool {
        let Some(mut schema) = Schema::of(kind, version) else { return false };
        path.split('.').all(|step| match schema.shape() {
            Shape::Object(properties) => {
                let own = properties.into_iter().find(|own| own.name == step);
                own.is_some_and(|own| {
                    schema = own.schema;
                    true
                })
            }
            _ => false,
        })
    }

    #[test]
    fn every_part_is_a_field_of_a_kind_that_has_it() {
        let check = |kind: &str, parts: &[Part]| {
            for part in parts {
                let fission = part.path(Words::Fission);
                assert!(has(kind, FISSION_VERSION, fission), "{kind}: {fission}");
                let folio = part.path(Words::Folio);
                let is_served = Schema::of(kind, "folio.dev/v1").is_some();
                assert!(!is_served || has(kind, "folio.dev/v1", folio), "{kind}: {folio}");
            }
        };
        use Part::*;
        check("Function", &[Environment, Package, Configs, Secrets]);
        check("Package", &[Environment, BuildCommand]);
        check("HTTPTrigger", &[Path, Prefix, Host, Targets]);
        check("TimeTrigger", &[Schedule, Targets]);
        check("MessageQueueTrigger", &[Topic, Queue, Targets]);
        check("KubernetesWatchTrigger", &[Watched, Targets]);
        check("FunctionAlias", &[Function, Version, Secondary]);
        check("CanaryConfig", &[Route, Old, New]);
        assert!(has("StaticAsset", "folio.dev/v1", Path.path(Words::Folio)));
    }

    #[test]
    fn a_text_says_which_field_it_is_about() {
        let check = |text: &str, path: &str| assert_eq!(path_of(text), path, "{text}");
        check("spec.weight: the rest needs a `secondaryVersion`", "spec.weight");
        check("spec.methods[1]: expected a text", "spec.methods[1]");
        check("metadata.name: it is empty", "metadata.name");
        check("spec: it has neither `relativeurl` nor `prefix`", "spec");
        check("specs are wrong: all of them", "");
        check("function 'a' references package 'b'", "");
        check("", "");
    }
}
