//! What the compiler makes of hand-written hooks: each file in `hooks` is a program with the
//! generated books and a hook of its own, good or bad.

#[test]
fn hooks_are_called_or_refused_by_the_compiler() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/hooks/added.rs");
    cases.pass("tests/hooks/removed.rs");
    cases.compile_fail("tests/hooks/misspelt.rs");
    cases.compile_fail("tests/hooks/one_direction.rs");
    cases.compile_fail("tests/hooks/wrong_hub_type.rs");
    cases.compile_fail("tests/hooks/wrong_property_type.rs");
    cases.compile_fail("tests/hooks/hub_moved.rs");
}
