//! Everything the gateway shows: of every app the release that is live and those that are reached by name. Immutable,
//! built from the table before, swapped whole; a request takes one and keeps to the release it found there.

use std::collections::BTreeMap;
use std::sync::Arc;

use folio_core::serving::{Route, Shown, Site};
use folio_model::{DomainName, ReleaseId};
use http::{HeaderValue, Method, StatusCode};

use crate::assets::{self, Hit, Means, Mounts};
use crate::authority::{Authority, Host, Place};
use crate::choose::Client;
use crate::live::{Chosen, Live};
use crate::matcher::{Found, Matcher, Meant, Methods, OWN_PATHS, Paths, Patterns, differences};
use crate::served::Served;

/// All hosts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// What is live, on every host.
    live: Matcher,
    /// Apps by name.
    apps: BTreeMap<Arc<str>, App>,
    /// Hosts that only a release names which shares what is live, with their apps.
    hosts: BTreeMap<Arc<str>, Arc<str>>,
    patterns: Patterns,
}

/// One app.
#[derive(Debug, Clone)]
struct App {
    site: Arc<Site>,
    releases: BTreeMap<ReleaseId, Arc<Release>>,
    live: Live,
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
    /// Those, by host.
    hosts: BTreeMap<String, Paths<Arc<Served>>>,
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
    /// What keeps the client with the release.
    pub(crate) cookie: Option<HeaderValue>,
    /// Why it is not the release that the client began with.
    pub(crate) fallback: Option<Fallback>,
    /// Whether the same address may show something else to others.
    pub(crate) varies: bool,
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

/// Why a client is not answered by the release that it began with.
#[derive(Debug)]
pub(crate) enum Fallback {
    /// In a word.
    Told(&'static str),
    /// It cannot be reached.
    Absent(Absent),
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
        let owned = |site: &Arc<Site>| {
            let app: Arc<str> = site.app.as_str().into();
            let named = |domain: &DomainName| (Arc::from(domain.as_str()), Arc::clone(&app));
            site.domains.iter().map(named).collect::<Vec<_>>()
        };
        let domains = sites.iter().flat_map(owned).collect();
        let live = self.live.with_domains(domains, Arc::new(routes));
        let hosts = shared_hosts(&live, &apps);
        Self { live, apps, hosts, patterns: self.patterns.clone() }
    }

    fn app(&self, site: &Arc<Site>, known: Option<&App>) -> App {
        let mut releases: BTreeMap<ReleaseId, Arc<Release>> = BTreeMap::new();
        let mut base = known.and_then(|known| known.live.first()).cloned();
        for (id, shown) in &site.releases {
            let same = known.and_then(|known| known.releases.get(id));
            let release = match same {
                Some(same) if Arc::ptr_eq(&same.shown, shown) => Arc::clone(same),
                _ => Arc::new(Release::new(shown, base.as_deref(), &self.patterns)),
            };
            base.get_or_insert_with(|| Arc::clone(&release));
            releases.insert(id.clone(), release);
        }
        let live = Live::of(site, &releases);
        App { site: Arc::clone(site), releases, live }
    }

