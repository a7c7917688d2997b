//! Snapshots: the complete spec of a unit, content by digest. Two units with equal snapshots behave alike.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ConfigKeyError, ConfigSpec, Digest, EnvironmentSpec, Kind, MountPin, Name, RunSettings,
    SecretSpec, StaticSpec, TriggerSpec, canonical, mount,
};

/// What a unit's manifest says and folio does not act on, kept so that it comes back as it was. It is part of
/// the digest. What the keys mean is known where manifests are read.
pub type Bag = BTreeMap<String, serde_json::Value>;

/// A unit's complete spec. Its digest is its identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Snapshot {
    /// A function's.
    Function(FunctionSpec),
    /// A package's.
    Package(PackageSpec),
    /// An environment's.
    Environment(EnvironmentSpec),
    /// A trigger's.
    Trigger(TriggerSpec),
    /// A config's.
    Config(ConfigSpec),
    /// A secret's.
    Secret(SecretSpec),
    /// A static item's.
    Static(StaticSpec),
}

/// What decides how a function behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FunctionSpec {
    /// The environment it runs in.
    pub environment: Name,
    /// The package with its code.
    pub package: PackagePin,
    /// What to call inside the package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<String>,
    /// The digest of the environment's snapshot; where absent, the built-in one of that name is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_snapshot: Option<Digest>,
    /// How it is run.
    #[serde(default, skip_serializing_if = "RunSettings::is_default")]
    pub run: RunSettings,
    /// The configs it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<MountPin>,
    /// The secrets it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<MountPin>,
    /// What a manifest says beyond this; folio keeps it and never reads it.
    #[serde(rename = "$bag", default, skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

/// A package frozen into a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackagePin {
    /// The package's name.
    pub name: Name,
    /// The digest of the package's snapshot.
    pub snapshot: Digest,
}

/// What decides what a package holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackageSpec {
    /// The environment that builds and runs it.
    pub environment: Name,
    /// Files to build from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Content>,
    /// Files to run as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Content>,
    /// How to build the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_command: Option<String>,
    /// The digest of the environment's snapshot; where absent, the built-in one of that name is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_snapshot: Option<Digest>,
    /// What a manifest says beyond this; folio keeps it and never reads it.
    #[serde(rename = "$bag", default, skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

/// Everything that decides what a build makes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Recipe<'a> {
    source: Content,
    build_command: Option<&'a str>,
    environment: &'a Name,
    environment_snapshot: Option<Digest>,
}

/// Files, named by the digest of their root directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Content {
    /// The root directory's node.
    pub tree: Digest,
    /// Whether it is one bare file or a directory.
    pub layout: Layout,
}

/// How content reaches the code that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// One file, handed over as a file.
    File,
    /// A directory of files.
    Directory,
}

