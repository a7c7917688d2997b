//! The runtime of this host: passes each plan to what runs its environment. Node and Python plans go to pools of
//! workers; the others to the modules named after them.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, RwLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use folio_core::ports::runtime::{
    BuildError, BuildLog, BuildOrder, Built, Call, CallError, Plan, Runtime, RuntimePorts,
    RuntimeStatus, Scale, Stage, WorkerStatus,
};
use folio_core::ports::{Body, SystemClock};
use folio_model::{Digest, RuntimeKind, UnitUid};
use tokio::time::Instant;

use crate::binary::BinaryRuntime;
use crate::build::{BuildHost, BuildLimits, Builder};
use crate::code::CodeStore;
use crate::command::{CommandParts, CommandRuntime};
use crate::host::Host;
use crate::jail::{Jail, Mode};
use crate::pool::{Generics, Pool};
use crate::wasm::{self, Outside, Source, Wasm};

/// How often requests are looked at whose time may be over.
const TICK: Duration = Duration::from_millis(20);
/// How many of those until idle workers are looked for.
const TEND_TICKS: u32 = 10;

/// How the runtime is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The runtime's own directory, which must be on a local disk.
    pub directory: PathBuf,
    /// The folio binary, which the jail executes again.
    pub helper: PathBuf,
    /// Whether workers are confined.
    pub jail: Mode,
    /// How long a version that lost its last pointer is kept warm.
    pub keep_warm: Duration,
    /// Worker processes of all versions together.
    pub workers_max: u32,
    /// Requests of one version that wait for a worker.
    pub waiting_max: usize,
    /// Processes and threads of one worker.
    pub processes_max: u32,
    /// Room in a worker's `/tmp`.
    pub tmp_bytes: u64,
    /// How much room wasm gets.
    pub wasm: wasm::Settings,
    /// How much of everything one build gets.
    pub build: BuildLimits,
    /// What builders learn about the host.
    pub build_host: BuildHost,
    /// Directories of the host, besides the system's, whose programs `command` environments may start.
    pub command_directories: Vec<PathBuf>,
}

impl Settings {
    /// The defaults around a directory and the folio binary.
    pub fn new(directory: PathBuf, helper: PathBuf) -> Self {
        Self {
            directory,
            helper,
            jail: Mode::Enforced,
            keep_warm: Duration::from_secs(300),
            workers_max: 256,
            waiting_max: 1024,
            processes_max: 128,
            tmp_bytes: 64 * 1024 * 1024,
            wasm: wasm::Settings::default(),
            build: BuildLimits::default(),
            build_host: BuildHost::default(),
            command_directories: Vec::new(),
        }
    }
}

/// Runs code on this host.
pub struct LocalRuntime {
    host: Arc<Host>,
    pools: Arc<Pools>,
    wasm: Wasm,
    binary: BinaryRuntime,
    command: CommandRuntime,
    builder: Builder,
}

// A draft and a version with equal digests behave alike but are told apart in logs and metrics.
type Key = (UnitUid, Digest, Stage);

struct Pools {
    host: Arc<Host>,
    generics: Arc<Generics>,
    versions: RwLock<HashMap<Key, Arc<Pool>>>,
}

impl LocalRuntime {
    /// Takes its directory, removing what an earlier process left there, and finds out what the host can enforce.
    ///
    /// Must be called inside a tokio runtime.
    pub fn open(settings: Settings, ports: RuntimePorts) -> io::Result<Arc<Self>> {
        let run = settings.directory.clone();
        let jail = Arc::new(Jail::new(settings.helper.clone(), settings.jail));
        let codes = Arc::new(CodeStore::new(&run, Arc::clone(&ports.blobs))?);
        let outside = Outside {
            logs: Arc::clone(&ports.logs),
            clock: Arc::new(SystemClock),
            invoke: Arc::clone(&ports.invoke),
        };
        let wasm = Wasm::new(run.join("wasm"), outside, settings.wasm)?;
        let binary =
            BinaryRuntime::new(&run, Arc::clone(&jail), Arc::clone(&codes), ports.clone())?;
        let command = CommandRuntime::new(
            &run,
            CommandParts {
                jail: Arc::clone(&jail),
                codes: Arc::clone(&codes),
                ports: ports.clone(),
                directories: settings.command_directories.clone(),
                keep_warm: settings.keep_warm,
            },
        )?;
        let builder = Builder::new(
            &run,
            Arc::clone(&jail),
            Arc::clone(&ports.blobs),
            settings.build_host.clone(),
            settings.build,
        )?;
        let host = Host::new(settings, jail, codes, ports)?;
        let pools = Pools::new(Arc::clone(&host));
        Ok(Arc::new(Self { host, pools, wasm, binary, command, builder }))
    }

