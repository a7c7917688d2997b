//! Units as objects: what each says, with what is said about it, how it stands, and what changed since an entry.
//!
//! This is what those see who read and watch everything, whoever changed it and through which door.

pub mod identity;
mod past;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use folio_kinds::spec::LAST_APPLIED;
use folio_model::{
    AppName, Build, Digest, Draft, Edit, Entry, Kind, Labels, Marks, Name, Number, Place, Pointer,
    Snapshot, Timestamp, Unit, UnitKey, UnitUid, VersionId, VersionKey,
};
use serde_json::Value;

use self::past::Past;
use crate::apply::object::{made_at, marks};
use crate::builder::Builder;
use crate::ports::{Page, State, StoreError};
use crate::request::{Caller, Marking};
use crate::{Folio, folio, history, view};

/// One unit as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectView {
    /// Its name.
    pub key: UnitKey,
    /// Its identity.
    pub uid: UnitUid,
    /// The entry that last changed it or what is said about it.
    pub revision: u64,
    /// How often what it says was changed, as far as that was noted.
    pub generation: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// What an unqualified reference to it shows: its draft, else its newest version.
    pub spec: Snapshot,
    /// Labels and annotations, where they are not those of its own manifest.
    pub said: Option<Said>,
    /// What was last applied, as the tool that did noted it; it holds whatever the object has become since.
    pub last_applied: Option<String>,
    /// Who wrote which field.
    pub managers: Vec<Value>,
    /// How it stands.
    pub standing: Standing,
}

/// Labels and annotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Labels.
    pub labels: Labels,
    /// Annotations.
    pub annotations: Labels,
}

/// How a unit stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// How many versions it has.
    pub versions: u64,
    /// The latest of them that can be called.
    pub latest: Option<(Number, VersionId)>,
    /// The version that the app's own host shows.
    pub live: Option<VersionId>,
    /// Whether it has a draft.
    pub draft: bool,
    /// How far the build of what is shown is.
    pub build: Option<Build>,
}

/// Objects, and the moment at which they were so.
#[derive(Debug, Clone, PartialEq)]
pub struct Objects {
    /// The last entry.
    pub revision: u64,
    /// The objects, by app and name.
    pub items: Vec<ObjectView>,
}

/// A stretch of units to list.
#[derive(Debug, Clone, Default)]
pub struct ObjectPage {
    /// As they were at this entry. What happened since is read and taken back, so it should not be long ago.
    pub at: Option<u64>,
    /// Only what comes after this app and name.
    pub after: Option<(AppName, Name)>,
    /// At most so many.
    pub limit: Option<usize>,
}

/// What changed after an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// The last entry that was looked at.
    pub upto: u64,
    /// The apps in which anything happened.
    pub apps: BTreeSet<AppName>,
    /// The units that changed, as they are now.
    pub units: Vec<ChangedUnit>,
}

/// A unit that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedUnit {
    /// The unit as it is, or as it was before it went.
    pub object: ObjectView,
    /// What became of it.
    pub what: Became,
}

/// What became of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Became {
    /// It was made.
    Made,
    /// It was changed.
    Changed,
    /// It went.
    Gone,
}

impl Folio {
    /// Lists the units of one kind as objects, of an app or of all.
    pub async fn objects(
        &self,
        app: Option<&AppName>,
        kind: Kind,
        page: ObjectPage,
    ) -> Result<Objects, history::Error> {
        let app = app.cloned();
        self.look(move |state| Ok(listed(state, (app.as_ref(), kind), &page)?)).await
    }

    /// Shows one unit as an object, if there is one.
    pub async fn object(&self, key: &UnitKey) -> Result<Option<ObjectView>, history::Error> {
        let key = key.clone();
        self.look(move |state| {
            if !state.has_app(&key.app)? {
                return Ok(None);
            }
            match state.unit(&key)?.filter(Unit::is_visible) {
                Some(unit) => Ok(seen(state, &unit, &mut LiveVersions::default())?),
                None => Ok(None),
            }
        })
        .await
    }

    /// Where pointers point, each with the entry that moved it there.
    pub async fn places(
        &self,
        pointers: Vec<Pointer>,
    ) -> Result<Vec<Option<(Place, u64)>>, StoreError> {
        self.look(move |state| pointers.iter().map(|pointer| state.place(pointer)).collect()).await
    }

