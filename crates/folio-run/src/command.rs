//! Servers that answer HTTP themselves, each for one function version, over a socket out of their jail.
//!
//! They come from environments that speak Fission's contract, or with a package whose entry point is `serve:NAME`.
//! `crew` decides which server gets a request, `warm` keeps generic servers ready, `server` is one process,
//! `specialise` is the contract. Start at [`CommandRuntime::call`].

mod answer;
mod connection;
mod crew;
pub(crate) mod request;
mod server;
mod site;
mod specialise;
mod warm;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, CallError, Plan, RuntimePorts, RuntimeStatus, Stage};
use folio_model::{AppName, Digest, UnitUid};
use http::Response;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crew::{Counts, Crew, Hire};
use server::Server;
use site::{Site, Size};
use warm::{Wanted, Warm};

use crate::code::{self, CodeStore};
use crate::jail::Jail;

/// How often idle servers are looked for.
const TEND_EVERY: Duration = Duration::from_millis(500);

/// Runs servers and passes requests to them.
pub struct CommandRuntime {
    site: Arc<Site>,
    warm: Arc<Warm>,
    crews: Arc<Crews>,
    counts: Arc<Counts>,
    keep_warm: Duration,
    // Ends what is idle.
    _tending: JoinSet<()>,
}

/// What servers are started with.
pub struct CommandParts {
    /// Starts them.
    pub jail: Arc<Jail>,
    /// Holds their functions' code.
    pub codes: Arc<CodeStore>,
    /// Takes what they print and the calls they make.
    pub ports: RuntimePorts,
    /// The directories of the host, besides the system's, whose programs environments may start. Every
    /// environment sees all of each.
    pub directories: Vec<PathBuf>,
    /// How long a version that lost its last pointer is kept warm.
    pub keep_warm: Duration,
}

type Key = (AppName, UnitUid, Stage, Digest);
type Table = HashMap<Key, Arc<Crew>>;
type Crews = Mutex<Table>;

impl CommandRuntime {
    /// Takes `<run>/servers`, removing what an earlier process left there.
    ///
    /// Must be called inside a tokio runtime.
    pub fn new(run: &Path, parts: CommandParts) -> io::Result<Self> {
        let rooms = run.join("servers");
        code::remove(&rooms)?;
        std::fs::create_dir_all(&rooms)?;
        let CommandParts { jail, codes, ports, directories, keep_warm } = parts;
        let remover = code::remover()?;
        let site = Arc::new(Site { jail, codes, ports, directories, rooms, remover });
        let (warm, crews) = (Warm::new(Arc::clone(&site)), Arc::<Crews>::default());
        let mut tending = JoinSet::new();
        tending.spawn(tend(Arc::clone(&warm), Arc::clone(&crews)));
        Ok(Self { site, warm, crews, counts: Arc::default(), keep_warm, _tending: tending })
    }

    /// Whether a plan is answered by a server that stays.
    pub fn takes(plan: &Plan) -> bool {
        plan.is_served()
    }

    /// Passes a request to a server of the plan's version and returns when its answer begins.
    ///
    /// An answer with status 101 carries its connection: `hyper::upgrade::on` takes it out.
    pub async fn call(&self, plan: &Arc<Plan>, call: Call) -> Result<Response<Body>, CallError> {
        // Loading has its own limits; what a request may take begins when it has a server.
        let mut seat = self.crew(plan).seat().await?;
        seat.server().call(plan, call, seat).await
    }

    /// Starts the servers a version must always have, and sees that its code loads.
    pub async fn prepare(&self, plan: &Arc<Plan>) -> Result<(), CallError> {
        self.site.codes.open(&plan.code).await?;
        self.crew(plan).prepare().await
    }

    /// Says that a version lost its last pointer.
    pub fn retire(&self, plan: &Arc<Plan>) {
        let crew = lock(&self.crews).get(&key(plan)).cloned();
        if let Some(crew) = crew {
            crew.retire();
        }
    }

