//! Creates and changes objects that are no units. What a request makes of an object is worked out on what is there and
//! put only if that is still so; what is said about it goes into the same entry.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use folio_core::Caller;
use folio_core::request::{Marking, Run};
use folio_model::{AppName, Labels};
use serde_json::Value;

use super::body::{self, PatchKind};
use super::managed::{self, Author, Others};
use super::mapping::{self, Hidden, Item, Made, Mapping, Put, Veiling, marks_of};
use super::resource::Source;
use super::status::Status;
use super::target::Target;
use super::write::{TRIES_MAX, with_warnings};
use super::{Asked, by, checks, object, patch};

/// Creates or changes an object. A request that names no revision is worked out again if something moved meanwhile.
pub(super) async fn change(
    asked: Asked,
    verb: &str,
    mapping: &'static dyn Mapping,
) -> Result<Response, Status> {
    let mut tries = 0;
    loop {
        tries += 1;
        match step(&asked, verb, mapping).await {
            Err((status, Seen::Nothing)) if status.is_stale() && tries < TRIES_MAX => {}
            Err((status, _)) => {
                let made = || body::object(&asked.parts.headers, &asked.bytes).ok();
                let made = made().filter(|_| asked.target.name.is_none());
                let given = made.as_ref().and_then(|made| made["metadata"]["name"].as_str());
                let name = asked.target.name.as_deref().or(given).unwrap_or_default();
                let resource = asked.target.resource;
                return Err(status.about(resource.group, resource.plural, name));
            }
            Ok(response) => return Ok(response),
        }
    }
}

/// Whether a client says which revision it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Revision,
    Nothing,
}

