//! Takes a bundle: its bytes as they come, then everything else as one entry. Until the last byte was read and fits, nothing
//! leads to what was stored, so a file that breaks off or lies changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use folio_model::{
    AppName, Digest, Draft, Edit, Kind, Name, Number, Place, Pointer, Right, Snapshot, Timestamp,
    TriggerSpec, Unit, UnitKey, UnitUid, Version, VersionKey,
};
use futures::stream::{Stream, StreamExt as _};

use super::check::{self, as_route};
use super::entries::{Item, Reader};
use super::manifest::{Manifest, UnitSaid, UseSaid, VersionSaid};
use super::nodes::Claims;
use super::{Error, Imported};
use crate::builder::Builder;
use crate::ports::{Node, State, StoreError};
use crate::request::{Caller, Repeat};
use crate::timer::Schedule;
use crate::view::Done;
use crate::{Folio, Referrer, app, folio, release, route, view};

/// Bytes that are stored at a time.
const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;
const BATCH_NODES_MAX: usize = 4096;

/// A file that stopped coming, and why.
#[derive(Debug, thiserror::Error)]
#[error("it broke off: {0}")]
pub struct BrokenOff(pub String);

impl Folio {
    /// Makes an app of a bundle, as one entry with one release, under the numbers and ids that its versions had. The app
    /// must not be there, or have nothing but secrets; those that functions read have to be there.
    pub async fn import_app<S>(
        &self,
        caller: &Caller,
        app: &AppName,
        mut file: S,
    ) -> Result<Done<Imported>, Error>
    where
        S: Stream<Item = Result<Bytes, BrokenOff>> + Send + Unpin,
    {
        self.check_text("reason", caller.reason.as_deref().unwrap_or_default())?;
        let mut taking = Taking::new(self, caller, app);
        let mut reader = Reader::new(*self.limits());
        while let Some(piece) = file.next().await {
            let broke = |error: BrokenOff| Error::Damaged { what: error.to_string() };
            reader.push(&piece.map_err(broke)?)?;
            while let Some(item) = reader.next()? {
                taking.take(item).await?;
            }
        }
        let digest = reader.finish()?;
        let manifest = taking.finish().await?;
        let caller = Caller {
            git: manifest.app_version.git.clone(),
            repeat: caller.repeat.clone().map(|repeat| of_file(repeat, digest)),
            ..caller.clone()
        };
        self.make(&caller, app, manifest).await
    }

    /// Refuses what can be refused before the bytes come.
    async fn may_import(
        &self,
        caller: &Caller,
        app: &AppName,
        manifest: &Arc<Manifest>,
    ) -> Result<(), Error> {
        let (caller, app, manifest) = (caller.clone(), app.clone(), Arc::clone(manifest));
        self.look(move |state| {
            // Whoever repeats a request that worked is answered by what was made of it.
            if let Some(repeat) = &caller.repeat
                && state.answer(&repeat.key)?.is_some()
            {
                return Ok(());
            }
            occupied(state, &caller, &app)?;
            secrets(state, &app, &manifest).map(|_| ())
        })
        .await
    }

    async fn make(
        &self,
        caller: &Caller,
        app: &AppName,
        manifest: Arc<Manifest>,
    ) -> Result<Done<Imported>, Error> {
        let (by, of, at) = (caller.clone(), app.clone(), self.now());
        let rule = move |builder: &mut Builder<'_>| {
            let hidden = occupied(builder.state, &by, &of)?;
            folio::refuse_promotion(builder)?;
            release::refuse_aside(builder)?;
            let created = !builder.state.has_app(&of)?;
            if created {
                builder.push(Edit::CreateApp { app: of.clone() })?;
            }
            for unit in hidden {
                builder.push(Edit::DeleteUnit { uid: unit.uid, key: unit.key })?;
            }
            refuse_routes(builder.state, &of, &manifest)?;
            let secrets = secrets(builder.state, &of, &manifest)?;
            let values = Values::of(&manifest, &secrets);
            let making = Making { manifest: &manifest, values, units: HashMap::new(), at };
            making.carry_out(builder, created)
        };
        let made = self.append(caller, app, rule).await;
        made.map_err(|error| match error {
            // Only a name that was used before is neither free nor there.
            Error::Folio(folio::Error::Store(StoreError::Conflict { what }))
                if what == format!("app `{app}`") =>
            {
                app::Error::Retired(app.clone()).into()
            }
            error => error,
        })
    }
}

