//! `folio route`: which requests at the gateway go to which function.

pub(crate) mod shortcut;

use std::collections::BTreeSet;

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::route::{RouteFields, RouteSetting, RouteView};
use folio_core::view::Done;
use folio_model::{
    AppName, Cors, FULL_WEIGHT, Qualifier, Reference, RoutePath, Snapshot, Sticky, Target,
    TriggerSpec,
};
use reqwest::Method;
use serde_json::json;

use super::Session;
use super::deleting::Deleting;
use super::idle::RouteIdle;
use super::saving::{self, Creating};
use crate::client::{Change, Items};
use crate::name::Named;
use crate::output::{Details, Format, Table, list as join};
use crate::problem::{Problem, explained};
use crate::spec::Sheet;

/// What one can do with routes.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Lead requests to a function
    Create(Creating<Set>),
    /// Change a route; what is left out stays
    Update(Set),
    /// Show one route
    #[command(visible_alias = "show")]
    Get(Which),
    /// List routes
    List(List),
    /// Delete a route; the functions stay
    Delete(Deleting),
}

/// Which route.
#[derive(Debug, Args)]
pub(crate) struct Which {
    #[command(flatten)]
    named: Named,
}

/// Which routes.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only those that lead to this function
    #[arg(long, value_name = "FUNCTION")]
    function: Option<folio_model::Name>,
}

/// A route as it shall be.
#[derive(Debug, Args)]
pub(crate) struct Set {
    /// The route's name; made up for a new one if left out
    #[arg(value_name = "NAME", conflicts_with = "name")]
    positional: Option<folio_model::Name>,
    /// The same, as a flag
    #[arg(long, value_name = "NAME")]
    name: Option<folio_model::Name>,
    /// Answer to this method; repeat it for more [default: GET]
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    method: Vec<String>,
    /// Answer to this path, such as `/users/{id}` or `/users/{id:[0-9]+}`
    #[arg(long, value_name = "PATH", conflicts_with = "prefix")]
    url: Option<String>,
    /// Answer to this path and everything below it
    #[arg(long, value_name = "PATH")]
    prefix: Option<String>,
    /// Let the function see the prefix, too
    #[arg(long, visible_alias = "keepprefix", requires = "prefix")]
    keep_prefix: bool,
    /// Answer to this host only
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Lead to this function, such as `hello` or `hello@v1.0.0`; repeat it with --weight to split
    #[arg(long, value_name = "FUNCTION")]
    function: Vec<Reference>,
    /// The share of the function before it, in hundredths
    #[arg(long, value_name = "PERCENT", requires = "function")]
    weight: Vec<u32>,
    /// Lead to this version of the function
    #[arg(
        long,
        visible_alias = "function-version",
        value_name = "VERSION",
        requires = "function",
        conflicts_with = "alias"
    )]
    version: Option<Qualifier>,
    /// Lead to whatever this alias of the function points to
    #[arg(long, visible_alias = "function-alias", value_name = "ALIAS", requires = "function")]
    alias: Option<Qualifier>,
    /// Keep a client with one version: `header:NAME`, `cookie:NAME` or `address`
    #[arg(long, value_name = "WHAT", value_parser = sticky)]
    sticky: Option<Sticky>,
    /// Take something from the route that it has: `sticky` or `cors`; repeat it for both
    #[arg(long, value_name = "SETTING", value_parser = setting)]
    unset: Vec<RouteSetting>,
    #[command(flatten)]
    cors: CorsFlags,
    #[command(flatten)]
    idle: RouteIdle,
    /// Refuse unless it is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// What browsers on other sites may do.
#[derive(Debug, Args)]
#[command(next_help_heading = "Other sites")]
struct CorsFlags {
    /// Let pages of this origin call, or `*`; repeat it for more
    #[arg(long, value_name = "ORIGIN")]
    cors_origin: Vec<String>,
    /// Let them send this header, or `*`
    #[arg(long, value_name = "HEADER", requires = "cors_origin")]
    cors_header: Vec<String>,
    /// Let them read this header
    #[arg(long, value_name = "HEADER", requires = "cors_origin")]
    cors_expose: Vec<String>,
    /// Let them send cookies
    #[arg(long, requires = "cors_origin")]
    cors_credentials: bool,
    /// Let browsers remember this for so many seconds
    #[arg(long, value_name = "SECONDS", requires = "cors_origin", default_value_t = 0)]
    cors_max_age: u32,
}

