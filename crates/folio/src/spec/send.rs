//! Sends a spec to the server: its archives first, only what is missing of them, then its manifests at once. Those
//! that the server was sent before are only named.

use anyhow::Result;
use folio_core::apply::{Applied, Document, Form, KnownDocument, Others, Rest};
use folio_core::request::ContentRef;
use folio_core::view::Done;
use folio_model::{AppName, Digest, Git, Owner};
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;

use super::again::{self, Draft, Whose};
use super::directory::{Said, Side, Spec};
use super::files;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<Digest>,
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
pub(crate) struct Uploaded<'a> {
    spec: &'a Spec,
    documents: Documents,
    lesson: Option<Lesson>,
    draft: Option<Draft>,
}

/// Uploads the files of a spec, as far as the server lacks them.
pub(crate) async fn upload<'a>(session: &Session, spec: &'a Spec) -> Result<Uploaded<'a>> {
    let on_server = files::upload(session, spec).await?;
    let (documents, digests) = Documents::of(spec, &on_server.contents);
    let memory = spec.memory.as_ref();
    let lesson = memory.and_then(|memory| memory.lesson(spec, &digests));
    let draft = again::draft(spec, &digests, &on_server);
    Ok(Uploaded { spec, documents, lesson, draft })
}

impl Uploaded<'_> {
    /// Applies the manifests.
    pub(crate) async fn apply(self, session: &Session, wanted: &Wanted) -> Result<Done<Applied>> {
        let Self { spec, documents, lesson, draft } = self;
        let done = ask(session, wanted, documents).await?;
        if wanted.dry_run {
            return Ok(done);
        }
        lesson.iter().for_each(Lesson::keep);
        if let (Some(draft), Some(base)) = (draft, done.result.base) {
            let (app, directory) = (&wanted.app, spec.directory.as_path());
            let ignore_file = spec.ignore_file.as_deref();
            draft.keep(Whose { session, app, directory, ignore_file }, base);
        }
        Ok(done)
    }
}

/// Asks for manifests to be applied.
pub(super) async fn ask(
    session: &Session,
    wanted: &Wanted,
    documents: Documents,
) -> Result<Done<Applied>> {
    let Documents { base, written: documents, known } = documents;
    let Wanted { deployment, form, rest, others, dry_run, .. } = wanted;
    let (form, rest, others, dry_run) = (*form, *rest, *others, *dry_run);
    let request = Request { deployment, base, documents, known, form, rest, others, dry_run };
    let change = Change::new(Method::POST).body(&request)?.git(wanted.git.clone());
    let path = ["apps", wanted.app.as_str(), "deployments"];
    session.client.change(&path, change).await
}

/// Whether the server no longer has something that it was sent before.
pub(crate) fn is_forgotten(error: &anyhow::Error) -> bool {
    client::is_missing(error) || client::is_forgotten(error)
}

/// The manifests with their files.
#[derive(Default)]
pub(super) struct Documents {
    /// What they add to.
    pub(super) base: Option<Digest>,
    pub(super) written: Vec<Document>,
    pub(super) known: Vec<KnownDocument>,
}

impl Documents {
    /// All manifests of a spec, and what each is named by.
    fn of(spec: &Spec, contents: &[[Option<ContentRef>; 2]]) -> (Self, Vec<Digest>) {
        let mut documents = Self::default();
        let mut digests = Vec::with_capacity(spec.manifests.len());
        for (manifest, &[source, deployment]) in spec.manifests.iter().zip(contents) {
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
            digests.push(digest);
        }
        (documents, digests)
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