/// The same request is one with the same file.
fn of_file(repeat: Repeat, digest: Digest) -> Repeat {
    let request = [&repeat.request.as_bytes()[..], digest.as_bytes()].concat();
    Repeat { key: repeat.key, request: Digest::of(&request) }
}

/// What came of a bundle so far.
struct Taking<'a> {
    folio: &'a Folio,
    caller: &'a Caller,
    app: &'a AppName,
    manifest: Option<Arc<Manifest>>,
    claims: Claims,
    batch: Vec<Node>,
    batch_bytes: usize,
}

impl<'a> Taking<'a> {
    fn new(folio: &'a Folio, caller: &'a Caller, app: &'a AppName) -> Self {
        let (manifest, claims, batch) = (None, Claims::default(), Vec::new());
        Self { folio, caller, app, manifest, claims, batch, batch_bytes: 0 }
    }

    async fn take(&mut self, item: Item) -> Result<(), Error> {
        match item {
            Item::Manifest(bytes) => {
                let manifest = Arc::new(check::read(&bytes)?);
                self.check_limits(&manifest)?;
                self.folio.may_import(self.caller, self.app, &manifest).await?;
                self.manifest = Some(manifest);
                Ok(())
            }
            Item::Node(node) => {
                self.claims.take(&node)?;
                self.batch_bytes += node.bytes.len();
                self.batch.push(node);
                let full =
                    self.batch_bytes >= BATCH_BYTES_MAX || self.batch.len() >= BATCH_NODES_MAX;
                if full { self.store().await } else { Ok(()) }
            }
        }
    }

    /// Refuses more of anything than a command could have made.
    fn check_limits(&self, manifest: &Manifest) -> Result<(), Error> {
        let limits = self.folio.limits();
        let versions = manifest.units.iter().flat_map(|unit| &unit.versions);
        for version in versions {
            self.folio.check_text("description", &version.description)?;
        }
        self.folio.check_text("message", &manifest.app_version.message)?;
        let aliases = manifest.units.iter().flat_map(|unit| unit.aliases.values());
        let targets = aliases.map(|weights| weights.shares().len()).max().unwrap_or(0) as u64;
        let members = manifest.tags.values().map(BTreeMap::len).max().unwrap_or(0) as u64;
        let checks = [
            ("targets of one alias", targets, limits.alias_targets_max),
            ("members of one tag", members, limits.tag_members_max),
        ];
        match checks.into_iter().find(|(_, found, max)| found > max) {
            Some((what, found, max)) => Err(Error::TooLarge { what, found, max }),
            None => Ok(()),
        }
    }

