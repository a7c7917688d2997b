//! What flags say about a function or package: its files, settings, and how to publish it. Uploads the files
//! and makes the [`Fields`] a request carries.

mod checksum;
mod manifests;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use folio_core::Limits;
use folio_core::request::{ContentRef, Fields};
use folio_model::{Name, VersionId};
use serde::Deserialize;
use tokio::task::spawn_blocking;

use self::checksum::Checksum;
use super::Session;
use super::idle::FunctionIdle;
use super::settings::{MountFlags, RunFlags};
use crate::client::Client;
use crate::content::{self, Given, Most, Trust};
use crate::name::Named;
use crate::upload;

/// The files of a package, and how it is built.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Content")]
pub(crate) struct PackageFields {
    /// Run in this environment, such as `nodejs`
    #[arg(long, value_name = "NAME")]
    env: Option<Name>,
    /// Run this one file
    #[arg(long, value_name = "FILE", conflicts_with = "deploy")]
    code: Option<PathBuf>,
    /// Build these sources: a directory, a zip, tar or tar.gz archive, or the id of an uploaded one
    #[arg(long, value_name = "PATH", visible_aliases = ["sourcearchive", "source"])]
    src: Option<PathBuf>,
    /// Run these files: a directory, a zip, tar or tar.gz archive, or the id of an uploaded one
    #[arg(long, value_name = "PATH", visible_alias = "deployarchive")]
    deploy: Option<PathBuf>,
    /// Refuse sources whose SHA-256 is another
    #[arg(long, value_name = "SHA256", requires = "src")]
    srcchecksum: Option<Checksum>,
    /// Refuse files to run whose SHA-256 is another
    #[arg(long, value_name = "SHA256")]
    deploychecksum: Option<Checksum>,
    /// Build the sources with this command
    #[arg(long, value_name = "COMMAND")]
    buildcmd: Option<String>,
    /// Read every file again, even if it has not changed since it was last published, and have the server read back
    /// what it has of them: what is damaged there is sent again
    #[arg(long)]
    no_cache: bool,
}

/// The files and settings of a function.
#[derive(Debug, Args)]
pub(crate) struct FunctionFields {
    #[command(flatten)]
    package: PackageFields,
    /// Take the code from this package
    #[arg(long, value_name = "NAME", visible_alias = "pkgname", help_heading = "Content")]
    pkg: Option<Name>,
    /// Call this inside the package
    #[arg(long, value_name = "ENTRY", visible_alias = "entry", help_heading = "Content")]
    entrypoint: Option<String>,
    #[command(flatten)]
    run: RunFlags,
    /// Take an environment variable away; repeat it for more
    #[arg(long, value_name = "KEY", help_heading = "Running")]
    unset: Vec<String>,
    #[command(flatten)]
    mounts: MountFlags,
    #[command(flatten)]
    idle: FunctionIdle,
}

/// How to publish.
#[derive(Debug, Default, Args)]
pub(crate) struct Publishing {
    /// Call the new version this; five random characters if left out
    #[arg(long, value_name = "ID")]
    pub(crate) version: Option<VersionId>,
    /// Say what is new
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Publish nothing if it would equal the latest version
    #[arg(long)]
    pub(crate) if_changed: bool,
    /// Wait until it is built, and show what the build prints
    #[arg(long)]
    pub(crate) wait: bool,
    /// Refuse unless the unit is still at this revision
    #[arg(long, value_name = "REVISION")]
    pub(crate) expect: Option<u64>,
}

/// A version of a package to publish.
#[derive(Debug, Args)]
pub(crate) struct PackageVersion {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    fields: PackageFields,
    #[command(flatten)]
    publishing: Publishing,
}

/// A version of a function to publish.
#[derive(Debug, Args)]
pub(crate) struct FunctionVersion {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    fields: FunctionFields,
    #[command(flatten)]
    publishing: Publishing,
    /// Use this version of the package, if it is not called as the new version is
    #[arg(long, value_name = "ID")]
    pkg_version: Option<VersionId>,
    /// Add the new version to this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<VersionId>,
}

