//! How much a build has written. There is no quota for directories, so somebody has to look.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a build may go on writing unseen.
const EVERY: Duration = Duration::from_secs(2);

/// Ends when a directory holds more bytes than it may.
pub(super) async fn overflow(directory: &Path, bytes_max: u64) {
    loop {
        tokio::time::sleep(EVERY).await;
        let directory = directory.to_path_buf();
        let looked = tokio::task::spawn_blocking(move || holds_more(&directory, bytes_max)).await;
        // What vanishes while it is looked at is the build's doing; the next look sees the rest.
        if matches!(looked, Ok(Ok(true))) {
            return;
        }
    }
}

/// Whether the files below a directory are larger than so many bytes together. Follows no links.
pub(super) fn holds_more(directory: &Path, bytes_max: u64) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let mut bytes: u64 = 0;
    let mut ahead: Vec<PathBuf> = vec![directory.to_path_buf()];
    while let Some(directory) = ahead.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries {
            let entry = entry?;
            let Ok(about) = entry.metadata() else { continue };
            // What it takes on disk, so that neither a million small files nor one with holes cheats.
            bytes += about.blocks() * 512;
            if about.is_dir() {
                ahead.push(entry.path());
            }
            if bytes > bytes_max {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_below_counts() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("a")).unwrap();
        fs::write(root.path().join("a/b"), vec![1; 256 * 1024]).unwrap();
        assert!(holds_more(root.path(), 200 * 1024).unwrap());
        assert!(!holds_more(root.path(), 1024 * 1024).unwrap());
    }
}
