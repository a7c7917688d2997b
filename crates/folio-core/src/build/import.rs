//! Takes over the directory a build made, as a tree. Takes files and directories and nothing else: what a build
//! made must not lead out of its directory.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use folio_model::{Digest, EntryName, TreePath};
use tokio::sync::mpsc;

use crate::Limits;
use crate::content::{FileEntry, TreeBuilder, chunk};
use crate::ports::runtime::Built;
use crate::ports::{Blobs, Node, StoreError};

/// Bytes of nodes stored at once.
const BATCH_BYTES: usize = 32 * 1024 * 1024;

/// Why a result is not taken.
enum Refusal {
    /// It is not what a build may make.
    Result(String),
    /// It cannot be read.
    Read(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// Stores what a build made and returns the root of its tree, or says what is wrong with it.
pub(super) async fn import(
    blobs: &dyn Blobs,
    built: Built,
    limits: &Limits,
) -> Result<Result<Digest, String>, StoreError> {
    let (batches, mut ready) = mpsc::channel(1);
    let limits = *limits;
    let reading = tokio::task::spawn_blocking(move || {
        let read = read(&built.directory.0, &limits, &batches);
        drop(built);
        read
    });
    while let Some(nodes) = ready.recv().await {
        blobs.put(nodes).await?;
    }
    let read = reading.await.map_err(|error| StoreError::failed("read a build's result", error))?;
    match read {
        Ok(tree) => Ok(Ok(tree)),
        Err(Refusal::Result(why)) => Ok(Err(why)),
        Err(Refusal::Read(error)) => Err(StoreError::failed("read a build's result", error)),
    }
}

fn read(
    root: &Path,
    limits: &Limits,
    batches: &mpsc::Sender<Vec<Node>>,
) -> Result<Digest, Refusal> {
    let mut reader = Reader {
        builder: TreeBuilder::default(),
        batch: Batch { batches, nodes: Vec::new(), bytes: 0 },
        limits,
        files: 0,
        bytes: 0,
    };
    let mut ahead: Vec<(PathBuf, Option<TreePath>)> = vec![(root.to_owned(), None)];
    while let Some((directory, path)) = ahead.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            let place = place(path.as_ref(), &entry.file_name())?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                reader.builder.insert_directory(&place).map_err(|clash| odd(&clash))?;
                ahead.push((entry.path(), Some(place)));
            } else if kind.is_file() {
                reader.file(&entry.path(), &place)?;
            } else {
                return Err(Refusal::Result(format!(
                    "the result holds `{place}`, which is neither a file nor a directory"
                )));
            }
        }
    }
    reader.finish()
}

fn place(above: Option<&TreePath>, name: &std::ffi::OsStr) -> Result<TreePath, Refusal> {
    let text = name.to_string_lossy();
    let parsed = name.to_str().and_then(|name| name.parse::<EntryName>().ok());
    let refused = || Refusal::Result(format!("the result holds a file with the odd name `{text}`"));
    let name = parsed.ok_or_else(refused)?;
    match above {
        None => Ok(name.into()),
        Some(above) => above.join(name).ok_or_else(refused),
    }
}

fn odd(error: &dyn std::error::Error) -> Refusal {
    Refusal::Result(format!("the result makes no tree: {error}"))
}

struct Reader<'a> {
    builder: TreeBuilder,
    batch: Batch<'a>,
    limits: &'a Limits,
    files: u64,
    bytes: u64,
}

impl Reader<'_> {
    fn file(&mut self, from: &Path, to: &TreePath) -> Result<(), Refusal> {
        let mut file = File::open(from)?;
        let about = file.metadata()?;
        self.files += 1;
        self.bytes += about.len();
        let Limits { content_files_max, content_bytes_max, .. } = *self.limits;
        if self.files > content_files_max {
            let why = format!("the result has more than the {content_files_max} files allowed");
            return Err(Refusal::Result(why));
        }
        if self.bytes > content_bytes_max {
            let why = format!("the result has more than the {content_bytes_max} bytes allowed");
            return Err(Refusal::Result(why));
        }
        let chunked = chunk(&mut file, &mut |node| self.batch.add(node))?;
        let executable = about.permissions().mode() & 0o100 != 0;
        let entry = FileEntry { digest: chunked.digest, bytes: chunked.bytes, executable };
        self.builder.insert(to, entry).map_err(|clash| odd(&clash))
    }

    fn finish(mut self) -> Result<Digest, Refusal> {
        if self.files == 0 {
            return Err(Refusal::Result("the build made no files".to_owned()));
        }
        let built = self.builder.build().map_err(|error| odd(&error))?;
        built.nodes.into_iter().try_for_each(|node| self.batch.add(node))?;
        self.batch.send()?;
        Ok(built.root)
    }
}

/// Nodes on their way to the store.
struct Batch<'a> {
    batches: &'a mpsc::Sender<Vec<Node>>,
    nodes: Vec<Node>,
    bytes: usize,
}

impl Batch<'_> {
    fn add(&mut self, node: Node) -> io::Result<()> {
        self.bytes += node.bytes.len();
        self.nodes.push(node);
        if self.bytes >= BATCH_BYTES { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> io::Result<()> {
        self.bytes = 0;
        let nodes = std::mem::take(&mut self.nodes);
        let gone = |_| io::Error::other("nobody waits for the result");
        self.batches.blocking_send(nodes).map_err(gone)
    }
}
