//! The table of routes against a reader of the rules who tries every route.

use std::sync::Arc;

use folio_core::serving::Route;
use folio_gateway::authority::Authority;
use folio_gateway::matcher::{Fit, Found, Matcher, Meant, Methods, Paths, Patterns};
use folio_model::{RoutePath, RouteSpec};
use http::Method;
use proptest::prelude::*;

/// A route of the naive matcher.
#[derive(Debug, Clone)]
struct Rule {
    path: RoutePath,
    methods: Vec<&'static str>,
}

/// How specific a match is; the least is the most specific.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Exact, template, prefix.
    class: u8,
    /// For prefixes, how short.
    short: i64,
    /// Literal, pattern, plain, rest; segment by segment.
    kinds: Vec<u8>,
}

fn kind(segment: &str) -> u8 {
    match segment {
        "{r:.*}" => 3,
        "{n:[0-9]+}" => 1,
        _ if segment.starts_with('{') => 2,
        _ => 0,
    }
}

fn fits(segment: &str, asked: &str) -> bool {
    match kind(segment) {
        1 => !asked.is_empty() && asked.bytes().all(|byte| byte.is_ascii_digit()),
        2 => !asked.is_empty(),
        _ => segment == asked,
    }
}

/// Whether a rule's path fits, and how specifically.
fn rank(path: &RoutePath, asked: &str) -> Option<Rank> {
    let text = path.as_str();
    let split = |text: &str| text[1..].split('/').map(str::to_owned).collect::<Vec<_>>();
    let (mut rule, given) = (split(text), split(asked));
    let kinds = |rule: &[String]| rule.iter().map(|segment| kind(segment)).collect::<Vec<_>>();
    let all = |rule: &[String]| {
        rule.len() <= given.len()
            && rule.iter().zip(&given).all(|(segment, asked)| fits(segment, asked))
    };
    match path {
        RoutePath::Exact(_) if !text.contains('{') => {
            (text == asked).then(|| Rank { class: 0, short: 0, kinds: Vec::new() })
        }
        RoutePath::Exact(_) if rule.last().is_some_and(|last| kind(last) == 3) => {
            let fitting = given.len() >= rule.len() && all(&rule[..rule.len() - 1]);
            fitting.then(|| Rank { class: 1, short: 0, kinds: kinds(&rule) })
        }
        RoutePath::Exact(_) => (given.len() == rule.len() && all(&rule)).then(|| Rank {
            class: 1,
            short: 0,
            kinds: kinds(&rule),
        }),
        RoutePath::Prefix { .. } => {
            let slashed = text.ends_with('/');
            if slashed {
                rule.pop();
            }
            let fitting = all(&rule) && (!slashed || given.len() > rule.len());
            let length = i64::try_from(rule.len() * 2 + usize::from(slashed)).unwrap();
            fitting.then(|| Rank { class: 2, short: -length, kinds: kinds(&rule) })
        }
    }
}

/// The place of the rule that answers, or the methods of those that would for another, or neither.
fn naive(rules: &[Rule], asked: &str, method: &Method) -> Result<usize, Option<String>> {
    let mut best: Option<(Rank, Fit, usize)> = None;
    let mut others = Methods::NONE;
    for (at, rule) in rules.iter().enumerate() {
        let Some(rank) = rank(&rule.path, asked) else { continue };
        let methods = Methods::named(rule.methods.iter().copied());
        match methods.fit(method) {
            Some(fit) => {
                let this = (rank, fit, at);
                if best.as_ref().is_none_or(|best| this < *best) {
                    best = Some(this);
                }
            }
            None => others = others.or(methods),
        }
    }
    match best {
        Some((_, _, at)) => Ok(at),
        None => Err((!others.is_empty()).then(|| others.allow())),
    }
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let segment = prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "ab", "7"]),
        2 => Just("{x}"),
        2 => Just("{n:[0-9]+}"),
        1 => Just(""),
    ];
    let methods = prop::sample::select(vec![vec![], vec!["GET"], vec!["POST"], vec!["GET", "PUT"]]);
    let rest = prop::bool::weighted(0.1);
    (prop::collection::vec(segment, 0..4), 0..4_u8, rest, methods).prop_map(
        |(segments, form, rest, methods)| {
            let mut text = String::new();
            for (at, segment) in segments.iter().enumerate() {
                // Names have to differ within a path.
                let unique = segment.replace("{x}", &format!("{{x{at}}}"));
                let unique = if unique == "{n:[0-9]+}" && text.contains("{n:") {
                    "7".to_owned()
                } else {
                    unique
                };
                text.push('/');
                text.push_str(&unique);
            }
            let path = match form {
                0 | 1 if rest => RoutePath::Exact(format!("{text}/{{r:.*}}")),
                0 | 1 => RoutePath::Exact(if text.is_empty() { "/".to_owned() } else { text }),
                2 => RoutePath::Prefix { path: format!("{text}/"), keep: false },
                _ => RoutePath::Prefix {
                    path: if text.is_empty() { "/".to_owned() } else { text },
                    keep: false,
                },
            };
            Rule { path, methods }
        },
    )
}

