//! Runtimes: environments, those that are built in among them.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use folio_core::Explain as _;
use folio_core::environment::{EnvironmentFields, EnvironmentView};
use folio_core::ports::Page;
use folio_core::ports::runtime::WorkerStatus;
use folio_core::request::Onto;
use folio_model::{AppName, Kind, Name, RuntimeKind, UnitKey};
use serde_json::{Value, json};
use uuid::Uuid;

use super::body::Object;
use super::fault::{Fault, Outcome, empty, found, made};
use super::showing::{self, DESCRIPTION, NAME, identity, moment, note};
use super::visit::{self, Visit};

const PUBLIC: &str = "qinling.openstack.org/is-public";
const TRUSTED: &str = "qinling.openstack.org/trusted";

/// Runtimes that are there from the start.
const BUILT_IN: [&str; 2] = ["python", "nodejs"];

/// A runtime as it stands.
pub(super) struct Runtime {
    pub(super) id: Uuid,
    pub(super) view: EnvironmentView,
}

pub(super) async fn dispatch(visit: &Visit, rest: &[&str]) -> Outcome {
    match (visit.method.as_str(), rest) {
        ("GET", []) => list(visit).await,
        ("POST", []) => create(visit).await,
        ("GET", [id]) => show(visit, id).await,
        ("PUT", [id]) => update(visit, id).await,
        ("DELETE", [id]) => delete(visit, id).await,
        ("GET", [id, "pool"]) => pool(visit, id).await,
        _ => Err(visit.nowhere()),
    }
}

async fn list(visit: &Visit) -> Outcome {
    visit.only(&[])?;
    let mut runtimes = Vec::new();
    for runtime in all(visit, &visit.app).await? {
        runtimes.push(shown(visit, &runtime).await?);
    }
    Ok(found(json!({ "runtimes": runtimes })))
}

async fn create(visit: &Visit) -> Outcome {
    let known = ["image", "name", "description", "is_public", "trusted"];
    let body = visit.object("runtime", &known)?;
    let missing = || Fault::invalid("Required param is missing. Required: {'image'}");
    let image = body.text("image")?.ok_or_else(missing)?;
    let mut notes = words(visit, &body)?;
    for (field, key) in [("is_public", PUBLIC), ("trusted", TRUSTED)] {
        notes.extend(body.truth(field)?.map(|truth| (key.to_owned(), truth.to_string())));
    }
    let fields = EnvironmentFields {
        runtime: Some(language(&image)?),
        image: Some(image),
        annotations: notes,
        ..EnvironmentFields::default()
    };
    let wished = body.text("name")?.unwrap_or_else(|| "runtime".to_owned());
    let mut key = key(&visit.app, super::functions::plain(&wished, "runtime"));
    let mut done = set(visit, &key, fields.clone()).await;
    if done.as_ref().is_err_and(|fault| fault.status == StatusCode::CONFLICT) {
        key.name = super::functions::another(&key.name);
        done = set(visit, &key, fields).await;
    }
    done?;
    let runtime = by_name(visit, &visit.app, &key.name).await?;
    let mut body = shown(visit, &runtime).await?;
    body["status"] = json!("creating");
    Ok(made(body))
}

/// What people call a runtime, and say of it.
fn words(visit: &Visit, body: &Object) -> Outcome<BTreeMap<String, String>> {
    let mut notes = BTreeMap::new();
    for (field, note) in [("name", NAME), ("description", DESCRIPTION)] {
        let Some(text) = body.text(field)? else { continue };
        visit.folio.check_text(field, &text)?;
        notes.insert(note.to_owned(), text);
    }
    Ok(notes)
}

async fn set(visit: &Visit, key: &UnitKey, fields: EnvironmentFields) -> Outcome<()> {
    let onto = (Onto::Nothing, None);
    visit.folio.set_environment(&visit.caller, key, fields, onto).await?;
    Ok(())
}

/// What an image runs. folio pulls none: its name says which language is meant.
fn language(image: &str) -> Outcome<RuntimeKind> {
    let name = image.rsplit('/').next().unwrap_or(image).to_ascii_lowercase();
    if name.contains("python") {
        Ok(RuntimeKind::Python)
    } else if name.contains("node") {
        Ok(RuntimeKind::Nodejs)
    } else {
        let text = format!(
            "Image {image} is not supported: this server has no container runtime, and runs \
             python and nodejs only."
        );
        Err(Fault::invalid(text))
    }
}

async fn show(visit: &Visit, id: &str) -> Outcome {
    let runtime = by_id(visit, visit::identity("id", id)?).await?;
    Ok(found(shown(visit, &runtime).await?))
}

async fn update(visit: &Visit, id: &str) -> Outcome {
    let runtime = by_id(visit, visit::identity("id", id)?).await?;
    let known = ["name", "description", "image", "is_public", "trusted"];
    let body = visit.object("runtime", &known)?;
    let image = body.text("image")?;
    let changed =
        image.as_ref().is_some_and(|image| runtime.view.spec.image.as_ref() != Some(image));
    if changed {
        refuse_at_work(visit, &runtime).await?;
    }
    let annotations = words(visit, &body)?;
    let kind = image.as_deref().map(language).transpose()?;
    let fields =
        EnvironmentFields { runtime: kind, image, annotations, ..EnvironmentFields::default() };
    let key = key(&visit.app, runtime.view.name.clone());
    // Of those who change the image at the same time one comes first; to the others it is being upgraded.
    let seen = changed.then_some(runtime.view.revision);
    let done = visit.folio.set_environment(&visit.caller, &key, fields, (Onto::Existing, seen));
    done.await.map_err(|error| match error.code().0 {
        "stale" => Fault::new(StatusCode::CONFLICT, format!("Runtime {id} is not available.")),
        _ => error.into(),
    })?;
    let mut body = shown(visit, &by_name(visit, &visit.app, &key.name).await?).await?;
    if changed {
        body["status"] = json!("upgrading");
    }
    Ok(found(body))
}

