//! The runtime: starts code and passes requests to it. The only port behind which a user's code runs.
//!
//! A [`Plan`] is everything that decides how one version runs; it is made once and never changes, so whoever
//! holds one needs no lookup. A request that was admitted to a plan finishes on it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use folio_model::{
    Access, AppName, Content, Digest, EnvironmentSpec, Name, Number, Reference, RuntimeKind,
    Timestamp, UnitUid, VersionId,
};
use futures::future::BoxFuture;

use super::Plaintext;
use super::body::Body;
use crate::logs::Logs;
use crate::measure::Meter;
use crate::serving::Shown;

/// Everything that decides how one function version, or a draft, runs.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The app it belongs to. No worker serves two.
    pub app: AppName,
    /// The function.
    pub function: Name,
    /// The function's identity.
    pub unit: UnitUid,
    /// Which state of the function.
    pub at: Stage,
    /// The digest of the function's snapshot: equal digests of one function behave alike.
    pub digest: Digest,
    /// The environment's name.
    pub environment: Name,
    /// The environment, as it was frozen.
    pub spec: EnvironmentSpec,
    /// The files to run.
    pub code: Content,
    /// What to call in them.
    pub entrypoint: Option<String>,
    /// Its environment variables, those of configs and secrets among them.
    pub variables: Variables,
    /// Files that it finds beside its code and cannot change: configs and secrets.
    pub files: Vec<PlanFile>,
    /// Who may call it through the gateway.
    pub access: Access,
    /// How much of everything it gets.
    pub limits: RunLimits,
    /// What it did so far.
    pub meter: Arc<Meter>,
}

/// What the entry point of a package with a server of its own begins with.
const SERVE: &str = "serve:";

impl Plan {
    /// The command of a package that brings a server of its own, which stays.
    pub fn own_server(&self) -> Option<&str> {
        let command = self.entrypoint.as_deref()?.strip_prefix(SERVE)?;
        (self.spec.runtime == RuntimeKind::Binary).then_some(command)
    }

    /// Whether a server that stays answers, the environment's or its own. Such a server may take over a connection.
    pub fn is_served(&self) -> bool {
        self.spec.runtime == RuntimeKind::Command || self.own_server().is_some()
    }
}

/// Environment variables. Some may be secrets, so none is shown, and all are wiped when they go.
#[derive(Clone, PartialEq, Eq, Default, serde::Serialize)]
#[serde(transparent)]
pub struct Variables(BTreeMap<String, String>);

impl std::ops::Deref for Variables {
    type Target = BTreeMap<String, String>;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl std::ops::DerefMut for Variables {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Drop for Variables {
    fn drop(&mut self) {
        self.0.values_mut().for_each(zeroize::Zeroize::zeroize);
    }
}

/// A file that code finds, and what is in it. Shows only where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFile {
    /// Where code finds it.
    pub path: PathBuf,
    /// What is in it.
    pub bytes: Plaintext,
}

/// Which state of a function a plan runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Stage {
    /// A version.
    Version(Number, VersionId),
    /// The draft that had this plan's digest.
    Draft,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(_, id) => id.fmt(f),
            Self::Draft => f.write_str("draft"),
        }
    }
}

/// How much of everything a version's workers get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// How long one request may take, until its answer begins and between two pieces of it.
    pub timeout: Duration,
    /// Memory of one worker.
    pub memory_bytes: u64,
    /// Processor time of one worker in thousandths of a core; no limit if absent.
    pub cpu_millis: Option<u32>,
    /// Requests one worker has in hand at the same time.
    pub concurrency: u32,
    /// How long a worker without requests is kept.
    pub idle: Duration,
    /// Workers that are kept however idle.
    pub scale_min: u32,
    /// Workers at most.
    pub scale_max: u32,
    /// Requests one worker serves before it is replaced; no limit if absent.
    pub requests_per_worker: Option<u32>,
}

/// One request on its way to a function.
#[derive(Debug)]
pub struct Call {
    /// Names the request in logs, answers and errors.
    pub id: RequestId,
    /// The request as the function sees it.
    pub request: http::Request<Body>,
    /// What the path's placeholders matched.
    pub parameters: Vec<(Arc<str>, String)>,
    /// The path and query the client asked for, where the function sees another.
    pub original: Option<http::uri::PathAndQuery>,
    /// How many functions called one another to get here.
    pub hops: u32,
    /// The release that the request was admitted to: what functions call from here on is of the same.
    pub release: Option<Arc<Shown>>,
}

/// Names one request, end to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(pub u128);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Why a function gave no answer. Each has its status at the gateway and a page in `docs/errors`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The code could not be loaded: no such entry point, a syntax error, not a component.
    #[error("the code could not be loaded: {0}")]
    Load(String),
    /// The code cannot be read back from the store.
    #[error("the code cannot be read: {0}")]
    Damaged(String),
    /// The function raised an error. What it said is in its log, not in the answer.
    #[error("the function failed")]
    Failed,
    /// No answer in time; the worker was ended where it does not react.
    #[error("the function did not answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The worker died with this request in hand.
    #[error("the function's worker ended: {0}")]
    Crashed(String),
    /// The worker's answer is not one.
    #[error("the function's answer makes no sense: {0}")]
    Garbled(String),
    /// All workers are busy and the queue is full.
    #[error("all workers of the function are busy")]
    Busy,
    /// The server has no place for another worker.
    #[error("the server has no place for another worker")]
    Full,
    /// Functions called one another too often.
    #[error("functions called one another {0} times to answer one request")]
    Loop(u32),
    /// The host lacks what the environment needs.
    #[error("the environment cannot run here: {0}")]
    Unavailable(String),
    /// The client's body ended early or broke a limit; the function's answer no longer matters.
    #[error("the request's body broke off: {0}")]
    Body(String),
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
}

