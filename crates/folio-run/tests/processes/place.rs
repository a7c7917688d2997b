//! A place to run things in: a run directory, a jail, blobs in memory, and plans for functions.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use folio_core::content::{FileEntry, TreeBuilder, chunk};
use folio_core::logs::Logs;
use folio_core::ports::runtime::{
    Call, CallError, Invoke, Plan, RequestId, RunLimits, RuntimePorts, Stage, Variables,
};
use folio_core::ports::{Blobs, Body, SystemClock};
use folio_model::{Content, Digest, EnvironmentSpec, Layout, RuntimeKind, UnitUid};
use folio_run::code::CodeStore;
use folio_run::jail::{Jail, Mode};
use folio_store::{MemoryIndex, PackOptions, PackStore};
use http_body_util::BodyExt as _;

pub(crate) const MIB: u64 = 1024 * 1024;

/// A file on its way into a tree.
pub(crate) struct File<'a> {
    path: &'a str,
    bytes: &'a [u8],
    executable: bool,
}

pub(crate) fn file<'a>(path: &'a str, bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> File<'a> {
    File { path, bytes: bytes.as_ref(), executable: false }
}

pub(crate) fn program<'a>(path: &'a str, bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> File<'a> {
    File { path, bytes: bytes.as_ref(), executable: true }
}

pub(crate) struct Place {
    root: tempfile::TempDir,
    pub(crate) jail: Arc<Jail>,
    pub(crate) codes: Arc<CodeStore>,
    pub(crate) ports: RuntimePorts,
}

impl Place {
    pub(crate) async fn new(mode: Mode) -> Self {
        let root = tempfile::tempdir().unwrap();
        let helper = PathBuf::from(env!("CARGO_BIN_EXE_folio-run-warden"));
        let jail = tokio::task::spawn_blocking(move || Jail::new(helper, mode)).await.unwrap();
        let (index, clock) = (MemoryIndex::default(), Arc::new(SystemClock));
        let blobs = PackStore::in_memory(index, clock, PackOptions::default()).await.unwrap();
        let blobs: Arc<dyn Blobs> = Arc::new(blobs);
        let codes = CodeStore::new(&root.path().join("run"), Arc::clone(&blobs)).unwrap();
        let ports =
            RuntimePorts { blobs, logs: Arc::new(Logs::new(MIB as usize)), invoke: Arc::default() };
        Self { root, jail: Arc::new(jail), codes: Arc::new(codes), ports }
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.root.path().join("run")
    }

    /// A directory of this test.
    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    pub(crate) async fn directory(&self, files: &[File<'_>]) -> Content {
        Content { tree: self.store(files).await, layout: Layout::Directory }
    }

    pub(crate) async fn single(&self, file: File<'_>) -> Content {
        Content { tree: self.store(&[file]).await, layout: Layout::File }
    }

    async fn store(&self, files: &[File<'_>]) -> Digest {
        let mut nodes = Vec::new();
        let mut builder = TreeBuilder::default();
        for File { path, bytes, executable } in files {
            let chunked = chunk(&mut &bytes[..], &mut |node| {
                nodes.push(node);
                Ok(())
            });
            let chunked = chunked.unwrap();
            let entry =
                FileEntry { digest: chunked.digest, bytes: chunked.bytes, executable: *executable };
            builder.insert(&path.parse().unwrap(), entry).unwrap();
        }
        let built = builder.build().unwrap();
        nodes.extend(built.nodes);
        self.ports.blobs.put(nodes).await.unwrap();
        built.root
    }

    /// Waits until the function's log holds a text.
    pub(crate) async fn logged(&self, plan: &Plan, text: &str) {
        loop {
            let (lines, mut more) = self.ports.logs.after(&plan.app, &plan.function, 0);
            if lines.iter().any(|line| line.text.contains(text)) {
                return;
            }
            let waited = tokio::time::timeout(Duration::from_secs(20), more.changed()).await;
            waited.unwrap_or_else(|_| panic!("no line says {text:?}: {lines:?}")).unwrap();
        }
    }
}

pub(crate) fn plan(runtime: RuntimeKind, code: Content, entrypoint: Option<&str>) -> Plan {
    Plan {
        access: folio_model::Access::Public,
        app: "default".parse().unwrap(),
        function: "hello".parse().unwrap(),
        unit: UnitUid(uuid::Uuid::from_u128(1)),
        at: Stage::Draft,
        digest: Digest::of(format!("{code:?} {entrypoint:?}").as_bytes()),
        environment: "environment".parse().unwrap(),
        spec: EnvironmentSpec::of(runtime),
        code,
        entrypoint: entrypoint.map(str::to_owned),
        variables: Variables::default(),
        files: Vec::new(),
        limits: RunLimits {
            timeout: Duration::from_secs(20),
            memory_bytes: 512 * MIB,
            cpu_millis: None,
            concurrency: 8,
            idle: Duration::from_secs(60),
            scale_min: 0,
            scale_max: 4,
            requests_per_worker: None,
        },
        meter: Arc::default(),
    }
}

pub(crate) fn call(request: http::Request<Body>) -> Call {
    Call {
        id: RequestId(7),
        request,
        parameters: Vec::new(),
        original: None,
        hops: 0,
        release: None,
    }
}

pub(crate) fn get(path: &str) -> Call {
    call(http::Request::get(path).body(Body::Empty).unwrap())
}

pub(crate) fn post(path: &str, body: impl Into<Bytes>) -> Call {
    call(http::Request::post(path).body(Body::from(body.into())).unwrap())
}

pub(crate) async fn text(answer: http::Response<Body>) -> String {
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What functions called through their socket.
#[derive(Clone, Default)]
pub(crate) struct Calls(pub(super) Arc<Mutex<Vec<String>>>);

impl Calls {
    /// Answers every call with what it was.
    pub(crate) fn answering(&self) -> Invoke {
        let calls = self.clone();
        Arc::new(move |asking, reference, call| {
            let calls = calls.clone();
            Box::pin(async move {
                let line = format!(
                    "{}/{} calls {reference} {} {} hops {} id {}",
                    asking.app,
                    asking.function,
                    call.request.method(),
                    call.request.uri(),
                    call.hops,
                    call.id.0
                );
                let body = call.request.into_body().collect().await;
                let body = body.map_err(|error| CallError::Body(error.0))?.to_bytes();
                let answer = format!("{line}: {}", String::from_utf8_lossy(&body));
                calls.0.lock().unwrap().push(line);
                Ok(http::Response::new(Body::from(Bytes::from(answer))))
            })
        })
    }
}
