//! Manifests: what users write, with kind and version on it. They become what is stored and what
//! is stored becomes them, in any served version. Start at [`convert`].

use std::fmt;

use hub::Value;
use hub::serde_json::Map;

use crate::registry::{KINDS, KindEntry, Stored};
use crate::schema::{Schema, join};
use crate::spec::rules;

/// An object in one of its versions, as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest(Map<String, Value>);

/// What became of a conversion.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted {
    /// The manifest in the wanted version.
    pub manifest: Manifest,
    /// What the stored form has no property for: kept in its bag, and back when the object is read
    /// in the version it was written in.
    pub bagged: Vec<Bagged>,
    /// What the stored form has and the wanted version has no word for: stored, but not shown.
    pub hidden: Vec<String>,
}

/// A value that the stored form keeps in a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bagged {
    /// Where it stands in the manifest.
    pub path: String,
    /// The version that has the property.
    pub version: String,
}

/// A value that is not what its schema says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Where it stands.
    pub path: String,
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub found: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: expected {}, found {}", self.path, self.expected, self.found)
    }
}

/// Why a manifest was not read or converted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ManifestError {
    /// Neither YAML nor JSON, or not an object.
    #[error("it is no manifest: {0}")]
    Unreadable(String),
    /// No kind or no version.
    #[error("it has no `{0}`, so nothing says what it is")]
    Unnamed(&'static str),
    /// A kind that folio does not have.
    #[error("there is no kind `{0}`")]
    UnknownKind(String),
    /// A version in which the kind is not served.
    #[error("{kind} is not served in `{version}`, only in {}", served(kind))]
    UnknownVersion {
        /// The kind.
        kind: &'static str,
        /// The version.
        version: String,
    },
    /// Values of the wrong type, or missing.
    #[error("the {kind} is not as {version} says: {}", listed(mismatches))]
    Mismatches {
        /// The kind.
        kind: &'static str,
        /// The version it says it is of.
        version: String,
        /// What is wrong, in the order of the schema.
        mismatches: Vec<Mismatch>,
    },
    /// A value that another version has no word for, or requires.
    #[error("the {kind} cannot be written as {version}: {error}")]
    Inexpressible {
        /// The kind.
        kind: &'static str,
        /// The version.
        version: String,
        /// Where and why.
        error: hub::Error,
    },
}

fn served(kind: &str) -> String {
    KindEntry::find(kind).map(|kind| kind.versions.join(", ")).unwrap_or_default()
}

fn listed(mismatches: &[Mismatch]) -> String {
    mismatches.iter().map(Mismatch::to_string).collect::<Vec<_>>().join("; ")
}

impl ManifestError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable(_) | Self::Unnamed(_) => {
                "give YAML or JSON with `apiVersion`, `kind`, `metadata` and `spec`".to_owned()
            }
            Self::UnknownKind(_) => {
                let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
                format!("the kinds are {}", names.join(", "))
            }
            Self::UnknownVersion { kind, .. } => {
                format!("folio explain {kind} shows what the newest version has")
            }
            Self::Mismatches { kind, version, .. } | Self::Inexpressible { kind, version, .. } => {
                format!("folio explain {kind} --api-version {version} shows every property")
            }
        }
    }
}

impl Manifest {
    /// Takes a JSON object.
    pub fn new(value: Value) -> Result<Self, ManifestError> {
        match value {
            Value::Object(object) => Ok(Self(object)),
            other => Err(ManifestError::Unreadable(format!("`{other}` is not an object"))),
        }
    }

