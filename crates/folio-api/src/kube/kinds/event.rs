//! What happened, as Events: every entry of the ledger tells of the objects it concerns.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use async_trait::async_trait;
use folio_core::Folio;
use folio_core::object::identity::{identity, made_in};
use folio_model::{
    AppName, BuildRecord, Digest, Edit, Entry, Kind, Live, Place, Pointer, Release, ReleaseState,
    Snapshot, UnitKey, UnitUid,
};
use serde_json::{Value, json};

use super::NEWEST;
use crate::kube::mapping::{Item, Listing, Mapping, marks_of};
use crate::kube::object::written;
use crate::kube::resource::Trigger;
use crate::kube::status::Status;
use crate::kube::table::{Column, column};

/// `Event`.
#[derive(Debug)]
pub(crate) struct Events;

#[async_trait]
impl Mapping for Events {
    fn columns(&self) -> Vec<Column> {
        vec![
            column("Last Seen", &["/lastTimestamp"]),
            column("Type", &["/type"]),
            column("Reason", &["/reason"]),
            column("Object", &["/involvedObject"]),
            column("Message", &["/message"]),
        ]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let lines = of.folio.log(of.app, None, NEWEST).await?;
        let entries: Vec<_> = lines.into_iter().map(|line| line.entry).collect();
        let mut known =
            Known { folio: of.folio, app: of.app, gone: gone(&entries), found: HashMap::new() };
        let builds = known.builds(&entries).await?;
        let mut items = Vec::new();
        for entry in &entries {
            for (index, told) in told(entry, &builds).into_iter().enumerate() {
                let about = known.about(&told.subject).await?;
                items.push(item(of.app, entry, index, (told, about)));
            }
        }
        Ok(items)
    }
}

/// One thing that an entry tells.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    subject: About,
    reason: &'static str,
    message: String,
    is_warning: bool,
}

/// What something is told of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum About {
    Unit(UnitUid),
    /// Another object: its kind and name.
    Object(&'static str, String),
    App,
}

/// The packages that were built, by what was built.
type Builds = HashMap<Digest, BTreeSet<UnitUid>>;

/// What an entry tells, and of what.
fn told(entry: &Entry, builds: &Builds) -> Vec<Told> {
    let mut units: BTreeMap<UnitUid, Told> = BTreeMap::new();
    let mut others = Vec::new();
    for edit in &entry.edits {
        match of_unit(edit) {
            Some((uid, reason, message)) => {
                let (subject, is_warning) = (About::Unit(uid), false);
                units.insert(uid, Told { subject, reason, message, is_warning });
            }
            None => match edit {
                Edit::Built { key, to, .. } => others.extend(built(entry, builds.get(key), to)),
                _ => others.extend(of_others(edit, entry)),
            },
        }
    }
    let mut told: Vec<_> = units.into_values().chain(others).collect();
    if told.is_empty() && !entry.message.is_empty() && !entry.message.starts_with("mark ") {
        let (subject, message) = (About::App, entry.message.clone());
        told.push(Told { subject, reason: "Changed", message, is_warning: false });
    }
    told
}

/// What an edit makes of a unit.
fn of_unit(edit: &Edit) -> Option<(UnitUid, &'static str, String)> {
    Some(match edit {
        Edit::Publish { uid, version, waits } => {
            let after = if *waits { "; it waits for its build" } else { "" };
            let text = format!("published version {} ({}){after}", version.number, version.id);
            (*uid, "Published", text)
        }
        Edit::SetDraft { uid, to: Some(_), .. } => {
            (*uid, "Drafted", "changed its draft".to_owned())
        }
        Edit::DeleteVersion { uid, version } => {
            let text = format!("deleted version {} ({})", version.number, version.id);
            (*uid, "VersionDeleted", text)
        }
        Edit::RestoreVersion { uid, version } => {
            let text = format!("restored version {} ({})", version.number, version.id);
            (*uid, "VersionRestored", text)
        }
        Edit::DeleteUnit { uid, .. } => (*uid, "Deleted", "deleted".to_owned()),
        _ => return None,
    })
}