fn table(rules: &[Rule]) -> Paths<usize> {
    let (mut paths, patterns) = (Paths::default(), Patterns::default());
    for (at, rule) in rules.iter().enumerate() {
        paths.add(&rule.path, Methods::named(rule.methods.iter().copied()), at, &patterns);
    }
    paths
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn the_table_answers_as_one_who_tries_every_route(
        rules in prop::collection::vec(any_rule(), 0..12),
        asked in "(/(a|b|ab|7|77|c|)){1,4}",
        method in prop::sample::select(vec![Method::GET, Method::HEAD, Method::POST, Method::DELETE]),
    ) {
        let paths = table(&rules);
        let found = match paths.find(&asked, &method) {
            Found::Route(found) => Ok(*found.value),
            Found::Methods(methods) => Err(Some(methods.allow())),
            Found::Nothing => Err(None),
        };
        prop_assert_eq!(found, naive(&rules, &asked, &method), "{} {} {:?}", method, asked, rules);
    }

    #[test]
    fn any_path_is_looked_up_without_a_panic(asked in "\\PC{0,40}", rules in prop::collection::vec(any_rule(), 0..6)) {
        drop(table(&rules).find(&asked, &Method::GET));
    }
}

fn found(rules: &[&str], asked: &str) -> Option<(usize, Vec<(String, String)>)> {
    let rule = |path: &&str| Rule { path: RoutePath::Exact((*path).to_owned()), methods: vec![] };
    let rules: Vec<_> = rules.iter().map(rule).collect();
    match table(&rules).find(asked, &Method::GET) {
        Found::Route(found) => {
            let own = |(name, value): (&Arc<str>, &str)| (name.to_string(), value.to_owned());
            Some((*found.value, found.parameters.into_iter().map(own).collect()))
        }
        Found::Methods(_) | Found::Nothing => None,
    }
}

#[test]
fn placeholders_take_what_they_match() {
    let check = |rule: &str, asked: &str, expected: Option<&[(&str, &str)]>| {
        let own = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            found(&[rule], asked).map(|(_, pairs)| pairs),
            expected.map(own),
            "{rule} {asked}"
        );
    };
    check("/u/{id}", "/u/7", Some(&[("id", "7")]));
    check("/u/{id}", "/u/", None);
    check("/u/{id:[0-9]+}", "/u/7x", None);
    check("/u/{id:a|b}", "/u/b", Some(&[("id", "b")]));
    check("/u/{id:a|b}", "/u/ab", None);
    check("/{a}-{b:[0-9]{2}}.json", "/x-y-12.json", Some(&[("a", "x-y"), ("b", "12")]));
    check("/{a}-{b:[0-9]{2}}.json", "/x-1.json", None);
    check("/f/{rest:.*}", "/f/a/b/", Some(&[("rest", "a/b/")]));
    check("/f/{rest:.*}", "/f/", Some(&[("rest", "")]));
    check("/f/{rest:.*}", "/f", None);
    check("/f/{rest:.+}", "/f/", None);
    check("/caf%C3%A9", "/café", Some(&[]));
}

#[test]
fn a_broken_pattern_is_known_and_others_work() {
    let rules = ["/x/{id:[}", "/y/{id:a)|(b}", "/z/{id:[0-9]+}", "/w/{id:(a{1000}){1000}}"]
        .map(|path| Rule { path: RoutePath::Exact(path.to_owned()), methods: vec![] });
    let paths = table(&rules);
    for (asked, broken) in [("/x/1", true), ("/y/a", true), ("/z/1", false), ("/w/1", true)] {
        match paths.find(asked, &Method::GET) {
            Found::Route(found) => assert_eq!(found.broken, broken, "{asked}"),
            Found::Methods(_) | Found::Nothing => panic!("{asked} was not found"),
        }
    }
}

fn route(app: &str, host: Option<&str>, path: &str) -> Arc<Route> {
    Arc::new(Route {
        app: app.parse().unwrap(),
        name: "r".parse().unwrap(),
        spec: RouteSpec {
            host: host.map(str::to_owned),
            path: RoutePath::Exact(path.to_owned()),
            methods: std::collections::BTreeSet::default(),
            targets: vec![],
            sticky: None,
            cors: None,
            bag: folio_model::Bag::new(),
        },
        targets: vec![],
    })
}