    /// Reads every document of a YAML or JSON text; empty ones are left out.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, ManifestError> {
        let unreadable = |error: serde_saphyr::Error| {
            let lines: Vec<_> = error.to_string().lines().map(str::to_owned).collect();
            ManifestError::Unreadable(lines.join("\n  "))
        };
        let documents: Vec<Value> = serde_saphyr::from_multiple(text).map_err(unreadable)?;
        documents.into_iter().filter(|value| !value.is_null()).map(Self::new).collect()
    }

    /// The object as JSON.
    pub fn as_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// The object's name, if it says one.
    pub fn name(&self) -> Option<&str> {
        self.0.get("metadata")?.get("name")?.as_str()
    }

    /// The namespace it says it is in, if it says one.
    pub fn namespace(&self) -> Option<&str> {
        self.0.get("metadata")?.get("namespace")?.as_str()
    }

    /// The version it says it is of.
    pub fn version(&self) -> Result<&str, ManifestError> {
        self.text("apiVersion")
    }

    /// The kind it says it is.
    pub fn kind(&self) -> Result<&'static KindEntry, ManifestError> {
        let name = self.text("kind")?;
        let kind = KindEntry::find(name).filter(|kind| kind.name == name);
        kind.ok_or_else(|| ManifestError::UnknownKind(name.to_owned()))
    }

    /// Reads what it says into the form that is stored.
    pub fn store(&self) -> Result<Stored, ManifestError> {
        let (kind, version) = (self.kind()?.name, self.version()?);
        let unknown = || ManifestError::UnknownVersion { kind, version: version.to_owned() };
        let schema = Schema::of(kind, version).ok_or_else(unknown)?;
        let mut body = self.0.clone();
        body.retain(|key, _| key != "apiVersion" && key != "kind");
        let body = Value::Object(body);
        let mut mismatches = Vec::new();
        schema.check(&body, "", &mut mismatches);
        if !mismatches.is_empty() {
            let version = version.to_owned();
            return Err(ManifestError::Mismatches { kind, version, mismatches });
        }
        let stored = Stored::read(kind, version, body).ok_or_else(unknown)?;
        stored.map_err(|error| inexpressible(kind, version, error))
    }

    /// Refuses what no manifest that is applied may say, however well it is formed.
    pub(crate) fn check_values(&self) -> Result<(), ManifestError> {
        let (kind, version) = (self.kind()?.name, self.version()?);
        let Some(schema) = Schema::of(kind, version) else { return Ok(()) };
        let (value, mut mismatches) = (self.as_value(), Vec::new());
        schema.negatives(&value, "", &mut mismatches);
        mismatches.retain(|mismatch| mismatch.path.starts_with("spec"));
        rules::check(kind, version, &value, &mut mismatches);
        rules::check_marks(&value, &mut mismatches);
        if mismatches.is_empty() {
            return Ok(());
        }
        Err(ManifestError::Mismatches { kind, version: version.to_owned(), mismatches })
    }

    /// As [`Self::store`]; refuses what no manifest may say as well, all of it at once.
    pub(crate) fn check(&self) -> Result<Stored, ManifestError> {
        match (self.store(), self.check_values()) {
            (
                Err(ManifestError::Mismatches { kind, version, mut mismatches }),
                Err(ManifestError::Mismatches { mismatches: more, .. }),
            ) => {
                mismatches.extend(more);
                Err(ManifestError::Mismatches { kind, version, mismatches })
            }
            (Err(error), _) | (Ok(_), Err(error)) => Err(error),
            (Ok(stored), Ok(())) => Ok(stored),
        }
    }

    /// Reads what it says into the form that is stored, in the place of something of the same kind: what its version
    /// has no word for stays as it is there.
    pub(crate) fn store_over(&self, stored: Stored) -> Result<Stored, ManifestError> {
        let (kind, version) = (self.kind()?.name, self.version()?);
        // Whatever is wrong with it is said as always.
        self.store()?;
        let mut body = self.0.clone();
        body.retain(|key, _| key != "apiVersion" && key != "kind");
        let unknown = || ManifestError::UnknownVersion { kind, version: version.to_owned() };
        let over = stored.written_over(version, Value::Object(body)).ok_or_else(unknown)?;
        over.map_err(|error| inexpressible(kind, version, error))
    }

    /// Writes what is stored in one of its versions.
    pub fn of(stored: Stored, version: &str) -> Result<Self, ManifestError> {
        let kind = stored.kind().name;
        let unknown = || ManifestError::UnknownVersion { kind, version: version.to_owned() };
        let body = stored.write(version).ok_or_else(unknown)?;
        let body = body.map_err(|error| inexpressible(kind, version, error))?;
        let mut object = Map::new();
        object.insert("apiVersion".to_owned(), version.into());
        object.insert("kind".to_owned(), kind.into());
        if let Value::Object(body) = body {
            object.extend(body);
        }
        Ok(Self(object))
    }

    fn text(&self, key: &'static str) -> Result<&str, ManifestError> {
        self.0.get(key).and_then(Value::as_str).ok_or(ManifestError::Unnamed(key))
    }
}

fn inexpressible(kind: &'static str, version: &str, error: hub::Error) -> ManifestError {
    ManifestError::Inexpressible { kind, version: version.to_owned(), error }
}

/// Converts a manifest to another version, and says what that version does not show.
pub fn convert(manifest: &Manifest, to: &str) -> Result<Converted, ManifestError> {
    let stored = manifest.store()?;
    let mut bagged = Vec::new();
    collect_bagged(&stored.to_value(), "", &mut bagged);
    bagged.retain(|bagged| bagged.version != to);
    let (manifest, hidden) = shown(stored, to)?;
    Ok(Converted { manifest, bagged, hidden })
}

/// Writes what is stored in a version, and says what that version does not show.
pub(crate) fn shown(stored: Stored, to: &str) -> Result<(Manifest, Vec<String>), ManifestError> {
    let hub = stored.to_value();
    let manifest = Manifest::of(stored, to)?;
    let again = manifest.store()?.to_value();
    let mut hidden = Vec::new();
    collect_hidden(&hub, Some(&again), "", &mut hidden);
    Ok((manifest, hidden))
}

/// Where a bag keeps what its object has no property for.
const BAG: &str = "$bag";

fn collect_bagged(value: &Value, path: &str, found: &mut Vec<Bagged>) {
    for (key, value) in parts(value) {
        if key != BAG {
            collect_bagged(value, &step(path, &key), found);
            continue;
        }
        for (key, value) in value.as_object().into_iter().flatten() {
            let Some((name, version)) = key.split_once('@') else { continue };
            let names = match (name, value) {
                ("*", Value::Object(unknown)) => unknown.keys().map(String::as_str).collect(),
                _ => vec![name],
            };
            found.extend(
                names
                    .into_iter()
                    .map(|name| Bagged { path: join(path, name), version: version.to_owned() }),
            );
        }
    }
}

fn collect_hidden(hub: &Value, again: Option<&Value>, path: &str, found: &mut Vec<String>) {
    for (key, value) in parts(hub) {
        if key == BAG {
            continue;
        }
        let path = step(path, &key);
        let same = again.and_then(|again| match key.parse::<usize>() {
            Ok(index) if again.is_array() => again.get(index),
            _ => again.get(&key),
        });
        match (value, same) {
            (Value::Object(_) | Value::Array(_), Some(_)) => {
                collect_hidden(value, same, &path, found);
            }
            (_, Some(_)) => {}
            (_, None) => found.push(path),
        }
    }
}

/// The parts of an object or a list, with what leads to them.
fn parts(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
        }
        _ => Vec::new(),
    }
}

fn step(path: &str, key: &str) -> String {
    if key.bytes().all(|byte| byte.is_ascii_digit()) && !key.is_empty() {
        return format!("{path}[{key}]");
    }
    join(path, key)
}
