//! The ledger: the one list of everything that ever happened, and the state it adds up to.
//!
//! A rule is a function from [`State`] to [`Change`]. The ledger runs it against the newest state inside the
//! transaction that appends the change, so no rule ever decides on something stale.

use async_trait::async_trait;
use folio_model::{
    Alias, Answer, AppName, AppVersion, Binding, BuildRecord, Canary, Change, Digest, DomainName,
    Entry, Kind, Name, Number, Owner, Place, Placement, Pointer, Release, ReleaseId, Snapshot, Tag,
    Target, Timestamp, TokenRecord, TriggerSpec, Unit, UnitKey, UnitUid, Version, VersionId,
    VersionKey,
};
use tokio::sync::watch;
use uuid::Uuid;

use super::{Damage, StoreError};

/// Decides a change. `None` refuses: nothing is appended. May be asked again after a lost race.
pub type Plan = Box<dyn FnMut(&dyn State) -> Result<Option<Change>, StoreError> + Send>;

/// Reads a consistent state.
pub type Look = Box<dyn FnOnce(&dyn State) -> Result<(), StoreError> + Send>;

/// The append-only list of changes.
///
/// `append` applies a change's edits in order as one transaction. Each edit names what it replaces; if that
/// is not what is there (a name taken, a pointer moved, a number that is not the unit's next), nothing happens
/// and the error is [`StoreError::Conflict`]. Every digest in `requires` must be stored, else
/// [`StoreError::MissingBlob`].
///
/// A version published with `waits` cannot be called until an [`Edit::Built`] names it; its package must have a
/// build key under which no build succeeded. `Edit::Built` names surviving versions of the change's own app that
/// wait for its key, and none if the build failed; a build that succeeded is never replaced by another, but may
/// be written again as it is to ready more versions: those of another app, or those that have returned.
/// [`Edit::Forget`] takes back the end of a build that no surviving version or draft needs; a version that returns
/// when its build is forgotten waits for it again.
///
/// [`Edit::Built`]: folio_model::Edit::Built
/// [`Edit::Forget`]: folio_model::Edit::Forget
#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// Runs the plan and appends what it returns. The entry is durable when this returns.
    async fn append(&self, plan: Plan) -> Result<Option<Entry>, StoreError>;

    /// Runs `look` on a state that stands still while it runs and holds every acknowledged append.
    async fn view(&self, look: Look) -> Result<(), StoreError>;

    /// The newest entry's place; changes after each append, never before it is durable.
    fn head(&self) -> watch::Receiver<u64>;

    /// Checks the chain of entries and every invariant the state must satisfy, and lists what is damaged.
    async fn verify(&self) -> Result<Vec<Damage>, StoreError>;

    /// Rewrites at most so many snapshots whose body is in an older version of the hub, under the digests they
    /// have. When none is left, notes the moment as the one at which everything was in the newest version; a
    /// moment that was noted before stays, unless something was rewritten since. Safe while others read and append.
    async fn migrate_storage(&self, limit: usize, at: Timestamp) -> Result<Migrated, StoreError>;
}

/// How far the storage is on its way to the newest version of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The version.
    pub hub: String,
    /// Snapshots that were rewritten.
    pub rewritten: u64,
    /// When everything was in that version, if nothing is left to rewrite.
    pub done_at: Option<Timestamp>,
}

/// A stretch of a list, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Only what comes after this place.
    pub after: u64,
    /// At most so many.
    pub limit: usize,
}

impl Page {
    /// Everything.
    pub const ALL: Self = Self { after: 0, limit: usize::MAX };
}

/// A build that something waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PendingBuild {
    /// The build key.
    pub key: Digest,
    /// The snapshot of the package to build: the only one with that key.
    pub package: Digest,
}

/// A trigger as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingTrigger {
    /// The trigger's unit.
    pub unit: Unit,
    /// What its latest version says.
    pub spec: TriggerSpec,
}

/// A canary as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingCanary {
    /// The app.
    pub app: AppName,
    /// Its name.
    pub name: Name,
    /// How far it is.
    pub canary: Canary,
    /// The ledger entry that last moved it.
    pub revision: u64,
}

/// A job, a webhook, or a name of a newest version as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingBinding {
    /// The app.
    pub app: AppName,
    /// Its identity.
    pub id: Uuid,
    /// What it is.
    pub binding: Binding,
    /// The ledger entry that last changed it.
    pub revision: u64,
}

/// A release as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingRelease {
    /// Its id.
    pub id: ReleaseId,
    /// What it shows, and whether it can be reached.
    pub release: Release,
}

/// A domain as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingDomain {
    /// The domain.
    pub domain: DomainName,
    /// The app it shows.
    pub app: AppName,
    /// The ledger entry that made it so.
    pub revision: u64,
}

/// Which releases of an app are meant.
#[derive(Debug, Clone, Copy)]
pub enum Releases<'a> {
    /// Those that can be reached, oldest first.
    Accessible,
    /// Those that show an app version, oldest first.
    Of(&'a VersionId),
    /// The newest so many that were made before an entry, newest first.
    Before(u64, usize),
}

