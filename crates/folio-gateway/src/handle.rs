//! One request: which route it means, which version answers, and what the client hears. Everything about it is
//! decided once, from one table and one meaning, before the function is called.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arc_swap::ArcSwap;
use folio_core::invoke::Ran;
use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, CallError, Plan, RequestId};
use folio_core::{Folio, release};
use folio_model::Access;
use http::header::{AUTHORIZATION, CONNECTION, HOST, HeaderName, UPGRADE};
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use tracing::Instrument as _;

use crate::access::Record;
use crate::assets::{Asked, Caching};
use crate::body::{Breach, Download, upload};
use crate::choose::{Client, bearer};
use crate::headers::{
    FOLIO_CALLER, FORWARDED_FOR, FORWARDED_HOST, FORWARDED_PROTO, connection_words, is_too_large,
    settle_length, strip_request, strip_response,
};
use crate::kept::Called;
use crate::matcher::Meant;
use crate::named::{named_host, named_release};
use crate::problem::{Problem, accept};
use crate::seen::Seen;
use crate::served::View;
use crate::settings::Settings;
use crate::table::{Absent, Fallback, Named, Table};
use crate::wire::{Tunnel, Wire};
use crate::{cors, path, webhook};

/// What all requests share.
pub(crate) struct Gateway {
    pub(crate) folio: Folio,
    pub(crate) table: ArcSwap<Table>,
    pub(crate) settings: Settings,
    pub(crate) is_stopping: AtomicBool,
}

/// A request that found its route.
struct Admitted {
    view: View,
    parameters: Vec<(Arc<str>, String)>,
    taken: Option<usize>,
    host: HeaderValue,
    /// What the client wants to speak instead of HTTP.
    upgrade: Option<HeaderValue>,
}

/// What a request comes to.
enum Admission {
    /// A call of this version.
    Call(Arc<Plan>, Admitted),
    /// It only asks for leave to make another.
    Preflight,
    /// A static file.
    Asset(Box<Asked>),
    /// It means a release that cannot be reached.
    Absent(Absent),
}

/// What is to be done for an answer.
#[expect(clippy::large_enum_variant, reason = "it is looked at once, where it was made")]
enum Step {
    /// Nothing more.
    Answer(Response<Body>),
    /// A static file.
    Asset(Box<Asked>),
    /// A call.
    Call(Ready),
    /// The core has to say why a release cannot be reached.
    Absent { absent: Absent, live: String },
    /// A call of a webhook.
    Webhook(webhook::Call),
}

/// A request that is ready to be passed on.
struct Ready {
    plan: Arc<Plan>,
    call: Call,
    breach: Option<Arc<Breach>>,
    client: Option<OnUpgrade>,
    is_head: bool,
    /// What the client shows to be let in, where the function is not open to everybody.
    credentials: Option<HeaderValue>,
}

impl Gateway {
    /// Answers a request, whatever happens. Everything before the call is done at once and not in the future,
    /// which would have room for all of it and which hyper moves.
    pub(crate) fn answer<'a>(
        &'a self,
        wire: &'a Arc<Wire>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Download>> + 'a {
        self.settings.totals.request();
        let (parts, body) = request.into_parts();
        let (id, version) = (RequestId(rand::random()), parts.version);
        let mut record = Record::begin(id, wire.begin(), self.settings.access_log, &parts);
        let accept = accept(&parts.headers);
        let mut seen = Seen::new(id);
        let step = self.prepare(wire, (parts, body), &mut seen);
        async move {
            let answer = match step {
                Ok(Step::Answer(response)) => Ok(response),
                Ok(Step::Asset(asked)) => asked.answer(&self.folio).await,
                Ok(Step::Call(ready)) => {
                    let ready = match ready.plan.access {
                        Access::Public => Ok(ready),
                        Access::Token | Access::Internal => self.let_in(ready).await,
                    };
                    self.pass(wire, ready, &mut seen).await
                }
                Ok(Step::Absent { absent, live }) => Err(self.absent(&absent, &live).await),
                Ok(Step::Webhook(call)) => call.accept(&self.folio).await,
                Err(problem) => Err(problem),
            };
            let mut response = answer.unwrap_or_else(|problem| {
                if seen.version.is_none() {
                    self.settings.totals.refused();
                }
                record.problem(&problem);
                problem.to_response(id, accept.as_ref())
            });
            if let Some(Fallback::Absent(absent)) = &seen.fallback {
                seen.fallback = Some(Fallback::Told(self.left_behind(absent).await));
            }
            record.answered(response.status(), seen.version.as_ref());
            seen.count(response.status());
            seen.mark(wire, response.headers_mut());
            response.map(|body| Download::new(body, record, version))
        }
    }

