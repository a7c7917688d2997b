//! What a manifest asks of pointers: aliases and canaries. They are no units; what they point to is found by whoever
//! applies them.

use folio_model::{Name, Reference, VersionId};
use hub::Value;

use crate::manifest::{Manifest, ManifestError};

/// An alias that a manifest asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliasAsked {
    /// Its name.
    pub alias: VersionId,
    /// Its function.
    pub function: Name,
    /// The version it points to, as it is written.
    pub version: AskedVersion,
    /// The version that gets the rest, with the per cent it gets.
    pub secondary: Option<(String, u32)>,
}

/// How a manifest says which version it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskedVersion {
    /// By id, number, the name of the version's object, or `latest`.
    Named(String),
    /// By the digest of its code.
    Digest(String),
}

/// A canary that a manifest asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanaryAsked {
    /// Its name.
    pub name: Name,
    /// The route whose requests move.
    pub route: Name,
    /// Where they went.
    pub old: Reference,
    /// Where they are to go.
    pub new: Reference,
    /// The size of a step in per cent.
    pub step: Option<u32>,
    /// The time between steps.
    pub interval_ms: Option<u64>,
    /// The failures in per cent that end it.
    pub threshold: Option<u32>,
}

/// What a manifest asks of a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PointerAsked {
    /// An alias.
    Alias(AliasAsked),
    /// A canary.
    Canary(CanaryAsked),
}

/// Reads what a manifest asks of a pointer; nothing if it asks for a unit.
pub fn pointer(manifest: &Manifest) -> Result<Option<PointerAsked>, ManifestError> {
    let kind = manifest.kind()?.name;
    if !["FunctionAlias", "CanaryConfig"].contains(&kind) {
        return Ok(None);
    }
    let name = manifest.name().ok_or(ManifestError::Unnamed("metadata.name"))?;
    let hub = manifest.check()?.to_value();
    let spec = Fields(hub.get("spec").unwrap_or(&Value::Null));
    let asked = match kind {
        "FunctionAlias" => alias(name, &spec).map(PointerAsked::Alias),
        _ => canary(name, &spec).map(PointerAsked::Canary),
    };
    asked.map(Some).map_err(ManifestError::Unreadable)
}

fn alias(name: &str, spec: &Fields<'_>) -> Result<AliasAsked, String> {
    let version = match (spec.text("version"), spec.text("packageDigest")) {
        (Some(_), Some(_)) => {
            return Err("spec: `version` and `packageDigest` exclude one another".to_owned());
        }
        (None, Some(digest)) => AskedVersion::Digest(digest.to_owned()),
        (version, None) => AskedVersion::Named(version.unwrap_or("latest").to_owned()),
    };
    let secondary = match (spec.text("secondaryVersion"), spec.percent("weight")?) {
        (Some(secondary), weight) => Some((secondary.to_owned(), 100 - weight.unwrap_or(100))),
        (None, Some(weight)) if weight < 100 => {
            return Err("spec.weight: the rest needs a `secondaryVersion`".to_owned());
        }
        (None, _) => None,
    };
    Ok(AliasAsked {
        alias: parsed(name, "metadata.name")?,
        function: parsed(spec.text("functionName").unwrap_or_default(), "spec.functionName")?,
        version,
        secondary,
    })
}

fn canary(name: &str, spec: &Fields<'_>) -> Result<CanaryAsked, String> {
    let interval_ms = match spec.text("interval") {
        Some(text) => {
            let wrong = |_| format!("spec.duration: `{text}` is no duration such as `2m`");
            let duration: jiff::SignedDuration = text.parse().map_err(wrong)?;
            Some(u64::try_from(duration.as_millis()).unwrap_or_default())
        }
        None => None,
    };
    if let Some(other) = spec.text("failureType").filter(|text| *text != "status-code") {
        return Err(format!(
            "spec.failureType: `{other}` is not known; failures are `status-code`"
        ));
    }
    Ok(CanaryAsked {
        name: parsed(name, "metadata.name")?,
        route: parsed(spec.text("route").unwrap_or_default(), "spec.trigger")?,
        old: parsed(spec.text("old").unwrap_or_default(), "spec.oldfunction")?,
        new: parsed(spec.text("new").unwrap_or_default(), "spec.newfunction")?,
        step: spec.percent("step")?,
        interval_ms,
        threshold: spec.percent("failuresMax")?,
    })
}

/// The fields of a spec; what is empty says nothing.
struct Fields<'a>(&'a Value);

impl Fields<'_> {
    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    fn percent(&self, key: &str) -> Result<Option<u32>, String> {
        let Some(number) = self.0.get(key).and_then(Value::as_i64) else { return Ok(None) };
        let percent = u32::try_from(number).ok().filter(|percent| *percent <= 100);
        percent.map(Some).ok_or_else(|| format!("spec.{key}: {number} is not between 0 and 100"))
    }
}

fn parsed<T: std::str::FromStr>(text: &str, path: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use hub::serde_json::json;

    use super::*;
    use crate::spec::written;

    fn read(kind: &str, spec: Value) -> Result<Option<PointerAsked>, ManifestError> {
        let value = json!({ "kind": kind, "metadata": { "name": "prod" }, "spec": spec });
        pointer(&written(value).unwrap().expect("it is a kind").manifest)
    }

    #[test]
    fn an_alias_names_its_versions() {
        let spec = json!({
            "functionName": "hello", "version": "hello-v1", "weight": 80, "secondaryVersion": "v2",
        });
        let expected = AliasAsked {
            alias: "prod".parse().unwrap(),
            function: "hello".parse().unwrap(),
            version: AskedVersion::Named("hello-v1".to_owned()),
            secondary: Some(("v2".to_owned(), 20)),
        };
        let found = read("FunctionAlias", spec).unwrap();
        assert_eq!(found, Some(PointerAsked::Alias(expected)));
        let halves = json!({ "functionName": "hello", "version": "v1", "weight": 50 });
        assert!(read("FunctionAlias", halves).is_err());
        let both = json!({ "functionName": "hello", "version": "v1", "packageDigest": "sha256:0" });
        assert!(read("FunctionAlias", both).is_err());
    }

    #[test]
    fn a_canary_says_how_fast_it_goes() {
        let spec = json!({
            "trigger": "r", "newfunction": "b", "oldfunction": "a@v1", "weightincrement": 30,
            "duration": "1m30s", "failurethreshold": 5, "failureType": "status-code",
        });
        let Ok(Some(PointerAsked::Canary(found))) = read("CanaryConfig", spec) else {
            panic!("it is a canary")
        };
        assert_eq!(
            (found.step, found.interval_ms, found.threshold),
            (Some(30), Some(90_000), Some(5))
        );
        let odd =
            json!({ "trigger": "r", "newfunction": "b", "oldfunction": "a", "duration": "soon" });
        assert!(read("CanaryConfig", odd).is_err());
    }

    #[test]
    fn a_unit_is_no_pointer() {
        assert_eq!(read("Environment", json!({ "runtime": { "image": "x" } })).unwrap(), None);
    }
}