    async fn store(&mut self) -> Result<(), Error> {
        self.batch_bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(());
        }
        match self.folio.blobs.put(batch).await {
            Ok(_) => Ok(()),
            Err(StoreError::Refused { what }) => Err(Error::Damaged { what }),
            Err(StoreError::MissingBlob { digest }) => {
                Err(Error::Damaged { what: format!("its files lack {digest}") })
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn finish(mut self) -> Result<Arc<Manifest>, Error> {
        self.store().await?;
        let manifest = self.manifest.ok_or(Error::Unknown)?;
        self.claims.finish(&manifest.roots())?;
        let limits = self.folio.limits();
        for value in manifest.snapshots.values() {
            for content in value.value.contents() {
                let about = self.folio.blobs.about(content.tree).await?;
                let odd = || Error::Damaged { what: format!("{} is no directory", content.tree) };
                let about = about.ok_or_else(odd)?;
                let checks = [
                    ("files in one package", about.totals.files, limits.content_files_max),
                    ("bytes in one package", about.totals.bytes, limits.content_bytes_max),
                ];
                for (what, found, max) in checks {
                    if found > max {
                        return Err(Error::TooLarge { what, found, max });
                    }
                }
                if about.kind != folio_model::NodeKind::Tree {
                    return Err(odd());
                }
            }
        }
        Ok(manifest)
    }
}

/// Refuses an app that has something already, and who may not make or change it. Gives the units that nobody sees.
fn occupied(state: &dyn State, caller: &Caller, app: &AppName) -> Result<Vec<Unit>, Error> {
    if !state.has_app(app)? {
        caller.may(Right::Administer, None)?;
        return Ok(Vec::new());
    }
    caller.may(Right::Deploy, Some(app))?;
    let (mut hidden, mut referrers) = (Vec::new(), Vec::new());
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Secret) {
        for unit in state.units(app, kind)? {
            if unit.is_visible() {
                let (kind, name) = (kind.to_string(), unit.key.name.to_string());
                referrers.push(Referrer { kind, name });
            } else {
                hidden.push(unit);
            }
        }
    }
    match referrers.is_empty() {
        true => Ok(hidden),
        false => Err(Error::Occupied { app: app.clone(), referrers }),
    }
}

/// What the secrets are in this app that functions read.
fn secrets(
    state: &dyn State,
    app: &AppName,
    manifest: &Manifest,
) -> Result<BTreeMap<Name, Digest>, Error> {
    let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
    for (name, keys) in &manifest.secrets {
        let key = UnitKey { app: app.clone(), kind: Kind::Secret, name: name.clone() };
        let unit = state.unit(&key)?.filter(Unit::is_visible);
        let latest = unit.and_then(|unit| Some((unit.uid, unit.latest?)));
        let version = match latest {
            Some((unit, number)) => state.version(VersionKey { unit, number })?,
            None => None,
        };
        let has: BTreeSet<_> = match &version {
            Some(version) => match view::snapshot(state, version.snapshot)? {
                Snapshot::Secret(spec) => spec.keys.into_keys().collect(),
                _ => return Err(StoreError::corrupt(format!("secret `{name}`")).into()),
            },
            None => BTreeSet::new(),
        };
        let lacks: Vec<_> = keys.iter().filter(|key| !has.contains(key)).cloned().collect();
        match version {
            Some(version) if lacks.is_empty() => {
                found.insert(name.clone(), version.snapshot);
            }
            _ => missing.push((name.clone(), lacks)),
        }
    }
    if missing.is_empty() { Ok(found) } else { Err(Error::NoSecrets { app: app.clone(), missing }) }
}

/// Refuses routes that take what others take, and triggers that make no sense.
fn refuse_routes(state: &dyn State, app: &AppName, manifest: &Manifest) -> Result<(), Error> {
    let mut wanted = Vec::new();
    for (name, value) in manifest.newest(Kind::Trigger) {
        if let Some(spec) = as_route(value) {
            route::check_patterns(spec).map_err(Box::new)?;
            let key = UnitKey { app: app.clone(), kind: Kind::Trigger, name: name.clone() };
            wanted.push((key, spec));
        } else if let Snapshot::Trigger(TriggerSpec::Timer(timer)) = value
            && let Err(what) = Schedule::of(timer)
        {
            return Err(Error::Damaged { what: format!("trigger `{name}`: {what}") });
        }
    }
    match route::clashes(state, &wanted, &BTreeSet::new())?.into_iter().next() {
        Some((_, error)) => Err(Box::new(error).into()),
        None => Ok(()),
    }
}

/// What snapshots are here: functions that read secrets read those of this app.
struct Values {
    by_old: HashMap<Digest, Snapshot>,
    renewed: BTreeSet<Digest>,
}

impl Values {
    fn of(manifest: &Manifest, secrets: &BTreeMap<Name, Digest>) -> Self {
        let mut values = Self { by_old: HashMap::new(), renewed: BTreeSet::new() };
        let mut said: Vec<_> = manifest.snapshots.iter().collect();
        said.sort_by_key(|(_, said)| said.value.kind().need());
        for (old, said) in said {
            let mut value = said.value.clone();
            values.pin_again(&mut value, secrets);
            if value.digest() != *old {
                values.renewed.insert(*old);
            }
            values.by_old.insert(*old, value);
        }
        values
    }

    /// Has a snapshot stand on what is here.
    fn pin_again(&self, value: &mut Snapshot, secrets: &BTreeMap<Name, Digest>) {
        let again = |digest: &mut Digest| {
            if let Some(value) = self.by_old.get(digest) {
                *digest = value.digest();
            }
        };
        match value {
            Snapshot::Function(spec) => {
                again(&mut spec.package.snapshot);
                spec.environment_snapshot.iter_mut().for_each(again);
                spec.configs.iter_mut().for_each(|pin| again(&mut pin.snapshot));
                for pin in &mut spec.secrets {
                    if let Some(own) = secrets.get(&pin.name) {
                        pin.snapshot = *own;
                    }
                }
            }
            Snapshot::Package(spec) => spec.environment_snapshot.iter_mut().for_each(again),
            _ => {}
        }
    }

