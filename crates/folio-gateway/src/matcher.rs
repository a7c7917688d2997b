//! The table of all routes: immutable, built whole, swapped whole. Says which route a request means; never
//! resolves what the route leads to. Start at [`Matcher::find`].

mod methods;
mod paths;
mod patterns;

use std::collections::HashMap;
use std::sync::Arc;

use folio_core::serving::Route;
use http::Method;

pub use methods::{Fit, Methods};
pub use paths::{Found, Match, Paths};
pub use patterns::Patterns;

use crate::authority::{Authority, Host, Place};
use crate::served::Served;

/// Paths that are folio's own and never a route's.
const OWN_PATHS: &str = "/_folio/";

/// All routes, by host and path.
#[derive(Debug, Default)]
pub struct Matcher {
    /// The domain whose hosts are apps.
    domain: Box<str>,
    /// Routes with a host of their own.
    hosts: HashMap<Box<str>, OwnHost>,
    /// Routes without, by app.
    apps: HashMap<Box<str>, Paths<Arc<Served>>>,
    patterns: Patterns,
}

/// A host that routes named.
#[derive(Debug, Default)]
struct OwnHost {
    paths: Paths<Arc<Served>>,
    /// The apps whose routes named it.
    apps: Vec<Box<str>>,
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
    /// A release, of which there are none.
    NoRelease,
    /// Nobody's host.
    NoHost,
}

impl Matcher {
    /// Builds the table. What the one before compiled is not compiled again.
    pub fn new(domain: Option<&str>, routes: &[Arc<Route>], before: Option<&Self>) -> Self {
        let domain = domain.unwrap_or("localhost").trim_end_matches('.').to_ascii_lowercase();
        let patterns = before.map(|before| before.patterns.kept()).unwrap_or_default();
        let mut matcher = Self { domain: domain.into(), patterns, ..Self::default() };
        matcher.apps.insert("default".into(), Paths::default());
        for route in routes {
            matcher.add(route);
        }
        matcher
    }

    fn add(&mut self, route: &Arc<Route>) {
        let app = route.app.as_str();
        let Some(host) = &route.spec.host else {
            put(self.apps.entry(app.into()).or_default(), route, &mut self.patterns);
            return;
        };
        let Ok(Authority { host: Host::Name(name), port: None }) = Authority::parse(host) else {
            tracing::warn!(route.name = %route.name, "Route `{}` names no host that a client can name", route.name);
            return;
        };
        // A host of the platform is its app's, and a release's is nobody's, whoever names it.
        let own = match Host::Name(name.as_ref().into()).place(&self.domain) {
            Place::App(owner) => owner == app,
            Place::Release { .. } => false,
            Place::Elsewhere => true,
        };
        if !own {
            tracing::warn!(route.name = %route.name, "Route `{}` names a host that is not its app's", route.name);
            return;
        }
        let own = self.hosts.entry(name.into_owned().into()).or_default();
        if !own.apps.iter().any(|known| **known == *app) {
            own.apps.push(app.into());
        }
        put(&mut own.paths, route, &mut self.patterns);
    }

    /// The route that a request means. The path's percent escapes are undone.
    pub fn find<'t, 'p>(
        &'t self,
        host: &Host<'_>,
        path: &'p str,
        method: &Method,
    ) -> Meant<'t, 'p> {
        let own = host.name().and_then(|name| self.hosts.get(name));
        let app = match (host.place(&self.domain), own) {
            (Place::App(app), _) => Some(app),
            (Place::Release { .. }, None) => return Meant::NoRelease,
            (Place::Elsewhere, None) => return Meant::NoHost,
            (_, Some(own)) => match own.apps.as_slice() {
                [only] => Some(&**only),
                _ => None,
            },
        };
        let shared = app.and_then(|app| self.apps.get(app));
        if own.is_none() && shared.is_none() {
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

fn put(paths: &mut Paths<Arc<Served>>, route: &Arc<Route>, patterns: &mut Patterns) {
    let methods = Methods::named(route.spec.methods.iter().map(String::as_str));
    paths.add(&route.spec.path, methods, Arc::new(Served::new(route)), patterns);
}