/// A version of either to publish.
pub(crate) struct NewVersion {
    pub(crate) named: Named,
    pub(crate) fields: FunctionFields,
    pub(crate) publishing: Publishing,
    pub(crate) package_version: Option<VersionId>,
    pub(crate) tag: Option<VersionId>,
}

impl From<PackageVersion> for NewVersion {
    fn from(new: PackageVersion) -> Self {
        let PackageVersion { named, fields, publishing } = new;
        Self { named, fields: fields.into(), publishing, package_version: None, tag: None }
    }
}

impl From<FunctionVersion> for NewVersion {
    fn from(new: FunctionVersion) -> Self {
        let FunctionVersion { named, fields, publishing, pkg_version, tag } = new;
        Self { named, fields, publishing, package_version: pkg_version, tag }
    }
}

impl From<PackageFields> for FunctionFields {
    fn from(package: PackageFields) -> Self {
        Self {
            package,
            pkg: None,
            entrypoint: None,
            run: RunFlags::default(),
            unset: Vec::new(),
            mounts: MountFlags::default(),
            idle: FunctionIdle::default(),
        }
    }
}

impl FunctionFields {
    /// Uploads the files and names them.
    pub(crate) async fn upload(self, session: &Session) -> Result<Fields> {
        let Self { package, pkg, entrypoint, run, unset, mounts, idle } = self;
        idle.warn();
        let (configs, secrets) = mounts.mountings();
        package.check()?;
        let PackageFields { env, code, src, deploy, buildcmd, no_cache, .. } = package;
        let cache = session.cache.clone().filter(|_| !no_cache);
        let trust = Trust::unless(no_cache);
        let there = [&src, &deploy].map(|path| path.as_deref().and_then(uploaded));
        let given = [src.map(Given::Files), code.map(Given::Code).or(deploy.map(Given::Files))];
        let given = zip(given, there).map(|(given, there)| given.filter(|_| there.is_none()));
        let here = upload(&session.client, given, (cache, trust)).await?;
        let [source, deployment] = zip(here, there).map(|(here, there)| here.or(there));
        Ok(Fields {
            annotations: std::collections::BTreeMap::new(),
            environment: env,
            source,
            deployment,
            build_command: buildcmd,
            package: pkg,
            entrypoint,
            run: run.settings(),
            unset: unset.into_iter().collect(),
            configs,
            secrets,
        })
    }
}

fn zip<T, U>([a, b]: [T; 2], [c, d]: [U; 2]) -> [(T, U); 2] {
    [(a, c), (b, d)]
}

/// An archive that was uploaded before, if a path is no path but the id of one.
fn uploaded(path: &Path) -> Option<ContentRef> {
    let archive = path.to_str()?.parse().ok()?;
    Some(ContentRef::Archive { archive })
}

#[derive(Deserialize)]
struct Server {
    limits: Limits,
}

/// Uploads up to two sets of files. Asks how large they may be while it looks for them.
async fn upload(
    client: &Client,
    given: [Option<Given>; 2],
    (cache, trust): (Option<PathBuf>, Trust),
) -> Result<[Option<ContentRef>; 2]> {
    let mut uploaded = [None, None];
    if given.iter().all(Option::is_none) {
        return Ok(uploaded);
    }
    let caches = cache.clone();
    let most = Most::default();
    let known = most.clone();
    let found = spawn_blocking(move || {
        let find = |given: Given| (content::find(&given, caches.as_deref(), &known), given);
        given.map(|given| given.map(find))
    });
    let server = async {
        let server: Result<Server> = client.get(&[], &[]).await;
        server.inspect(|Server { limits }| most.set(limits.content_files_max))
    };
    let (server, found) = tokio::join!(server, found);
    let Server { limits } = server?;
    for (found, uploaded) in found?.into_iter().zip(&mut uploaded) {
        let Some((found, given)) = found else { continue };
        let given = (given, cache.clone(), trust);
        *uploaded = Some(upload::upload(client, given, found?, &limits).await?);
    }
    Ok(uploaded)
}