/// Source to be built.
#[derive(Debug, Clone)]
pub struct BuildOrder {
    /// What the result is kept under.
    pub key: Digest,
    /// The app it is built for.
    pub app: AppName,
    /// The environment that builds it.
    pub spec: EnvironmentSpec,
    /// What to build.
    pub source: Content,
    /// How; the environment's builder if absent.
    pub command: Option<String>,
}

/// What a build made.
#[derive(Debug)]
pub struct Built {
    /// A directory with the result, which whoever holds this may read and move, and which goes with it.
    pub directory: BuiltDirectory,
}

/// A directory that is removed when it is dropped.
#[derive(Debug)]
pub struct BuiltDirectory(pub PathBuf);

impl Drop for BuiltDirectory {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "Could not remove a build's directory");
        }
    }
}

/// Why a build made nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The build itself says no; the same source would fail again.
    #[error("{0}")]
    Failed(String),
    /// The host could not run it; it may work later.
    #[error("the build could not run: {0}")]
    Unavailable(String),
}

/// What a runtime is doing.
#[derive(
    Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeStatus {
    /// What the host can and cannot enforce.
    pub enforcement: Vec<Enforcement>,
    /// The workers there are.
    pub workers: Vec<WorkerStatus>,
    /// Requests that found a worker waiting.
    pub warm_starts: u64,
    /// Requests that had to wait for a worker to be made.
    pub cold_starts: u64,
    /// Requests that were refused for lack of room.
    pub refused_starts: u64,
}

/// One protection, and whether this host gives it.
#[derive(
    Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct Enforcement {
    /// Which: `user namespace`, `landlock`, `memory limit`.
    pub name: String,
    /// Whether it is in force.
    pub enforced: bool,
    /// How, or why not.
    pub detail: String,
}

/// One worker, or the instances of one wasm version.
#[derive(
    Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct WorkerStatus {
    /// The environment.
    pub environment: Name,
    /// The app and function it serves; generic if absent.
    pub app: Option<AppName>,
    /// The function.
    pub function: Option<Name>,
    /// The version's id, or `draft`.
    pub version: Option<String>,
    /// Its process, if it is one.
    pub pid: Option<u32>,
    /// When it was started.
    pub started_at: Timestamp,
    /// Requests in hand.
    pub busy: u32,
    /// Requests served.
    pub served: u64,
    /// Memory it holds.
    pub memory_bytes: u64,
}

/// Starts code and passes requests to it.
///
/// Every method may run at the same time as any other. A crash or a hang of one worker fails only the requests
/// it had in hand.
#[async_trait]
pub trait Runtime: Send + Sync + 'static {
    /// Passes a request to a worker of the plan's version, waiting for one if need be, and returns when the
    /// answer begins. The body streams; dropping it tells the worker to stop.
    async fn call(&self, plan: &Arc<Plan>, call: Call) -> Result<http::Response<Body>, CallError>;

    /// Does what can be done ahead of the first request: files on disk, wasm compiled, `scale_min` workers.
    async fn prepare(&self, plan: &Arc<Plan>) -> Result<(), CallError>;

    /// Says that a version lost its last pointer: its workers finish what they have and are kept warm for a
    /// window, so that going back is not a cold start; then they go, however large `scale_min` is.
    fn retire(&self, plan: &Arc<Plan>);

    /// Makes more or fewer workers for a version than its requests ask for. What is idle goes again as always. One
    /// that keeps no workers has nothing to do.
    fn scale(&self, _plan: &Arc<Plan>, _scale: Scale) {}

    /// Builds source in a jail. What it prints goes to `log` as it comes.
    async fn build(&self, order: BuildOrder, log: BuildLog) -> Result<Built, BuildError>;

    /// What it is doing.
    fn status(&self) -> RuntimeStatus;

    /// Finishes what is in hand, within the time given, and ends every worker.
    async fn stop(&self, grace: Duration);
}

/// A wish for more or fewer workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// So many more, as far as the version's scale allows.
    Up(u32),
    /// So many fewer, of those that do nothing; one stays.
    Down(u32),
    /// None: each goes when it has finished.
    Away,
}

/// Where a build's output goes, piece by piece.
pub type BuildLog = tokio::sync::mpsc::Sender<bytes::Bytes>;

/// What every runtime is given.
#[derive(Clone)]
pub struct RuntimePorts {
    /// Where code comes from.
    pub blobs: Arc<dyn super::Blobs>,
    /// Where functions' output goes.
    pub logs: Arc<Logs>,
    /// How functions call one another. Set once by whoever makes both the runtime and the verbs; until then
    /// such calls are refused.
    pub invoke: Arc<OnceLock<Invoke>>,
}

/// Passes a call of one function to another: who asks, whom they mean, and the call, its hops already counted.
pub type Invoke = Arc<
    dyn Fn(
            Arc<Plan>,
            Reference,
            Call,
        ) -> BoxFuture<'static, Result<http::Response<Body>, CallError>>
        + Send
        + Sync,
>;
