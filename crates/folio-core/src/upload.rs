//! Takes bytes in: what is missing is asked first, then only that is sent. A batch is stored whole or not at
//! all, so an upload that broke off is resumed by asking again.

use bytes::Bytes;
use folio_model::{
    AppName, Content, Digest, Draft, Kind, Layout, NodeKind, PackagePin, Qualifier, Snapshot,
    TreePath, Unit, UnitKey, Version, VersionKey,
};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::FileEntry;
use crate::ports::{Node, State, StoreError};
use crate::request::ContentRef;
use crate::view::Files;
use crate::{Class, Code, Explain, Folio, archive, content, history, resolve, view};

/// Why bytes were not taken or given.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Too much at once.
    #[error("{found} {what} are more than the {max} allowed")]
    TooMuch {
        /// What was counted.
        what: &'static str,
        /// How much there was.
        found: u64,
        /// How much there may be.
        max: u64,
    },
    /// The version has no such part.
    #[error("{kind} `{name}` has no {part} to download")]
    NoPart {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: folio_model::Name,
        /// The part.
        part: &'static str,
    },
    /// No package of the app came from such an archive.
    #[error("no package of app `{app}` came from an archive `{id}`")]
    NoArchive {
        /// The app.
        app: AppName,
        /// The archive's digest.
        id: Digest,
    },
    /// A name leads nowhere.
    #[error(transparent)]
    History(#[from] history::Error),
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<resolve::Error> for Error {
    fn from(error: resolve::Error) -> Self {
        Self::History(error.into())
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::TooMuch { .. } => Code("upload_too_large"),
            Self::NoPart { .. } => Code("no_such_part"),
            Self::NoArchive { .. } => Code("archive_not_found"),
            Self::History(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::TooMuch { .. } => Class::TooLarge,
            Self::NoPart { .. } | Self::NoArchive { .. } => Class::NotFound,
            Self::History(error) => error.class(),
            Self::Store(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::TooMuch { .. } => {
                Some("send less, or have the operator raise the limit".to_owned())
            }
            Self::NoPart { .. } => Some("leave out --source or --deployment".to_owned()),
            Self::NoArchive { .. } => Some("`folio archive list` shows them all".to_owned()),
            Self::History(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Uploaded {
    /// Nodes that were new.
    pub added: u64,
    /// Nodes that were there already.
    pub reused: u64,
}

/// How sure it has to be that nodes are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belief {
    /// As sure as what was written once and not found damaged since.
    Written,
    /// All of it was read again, down to the last file.
    ReadBack,
}

/// Which part of a package is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// What it is built from.
    Source,
    /// What runs.
    Deployment,
}

impl Folio {
    /// Says which of these nodes have to be uploaded. The others stay for at least the grace period.
    pub async fn missing(
        &self,
        digests: Vec<Digest>,
        belief: Belief,
    ) -> Result<Vec<Digest>, Error> {
        check("digests", digests.len() as u64, self.limits().batch_nodes_max)?;
        if belief == Belief::ReadBack {
            self.blobs.read_back(digests.clone()).await?;
        }
        Ok(self.blobs.missing(digests).await?)
    }

    /// Stores a batch of nodes, whole or not at all.
    pub async fn upload(&self, nodes: Vec<Node>) -> Result<Uploaded, Error> {
        let limits = self.limits();
        check("nodes", nodes.len() as u64, limits.batch_nodes_max)?;
        for node in &nodes {
            check("bytes in one node", node.bytes.len() as u64, limits.node_bytes_max)?;
        }
        let chunks_max = limits.content_bytes_max.max(limits.archive_bytes_max) / (16 * 1024);
        let lists = nodes.iter().filter(|node| node.kind == NodeKind::Chunked);
        for list in lists {
            check("chunks in one file", list.bytes.len() as u64 / 32, chunks_max)?;
        }
        let stored = self.blobs.put(nodes).await?;
        Ok(Uploaded { added: stored.added, reused: stored.reused })
    }

    /// Stores one file that came whole, and gives its digest.
    pub async fn keep_file(&self, bytes: Bytes) -> Result<Digest, Error> {
        check("bytes", bytes.len() as u64, self.limits().archive_bytes_max)?;
        let mut nodes = Vec::new();
        let mut keep = |node| {
            nodes.push(node);
            Ok(())
        };
        let chunked = content::chunk(&mut &bytes[..], &mut keep);
        let chunked = chunked.map_err(|error| StoreError::failed("cut a file", error))?;
        self.blobs.put(nodes).await?;
        Ok(chunked.digest)
    }

    /// Stores bytes that came without a name: an archive as what it holds, anything else as one file.
    pub async fn upload_bytes(&self, bytes: Bytes) -> Result<ContentRef, Error> {
        let limits = self.limits();
        check("bytes", bytes.len() as u64, limits.content_bytes_max)?;
        let mut nodes = Vec::new();
        let mut sink = |node| {
            nodes.push(node);
            Ok(())
        };
        let chunked = content::chunk(&mut bytes.as_ref(), &mut sink);
        let file = chunked.map_err(|error| StoreError::failed("read bytes", error))?;
        let start = usize::try_from(archive::START_BYTES).unwrap_or(usize::MAX).min(bytes.len());
        if archive::is_archive(&bytes[..start]) {
            self.blobs.put(nodes).await?;
            return Ok(ContentRef::Archive { archive: file.digest });
        }
        let mut tree = content::TreeBuilder::default();
        let path: TreePath = "user".parse().expect("a name is a path");
        let entry = FileEntry { digest: file.digest, bytes: file.bytes, executable: false };
        tree.insert(&path, entry).expect("nothing else is in the tree");
        let built = tree.build().map_err(|error| StoreError::failed("make a tree", error))?;
        nodes.extend(built.nodes);
        self.blobs.put(nodes).await?;
        Ok(ContentRef::Tree { tree: built.root, layout: Layout::File })
    }

    /// Reads the one file of a tree, if there is one and it is no longer than allowed.
    pub async fn sole_file(
        &self,
        content: Content,
        bytes_max: u64,
    ) -> Result<Option<Bytes>, StoreError> {
        if content.layout != Layout::File {
            return Ok(None);
        }
        let listed = content::list_files(self.blobs.as_ref(), content.tree).await?;
        let Some((_, entry)) = listed.into_iter().next() else { return Ok(None) };
        let about = self.blobs.about(entry.digest()).await?;
        if about.is_none_or(|about| about.totals.bytes > bytes_max) {
            return Ok(None);
        }
        content::read_whole(self.blobs.as_ref(), entry.digest()).await.map(Some)
    }

    /// Finds the files of a version or a draft: of a function, those of its package.
    pub async fn files(
        &self,
        key: &UnitKey,
        at: &Qualifier,
        part: Option<Part>,
    ) -> Result<Files, Error> {
        let (key, at) = (key.clone(), at.clone());
        self.look(move |state| {
            let unit = resolve::unit(state, &key)?;
            let held = held(state, &unit, &at)?;
            let (snapshot, archive) = match (view::snapshot(state, held.snapshot)?, held.uses) {
                (Snapshot::Function(spec), uses) => {
                    let package = view::snapshot(state, spec.package.snapshot)?;
                    (package, archive_of(state, &key.app, (&spec.package, uses))?)
                }
                (package, _) => (package, held.archive),
            };
            let Snapshot::Package(spec) = snapshot else {
                return Err(StoreError::corrupt("a package's snapshot").into());
            };
            // The archive belongs to the main part: what runs, or else what is built.
            let main = spec.deployment.or(spec.source);
            let (content, part) = match part {
                Some(Part::Source) => (spec.source, "source"),
                Some(Part::Deployment) => (spec.deployment, "deployment"),
                None => (main, "content"),
            };
            let no_part = Error::NoPart { kind: key.kind, name: key.name, part };
            let content = content.ok_or(no_part)?;
            let archive = archive.filter(|_| Some(content) == main);
            Ok(Files { id: held.id, content, archive })
        })
        .await
    }

    /// The bytes of a version's files as they were given: the archive, the one file, or a zip of the tree.
    pub async fn download(&self, files: &Files) -> Result<Download, Error> {
        let Content { tree, layout } = files.content;
        match (files.archive, layout) {
            (Some(archive), _) => self.stored(None, archive).await,
            (None, Layout::Directory) => self.packed(tree).await,
            (None, Layout::File) => {
                let listed = content::list_files(self.blobs.as_ref(), tree).await?;
                let (path, entry) = listed.into_iter().next().ok_or_else(|| {
                    StoreError::corrupt(format!("tree {tree}, which should hold one file"))
                })?;
                self.stored(Some(path.to_string()), entry.digest()).await
            }
        }
    }

    /// The bytes of a version's files as a zip: the one they came in, or else one that is made of them.
    pub async fn download_zip(&self, files: &Files) -> Result<Download, Error> {
        if let Some(archive) = files.archive {
            let mut given = self.stored(None, archive).await?;
            let start = given.content.next().await.transpose()?.unwrap_or_default();
            if archive::is_zip(&start) {
                given.content = stream::iter([Ok(start)]).chain(given.content).boxed();
                return Ok(given);
            }
        }
        self.packed(files.content.tree).await
    }

    async fn packed(&self, tree: Digest) -> Result<Download, Error> {
        let content = content::zip_stream(self.blobs(), tree).await?;
        Ok(Download { name: None, digest: None, bytes: None, content })
    }

    pub(crate) async fn stored(
        &self,
        name: Option<String>,
        digest: Digest,
    ) -> Result<Download, Error> {
        let file = content::read_file(self.blobs(), digest).await?;
        let (bytes, content) = (Some(file.bytes), file.content);
        Ok(Download { name, digest: Some(digest), bytes, content })
    }

    /// The blobs, for doors that stream.
    pub fn blobs(&self) -> std::sync::Arc<dyn crate::ports::Blobs> {
        std::sync::Arc::clone(&self.blobs)
    }
}

/// Bytes on their way out.
pub struct Download {
    /// The file's own name, if it is one file.
    pub name: Option<String>,
    /// The digest of the bytes, if they are stored as they are.
    pub digest: Option<Digest>,
    /// Their length, if it is known before the end.
    pub bytes: Option<u64>,
    /// The bytes, in order.
    pub content: BoxStream<'static, Result<Bytes, StoreError>>,
}

/// What leads to the files of a version or a draft.
struct Held {
    id: String,
    snapshot: Digest,
    uses: Option<VersionKey>,
    archive: Option<Digest>,
}

fn held(state: &dyn State, unit: &Unit, at: &Qualifier) -> Result<Held, Error> {
    if let (Qualifier::Draft, Some(draft)) = (at, &unit.draft) {
        let Draft { snapshot, uses, archive } = *draft;
        return Ok(Held { id: at.to_string(), snapshot, uses, archive });
    }
    let Version { id, snapshot, uses, archive, .. } = resolve::version(state, unit, at)?;
    Ok(Held { id: id.to_string(), snapshot, uses, archive })
}

/// The archive that a function's package came from: that of its version, or of its draft.
fn archive_of(
    state: &dyn State,
    app: &AppName,
    (pin, uses): (&PackagePin, Option<VersionKey>),
) -> Result<Option<Digest>, StoreError> {
    if let Some(key) = uses {
        return Ok(state.version(key)?.and_then(|version| version.archive));
    }
    let key = UnitKey { app: app.clone(), kind: Kind::Package, name: pin.name.clone() };
    let draft = state.unit(&key)?.and_then(|unit| unit.draft);
    Ok(draft.filter(|draft| draft.snapshot == pin.snapshot).and_then(|draft| draft.archive))
}

fn check(what: &'static str, found: u64, max: u64) -> Result<(), Error> {
    if found > max { Err(Error::TooMuch { what, found, max }) } else { Ok(()) }
}
