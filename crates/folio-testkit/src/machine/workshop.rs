//! Where the machine's builds are done: one after the other, each as it is told, so that two worlds write the same
//! entries in the same order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use folio_core::Folio;
use folio_core::logs::Logs;
use folio_core::ports::runtime::{
    BuildError, BuildLog, BuildOrder, Built, BuiltDirectory, Call, CallError, Plan, RuntimeStatus,
};
use folio_core::ports::{Body, Lease, Queue, Runtime, StoreError, Task};
use folio_model::Timestamp;
use futures::FutureExt as _;
use tokio::sync::{Notify, watch};
use uuid::Uuid;

/// A queue of builds, and what builds them.
pub struct Workshop {
    queue: Arc<OneByOne>,
    builder: Arc<Builder>,
}

impl Workshop {
    /// A workshop that works on a queue.
    pub fn new(queue: Arc<dyn Queue>) -> Self {
        let (held, idle) = (Mutex::new(None), Notify::new());
        Self { queue: Arc::new(OneByOne { queue, held, idle }), builder: Arc::default() }
    }

    /// Lets a platform's builds be done here.
    pub fn serve(&self, folio: Folio) -> Folio {
        let logs = Arc::new(Logs::new(1024));
        folio.with_runtime(
            Arc::clone(&self.builder) as Arc<_>,
            Arc::clone(&self.queue) as Arc<_>,
            logs,
        )
    }

    /// Does every build that waits. All of them succeed, or all fail.
    pub(super) async fn work(&self, folio: &Folio, succeed: bool) -> Result<(), StoreError> {
        self.builder.succeeds.store(succeed, Ordering::SeqCst);
        // A queue that was left empty the last time says nothing about now.
        self.queue.idle.notified().now_or_never();
        folio.run_builds(self.queue.idle.notified()).await
    }
}

/// Hands out one task at a time, and tells when none is left.
struct OneByOne {
    queue: Arc<dyn Queue>,
    held: Mutex<Option<Uuid>>,
    idle: Notify,
}

impl OneByOne {
    fn hold(&self, lease: Option<Uuid>) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = lease;
    }

    fn is_held(&self) -> bool {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

#[async_trait]
impl Queue for OneByOne {
    async fn push(&self, task: Task) -> Result<bool, StoreError> {
        self.queue.push(task).await
    }

    async fn lease(
        &self,
        topic: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        if self.is_held() {
            return Ok(None);
        }
        let lease = self.queue.lease(topic, now, time).await?;
        self.hold(lease.as_ref().map(|lease| lease.token));
        if lease.is_none() {
            self.idle.notify_one();
        }
        Ok(lease)
    }

    async fn claim(
        &self,
        name: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        self.queue.claim(name, now, time).await
    }

    async fn replace(&self, token: Uuid, tasks: Vec<Task>) -> Result<bool, StoreError> {
        let replaced = self.queue.replace(token, tasks).await;
        self.hold(None);
        replaced
    }

    async fn done(&self, token: Uuid) -> Result<bool, StoreError> {
        let done = self.queue.done(token).await;
        self.hold(None);
        done
    }

    async fn retry(&self, token: Uuid, due: Timestamp) -> Result<bool, StoreError> {
        let given_back = self.queue.retry(token, due).await;
        self.hold(None);
        given_back
    }

    async fn next_due(&self, topic: &str) -> Result<Option<Timestamp>, StoreError> {
        self.queue.next_due(topic).await
    }

    async fn peek(&self, name: &str) -> Result<Option<Task>, StoreError> {
        self.queue.peek(name).await
    }

    fn pushed(&self) -> watch::Receiver<u64> {
        self.queue.pushed()
    }
}

/// Builds and does nothing else.
#[derive(Default)]
struct Builder {
    succeeds: AtomicBool,
}

#[async_trait]
impl Runtime for Builder {
    async fn call(&self, _: &Arc<Plan>, _: Call) -> Result<http::Response<Body>, CallError> {
        Err(CallError::Stopping)
    }

    async fn prepare(&self, _: &Arc<Plan>) -> Result<(), CallError> {
        Ok(())
    }

    fn retire(&self, _: &Arc<Plan>) {}

    async fn build(&self, order: BuildOrder, log: BuildLog) -> Result<Built, BuildError> {
        // Whoever stopped reading the log does not need it.
        drop(log.send(Bytes::from(format!("building {}\n", order.key))).await);
        if !self.succeeds.load(Ordering::SeqCst) {
            return Err(BuildError::Failed("told to fail".to_owned()));
        }
        let unavailable = |error: std::io::Error| BuildError::Unavailable(error.to_string());
        let directory = BuiltDirectory(tempfile::tempdir().map_err(unavailable)?.keep());
        let made = format!("made of {}", order.source.tree);
        std::fs::write(directory.0.join("made.js"), made).map_err(unavailable)?;
        Ok(Built { directory })
    }

    fn status(&self) -> RuntimeStatus {
        RuntimeStatus::default()
    }

    async fn stop(&self, _: Duration) {}
}
