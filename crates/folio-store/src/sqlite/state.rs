//! The state as SQLite holds it, seen through one connection: inside the writer's transaction, or on a reader.
//! Every lookup is by index; the queries are in the modules below, named after what they read.

use folio_core::ports::{
    Page, PendingBuild, Releases, StandingBinding, StandingCanary, StandingDomain, StandingRelease,
    StandingTrigger, State, StoreError,
};
use folio_model::{
    Alias, Answer, AppName, AppVersion, BuildRecord, Digest, Entry, Kind, Name, Number, Owner,
    Place, Placement, Pointer, ReleaseId, Snapshot, Tag, Target, Timestamp, TokenRecord, Unit,
    UnitKey, UnitUid, Version, VersionId, VersionKey,
};
use rusqlite::Connection;
use uuid::Uuid;

pub(crate) mod builds;
pub(crate) mod history;
pub(crate) mod names;
pub(crate) mod places;
pub(crate) mod pointers;
mod releases;
pub(crate) mod triggers;
pub(crate) mod units;
pub(crate) mod versions;

/// The state a connection sees.
pub(crate) struct Seen<'a>(pub(crate) &'a Connection);

impl State for Seen<'_> {
    fn head(&self) -> Result<u64, StoreError> {
        history::head(self.0)
    }

    fn last_entry(&self, app: &AppName) -> Result<u64, StoreError> {
        history::last_of(self.0, app)
    }

    fn has_app(&self, app: &AppName) -> Result<bool, StoreError> {
        units::has_app(self.0, app)
    }

    fn token(&self, id: &str) -> Result<Option<TokenRecord>, StoreError> {
        units::token(self.0, id)
    }

    fn tokens(&self) -> Result<Vec<(String, TokenRecord)>, StoreError> {
        units::tokens(self.0)
    }

    fn unit(&self, key: &UnitKey) -> Result<Option<Unit>, StoreError> {
        units::by_key(self.0, key)
    }

    fn owner(&self, uid: UnitUid) -> Result<Option<Owner>, StoreError> {
        units::owner_of(self.0, uid)
    }

    fn unit_by_uid(&self, uid: UnitUid) -> Result<Option<Unit>, StoreError> {
        units::by_uid(self.0, uid)
    }

    fn units(&self, app: &AppName, kind: Kind) -> Result<Vec<Unit>, StoreError> {
        units::of_kind(self.0, app, kind)
    }

    fn units_after(
        &self,
        app: &AppName,
        kind: Kind,
        page: (Option<&Name>, usize),
    ) -> Result<Vec<Unit>, StoreError> {
        units::after(self.0, app, kind, page)
    }

    fn owned(&self, app: &AppName, deployment: &str) -> Result<Vec<Unit>, StoreError> {
        units::owned(self.0, app, deployment)
    }

    fn version(&self, key: VersionKey) -> Result<Option<Version>, StoreError> {
        versions::by_key(self.0, key)
    }

    fn version_by_id(
        &self,
        unit: UnitUid,
        id: &VersionId,
    ) -> Result<Option<(Version, bool)>, StoreError> {
        versions::by_id(self.0, unit, id)
    }

    fn versions(&self, unit: UnitUid, page: Page) -> Result<Vec<Version>, StoreError> {
        versions::of_unit(self.0, unit, page)
    }

    fn version_count(&self, unit: UnitUid) -> Result<u64, StoreError> {
        versions::count(self.0, unit)
    }

    fn version_before(&self, key: VersionKey) -> Result<Option<Version>, StoreError> {
        versions::before(self.0, key)
    }

    fn ready_before(&self, key: VersionKey) -> Result<Option<Version>, StoreError> {
        versions::ready_before(self.0, key)
    }

    fn is_ready(&self, key: VersionKey) -> Result<bool, StoreError> {
        builds::is_ready(self.0, key)
    }

    fn build(&self, key: Digest) -> Result<Option<BuildRecord>, StoreError> {
        builds::record(self.0, key)
    }

    fn waiting(&self, key: Digest) -> Result<Vec<VersionKey>, StoreError> {
        builds::waiting(self.0, key)
    }

    fn builds_of(&self, made: Digest) -> Result<Vec<Digest>, StoreError> {
        builds::of(self.0, made)
    }

    fn builds_pending(&self, limit: usize) -> Result<Vec<PendingBuild>, StoreError> {
        builds::pending(self.0, limit)
    }

    fn triggers_of(&self, app: &AppName, function: &Name) -> Result<Vec<Unit>, StoreError> {
        triggers::aimed_at(self.0, app, function)
    }

    fn triggers(&self) -> Result<Vec<StandingTrigger>, StoreError> {
        triggers::standing(self.0)
    }

    fn naming(&self, key: &UnitKey) -> Result<Vec<Unit>, StoreError> {
        names::naming(self.0, key)
    }

    fn some_secret(&self) -> Result<Option<(UnitKey, Digest)>, StoreError> {
        names::some_secret(self.0)
    }

    fn users(&self, package: VersionKey) -> Result<Vec<VersionKey>, StoreError> {
        versions::users(self.0, package)
    }

    fn draft_users(&self, package: VersionKey) -> Result<Vec<UnitUid>, StoreError> {
        units::with_draft_using(self.0, package)
    }

    fn id_taken(&self, app: &AppName, id: &VersionId) -> Result<bool, StoreError> {
        versions::id_taken(self.0, app, id)
    }

    fn alias(&self, unit: UnitUid, name: &VersionId) -> Result<Option<Alias>, StoreError> {
        pointers::alias(self.0, unit, name)
    }

    fn aliases(&self, unit: UnitUid) -> Result<Vec<Alias>, StoreError> {
        pointers::aliases(self.0, unit)
    }

    fn tag(&self, app: &AppName, name: &VersionId) -> Result<Option<Tag>, StoreError> {
        pointers::tag(self.0, app, name)
    }

    fn tags(&self, app: &AppName) -> Result<Vec<Tag>, StoreError> {
        pointers::tags(self.0, app)
    }

    fn split(&self, unit: UnitUid) -> Result<Option<Vec<Target>>, StoreError> {
        pointers::split(self.0, unit)
    }

    fn binding(&self, app: &AppName, id: Uuid) -> Result<Option<StandingBinding>, StoreError> {
        pointers::binding(self.0, app, id)
    }

    fn bindings(&self, app: Option<&AppName>) -> Result<Vec<StandingBinding>, StoreError> {
        pointers::bindings(self.0, app)
    }

    fn canary(&self, app: &AppName, name: &Name) -> Result<Option<StandingCanary>, StoreError> {
        pointers::canary(self.0, app, name)
    }

    fn canaries(&self, app: Option<&AppName>) -> Result<Vec<StandingCanary>, StoreError> {
        pointers::canaries(self.0, app)
    }

    fn pointers_to(&self, key: VersionKey) -> Result<Vec<Pointer>, StoreError> {
        pointers::to_version(self.0, key)
    }

    fn moves(&self, pointer: &Pointer) -> Result<Vec<Entry>, StoreError> {
        pointers::moves(self.0, pointer)
    }

    fn moves_before(
        &self,
        pointer: &Pointer,
        below: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        pointers::moves_before(self.0, pointer, below, limit)
    }

    fn snapshot(&self, digest: Digest) -> Result<Option<Snapshot>, StoreError> {
        versions::snapshot(self.0, digest)
    }

    fn entry(&self, seq: u64) -> Result<Option<Entry>, StoreError> {
        history::entry(self.0, seq)
    }

    fn entries(&self, app: Option<&AppName>, page: Page) -> Result<Vec<Entry>, StoreError> {
        history::entries(self.0, app, page)
    }

    fn entries_before(
        &self,
        app: &AppName,
        below: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        history::before(self.0, app, below, limit)
    }

    fn undone_by(&self, seq: u64) -> Result<Option<u64>, StoreError> {
        history::undone_by(self.0, seq)
    }

    fn app_version(&self, app: &AppName, number: Number) -> Result<Option<AppVersion>, StoreError> {
        places::by_number(self.0, app, number)
    }

    fn app_version_by_id(
        &self,
        app: &AppName,
        id: &VersionId,
    ) -> Result<Option<AppVersion>, StoreError> {
        places::by_id(self.0, app, id)
    }

    fn app_version_at(
        &self,
        app: &AppName,
        at: Option<Timestamp>,
    ) -> Result<Option<AppVersion>, StoreError> {
        match at {
            Some(at) => places::newest_at(self.0, app, at),
            None => places::newest(self.0, app),
        }
    }

    fn app_versions_before(
        &self,
        app: &AppName,
        below: Option<Number>,
        limit: usize,
    ) -> Result<Vec<AppVersion>, StoreError> {
        places::before(self.0, app, below, limit)
    }

    fn placements(&self, app: &AppName, at: Number) -> Result<Vec<Placement>, StoreError> {
        places::at(self.0, app, at)
    }

    fn placement(&self, unit: UnitUid) -> Result<Option<Placement>, StoreError> {
        places::standing(self.0, unit)
    }

    fn placement_at(&self, unit: UnitUid, at: Number) -> Result<Option<Placement>, StoreError> {
        places::at_app_version(self.0, unit, at)
    }

    fn place(&self, pointer: &Pointer) -> Result<Option<(Place, u64)>, StoreError> {
        pointers::place(self.0, pointer)
    }

    fn releases(
        &self,
        app: &AppName,
        which: Releases<'_>,
    ) -> Result<Vec<StandingRelease>, StoreError> {
        releases::list(self.0, app, which)
    }

    fn release_tags(&self, app: &AppName) -> Result<Vec<(ReleaseId, ReleaseId)>, StoreError> {
        pointers::release_tags(self.0, app)
    }

    fn domains(&self, app: Option<&AppName>) -> Result<Vec<StandingDomain>, StoreError> {
        pointers::domains(self.0, app)
    }

    fn apps(&self) -> Result<Vec<AppName>, StoreError> {
        units::apps(self.0)
    }

    fn answer(&self, key: &str) -> Result<Option<Answer>, StoreError> {
        units::answer(self.0, key)
    }

    fn content_roots(&self) -> Result<Vec<Digest>, StoreError> {
        let mut roots = versions::content_roots(self.0)?;
        roots.extend(builds::roots(self.0)?);
        roots.sort_unstable();
        roots.dedup();
        Ok(roots)
    }
}
