//! Work in the background that ends with whoever started it.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// Tasks that are ended when this is dropped.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<JoinSet<()>>);

impl Tasks {
    /// Starts a task, if there is a runtime to run it.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let Ok(handle) = Handle::try_current() else { return };
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that ended are only forgotten when asked for.
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(task, &handle);
    }
}
