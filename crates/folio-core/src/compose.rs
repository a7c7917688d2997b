//! Makes a complete spec out of the fields a command gives and what they are laid over. Content is found and
//! measured here, before any transaction starts.

use std::collections::{BTreeMap, BTreeSet};

use folio_model::{
    AppName, Bag, Content, Digest, FunctionSpec, Kind, Layout, Name, NodeKind, PackageSpec,
    RunSettings, Snapshot, SnapshotError, Tree, TreeEntry, TreeTotals,
};
use serde_json::json;

use crate::archive;
use crate::code::UsedPackage;
use crate::ports::{State, StoreError};
use crate::request::{ContentRef, Fields, Mounting};
use crate::{Class, Code, Explain, Folio, environment, resolve, settings, view};

/// Why fields do not make a spec.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing says where it runs.
    #[error("{kind} `{name}` needs an environment")]
    NoEnvironment {
        /// What it is.
        kind: Kind,
        /// Its name.
        name: Name,
    },
    /// A kind that every change versions at once.
    #[error("a {0} has no draft and is not published; every change of it is a version")]
    NotDrafted(Kind),
    /// A function without code.
    #[error("function `{0}` needs code or a package")]
    NoCode(Name),
    /// Files and a package at once.
    #[error("function `{0}` is given both files and a package; it takes its code from one of them")]
    TwoSources(Name),
    /// A field that only functions have.
    #[error("package `{name}` cannot have {field}; functions do")]
    NotForPackages {
        /// The package.
        name: Name,
        /// The field.
        field: &'static str,
    },
    /// A build command for a function whose package is somebody else's.
    #[error(
        "function `{function}` takes its code from package `{package}`, which has its own build command"
    )]
    ForeignBuild {
        /// The function.
        function: Name,
        /// Its package.
        package: Name,
    },
    /// The package a function would make for itself belongs to a user.
    #[error(
        "function `{function}` needs a package `{package}` of its own, but one was made by hand"
    )]
    PackageTaken {
        /// The function.
        function: Name,
        /// The package.
        package: Name,
    },
    /// The name leaves no room for the package's.
    #[error("function name `{0}` is too long to name its package after it")]
    NameTooLong(Name),
    /// The package was never published.
    #[error("package `{0}` is not versioned")]
    Unversioned(Name),
    /// A draft stands on a state of its package that nobody published.
    #[error(
        "the draft of function `{function}` stands on a state of package `{package}` that is not its latest"
    )]
    Outdated {
        /// The function.
        function: Name,
        /// The package.
        package: Name,
    },
    /// No such environment.
    #[error(transparent)]
    Environment(#[from] Box<environment::Error>),
    /// No such config or secret.
    #[error(transparent)]
    Setting(#[from] settings::NotFound),
    /// A tree over a limit.
    #[error("the content has {found} {what}, more than the {max} allowed")]
    TooLarge {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many there may be.
        max: u64,
    },
    /// The digest is stored, but is not the root of a tree of that layout.
    #[error("{digest} is not {expected}")]
    WrongContent {
        /// The digest.
        digest: Digest,
        /// What was expected.
        expected: &'static str,
    },
    /// The archive is no good.
    #[error(transparent)]
    Archive(#[from] archive::Error),
    /// The spec contradicts itself.
    #[error(transparent)]
    Spec(#[from] SnapshotError),
    /// A name leads nowhere.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::NoEnvironment { .. } => Code("environment_required"),
            Self::NotDrafted(_) => Code("not_drafted"),
            Self::NoCode(_) => Code("code_required"),
            Self::TwoSources(_) => Code("code_and_package"),
            Self::NotForPackages { .. } => Code("not_for_packages"),
            Self::ForeignBuild { .. } => Code("foreign_build"),
            Self::PackageTaken { .. } => Code("package_taken"),
            Self::NameTooLong(_) => Code("name_too_long"),
            Self::Unversioned(_) => Code("package_unversioned"),
            Self::Outdated { .. } => Code("package_outdated"),
            Self::TooLarge { .. } => Code("content_too_large"),
            Self::WrongContent { .. } => Code("wrong_content"),
            Self::Spec(_) => Code("bad_spec"),
            Self::Environment(error) => error.code(),
            Self::Setting(error) => error.code(),
            Self::Archive(error) => error.code(),
            Self::Resolve(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::PackageTaken { .. } | Self::Outdated { .. } => Class::Conflict,
            Self::TooLarge { .. } => Class::TooLarge,
            Self::Environment(error) => error.class(),
            Self::Setting(error) => error.class(),
            Self::Archive(error) => error.class(),
            Self::Resolve(error) => error.class(),
            Self::Store(error) => error.class(),
            _ => Class::Invalid,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoEnvironment { .. } => "name one with --env, such as --env nodejs".to_owned(),
            Self::NotDrafted(kind) => format!("change it with `folio {kind} update`"),
            Self::NoCode(_) => "give --code FILE, --src, --deploy, or --pkg NAME".to_owned(),
            Self::TwoSources(_) => {
                "leave out --pkg, or leave out --code, --src and --deploy".to_owned()
            }
            Self::NotForPackages { .. } => {
                "leave it out here and give it to the function".to_owned()
            }
            Self::ForeignBuild { package, .. } => {
                format!("run `folio package version update {package} --buildcmd ...`")
            }
            Self::PackageTaken { package, .. } => {
                format!("use it with `--pkg {package}`, or delete it, or rename the function")
            }
            Self::NameTooLong(_) => "use at most 59 characters".to_owned(),
            Self::Unversioned(package) => {
                format!("publish it first with `folio package version create {package}`")
            }
            Self::Outdated { function, package } => {
                format!("take its latest with `folio fn update {function} --pkg {package}`")
            }
            Self::TooLarge { .. } => "leave out what is not needed, or raise the limit".to_owned(),
            Self::WrongContent { .. } => "name the root of an uploaded tree".to_owned(),
            Self::Spec(_) => return None,
            Self::Environment(error) => return error.hint(),
            Self::Setting(error) => return error.hint(),
            Self::Archive(error) => return error.hint(),
            Self::Resolve(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
        })
    }
}

/// Fields whose content was found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    pub(crate) environment: Option<Name>,
    pub(crate) files: Option<Files>,
    pub(crate) build_command: Option<String>,
    pub(crate) package: Option<Name>,
    pub(crate) entrypoint: Option<String>,
    pub(crate) run: RunSettings,
    pub(crate) unset: BTreeSet<String>,
    pub(crate) configs: Option<Vec<Mounting>>,
    pub(crate) secrets: Option<Vec<Mounting>>,
    pub(crate) annotations: BTreeMap<String, String>,
}

/// Where a spec is made, and how the environment is found that it freezes.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) state: &'a dyn State,
    pub(crate) app: &'a AppName,
    pub(crate) freeze: Freeze,
}

