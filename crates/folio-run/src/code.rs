//! Code on disk: each tree is written once, read-only, under a name nobody can guess.
//!
//! The directory of all trees can be entered but not listed, so a worker that sees it can open only what it was
//! told the name of. That is how a worker that waits gets its code without a new mount. Start at
//! [`CodeStore::open`].

mod write;

use std::collections::{HashMap, VecDeque};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use folio_core::ports::runtime::CallError;
use folio_core::ports::{Blobs, StoreError};
use folio_model::{Content, Digest, Layout};
use tokio::sync::OnceCell;

pub(crate) use write::{Access, remove, write};

/// Where workers see the directory of all trees.
pub const INSIDE: &str = "/code";

/// Trees that nobody uses any more and that are kept for whoever comes back.
const UNUSED_MAX: usize = 32;

/// Bytes of those trees.
const UNUSED_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// May be entered, written by the server and listed by nobody. The owner counts too: in some jails the worker has
/// the server's user.
const UNLISTED: u32 = 0o311;

/// Puts code on disk and keeps it there while somebody uses it.
pub struct CodeStore {
    shelf: Arc<Shelf>,
    blobs: Arc<dyn Blobs>,
}

/// One tree on disk. Its files stay while this is held.
pub struct Code {
    outside: PathBuf,
    inside: PathBuf,
    tree: Arc<OnDisk>,
    shelf: Weak<Shelf>,
}

impl CodeStore {
    /// Takes `<run>/code`, removing what an earlier process left there.
    pub fn new(run: &Path, blobs: Arc<dyn Blobs>) -> io::Result<Self> {
        let directory = run.join("code");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(run)?;
        let remover = remover()?;
        set_aside(run, &directory, &remover)?;
        fs::create_dir(&directory)?;
        fs::set_permissions(&directory, Permissions::from_mode(UNLISTED))?;
        let shelf = Shelf { directory, books: Mutex::default(), remover };
        Ok(Self { shelf: Arc::new(shelf), blobs })
    }

    /// The directory of all trees, to be mounted read-only at [`INSIDE`].
    pub fn directory(&self) -> &Path {
        &self.shelf.directory
    }

    /// Puts a tree on disk, or finds it there. Whoever asks for the same tree meanwhile waits for the same files.
    pub async fn open(&self, content: &Content) -> Result<Arc<Code>, CallError> {
        let tree = self.shelf.find(content.tree);
        let files = tree.files.get_or_try_init(|| self.write(content.tree)).await;
        let files = files.map_err(|error| refusal(&error))?;
        let (name, only) = (files.name.clone(), files.only.clone());
        let file = match content.layout {
            Layout::Directory => PathBuf::from(name),
            Layout::File => {
                let odd =
                    || CallError::Load("the package should be one file and is not".to_owned());
                Path::new(&name).join(only.ok_or_else(odd)?)
            }
        };
        self.shelf.used(&tree);
        let (outside, inside) = (self.shelf.directory.join(&file), Path::new(INSIDE).join(&file));
        let shelf = Arc::downgrade(&self.shelf);
        Ok(Arc::new(Code { outside, inside, tree, shelf }))
    }

    async fn write(&self, tree: Digest) -> Result<Files, StoreError> {
        let name = format!("{:032x}", rand::random::<u128>());
        let directory = self.shelf.directory.join(&name);
        // Made before the first file is written, so that a caller who leaves early leaves nothing behind.
        let mut files =
            Files { name, only: None, bytes: 0, directory, remover: self.shelf.remover.clone() };
        let written = write(&self.blobs, tree, &files.directory, Access::Sealed).await?;
        files.bytes = written.bytes;
        files.only = written.only;
        Ok(files)
    }
}

fn refusal(error: &StoreError) -> CallError {
    match error {
        StoreError::Full | StoreError::Failed { .. } => {
            let source = std::error::Error::source(error);
            let source = source.map(|source| format!(": {source}")).unwrap_or_default();
            CallError::Unavailable(format!("the code could not be put on disk: {error}{source}"))
        }
        error if error.is_lasting() => CallError::Damaged(error.to_string()),
        other => CallError::Load(other.to_string()),
    }
}

