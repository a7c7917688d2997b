//! Everything the gateway shows: of every app the release that is live and those that are reached by name. Immutable,
//! built from the table before, swapped whole; a request takes one and keeps to the release it found there.

use std::collections::BTreeMap;
use std::sync::Arc;

use folio_core::serving::{Route, Shown, Site};
use folio_model::ReleaseId;
use http::{HeaderValue, Method, StatusCode};

use crate::assets::{self, Hit, Means, Mounts};
use crate::authority::{Host, Place};
use crate::matcher::{Found, Matcher, Meant, Methods, OWN_PATHS, Paths, Patterns, differences};
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
    /// Its static files.
    mounts: Mounts,
    /// Its routes, but for those that have a host of their own, which is the live release's.
    paths: Paths<Arc<Served>>,
}

/// What a request means.
pub(crate) struct Aim<'t, 'p> {
    /// The route, or why there is none.
    pub(crate) meant: Meant<'t, 'p>,
    /// The static file that answers instead.
    pub(crate) file: Option<Shows>,
    /// The release that answers, if the request came to one.
    pub(crate) release: Option<&'t Arc<Release>>,
    /// How the release was asked for.
    pub(crate) named: Named,
}

/// A static file that answers, and with which status.
pub(crate) type Shows = (Hit, StatusCode);

/// How a release was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// As what is live.
    Live,
    /// By a name that may be another's later.
    Name,
    /// By its id in the host, which is never another's.
    Id,
    /// By a header: the address says nothing of it.
    Header,
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
            let aim = self.by_name(app, name, (path, method))?;
            let by_header = named.is_some().then_some(Named::Header);
            return Ok(Aim { named: by_header.unwrap_or(aim.named), ..aim });
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
        let (meant, file) = match (app, release) {
            (Some(app), Some(release)) => app.file(release, meant, (path, method)),
            _ => (meant, None),
        };
        Ok(Aim { meant, file, release, named: Named::Live })
    }

    fn by_name<'t, 'p>(
        &'t self,
        app: &str,
        name: &str,
        (path, method): (&'p str, &Method),
    ) -> Result<Aim<'t, 'p>, Absent> {
        let absent = || Absent { app: app.to_owned(), release: name.to_owned() };
        let Some(known) = self.apps.get(app) else {
            let meant = Meant::NoHost;
            return Ok(Aim { meant, file: None, release: None, named: Named::Name });
        };
        let shown = known.site.release(name).ok_or_else(absent)?;
        let release = known.releases.get(&shown.id).ok_or_else(absent)?;
        let meant = match release.paths.find(path, method) {
            Found::Route(found) => Meant::Route(found),
            Found::Methods(methods) => Meant::Methods(methods),
            Found::Nothing => Meant::NoRoute,
        };
        let (meant, file) = known.file(release, meant, (path, method));
        let own = name.eq_ignore_ascii_case(shown.id.as_str());
        let named = if own { Named::Id } else { Named::Name };
        Ok(Aim { meant, file, release: Some(release), named })
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

    /// Lets static files answer where they come before routes: a file whose item's path is at least as long as the
    /// route's, then routes, then what stands in for files that are not there.
    fn file<'t, 'p>(
        &'t self,
        release: &'t Release,
        meant: Meant<'t, 'p>,
        (path, method): (&'p str, &Method),
    ) -> (Meant<'t, 'p>, Option<Shows>) {
        if path.starts_with(OWN_PATHS) || self.releases.values().all(|r| r.mounts.is_empty()) {
            return (meant, None);
        }
        let reads = matches!(*method, Method::GET | Method::HEAD);
        let file = match (&meant, release.mounts.find(path)) {
            (Meant::Route(found), Some(hit)) if reads => {
                let first = found.taken.is_some_and(|taken| hit.segments >= taken);
                first.then_some((hit, StatusCode::OK))
            }
            (Meant::Methods(_) | Meant::NoRoute, Some(hit)) if reads => Some((hit, StatusCode::OK)),
            (Meant::NoRoute, Some(_)) => return (Meant::Methods(Methods::READING), None),
            (Meant::NoRoute, None) if reads => self.stand_in(release, path),
            _ => None,
        };
        (meant, file)
    }

    /// What answers for a file that a release does not have.
    fn stand_in(&self, release: &Release, path: &str) -> Option<Shows> {
        if assets::is_fingerprinted(path)
            && let Some(hit) = self.rescued(path)
        {
            return Some((hit, StatusCode::OK));
        }
        // What a page would load must not get a page instead.
        if !assets::is_file_like(path)
            && let Some(hit) = release.mounts.fallback(path)
        {
            return Some((hit, StatusCode::OK));
        }
        Some((release.mounts.error_page(path)?, StatusCode::NOT_FOUND))
    }

    /// A file that only another release has: a page that was loaded before a switch still asks for it. Its name says
    /// what it holds, so that it cannot be the wrong one.
    fn rescued(&self, path: &str) -> Option<Hit> {
        let mut others: Vec<_> = self.releases.values().collect();
        others.sort_by_key(|release| std::cmp::Reverse(release.shown.age()));
        let mut hits = others.iter().filter_map(|release| release.mounts.find(path));
        hits.find(|hit| matches!(hit.means, Means::File(..)))
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
        let mounts = Mounts::of(shown);
        Self { shown: Arc::clone(shown), id, app_version, mounts, paths }
    }
}

fn add(paths: &mut Paths<Arc<Served>>, route: &Arc<Route>, patterns: &Patterns) {
    let methods = Methods::named(route.spec.methods.iter().map(String::as_str));
    paths.add(&route.spec.path, methods, Arc::new(Served::new(route)), patterns);
}