async fn step(
    asked: &Asked,
    verb: &str,
    mapping: &'static dyn Mapping,
) -> Result<Response, (Status, Seen)> {
    let (folio, target) = (&asked.folio, &asked.target);
    let unseen = |status| (status, Seen::Nothing);
    let found = match &target.name {
        Some(name) => mapping::one(folio, target, name).await.map_err(unseen)?,
        None => None,
    };
    let before = found.as_ref().map(|(head, item)| item.object(target, *head));
    let (mut after, hidden) = wanted(asked, verb, before.as_ref(), mapping).map_err(unseen)?;
    let seen = match (&before, after["metadata"]["resourceVersion"].as_str()) {
        (_, None | Some("")) => Seen::Nothing,
        // What a patch leaves alone is what was read just now.
        (Some(before), said)
            if verb == "patch" && before["metadata"]["resourceVersion"].as_str() == said =>
        {
            Seen::Nothing
        }
        _ => Seen::Revision,
    };
    let seeing = |status| (status, seen);
    name_new(asked, before.as_ref(), mapping, &mut after).map_err(seeing)?;
    let name = after["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    check(asked, &name, before.as_ref(), &after).map_err(seeing)?;
    let item = found.as_ref().map(|(_, item)| item);
    let marks = match item {
        Some(item) => item.marks.as_ref().map(|(_, revision)| *revision),
        None if mapping.draws_names() => None,
        None => unclaimed(asked, mapping, &name, &after).await.map_err(seeing)?,
    };
    let mut warnings =
        checks::unknown_fields(target, &asked.query, before.as_ref(), &after).map_err(seeing)?;
    let caller = caller(asked, &name, (item, marks), &after).map_err(seeing)?;
    let (caller, hidden) = (&caller, &hidden);
    let put = Put { folio, caller, target, name: &name, before: item, after: &after, hidden };
    let Made { name: drawn, warnings: told } =
        mapping.put(&put).await.map_err(|status| seeing(status.of_written()))?;
    warnings.extend(told);
    let shown = match asked.query.dry_run {
        true => rehearsed(asked, before.as_ref(), after),
        false => {
            let name = drawn.unwrap_or(name);
            let now = mapping::one(folio, target, &name).await.map_err(seeing)?;
            let (head, item) = now.ok_or_else(|| seeing(target.not_found(&name)))?;
            item.object(target, head)
        }
    };
    let code = if before.is_none() { StatusCode::CREATED } else { StatusCode::OK };
    Ok(with_warnings((code, Json(shown)).into_response(), &warnings))
}

/// Sees to the name of a new object. Applying makes one under the name in the path.
fn name_new(
    asked: &Asked,
    before: Option<&Value>,
    mapping: &dyn Mapping,
    after: &mut Value,
) -> Result<(), Status> {
    let metadata = &after["metadata"];
    let given = asked.target.name.as_deref().or(metadata["name"].as_str());
    let is_named = given.is_some_and(|name| !name.is_empty());
    let prefix = metadata["generateName"].as_str().unwrap_or_default();
    match (before.is_none() && mapping.draws_names(), is_named) {
        (true, true) => {
            let kind = asked.target.resource.kind;
            let what = format!(
                "metadata.name: Forbidden: folio names each {kind}; give `generateName` instead"
            );
            Err(Status::invalid("metadata.name", what))
        }
        (true, false) => Ok(()),
        (false, false) if !prefix.is_empty() => {
            let suffix = asked.folio.draw_token().reveal();
            after["metadata"]["name"] = format!("{prefix}{}", &suffix[6..11]).into();
            Ok(())
        }
        (false, _) => checks::name(after).map(|_| ()),
    }
}

/// Sees that nothing has the name of a new object. Returns the entry that last changed what is said under its identity,
/// which may be left of another that had the name.
async fn unclaimed(
    asked: &Asked,
    mapping: &dyn Mapping,
    name: &str,
    object: &Value,
) -> Result<Option<u64>, Status> {
    let target = &asked.target;
    let app = &place(target, name)?;
    let pointer = marks_of(app, mapping.identity((target.resource.kind, app), object));
    let marks = asked.folio.places(vec![pointer]).await?.pop().flatten();
    // Looked for after that: whoever makes it from now on moves what is said about it.
    match (mapping::one(&asked.folio, target, name).await?, &target.name) {
        (None, _) => Ok(marks.map(|(_, revision)| revision)),
        (Some(_), Some(name)) => Err(Status::modified(target, name)),
        (Some(_), None) => {
            let what = format!("{} \"{name}\" already exists", target.resource.qualified());
            Err(Status::new(409, "AlreadyExists", what))
        }
    }
}

/// The app in which it is kept what is said about an object. A namespace is an app itself.
fn place(target: &Target, name: &str) -> Result<AppName, Status> {
    match &target.namespace {
        Some(app) => Ok(app.clone()),
        None => name
            .parse()
            .map_err(|error| Put::wrong("metadata.name", format_args!("\"{name}\": {error}"))),
    }
}

/// What must hold for an object that is put.
fn check(asked: &Asked, name: &str, before: Option<&Value>, after: &Value) -> Result<(), Status> {
    let target = &asked.target;
    checks::identity(target, target.name.as_deref().unwrap_or(name), after)?;
    checks::metadata(before, after)?;
    checks::schema(target, after)?;
    checks::unmoved(target, before, after)
}

/// Who asks, what they have seen, and what they say about the object.
fn caller(
    asked: &Asked,
    name: &str,
    (before, marks): (Option<&Item>, Option<u64>),
    after: &Value,
) -> Result<Caller, Status> {
    let target = &asked.target;
    let mut caller = by(asked.caller.clone(), &asked.parts);
    caller.run = if asked.query.dry_run { Run::Dry } else { Run::Real };
    let app = &place(target, name)?;
    let marking = marking((asked, app), name, before, after)?;
    caller.seen = vec![(marks_of(app, marking.object), marks)];
    let pointers = before.into_iter().flat_map(|item| &item.pointers);
    caller.seen.extend(pointers.map(|(pointer, revision)| (pointer.clone(), Some(*revision))));
    caller.marking = Some(marking);
    Ok(caller)
}

/// What a request wants an object to be, with who wrote what, and what of it nobody may see.
fn wanted(
    asked: &Asked,
    verb: &str,
    before: Option<&Value>,
    mapping: &dyn Mapping,
) -> Result<(Value, Hidden), Status> {
    let headers = &asked.parts.headers;
    let now = object::written(asked.folio.now());
    let (manager, version) = (asked.query.manager(headers), asked.target.api_version());
    let author = Author { manager: &manager, version: &version, now: &now };
    let name = asked.target.name.as_deref().unwrap_or_default();
    let veil = |sent: &mut Value| veil(asked, before, mapping, sent);
    let (mut after, hidden) = if verb == "patch" {
        match (body::patch(headers, &asked.bytes)?, before) {
            ((PatchKind::Apply, mut applied), _) => {
                checks::applier(&asked.query)?;
                checks::identity(&asked.target, name, &applied)?;
                checks::applied(before, &applied)?;
                let hidden = veil(&mut applied)?;
                let others = if asked.query.force { Others::TakeOver } else { Others::Refuse };
                let mut after = managed::apply(before, &applied, author, others)?;
                mapping.complete(before, &mut after);
                return Ok((after, hidden));
            }
            (_, None) => return Err(asked.target.not_found(name)),
            ((PatchKind::Merge, mut patch), Some(before)) => {
                let hidden = veil(&mut patch)?;
                (patch::merge(before, &patch)?, hidden)
            }
            ((PatchKind::Steps, steps), Some(before)) => {
                let mut after = patch::steps(before, &steps)?;
                let hidden = veil(&mut after)?;
                (after, hidden)
            }
        }
    } else {
        if verb == "update" && before.is_none() {
            return Err(asked.target.not_found(name));
        }
        let mut after = body::object(headers, &asked.bytes)?;
        if verb == "create" {
            name_new(asked, before, mapping, &mut after)?;
        }
        let hidden = veil(&mut after)?;
        (after, hidden)
    };
    mapping.complete(before, &mut after);
    managed::update(before, &mut after, author);
    Ok((after, hidden))
}

/// Takes what nobody may see out of what was sent, before anything is made of it.
fn veil(
    asked: &Asked,
    before: Option<&Value>,
    mapping: &dyn Mapping,
    sent: &mut Value,
) -> Result<Hidden, Status> {
    let (folio, target) = (&asked.folio, &asked.target);
    let name = target.name.as_deref().or(sent["metadata"]["name"].as_str());
    let name = name.unwrap_or_default().to_owned();
    mapping.veil(&Veiling { folio, target, name: &name, before }, sent)
}

/// The object as it would be.
fn rehearsed(asked: &Asked, before: Option<&Value>, mut after: Value) -> Value {
    if let Some(app) = &asked.target.namespace {
        after["metadata"]["namespace"] = app.as_str().into();
    }
    if let Some(before) = before {
        for key in ["uid", "resourceVersion", "creationTimestamp"] {
            after["metadata"][key] = before["metadata"][key].clone();
        }
        if !before["status"].is_null() {
            after["status"] = before["status"].clone();
        }
    }
    after
}

fn marking(
    (asked, app): (&Asked, &AppName),
    name: &str,
    before: Option<&Item>,
    object: &Value,
) -> Result<Marking, Status> {
    let labels = |of: &str| {
        let entries = object["metadata"][of].as_object().into_iter().flatten();
        let text =
            |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        entries.filter_map(text).collect::<Labels>()
    };
    let managers = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let mut annotations = labels("annotations");
    if let Source::Mapped(mapping) = asked.target.resource.source {
        annotations.extend(mapping.kept_beside(object));
    }
    let mut own = labels("labels");
    // What folio labels by itself is not said by anybody.
    let drawn = before.into_iter().flat_map(|item| &item.labels);
    for (key, value) in drawn {
        if own.get(*key) == Some(value) {
            own.remove(*key);
        }
    }
    let said = Some((own, annotations, managers));
    let resource = asked.target.resource;
    let identity = match (before, resource.source) {
        (Some(item), _) => item.identity(resource.kind),
        (None, Source::Mapped(mapping)) => mapping.identity((resource.kind, app), object),
        (None, Source::Unit(..)) => return Err(Status::method_not_allowed(resource.kind)),
    };
    Ok(Marking { object: identity, name: called(asked, name), said, is_new: before.is_none() })
}

/// That nothing is said about an object any more.
pub(super) fn forgotten(asked: &Asked, name: &str, before: &Item) -> Marking {
    let object = before.identity(asked.target.resource.kind);
    Marking { object, name: called(asked, name), said: None, is_new: false }
}

/// What an object is called, for people.
fn called(asked: &Asked, name: &str) -> String {
    format!("{} {name}", asked.target.resource.kind.to_lowercase())
}
