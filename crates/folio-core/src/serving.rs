//! What references mean right now, ready to be called without asking the store. Start at [`Folio::slot`].
//!
//! A commit re-reads every slot that its entry concerns after the entry is durable and before it returns. Two
//! rules make that safe. A slot notes what it depends on *before* the read that counts, so a commit that does
//! not find it noted was durable before that read. And a meaning carries the entry it was read at, so an older
//! reading never replaces a newer one.

mod assets;
mod delivery;
mod encode;
mod encodings;
mod known;
mod media;
mod plans;
mod read;
mod refresh;
mod room;
mod site;
mod sites;
mod split;
mod table;
mod tasks;

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use folio_model::{AppName, Number, Reference, ReleaseId, RuntimeKind, UnitUid};
use tokio::sync::OnceCell;

pub use self::assets::{Asset, AssetDirectory, AssetEntry, AssetFile};
pub use self::encode::Encoded;
pub use self::known::Follower;
pub use self::media::{Media, media};
pub use self::plans::MeasuredVersion;
pub(crate) use self::plans::Running;
pub use self::read::Unready;
pub(crate) use self::refresh::Unsettled;
pub use self::sites::{Route, Shown, Site, SiteSkew};
pub use self::split::Split;
pub(crate) use self::tasks::Tasks;

use self::assets::Shelf;
use self::encodings::Awaited;
use self::known::Sites;
use self::plans::Plans;
use self::read::Reading;
use self::room::Room;
use self::table::{Interest, Table};
use crate::measure::Measured;
use crate::ports::StoreError;
use crate::ports::runtime::Plan;
use crate::{Class, Code, Explain, Folio};

/// How long a change waits for its wasm to be compiled.
const COMPILE_TIME_MAX: Duration = Duration::from_secs(10);
/// Versions of one change that are looked at for wasm.
const COMPILED_MAX: usize = 1_000;

/// What a reference means right now, kept current by every commit before it returns. Cheap to hold.
pub struct Slot {
    app: AppName,
    /// Without its app.
    reference: Reference,
    meaning: ArcSwap<Meaning>,
    standing: Mutex<Standing>,
    loaded: OnceCell<()>,
    /// Whether anybody asked for it lately.
    used: AtomicBool,
    /// Whether it never means anything else.
    is_fixed: bool,
}

/// What a slot knows about its meaning.
#[derive(Default)]
struct Standing {
    /// The entry it was read at.
    as_of: u64,
    /// What it depends on, as the table has it.
    interests: HashSet<Interest>,
}

/// What a reference means.
#[derive(Debug, Clone)]
pub enum Meaning {
    /// Versions that can be called, with their shares.
    Versions(Split),
    /// Nothing that can be called.
    Nothing(Unresolved),
}

/// Why a reference leads to nothing that can be called, as [`Explain`] says it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unresolved {
    /// The stable name of the reason.
    pub code: Code,
    /// What a caller can do.
    pub class: Class,
    /// The reason in words.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl Unresolved {
    pub(crate) fn of(error: &dyn Explain) -> Self {
        Self {
            code: error.code(),
            class: error.class(),
            message: error.to_string(),
            hint: error.hint(),
        }
    }
}

impl Explain for Unresolved {
    fn code(&self) -> Code {
        self.code
    }

    fn class(&self) -> Class {
        self.class
    }

    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

impl Meaning {
    fn plans(&self) -> impl Iterator<Item = &Arc<Plan>> {
        let split = match self {
            Self::Versions(split) => Some(split),
            Self::Nothing(_) => None,
        };
        split.into_iter().flat_map(Split::plans)
    }
}

impl Slot {
    fn empty(app: &AppName, reference: &Reference) -> Arc<Self> {
        // Nobody sees this meaning: a slot is handed out once it was read.
        let unread = Unresolved::of(&crate::resolve::Error::NoApp(app.clone()));
        Arc::new(Self {
            app: app.clone(),
            reference: reference.clone(),
            meaning: ArcSwap::from_pointee(Meaning::Nothing(unread)),
            standing: Mutex::default(),
            loaded: OnceCell::new(),
            used: AtomicBool::new(true),
            is_fixed: false,
        })
    }

    /// A slot that always means the same. It is in no table.
    fn fixed(app: &AppName, reference: &Reference, meaning: Meaning) -> Arc<Self> {
        Arc::new(Self {
            app: app.clone(),
            reference: reference.clone(),
            meaning: ArcSwap::from_pointee(meaning),
            standing: Mutex::default(),
            loaded: OnceCell::new_with(Some(())),
            used: AtomicBool::new(true),
            is_fixed: true,
        })
    }

    /// What the reference means now. Two loads may differ; take one per request.
    pub fn load(&self) -> Guard<Arc<Meaning>> {
        self.meaning.load()
    }

    // Nothing that holds the lock leaves it half changed.
    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slot({}/{})", self.app, self.reference)
    }
}

/// All slots, plans and sites of one platform.
#[derive(Default)]
pub(crate) struct Serving {
    table: Table,
    plans: Plans,
    sites: Sites,
    shelf: Shelf,
    awaited: Awaited,
    room: Arc<Room>,
    running: Option<Arc<Running>>,
    pub(crate) tasks: Tasks,
}

impl Serving {
    pub(crate) fn new(running: Running) -> Self {
        Self { running: Some(Arc::new(running)), ..Self::default() }
    }

