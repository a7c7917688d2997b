//! What every prisoner sees of the host: programs, libraries, certificates, a few devices, and the interpreters
//! wherever they are. Nothing that says who uses this host.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use folio_model::Network;

use super::interpreters::Interpreters;
use super::orders::{Access, Identity, Root, Tree};

const PROGRAMS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];
const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];
/// What only somebody with a network needs.
const NETWORKING: &[&str] = &["/etc/hosts", "/etc/resolv.conf", "/etc/services"];
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
const LINKS: &[(&str, &str)] = &[
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
    // Shared memory counts as temporary, so that there is one limit on both.
    ("/tmp", "/dev/shm"),
];

/// The part of a root that is the same in every cell with this network.
pub(super) fn root(network: Network, identity: Identity, interpreters: &Interpreters) -> Root {
    let mut root = Root::default();
    for path in PROGRAMS {
        add_program(&mut root, Path::new(path));
    }
    let networking = match network {
        Network::None => &[],
        Network::Egress => NETWORKING,
    };
    for path in SETTINGS.iter().chain(networking) {
        // Some are links to places no prisoner sees.
        if let Ok(from) = fs::canonicalize(path) {
            root.trees.push(Tree { from, to: path.into(), access: Access::Read });
        }
    }
    for path in interpreters.prefixes() {
        if !root.trees.iter().any(|tree| path.starts_with(&tree.to)) {
            let (from, to) = (path.to_owned(), path.to_owned());
            root.trees.push(Tree { from, to, access: Access::Read });
        }
    }
    for path in DEVICES {
        root.trees.push(Tree { from: path.into(), to: path.into(), access: Access::Device });
    }
    let link = |(says, path): &(&str, &str)| (PathBuf::from(says), PathBuf::from(path));
    root.links.extend(LINKS.iter().map(link));
    let Identity { user, group, .. } = identity;
    let files = [
        ("/etc/passwd", format!("function:x:{user}:{group}::/tmp:/bin/sh\n")),
        ("/etc/group", format!("function:x:{group}:\n")),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n".to_owned()),
    ];
    root.files.extend(files.map(|(path, text)| (path.into(), text.into_bytes())));
    if network == Network::None {
        let hosts = b"127.0.0.1 localhost\n::1 localhost\n".to_vec();
        root.files.push(("/etc/hosts".into(), hosts));
    }
    root
}

/// On most hosts these are links into `/usr`, and stay so.
fn add_program(root: &mut Root, path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            if let Ok(says) = fs::read_link(path) {
                root.links.push((says, path.to_owned()));
            }
        }
        Ok(found) if found.is_dir() => {
            let (from, to) = (path.to_owned(), path.to_owned());
            root.trees.push(Tree { from, to, access: Access::Read });
        }
        Ok(_) | Err(_) => {}
    }
}

/// The whole host, with room for mounts of a cell at their places.
pub(super) fn mirror(places: &[&Path]) -> io::Result<Root> {
    let mut root = Root::default();
    if !places.is_empty() {
        mirror_directory(Path::new("/"), places, &mut root)?;
    }
    Ok(root)
}

fn mirror_directory(directory: &Path, places: &[&Path], root: &mut Root) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        let Some(kind) = unless_gone(entry.file_type())? else { continue };
        let leads_to_one = |place: &&Path| place.starts_with(&path) && **place != path;
        if places.contains(&path.as_path()) {
            continue;
        } else if kind.is_symlink() {
            root.links.extend(unless_gone(fs::read_link(&path))?.map(|says| (says, path)));
        } else if kind.is_dir() && places.iter().any(leads_to_one) {
            mirror_directory(&path, places, root)?;
        } else {
            root.trees.push(Tree { from: path.clone(), to: path, access: Access::Mirrored });
        }
    }
    Ok(())
}

/// What was found, unless it went after it was listed: a host goes on meanwhile.
fn unless_gone<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_leaves_room_for_a_mount() {
        let host = tempfile::tempdir().expect("temporary directories can be made");
        fs::create_dir_all(host.path().join("run/other")).expect("and written to");
        fs::create_dir_all(host.path().join("etc")).expect("and written to");
        let place = host.path().join("run/folio/socket");
        let mut root = Root::default();
        mirror_directory(host.path(), &[&place], &mut root).expect("it can be read");
        let mut shown: Vec<_> = root.trees.iter().map(|tree| tree.to.clone()).collect();
        shown.sort();
        assert_eq!(shown, [host.path().join("etc"), host.path().join("run/other")]);
    }

    #[test]
    fn only_a_jail_with_a_network_knows_how_to_look_up_names() {
        let identity = Identity { user: 1, group: 1, chosen: false };
        let shows = |network, path: &str| {
            let root = root(network, identity, &Interpreters::default());
            root.trees.iter().any(|tree| tree.to == Path::new(path))
        };
        assert!(!shows(Network::None, "/etc/resolv.conf"));
        assert_eq!(
            shows(Network::Egress, "/etc/resolv.conf"),
            Path::new("/etc/resolv.conf").exists()
        );
        assert!(!shows(Network::Egress, "/etc/passwd"));
    }
}
