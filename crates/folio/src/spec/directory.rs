//! Reads the files of a spec directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use folio_core::ports::{Clock, SystemClock};
use folio_kinds::spec::{self, Document};
use folio_kinds::{ManifestError, Mismatch};
use folio_model::{Digest, Owner};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::archives::ArchiveSpec;
use super::fetch::{self, Origin};
use super::memory::{Known, Memory};
use crate::memory::Stamp;
use crate::problem::{Cause, Problem};

/// The file that says whose a deployment is.
pub(crate) const CONFIG_FILE: &str = "fission-deployment-config.yaml";

/// The file with patterns of files that are not part of the spec.
const IGNORE_FILE: &str = ".specignore";

/// Kinds that the command line understands by itself.
const ARCHIVE: &str = "ArchiveUploadSpec";
const DEPLOYMENT: &str = "DeploymentConfig";

/// Files larger than this are no manifests.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

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
    /// Whether nothing is to be taken for known.
    pub(super) afresh: bool,
    pub(super) causes: Vec<Cause>,
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

/// One manifest of a unit.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// Where it is written: file, line and column.
    pub(crate) at: String,
    /// The file it is in.
    pub(crate) file: PathBuf,
    pub(super) said: Said,
    /// The archive that one of its parts is, where the manifest itself does not say so.
    pub(super) content: Option<(Side, String)>,
}

/// What a manifest says.
#[derive(Debug)]
pub(super) enum Said {
    /// It was read now; this is it in the form of its version.
    Now(Value),
    /// It was sent before and did not change since.
    Before(Before),
}

/// What is remembered of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Before {
    /// What it is named by.
    pub(super) digest: Digest,
    /// The archives that its parts are made of.
    pub(super) archives: [Option<String>; 2],
}

/// The parts of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    Source,
    Deployment,
}

impl Side {
    pub(super) const ALL: [Self; 2] = [Self::Source, Self::Deployment];

    /// The field of a manifest.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Deployment => "deployment",
        }
    }
}

impl Manifest {
    /// What it says, if it was read now.
    pub(crate) fn value(&self) -> &Value {
        match &self.said {
            Said::Now(value) => value,
            Said::Before(_) => &Value::Null,
        }
    }

    /// As [`Self::value`], to be changed.
    pub(crate) fn value_mut(&mut self) -> Option<&mut Value> {
        match &mut self.said {
            Said::Now(value) => Some(value),
            Said::Before(_) => None,
        }
    }

    /// What a part of a package says about its files.
    pub(super) fn part(&self, side: Side) -> &Value {
        &self.value()["spec"][side.word()]
    }

    /// Where the files of a part come from.
    pub(super) fn origin(&self, side: Side) -> Result<Origin, String> {
        if let Some((own, archive)) = &self.content {
            let archive = (*own == side).then(|| archive.clone());
            return Ok(archive.map_or(Origin::Nothing, Origin::Archive));
        }
        match &self.said {
            Said::Now(value) if value["kind"] != "Package" => Ok(Origin::Nothing),
            Said::Now(_) => fetch::origin(self.part(side)),
            Said::Before(Before { archives: [source, deployment], .. }) => {
                let archive = if side == Side::Source { source } else { deployment };
                Ok(archive.clone().map_or(Origin::Nothing, Origin::Archive))
            }
        }
    }
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
        Self::read_with(directory, ignore_file, Recall::Nothing)
    }

    /// As [`Self::read`], but leaves out what is remembered and did not change since.
    pub(crate) fn read_with(
        directory: &Path,
        ignore_file: Option<&Path>,
        recall: Recall<'_>,
    ) -> Result<Self> {
        if !directory.is_dir() {
            let problem = Problem::new(format!("there is no directory `{}`", directory.display()));
            return Err(problem.hint("make one with `folio spec init`, or name it").into());
        }
        let began = SystemClock.now().as_nanosecond();
        let (ignored, ignoring) = ignored(directory, ignore_file)?;
        let mut found = Found { files: Vec::new(), guides: Some(ignoring.into_iter().collect()) };
        walk(directory, &ignored, &mut found)?;
        let Found { mut files, guides } = found;
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
        let afresh = matches!(recall, Recall::Afresh(_));
        let mut spec = Self {
            directory: directory.to_owned(),
            afresh,
            guides: guides.unwrap_or_default(),
            began,
            ignore_file: ignore_file.map(Path::to_owned),
            ..Self::default()
        };
        for file in files {
            spec.file(file, memory.as_mut())?;
        }
        spec.memory = memory;
        spec.check_archives();
        if spec.causes.is_empty() {
            return Ok(spec);
        }
        let count = spec.causes.len();
        let things = if count == 1 { "thing is" } else { "things are" };
        let problem = Problem::new(format!("{count} {things} wrong with the specs"));
        let them = if count == 1 { "it" } else { "them all" };
        let hint = format!("mend {them}; nothing was changed");
        let problem = problem.causes(spec.causes).hint(hint);
        Err(problem.into())
    }

    /// What the files of its packages are remembered under, if they are.
    pub(super) fn selection(&self) -> Option<&'static str> {
        (!self.afresh).then_some("selection")
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
            return Ok(());
        }
        let text = std::fs::read_to_string(&path).with_context(context)?;
        for document in spec::split(&text) {
            match document.parse() {
                Ok(value) => self.document(&path, &document, value),
                Err(unread) => self.wrong(&path, (unread.line, unread.column), unread.what),
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
            return self.causes.push(Cause { at: archive.at, what });
        }
        self.holds(Holds::Archive(archive.name.clone()));
        self.archives.insert(archive.name.clone(), archive);
    }

    fn document(&mut self, path: &Path, document: &Document<'_>, value: Value) {
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        match kind.as_str() {
            ARCHIVE => self.archive(path, document, value),
            DEPLOYMENT => match serde_json::from_value(value) {
                Ok(DeploymentConfig { name, uid }) => self.add_deployment(Owner { uid, name }),
                Err(error) => self.wrong(path, document.places().find(""), error.to_string()),
            },
            _ => self.unit(path, document, value, &kind),
        }
    }

    fn archive(&mut self, path: &Path, document: &Document<'_>, value: Value) {
        let place = document.places().find("");
        match serde_json::from_value::<ArchiveSpec>(value) {
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
            Err(error) => self.wrong(path, place, error.to_string()),
        }
    }

    fn unit(&mut self, path: &Path, document: &Document<'_>, value: Value, kind: &str) {
        let written = match spec::written(value) {
            Ok(Some(written)) => written,
            Ok(None) => {
                let place = at(path, document.places().find(""));
                return self.add_remark(format!("Ignoring unknown type {kind} in {place}"));
            }
            Err(error) => return self.wrong(path, document.places().find(""), error.to_string()),
        };
        if let Err(error) = written.manifest.store() {
            let places = document.places();
            match error {
                ManifestError::Mismatches { mismatches, .. } => {
                    for mismatch in mismatches {
                        let place = places.find(&mismatch.path);
                        self.wrong(path, place, Mismatch::to_string(&mismatch));
                    }
                }
                other => self.wrong(path, places.find(""), other.to_string()),
            }
            return;
        }
        let place = (document.line + leading_lines(document.text), 1);
        let at = at(path, place);
        let value = written.manifest.as_value();
        let (file, said) = (path.to_owned(), Said::Now(value));
        self.add_manifest(Manifest { at, file, said, content: None });
    }

    /// Every archive that is named exists, and every one that exists is named.
    fn check_archives(&mut self) {
        let mut named: BTreeMap<String, String> = BTreeMap::new();
        for manifest in &self.manifests {
            for side in Side::ALL {
                if let Ok(Origin::Archive(name)) = manifest.origin(side) {
                    named.insert(name, manifest.at.clone());
                }
            }
        }
        for (name, at) in &named {
            if !self.archives.contains_key(name) {
                let what = format!("references archive '{name}', which doesn't exist in the specs");
                self.causes.push(Cause { at: at.clone(), what });
            }
        }
        for archive in self.archives.values().filter(|archive| !named.contains_key(&archive.name)) {
            let what = format!("archive '{}' is not used by any package", archive.name);
            self.causes.push(Cause { at: archive.at.clone(), what });
        }
    }

    fn wrong(&mut self, path: &Path, place: (usize, usize), what: String) {
        self.causes.push(Cause { at: at(path, place), what });
    }
}

