//! A platform, and a client that speaks as Qinling's does. Every refusal has to be one it can read.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use folio_core::logs::Logs;
use folio_core::{Folio, Settings};
use folio_store::{MemoryIndex, MemoryLedger, MemoryQueue, PackOptions, PackStore};
use folio_testkit::clock::TestClock;
use folio_testkit::vault::TestVault;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::stub::Stub;
use super::turns::InTurns;
use crate::client::World;

pub(crate) struct Face {
    pub(crate) world: World,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) stub: Arc<Stub>,
    router: Router,
    token: String,
}

/// An answer: its status, its type and its body.
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) disposition: String,
}

impl Said {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|_| panic!("{} {}", self.status, String::from_utf8_lossy(&self.bytes)))
    }

    /// The body of an answer with this status.
    #[track_caller]
    pub(crate) fn with(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.bytes));
        if self.bytes.is_empty() { Value::Null } else { self.json() }
    }

    /// Holds a refusal against a status and a sentence.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, text: &str) {
        let body = self.with(status);
        assert_eq!(self.kind, "application/json");
        let said = body["faultstring"].as_str().unwrap_or_else(|| panic!("{body}"));
        assert!(said.contains(text), "{said:?} is not {text:?}");
    }
}

impl Face {
    pub(crate) async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    /// One with other settings.
    pub(crate) async fn with(settings: Settings) -> Self {
        let clock = Arc::new(TestClock::new(7));
        let (index, options) = (MemoryIndex::default(), PackOptions { grace: Duration::ZERO });
        let blobs = PackStore::in_memory(index.clone(), clock.clone(), options).await.unwrap();
        let settings = Settings { grace: Duration::ZERO, ..settings };
        let ledger = Arc::new(InTurns(MemoryLedger::new(index)));
        let folio = Folio::new(ledger, Arc::new(blobs), clock.clone(), settings);
        let logs = Arc::new(Logs::new(64 * 1024));
        let (stub, queue) = (Arc::new(Stub::new(logs.clone())), Arc::new(MemoryQueue::default()));
        let folio = folio.with_runtime(stub.clone(), queue.clone(), logs).with_executions(queue);
        let folio = folio.with_vault(Arc::new(TestVault));
        let token = folio.draw_token();
        folio.admit(&"ada".parse().unwrap(), &token).await.unwrap();
        let world = World::with(folio, token.reveal(), None);
        let (router, token) = (world.router.clone(), world.token.clone());
        Self { world, clock, stub, router, token }
    }

    /// Lets time pass, has what is due started, and waits for every execution's end.
    pub(crate) async fn pass(&self, seconds: i64) {
        self.clock.jump(seconds);
        self.world.folio.take_jobs().await.unwrap();
        let ended = async {
            let running = async || self.get("/executions?status=running").await.with(200);
            while running().await["executions"] != json!([]) {
                tokio::task::yield_now().await;
            }
        };
        self.world.folio.run_executions(ended).await.unwrap();
    }

    /// The executions whose description has a text.
    pub(crate) async fn described(&self, text: &str) -> Vec<Value> {
        let text = text.replace(' ', "%20");
        let listed = self.get(&format!("/executions?description=has:{text}")).await.with(200);
        listed["executions"].as_array().unwrap().clone()
    }

    /// What an execution printed.
    pub(crate) async fn log(&self, execution: &Value) -> String {
        let said = self.get(&format!("/executions/{}/log", id(execution))).await;
        assert_eq!(said.status, 200);
        String::from_utf8(said.bytes).unwrap()
    }

