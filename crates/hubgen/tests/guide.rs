//! The guide works: who follows it from an empty crate ends with a passing test.

use std::path::Path;

use crate::compiled::{cargo, project, write};
use crate::kit::{hubgen, text};

const GUIDE: &str = include_str!("../README.md");

/// The blocks whose fence says this, in order.
fn blocks(fence: &str) -> Vec<&'static str> {
    let start = format!("```{fence}\n");
    let blocks = GUIDE.split(start.as_str()).skip(1);
    blocks.map(|block| block.split("```").next().unwrap()).collect()
}

/// The one block that is the content of a file.
fn file(fence: &str) -> &'static str {
    let [only] = blocks(fence).try_into().unwrap_or_else(|_| panic!("the guide has one `{fence}`"));
    only
}

#[test]
fn who_follows_the_guide_ends_with_a_passing_test() {
    let here = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide");
    if here.exists() {
        std::fs::remove_dir_all(&here).unwrap();
    }
    let hub = text(&project().join("crates/hub"));
    // What `cargo new --lib library` writes; the table of the workspace is for whoever keeps the
    // directory of builds inside another one.
    let new = "[package]\nname = \"library\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
               [profile.dev]\ndebug = \"line-tables-only\"\n\n\
               [profile.dev.package.\"*\"]\nopt-level = 2\n\n";
    let dependencies = file("toml Cargo.toml").replace("../folio/crates/hub", &hub);
    assert_ne!(dependencies, file("toml Cargo.toml"));
    write(&here.join("Cargo.toml"), &format!("{new}{dependencies}"));
    std::fs::copy(project().join("Cargo.lock"), here.join("Cargo.lock")).unwrap();
    for path in ["json schemas/book-v1.json", "json schemas/book-v2.json", "rust src/generated.rs"]
    {
        write(&here.join(path.split_once(' ').unwrap().1), file(path));
    }
    write(&here.join("src/lib.rs"), file("rust src/lib.rs"));
    write(&here.join("tests/books.rs"), file("rust tests/books.rs"));
    says_what_the_guide_shows(&here);
    let printed = cargo(&here, &["test", "--offline", "--quiet"]);
    assert_eq!(printed.matches("test result: ok. 1 passed").count(), 2, "{printed}");
}

/// Runs the commands of the guide; each prints what the guide shows.
fn says_what_the_guide_shows(here: &Path) {
    let [first, more] = blocks("toml hubgen.toml").try_into().unwrap();
    let path = text(&here.join("hubgen.toml"));
    write(Path::new(&path), first);
    let run = |command: &str| {
        let mut arguments: Vec<_> = command.split(' ').skip(1).collect();
        arguments.push(&path);
        hubgen(&arguments).unwrap().replace(&format!("{}/", here.display()), "")
    };
    let console = blocks("console");
    let shown = |command: &str| {
        let blocks = console.iter().flat_map(|block| block.split("$ ").skip(1));
        let mut blocks = blocks.filter_map(|block| block.split_once('\n'));
        blocks.find(|(own, _)| *own == command).unwrap().1
    };
    let report = "hubgen report --spoke v1 --type Book";
    assert_eq!(run(report), shown(report));

    write(Path::new(&path), &format!("{first}\n{more}"));
    let printed = run(report);
    let row = printed.lines().find(|line| line.contains('→') && line.contains("isbn")).unwrap();
    let cells: Vec<_> = row.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert!(GUIDE.contains(&cells.join(" | ")), "the guide does not show {cells:?}");
    for command in ["hubgen generate --strict", "hubgen check"] {
        assert_eq!(run(command), shown(command));
    }
}

#[test]
fn the_guide_lists_every_table_and_key() {
    let known = hubgen::config::Config::parse("hubgen.toml", "x = 1").unwrap_err().to_string();
    let mut listed = known.split('`').skip(3).step_by(2).peekable();
    assert!(listed.peek().is_some(), "{known}");
    for key in listed {
        let forms = [format!("`[[{key}]]`"), format!("`[{key}]`"), format!("`{key}`")];
        assert!(forms.iter().any(|form| GUIDE.contains(form)), "the guide does not list `{key}`");
    }
}