    async fn source(&self, plan: &Arc<Plan>) -> Result<Source, CallError> {
        let code = self.host.codes.open(&plan.code).await?;
        Ok(Source { path: code.path().to_owned(), keep: Some(code) })
    }

    // Generic workers and those of every version.
    fn workers(&self) -> Vec<WorkerStatus> {
        let generic =
            self.pools.generics.ready().into_iter().map(|(environment, worker)| WorkerStatus {
                environment,
                app: None,
                function: None,
                version: None,
                pid: Some(worker.pid()),
                started_at: worker.started_at,
                busy: 0,
                served: 0,
                memory_bytes: worker.memory_bytes(),
            });
        let pools = self.pools.all();
        generic.chain(pools.iter().flat_map(|pool| pool.status())).collect()
    }
}

#[async_trait]
impl Runtime for LocalRuntime {
    async fn call(&self, plan: &Arc<Plan>, call: Call) -> Result<http::Response<Body>, CallError> {
        match plan.spec.runtime {
            RuntimeKind::Nodejs | RuntimeKind::Python => {
                self.pools.of(plan).acquire().await?.call(call).await
            }
            RuntimeKind::Wasm => self.wasm.call(plan, || self.source(plan), call).await,
            _ if CommandRuntime::takes(plan) => self.command.call(plan, call).await,
            RuntimeKind::Binary | RuntimeKind::Command => self.binary.call(plan, call).await,
        }
    }

    async fn prepare(&self, plan: &Arc<Plan>) -> Result<(), CallError> {
        match plan.spec.runtime {
            RuntimeKind::Nodejs | RuntimeKind::Python => {
                // Held until a worker has it, so that the first request finds the files.
                let _code = self.host.codes.open(&plan.code).await?;
                self.pools.of(plan).prepare().await
            }
            RuntimeKind::Wasm => self.wasm.prepare(plan, self.source(plan)).await,
            _ if CommandRuntime::takes(plan) => self.command.prepare(plan).await,
            RuntimeKind::Binary | RuntimeKind::Command => self.binary.prepare(plan).await,
        }
    }

    fn retire(&self, plan: &Arc<Plan>) {
        match plan.spec.runtime {
            RuntimeKind::Nodejs | RuntimeKind::Python => self.pools.retire(plan),
            RuntimeKind::Wasm => self.wasm.retire(plan),
            _ if CommandRuntime::takes(plan) => self.command.retire(plan),
            RuntimeKind::Binary | RuntimeKind::Command => {}
        }
    }

    fn scale(&self, plan: &Arc<Plan>, scale: Scale) {
        if matches!(plan.spec.runtime, RuntimeKind::Nodejs | RuntimeKind::Python) {
            self.pools.of(plan).scale(scale);
        }
    }

    async fn build(&self, order: BuildOrder, log: BuildLog) -> Result<Built, BuildError> {
        self.builder.build(order, log).await
    }

    fn status(&self) -> RuntimeStatus {
        let counts = &self.host.counts;
        let mut status = RuntimeStatus {
            enforcement: self.host.jail.enforcement(),
            workers: self.workers(),
            warm_starts: counts.warm.load(Ordering::Relaxed),
            cold_starts: counts.cold.load(Ordering::Relaxed),
            refused_starts: counts.refused.load(Ordering::Relaxed),
        };
        for part in [self.wasm.status(), self.binary.status(), self.command.status()] {
            status.workers.extend(part.workers);
            status.warm_starts += part.warm_starts;
            status.cold_starts += part.cold_starts;
            status.refused_starts += part.refused_starts;
        }
        status
    }

