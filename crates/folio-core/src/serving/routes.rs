//! Routes as the gateway follows them: all of them at once, and again within every commit that changes one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio_model::{AppName, Edit, Entry, Kind, Name, RouteSpec, TriggerSpec, Unit, UnitUid};

use super::Slot;
use crate::Folio;
use crate::ports::{StandingTrigger, State, StoreError};
use crate::route::{self, served};

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

/// Hears of all routes whenever one changed. Called inside the commit, so it should only swap a table.
pub type Follower = Arc<dyn Fn(Arc<Vec<Arc<Route>>>) + Send + Sync>;

/// The routes as their follower knows them.
#[derive(Default)]
pub(super) struct Routes(Mutex<Rows>);

#[derive(Default)]
struct Rows {
    follower: Option<Follower>,
    /// Whether all routes were read. Until then every unit may be one.
    loaded: bool,
    /// Every trigger seen, with the entry it was read at; without a route once it is gone.
    routes: HashMap<UnitUid, (u64, Option<Arc<Route>>)>,
}

/// A trigger read from a state.
struct Reading {
    uid: UnitUid,
    as_of: u64,
    route: Option<(Unit, RouteSpec)>,
}

impl Routes {
    /// The units of an entry that are triggers or may be.
    fn concerned(&self, entry: &Entry) -> Vec<UnitUid> {
        let rows = self.lock();
        if rows.follower.is_none() {
            return Vec::new();
        }
        let concerns = |edit: &Edit| {
            let uid = edit.unit()?;
            let concerned = match edit {
                Edit::CreateUnit { key, .. } | Edit::RestoreUnit { key, .. } => {
                    key.kind == Kind::Trigger
                }
                _ => !rows.loaded || rows.routes.contains_key(&uid),
            };
            concerned.then_some(uid)
        };
        let mut found: Vec<UnitUid> = entry.edits.iter().filter_map(concerns).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Notes what was read and tells the follower, in the order of what is told.
    fn settle(&self, routes: Vec<(UnitUid, u64, Option<Arc<Route>>)>, all: bool) {
        let mut rows = self.lock();
        rows.loaded |= all;
        for (uid, as_of, route) in routes {
            let known = rows.routes.get(&uid).map_or(0, |(known, _)| *known);
            if as_of >= known {
                rows.routes.insert(uid, (as_of, route));
            }
        }
        if let Some(follower) = rows.follower.clone().filter(|_| rows.loaded) {
            let mut now: Vec<_> = rows.routes.values().filter_map(|(_, at)| at.clone()).collect();
            now.sort_by(|a, b| (&a.app, &a.name).cmp(&(&b.app, &b.name)));
            // Inside the lock, so that no older list follows a newer one.
            follower(Arc::new(now));
        }
    }

    // Nothing that holds the lock leaves the rows half changed.
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Folio {
    /// Has a follower called with all routes, now and inside every commit that changes one, before it returns.
    /// A platform has one follower; a second takes the place of the first.
    pub async fn follow_routes(&self, follower: Follower) -> Result<(), StoreError> {
        // From here on commits tell of their routes, so the read below misses none.
        self.serving.routes.lock().follower = Some(follower);
        let read = self
            .look(|state| {
                let as_of = state.head()?;
                let mut standing = Vec::new();
                for StandingTrigger { unit, spec } in state.triggers()? {
                    let TriggerSpec::Http(spec) = spec else { continue };
                    let spec = route::with_split(state, &unit, spec)?;
                    standing.push(Reading { uid: unit.uid, as_of, route: Some((unit, spec)) });
                }
                Ok::<_, StoreError>(standing)
            })
            .await?;
        self.settle_routes(read, true).await
    }

    /// Tells the follower of the routes that an entry changed.
    pub(super) async fn refresh_routes(&self, entry: &Entry) -> Result<(), StoreError> {
        let concerned = self.serving.routes.concerned(entry);
        if concerned.is_empty() {
            return Ok(());
        }
        let read = self
            .look(move |state| {
                let as_of = state.head()?;
                let read = |uid: UnitUid| read(state, uid, as_of);
                concerned.into_iter().map(read).collect::<Result<Vec<_>, StoreError>>()
            })
            .await?;
        let triggers = read.into_iter().flatten().collect();
        self.settle_routes(triggers, false).await
    }

    async fn settle_routes(&self, read: Vec<Reading>, all: bool) -> Result<(), StoreError> {
        let mut routes = Vec::new();
        for Reading { uid, as_of, route } in read {
            let route = match route {
                Some((unit, spec)) => Some(Arc::new(self.route(unit, spec).await?)),
                None => None,
            };
            routes.push((uid, as_of, route));
        }
        if all || !routes.is_empty() {
            self.serving.routes.settle(routes, all);
        }
        Ok(())
    }

    async fn route(&self, unit: Unit, spec: RouteSpec) -> Result<Route, StoreError> {
        let mut targets = Vec::new();
        for target in &spec.targets {
            let slot = self.slot(&unit.key.app, &served(&target.function)).await?;
            targets.push((slot, target.weight));
        }
        Ok(Route { app: unit.key.app, name: unit.key.name, spec, targets })
    }
}

/// What a unit is as a trigger; nothing if it is another kind.
fn read(state: &dyn State, uid: UnitUid, as_of: u64) -> Result<Option<Reading>, StoreError> {
    let Some(unit) = state.unit_by_uid(uid)? else {
        return Ok(Some(Reading { uid, as_of, route: None }));
    };
    if unit.key.kind != Kind::Trigger {
        return Ok(None);
    }
    let standing = route::standing(state, &unit)?;
    let route = standing.map(|(_, spec)| (unit, spec));
    Ok(Some(Reading { uid, as_of, route }))
}
