//! Aliases, which Qinling addresses by name alone: a name means one function of the project.

use axum::http::StatusCode;
use folio_core::binding::{BindingKind, BindingView, NewBinding, NewTerms, Story};
use folio_core::request::{AliasTarget, Expect};
use folio_core::view::{AliasView, UnitView};
use folio_model::{
    AppName, Binding, BoundTo, FULL_WEIGHT, Kind, Number, Qualifier, Reference, VersionId,
};
use serde_json::{Value, json};

use super::body::Object;
use super::fault::{Fault, Outcome, empty, found, made};
use super::functions::key;
use super::showing::{alias_id, moment};
use super::versions;
use super::visit::{To, Visit};

pub(super) async fn dispatch(visit: &Visit, rest: &[&str]) -> Outcome {
    match (visit.method.as_str(), rest) {
        ("GET", []) => list(visit).await,
        ("POST", []) => create(visit).await,
        ("GET", [name]) => show(visit, name).await,
        ("PUT", [name]) => update(visit, name).await,
        ("DELETE", [name]) => delete(visit, name).await,
        _ => Err(visit.nowhere()),
    }
}

/// An alias and the function it is of.
struct Known {
    unit: UnitView,
    name: String,
    is: Is,
}

/// What an alias is to folio.
enum Is {
    /// A pointer to one version.
    Alias(AliasView),
    /// A name for whatever is newest, which is version 0.
    Newest(Box<BindingView>),
}

impl Known {
    /// The version; 0 is whatever is newest.
    fn number(&self) -> u64 {
        match &self.is {
            Is::Alias(alias) => alias.targets.first().map_or(0, |target| target.number.get()),
            Is::Newest(_) => 0,
        }
    }
}

async fn list(visit: &Visit) -> Outcome {
    visit.only(&["all_projects", "project_id"])?;
    let mut aliases = Vec::new();
    for app in visit.projects().await? {
        for known in all(visit, &app).await? {
            aliases.push(shown(visit, &known).await?);
        }
    }
    Ok(found(json!({ "function_aliases": aliases })))
}

async fn create(visit: &Visit) -> Outcome {
    let body = read(visit)?;
    let missing = || Fault::invalid("Required param is missing. Required: {'function_id', 'name'}");
    let name = body.text("name")?.ok_or_else(missing)?;
    let id = body.uuid("function_id")?.ok_or_else(missing)?;
    let unit = visit.function(id, To::Change).await?;
    let number = body.number("function_version")?.unwrap_or_default();
    versions::known(visit, &unit, number).await?;
    let taken =
        |fields: &str| Fault::invalid(format!("Duplicate entry for function_aliases: [{fields}]"));
    let aliases = all(visit, &visit.app).await?;
    if aliases.iter().any(|known| known.name == name) {
        return Err(taken("'project_id', 'name'"));
    }
    let there = |known: &&Known| known.unit.uid == unit.uid;
    if aliases.iter().filter(there).any(|known| known.number() == number) {
        return Err(taken("'project_id', 'function_id', 'function_version'"));
    }
    let description = body.text("description")?;
    point(visit, (&unit, &name), number, description).await?;
    Ok(made(shown(visit, &one(visit, &name, To::Change).await?).await?))
}

fn read(visit: &Visit) -> Outcome<Object> {
    visit.object("body", &["name", "function_id", "function_version", "description"])
}

/// Points a new alias at a version. What is said about it is why it points there.
async fn point(
    visit: &Visit,
    (unit, name): (&UnitView, &str),
    number: u64,
    description: Option<String>,
) -> Outcome<()> {
    let alias = parsed(name)?;
    if number == 0 {
        let to = BoundTo::Function { unit: unit.uid, number: None };
        let terms = NewTerms::Newest;
        let new = NewBinding { to, name: Some(name.to_owned()), description, terms };
        visit.folio.bind(&visit.caller, &visit.app, new).await?;
        return Ok(());
    }
    let version = Qualifier::Number(versions::as_number(unit, number)?);
    let caller = folio_core::Caller { reason: description, ..visit.caller.clone() };
    let targets = vec![AliasTarget { version, weight: FULL_WEIGHT }];
    visit.folio.point(&caller, (&key(unit), &alias), targets, Expect::Absent).await?;
    Ok(())
}

fn parsed(name: &str) -> Outcome<VersionId> {
    let parsed = name.parse::<VersionId>();
    parsed.map_err(|error| super::body::wrong("name", name, &error.to_string()))
}