    /// The last entry of an app, or of all.
    pub async fn last_entry(&self, app: Option<&AppName>) -> Result<u64, StoreError> {
        let app = app.cloned();
        self.look(move |state| match &app {
            Some(app) => state.last_entry(app),
            None => state.head(),
        })
        .await
    }

    /// When an app was made: in the first entry it has.
    pub async fn app_made_at(&self, app: &AppName) -> Result<Option<Timestamp>, StoreError> {
        let app = app.clone();
        self.look(move |state| {
            let first = state.entries(Some(&app), Page { after: 0, limit: 1 })?;
            Ok(first.first().map(|entry| entry.at))
        })
        .await
    }

    /// Changes nothing of an app but what the caller says about an object of it.
    pub async fn mark(&self, caller: &Caller, app: &AppName) -> Result<(), folio::Error> {
        let done = self.commit(caller, app, |_| Ok::<_, folio::Error>(()));
        done.await.map(|_| ())
    }

    /// Says what changed after an entry: at most so many entries are looked at.
    pub async fn changed_since(&self, after: u64, limit: usize) -> Result<Changes, history::Error> {
        self.look(move |state| {
            let entries = state.entries(None, Page { after, limit })?;
            let upto = entries.last().map_or(after, |entry| entry.seq);
            let apps = entries.iter().map(|entry| entry.app.clone()).collect();
            let mut live = LiveVersions::default();
            let mut units = Vec::new();
            for (uid, touched) in touched(state, &entries)? {
                units.extend(changed(state, uid, touched, &mut live)?);
            }
            units.sort_by_key(|changed: &ChangedUnit| changed.object.revision);
            Ok(Changes { upto, apps, units })
        })
        .await
    }
}

/// Notes what a caller says about the object that is changed, or that it goes.
pub(crate) fn mark(builder: &mut Builder<'_>, marking: &Marking) -> Result<(), StoreError> {
    let pointer = Pointer::Marks { app: builder.app().clone(), object: marking.object };
    let from = builder.state.place(&pointer)?.map(|(place, _)| place);
    let (since, made_in) = match &from {
        Some(Place::Marks(marks)) if !marking.is_new => (marks.since, marks.made_in),
        _ if marking.is_new => (builder.at(), Some(builder.state.head()? + 1)),
        _ => (builder.at(), None),
    };
    let to = marking.said.clone().map(|(labels, annotations, managers)| {
        let of = Digest::of(b"");
        let generation = 1;
        let marks = Marks { of, labels, annotations, managers, generation, since, made_in };
        Place::Marks(Box::new(marks))
    });
    if builder.moves(&pointer) {
        return Ok(());
    }
    if !builder.has_edits() {
        builder.say(format!("mark {}", marking.name));
    }
    builder.point(pointer, from, to)
}

/// Lists units of one kind, by app and name.
fn listed(
    state: &dyn State,
    (app, kind): (Option<&AppName>, Kind),
    page: &ObjectPage,
) -> Result<Objects, StoreError> {
    let head = state.head()?;
    let past = match page.at {
        Some(at) if at < head => Past::read(state, (app, kind), at)?,
        _ => Past::default(),
    };
    let mut apps: BTreeSet<AppName> = match app {
        Some(app) => BTreeSet::from([app.clone()]),
        None => state.apps()?.into_iter().collect(),
    };
    apps.extend(past.apps().cloned());
    let (mut live, mut items) = (LiveVersions::default(), Vec::new());
    let is_full = |count: usize| page.limit.is_some_and(|limit| count >= limit);
    for app in apps {
        let after = match &page.after {
            Some((last, _)) if app < *last => continue,
            Some((last, name)) if app == *last => Some(name.clone()),
            _ => None,
        };
        let mut there = past.there(&app, after.as_ref());
        let is_done = !state.has_app(&app)?;
        let mut units = Units { state, app, kind, after, is_done };
        while !is_full(items.len())
            && let Some(some) = units.next(page.limit)?
        {
            for unit in &some {
                while let Some(first) = there.first_entry()
                    && *first.key() <= unit.key.name
                {
                    items.extend(past.seen(state, first.remove(), &mut live)?);
                }
                // What was touched was told of just now, if it was there.
                if unit.is_visible() && !past.touches(unit.uid) {
                    items.extend(seen(state, unit, &mut live)?);
                }
            }
        }
        while !is_full(items.len())
            && let Some((_, uid)) = there.pop_first()
        {
            items.extend(past.seen(state, uid, &mut live)?);
        }
    }
    items.truncate(page.limit.unwrap_or(usize::MAX));
    Ok(Objects { revision: page.at.unwrap_or(head), items })
}

