//! Programs that a package brings: one process per request, in the manner of CGI.
//!
//! The request's body is standard input, its head is in variables (`REQUEST_METHOD`, `REQUEST_URI`, `HTTP_ACCEPT`
//! and so on), standard output is the answer and standard error goes to the log. Output that begins with a
//! `Status:` or `Content-Type:` line, further header lines and an empty line sets the answer's head; all other
//! output is the body as it is. An exit code other than 0 is a failure, if the answer has not begun by then: it
//! begins when the program ended, printed 64 KiB, or 50 ms after it printed first.
//! A package with a server that stays says `serve:NAME` as its entry point: see `command`.

pub(crate) mod cgi;
mod process;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use folio_core::ports::Body;
use folio_core::ports::runtime::WorkerStatus;
use folio_core::ports::runtime::{Call, CallError, Plan, RuntimePorts, RuntimeStatus, Stage};
use folio_model::{AppName, Digest, Timestamp, TreePath, UnitUid};
use http::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::code::{self, Code, CodeStore, Remover};
use crate::jail::Jail;

/// Requests that wait for each that runs.
const LINE_FACTOR: u32 = 4;
const LINE_MIN: u32 = 64;

/// Names that are taken for the program where nobody names one.
const USUAL: [&str; 3] = ["main", "bootstrap", "run"];

/// Runs one process per request.
pub struct BinaryRuntime {
    site: Arc<Site>,
    lanes: Mutex<Lanes>,
    refused: AtomicU64,
    stopping: std::sync::atomic::AtomicBool,
}

type Lanes = HashMap<(AppName, UnitUid, Stage, Digest), Arc<Lane>>;

/// Where processes are started, and with what.
struct Site {
    jail: Arc<Jail>,
    codes: Arc<CodeStore>,
    ports: RuntimePorts,
    rooms: PathBuf,
    remover: Remover,
}

/// The requests of one version.
struct Lane {
    plan: Arc<Plan>,
    places: Arc<Semaphore>,
    waiting: AtomicU32,
    busy: AtomicU32,
    served: AtomicU64,
    started_at: Timestamp,
    /// Holds the files while requests come.
    code: tokio::sync::OnceCell<Arc<Code>>,
    used: Mutex<Instant>,
}

impl BinaryRuntime {
    /// Takes `<run>/processes`, removing what an earlier process left there.
    pub fn new(
        run: &Path,
        jail: Arc<Jail>,
        codes: Arc<CodeStore>,
        ports: RuntimePorts,
    ) -> io::Result<Self> {
        let rooms = run.join("processes");
        code::remove(&rooms)?;
        std::fs::create_dir_all(&rooms)?;
        let site = Site { jail, codes, ports, rooms, remover: code::remover()? };
        let (lanes, refused) = (Mutex::default(), AtomicU64::new(0));
        Ok(Self { site: Arc::new(site), lanes, refused, stopping: false.into() })
    }

    /// Starts a process for a request and returns when its answer begins.
    pub async fn call(&self, plan: &Arc<Plan>, call: Call) -> Result<Response<Body>, CallError> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err(CallError::Stopping);
        }
        let lane = self.lane(plan);
        let code = lane.code.get_or_try_init(|| self.site.codes.open(&plan.code)).await?;
        let code = Arc::clone(code);
        let place = lane.enter().await.inspect_err(|error| {
            if *error == CallError::Busy {
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
        })?;
        process::answer(&self.site, &code, plan, call, place).await
    }

    /// Puts the code on disk and finds the program in it.
    pub async fn prepare(&self, plan: &Arc<Plan>) -> Result<(), CallError> {
        let lane = self.lane(plan);
        let code = lane.code.get_or_try_init(|| self.site.codes.open(&plan.code)).await?;
        executable(code, plan.entrypoint.as_deref()).map(drop)
    }

    /// What it is doing, without what the host can enforce.
    pub fn status(&self) -> RuntimeStatus {
        let status = |lane: &Arc<Lane>| WorkerStatus {
            environment: lane.plan.environment.clone(),
            app: Some(lane.plan.app.clone()),
            function: Some(lane.plan.function.clone()),
            version: Some(lane.plan.at.to_string()),
            pid: None,
            started_at: lane.started_at,
            busy: lane.busy.load(Ordering::Relaxed),
            served: lane.served.load(Ordering::Relaxed),
            memory_bytes: 0,
        };
        let lanes = self.lanes();
        let workers: Vec<_> = lanes.values().map(status).collect();
        let served = workers.iter().map(|worker| worker.served + u64::from(worker.busy)).sum();
        let refused_starts = self.refused.load(Ordering::Relaxed);
        RuntimeStatus { workers, cold_starts: served, refused_starts, ..RuntimeStatus::default() }
    }

    /// Takes no more requests and waits, within the time given, for those in hand.
    pub async fn stop(&self, grace: Duration) {
        self.stopping.store(true, Ordering::Relaxed);
        let lanes: Vec<_> = self.lanes().values().cloned().collect();
        for lane in &lanes {
            lane.places.close();
        }
        let deadline = Instant::now() + grace;
        let busy = |lane: &Arc<Lane>| lane.busy.load(Ordering::Relaxed) > 0;
        while lanes.iter().any(busy) && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn lane(&self, plan: &Arc<Plan>) -> Arc<Lane> {
        let key = (plan.app.clone(), plan.unit, plan.at.clone(), plan.digest);
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.get(&key) {
            lane.touch();
            return Arc::clone(lane);
        }
        // Whoever opens a new lane clears those that nobody uses; there is nothing else to end.
        lanes.retain(|_, lane| Arc::strong_count(lane) > 1 || !lane.is_idle());
        let lane = Arc::new(Lane::new(plan));
        lanes.insert(key, Arc::clone(&lane));
        lane
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().expect("no holder panics")
    }
}

