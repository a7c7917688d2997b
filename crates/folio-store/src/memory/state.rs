//! The state as memory holds it. Each method says what the port promises, in the plainest way.

use std::collections::BTreeSet;

use folio_core::ports::{
    Page, PendingBuild, Releases, StandingBinding, StandingCanary, StandingDomain, StandingRelease,
    StandingTrigger, State, StoreError,
};
use folio_model::{
    Alias, Answer, AppName, AppVersion, BuildRecord, Digest, Entry, Kind, Name, Number, Owner,
    Place, Placement, Pointer, ReleaseId, Snapshot, Tag, Target, Timestamp, TokenRecord, Unit,
    UnitKey, UnitUid, Version, VersionId, VersionKey,
};
use uuid::Uuid;

use super::rows::{Interval, Rows, UnitRow};

impl State for Rows {
    fn head(&self) -> Result<u64, StoreError> {
        Ok(self.entries.range(..).next_back().map_or(0, |(seq, _)| *seq))
    }

    fn last_entry(&self, app: &AppName) -> Result<u64, StoreError> {
        let mut places = self.app_entries.range((app.clone(), 0)..=(app.clone(), u64::MAX));
        Ok(places.next_back().map_or(0, |((_, seq), ())| *seq))
    }

    fn has_app(&self, app: &AppName) -> Result<bool, StoreError> {
        Ok(self.apps.get(app).copied().unwrap_or(false))
    }

    fn token(&self, id: &str) -> Result<Option<TokenRecord>, StoreError> {
        Ok(self.tokens.get(&id.to_owned()).cloned())
    }

    fn tokens(&self) -> Result<Vec<(String, TokenRecord)>, StoreError> {
        Ok(self.tokens.range(..).map(|(id, token)| (id.clone(), token.clone())).collect())
    }

    fn unit(&self, key: &UnitKey) -> Result<Option<Unit>, StoreError> {
        self.names.get(key).map_or(Ok(None), |uid| self.unit_by_uid(*uid))
    }

    fn owner(&self, uid: UnitUid) -> Result<Option<Owner>, StoreError> {
        Ok(self.units.get(&uid).and_then(|row| row.unit.owner.clone()))
    }

    fn unit_by_uid(&self, uid: UnitUid) -> Result<Option<Unit>, StoreError> {
        Ok(self.living_unit(uid))
    }

    fn units(&self, app: &AppName, kind: Kind) -> Result<Vec<Unit>, StoreError> {
        self.units_after(app, kind, (None, usize::MAX))
    }

    fn units_after(
        &self,
        app: &AppName,
        kind: Kind,
        (after, limit): (Option<&Name>, usize),
    ) -> Result<Vec<Unit>, StoreError> {
        let first = UnitKey { app: app.clone(), kind, name: first_name() };
        let of_kind = |key: &UnitKey| key.app == *app && key.kind == kind;
        let keys = self.names.range(first..).take_while(|(key, _)| of_kind(key));
        let keys = keys.filter(|(key, _)| after.is_none_or(|after| key.name > *after));
        let unit = |uid: &UnitUid| self.units.get(uid).expect("names lead to units").unit.clone();
        Ok(keys.take(limit).map(|(_, uid)| unit(uid)).collect())
    }

    fn owned(&self, app: &AppName, deployment: &str) -> Result<Vec<Unit>, StoreError> {
        let is_owned = |unit: &Unit| unit.owner.as_ref().is_some_and(|own| own.uid == deployment);
        let mut owned = Vec::new();
        for kind in Kind::ALL {
            owned.extend(self.units(app, kind)?.into_iter().filter(is_owned));
        }
        Ok(owned)
    }

    fn version(&self, key: VersionKey) -> Result<Option<Version>, StoreError> {
        let version = self.versions.get(&key).filter(|_| self.surviving.has(&key));
        Ok(version.cloned())
    }

    fn version_by_id(
        &self,
        unit: UnitUid,
        id: &VersionId,
    ) -> Result<Option<(Version, bool)>, StoreError> {
        let Some(&number) = self.ids.get(&(unit, id.clone())) else { return Ok(None) };
        let key = VersionKey { unit, number };
        Ok(self.versions.get(&key).map(|version| (version.clone(), self.surviving.has(&key))))
    }

    fn versions(&self, unit: UnitUid, page: Page) -> Result<Vec<Version>, StoreError> {
        let Some(first) = page.after.checked_add(1).and_then(Number::new) else {
            return Ok(Vec::new());
        };
        let keys = self.surviving.range(VersionKey { unit, number: first }..=last_of(unit));
        Ok(keys.take(page.limit).filter_map(|(key, ())| self.versions.get(key).cloned()).collect())
    }

