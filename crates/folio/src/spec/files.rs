//! The files of a spec's packages: found on this machine or fetched, and uploaded as far as the server lacks them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use folio_core::Limits;
use folio_core::request::ContentRef;
use folio_model::{Digest, EntryName, Layout};
use serde::Deserialize;
use tempfile::TempDir;

use super::archives::Held;
use super::directory::{Manifest, Side, Spec};
use super::fetch::{self, Origin};
use crate::command::Session;
use crate::content::{self, Chosen, Given, Item, Selection};
use crate::memory::Stamp;
use crate::problem::{Cause, Problem};
use crate::upload;

/// The content of every manifest's parts, source and deployment, in the order of manifests.
pub(super) type Contents = Vec<[Option<ContentRef>; 2]>;

/// The files of a spec, on the server.
pub(super) struct OnServer {
    pub(super) contents: Contents,
    /// The archives, by name.
    pub(super) archives: BTreeMap<String, FoundArchive>,
}

/// What an archive is.
pub(super) struct FoundArchive {
    pub(super) content: ContentRef,
    /// Where it is, if it is one file that is named by itself.
    pub(super) sole: Option<(PathBuf, Stamp)>,
}

/// What a part of a package is made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// An archive of the spec.
    Archive(String),
    /// A file that was fetched for a part.
    Fetched(usize, Side),
}

/// Finds and uploads the files of every package.
pub(super) async fn upload(session: &Session, spec: &Spec) -> Result<OnServer> {
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
    let (places, held): (Vec<_>, Vec<_>) = held.into_iter().unzip();
    let soles: Vec<_> =
        places.iter().zip(&held).map(|(place, held)| sole(spec, place, held)).collect();
    let uploaded = upload_held(session, (&spec.directory, spec.selection()), held).await?;
    drop(temporary);
    let mut archives = BTreeMap::new();
    for ((place, sole), content) in places.iter().zip(soles).zip(&uploaded) {
        if let Place::Archive(name) = place {
            archives.insert(name.clone(), FoundArchive { content: *content, sole });
        }
    }
    let uploaded: BTreeMap<_, _> = places.into_iter().zip(uploaded).collect();
    let mut contents = vec![[None; 2]; spec.manifests.len()];
    for ((index, side), place) in parts {
        contents[index][side as usize] = uploaded.get(&place).copied();
    }
    Ok(OnServer { contents, archives })
}

fn sole(spec: &Spec, place: &Place, held: &Held) -> Option<(PathBuf, Stamp)> {
    match (place, held) {
        (Place::Archive(name), Held::File(item)) if spec.archives[name].names_one_file() => {
            Some((item.from.clone(), Stamp::from(&item.about)))
        }
        _ => None,
    }
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
fn held(path: PathBuf, name: &str) -> Result<Held> {
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

/// Uploads files on behalf of a directory, and says what each came to. Those that are what they were the last time,
/// where there was one of this name, are taken to be there.
pub(super) async fn upload_held(
    session: &Session,
    (directory, last): (&Path, Option<&'static str>),
    held: Vec<Held>,
) -> Result<Vec<ContentRef>> {
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let Server { limits } = session.client.get(&[], &[]).await?;
    let mut uploaded = Vec::with_capacity(held.len());
    let (mut chosen, mut layouts) = (Vec::new(), Vec::new());
    for (place, held) in held.into_iter().enumerate() {
        let (layout, items) = match held {
            Held::Archive(path) => {
                let given = Given::Files(path);
                let found = content::find(&given, None)?;
                let client = &session.client;
                uploaded.push(upload::upload(client, (given, None), found, &limits).await?);
                continue;
            }
            Held::File(item) => (Layout::File, vec![item]),
            Held::Items(items) => (Layout::Directory, items),
        };
        // Filled in once all are on the server.
        uploaded.push(ContentRef::Tree { tree: Digest::of(&[]), layout });
        // Names of archives may be anything; in the selection they are numbers.
        let name: EntryName = chosen.len().to_string().parse().expect("digits are a name");
        chosen.push(Chosen { name, items });
        layouts.push((place, layout));
    }
    if chosen.is_empty() {
        return Ok(uploaded);
    }
    let selection =
        Selection { path: directory.to_owned(), chosen, what: last.unwrap_or_default() };
    let caches = session.cache.clone().filter(|_| last.is_some());
    let digests = upload::upload_selection(&session.client, (selection, caches), &limits).await?;
    for ((place, layout), tree) in layouts.into_iter().zip(digests) {
        uploaded[place] = ContentRef::Tree { tree, layout };
    }
    Ok(uploaded)
}