/// Which state of an environment a spec freezes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freeze {
    /// The one it has now.
    Anew,
    /// The one that was frozen before, as long as the environment is the same.
    Kept,
}

impl Scope<'_> {
    /// The digest of an environment's snapshot. One that is gone stays what was frozen of it before.
    fn freeze(
        &self,
        name: &Name,
        before: Option<(&Name, Option<Digest>)>,
    ) -> Result<Option<Digest>, Error> {
        let before = before.filter(|(before, _)| *before == name).and_then(|(_, digest)| digest);
        if self.freeze == Freeze::Kept && before.is_some() {
            return Ok(before);
        }
        match environment::freeze(self.state, self.app, name)?.or(before) {
            Some(digest) => Ok(Some(digest)),
            None => Err(Box::new(environment::not_found(self.state, self.app, name)?).into()),
        }
    }
}

/// Content of a package, and the archive its main part came from.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    source: Option<Content>,
    deployment: Option<Content>,
    pub(crate) archive: Option<Digest>,
}

impl Given {
    pub(crate) fn has_content(&self) -> bool {
        self.files.is_some() || self.package.is_some()
    }
}

impl Folio {
    /// Finds and measures the content that fields name, unpacking archives.
    pub(crate) async fn find(&self, fields: Fields) -> Result<Given, Error> {
        let (source, source_archive) = self.find_content(fields.source).await?;
        let (deployment, deployment_archive) = self.find_content(fields.deployment).await?;
        let files = (source.is_some() || deployment.is_some()).then_some(Files {
            source,
            deployment,
            // The archive belongs to the main part: what runs, or else what is built.
            archive: if deployment.is_some() { deployment_archive } else { source_archive },
        });
        Ok(Given {
            environment: fields.environment,
            files,
            build_command: fields.build_command,
            package: fields.package,
            entrypoint: fields.entrypoint,
            run: fields.run,
            unset: fields.unset,
            configs: fields.configs,
            secrets: fields.secrets,
            annotations: fields.annotations,
        })
    }

