//! Watches: calls a function for every change of an object, in the order of the ledger, at least once.
//!
//! Each watch has one task in the queue that keeps its cursor, the last entry it dealt with. What the system
//! itself changes does not count, so that nothing answers to itself, and no watch calls more often in a second
//! than `watchFiresPerSecondMax`. Start at [`Folio::run_watches`].

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use folio_model::{
    Actor, AppName, Edit, Entry, Kind, Name, Timestamp, TriggerSpec, UnitKey, UnitUid, WatchSpec,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Folio;
use crate::deliver::Envelope;
use crate::ports::{Lease, Page, Queue, State, StoreError, Task};
use crate::release::held;

/// What the queue calls watches.
const TOPIC: &str = "watch";

/// How long a worker has a watch to itself: longer than the calls of one entry take.
const LEASE: Duration = Duration::from_secs(10 * 60);

/// The longest wait between two looks at the ledger.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Entries that are read together.
const ENTRIES_MAX: usize = 100;

/// How often a call that failed is repeated before the change is given up.
const TRIES_MAX: u32 = 3;

/// How far a watch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    /// The last entry it dealt with.
    cursor: u64,
}

/// A watch as it stands.
#[derive(Debug, Clone)]
struct Standing {
    unit: UnitUid,
    app: AppName,
    name: Name,
    spec: WatchSpec,
    /// The entry that made it what it is.
    since: u64,
}

/// A change of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Event {
    key: UnitKey,
    unit: UnitUid,
    what: &'static str,
}

/// An entry, with the changes in it that a watch has to tell.
struct Noted {
    entry: Entry,
    events: Vec<Event>,
}

/// How far this server looked for each watch, so that entries that are nothing to it cost no write.
#[derive(Debug, Default)]
pub struct Looked(HashMap<UnitUid, u64>);

