//! Applies a directory again whose manifests are what they were. Neither they nor what they say is read or sent: the
//! server is told on what to build, and which packages have other files. It is only ever a shortcut: whatever stands
//! in its way, the directory is read as if it had never been applied.
//!
//! Start at [`look`]; [`draft`] is what is remembered of an apply that read everything.

mod record;

use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use anyhow::Result;
use folio_core::apply::{Applied, KnownDocument, Run};
use folio_core::ports::{Clock, SystemClock};
use folio_core::request::ContentRef;
use folio_core::view::Done;
use folio_model::{AppName, Digest, Owner};

use self::record::{Archive, Files, Package, Record};
use super::archives::Held;
use super::batch::{Batch, Behalf};
use super::directory::Spec;
use super::fetch::Origin;
use super::files::OnServer;
use super::manifest::{Manifest, Side};
use super::send::{self, Documents, Wanted};
use crate::command::Session;
use crate::content::Item;
use crate::content::Trust;
use crate::memory::{self, Stamp};

/// Of which apply something is remembered.
#[derive(Clone, Copy)]
pub(crate) struct Whose<'a> {
    pub(crate) session: &'a Session,
    pub(crate) app: &'a AppName,
    pub(crate) directory: &'a Path,
    /// The file of patterns that was named.
    pub(crate) ignore_file: Option<&'a Path>,
}

impl Whose<'_> {
    fn path(&self) -> Option<PathBuf> {
        let Self { session, app, directory, ignore_file } = self;
        // Manifests say where they are written, so the same directory by another path is another one.
        let what =
            format!("applied {} {app} {directory:?} {ignore_file:?}", session.client.server());
        memory::path(session.cache.as_deref()?, directory, &what).ok()
    }
}

/// How a directory differs from what was applied of it.
pub(crate) struct News {
    path: PathBuf,
    record: Record,
    known: Vec<KnownDocument>,
    /// Whether there is something to remember.
    is_new: bool,
}

/// Looks whether only files of packages differ from what was applied, and uploads those if something is to happen. None
/// if more does, or if anything is wrong. The manifests were found right as they are, so that little is lost if they no
/// longer are; much to upload is left to whoever has them checked first.
pub(crate) async fn look(whose: Whose<'_>, run: Run) -> Option<News> {
    let path = whose.path()?;
    let began = SystemClock.now().as_nanosecond();
    let mut record = Record::decode(&memory::load(&path)?)?;
    let changed = changed(&record)?;
    let mut is_new = false;
    let mut others = vec![false; record.archives.len()];
    let (places, held) = held(&record, changed, whose.directory)?;
    let stamps: Vec<_> = held.iter().map(stamp).collect();
    let (directory, trust) = (whose.directory, Trust::Remembered);
    let behalf = Behalf { directory, what: "again", trust };
    let mut batch = Batch::name(whose.session, behalf, held).await.ok()?;
    let uploaded = match run {
        Run::Dry => batch.contents().to_vec(),
        Run::Real if batch.is_slight() || batch.is_there(whose.session).await.ok()? => {
            batch.send(whose.session).await.ok()?
        }
        Run::Real => return None,
    };
    for ((place, stamp), content) in places.into_iter().zip(stamps).zip(uploaded) {
        let archive = &mut record.archives[place];
        others[place] = archive.content != content;
        is_new |= others[place];
        archive.content = content;
        if let Files::Sole(_, known) = &mut archive.files {
            let settled = stamp.filter(|stamp| stamp.is_settled(began));
            is_new |= *known != settled;
            *known = settled;
        }
    }
    let known = record.packages.iter().filter_map(|package| named(&record, package, &others));
    let known = known.collect();
    Some(News { path, record, known, is_new })
}

impl News {
    /// Whose the directory is.
    pub(crate) fn deployment(&self) -> &Owner {
        &self.record.deployment
    }

    /// What there is to say about the manifests.
    pub(crate) fn remarks(&self) -> &[String] {
        &self.record.remarks
    }

    /// Asks for what was applied, with the files of now.
    pub(crate) async fn apply(self, session: &Session, wanted: &Wanted) -> Result<Done<Applied>> {
        let Self { path, mut record, known, is_new } = self;
        let documents = Documents { known, base: Some(record.base), ..Documents::default() };
        let done = send::ask(session, wanted, documents).await?;
        if let Some(base) = done.result.base.filter(|base| is_new || *base != record.base)
            && !wanted.dry_run
        {
            record.base = base;
            keep(&path, &record);
        }
        Ok(done)
    }
}

/// Keeps a record, if it can be kept: without it, the next time only takes longer.
fn keep(path: &Path, record: &Record) {
    if let Some(bytes) = record.encode() {
        drop(memory::save(path, &bytes));
    }
}

/// What the file system says of the archives that are one file, where that differs from what it was. None if it says
/// something else of a manifest, or something is not there.
fn changed(record: &Record) -> Option<Vec<(usize, Metadata)>> {
    let is_same = |(path, known): &(PathBuf, Stamp)| {
        std::fs::metadata(path).is_ok_and(|about| Stamp::from(&about) == *known)
    };
    if !record.guides.iter().all(is_same) {
        return None;
    }
    std::thread::scope(|scope| {
        // There are about as many manifests as other files.
        let manifests = scope.spawn(|| record.manifests.iter().all(is_same));
        let mut changed = Vec::new();
        for (place, archive) in record.archives.iter().enumerate() {
            let Files::Sole(path, known) = &archive.files else { continue };
            let about = std::fs::symlink_metadata(path).ok()?;
            if !about.is_file() {
                return None;
            }
            if *known != Some(Stamp::from(&about)) {
                changed.push((place, about));
            }
        }
        manifests.join().is_ok_and(|same| same).then_some(changed)
    })
}

