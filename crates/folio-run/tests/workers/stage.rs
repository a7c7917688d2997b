//! A whole runtime to call functions on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, CallError, Plan, Runtime as _, RuntimeStatus};
use folio_model::RuntimeKind;
use folio_run::jail::Mode;
use folio_run::{LocalRuntime, Settings};
use http::Response;

use crate::processes::place::{File, Place, file, plan, text};

/// A runtime and a place for code.
pub(super) struct Stage {
    pub(super) place: Place,
    pub(super) runtime: Arc<LocalRuntime>,
}

impl Stage {
    pub(super) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    pub(super) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let place = Place::new(Mode::Off).await;
        let helper = PathBuf::from(env!("CARGO_BIN_EXE_folio-run-warden"));
        let mut settings = Settings::new(place.path().join("runtime"), helper);
        settings.jail = Mode::Off;
        settings.wasm.instances_max = 4;
        change(&mut settings);
        let runtime = LocalRuntime::open(settings, place.ports.clone()).unwrap();
        Self { place, runtime }
    }

    /// A plan for one file, which is a function of the runtime its name says.
    pub(super) async fn plan(&self, name: &str, source: &str) -> Plan {
        let code = self.place.single(file(name, source)).await;
        plan(kind(name), code, None)
    }

    /// A plan for a directory.
    pub(super) async fn package(
        &self,
        runtime: RuntimeKind,
        files: &[File<'_>],
        entry: Option<&str>,
    ) -> Plan {
        plan(runtime, self.place.directory(files).await, entry)
    }

    pub(super) async fn call(&self, plan: &Plan, call: Call) -> Result<Response<Body>, CallError> {
        self.runtime.call(&Arc::new(plan.clone()), call).await
    }

    /// What a function answers, status and text.
    pub(super) async fn says(&self, plan: &Plan, call: Call) -> (u16, String) {
        let answer = self.call(plan, call).await.unwrap();
        (answer.status().as_u16(), text(answer).await)
    }

    pub(super) fn status(&self) -> RuntimeStatus {
        self.runtime.status()
    }

    /// Waits until the runtime is as it should be.
    pub(super) async fn until(&self, what: &str, reached: impl Fn(&RuntimeStatus) -> bool) {
        let waiting = async {
            while !reached(&self.status()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        assert!(waited.is_ok(), "{what} never happened: {:?}", self.status());
    }
}

fn kind(name: &str) -> RuntimeKind {
    if name.ends_with(".py") { RuntimeKind::Python } else { RuntimeKind::Nodejs }
}

/// Workers that serve a function.
pub(super) fn serving(status: &RuntimeStatus) -> usize {
    status.workers.iter().filter(|worker| worker.function.is_some()).count()
}

/// Workers that wait for one.
pub(super) fn generic(status: &RuntimeStatus) -> usize {
    status.workers.len() - serving(status)
}
