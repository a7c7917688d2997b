//! Versions of functions: by number in every path, never reused, frozen whole.

use axum::http::StatusCode;
use folio_core::Explain as _;
use folio_core::ports::Page;
use folio_core::ports::runtime::Scale;
use folio_core::request::{Drafted, Fields, Publish, Which};
use folio_core::view::{UnitView, VersionView};
use folio_model::{Kind, Number, Qualifier, Snapshot};
use serde_json::{Value, json};

use super::body::Object;
use super::fault::{Fault, Outcome, empty, found, made, zip};
use super::functions::{self, key};
use super::showing::{self, MD5, note};
use super::visit::{self, To, Visit};

pub(super) async fn dispatch(visit: &Visit, id: &str, rest: &[&str]) -> Outcome {
    match (visit.method.as_str(), rest) {
        ("GET", []) => list(visit, id).await,
        ("POST", []) => create(visit, id).await,
        ("GET", [n]) => show(visit, id, n).await,
        ("PUT", [n]) => describe(visit, id, n).await,
        ("DELETE", [n]) => delete(visit, id, n).await,
        ("POST", [n, "scale_up"]) => {
            functions::scale(visit, id, visit::number("version", n)?, Scale::Up).await
        }
        ("POST", [n, "scale_down"]) => {
            functions::scale(visit, id, visit::number("version", n)?, Scale::Down).await
        }
        ("POST", [n, "detach"]) => functions::detach(visit, id, visit::number("version", n)?).await,
        _ => Err(visit.nowhere()),
    }
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
        let number = latest.number;
        return Err(Fault::not_allowed(format!(
            "Function package not changed since the latest version {number}."
        )));
    }
    let publish = Publish {
        description,
        // Of those who publish at the same time, the others find nothing left to publish.
        expect: Some(unit.revision),
        // Version 0 is there whatever becomes of the others.
        draft: Drafted::Stays,
        ..Publish::fresh(Fields::default())
    };
    let done = visit.folio.publish(&visit.caller, &key(&unit), publish).await;
    let done = done.map_err(|error| match error.code().0 {
        "stale" => Fault::not_allowed("Function package not changed since the latest version."),
        _ => error.into(),
    })?;
    Ok(made(shown(visit, &unit, &done.result.version).await?))
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

async fn show(visit: &Visit, id: &str, number: &str) -> Outcome {
    visit.only(&["download"])?;
    let unit = visit.function(visit::identity("function_id", id)?, To::Read).await?;
    let version = one(visit, &unit, visit::number("version", number)?).await?;
    if !visit.wants("download") {
        return Ok(found(shown(visit, &unit, &version).await?));
    }
    let at = Qualifier::Number(version.number);
    let name = format!("{}_{}", unit.uid, version.number);
    Ok(zip(&name, functions::package(visit, &unit, &at).await?))
}

async fn describe(visit: &Visit, id: &str, number: &str) -> Outcome {
    let unit = visit.function(visit::identity("function_id", id)?, To::Change).await?;
    let version = one(visit, &unit, visit::number("version", number)?).await?;
    let Some(description) = described(visit)?.text("description")? else {
        return Ok(found(shown(visit, &unit, &version).await?));
    };
    let at = Qualifier::Number(version.number);
    let done = visit.folio.describe(&visit.caller, &key(&unit), &at, description).await?;
    Ok(found(shown(visit, &unit, &done.result).await?))
}

async fn delete(visit: &Visit, id: &str, number: &str) -> Outcome {
    let unit = visit.function(visit::identity("function_id", id)?, To::Change).await?;
    let version = one(visit, &unit, visit::number("version", number)?).await?;
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