    fn version_count(&self, unit: UnitUid) -> Result<u64, StoreError> {
        let first = VersionKey { unit, number: Number::FIRST };
        Ok(self.surviving.range(first..=last_of(unit)).count() as u64)
    }

    fn version_before(&self, key: VersionKey) -> Result<Option<Version>, StoreError> {
        let first = VersionKey { unit: key.unit, number: Number::FIRST };
        let below = self.surviving.range(first..key).next_back();
        Ok(below.and_then(|(key, ())| self.versions.get(key).cloned()))
    }

    fn ready_before(&self, key: VersionKey) -> Result<Option<Version>, StoreError> {
        let first = VersionKey { unit: key.unit, number: Number::FIRST };
        let mut below = self.surviving.range(first..key).rev().map(|(key, ())| key);
        let ready = below.find(|key| !self.waits.has(key));
        Ok(ready.and_then(|key| self.versions.get(key).cloned()))
    }

    fn is_ready(&self, key: VersionKey) -> Result<bool, StoreError> {
        Ok(self.versions.has(&key) && !self.waits.has(&key))
    }

    fn build(&self, key: Digest) -> Result<Option<BuildRecord>, StoreError> {
        Ok(self.builds.get(&key).cloned())
    }

    fn builds_of(&self, made: Digest) -> Result<Vec<Digest>, StoreError> {
        let made_it = |record: &BuildRecord| record.made().any(|digest| digest == made);
        let builds = self.builds.range(..).filter(|(_, record)| made_it(record));
        Ok(builds.map(|(key, _)| *key).collect())
    }

    fn waiting(&self, key: Digest) -> Result<Vec<VersionKey>, StoreError> {
        let waiting = self.waiting.get(&key).into_iter().flatten();
        Ok(waiting.filter(|key| self.surviving.has(key)).copied().collect())
    }

    fn builds_pending(&self, limit: usize) -> Result<Vec<PendingBuild>, StoreError> {
        let waits = self.waits.range(..).filter(|(key, _)| self.surviving.has(key));
        let drafts = self.units.range(..).filter_map(|(_, row)| row.unit.draft.as_ref());
        let drafts = drafts.filter_map(|draft| self.build_key(draft.snapshot));
        let needed: BTreeSet<_> = waits.map(|(_, build)| *build).chain(drafts).collect();
        let pending = needed.into_iter().filter(|key| !self.builds.has(key));
        let package = |key| self.recipes.get(&key).copied();
        let pending = pending.filter_map(|key| Some(PendingBuild { key, package: package(key)? }));
        Ok(pending.take(limit).collect())
    }

    fn triggers_of(&self, app: &AppName, function: &Name) -> Result<Vec<Unit>, StoreError> {
        let triggers = self.aimed_at.get(&(app.clone(), function.clone())).into_iter().flatten();
        let mut units: Vec<_> = triggers.filter_map(|uid| self.living_unit(*uid)).collect();
        units.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(units)
    }

    fn triggers(&self) -> Result<Vec<StandingTrigger>, StoreError> {
        let units = self.aims.range(..).filter_map(|(uid, _)| self.living_unit(*uid));
        let mut triggers: Vec<_> = units.filter_map(|unit| self.standing(unit)).collect();
        triggers.sort_by(|a, b| a.unit.key.cmp(&b.unit.key));
        Ok(triggers)
    }

    fn naming(&self, key: &UnitKey) -> Result<Vec<Unit>, StoreError> {
        let naming = self.named_by.get(key).into_iter().flatten();
        let mut units: Vec<_> = naming.filter_map(|uid| self.living_unit(*uid)).collect();
        units.sort_by(|a, b| a.key.name.cmp(&b.key.name));
        Ok(units)
    }

    fn some_secret(&self) -> Result<Option<(UnitKey, Digest)>, StoreError> {
        let secrets = self.units.range(..).filter(|(_, row)| row.unit.key.kind == Kind::Secret);
        let first = |(uid, row): (&UnitUid, &UnitRow)| {
            let versions = VersionKey { unit: *uid, number: Number::FIRST }..=last_of(*uid);
            let (_, version) = self.versions.range(versions).next()?;
            Some((row.unit.key.clone(), version.snapshot))
        };
        Ok(secrets.into_iter().find_map(first))
    }

    fn users(&self, package: VersionKey) -> Result<Vec<VersionKey>, StoreError> {
        Ok(self.users.get(&package).into_iter().flatten().copied().collect())
    }

    fn draft_users(&self, package: VersionKey) -> Result<Vec<UnitUid>, StoreError> {
        Ok(self.draft_users.get(&package).into_iter().flatten().copied().collect())
    }

