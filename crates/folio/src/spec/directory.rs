//! Reads the files of a spec directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use folio_core::apply::UnreadDocument;
use folio_core::ports::{Clock, SystemClock};
use folio_kinds::spec::{self, Document, Taken};
use folio_kinds::{ManifestError, Mismatch};
use folio_model::Owner;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::archives::ArchiveSpec;
use super::fetch::{self, Origin};
use super::manifest::{Manifest, Said, Side};
use super::memory::{Known, Memory};
use super::pinpoint::{self, at, leading_lines};
use super::walk::{self, Found};
use crate::content::Trust;
use crate::memory::Stamp;
use crate::problem::{Cause, Problem};

/// The file that says whose a deployment is.
pub(crate) const CONFIG_FILE: &str = "fission-deployment-config.yaml";

/// Kinds that the command line understands by itself.
const ARCHIVE: &str = "ArchiveUploadSpec";
const DEPLOYMENT: &str = "DeploymentConfig";

/// Files larger than this are no manifests.
pub(super) const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What a directory asks for.
#[derive(Debug, Default)]
pub(crate) struct Spec {
    /// The directory.
    pub(crate) directory: PathBuf,
    /// Whose it is, if it says so.
    pub(crate) deployment: Option<Owner>,
    /// The manifests of units.
    pub(crate) manifests: Vec<Manifest>,
    /// The archives, by name.
    pub(super) archives: BTreeMap<String, ArchiveSpec>,
    /// What is to be said about it, without anything being wrong.
    pub(crate) remarks: Vec<String>,
    /// What each file holds.
    pub(super) files: Vec<SpecFile>,
    /// What says which files are manifests: directories, and the file of patterns. Empty if that cannot be told.
    pub(super) guides: Vec<(PathBuf, Stamp)>,
    /// When looking at the files began, in nanoseconds.
    pub(super) began: i128,
    /// The file of patterns that was named.
    pub(super) ignore_file: Option<PathBuf>,
    /// What is remembered of the files, and where.
    pub(super) memory: Option<Memory>,
    /// Whether what is remembered of the files of packages is relied on.
    pub(crate) trust: Trust,
    pub(super) causes: Vec<Cause>,
    /// What could not be read.
    pub(super) unread: Vec<UnreadDocument>,
    /// The manifests that are wrong, without what is wrong with them, so that the rest of them can be checked.
    pub(crate) rests: Vec<Manifest>,
    /// The archives that manifests name which could not be read.
    pub(super) named: BTreeSet<String>,
    /// Whether something that could not be read may be an archive, or name one.
    pub(super) is_unsure: bool,
}

/// What to make of what is remembered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Recall<'a> {
    /// Nothing is remembered.
    Nothing,
    /// What did not change since is not read again.
    Before(&'a Path),
    /// Everything is read again, and then remembered if it can be.
    Afresh(Option<&'a Path>),
}

impl Recall<'_> {
    /// What that means for the files of packages.
    pub(crate) fn trust(&self) -> Trust {
        match self {
            Self::Nothing | Self::Before(_) => Trust::Remembered,
            Self::Afresh(_) => Trust::Nothing,
        }
    }
}

/// A file of a spec.
#[derive(Debug)]
pub(super) struct SpecFile {
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
    pub(super) holds: Vec<Holds>,
}

/// What a document of a file is.
#[derive(Debug)]
pub(super) enum Holds {
    /// An archive, by name.
    Archive(String),
    /// Whose the deployment is.
    Deployment(Owner),
    /// A manifest, by its place among all.
    Manifest(usize),
    /// Something to be said.
    Remark(String),
}

#[derive(Deserialize)]
struct DeploymentConfig {
    #[serde(deserialize_with = "word")]
    name: String,
    #[serde(deserialize_with = "word")]
    uid: String,
}

/// A text, also where it is written as a number.
fn word<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(serde::de::Error::custom(format!("`{other}` is no text"))),
    }
}

impl Spec {
    /// Reads a directory, or says everything that is wrong with its files.
    pub(crate) fn read(directory: &Path, ignore_file: Option<&Path>) -> Result<Self> {
        let spec = Self::gather(directory, ignore_file, Recall::Nothing)?;
        match spec.refusal() {
            Some(refusal) => Err(refusal),
            None => Ok(spec),
        }
    }

