//! The sites that are known, and who is told of them. What is read at an older entry never replaces what is known of a
//! newer one, and an entry that only moves what is live needs no reading at all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio_model::{AppName, Edit, Entry, Live, Place, Pointer, ReleaseId, UnitUid};

use super::Serving;
use super::sites::{Route, Shown, Site};
use crate::measure::{Measured, Meter};

/// Hears of all sites whenever one changed. Called inside the commit, so it should only swap a table.
pub type Follower = Arc<dyn Fn(Arc<Vec<Arc<Site>>>) + Send + Sync>;

/// The sites as their follower knows them.
#[derive(Default)]
pub(super) struct Sites(Mutex<Known>);

#[derive(Default)]
struct Known {
    follower: Option<Follower>,
    /// Whether all sites were read.
    loaded: bool,
    /// Every app seen, with the entry it was read at; without a site once it is gone.
    sites: BTreeMap<AppName, (u64, Option<Arc<Site>>)>,
    /// What releases answered, whatever else changes of them.
    meters: BTreeMap<(AppName, ReleaseId), Arc<Meter>>,
}

impl Sites {
    /// Has a follower told from here on, once all sites were read.
    pub(super) fn follow(&self, follower: Follower) {
        self.lock().follower = Some(follower);
    }

    /// The site of an entry's app as it is known, if the entry changes what it shows.
    pub(super) fn concerned(&self, entry: &Entry) -> Option<(Option<Arc<Site>>, Vec<UnitUid>)> {
        let known = self.lock();
        known.follower.as_ref()?;
        let split = |edit: &Edit| match edit {
            Edit::Move { pointer: Pointer::Split { unit }, .. } => Some(*unit),
            _ => None,
        };
        let splits: Vec<_> = entry.edits.iter().filter_map(split).collect();
        let concerns = entry.edits.iter().any(is_shown);
        let site = known.sites.get(&entry.app).and_then(|(_, site)| site.clone());
        concerns.then_some((site, splits))
    }

    /// The counters of a release.
    pub(super) fn meter(&self, app: &AppName, release: &ReleaseId) -> Arc<Meter> {
        let mut known = self.lock();
        Arc::clone(known.meters.entry((app.clone(), release.clone())).or_default())
    }

    /// What a release answered, if it was ever shown.
    pub(super) fn measured(&self, app: &AppName, release: &ReleaseId) -> Option<Measured> {
        let known = self.lock();
        known.meters.get(&(app.clone(), release.clone())).map(|meter| meter.read())
    }

    /// A release as it is known.
    pub(super) fn shown(&self, app: &AppName, release: &ReleaseId) -> Option<Arc<Shown>> {
        let known = self.lock();
        let (_, site) = known.sites.get(app)?;
        site.as_ref()?.releases.get(release).cloned()
    }

    /// The release that work is done in, as it is known: the one a stamp names, or the largest share of what is live.
    pub(super) fn working(&self, app: &AppName, stamp: Option<&ReleaseId>) -> Option<Arc<Shown>> {
        let known = self.lock();
        let site = known.sites.get(app)?.1.as_ref()?;
        match stamp {
            Some(stamp) => site.releases.get(stamp).cloned(),
            None => site.main().cloned(),
        }
    }

    /// Notes what was read and tells the follower, in the order of what is told.
    pub(super) fn settle(
        &self,
        serving: &Serving,
        read: Vec<(AppName, u64, Option<Arc<Site>>)>,
        all: bool,
    ) {
        let mut known = self.lock();
        known.loaded |= all;
        for (app, as_of, site) in read {
            known.note(serving, app, as_of, site);
        }
        known.tell();
    }

    /// Notes an entry that does nothing but move what is live, and tells the follower. False if the site has to be read
    /// for it: the entry does more, or the site is not known as it was right before.
    pub(super) fn move_live(&self, serving: &Serving, entry: &Entry) -> bool {
        let Some(live) = sole_live_move(entry) else { return false };
        let mut known = self.lock();
        let Some((as_of, Some(site))) = known.sites.get(&entry.app) else { return false };
        let moved = site.with_live(live).filter(|_| *as_of + 1 == entry.seq);
        let Some(moved) = moved else { return false };
        known.note(serving, entry.app.clone(), entry.seq, Some(Arc::new(moved)));
        known.tell();
        true
    }

    // Nothing that holds the lock leaves it half changed.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Notes what was read of an app at an entry, unless something newer is known.
    fn note(&mut self, serving: &Serving, app: AppName, as_of: u64, site: Option<Arc<Site>>) {
        let before = self.sites.get(&app);
        if before.is_some_and(|(known, _)| as_of < *known) {
            return;
        }
        let before = before.and_then(|(_, site)| site.clone());
        hold(serving, before.as_deref(), site.as_deref());
        self.meters.retain(|(of, release), _| {
            let reached = |site: &Arc<Site>| site.releases.contains_key(release);
            *of != app || site.as_ref().is_some_and(reached)
        });
        self.sites.insert(app, (as_of, site));
    }

    /// Tells the follower of all sites. Inside the lock, so that no older list follows a newer one.
    fn tell(&self) {
        if let Some(follower) = self.follower.as_ref().filter(|_| self.loaded) {
            follower(Arc::new(self.sites.values().filter_map(|(_, site)| site.clone()).collect()));
        }
    }
}

/// What an entry makes live, if that is all it changes of what hosts show.
fn sole_live_move(entry: &Entry) -> Option<&Live> {
    let mut shown = entry.edits.iter().filter(|edit| is_shown(edit));
    let (Some(edit), None) = (shown.next(), shown.next()) else { return None };
    match edit {
        Edit::Move { pointer: Pointer::Live { app }, to: Some(Place::Live(live)), .. } => {
            (*app == entry.app).then_some(live)
        }
        _ => None,
    }
}

/// Whether an edit changes what an app's hosts show.
fn is_shown(edit: &Edit) -> bool {
    match edit {
        Edit::CreateApp { .. } | Edit::DeleteApp { .. } => true,
        Edit::Move { pointer, .. } => decides(pointer),
        _ => false,
    }
}

/// Whether a pointer decides what an app's hosts show.
fn decides(pointer: &Pointer) -> bool {
    matches!(
        pointer,
        Pointer::Release { .. }
            | Pointer::ReleaseTag { .. }
            | Pointer::Live { .. }
            | Pointer::Plan { .. }
            | Pointer::Split { .. }
            | Pointer::Domain { .. }
    )
}

/// Has what becomes live made ready, and lets go of what no longer is.
fn hold(serving: &Serving, before: Option<&Site>, after: Option<&Site>) {
    let (before, after) = (live_routes(before), live_routes(after));
    for (key, route) in &after {
        if !before.contains_key(key) {
            serving.hold_route(route);
        }
    }
    for (key, route) in &before {
        if !after.contains_key(key) {
            serving.release_route(route);
        }
    }
}

/// The routes that are live, told apart by where they lie in memory.
fn live_routes(site: Option<&Site>) -> BTreeMap<*const Route, &Arc<Route>> {
    let live = site.into_iter().flat_map(|site| &site.live);
    let routes = live.flat_map(|(shown, _)| &shown.routes);
    routes.map(|route| (Arc::as_ptr(route), route)).collect()
}
