//! Cuts the power: shuts down a real file system under the server, so that whatever was not synced is gone. Needs
//! root, a loop device and ext4; where those are not to be had, says so and checks nothing.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use tokio::task::JoinSet;

use super::client::Client;
use super::record::Record;
use super::server::{Harm, Server, check, token};

const CUTS: usize = 8;
/// A planted fault must show within so many cuts.
const CUTS_FOR_A_FAULT: usize = 20;

#[tokio::test]
async fn a_power_cut_loses_nothing_acknowledged() {
    let Some(disk) = Disk::make() else { return };
    for cut in 0..CUTS {
        let lost = loses(&disk, cut, &Harm::default()).await;
        assert!(!lost, "cut {cut} lost an acknowledged write");
    }
}

#[tokio::test]
async fn a_missing_sync_is_caught_by_a_power_cut() {
    for fault in folio_core::crash::FAULTS {
        let Some(disk) = Disk::make() else { return };
        let harm = Harm { fault: Some(fault), ..Harm::default() };
        let mut caught = false;
        for cut in 0..CUTS_FOR_A_FAULT {
            caught = caught || loses(&disk, cut, &harm).await;
        }
        assert!(caught, "fault `{fault}` was planted and {CUTS_FOR_A_FAULT} cuts lost nothing");
    }
}

/// Writes, cuts the power after the last acknowledgement, and looks whether everything is still there.
async fn loses(disk: &Disk, cut: usize, harm: &Harm) -> bool {
    let data = disk.mounted().join(format!("data{cut}"));
    disk.mount();
    let mut server = Server::start(&data, harm).expect("it starts");
    let secret = token(&data);
    let client = Client::new(&server.url, &secret);
    let mut clients = JoinSet::new();
    for number in 0..4 {
        let (client, mut record) = (client.clone(), Record::new(&format!("f{number}")));
        clients.spawn(async move {
            for _ in 0..4 + 3 * cut % 5 {
                let step = record.next();
                assert!(record.take(&client, step).await, "the server is up");
            }
            record
        });
    }
    let records = clients.join_all().await;
    disk.cut();
    server.kill();
    disk.unmount();
    disk.mount();
    let mut judge = JoinSet::new();
    judge.spawn(async move { stands(&data, &records).await });
    let kept = judge.join_next().await.expect("one judge");
    disk.unmount();
    kept.is_err()
}

/// Panics if anything acknowledged is missing.
async fn stands(data: &Path, records: &[Record]) {
    check(data);
    let mut server = Server::start(data, &Harm::default()).expect("it starts after a power cut");
    let client = Client::new(&server.url, &token(data));
    for record in records {
        record.verify(&client).await;
    }
    server.kill();
    check(data);
}

/// An ext4 file system in a file.
struct Disk {
    directory: TempDir,
}

impl Disk {
    /// Makes one, or says why not.
    fn make() -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let disk = Self { directory };
        std::fs::create_dir(disk.mounted()).unwrap();
        let image = disk.image();
        let made = std::fs::File::create(&image).and_then(|file| file.set_len(96 * 1024 * 1024));
        made.unwrap();
        let image = image.to_str().unwrap();
        let possible = run("mkfs.ext4", &["-q", "-F", image]) && disk.try_mount();
        if !possible {
            // Past what the test runner catches: whoever reads the run has to see it.
            let reason = "skipped: cutting the power needs root, loop devices and mkfs.ext4";
            writeln!(std::io::stderr(), "{reason}").unwrap();
            return None;
        }
        disk.unmount();
        Some(disk)
    }

    fn image(&self) -> PathBuf {
        self.directory.path().join("image")
    }

    fn mounted(&self) -> PathBuf {
        self.directory.path().join("mounted")
    }

    fn try_mount(&self) -> bool {
        let (image, mounted) = (self.image(), self.mounted());
        run("mount", &["-o", "loop", image.to_str().unwrap(), mounted.to_str().unwrap()])
    }

    fn mount(&self) {
        assert!(self.try_mount(), "the file system can be mounted again");
    }

    fn unmount(&self) {
        assert!(run("umount", &[self.mounted().to_str().unwrap()]), "it can be unmounted");
    }

    /// Shuts the file system down without writing anything more, not even its own log.
    fn cut(&self) {
        const CUT: &str = "import fcntl, os, struct, sys
descriptor = os.open(sys.argv[1], os.O_RDONLY)
fcntl.ioctl(descriptor, 0x8004587d, struct.pack('I', 2))";
        assert!(
            run("python3", &["-c", CUT, self.mounted().to_str().unwrap()]),
            "the power can be cut"
        );
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Only mounted if a test failed half way.
        run("umount", &["-q", self.mounted().to_str().unwrap()]);
    }
}

#[expect(clippy::disallowed_methods, reason = "file systems are made and mounted by programs")]
fn run(program: &str, arguments: &[&str]) -> bool {
    let quiet =
        Command::new(program).args(arguments).stderr(Stdio::null()).stdout(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}
