//! Watches: every change of selected objects as a line of JSON, from a revision on. All watchers share what was read
//! of the ledger: one reads it, whoever is at the same place gets the same.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use folio_core::Folio;
use folio_core::object::{Became, ChangedUnit, Changes};
use folio_model::AppName;
use futures::stream;
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use super::paging::{ENTRIES_MAX, Pages};
use super::query::Query;
use super::read::{self, Form, Listed};
use super::resource::Source;
use super::status::Status;
use super::target::Target;
use super::{mapping, object};

/// Entries that are read at once.
const PAGE: usize = 500;

/// How long a watch lasts that names no end.
const LASTS: Duration = Duration::from_secs(3600);

/// How long a watcher that takes bookmarks hears nothing.
const SILENCE: Duration = Duration::from_secs(30);

/// How often it is looked at what changes without an entry.
const LOOK: Duration = Duration::from_millis(250);

/// Lists that are remembered of what is no unit, for those who go on from one to watch.
const LISTS: usize = 64;

/// Objects of a list that is remembered.
const LISTED_MAX: usize = 1000;

/// What was read of the ledger, for all who watch.
pub(crate) struct Feed {
    last: Mutex<Option<(u64, Arc<Changes>)>>,
    listed: std::sync::Mutex<VecDeque<Remembered>>,
    closing: watch::Receiver<()>,
    /// The lists that are read page by page.
    pub(crate) pages: Pages,
}

/// A list that somebody was given.
struct Remembered {
    of: String,
    revision: u64,
    items: Vec<Value>,
}

impl Feed {
    /// A feed that ends when the sender of `closing` goes.
    pub(crate) fn new(closing: watch::Receiver<()>) -> Self {
        let (last, listed) = (Mutex::new(None), std::sync::Mutex::default());
        Self { last, listed, closing, pages: Pages::default() }
    }

    /// Changes when the server stops.
    pub(crate) fn closing(&self) -> watch::Receiver<()> {
        self.closing.clone()
    }

    /// Remembers a list of what is no unit, so that whoever watches from its revision misses nothing.
    pub(crate) fn remember(&self, target: &Target, query: &Query, listed: &Listed) {
        let whole = listed.next.is_none() && query.continued.is_none();
        let is_mapped = matches!(target.resource.source, Source::Mapped(_));
        if !is_mapped || !whole || listed.items.len() > LISTED_MAX {
            return;
        }
        let (of, revision) = (selected(target, query), listed.revision);
        let items = listed.items.clone();
        let mut all = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|own| own.of != of || own.revision != revision);
        all.push_back(Remembered { of, revision, items });
        if all.len() > LISTS {
            all.pop_front();
        }
    }

    /// What a list was at a revision, if that is remembered.
    fn recall(&self, target: &Target, query: &Query, revision: u64) -> Option<Vec<Value>> {
        let of = selected(target, query);
        let all = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|own| own.of == of && own.revision == revision);
        found.map(|own| own.items.clone())
    }

    /// What changed after an entry. Whoever asks for the same meanwhile waits and gets the same.
    async fn since(&self, folio: &Folio, after: u64) -> Result<Arc<Changes>, Status> {
        let mut last = self.last.lock().await;
        if let Some((from, changes)) = last.as_ref()
            && *from == after
            && changes.upto > after
        {
            return Ok(Arc::clone(changes));
        }
        let changes = Arc::new(folio.changed_since(after, PAGE).await?);
        *last = Some((after, Arc::clone(&changes)));
        Ok(changes)
    }
}

/// What a list is of.
pub(crate) fn selected(target: &Target, query: &Query) -> String {
    let app = target.namespace.as_ref().map_or("", AppName::as_str);
    let (kind, version) = (target.resource.qualified(), &target.version);
    format!("{kind} {version} {app} {:?} {:?}", query.labels, query.fields)
}

/// One watch.
struct Watch {
    folio: Folio,
    feed: Arc<Feed>,
    target: Target,
    query: Query,
    form: Form,
    head: watch::Receiver<u64>,
    /// The last entry that was told of.
    after: u64,
    /// The objects that are selected, as they were told; of units only whether.
    known: HashMap<(String, String), Value>,
    waiting: VecDeque<Bytes>,
    until: Instant,
    ended: bool,
}

