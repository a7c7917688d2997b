//! Kinds whose objects are no units: where they come from, and what writing one means. Everything else about them is
//! the same for all: how they are read, selected, patched, marked, watched and shown as rows.
//!
//! A kind is one [`Mapping`] in `kinds` and a line in `resource`.

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use folio_core::object::identity::{identity, made_in};
use folio_core::ports::Plaintext;
use folio_core::release::{Released, Remark};
use folio_core::request::Run;
use folio_core::view::Done;
use folio_core::{Caller, Folio};
use folio_kinds::spec::{ASKED, Asked};
use folio_model::{
    Actor, AppName, Kind, Labels, Marks, Name, Place, Pointer, Right, SecretKey, Timestamp,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::object::written;
use super::resource::{READ, Source};
use super::status::Status;
use super::table::Column;
use super::target::Target;

/// A kind whose objects are no units.
#[async_trait]
pub(crate) trait Mapping: fmt::Debug + Send + Sync {
    /// What a client may ask for.
    fn verbs(&self) -> &'static [&'static str] {
        READ
    }

    /// What a row shows, besides the name.
    fn columns(&self) -> Vec<Column>;

    /// The right without which it is not written.
    fn needs(&self, _verb: &str) -> Right {
        Right::Deploy
    }

    /// Whether its objects are in apps; else they are the apps.
    fn is_namespaced(&self) -> bool {
        true
    }

    /// Whether its objects change without an entry of the ledger.
    fn is_lively(&self) -> bool {
        false
    }

    /// Whether a new object is named by folio.
    fn draws_names(&self) -> bool {
        false
    }

    /// Whether a spec that was written is still what an object of this kind says, in other words.
    fn still_says(&self, shown: &Item, _asked: &Value, since: u64) -> bool {
        shown.revision().is_some_and(|revision| revision <= since)
    }

    /// The identity of an object that is to be made.
    fn identity(&self, (kind, app): (&str, &AppName), object: &Value) -> Uuid {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        identity(&[kind, app.as_str(), name])
    }

    /// Puts what people may see in the place of what a client sent and nobody may, and returns the latter, by key. What
    /// is sent is an object, or what is laid over one.
    fn veil(&self, _of: &Veiling<'_>, _sent: &mut Value) -> Result<Hidden, Status> {
        Ok(Hidden::new())
    }

    /// Adds what an object of this kind says where nothing else is said.
    fn complete(&self, _before: Option<&Value>, _after: &mut Value) {}

    /// What else is kept of an object, as annotations that nobody sees: the words of its spec.
    fn kept_beside(&self, object: &Value) -> Labels {
        let asked = Asked::of(object).map(|asked| (ASKED.to_owned(), asked.text()));
        asked.into_iter().collect()
    }

    /// Takes what is kept beside an object into what is shown of it.
    fn show_kept(&self, _item: &mut Item) {}

    /// The objects of an app.
    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status>;

    /// Makes an object what it is to be, and says what that did.
    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        Err(Status::method_not_allowed(put.target.resource.kind))
    }

    /// Removes an object.
    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        Err(Status::method_not_allowed(remove.target.resource.kind))
    }
}

/// What is to be listed.
pub(crate) struct Listing<'a> {
    pub(crate) folio: &'a Folio,
    pub(crate) target: &'a Target,
    pub(crate) app: &'a AppName,
}

/// An object that is to be something.
pub(crate) struct Put<'a> {
    pub(crate) folio: &'a Folio,
    pub(crate) caller: &'a Caller,
    pub(crate) target: &'a Target,
    pub(crate) name: &'a str,
    /// What is there.
    pub(crate) before: Option<&'a Item>,
    /// The whole object as it is to be.
    pub(crate) after: &'a Value,
    /// What is not in it because nobody may see it.
    pub(crate) hidden: &'a Hidden,
}

/// Values that nobody may see, by key.
pub(crate) type Hidden = BTreeMap<SecretKey, Plaintext>;

/// What was sent, and where to.
pub(crate) struct Veiling<'a> {
    pub(crate) folio: &'a Folio,
    pub(crate) target: &'a Target,
    pub(crate) name: &'a str,
    /// What is there, as it is shown.
    pub(crate) before: Option<&'a Value>,
}

/// An object that is to go.
pub(crate) struct Remove<'a> {
    pub(crate) folio: &'a Folio,
    pub(crate) caller: &'a Caller,
    pub(crate) target: &'a Target,
    pub(crate) found: &'a Item,
}

/// What became of a put.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// The name of what was made, where folio drew it.
    pub(crate) name: Option<String>,
    pub(crate) warnings: Vec<String>,
}

impl Made {
    /// What a change did that its author may not expect.
    pub(crate) fn told<T>(put: &Put<'_>, done: &Done<T>) -> Self {
        let warnings = if put.is_dry() { Vec::new() } else { released(done) };
        Self { name: None, warnings }
    }
}

