//! The files of a spec's packages: found on this machine or fetched, and uploaded as far as the server lacks them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use folio_core::Limits;
use folio_core::request::ContentRef;
use folio_model::{EntryName, Layout};
use serde::Deserialize;
use tempfile::TempDir;

use super::archives::Held;
use super::directory::{Manifest, Side, Spec};
use super::fetch::{self, Origin};
use crate::command::Session;
use crate::content::{self, Chosen, Given, Item};
use crate::problem::{Cause, Problem};
use crate::upload;

/// The content of every manifest's parts, source and deployment, in the order of manifests.
pub(super) type Contents = Vec<[Option<ContentRef>; 2]>;

/// What a part of a package is made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// An archive of the spec.
    Archive(String),
    /// A file that was fetched for a part.
    Fetched(usize, Side),
}

/// Finds and uploads the files of every package.
pub(super) async fn upload(session: &Session, spec: &Spec) -> Result<Contents> {
    let mut finder = Finder::new(spec)?;
    for (index, manifest) in spec.manifests.iter().enumerate() {
        for side in Side::ALL {
            finder.part((index, side), manifest).await;
        }
    }
    if !finder.causes.is_empty() {
        let problem = Problem::new("the files of some packages cannot be used");
        let problem = problem.causes(finder.causes);
        return Err(problem.hint("mend them all; nothing was changed").into());
    }
    let Finder { parts, held, temporary, .. } = finder;
    let uploaded = upload_held(session, spec, held).await?;
    drop(temporary);
    let mut contents = vec![[None; 2]; spec.manifests.len()];
    for ((index, side), place) in parts {
        contents[index][side as usize] = uploaded.get(&place).copied();
    }
    Ok(contents)
}

/// Where the files of all parts are.
struct Finder<'a> {
    spec: &'a Spec,
    /// What was fetched lies here.
    temporary: TempDir,
    parts: Vec<((usize, Side), Place)>,
    held: BTreeMap<Place, Held>,
    causes: Vec<Cause>,
}

impl<'a> Finder<'a> {
    fn new(spec: &'a Spec) -> Result<Self> {
        let temporary = tempfile::tempdir()?;
        Ok(Self { spec, temporary, parts: Vec::new(), held: BTreeMap::new(), causes: Vec::new() })
    }

    /// Finds the files of one part of a package, or notes what is wrong with them.
    async fn part(&mut self, part: (usize, Side), manifest: &Manifest) {
        let found = match manifest.origin(part.1) {
            Ok(Origin::Nothing) => return,
            Ok(Origin::Archive(name)) => return self.archive(part, name),
            Ok(Origin::Literal(text)) => self.literal(&text),
            Ok(Origin::Address(url)) => self.address(&url, manifest, part.1).await,
            Err(what) => Err(anyhow::Error::msg(what)),
        };
        match found {
            Ok(held) => {
                let place = Place::Fetched(part.0, part.1);
                self.held.insert(place.clone(), held);
                self.parts.push((part, place));
            }
            Err(error) => {
                let what = format!("spec.{}: {error:#}", part.1.word());
                self.causes.push(Cause { at: manifest.at.clone(), what });
            }
        }
    }

    fn archive(&mut self, part: (usize, Side), name: String) {
        let place = Place::Archive(name);
        self.parts.push((part, place.clone()));
        let Place::Archive(name) = &place else { return };
        if self.held.contains_key(&place) {
            return;
        }
        let archive = &self.spec.archives[name];
        match archive.find(&self.spec.directory) {
            Ok(found) => {
                self.held.insert(place, found);
            }
            Err(error) => {
                self.causes.push(Cause { at: archive.at.clone(), what: format!("{error:#}") });
            }
        }
    }

    fn literal(&self, text: &str) -> Result<Held> {
        let directory = tempfile::tempdir_in(self.temporary.path())?.keep();
        held(fetch::literal(text, &directory, "user")?, "user")
    }

    async fn address(&self, url: &str, manifest: &Manifest, side: Side) -> Result<Held> {
        let directory = tempfile::tempdir_in(self.temporary.path())?.keep();
        let file = url.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("user");
        held(fetch::address(url, manifest.part(side), &directory, "fetched").await?, file)
    }
}

/// A fetched file, under the name that it is to have.
fn held(path: std::path::PathBuf, name: &str) -> Result<Held> {
    if content::is_archive(&path)? {
        return Ok(Held::Archive(path));
    }
    let name: EntryName = name.parse().unwrap_or_else(|_| "user".parse().expect("a name"));
    let about = path.metadata().with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(Held::File(Item { name, from: path, about, except: None }))
}

#[derive(Deserialize)]
struct Server {
    limits: Limits,
}

async fn upload_held(
    session: &Session,
    spec: &Spec,
    held: BTreeMap<Place, Held>,
) -> Result<BTreeMap<Place, ContentRef>> {
    let mut uploaded = BTreeMap::new();
    if held.is_empty() {
        return Ok(uploaded);
    }
    let Server { limits } = session.client.get(&[], &[]).await?;
    let (mut chosen, mut places) = (Vec::new(), Vec::new());
    for (place, held) in held {
        let (layout, items) = match held {
            Held::Archive(path) => {
                let given = Given::Files(path);
                let found = content::find(&given, None)?;
                let client = &session.client;
                let content = upload::upload(client, (given, None), found, &limits).await?;
                uploaded.insert(place, content);
                continue;
            }
            Held::File(item) => (Layout::File, vec![item]),
            Held::Items(items) => (Layout::Directory, items),
        };
        // Names of archives may be anything; in the selection they are numbers.
        let name: EntryName = chosen.len().to_string().parse().expect("digits are a name");
        chosen.push(Chosen { name, items });
        places.push((place, layout));
    }
    if chosen.is_empty() {
        return Ok(uploaded);
    }
    let caches = session.cache.clone().filter(|_| !spec.afresh);
    let selection = (spec.directory.clone(), chosen, caches);
    let digests = upload::upload_selection(&session.client, selection, &limits).await?;
    for ((place, layout), tree) in places.into_iter().zip(digests) {
        uploaded.insert(place, ContentRef::Tree { tree, layout });
    }
    Ok(uploaded)
}
