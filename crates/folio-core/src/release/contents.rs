//! What releases hold: the bytes that must be there before an app version can be released again, and how many they are.

use std::collections::{BTreeMap, BTreeSet};

use folio_model::{AppName, AppVersion, Digest, Placement, ReleaseId, TreeEntry};

use super::retention::Sizes;
use super::{Error, Standing, held, known};
use crate::builder::Builder;
use crate::history::{self, Moment};
use crate::ports::{State, StoreError};
use crate::{Folio, content, folio, view as views};

/// Has a change need everything that an app version shows. Its versions may be deleted, and then their bytes go after a
/// while; whatever runs beside a sweep is used from here on, and is not swept.
pub(super) fn require(builder: &mut Builder<'_>, version: &AppVersion) -> Result<(), Error> {
    let mut gone = Vec::new();
    for placed in builder.state.placements(builder.app(), version.number)? {
        let Some((_, _, snapshot)) = &placed.latest else { continue };
        if !builder.stand_on(*snapshot)? {
            gone.push(named(&placed));
        }
    }
    refuse_gone(builder.app(), version, gone)
}

fn refuse_gone(app: &AppName, version: &AppVersion, of: Vec<String>) -> Result<(), Error> {
    match of.is_empty() {
        true => Ok(()),
        false => Err(Error::NotKept { app: app.clone(), version: version.id.clone(), of }),
    }
}

fn named(placed: &Placement) -> String {
    format!("{} `{}`", placed.kind, placed.name)
}

impl Folio {
    /// Says of an app version that could not be released which of its units are no longer whole.
    pub(super) async fn tell_not_kept(&self, app: &AppName, of: Moment, error: Error) -> Error {
        let Error::Folio(folio::Error::Store(StoreError::MissingBlob { .. })) = &error else {
            return error;
        };
        match self.not_kept(app, of).await {
            Ok(()) => error,
            Err(found) => found,
        }
    }

    async fn not_kept(&self, app: &AppName, of: Moment) -> Result<(), Error> {
        let named_app = app.clone();
        let (version, held) = self
            .look(move |state| {
                let version = history::app_version(state, &named_app, &of)?;
                let mut held = Vec::new();
                for placed in state.placements(&named_app, version.number)? {
                    if let Some((_, _, snapshot)) = &placed.latest {
                        held.push((named(&placed), trees(state, [*snapshot])?));
                    }
                }
                Ok::<_, Error>((version, held))
            })
            .await?;
        let mut gone = Vec::new();
        for (unit, trees) in held {
            if !self.blobs.missing(trees.into_iter().collect()).await?.is_empty() {
                gone.push(unit);
            }
        }
        refuse_gone(app, &version, gone)
    }

    /// The files that every release that can be reached holds, if that decides anything.
    pub(super) async fn release_sizes(&self, app: &AppName) -> Result<Option<Sizes>, Error> {
        let of = app.clone();
        let held: Option<BTreeMap<ReleaseId, BTreeSet<Digest>>> = self
            .look(move |state| {
                known(state, &of)?;
                let standing = Standing::read(state, &of)?;
                if standing.plan.policy.retention.bytes.is_none() {
                    return Ok::<_, Error>(None);
                }
                let mut held = BTreeMap::new();
                for found in standing.accessible {
                    held.insert(found.id.clone(), contents(state, &of, &found.id)?);
                }
                Ok(Some(held))
            })
            .await?;
        let Some(held) = held else { return Ok(None) };
        let mut trees: BTreeMap<Digest, Vec<(Digest, u64)>> = BTreeMap::new();
        for tree in held.values().flatten() {
            if !trees.contains_key(tree) {
                let listed = content::list_files(self.blobs.as_ref(), *tree).await?.into_iter();
                let files = listed.filter_map(|(_, entry)| match entry {
                    TreeEntry::File { digest, bytes, .. } => Some((digest, bytes)),
                    TreeEntry::Directory { .. } => None,
                });
                trees.insert(*tree, files.collect());
            }
        }
        let sized = held.into_iter().map(|(id, held)| {
            (id, held.iter().flat_map(|tree| trees[tree].iter().copied()).collect())
        });
        Ok(Some(sized.collect()))
    }
}

/// The trees of everything that a release shows.
pub(crate) fn contents(
    state: &dyn State,
    app: &AppName,
    release: &ReleaseId,
) -> Result<BTreeSet<Digest>, StoreError> {
    let Some(number) = held::number_of(state, app, release)? else {
        return Ok(BTreeSet::new());
    };
    let placed = state.placements(app, number)?.into_iter();
    trees(state, placed.filter_map(|placed| placed.latest).map(|(_, _, snapshot)| snapshot))
}

/// The trees of snapshots, and of those that they freeze.
pub(crate) fn trees(
    state: &dyn State,
    of: impl IntoIterator<Item = Digest>,
) -> Result<BTreeSet<Digest>, StoreError> {
    let mut open: Vec<Digest> = of.into_iter().collect();
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    while let Some(digest) = open.pop() {
        if seen.insert(digest) {
            let snapshot = views::snapshot(state, digest)?;
            found.extend(snapshot.contents().map(|content| content.tree));
            open.extend(snapshot.pins());
        }
    }
    Ok(found)
}