/// The state after some entry. Everything is looked up by index: no method's cost depends on how many
/// versions exist beyond what it returns.
pub trait State {
    /// The place of the last entry, 0 before the first.
    fn head(&self) -> Result<u64, StoreError>;

    /// The place of an app's last entry, 0 before the first.
    fn last_entry(&self, app: &AppName) -> Result<u64, StoreError>;

    /// Whether an app exists.
    fn has_app(&self, app: &AppName) -> Result<bool, StoreError>;

    /// A token by its public part.
    fn token(&self, id: &str) -> Result<Option<TokenRecord>, StoreError>;

    /// Every token that may be used, by its public part.
    fn tokens(&self) -> Result<Vec<(String, TokenRecord)>, StoreError>;

    /// A living unit by name.
    fn unit(&self, key: &UnitKey) -> Result<Option<Unit>, StoreError>;

    /// Whose a unit is, or was when it was deleted.
    fn owner(&self, uid: UnitUid) -> Result<Option<Owner>, StoreError>;

    /// A living unit by identity.
    fn unit_by_uid(&self, uid: UnitUid) -> Result<Option<Unit>, StoreError>;

    /// An app's living units of one kind, by name, visible or not.
    fn units(&self, app: &AppName, kind: Kind) -> Result<Vec<Unit>, StoreError>;

    /// As [`State::units`], but only those after a name, and at most so many.
    fn units_after(
        &self,
        app: &AppName,
        kind: Kind,
        page: (Option<&Name>, usize),
    ) -> Result<Vec<Unit>, StoreError>;

    /// The living units of an app that belong to a deployment, by kind and name.
    fn owned(&self, app: &AppName, deployment: &str) -> Result<Vec<Unit>, StoreError>;

    /// A surviving version.
    fn version(&self, key: VersionKey) -> Result<Option<Version>, StoreError>;

    /// A version by id and whether it survives. Deleted ones are found too, because ids are never reused.
    fn version_by_id(
        &self,
        unit: UnitUid,
        id: &VersionId,
    ) -> Result<Option<(Version, bool)>, StoreError>;

    /// A unit's surviving versions, oldest first, after a number.
    fn versions(&self, unit: UnitUid, page: Page) -> Result<Vec<Version>, StoreError>;

    /// How many versions of a unit survive.
    fn version_count(&self, unit: UnitUid) -> Result<u64, StoreError>;

    /// The newest surviving version below a number, whether it can be called or not.
    fn version_before(&self, key: VersionKey) -> Result<Option<Version>, StoreError>;

    /// The newest surviving version below a number that can be called: what latest falls back to. Steps over the
    /// versions in between that wait for a build.
    fn ready_before(&self, key: VersionKey) -> Result<Option<Version>, StoreError>;

    /// Whether a version can be called: it never waited for a build, or one made it ready. Also told of deleted
    /// versions, which keep what they were; false for one that never was.
    fn is_ready(&self, key: VersionKey) -> Result<bool, StoreError>;

    /// How the build of a key ended last, if one ended.
    fn build(&self, key: Digest) -> Result<Option<BuildRecord>, StoreError>;

    /// The builds that made or printed something. Costs as much as there are builds.
    fn builds_of(&self, made: Digest) -> Result<Vec<Digest>, StoreError>;

    /// The surviving versions that wait for a build, of functions and packages of all apps, by unit and number.
    /// They wait on after a failed build, until one of the same key succeeds.
    fn waiting(&self, key: Digest) -> Result<Vec<VersionKey>, StoreError>;

    /// Builds that a surviving version waits for or a draft needs and that never ended, by key. Read at start;
    /// costs as much as there are waiting versions and drafts.
    fn builds_pending(&self, limit: usize) -> Result<Vec<PendingBuild>, StoreError>;

    /// The surviving function versions that use a package version, by unit and number.
    fn users(&self, package: VersionKey) -> Result<Vec<VersionKey>, StoreError>;

    /// The living units whose draft uses a package version.
    fn draft_users(&self, package: VersionKey) -> Result<Vec<UnitUid>, StoreError>;

    /// The triggers of an app whose latest version names a function, by name. Only plain names count: a target
    /// such as `hello_qa` has to be written out as `hello@qa` before it is published.
    fn triggers_of(&self, app: &AppName, function: &Name) -> Result<Vec<Unit>, StoreError>;

    /// Every trigger with a latest version, of all apps, by app and name.
    fn triggers(&self) -> Result<Vec<StandingTrigger>, StoreError>;

    /// The units of an app whose latest or newest version or draft names a config or secret, by name.
    fn naming(&self, key: &UnitKey) -> Result<Vec<Unit>, StoreError>;

    /// The name and first snapshot of a secret, if there ever was one, living or not. Read at start, to try
    /// whether it opens.
    fn some_secret(&self) -> Result<Option<(UnitKey, Digest)>, StoreError>;

