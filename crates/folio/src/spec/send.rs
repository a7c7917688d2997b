//! Sends a spec to the server: its archives first, only what is missing of them, then its manifests at once. Those
//! that the server was sent before are only named.

use anyhow::Result;
use folio_core::apply::{Applied, Document, Form, KnownDocument, Others, Rest};
use folio_core::view::Done;
use folio_model::{AppName, Digest, Git, Owner};
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;

use super::directory::{Said, Side, Spec};
use super::files::{self, Contents};
use super::memory::Lesson;
use crate::client::{self, Change};
use crate::command::Session;

/// What is to be done with a spec.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// The app it is for.
    pub(crate) app: AppName,
    /// Whose it is.
    pub(crate) deployment: Owner,
    /// What becomes of functions and packages that differ.
    pub(crate) form: Form,
    /// What becomes of what it no longer asks for.
    pub(crate) rest: Rest,
    /// What becomes of what others own.
    pub(crate) others: Others,
    /// Whether only what would happen is to be said.
    pub(crate) dry_run: bool,
    /// Where it stands in git.
    pub(crate) git: Option<Git>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    deployment: &'a Owner,
    documents: Vec<Document>,
    known: Vec<KnownDocument>,
    form: Form,
    rest: Rest,
    others: Others,
    dry_run: bool,
}

/// Uploads what is missing and applies the manifests.
pub(crate) async fn send(session: &Session, spec: &Spec, wanted: &Wanted) -> Result<Done<Applied>> {
    upload(session, spec).await?.apply(session, wanted).await
}

/// A spec whose files are on the server.
pub(crate) struct Uploaded {
    documents: Documents,
    lesson: Option<Lesson>,
}

/// Uploads the files of a spec, as far as the server lacks them.
pub(crate) async fn upload(session: &Session, spec: &Spec) -> Result<Uploaded> {
    let contents = files::upload(session, spec).await?;
    let documents = Documents::of(spec, contents);
    let memory = spec.memory.as_ref();
    let lesson = memory.and_then(|memory| memory.lesson(spec, &documents.digests));
    Ok(Uploaded { documents, lesson })
}

impl Uploaded {
    /// Applies the manifests.
    pub(crate) async fn apply(self, session: &Session, wanted: &Wanted) -> Result<Done<Applied>> {
        let request = Request {
            deployment: &wanted.deployment,
            documents: self.documents.written,
            known: self.documents.known,
            form: wanted.form,
            rest: wanted.rest,
            others: wanted.others,
            dry_run: wanted.dry_run,
        };
        let change = Change::new(Method::POST).body(&request)?.git(wanted.git.clone());
        let path = ["apps", wanted.app.as_str(), "deployments"];
        let done = session.client.change(&path, change).await?;
        if let Some(lesson) = self.lesson.filter(|_| !wanted.dry_run) {
            lesson.keep();
        }
        Ok(done)
    }
}

/// Whether the server no longer has something that it was sent before.
pub(crate) fn is_forgotten(error: &anyhow::Error) -> bool {
    client::is_missing(error) || client::is_forgotten(error)
}

/// The manifests with their files.
#[derive(Default)]
struct Documents {
    written: Vec<Document>,
    known: Vec<KnownDocument>,
    /// What every manifest is named by.
    digests: Vec<Digest>,
}

impl Documents {
    fn of(spec: &Spec, contents: Contents) -> Self {
        let mut documents = Self::default();
        for (manifest, [source, deployment]) in spec.manifests.iter().zip(contents) {
            let digest = match &manifest.said {
                Said::Before(before) => {
                    let digest = before.digest;
                    documents.known.push(KnownDocument { digest, source, deployment });
                    digest
                }
                Said::Now(value) => {
                    let (at, manifest) = (manifest.at.clone(), without_bytes(value));
                    let document = Document { at, manifest, source, deployment };
                    let digest = document.digest();
                    documents.written.push(document);
                    digest
                }
            };
            documents.digests.push(digest);
        }
        documents
    }
}

/// A manifest without bytes of its own.
fn without_bytes(manifest: &Value) -> Value {
    let mut manifest = manifest.clone();
    for side in Side::ALL {
        if let Some(part) = manifest["spec"].get_mut(side.word()).and_then(Value::as_object_mut) {
            part.remove("literal");
        }
    }
    manifest
}