    fn id_taken(&self, app: &AppName, id: &VersionId) -> Result<bool, StoreError> {
        Ok(self.taken_ids.has(&(app.clone(), id.clone())))
    }

    fn alias(&self, unit: UnitUid, name: &VersionId) -> Result<Option<Alias>, StoreError> {
        Ok(self.aliases.get(&unit).and_then(|aliases| aliases.get(name)).cloned())
    }

    fn aliases(&self, unit: UnitUid) -> Result<Vec<Alias>, StoreError> {
        Ok(self.aliases.get(&unit).into_iter().flat_map(|all| all.values().cloned()).collect())
    }

    fn tag(&self, app: &AppName, name: &VersionId) -> Result<Option<Tag>, StoreError> {
        Ok(self.tags.get(app).and_then(|tags| tags.get(name)).cloned())
    }

    fn tags(&self, app: &AppName) -> Result<Vec<Tag>, StoreError> {
        Ok(self.tags.get(app).into_iter().flat_map(|all| all.values().cloned()).collect())
    }

    fn split(&self, unit: UnitUid) -> Result<Option<Vec<Target>>, StoreError> {
        Ok(self.splits.get(&unit).cloned())
    }

    fn binding(&self, app: &AppName, id: Uuid) -> Result<Option<StandingBinding>, StoreError> {
        Ok(self.bindings.get(&(app.clone(), id)).cloned())
    }

    fn bindings(&self, app: Option<&AppName>) -> Result<Vec<StandingBinding>, StoreError> {
        let all = self.bindings.range(..).map(|(_, found)| found);
        let of = all.filter(|found| app.is_none_or(|app| found.app == *app));
        let mut found: Vec<_> = of.cloned().collect();
        found.sort_by_key(|found| (found.binding.created_at, found.id));
        Ok(found)
    }

    fn canary(&self, app: &AppName, name: &Name) -> Result<Option<StandingCanary>, StoreError> {
        Ok(self.canaries.get(&(app.clone(), name.clone())).cloned())
    }

    fn canaries(&self, app: Option<&AppName>) -> Result<Vec<StandingCanary>, StoreError> {
        let all = self.canaries.range(..).map(|(_, found)| found);
        Ok(all.filter(|found| app.is_none_or(|app| found.app == *app)).cloned().collect())
    }

    fn pointers_to(&self, key: VersionKey) -> Result<Vec<Pointer>, StoreError> {
        Ok(self.targets.get(&key).into_iter().flatten().cloned().collect())
    }

    fn moves(&self, pointer: &Pointer) -> Result<Vec<Entry>, StoreError> {
        let places = self.moves.get(pointer).into_iter().flatten();
        Ok(places.filter_map(|seq| self.entries.get(seq).cloned()).collect())
    }

    fn moves_before(
        &self,
        pointer: &Pointer,
        below: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let newest = self.moves(pointer)?.into_iter().rev();
        Ok(newest.filter(|entry| entry.seq < below).take(limit).collect())
    }

