//! A platform with its API, and a client that checks every answer it gets.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use folio_api::{NODES_MEDIA_TYPE, router};
use folio_core::logs::Logs;
use folio_core::{Folio, Limits, Settings};
use folio_model::{Digest, Tree, TreeEntry};
use folio_store::{DataDirectory, MemoryIndex, MemoryLedger, MemoryQueue, PackOptions, PackStore};
use folio_testkit::clock::TestClock;
use folio_testkit::vault::TestVault;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use crate::contract;
use crate::runtime::Echo;

pub(crate) const APP: &str = "/folio/v1/apps/default";
pub(crate) const FUNCTIONS: &str = "/folio/v1/apps/default/functions";

pub(crate) struct World {
    pub(crate) folio: Folio,
    pub(crate) token: String,
    pub(crate) router: Router,
    seen: Mutex<BTreeSet<(String, String)>>,
    directory: Option<TempDir>,
}

impl World {
    /// Everything in memory.
    pub(crate) async fn memory() -> Self {
        Self::limited(Limits::default()).await
    }

    /// Everything in memory, with other limits.
    pub(crate) async fn limited(limits: Limits) -> Self {
        Self::timed(limits).await.0
    }

    /// Everything in memory, with other limits, and the clock that it goes by.
    pub(crate) async fn timed(limits: Limits) -> (Self, Arc<TestClock>) {
        let clock = Arc::new(TestClock::new(7));
        let (index, options) = (MemoryIndex::default(), PackOptions { grace: Duration::ZERO });
        let blobs = PackStore::in_memory(index.clone(), clock.clone(), options).await.unwrap();
        let settings = Settings { limits, grace: Duration::ZERO, ..Settings::default() };
        let ledger = Arc::new(MemoryLedger::new(index));
        let folio = Folio::new(ledger, Arc::new(blobs), clock.clone(), settings);
        (Self::new(folio, None).await, clock)
    }

    /// Everything in a data directory of its own.
    pub(crate) async fn directory() -> Self {
        let clock = Arc::new(TestClock::new(7));
        let place = tempfile::tempdir().unwrap();
        let opened = DataDirectory::open(place.path(), clock.clone(), Duration::ZERO).await;
        let DataDirectory { ledger, blobs, .. } = opened.unwrap();
        let settings = Settings { grace: Duration::ZERO, ..Settings::default() };
        let folio = Folio::new(ledger, blobs, clock, settings);
        Self::new(folio, Some(place)).await
    }

    async fn new(folio: Folio, directory: Option<TempDir>) -> Self {
        let logs = Arc::new(Logs::new(64 * 1024));
        let folio = folio.with_vault(Arc::new(TestVault));
        let queue = Arc::new(MemoryQueue::default());
        let folio = folio.with_runtime(Arc::new(Echo), queue.clone(), logs);
        let folio = folio.with_executions(queue);
        let token = folio.draw_token();
        folio.admit(&"ada".parse().unwrap(), &token).await.unwrap();
        Self::with(folio, token.reveal(), directory)
    }

    /// A platform as it is, which need not work.
    pub(crate) fn with(folio: Folio, token: String, directory: Option<TempDir>) -> Self {
        let router = router(folio.clone());
        Self { folio, token, router, seen: Mutex::default(), directory }
    }

    /// Where everything is.
    pub(crate) fn place(&self) -> &std::path::Path {
        self.directory.as_ref().expect("it is in a directory").path()
    }

    /// The operations that have answered with success so far.
    pub(crate) fn seen(&self) -> BTreeSet<(String, String)> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn call(&self, method: &str, path: &str) -> Call<'_> {
        let headers = vec![("authorization".to_owned(), format!("Bearer {}", self.token))];
        Call {
            world: self,
            method: method.to_owned(),
            path: path.to_owned(),
            headers,
            body: Body::empty(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call("GET", path).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.call("POST", path).json(&body).send().await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.call("DELETE", path).send().await
    }

    /// Uploads one file and names it as content.
    pub(crate) async fn code(&self, text: &str) -> Value {
        let (tree, body) = one_file("main.js", text);
        self.call("POST", "/folio/v1/blobs").nodes(body).send().await.ok();
        json!({ "environment": "nodejs", "deployment": { "tree": tree, "layout": "file" } })
    }

    /// Publishes a function made of one file.
    pub(crate) async fn publish(&self, name: &str, id: &str, text: &str) -> Value {
        let body = json!({ "fields": self.code(text).await, "id": id });
        self.post(&format!("{FUNCTIONS}/{name}/versions"), body).await.made()
    }

    /// How many entries the ledger has.
    pub(crate) fn entries(&self) -> u64 {
        *self.folio.head().borrow()
    }
}

/// A tree that holds one file, and the upload that brings it.
pub(crate) fn one_file(name: &str, text: &str) -> (Digest, Vec<u8>) {
    let digest = Digest::of(text.as_bytes());
    let bytes = text.len() as u64;
    let name = name.parse().unwrap();
    let tree = Tree::new(vec![TreeEntry::File { name, digest, bytes, executable: false }]);
    let tree = tree.unwrap().encode();
    let root = Digest::of(&tree);
    (root, frames(&[(0, digest, text.as_bytes()), (2, root, &tree)]))
}

/// Nodes as the body of an upload.
pub(crate) fn frames(nodes: &[(u8, Digest, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, digest, bytes) in nodes {
        body.push(*kind);
        body.extend(digest.as_bytes());
        body.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
        body.extend(*bytes);
    }
    body.push(0xFF);
    body.extend(u32::try_from(nodes.len()).unwrap().to_be_bytes());
    body
}

/// A request being written.
pub(crate) struct Call<'a> {
    world: &'a World,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Body,
}

impl Call<'_> {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn anonymous(mut self) -> Self {
        self.headers.retain(|(name, _)| name != "authorization");
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn nodes(self, body: impl Into<Body>) -> Self {
        self.header("content-type", NODES_MEDIA_TYPE).body(body)
    }

    pub(crate) fn body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends it, and holds the answer against the document.
    pub(crate) async fn send(self) -> Reply {
        let mut request = Request::builder().method(self.method.as_str()).uri(&self.path);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(self.body).unwrap();
        let path = request.uri().path().to_owned();
        let response = self.world.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        assert!(headers.contains_key("folio-request-id"), "{} {path}: no id", self.method);
        if self.method != "HEAD" {
            contract::check(&self.method, &path, status, &bytes);
        }
        if status.is_success()
            && let Some(operation) = contract::operation(&self.method, &path)
        {
            self.world.seen.lock().unwrap().insert(operation);
        }
        Reply { status, headers, bytes }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The body of a 200.
    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.bytes));
        self.json()
    }

    /// The body of a 201.
    #[track_caller]
    pub(crate) fn made(&self) -> Value {
        assert_eq!(self.status, 201, "{}", String::from_utf8_lossy(&self.bytes));
        self.json()
    }

    /// The error of an answer with this status and code.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        let body = self.json();
        let error = body["error"].clone();
        assert_eq!((self.status.as_u16(), &error["code"]), (status, &json!(code)), "{body:#}");
        assert_eq!(error["requestId"], self.header("folio-request-id"));
        error
    }
}
