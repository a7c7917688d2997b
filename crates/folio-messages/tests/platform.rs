//! A platform in memory whose one function does what a test says.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use folio_core::logs::Logs;
use folio_core::ports::runtime::{
    BuildError, BuildLog, BuildOrder, Built, Call, CallError, Plan, RuntimeStatus,
};
use folio_core::ports::{Body, Runtime};
use folio_core::request::{Caller, Fields, Onto, Publish};
use folio_core::trigger::{QueueFields, TriggerFields};
use folio_core::{Folio, Settings};
use folio_messages::Nats;
use folio_model::{AppName, Kind, Target, UnitKey};
use folio_store::{MemoryIndex, MemoryLedger, MemoryQueue, PackOptions, PackStore};
use folio_testkit::clock::TestClock;
use folio_testkit::sample;
use http_body_util::BodyExt as _;
use tokio::sync::watch;

/// What the function does with a call.
pub(crate) enum Script {
    /// Answers with the body it got, in capitals.
    Answer,
    /// Answers with a status.
    Status(u16),
    /// Never answers.
    Hang,
}

/// Follows its script; answers when that is over.
#[derive(Default)]
pub(crate) struct Scripted {
    script: Mutex<VecDeque<Script>>,
    /// The calls that came, with the topic they name.
    pub(crate) calls: watch::Sender<Vec<(String, String)>>,
}

impl Scripted {
    pub(crate) fn then(&self, script: Script) {
        self.script.lock().unwrap().push_back(script);
    }

    /// Waits until so many calls came.
    pub(crate) async fn called(&self, times: usize) -> Vec<(String, String)> {
        let mut calls = self.calls.subscribe();
        calls.wait_for(|calls| calls.len() >= times).await.unwrap().clone()
    }
}

#[async_trait]
impl Runtime for Scripted {
    async fn call(&self, _: &Arc<Plan>, call: Call) -> Result<http::Response<Body>, CallError> {
        let topic = &call.request.headers()["x-fission-mqtrigger-topic"];
        let topic = topic.to_str().unwrap().to_owned();
        let body = call.request.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        self.calls.send_modify(|calls| calls.push((topic, body.clone())));
        let script = self.script.lock().unwrap().pop_front();
        let (status, body) = match script {
            Some(Script::Hang) => std::future::pending().await,
            Some(Script::Status(status)) => (status, "no".to_owned()),
            Some(Script::Answer) | None => (200, body.to_uppercase()),
        };
        let mut answer = http::Response::new(Body::Full(body.into()));
        *answer.status_mut() = http::StatusCode::from_u16(status).unwrap();
        Ok(answer)
    }

    async fn prepare(&self, _: &Arc<Plan>) -> Result<(), CallError> {
        Ok(())
    }

    fn retire(&self, _: &Arc<Plan>) {}

    async fn build(&self, _: BuildOrder, _: BuildLog) -> Result<Built, BuildError> {
        panic!("nothing is built here")
    }

    fn status(&self) -> RuntimeStatus {
        RuntimeStatus::default()
    }

    async fn stop(&self, _: Duration) {}
}

/// A platform that can be ended and begun again.
pub(crate) struct Platform {
    folio: Folio,
    caller: Caller,
    pub(crate) function: Arc<Scripted>,
}

impl Platform {
    /// One with a function `take`.
    pub(crate) async fn new() -> Self {
        let clock = Arc::new(TestClock::new(1));
        let index = MemoryIndex::default();
        let options = PackOptions { grace: Duration::ZERO };
        let blobs = PackStore::in_memory(index.clone(), clock.clone(), options).await.unwrap();
        let ledger = Arc::new(MemoryLedger::new(index));
        let function = Arc::new(Scripted::default());
        let (queue, logs) = (Arc::new(MemoryQueue::default()), Arc::new(Logs::new(1024)));
        let folio = Folio::new(ledger, Arc::new(blobs), clock, Settings::default());
        let folio = folio.with_runtime(function.clone(), queue, logs);
        let token = folio.draw_token();
        folio.admit(&"admin".parse().unwrap(), &token).await.unwrap();
        let caller = Caller::new("ada".parse().unwrap());
        let deployment = Some(sample::file(&folio, "main.js", "").await);
        let environment = Some("nodejs".parse().unwrap());
        let fields = Fields { environment, deployment, ..Fields::default() };
        let (app, name) = (AppName::default_app(), "take".parse().unwrap());
        let key = UnitKey { app, kind: Kind::Function, name };
        folio.publish(&caller, &key, Publish::fresh(fields)).await.unwrap();
        Self { folio, caller, function }
    }

    /// The platform with a connection of its own to a server.
    pub(crate) async fn connected(&self, address: &str) -> Folio {
        self.folio.clone().with_messages(Arc::new(Nats::connect(address).await.unwrap()))
    }

    /// Makes or changes the trigger `orders`.
    pub(crate) async fn set(&self, folio: &Folio, onto: Onto, fields: QueueFields) {
        let targets = Some(vec![Target::only("take".parse().unwrap())]);
        let fields = TriggerFields::Queue(QueueFields { targets, ..fields });
        let (app, name) = (AppName::default_app(), "orders".parse().unwrap());
        let at = (&app, Some(&name));
        folio.set_trigger(&self.caller, at, fields, (onto, None)).await.unwrap();
    }

    /// Deletes the trigger `orders`.
    pub(crate) async fn delete(&self, folio: &Folio) {
        let (app, name) = (AppName::default_app(), "orders".parse().unwrap());
        folio.delete_trigger(&self.caller, (&app, &name), None).await.unwrap();
    }
}
