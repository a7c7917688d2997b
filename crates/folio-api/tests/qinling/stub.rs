//! A runtime without workers of its own: it says which code it would run and where, prints what it is given, and keeps count.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use folio_core::logs::{Logs, Printer, Stream};
use folio_core::ports::runtime::{
    BuildError, BuildLog, BuildOrder, Built, Call, CallError, Plan, RunLimits, RuntimeStatus,
    Scale, WorkerStatus,
};
use folio_core::ports::{Body, Runtime};
use folio_model::{Digest, Name, Timestamp};
use http_body_util::BodyExt as _;

/// A plan and how many workers it has.
type Crew = (Arc<Plan>, u32);

pub(crate) struct Stub {
    logs: Arc<Logs>,
    /// What calls fail with.
    pub(crate) failure: Mutex<Option<CallError>>,
    /// What the last call was allowed to use.
    pub(crate) limits: Mutex<Option<RunLimits>>,
    /// How many workers each plan has.
    workers: Mutex<BTreeMap<(Digest, String), Crew>>,
    /// The environments of workers that stand by for whichever function comes.
    pub(crate) ready: Mutex<Vec<Name>>,
    /// The versions whose workers were let go because nothing leads to them any more.
    retired: Mutex<Vec<String>>,
}

impl Stub {
    pub(crate) fn new(logs: Arc<Logs>) -> Self {
        Self {
            logs,
            failure: Mutex::default(),
            limits: Mutex::default(),
            workers: Mutex::default(),
            ready: Mutex::default(),
            retired: Mutex::default(),
        }
    }

    /// The versions that were retired since this was asked last, in order of their names.
    pub(crate) fn retired(&self) -> Vec<String> {
        let mut retired = std::mem::take(&mut *self.retired.lock().unwrap());
        retired.sort();
        retired
    }

    /// Gives a plan as many workers as it is to have, seen from how many it has.
    fn staff(&self, plan: &Arc<Plan>, wish: impl FnOnce(u32) -> u32) {
        let mut workers = self.workers.lock().unwrap();
        let key = (plan.digest, plan.at.to_string());
        let (_, count) = workers.entry(key).or_insert_with(|| (Arc::clone(plan), 0));
        *count = wish(*count);
    }
}

#[async_trait]
impl Runtime for Stub {
    async fn call(
        &self,
        plan: &Arc<Plan>,
        call: Call,
    ) -> Result<axum::http::Response<Body>, CallError> {
        *self.limits.lock().unwrap() = Some(plan.limits);
        if let Some(failure) = self.failure.lock().unwrap().clone() {
            return Err(failure);
        }
        self.staff(plan, |count| count.max(1));
        let given = call.request.into_body().collect().await.unwrap().to_bytes();
        let line = format!("Hello, {}\n", String::from_utf8_lossy(&given));
        let printer = Printer { request: Some(call.id), worker: None };
        self.logs.add(plan, Timestamp::UNIX_EPOCH, Stream::Stdout, printer, &line);
        let entry = plan.entrypoint.as_deref().unwrap_or_default();
        let answer = format!("{} {entry}", plan.code.tree);
        Ok(axum::http::Response::new(Body::from(Bytes::from(answer))))
    }

    async fn prepare(&self, _: &Arc<Plan>) -> Result<(), CallError> {
        Ok(())
    }

    fn retire(&self, plan: &Arc<Plan>) {
        self.staff(plan, |_| 0);
        self.retired.lock().unwrap().push(plan.at.to_string());
    }

    fn scale(&self, plan: &Arc<Plan>, scale: Scale) {
        self.staff(plan, |count| match scale {
            Scale::Up(more) => count + more,
            Scale::Down(fewer) => count.saturating_sub(fewer).max(count.min(1)),
            Scale::Away => 0,
        });
    }

    async fn build(&self, _: BuildOrder, _: BuildLog) -> Result<Built, BuildError> {
        Err(BuildError::Failed("nothing is built here".to_owned()))
    }

    fn status(&self) -> RuntimeStatus {
        let workers = self.workers.lock().unwrap();
        let each = workers.values().flat_map(|(plan, count)| (0..*count).map(move |_| plan));
        let worker = |environment: &Name| WorkerStatus {
            environment: environment.clone(),
            app: None,
            function: None,
            version: None,
            pid: None,
            started_at: Timestamp::UNIX_EPOCH,
            busy: 0,
            served: 0,
            memory_bytes: 0,
        };
        let at_work = each.map(|plan| WorkerStatus {
            app: Some(plan.app.clone()),
            function: Some(plan.function.clone()),
            version: Some(plan.at.to_string()),
            ..worker(&plan.environment)
        });
        let ready = self.ready.lock().unwrap();
        let workers = at_work.chain(ready.iter().map(worker)).collect();
        RuntimeStatus { workers, ..RuntimeStatus::default() }
    }

    async fn stop(&self, _: Duration) {}
}
