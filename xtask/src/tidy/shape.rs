//! The shape of Rust files: how long they may be, that each says what it is for, where a module
//! with children lives.

use super::assert_none;
use super::tree::{File, TREE};

/// Lines a file may have, its tests not counted. Past this, it is more than one idea.
const LINES_MAX: usize = 500;

/// Lines of `//!` a module may have. What needs more belongs in ARCHITECTURE.md.
const DOC_LINES_MAX: usize = 10;

fn too_long(files: &[File]) -> Vec<String> {
    let written = |file: &&File| file.is_rust() && !file.lies_in("generated") && !is_test(file);
    let lengths = files.iter().filter(written).map(|file| (file, file.lines_without_tests().len()));
    lengths
        .filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(file, lines)| format!("{}: {lines} lines, limit {LINES_MAX}", file.path))
        .collect()
}

fn is_test(file: &File) -> bool {
    file.lies_in("tests") || file.path.ends_with("/tests.rs")
}

fn badly_introduced(files: &[File]) -> Vec<String> {
    let written = files.iter().filter(|file| file.is_rust() && !file.lies_in("generated"));
    written
        .filter_map(|file| {
            let problem = match doc_lines(&file.text) {
                0 => "does not start with `//!`: say what the module is for".to_owned(),
                lines if lines > DOC_LINES_MAX => {
                    format!("{lines} lines of `//!`, limit {DOC_LINES_MAX}")
                }
                _ => return None,
            };
            Some(format!("{}: {problem}", file.path))
        })
        .collect()
}

/// How many lines of `//!` a file starts with, attributes of the whole file set aside.
fn doc_lines(text: &str) -> usize {
    let mut in_attribute = false;
    let lines = text.lines().skip_while(|line| {
        let is_attribute = in_attribute || line.starts_with("#![");
        in_attribute = is_attribute && !line.ends_with(']');
        is_attribute || line.is_empty()
    });
    lines.take_while(|line| line.starts_with("//!")).count()
}

fn module_files(files: &[File]) -> Vec<String> {
    let found = files.iter().filter(|file| file.path.ends_with("/mod.rs"));
    found.map(|file| format!("{}: write `foo.rs` beside `foo/` instead", file.path)).collect()
}

#[test]
fn files_are_short() {
    assert_none(&too_long(&TREE));
}

#[test]
fn modules_say_what_they_are_for() {
    assert_none(&badly_introduced(&TREE));
}

#[test]
fn modules_with_children_have_a_file_of_their_name() {
    assert_none(&module_files(&TREE));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> String {
        "x\n".repeat(count)
    }

    #[test]
    fn one_line_too_many_is_found() {
        let check = |path: &str, text: String, expected: &[&str]| {
            assert_eq!(too_long(&[File::new(path, text)]), expected);
        };
        check("src/a.rs", lines(500), &[]);
        check("src/a.rs", lines(501), &["src/a.rs: 501 lines, limit 500"]);
        check("src/a.rs", format!("{}#[cfg(test)]\nmod tests {{\n}}\n", lines(500)), &[]);
        check("tests/a.rs", lines(501), &[]);
        check("src/a/tests.rs", lines(501), &[]);
        check("src/generated/a.rs", lines(501), &[]);
        check("a.md", lines(501), &[]);
    }

    #[test]
    fn a_module_without_an_introduction_is_found() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(badly_introduced(&[File::new("a.rs", text)]), expected);
        };
        let absent = "a.rs: does not start with `//!`: say what the module is for";
        check("//! A.\nuse b;\n", &[]);
        check("#![no_std]\n\n//! A.\n", &[]);
        check("#![expect(\n    unused,\n    reason = \"b\"\n)]\n//! A.\n", &[]);
        check("", &[absent]);
        check("use b;\n//! A.\n", &[absent]);
        check("// A.\n", &[absent]);
        check(&"//! A.\n".repeat(10), &[]);
        check(&"//! A.\n".repeat(11), &["a.rs: 11 lines of `//!`, limit 10"]);
    }

    #[test]
    fn a_module_file_is_found() {
        let files = [File::new("src/a/mod.rs", ""), File::new("src/a.rs", "")];
        assert_eq!(module_files(&files), ["src/a/mod.rs: write `foo.rs` beside `foo/` instead"]);
    }
}