impl Folio {
    /// Calls functions for changes until told to stop. What is being told then is told again at the next start.
    pub async fn run_watches(&self, shutdown: impl Future<Output = ()>) -> Result<(), StoreError> {
        let (mut head, mut looked) = (self.head(), Looked::default());
        tokio::pin!(shutdown);
        loop {
            head.borrow_and_update();
            let told = async {
                if let Err(error) = self.tell_watches(&mut looked).await {
                    tracing::error!(%error, "Watches could not be told");
                }
            };
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                () = told => {}
            }
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                _ = head.changed() => {}
                () = tokio::time::sleep(PAUSE_MAX) => {}
            }
        }
    }

    /// Tells every watch of what changed since it was told last.
    pub async fn tell_watches(&self, looked: &mut Looked) -> Result<(), StoreError> {
        let Some(queue) = self.queue.clone() else { return Ok(()) };
        let watches = self.look(watches).await?;
        let told = watches.iter().map(|watch| {
            let before = looked.0.get(&watch.unit).copied();
            self.tell_watch(queue.as_ref(), watch, before)
        });
        let reached = futures::future::try_join_all(told).await?;
        let units = watches.iter().map(|watch| watch.unit);
        looked.0 = units.zip(reached).filter_map(|(unit, at)| Some((unit, at?))).collect();
        Ok(())
    }

    /// Tells one watch, unless another server does, and says how far it is.
    async fn tell_watch(
        &self,
        queue: &dyn Queue,
        watch: &Standing,
        before: Option<u64>,
    ) -> Result<Option<u64>, StoreError> {
        if let Some(before) = before
            && let Some(reached) = self.nothing_since(watch, before).await?
        {
            return Ok(Some(reached));
        }
        queue.push(watch.task(watch.since)).await?;
        loop {
            let name = task_name(watch.unit);
            let Some(lease) = queue.claim(&name, self.clock.now(), LEASE).await? else {
                return Ok(None);
            };
            let Ok(Place { cursor }) = serde_json::from_value(lease.task.body.clone()) else {
                return Err(StoreError::corrupt(lease.task.name));
            };
            let (app, of) = (watch.app.clone(), watch.spec.clone());
            let noted = self.look(move |state| noted(state, &app, &of, cursor)).await?;
            let Some(last) = noted.last().map(|noted| noted.entry.seq) else {
                self.keep(queue, watch, (&lease, cursor)).await?;
                return Ok(Some(cursor));
            };
            let mut reached = last;
            if let Some(first) = noted.into_iter().find(|noted| !noted.events.is_empty()) {
                self.tell_entry(watch, &first).await;
                reached = first.entry.seq;
            }
            self.keep(queue, watch, (&lease, reached)).await?;
        }
    }

    /// How far the ledger is, if nothing came after a place that a watch has to be told.
    async fn nothing_since(
        &self,
        watch: &Standing,
        mut after: u64,
    ) -> Result<Option<u64>, StoreError> {
        loop {
            let (app, of) = (watch.app.clone(), watch.spec.clone());
            let noted = self.look(move |state| noted(state, &app, &of, after)).await?;
            let Some(last) = noted.last() else { return Ok(Some(after)) };
            after = last.entry.seq;
            if noted.iter().any(|noted| !noted.events.is_empty()) {
                return Ok(None);
            }
        }
    }

    /// Keeps how far a watch is, for whoever goes on.
    async fn keep(
        &self,
        queue: &dyn Queue,
        watch: &Standing,
        (lease, cursor): (&Lease, u64),
    ) -> Result<(), StoreError> {
        queue.replace(lease.token, vec![watch.task(cursor)]).await.map(|_| ())
    }

    /// Calls the function for each change of an entry, not faster than allowed.
    async fn tell_entry(&self, watch: &Standing, noted: &Noted) {
        let per_second =
            u32::try_from(self.limits().watch_fires_per_second_max).unwrap_or(u32::MAX);
        for event in &noted.events {
            let pause = tokio::time::sleep(Duration::from_secs(1) / per_second.max(1));
            let (entry, name) = (noted.entry.seq, &watch.name);
            if let Err(why) = self.tell_event(watch, &noted.entry, event).await {
                tracing::error!(watch.name = %name, entry, why, "Watch `{name}` gave up telling of {}", event.key);
            }
            pause.await;
        }
    }

    async fn tell_event(
        &self,
        watch: &Standing,
        entry: &Entry,
        event: &Event,
    ) -> Result<(), String> {
        let mut why = "nothing was called".to_owned();
        let mut stamp = None;
        for attempt in 1..=TRIES_MAX {
            let Some(function) = self.one_of(&watch.spec.targets) else { return Err(why) };
            let id = format!("watch {} {} {}", watch.unit, entry.seq, event.unit);
            let release = self.stamped(&watch.app, stamp.as_ref()).await;
            let release = release.map_err(|error| error.to_string())?;
            stamp = release.as_ref().map(|release| release.id.clone());
            let (to, said) = ((&watch.app, &function), envelope(entry, event));
            let said = self.deliver(to, &id, said, release.as_ref()).await;
            why = match said {
                Ok(answer) if answer.status < 400 => return Ok(()),
                Ok(answer) => format!("{function} answered {}", answer.status),
                Err(error) => error.to_string(),
            };
            if attempt < TRIES_MAX {
                tokio::time::sleep(Duration::from_millis(100 << attempt)).await;
            }
        }
        Err(why)
    }
}

impl Standing {
    /// The task that keeps how far it is. Never due: whoever hears of an entry claims it.
    fn task(&self, cursor: u64) -> Task {
        let body = serde_json::to_value(Place { cursor }).expect("places have string keys");
        let name = task_name(self.unit);
        Task { name, topic: TOPIC.to_owned(), body, due: Timestamp::MAX }
    }
}

fn task_name(unit: UnitUid) -> String {
    format!("watch/{unit}")
}

