//! What hosts show: of every app the releases that can be reached, each with its routes, and again within every
//! commit that changes any of it. A commit that makes a release reads what differs from the one before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio_model::{
    AppName, DomainName, Entry, Live, LiveShare, Name, Number, Qualifier, Reference, ReleaseId,
    RouteSpec, Sticky, Subject, UnitUid, VersionId,
};

use super::Slot;
use super::assets::Asset;
use super::known::Follower;
use super::site::{
    AssetReading, Leads, NewRow, RowReading, Shows, SiteReading, held_function, read_site,
};
use crate::Folio;
use crate::measure::Meter;
use crate::ports::StoreError;
use crate::release::held;

/// A route with the slots that its targets are.
#[derive(Debug)]
pub struct Route {
    /// The app it belongs to.
    pub app: AppName,
    /// The trigger's name.
    pub name: Name,
    /// Which requests it takes.
    pub spec: RouteSpec,
    /// Where they go, with shares of 10,000.
    pub targets: Vec<(Arc<Slot>, u32)>,
}

/// An app as its hosts show it.
#[derive(Debug, Clone)]
pub struct Site {
    /// The app.
    pub app: AppName,
    /// The releases that can be reached, by id.
    pub releases: BTreeMap<ReleaseId, Arc<Shown>>,
    /// The tags on them.
    pub tags: BTreeMap<ReleaseId, ReleaseId>,
    /// The newest of them.
    pub latest: Option<ReleaseId>,
    /// What the app's own host shows, with shares of 10,000.
    pub live: Vec<(Arc<Shown>, u32)>,
    /// What tells one client from another where several share that.
    pub sticky: Option<Sticky>,
    /// How long a client stays with the release it began with.
    pub skew: Option<SiteSkew>,
    /// The hosts of its own, beside those below the platform's domain.
    pub domains: Vec<DomainName>,
}

/// How long a client stays with the release it began with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteSkew {
    /// At most so long.
    pub max_age_s: u64,
    /// The [`Shown::made`] below which no client stays with a release.
    pub oldest: u64,
}

/// A release as its hosts show it. Never changes but for the shares of a route that a canary moves.
#[derive(Debug)]
pub struct Shown {
    /// Its id.
    pub id: ReleaseId,
    /// The app version it shows.
    pub app_version: VersionId,
    /// The place of that app version in the app's history.
    pub(super) number: Number,
    /// The entry that made it, which is its place among the app's releases: more is newer.
    pub made: u64,
    /// Its routes, by name.
    pub routes: Vec<Arc<Route>>,
    /// What functions of the release mean to one another, as far as anybody asked.
    pub(super) functions: Mutex<BTreeMap<Name, Arc<Slot>>>,
    /// Its static items, by name.
    pub assets: Vec<Arc<Asset>>,
    /// Its static items by unit.
    pub(super) items: BTreeMap<UnitUid, Arc<Asset>>,
    /// Its routes by trigger, with the functions whose place in the release they depend on.
    pub(super) rows: BTreeMap<UnitUid, Row>,
    /// What it answered where nobody asked for it by name.
    pub meter: Arc<Meter>,
    /// Whether it stands aside, and is only for who asks for it by name.
    pub aside: bool,
    /// Whether what it holds could be read; if not, it has nothing.
    pub is_readable: bool,
}

/// A route and what it was made from.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) route: Arc<Route>,
    pub(super) functions: Vec<Name>,
}

impl Shown {
    /// A release of which only the functions are known.
    fn bare((id, made): (ReleaseId, u64), app_version: VersionId, number: Number) -> Self {
        Self {
            id,
            app_version,
            number,
            made,
            routes: Vec::new(),
            functions: Mutex::default(),
            assets: Vec::new(),
            items: BTreeMap::new(),
            rows: BTreeMap::new(),
            meter: Arc::default(),
            aside: false,
            is_readable: true,
        }
    }

