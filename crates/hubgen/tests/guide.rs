//! The worked example of the guide works.

use crate::kit::{copy, directory, hubgen, own_schemas, text};

const GUIDE: &str = include_str!("../README.md");

/// The blocks of one language in the guide, in order.
fn blocks(language: &str) -> Vec<&'static str> {
    let start = format!("```{language}\n");
    let blocks = GUIDE.split(start.as_str()).skip(1);
    blocks.map(|block| block.split("```").next().unwrap()).collect()
}

#[test]
fn the_worked_example_prints_what_the_guide_shows() {
    let (config, console) = (blocks("toml"), blocks("console"));
    let [before, rename] = config.as_slice() else { panic!("the guide has two of these blocks") };
    let [report, generate] = console.as_slice() else { panic!("and two of these") };
    let here = directory(&[("hubgen.toml", before)]);
    copy(&own_schemas("json"), &here.path().join("schemas"));
    let path = text(&here.path().join("hubgen.toml"));
    let schemas = text(&here.path().join("schemas"));
    let run = |arguments: &[&str]| {
        hubgen(&[arguments, &[path.as_str(), "--schemas", schemas.as_str()]].concat()).unwrap()
    };

    let printed = run(&["report", "--spoke", "v1", "--type", "Book"]);
    let shown = report.lines().filter(|line| line.starts_with(['|', '#']));
    shown.for_each(|line| assert!(printed.contains(line), "`{line}` is not in:\n{printed}"));

    std::fs::write(&path, format!("{before}{rename}")).unwrap();
    let printed = run(&["report", "--spoke", "v1", "--type", "Book"]);
    let row = printed.lines().find(|line| line.contains('→') && line.contains("Isbn")).unwrap();
    let cells: Vec<_> = row.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert!(GUIDE.contains(&cells.join(" | ")), "the guide does not show {cells:?}");

    for (verb, line) in [("generate", 1), ("check", 3)] {
        let shown = generate.lines().nth(line).unwrap();
        let printed = run(&[verb]).replace(&text(here.path()), "");
        assert_eq!(printed.replace("/src", "src").trim_end(), shown);
    }
    let module = here.path().join("src/generated");
    for made in ["books.rs", "books/v1.rs", "books/storage.rs", "books/report.md"] {
        assert!(module.join(made).is_file(), "{made} is made");
    }
}
