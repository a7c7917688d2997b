//! The control API, seen from outside. Every mutation carries a fresh key, so that asking again after a lost
//! connection does it once. Turns every refusal into a [`Problem`].

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::{Bytes, BytesMut};
use folio_core::release::{Released, Remark};
use folio_model::{Git, ReleaseId};
use futures::stream::try_unfold;
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

use crate::config::Access;
use crate::http;
use crate::output::{self, Progress};
use crate::problem::{Cause, Problem, Referrer};

/// How long to wait for a connection, and for the next byte. Unpacking a large archive takes its time.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
const READ_WAIT: Duration = Duration::from_secs(300);

/// How much of a file is read at once to be sent.
const PIECE_BYTES: usize = 64 * 1024;

/// One server and who we are to it.
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<String>,
    wishes: Wishes,
}

/// What is said with every change.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// Why.
    pub(crate) reason: Option<String>,
    /// What becomes of the app version it makes, in the API's word.
    pub(crate) releasing: Option<String>,
}

/// A change to ask for.
#[derive(Debug)]
pub(crate) struct Change {
    method: Method,
    body: Option<serde_json::Value>,
    query: Vec<(&'static str, String)>,
    expect: Option<u64>,
    git: Option<Git>,
}

/// A page of a list.
#[derive(Debug, Deserialize)]
pub(crate) struct Items<T> {
    /// What is on it.
    pub(crate) items: Vec<T>,
    /// Where the next one starts.
    pub(crate) next: Option<u64>,
}

impl Change {
    /// A change without a body.
    pub(crate) fn new(method: Method) -> Self {
        Self { method, body: None, query: Vec::new(), expect: None, git: None }
    }

    /// With a body.
    pub(crate) fn body(self, body: &impl Serialize) -> Result<Self> {
        Ok(Self { body: Some(serde_json::to_value(body)?), ..self })
    }

    /// With a word in the query.
    pub(crate) fn query(mut self, name: &'static str, value: impl ToString) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    /// From files that stand here in git.
    pub(crate) fn git(self, git: Option<Git>) -> Self {
        Self { git, ..self }
    }

    /// Only if the revision is still this one.
    pub(crate) fn expect(self, expect: Option<u64>) -> Self {
        Self { expect, ..self }
    }
}

impl Client {
    /// A client of the server at an address.
    pub(crate) fn new(url: &str, access: &Access, wishes: Wishes) -> Result<Self> {
        let http = match url.starts_with("https://") {
            true => http::trusting(access.ca.as_deref(), access.trusts_others)?,
            false => http::plain(),
        };
        let http = http
            .connect_timeout(CONNECT_WAIT)
            .read_timeout(READ_WAIT)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .context("cannot set up HTTP")?;
        let base = Url::parse(url).ok().filter(|url| url.has_host());
        let base = base.filter(|url| matches!(url.scheme(), "http" | "https"));
        let base = base.ok_or_else(|| {
            let problem = Problem::usage(format!("`{url}` is not the address of a folio server"));
            problem.hint("write it like `http://127.0.0.1:7070`")
        })?;
        Ok(Self { http, base, token: access.token.clone(), wishes })
    }

    /// Has everything that is changed from now on released aside, under a tag.
    pub(crate) fn release_aside(&mut self, tag: &ReleaseId) {
        self.wishes.releasing = Some(format!("aside {tag}"));
    }

    /// The server's address, without a slash at its end.
    pub(crate) fn server(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Reads something.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<T> {
        self.answer(self.request(Method::GET, path, query)).await
    }

    /// Reads something that is not JSON.
    pub(crate) async fn fetch(&self, path: &[&str], query: &[(&str, String)]) -> Result<Response> {
        self.send(self.request(Method::GET, path, query)).await
    }

    /// Reads a whole list, page by page.
    pub(crate) async fn pages<T: DeserializeOwned>(
        &self,
        path: &[&str],
        (cursor, limit): (&str, usize),
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        let mut place = None;
        loop {
            let mut query = vec![("limit", (limit - items.len()).min(1000).to_string())];
            query.extend(place.map(|place: u64| (cursor, place.to_string())));
            let page: Items<T> = self.get(path, &query).await?;
            let empty = page.items.is_empty();
            items.extend(page.items);
            place = page.next;
            if place.is_none() || empty || items.len() >= limit {
                return Ok(items);
            }
        }
    }

    /// Changes something. Asks once more if the connection breaks, which changes it once all the same.
    pub(crate) async fn change<T: DeserializeOwned>(
        &self,
        path: &[&str],
        change: Change,
    ) -> Result<T> {
        let mut request = self.request(change.method, path, &change.query);
        request = self.wishes.say(request, uuid::Uuid::new_v4());
        if let Some(body) = &change.body {
            request = request.json(body);
        }
        if let Some(revision) = change.expect {
            request = request.header("If-Match", format!("\"{revision}\""));
        }
        if let Some(git) = &change.git {
            request = request.header("Folio-Git", percent_encode(&serde_json::to_string(git)?));
        }
        let again = request.try_clone();
        let answer: Value = match (self.answer(request).await, again) {
            (Err(error), Some(again)) if is_lost(&error) => self.answer(again).await,
            (answer, _) => answer,
        }?;
        noticed(answer)
    }

    /// Sends a bundle, and again if the connection breaks.
    pub(crate) async fn send_bundle<T: DeserializeOwned>(
        &self,
        path: &[&str],
        file: &Path,
    ) -> Result<T> {
        let key = uuid::Uuid::new_v4();
        let context = || format!("cannot read `{}`", file.display());
        let bytes = tokio::fs::metadata(file).await.with_context(context)?.len();
        let progress = Progress::bytes("sending", Some(bytes));
        let send = async || {
            let opened = File::open(file).await.with_context(context)?;
            progress.reach(0);
            let request = self.wishes.say(self.request(Method::POST, path, &[]), key);
            let request = request.header("Content-Type", folio_api::BUNDLE_MEDIA_TYPE);
            self.answer(request.body(counted(opened, progress.clone()))).await
        };
        let answer: Value = match send().await {
            Err(error) if is_lost(&error) => send().await,
            answer => answer,
        }?;
        drop(progress);
        noticed(answer)
    }

    /// Asks something that changes nothing, with a body.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T> {
        self.answer(self.request(Method::POST, path, &[]).json(body)).await
    }