    // Nothing that holds the lock leaves it half changed.
    fn functions(&self) -> MutexGuard<'_, BTreeMap<Name, Arc<Slot>>> {
        self.functions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Site {
    /// The routes that the app's own host shows.
    pub fn routes(&self) -> &[Arc<Route>] {
        self.live.first().map_or(&[], |(shown, _)| &shown.routes)
    }

    /// The same app with something else live; None if that cannot be told, because a release of it is not known.
    pub(super) fn with_live(&self, live: &Live) -> Option<Self> {
        let share = |share: &LiveShare| {
            Some((Arc::clone(self.releases.get(&share.release)?), share.weight))
        };
        let shares = live.shares.iter().map(share).collect::<Option<Vec<_>>>()?;
        Some(Self { live: shares, sticky: live.sticky.clone(), ..self.clone() })
    }

    /// The live release with the largest share, the first of them if several have it.
    pub(super) fn main(&self) -> Option<&Arc<Shown>> {
        let most = self.live.iter().map(|(_, weight)| *weight).max()?;
        self.live.iter().find(|(_, weight)| *weight == most).map(|(shown, _)| shown)
    }

    /// The release that a name in a host means: `live`, `latest`, a tag or an id.
    pub fn release(&self, name: &str) -> Option<&Arc<Shown>> {
        match name {
            "live" => self.live.first().map(|(shown, _)| shown),
            "latest" => self.releases.get(self.latest.as_ref()?),
            _ => {
                let name = name.parse().ok()?;
                let id = self.tags.get(&name).unwrap_or(&name);
                self.releases.get(id)
            }
        }
    }
}

impl Folio {
    /// Has a follower called with all sites, now and inside every commit that changes one, before it returns.
    /// A platform has one follower; a second takes the place of the first.
    pub async fn follow_sites(&self, follower: Follower) -> Result<(), StoreError> {
        // From here on commits tell of their sites, so the read below misses none.
        self.serving.sites.follow(follower);
        let folio = self.clone();
        let read = self
            .look(move |state| {
                let apps = state.apps()?;
                let read = apps.iter().map(|app| read_site(state, &folio, (app, None), &[]));
                read.collect::<Result<Vec<_>, StoreError>>()
            })
            .await?;
        self.settle_sites(read, true).await
    }

    /// Tells the follower of the site that an entry changed.
    pub(super) async fn refresh_site(&self, entry: &Entry) -> Result<(), StoreError> {
        // A switch says all there is to know: whoever waits for one does not wait for the store as well.
        if self.serving.sites.move_live(&self.serving, entry) {
            return Ok(());
        }
        let Some((known, splits)) = self.serving.sites.concerned(entry) else { return Ok(()) };
        let (folio, app) = (self.clone(), entry.app.clone());
        let read = self
            .look(move |state| read_site(state, &folio, (&app, known.as_deref()), &splits))
            .await?;
        self.settle_sites(vec![read], false).await
    }

    async fn settle_sites(&self, read: Vec<SiteReading>, all: bool) -> Result<(), StoreError> {
        let mut sites = Vec::new();
        for reading in read {
            let (app, as_of) = (reading.app.clone(), reading.as_of);
            let site =
                if reading.exists { Some(Arc::new(self.site(reading).await?)) } else { None };
            sites.push((app, as_of, site));
        }
        self.serving.sites.settle(&self.serving, sites, all);
        Ok(())
    }

    async fn site(&self, reading: SiteReading) -> Result<Site, StoreError> {
        let mut releases = BTreeMap::new();
        for shows in reading.releases {
            let shown = match shows {
                Shows::Known(shown) => shown,
                Shows::Read { id, app_version, number, made, rows, assets, aside } => {
                    let mut own = BTreeMap::new();
                    for (uid, row) in rows {
                        own.insert(uid, self.row(&reading.app, row).await?);
                    }
                    let mut routes: Vec<_> =
                        own.values().map(|row| Arc::clone(&row.route)).collect();
                    routes.sort_by(|a, b| a.name.cmp(&b.name));
                    let (items, assets) = self.items(assets).await?;
                    let (functions, rows) = (Mutex::default(), own);
                    let meter = self.serving.sites.meter(&reading.app, &id);
                    Arc::new(Shown {
                        id,
                        app_version,
                        number,
                        made,
                        routes,
                        functions,
                        assets,
                        items,
                        rows,
                        meter,
                        aside,
                        is_readable: true,
                    })
                }
                Shows::Unreadable { id, app_version, number, made } => {
                    let meter = self.serving.sites.meter(&reading.app, &id);
                    let bare = Shown::bare((id, made), app_version, number);
                    Arc::new(Shown { meter, is_readable: false, ..bare })
                }
            };
            releases.insert(shown.id.clone(), shown);
        }
        let live = reading.live.into_iter().filter_map(|share| {
            let shown = releases.get(&share.release).cloned()?;
            Some((shown, share.weight))
        });
        let (live, tags) = (live.collect(), reading.tags.into_iter().collect());
        let SiteReading { app, latest, sticky, skew, domains, .. } = reading;
        Ok(Site { app, live, tags, latest, releases, sticky, skew, domains })
    }