impl Lane {
    fn new(plan: &Arc<Plan>) -> Self {
        Self {
            plan: Arc::clone(plan),
            places: Arc::new(Semaphore::new(plan.limits.scale_max.max(1) as usize)),
            waiting: AtomicU32::new(0),
            busy: AtomicU32::new(0),
            served: AtomicU64::new(0),
            started_at: Timestamp::now(),
            code: tokio::sync::OnceCell::new(),
            used: Mutex::new(Instant::now()),
        }
    }

    fn touch(&self) {
        *self.used.lock().expect("no holder panics") = Instant::now();
    }

    fn is_idle(&self) -> bool {
        let used = *self.used.lock().expect("no holder panics");
        Instant::now() > used + self.plan.limits.idle
    }

    /// Waits until another process may run.
    async fn enter(self: &Arc<Self>) -> Result<Place, CallError> {
        let max = self.plan.limits.scale_max.saturating_mul(LINE_FACTOR).max(LINE_MIN);
        let waiting = Waiting(self);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= max {
            return Err(CallError::Busy);
        }
        let permit = Arc::clone(&self.places).acquire_owned();
        let timeout = self.plan.limits.timeout;
        let permit = tokio::time::timeout(timeout, permit).await.map_err(|_| CallError::Busy)?;
        drop(waiting);
        let permit = permit.map_err(|_| CallError::Stopping)?;
        self.busy.fetch_add(1, Ordering::Relaxed);
        self.plan.meter.cold_start();
        Ok(Place { lane: Arc::clone(self), _permit: permit })
    }
}

/// A request in line, counted until it leaves the line.
struct Waiting<'a>(&'a Lane);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The right to run one process.
struct Place {
    lane: Arc<Lane>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.lane.busy.fetch_sub(1, Ordering::Relaxed);
        self.lane.served.fetch_add(1, Ordering::Relaxed);
        self.lane.touch();
    }
}

/// A program of a package, ready to be started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Executable {
    /// Its path inside the jail.
    pub(crate) program: PathBuf,
    /// What comes before its own arguments.
    pub(crate) arguments: Vec<OsString>,
}

/// Finds the program a package's entry point names: its one file, the file of that name, or else its only
/// executable. What is not executable is taken for a script of the shell, as in Fission.
pub(crate) fn executable(code: &Code, name: Option<&str>) -> Result<Executable, CallError> {
    let load = |why: String| CallError::Load(why);
    let name = name.filter(|name| !name.is_empty());
    let relative = if code.path().is_file() {
        PathBuf::new()
    } else if let Some(name) = name {
        let path: Result<TreePath, _> = name.trim_start_matches("./").parse();
        let path = path.map_err(|error| load(format!("the entry point `{name}`: {error}")))?;
        PathBuf::from(path.to_string())
    } else {
        PathBuf::from(only_executable(code.path()).map_err(load)?)
    };
    // Joining nothing would add a separator, which no file can end with.
    let join = |root: &Path| match relative.as_os_str().is_empty() {
        true => root.to_path_buf(),
        false => root.join(&relative),
    };
    let about = std::fs::metadata(join(code.path())).ok().filter(std::fs::Metadata::is_file);
    let about = about.ok_or_else(|| {
        load(format!("the package has no program `{}`", name.unwrap_or_default()))
    })?;
    let inside = join(&code.inside());
    Ok(if about.permissions().mode() & 0o111 == 0 {
        Executable { program: PathBuf::from("/bin/sh"), arguments: vec![inside.into()] }
    } else {
        Executable { program: inside, arguments: Vec::new() }
    })
}

fn only_executable(directory: &Path) -> Result<OsString, String> {
    let entries = std::fs::read_dir(directory).map_err(|error| error.to_string())?;
    let mut found: Vec<OsString> = entries
        .flatten()
        .filter(|entry| {
            let about = entry.metadata();
            about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        })
        .map(|entry| entry.file_name())
        .collect();
    found.sort();
    let usual = found.iter().find(|name| USUAL.iter().any(|usual| name.as_os_str() == *usual));
    match (usual, found.as_slice()) {
        (Some(usual), _) => Ok(usual.clone()),
        (None, [only]) => Ok(only.clone()),
        (None, []) => {
            Err("the package has no executable file; name one as its entry point".to_owned())
        }
        (None, _) => {
            Err("the package has several executable files; name one as its entry point".to_owned())
        }
    }
}