fn reached(routes: &[Arc<Route>], host: &str, path: &str) -> Option<String> {
    let matcher = Matcher::new(Some("D.test.")).with(Arc::new(routes.to_vec()));
    let authority = Authority::parse(host).ok()?;
    match matcher.find(&authority.host, path, &Method::GET) {
        Meant::Route(found) => Some(found.value.route.app.to_string()),
        Meant::Methods(_) | Meant::NoRoute | Meant::NoLive | Meant::NoHost => None,
    }
}

#[test]
fn an_app_is_reached_by_its_own_hosts_only() {
    let routes = [
        route("shop", None, "/x"),
        route("default", None, "/x"),
        route("blog", Some("blog.example"), "/x"),
        route("blog", None, "/hostless"),
        // None of these may be taken from its owner.
        route("thief", Some("shop.d.test"), "/stolen"),
        route("thief", Some("d.test"), "/stolen"),
        route("thief", Some("localhost"), "/stolen"),
        route("thief", Some("127.0.0.1"), "/stolen"),
        route("thief", Some("v1--shop.d.test"), "/stolen"),
        route("thief", Some("shop.v1.d.test"), "/stolen"),
        route("shop", Some("shop.d.test"), "/own"),
    ];
    let check = |host: &str, path: &str, app: Option<&str>| {
        assert_eq!(reached(&routes, host, path).as_deref(), app, "{host} {path}");
    };
    check("shop.d.test", "/x", Some("shop"));
    check("shop.d.test", "/own", Some("shop"));
    check("d.test", "/x", Some("default"));
    check("1.2.3.4", "/x", Some("default"));
    check("blog.example", "/x", Some("blog"));
    check("blog.example", "/hostless", Some("blog"));
    check("blog.d.test", "/x", None);
    for host in
        ["shop.d.test", "d.test", "localhost", "127.0.0.1", "v1--shop.d.test", "shop.v1.d.test"]
    {
        check(host, "/stolen", None);
    }
}

proptest! {
    #[test]
    fn no_host_reaches_another_app(host in "\\PC{0,30}|((shop|blog|default|x)[.:@-]{0,2}){0,3}([dD]\\.test)?[.]?(:[0-9]{1,4})?") {
        let routes = [route("shop", None, "/x"), route("blog", None, "/x")];
        if let Some(app) = reached(&routes, &host, "/x") {
            let lower = host.to_ascii_lowercase();
            let name = lower.split(':').next().unwrap();
            let name = name.trim_end_matches('.');
            let own = name == format!("{app}.d.test");
            // A release's host is its app's as well; whether there is such a release, the table says.
            let flat = name.ends_with(&format!("--{app}.d.test"));
            let nested = name.starts_with(&format!("{app}.")) && name.ends_with(".d.test");
            prop_assert!(own || flat || nested, "{} reaches {}", host, app);
        }
    }
}

/// Routes in the order in which the core gives them, each at one of a few places.
fn any_routes() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    prop::collection::vec((0..6_u8, 0..3_u8, 0..6_u8), 0..6).prop_map(|mut rows| {
        rows.sort_unstable();
        rows.dedup_by_key(|row| row.0);
        rows
    })
}

fn placed((name, host, path): (u8, u8, u8)) -> Arc<Route> {
    let host = [None, Some("a.example"), Some("shop.d.test")][usize::from(host)];
    let path = ["/x", "/x/{id}", "/{id}", "/x/{n:[0-9]+}", "/{r:.*}", "/y"][usize::from(path)];
    let app = if name < 3 { "blog" } else { "shop" };
    let name = format!("r{name}").parse().unwrap();
    let route = Arc::into_inner(route(app, host, path)).unwrap();
    Arc::new(Route { name, ..route })
}

fn everything(matcher: &Matcher) -> Vec<Option<String>> {
    let mut seen = Vec::new();
    for host in ["a.example", "shop.d.test", "blog.d.test", "localhost"] {
        for path in ["/x", "/x/7", "/x/a", "/y", "/z/z"] {
            let authority = Authority::parse(host).unwrap();
            seen.push(match matcher.find(&authority.host, path, &Method::GET) {
                Meant::Route(found) => Some(found.value.route.spec.path.as_str().to_owned()),
                Meant::NoHost => None,
                other => Some(format!("{other:?}")),
            });
        }
    }
    seen
}

proptest! {
    #[test]
    fn a_table_that_was_changed_is_as_one_that_was_built(steps in prop::collection::vec(any_routes(), 1..6)) {
        let mut known = std::collections::HashMap::new();
        let mut changed = Matcher::new(Some("d.test"));
        for rows in steps {
            let routes: Vec<_> = rows.iter().map(|row| Arc::clone(known.entry(*row).or_insert_with(|| placed(*row)))).collect();
            changed = changed.with(Arc::new(routes.clone()));
            let built = Matcher::new(Some("d.test")).with(Arc::new(routes));
            prop_assert_eq!(everything(&changed), everything(&built));
        }
    }
}
