//! Sends a spec to the server: what is missing of its archives, once the server has found nothing wrong with its
//! manifests, and then those at once. Manifests that the server was sent before are only named.

use anyhow::Result;
use folio_core::apply::{Applied, Document, Form, KnownDocument, Others, Rest, UnreadDocument};
use folio_core::request::ContentRef;
use folio_core::view::Done;
use folio_model::{AppName, Digest, Git, Owner};
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;

use super::again::{self, Whose};
use super::directory::{self, Spec};
use super::fetch::Origin;
use super::files::{self, Files};
use super::manifest::{Said, Side};
use super::memory::Lesson;
use super::pinpoint;
use crate::client::{self, Change};
use crate::command::Session;
use crate::problem::Cause;

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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<UnreadDocument>,
    form: Form,
    rest: Rest,
    others: Others,
    dry_run: bool,
}

/// Uploads what is missing and applies the manifests.
pub(crate) async fn send(session: &Session, spec: &Spec, wanted: &Wanted) -> Result<Done<Applied>> {
    prepare(session, spec, wanted.dry_run).await?.apply(session, wanted).await
}

/// A spec whose files were found and named.
pub(crate) struct Prepared<'a> {
    spec: &'a Spec,
    files: Files,
    /// Whether the server lacks some of them.
    is_lacking: bool,
}

/// Finds the files of a spec, and what the server lacks of them if they are to be sent.
pub(crate) async fn prepare<'a>(
    session: &Session,
    spec: &'a Spec,
    dry_run: bool,
) -> Result<Prepared<'a>> {
    let mut files = Files::find(session, spec).await?;
    let is_lacking = !dry_run && !files.are_there(session).await?;
    Ok(Prepared { spec, files, is_lacking })
}

impl Prepared<'_> {
    /// Applies the manifests, or says everything that is wrong. Files are sent only to a server that found nothing wrong
    /// with what names them.
    pub(crate) async fn apply(self, session: &Session, wanted: &Wanted) -> Result<Done<Applied>> {
        let Self { spec, mut files, is_lacking } = self;
        let mut causes = spec.causes.clone();
        causes.append(&mut files.causes);
        let named = || Documents::of(spec, &files.contents(spec)).0;
        if !causes.is_empty() {
            return Err(refused(session, wanted, (spec, named()), causes).await);
        }
        if wanted.dry_run {
            return ask(session, wanted, named()).await;
        }
        if is_lacking {
            ask(session, &Wanted { dry_run: true, ..wanted.clone() }, named()).await?;
        }
        let on_server = files.send(session, spec).await?;
        let (documents, digests) = Documents::of(spec, &on_server.contents);
        let memory = spec.memory.as_ref();
        let lesson = memory.and_then(|memory| memory.lesson(spec, &digests));
        let draft = again::draft(spec, &digests, &on_server);
        let done = ask(session, wanted, documents).await?;
        lesson.iter().for_each(Lesson::keep);
        if let (Some(draft), Some(base)) = (draft, done.result.base) {
            let (app, directory) = (&wanted.app, spec.directory.as_path());
            let ignore_file = spec.ignore_file.as_deref();
            draft.keep(Whose { session, app, directory, ignore_file }, base);
        }
        Ok(done)
    }
}

/// What is wrong with a spec, together with what the server finds wrong with the rest of it.
async fn refused(
    session: &Session,
    wanted: &Wanted,
    (spec, documents): (&Spec, Documents),
    mut causes: Vec<Cause>,
) -> anyhow::Error {
    let mut documents = Documents { unread: spec.unread.clone(), ..documents };
    documents.written.extend(spec.rests.iter().map(|rest| {
        // It need not be known what files they are, only that there are some.
        let some = |side| match rest.origin(side) {
            Ok(Origin::Nothing) => None,
            _ => Some(files::something()),
        };
        let (at, manifest) = (rest.at.clone(), without_bytes(rest.value()));
        let [source, deployment] = Side::ALL.map(some);
        Document { at, manifest, source, deployment }
    }));
    let checked = ask(session, &Wanted { dry_run: true, ..wanted.clone() }, documents).await;
    match checked {
        // It has to be asked again, with everything written out.
        Err(error) if is_forgotten(&error) => return error,
        Err(error) => causes.extend(client::wrong(&error)),
        Ok(_) => {}
    }
    directory::refusal(causes)
}

/// Asks for manifests to be applied.
pub(super) async fn ask(
    session: &Session,
    wanted: &Wanted,
    documents: Documents,
) -> Result<Done<Applied>> {
    let Documents { base, written: documents, known, unread } = documents;
    let Wanted { deployment, form, rest, others, dry_run, .. } = wanted;
    let (form, rest, others, dry_run) = (*form, *rest, *others, *dry_run);
    let request =
        Request { deployment, base, documents, known, unread, form, rest, others, dry_run };
    let change = Change::new(Method::POST).body(&request)?.git(wanted.git.clone());
    let path = ["apps", wanted.app.as_str(), "deployments"];
    session.client.change(&path, change).await.map_err(pinpoint::refused)
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
    /// What could not be read.
    pub(super) unread: Vec<UnreadDocument>,
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
