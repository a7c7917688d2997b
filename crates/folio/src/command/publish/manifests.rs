//! Functions and packages as manifests of a spec directory, with the archives they are made of.

use std::path::{Component, Path};

use anyhow::{Context, Result};
use folio_core::request::Mounting;
use folio_kinds::spec::write::{self, Archives};
use folio_model::{Bag, Digest, FunctionSpec, MountPin, Name, PackagePin, PackageSpec, Snapshot};
use serde_json::Value;

use super::{FunctionFields, PackageFields};
use crate::command::saving;
use crate::content;
use crate::name::UnitAt;
use crate::problem::Problem;
use crate::spec::Sheet;

impl FunctionFields {
    /// The manifests of a function, and of its package if it has files of its own.
    pub(crate) fn function(self, unit: &UnitAt) -> Result<Sheet> {
        let Self { package, pkg, entrypoint, run, mounts, idle, .. } = self;
        idle.warn();
        let environment = environment(&unit.name, package.env.as_ref())?;
        let (package, mut documents) = match (pkg, package.has_files()) {
            (Some(pkg), false) => (pkg, Vec::new()),
            (None, true) => {
                let own: Name = format!("{}-pkg", unit.name).parse().context("its package")?;
                let documents = package.documents(unit, &own)?;
                (own, documents)
            }
            (Some(_), true) => {
                let problem = format!("function `{}` is given files and a package", unit.name);
                let hint = "leave out --pkg, or leave out --code, --src and --deploy";
                return Err(Problem::usage(problem).hint(hint).into());
            }
            (None, false) => {
                let problem = Problem::usage(format!("function `{}` has no code", unit.name));
                return Err(problem
                    .hint("give --code FILE, --src, --deploy, or --pkg NAME")
                    .into());
            }
        };
        let (configs, secrets) = mounts.mountings();
        let spec = FunctionSpec {
            environment,
            package: PackagePin { name: package, snapshot: Digest::of(b"") },
            entrypoint,
            environment_snapshot: None,
            run: run.settings(),
            configs: pins(configs),
            secrets: pins(secrets),
            bag: Bag::new(),
        };
        let sheet = saving::sheet(&unit.app, &unit.name, Snapshot::Function(spec))?;
        documents.extend(sheet.documents);
        Ok(Sheet { documents, ..sheet })
    }
}

impl PackageFields {
    /// The manifests of a package.
    pub(crate) fn package(self, unit: &UnitAt) -> Result<Sheet> {
        if !self.has_files() {
            let problem = Problem::usage(format!("package `{}` has no files", unit.name));
            return Err(problem.hint("give --code FILE, --src or --deploy").into());
        }
        let documents = self.documents(unit, &unit.name)?;
        Ok(Sheet { file: write::file("Package", unit.name.as_str()), documents })
    }

    fn has_files(&self) -> bool {
        self.code.is_some() || self.src.is_some() || self.deploy.is_some()
    }

    fn documents(self, unit: &UnitAt, name: &Name) -> Result<Vec<Value>> {
        self.check()?;
        let environment = environment(&unit.name, self.env.as_ref())?;
        let mut documents = Vec::new();
        let mut archive = |part: &str, path: Option<&Path>| -> Result<Option<String>> {
            let Some(path) = path else { return Ok(None) };
            let archive = format!("{name}-{part}");
            documents.push(write::archive(&archive, &[pattern(path)?]));
            Ok(Some(archive))
        };
        let archives = Archives {
            source: archive("source", self.src.as_deref())?,
            deployment: archive("deployment", self.code.as_deref().or(self.deploy.as_deref()))?,
        };
        let spec = PackageSpec {
            environment,
            source: None,
            deployment: None,
            build_command: self.buildcmd,
            environment_snapshot: None,
            bag: Bag::new(),
        };
        let package = write::package(name, unit.app.as_str(), spec, archives);
        documents.push(package.map_err(saving::refused)?);
        Ok(documents)
    }
}

fn environment(unit: &Name, environment: Option<&Name>) -> Result<Name> {
    environment.cloned().ok_or_else(|| {
        let problem = Problem::usage(format!("nothing says in which environment `{unit}` runs"));
        problem.hint("give --env NAME, such as `nodejs`").into()
    })
}

fn pins(mountings: Option<Vec<Mounting>>) -> Vec<MountPin> {
    let pin =
        |Mounting { name, mount_path }| MountPin { name, snapshot: Digest::of(b""), mount_path };
    mountings.into_iter().flatten().map(pin).collect()
}

/// The pattern by which an archive finds what a flag names. Archives look beside the spec directory.
fn pattern(path: &Path) -> Result<String> {
    let shown = path.display();
    let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let text = path.to_str().filter(|_| path.components().all(is_below));
    let Some(text) = text else {
        let problem = format!("`{shown}` does not lie beside the spec directory");
        return Err(Problem::new(problem).hint("move it there, or name it from there").into());
    };
    if text.contains(['*', '?']) {
        return Ok(text.to_owned());
    }
    if path.is_dir() {
        return Ok(format!("{}/*", text.trim_end_matches('/')));
    }
    let is_zip = path.extension().is_some_and(|end| end == "zip");
    if content::is_archive(path)? && !is_zip {
        let problem = format!("`{shown}` is an archive, but its name does not end in `.zip`");
        return Err(Problem::new(problem).hint("give a zip or a directory").into());
    }
    Ok(text.to_owned())
}