fn at(path: &Path, (line, column): (usize, usize)) -> String {
    format!("{}:{line}:{column}", path.display())
}

/// Lines before the first that says something.
fn leading_lines(text: &str) -> usize {
    let silent = |line: &&str| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#')
    };
    text.lines().take_while(silent).count()
}

/// The patterns of files to ignore, and the file they are in, if there is one.
fn ignored(directory: &Path, file: Option<&Path>) -> Result<(Gitignore, Option<Guide>)> {
    let mut patterns = GitignoreBuilder::new(directory);
    let usual = directory.join(IGNORE_FILE);
    let file = match file {
        Some(file) => Some(file),
        None => usual.is_file().then_some(usual.as_path()),
    };
    let guide = file.map(guide).transpose()?;
    if let Some(file) = file
        && let Some(error) = patterns.add(file)
    {
        let problem = Problem::new(format!("cannot read `{}`", file.display()));
        return Err(anyhow::Error::new(error).context(problem));
    }
    let patterns = patterns.build().context("the patterns of files to ignore cannot be used")?;
    Ok((patterns, guide))
}

/// What says which files are manifests, as it is before it is read.
type Guide = (PathBuf, Stamp);

fn guide(path: &Path) -> Result<Guide> {
    let about = std::fs::metadata(path);
    let about = about.with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok((path.to_owned(), Stamp::from(&about)))
}

/// The files of a directory.
struct Found {
    files: Vec<PathBuf>,
    /// None if a link is among them: what it leads to may become something else without any of them changing.
    guides: Option<Vec<Guide>>,
}

fn walk(directory: &Path, ignored: &Gitignore, found: &mut Found) -> Result<()> {
    let context = || format!("cannot read `{}`", directory.display());
    let guide = guide(directory)?;
    found.guides.iter_mut().for_each(|guides| guides.push(guide.clone()));
    for entry in std::fs::read_dir(directory).with_context(context)? {
        let entry = entry.with_context(context)?;
        let (path, kind) = (entry.path(), entry.file_type().with_context(context)?);
        let is_directory = kind.is_dir() || kind.is_symlink() && path.is_dir();
        if kind.is_symlink() {
            found.guides = None;
        }
        if ignored.matched_path_or_any_parents(&path, is_directory).is_ignore() {
            continue;
        }
        if is_directory {
            walk(&path, ignored, found)?;
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml") {
            found.files.push(path);
        }
    }
    Ok(())
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
        let Cause { at, what } = &problem.causes[0];
        assert_eq!(*at, format!("{}:5:5", file.display()));
        assert!(what.contains("includes `../../etc/*`"), "{what}");
    }
}
