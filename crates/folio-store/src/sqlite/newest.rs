//! The newest state, as a plan sees it inside the writer's transaction: what the writer knows, else what SQLite
//! holds.

use folio_core::ports::{
    Page, PendingBuild, Releases, StandingBinding, StandingCanary, StandingDomain, StandingRelease,
    StandingTrigger, State, StoreError,
};
use folio_model::{
    Alias, Answer, AppName, AppVersion, BuildRecord, Digest, Entry, EntryHash, Kind, Name, Number,
    Owner, Place, Placement, Pointer, ReleaseId, Snapshot, Tag, Target, Timestamp, TokenRecord,
    Unit, UnitKey, UnitUid, Version, VersionId, VersionKey,
};
use uuid::Uuid;

use super::session::Session;
use super::state::{Seen, history, places};

/// The state after the last entry.
pub(crate) struct Newest<'a>(pub(crate) &'a Session);

impl Newest<'_> {
    fn seen(&self) -> Seen<'_> {
        Seen(self.0)
    }

    /// The last entry's place and the hash the next is chained to.
    pub(crate) fn tip(&self) -> Result<(u64, EntryHash), StoreError> {
        if let Some(tip) = self.0.known(|known| known.tip) {
            return Ok(tip);
        }
        let tip = history::tip(self.0)?;
        self.0.known(|known| known.tip = Some(tip));
        Ok(tip)
    }

    /// The number and id of an app's newest app version.
    pub(crate) fn newest_app_version(
        &self,
        app: &AppName,
    ) -> Result<Option<(Number, VersionId)>, StoreError> {
        if let Some(newest) = self.0.known(|known| known.newest.get(app).cloned()) {
            return Ok(Some(newest));
        }
        Ok(places::newest(self.0, app)?.map(|newest| (newest.number, newest.id)))
    }

    fn note(&self, unit: Option<&Unit>) {
        if let Some(unit) = unit {
            self.0.known(|known| known.note_unit(unit.clone()));
        }
    }
}

