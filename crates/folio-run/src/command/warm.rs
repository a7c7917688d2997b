//! Generic servers that wait: started before anybody needs them, specialised when somebody does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use folio_core::ports::runtime::{CallError, WorkerStatus};
use folio_model::{EnvironmentSpec, Name};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::server::Server;
use super::site::{Site, Size};

/// Servers that wait where the environment does not say how many.
const POOL_SIZE: u32 = 1;

/// How long servers wait for an environment that nobody uses.
const UNUSED_KEPT: Duration = Duration::from_secs(600);

/// The servers that wait, per environment and size.
pub(super) struct Warm {
    site: Arc<Site>,
    state: Mutex<HashMap<Wanted, Waiting>>,
    tasks: Mutex<JoinSet<()>>,
}

/// What a server that waits has to be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Wanted {
    pub(super) environment: Name,
    pub(super) spec: EnvironmentSpec,
    pub(super) size: Size,
}

struct Waiting {
    servers: Vec<Server>,
    starting: u32,
    used: Instant,
}

impl Warm {
    pub(super) fn new(site: Arc<Site>) -> Arc<Self> {
        Arc::new(Self { site, state: Mutex::default(), tasks: Mutex::default() })
    }

    /// A generic server: one that waits, or a new one. Another is started in its place.
    pub(super) async fn take(self: &Arc<Self>, wanted: &Wanted) -> Result<Server, CallError> {
        let found = {
            let mut state = self.state();
            let waiting = state.entry(wanted.clone()).or_insert_with(|| Waiting {
                servers: Vec::new(),
                starting: 0,
                used: Instant::now(),
            });
            waiting.used = Instant::now();
            waiting.servers.retain(Server::is_fit);
            waiting.servers.pop()
        };
        let server = match found {
            Some(server) => server,
            None => start(&self.site, wanted).await?,
        };
        // Only now, so that a new one does not compete with the one somebody waits for.
        self.refill(wanted);
        Ok(server)
    }

    fn refill(self: &Arc<Self>, wanted: &Wanted) {
        let mut state = self.state();
        let Some(waiting) = state.get_mut(wanted) else { return };
        let size = wanted.spec.poolsize.unwrap_or(POOL_SIZE) as usize;
        while waiting.servers.len() + (waiting.starting as usize) < size {
            waiting.starting += 1;
            let (warm, wanted) = (Arc::clone(self), wanted.clone());
            let mut tasks = self.tasks.lock().expect("no holder panics");
            while tasks.try_join_next().is_some() {}
            tasks.spawn(async move {
                let started = start(&warm.site, &wanted).await;
                warm.started(&wanted, started);
            });
        }
    }

    fn started(&self, wanted: &Wanted, started: Result<Server, CallError>) {
        let mut state = self.state();
        let Some(waiting) = state.get_mut(wanted) else { return };
        waiting.starting -= 1;
        match started {
            Ok(server) => waiting.servers.push(server),
            // Whoever needs one tries again and is told.
            Err(error) => tracing::warn!(
                environment.name = %wanted.environment, %error, "Could not start a server ahead of time"
            ),
        }
    }

    /// Ends the servers of environments that nobody has used for long, and those that ended by themselves.
    pub(super) fn tend(&self) {
        let now = Instant::now();
        let mut leaving = Vec::new();
        let mut state = self.state();
        state.retain(|_, waiting| {
            let (fit, ended) =
                std::mem::take(&mut waiting.servers).into_iter().partition(Server::is_fit);
            waiting.servers = fit;
            leaving.extend::<Vec<Server>>(ended);
            let kept = now < waiting.used + UNUSED_KEPT || waiting.starting > 0;
            if !kept {
                leaving.append(&mut waiting.servers);
            }
            kept
        });
        drop(state);
        drop(leaving);
    }

    /// Ends all of them.
    pub(super) fn dismiss(&self) {
        self.tasks.lock().expect("no holder panics").abort_all();
        let all = std::mem::take(&mut *self.state());
        drop(all);
    }

    pub(super) fn status(&self) -> Vec<WorkerStatus> {
        let state = self.state();
        let servers = state.iter().flat_map(|(wanted, waiting)| {
            waiting.servers.iter().map(|server| (wanted.environment.clone(), server))
        });
        let status = |(environment, server): (Name, &Server)| WorkerStatus {
            environment,
            app: None,
            function: None,
            version: None,
            pid: Some(server.pid()),
            started_at: server.started_at,
            busy: 0,
            served: 0,
            memory_bytes: server.memory_bytes(),
        };
        servers.map(status).collect()
    }

    fn state(&self) -> MutexGuard<'_, HashMap<Wanted, Waiting>> {
        self.state.lock().expect("no holder panics")
    }
}

async fn start(site: &Arc<Site>, wanted: &Wanted) -> Result<Server, CallError> {
    let program = site.environment(&wanted.spec, wanted.size)?;
    Server::start(site, None, program).await
}
