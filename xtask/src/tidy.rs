//! Rules about the tree that no compiler checks, each of them a test.
//!
//! A rule is a function from what it looks at to a list of what is wrong, so that a second test
//! can show it fail. Start at [`tree`], which says what there is to look at.

mod dependencies;
mod error_pages;
mod forgotten;
mod generated;
mod lockfile;
mod shape;
mod tree;
mod verbs;
mod words;

/// Fails the running test with everything that is wrong, not only the first thing.
fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "the tree is not tidy:\n{}", problems.join("\n"));
}
