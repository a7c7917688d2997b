//! A process that rewrites what an older hub left behind dies inside the transaction. The directory opens and is
//! whole, as if the batch had never begun, and the migration completes when it is run again.

use std::path::Path;
use std::process::{Command, Stdio};

use folio_core::crash;
use folio_core::ports::Ledger as _;
use folio_model::Timestamp;

use super::{UNITS, check_whole, folio, left_behind, older_bodies, open};

/// Where the child works.
const DIRECTORY: &str = "FOLIO_REWRITE_CRASH_DIRECTORY";
/// Where the child dies: `name:nth`.
const POINT: &str = "FOLIO_REWRITE_CRASH_POINT";

/// How many bodies a transaction of the child rewrites.
const AT_ONCE: u64 = 4;

/// How many bodies there are.
const BODIES: u64 = 2 * UNITS as u64;

/// Where the child dies, and how many bodies it has rewritten for good by then: in the middle of the first and of
/// the second transaction, and at the end of each, the last of which also notes that all is done.
const DEATHS: &[(&str, u64, u64)] = &[
    ("rewrite.body", 1, 0),
    ("rewrite.body", AT_ONCE + 2, AT_ONCE),
    ("rewrite.noted", 1, 0),
    ("rewrite.noted", 2, AT_ONCE),
    ("rewrite.noted", 3, 2 * AT_ONCE),
];

#[tokio::test]
async fn a_migration_that_dies_in_its_transaction_completes_when_run_again() {
    let own = crash::POINTS.iter().filter(|point| point.starts_with("rewrite."));
    let is_tried = |point: &&str| DEATHS.iter().any(|(tried, _, _)| tried == point);
    assert!({ own }.all(is_tried), "a point of rewriting is not tried");
    for (point, nth, rewritten) in DEATHS.iter().copied() {
        let directory = tempfile::tempdir().unwrap();
        let published = left_behind(directory.path()).await;
        die(directory.path(), &format!("{point}:{nth}"));

        let data = open(directory.path()).await;
        check_whole(&data, &published).await;
        let left = BODIES - rewritten;
        assert_eq!(older_bodies(directory.path()), left as i64, "{point}:{nth} is half done");

        let report = folio(&data).migrate_storage().await.unwrap();
        assert_eq!(report.rewritten, left, "{point}:{nth}");
        assert_eq!(older_bodies(directory.path()), 0, "{point}:{nth}");
        check_whole(&data, &published).await;
        assert_eq!(folio(&data).migrate_storage().await.unwrap().rewritten, 0, "all is done");
    }
}

/// Migrates in a process that dies at a point.
#[expect(clippy::disallowed_methods, reason = "a process that dies must be another one")]
fn die(directory: &Path, point: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kinds::crash::migrates"]);
    command.env(DIRECTORY, directory).env(POINT, point);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert!(!child.success(), "nothing passes {point}");
}

/// The child of the test above; on its own it does nothing.
#[expect(clippy::disallowed_methods, reason = "how a test tells its child what to do")]
#[tokio::test]
async fn migrates() {
    let (Ok(directory), Ok(point)) = (std::env::var(DIRECTORY), std::env::var(POINT)) else {
        return;
    };
    let data = open(Path::new(&directory)).await;
    let (point, nth) = point.split_once(':').unwrap();
    crash::arm(point, nth.parse().unwrap());
    let limit = usize::try_from(AT_ONCE).unwrap();
    loop {
        let batch = data.ledger.migrate_storage(limit, Timestamp::UNIX_EPOCH).await.unwrap();
        if batch.done_at.is_some() {
            break;
        }
    }
}
