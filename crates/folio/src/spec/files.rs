//! The files of a spec's packages: found on this machine or fetched, and uploaded as far as the server lacks them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use folio_core::request::ContentRef;
use folio_model::{Digest, EntryName, Layout};
use futures::{StreamExt as _, stream};
use tempfile::TempDir;

use super::archives::Held;
use super::batch::{AT_ONCE, Batch, Behalf};
use super::directory::Spec;
use super::fetch::{self, Origin};
use super::manifest::{Manifest, Side};
use crate::command::Session;
use crate::content::{self, Item, Unfit};
use crate::memory::Stamp;
use crate::problem::{Cause, Problem};

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

impl Place {
    /// What is wrong with the files there.
    fn wrong(&self, spec: &Spec, error: &anyhow::Error) -> Cause {
        let hint = error.downcast_ref::<Problem>().and_then(|problem| problem.hint.as_deref());
        let what = match hint {
            Some(hint) => format!("{error:#}: {hint}"),
            None => format!("{error:#}"),
        };
        match self {
            Self::Archive(name) => Cause::new(spec.archives[name].at.clone(), what),
            Self::Fetched(index, side) => {
                let path = format!("spec.{}", side.word());
                let what = format!("{path}: {what}");
                Cause { at: spec.manifests[*index].at.clone(), path, what }
            }
        }
    }
}

/// Files of which nothing is known but that there are some.
pub(super) fn something() -> ContentRef {
    // Not the digest of nothing: every empty file has that.
    let tree = Digest::of(b"files of which nothing is known but that there are some");
    ContentRef::Tree { tree, layout: Layout::Directory }
}

/// The files of a spec, found on this machine or fetched. Nothing of them was sent yet.
pub(super) struct Files {
    parts: Vec<((usize, Side), Place)>,
    places: Vec<Place>,
    soles: Vec<Option<(PathBuf, Stamp)>>,
    batch: Batch,
    /// What is wrong with them; as long as something is, they have no names.
    pub(super) causes: Vec<Cause>,
    /// What was fetched lies here until it is sent.
    temporary: TempDir,
}

impl Files {
    /// Finds the files of every package, and names them if nothing is wrong with any of them or with the manifests.
    pub(super) async fn find(session: &Session, spec: &Spec) -> Result<Self> {
        let mut finder = Finder::new(spec)?;
        for (index, manifest) in spec.manifests.iter().enumerate() {
            for side in Side::ALL {
                finder.part((index, side), manifest);
            }
        }
        finder.fetch().await;
        let Finder { parts, held, temporary, mut causes, .. } = finder;
        let (places, held): (Vec<_>, Vec<_>) = held.into_iter().unzip();
        let soles = places.iter().zip(&held).map(|(place, held)| sole(spec, place, held)).collect();
        let named = match causes.is_empty() && spec.causes.is_empty() {
            true => {
                let (directory, trust) = (spec.directory.as_path(), spec.trust);
                let behalf = Behalf { directory, what: "selection", trust };
                Batch::name(session, behalf, held).await
            }
            // What they come to is of no use any more, only what else is wrong.
            false => Batch::check(session, held).await.map(|()| Batch::default()),
        };
        let batch = match named.map_err(anyhow::Error::downcast::<Unfit>) {
            Ok(batch) => batch,
            Err(Ok(Unfit(unfit))) => {
                let cause = |(at, error): (usize, _)| places[at].wrong(spec, &error);
                causes.extend(unfit.into_iter().map(cause));
                Batch::default()
            }
            Err(Err(error)) => return Err(error),
        };
        Ok(Self { parts, places, soles, batch, causes, temporary })
    }

    /// Whether the server has all of them.
    pub(super) async fn are_there(&mut self, session: &Session) -> Result<bool> {
        self.batch.is_there(session).await
    }

    /// What each manifest's parts come to. Those that have no name stand for something.
    pub(super) fn contents(&self, spec: &Spec) -> Contents {
        let named: BTreeMap<_, _> = self.places.iter().zip(self.batch.contents()).collect();
        let mut contents = vec![[None; 2]; spec.manifests.len()];
        for ((index, side), place) in &self.parts {
            let content = named.get(place).map_or_else(something, |content| **content);
            contents[*index][*side as usize] = Some(content);
        }
        contents
    }

    /// Uploads them as far as the server lacks them.
    pub(super) async fn send(self, session: &Session, spec: &Spec) -> Result<OnServer> {
        let Self { parts, places, soles, batch, temporary, .. } = self;
        let uploaded = batch.send(session).await?;
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
    /// What is still to be fetched, and for which part.
    addresses: Vec<((usize, Side), String)>,
    held: BTreeMap<Place, Held>,
    causes: Vec<Cause>,
}

impl<'a> Finder<'a> {
    fn new(spec: &'a Spec) -> Result<Self> {
        let temporary = tempfile::tempdir()?;
        let (parts, addresses, causes) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { spec, temporary, parts, addresses, held: BTreeMap::new(), causes })
    }

    /// Finds the files of one part of a package, or notes what is wrong with them.
    fn part(&mut self, part: (usize, Side), manifest: &Manifest) {
        let found = match manifest.origin(part.1) {
            Ok(Origin::Nothing) => return,
            Ok(Origin::Archive(name)) => return self.archive(part, name),
            Ok(Origin::Literal(text)) => self.literal(&text),
            Ok(Origin::Address(url)) => return self.addresses.push((part, url)),
            Err(what) => Err(anyhow::Error::msg(what)),
        };
        self.found(part, found);
    }

    /// Fetches the files that have an address, a few at the same time.
    async fn fetch(&mut self) {
        let addresses = std::mem::take(&mut self.addresses);
        let this = &*self;
        let fetch = |(part, url): ((usize, Side), String)| async move {
            let manifest = &this.spec.manifests[part.0];
            (part, this.address(&url, manifest, part.1).await)
        };
        let fetched: Vec<_> = stream::iter(addresses).map(fetch).buffered(AT_ONCE).collect().await;
        for (part, found) in fetched {
            self.found(part, found);
        }
    }

    /// Notes the files of a part, or what is wrong with them.
    fn found(&mut self, part: (usize, Side), found: Result<Held>) {
        match found {
            Ok(held) => {
                let place = Place::Fetched(part.0, part.1);
                self.held.insert(place.clone(), held);
                self.parts.push((part, place));
            }
            Err(error) => {
                self.parts.push((part, Place::Fetched(part.0, part.1)));
                let path = format!("spec.{}", part.1.word());
                let what = format!("{path}: {error:#}");
                let at = self.spec.manifests[part.0].at.clone();
                self.causes.push(Cause { at, path, what });
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
        // One that is not there was told of with the manifests.
        let Some(archive) = self.spec.archives.get(name) else { return };
        match archive.find(&self.spec.directory) {
            Ok(found) => {
                self.held.insert(place, found);
            }
            Err(error) => {
                self.causes.push(Cause::new(archive.at.clone(), format!("{error:#}")));
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
