//! A root of its own: an empty file system in memory with what the orders name mounted into it, and nothing
//! else of the host within reach. Call in this order: [`open`], [`build`], [`enter`].

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};

use super::kernel;
use super::orders::{Access, Root, Tree};

/// Where the new root is put while it is built. It hides what is there, so it must be a place from which no
/// cell ever mounts anything.
const SITE: &str = "/sys";

/// Takes hold of what is to be mounted, with what may be done there. Nothing where the host's own came and went.
pub(super) fn open(trees: &[Tree]) -> io::Result<Vec<Option<OwnedFd>>> {
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    trees.iter().map(|tree| open_tree(tree).map_err(|error| about(&error, &tree.from))).collect()
}

fn open_tree(tree: &Tree) -> io::Result<Option<OwnedFd>> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let opened = match rustix::mount::open_tree(CWD, &tree.from, flags) {
        Err(rustix::io::Errno::NOENT) if tree.access == Access::Mirrored => return Ok(None),
        opened => opened?,
    };
    let quiet = MountAttrFlags::MOUNT_ATTR_NOSUID;
    let attributes = match tree.access {
        Access::Unchanged | Access::Mirrored => return Ok(Some(opened)),
        Access::Read => {
            quiet | MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NODEV
        }
        Access::Write => quiet | MountAttrFlags::MOUNT_ATTR_NODEV,
        Access::Device => quiet | MountAttrFlags::MOUNT_ATTR_NOEXEC,
    };
    kernel::add_mount_attributes(&opened, attributes.bits().into())?;
    Ok(Some(opened))
}

/// Builds the new root, with so many bytes of a `/tmp` of its own, and makes it the current directory.
pub(super) fn build(
    root: &Root,
    opened: Vec<Option<OwnedFd>>,
    tmp_bytes: Option<u64>,
) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let options = format!("mode=755,size={}", room(&root.files));
    let options = std::ffi::CString::new(options).map_err(io::Error::other)?;
    rustix::mount::mount("folio", SITE, "tmpfs", flags, options.as_c_str())?;
    rustix::process::chdir(SITE)?;
    // Before the mounts, which may lie in it.
    tmp_bytes.map_or(Ok(()), make_temporary)?;
    let opened = root.trees.iter().zip(opened);
    let mut mounts: Vec<_> = opened.filter_map(|(tree, opened)| Some((tree, opened?))).collect();
    // What lies inside another mount is mounted after it.
    mounts.sort_by_key(|(tree, _)| tree.to.components().count());
    for (tree, opened) in mounts {
        attach(&tree.to, &opened).map_err(|error| about(&error, &tree.to))?;
    }
    for (path, text) in &root.files {
        let path = inside(path)?;
        make_parent(&path).map_err(|error| about(&error, &path))?;
        fs::write(&path, text).map_err(|error| about(&error, &path))?;
    }
    // Links last: until then no path in the new root can lead out of it.
    for (says, path) in &root.links {
        let path = inside(path)?;
        make_parent(&path)?;
        symlink(says, &path).map_err(|error| about(&error, &path))?;
    }
    Ok(())
}

/// Bytes of memory for the root itself, with the files in it.
fn room(files: &[(PathBuf, Vec<u8>)]) -> usize {
    const OWN: usize = 1024 * 1024;
    const PAGE: usize = 4096;
    OWN + files.iter().map(|(_, bytes)| bytes.len().next_multiple_of(PAGE) + PAGE).sum::<usize>()
}

fn attach(to: &Path, opened: &OwnedFd) -> io::Result<()> {
    let to = inside(to)?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(opened)?.st_mode);
    make_parent(&to)?;
    match fs::symlink_metadata(&to) {
        Ok(_) => {}
        Err(_) if kind == FileType::Directory => fs::create_dir(&to)?,
        Err(_) => drop(fs::File::create(&to)?),
    }
    let place = rustix::fs::openat2(
        CWD,
        &to,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::IN_ROOT,
    )?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(rustix::mount::move_mount(opened, "", place, "", flags)?)
}

/// Gives the new root a `/tmp` with an end to it.
fn make_temporary(bytes: u64) -> io::Result<()> {
    fs::create_dir_all("tmp")?;
    let options = std::ffi::CString::new(format!("mode=1777,size={bytes},nr_inodes=65536"))
        .map_err(io::Error::other)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmp", "tmp", "tmpfs", flags, options.as_c_str())?;
    fs::set_permissions("tmp", fs::Permissions::from_mode(0o1777))
}

/// Gives the new root a `/proc` that shows a process its own and those it may trace.
///
/// Must come before [`enter`]: the kernel lets a user do this only while another `/proc` is in sight.
pub(super) fn mount_proc() -> io::Result<String> {
    fs::create_dir_all("proc")?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    rustix::mount::mount("proc", "proc", "proc", flags, c"hidepid=2")?;
    Ok("only its own processes".to_owned())
}

/// Makes the current directory the root and lets go of the old one.
pub(super) fn enter() -> io::Result<()> {
    rustix::process::pivot_root(".", ".")?;
    // The old root now lies on top of the new one.
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    Ok(rustix::process::chdir("/")?)
}

/// Makes the root itself read-only; what is mounted in it stays as it is.
pub(super) fn freeze() -> io::Result<()> {
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    Ok(rustix::mount::mount_remount("/", flags, c"")?)
}

/// The path from the new root's directory.
fn inside(path: &Path) -> io::Result<PathBuf> {
    let mut inside = PathBuf::new();
    for part in path.components() {
        match part {
            Component::RootDir => {}
            Component::Normal(name) => inside.push(name),
            Component::Prefix(_) | Component::CurDir | Component::ParentDir => {
                return Err(io::Error::other(format!("`{}` is not a plain path", path.display())));
            }
        }
    }
    Ok(inside)
}

fn make_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => fs::create_dir_all(parent),
        _ => Ok(()),
    }
}

fn about(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}