    /// Reads what can be read of a directory, but for what is remembered and did not change since, and notes what is
    /// wrong with the rest.
    pub(crate) fn gather(
        directory: &Path,
        ignore_file: Option<&Path>,
        recall: Recall<'_>,
    ) -> Result<Self> {
        if !directory.is_dir() {
            let problem = Problem::new(format!("there is no directory `{}`", directory.display()));
            return Err(problem.hint("make one with `folio spec init`, or name it").into());
        }
        let began = SystemClock.now().as_nanosecond();
        let (ignored, ignoring) = walk::ignored(directory, ignore_file)?;
        let guides = Some(ignoring.into_iter().collect());
        let mut found = Found { guides, ..Found::default() };
        walk::walk(directory, &ignored, &mut found)?;
        let Found { mut files, guides, links } = found;
        // As bytes, which is sooner done than part by part.
        files.sort_unstable_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
        let mut memory = match recall {
            Recall::Nothing => None,
            Recall::Before(memories) => Memory::open(memories, directory),
            Recall::Afresh(memories) => {
                let memory = memories.and_then(|memories| Memory::open(memories, directory));
                memory.map(Memory::forget)
            }
        };
        let mut spec = Self {
            directory: directory.to_owned(),
            trust: recall.trust(),
            guides: guides.unwrap_or_default(),
            began,
            ignore_file: ignore_file.map(Path::to_owned),
            ..Self::default()
        };
        for file in files {
            spec.file(file, memory.as_mut())?;
        }
        spec.memory = memory;
        let unfollowed = |link: &PathBuf| {
            format!("{} is a link to a directory, which is not followed", link.display())
        };
        spec.remarks.extend(links.iter().map(unfollowed));
        spec.check_archives();
        Ok(spec)
    }

    /// What is wrong with it, if anything is.
    pub(crate) fn refusal(&self) -> Option<anyhow::Error> {
        (!self.causes.is_empty()).then(|| refusal(self.causes.clone()))
    }

    fn file(&mut self, path: PathBuf, memory: Option<&mut Memory>) -> Result<()> {
        let context = || format!("cannot read `{}`", path.display());
        let about = std::fs::metadata(&path).with_context(context)?;
        let (bytes, stamp) = (about.len(), Stamp::from(&about));
        self.files.push(SpecFile { path: path.clone(), stamp, holds: Vec::new() });
        if let Some(known) = memory.and_then(|memory| memory.take(&path, &stamp)) {
            for known in known {
                self.known(&path, known);
            }
            return Ok(());
        }
        if bytes > FILE_BYTES_MAX {
            let what =
                format!("the file has {bytes} bytes, more than the {FILE_BYTES_MAX} allowed");
            self.wrong(&path, (1, 1), what);
            self.miss();
            return Ok(());
        }
        let text = std::fs::read_to_string(&path).with_context(context)?;
        for document in spec::split(&text) {
            match document.parse() {
                Ok(value) => self.document(&path, &document, value),
                Err(unread) => {
                    self.wrong(&path, (unread.line, unread.column), unread.what);
                    self.miss();
                }
            }
        }
        Ok(())
    }

    /// Adds what is remembered of a document.
    fn known(&mut self, path: &Path, known: Known) {
        match known {
            Known::Archive(archive) => self.add_archive(archive),
            Known::Deployment(owner) => self.add_deployment(owner),
            Known::Manifest { at, before } => {
                let file = path.to_owned();
                let (said, content) = (Said::Before(before), None);
                self.add_manifest(Manifest { at, file, said, content });
            }
            Known::Remark(remark) => self.add_remark(remark),
        }
    }

    fn holds(&mut self, what: Holds) {
        self.files.last_mut().expect("a file is being read").holds.push(what);
    }

    fn add_deployment(&mut self, owner: Owner) {
        self.deployment = Some(owner.clone());
        self.holds(Holds::Deployment(owner));
    }

    fn add_manifest(&mut self, manifest: Manifest) {
        self.holds(Holds::Manifest(self.manifests.len()));
        self.manifests.push(manifest);
    }

    fn add_remark(&mut self, remark: String) {
        self.remarks.push(remark.clone());
        self.holds(Holds::Remark(remark));
    }

    fn add_archive(&mut self, archive: ArchiveSpec) {
        if let Some(first) = self.archives.get(&archive.name) {
            let what = format!(
                "Duplicate ArchiveUploadSpec '{}', first defined in {}",
                archive.name, first.at
            );
            return self.causes.push(Cause::new(archive.at, what));
        }
        self.holds(Holds::Archive(archive.name.clone()));
        self.archives.insert(archive.name.clone(), archive);
    }

