//! Runs the command in a directory of its own, and compares with golden files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;

use clap::Parser;
use hubgen::command::Command;
use hubgen::error::Error;
use tempfile::TempDir;

/// Runs the command, and gives what it printed. Schemas lie beside the configuration unless
/// `--schemas` says otherwise, whatever the environment says.
pub(crate) fn hubgen(arguments: &[&str]) -> Result<String, Error> {
    let config = arguments.iter().find(|argument| argument.ends_with(".toml")).unwrap();
    let beside = text(Path::new(config).parent().unwrap());
    let mut arguments = [&["hubgen"], arguments].concat();
    if !arguments.contains(&"--schemas") {
        arguments.extend(["--schemas", &beside]);
    }
    let command = Command::try_parse_from(arguments).unwrap();
    let mut out = Vec::new();
    command.run(&mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

/// A directory with a few files, gone when dropped.
pub(crate) fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    directory
}

/// A path as text.
pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// The schemas that belong to these tests.
pub(crate) fn own_schemas(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas").join(format)
}

/// Every file below a directory, with its path and bytes.
pub(crate) fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut rest = vec![directory.to_owned()];
    while let Some(next) = rest.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                rest.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.push((path.strip_prefix(directory).unwrap().to_owned(), bytes));
            }
        }
    }
    found.sort();
    found
}

/// Copies a directory of schemas.
pub(crate) fn copy(from: &Path, to: &Path) {
    for (path, bytes) in contents(from) {
        let target = to.join(path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, bytes).unwrap();
    }
}

/// Compares a text with the golden file of that name.
pub(crate) fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let is = |name: &str, value: &str| std::env::var_os(name).is_some_and(|found| found == value);
    if is("FOLIO_BLESS", "1") && !is("CI", "true") {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} is not what is made; run `cargo xtask bless` and read the change",
        path.display()
    );
}

/// The directory of real deployment schemas, if this machine has it.
pub(crate) fn real_schemas() -> Option<PathBuf> {
    static SAID: Once = Once::new();
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/arm");
    let named = std::env::var_os("HUBGEN_SCHEMAS").map(PathBuf::from);
    let found = named.unwrap_or(beside);
    if found.is_dir() {
        return Some(found);
    }
    SAID.call_once(|| {
        let line = format!(
            "SKIPPED: real deployment schemas are not at {}; name their directory with \
             HUBGEN_SCHEMAS to test with them\n",
            found.display()
        );
        // Past the capture of test output: whoever runs the tests must see it.
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    });
    None
}
