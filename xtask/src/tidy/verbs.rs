//! What one can ask of folio is written down: every `pub async fn` of `impl Folio` in folio-core
//! is named in ARCHITECTURE.md.

use super::assert_none;
use super::tree::{File, TREE};

const CORE: &str = "crates/folio-core/src/";
const MAP: &str = "ARCHITECTURE.md";

fn unnamed(files: &[File]) -> Vec<String> {
    let map = files.iter().find(|file| file.path == MAP).map_or("", |file| &file.text);
    let core = files.iter().filter(|file| file.is_rust() && file.path.starts_with(CORE));
    core.flat_map(|file| verbs(file).into_iter().map(move |verb| (file, verb)))
        .filter(|(_, verb)| !map.contains(&format!("`{verb}`")))
        .map(|(file, verb)| format!("{}: {MAP} does not name `{verb}`", file.path))
        .collect()
}

/// The public async functions of `impl Folio`. Relies on how rustfmt lays out an `impl`.
fn verbs(file: &File) -> Vec<&str> {
    let mut inside = false;
    let mut verbs = Vec::new();
    for line in file.lines_without_tests() {
        match line {
            "impl Folio {" => inside = true,
            "}" => inside = false,
            _ if inside => verbs.extend(verb(line)),
            _ => {}
        }
    }
    verbs
}

fn verb(line: &str) -> Option<&str> {
    line.strip_prefix("    pub async fn ")?.split(['(', '<']).next()
}

#[test]
fn the_map_names_every_verb() {
    assert_none(&unnamed(&TREE));
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
impl Folio {
    pub async fn publish(&self) {
    }
    pub async fn point<T>(&self) {
    }
    pub fn new() {
    }
    async fn inner(&self) {
    }
}
impl Other {
    pub async fn elsewhere(&self) {
    }
}
";

    fn check(map: &str, expected: &[&str]) {
        let source = File::new("crates/folio-core/src/publish.rs", SOURCE);
        let outside = File::new("crates/folio-api/src/a.rs", SOURCE);
        let problems = unnamed(&[source, outside, File::new(MAP, map)]);
        let problem = |verb| {
            format!("crates/folio-core/src/publish.rs: ARCHITECTURE.md does not name `{verb}`")
        };
        assert_eq!(problems, expected.iter().map(problem).collect::<Vec<_>>());
    }

    #[test]
    fn a_map_with_every_verb_is_fine() {
        check("`publish` makes a version, `point` moves a name", &[]);
    }

    #[test]
    fn a_verb_that_is_not_named_is_found() {
        check("`publish_all`, `point`", &["publish"]);
        check("", &["publish", "point"]);
    }

    #[test]
    fn without_a_map_no_verb_is_named() {
        let source = File::new("crates/folio-core/src/publish.rs", SOURCE);
        assert_eq!(unnamed(&[source]).len(), 2);
    }
}
