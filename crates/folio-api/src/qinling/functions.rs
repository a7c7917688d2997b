//! Functions: what is called version 0 is the draft, or the latest version where there is no draft.

mod settings;

use std::collections::BTreeMap;

use axum::http::StatusCode;
use bytes::Bytes;
use folio_core::Explain as _;
use folio_core::binding::{BindingKind, BindingView};
use folio_core::draft;
use folio_core::ports::runtime::Scale;
use folio_core::request::{Cascade, ContentRef, Fields, Onto};
use folio_core::upload::Download;
use folio_core::view::UnitView;
use folio_model::{BoundTo, Kind, Name, Qualifier, RuntimeKind, UnitKey};
use md5::{Digest as _, Md5};
use serde_json::{Value, json};
use uuid::Uuid;

use self::settings::{Code, Settings};
use super::body::{self, Form};
use super::fault::{Fault, Outcome, empty, found, made, zip};
use super::showing::{self, CREATED, DESCRIPTION, MD5, NAME, UPDATED, moment};
use super::visit::{self, To, Visit};
use super::{executions, runtimes};

pub(super) async fn dispatch(visit: &Visit, rest: &[&str]) -> Outcome {
    match (visit.method.as_str(), rest) {
        ("GET", []) => list(visit).await,
        ("POST", []) => create(visit).await,
        ("GET", [id]) => show(visit, id).await,
        ("PUT", [id]) => update(visit, id).await,
        ("DELETE", [id]) => delete(visit, id).await,
        ("POST", [id, "scale_up"]) => scale(visit, id, 0, Scale::Up).await,
        ("POST", [id, "scale_down"]) => scale(visit, id, 0, Scale::Down).await,
        ("POST", [id, "detach"]) => detach(visit, id, 0).await,
        ("GET", [id, "workers"]) => workers(visit, id).await,
        _ => Err(visit.nowhere()),
    }
}

async fn list(visit: &Visit) -> Outcome {
    visit.only(&["all_projects", "project_id"])?;
    let mut functions = Vec::new();
    for app in visit.projects().await? {
        for unit in visit.folio.list(&app, Kind::Function).await? {
            let mut function = shown(visit, &unit).await?;
            // A list has the code as a text, as the original has it.
            function["code"] = json!(function["code"].to_string());
            functions.push(function);
        }
    }
    Ok(found(json!({ "functions": functions })))
}

async fn show(visit: &Visit, id: &str) -> Outcome {
    visit.only(&["download"])?;
    let id = id.parse().map_err(|_| Fault::no("Function", id))?;
    let unit = visit.function(id, To::Read).await?;
    if !visit.wants("download") {
        return Ok(found(shown(visit, &unit).await?));
    }
    let at = if unit.draft.is_some() { Qualifier::Draft } else { Qualifier::Latest };
    Ok(zip(&unit.uid.to_string(), package(visit, &unit, &at).await?))
}

/// A function's package, as a zip whatever it was given as.
pub(super) async fn package(visit: &Visit, unit: &UnitView, at: &Qualifier) -> Outcome<Download> {
    let files = visit.folio.files(&key(unit), at, None).await?;
    Ok(visit.folio.download_zip(&files).await?)
}

async fn create(visit: &Visit) -> Outcome {
    let form = Form::read(visit.content_type.as_deref(), &visit.body)?;
    let missing = || Fault::invalid("Required param is missing. Required: {'code'}");
    let code = Code::read(form.text("code").ok_or_else(missing)?)?;
    let runtime = form.text("runtime_id").filter(|text| !text.is_empty());
    let runtime = runtime.ok_or_else(|| Fault::invalid("\"runtime_id\" must be specified."))?;
    let id = runtime
        .parse()
        .map_err(|_| Fault::invalid(format!("Expected a uuid but received {runtime}.")))?;
    let runtime = runtimes::by_id(visit, id).await?;
    let settings = Settings::read(&form)?.or_usual();
    let package = form.package.clone();
    let package = package.ok_or_else(|| Fault::invalid("Package is missing."))?;
    let mut notes = settings.notes();
    notes.insert(MD5.to_owned(), checked(&package, code.md5.as_deref())?);
    notes.insert(CREATED.to_owned(), moment(visit.folio.now()));
    notes.extend(words(visit, &form)?);
    let entry = form.text("entry").filter(|entry| !entry.is_empty()).unwrap_or("main.main");
    let language = runtime.view.spec.runtime;
    let fields = Fields {
        environment: Some(runtime.view.name),
        deployment: Some(kept(visit, package).await?),
        entrypoint: Some(entry.to_owned()),
        run: settings.run(language),
        annotations: notes,
        ..Fields::default()
    };
    let name = plain(form.text("name").unwrap_or("function"), "function");
    let unit = draft(visit, name, fields).await?;
    Ok(made(shown(visit, &unit).await?))
}

/// What people call a function, and say of it.
fn words(visit: &Visit, form: &Form) -> Outcome<Notes> {
    let mut notes = Notes::new();
    for (field, note) in [("name", NAME), ("description", DESCRIPTION)] {
        let Some(text) = form.text(field) else { continue };
        visit.folio.check_text(field, text)?;
        notes.insert(note.to_owned(), text.to_owned());
    }
    Ok(notes)
}

