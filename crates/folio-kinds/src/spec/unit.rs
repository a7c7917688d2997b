//! What a manifest asks for, as a unit of the model.

use folio_model::{
    Content, Digest, FunctionSpec, MountPin, Name, RouteSpec, Snapshot, TriggerSpec,
};
use hub::Value;
use hub::serde_json::{json, to_value};

use crate::manifest::{Manifest, ManifestError};
use crate::mapping::{self, MappingError};
use crate::registry::Stored;

/// A unit that a manifest asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// Its name.
    pub name: Name,
    /// Its spec. What it stands on is left open: the package that a function pins has a name and no digest yet.
    pub spec: Snapshot,
    /// What folio keeps of it and does not act on, by its place in the manifest.
    pub idle: Vec<String>,
}

/// The files that a package's manifest names, found and stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contents {
    /// Files to build from.
    pub source: Option<Content>,
    /// Files to run as they are.
    pub deployment: Option<Content>,
}

/// Reads the unit that a manifest asks for.
pub fn unit(manifest: &Manifest, contents: Contents) -> Result<Unit, ManifestError> {
    let kind = manifest.kind()?.name;
    let incomplete = |why: String| ManifestError::Unreadable(why);
    let name = manifest.name().ok_or(ManifestError::Unnamed("metadata.name"))?;
    let name: Name = name.parse().map_err(|error| incomplete(format!("metadata.name: {error}")))?;
    let stored = manifest.store()?;
    let idle = idle(&stored.to_value());
    let mut hub = stored.to_value();
    complete(kind, &mut hub, contents);
    let stored = Stored::of_value(kind, hub).map_err(incomplete)?;
    let spec = mapping::snapshot(&stored).map_err(|error| match error {
        MappingError::Incomplete { why, .. } => incomplete(format!("spec: {why}")),
        other => incomplete(other.to_string()),
    })?;
    let spec = match spec {
        Snapshot::Function(spec) => {
            let spec = with_settings(spec).map_err(incomplete)?;
            Snapshot::Function(with_resources(spec).map_err(incomplete)?)
        }
        // Generated manifests write an empty host where they mean none.
        Snapshot::Trigger(TriggerSpec::Http(spec)) => {
            let host = spec.host.filter(|host| !host.is_empty());
            Snapshot::Trigger(TriggerSpec::Http(RouteSpec { host, ..spec }))
        }
        other => other,
    };
    Ok(Unit { name, spec, idle })
}

/// A function with the configs and secrets that its manifest lists, which stay in its bag as they are written.
fn with_settings(mut spec: FunctionSpec) -> Result<FunctionSpec, String> {
    let listed = |key: &str| {
        let items = spec.bag.get(key).and_then(Value::as_array).into_iter().flatten();
        items.map(pin).collect::<Result<Vec<_>, _>>()
    };
    let (configs, secrets) =
        (listed("configmaps@fission.io/v1")?, listed("secrets@fission.io/v1")?);
    spec.configs.extend(configs);
    spec.secrets.extend(secrets);
    Ok(spec)
}

/// A function with the limits of its `resources`, which stay in its bag as they are written.
fn with_resources(mut spec: FunctionSpec) -> Result<FunctionSpec, String> {
    let limits = spec.bag.get("resources@fission.io/v1").and_then(|kept| kept.get("limits"));
    let limit = |name: &str| match limits.and_then(|limits| limits.get(name)) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let wrong = || format!("spec.resources.limits.{name}: `{text}` is no quantity");
            quantity(&text).map(Some).ok_or_else(wrong)
        }
    };
    let (memory, cpu) = (limit("memory")?, limit("cpu")?);
    let run = &mut spec.run;
    run.memory_bytes = run.memory_bytes.or(memory.map(|milli| milli.div_ceil(1000)));
    run.cpu_millis = run.cpu_millis.or(cpu.map(|milli| u32::try_from(milli).unwrap_or(u32::MAX)));
    Ok(spec)
}

/// A quantity as Kubernetes writes it, in thousandths: `500m`, `2`, `0.5`, `256Mi`, `1G`.
fn quantity(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 9] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("", 1),
    ];
    if let Some(milli) = text.strip_suffix('m') {
        return milli.parse().ok();
    }
    let unit = UNITS.iter().find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit)));
    let (number, unit) = unit?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if part.len() > 3 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(part)?.checked_mul(unit)
}

fn pin(item: &Value) -> Result<MountPin, String> {
    let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = text("name").parse().map_err(|error| format!("{}: {error}", text("name")))?;
    let mount_path = Some(text("mountPath").to_owned()).filter(|path| !path.is_empty());
    Ok(MountPin { name, snapshot: Digest::of(b""), mount_path })
}

/// Fills in what manifests leave to the platform.
fn complete(kind: &str, hub: &mut Value, contents: Contents) {
    let Some(spec) = hub.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if kind == "Function"
        && let Some(Value::Object(package)) = spec.get_mut("package")
    {
        let open = Digest::of(b"").to_string();
        package.insert("snapshot".to_owned(), open.into());
    }
    if kind == "Package" {
        let files = [("source", contents.source), ("deployment", contents.deployment)];
        for (side, content) in files {
            let Some(content) = content else {
                spec.remove(side);
                continue;
            };
            let part = spec.entry(side).or_insert_with(|| json!({}));
            if !part.is_object() {
                *part = json!({});
            }
            if let (Value::Object(part), Ok(Value::Object(found))) = (part, to_value(content)) {
                part.extend(found);
            }
        }
        // Archives of the manifest's own are in the trees.
        for side in ["source", "deployment"] {
            if let Some(bag) = spec.get_mut(side).and_then(|part| part.get_mut("$bag"))
                && let Some(bag) = bag.as_object_mut()
            {
                bag.remove("literal@fission.io/v1");
            }
        }
    }
}

/// What the hub keeps in its bags, has a value and means something to a platform.
fn idle(hub: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(hub.get("spec").unwrap_or(&Value::Null), "spec", &mut found);
    found.sort();
    found.dedup();
    found
}

/// Properties that say nothing folio would have to act on.
const SILENT: [&str; 18] = [
    "ExecutorType",
    "SpecializationTimeout",
    "StrategyType",
    "TargetCPUPercent",
    "checksum",
    "configmaps",
    "environment",
    "functionref",
    "literal",
    "method",
    "methods",
    "namespace",
    "package",
    "resources",
    "resourceversion",
    "secrets",
    "type",
    "url",
];

fn collect(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                if key != "$bag" {
                    collect(value, &format!("{path}.{key}"), found);
                    continue;
                }
                for (key, value) in value.as_object().into_iter().flatten() {
                    let name = key.split('@').next().unwrap_or(key);
                    if name != "*" && !SILENT.contains(&name) && says(value) {
                        found.push(format!("{path}.{name}"));
                    }
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, path, found)),
        _ => {}
    }
}

/// Whether a value says anything.
fn says(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(says),
        Value::Object(entries) => entries.values().any(says),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_writes_them() {
        for (text, milli) in [
            ("500m", 500),
            ("2", 2_000),
            ("0.5", 500),
            ("256Mi", 256 * 1024 * 1024 * 1000),
            ("1G", 1_000_000_000_000),
            ("1.5Ki", 1_536_000),
        ] {
            assert_eq!(quantity(text), Some(milli), "{text}");
        }
        for odd in ["", "m", "much", "1.2345", "1Xi", "-1", "99999999999999999999"] {
            assert_eq!(quantity(odd), None, "{odd}");
        }
    }
}