    /// Does everything before the call.
    fn prepare(
        &self,
        wire: &Wire,
        (mut parts, body): (Parts, Incoming),
        seen: &mut Seen,
    ) -> Result<Step, Problem> {
        // Where the gate does not count headers.
        if parts.version == Version::HTTP_2 && is_too_large(&parts, &self.settings.limits) {
            return Err(Problem::head_too_large());
        }
        if let Some(id) = webhook::named(&parts) {
            let (body, _) = upload(body, &self.settings.limits)?;
            return Ok(Step::Webhook(webhook::Call::new(id, parts, body)));
        }
        let (plan, mut admitted) = match self.admit(wire, &parts, seen)? {
            Admission::Call(plan, admitted) => (plan, admitted),
            Admission::Preflight => {
                let wanted = cors::preflight_method(&parts.method, &parts.headers);
                let answer = preflight(seen, &parts.headers, &wanted.unwrap_or(Method::GET));
                return Ok(Step::Answer(answer));
            }
            Admission::Asset(asked) => return Ok(Step::Asset(asked)),
            Admission::Absent(absent) => {
                let live = self.live_address(wire, &parts, &absent);
                return Ok(Step::Absent { absent, live });
            }
        };
        let is_head = parts.method == Method::HEAD;
        let (body, breach) = upload(body, &self.settings.limits)?;
        let (client, upgrade) = take_upgrade(&mut parts, &plan)?.unzip();
        admitted.upgrade = upgrade;
        let credentials = match plan.access {
            Access::Public => None,
            Access::Token | Access::Internal => parts.headers.remove(AUTHORIZATION),
        };
        let mut call = make_call(wire, seen.id, (parts, body), admitted);
        call.release = seen.release.as_ref().map(|release| Arc::clone(release.shown()));
        Ok(Step::Call(Ready { plan, call, breach, client, is_head, credentials }))
    }

    /// Passes a request on, and waits until its answer begins.
    async fn pass(
        &self,
        wire: &Arc<Wire>,
        ready: Result<Ready, Problem>,
        seen: &mut Seen,
    ) -> Result<Response<Body>, Problem> {
        let Ready { plan, call, breach, client, is_head, .. } = ready?;
        let Ran { answer, took } = self.call(&plan, call, seen).await;
        seen.took = Some(took);
        let answer = answer.map_err(|error| Problem::call(&error));
        seen.keep_plan(plan);
        match breach.and_then(|breach| breach.problem(&self.settings.limits)) {
            Some(problem) => Err(problem),
            None => answer.and_then(|answer| finish(wire, answer, client, is_head)),
        }
    }

    /// Asks the core whether the client may call the function, which is then told who calls and not with what token.
    async fn let_in(&self, mut ready: Ready) -> Result<Ready, Problem> {
        let shown = ready.credentials.take();
        let token = shown.as_ref().and_then(|value| bearer(value.to_str().ok()?));
        let actor =
            self.folio.let_in(&ready.plan, token).await.map_err(|e| Problem::refused(&e))?;
        if let Some(actor) = actor.and_then(|actor| HeaderValue::from_str(actor.as_str()).ok()) {
            ready.call.request.headers_mut().insert(FOLIO_CALLER, actor);
        }
        Ok(ready)
    }