/// Makes a draft under a name, or under one like it if that is taken.
async fn draft(visit: &Visit, name: Name, fields: Fields) -> Outcome<UnitView> {
    let mut key = UnitKey { app: visit.app.clone(), kind: Kind::Function, name };
    for _ in 0..3 {
        let onto = (Onto::Nothing, None);
        match visit.folio.set_draft(&visit.caller, &key, fields.clone(), onto).await {
            Ok(done) => return Ok(done.result),
            Err(error) if ["unit_exists", "package_taken"].contains(&error.code().0) => {
                key.name = another(&key.name);
            }
            Err(error) => return Err(drafting(error)),
        }
    }
    Err(Fault::new(StatusCode::CONFLICT, "The name is taken."))
}

/// What a draft is refused for, where the original has other words.
fn drafting(error: draft::Error) -> Fault {
    match error.code().0 {
        "archive_unknown" | "archive_damaged" => {
            Fault::invalid("Package is not a valid ZIP package.")
        }
        code if code.starts_with("archive_") => {
            Fault::invalid(format!("Package is not a valid ZIP package: {error}."))
        }
        _ => error.into(),
    }
}

async fn update(visit: &Visit, id: &str) -> Outcome {
    let id: Uuid = id.parse().map_err(|_| Fault::no("Function", id))?;
    let unit = visit.function(id, To::Change).await?;
    let form = Form::read(visit.content_type.as_deref(), &visit.body)?;
    let settings = Settings::read(&form)?;
    let grave = ["code", "entry", "cpu", "memory_size"];
    if form.package.is_some() || grave.iter().any(|field| form.text(field).is_some()) {
        refuse_busy(visit, &unit).await?;
    }
    let mut notes = settings.notes();
    notes.extend(words(visit, &form)?);
    let now = showing::spec(&unit).and_then(|spec| showing::note(&spec.bag, MD5));
    let given = match form.text("code") {
        Some(code) => Code::update(code)?.md5,
        None => None,
    };
    if given.is_some() && given.as_deref() == now {
        return Err(Fault::invalid("The function code checksum is not changed."));
    }
    let runtimes = runtimes::all(visit, &unit.app).await?;
    let runtime = runtimes
        .iter()
        .find(|one| showing::spec(&unit).is_some_and(|spec| spec.environment == one.view.name));
    let language = runtime.map_or(RuntimeKind::Python, |one| one.view.spec.runtime);
    let mut fields = Fields { run: settings.run(language), ..Fields::default() };
    fields.entrypoint = form.text("entry").map(str::to_owned);
    if let Some(package) = form.package.clone() {
        let md5 = checked(&package, given.as_deref())?;
        if Some(md5.as_str()) != now {
            fields.deployment = Some(kept(visit, package).await?);
            notes.insert(MD5.to_owned(), md5);
        }
    }
    fields.annotations = notes;
    if fields == Fields::default() {
        return Ok(found(shown(visit, &unit).await?));
    }
    fields.annotations.insert(UPDATED.to_owned(), moment(visit.folio.now()));
    let onto = (Onto::Existing, None);
    let done = visit.folio.set_draft(&visit.caller, &key(&unit), fields, onto).await;
    let done = done.map_err(drafting)?;
    Ok(found(shown(visit, &done.result).await?))
}

