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
