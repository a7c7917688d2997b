//! Words that may not be written. They are put together from halves here, so that this file does
//! not contain them either.

use super::assert_none;
use super::tree::{File, TREE};

/// What may not be in Rust source, and what to write instead.
const CODE: &[(&str, &str)] = &[
    (concat!("#[all", "ow("), "write #[expect(…, reason = \"…\")]"),
    (concat!("#![all", "ow("), "write #![expect(…, reason = \"…\")]"),
    (concat!("#[ign", "ore"), "make the test run, or delete it"),
    (concat!("unimple", "mented!"), "leave out what does not work yet"),
];

/// Marks of unfinished work, which need the number of the issue that will finish it.
const UNFINISHED: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];

/// What is written by hand and can be unfinished.
const WRITTEN: &[&str] = &["css", "html", "js", "py", "rs", "sh", "sql", "toml", ""];

/// Directories of one machine and hosts of package registries: nothing here may depend on them.
const OUTSIDE: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("registry.npm", "js.org"),
];

fn bad_code(files: &[File]) -> Vec<String> {
    lines(files.iter().filter(|file| file.is_rust()), |line| {
        let found = CODE.iter().find(|(word, _)| line.contains(word));
        found.map(|(word, instead)| format!("`{word}`: {instead}"))
    })
}

fn unfinished(files: &[File]) -> Vec<String> {
    lines(files.iter().filter(|file| WRITTEN.contains(&file.extension())), |line| {
        let found = UNFINISHED.iter().find(|mark| contains_word(line, mark));
        let unnumbered = found.filter(|_| !names_an_issue(line));
        unnumbered.map(|mark| format!("{mark} without the number of an issue, such as #123"))
    })
}

fn contains_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

fn names_an_issue(line: &str) -> bool {
    line.split('#').skip(1).any(|after| after.starts_with(|c: char| c.is_ascii_digit()))
}

fn from_outside(files: &[File]) -> Vec<String> {
    lines(files.iter().filter(|file| !file.path.ends_with("Cargo.lock")), |line| {
        let found = OUTSIDE.iter().find(|word| line.contains(*word));
        found.map(|word| format!("`{word}` does not belong in this project"))
    })
}

/// Asks about every line; what is wrong with it is returned with its place.
fn lines<'a>(
    files: impl Iterator<Item = &'a File>,
    problem: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let numbered = |file: &'a File| file.text.lines().zip(1..).map(move |line| (file, line));
    files
        .flat_map(numbered)
        .filter_map(|(file, (line, number))| Some((file, number, problem(line)?)))
        .map(|(file, number, problem)| format!("{}:{number}: {problem}", file.path))
        .collect()
}

#[test]
fn code_keeps_to_the_allowed_words() {
    assert_none(&bad_code(&TREE));
}

#[test]
fn unfinished_work_has_an_issue() {
    assert_none(&unfinished(&TREE));
}

#[test]
fn nothing_speaks_of_one_machine_or_registry() {
    assert_none(&from_outside(&TREE));
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rule = fn(&[File]) -> Vec<String>;

    fn check(rule: Rule, path: &str, line: &str, expected: usize) {
        let problems = rule(&[File::new(path, format!("first\n{line}\n"))]);
        assert_eq!(problems.len(), expected, "{line}: {problems:?}");
        assert!(problems.iter().all(|problem| problem.starts_with(&format!("{path}:2: "))));
    }

    #[test]
    fn every_forbidden_word_of_code_is_found() {
        for (word, _) in CODE {
            check(bad_code, "a.rs", &format!("    {word}unused)]"), 1);
            check(bad_code, "a.md", word, 0);
        }
        check(bad_code, "a.rs", "#[expect(unused, reason = \"b\")] // ignore", 0);
    }

    #[test]
    fn unfinished_work_without_an_issue_is_found() {
        for mark in UNFINISHED {
            check(unfinished, "a.rs", &format!("// {mark}: later"), 1);
            check(unfinished, ".ci/run", &format!("# {mark} later"), 1);
            check(unfinished, "a.rs", &format!("// {mark}(#12): later"), 0);
            check(unfinished, "a.rs", &format!("// {mark}(#x): later"), 1);
            check(unfinished, "a.rs", &format!("const {mark}_LIST: u8 = 0;"), 0);
            check(unfinished, "a.md", mark, 0);
        }
    }

    #[test]
    fn words_from_outside_are_found_in_any_file_but_the_lock() {
        for word in OUTSIDE {
            check(from_outside, "a.md", &format!("see {word} for more"), 1);
            check(from_outside, "Cargo.lock", word, 0);
        }
    }
}