    async fn find_content(
        &self,
        content: Option<ContentRef>,
    ) -> Result<(Option<Content>, Option<Digest>), Error> {
        let (content, archive) = match content {
            None => return Ok((None, None)),
            Some(ContentRef::Tree { tree, layout }) => (Content { tree, layout }, None),
            Some(ContentRef::Archive { archive }) => {
                let tree =
                    crate::content::unpack(self.blobs.as_ref(), archive, self.limits()).await?;
                (Content { tree, layout: Layout::Directory }, Some(archive))
            }
        };
        self.measure(content).await?;
        Ok((Some(content), archive))
    }

    pub(crate) async fn measure(&self, Content { tree, layout }: Content) -> Result<(), Error> {
        let about = self.blobs.about(tree).await?;
        let about = about.ok_or(StoreError::MissingBlob { digest: tree })?;
        if about.kind != NodeKind::Tree || about.totals.files == 0 {
            return Err(Error::WrongContent { digest: tree, expected: "a tree with files" });
        }
        let TreeTotals { files, bytes } = about.totals;
        // Only a tree without bytes can be an empty directory instead of a file; the others need no look.
        if layout == Layout::File && (files != 1 || bytes == 0 && !self.is_one_file(tree).await?) {
            return Err(Error::WrongContent { digest: tree, expected: "a tree of one file" });
        }
        let limits = self.limits();
        check_size("files", about.totals.files, limits.content_files_max)?;
        check_size("bytes", about.totals.bytes, limits.content_bytes_max)
    }
}

impl Folio {
    async fn is_one_file(&self, tree: Digest) -> Result<bool, StoreError> {
        let node = self.blobs.get(tree).await?;
        let tree = Tree::decode(&node.bytes)
            .map_err(|error| StoreError::corrupt(format!("tree {tree} ({error})")))?;
        Ok(matches!(tree.entries(), [TreeEntry::File { .. }]))
    }
}

fn check_size(what: &'static str, found: u64, max: u64) -> Result<(), Error> {
    if found > max { Err(Error::TooLarge { what, found, max }) } else { Ok(()) }
}

/// Lays annotations over those that the metadata in a bag has.
pub(crate) fn annotated(mut bag: Bag, given: &BTreeMap<String, String>) -> Bag {
    if given.is_empty() {
        return bag;
    }
    let metadata = bag.entry("metadata".to_owned()).or_insert_with(|| json!({}));
    if !metadata.is_object() {
        *metadata = json!({});
    }
    if !metadata["annotations"].is_object() {
        metadata["annotations"] = json!({});
    }
    for (key, value) in given {
        metadata["annotations"][key.as_str()] = json!(value);
    }
    bag
}

/// Lays fields over a package's spec. New content replaces all of the old content.
pub(crate) fn package(
    scope: Scope<'_>,
    name: &Name,
    base: Option<PackageSpec>,
    given: &Given,
) -> Result<PackageSpec, Error> {
    let settings = !given.run.is_default() || !given.unset.is_empty();
    let for_functions = [
        (given.package.is_some(), "a package"),
        (given.entrypoint.is_some(), "an entry point"),
        (settings, "settings of how it is run"),
        (given.configs.is_some(), "configs"),
        (given.secrets.is_some(), "secrets"),
        (!given.annotations.is_empty(), "annotations"),
    ];
    if let Some((_, field)) = for_functions.into_iter().find(|(given, _)| *given) {
        return Err(Error::NotForPackages { name: name.clone(), field });
    }
    package_of(scope, (Kind::Package, name), base, given)
}

/// Lays fields over the spec of the package that a function made for itself.
pub(crate) fn own_package(
    scope: Scope<'_>,
    function: &Name,
    base: Option<PackageSpec>,
    given: &Given,
) -> Result<PackageSpec, Error> {
    package_of(scope, (Kind::Function, function), base, given)
}