/// The units of one kind of an app, some at a time.
struct Units<'a> {
    state: &'a dyn State,
    app: AppName,
    kind: Kind,
    after: Option<Name>,
    is_done: bool,
}

impl Units<'_> {
    /// At most so many of those that come next; none after the last.
    fn next(&mut self, limit: Option<usize>) -> Result<Option<Vec<Unit>>, StoreError> {
        if self.is_done {
            return Ok(None);
        }
        let limit = limit.unwrap_or(usize::MAX);
        let units = self.state.units_after(&self.app, self.kind, (self.after.as_ref(), limit))?;
        self.is_done = units.len() < limit;
        self.after = units.last().map(|unit| unit.key.name.clone());
        Ok(Some(units))
    }
}

/// A unit as an object; none if nothing of it can be seen.
fn seen(
    state: &dyn State,
    unit: &Unit,
    live: &mut LiveVersions,
) -> Result<Option<ObjectView>, StoreError> {
    let version = |number: Option<Number>| match number {
        Some(number) => state.version(VersionKey { unit: unit.uid, number }),
        None => Ok(None),
    };
    let newest = version(unit.newest)?;
    let latest = if unit.latest == unit.newest { newest.clone() } else { version(unit.latest)? };
    let drafted = unit.draft.as_ref().map(|draft| draft.snapshot);
    let published = newest.as_ref().map(|version| version.snapshot);
    let Some(digest) = drafted.or(published) else { return Ok(None) };
    let spec = view::snapshot(state, digest)?;
    let versions = state.version_count(unit.uid)?;
    let first = newest.filter(|_| versions == 1).map(|version| version.created_at);
    let standing = Standing {
        versions,
        latest: latest.map(|latest| (latest.number, latest.id)),
        live: live.of(state, unit)?,
        draft: unit.draft.is_some(),
        build: Some(view::build(state, &spec)?),
    };
    let shown = Shown { digest, spec, marks: marks(state, unit)?, first };
    object(state, unit, shown, standing).map(Some)
}

/// What is shown of a unit.
struct Shown {
    digest: Digest,
    spec: Snapshot,
    /// What is said about it, and the entry that last changed that.
    marks: Option<(Marks, u64)>,
    /// When it was published first, where that is known already.
    first: Option<Timestamp>,
}

fn object(
    state: &dyn State,
    unit: &Unit,
    Shown { digest, spec, marks: marked, first }: Shown,
    standing: Standing,
) -> Result<ObjectView, StoreError> {
    let revision = unit.revision.max(marked.as_ref().map_or(0, |(_, revision)| *revision));
    let created_at = match (&marked, first) {
        (Some((marks, _)), _) => marks.since,
        (None, Some(first)) => first,
        (None, None) => made_at(state, unit)?,
    };
    let marks = marked.map(|(marks, _)| marks);
    let generation =
        marks.as_ref().map_or(1, |marks| marks.generation + u64::from(marks.of != digest));
    let said = |Marks { labels, annotations, .. }: &Marks| Said {
        labels: labels.clone(),
        annotations: annotations.clone(),
    };
    let said = marks.as_ref().filter(|marks| marks.of == digest).map(said);
    let last_applied =
        marks.as_ref().and_then(|marks| marks.annotations.get(LAST_APPLIED).cloned());
    let managers = marks.map(|marks| marks.managers).unwrap_or_default();
    let spec = spec.shown();
    let (key, uid) = (unit.key.clone(), unit.uid);
    Ok(ObjectView {
        key,
        uid,
        revision,
        generation,
        created_at,
        spec,
        said,
        last_applied,
        managers,
        standing,
    })
}

/// Which app version is live in each app.
#[derive(Default)]
struct LiveVersions(HashMap<AppName, Option<Number>>);

