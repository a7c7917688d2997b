//! What all workers share: the jail, the code on disk, where output goes, and the count of processes.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use folio_core::ports::runtime::RuntimePorts;
use tokio::task::JoinSet;

use crate::code::{self, CodeStore};
use crate::jail::Jail;
use crate::local::Settings;
use crate::worker::Shims;

/// What workers are made with.
pub(crate) struct Host {
    pub(crate) settings: Settings,
    pub(crate) jail: Arc<Jail>,
    pub(crate) codes: Arc<CodeStore>,
    pub(crate) ports: RuntimePorts,
    pub(crate) shims: Shims,
    /// The directory of the workers' own directories.
    pub(crate) rooms: PathBuf,
    pub(crate) counts: Counts,
    pub(crate) stopping: AtomicBool,
    /// Ends the idlest worker of all versions; says whether there was one.
    pub(crate) reclaimer: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
    tasks: Mutex<JoinSet<()>>,
}

/// What happened since the server started.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) warm: AtomicU64,
    pub(crate) cold: AtomicU64,
    pub(crate) refused: AtomicU64,
    /// Processes there are, generic ones included.
    pub(crate) processes: AtomicU32,
}

impl Host {
    pub(crate) fn new(
        settings: Settings,
        jail: Arc<Jail>,
        codes: Arc<CodeStore>,
        ports: RuntimePorts,
    ) -> io::Result<Arc<Self>> {
        let rooms = settings.directory.join("workers");
        code::remove(&rooms)?;
        std::fs::create_dir_all(&rooms)?;
        let shims = Shims::write(&settings.directory)?;
        Ok(Arc::new(Self {
            settings,
            jail,
            codes,
            ports,
            shims,
            rooms,
            counts: Counts::default(),
            stopping: AtomicBool::new(false),
            reclaimer: OnceLock::new(),
            tasks: Mutex::default(),
        }))
    }

    /// Runs something in the background until it is done or the runtime is dropped.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().expect("no holder panics");
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Ends everything in the background.
    pub(crate) fn abort(&self) {
        self.tasks.lock().expect("no holder panics").abort_all();
    }

    /// Makes room for one more process, if there is any.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Admitted> {
        let max = self.settings.workers_max;
        let grown = |count: u32| (count < max).then_some(count + 1);
        let processes = &self.counts.processes;
        let admitted = processes.fetch_update(Ordering::AcqRel, Ordering::Acquire, grown);
        admitted.ok().map(|_| Admitted(Arc::clone(self)))
    }

    /// Ends a worker nobody needs now. Says whether there was one.
    pub(crate) fn reclaim(&self) -> bool {
        self.reclaimer.get().is_some_and(|reclaim| reclaim())
    }

    /// Whether the server is stopping and takes no more requests.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// One process that is counted until this is dropped.
pub(crate) struct Admitted(Arc<Host>);

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.counts.processes.fetch_sub(1, Ordering::AcqRel);
    }
}