/// What an edit tells of anything else.
fn of_others(edit: &Edit, entry: &Entry) -> Vec<Told> {
    let one = |subject, reason, message: String| {
        vec![Told { subject, reason, message, is_warning: false }]
    };
    let rolls_back = entry.rollback || entry.message.starts_with("roll ");
    match edit {
        Edit::Move { pointer: Pointer::Alias { unit, .. }, .. } => {
            let reason = if rolls_back { "RolledBack" } else { "AliasMoved" };
            one(About::Unit(*unit), reason, entry.message.clone())
        }
        Edit::Move { pointer: Pointer::Tag { name, .. }, .. } => {
            one(About::Object("Tag", name.to_string()), "Tagged", entry.message.clone())
        }
        Edit::Move { pointer: Pointer::Canary { name, .. }, .. } => {
            let subject = About::Object("CanaryConfig", name.to_string());
            one(subject, "CanaryMoved", entry.message.clone())
        }
        Edit::Move {
            pointer: Pointer::Release { id, .. }, to: Some(Place::Release(to)), ..
        } => {
            let (reason, message) = of_release(to);
            one(About::Object("Release", id.to_string()), reason, message)
        }
        Edit::Move { pointer: Pointer::Live { .. }, to: Some(Place::Live(to)), .. } => {
            let reason = if rolls_back { "RolledBack" } else { "Live" };
            let shares = live(to).into_iter();
            let each =
                shares.flat_map(|(id, text)| one(About::Object("Release", id), reason, text));
            each.collect()
        }
        _ => Vec::new(),
    }
}

fn of_release(release: &Release) -> (&'static str, String) {
    match release.state {
        ReleaseState::Accessible => {
            ("Released", format!("released app version {}", release.app_version))
        }
        ReleaseState::Expired => ("Expired", "expired: it can no longer be reached".to_owned()),
        ReleaseState::Deleted => ("Deleted", "deleted".to_owned()),
    }
}

/// The releases that are live, and what there is to say of each.
fn live(live: &Live) -> Vec<(String, String)> {
    let each = live.shares.iter().map(|share| {
        let text = match live.sole() {
            Some(_) => "is live".to_owned(),
            None => format!("is live for {}", folio_model::percent(share.weight)),
        };
        (share.release.to_string(), text)
    });
    each.collect()
}

/// How a build ended, told of each package that it was for, or of the app if that is not known.
fn built(entry: &Entry, packages: Option<&BTreeSet<UnitUid>>, to: &BuildRecord) -> Vec<Told> {
    let mut subjects: Vec<_> = packages.into_iter().flatten().copied().map(About::Unit).collect();
    if subjects.is_empty() {
        subjects.push(About::App);
    }
    let succeeded = to.result.is_some();
    let (reason, message) = match succeeded {
        true => ("Built", entry.message.clone()),
        false => {
            let why = to.failure.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            ("BuildFailed", format!("{}{why}", entry.message))
        }
    };
    let each = subjects.into_iter().map(|subject| {
        let message = message.clone();
        Told { subject, reason, message, is_warning: !succeeded }
    });
    each.collect()
}

/// What is told of, as far as it was looked up.
struct Known<'a> {
    folio: &'a Folio,
    app: &'a AppName,
    /// Units that may be there no more.
    gone: HashMap<UnitUid, UnitKey>,
    found: HashMap<About, Value>,
}

/// The names of the units that entries make and delete.
fn gone(entries: &[Entry]) -> HashMap<UnitUid, UnitKey> {
    let edits = entries.iter().flat_map(|entry| &entry.edits);
    let named = edits.filter_map(|edit| match edit {
        Edit::CreateUnit { uid, key, .. } | Edit::DeleteUnit { uid, key } => {
            Some((*uid, key.clone()))
        }
        _ => None,
    });
    named.collect()
}