    /// Passes a request to the version that answers.
    fn call<'a>(
        &'a self,
        plan: &'a Arc<Plan>,
        call: Call,
        seen: &Seen,
    ) -> impl Future<Output = Ran> + use<'a> {
        let span = tracing::debug_span!(
            "request", request.id = %seen.id, function.name = %plan.function, function.version = %plan.at
        );
        let answer = self.folio.run(plan, call, seen.came);
        async move {
            match span.is_disabled() {
                true => answer.await,
                false => answer.instrument(span).await,
            }
        }
    }

    /// Why a release cannot be reached.
    async fn absent(&self, absent: &Absent, live: &str) -> Problem {
        let (Ok(app), Ok(at)) = (absent.app.parse(), absent.release.parse()) else {
            return Problem::no_release();
        };
        match self.folio.reach_release(&app, &at).await {
            // It was made just now.
            Ok(_) => Problem::no_release(),
            Err(error) => Problem::absent(&error, live),
        }
    }

    /// Why a client cannot stay with a release, in a word.
    async fn left_behind(&self, absent: &Absent) -> &'static str {
        let (Ok(app), Ok(at)) = (absent.app.parse(), absent.release.parse()) else {
            return "unknown";
        };
        match self.folio.reach_release(&app, &at).await {
            Err(release::Error::Expired { .. }) => "expired",
            Err(release::Error::Deleted { .. }) => "deleted",
            _ => "unknown",
        }
    }

    /// Where the app of a release that cannot be reached can be.
    fn live_address(&self, wire: &Wire, parts: &Parts, absent: &Absent) -> String {
        let table = self.table.load();
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let port = host.rsplit_once(':').map(|(_, port)| format!(":{port}")).unwrap_or_default();
        let proto = if wire.is_tls { "https" } else { "http" };
        format!("{proto}://{}.{}{port}/", absent.app, table.domain())
    }

    /// Finds the release, the route and the version that answer.
    fn admit(&self, wire: &Wire, parts: &Parts, seen: &mut Seen) -> Result<Admission, Problem> {
        let (host, named) = named_host(parts)?;
        if let Some(server_name) = wire.server_name.as_deref()
            && host.name() != Some(server_name)
        {
            return Err(Problem::misdirected());
        }
        if parts.method == Method::CONNECT {
            return Err(Problem::bad("a connection is not opened to elsewhere"));
        }
        let decoded = path::check(parts.uri.path())?;
        let table = self.table.load();
        let release = named_release(&parts.headers)?;
        let client = Client { wire, headers: &parts.headers };
        if let Some(wanted) = cors::preflight_method(&parts.method, &parts.headers)
            && let Ok(mut aim) = table.find((&host, release), (&decoded, &wanted), &client)
            && let Meant::Route(found) = &aim.meant
            && found.value.cors.is_some()
        {
            seen.meet(found.value, &parts.headers);
            seen.reach(wire, &mut aim);
            return Ok(Admission::Preflight);
        }
        let mut aim = match table.find((&host, release), (&decoded, &parts.method), &client) {
            Ok(aim) => aim,
            Err(absent) => return Ok(Admission::Absent(absent)),
        };
        seen.reach(wire, &mut aim);
        if aim.release.is_some_and(|release| !release.shown.is_readable) {
            return Err(Problem::unreadable("the release"));
        }
        if let Some((hit, status)) = aim.file {
            let asked = Asked::new(hit, (&parts.method, &parts.uri, &parts.headers));
            let caching = match aim.named {
                Named::Id => Caching::Forever,
                Named::Header => Caching::Private,
                Named::Live if aim.varies => Caching::Own,
                Named::Live | Named::Name => Caching::AsSaid,
            };
            return Ok(Admission::Asset(Box::new(Asked { status, caching, ..asked })));
        }
        match aim.meant {
            Meant::Route(found) => {
                seen.meet(found.value, &parts.headers);
                if found.broken {
                    return Err(Problem::broken_route());
                }
                let kept = seen.release.as_mut().and_then(|release| release.take_plan());
                let (Called { plan, version }, cookie) = client.choose(found.value, kept)?;
                seen.cookie = cookie;
                seen.version = Some(version);
                let own = |(name, value): (&Arc<str>, &str)| (Arc::clone(name), value.to_owned());
                let admitted = Admitted {
                    view: found.value.view,
                    parameters: found.parameters.into_iter().map(own).collect(),
                    taken: found.taken,
                    host: named,
                    upgrade: None,
                };
                Ok(Admission::Call(plan, admitted))
            }
            Meant::Methods(methods) => Err(Problem::other_methods(methods)),
            Meant::NoRoute => Err(Problem::no_route()),
            Meant::NoLive => Err(Problem::no_live()),
            Meant::NoHost => Err(Problem::no_host()),
        }
    }
}