/// Watches from where the query says.
pub(crate) async fn watch(
    (folio, feed): (Folio, Arc<Feed>),
    target: Target,
    query: Query,
    form: Form,
) -> Result<Response, Status> {
    let head = folio.head();
    let newest = *head.borrow();
    if let Some(from) = query.from {
        read::refuse_future(from, newest)?;
        if from + ENTRIES_MAX < newest {
            return Err(Status::new(
                410,
                "Expired",
                format!("too old resource version: {from} ({newest})"),
            ));
        }
    }
    let lasts = query.timeout_seconds.map_or(LASTS, Duration::from_secs).min(LASTS);
    let mut watch = Watch {
        folio,
        feed,
        target,
        form,
        head,
        after: query.from.unwrap_or(newest),
        known: HashMap::new(),
        waiting: VecDeque::new(),
        until: Instant::now() + lasts,
        ended: false,
        query,
    };
    watch.begin().await?;
    let lines = stream::unfold(watch, async |mut watch| {
        let line = watch.next().await?;
        Some((Ok::<_, std::convert::Infallible>(line), watch))
    });
    Ok(([(header::CONTENT_TYPE, "application/json")], Body::from_stream(lines)).into_response())
}

impl Watch {
    /// Tells of what there is, where that is asked for, and notes what is selected.
    async fn begin(&mut self) -> Result<(), Status> {
        let tells = self.query.initial_events.unwrap_or(self.query.from.is_none());
        let is_unit = matches!(self.target.resource.source, Source::Unit(..));
        if !tells && is_unit && self.selects_all() {
            return Ok(());
        }
        let from = self.query.from.filter(|_| !tells && !is_unit);
        let recalled = from.and_then(|from| self.feed.recall(&self.target, &self.query, from));
        if let Some(recalled) = recalled {
            recalled.iter().for_each(|item| self.know(item));
            return self.compare().await;
        }
        let all = Query { limit: None, continued: None, ..self.selection() };
        let listed = read::list(&self.folio, &self.feed.pages, &self.target, &all).await?;
        for item in listed.items {
            // Where it is not known what was there, what changed since is told as new.
            let is_newer = from.is_some_and(|from| revision_of(&item) > from);
            if tells || is_newer {
                self.tell("ADDED", item.clone());
            }
            self.know(&item);
        }
        if tells {
            self.after = listed.revision;
        }
        if self.query.initial_events == Some(true) {
            self.bookmark(json!({ "k8s.io/initial-events-end": "true" }));
        }
        Ok(())
    }

    /// Whether what is watched changes without an entry.
    fn is_lively(&self) -> bool {
        match self.target.resource.source {
            Source::Mapped(mapping) => mapping.is_lively(),
            Source::Unit(..) => false,
        }
    }

    fn selection(&self) -> Query {
        let (labels, fields) = (self.query.labels.clone(), self.query.fields.clone());
        Query { labels, fields, ..Query::default() }
    }

    fn selects_all(&self) -> bool {
        self.query.labels.is_empty() && self.query.fields == Default::default()
    }

    fn selects(&self, item: &Value) -> bool {
        self.query.labels.select(item) && self.query.fields.select(item)
    }

