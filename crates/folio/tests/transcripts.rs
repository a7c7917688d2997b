//! Runs every transcript in `transcripts/`.

use std::path::Path;

use folio_testkit::transcript;

#[test]
fn every_transcript_is_what_happens() {
    let program = Path::new(env!("CARGO_BIN_EXE_folio"));
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    assert!(!files.is_empty());
    let failures = std::thread::scope(|scope| {
        let runs: Vec<_> = files
            .iter()
            .map(|file| (file, scope.spawn(|| transcript::run(program, file))))
            .collect();
        let failed = runs.into_iter().filter_map(|(file, run)| {
            let error = run.join().unwrap().err()?;
            Some(format!("{}:\n{error:#}", file.display()))
        });
        failed.collect::<Vec<_>>()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The binaries of kubectl that `FOLIO_TEST_KUBECTL` names, with colons between them, all see what the transcript says.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "which binaries there are is said by whoever runs the tests"
)]
fn every_kubectl_sees_the_same() {
    let program = Path::new(env!("CARGO_BIN_EXE_folio"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/kubectl.md");
    let binaries = std::env::var("FOLIO_TEST_KUBECTL").unwrap_or_default();
    for binary in binaries.split(':').filter(|binary| !binary.is_empty()) {
        let run = transcript::run_with(program, &file, &[("kubectl", Path::new(binary))]);
        assert!(run.is_ok(), "{binary}: {:#}", run.unwrap_err());
    }
}