    fn snapshot(&self, digest: Digest) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.snapshots.get(&digest).cloned())
    }

    fn entry(&self, seq: u64) -> Result<Option<Entry>, StoreError> {
        Ok(self.entries.get(&seq).cloned())
    }

    fn entries(&self, app: Option<&AppName>, page: Page) -> Result<Vec<Entry>, StoreError> {
        let Some(first) = page.after.checked_add(1) else { return Ok(Vec::new()) };
        Ok(match app {
            None => {
                let entries = self.entries.range(first..).take(page.limit);
                entries.map(|(_, entry)| entry.clone()).collect()
            }
            Some(app) => {
                let places = self.app_entries.range((app.clone(), first)..=(app.clone(), u64::MAX));
                let entries = places.filter_map(|((_, seq), ())| self.entries.get(seq).cloned());
                entries.take(page.limit).collect()
            }
        })
    }

    fn entries_before(
        &self,
        app: &AppName,
        below: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let places = self.app_entries.range((app.clone(), 0)..(app.clone(), below)).rev();
        let entries = places.filter_map(|((_, seq), ())| self.entries.get(seq).cloned());
        Ok(entries.take(limit).collect())
    }

    fn undone_by(&self, seq: u64) -> Result<Option<u64>, StoreError> {
        let chain = std::iter::successors(self.undoing.get(&seq), |by| self.undoing.get(by));
        let by = self.undoing.get(&seq).copied();
        Ok(by.filter(|_| chain.count() % 2 == 1))
    }

    fn app_version(&self, app: &AppName, number: Number) -> Result<Option<AppVersion>, StoreError> {
        Ok(self.app_versions.get(&(app.clone(), number)).cloned())
    }

    fn app_version_by_id(
        &self,
        app: &AppName,
        id: &VersionId,
    ) -> Result<Option<AppVersion>, StoreError> {
        let number = self.app_version_ids.get(&(app.clone(), id.clone()));
        number.map_or(Ok(None), |number| self.app_version(app, *number))
    }

    fn app_version_at(
        &self,
        app: &AppName,
        at: Option<Timestamp>,
    ) -> Result<Option<AppVersion>, StoreError> {
        let Some(at) = at else { return Ok(self.app_versions_before(app, None, 1)?.pop()) };
        let first = (app.clone(), Timestamp::MIN, Number::FIRST);
        let found = self.app_version_times.range(first..=(app.clone(), at, last_number()));
        let newest = found.map(|((_, _, number), ())| *number).next_back();
        newest.map_or(Ok(None), |number| self.app_version(app, number))
    }

    fn app_versions_before(
        &self,
        app: &AppName,
        below: Option<Number>,
        limit: usize,
    ) -> Result<Vec<AppVersion>, StoreError> {
        let below = below.unwrap_or_else(last_number);
        let numbers = (app.clone(), Number::FIRST)..(app.clone(), below);
        let found = self.app_versions.range(numbers).rev().take(limit);
        Ok(found.map(|(_, version)| version.clone()).collect())
    }

    fn placements(&self, app: &AppName, at: Number) -> Result<Vec<Placement>, StoreError> {
        let units = (app.clone(), UnitUid(Uuid::nil()))..=(app.clone(), UnitUid(Uuid::max()));
        let units = self.app_units.range(units).map(|((_, uid), ())| *uid);
        let mut placements: Vec<_> = units.filter_map(|uid| self.placed_at(uid, at)).collect();
        placements.sort_by(|a, b| (a.kind, &a.name, a.uid).cmp(&(b.kind, &b.name, b.uid)));
        Ok(placements)
    }

    fn placement(&self, unit: UnitUid) -> Result<Option<Placement>, StoreError> {
        let standing = self.interval(unit, last_number()).filter(|found| found.until.is_none());
        Ok(standing.map(|found| found.placement.clone()))
    }

    fn placement_at(&self, unit: UnitUid, at: Number) -> Result<Option<Placement>, StoreError> {
        Ok(self.placed_at(unit, at))
    }

    fn place(&self, pointer: &Pointer) -> Result<Option<(Place, u64)>, StoreError> {
        let Some(place) = self.points_to(pointer) else { return Ok(None) };
        let moved = self.moves.get(pointer).and_then(|moves| moves.last().copied());
        Ok(Some((place, moved.unwrap_or(0))))
    }

    fn releases(
        &self,
        app: &AppName,
        which: Releases<'_>,
    ) -> Result<Vec<StandingRelease>, StoreError> {
        Ok(self.releases_of(app, which))
    }

    fn release_tags(&self, app: &AppName) -> Result<Vec<(ReleaseId, ReleaseId)>, StoreError> {
        let tags =
            self.app_pointers.range(..).filter_map(|(pointer, place)| match (pointer, place) {
                (Pointer::ReleaseTag { app: of, name }, Place::Tagged(id)) if of == app => {
                    Some((name.clone(), id.clone()))
                }
                _ => None,
            });
        Ok(tags.collect())
    }

    fn domains(&self, app: Option<&AppName>) -> Result<Vec<StandingDomain>, StoreError> {
        let domains =
            self.app_pointers.range(..).filter_map(|(pointer, place)| match (pointer, place) {
                (Pointer::Domain { name }, Place::App(of)) if app.is_none_or(|app| app == of) => {
                    let revision = self.moves.get(pointer).and_then(|moves| moves.last().copied());
                    let (domain, app) = (name.clone(), of.clone());
                    Some(StandingDomain { domain, app, revision: revision.unwrap_or(0) })
                }
                _ => None,
            });
        Ok(domains.collect())
    }

    fn apps(&self) -> Result<Vec<AppName>, StoreError> {
        Ok(self.apps.range(..).filter(|(_, lives)| **lives).map(|(app, _)| app.clone()).collect())
    }

    fn answer(&self, key: &str) -> Result<Option<Answer>, StoreError> {
        Ok(self.answers.get(&key.to_owned()).cloned())
    }

    fn content_roots(&self) -> Result<Vec<Digest>, StoreError> {
        let versions = self.surviving.range(..).filter_map(|(key, ())| self.versions.get(key));
        let held = versions.map(|version| (version.snapshot, version.archive));
        let drafts = self.units.range(..).filter_map(|(_, row)| row.unit.draft.as_ref());
        let held = held.chain(drafts.map(|draft| (draft.snapshot, draft.archive)));
        let held = held.chain(self.released().map(|snapshot| (snapshot, None)));
        let roots = held.flat_map(|(snapshot, archive)| {
            self.trees(snapshot).chain(self.made(snapshot)).chain(archive)
        });
        let mut roots: Vec<_> = roots.collect();
        roots.sort_unstable();
        roots.dedup();
        Ok(roots)
    }
}

