//! No file lies beside the code without being compiled or run: a module nobody declares is
//! silently left out, and its tests with it.

use std::collections::{BTreeMap, BTreeSet};

use super::assert_none;
use super::tree::{File, TREE};

/// Directories directly in a crate whose files cargo finds by itself.
const FOUND_BY_CARGO: &[&str] = &["src/bin", "tests", "examples", "benches"];

fn undeclared(files: &[File]) -> Vec<String> {
    let texts: BTreeMap<_, _> = files.iter().map(|file| (&*file.path, &*file.text)).collect();
    let modules = files.iter().filter(|file| file.is_rust() && in_crate(&file.path));
    modules
        .filter(|file| !is_root(file, &texts) && !is_declared(file, &texts))
        .filter(|file| !is_a_case(file, &texts))
        .map(|file| format!("{}: no parent module declares it", file.path))
        .collect()
}

fn in_crate(path: &str) -> bool {
    within_crate(path).is_some()
}

/// The part of a path that follows the crate's directory.
fn within_crate(path: &str) -> Option<&str> {
    let in_crates = path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
    in_crates.map(|(_, rest)| rest).or_else(|| path.strip_prefix("xtask/"))
}

/// Whether cargo compiles the file without being told by another file.
fn is_root(file: &File, texts: &BTreeMap<&str, &str>) -> bool {
    let (directory, name) = split(&file.path);
    let by_itself = within_crate(directory).is_some_and(|place| FOUND_BY_CARGO.contains(&place));
    // A crate with tests/main.rs has one test binary; the files beside it are its modules.
    let is_one_binary = texts.contains_key(&*format!("{directory}/main.rs"));
    let is_build_script = within_crate(&file.path) == Some("build.rs");
    matches!(name, "main" | "lib") || is_build_script || (by_itself && !is_one_binary)
}

fn is_declared(file: &File, texts: &BTreeMap<&str, &str>) -> bool {
    let (directory, name) = split(&file.path);
    let parents = ["/main.rs", "/lib.rs", ".rs"].map(|end| format!("{directory}{end}"));
    let declaration = format!("mod {name};");
    let declares = |text: &&str| text.lines().any(|line| without_visibility(line) == declaration);
    parents.iter().filter_map(|parent| texts.get(&**parent)).any(declares)
}

/// Whether the test beside the file's directory gives it to the compiler by its path.
fn is_a_case(file: &File, texts: &BTreeMap<&str, &str>) -> bool {
    let Some(place) = within_crate(&file.path) else { return false };
    let tests = texts.get(&*format!("{}.rs", split(&file.path).0));
    tests.is_some_and(|text| text.contains(&format!("\"{place}\"")))
}

fn without_visibility(line: &str) -> &str {
    let line = line.trim();
    ["pub ", "pub(crate) ", "pub(super) "]
        .iter()
        .find_map(|visibility| line.strip_prefix(visibility))
        .unwrap_or(line)
}

/// Splits a path into its directory and its name without `.rs`.
fn split(path: &str) -> (&str, &str) {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    (directory, name.trim_end_matches(".rs"))
}

/// Directories of transcripts whose crate has no test that reads them.
fn unread_transcripts(files: &[File]) -> Vec<String> {
    let transcripts = files.iter().filter_map(|file| file.path.split_once("/tests/transcripts/"));
    let crates: BTreeSet<_> = transcripts.map(|(name, _)| name).collect();
    let reads = |name: &str| {
        let of_crate = |file: &&File| file.is_rust() && file.path.starts_with(&format!("{name}/"));
        files.iter().filter(of_crate).any(|file| file.text.contains("transcripts"))
    };
    crates
        .into_iter()
        .filter(|name| !reads(name))
        .map(|name| format!("{name}/tests/transcripts: no test of the crate reads it"))
        .collect()
}

#[test]
fn every_module_is_compiled() {
    assert_none(&undeclared(&TREE));
}

#[test]
fn every_transcript_is_run() {
    assert_none(&unread_transcripts(&TREE));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let files = files.iter().map(|(path, text)| File::new(format!("crates/a/{path}"), *text));
        let problem = |path| format!("crates/a/{path}: no parent module declares it");
        let expected: Vec<_> = expected.iter().map(problem).collect();
        assert_eq!(undeclared(&Vec::from_iter(files)), expected);
    }

    #[test]
    fn a_test_file_that_the_one_binary_does_not_declare_is_found() {
        let files =
            [("tests/it/main.rs", "mod b;\n"), ("tests/it/b.rs", ""), ("tests/it/c.rs", "")];
        check(&files, &["tests/it/c.rs"]);
        let files =
            [("tests/main.rs", "// mod c;\nmod b;\n"), ("tests/b.rs", ""), ("tests/c.rs", "")];
        check(&files, &["tests/c.rs"]);
    }

    #[test]
    fn a_program_for_the_compiler_is_named_by_its_test() {
        let test = ("tests/bad.rs", "cases.compile_fail(\"tests/bad/b.rs\");\n");
        let main = ("tests/main.rs", "mod bad;\n");
        let files = [main, test, ("tests/bad/b.rs", ""), ("tests/bad/c.rs", "")];
        check(&files, &["tests/bad/c.rs"]);
    }

    #[test]
    fn test_files_without_a_main_are_found_by_cargo_but_not_what_lies_below() {
        let files = [("tests/b.rs", "mod c;\n"), ("tests/b/c.rs", ""), ("tests/b/d.rs", "")];
        check(&files, &["tests/b/d.rs"]);
    }

    #[test]
    fn a_module_that_its_parent_does_not_declare_is_found() {
        let files = [
            ("build.rs", ""),
            ("src/lib.rs", "pub mod b;\n"),
            ("src/b.rs", "#[cfg(test)]\nmod tests;\n"),
            ("src/b/tests.rs", ""),
            ("src/b/tests/f.rs", ""),
            ("src/b/build.rs", ""),
            ("src/b/c.rs", ""),
            ("src/d.rs", ""),
            ("src/bin/e.rs", ""),
        ];
        check(&files, &["src/b/tests/f.rs", "src/b/build.rs", "src/b/c.rs", "src/d.rs"]);
    }

    #[test]
    fn transcripts_that_no_test_reads_are_found() {
        let transcript = || File::new("crates/a/tests/transcripts/b.md", "");
        let problem = "crates/a/tests/transcripts: no test of the crate reads it";
        assert_eq!(unread_transcripts(&[transcript()]), [problem]);
        let runner = File::new("crates/a/tests/it/main.rs", "glob(\"tests/transcripts/*.md\")");
        assert!(unread_transcripts(&[transcript(), runner]).is_empty());
    }
}