    fn get(&self, old: Digest) -> &Snapshot {
        self.by_old.get(&old).expect("a manifest that was checked has every snapshot it names")
    }
}

/// An app in the making.
struct Making<'a> {
    manifest: &'a Manifest,
    values: Values,
    /// The units that were made, by kind and name.
    units: HashMap<(Kind, Name), UnitUid>,
    at: Timestamp,
}

impl Making<'_> {
    fn carry_out(mut self, builder: &mut Builder<'_>, created: bool) -> Result<Imported, Error> {
        let (manifest, app) = (self.manifest, builder.app().clone());
        let mut said: Vec<_> = manifest.snapshots.keys().collect();
        said.sort_by_key(|old| self.values.get(**old).kind().need());
        for old in said {
            builder.bring_along(self.values.get(*old));
        }
        let mut units: Vec<_> = manifest.units.iter().collect();
        units.sort_by_key(|unit| unit.kind.need());
        let mut waiting = BTreeSet::new();
        for unit in &units {
            if self.unit(builder, unit)? {
                waiting.insert(unit.name.clone());
            }
        }
        for (tag, members) in &manifest.tags {
            let members =
                members.iter().map(|(name, number)| (self.uid(Kind::Function, name), *number));
            let pointer = Pointer::Tag { app: app.clone(), name: tag.clone() };
            builder.point(pointer, None, Some(Place::Members(members.collect())))?;
        }
        let (from, from_version) = (manifest.app.clone(), manifest.app_version.id.clone());
        builder.say(format!("import app version {from_version} of app {from}"));
        let functions = units.iter().filter(|unit| unit.kind == Kind::Function);
        let renewed = functions.filter(|unit| {
            unit.versions.iter().any(|version| self.values.renewed.contains(&version.snapshot))
        });
        Ok(Imported {
            app,
            created,
            from,
            from_version,
            units: units.len() as u64,
            versions: units.iter().map(|unit| unit.versions.len() as u64).sum(),
            renewed: renewed.map(|unit| unit.name.clone()).collect(),
            waiting: waiting.into_iter().collect(),
        })
    }

    /// Makes a unit with its versions, its draft and its pointers. Says whether something of it has to be built.
    fn unit(&mut self, builder: &mut Builder<'_>, said: &UnitSaid) -> Result<bool, StoreError> {
        let mut unit = builder.create(said.kind, said.name.clone(), said.origin)?;
        self.units.insert((said.kind, said.name.clone()), unit.uid);
        let mut waits = false;
        for version in &said.versions {
            let value = self.values.get(version.snapshot);
            waits |= builder.restate(&mut unit, value, self.version(value, version))?;
        }
        if let Some(draft) = &said.draft {
            let value = self.values.get(draft.snapshot);
            let uses = draft.uses.as_ref().map(|uses| self.uses(uses));
            let draft = Draft { snapshot: value.digest(), uses, archive: draft.archive };
            builder.set_draft(&mut unit, value, draft)?;
        }
        if said.owner.is_some() {
            builder.push(Edit::Own { uid: unit.uid, from: None, to: said.owner.clone() })?;
        }
        for (name, weights) in &said.aliases {
            let pointer = Pointer::Alias { unit: unit.uid, name: name.clone() };
            builder.point(pointer, None, Some(Place::Versions(weights.clone())))?;
        }
        if let Some(marks) = &said.marks {
            let mut marks = marks.clone();
            if let Some(value) = self.values.by_old.get(&marks.of) {
                marks.of = value.digest();
            }
            marks.since = marks.since.min(self.at);
            let pointer = Pointer::Marks { app: builder.app().clone(), object: unit.uid.0 };
            builder.point(pointer, None, Some(Place::Marks(Box::new(marks))))?;
        }
        Ok(waits)
    }

    fn version(&self, value: &Snapshot, said: &VersionSaid) -> Version {
        Version {
            number: said.number,
            id: said.id.clone(),
            snapshot: value.digest(),
            uses: said.uses.as_ref().map(|uses| self.uses(uses)),
            archive: said.archive,
            created_at: said.created_at,
            created_by: said.created_by.clone(),
            description: said.description.clone(),
            described_at: said.described_at,
        }
    }

    fn uses(&self, said: &UseSaid) -> VersionKey {
        let number: Number = said.number;
        VersionKey { unit: self.uid(Kind::Package, &said.package), number }
    }

    fn uid(&self, kind: Kind, name: &Name) -> UnitUid {
        let made = self.units.get(&(kind, name.clone()));
        *made.expect("those come first that others stand on")
    }
}