fn sticky(text: &str) -> Result<Sticky, &'static str> {
    match text.split_once(':') {
        Some(("header", name)) => Ok(Sticky::Header(name.to_owned())),
        Some(("cookie", name)) => Ok(Sticky::Cookie(name.to_owned())),
        None if text == "address" => Ok(Sticky::Address),
        _ => Err("write `header:NAME`, `cookie:NAME` or `address`"),
    }
}

fn setting(text: &str) -> Result<RouteSetting, &'static str> {
    match text {
        "sticky" => Ok(RouteSetting::Sticky),
        "cors" => Ok(RouteSetting::Cors),
        _ => Err("write `sticky` or `cors`"),
    }
}

/// Runs a command on routes.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    let app = session.app(None);
    let routes = ["apps", app.as_str(), "routes"];
    let client = &session.client;
    match command {
        Command::Create(Creating { what: mut set, saving }) => {
            if set.method.is_empty() {
                set.method.push("GET".to_owned());
            }
            let (name, fields) = (set.name(), set.fields()?);
            if saving.is_wanted() {
                return saving.save(&[sheet(&app, name, &fields)?]);
            }
            create(session, &app, (name, fields)).await
        }
        Command::Update(set) => {
            let Some(name) = set.name() else {
                return Err(Problem::usage("which route?").hint("give --name NAME").into());
            };
            let (expect, fields) = (set.expect, set.fields()?);
            let change = Change::new(Method::PATCH).body(&json!({ "fields": fields }))?;
            let path = [&routes[..], &[name.as_str()]].concat();
            said(session, &client.change(&path, change.expect(expect)).await?, "changed")
        }
        Command::Get(which) => {
            let unit = which.named.unit(session)?;
            let path = ["apps", unit.app.as_str(), "routes", unit.name.as_str()];
            let view: RouteView = client.get(&path, &[]).await?;
            session.output.item(&view, |view| details(view).to_string())
        }
        Command::List(List { function }) => {
            let mut found: Items<RouteView> = client.get(&routes, &[]).await?;
            if let Some(function) = function {
                let leads = |target: &Target| target.name() == Some(&function);
                found.items.retain(|view| view.spec.targets.iter().any(leads));
            }
            session.output.items(&found.items, table)
        }
        Command::Delete(deleting) => {
            let unit = deleting.unit(session)?;
            let path = ["apps", unit.app.as_str(), "routes", unit.name.as_str()];
            match deleting.ask(session, &path, Change::new(Method::DELETE)).await? {
                None => Ok(()),
                Some(done) => {
                    session.output.item(&done, |_| format!("route {} deleted", unit.name))
                }
            }
        }
    }
}

/// Makes a route.
pub(crate) async fn create(
    session: &Session,
    app: &AppName,
    (name, fields): (Option<folio_model::Name>, RouteFields),
) -> Result<()> {
    let change = Change::new(Method::POST).body(&json!({ "name": name, "fields": fields }))?;
    let path = ["apps", app.as_str(), "routes"];
    said(session, &session.client.change(&path, change).await?, "created")
}

/// The manifest of a route.
pub(crate) fn sheet(
    app: &AppName,
    name: Option<folio_model::Name>,
    fields: &RouteFields,
) -> Result<Sheet> {
    let spec = fields.fresh().map_err(explained)?;
    let name = name.unwrap_or_else(saving::fresh_name);
    saving::sheet(app, &name, Snapshot::Trigger(TriggerSpec::Http(spec)))
}

impl Set {
    fn name(&self) -> Option<folio_model::Name> {
        self.positional.clone().or_else(|| self.name.clone())
    }

    fn fields(self) -> Result<RouteFields> {
        self.idle.warn();
        let prefix = self.prefix.map(|path| RoutePath::Prefix { path, keep: self.keep_prefix });
        let methods: BTreeSet<_> = self.method.iter().map(|word| word.to_uppercase()).collect();
        let at = self.version.or(self.alias);
        let targets = targets(self.function, &self.weight, at.as_ref())?;
        Ok(RouteFields {
            host: self.host,
            path: self.url.map(RoutePath::Exact).or(prefix),
            methods: (!methods.is_empty()).then_some(methods),
            targets,
            sticky: self.sticky,
            cors: self.cors.cors(),
            unset: self.unset.into_iter().collect(),
        })
    }
}

