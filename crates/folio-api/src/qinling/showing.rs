//! How folio's things look to Qinling's client: every field is always there, `null` where it is empty.

use folio_core::view::{UnitView, VersionView};
use folio_model::{AppName, Digest, FunctionSpec, Number, Snapshot, Timestamp, UnitUid};
use serde_json::{Value, json};
use uuid::Uuid;

/// Where the metadata keeps what only Qinling knows.
pub(super) const NAME: &str = "qinling.openstack.org/name";
pub(super) const DESCRIPTION: &str = "qinling.openstack.org/description";
pub(super) const MD5: &str = "qinling.openstack.org/md5sum";
pub(super) const MEMORY: &str = "qinling.openstack.org/memory-size";
pub(super) const CREATED: &str = "qinling.openstack.org/created-at";
pub(super) const UPDATED: &str = "qinling.openstack.org/updated-at";

/// What is usual where nothing is said.
pub(super) const CPU: u64 = 100;
pub(super) const MEMORY_BYTES: u64 = 33_554_432;
pub(super) const TIMEOUT_SECONDS: u64 = 5;

/// A moment as Qinling writes it.
pub(super) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// What the metadata of an object says under a name.
pub(super) fn note<'a>(bag: &'a folio_model::Bag, name: &str) -> Option<&'a str> {
    bag.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

/// What a function is as its version 0: its draft, or else its latest version.
pub(super) fn spec(unit: &UnitView) -> Option<&FunctionSpec> {
    let draft = unit.draft.as_ref().map(|draft| &draft.spec);
    match draft.or(unit.latest.as_ref().map(|latest| &latest.spec))? {
        Snapshot::Function(spec) => Some(spec),
        _ => None,
    }
}

/// What a function is called here.
pub(super) fn name(unit: &UnitView) -> String {
    let noted = spec(unit).and_then(|spec| note(&spec.bag, NAME));
    noted.map_or_else(|| unit.name.to_string(), str::to_owned)
}

/// The number of its latest version; 0 if there is none.
pub(super) fn latest(unit: &UnitView) -> u64 {
    unit.latest.as_ref().map_or(0, |latest| latest.number.get())
}

/// A function, with the count of the executions of its version 0.
pub(super) fn function(unit: &UnitView, runtime: Option<Uuid>, count: u64) -> Value {
    let bag = spec(unit).map(|spec| spec.bag.clone()).unwrap_or_default();
    let run = spec(unit).map(|spec| spec.run.clone()).unwrap_or_default();
    let said = |name: &str| note(&bag, name).map(str::to_owned);
    let memory = said(MEMORY).and_then(|text| text.parse().ok()).or(run.memory_bytes);
    let first = unit.latest.as_ref().map(|latest| moment(latest.created_at));
    let mut code = json!({ "source": "package" });
    if let Some(md5) = said(MD5) {
        code["md5sum"] = json!(md5);
    }
    json!({
        "id": unit.uid,
        "name": name(unit),
        "description": said(DESCRIPTION),
        "cpu": run.cpu_millis.map_or(CPU, u64::from),
        "memory_size": memory.unwrap_or(MEMORY_BYTES),
        "timeout": run.timeout_ms.map_or(TIMEOUT_SECONDS, |ms| ms.div_ceil(1000)),
        "runtime_id": runtime,
        "code": code,
        "entry": spec(unit).and_then(|spec| spec.entrypoint.clone()).unwrap_or("main.main".into()),
        "count": count,
        "latest_version": latest(unit),
        "project_id": unit.app,
        "created_at": said(CREATED).or(first),
        "updated_at": said(UPDATED),
    })
}

/// A function's version.
pub(super) fn version(unit: &UnitView, version: &VersionView, count: u64) -> Value {
    let description = Some(&version.description).filter(|text| !text.is_empty());
    json!({
        "id": version_id(unit.uid, version.number),
        "description": description,
        "function_id": unit.uid,
        "version_number": version.number,
        "count": count,
        "project_id": unit.app,
        "created_at": moment(version.created_at),
        "updated_at": version.described_at.map(moment),
    })
}

/// The identity of a version.
pub(super) fn version_id(unit: UnitUid, number: Number) -> Uuid {
    identity(&format!("version {unit} {number}"))
}

/// An identity for what has none of its own: the same for the same words.
pub(super) fn identity(words: &str) -> Uuid {
    let digest = Digest::of(words.as_bytes());
    let half: [u8; 16] = std::array::from_fn(|at| digest.as_bytes()[at]);
    uuid::Builder::from_random_bytes(half).into_uuid()
}

/// The identity of an alias, whichever function it leads to.
pub(super) fn alias_id(app: &AppName, name: &str) -> Uuid {
    identity(&format!("alias {app} {name}"))
}
