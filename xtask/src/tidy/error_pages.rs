//! Every error code has a page in docs/errors that says what to do about it, and every page is
//! about a code that exists. A code is declared in source as `Code("…")`.

use std::collections::BTreeMap;

use super::assert_none;
use super::tree::{File, TREE};

const PAGES: &str = "docs/errors/";

fn problems(files: &[File]) -> Vec<String> {
    let declared = codes(files);
    let pages = pages(files);
    let pageless = declared.iter().filter(|(code, _)| !pages.contains_key(*code));
    let stale = pages.keys().filter(|code| !declared.contains_key(*code));
    let malformed = pages.iter().filter(|(code, page)| !is_well_formed(code, &page.text));
    pageless
        .map(|(code, file)| format!("{}: no page {PAGES}{code}.md", file.path))
        .chain(stale.map(|code| format!("{PAGES}{code}.md: no code of that name")))
        .chain(malformed.map(|(code, page)| {
            format!("{}: has to start with `# {code}` and go on with prose", page.path)
        }))
        .collect()
}

/// The codes declared in the crates, each with a file that declares it.
fn codes(files: &[File]) -> BTreeMap<&str, &File> {
    let sources = files.iter().filter(|file| file.is_crate_source());
    let lines =
        sources.flat_map(|file| file.lines_without_tests().into_iter().map(move |l| (l, file)));
    lines.flat_map(|(line, file)| codes_of(line).map(move |code| (code, file))).collect()
}

fn codes_of(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("Code(\"").filter_map(move |(at, opening)| {
        let is_whole_word = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let (code, _) = line[at + opening.len()..].split_once('"')?;
        is_whole_word.then_some(code)
    })
}

fn pages(files: &[File]) -> BTreeMap<&str, &File> {
    let pages = files.iter().filter_map(|file| {
        let code = file.path.strip_prefix(PAGES)?.strip_suffix(".md")?;
        Some((code, file))
    });
    pages.filter(|(code, _)| *code != "README").collect()
}

fn is_well_formed(code: &str, text: &str) -> bool {
    let mut lines = text.lines();
    lines.next() == Some(&*format!("# {code}"))
        && lines.any(|line| line.starts_with(char::is_alphanumeric))
}

#[test]
fn every_error_code_has_a_page() {
    assert_none(&problems(&TREE));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, pages: &[(&str, &str)], expected: &[&str]) {
        let mut files = vec![File::new("crates/a/src/b.rs", source)];
        files.extend(
            pages.iter().map(|(name, text)| File::new(format!("docs/errors/{name}.md"), *text)),
        );
        assert_eq!(problems(&files), expected);
    }

    #[test]
    fn a_code_with_its_page_is_fine() {
        check("Self::A => Code(\"a_b\"),", &[("a_b", "# a_b\n\nProse.\n")], &[]);
        check("Code(\"a\"), Code(\"b\")", &[("a", "# a\nA.\n"), ("b", "# b\nB.\n")], &[]);
    }

    #[test]
    fn only_codes_are_codes() {
        check("StatusCode(\"a\"); Code(name)", &[], &[]);
        check("#[cfg(test)]\nmod tests {\n    Code(\"a\");\n}\n", &[], &[]);
    }

    #[test]
    fn a_code_without_a_page_is_found() {
        check("Code(\"a-b\")", &[], &["crates/a/src/b.rs: no page docs/errors/a-b.md"]);
    }

    #[test]
    fn a_page_without_a_code_is_found() {
        check(
            "",
            &[("README", ""), ("a", "# a\nA.\n")],
            &["docs/errors/a.md: no code of that name"],
        );
    }

    #[test]
    fn a_page_without_its_heading_or_prose_is_found() {
        let problem = "docs/errors/a.md: has to start with `# a` and go on with prose";
        check("Code(\"a\")", &[("a", "# b\nA.\n")], &[problem]);
        check("Code(\"a\")", &[("a", "# a\n\n")], &[problem]);
    }
}