    fn document(&mut self, path: &Path, document: &Document<'_>, value: Value) {
        let mut entries = value.as_object().into_iter().flatten();
        let kind = entries.find(|(key, _)| key.eq_ignore_ascii_case("kind"));
        let kind = kind.and_then(|(_, kind)| kind.as_str()).unwrap_or_default().to_owned();
        match kind.as_str() {
            ARCHIVE => self.archive(path, document, value),
            DEPLOYMENT => {
                let value = self.own(path, document, (value, &["name", "uid"]));
                match serde_json::from_value(value) {
                    Ok(DeploymentConfig { name, uid }) => self.add_deployment(Owner { uid, name }),
                    Err(error) => self.wrong(path, document.places().find(""), error.to_string()),
                }
            }
            _ => self.unit(path, document, value, &kind),
        }
    }

    /// What a document says that is no manifest, under the names that its properties have. Tells of others.
    fn own(
        &mut self,
        path: &Path,
        document: &Document<'_>,
        (value, names): (Value, &[&str]),
    ) -> Value {
        let names = [&["apiVersion", "kind"], names].concat();
        let Taken { known, unknown } = spec::taken(value, &names);
        let kind = known.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        for field in unknown {
            let place = at(path, document.places().find(&field));
            self.add_remark(format!("{place}: unknown field {field} of the {kind} means nothing"));
        }
        Value::Object(known)
    }

    fn archive(&mut self, path: &Path, document: &Document<'_>, value: Value) {
        let place = document.places().find("");
        let names = ["name", "rootdir", "include", "exclude"];
        let value = self.own(path, document, (value, &names));
        match serde_json::from_value::<ArchiveSpec>(value) {
            Ok(archive) if archive.name.is_empty() => {
                self.is_unsure = true;
                self.wrong(path, place, "the archive has no `name`".to_owned());
            }
            Ok(archive) => {
                for (index, pattern) in archive.straying() {
                    let what = format!(
                        "archive '{}' includes `{pattern}`, which is not below its rootdir; name the \
                         directory it is in as `rootdir`",
                        archive.name
                    );
                    let place = document.places().find(&format!("include[{index}]"));
                    self.wrong(path, place, what);
                }
                self.add_archive(ArchiveSpec { at: at(path, place), ..archive });
            }
            Err(error) => {
                self.is_unsure = true;
                self.wrong(path, place, error.to_string());
            }
        }
    }

    fn unit(&mut self, path: &Path, document: &Document<'_>, value: Value, kind: &str) {
        let written = match spec::written(value) {
            Ok(Some(written)) => written,
            Ok(None) => {
                let place = at(path, document.places().find(""));
                return self.add_remark(format!("Ignoring unknown type {kind} in {place}"));
            }
            Err(error) => {
                self.miss();
                let is_version = matches!(error, ManifestError::UnknownVersion { .. });
                let field = if is_version { "apiVersion" } else { "" };
                return self.wrong(path, document.places().find(field), error.to_string());
            }
        };
        let place = (document.line + leading_lines(document.text), 1);
        let (at, file) = (at(path, place), path.to_owned());
        let manifest = |value| Manifest { at, file, said: Said::Now(value), content: None };
        let value = written.manifest.as_value();
        let mismatches = match spec::checked(&written.manifest) {
            Ok(()) => return self.add_manifest(manifest(value)),
            Err(ManifestError::Mismatches { mismatches, .. }) => mismatches,
            Err(other) => {
                self.miss_manifest(&value);
                return self.wrong(path, document.places().find(""), other.to_string());
            }
        };
        let is_of_files = |mismatch: &Mismatch| {
            Side::ALL.iter().any(|side| mismatch.path.starts_with(&format!("spec.{}", side.word())))
        };
        // A package without its files is nothing that could be checked.
        let rest = Some(&mismatches).filter(|all| !all.iter().any(is_of_files));
        match rest.and_then(|mismatches| spec::without(&written.manifest, mismatches)) {
            Some(rest) => self.rests.push(manifest(rest.as_value())),
            None => self.miss_manifest(&value),
        }
        let places = document.places();
        for mismatch in mismatches {
            self.wrong(path, places.find(&mismatch.path), Mismatch::to_string(&mismatch));
        }
    }

    /// Notes a document of which nothing is known.
    fn miss(&mut self) {
        self.is_unsure = true;
        self.unread.push(UnreadDocument::default());
    }

    /// Notes a manifest that is wrong.
    fn miss_manifest(&mut self, value: &Value) {
        self.unread.push(UnreadDocument::of(value));
        for side in Side::ALL {
            if let Ok(Origin::Archive(name)) = fetch::origin(&value["spec"][side.word()]) {
                self.named.insert(name);
            }
        }
    }

