//! Makes sure that the programs the tests start are installed, with Debian's packages. Does
//! nothing when they are. A test that needs a new program adds a line to [`NEEDED`].

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::run::{self, Program};

/// A command some test runs, and the package that brings it.
const NEEDED: &[(&str, &str)] = &[
    ("git", "git"),
    ("python3", "python3"),
    // Transcripts are run by a shell, and compare and pack files as a user would.
    ("bash", "bash"),
    ("cmp", "diffutils"),
    ("tar", "tar"),
    ("unzip", "unzip"),
    ("curl", "curl"),
    // Triggers of messages are tested with a real server.
    ("nats-server", "nats-server"),
    // The Kubernetes-style face is used as its users do.
    ("kubectl", "kubernetes-client"),
    // Certificates are looked at, and an address of this machine is needed to come to it.
    ("openssl", "openssl"),
    ("hostname", "hostname"),
    // The power-cut test mounts a file system of its own and shuts it down.
    ("mkfs.ext4", "e2fsprogs"),
    ("losetup", "mount"),
    ("mount", "mount"),
];

/// Clients of others that tests run as they come.
const CLIENTS: [&str; 2] = ["python-qinlingclient==5.1.1", "python-openstackclient"];

/// Installs what the tests need.
pub(crate) fn run() -> Result<()> {
    install(NEEDED)?;
    clients()
}

/// Makes a virtual environment with the clients beside what cargo builds, unless it is there.
fn clients() -> Result<()> {
    let place = run::target().join("clients");
    if place.join("bin/openstack").is_file() {
        return Ok(());
    }
    // Debian keeps what makes such an environment apart from Python.
    if run::output(&Program::new("python3", &["-c", "import ensurepip, venv"])).is_err() {
        install_packages(BTreeSet::from(["python3-venv"]))?;
    }
    let text = run::text(&place)?;
    run::say(&format!("installing {} in {text}", CLIENTS.join(", ")));
    run::stream(&Program::new("python3", &["-m", "venv", "--clear", text]))?;
    let pip = format!("{text}/bin/pip");
    let arguments = [&["install", "--quiet"], &CLIENTS[..]].concat();
    run::stream(&Program::new(&pip, &arguments))
        .with_context(|| "cannot install the clients that tests run".to_owned())
}

/// Installs what is missing. Only root can; anyone else is told what to run.
pub(crate) fn install(needed: &[(&str, &'static str)]) -> Result<()> {
    install_packages(missing(needed, &directories()))
}

fn install_packages(packages: BTreeSet<&str>) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let packages = Vec::from_iter(packages);
    let install = [&["install", "--yes", "--no-install-recommends"], &packages[..]].concat();
    if !is_root()? {
        bail!(advice(&packages, &Program::new("apt-get", &install)));
    }
    run::say(&format!("installing {}", packages.join(", ")));
    let quiet = &[("DEBIAN_FRONTEND", "noninteractive")];
    [Program::new("apt-get", &["update"]), Program::new("apt-get", &install)]
        .iter()
        .try_for_each(|program| run::stream(&program.with(quiet)))
        .with_context(|| format!("cannot install {}, which the tests need", packages.join(", ")))
}

fn advice(packages: &[&str], install: &Program<'_>) -> String {
    format!(
        "the tests need {}, and only root can install it\nhint: sudo {install}",
        packages.join(", ")
    )
}

/// The packages whose command is in none of the directories, each once.
fn missing<'a>(needed: &[(&str, &'a str)], directories: &[PathBuf]) -> BTreeSet<&'a str> {
    let absent = |command: &str| !directories.iter().any(|place| place.join(command).is_file());
    needed.iter().filter(|(command, _)| absent(command)).map(|(_, package)| *package).collect()
}

/// Where commands are found. The system's own are not on everyone's PATH, but are still there.
fn directories() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).collect()
}

fn is_root() -> Result<bool> {
    Ok(run::output(&Program::new("id", &["-u"]))?.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[(&str, &str)] =
        &[("sh", "dash"), ("no-such-a", "things"), ("no-such-b", "things"), ("no-such-c", "more")];

    #[test]
    fn a_missing_command_names_its_package_once() {
        let missing = missing(TABLE, &directories());
        assert_eq!(Vec::from_iter(missing), ["more", "things"]);
    }

    #[test]
    fn nothing_is_missing_when_every_command_is_there() {
        assert!(missing(&TABLE[..1], &directories()).is_empty());
    }

    #[test]
    fn someone_who_is_not_root_gets_the_line_to_paste() {
        let install = Program::new("apt-get", &["install", "--yes", "mount"]);
        let advice = advice(&["mount"], &install);
        assert!(advice.ends_with("\nhint: sudo apt-get install --yes mount"), "{advice}");
    }
}
