//! Speaks the control API directly, so that a test knows exactly what was acknowledged.

use std::time::Duration;

use folio_model::{Digest, Tree, TreeEntry};
use reqwest::{Client as Http, Method, StatusCode};
use serde_json::{Value, json};

/// One client of one server.
#[derive(Clone)]
pub(super) struct Client {
    http: Http,
    url: String,
    token: String,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// Done, for ever.
    Acknowledged(Value),
    /// Refused, with its code.
    Refused(StatusCode, Value),
    /// Nobody knows: the connection broke.
    Unknown,
}

impl Client {
    pub(super) fn new(url: &str, token: &str) -> Self {
        // Without this the client panics: it knows several providers of TLS, and none by itself.
        drop(rustls::crypto::ring::default_provider().install_default());
        let http = Http::builder().timeout(Duration::from_secs(20)).build().unwrap();
        Self { http, url: url.to_owned(), token: token.to_owned() }
    }

    /// Sends a request under an idempotency key.
    pub(super) async fn send(&self, method: Method, path: &str, body: &Value, key: &str) -> Answer {
        let request = self
            .http
            .request(method, format!("{}/folio/v1{path}", self.url))
            .bearer_auth(&self.token)
            .header("Idempotency-Key", key);
        let request = if body.is_null() { request } else { request.json(body) };
        answer(request).await
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        let request =
            self.http.get(format!("{}/folio/v1{path}", self.url)).bearer_auth(&self.token);
        answer(request).await
    }

    /// Uploads one file and returns the tree that holds it, or nothing if the connection broke.
    pub(super) async fn upload(&self, text: &str) -> Option<Digest> {
        let digest = Digest::of(text.as_bytes());
        let entry = TreeEntry::File {
            name: "main.js".parse().unwrap(),
            digest,
            bytes: text.len() as u64,
            executable: false,
        };
        let tree = Tree::new(vec![entry]).unwrap().encode();
        let root = Digest::of(&tree);
        let mut body = Vec::new();
        for (kind, digest, bytes) in [(0, digest, text.as_bytes()), (2, root, &tree)] {
            body.push(kind);
            body.extend_from_slice(digest.as_bytes());
            body.extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_be_bytes());
            body.extend_from_slice(bytes);
        }
        body.push(0xFF);
        body.extend_from_slice(&2_u32.to_be_bytes());
        let request = self
            .http
            .post(format!("{}/folio/v1/blobs", self.url))
            .bearer_auth(&self.token)
            .header("Content-Type", "application/vnd.folio.nodes")
            .body(body);
        match answer(request).await {
            Answer::Acknowledged(_) => Some(root),
            Answer::Refused(status, said) => panic!("an upload was refused: {status} {said}"),
            Answer::Unknown => None,
        }
    }

    /// Publishes a function version made of new bytes. Nothing is kept that no version uses yet, so a sweep may come
    /// between the upload and the publish; both are repeated then, as the command line does.
    pub(super) async fn publish(&self, function: &str, id: &str, key: &str) -> Answer {
        loop {
            let Some(tree) = self.upload(&content(function, id)).await else {
                return Answer::Unknown;
            };
            let deployment = json!({ "tree": tree, "layout": "file" });
            let fields = json!({ "environment": "nodejs", "deployment": deployment });
            let body = json!({ "start": "fresh", "id": id, "fields": fields });
            let path = format!("/apps/default/functions/{function}/versions");
            match self.send(Method::POST, &path, &body, key).await {
                Answer::Refused(_, said) if said["error"]["code"] == "missing_blob" => {}
                other => return other,
            }
        }
    }
}

/// What a version is made of. About every other one makes a pack that is too large to be kept in the database.
fn content(function: &str, id: &str) -> String {
    let mut text = format!("{function} {id}");
    let mut link = Digest::of(text.as_bytes());
    let links = if link.as_bytes()[0].is_multiple_of(2) { 0 } else { 3_000 };
    for _ in 0..links {
        link = Digest::of(link.as_bytes());
        text.push_str(&link.hex());
    }
    text
}

async fn answer(request: reqwest::RequestBuilder) -> Answer {
    let Ok(response) = request.send().await else { return Answer::Unknown };
    let status = response.status();
    match response.json().await {
        Ok(body) if status.is_success() => Answer::Acknowledged(body),
        Ok(body) => Answer::Refused(status, body),
        Err(_) => Answer::Unknown,
    }
}
