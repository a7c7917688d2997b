//! Builds.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use folio_core::ports::runtime::{BuildError, BuildOrder, Built};
use folio_model::{Content, Digest, EnvironmentSpec, RuntimeKind};
use folio_run::build::{BuildHost, BuildLimits, Builder};
use folio_run::jail::Mode;

use super::place::{File, MIB, Place, file, program};

struct Outcome {
    built: Result<Built, BuildError>,
    log: String,
}

impl Outcome {
    fn directory(&self) -> &PathBuf {
        &self.built.as_ref().unwrap_or_else(|error| panic!("{error}\n{}", self.log)).directory.0
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.directory().join(path)).unwrap()
    }

    fn failure(&self) -> String {
        self.built.as_ref().unwrap_err().to_string()
    }
}

fn order(runtime: RuntimeKind, source: Content, command: Option<&str>) -> BuildOrder {
    BuildOrder {
        key: Digest::of(b"key"),
        app: "default".parse().unwrap(),
        spec: EnvironmentSpec::of(runtime),
        source,
        command: command.map(str::to_owned),
    }
}

async fn build_with(place: &Place, order: BuildOrder, limits: BuildLimits) -> Outcome {
    let host = BuildHost::new(std::env::vars_os());
    let (jail, blobs) = (Arc::clone(&place.jail), Arc::clone(&place.ports.blobs));
    // A run directory has one builder, which clears it first.
    let run = place.path().join(format!("{:?}", order.spec.runtime));
    let builder = Builder::new(&run, jail, blobs, host, limits).unwrap();
    let (log, mut lines) = tokio::sync::mpsc::channel::<bytes::Bytes>(4);
    let collect = async {
        let mut text = Vec::new();
        while let Some(bytes) = lines.recv().await {
            text.extend_from_slice(&bytes);
        }
        String::from_utf8(text).unwrap()
    };
    let (built, log) = tokio::join!(builder.build(order, log), collect);
    Outcome { built, log }
}