async fn show(visit: &Visit, name: &str) -> Outcome {
    Ok(found(shown(visit, &one(visit, name, To::Read).await?).await?))
}

async fn update(visit: &Visit, name: &str) -> Outcome {
    let known = one(visit, name, To::Change).await?;
    let body = read(visit)?;
    let function = body.uuid("function_id")?;
    let number = body.number("function_version")?;
    let description = body.text("description")?;
    let now = known.number();
    let unit = match function {
        Some(id) => visit.function(id, To::Change).await?,
        None => known.unit.clone(),
    };
    if function.is_none() && number.is_none() && description.is_none() {
        return Ok(found(shown(visit, &known).await?));
    }
    let to = number.unwrap_or(now);
    versions::known(visit, &unit, to).await?;
    let others = all(visit, &visit.app).await?.into_iter().filter(|other| other.name != name);
    let mut others = others.filter(|other| other.unit.uid == unit.uid);
    if others.any(|other| other.number() == to) {
        let text = "Duplicate entry for function_aliases: \
                    ['project_id', 'function_id', 'function_version']";
        return Err(Fault::invalid(text));
    }
    let at = (&visit.app, &parsed(name)?);
    visit.folio.lead(&visit.caller, at, (unit.uid, Number::new(to)), description).await?;
    Ok(found(shown(visit, &one(visit, name, To::Change).await?).await?))
}

async fn delete(visit: &Visit, name: &str) -> Outcome {
    let known = one(visit, name, To::Change).await?;
    match &known.is {
        Is::Alias(alias) => {
            let at = (&key(&known.unit), &alias.name);
            visit.folio.delete_alias(&visit.caller, at, Expect::Present).await?;
        }
        Is::Newest(found) => {
            visit.folio.unbind(&visit.caller, (&visit.app, found.id), BindingKind::Newest).await?;
        }
    }
    Ok(empty(StatusCode::NO_CONTENT))
}

/// What an alias leads to, as folio writes it.
pub(super) async fn target(visit: &Visit, name: &str) -> Outcome<Reference> {
    let known = one(visit, name, To::Change).await?;
    let function = Reference::to(known.unit.name.clone());
    Ok(match known.is {
        Is::Alias(alias) => function.at(Qualifier::Named(alias.name)),
        Is::Newest(_) => function,
    })
}

/// An alias by its name: in any project that one sees to be read, one's own first, and only there to be changed.
async fn one(visit: &Visit, name: &str, to: To) -> Outcome<Known> {
    for app in visit.sought(to).await? {
        let found = all(visit, &app).await?.into_iter().find(|known| known.name == name);
        if let Some(found) = found {
            return Ok(found);
        }
    }
    Err(Fault::absent(format!("FunctionAlias not found [name={name}]")))
}

/// The aliases of a project that point at one version each.
async fn all(visit: &Visit, app: &AppName) -> Outcome<Vec<Known>> {
    let units = visit.folio.list(app, Kind::Function).await?;
    let mut all = Vec::new();
    for unit in &units {
        let sole = unit.aliases.iter().filter(|alias| alias.targets.len() == 1);
        all.extend(sole.map(|alias| Known {
            unit: unit.clone(),
            name: alias.name.to_string(),
            is: Is::Alias(alias.clone()),
        }));
    }
    for found in visit.folio.bindings(app, BindingKind::Newest).await? {
        let BoundTo::Function { unit, .. } = found.binding.to else { continue };
        let unit = units.iter().find(|one| one.uid == unit).cloned();
        if let (Some(unit), Some(name)) = (unit, found.binding.name.clone()) {
            all.push(Known { unit, name, is: Is::Newest(Box::new(found)) });
        }
    }
    Ok(all)
}

async fn shown(visit: &Visit, known: &Known) -> Outcome<Value> {
    let (unit, name) = (&known.unit, &known.name);
    let story = match &known.is {
        Is::Alias(alias) => visit.folio.story(unit.uid, &alias.name).await?,
        Is::Newest(found) => {
            let Binding { description, created_at, updated_at, .. } = found.binding.clone();
            Story { description, created_at: Some(created_at), updated_at }
        }
    };
    Ok(json!({
        "id": alias_id(&unit.app, name),
        "name": name,
        "description": story.description,
        "function_id": unit.uid,
        "function_version": known.number(),
        "project_id": unit.app,
        "created_at": story.created_at.map(moment),
        "updated_at": story.updated_at.map(moment),
    }))
}