async fn delete(visit: &Visit, id: &str) -> Outcome {
    let unit = visit.function(visit::identity("id", id)?, To::Read).await?;
    refuse_bound(visit, &unit).await?;
    if unit.app != visit.app {
        return Err(Fault::not_allowed("Function can only be deleted by its owner."));
    }
    visit.folio.delete(&visit.caller, &key(&unit), Cascade::No, None).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Refuses to delete what jobs, webhooks or aliases lead to, in the order of the original.
async fn refuse_bound(visit: &Visit, unit: &UnitView) -> Outcome<()> {
    let refuse = |what: &str| {
        Err(Fault::not_allowed(format!("The function is still associated with {what}.")))
    };
    let leads = |found: &BindingView| {
        let BoundTo::Function { unit: to, .. } = found.binding.to else { return false };
        to == unit.uid && found.binding.holds()
    };
    for (kind, what) in [(BindingKind::Job, "running job(s)"), (BindingKind::Webhook, "webhook(s)")]
    {
        if visit.folio.bindings(&unit.app, kind).await?.iter().any(leads) {
            return refuse(what);
        }
    }
    let newest = visit.folio.bindings(&unit.app, BindingKind::Newest).await?;
    if !unit.aliases.is_empty() || newest.iter().any(leads) {
        return refuse("function alias(es)");
    }
    Ok(())
}

/// Refuses to change what a job runs.
async fn refuse_busy(visit: &Visit, unit: &UnitView) -> Outcome<()> {
    let jobs = visit.folio.bindings(&unit.app, BindingKind::Job).await?;
    let runs = |found: &BindingView| {
        matches!(found.binding.to, BoundTo::Function { unit: to, .. } if to == unit.uid)
            && found.binding.holds()
    };
    if jobs.iter().any(runs) {
        let text = "The function is still associated with running job(s).";
        return Err(Fault::not_allowed(text));
    }
    Ok(())
}

/// Makes more workers for a version, or fewer.
pub(super) async fn scale(
    visit: &Visit,
    id: &str,
    version: u64,
    wish: fn(u32) -> Scale,
) -> Outcome {
    let id = visit::identity("id", id)?;
    let function = executions::reference(visit, id, version).await?;
    let body = visit.object("scale", &["count"])?;
    let count = body.number("count")?.unwrap_or(1);
    let refused = |why: &str| Err(body::wrong("count", &count.to_string(), why));
    let count = match u32::try_from(count) {
        Ok(0) => return refused("Value should be greater or equal to 1"),
        Ok(count) => count,
        Err(_) => return refused("No worker pool holds so many"),
    };
    visit.folio.scale(&visit.caller, (&visit.app, &function), wish(count)).await?;
    Ok(empty(StatusCode::ACCEPTED))
}

/// Lets all workers of a version go.
pub(super) async fn detach(visit: &Visit, id: &str, version: u64) -> Outcome {
    let function = executions::reference(visit, visit::identity("id", id)?, version).await?;
    visit.folio.scale(&visit.caller, (&visit.app, &function), Scale::Away).await?;
    Ok(empty(StatusCode::ACCEPTED))
}

async fn workers(visit: &Visit, id: &str) -> Outcome {
    visit.only(&["function_version"])?;
    let version = visit.asked("function_version").unwrap_or("0");
    let version = visit::number("function_version", version)?;
    let id = visit::identity("function_id", id)?;
    let Ok(unit) = visit.function(id, To::Read).await else {
        return Ok(found(json!({ "workers": [] })));
    };
    let at = match (version, &unit.draft, &unit.latest) {
        (0, None, Some(latest)) => latest.id.to_string(),
        (0, _, _) => "draft".to_owned(),
        _ => super::versions::one(visit, &unit, version).await?.id.to_string(),
    };
    let status = visit.folio.status().runtime.unwrap_or_default();
    let mine = status.workers.iter().filter(|worker| {
        worker.app.as_ref() == Some(&unit.app)
            && worker.function.as_ref() == Some(&unit.name)
            && worker.version.as_deref() == Some(&at)
    });
    let workers: Vec<Value> = mine
        .map(|worker| {
            let name = format!("{}-{}", unit.name, worker.pid.unwrap_or_default());
            json!({ "function_id": id, "function_version": version, "worker_name": name })
        })
        .collect();
    Ok(found(json!({ "workers": workers })))
}

/// A function with what has to be asked for: its runtime and how often it ran.
pub(super) async fn shown(visit: &Visit, unit: &UnitView) -> Outcome<Value> {
    let environment = showing::spec(unit).map(|spec| spec.environment.clone());
    let runtimes = runtimes::all(visit, &unit.app).await?;
    let runtime = runtimes.iter().find(|runtime| Some(&runtime.view.name) == environment.as_ref());
    let counts = visit.folio.execution_counts(unit.uid).await?;
    let count = counts.get(&0).copied().unwrap_or_default();
    Ok(showing::function(unit, runtime.map(|runtime| runtime.id), count))
}

pub(super) fn key(unit: &UnitView) -> UnitKey {
    UnitKey { app: unit.app.clone(), kind: Kind::Function, name: unit.name.clone() }
}

/// The package's checksum, if it is a zip and the one that was announced.
fn checked(package: &Bytes, announced: Option<&str>) -> Outcome<String> {
    let found = hex::encode(Md5::digest(package));
    if announced.is_some_and(|announced| !announced.eq_ignore_ascii_case(&found)) {
        return Err(Fault::invalid("Package md5 mismatch."));
    }
    match package.get(..4) {
        Some(b"PK\x03\x04") => Ok(found),
        _ => Err(Fault::invalid("Package is not a valid ZIP package.")),
    }
}

async fn kept(visit: &Visit, package: Bytes) -> Outcome<ContentRef> {
    Ok(ContentRef::Archive { archive: visit.folio.keep_file(package).await? })
}

/// A name that folio can have, as like to a wished one as can be.
pub(super) fn plain(wished: &str, otherwise: &str) -> Name {
    let dashed = wished.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let mut short = dashed.trim_matches('-').chars().take(50).collect::<String>();
    short.truncate(short.trim_end_matches('-').len());
    let fallback = || otherwise.parse().expect("a plain word is a name");
    short.parse().unwrap_or_else(|_| fallback())
}

/// Another name like one that is taken.
pub(super) fn another(name: &Name) -> Name {
    let more = Uuid::new_v4().simple().to_string();
    let start: String = name.as_str().chars().take(50).collect();
    format!("{start}-{}", &more[..5]).parse().unwrap_or_else(|_| name.clone())
}

/// Notes of a function, by name.
pub(super) type Notes = BTreeMap<String, String>;