async fn build(mode: Mode, files: &[File<'_>], command: &str) -> Outcome {
    let place = Place::new(mode).await;
    let source = place.directory(files).await;
    let order = order(RuntimeKind::Binary, source, Some(command));
    let mut outcome = build_with(&place, order, BuildLimits::default()).await;
    // The place goes; what was built must not.
    if let Ok(built) = &mut outcome.built {
        let kept = tempfile::tempdir().unwrap().keep();
        std::fs::rename(&built.directory.0, kept.join("built")).unwrap();
        built.directory.0 = kept.join("built");
    }
    outcome
}

const SCRIPT: &str = "#!/bin/sh
set -e
echo from $SRC_PKG to $DEPLOY_PKG
pwd
test \"$PWD\" = \"$SRC_PKG\"
echo careful >&2
printf 'half \\033[31mred\\r\\n'
mkdir $DEPLOY_PKG
cp greeting $DEPLOY_PKG/greeting
echo built >> greeting
mkdir $DEPLOY_PKG/bin
printf '#!/bin/sh\\necho hi\\n' > $DEPLOY_PKG/bin/hi
chmod +x $DEPLOY_PKG/bin/hi
ln -s bin/hi $DEPLOY_PKG/hi
ln -s $DEPLOY_PKG/greeting $DEPLOY_PKG/absolute
ln -s /etc/hostname $DEPLOY_PKG/outside
";

async fn a_script_builds(mode: Mode) {
    let files = [file("build.sh", SCRIPT), file("greeting", "hello")];
    let outcome = build(mode, &files, "./build.sh").await;
    assert_eq!(outcome.read("greeting"), "hello");
    assert_eq!(outcome.read("hi"), "#!/bin/sh\necho hi\n");
    assert_eq!(outcome.read("absolute"), "hello");
    assert!(!outcome.directory().join("outside").exists());
    let log = &outcome.log;
    for line in ["from /packages/src to /packages/deploy", "careful"] {
        assert!(log.lines().any(|found| found == line), "{line:?} in {log}");
    }
    assert!(log.contains("half \u{241b}[31mred\n"), "{log}");
    assert!(log.contains("left out `outside`"), "{log}");
}

#[tokio::test]
async fn a_script_of_the_package_builds_it() {
    a_script_builds(Mode::Off).await;
}

#[tokio::test]
async fn a_script_of_the_package_builds_it_in_the_jail() {
    a_script_builds(Mode::Enforced).await;
}

#[tokio::test]
async fn a_build_without_a_result_says_so() {
    let outcome = build(Mode::Off, &[program("build.sh", "#!/bin/sh\n")], "./build.sh").await;
    assert_eq!(outcome.failure(), "the build command ended well but made no $DEPLOY_PKG");
}

#[tokio::test]
async fn a_build_that_fails_names_the_command_and_its_code() {
    let script = "#!/bin/sh\necho no luck\nexit 3\n";
    let outcome = build(Mode::Off, &[program("build.sh", script)], "./build.sh now").await;
    assert_eq!(outcome.failure(), "`./build.sh now` exited with code 3");
    assert!(outcome.log.contains("no luck"));
}

#[tokio::test]
async fn what_cannot_be_started_is_named() {
    let check = async |command: &str, expected: &str| {
        let outcome = build(Mode::Off, &[file("a", "")], command).await;
        assert!(outcome.failure().contains(expected), "{}", outcome.failure());
        assert!(matches!(outcome.built, Err(BuildError::Failed(_))));
    };
    check("./missing.sh", "`./missing.sh` cannot be started").await;
    check("no-such-program x", "no program `no-such-program`").await;
    check("./build.sh; rm -rf /", "`;`").await;
}

#[tokio::test]
async fn one_file_is_a_result_too() {
    let script = "#!/bin/sh\nprintf binary > $DEPLOY_PKG\n";
    let outcome = build(Mode::Off, &[program("build.sh", script)], "./build.sh").await;
    assert_eq!(outcome.read("deployarchive"), "binary");
}

#[tokio::test]
async fn a_build_that_takes_too_long_is_ended() {
    let place = Place::new(Mode::Off).await;
    let source = place.directory(&[program("build.sh", "#!/bin/sh\nsleep 600\n")]).await;
    let order = order(RuntimeKind::Binary, source, Some("./build.sh"));
    let limits = BuildLimits { timeout: Duration::from_millis(300), ..BuildLimits::default() };
    let outcome = build_with(&place, order, limits).await;
    assert!(outcome.failure().contains("took longer than"), "{}", outcome.failure());
}

#[tokio::test]
async fn a_build_that_fills_the_disk_is_ended() {
    let place = Place::new(Mode::Off).await;
    let script = "#!/bin/sh\ndd if=/dev/zero of=$SRC_PKG/big bs=1M count=64\nsleep 600\n";
    let source = place.directory(&[program("build.sh", script)]).await;
    let order = order(RuntimeKind::Binary, source, Some("./build.sh"));
    let limits = BuildLimits { disk_bytes: 16 * MIB, ..BuildLimits::default() };
    let outcome = build_with(&place, order, limits).await;
    assert_eq!(outcome.failure(), "the build wrote more than 16 MiB and was ended");
}

#[tokio::test]
async fn source_that_needs_no_building_is_the_result() {
    let place = Place::new(Mode::Off).await;
    let source = place.directory(&[file("main.py", "1"), program("a/b.sh", "2")]).await;
    let order = order(RuntimeKind::Python, source, Some("build"));
    let outcome = build_with(&place, order, BuildLimits::default()).await;
    assert_eq!((outcome.read("main.py"), outcome.read("a/b.sh")), ("1".to_owned(), "2".to_owned()));
    assert_eq!(outcome.log, "");
}

/// Packages that need nothing from outside, so that the tests stay on this machine.
const WHEEL: &[u8] = include_bytes!("local-1-py3-none-any.whl");
const PACKAGE: &str = r#"{"name": "local", "version": "1.0.0", "main": "index.js"}"#;

#[tokio::test]
async fn python_and_node_packages_get_their_dependencies() {
    let place = Place::new(Mode::Enforced).await;
    let source = place
        .directory(&[
            file("main.py", "import local"),
            file("requirements.txt", "--no-index\n--find-links wheels\nlocal\n"),
            file("wheels/local-1-py3-none-any.whl", WHEEL),
        ])
        .await;
    let python =
        build_with(&place, order(RuntimeKind::Python, source, None), BuildLimits::default());
    let python = python.await;
    assert_eq!(python.read("local.py"), "VALUE = 42\n", "{}", python.log);
    let source = place
        .directory(&[
            file("index.js", "require('local')"),
            file("package.json", r#"{"dependencies": {"local": "file:dependency"}}"#),
            file("dependency/package.json", PACKAGE),
            file("dependency/index.js", "module.exports = 42;"),
        ])
        .await;
    let node = build_with(&place, order(RuntimeKind::Nodejs, source, None), BuildLimits::default());
    let node = node.await;
    assert_eq!(node.read("node_modules/local/index.js"), "module.exports = 42;", "{}", node.log);
}