    /// Sends nodes, framed.
    pub(crate) async fn send_nodes<T: DeserializeOwned>(&self, frames: Bytes) -> Result<T> {
        let request = self.request(Method::POST, &["blobs"], &[]).body(frames);
        self.answer(request.header("Content-Type", folio_api::NODES_MEDIA_TYPE)).await
    }

    /// Calls a function. What the function answers is the answer, whatever its status; only what folio itself
    /// says in its place is a problem.
    pub(crate) async fn call(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response> {
        let request = self.request(Method::POST, path, query).headers(headers).body(body);
        let answer = request.send().await.map_err(|error| self.broken(&error))?;
        let is_functions = answer.headers().contains_key("Folio-Version");
        if is_functions { Ok(answer) } else { Err(refusal(answer).await) }
    }

    fn request(&self, method: Method, path: &[&str], query: &[(&str, String)]) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["folio", "v1"]).extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.http.request(method, url);
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn answer<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T> {
        let answer = self.send(request).await?;
        let body = answer.bytes().await.map_err(|error| self.broken(&error))?;
        serde_json::from_slice(&body).with_context(|| {
            let problem = Problem::new("the server's answer cannot be understood");
            problem.hint("is it a folio of the same version?")
        })
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let answer = request.send().await.map_err(|error| self.broken(&error))?;
        if answer.status().is_success() { Ok(answer) } else { Err(refusal(answer).await) }
    }

