//! Versions of functions: by number or identity in every path, never reused, frozen whole.

use axum::http::StatusCode;
use folio_core::Explain as _;
use folio_core::ports::Page;
use folio_core::ports::runtime::Scale;
use folio_core::request::{Drafted, Fields, Publish, Which};
use folio_core::view::{UnitView, VersionView};
use folio_model::{Kind, Number, Qualifier, Snapshot};
use serde_json::{Value, json};
use uuid::Uuid;

use super::body::Object;
use super::fault::{Fault, Outcome, empty, found, made, zip};
use super::functions::{self, key};
use super::showing::{self, MD5, note};
use super::visit::{self, To, Visit};

pub(super) async fn dispatch(visit: &Visit, id: &str, rest: &[&str]) -> Outcome {
    let Some((word, rest)) = rest.split_first() else {
        return match visit.method.as_str() {
            "GET" => list(visit, id).await,
            "POST" => create(visit, id).await,
            _ => Err(visit.nowhere()),
        };
    };
    let number = named(visit, id, word).await?;
    match (visit.method.as_str(), rest) {
        ("GET", []) => show(visit, id, number).await,
        ("PUT", []) => describe(visit, id, number).await,
        ("DELETE", []) => delete(visit, id, number).await,
        ("POST", ["scale_up"]) => functions::scale(visit, id, number, Scale::Up).await,
        ("POST", ["scale_down"]) => functions::scale(visit, id, number, Scale::Down).await,
        ("POST", ["detach"]) => functions::detach(visit, id, number).await,
        _ => Err(visit.nowhere()),
    }
}

/// The number that a word of the path means: a number, or the identity of a version that is there.
async fn named(visit: &Visit, id: &str, word: &str) -> Outcome<u64> {
    let identity = match (visit::number("version", word), word.parse::<Uuid>()) {
        (Err(_), Ok(identity)) => identity,
        (number, _) => return number,
    };
    let unit = visit.function(visit::identity("function_id", id)?, To::Read).await?;
    let versions = visit.folio.versions(&key(&unit), Page::ALL).await?;
    let mut numbers = versions.iter().map(|version| version.number);
    let found = numbers.find(|number| showing::version_id(unit.uid, *number) == identity);
    found.map(Number::get).ok_or_else(|| {
        let unit = unit.uid;
        Fault::absent(format!("FunctionVersion not found [function_id={unit}, id={identity}]"))
    })
}

async fn list(visit: &Visit, id: &str) -> Outcome {
    visit.only(&[])?;
    let unit = visit.function(visit::identity("function_id", id)?, To::Read).await?;
    let mut versions = Vec::new();
    for version in visit.folio.versions(&key(&unit), Page::ALL).await? {
        versions.push(shown(visit, &unit, &version).await?);
    }
    Ok(found(json!({ "function_versions": versions })))
}

async fn create(visit: &Visit, id: &str) -> Outcome {
    let unit = visit.function(visit::identity("function_id", id)?, To::Change).await?;
    let body = described(visit)?;
    let description = body.text("description")?.unwrap_or_default();
    let versions = visit.folio.versions(&key(&unit), Page::ALL).await?;
    let max = visit.folio.limits().qinling_versions_max;
    if versions.len() as u64 >= max {
        let text = format!("Can not exceed maximum number of versions {max}");
        return Err(Fault::not_allowed(text));
    }
    if let Some(latest) = unit.latest.as_ref().filter(|latest| is_same(&unit, latest)) {
        return Err(unchanged(latest.number.get()));
    }
    let publish = Publish {
        description,
        // Of those who publish at the same time, the others find nothing left to publish.
        expect: Some(unit.revision),
        // Version 0 is there whatever becomes of the others.
        draft: Drafted::Stays,
        ..Publish::fresh(Fields::default())
    };
    match visit.folio.publish(&visit.caller, &key(&unit), publish).await {
        Ok(done) => Ok(made(shown(visit, &unit, &done.result.version).await?)),
        Err(error) if error.code().0 == "stale" => {
            let now = visit.function(unit.uid.0, To::Change).await?;
            Err(unchanged(showing::latest(&now)))
        }
        Err(error) => Err(error.into()),
    }
}

fn unchanged(latest: u64) -> Fault {
    let text = format!("Function package not changed since the latest version {latest}.");
    Fault::not_allowed(text)
}

