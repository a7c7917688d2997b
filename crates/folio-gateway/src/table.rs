//! Everything the gateway shows: of every app the release that is live and those that are reached by name. Immutable,
//! built from the table before, swapped whole; a request takes one and keeps to the release it found there.

use std::collections::BTreeMap;
use std::sync::Arc;

use folio_core::serving::{Route, Shown, Site};
use folio_model::ReleaseId;
use http::{HeaderValue, Method};

use crate::authority::{Host, Place};
use crate::matcher::{Found, Matcher, Meant, Methods, Paths, Patterns, differences};
use crate::served::Served;

/// All hosts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// What is live, on every host.
    live: Matcher,
    /// Apps by name.
    apps: BTreeMap<Arc<str>, App>,
    patterns: Patterns,
}

/// One app.
#[derive(Debug, Clone)]
struct App {
    site: Arc<Site>,
    releases: BTreeMap<ReleaseId, Arc<Release>>,
}

/// One release.
#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) shown: Arc<Shown>,
    /// What answers say of it.
    pub(crate) id: HeaderValue,
    pub(crate) app_version: HeaderValue,
    /// Its routes, but for those that have a host of their own, which is the live release's.
    paths: Paths<Arc<Served>>,
}

/// What a request means.
pub(crate) struct Aim<'t, 'p> {
    /// The route, or why there is none.
    pub(crate) meant: Meant<'t, 'p>,
    /// The release that answers, if the request came to one.
    pub(crate) release: Option<&'t Arc<Release>>,
    /// Whether the release was asked for by name.
    pub(crate) by_name: bool,
}

/// A release that cannot be reached under this name; the core can say why.
#[derive(Debug)]
pub(crate) struct Absent {
    pub(crate) app: String,
    pub(crate) release: String,
}

impl Table {
    /// A table without apps.
    pub(crate) fn new(domain: Option<&str>) -> Self {
        Self { live: Matcher::new(domain), ..Self::default() }
    }

    /// The domain whose hosts are apps.
    pub(crate) fn domain(&self) -> &str {
        self.live.domain()
    }

    /// The table of other sites. Costs what differs: what is in both is the same pointers.
    #[must_use]
    pub(crate) fn with(&self, sites: &[Arc<Site>]) -> Self {
        let mut apps = BTreeMap::new();
        for site in sites {
            let known = self.apps.get(site.app.as_str());
            let app = match known {
                Some(known) if Arc::ptr_eq(&known.site, site) => known.clone(),
                known => self.app(site, known),
            };
            apps.insert(Arc::from(site.app.as_str()), app);
        }
        let routes: Vec<_> = sites.iter().flat_map(|site| site.routes()).cloned().collect();
        let live = self.live.with(Arc::new(routes));
        Self { live, apps, patterns: self.patterns.clone() }
    }

    fn app(&self, site: &Arc<Site>, known: Option<&App>) -> App {
        let mut releases: BTreeMap<ReleaseId, Arc<Release>> = BTreeMap::new();
        let mut base = known.and_then(|known| known.live()).cloned();
        for (id, shown) in &site.releases {
            let same = known.and_then(|known| known.releases.get(id));
            let release = match same {
                Some(same) if Arc::ptr_eq(&same.shown, shown) => Arc::clone(same),
                _ => Arc::new(Release::new(shown, base.as_deref(), &self.patterns)),
            };
            base.get_or_insert_with(|| Arc::clone(&release));
            releases.insert(id.clone(), release);
        }
        App { site: Arc::clone(site), releases }
    }

    /// What a request means. The path's percent escapes are undone; `named` is the release that it asks for beside
    /// its host.
    pub(crate) fn find<'t, 'p>(
        &'t self,
        host: &Host<'_>,
        named: Option<&str>,
        (path, method): (&'p str, &Method),
    ) -> Result<Aim<'t, 'p>, Absent> {
        let by_host = match host.place(self.domain()) {
            Place::Release { app, release } => Some((app, release)),
            Place::App(_) | Place::Elsewhere => None,
        };
        let app = match (by_host, named) {
            (Some((app, _)), _) => Some(app),
            (None, Some(_)) => self.live.app_of(host),
            (None, None) => None,
        };
        let name = named.or(by_host.map(|(_, release)| release));
        if let (Some(app), Some(name)) = (app, name) {
            return self.by_name(app, name, (path, method));
        }
        let meant = match self.live.find(host, path, method) {
            // A host of an app that leads nowhere is known all the same.
            Meant::NoHost if self.own(host).is_some() => Meant::NoRoute,
            meant => meant,
        };
        let app = match &meant {
            Meant::Route(found) => self.apps.get(found.value.route.app.as_str()),
            _ => self.own(host),
        };
        let release = app.and_then(App::live);
        let meant = match (meant, app, release) {
            (Meant::NoRoute, Some(_), None) => Meant::NoLive,
            (meant, _, _) => meant,
        };
        Ok(Aim { meant, release, by_name: false })
    }

    fn by_name<'t, 'p>(
        &'t self,
        app: &str,
        name: &str,
        (path, method): (&'p str, &Method),
    ) -> Result<Aim<'t, 'p>, Absent> {
        let absent = || Absent { app: app.to_owned(), release: name.to_owned() };
        let Some(known) = self.apps.get(app) else {
            return Ok(Aim { meant: Meant::NoHost, release: None, by_name: true });
        };
        let shown = known.site.release(name).ok_or_else(absent)?;
        let release = known.releases.get(&shown.id).ok_or_else(absent)?;
        let meant = match release.paths.find(path, method) {
            Found::Route(found) => Meant::Route(found),
            Found::Methods(methods) => Meant::Methods(methods),
            Found::Nothing => Meant::NoRoute,
        };
        Ok(Aim { meant, release: Some(release), by_name: true })
    }

    /// The app whose own host it is.
    fn own(&self, host: &Host<'_>) -> Option<&App> {
        self.live.app_of(host).and_then(|app| self.apps.get(app))
    }
}

impl App {
    /// The release that the app's own host shows.
    fn live(&self) -> Option<&Arc<Release>> {
        let (shown, _) = self.site.live.first()?;
        self.releases.get(&shown.id)
    }
}

impl Release {
    /// Makes a release ready, from another where they have routes in common.
    fn new(shown: &Arc<Shown>, base: Option<&Self>, patterns: &Patterns) -> Self {
        let none = Vec::new();
        let (before, mut paths) = match base {
            Some(base) => (&base.shown.routes, base.paths.clone()),
            None => (&none, Paths::default()),
        };
        let (gone, new) = differences(before, &shown.routes);
        for route in gone.into_iter().filter(|route| route.spec.host.is_none()) {
            let is_it = |served: &Arc<Served>| Arc::ptr_eq(&served.route, route);
            paths.remove(&route.spec.path, is_it, patterns);
        }
        for route in new.into_iter().filter(|route| route.spec.host.is_none()) {
            add(&mut paths, route, patterns);
        }
        let value = |text: &str| {
            HeaderValue::from_str(text).expect("ids are letters, digits, dots, dashes, underscores")
        };
        let (id, app_version) = (value(shown.id.as_str()), value(shown.app_version.as_str()));
        Self { shown: Arc::clone(shown), id, app_version, paths }
    }
}

fn add(paths: &mut Paths<Arc<Served>>, route: &Arc<Route>, patterns: &Patterns) {
    let methods = Methods::named(route.spec.methods.iter().map(String::as_str));
    paths.add(&route.spec.path, methods, Arc::new(Served::new(route)), patterns);
}