impl State for Newest<'_> {
    fn head(&self) -> Result<u64, StoreError> {
        Ok(self.tip()?.0)
    }

    fn last_entry(&self, app: &AppName) -> Result<u64, StoreError> {
        self.seen().last_entry(app)
    }

    fn has_app(&self, app: &AppName) -> Result<bool, StoreError> {
        if self.0.known(|known| known.apps.get(app).is_some()) {
            return Ok(true);
        }
        let found = self.seen().has_app(app)?;
        if found {
            self.0.known(|known| known.apps.put(app.clone(), ()));
        }
        Ok(found)
    }

    fn unit(&self, key: &UnitKey) -> Result<Option<Unit>, StoreError> {
        if let Some(unit) = self.0.known(|known| known.unit(key).cloned()) {
            return Ok(Some(unit));
        }
        let unit = self.seen().unit(key)?;
        self.note(unit.as_ref());
        Ok(unit)
    }

    fn owner(&self, uid: UnitUid) -> Result<Option<Owner>, StoreError> {
        self.seen().owner(uid)
    }

    fn unit_by_uid(&self, uid: UnitUid) -> Result<Option<Unit>, StoreError> {
        if let Some(unit) = self.0.known(|known| known.units.get(&uid).cloned()) {
            return Ok(Some(unit));
        }
        let unit = self.seen().unit_by_uid(uid)?;
        self.note(unit.as_ref());
        Ok(unit)
    }

    fn placement(&self, unit: UnitUid) -> Result<Option<Placement>, StoreError> {
        if let Some(placement) = self.0.known(|known| known.places.get(&unit).cloned()) {
            return Ok(placement);
        }
        let placement = self.seen().placement(unit)?;
        self.0.known(|known| known.places.put(unit, placement.clone()));
        Ok(placement)
    }

    fn place(&self, pointer: &Pointer) -> Result<Option<(Place, u64)>, StoreError> {
        if let Some(place) = self.0.known(|known| known.pointer(pointer)) {
            return Ok(place);
        }
        // Asked of every id that is drawn.
        if self.0.known(|known| known.lacks_release_tag(pointer)) {
            return Ok(None);
        }
        let place = self.seen().place(pointer)?;
        self.0.known(|known| known.note_pointer(pointer, place.clone()));
        Ok(place)
    }

    fn releases(
        &self,
        app: &AppName,
        which: Releases<'_>,
    ) -> Result<Vec<StandingRelease>, StoreError> {
        let Releases::Accessible = which else { return self.seen().releases(app, which) };
        if let Some(releases) = self.0.known(|known| known.releases.get(app).cloned()) {
            return Ok(releases);
        }
        let releases = self.seen().releases(app, which)?;
        self.0.known(|known| known.releases.put(app.clone(), releases.clone()));
        Ok(releases)
    }

    fn release_tags(&self, app: &AppName) -> Result<Vec<(ReleaseId, ReleaseId)>, StoreError> {
        if let Some(tags) = self.0.known(|known| known.release_tags.get(app).cloned()) {
            return Ok(tags);
        }
        let tags = self.seen().release_tags(app)?;
        self.0.known(|known| known.release_tags.put(app.clone(), tags.clone()));
        Ok(tags)
    }

    // What follows is asked of SQLite as it is.

    fn token(&self, id: &str) -> Result<Option<TokenRecord>, StoreError> {
        self.seen().token(id)
    }

    fn tokens(&self) -> Result<Vec<(String, TokenRecord)>, StoreError> {
        self.seen().tokens()
    }

    fn units(&self, app: &AppName, kind: Kind) -> Result<Vec<Unit>, StoreError> {
        self.seen().units(app, kind)
    }

    fn units_after(
        &self,
        app: &AppName,
        kind: Kind,
        page: (Option<&Name>, usize),
    ) -> Result<Vec<Unit>, StoreError> {
        self.seen().units_after(app, kind, page)
    }

    fn owned(&self, app: &AppName, deployment: &str) -> Result<Vec<Unit>, StoreError> {
        self.seen().owned(app, deployment)
    }

    fn version(&self, key: VersionKey) -> Result<Option<Version>, StoreError> {
        self.seen().version(key)
    }

    fn version_by_id(
        &self,
        unit: UnitUid,
        id: &VersionId,
    ) -> Result<Option<(Version, bool)>, StoreError> {
        self.seen().version_by_id(unit, id)
    }

    fn versions(&self, unit: UnitUid, page: Page) -> Result<Vec<Version>, StoreError> {
        self.seen().versions(unit, page)
    }

    fn version_count(&self, unit: UnitUid) -> Result<u64, StoreError> {
        self.seen().version_count(unit)
    }

    fn version_before(&self, key: VersionKey) -> Result<Option<Version>, StoreError> {
        self.seen().version_before(key)
    }

    fn ready_before(&self, key: VersionKey) -> Result<Option<Version>, StoreError> {
        self.seen().ready_before(key)
    }

    fn is_ready(&self, key: VersionKey) -> Result<bool, StoreError> {
        self.seen().is_ready(key)
    }

    fn build(&self, key: Digest) -> Result<Option<BuildRecord>, StoreError> {
        self.seen().build(key)
    }

    fn waiting(&self, key: Digest) -> Result<Vec<VersionKey>, StoreError> {
        self.seen().waiting(key)
    }

    fn builds_of(&self, made: Digest) -> Result<Vec<Digest>, StoreError> {
        self.seen().builds_of(made)
    }

    fn builds_pending(&self, limit: usize) -> Result<Vec<PendingBuild>, StoreError> {
        self.seen().builds_pending(limit)
    }

    fn triggers_of(&self, app: &AppName, function: &Name) -> Result<Vec<Unit>, StoreError> {
        self.seen().triggers_of(app, function)
    }

    fn triggers(&self) -> Result<Vec<StandingTrigger>, StoreError> {
        self.seen().triggers()
    }

    fn naming(&self, key: &UnitKey) -> Result<Vec<Unit>, StoreError> {
        self.seen().naming(key)
    }

    fn some_secret(&self) -> Result<Option<(UnitKey, Digest)>, StoreError> {
        self.seen().some_secret()
    }

    fn users(&self, package: VersionKey) -> Result<Vec<VersionKey>, StoreError> {
        self.seen().users(package)
    }

    fn draft_users(&self, package: VersionKey) -> Result<Vec<UnitUid>, StoreError> {
        self.seen().draft_users(package)
    }

    fn id_taken(&self, app: &AppName, id: &VersionId) -> Result<bool, StoreError> {
        self.seen().id_taken(app, id)
    }

    fn alias(&self, unit: UnitUid, name: &VersionId) -> Result<Option<Alias>, StoreError> {
        self.seen().alias(unit, name)
    }

    fn aliases(&self, unit: UnitUid) -> Result<Vec<Alias>, StoreError> {
        self.seen().aliases(unit)
    }

    fn tag(&self, app: &AppName, name: &VersionId) -> Result<Option<Tag>, StoreError> {
        self.seen().tag(app, name)
    }

    fn tags(&self, app: &AppName) -> Result<Vec<Tag>, StoreError> {
        self.seen().tags(app)
    }

    fn split(&self, unit: UnitUid) -> Result<Option<Vec<Target>>, StoreError> {
        self.seen().split(unit)
    }

    fn binding(&self, app: &AppName, id: Uuid) -> Result<Option<StandingBinding>, StoreError> {
        self.seen().binding(app, id)
    }

    fn bindings(&self, app: Option<&AppName>) -> Result<Vec<StandingBinding>, StoreError> {
        self.seen().bindings(app)
    }

    fn canary(&self, app: &AppName, name: &Name) -> Result<Option<StandingCanary>, StoreError> {
        self.seen().canary(app, name)
    }

    fn canaries(&self, app: Option<&AppName>) -> Result<Vec<StandingCanary>, StoreError> {
        self.seen().canaries(app)
    }

    fn pointers_to(&self, key: VersionKey) -> Result<Vec<Pointer>, StoreError> {
        self.seen().pointers_to(key)
    }

    fn moves(&self, pointer: &Pointer) -> Result<Vec<Entry>, StoreError> {
        self.seen().moves(pointer)
    }

    fn moves_before(
        &self,
        pointer: &Pointer,
        below: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.seen().moves_before(pointer, below, limit)
    }

    fn snapshot(&self, digest: Digest) -> Result<Option<Snapshot>, StoreError> {
        self.seen().snapshot(digest)
    }

    fn entry(&self, seq: u64) -> Result<Option<Entry>, StoreError> {
        self.seen().entry(seq)
    }

    fn entries(&self, app: Option<&AppName>, page: Page) -> Result<Vec<Entry>, StoreError> {
        self.seen().entries(app, page)
    }

    fn entries_before(
        &self,
        app: &AppName,
        below: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.seen().entries_before(app, below, limit)
    }

    fn undone_by(&self, seq: u64) -> Result<Option<u64>, StoreError> {
        self.seen().undone_by(seq)
    }

    fn app_version(&self, app: &AppName, number: Number) -> Result<Option<AppVersion>, StoreError> {
        self.seen().app_version(app, number)
    }

    fn app_version_by_id(
        &self,
        app: &AppName,
        id: &VersionId,
    ) -> Result<Option<AppVersion>, StoreError> {
        self.seen().app_version_by_id(app, id)
    }

    fn app_version_at(
        &self,
        app: &AppName,
        at: Option<Timestamp>,
    ) -> Result<Option<AppVersion>, StoreError> {
        self.seen().app_version_at(app, at)
    }

    fn app_versions_before(
        &self,
        app: &AppName,
        below: Option<Number>,
        limit: usize,
    ) -> Result<Vec<AppVersion>, StoreError> {
        self.seen().app_versions_before(app, below, limit)
    }

    fn placements(&self, app: &AppName, at: Number) -> Result<Vec<Placement>, StoreError> {
        self.seen().placements(app, at)
    }

    fn placement_at(&self, unit: UnitUid, at: Number) -> Result<Option<Placement>, StoreError> {
        self.seen().placement_at(unit, at)
    }

    fn domains(&self, app: Option<&AppName>) -> Result<Vec<StandingDomain>, StoreError> {
        self.seen().domains(app)
    }

    fn apps(&self) -> Result<Vec<AppName>, StoreError> {
        self.seen().apps()
    }

    fn answer(&self, key: &str) -> Result<Option<Answer>, StoreError> {
        self.seen().answer(key)
    }

    fn content_roots(&self) -> Result<Vec<Digest>, StoreError> {
        self.seen().content_roots()
    }
}