/// Whether there is nothing to publish: the package is the one of the latest version.
fn is_same(unit: &UnitView, latest: &VersionView) -> bool {
    let Some(draft) = &unit.draft else { return true };
    match (&draft.spec, &latest.spec) {
        (Snapshot::Function(new), Snapshot::Function(old)) => {
            match (note(&new.bag, MD5), note(&old.bag, MD5)) {
                (Some(new), Some(old)) => new == old,
                _ => new.package.snapshot == old.package.snapshot,
            }
        }
        _ => false,
    }
}

fn described(visit: &Visit) -> Outcome<Object> {
    let read_only =
        ["id", "version_number", "count", "function_id", "project_id", "created_at", "updated_at"];
    Object::read_with(&visit.body, "body", &["description"], &read_only)
}

async fn show(visit: &Visit, id: &str, number: u64) -> Outcome {
    visit.only(&["download"])?;
    let unit = visit.function(visit::identity("function_id", id)?, To::Read).await?;
    let version = one(visit, &unit, number).await?;
    if !visit.wants("download") {
        return Ok(found(shown(visit, &unit, &version).await?));
    }
    let at = Qualifier::Number(version.number);
    let name = format!("{}_{}", unit.uid, version.number);
    Ok(zip(&name, functions::package(visit, &unit, &at).await?))
}

async fn describe(visit: &Visit, id: &str, number: u64) -> Outcome {
    let unit = visit.function(visit::identity("function_id", id)?, To::Change).await?;
    let version = one(visit, &unit, number).await?;
    let Some(description) = described(visit)?.text("description")? else {
        return Ok(found(shown(visit, &unit, &version).await?));
    };
    let at = Qualifier::Number(version.number);
    let done = visit.folio.describe(&visit.caller, &key(&unit), &at, description).await?;
    Ok(found(shown(visit, &unit, &done.result).await?))
}

async fn delete(visit: &Visit, id: &str, number: u64) -> Outcome {
    let unit = visit.function(visit::identity("function_id", id)?, To::Change).await?;
    let version = one(visit, &unit, number).await?;
    let which = Which::One(Qualifier::Number(version.number));
    let deleted = visit.folio.delete_versions(&visit.caller, &key(&unit), which, None).await;
    let Err(error) = deleted else { return Ok(empty(StatusCode::NO_CONTENT)) };
    let kinds: Vec<String> = error.referrers().into_iter().map(|one| one.kind).collect();
    let words = [
        ("job", "running job(s)."),
        ("webhook", "webhook."),
        ("alias", "alias."),
        ("execution", "running execution(s)."),
    ];
    match words.into_iter().find(|(kind, _)| kinds.iter().any(|found| found == kind)) {
        Some((_, words)) => {
            let text = format!("The function version is still associated with {words}");
            Err(Fault::not_allowed(text))
        }
        None => Err(error.into()),
    }
}

/// A version that is there.
pub(super) async fn one(visit: &Visit, unit: &UnitView, number: u64) -> Outcome<VersionView> {
    let at = Qualifier::Number(as_number(unit, number)?);
    match visit.folio.version(&key(unit), &at).await {
        Err(error) if error.code().0 == "version_not_found" => Err(absent(unit, number)),
        found => Ok(found?),
    }
}

/// Refuses a version that is not there; 0 always is.
pub(super) async fn known(visit: &Visit, unit: &UnitView, number: u64) -> Outcome<()> {
    if number == 0 { Ok(()) } else { one(visit, unit, number).await.map(|_| ()) }
}

/// A number that a version can have.
pub(super) fn as_number(unit: &UnitView, number: u64) -> Outcome<Number> {
    Number::new(number).ok_or_else(|| absent(unit, number))
}

fn absent(unit: &UnitView, number: u64) -> Fault {
    debug_assert_eq!(unit.kind, Kind::Function);
    // As it was asked for, below zero, too.
    let number = number.cast_signed();
    Fault::absent(format!(
        "FunctionVersion not found [function_id={}, version_number={number}]",
        unit.uid
    ))
}

async fn shown(visit: &Visit, unit: &UnitView, version: &VersionView) -> Outcome<Value> {
    let counts = visit.folio.execution_counts(unit.uid).await?;
    let count = counts.get(&version.number.get()).copied().unwrap_or_default();
    Ok(showing::version(unit, version, count))
}
