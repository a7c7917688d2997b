//! Files on this machine as content: which files there are, what nodes they make, and where each node's bytes
//! are. Sizes are checked before anything is read; nothing is held in memory but digests and directories.

mod walk;

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use folio_core::content::{self, Chunked, FileEntry, TreeBuilder};
use folio_core::ports::Node;
use folio_core::request::ContentRef;
use folio_core::{Limits, archive};
use folio_model::{ChunkList, Digest, Layout, NodeKind, Tree, TreePath};

use self::walk::Walked;
use crate::problem::Problem;

/// What a flag names.
#[derive(Debug, Clone)]
pub(crate) enum Given {
    /// `--code`: one file to run.
    Code(PathBuf),
    /// `--src` or `--deploy`: a directory, or an archive to unpack.
    Files(PathBuf),
}

/// Content that is ready to be uploaded.
#[derive(Debug)]
pub(crate) struct Plan {
    /// How to name it once it is uploaded.
    pub(crate) content: ContentRef,
    /// The node that holds all others.
    pub(crate) root: Digest,
    /// Every node, each once, none before what it names.
    pub(crate) nodes: Vec<Planned>,
}

/// A node and where its bytes are.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) kind: NodeKind,
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Memory(Bytes),
    File { path: PathBuf, offset: u64 },
}

impl Planned {
    /// The nodes it names.
    pub(crate) fn children(&self) -> Vec<Digest> {
        let Place::Memory(bytes) = &self.place else { return Vec::new() };
        match self.kind {
            NodeKind::Raw => Vec::new(),
            NodeKind::Chunked => ChunkList::decode(bytes).map(|list| list.0).unwrap_or_default(),
            NodeKind::Tree => Tree::decode(bytes)
                .map(|tree| tree.entries().iter().map(folio_model::TreeEntry::digest).collect())
                .unwrap_or_default(),
        }
    }

    /// Reads its bytes, which must still be what they were.
    pub(crate) fn read(&self) -> Result<Bytes> {
        let (path, offset) = match &self.place {
            Place::Memory(bytes) => return Ok(bytes.clone()),
            Place::File { path, offset } => (path, *offset),
        };
        let mut bytes = Vec::new();
        let mut file = open(path)?;
        let read = file.seek(SeekFrom::Start(offset));
        let read = read.and_then(|_| file.take(self.bytes).read_to_end(&mut bytes));
        read.with_context(|| cannot_read(path))?;
        if Digest::of(&bytes) != self.digest {
            let problem = format!("`{}` was changed while it was uploaded", path.display());
            return Err(Problem::new(problem).hint("repeat the command").into());
        }
        Ok(bytes.into())
    }
}

/// Plans the upload of what a flag names. Reads every file once.
pub(crate) fn plan(given: &Given, limits: &Limits) -> Result<Plan> {
    match given {
        Given::Code(path) => code(path, limits),
        Given::Files(path) if metadata(path)?.is_dir() => directory(path, limits),
        Given::Files(path) => archive(path, limits),
    }
}

fn code(path: &Path, limits: &Limits) -> Result<Plan> {
    let about = metadata(path)?;
    if about.is_dir() {
        let problem = Problem::new(format!("`{}` is a directory", path.display()));
        return Err(problem.hint("give it with --deploy or --src; --code takes one file").into());
    }
    let bytes = regular(path, &about)?;
    check("bytes", bytes, limits.content_bytes_max, path)?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name: TreePath = name.parse().with_context(|| format!("cannot use `{name}` as a name"))?;
    let executable = walk::is_executable(&about);
    tree(vec![Walked::File { path: name, from: path.to_owned(), bytes, executable }], Layout::File)
}

fn directory(path: &Path, limits: &Limits) -> Result<Plan> {
    let walked = walk::walk(path)?;
    let lengths = walked.iter().filter_map(|found| match found {
        Walked::File { bytes, .. } => Some(*bytes),
        Walked::Directory(_) => None,
    });
    let (files, bytes) = lengths.fold((0, 0_u64), |(files, sum), bytes| (files + 1, sum + bytes));
    if files == 0 {
        bail!(Problem::new(format!("`{}` holds no files", path.display())));
    }
    check("files", files, limits.content_files_max, path)?;
    check("bytes", bytes, limits.content_bytes_max, path)?;
    tree(walked, Layout::Directory)
}