impl Rows {
    fn placed_at(&self, unit: UnitUid, at: Number) -> Option<Placement> {
        let stands = |found: &&Interval| found.until.is_none_or(|until| until > at);
        self.interval(unit, at).filter(stands).map(|found| found.placement.clone())
    }

    /// An app's releases, in the order the port says.
    fn releases_of(&self, app: &AppName, which: Releases<'_>) -> Vec<StandingRelease> {
        let mut found: Vec<_> = self.all_releases().filter(|(of, _)| *of == app).collect();
        found.sort_by_key(|(_, found)| found.release.entry);
        let found = found.into_iter().map(|(_, found)| found);
        match which {
            Releases::Accessible => found.filter(|found| found.release.is_accessible()).collect(),
            Releases::Of(id) => found.filter(|found| found.release.app_version == *id).collect(),
            Releases::Before(below, limit) => {
                found.filter(|found| found.release.entry < below).rev().take(limit).collect()
            }
        }
    }

    fn all_releases(&self) -> impl Iterator<Item = (&AppName, StandingRelease)> {
        self.app_pointers.range(..).filter_map(|(pointer, place)| match (pointer, place) {
            (Pointer::Release { app, id }, Place::Release(release)) => {
                Some((app, StandingRelease { id: id.clone(), release: release.clone() }))
            }
            _ => None,
        })
    }

    /// The snapshots of everything in releases that can be reached.
    fn released(&self) -> impl Iterator<Item = Digest> {
        let reached = self.all_releases().filter(|(_, found)| found.release.is_accessible());
        let placed = reached.flat_map(move |(app, found)| {
            let key = (app.clone(), found.release.app_version);
            let number = self.app_version_ids.get(&key).copied();
            let units = (app.clone(), UnitUid(Uuid::nil()))..=(app.clone(), UnitUid(Uuid::max()));
            let units = self.app_units.range(units).map(|((_, uid), ())| *uid);
            units.filter_map(move |uid| self.placed_at(uid, number?))
        });
        placed.flat_map(|placed| placed.latest.map(|(_, _, at)| at).into_iter().chain(placed.draft))
    }

    /// The last interval that began at or before an app version.
    fn interval(&self, unit: UnitUid, at: Number) -> Option<&Interval> {
        self.placements.range((unit, Number::FIRST)..=(unit, at)).next_back().map(|(_, row)| row)
    }

    /// The trees a snapshot holds, or the package it froze.
    fn trees(&self, snapshot: Digest) -> impl Iterator<Item = Digest> {
        let own = self.snapshots.get(&snapshot);
        let pinned = own.and_then(|snapshot| {
            let Snapshot::Function(spec) = snapshot else { return None };
            self.snapshots.get(&spec.package.snapshot)
        });
        let both = own.into_iter().chain(pinned);
        both.flat_map(Snapshot::contents).map(|content| content.tree)
    }

    /// What the build of a snapshot, or of the package it froze, made and printed.
    fn made(&self, snapshot: Digest) -> impl Iterator<Item = Digest> {
        let record = self.build_key(snapshot).and_then(|key| self.builds.get(&key));
        record.into_iter().flat_map(BuildRecord::made)
    }

    fn living_unit(&self, uid: UnitUid) -> Option<Unit> {
        self.units.get(&uid).filter(|row| row.lives).map(|row| row.unit.clone())
    }

    /// What a trigger's latest version says.
    fn standing(&self, unit: Unit) -> Option<StandingTrigger> {
        let latest = VersionKey { unit: unit.uid, number: unit.latest? };
        match self.snapshots.get(&self.versions.get(&latest)?.snapshot)? {
            Snapshot::Trigger(spec) => Some(StandingTrigger { spec: spec.clone(), unit }),
            _ => None,
        }
    }
}

fn first_name() -> Name {
    "0".parse().expect("a digit is a name, and no name sorts before it")
}

fn last_number() -> Number {
    Number::new(i64::MAX.unsigned_abs()).expect("the largest number a store can hold")
}

fn last_of(unit: UnitUid) -> VersionKey {
    VersionKey { unit, number: last_number() }
}