    /// What a request of a client means. The path's percent escapes are undone; `named` is the release that it asks
    /// for beside its host.
    pub(crate) fn find<'t, 'p>(
        &'t self,
        (host, named): (&Host<'_>, Option<&str>),
        asked: (&'p str, &Method),
        client: &Client<'_>,
    ) -> Result<Aim<'t, 'p>, Absent> {
        let by_host = match host.place(self.domain()) {
            Place::Release { app, release } => Some((app, release)),
            Place::App(_) | Place::Elsewhere => None,
        };
        let app = match (by_host, named) {
            (Some((app, _)), _) => Some(app),
            (None, Some(_)) => self.app_of(host),
            (None, None) => None,
        };
        let name = named.or(by_host.map(|(_, release)| release));
        if let (Some(app), Some(name)) = (app, name) {
            let aim = self.by_name(app, name, asked, client)?;
            let by_header = named.is_some().then_some(Named::Header);
            return Ok(Aim { named: by_header.unwrap_or(aim.named), ..aim });
        }
        Ok(self.by_host(host, asked, client))
    }

    /// What a request to an app's own host means.
    fn by_host<'t, 'p>(
        &'t self,
        host: &Host<'_>,
        (path, method): (&'p str, &Method),
        client: &Client<'_>,
    ) -> Aim<'t, 'p> {
        let meant = match self.live.find(host, path, method) {
            // A host of an app that leads nowhere is known all the same.
            Meant::NoHost if self.own(host).is_some() => Meant::NoRoute,
            meant => meant,
        };
        let app = match &meant {
            Meant::Route(found) => self.apps.get(found.value.route.app.as_str()),
            _ => self.own(host),
        };
        let chosen = app.and_then(|app| app.live.choose(&app.site, &app.releases, client));
        let (Some(app), Some(Chosen { release, cookie, fallback })) = (app, chosen) else {
            let meant = match (meant, app) {
                (Meant::NoRoute, Some(_)) => Meant::NoLive,
                (meant, _) => meant,
            };
            return Aim::of(meant);
        };
        // All hosts know the routes of the first that is live; the others' are their own.
        let meant = match app.live.first().is_some_and(|first| Arc::ptr_eq(first, release)) {
            true => meant,
            false => release.find(host.name(), (path, method)),
        };
        let (meant, file) = app.file(release, meant, (path, method));
        // What everybody may keep must not keep anybody with a release.
        let cookie = cookie.filter(|_| !assets::is_fingerprinted(path));
        let varies = app.live.varies();
        Aim { file, release: Some(release), cookie, fallback, varies, ..Aim::of(meant) }
    }

    fn by_name<'t, 'p>(
        &'t self,
        app: &str,
        name: &str,
        (path, method): (&'p str, &Method),
        client: &Client<'_>,
    ) -> Result<Aim<'t, 'p>, Absent> {
        let absent = || Absent { app: app.to_owned(), release: name.to_owned() };
        let Some(known) = self.apps.get(app) else {
            return Ok(Aim { named: Named::Name, ..Aim::of(Meant::NoHost) });
        };
        let chosen = match name {
            "live" => {
                known.live.choose(&known.site, &known.releases, client).map(|chosen| chosen.release)
            }
            _ => known.site.release(name).and_then(|shown| known.releases.get(&shown.id)),
        };
        let release = chosen.ok_or_else(absent)?;
        let meant = release.find(None, (path, method));
        let (meant, file) = known.file(release, meant, (path, method));
        let own = name.eq_ignore_ascii_case(release.shown.id.as_str());
        let named = if own { Named::Id } else { Named::Name };
        Ok(Aim { file, release: Some(release), named, ..Aim::of(meant) })
    }

    /// The app that a host is of, if it is of one.
    fn app_of<'a>(&'a self, host: &'a Host<'_>) -> Option<&'a str> {
        let named = || host.name().and_then(|name| self.hosts.get(name)).map(|app| &**app);
        self.live.app_of(host).or_else(named)
    }

    /// The app whose own host it is.
    fn own(&self, host: &Host<'_>) -> Option<&App> {
        self.app_of(host).and_then(|app| self.apps.get(app))
    }
}

impl<'t, 'p> Aim<'t, 'p> {
    /// What a request means of which nothing else is known.
    fn of(meant: Meant<'t, 'p>) -> Self {
        let (file, release, cookie, fallback) = (None, None, None, None);
        Self { meant, file, release, named: Named::Live, cookie, fallback, varies: false }
    }
}

impl App {
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
            (Meant::NoRoute, None) if reads => {
                self.rescued(path).or_else(|| Self::stand_in(release, path))
            }
            // A route that takes everything is no reason to miss a file: as one of the release's own, it comes first
            // unless the route names more of the path.
            (Meant::Route(found), None) if reads => {
                let least = found.taken;
                self.rescued(path)
                    .filter(|(hit, _)| least.is_some_and(|taken| hit.segments >= taken))
            }
            (Meant::Methods(_), None) if reads => self.rescued(path),
            _ => None,
        };
        (meant, file)
    }