fn package_of(
    scope: Scope<'_>,
    (kind, name): (Kind, &Name),
    base: Option<PackageSpec>,
    given: &Given,
) -> Result<PackageSpec, Error> {
    let kept = base.as_ref();
    let environment = given.environment.as_ref().or(kept.map(|base| &base.environment));
    let environment =
        environment.ok_or_else(|| Error::NoEnvironment { kind, name: name.clone() })?;
    let before = kept.map(|base| (&base.environment, base.environment_snapshot));
    let environment_snapshot = scope.freeze(environment, before)?;
    let environment = environment.clone();
    let (source, deployment) = match &given.files {
        Some(files) => (files.source, files.deployment),
        None => (kept.and_then(|base| base.source), kept.and_then(|base| base.deployment)),
    };
    let (build_command, mut bag) =
        base.map_or((None, Bag::new()), |base| (base.build_command, base.bag));
    if given.files.is_some() {
        // What a manifest said of other files is about those.
        bag.retain(|part, _| !part.starts_with("/source") && !part.starts_with("/deployment"));
    }
    // A build command that was not given again is kept only as long as there is something to build.
    let build_command =
        given.build_command.clone().or_else(|| build_command.filter(|_| source.is_some()));
    let spec =
        PackageSpec { environment, source, deployment, build_command, environment_snapshot, bag };
    Snapshot::Package(spec.clone()).validate()?;
    Ok(spec)
}

/// Lays fields over a function's spec, with the code it is to use.
pub(crate) fn function(
    scope: Scope<'_>,
    base: Option<&FunctionSpec>,
    given: &Given,
    code: &UsedPackage,
) -> Result<FunctionSpec, Error> {
    let kept = base.map(|base| &base.environment);
    let environment = given.environment.as_ref().or(kept).unwrap_or(&code.environment);
    let before = base.map(|base| (&base.environment, base.environment_snapshot));
    let spec = FunctionSpec {
        environment: environment.clone(),
        package: code.pin.clone(),
        entrypoint: given
            .entrypoint
            .clone()
            .or_else(|| base.and_then(|base| base.entrypoint.clone())),
        environment_snapshot: scope.freeze(environment, before)?,
        run: run_settings(base.map(|base| &base.run), given),
        configs: settings::freeze(
            scope,
            Kind::Config,
            given.configs.as_deref(),
            base.map_or(&[], |base| &base.configs),
        )?,
        secrets: settings::freeze(
            scope,
            Kind::Secret,
            given.secrets.as_deref(),
            base.map_or(&[], |base| &base.secrets),
        )?,
        bag: annotated(base.map(|base| base.bag.clone()).unwrap_or_default(), &given.annotations),
    };
    Snapshot::Function(spec.clone()).validate()?;
    Ok(spec)
}

/// Lays settings over others; what is not given stays.
fn run_settings(base: Option<&RunSettings>, given: &Given) -> RunSettings {
    let base = base.cloned().unwrap_or_default();
    let run = &given.run;
    let mut variables = base.variables;
    variables.retain(|name, _| !given.unset.contains(name));
    variables.extend(run.variables.clone());
    RunSettings {
        variables,
        timeout_ms: run.timeout_ms.or(base.timeout_ms),
        memory_bytes: run.memory_bytes.or(base.memory_bytes),
        cpu_millis: run.cpu_millis.or(base.cpu_millis),
        concurrency: run.concurrency.or(base.concurrency),
        idle_ms: run.idle_ms.or(base.idle_ms),
        scale_min: run.scale_min.or(base.scale_min),
        scale_max: run.scale_max.or(base.scale_max),
        requests_per_worker: run.requests_per_worker.or(base.requests_per_worker),
        access: run.access.or(base.access),
    }
}

/// The spec of a package snapshot.
pub(crate) fn package_spec(state: &dyn State, digest: Digest) -> Result<PackageSpec, StoreError> {
    match view::snapshot(state, digest)? {
        Snapshot::Package(spec) => Ok(spec),
        _ => Err(StoreError::corrupt(format!("package snapshot {digest}"))),
    }
}

/// The spec of a function snapshot.
pub(crate) fn function_spec(state: &dyn State, digest: Digest) -> Result<FunctionSpec, StoreError> {
    match view::snapshot(state, digest)? {
        Snapshot::Function(spec) => Ok(spec),
        _ => Err(StoreError::corrupt(format!("function snapshot {digest}"))),
    }
}
