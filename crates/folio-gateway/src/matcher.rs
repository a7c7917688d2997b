//! The table of all routes: immutable, built whole, swapped whole. Says which route a request means; never
//! resolves what the route leads to. Start at [`Matcher::find`].

mod hash;
mod methods;
mod paths;
mod patterns;

use std::collections::BTreeMap;
use std::sync::Arc;

use folio_core::serving::Route;
use http::Method;

pub(crate) use self::hash::Named;
pub use methods::{Fit, Methods};
pub use paths::{Found, Match, Paths};
pub use patterns::Patterns;

use crate::authority::{Authority, DEFAULT_APP, Host, Place};
use crate::served::Served;

/// Paths that are folio's own and never a route's.
pub(crate) const OWN_PATHS: &str = "/_folio/";

/// All routes, by host and path.
#[derive(Debug, Clone, Default)]
pub struct Matcher {
    /// The domain whose hosts are apps.
    domain: Arc<str>,
    routes: Arc<Vec<Arc<Route>>>,
    /// Routes with a host of their own.
    hosts: Named<OwnHost>,
    /// Routes without, by app.
    apps: Named<Paths<Arc<Served>>>,
    /// Hosts of apps' own, with the apps.
    domains: Named<Arc<str>>,
    patterns: Patterns,
}

/// A host that routes named.
#[derive(Debug, Clone, Default)]
struct OwnHost {
    paths: Paths<Arc<Served>>,
    /// The apps whose routes named it, and how many did.
    apps: BTreeMap<Arc<str>, usize>,
}

/// What a host, a path and a method mean.
#[derive(Debug)]
pub enum Meant<'t, 'p> {
    /// This route.
    Route(Match<'t, 'p, Arc<Served>>),
    /// Routes that take other methods.
    Methods(Methods),
    /// The host is known, the path is not.
    NoRoute,
    /// The app is known, and nothing of it can be reached.
    NoLive,
    /// Nobody's host.
    NoHost,
}

impl Matcher {
    /// A table without routes.
    pub fn new(domain: Option<&str>) -> Self {
        let domain = domain.unwrap_or("localhost").trim_end_matches('.').to_ascii_lowercase();
        Self { domain: domain.into(), ..Self::default() }
    }

    /// The domain whose hosts are apps.
    pub(crate) fn domain(&self) -> &str {
        &self.domain
    }

    /// The table of other routes, in which apps have these domains. If they are others than before, all routes are added
    /// anew: a host that becomes an app's own is no other's any more.
    #[must_use]
    pub(crate) fn with_domains(
        &self,
        domains: Named<Arc<str>>,
        routes: Arc<Vec<Arc<Route>>>,
    ) -> Self {
        if self.domains == domains {
            return self.with(routes);
        }
        let (domain, patterns) = (Arc::clone(&self.domain), self.patterns.clone());
        Self { domain, patterns, domains, ..Self::default() }.with(routes)
    }

    /// The app whose domain a host is.
    fn domain_of(&self, host: &Host<'_>) -> Option<&str> {
        host.name().and_then(|name| self.domains.get(name)).map(|app| &**app)
    }