impl LiveVersions {
    /// The version of a unit that is live.
    fn of(&mut self, state: &dyn State, unit: &Unit) -> Result<Option<VersionId>, StoreError> {
        let app = &unit.key.app;
        let number = match self.0.get(app) {
            Some(known) => *known,
            None => {
                let found = live_app_version(state, app)?;
                self.0.insert(app.clone(), found);
                found
            }
        };
        let Some(number) = number else { return Ok(None) };
        let placement = state.placement_at(unit.uid, number)?;
        Ok(placement.and_then(|placement| placement.latest).map(|(_, id, _)| id))
    }
}

fn live_app_version(state: &dyn State, app: &AppName) -> Result<Option<Number>, StoreError> {
    let live = state.place(&Pointer::Live { app: app.clone() })?;
    let Some((Place::Live(live), _)) = live else { return Ok(None) };
    let Some(id) = live.sole() else { return Ok(None) };
    let release = state.place(&Pointer::Release { app: app.clone(), id: id.clone() })?;
    let Some((Place::Release(release), _)) = release else { return Ok(None) };
    let version = state.app_version_by_id(app, &release.app_version)?;
    Ok(version.map(|version| version.number))
}

/// What entries say of one unit.
#[derive(Default)]
struct Touched {
    /// The last of them.
    entry: u64,
    at: Timestamp,
    made: bool,
    key: Option<UnitKey>,
    /// What it was before its last draft or version went.
    was: Option<Digest>,
}

fn touched(state: &dyn State, entries: &[Entry]) -> Result<BTreeMap<UnitUid, Touched>, StoreError> {
    let mut all: BTreeMap<UnitUid, Touched> = BTreeMap::new();
    for entry in entries {
        for edit in &entry.edits {
            for uid in units_of(edit) {
                let unit = all.entry(uid).or_default();
                (unit.entry, unit.at) = (entry.seq, entry.at);
                match edit {
                    Edit::CreateUnit { key, .. } | Edit::RestoreUnit { key, .. } => {
                        (unit.made, unit.key) = (true, Some(key.clone()));
                    }
                    Edit::DeleteUnit { key, .. } => unit.key = Some(key.clone()),
                    Edit::SetDraft { from: Some(Draft { snapshot, .. }), to: None, .. } => {
                        unit.was = Some(*snapshot);
                    }
                    Edit::DeleteVersion { version, .. } => unit.was = Some(version.snapshot),
                    _ => {}
                }
            }
        }
    }
    for (uid, touched) in &mut all {
        if touched.key.is_none() {
            touched.key = state.unit_by_uid(*uid)?.map(|unit| unit.key);
        }
    }
    Ok(all)
}

/// The units that an edit changes, or changes what is said of.
fn units_of(edit: &Edit) -> Vec<UnitUid> {
    match edit {
        Edit::Move { pointer: Pointer::Marks { object, .. }, .. } => vec![UnitUid(*object)],
        Edit::Built { readies, .. } => readies.iter().map(|key| key.unit).collect(),
        other => other.unit().into_iter().collect(),
    }
}

fn changed(
    state: &dyn State,
    uid: UnitUid,
    touched: Touched,
    live: &mut LiveVersions,
) -> Result<Option<ChangedUnit>, StoreError> {
    let unit = state.unit_by_uid(uid)?;
    if let Some(unit) = unit.as_ref().filter(|unit| unit.is_visible()) {
        let object = seen(state, unit, live)?;
        let what = if touched.made { Became::Made } else { Became::Changed };
        return Ok(object.map(|object| {
            let revision = object.revision.max(touched.entry);
            ChangedUnit { object: ObjectView { revision, ..object }, what }
        }));
    }
    let (Some(key), Some(digest)) = (touched.key, touched.was) else { return Ok(None) };
    let unit = unit.unwrap_or(Unit {
        uid,
        key,
        origin: folio_model::Origin::User,
        owner: None,
        next_number: Number::FIRST,
        latest: None,
        newest: None,
        draft: None,
        revision: touched.entry,
    });
    let spec = view::snapshot(state, digest)?;
    let shown = Shown { digest, spec, marks: marks(state, &unit)?, first: None };
    let object = object(state, &unit, shown, Standing::default())?;
    let object = ObjectView { revision: touched.entry, ..object };
    Ok(Some(ChangedUnit { object, what: Became::Gone }))
}
