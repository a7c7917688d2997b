//! Adds manifests to a spec directory. What the directory holds already is never changed: an object that is there
//! under the same name is refused, and then nothing is written.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::directory::{CONFIG_FILE, Spec};
use crate::problem::{Cause, Problem};

/// Documents that belong into one file.
#[derive(Debug)]
pub(crate) struct Sheet {
    /// The file's name.
    pub(crate) file: String,
    /// What is added to it.
    pub(crate) documents: Vec<Value>,
}

/// What separates documents.
const BETWEEN: &str = "\n---\n";

impl Sheet {
    /// The documents as text.
    pub(crate) fn text(&self) -> Result<String> {
        let documents: Result<Vec<_>, _> =
            self.documents.iter().map(serde_saphyr::to_string).collect();
        Ok(documents?.join(BETWEEN))
    }
}

/// Adds documents to the files of a directory, and gives the files.
pub(crate) fn save(directory: &Path, sheets: &[Sheet]) -> Result<Vec<PathBuf>> {
    if !directory.join(CONFIG_FILE).is_file() {
        let problem = format!("`{}` is not a spec directory", directory.display());
        return Err(Problem::new(problem).hint("make it one with `folio spec init`").into());
    }
    let spec = Spec::read(directory, None)?;
    let documents = sheets.iter().flat_map(|sheet| &sheet.documents);
    let causes: Vec<_> = documents.filter_map(|document| taken(&spec, document)).collect();
    if !causes.is_empty() {
        let problem = Problem::new("the specs hold such an object already").causes(causes);
        return Err(problem.hint("change it there, or choose another name").into());
    }
    let mut files = Vec::new();
    for sheet in sheets {
        let path = directory.join(&sheet.file);
        append(&path, &sheet.text()?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        files.push(path);
    }
    Ok(files)
}

/// Where an object of this kind and name is.
fn taken(spec: &Spec, document: &Value) -> Option<Cause> {
    let kind = document["kind"].as_str().unwrap_or_default();
    let (name, at) = match document["name"].as_str() {
        Some(archive) => (archive, spec.archives.get(archive)?.at.clone()),
        None => {
            let mut there = spec.manifests.iter();
            let same = there.find(|there| {
                let there = there.value();
                there["kind"] == document["kind"]
                    && there["metadata"]["name"] == document["metadata"]["name"]
            })?;
            (document["metadata"]["name"].as_str().unwrap_or_default(), same.at.clone())
        }
    };
    Some(Cause::new(at, format!("{kind} '{name}'")))
}

fn append(path: &Path, text: &str) -> Result<()> {
    let mut file = File::options().create(true).append(true).open(path)?;
    let between = if file.metadata()?.len() == 0 { "" } else { BETWEEN };
    Ok(file.write_all(format!("{between}{text}").as_bytes())?)
}
