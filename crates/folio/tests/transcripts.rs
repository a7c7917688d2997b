//! Runs every transcript in `transcripts/`: those of kubectl with every kubectl there is.

use std::path::{Path, PathBuf};

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

/// Runs transcripts at the same time, with programs that commands find under these names.
fn run_all(files: &[PathBuf], tools: &[(&str, &Path)]) {
    let program = Path::new(env!("CARGO_BIN_EXE_folio"));
    let failures = std::thread::scope(|scope| {
        let runs: Vec<_> = files
            .iter()
            .map(|file| (file, scope.spawn(|| transcript::run_with(program, file, tools))))
            .collect();
        let failed = runs.into_iter().filter_map(|(file, run)| {
            let error = run.join().unwrap().err()?;
            Some(format!("{}:\n{error:#}", file.display()))
        });
        failed.collect::<Vec<_>>()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_transcript_is_what_happens() {
    run_all(&transcripts(|name| !name.starts_with("kubectl")), &[]);
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
