//! Finds where a field is written that something is wrong with. A server knows a manifest by the place where it begins;
//! which line of it says what, only its file tells.

use std::collections::HashMap;
use std::path::Path;

use folio_kinds::spec::{self, Places};

use super::directory::FILE_BYTES_MAX;
use crate::problem::{Cause, Problem};

/// Has every cause that names a field of a manifest say where that is written, in the order of places.
pub(super) fn pinpoint(causes: &mut [Cause]) {
    let mut files = Files::default();
    for cause in causes.iter_mut().filter(|cause| !cause.path.is_empty()) {
        if let Some(found) = files.find(cause) {
            cause.at = found;
        }
    }
    causes.sort_by_cached_key(Cause::place);
}

/// As [`pinpoint`], for what a server refused.
pub(super) fn refused(mut error: anyhow::Error) -> anyhow::Error {
    if let Some(problem) = error.downcast_mut::<Problem>() {
        pinpoint(&mut problem.causes);
    }
    error
}

/// The files that were looked into, with the parts of their documents by the line on which each begins.
#[derive(Default)]
struct Files(HashMap<String, HashMap<u64, Lazy>>);

/// A document, and where its parts are once that was asked.
struct Lazy {
    line: usize,
    text: String,
    places: Option<Places>,
}

impl Files {
    fn find(&mut self, cause: &Cause) -> Option<String> {
        let (file, numbers) = cause.place();
        let [line, _] = numbers[..] else { return None };
        let documents = self.0.entry(file.clone()).or_insert_with(|| documents(Path::new(&file)));
        let Lazy { line, text, places } = documents.get_mut(&line)?;
        let places = places.get_or_insert_with(|| spec::Document { line: *line, text }.places());
        Some(at(Path::new(&file), places.find(&cause.path)))
    }
}

/// The documents of a file. One that cannot be read by now has none.
fn documents(file: &Path) -> HashMap<u64, Lazy> {
    let is_small = std::fs::metadata(file).is_ok_and(|about| about.len() <= FILE_BYTES_MAX);
    let text = if is_small { std::fs::read_to_string(file).ok() } else { None };
    let text = text.unwrap_or_default();
    let document = |document: spec::Document<'_>| {
        let begins = (document.line + leading_lines(document.text)) as u64;
        let (line, text) = (document.line, document.text.to_owned());
        (begins, Lazy { line, text, places: None })
    };
    spec::split(&text).into_iter().map(document).collect()
}

/// A place in a file, as people write it.
pub(super) fn at(path: &Path, (line, column): (usize, usize)) -> String {
    format!("{}:{line}:{column}", path.display())
}

/// Lines before the first that says something.
pub(super) fn leading_lines(text: &str) -> usize {
    let silent = |line: &&str| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#')
    };
    text.lines().take_while(silent).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_in_the_document_that_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.yaml");
        let text = "# words\nkind: One\nspec: {a: 1}\n---\n\nkind: Two\nspec:\n  Name: x\n";
        std::fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let cause = |line: u64, path: &str| Cause {
            at: format!("{file}:{line}:1"),
            path: path.to_owned(),
            what: path.to_owned(),
        };
        let mut causes = [
            cause(6, "spec.name"),
            cause(6, "spec.other"),
            cause(6, ""),
            cause(2, "spec.a"),
            Cause { at: "folio.yaml: functions".to_owned(), ..cause(1, "spec.a") },
            Cause { at: "gone.yaml:1:1".to_owned(), ..cause(1, "spec.a") },
        ];
        pinpoint(&mut causes);
        let found: Vec<_> = causes.iter().map(|cause| cause.at.replace(file, "a.yaml")).collect();
        let mut expected = vec!["a.yaml:3:11", "a.yaml:6:1", "a.yaml:8:3", "a.yaml:8:9"];
        expected.extend(["folio.yaml: functions", "gone.yaml:1:1"]);
        assert_eq!(found, expected);
    }
}