/// What the release that a change made did, as warnings.
pub(crate) fn released<T>(done: &Done<T>) -> Vec<String> {
    let remarks = done.release.iter().flat_map(Released::remarks);
    remarks
        .map(|Remark { text, hint }| hint.map_or(text.clone(), |hint| format!("{text}; {hint}")))
        .collect()
}

impl Put<'_> {
    pub(crate) fn app(&self) -> Result<&AppName, Status> {
        self.target.app()
    }

    /// What the object says.
    pub(crate) fn spec<T: DeserializeOwned>(&self) -> Result<T, Status> {
        let spec = T::deserialize(&self.after["spec"]);
        spec.map_err(|error| Status::invalid("spec", format!("spec: Invalid value: {error}")))
    }

    pub(crate) fn is_dry(&self) -> bool {
        self.caller.run == Run::Dry
    }

    /// That a field cannot be what it is.
    pub(crate) fn wrong(field: &str, what: impl fmt::Display) -> Status {
        Status::invalid(field, format!("{field}: Invalid value: {what}"))
    }

    /// That a field says nothing, or not enough.
    pub(crate) fn required(field: &str, what: &str) -> Status {
        Status::invalid(field, format!("{field}: Required value: {what}"))
    }

    /// The name of the object as something that has rules for names.
    pub(crate) fn named<T: std::str::FromStr>(&self) -> Result<T, Status>
    where
        T::Err: fmt::Display,
    {
        let name = self.name;
        name.parse().map_err(|error: T::Err| {
            Self::wrong("metadata.name", format_args!("\"{name}\": {error}"))
        })
    }
}

/// Something to show.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) app: Option<AppName>,
    pub(crate) name: String,
    /// Its identity, where that is not its names'.
    pub(crate) uid: Option<Uuid>,
    /// An identity that no other of its name ever has.
    pub(crate) own: Option<Uuid>,
    /// The pointers it shows, each with the entry that last moved it.
    pub(crate) pointers: Vec<(Pointer, u64)>,
    /// The entry that last changed it, where that is no pointer's; none for what no entry changes.
    pub(crate) changed_in: Option<u64>,
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) labels: Vec<(&'static str, String)>,
    /// Everything but what identifies it.
    pub(crate) body: Value,
    /// What is said about it, and the entry that last changed that.
    pub(crate) marks: Option<(Box<Marks>, u64)>,
}

impl Item {
    /// An object of an app.
    pub(crate) fn new(app: &AppName, name: impl Into<String>, body: Value) -> Self {
        Self {
            app: Some(app.clone()),
            name: name.into(),
            uid: None,
            own: None,
            pointers: Vec::new(),
            changed_in: None,
            created_at: None,
            labels: Vec::new(),
            body,
            marks: None,
        }
    }

    /// The entry that last changed it, what is said about it aside.
    pub(crate) fn revision(&self) -> Option<u64> {
        self.pointers.iter().map(|(_, revision)| *revision).chain(self.changed_in).max()
    }

    /// Under what it is kept what is said about it.
    pub(crate) fn identity(&self, kind: &str) -> Uuid {
        let app = self.app.as_ref().map_or("", AppName::as_str);
        self.uid.unwrap_or_else(|| identity(&[kind, app, &self.name]))
    }

    /// What tells it from whatever had its name before, as far as that is known: which entry made a pointer is not kept
    /// with it, only with what was said about it then.
    fn shown_identity(&self, kind: &str) -> Uuid {
        let names = self.identity(kind);
        // The name of an app is not given again.
        let marks = self.marks.as_ref().filter(|_| self.app.is_some());
        let entry = marks.and_then(|(marks, _)| marks.made_in);
        match (self.own, entry) {
            (Some(own), _) => own,
            (None, Some(entry)) => made_in(names, entry),
            (None, None) => names,
        }
    }

