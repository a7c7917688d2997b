//! A server's wasm environment without the server: versions from bytes, requests without HTTP.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use folio_core::logs::{Line, Logs};
use folio_core::ports::runtime::{
    Call, CallError, Invoke, Plan, RequestId, RunLimits, Stage as At, Variables,
};
use folio_core::ports::{Body, SystemClock};
use folio_model::{Content, Digest, EnvironmentSpec, Layout, Network, RuntimeKind, UnitUid};
use folio_run::wasm::{Outside, Settings, Source, Wasm};
use http_body_util::BodyExt as _;

pub(super) const MIB: u64 = 1024 * 1024;

/// A wasm environment and the directory it lives in.
pub(super) struct Stage {
    pub(super) wasm: Wasm,
    pub(super) logs: Arc<Logs>,
    pub(super) invoke: Arc<OnceLock<Invoke>>,
    directory: tempfile::TempDir,
}

/// A version and its code.
pub(super) struct Version {
    pub(super) plan: Arc<Plan>,
    pub(super) path: PathBuf,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self::with(Settings { instances_max: 20, ..Settings::default() })
    }

    pub(super) fn with(settings: Settings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let logs = Arc::new(Logs::new(4 * 1024 * 1024));
        let cache = directory.path().join("cache");
        let invoke = Arc::new(OnceLock::new());
        let outside = Outside {
            logs: Arc::clone(&logs),
            clock: Arc::new(SystemClock),
            invoke: Arc::clone(&invoke),
        };
        let wasm = Wasm::new(cache, outside, settings).unwrap();
        Self { wasm, logs, invoke, directory }
    }

    /// A version that runs these bytes.
    pub(super) fn version(&self, code: &[u8]) -> Version {
        let path = self.directory.path().join(format!("{}.wasm", Digest::of(code).short()));
        std::fs::write(&path, code).unwrap();
        Version { plan: Arc::new(plan(code)), path }
    }

    /// A version that runs the only file of a directory.
    pub(super) fn package(&self, code: &[u8]) -> Version {
        let path = self.directory.path().join("package");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("function.wasm"), code).unwrap();
        Version { plan: Arc::new(plan(code)), path }
    }

    pub(super) async fn call(
        &self,
        version: &Version,
        request: http::Request<Body>,
    ) -> Result<http::Response<Body>, CallError> {
        let path = version.path.clone();
        let call = Call {
            id: RequestId(7),
            request,
            parameters: Vec::new(),
            original: None,
            hops: 2,
            release: None,
        };
        let code = || async { Ok(Source { path, keep: None }) };
        self.wasm.call(&version.plan, code, call).await
    }

    pub(super) async fn get(
        &self,
        version: &Version,
        path: &str,
    ) -> Result<http::Response<Body>, CallError> {
        self.call(version, get(path)).await
    }

    /// The whole answer to a GET.
    pub(super) async fn text(&self, version: &Version, path: &str) -> String {
        let answer = self.get(version, path).await.unwrap();
        String::from_utf8(read(answer.into_body()).await.unwrap().to_vec()).unwrap()
    }

    pub(super) fn lines(&self, version: &Version) -> Vec<Line> {
        self.logs.after(&version.plan.app, &version.plan.function, 0).0
    }

    /// Waits until the log holds a line with a text.
    pub(super) async fn logged(&self, version: &Version, text: &str) -> Line {
        let (app, function) = (&version.plan.app, &version.plan.function);
        loop {
            let (lines, mut more) = self.logs.after(app, function, 0);
            if let Some(line) = lines.into_iter().find(|line| line.text.contains(text)) {
                return line;
            }
            let waited = tokio::time::timeout(Duration::from_secs(20), more.changed()).await;
            waited.unwrap_or_else(|_| panic!("no line says {text:?}")).unwrap();
        }
    }
}

impl Version {
    /// The same code under another plan.
    pub(super) fn change(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        let mut plan = Plan::clone(&self.plan);
        change(&mut plan);
        self.plan = Arc::new(plan);
        self
    }
}

pub(super) fn get(path: &str) -> http::Request<Body> {
    http::Request::get(path).body(Body::Empty).unwrap()
}

pub(super) fn post(body: impl Into<Body>) -> http::Request<Body> {
    http::Request::post("/").body(body.into()).unwrap()
}

pub(super) async fn read(body: Body) -> Result<Bytes, String> {
    Ok(body.collect().await.map_err(|error| error.to_string())?.to_bytes())
}

fn plan(code: &[u8]) -> Plan {
    Plan {
        access: folio_model::Access::Public,
        app: "default".parse().unwrap(),
        function: "hello".parse().unwrap(),
        unit: UnitUid(uuid::Uuid::from_u128(1)),
        at: At::Draft,
        digest: Digest::of(code),
        environment: "wasm".parse().unwrap(),
        spec: EnvironmentSpec { network: Network::None, ..EnvironmentSpec::of(RuntimeKind::Wasm) },
        code: Content { tree: Digest::of(code), layout: Layout::File },
        entrypoint: None,
        variables: Variables::default(),
        files: Vec::new(),
        limits: RunLimits {
            timeout: Duration::from_secs(20),
            memory_bytes: 64 * MIB,
            cpu_millis: None,
            concurrency: 1,
            idle: Duration::from_secs(60),
            scale_min: 0,
            scale_max: 16,
            requests_per_worker: None,
        },
        meter: Arc::default(),
    }
}
