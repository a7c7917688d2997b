//! What folio shows of itself as objects that are no units: apps as namespaces, what happened as events, and folio's own
//! kinds of versions, trackers, pointers and releases.

use folio_core::app::AppSummary;
use folio_core::{Caller, Folio};
use folio_model::{Actor, AppName, Digest, Timestamp};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::object::written;
use super::resource::Source;
use super::status::Status;
use super::target::Target;
use super::{history, settings};

/// Something to show.
pub(crate) struct Item {
    pub(crate) app: Option<AppName>,
    pub(crate) name: String,
    pub(crate) revision: u64,
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) labels: Vec<(&'static str, String)>,
    /// Everything but what identifies it.
    pub(crate) body: Value,
}

impl Item {
    /// The object, in the version that a kind is written in here.
    pub(crate) fn object(self, target: &Target) -> Value {
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), self.name.clone().into());
        let app = self.app.as_ref().map(AppName::as_str);
        if let Some(app) = app {
            metadata.insert("namespace".to_owned(), app.into());
        }
        let uid = identity(&[target.resource.kind, app.unwrap_or_default(), &self.name]);
        metadata.insert("uid".to_owned(), uid.to_string().into());
        metadata.insert("resourceVersion".to_owned(), self.revision.to_string().into());
        let created = self.created_at.map_or(Value::Null, |at| written(at).into());
        metadata.insert("creationTimestamp".to_owned(), created);
        if !self.labels.is_empty() {
            let labels = self.labels.into_iter().map(|(key, value)| (key.to_owned(), value.into()));
            metadata.insert("labels".to_owned(), Value::Object(labels.collect()));
        }
        let mut object = Map::new();
        object.insert("apiVersion".to_owned(), target.api_version().into());
        object.insert("kind".to_owned(), target.resource.kind.into());
        object.insert("metadata".to_owned(), Value::Object(metadata));
        if let Value::Object(body) = self.body {
            object.extend(body);
        }
        Value::Object(object)
    }
}

/// An identity that the same names always have.
pub(crate) fn identity(names: &[&str]) -> Uuid {
    let digest = Digest::of(names.join("\0").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// Lists the objects of a resource that are no units.
pub(crate) async fn list(folio: &Folio, target: &Target) -> Result<Vec<Value>, Status> {
    let items = match target.resource.source {
        Source::Unit(..) => Vec::new(),
        Source::Namespaces => namespaces(folio).await?,
        Source::ConfigMaps => each(folio, target, settings::config_maps).await?,
        Source::Secrets => each(folio, target, settings::secrets).await?,
        Source::Events => each(folio, target, history::events).await?,
        Source::View => {
            let mut items = Vec::new();
            for app in apps(folio, target).await? {
                items.extend(history::items(folio, &app, target.resource.kind).await?);
            }
            items
        }
    };
    let mut objects: Vec<_> = items.into_iter().map(|item| item.object(target)).collect();
    if target.resource.allows("patch") {
        overlay(folio, &mut objects).await?;
    }
    Ok(objects)
}

/// Adds what is said about objects.
async fn overlay(folio: &Folio, objects: &mut [Value]) -> Result<(), Status> {
    for object in objects {
        let (app, uid) = (&object["metadata"]["namespace"], &object["metadata"]["uid"]);
        let app = app.as_str().and_then(|app| app.parse::<AppName>().ok());
        let uid = uid.as_str().and_then(|uid| uid.parse::<Uuid>().ok());
        let (Some(app), Some(uid)) = (app, uid) else { continue };
        let found = folio.marked(&app, vec![uid]).await?.pop().flatten();
        let Some((marks, revision)) = found else { continue };
        let metadata = &mut object["metadata"];
        let own = metadata["resourceVersion"].as_str().and_then(|own| own.parse().ok());
        metadata["resourceVersion"] = revision.max(own.unwrap_or(0)).to_string().into();
        metadata["creationTimestamp"] = written(marks.since).into();
        for (key, said) in [("labels", marks.labels), ("annotations", marks.annotations)] {
            for (name, value) in said {
                metadata[key][name] = value.into();
            }
        }
        if !marks.managers.is_empty() {
            metadata["managedFields"] = marks.managers.into();
        }
    }
    Ok(())
}

async fn each<F>(folio: &Folio, target: &Target, list: F) -> Result<Vec<Item>, Status>
where
    F: AsyncFn(&Folio, &AppName) -> Result<Vec<Item>, Status>,
{
    let mut items = Vec::new();
    for app in apps(folio, target).await? {
        items.extend(list(folio, &app).await?);
    }
    Ok(items)
}

/// The apps that a request is about, as far as they are there.
async fn apps(folio: &Folio, target: &Target) -> Result<Vec<AppName>, Status> {
    let all = folio.apps(&Caller::new(Actor::system())).await?;
    let is_meant = |app: &AppName| target.namespace.as_ref().is_none_or(|own| own == app);
    Ok(all.into_iter().map(|summary| summary.app).filter(is_meant).collect())
}

async fn namespaces(folio: &Folio) -> Result<Vec<Item>, Status> {
    let head = *folio.head().borrow();
    let apps = folio.apps(&Caller::new(Actor::system())).await?;
    Ok(apps.into_iter().map(|summary| namespace(summary, head)).collect())
}

pub(crate) fn namespace(summary: AppSummary, head: u64) -> Item {
    let name = summary.app.to_string();
    Item {
        app: None,
        labels: vec![("kubernetes.io/metadata.name", name.clone())],
        name,
        revision: head.max(1),
        created_at: summary.changed_at,
        body: json!({ "spec": { "finalizers": [] }, "status": { "phase": "Active" } }),
    }
}
