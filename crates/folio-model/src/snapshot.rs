//! Snapshots: the complete spec of a unit, content by digest. Two units with equal snapshots behave alike.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Build, Digest, Kind, Name, canonical};

/// A unit's complete spec. Its digest is its identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Snapshot {
    /// A function's.
    Function(FunctionSpec),
    /// A package's.
    Package(PackageSpec),
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
        }
    }

    /// The environment it names.
    pub fn environment(&self) -> &Name {
        match self {
            Self::Function(spec) => &spec.environment,
            Self::Package(spec) => &spec.environment,
        }
    }

    /// The trees it holds itself; a function's are its package's.
    pub fn contents(&self) -> impl Iterator<Item = Content> + use<> {
        let (source, deployment) = match self {
            Self::Function(_) => (None, None),
            Self::Package(spec) => (spec.source, spec.deployment),
        };
        source.into_iter().chain(deployment)
    }

    /// Checks what a type cannot say.
    pub fn validate(&self) -> Result<(), SnapshotError> {
        match self {
            Self::Function(spec) => check_text("the entry point", spec.entrypoint.as_deref()),
            Self::Package(spec) => spec.validate(),
        }
    }
}

impl PackageSpec {
    /// Whether a version of it has something to build.
    pub fn build(&self) -> Build {
        if self.source.is_some() { Build::Pending } else { Build::None }
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

fn check_text(what: &'static str, text: Option<&str>) -> Result<(), SnapshotError> {
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