    /// The same for whoever has another token.
    pub(crate) fn acting(self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Said {
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let header = |name: &str| {
            let value = answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            value.unwrap_or_default()
        };
        let (status, kind) = (answer.status().as_u16(), header("content-type"));
        let disposition = header("content-disposition");
        let bytes = answer.into_body().collect().await.unwrap().to_bytes().to_vec();
        if status >= 400 {
            let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let readable = kind == "application/json" && body["faultstring"].is_string();
            assert!(readable, "{status} {kind} {}", String::from_utf8_lossy(&bytes));
        }
        Said { status, kind, bytes, disposition }
    }

    fn request(&self, method: &str, path: &str) -> axum::http::request::Builder {
        let request = Request::builder().method(method).uri(format!("/v1{path}"));
        request.header("x-auth-token", &self.token).header("host", "folio.test:7070")
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: &str) -> Said {
        let request = self.request(method, path).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Said {
        self.call("GET", path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Said {
        self.call("POST", path, &body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Said {
        self.call("PUT", path, &body.to_string()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Said {
        self.call("DELETE", path, "").await
    }

    /// Sends a form with a package, as the client does.
    pub(crate) async fn form(
        &self,
        (method, path): (&str, &str),
        fields: &[(&str, &str)],
        package: Option<&[u8]>,
    ) -> Said {
        let mut body = Vec::new();
        for (name, value) in fields {
            let part = format!(
                "--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            );
            body.extend(part.into_bytes());
        }
        if let Some(package) = package {
            body.extend(
                b"--b\r\nContent-Disposition: form-data; name=\"package\"; filename=\"f.zip\"\r\n\r\n",
            );
            body.extend(package);
            body.extend(b"\r\n");
        }
        body.extend(b"--b--\r\n");
        let request = self.request(method, path);
        let request = request.header("content-type", "multipart/form-data; boundary=b");
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    /// The id of a runtime for python.
    pub(crate) async fn runtime(&self) -> String {
        let image = json!({ "image": "openstackqinling/python3-runtime", "name": "python3" });
        let made = self.post("/runtimes", image).await.with(201);
        made["id"].as_str().unwrap().to_owned()
    }

    /// A function made of one file; its id.
    pub(crate) async fn function(&self, text: &str) -> String {
        let runtime = self.runtime().await;
        let fields =
            [("runtime_id", &*runtime), ("code", "{\"source\": \"package\"}"), ("name", "f1")];
        let made = self.form(("POST", "/functions"), &fields, Some(&zip(text))).await.with(201);
        made["id"].as_str().unwrap().to_owned()
    }

    /// Gives a function other code.
    pub(crate) async fn change(&self, id: &str, text: &str) {
        let at = format!("/functions/{id}");
        let fields = [("source", "package")];
        self.form(("PUT", &at), &fields, Some(&zip(text))).await.with(200);
    }

    /// Publishes a version; its number.
    pub(crate) async fn publish(&self, id: &str) -> u64 {
        let made = self.post(&format!("/functions/{id}/versions"), json!({})).await.with(201);
        made["version_number"].as_u64().unwrap()
    }
}

/// The id of something that was made or found.
pub(crate) fn id(of: &Value) -> &str {
    of["id"].as_str().unwrap_or_else(|| panic!("{of}"))
}

/// A zip with one file `main.py`, stored as it is.
pub(crate) fn zip(text: &str) -> Vec<u8> {
    let (name, data) = (b"main.py", text.as_bytes());
    let size = u32::try_from(data.len()).unwrap().to_le_bytes();
    let crc = crc32(data).to_le_bytes();
    let length = u16::try_from(name.len()).unwrap().to_le_bytes();
    let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &crc, &size, &size, &length, &[0, 0]];
    let common = common.concat();
    let mut zip = [b"PK\x03\x04", &*common, name, data].concat();
    let at = u32::try_from(zip.len()).unwrap();
    let entry = [b"PK\x01\x02\x14\x00", &*common, &[0; 14], name].concat();
    let entry_size = u32::try_from(entry.len()).unwrap();
    zip.extend(entry);
    zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    zip.extend([entry_size.to_le_bytes(), at.to_le_bytes()].concat());
    zip.extend([0, 0]);
    zip
}

fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 }
        })
    };
    !data.iter().fold(!0, step)
}
