//! How functions call one another: each worker has a Unix socket, named in `FOLIO_INVOKE`, for plain HTTP/1.1.
//!
//! `POST /hello@3/any/path` calls version 3 of `hello` of the worker's own app at `/any/path`.
//! The socket knows which plan asks, so nothing a worker says decides whose functions it reaches. Which of its
//! requests asks is told by `Folio-Request-Id`, which the shims add and others have to. It is believed only if the
//! worker has that request in hand, or just had; without it the call counts as made by the one that came furthest,
//! so that no loop is ever counted short.

mod answer;
mod in_hand;
mod serve;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use folio_core::ports::runtime::{Call, Plan, RuntimePorts};
use tokio::task::JoinSet;

pub use in_hand::InHand;
pub(crate) use in_hand::Lineage;
use in_hand::Requests;
pub(crate) use serve::{Asking, pass_on};

/// The directory of a worker's sockets, inside its jail.
pub const INSIDE: &str = "/run/folio";

/// The socket's name in that directory.
const NAME: &str = "invoke.sock";

/// One worker's socket. Dropping it ends every call that came through it.
pub struct InvokeSocket {
    directory: PathBuf,
    asker: Arc<Asker>,
    // Owns the task that accepts, which owns its connections.
    _accepting: JoinSet<()>,
}

/// Who asks.
struct Asker {
    plan: OnceLock<Arc<Plan>>,
    requests: Arc<Requests>,
    ports: RuntimePorts,
}

impl InvokeSocket {
    /// Listens in a directory that is this worker's own. A worker that serves nobody yet is bound later.
    ///
    /// Must be called inside a tokio runtime.
    pub fn listen(
        directory: &Path,
        plan: Option<Arc<Plan>>,
        ports: &RuntimePorts,
    ) -> io::Result<Self> {
        let listener = crate::socket::listen(&directory.join(NAME))?;
        let asker = Arc::new(Asker {
            plan: plan.map(OnceLock::from).unwrap_or_default(),
            requests: Arc::default(),
            ports: ports.clone(),
        });
        let mut accepting = JoinSet::new();
        accepting.spawn(serve::accept(listener, Arc::clone(&asker)));
        Ok(Self { directory: directory.to_path_buf(), asker, _accepting: accepting })
    }

    /// Says whom the worker serves. Only the first word counts.
    pub fn bind(&self, plan: &Arc<Plan>) {
        // A worker serves one plan in its life, so a second word could only repeat the first.
        drop(self.asker.plan.set(Arc::clone(plan)));
    }

    /// The directory to be mounted at [`INSIDE`].
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The value of `FOLIO_INVOKE` for a worker that sees the directory there.
    pub fn variable(seen: &Path) -> PathBuf {
        seen.join(NAME)
    }

    /// Notes a request that the worker has in hand, until the guard is dropped.
    pub fn begin(&self, call: &Call) -> InHand {
        self.asker.requests.begin(call.id, Lineage::of(call))
    }
}
