//! What stands on damaged nodes: from every version, draft and release down to what they hold, and from the damage up
//! again. Reads no files, only what names them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use folio_model::{AppName, ChunkList, Digest, Kind, NodeKind, Tree, TreeEntry, Unit};

use crate::ports::{Page, Releases, State, StoreError};
use crate::release::contents::{contents, trees};
use crate::{Folio, view};

/// Trees and archives, and what holds them.
type Roots = BTreeMap<Digest, BTreeSet<String>>;

impl Folio {
    /// Of each of these nodes that anything stands on, what that is, as people call it.
    pub(super) async fn affected(
        &self,
        damaged: &[Digest],
    ) -> Result<HashMap<Digest, BTreeSet<String>>, StoreError> {
        if damaged.is_empty() {
            return Ok(HashMap::new());
        }
        let roots = self.look(roots).await?;
        let above = self.above(roots.keys().copied().collect()).await?;
        Ok(damaged.iter().map(|digest| (*digest, holders(*digest, &above, &roots))).collect())
    }

    /// Of every node below these, the nodes that name it.
    async fn above(
        &self,
        mut ahead: Vec<Digest>,
    ) -> Result<HashMap<Digest, Vec<Digest>>, StoreError> {
        let mut above: HashMap<Digest, Vec<Digest>> = HashMap::new();
        let mut seen: HashSet<Digest> = ahead.iter().copied().collect();
        while let Some(digest) = ahead.pop() {
            for named in self.named(digest).await? {
                above.entry(named).or_default().push(digest);
                if seen.insert(named) {
                    ahead.push(named);
                }
            }
        }
        Ok(above)
    }

    /// What a node names; nothing if that cannot be read.
    async fn named(&self, digest: Digest) -> Result<Vec<Digest>, StoreError> {
        let about = self.blobs.about(digest).await?;
        if about.is_none_or(|about| about.kind == NodeKind::Raw) {
            return Ok(Vec::new());
        }
        let node = match self.blobs.get(digest).await {
            Err(error) if error.is_lasting() => return Ok(Vec::new()),
            node => node?,
        };
        let named = match node.kind {
            NodeKind::Raw => None,
            NodeKind::Chunked => ChunkList::decode(&node.bytes).map(|list| list.0),
            NodeKind::Tree => {
                let tree = Tree::decode(&node.bytes).ok();
                tree.map(|tree| tree.entries().iter().map(TreeEntry::digest).collect())
            }
        };
        Ok(named.unwrap_or_default())
    }
}

/// What holds a node, however far above it.
fn holders(
    digest: Digest,
    above: &HashMap<Digest, Vec<Digest>>,
    roots: &Roots,
) -> BTreeSet<String> {
    let (mut ahead, mut seen) = (vec![digest], HashSet::from([digest]));
    let mut found = BTreeSet::new();
    while let Some(digest) = ahead.pop() {
        found.extend(roots.get(&digest).into_iter().flatten().cloned());
        let names = above.get(&digest).into_iter().flatten();
        ahead.extend(names.filter(|digest| seen.insert(**digest)));
    }
    found
}

/// Everything that holds files.
fn roots(state: &dyn State) -> Result<Roots, StoreError> {
    let mut roots = Roots::new();
    for app in state.apps()? {
        for kind in Kind::ALL {
            for unit in state.units(&app, kind)? {
                add_unit(state, &mut roots, &unit)?;
            }
        }
        for release in state.releases(&app, Releases::Accessible)? {
            let name = format!("release `{}`", path(&app, release.id.as_str()));
            for tree in contents(state, &app, &release.id)? {
                roots.entry(tree).or_default().insert(name.clone());
            }
        }
    }
    Ok(roots)
}

fn add_unit(state: &dyn State, roots: &mut Roots, unit: &Unit) -> Result<(), StoreError> {
    let versions = state.versions(unit.uid, Page::ALL)?.into_iter();
    let versions = versions.map(|held| (held.id.to_string(), held.snapshot, held.archive));
    let draft = unit.draft.as_ref();
    let draft = draft.map(|held| ("draft".to_owned(), held.snapshot, held.archive));
    for (at, snapshot, archive) in versions.chain(draft) {
        let built = view::build_key(state, &view::snapshot(state, snapshot)?)?;
        let built = built.map(|key| state.build(key)).transpose()?.flatten();
        let made: Vec<Digest> = built.iter().flat_map(|record| record.made()).collect();
        let name =
            format!("{} `{}@{at}`", unit.key.kind, path(&unit.key.app, unit.key.name.as_str()));
        for root in trees(state, [snapshot])?.into_iter().chain(archive).chain(made) {
            roots.entry(root).or_default().insert(name.clone());
        }
    }
    Ok(())
}

/// A name in an app, as commands take it.
fn path(app: &AppName, name: &str) -> String {
    if *app == AppName::default_app() { name.to_owned() } else { format!("{app}/{name}") }
}
