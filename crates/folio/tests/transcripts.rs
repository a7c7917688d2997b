//! Runs every transcript in `transcripts/`: those of kubectl with every kubectl there is.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use folio_testkit::transcript;

/// The transcripts whose names a predicate takes.
fn transcripts(wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".md") && wanted(name)
    };
    let files: Vec<_> = entries.filter(is_wanted).collect();
    assert!(!files.is_empty());
    files
}

/// Runs transcripts, a few at the same time, with programs that commands find under these names. Each has a server and
/// workers of its own: on a small machine all of them at once would keep one another from starting in time.
fn run_all(files: &[PathBuf], tools: &[(&str, &Path)]) {
    let program = Path::new(env!("CARGO_BIN_EXE_folio"));
    let at_once = 2 * std::thread::available_parallelism().map_or(1, NonZero::get);
    let (waiting, failures) = (Mutex::new(files.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let Some(file) = waiting.lock().unwrap().next() else { break };
                    if let Err(error) = transcript::run_with(program, file, tools) {
                        let failure = format!("{}:\n{error:#}", file.display());
                        failures.lock().unwrap().push(failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_transcript_is_what_happens() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    run_all(
        &transcripts(|name| !name.starts_with("kubectl")),
        &[("examples", &examples.canonicalize().unwrap())],
    );
}

#[test]
fn kubectl_sees_what_its_transcripts_say() {
    run_all(&transcripts(|name| name.starts_with("kubectl")), &[]);
}

/// The binaries of kubectl that `FOLIO_TEST_KUBECTL` names, with colons between them, all see what the transcripts say.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "which binaries there are is said by whoever runs the tests"
)]
fn every_other_kubectl_sees_the_same() {
    let binaries = std::env::var("FOLIO_TEST_KUBECTL").unwrap_or_default();
    for binary in binaries.split(':').filter(|binary| !binary.is_empty()) {
        run_all(
            &transcripts(|name| name.starts_with("kubectl")),
            &[("kubectl", Path::new(binary))],
        );
    }
}