    /// Whether any version or app version of an app ever had this id.
    fn id_taken(&self, app: &AppName, id: &VersionId) -> Result<bool, StoreError>;

    /// One alias.
    fn alias(&self, unit: UnitUid, name: &VersionId) -> Result<Option<Alias>, StoreError>;

    /// A function's aliases, by name.
    fn aliases(&self, unit: UnitUid) -> Result<Vec<Alias>, StoreError>;

    /// One tag.
    fn tag(&self, app: &AppName, name: &VersionId) -> Result<Option<Tag>, StoreError>;

    /// An app's tags, by name.
    fn tags(&self, app: &AppName) -> Result<Vec<Tag>, StoreError>;

    /// What the targets of a route get, where that is no longer what its spec says.
    fn split(&self, unit: UnitUid) -> Result<Option<Vec<Target>>, StoreError>;

    /// One canary.
    fn canary(&self, app: &AppName, name: &Name) -> Result<Option<StandingCanary>, StoreError>;

    /// The canaries of an app, or of all, by app and name.
    fn canaries(&self, app: Option<&AppName>) -> Result<Vec<StandingCanary>, StoreError>;

    /// One job, webhook or name of a newest version.
    fn binding(&self, app: &AppName, id: Uuid) -> Result<Option<StandingBinding>, StoreError>;

    /// The jobs, webhooks and names of newest versions of an app, or of all, in the order they were made.
    fn bindings(&self, app: Option<&AppName>) -> Result<Vec<StandingBinding>, StoreError>;

    /// The aliases and tags that point at a version.
    fn pointers_to(&self, key: VersionKey) -> Result<Vec<Pointer>, StoreError>;

    /// The entries that moved a pointer, oldest first.
    fn moves(&self, pointer: &Pointer) -> Result<Vec<Entry>, StoreError>;

    /// The newest entries below a place that moved a pointer, newest first.
    fn moves_before(
        &self,
        pointer: &Pointer,
        below: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError>;

    /// A snapshot by digest.
    fn snapshot(&self, digest: Digest) -> Result<Option<Snapshot>, StoreError>;

    /// One entry.
    fn entry(&self, seq: u64) -> Result<Option<Entry>, StoreError>;

    /// Entries in order, of one app or of all.
    fn entries(&self, app: Option<&AppName>, page: Page) -> Result<Vec<Entry>, StoreError>;

    /// The newest entries of an app below a place, newest first.
    fn entries_before(
        &self,
        app: &AppName,
        below: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError>;

    /// The entry that took another back, if one did and was not itself taken back.
    fn undone_by(&self, seq: u64) -> Result<Option<u64>, StoreError>;

    /// An app version by number.
    fn app_version(&self, app: &AppName, number: Number) -> Result<Option<AppVersion>, StoreError>;

    /// An app version by id.
    fn app_version_by_id(
        &self,
        app: &AppName,
        id: &VersionId,
    ) -> Result<Option<AppVersion>, StoreError>;

    /// The newest app version not younger than a moment, or of all.
    fn app_version_at(
        &self,
        app: &AppName,
        at: Option<Timestamp>,
    ) -> Result<Option<AppVersion>, StoreError>;

    /// The newest app versions below a number, newest first.
    fn app_versions_before(
        &self,
        app: &AppName,
        below: Option<Number>,
        limit: usize,
    ) -> Result<Vec<AppVersion>, StoreError>;

    /// What every unit was in an app version, by kind and name.
    fn placements(&self, app: &AppName, at: Number) -> Result<Vec<Placement>, StoreError>;

    /// What one unit is in the newest app version.
    fn placement(&self, unit: UnitUid) -> Result<Option<Placement>, StoreError>;

    /// What one unit was in an app version.
    fn placement_at(&self, unit: UnitUid, at: Number) -> Result<Option<Placement>, StoreError>;

    /// Where a pointer points, and the entry that last moved it.
    fn place(&self, pointer: &Pointer) -> Result<Option<(Place, u64)>, StoreError>;

    /// Releases of an app.
    fn releases(
        &self,
        app: &AppName,
        which: Releases<'_>,
    ) -> Result<Vec<StandingRelease>, StoreError>;

    /// The tags on releases of an app with the releases they are on, by name.
    fn release_tags(&self, app: &AppName) -> Result<Vec<(ReleaseId, ReleaseId)>, StoreError>;

    /// The domains of an app, or of all, by name.
    fn domains(&self, app: Option<&AppName>) -> Result<Vec<StandingDomain>, StoreError>;

    /// Every living app, by name.
    fn apps(&self) -> Result<Vec<AppName>, StoreError>;

    /// The remembered answer of a request.
    fn answer(&self, key: &str) -> Result<Option<Answer>, StoreError>;

    /// The trees and archives of every surviving version and every draft, and the trees of every release that can
    /// be reached, with what their builds made and printed: what a sweep must keep.
    fn content_roots(&self) -> Result<Vec<Digest>, StoreError>;
}