/// Refuses to put another image under functions that have workers.
async fn refuse_at_work(visit: &Visit, runtime: &Runtime) -> Outcome<()> {
    let status = visit.folio.status().runtime.unwrap_or_default();
    let serves = |worker: &WorkerStatus| {
        let mine = worker.app.as_ref() == Some(&visit.app) && worker.function.is_some();
        mine && worker.environment == runtime.view.name
    };
    if status.workers.iter().any(serves) {
        let text = format!("Runtime {} is still in use by functions.", runtime.id);
        return Err(Fault::not_allowed(text));
    }
    Ok(())
}

async fn delete(visit: &Visit, id: &str) -> Outcome {
    let runtime = by_id(visit, visit::identity("id", id)?).await?;
    let functions = visit.folio.list(&visit.app, Kind::Function).await?;
    let uses = |unit| showing::spec(unit).is_some_and(|spec| spec.environment == runtime.view.name);
    if functions.iter().any(uses) {
        return Err(Fault::not_allowed(format!("Runtime {id} is still in use.")));
    }
    if BUILT_IN.contains(&runtime.view.name.as_str()) {
        return Err(Fault::not_allowed(format!("Runtime {id} is built in.")));
    }
    let key = key(&visit.app, runtime.view.name);
    visit.folio.delete_environment(&visit.caller, &key, None).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

async fn pool(visit: &Visit, id: &str) -> Outcome {
    let runtime = by_id(visit, visit::identity("id", id)?).await?;
    let status = visit.folio.status().runtime.unwrap_or_default();
    let mine = status.workers.iter().filter(|one| one.environment == runtime.view.name);
    let (total, available) = mine.fold((0, 0), |(total, free), worker| {
        (total + 1, free + u32::from(worker.function.is_none()))
    });
    let capacity = json!({ "total": total, "available": available });
    Ok(found(json!({ "name": runtime.id, "capacity": capacity })))
}

/// The runtimes of a project: its environments that run python or nodejs.
pub(super) async fn all(visit: &Visit, app: &AppName) -> Outcome<Vec<Runtime>> {
    let units = visit.folio.list(app, Kind::Environment).await?;
    let views = visit.folio.environments(app).await?;
    let views = views
        .into_iter()
        .filter(|view| matches!(view.spec.runtime, RuntimeKind::Python | RuntimeKind::Nodejs));
    let id = |view: &EnvironmentView| {
        let made = units.iter().find(|unit| unit.name == view.name);
        // What is built in keeps its identity when somebody describes it in other words.
        let made = made.filter(|unit| !BUILT_IN.contains(&unit.name.as_str()));
        made.map_or_else(|| identity(&format!("runtime {}", view.name)), |unit| unit.uid.0)
    };
    Ok(views.map(|view| Runtime { id: id(&view), view }).collect())
}

pub(super) async fn by_id(visit: &Visit, id: Uuid) -> Outcome<Runtime> {
    let found = all(visit, &visit.app).await?.into_iter().find(|runtime| runtime.id == id);
    found.ok_or_else(|| Fault::no("Runtime", &id.to_string()))
}

async fn by_name(visit: &Visit, app: &AppName, name: &Name) -> Outcome<Runtime> {
    let found = all(visit, app).await?.into_iter().find(|runtime| runtime.view.name == *name);
    found.ok_or_else(|| Fault::no("Runtime", name.as_str()))
}

fn key(app: &AppName, name: Name) -> UnitKey {
    UnitKey { app: app.clone(), kind: Kind::Environment, name }
}

async fn shown(visit: &Visit, runtime: &Runtime) -> Outcome<Value> {
    let view = &runtime.view;
    let said = |name: &str| note(&view.spec.bag, name).map(str::to_owned);
    let truth = |name: &str| said(name).is_none_or(|text| text == "true");
    let (created, updated) = match &view.version {
        Some(latest) => {
            let key = key(&view.app, view.name.clone());
            let first = visit.folio.versions(&key, Page { after: 0, limit: 1 }).await?;
            let first = first.first().map_or(latest.created_at, |first| first.created_at);
            let changed = latest.number.get() > 1;
            (Some(moment(first)), changed.then(|| moment(latest.created_at)))
        }
        None => (Some("1970-01-01T00:00:00Z".to_owned()), None),
    };
    Ok(json!({
        "id": runtime.id,
        "name": said(NAME).unwrap_or_else(|| view.name.to_string()),
        "image": view.spec.image.clone().unwrap_or_else(|| view.name.to_string()),
        "description": said(DESCRIPTION),
        "is_public": truth(PUBLIC),
        "trusted": truth(TRUSTED),
        "status": "available",
        "project_id": view.app,
        "created_at": created,
        "updated_at": updated,
    }))
}