impl Known<'_> {
    /// The packages that builds were for: those a build made callable, or else those that still wait for it.
    async fn builds(&self, entries: &[Entry]) -> Result<Builds, Status> {
        let mut builds = Builds::new();
        for edit in entries.iter().flat_map(|entry| &entry.edits) {
            if let Edit::Built { key, readies, .. } = edit {
                let units = readies.iter().map(|version| version.unit);
                builds.entry(*key).or_default().extend(units);
            }
        }
        for (key, units) in &mut builds {
            if units.is_empty() {
                let waiting = self.folio.awaiting_build(self.app, *key).await?;
                units.extend(waiting.iter().map(|version| version.unit));
            }
            let mut packages = BTreeSet::new();
            for uid in std::mem::take(units) {
                let kind = self.folio.find_unit(uid).await?.map(|unit| unit.kind);
                if kind.or(self.gone.get(&uid).map(|key| key.kind)) == Some(Kind::Package) {
                    packages.insert(uid);
                }
            }
            *units = packages;
        }
        Ok(builds)
    }

    /// A reference to what is told of.
    async fn about(&mut self, subject: &About) -> Result<Value, Status> {
        if let Some(found) = self.found.get(subject) {
            return Ok(found.clone());
        }
        let found = self.look_up(subject).await?;
        self.found.insert(subject.clone(), found.clone());
        Ok(found)
    }

    async fn look_up(&self, subject: &About) -> Result<Value, Status> {
        let unit = match subject {
            About::Unit(uid) => self.folio.find_unit(*uid).await?,
            About::Object(..) | About::App => None,
        };
        if let Some(unit) = unit {
            let spec = unit.draft.as_ref().map(|draft| &draft.spec);
            let spec = spec.or(unit.latest.as_ref().map(|latest| &latest.spec));
            let kind = kind_of(unit.kind, spec);
            return Ok(self.object(kind, unit.name.as_str(), unit.uid.to_string()));
        }
        Ok(match subject {
            About::Unit(uid) => match self.gone.get(uid) {
                Some(key) => {
                    self.object(kind_of(key.kind, None), key.name.as_str(), uid.to_string())
                }
                None => self.of_app(),
            },
            About::Object(kind, name) => {
                let names = identity(&[kind, self.app.as_str(), name]);
                let marks = self.folio.places(vec![marks_of(self.app, names)]).await?.pop();
                let uid = match marks.flatten() {
                    Some((Place::Marks(marks), _)) => {
                        marks.made_in.map_or(names, |entry| made_in(names, entry))
                    }
                    _ => names,
                };
                self.object(kind, name, uid.to_string())
            }
            About::App => self.of_app(),
        })
    }

    fn object(&self, kind: &str, name: &str, uid: String) -> Value {
        let group = match kind {
            "Release" | "Tag" | "StaticAsset" => "folio.dev/v1",
            "ConfigMap" | "Secret" => "v1",
            _ => "fission.io/v1",
        };
        json!({ "apiVersion": group, "kind": kind, "namespace": self.app, "name": name, "uid": uid })
    }

    fn of_app(&self) -> Value {
        let uid = identity(&["Namespace", "", self.app.as_str()]);
        json!({
            "apiVersion": "v1", "kind": "Namespace", "namespace": self.app, "name": self.app, "uid": uid,
        })
    }
}

/// The kind of a unit, as manifests write it.
fn kind_of(kind: Kind, spec: Option<&Snapshot>) -> &'static str {
    let is = |trigger: Trigger| spec.is_some_and(|spec| trigger.has(spec));
    match kind {
        Kind::Function => "Function",
        Kind::Package => "Package",
        Kind::Environment => "Environment",
        Kind::Config => "ConfigMap",
        Kind::Secret => "Secret",
        Kind::Static => "StaticAsset",
        Kind::Trigger if is(Trigger::Timer) => "TimeTrigger",
        Kind::Trigger if is(Trigger::Queue) => "MessageQueueTrigger",
        Kind::Trigger if is(Trigger::Watch) => "KubernetesWatchTrigger",
        Kind::Trigger => "HTTPTrigger",
    }
}

fn item(app: &AppName, entry: &Entry, index: usize, (told, about): (Told, Value)) -> Item {
    let Entry { seq, at, by, .. } = entry;
    let name = about["name"].as_str().unwrap_or_default();
    let name = format!("{name}.{seq}.{index}");
    let body = json!({
        "involvedObject": about, "reason": told.reason, "message": told.message,
        "type": if told.is_warning { "Warning" } else { "Normal" },
        "source": { "component": by }, "reportingComponent": "folio", "reportingInstance": "",
        "count": 1, "firstTimestamp": written(*at), "lastTimestamp": written(*at), "eventTime": null,
    });
    Item { changed_in: Some(*seq), created_at: Some(*at), ..Item::new(app, name, body) }
}
