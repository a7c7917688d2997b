//! Sends a spec to the server: its archives first, only what is missing of them, then its manifests at once.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use folio_core::Limits;
use folio_core::apply::{Applied, Document, Form, Others, Rest};
use folio_core::request::ContentRef;
use folio_core::view::Done;
use folio_model::{AppName, Digest, EntryName, Git, Layout, Owner};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::archives::Held;
use super::directory::{Manifest, Spec};
use super::fetch::{self, Origin};
use crate::client::Change;
use crate::command::Session;
use crate::content::{self, Chosen, Given};
use crate::problem::{Cause, Problem};
use crate::upload;

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
    form: Form,
    rest: Rest,
    others: Others,
    dry_run: bool,
}

/// Uploads what is missing and applies the manifests.
pub(crate) async fn send(session: &Session, spec: Spec, wanted: &Wanted) -> Result<Done<Applied>> {
    let documents = Documents::of(session, &spec).await?.finish(spec);
    let request = Request {
        deployment: &wanted.deployment,
        documents,
        form: wanted.form,
        rest: wanted.rest,
        others: wanted.others,
        dry_run: wanted.dry_run,
    };
    let change = Change::new(Method::POST).body(&request)?.git(wanted.git.clone());
    session.client.change(&["apps", wanted.app.as_str(), "deployments"], change).await
}

/// The files of every package, found and uploaded.
#[derive(Default)]
struct Documents {
    /// The content of each manifest's source and deployment.
    contents: HashMap<(usize, Side), Place>,
    /// What was uploaded for archives by name, and for files of manifests.
    uploaded: HashMap<Place, ContentRef>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Source,
    Deployment,
}

impl Side {
    const ALL: [(Self, &'static str); 2] =
        [(Self::Source, "source"), (Self::Deployment, "deployment")];
}

/// What a part of a package is made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Place {
    /// An archive of the spec.
    Archive(String),
    /// A file that was fetched for a part.
    Fetched(String),
}

#[derive(Deserialize)]
struct Server {
    limits: Limits,
}

impl Documents {
    /// Finds and uploads the files of every package.
    async fn of(session: &Session, spec: &Spec) -> Result<Self> {
        let mut documents = Self::default();
        let temporary = tempfile::tempdir()?;
        let mut held: BTreeMap<String, (Place, Held)> = BTreeMap::new();
        let mut causes = Vec::new();
        for (index, manifest) in spec.manifests.iter().enumerate() {
            if manifest.value["kind"] != "Package" {
                continue;
            }
            for (side, word) in Side::ALL {
                let part = &manifest.value["spec"][word];
                let found = documents.part(spec, (index, manifest), part, temporary.path()).await;
                match found {
                    Ok(None) => {}
                    Ok(Some((place, name, found))) => {
                        documents.contents.insert((index, side), place.clone());
                        if let Entry::Vacant(free) = held.entry(name) {
                            let found = match found {
                                Some(found) => found,
                                None => spec.archives[free.key()].find(&spec.directory)?,
                            };
                            free.insert((place, found));
                        }
                    }
                    Err(error) => {
                        let what = format!("spec.{word}: {error:#}");
                        causes.push(Cause { at: manifest.at.clone(), what });
                    }
                }
            }
        }
        if !causes.is_empty() {
            let problem = Problem::new("the files of some packages cannot be used");
            return Err(problem.causes(causes).hint("nothing was changed").into());
        }
        documents.upload(session, spec, held).await?;
        Ok(documents)
    }

    /// What one part of a package is made of, with the name it is uploaded under.
    async fn part(
        &self,
        spec: &Spec,
        (index, manifest): (usize, &Manifest),
        part: &Value,
        temporary: &std::path::Path,
    ) -> Result<Option<(Place, String, Option<Held>)>> {
        let name = manifest.value["metadata"]["name"].as_str().unwrap_or("user").to_owned();
        let (path, file) = match fetch::origin(part).map_err(anyhow::Error::msg)? {
            Origin::Nothing => return Ok(None),
            Origin::Archive(name) => {
                debug_assert!(spec.archives.contains_key(&name), "reading a spec checks this");
                return Ok(Some((Place::Archive(name.clone()), name, None)));
            }
            Origin::Literal(text) => {
                let directory = tempfile::tempdir_in(temporary)?.keep();
                (fetch::literal(&text, &directory, "user")?, "user".to_owned())
            }
            Origin::Address(url) => {
                let directory = tempfile::tempdir_in(temporary)?.keep();
                let file = url.rsplit('/').next().filter(|name| !name.is_empty());
                let file = file.unwrap_or("user").to_owned();
                (fetch::address(&url, part, &directory, "fetched").await?, file)
            }
        };
        let place = Place::Fetched(format!("{index}-{}", path.display()));
        let found = if content::is_archive(&path)? {
            Held::Archive(path)
        } else {
            let file: EntryName = file.parse().unwrap_or_else(|_| "user".parse().expect("a name"));
            Held::File(file, path)
        };
        Ok(Some((place, format!("{name}-{index}-fetched"), Some(found))))
    }

    async fn upload(
        &mut self,
        session: &Session,
        spec: &Spec,
        held: BTreeMap<String, (Place, Held)>,
    ) -> Result<()> {
        if held.is_empty() {
            return Ok(());
        }
        let Server { limits } = session.client.get(&[], &[]).await?;
        let mut chosen = Vec::new();
        let mut layouts = HashMap::new();
        for (at, (place, held)) in held.into_values().enumerate() {
            // Names of archives may be anything; in the selection they are numbers.
            let name: EntryName = at.to_string().parse().expect("digits are a name");
            match held {
                Held::Archive(path) => {
                    let given = Given::Files(path);
                    let found = content::find(&given, None)?;
                    let client = &session.client;
                    let content = upload::upload(client, (given, None), found, &limits).await?;
                    self.uploaded.insert(place, content);
                }
                Held::File(file, path) => {
                    layouts.insert(name.to_string(), (place, Layout::File));
                    chosen.push(Chosen { name, items: vec![(file, path)] });
                }
                Held::Items(items) => {
                    layouts.insert(name.to_string(), (place, Layout::Directory));
                    chosen.push(Chosen { name, items });
                }
            }
        }
        if chosen.is_empty() {
            return Ok(());
        }
        let path = spec.directory.canonicalize().unwrap_or_else(|_| spec.directory.clone());
        let selection = (path.join("archives"), chosen, session.cache.clone());
        let digests: HashMap<String, Digest> =
            upload::upload_selection(&session.client, selection, &limits).await?;
        for (name, (place, layout)) in layouts {
            if let Some(tree) = digests.get(&name) {
                self.uploaded.insert(place, ContentRef::Tree { tree: *tree, layout });
            }
        }
        Ok(())
    }

    /// The manifests with their files, without bytes of their own.
    fn finish(self, spec: Spec) -> Vec<Document> {
        let Self { contents, uploaded } = self;
        let content = |index: usize, side: Side| {
            contents.get(&(index, side)).and_then(|place| uploaded.get(place)).copied()
        };
        let document = |(index, manifest): (usize, Manifest)| {
            let Manifest { at, mut value, .. } = manifest;
            for (_, word) in Side::ALL {
                if let Some(part) = value["spec"].get_mut(word).and_then(Value::as_object_mut) {
                    part.remove("literal");
                }
            }
            let (source, deployment) =
                (content(index, Side::Source), content(index, Side::Deployment));
            Document { at, manifest: value, source, deployment }
        };
        spec.manifests.into_iter().enumerate().map(document).collect()
    }
}