/// The archives to look at, with their places: those of which only their patterns are known, and those that are one
/// file and changed. The first are always the same, so that what is remembered of them is found again.
fn held(
    record: &Record,
    changed: Vec<(usize, Metadata)>,
    directory: &Path,
) -> Option<(Vec<usize>, Vec<Held>)> {
    let (mut places, mut held) = (Vec::new(), Vec::new());
    for (place, archive) in record.archives.iter().enumerate() {
        if let Files::Matching(archive) = &archive.files {
            places.push(place);
            held.push(archive.find(directory).ok()?);
        }
    }
    for (place, about) in changed {
        let Files::Sole(path, _) = &record.archives[place].files else { continue };
        let name = path.file_name()?.to_str()?.parse().ok()?;
        places.push(place);
        held.push(Held::File(Item { name, from: path.clone(), about, except: None }));
    }
    Some((places, held))
}

fn stamp(held: &Held) -> Option<Stamp> {
    match held {
        Held::File(item) => Some(Stamp::from(&item.about)),
        Held::Archive(_) | Held::Items(_) => None,
    }
}

/// A package with its files of now, if they are others.
fn named(record: &Record, package: &Package, others: &[bool]) -> Option<KnownDocument> {
    let Package { digest, source, deployment } = *package;
    let place = |place: Option<u32>| place.and_then(|place| usize::try_from(place).ok());
    let places = [place(source), place(deployment)];
    let is_other = places.iter().flatten().any(|place| others.get(*place) == Some(&true));
    let content = |place: Option<usize>| -> Option<ContentRef> {
        place.and_then(|place| record.archives.get(place)).map(|archive| archive.content)
    };
    let [source, deployment] = places.map(content);
    is_other.then_some(KnownDocument { digest, source, deployment })
}

/// What is to be remembered of an apply that read everything.
pub(crate) struct Draft {
    deployment: Owner,
    remarks: Vec<String>,
    guides: Vec<(PathBuf, Stamp)>,
    manifests: Vec<(PathBuf, Stamp)>,
    archives: Vec<Archive>,
    packages: Vec<Package>,
}

/// What is to be remembered of a spec whose manifests have these digests and whose files are on the server. None if the
/// next apply has to read something all the same.
pub(super) fn draft(spec: &Spec, digests: &[Digest], on_server: &OnServer) -> Option<Draft> {
    let settled = |(path, stamp): (&PathBuf, &Stamp)| {
        stamp.is_settled(spec.began).then(|| (path.clone(), *stamp))
    };
    spec.memory.as_ref().filter(|_| !spec.guides.is_empty())?;
    let guides = spec.guides.iter().map(|(path, stamp)| settled((path, stamp)));
    let manifests = spec.files.iter().map(|file| settled((&file.path, &file.stamp)));
    let mut places = HashMap::new();
    let mut archives = Vec::new();
    for (name, archive) in &spec.archives {
        let found = on_server.archives.get(name)?;
        let files = match &found.sole {
            Some((path, stamp)) => {
                Files::Sole(path.clone(), stamp.is_settled(spec.began).then_some(*stamp))
            }
            None => Files::Matching(archive.clone()),
        };
        places.insert(name.as_str(), u32::try_from(archives.len()).ok()?);
        archives.push(Archive { files, content: found.content });
    }
    let mut packages = Vec::new();
    for (manifest, digest) in spec.manifests.iter().zip(digests) {
        let [source, deployment] = archives_of(manifest)?;
        let place = |name: Option<String>| name.and_then(|name| places.get(name.as_str()).copied());
        let (source, deployment) = (place(source), place(deployment));
        if source.is_some() || deployment.is_some() {
            packages.push(Package { digest: *digest, source, deployment });
        }
    }
    Some(Draft {
        deployment: spec.deployment.clone()?,
        remarks: spec.remarks.clone(),
        guides: guides.collect::<Option<_>>()?,
        manifests: manifests.collect::<Option<_>>()?,
        archives,
        packages,
    })
}

/// The archives that a manifest's parts are. None if one has to be fetched every time.
fn archives_of(manifest: &Manifest) -> Option<[Option<String>; 2]> {
    let archive = |side| match manifest.origin(side) {
        Ok(Origin::Nothing) => Some(None),
        Ok(Origin::Archive(name)) => Some(Some(name)),
        Ok(Origin::Literal(_) | Origin::Address(_)) | Err(_) => None,
    };
    let [source, deployment] = Side::ALL.map(archive);
    Some([source?, deployment?])
}

impl Draft {
    /// Remembers it under the name that the server gave to what was applied.
    pub(super) fn keep(self, whose: Whose<'_>, base: Digest) {
        let Self { deployment, remarks, guides, manifests, archives, packages } = self;
        let record = Record { base, deployment, remarks, guides, manifests, archives, packages };
        if let Some(path) = whose.path() {
            keep(&path, &record);
        }
    }
}