    /// The next line, as soon as there is one; none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.waiting.pop_front() {
                return Some(line);
            }
            if self.ended {
                return None;
            }
            if let Err(status) = self.wait().await {
                self.line("ERROR", status.body());
                self.ended = true;
            }
        }
    }

    /// Waits for something to tell, or for the end.
    async fn wait(&mut self) -> Result<(), Status> {
        if *self.head.borrow_and_update() > self.after {
            return self.follow().await;
        }
        let mut closing = self.feed.closing.clone();
        tokio::select! {
            changed = self.head.changed() => self.ended |= changed.is_err(),
            () = tokio::time::sleep_until(self.until) => self.ended = true,
            _ = closing.changed() => self.ended = true,
            () = tokio::time::sleep(LOOK), if self.is_lively() => return self.compare().await,
            () = tokio::time::sleep(SILENCE), if self.query.bookmarks => self.bookmark(json!({})),
        }
        Ok(())
    }

    async fn follow(&mut self) -> Result<(), Status> {
        let feed = Arc::clone(&self.feed);
        let changes = feed.since(&self.folio, self.after).await?;
        let concerns = self.target.namespace.as_ref().is_none_or(|app| changes.apps.contains(app));
        match self.target.resource.source {
            Source::Unit(..) => {
                for changed in changes.units.iter().filter(|_| concerns) {
                    self.changed(changed).await;
                }
            }
            _ if concerns => self.compare().await?,
            Source::Mapped(_) => {}
        }
        self.after = changes.upto.max(self.after);
        Ok(())
    }

    /// Tells of a unit that changed, if it is or was selected.
    async fn changed(&mut self, changed: &ChangedUnit) {
        let Source::Unit(kind, trigger) = self.target.resource.source else { return };
        let view = &changed.object;
        let elsewhere = self.target.namespace.as_ref().is_some_and(|app| *app != view.key.app);
        if view.key.kind != kind || elsewhere || trigger.is_some_and(|own| !own.has(&view.spec)) {
            return;
        }
        let shown = object::show(&self.folio, view, self.target.resource, &self.target.version);
        // What this version has no word for is not seen in it.
        let Ok(value) = shown.await else { return };
        let everything = self.selects_all();
        let was =
            everything && changed.what != Became::Made || self.known.contains_key(&place(&value));
        let is = changed.what != Became::Gone && self.selects(&value);
        let event = match (was, is) {
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
            (false, false) => return,
        };
        if !everything {
            if is {
                self.know(&value);
            } else {
                self.known.remove(&place(&value));
            }
        }
        self.tell(event, value);
    }

    /// Tells what differs from what was told.
    async fn compare(&mut self) -> Result<(), Status> {
        let (head, items) = mapping::list(&self.folio, &self.target).await?;
        let items = items.iter().map(|item| item.object(&self.target, head));
        let selected = items.filter(|item| self.selects(item));
        let now: HashMap<_, _> = selected.map(|item| (place(&item), item)).collect();
        let mut events = Vec::new();
        for (key, item) in &now {
            match self.known.get(key) {
                None => events.push(("ADDED", item.clone())),
                Some(before) if differ(before, item) => events.push(("MODIFIED", item.clone())),
                Some(_) => {}
            }
        }
        let gone = self.known.iter().filter(|(key, _)| !now.contains_key(*key));
        events.extend(gone.map(|(_, item)| ("DELETED", item.clone())));
        events.sort_by_cached_key(|(_, item)| place(item));
        for (event, item) in events {
            self.tell(event, item);
        }
        self.known = now;
        Ok(())
    }

    fn know(&mut self, item: &Value) {
        let is_unit = matches!(self.target.resource.source, Source::Unit(..));
        let kept = if is_unit { Value::Null } else { item.clone() };
        self.known.insert(place(item), kept);
    }

    fn tell(&mut self, event: &str, value: Value) {
        let now = self.folio.now();
        let shown = read::shown(&self.target, value, self.form, now);
        self.line(event, shown);
    }

    fn bookmark(&mut self, annotations: Value) {
        let mut mark = json!({
            "kind": self.target.resource.kind, "apiVersion": self.target.api_version(),
            "metadata": { "resourceVersion": self.after.to_string(), "creationTimestamp": null },
        });
        if annotations.as_object().is_some_and(|map| !map.is_empty()) {
            mark["metadata"]["annotations"] = annotations;
        }
        self.tell("BOOKMARK", mark);
    }

    fn line(&mut self, event: &str, object: Value) {
        let mut text = json!({ "type": event, "object": object }).to_string();
        text.push('\n');
        self.waiting.push_back(text.into());
    }
}

/// Whether objects differ in more than the revision at which they were read.
fn differ(before: &Value, now: &Value) -> bool {
    let bare = |value: &Value| {
        let mut value = value.clone();
        value["metadata"]["resourceVersion"] = Value::Null;
        value
    };
    before != now && bare(before) != bare(now)
}

fn revision_of(item: &Value) -> u64 {
    let text = item["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    text.parse().unwrap_or(0)
}

fn place(item: &Value) -> (String, String) {
    let text = |key: &str| item["metadata"][key].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}