    /// What it is doing, without what the host can enforce.
    pub fn status(&self) -> RuntimeStatus {
        let crews: Vec<_> = lock(&self.crews).values().cloned().collect();
        let mut workers: Vec<_> = crews.iter().flat_map(|crew| crew.status()).collect();
        workers.extend(self.warm.status());
        RuntimeStatus {
            enforcement: Vec::new(),
            workers,
            warm_starts: self.counts.warm.load(Ordering::Relaxed),
            cold_starts: self.counts.cold.load(Ordering::Relaxed),
            refused_starts: self.counts.refused.load(Ordering::Relaxed),
        }
    }

    /// Finishes what is in hand, within the time given, and ends every server.
    pub async fn stop(&self, grace: Duration) {
        let crews: Vec<_> = lock(&self.crews).values().cloned().collect();
        crews.iter().for_each(|crew| crew.stop());
        let deadline = Instant::now() + grace;
        while crews.iter().any(|crew| crew.busy() > 0) && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        crews.iter().for_each(|crew| crew.dismiss());
        self.warm.dismiss();
    }

    fn crew(&self, plan: &Arc<Plan>) -> Arc<Crew> {
        let mut crews = lock(&self.crews);
        let crew = crews.entry(key(plan)).or_insert_with(|| {
            let (hire, counts) = (self.hire(plan), Arc::clone(&self.counts));
            Crew::new(Arc::clone(plan), hire, counts, self.keep_warm)
        });
        Arc::clone(crew)
    }

    /// How a version's servers are made.
    fn hire(&self, plan: &Arc<Plan>) -> Hire {
        let (plan, site, warm) = (Arc::clone(plan), Arc::clone(&self.site), Arc::clone(&self.warm));
        Box::new(move || {
            let (plan, site, warm) = (Arc::clone(&plan), Arc::clone(&site), Arc::clone(&warm));
            Box::pin(async move {
                match plan.own_server() {
                    Some(command) => start_package(&site, &plan, command).await,
                    None => start_environment(&site, &warm, &plan).await,
                }
            })
        })
    }
}

async fn start_package(
    site: &Arc<Site>,
    plan: &Arc<Plan>,
    command: &str,
) -> Result<Server, CallError> {
    let code = site.codes.open(&plan.code).await?;
    let program = site.package(plan, &code, command)?;
    let server = Server::start(site, Some(plan), program).await?;
    server.bind(plan, code);
    Ok(server)
}

async fn start_environment(
    site: &Arc<Site>,
    warm: &Arc<Warm>,
    plan: &Arc<Plan>,
) -> Result<Server, CallError> {
    let code = site.codes.open(&plan.code).await?;
    let size = Size::of(plan);
    let server = if plan.variables.is_empty() && plan.files.is_empty() {
        let wanted =
            Wanted { environment: plan.environment.clone(), spec: plan.spec.clone(), size };
        warm.take(&wanted).await?
    } else {
        // The contract has no way to give variables or files to a server that runs, so it is started with them.
        let mut program = site.environment(&plan.spec, size)?;
        program.variables = site::variables(plan);
        program.files.clone_from(&plan.files);
        Server::start(site, None, program).await?
    };
    specialise::specialise(&server, plan, code).await?;
    Ok(server)
}

async fn tend(warm: Arc<Warm>, crews: Arc<Crews>) {
    loop {
        tokio::time::sleep(TEND_EVERY).await;
        let all: Vec<_> = lock(&crews).values().cloned().collect();
        for crew in all {
            crew.tend();
        }
        let mut gone = Vec::new();
        lock(&crews).retain(|_, crew| {
            // Whoever holds it besides the table is about to take a seat.
            let kept = Arc::strong_count(crew) > 1 || crew.tend();
            if !kept {
                gone.push(Arc::clone(crew));
            }
            kept
        });
        drop(gone);
        warm.tend();
    }
}

fn key(plan: &Plan) -> Key {
    (plan.app.clone(), plan.unit, plan.at.clone(), plan.digest)
}

fn lock(crews: &Crews) -> MutexGuard<'_, Table> {
    crews.lock().expect("no holder panics")
}