    /// What answers for a file that no release has.
    fn stand_in(release: &Release, path: &str) -> Option<Shows> {
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
    fn rescued(&self, path: &str) -> Option<Shows> {
        if !assets::is_fingerprinted(path) {
            return None;
        }
        let public = self.releases.values().filter(|release| !release.shown.aside);
        let mut others: Vec<_> = public.collect();
        others.sort_by_key(|release| std::cmp::Reverse(release.shown.made));
        let mut hits = others.iter().filter_map(|release| release.mounts.find(path));
        let hit = hits.find(|hit| matches!(hit.means, Means::File(..)));
        hit.map(|hit| (hit, StatusCode::OK))
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
        let mut hosts = base.map(|base| base.hosts.clone()).unwrap_or_default();
        let (gone, new) = differences(before, &shown.routes);
        for route in gone {
            let is_it = |served: &Arc<Served>| Arc::ptr_eq(&served.route, route);
            match route.spec.host.as_deref().map(host_name) {
                None => paths.remove(&route.spec.path, is_it, patterns),
                Some(host) => {
                    if let Some(own) = host.and_then(|host| hosts.get_mut(&host)) {
                        own.remove(&route.spec.path, is_it, patterns);
                    }
                }
            }
        }
        for route in new {
            match route.spec.host.as_deref().map(host_name) {
                None => add(&mut paths, route, patterns),
                Some(Some(host)) => add(hosts.entry(host).or_default(), route, patterns),
                Some(None) => {}
            }
        }
        hosts.retain(|_, paths| !paths.is_empty());
        let value = |text: &str| {
            HeaderValue::from_str(text).expect("ids are letters, digits, dots, dashes, underscores")
        };
        let (id, app_version) = (value(shown.id.as_str()), value(shown.app_version.as_str()));
        let mounts = Mounts::of(shown);
        Self { shown: Arc::clone(shown), id, app_version, mounts, paths, hosts }
    }

    /// The route that a path means, those first that name the host.
    fn find<'t, 'p>(
        &'t self,
        host: Option<&str>,
        (path, method): (&'p str, &Method),
    ) -> Meant<'t, 'p> {
        if path.starts_with(OWN_PATHS) {
            return Meant::NoRoute;
        }
        let mut other = Methods::NONE;
        let own = host.and_then(|host| self.hosts.get(host));
        for paths in own.into_iter().chain([&self.paths]) {
            match paths.find(path, method) {
                Found::Route(found) => return Meant::Route(found),
                Found::Methods(methods) => other = other.or(methods),
                Found::Nothing => {}
            }
        }
        if other.is_empty() { Meant::NoRoute } else { Meant::Methods(other) }
    }
}

/// The name of a host as requests have it.
fn host_name(host: &str) -> Option<String> {
    let authority = Authority::parse(host).ok()?;
    authority.host.name().map(str::to_owned)
}

/// Hosts that only a release names which shares what is live. One that anybody else has stays theirs.
fn shared_hosts(live: &Matcher, apps: &BTreeMap<Arc<str>, App>) -> BTreeMap<Arc<str>, Arc<str>> {
    let mut hosts = BTreeMap::new();
    for (name, app) in apps {
        for release in app.live.releases().skip(1) {
            for host in release.hosts.keys() {
                let known = Authority::parse(host).is_ok_and(|at| live.app_of(&at.host).is_some());
                if !known && live.own_host(name, host).is_some() {
                    hosts.entry(Arc::from(host.as_str())).or_insert_with(|| Arc::clone(name));
                }
            }
        }
    }
    hosts
}

fn add(paths: &mut Paths<Arc<Served>>, route: &Arc<Route>, patterns: &Patterns) {
    let methods = Methods::named(route.spec.methods.iter().map(String::as_str));
    paths.add(&route.spec.path, methods, Arc::new(Served::new(route)), patterns);
}