    async fn stop(&self, grace: Duration) {
        let (wasm, binary) = (self.wasm.stop(grace), self.binary.stop(grace));
        tokio::join!(self.pools.stop(grace), wasm, binary, self.command.stop(grace));
    }
}

impl Drop for LocalRuntime {
    fn drop(&mut self) {
        self.host.abort();
        self.pools.clear();
    }
}

impl Pools {
    fn new(host: Arc<Host>) -> Arc<Self> {
        let generics = Generics::new(Arc::clone(&host));
        let pools = Arc::new(Self { host, generics, versions: RwLock::default() });
        let weak = Arc::downgrade(&pools);
        let reclaim = move || weak.upgrade().is_some_and(|pools| pools.reclaim());
        // Set once, by the only maker of hosts.
        drop(pools.host.reclaimer.set(Box::new(reclaim)));
        pools.host.spawn(tend(Arc::downgrade(&pools)));
        pools
    }

    fn of(&self, plan: &Arc<Plan>) -> Arc<Pool> {
        let key = (plan.unit, plan.digest, plan.at.clone());
        if let Some(pool) = self.versions.read().expect("no holder panics").get(&key) {
            return Arc::clone(pool);
        }
        let mut versions = self.versions.write().expect("no holder panics");
        let pool = versions.entry(key).or_insert_with(|| {
            Pool::new(Arc::clone(plan), Arc::clone(&self.host), Arc::clone(&self.generics))
        });
        Arc::clone(pool)
    }

    fn retire(&self, plan: &Plan) {
        let key = (plan.unit, plan.digest, plan.at.clone());
        if let Some(pool) = self.versions.read().expect("no holder panics").get(&key) {
            pool.retire();
        }
    }

    fn all(&self) -> Vec<Arc<Pool>> {
        self.versions.read().expect("no holder panics").values().cloned().collect()
    }

    fn reclaim(&self) -> bool {
        let pools = self.all();
        let users = pools.iter().filter(|pool| pool.is_in_use()).count();
        let share = self.host.settings.workers_max as usize / users.max(1);
        let idlest = pools.into_iter().filter_map(|pool| pool.idlest(share));
        let Some((_, worker)) = idlest.max_by_key(|(idle, _)| *idle) else { return false };
        worker.leaving.store(true, Ordering::Relaxed);
        worker.end("another version needed its place");
        true
    }

    // Removes pools that are of no more use. One that somebody holds is about to be used.
    fn tend(&self) {
        let keep_warm = self.host.settings.keep_warm;
        let useless: Vec<_> = {
            let versions = self.versions.read().expect("no holder panics");
            let useless = versions.iter().filter(|(_, pool)| !pool.tend(keep_warm));
            useless.map(|(key, _)| key.clone()).collect()
        };
        if useless.is_empty() {
            return;
        }
        let mut versions = self.versions.write().expect("no holder panics");
        for key in useless {
            if versions.get(&key).is_some_and(|pool| Arc::strong_count(pool) == 1) {
                versions.remove(&key);
            }
        }
    }

    async fn stop(&self, grace: Duration) {
        self.host.stopping.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + grace;
        while self.all().iter().map(|pool| pool.drain()).sum::<u32>() > 0
            && Instant::now() < deadline
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.clear();
    }

    fn clear(&self) {
        self.generics.clear();
        let pools = std::mem::take(&mut *self.versions.write().expect("no holder panics"));
        pools.values().for_each(|pool| pool.end());
    }
}

async fn tend(pools: Weak<Pools>) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut count = 0_u32;
    loop {
        ticks.tick().await;
        let Some(pools) = pools.upgrade() else { return };
        pools.all().iter().for_each(|pool| pool.tick());
        count = count.wrapping_add(1);
        if count.is_multiple_of(TEND_TICKS) {
            pools.tend();
            pools.generics.tend();
        }
    }
}