    pub(crate) fn running(&self) -> Option<&Arc<Running>> {
        self.running.as_ref()
    }

    pub(crate) fn measured(&self) -> Vec<MeasuredVersion> {
        self.plans.measured()
    }

    /// What one version did since the server started, if it was ever led to.
    pub(crate) fn measured_version(&self, unit: UnitUid, number: Number) -> Option<Measured> {
        self.plans.measured_version(unit, number)
    }

    /// What one release answered since the server started, if it was ever shown.
    pub(crate) fn measured_release(&self, app: &AppName, release: &ReleaseId) -> Option<Measured> {
        self.sites.measured(app, release)
    }

    /// Gives a slot what was read of it. Returns false if that must be read again, because only now it is noted
    /// what it depends on.
    fn settle(&self, slot: &Arc<Slot>, reading: Reading) -> bool {
        if !self.table.note(slot, reading.interests) {
            return false;
        }
        let mut standing = slot.standing();
        if reading.as_of < standing.as_of {
            return true;
        }
        standing.as_of = reading.as_of;
        let meaning = Arc::new(reading.meaning);
        for plan in meaning.plans() {
            self.plans.hold(plan, self.running.as_ref(), &self.tasks);
        }
        let before = slot.meaning.swap(meaning);
        for plan in before.plans() {
            self.plans.release(plan, self.running.as_ref());
        }
        true
    }

    /// Has what a route leads to for ever made ready.
    fn hold_route(&self, route: &Route) {
        for (slot, _) in route.targets.iter().filter(|(slot, _)| slot.is_fixed) {
            for plan in slot.meaning.load().plans() {
                self.plans.hold(plan, self.running.as_ref(), &self.tasks);
            }
        }
    }

    /// Lets go of what a route led to for ever.
    fn release_route(&self, route: &Route) {
        for (slot, _) in route.targets.iter().filter(|(slot, _)| slot.is_fixed) {
            self.leave(slot);
        }
    }

    /// Lets go of what a slot that left the table led to.
    fn leave(&self, slot: &Slot) {
        for plan in slot.meaning.load().plans() {
            self.plans.release(plan, self.running.as_ref());
        }
    }
}

/// Lets go of wasm that was only compiled, however that ended, unless something leads to it by now.
struct LetGo<'a> {
    serving: &'a Serving,
    running: &'a Running,
    plan: &'a Arc<Plan>,
}

impl Drop for LetGo<'_> {
    fn drop(&mut self) {
        self.serving.plans.retire_unless_held(self.plan, self.running);
    }
}

impl Folio {
    /// The slot of a reference to a function. Also what leads nowhere has one, which changes when that does.
    pub async fn slot(
        &self,
        app: &AppName,
        reference: &Reference,
    ) -> Result<Arc<Slot>, StoreError> {
        let app = reference.app.as_ref().unwrap_or(app);
        let found = match &reference.app {
            None => self.serving.table.get(app, reference),
            Some(_) => None,
        };
        let slot = found.unwrap_or_else(|| {
            let reference = Reference { app: None, ..reference.clone() };
            let (slot, gone) = self.serving.table.add(app, &reference);
            gone.iter().for_each(|gone| self.serving.leave(gone));
            slot
        });
        slot.loaded.get_or_try_init(|| self.read_slots(vec![Arc::clone(&slot)])).await?;
        Ok(slot)
    }

    /// Has wasm compiled that can be called since just now, so that its first request does not wait for that. What
    /// cannot be compiled is told to whoever calls it.
    pub(crate) async fn compile_ahead(&self, app: &AppName, mut versions: Vec<Reference>) {
        let Some(running) = self.serving.running().filter(|_| !versions.is_empty()) else { return };
        versions.truncate(COMPILED_MAX);
        // Nobody asked for these versions yet, so they are read for themselves and not kept current.
        let (of, folio) = (app.clone(), self.clone());
        let read = self.look(move |state| {
            let each = versions.iter().map(|reference| Slot::empty(&of, reference));
            each.map(|slot| read::read(state, &slot, &folio))
                .collect::<Result<Vec<_>, StoreError>>()
        });
        let Ok(readings) = read.await else { return };
        let compiled = async {
            for plan in readings.iter().flat_map(|reading| reading.meaning.plans()) {
                if plan.spec.runtime == RuntimeKind::Wasm {
                    let _let_go = LetGo { serving: &self.serving, running, plan };
                    // The call says why.
                    let _told_later = running.runtime.prepare(plan).await;
                }
            }
        };
        // Whatever takes longer is compiled when it is called.
        let _in_time = tokio::time::timeout(COMPILE_TIME_MAX, compiled).await;
    }

    /// Reads slots from the newest state until each depends on nothing that was not noted before the read.
    async fn read_slots(&self, mut slots: Vec<Arc<Slot>>) -> Result<(), StoreError> {
        while !slots.is_empty() {
            let folio = self.clone();
            let read = self
                .look(move |state| {
                    let read = |slot: Arc<Slot>| {
                        let reading = read::read(state, &slot, &folio)?;
                        Ok((slot, reading))
                    };
                    slots.into_iter().map(read).collect::<Result<Vec<_>, StoreError>>()
                })
                .await?;
            let again = |(slot, reading)| (!self.serving.settle(&slot, reading)).then_some(slot);
            slots = read.into_iter().filter_map(again).collect();
        }
        Ok(())
    }
}