    /// Static items by unit and by name.
    async fn items(
        &self,
        read: Vec<(UnitUid, AssetReading)>,
    ) -> Result<(BTreeMap<UnitUid, Arc<Asset>>, Vec<Arc<Asset>>), StoreError> {
        let mut items = BTreeMap::new();
        for (uid, reading) in read {
            let asset = match reading {
                AssetReading::Kept(asset) => asset,
                AssetReading::Read(name, spec) => Arc::new(self.asset(name, *spec).await?),
            };
            items.insert(uid, asset);
        }
        let mut by_name: Vec<_> = items.values().cloned().collect();
        by_name.sort_by(|one: &Arc<Asset>, other| one.name.cmp(&other.name));
        Ok((items, by_name))
    }

    /// The release in which work is done: the one it was stamped with or, if that can no longer be reached, what is
    /// live. None if nothing of the app can be reached.
    pub(crate) async fn stamped(
        &self,
        app: &AppName,
        stamp: Option<&ReleaseId>,
    ) -> Result<Option<Arc<Shown>>, StoreError> {
        // Commits keep what hosts show current, so where it is known no store has to be asked.
        if let Some(known) = self.serving.sites.working(app, stamp) {
            return Ok(Some(known));
        }
        let (of, stamp) = (app.clone(), stamp.cloned());
        let wanted = stamp.clone();
        let found = self
            .look(move |state| {
                let stamped = match stamp {
                    Some(id) => held::reachable(state, &of, &id)?.map(|number| (id, number)),
                    None => None,
                };
                let found = match stamped {
                    Some(found) => Some(found),
                    None => held::main(state, &of)?.map(|main| (main.id, main.number)),
                };
                let Some((id, number)) = found else { return Ok(None) };
                let made = held::made(state, &of, &id)?.unwrap_or_default();
                let version = state.app_version(&of, number)?;
                Ok::<_, StoreError>(version.map(|version| ((id, made), version.id, number)))
            })
            .await?;
        let Some(((id, made), app_version, number)) = found else { return Ok(None) };
        if let Some(wanted) = wanted.filter(|wanted| *wanted != id) {
            tracing::warn!(app.name = %app, release.id = %wanted, "Release {wanted} can no longer be reached; what was made in it runs in {id}");
        }
        let known = self.serving.sites.shown(app, &id);
        Ok(Some(known.unwrap_or_else(|| Arc::new(Shown::bare((id, made), app_version, number)))))
    }

    /// What a reference means inside a release; nothing if it means the same inside and outside.
    pub(crate) async fn held(
        &self,
        app: &AppName,
        reference: &Reference,
        release: &Arc<Shown>,
    ) -> Result<Option<Arc<Slot>>, StoreError> {
        let (Subject::Name(name), None | Some(Qualifier::Latest)) =
            (&reference.name, &reference.at)
        else {
            return Ok(None);
        };
        if let Some(slot) = release.functions().get(name) {
            return Ok(Some(Arc::clone(slot)));
        }
        let (folio, of, function, at) = (self.clone(), app.clone(), name.clone(), release.number);
        let meaning =
            self.look(move |state| held_function(state, &folio, (&of, at), &function)).await?;
        let slot = meaning.map(|meaning| Slot::fixed(app, reference, meaning));
        if let Some(slot) = &slot {
            release.functions().insert(name.clone(), Arc::clone(slot));
        }
        Ok(slot)
    }

    async fn row(&self, app: &AppName, row: RowReading) -> Result<Row, StoreError> {
        let NewRow { name, spec, leads, functions } = match row {
            RowReading::Kept(row) => return Ok(row),
            RowReading::Read(new) => *new,
        };
        let mut targets = Vec::new();
        for (lead, target) in leads.into_iter().zip(&spec.targets) {
            let slot = match lead {
                Leads::Fixed(reference, meaning) => Slot::fixed(app, &reference, meaning),
                Leads::Named(reference) => self.slot(app, &reference).await?,
            };
            targets.push((slot, target.weight));
        }
        Ok(Row { route: Arc::new(Route { app: app.clone(), name, spec, targets }), functions })
    }
}
