//! Clients of others, unmodified, against a real server, as transcripts.

use std::path::Path;

use folio_testkit::transcript;

#[test]
fn the_client_of_openstack_works_as_it_comes() {
    check("qinling.md");
}

#[test]
fn every_option_of_its_commands_works() {
    check("qinling-options.md");
}

#[test]
fn a_token_says_which_project_it_works_in() {
    check("qinling-access.md");
}

#[test]
fn functions_of_openstack_run_within_their_limits() {
    check("qinling-limits.md");
}

fn check(file: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_folio"));
    let client = transcript::clients(program).join("openstack");
    assert!(client.exists(), "{} is missing: `cargo xtask test` installs it", client.display());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(file);
    transcript::run(program, &file).unwrap();
}