fn archive(path: &Path, limits: &Limits) -> Result<Plan> {
    let bytes = regular(path, &metadata(path)?)?;
    let mut start = Vec::new();
    let read = open(path)?.take(archive::START_BYTES).read_to_end(&mut start);
    read.with_context(|| cannot_read(path))?;
    if !archive::is_archive(&start) {
        let problem = format!("`{}` is not an archive", path.display());
        let hint = "give a zip, tar or tar.gz, or a directory; --code takes a single file";
        return Err(Problem::new(problem).hint(hint).into());
    }
    check("bytes", bytes, limits.archive_bytes_max, path)?;
    let mut nodes = Nodes::default();
    let Chunked { digest, .. } = nodes.file(path)?;
    Ok(Plan {
        content: ContentRef::Archive { archive: digest },
        root: digest,
        nodes: nodes.planned,
    })
}

fn tree(walked: Vec<Walked>, layout: Layout) -> Result<Plan> {
    let mut nodes = Nodes::default();
    let mut builder = TreeBuilder::default();
    for found in walked {
        match found {
            Walked::Directory(path) => builder.insert_directory(&path)?,
            Walked::File { path, from, executable, .. } => {
                let Chunked { digest, bytes } = nodes.file(&from)?;
                builder.insert(&path, FileEntry { digest, bytes, executable })?;
            }
        }
    }
    let built = builder.build()?;
    built.nodes.into_iter().for_each(|node| nodes.add_in_memory(node));
    let content = ContentRef::Tree { tree: built.root, layout };
    Ok(Plan { content, root: built.root, nodes: nodes.planned })
}

/// Nodes as they are found, each once.
#[derive(Default)]
struct Nodes {
    planned: Vec<Planned>,
    seen: HashMap<Digest, ()>,
}

impl Nodes {
    /// Splits a file and notes where its pieces are.
    fn file(&mut self, path: &Path) -> Result<Chunked> {
        let mut file = open(path)?;
        let mut offset = 0;
        let chunked = content::chunk(&mut file, &mut |node| {
            match node.kind {
                NodeKind::Raw => {
                    let bytes = node.bytes.len() as u64;
                    let place = Place::File { path: path.to_owned(), offset };
                    offset += bytes;
                    self.add(Planned { kind: node.kind, digest: node.digest, bytes, place });
                }
                NodeKind::Chunked | NodeKind::Tree => self.add_in_memory(node),
            }
            Ok(())
        });
        chunked.with_context(|| cannot_read(path))
    }

    fn add_in_memory(&mut self, node: Node) {
        let Node { kind, digest, bytes } = node;
        self.add(Planned { kind, digest, bytes: bytes.len() as u64, place: Place::Memory(bytes) });
    }

    fn add(&mut self, planned: Planned) {
        if self.seen.insert(planned.digest, ()).is_none() {
            self.planned.push(planned);
        }
    }
}

fn metadata(path: &Path) -> Result<std::fs::Metadata> {
    std::fs::metadata(path).with_context(|| cannot_read(path))
}

fn open(path: &Path) -> Result<File> {
    File::open(path).with_context(|| cannot_read(path))
}

fn regular(path: &Path, about: &std::fs::Metadata) -> Result<u64> {
    if about.is_file() {
        return Ok(about.len());
    }
    bail!(Problem::new(format!("`{}` is neither a file nor a directory", path.display())))
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read `{}`", path.display())
}

fn check(what: &str, found: u64, max: u64, path: &Path) -> Result<()> {
    if found <= max {
        return Ok(());
    }
    let path = path.display();
    let problem = Problem::new(format!("`{path}` has {found} {what}, the server takes {max}"));
    Err(problem.hint("leave out what is not needed, or raise the limit of the server").into())
}