fn preflight(seen: &Seen, request: &HeaderMap, wanted: &Method) -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::NO_CONTENT;
    if let Some(cors) = seen.cors.as_ref().and_then(|route| route.cors.as_ref()) {
        cors.preflight(request, wanted, response.headers_mut());
    }
    response
}

/// The client's end of the connection, if it wants to speak something else and the function may be able to.
fn take_upgrade(
    parts: &mut Parts,
    plan: &Plan,
) -> Result<Option<(OnUpgrade, HeaderValue)>, Problem> {
    let Some(wanted) = parts.headers.get(UPGRADE) else { return Ok(None) };
    let asked = connection_words(&parts.headers).any(|word| word.eq_ignore_ascii_case("upgrade"));
    // Another version of HTTP is offered, not needed.
    if !asked || wanted.as_bytes().eq_ignore_ascii_case(b"h2c") {
        return Ok(None);
    }
    if plan.is_served() {
        let client = parts.extensions.remove::<OnUpgrade>();
        return Ok(client.map(|client| (client, wanted.clone())));
    }
    match wanted.as_bytes().eq_ignore_ascii_case(b"websocket") {
        true => Err(Problem::no_upgrade()),
        false => Ok(None),
    }
}

/// The request as the function sees it.
fn make_call(
    wire: &Wire,
    id: RequestId,
    (mut parts, body): (Parts, Body),
    admitted: Admitted,
) -> Call {
    let headers = &mut parts.headers;
    strip_request(headers);
    if let Some(upgrade) = admitted.upgrade {
        headers.insert(UPGRADE, upgrade);
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    }
    headers.insert(FORWARDED_FOR, wire.forwarded_for.clone());
    let proto = if wire.is_tls { "https" } else { "http" };
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static(proto));
    if parts.version >= Version::HTTP_2 {
        headers.insert(HOST, admitted.host.clone());
    }
    headers.insert(FORWARDED_HOST, admitted.host);
    for (name, value) in &admitted.parameters {
        add_parameter(headers, name, value);
    }
    let (uri, original) = path::target(&parts.uri, admitted.view, admitted.taken);
    parts.uri = uri;
    // What hyper says of the client's connection is not the function's.
    parts.version = Version::default();
    parts.extensions = Extensions::new();
    let request = Request::from_parts(parts, body);
    Call { id, request, parameters: admitted.parameters, original, hops: 0, release: None }
}

/// Adds a parameter as Fission does. What no header can hold keeps its escapes.
fn add_parameter(headers: &mut HeaderMap, name: &str, value: &str) {
    let name = HeaderName::from_bytes(format!("x-fission-params-{name}").as_bytes());
    let plain = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let text = match plain {
        true => Cow::Borrowed(value),
        false => {
            percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC).into()
        }
    };
    if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&text)) {
        headers.insert(name, value);
    }
}

/// The function's answer as the client hears it.
fn finish(
    wire: &Wire,
    mut response: Response<Body>,
    client: Option<OnUpgrade>,
    is_head: bool,
) -> Result<Response<Body>, Problem> {
    let status = response.status();
    if status == StatusCode::SWITCHING_PROTOCOLS {
        let function = response.extensions_mut().remove::<OnUpgrade>();
        let (Some(client), Some(function)) = (client, function) else {
            let why = "it switches protocols without being asked to".to_owned();
            return Err(Problem::call(&CallError::Garbled(why)));
        };
        let upgrade = response.headers().get(UPGRADE).cloned();
        strip_response(response.headers_mut());
        if let Some(upgrade) = upgrade {
            response.headers_mut().insert(UPGRADE, upgrade);
        }
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        wire.open_tunnel(Tunnel { client, function });
        return Ok(response);
    }
    if status.is_informational() {
        let why = format!("{status} is not an answer");
        return Err(Problem::call(&CallError::Garbled(why)));
    }
    let body = response.body();
    let is_known = match http_body::Body::is_end_stream(body) {
        // Only a length tells what was left out.
        true => !is_head && status != StatusCode::NOT_MODIFIED,
        false => http_body::Body::size_hint(body).exact().is_some(),
    };
    strip_response(response.headers_mut());
    settle_length(response.headers_mut(), is_known);
    Ok(response)
}
