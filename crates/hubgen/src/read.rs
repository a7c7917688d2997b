//! Reads the files a configuration names, and the files those refer to.
//!
//! The only module that reads schemas. Paths in messages and in the result are as the
//! configuration writes them, so that nothing generated depends on where it was generated.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::adapter::crd;
use crate::config::{Config, Format};
use crate::error::Error;
use crate::load::{Input, SchemaFile};
use crate::output::mark;
use crate::schema::documents::{Documents, normal, references};
use crate::version::Version;

/// Where blessed schemas lie in a module's directory.
pub const BLESSED: &str = "blessed";

/// Reads a configuration file.
pub fn config(path: &Path) -> Result<Config, Error> {
    let text = text(path)?;
    Config::parse(&path.display().to_string(), &text)
}

/// Reads every schema below `schemas` that the configuration names, and the blessed ones in
/// `output`.
pub fn input(config: &Config, schemas: &Path, output: &Path) -> Result<Input, Error> {
    let mut documents = Documents::default();
    for (address, directory) in &config.said.remote {
        documents.stand_for(address, directory);
        documents.open(directory);
    }
    let files = named_files(config, schemas)?;
    for file in &files {
        documents.open(file.path.rsplit_once('/').map_or("", |(directory, _)| directory));
        let value = value(&schemas.join(&file.path), &file.path)?;
        says_something(config, file, &value)?;
        documents.insert(&file.path, value);
    }
    referred_files(&mut documents, &files, schemas)?;
    let mut blessed = BTreeMap::new();
    for (name, path) in listed(&output.join(config.module()).join(BLESSED))? {
        if let Some(version) = name.strip_suffix(".json") {
            let shown = format!("{BLESSED}/{name}");
            let schema = value(&path, &shown)?;
            is_of_group(config, &path, &schema)?;
            documents.insert(&shown, schema);
            blessed.insert(Version::from_file_stem(version, config.spelling()), shown);
        }
    }
    Ok(Input { documents, files, blessed })
}

/// Refuses a blessed schema that another group published.
fn is_of_group(config: &Config, path: &Path, schema: &Value) -> Result<(), Error> {
    let said = schema.get("$comment").and_then(Value::as_str).unwrap_or_default();
    if said.contains(&mark(config.group())) {
        return Ok(());
    }
    Err(Error::refused(
        format!("{} is not a schema that `{}` published", path.display(), config.group()),
        "give each group its own `module` or `output`, or delete the file",
    ))
}

fn named_files(config: &Config, schemas: &Path) -> Result<Vec<SchemaFile>, Error> {
    let mut files = Vec::new();
    for entry in &config.said.schema {
        let said = entry.get_ref();
        let path = schemas.join(&said.path);
        let paths = if path.is_dir() {
            let names = listed(&path)?.into_keys().filter(|name| is_schema(config, name));
            names.map(|name| normal(&format!("{}/{name}", said.path))).collect()
        } else if path.is_file() {
            vec![normal(&said.path)]
        } else {
            return Err(config.error(
                entry,
                format!("there is no schema at {}", path.display()),
                "correct the path, or name the directory of schemas with --schemas".to_owned(),
            ));
        };
        for path in paths {
            let stem = Path::new(&path).file_stem().map(|stem| stem.to_string_lossy());
            let dated = stem.filter(|_| config.said.format == Format::Arm);
            let version = said.version.clone().or_else(|| dated.map(|stem| stem.into_owned()));
            files.push(SchemaFile {
                version: version.as_deref().map(Version::new),
                kind: said.kind.clone(),
                path,
            });
        }
    }
    Ok(files)
}

/// Refuses a YAML file that an entry names itself and that defines no resource; in a directory,
/// other files may lie beside those that do.
fn says_something(config: &Config, file: &SchemaFile, value: &Value) -> Result<(), Error> {
    let names_it = |path: &str| normal(path) == file.path;
    let entry = config.said.schema.iter().find(|entry| names_it(&entry.get_ref().path));
    match entry {
        Some(entry) if value.as_array().is_some_and(Vec::is_empty) => Err(config.error(
            entry,
            format!("{} holds no CustomResourceDefinition", file.path),
            "name a file that does, or change `format`".to_owned(),
        )),
        _ => Ok(()),
    }
}

fn is_schema(config: &Config, name: &str) -> bool {
    let extension = name.rsplit('.').next().unwrap_or_default();
    match config.said.format {
        Format::Crd => ["yaml", "yml"].contains(&extension),
        Format::JsonSchema | Format::Arm => extension == "json",
    }
}

/// Reads what the files refer to, as far as it exists; a reference to what does not is an error
/// only where it is followed.
fn referred_files(
    documents: &mut Documents,
    files: &[SchemaFile],
    schemas: &Path,
) -> Result<(), Error> {
    let mut rest: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    while let Some(from) = rest.pop() {
        let Some(root) = documents.root(&from) else { continue };
        let wanted: BTreeSet<String> = references(root.value)
            .into_iter()
            .filter_map(|reference| documents.file_of(&from, reference))
            .filter(|path| documents.is_open(path) && !documents.contains(path))
            .filter(|path| schemas.join(path).is_file())
            .collect();
        for path in wanted {
            let value = value(&schemas.join(&path), &path)?;
            documents.insert(&path, value);
            rest.push(path);
        }
    }
    Ok(())
}

/// The files of a directory by name; none if there is no such directory.
pub(crate) fn listed(directory: &Path) -> Result<BTreeMap<String, PathBuf>, Error> {
    if !directory.is_dir() {
        return Ok(BTreeMap::new());
    }
    let failed = |source| Error::File { verb: "list", path: directory.to_owned(), source };
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file()
            && let Some(name) = path.file_name()
        {
            files.insert(name.to_string_lossy().into_owned(), path);
        }
    }
    Ok(files)
}

fn text(path: &Path) -> Result<String, Error> {
    let failed = |source| Error::File { verb: "read", path: path.to_owned(), source };
    std::fs::read_to_string(path).map_err(failed)
}

fn value(path: &Path, shown: &str) -> Result<Value, Error> {
    parse(shown, &text(path)?)
}

/// Parses a schema file: YAML becomes the list of its documents, JSON what it is.
pub fn parse(shown: &str, text: &str) -> Result<Value, Error> {
    let refused = |what: String| {
        let lines: Vec<_> = what.lines().map(str::trim_end).collect();
        Error::refused(
            format!("{shown} cannot be read: {}", lines.join("\n  ")),
            "correct the file; nothing was generated",
        )
    };
    if shown.ends_with(".json") {
        return serde_json::from_str(text).map_err(|error| refused(error.to_string()));
    }
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(text).map_err(|error| refused(error.to_string()))?;
    if !documents.iter().any(crd::is_definition) {
        return Ok(Value::Array(Vec::new()));
    }
    Ok(Value::Array(documents))
}