    fn broken(&self, error: &reqwest::Error) -> anyhow::Error {
        let base = self.base.as_str().trim_end_matches('/');
        let problem = if let Some(refused) = tls(error) {
            distrusted(base, refused)
        } else if error.is_connect() {
            let problem = Problem::new(format!("cannot reach a folio server at {base}"));
            problem.hint("start one with `folio serve`, or name another with FOLIO_URL or --server")
        } else {
            Problem::new(format!("the connection to {base} broke"))
        };
        // What lies between is how the HTTP library is built; the last word says what happened.
        let causes = std::iter::successors(Some(error as &dyn Error), |&cause| cause.source());
        let cause = causes.last().map(ToString::to_string).unwrap_or_default();
        anyhow::Error::new(Broken { cause, arrived: !error.is_connect() }).context(problem)
    }
}

/// A file as the body of a request, piece by piece.
fn counted(file: File, progress: Progress) -> reqwest::Body {
    let pieces = try_unfold((file, progress), |(mut file, progress)| async move {
        let mut piece = BytesMut::with_capacity(PIECE_BYTES);
        let bytes = file.read_buf(&mut piece).await?;
        progress.add(bytes as u64);
        Ok::<_, std::io::Error>((bytes > 0).then(|| (piece.freeze(), (file, progress))))
    });
    reqwest::Body::wrap_stream(pieces)
}

/// What went wrong with encryption, if that is what went wrong.
fn tls<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut causes = std::iter::successors(Some(error), |&cause| cause.source());
    causes.find_map(|cause| {
        // What an error of the system holds is not among its causes.
        let held = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        cause.downcast_ref().or_else(|| tls(held?))
    })
}

/// What to do about a server that speaks no TLS, or shows a certificate that is not trusted.
fn distrusted(base: &str, error: &rustls::Error) -> Problem {
    match error {
        rustls::Error::InvalidCertificate(_) => {
            let problem = Problem::new(format!("the certificate of {base} is not trusted here"));
            problem.hint("name the server's authority with --ca FILE or FOLIO_CA: it is `ca.crt` in its data directory")
        }
        _ => {
            let problem = Problem::new(format!("{base} does not speak TLS as it should"));
            problem.hint("is it a plain port? then write the address with http://")
        }
    }
}

/// What is said of an answer that is not what this program knows.
const NOT_UNDERSTOOD: &str = "the server's answer cannot be understood";

impl Wishes {
    /// Says them with a request that changes something.
    fn say(&self, request: RequestBuilder, key: uuid::Uuid) -> RequestBuilder {
        let mut request = request.header("Idempotency-Key", key.to_string());
        if let Some(reason) = &self.reason {
            request = request.header("Folio-Reason", percent_encode(reason));
        }
        if let Some(releasing) = &self.releasing {
            request = request.header("Folio-Releasing", releasing);
        }
        request
    }
}

/// Reads the answer to a change, and says what its release did.
fn noticed<T: DeserializeOwned>(answer: Value) -> Result<T> {
    if let Some(released) = answer.get("release").filter(|released| released.is_object()) {
        notice(&serde_json::from_value(released.clone()).context(NOT_UNDERSTOOD)?);
    }
    serde_json::from_value(answer).context(NOT_UNDERSTOOD)
}

/// Says what a release did that its author may not expect.
fn notice(released: &Released) {
    for Remark { text, hint } in released.remarks() {
        output::talk(&text);
        if let Some(hint) = hint {
            output::talk(&format!("hint: {hint}"));
        }
    }
}

/// A connection that broke.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
struct Broken {
    cause: String,
    /// Whether the request may have arrived all the same.
    arrived: bool,
}

/// Whether nobody knows if a request arrived.
pub(crate) fn is_lost(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Broken>().is_some_and(|broken| broken.arrived)
}

/// Whether the server lacks something that was named.
pub(crate) fn is_missing(error: &anyhow::Error) -> bool {
    let problem = error.downcast_ref::<Problem>();
    problem.is_some_and(|problem| problem.code.as_deref() == Some("missing_blob"))
}

/// Whether what was named has no version that is built.
pub(crate) fn is_unbuilt(error: &anyhow::Error) -> bool {
    let problem = error.downcast_ref::<Problem>();
    let code = problem.and_then(|problem| problem.code.as_deref());
    matches!(code, Some("build_pending" | "build_failed"))
}

/// Whether the server does not remember manifests that were named.
pub(crate) fn is_forgotten(error: &anyhow::Error) -> bool {
    let problem = error.downcast_ref::<Problem>();
    problem.is_some_and(|problem| problem.code.as_deref() == Some("documents_unknown"))
}

/// What a server found wrong with manifests, one by one; nothing if it refused them for another reason.
pub(crate) fn wrong(error: &anyhow::Error) -> Vec<Cause> {
    let Some(problem) = error.downcast_ref::<Problem>() else { return Vec::new() };
    let mut causes = problem.causes.clone();
    if problem.code.as_deref() == Some("owned_by_another") {
        for cause in &mut causes {
            cause.what.push_str("; rename it, or take it over with --allowconflicts");
        }
    }
    causes
}

/// Whether a release that was named is not there, or no longer.
pub(crate) fn is_unreleased(error: &anyhow::Error) -> bool {
    let problem = error.downcast_ref::<Problem>();
    let code = problem.and_then(|problem| problem.code.as_deref());
    matches!(code, Some("release_not_found" | "release_deleted" | "release_expired"))
}

/// Whether what was named is not there.
pub(crate) fn is_absent(error: &anyhow::Error) -> bool {
    let problem = error.downcast_ref::<Problem>();
    let code = problem.and_then(|problem| problem.code.as_deref());
    matches!(code, Some("unit_not_found" | "environment_not_found"))
}

#[derive(Deserialize)]
struct Refused {
    error: Refusal,
}

#[derive(Deserialize)]
struct Refusal {
    code: String,
    message: String,
    hint: Option<String>,
    #[serde(default)]
    referrers: Vec<Referrer>,
    #[serde(default)]
    causes: Vec<Cause>,
}

async fn refusal(answer: Response) -> anyhow::Error {
    let status = answer.status();
    let body = answer.bytes().await.unwrap_or_default();
    match serde_json::from_slice::<Refused>(&body) {
        Ok(Refused { error }) => {
            let mut problem =
                Problem::new(error.message).referrers(error.referrers).causes(error.causes);
            problem.hint = error.hint;
            problem.code = Some(error.code);
            problem.into()
        }
        Err(_) => {
            let problem = Problem::new(format!("the server answered {status}"));
            problem.hint("is this the control port of a folio server?").into()
        }
    }
}

/// Header values are ASCII: everything else is written as `%XX`.
fn percent_encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encode = |byte: u8| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
pub(crate) mod tests;