impl Code {
    /// Where the server sees it: the directory, or the one file.
    pub fn path(&self) -> &Path {
        &self.outside
    }

    /// Where a worker sees it.
    pub fn inside(&self) -> PathBuf {
        self.inside.clone()
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(shelf) = self.shelf.upgrade() {
            shelf.used(&self.tree);
        }
    }
}

/// A tree that is on disk or on its way there.
struct OnDisk {
    files: OnceCell<Files>,
}

/// The files of one tree, which go with it.
struct Files {
    name: String,
    /// The name of its file, if it is just one.
    only: Option<String>,
    bytes: u64,
    directory: PathBuf,
    remover: Remover,
}

impl Drop for Files {
    fn drop(&mut self) {
        // The thread ends only when no sender is left, and this is one.
        drop(self.remover.send(std::mem::take(&mut self.directory)));
    }
}

struct Shelf {
    directory: PathBuf,
    books: Mutex<Books>,
    remover: Remover,
}

#[derive(Default)]
struct Books {
    trees: HashMap<Digest, Weak<OnDisk>>,
    /// The trees that were taken or given back last, the latest at the end.
    recent: VecDeque<Arc<OnDisk>>,
}

impl Shelf {
    fn find(&self, tree: Digest) -> Arc<OnDisk> {
        let mut books = self.books();
        if let Some(found) = books.trees.get(&tree).and_then(Weak::upgrade) {
            return found;
        }
        books.trees.retain(|_, tree| tree.strong_count() > 0);
        let made = Arc::new(OnDisk { files: OnceCell::new() });
        books.trees.insert(tree, Arc::downgrade(&made));
        made
    }

    /// Notes that a tree is or was in use; the ones that were not for longest leave.
    fn used(&self, tree: &Arc<OnDisk>) {
        let mut leaving = Vec::new();
        let mut books = self.books();
        books.recent.retain(|other| !Arc::ptr_eq(other, tree));
        books.recent.push_back(Arc::clone(tree));
        let bytes = |tree: &Arc<OnDisk>| tree.files.get().map_or(0, |files| files.bytes);
        let mut held: u64 = books.recent.iter().map(bytes).sum();
        while books.recent.len() > UNUSED_MAX || held > UNUSED_BYTES_MAX {
            let Some(oldest) = books.recent.pop_front() else { break };
            held -= bytes(&oldest);
            leaving.push(oldest);
        }
        // Whatever they drop, they drop without the lock.
        drop(books);
        drop(leaving);
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().expect("no holder panics")
    }
}

/// Takes directories to remove.
pub(crate) type Remover = std::sync::mpsc::Sender<PathBuf>;

/// Has what an earlier process left removed meanwhile: it may be very many files.
fn set_aside(run: &Path, directory: &Path, remover: &Remover) -> io::Result<()> {
    const GONE: &str = "gone-";
    let mut gone = Vec::new();
    for entry in fs::read_dir(run)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(GONE) {
            gone.push(path);
        }
    }
    if fs::symlink_metadata(directory).is_ok() {
        let free = (0_u32..).map(|number| run.join(format!("{GONE}{number}")));
        let aside = free.into_iter().find(|path| !gone.contains(path));
        let aside = aside.expect("there are more numbers than directories");
        fs::rename(directory, &aside)?;
        gone.push(aside);
    }
    // The remover only ends with the process.
    gone.into_iter().for_each(|path| drop(remover.send(path)));
    Ok(())
}

/// Starts the thread that removes directories, so that nobody who answers requests waits for it.
pub(crate) fn remover() -> io::Result<Remover> {
    let (sender, directories) = std::sync::mpsc::channel::<PathBuf>();
    let work = move || {
        for directory in directories {
            if let Err(error) = remove(&directory) {
                tracing::warn!(%error, path = %directory.display(), "Could not remove a directory");
            }
        }
    };
    std::thread::Builder::new().name("folio-remover".to_owned()).spawn(work)?;
    Ok(sender)
}
