//! What Fission's functions say about variables, limits, configs and secrets, which the hub keeps in a bag as it is
//! written. [`read`] takes from it what folio acts on, [`write()`] puts it there.

use folio_model::{Bag, Digest, FunctionSpec, MountPin, RunSettings};
use hub::Value;
use hub::serde_json::{Map, json};

use super::unit::says;

const CONFIGS: &str = "configmaps@fission.io/v1";
const SECRETS: &str = "secrets@fission.io/v1";
const VARIABLES: &str = "env@fission.io/v1";
const RESOURCES: &str = "resources@fission.io/v1";

/// A function with what its manifest says of these. What the hub says itself goes first.
pub(super) fn read(mut spec: FunctionSpec) -> Result<FunctionSpec, String> {
    let listed = |key: &str| items(spec.bag.get(key)).map(pin).collect::<Result<Vec<_>, _>>();
    let (configs, secrets) = (listed(CONFIGS)?, listed(SECRETS)?);
    spec.configs.extend(configs);
    spec.secrets.extend(secrets);
    let RunSettings { variables, memory_bytes, cpu_millis, .. } = &mut spec.run;
    for (name, value) in items(spec.bag.get(VARIABLES)).filter_map(variable) {
        variables.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    if let Some(limits) = spec.bag.get(RESOURCES).and_then(|resources| resources.get("limits")) {
        *memory_bytes = memory_bytes.or_else(|| memory(limits.get("memory")?));
        *cpu_millis = cpu_millis.or_else(|| processor(limits.get("cpu")?));
    }
    Ok(spec)
}

/// A function that says these as Fission's manifests do.
pub(super) fn write(spec: FunctionSpec, namespace: &str) -> FunctionSpec {
    let FunctionSpec { mut run, configs, secrets, mut bag, .. } = spec;
    for (key, pins) in [(CONFIGS, configs), (SECRETS, secrets)] {
        let pins: Vec<_> = pins.into_iter().map(|pin| reference(pin, namespace)).collect();
        put(&mut bag, key, pins.into());
    }
    let variables = std::mem::take(&mut run.variables).into_iter();
    let variables: Vec<_> =
        variables.map(|(name, value)| json!({"name": name, "value": value})).collect();
    put(&mut bag, VARIABLES, variables.into());
    let mut limits = Map::new();
    limits.extend(run.cpu_millis.take().map(|millis| ("cpu".to_owned(), quantity(millis, "m"))));
    limits.extend(run.memory_bytes.take().map(|bytes| {
        let is_whole = bytes % MEBIBYTE == 0;
        let text = if is_whole { quantity(bytes / MEBIBYTE, "Mi") } else { quantity(bytes, "") };
        ("memory".to_owned(), text)
    }));
    if !limits.is_empty() {
        put(&mut bag, RESOURCES, json!({ "limits": limits }));
    }
    FunctionSpec { run, configs: Vec::new(), secrets: Vec::new(), bag, ..spec }
}

/// What folio does not act on of a property that is kept.
pub(super) fn idle(name: &str, value: &Value) -> Vec<String> {
    match name {
        "env" if items(Some(value)).all(|item| variable(item).is_some()) => Vec::new(),
        "resources" => {
            let parts = value.as_object().into_iter().flatten().filter(|(_, part)| says(part));
            parts.flat_map(|(key, part)| idle_resources(key, part)).collect()
        }
        _ => vec![name.to_owned()],
    }
}

fn idle_resources(key: &str, part: &Value) -> Vec<String> {
    let Some(limits) = part.as_object().filter(|_| key == "limits") else {
        return vec![format!("resources.{key}")];
    };
    let is_understood = |(name, value): &(&String, &Value)| match name.as_str() {
        "memory" => memory(value).is_some(),
        "cpu" => processor(value).is_some(),
        _ => false,
    };
    let others = limits.iter().filter(|limit| !is_understood(limit));
    others.map(|(name, _)| format!("resources.limits.{name}")).collect()
}

const MEBIBYTE: u64 = 1 << 20;

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

fn put(bag: &mut Bag, key: &str, value: Value) {
    if says(&value) {
        bag.insert(key.to_owned(), value);
    }
}

fn pin(item: &Value) -> Result<MountPin, String> {
    let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = text("name").parse().map_err(|error| format!("{}: {error}", text("name")))?;
    let mount_path = Some(text("mountPath").to_owned()).filter(|path| !path.is_empty());
    Ok(MountPin { name, snapshot: Digest::of(b""), mount_path })
}

fn reference(pin: MountPin, namespace: &str) -> Value {
    let mut item = json!({ "name": pin.name, "namespace": namespace });
    if let Some(path) = pin.mount_path {
        item["mountPath"] = path.into();
    }
    item
}

/// A variable with a value of its own. One whose value is elsewhere is nothing folio has.
fn variable(item: &Value) -> Option<(&str, &str)> {
    let item = item.as_object().filter(|item| !item.contains_key("valueFrom"))?;
    let value = item.get("value").map_or(Some(""), Value::as_str)?;
    Some((item.get("name")?.as_str()?, value))
}

fn quantity(number: impl std::fmt::Display, unit: &str) -> Value {
    format!("{number}{unit}").into()
}

/// A number of bytes as Kubernetes writes it: `128Mi`, `1G` or `1024`.
fn memory(value: &Value) -> Option<u64> {
    const UNITS: [(&str, u64); 6] = [
        ("Ki", 1 << 10),
        ("Mi", MEBIBYTE),
        ("Gi", 1 << 30),
        ("k", 1000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
    ];
    let Some(text) = value.as_str() else { return value.as_u64() };
    let found = UNITS.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)));
    let (number, factor) = found.unwrap_or((text, 1));
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Thousandths of a processor as Kubernetes writes them: `500m`, `2` or `0.5`.
fn processor(value: &Value) -> Option<u32> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(millis) = text.strip_suffix('m') {
        return millis.parse().ok();
    }
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part = format!("{part:0<3}");
    let (part, rest) = part.split_at_checked(3)?;
    let millis = whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(part.parse().ok()?)?;
    rest.bytes().all(|digit| digit == b'0').then_some(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_kubernetes_writes_them() {
        let check = |value: Value, bytes, millis| {
            assert_eq!((memory(&value), processor(&value)), (bytes, millis), "{value}");
        };
        check(json!("128Mi"), Some(128 << 20), None);
        check(json!("1G"), Some(1_000_000_000), None);
        check(json!("500m"), None, Some(500));
        check(json!("0.25"), None, Some(250));
        check(json!("0.0001"), None, None);
        check(json!(2), Some(2), Some(2000));
        check(json!("99999999999Gi"), None, None);
        check(json!("some"), None, None);
    }

    #[test]
    fn what_has_no_effect_is_named() {
        let check = |name: &str, value: Value, expected: &[&str]| {
            assert_eq!(idle(name, &value), expected, "{value}");
        };
        check("env", json!([{"name": "A", "value": "1"}, {"name": "B"}]), &[]);
        check("env", json!([{"name": "A", "valueFrom": {"secretKeyRef": {}}}]), &["env"]);
        check("resources", json!({"limits": {"memory": "1Gi", "cpu": "1"}}), &[]);
        check(
            "resources",
            json!({"limits": {"gpu": 1, "cpu": "much"}, "requests": {"cpu": "10m"}}),
            &["resources.limits.gpu", "resources.limits.cpu", "resources.requests"],
        );
        check("podspec", json!({"a": 1}), &["podspec"]);
    }
}
