//! A platform in memory with a gateway in front.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use folio_core::environment::EnvironmentFields;
use folio_core::logs::Logs;
use folio_core::request::{AliasTarget, Expect, Fields, Onto, Publish};
use folio_core::route::RouteFields;
use folio_core::{Caller, Folio};
use folio_gateway::{GatewayLimits, Settings, Totals};
use folio_model::{AppName, Kind, RoutePath, RuntimeKind, Target, UnitKey};
use folio_store::{MemoryIndex, MemoryLedger, MemoryQueue, PackOptions, PackStore};
use folio_testkit::clock::TestClock;
use folio_testkit::sample;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::runtime::Stub;

pub(crate) struct World {
    pub(crate) folio: Folio,
    pub(crate) runtime: Arc<Stub>,
    pub(crate) address: SocketAddr,
    pub(crate) totals: Arc<Totals>,
    stop: Option<oneshot::Sender<()>>,
    gateway: JoinSet<()>,
    pub(crate) stores: Stores,
}

/// What outlives a platform.
#[derive(Clone)]
pub(crate) struct Stores {
    ledger: Arc<MemoryLedger>,
    pub(crate) blobs: Arc<PackStore>,
    clock: Arc<TestClock>,
}

impl Stores {
    fn folio(&self) -> (Folio, Arc<Stub>) {
        let Self { ledger, blobs, clock } = self.clone();
        let (runtime, queue) = (Arc::new(Stub::default()), Arc::new(MemoryQueue::default()));
        let folio = Folio::new(ledger, blobs, clock, folio_core::Settings::default())
            .with_runtime(runtime.clone(), queue.clone(), Arc::new(Logs::new(1024)))
            .with_executions(queue);
        (folio, runtime)
    }
}

/// The settings of tests: short waits, and a domain.
pub(crate) fn settings() -> Settings {
    Settings {
        domain: Some("d.test".to_owned()),
        limits: GatewayLimits { drain: Duration::from_secs(20), ..GatewayLimits::default() },
        ..Settings::default()
    }
}

pub(crate) fn caller() -> Caller {
    Caller::new("ada".parse().unwrap())
}

pub(crate) fn exact(path: &str) -> RoutePath {
    RoutePath::Exact(path.to_owned())
}

pub(crate) fn prefix(path: &str) -> RoutePath {
    RoutePath::Prefix { path: path.to_owned(), keep: false }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(settings()).await
    }

    /// A platform with function `echo` at version `v1`, and no routes.
    pub(crate) async fn with(settings: Settings) -> Self {
        let clock = Arc::new(TestClock::new(7));
        let (index, options) = (MemoryIndex::default(), PackOptions { grace: Duration::ZERO });
        let blobs = PackStore::in_memory(index.clone(), clock.clone(), options).await.unwrap();
        let (ledger, blobs) = (Arc::new(MemoryLedger::new(index)), Arc::new(blobs));
        let stores = Stores { ledger, blobs, clock };
        let (folio, runtime) = stores.folio();
        folio.admit(&caller().actor, &folio.draw_token()).await.unwrap();
        let world = Self::serve((stores, folio, runtime), settings).await;
        world.publish("echo", "v1").await;
        world
    }

    /// The same after a restart: what was known is read again.
    pub(crate) async fn again(&self) -> Self {
        let (folio, runtime) = self.stores.folio();
        Self::serve((self.stores.clone(), folio, runtime), settings()).await
    }

    async fn serve(
        (stores, folio, runtime): (Stores, Folio, Arc<Stub>),
        settings: Settings,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let totals = Arc::clone(&settings.totals);
        let mut gateway = JoinSet::new();
        gateway.spawn(folio_gateway::serve(listener, folio.clone(), settings, async {
            let _ = stopped.await;
        }));
        Self { folio, runtime, address, totals, stop: Some(stop), gateway, stores }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    /// Publishes a version, whose content differs from all others.
    pub(crate) async fn publish(&self, function: &str, id: &str) {
        self.publish_in(function, id, "nodejs").await;
    }

    async fn publish_in(&self, function: &str, id: &str, environment: &str) {
        let text = format!("{function} {id}");
        let fields = Fields {
            environment: Some(environment.parse().unwrap()),
            deployment: Some(sample::file(&self.folio, "main.js", &text).await),
            ..Fields::default()
        };
        let request = Publish { id: Some(id.parse().unwrap()), ..Publish::fresh(fields) };
        self.folio.publish(&caller(), &key(function), request).await.unwrap();
    }

    /// Publishes a version that has to be built first.
    pub(crate) async fn publish_source(&self, function: &str, id: &str) {
        let fields = Fields {
            environment: Some("nodejs".parse().unwrap()),
            source: Some(sample::directory(&self.folio, &[("main.js", "source")]).await),
            build_command: Some("./build.sh".to_owned()),
            ..Fields::default()
        };
        let request = Publish { id: Some(id.parse().unwrap()), ..Publish::fresh(fields) };
        self.folio.publish(&caller(), &key(function), request).await.unwrap();
    }

    /// Publishes a function whose environment is a server of its own.
    pub(crate) async fn publish_command(&self, function: &str) {
        let fields = EnvironmentFields {
            runtime: Some(RuntimeKind::Command),
            command: Some("server".to_owned()),
            ..EnvironmentFields::default()
        };
        let environment = UnitKey { kind: Kind::Environment, ..key("server") };
        self.folio
            .set_environment(&caller(), &environment, fields, (Onto::Nothing, None))
            .await
            .unwrap();
        self.publish_in(function, "v1", "server").await;
    }

    /// Points an alias at versions with shares.
    pub(crate) async fn point(
        &self,
        function: &str,
        alias: &str,
        targets: &[(&str, u32)],
        expect: Expect,
    ) {
        let target = |(version, weight): &(&str, u32)| AliasTarget {
            version: version.parse().unwrap(),
            weight: *weight,
        };
        let targets = targets.iter().map(target).collect();
        let alias = alias.parse().unwrap();
        self.folio.point(&caller(), (&key(function), &alias), targets, expect).await.unwrap();
    }

    /// Makes a route to one function.
    pub(crate) async fn route(&self, path: RoutePath, function: &str) {
        self.route_with(path, function, RouteFields::default()).await;
    }

    /// Makes a route to one function, with more fields.
    pub(crate) async fn route_with(&self, path: RoutePath, function: &str, fields: RouteFields) {
        let targets = vec![Target::only(function.parse().unwrap())];
        let fields = RouteFields { path: Some(path), targets: Some(targets), ..fields };
        self.set_route(None, fields, Onto::Nothing).await;
    }

    pub(crate) async fn set_route(&self, name: Option<&str>, fields: RouteFields, onto: Onto) {
        let name = name.map(|name| name.parse().unwrap());
        let app = AppName::default_app();
        self.folio.set_route(&caller(), (&app, name.as_ref()), fields, (onto, None)).await.unwrap();
    }

    /// Tells the gateway to stop.
    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().expect("it is stopped once").send(());
    }

    /// Waits until the gateway has stopped.
    pub(crate) async fn stopped(&mut self) {
        self.gateway.join_next().await.unwrap().unwrap();
    }
}

pub(crate) fn key(function: &str) -> UnitKey {
    UnitKey { app: AppName::default_app(), kind: Kind::Function, name: function.parse().unwrap() }
}