    /// The app that a host is of, if it is of one.
    pub(crate) fn app_of<'a>(&'a self, host: &'a Host<'_>) -> Option<&'a str> {
        let own = host.name().and_then(|name| self.hosts.get(name));
        match (host.place(&self.domain), own) {
            (Place::App(app), _) | (Place::Release { app, .. }, None) => Some(app),
            (Place::Elsewhere, _) if self.domain_of(host).is_some() => self.domain_of(host),
            // A host that several apps named has only the routes that named it.
            (_, Some(own)) => {
                own.apps.keys().next().filter(|_| own.apps.len() == 1).map(|app| &**app)
            }
            (Place::Elsewhere, None) => None,
        }
    }

    /// The table of other routes. Costs what differs: routes that are in both are the same pointers.
    #[must_use]
    pub fn with(&self, routes: Arc<Vec<Arc<Route>>>) -> Self {
        let mut matcher = self.clone();
        let (gone, new) = differences(&self.routes, &routes);
        gone.into_iter().for_each(|route| matcher.remove(route));
        new.into_iter().for_each(|route| matcher.add(route));
        matcher.routes = routes;
        matcher
    }

    fn add(&mut self, route: &Arc<Route>) {
        let app: Arc<str> = route.app.as_str().into();
        let spec = &route.spec;
        let paths = match &spec.host {
            None => self.apps.entry(app).or_default(),
            Some(host) => {
                let Some(host) = self.own_host(&app, host) else {
                    let name = &route.name;
                    tracing::warn!(route.name = %name, "Route `{name}` names a host that is not its app's");
                    return;
                };
                let own = self.hosts.entry(host).or_default();
                *own.apps.entry(app).or_default() += 1;
                &mut own.paths
            }
        };
        let methods = Methods::named(spec.methods.iter().map(String::as_str));
        paths.add(&spec.path, methods, Arc::new(Served::new(route)), &self.patterns);
    }

    fn remove(&mut self, route: &Arc<Route>) {
        let (app, spec) = (route.app.as_str(), &route.spec);
        let host = spec.host.as_ref().map(|host| self.own_host(app, host));
        let paths = match &host {
            None => self.apps.get_mut(app),
            Some(Some(host)) => self.hosts.get_mut(host).map(|own| {
                if let Some(count) = own.apps.get_mut(app) {
                    *count -= 1;
                }
                own.apps.retain(|_, count| *count > 0);
                &mut own.paths
            }),
            Some(None) => None,
        };
        let Some(paths) = paths else { return };
        paths.remove(&spec.path, |served| Arc::ptr_eq(&served.route, route), &self.patterns);
        if paths.is_empty() {
            match host {
                None => self.apps.remove(app).is_some(),
                Some(host) => host.is_some_and(|host| self.hosts.remove(&host).is_some()),
            };
        }
    }

    /// The name of a host that an app's route may answer to. A host of the platform is its app's, and a release's
    /// is nobody's, whoever names it.
    pub(crate) fn own_host(&self, app: &str, host: &str) -> Option<Arc<str>> {
        let Ok(Authority { host, port: None }) = Authority::parse(host) else { return None };
        let own = match host.place(&self.domain) {
            Place::App(owner) => owner == app,
            Place::Release { .. } => false,
            Place::Elsewhere => self.domain_of(&host).is_none_or(|owner| owner == app),
        };
        host.name().filter(|_| own).map(Arc::from)
    }

    /// The route that a request means. The path's percent escapes are undone.
    pub fn find<'t, 'p>(
        &'t self,
        host: &Host<'_>,
        path: &'p str,
        method: &Method,
    ) -> Meant<'t, 'p> {
        let own = host.name().and_then(|name| self.hosts.get(name));
        let app = self.app_of(host);
        if own.is_none() && app.is_none() {
            return Meant::NoHost;
        }
        let shared = app.and_then(|app| self.apps.get(app));
        if own.is_none() && shared.is_none() && app != Some(DEFAULT_APP) {
            return Meant::NoHost;
        }
        if path.starts_with(OWN_PATHS) {
            return Meant::NoRoute;
        }
        let mut other = Methods::NONE;
        for paths in [own.map(|own| &own.paths), shared].into_iter().flatten() {
            match paths.find(path, method) {
                Found::Route(found) => return Meant::Route(found),
                Found::Methods(methods) => other = other.or(methods),
                Found::Nothing => {}
            }
        }
        if other.is_empty() { Meant::NoRoute } else { Meant::Methods(other) }
    }
}

/// The routes that are only in the one list, and those that are only in the other. Both are in the same order.
pub(crate) fn differences<'a>(
    before: &'a [Arc<Route>],
    after: &'a [Arc<Route>],
) -> (Vec<&'a Arc<Route>>, Vec<&'a Arc<Route>>) {
    let (mut gone, mut new) = (Vec::new(), Vec::new());
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    let key = |route: &'a Arc<Route>| (&route.app, &route.name);
    loop {
        match (before.peek(), after.peek()) {
            (None, None) => return (gone, new),
            (Some(one), Some(two)) if Arc::ptr_eq(one, two) => {
                before.next();
                after.next();
            }
            (Some(one), two) if two.is_none_or(|two| key(one) <= key(two)) => {
                gone.extend(before.next());
            }
            _ => new.extend(after.next()),
        }
    }
}