/// The functions with their shares. One function takes everything; several need a weight each.
pub(crate) fn targets(
    functions: Vec<Reference>,
    weights: &[u32],
    at: Option<&Qualifier>,
) -> Result<Option<Vec<Target>>> {
    if functions.is_empty() {
        return Ok(None);
    }
    let weights = match (functions.len(), weights) {
        (1, []) => vec![FULL_WEIGHT],
        (many, weights) if many == weights.len() => {
            weights.iter().map(|weight| weight.saturating_mul(FULL_WEIGHT / 100)).collect()
        }
        _ => {
            let problem = Problem::usage("each --function needs a --weight when there are several");
            return Err(problem
                .hint("--function one --weight 90 --function two --weight 10")
                .into());
        }
    };
    let pinned = |function: Reference| match at {
        Some(at) => Reference { at: Some(at.clone()), ..function },
        None => function,
    };
    let target = |(function, weight)| Target { function: pinned(function), weight };
    Ok(Some(functions.into_iter().zip(weights).map(target).collect()))
}

impl CorsFlags {
    fn cors(self) -> Option<Cors> {
        if self.cors_origin.is_empty() {
            return None;
        }
        Some(Cors {
            allow_origins: self.cors_origin.into_iter().collect(),
            allow_methods: BTreeSet::new(),
            allow_headers: self.cors_header.into_iter().collect(),
            expose_headers: self.cors_expose.into_iter().collect(),
            allow_credentials: self.cors_credentials,
            max_age_seconds: self.cors_max_age,
        })
    }
}

fn said(session: &Session, done: &Done<RouteView>, verb: &str) -> Result<()> {
    session.output.item(done, |done| {
        let view = &done.result;
        let verb = if done.changed { verb } else { "unchanged" };
        let (methods, path) = (methods(view), path(view));
        format!("route {} {verb}: {methods} {path} -> {}", view.name, leads(view))
    })
}

fn methods(view: &RouteView) -> String {
    if view.spec.methods.is_empty() { "any".to_owned() } else { join(&view.spec.methods) }
}

fn path(view: &RouteView) -> String {
    match &view.spec.path {
        RoutePath::Exact(path) => path.clone(),
        RoutePath::Prefix { path, .. } => format!("{}/*", path.trim_end_matches('/')),
    }
}

fn leads(view: &RouteView) -> String {
    shares(&view.spec.targets)
}

/// Functions with their shares, for people.
pub(crate) fn shares(targets: &[Target]) -> String {
    join(targets.iter().map(|target| {
        let percent = f64::from(target.weight) / f64::from(FULL_WEIGHT) * 100.0;
        if target.weight == FULL_WEIGHT {
            target.function.to_string()
        } else {
            format!("{} {percent}%", target.function)
        }
    }))
}

fn table(routes: &[RouteView], _: Format) -> Table {
    let mut table = Table::new(["NAME", "METHODS", "PATH", "FUNCTION", "HOST"]);
    for view in routes {
        table.row([
            view.name.to_string(),
            methods(view),
            path(view),
            leads(view),
            view.spec.host.clone().unwrap_or_default(),
        ]);
    }
    table
}

fn details(view: &RouteView) -> Details {
    let keep = matches!(view.spec.path, RoutePath::Prefix { keep: true, .. });
    let sticky = view.spec.sticky.as_ref().map(|sticky| match sticky {
        Sticky::Header(name) => format!("header {name}"),
        Sticky::Cookie(name) => format!("cookie {name}"),
        Sticky::Address => "address".to_owned(),
    });
    let origins = view.spec.cors.as_ref().map(|cors| join(&cors.allow_origins));
    Details::default()
        .line("Name", &view.name)
        .line("App", &view.app)
        .line("Version", view.version.number)
        .line("Host", view.spec.host.as_deref().unwrap_or_default())
        .line("Methods", methods(view))
        .line("Path", path(view))
        .line("Keeps prefix", if keep { "yes" } else { "" })
        .line("Function", leads(view))
        .line("Sticky", sticky.unwrap_or_default())
        .line("Other sites", origins.unwrap_or_default())
        .line("Revision", view.revision)
}