/// Why a spec cannot be published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// A package without files.
    #[error("a package needs content: neither source nor deployment was given")]
    NoContent,
    /// A build command without source.
    #[error("a build command needs source to build")]
    NothingToBuild,
    /// Text that cannot be passed to a program.
    #[error("{0} holds a control character or is longer than 4096 bytes")]
    Text(&'static str),
    /// A command environment that starts nothing.
    #[error("a `command` environment needs the command that starts its server")]
    NoCommand,
    /// A command where the runtime brings its own.
    #[error("only a `command` environment has a command of its own")]
    StrayCommand,
    /// A variable that no process can have.
    #[error(
        "environment variable `{0}` has an empty or odd name, or a value over 32 KiB or with a zero byte"
    )]
    Variable(String),
    /// A variable that folio sets itself.
    #[error("environment variable `{0}` begins with `FOLIO_`, which folio keeps for itself")]
    ReservedVariable(String),
    /// A limit that allows nothing.
    #[error("the {0} must not be zero")]
    Zero(&'static str),
    /// More requests at once than a worker is given.
    #[error("the concurrency must not be above {}", crate::environment::CONCURRENCY_MAX)]
    Concurrency,
    /// A range that is empty.
    #[error("the smallest scale, {min}, is above the largest, {max}")]
    Scale {
        /// Workers at least.
        min: u32,
        /// Workers at most.
        max: u32,
    },
    /// A path that no request can have.
    #[error("the path `{path}` {why}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A word that is not a method.
    #[error("`{0}` is not an HTTP method")]
    Method(String),
    /// What neither a header nor a cookie can be called.
    #[error("`{0}` is not the name of a header or cookie")]
    Sticky(String),
    /// Shares that do not add up.
    #[error("the weights of a trigger's targets sum to {0}, not 10000")]
    Weights(u64),
    /// A function of another app.
    #[error("a trigger leads to functions of its own app, not to `{0}`")]
    ForeignTarget(String),
    /// Two answers to what is called.
    #[error("a timer calls the members of a tag or functions, not both")]
    TagAndTargets,
    /// A kind of message queue that folio cannot read.
    #[error("message queues of the type `{0}` cannot be read; folio reads `nats-jetstream`")]
    Queue(String),
    /// A topic that no message can have.
    #[error("the topic `{topic}` {why}")]
    Topic {
        /// The topic.
        topic: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Objects of a cluster, where there is none.
    #[error("`{0}` objects cannot be watched: folio runs without a Kubernetes cluster")]
    NoCluster(String),
    /// Objects that folio has none of.
    #[error(
        "`{0}` is no kind of folio's objects: function, package, environment and trigger can be watched"
    )]
    Watched(String),
    /// Labels to choose objects by.
    #[error("folio's objects have no labels to choose them by; name one object instead")]
    Labels,
    /// A key that no setting can have.
    #[error(transparent)]
    Key(#[from] ConfigKeyError),
    /// More than one config or secret may hold.
    #[error("a config or secret holds at most 1 MiB, keys and values together")]
    SettingsTooLarge,
    /// A file that stands for others and is not among them.
    #[error("`{0}` is no file inside a static directory")]
    StaticFile(String),
    /// A header that is not an item's to set.
    #[error("header `{0}` cannot be set for static files: it is odd, or folio answers for it")]
    StaticHeader(String),
    /// A secret without values.
    #[error("a secret needs at least one value")]
    EmptySecret,
    /// A config or secret that a function names more than once.
    #[error("`{0}` is named twice")]
    NamedTwice(Name),
    /// A place where no files can be.
    #[error("the mount path `{path}` {why}")]
    MountPath {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl Snapshot {
    /// Its identity.
    pub fn digest(&self) -> Digest {
        canonical::digest(self)
    }

    /// What it is a snapshot of.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Function(_) => Kind::Function,
            Self::Package(_) => Kind::Package,
            Self::Environment(_) => Kind::Environment,
            Self::Trigger(_) => Kind::Trigger,
            Self::Config(_) => Kind::Config,
            Self::Secret(_) => Kind::Secret,
            Self::Static(_) => Kind::Static,
        }
    }

    /// The environment it names, if it runs or is built in one.
    pub fn environment(&self) -> Option<&Name> {
        match self {
            Self::Function(spec) => Some(&spec.environment),
            Self::Package(spec) => Some(&spec.environment),
            _ => None,
        }
    }

    /// The digests of the snapshots it stands on.
    pub fn pins(&self) -> impl Iterator<Item = Digest> + use<'_> {
        let (package, environment) = match self {
            Self::Function(spec) => (Some(spec.package.snapshot), spec.environment_snapshot),
            Self::Package(spec) => (None, spec.environment_snapshot),
            _ => (None, None),
        };
        let named = self.named().map(|(_, pin)| pin.snapshot);
        package.into_iter().chain(environment).chain(named)
    }

    /// The configs and secrets a function names.
    pub fn named(&self) -> impl Iterator<Item = (Kind, &MountPin)> {
        let (configs, secrets) = match self {
            Self::Function(spec) => (spec.configs.as_slice(), spec.secrets.as_slice()),
            _ => (&[][..], &[][..]),
        };
        let configs = configs.iter().map(|pin| (Kind::Config, pin));
        configs.chain(secrets.iter().map(|pin| (Kind::Secret, pin)))
    }

    /// The snapshot as people may see it: all of it, but for what is sealed.
    #[must_use]
    pub fn shown(self) -> Self {
        match self {
            Self::Secret(spec) => Self::Secret(spec.shown()),
            other => other,
        }
    }

    /// The trees it holds itself; a function's are its package's.
    pub fn contents(&self) -> impl Iterator<Item = Content> + use<> {
        let (source, deployment) = match self {
            Self::Package(spec) => (spec.source, spec.deployment),
            Self::Static(spec) => (None, Some(spec.content)),
            _ => (None, None),
        };
        source.into_iter().chain(deployment)
    }

    /// Checks what a type cannot say.
    pub fn validate(&self) -> Result<(), SnapshotError> {
        match self {
            Self::Function(spec) => {
                check_text("the entry point", spec.entrypoint.as_deref())?;
                mount::validate(&spec.configs)?;
                mount::validate(&spec.secrets)?;
                spec.run.validate()
            }
            Self::Package(spec) => spec.validate(),
            Self::Environment(spec) => spec.validate(),
            Self::Trigger(spec) => spec.validate(),
            Self::Config(spec) => spec.validate(),
            Self::Secret(spec) => spec.validate(),
            Self::Static(spec) => spec.validate(),
        }
    }
}

impl PackageSpec {
    /// What has to be built before it can run, if anything. Equal keys give equal results.
    pub fn build_key(&self) -> Option<Digest> {
        let source = self.source.filter(|_| self.deployment.is_none())?;
        Some(canonical::digest(&Recipe {
            source,
            build_command: self.build_command.as_deref(),
            environment: &self.environment,
            environment_snapshot: self.environment_snapshot,
        }))
    }

    fn validate(&self) -> Result<(), SnapshotError> {
        check_text("the build command", self.build_command.as_deref())?;
        match (self.source, self.deployment, &self.build_command) {
            (None, None, _) => Err(SnapshotError::NoContent),
            (None, _, Some(_)) => Err(SnapshotError::NothingToBuild),
            _ => Ok(()),
        }
    }
}

pub(crate) fn check_text(what: &'static str, text: Option<&str>) -> Result<(), SnapshotError> {
    let odd = |text: &str| text.len() > 4096 || text.chars().any(char::is_control);
    if text.is_some_and(odd) { Err(SnapshotError::Text(what)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(source: Option<Content>, build_command: Option<&str>) -> Snapshot {
        Snapshot::Package(PackageSpec {
            environment: "python".parse().unwrap(),
            source,
            deployment: None,
            build_command: build_command.map(str::to_owned),
            environment_snapshot: None,
            bag: Bag::new(),
        })
    }

    const CONTENT: fn() -> Content = || Content { tree: Digest::of(b"t"), layout: Layout::File };

    #[test]
    fn the_digest_of_a_snapshot_never_changes() {
        let digest = package(Some(CONTENT()), Some("./build.sh")).digest();
        assert_eq!(
            digest.to_string(),
            "sha256:7f9c6270b0082d5462362fab092a796b072506f25b3ea73cd237d950d7079e19"
        );
    }

    #[test]
    fn a_package_needs_files() {
        assert_eq!(package(None, None).validate(), Err(SnapshotError::NoContent));
        assert_eq!(package(Some(CONTENT()), None).validate(), Ok(()));
        let odd = package(Some(CONTENT()), Some("a\nb")).validate();
        assert_eq!(odd, Err(SnapshotError::Text("the build command")));
    }
}