    /// The object, as it is at a revision of everything.
    pub(crate) fn object(&self, target: &Target, head: u64) -> Value {
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), self.name.clone().into());
        if let Some(app) = &self.app {
            metadata.insert("namespace".to_owned(), app.as_str().into());
        }
        let uid = self.shown_identity(target.resource.kind);
        metadata.insert("uid".to_owned(), uid.to_string().into());
        let marked = self.marks.as_ref().map(|(_, revision)| *revision);
        let revision = self.revision().max(marked).unwrap_or(head).max(1);
        metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
        let marks = self.marks.as_ref().map(|(marks, _)| &**marks);
        // What is said about it may have come later than itself, and a canary begins anew.
        let created = marks.map(|marks| marks.since).into_iter().chain(self.created_at).min();
        let created = created.map_or(Value::Null, |at| written(at).into());
        metadata.insert("creationTimestamp".to_owned(), created);
        let mut labels: Labels =
            self.labels.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let mut annotations = Labels::new();
        if let Some(marks) = marks {
            labels.extend(marks.labels.clone());
            annotations.extend(marks.annotations.clone());
            annotations.remove(ASKED);
        }
        for (key, said) in [("labels", labels), ("annotations", annotations)] {
            if !said.is_empty() {
                let said = said.into_iter().map(|(key, value)| (key, value.into()));
                metadata.insert(key.to_owned(), Value::Object(said.collect()));
            }
        }
        if let Some(marks) = marks.filter(|marks| !marks.managers.is_empty()) {
            metadata.insert("managedFields".to_owned(), marks.managers.clone().into());
        }
        let mut object = Map::new();
        object.insert("apiVersion".to_owned(), target.api_version().into());
        object.insert("kind".to_owned(), target.resource.kind.into());
        object.insert("metadata".to_owned(), Value::Object(metadata));
        if let Value::Object(body) = &self.body {
            object.extend(body.clone());
        }
        Value::Object(object)
    }

    /// Takes the words in which its spec was written, where they still say what it is, and in any case the fields that
    /// nobody knows.
    fn take_words(&mut self, mapping: &dyn Mapping, version: &str) {
        let Some((marks, since)) = &self.marks else { return };
        let Some(asked) = marks.annotations.get(ASKED).and_then(|text| Asked::read(text)) else {
            return;
        };
        if mapping.still_says(self, asked.spec(), *since) {
            self.body["spec"] = asked.spec().clone();
        }
        if let Value::Object(body) = &mut self.body {
            asked.restore(version, body);
        }
    }
}

/// Lists the objects of a resource that are no units, and says at which revision they were so.
pub(crate) async fn list(folio: &Folio, target: &Target) -> Result<(u64, Vec<Item>), Status> {
    let Source::Mapped(mapping) = target.resource.source else { return Ok((0, Vec::new())) };
    let head = *folio.head().borrow();
    let mut items = Vec::new();
    for app in apps(folio, target).await? {
        let mut of_app = mapping.list(&Listing { folio, target, app: &app }).await?;
        if let Some(kind) = target.resource.shows {
            identify(folio, &app, kind, &mut of_app).await?;
        }
        if target.resource.allows("patch") {
            mark(folio, target, &app, &mut of_app).await?;
            let version = target.api_version();
            for item in &mut of_app {
                item.take_words(mapping, &version);
                mapping.show_kept(item);
            }
        }
        items.append(&mut of_app);
    }
    Ok((head, items))
}

/// Finds an object that is no unit.
pub(crate) async fn one(
    folio: &Folio,
    target: &Target,
    name: &str,
) -> Result<Option<(u64, Item)>, Status> {
    let (head, items) = list(folio, target).await?;
    let mut found: Vec<_> = items.into_iter().filter(|item| item.name == name).collect();
    if found.len() > 1 {
        let what = format!(
            "{} objects are called \"{name}\" here; they can be told apart by `folio`",
            found.len()
        );
        return Err(Status::new(409, "Conflict", what).because([]));
    }
    Ok(found.pop().map(|item| (head, item)))
}

/// Adds which units objects of an app are, and when these were made: what they show is of their newest versions.
async fn identify(
    folio: &Folio,
    app: &AppName,
    kind: Kind,
    items: &mut [Item],
) -> Result<(), Status> {
    let made = folio.units_made(app, kind).await?;
    for item in items {
        let name = item.name.parse::<Name>().ok();
        if let Some((unit, at)) = name.and_then(|name| made.get(&name)) {
            (item.own, item.created_at) = (Some(unit.0), Some(*at));
        }
    }
    Ok(())
}

/// Adds what is said about objects of an app.
async fn mark(
    folio: &Folio,
    target: &Target,
    app: &AppName,
    items: &mut [Item],
) -> Result<(), Status> {
    let kind = target.resource.kind;
    let pointers = items.iter().map(|item| marks_of(app, item.identity(kind))).collect();
    for (item, found) in items.iter_mut().zip(folio.places(pointers).await?) {
        if let Some((Place::Marks(marks), revision)) = found {
            item.marks = Some((marks, revision));
        }
    }
    Ok(())
}

/// Where it is kept what is said about an object.
pub(crate) fn marks_of(app: &AppName, object: Uuid) -> Pointer {
    Pointer::Marks { app: app.clone(), object }
}

/// The apps that a request is about, as far as they are there.
async fn apps(folio: &Folio, target: &Target) -> Result<Vec<AppName>, Status> {
    let all = folio.apps(&Caller::new(Actor::system())).await?;
    let is_meant = |app: &AppName| target.namespace.as_ref().is_none_or(|own| own == app);
    Ok(all.into_iter().map(|summary| summary.app).filter(is_meant).collect())
}