fn watches(state: &dyn State) -> Result<Vec<Standing>, StoreError> {
    let mut watches = Vec::new();
    for one in held::live_triggers(state)? {
        // Its own making, and what came before, is not news to it.
        let held::LiveTrigger { unit, app, name, spec, revision: since, .. } = one;
        let TriggerSpec::Watch(spec) = spec else { continue };
        watches.push(Standing { unit, app, name, spec, since });
    }
    Ok(watches)
}

/// The entries of an app after a place, with what a watch has to tell of each.
fn noted(
    state: &dyn State,
    app: &AppName,
    of: &WatchSpec,
    after: u64,
) -> Result<Vec<Noted>, StoreError> {
    let entries = state.entries(Some(app), Page { after, limit: ENTRIES_MAX })?;
    let mut noted = Vec::with_capacity(entries.len());
    for entry in entries {
        let mut events =
            if entry.by == Actor::system() { Vec::new() } else { events(state, &entry)? };
        let matches = |event: &Event| {
            let named = of.object_name.as_ref().is_none_or(|name| event.key.name == *name);
            named && Some(event.key.kind) == of.watched()
        };
        events.retain(matches);
        noted.push(Noted { entry, events });
    }
    Ok(noted)
}

/// What an entry changed, one event for each object, in the order of its edits.
fn events(state: &dyn State, entry: &Entry) -> Result<Vec<Event>, StoreError> {
    let mut order = Vec::new();
    let mut changed: BTreeMap<UnitUid, (Option<UnitKey>, &'static str)> = BTreeMap::new();
    for edit in &entry.edits {
        let Some(uid) = edit.unit() else { continue };
        let (key, what) = match edit {
            Edit::CreateUnit { key, .. } | Edit::RestoreUnit { key, .. } => (Some(key), "ADDED"),
            Edit::DeleteUnit { key, .. } => (Some(key), "DELETED"),
            _ => (None, "MODIFIED"),
        };
        let known = changed.entry(uid).or_insert_with(|| {
            order.push(uid);
            (None, "MODIFIED")
        });
        known.0 = known.0.take().or_else(|| key.cloned());
        known.1 = if what == "MODIFIED" { known.1 } else { what };
    }
    let mut events = Vec::new();
    for unit in order {
        let Some((key, what)) = changed.remove(&unit) else { continue };
        let key = match key {
            Some(key) => Some(key),
            None => key_of(state, unit, entry)?,
        };
        events.extend(key.map(|key| Event { key, unit, what }));
    }
    Ok(events)
}

/// The name of a unit that an entry changed; of one that is gone since, as it was when it went.
fn key_of(state: &dyn State, unit: UnitUid, entry: &Entry) -> Result<Option<UnitKey>, StoreError> {
    if let Some(found) = state.unit_by_uid(unit)? {
        return Ok(Some(found.key));
    }
    let later = state.entries(Some(&entry.app), Page { after: entry.seq, limit: usize::MAX })?;
    let gone = later.iter().flat_map(|entry| &entry.edits).find_map(|edit| match edit {
        Edit::DeleteUnit { uid, key } if *uid == unit => Some(key.clone()),
        _ => None,
    });
    Ok(gone)
}

fn envelope(entry: &Entry, event: &Event) -> Envelope {
    let UnitKey { app, kind, name } = &event.key;
    let body = json!({
        "type": event.what,
        "object": { "kind": kind, "app": app, "name": name, "uid": event.unit },
        "entry": entry.seq,
        "at": entry.at,
        "by": entry.by,
        "message": entry.message,
    });
    Envelope::new("POST", "/")
        .body("application/json", Bytes::from(body.to_string()))
        .header("X-Kubernetes-Event-Type", event.what)
        .header("X-Kubernetes-Object-Type", object_type(*kind))
}

fn object_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Function => "Function",
        Kind::Package => "Package",
        Kind::Environment => "Environment",
        Kind::Trigger => "Trigger",
        Kind::Config => "ConfigMap",
        Kind::Secret => "Secret",
        Kind::Static => "StaticAsset",
    }
}