    /// Every archive that is named exists, and every one that exists is named, as far as that can be told.
    fn check_archives(&mut self) {
        if self.is_unsure {
            return;
        }
        let mut named = BTreeMap::new();
        for manifest in self.manifests.iter().chain(&self.rests) {
            for side in Side::ALL {
                if let Ok(Origin::Archive(name)) = manifest.origin(side) {
                    let path = format!("spec.{}.url", side.word());
                    named.insert(name, (manifest.at.clone(), path));
                }
            }
        }
        for (name, (at, path)) in &named {
            if !self.archives.contains_key(name) {
                let what = format!("references archive '{name}', which doesn't exist in the specs");
                self.causes.push(Cause { at: at.clone(), path: path.clone(), what });
            }
        }
        let is_named = |name: &String| named.contains_key(name) || self.named.contains(name);
        for archive in self.archives.values().filter(|archive| !is_named(&archive.name)) {
            let what = format!("archive '{}' is not used by any package", archive.name);
            self.causes.push(Cause::new(archive.at.clone(), what));
        }
    }

    fn wrong(&mut self, path: &Path, place: (usize, usize), what: String) {
        self.causes.push(Cause::new(at(path, place), what));
    }
}

/// Says everything that is wrong with a spec, in the order in which it is written.
pub(super) fn refusal(mut causes: Vec<Cause>) -> anyhow::Error {
    pinpoint::pinpoint(&mut causes);
    causes.dedup();
    let count = causes.len();
    let things = if count == 1 { "thing is" } else { "things are" };
    let problem = Problem::new(format!("{count} {things} wrong with the specs"));
    let them = if count == 1 { "it" } else { "them all" };
    problem.causes(causes).hint(format!("mend {them}; nothing was changed")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_that_leaves_its_root_is_refused_with_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("code.yaml");
        let archive = "kind: ArchiveUploadSpec\nname: code\ninclude:\n  - src/*\n  - ../../etc/*\n";
        std::fs::write(&file, archive).unwrap();
        let error = Spec::read(directory.path(), None).unwrap_err();
        let problem = error.downcast_ref::<Problem>().unwrap();
        let strays = |cause: &&Cause| cause.what.contains("rootdir");
        let Cause { at, what, .. } = problem.causes.iter().find(strays).unwrap();
        assert_eq!(*at, format!("{}:5:5", file.display()));
        assert!(what.contains("includes `../../etc/*`"), "{what}");
    }

    fn gathered(text: &str) -> Spec {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("all.yaml"), text).unwrap();
        Spec::gather(directory.path(), None, Recall::Nothing).unwrap()
    }

    #[test]
    fn archives_and_deployments_are_taken_as_fission_takes_them() {
        let spec = gathered(
            "Kind: ArchiveUploadSpec\nNAME: 27\nInclude: [src]\nexclude: null\ncolour: red\n---\n\
             KIND: DeploymentConfig\nName: shop\nuid: 7\nmood: good\n---\n\
             kind: Package\nmetadata: {name: p}\nspec: {environment: {name: nodejs}, source: {url: 'archive://27'}}\n",
        );
        assert!(spec.causes.is_empty(), "{:?}", spec.causes);
        assert_eq!(spec.archives["27"].include, ["src"]);
        let owner = Owner { uid: "7".to_owned(), name: "shop".to_owned() };
        assert_eq!(spec.deployment, Some(owner));
        let [archive, deployment] = &spec.remarks[..] else { panic!("{:?}", spec.remarks) };
        assert!(
            archive.ends_with(":5:9: unknown field colour of the ArchiveUploadSpec means nothing"),
            "{archive}"
        );
        assert!(
            deployment.ends_with(":10:7: unknown field mood of the DeploymentConfig means nothing"),
            "{deployment}"
        );
    }

    #[test]
    fn what_a_document_may_have_that_cannot_be_read_is_not_missed() {
        let check = |text: &str, expected: &[&str]| {
            let spec = gathered(text);
            let found: Vec<_> = spec.causes.iter().map(|cause| cause.what.as_str()).collect();
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.contains(expected), "{found}");
            }
        };
        let package = "kind: Package\nmetadata: {name: p}\nspec: {environment: {name: nodejs}, \
             source: {url: 'archive://code'}}\n";
        let archive = "kind: ArchiveUploadSpec\nname: code\ninclude: [src]\n";
        check(package, &["references archive 'code'"]);
        check(archive, &["archive 'code' is not used"]);
        check(&format!("{package}---\na: [\n"), &[""]);
        check(&format!("{package}---\nkind: ArchiveUploadSpec\ninclude: [src]\n"), &["no `name`"]);
        let odd = package.replace("source:", "buildcmd: {}, source:");
        check(&format!("{archive}---\n{odd}"), &["spec.buildcmd"]);
    }
}
