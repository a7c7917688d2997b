//! Packs as files of this machine.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::PathBuf;

use super::*;

fn large() -> Node {
    let mut chance = StdRng::seed_from_u64(1);
    file(std::iter::repeat_with(|| chance.random::<u8>()).take(KEPT_MAX + 1).collect::<Vec<_>>())
}

/// Everything below a directory with who may do what to it.
fn modes(directory: PathBuf) -> Vec<(bool, u32)> {
    let (mut ahead, mut modes) = (vec![directory], Vec::new());
    while let Some(next) = ahead.pop() {
        let about = next.metadata().unwrap();
        modes.push((about.is_dir(), about.permissions().mode() & 0o777));
        if about.is_dir() {
            ahead.extend(std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    modes
}

#[tokio::test]
async fn only_the_owner_may_look_at_packs_whoever_made_their_directory() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    let blobs = directory.path().join("blobs");
    DirBuilder::new().mode(0o755).create(&blobs).unwrap();
    std::fs::set_permissions(&blobs, Permissions::from_mode(0o755)).unwrap();
    let store = reopened(&directory).await;
    store.put(vec![large()]).await.unwrap();
    let found = modes(blobs);
    assert_eq!(found.len(), 4, "the directory, `packs`, a shelf and a pack: {found:?}");
    for (is_directory, mode) in found {
        assert_eq!(mode, if is_directory { 0o700 } else { 0o600 });
    }
    drop(store);
    let copy = directory.path().join("copy");
    DataDirectory::copy(directory.path(), &copy).await.unwrap();
    for (is_directory, mode) in modes(copy.join("blobs")) {
        assert_eq!(mode, if is_directory { 0o700 } else { 0o600 });
    }
}
