//! What is generated, through the compiler: the example crate is as generated, and the crates of
//! two real providers compile without a warning and lose nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kit::{hubgen, own_schemas, real_schemas, text};
use crate::real_schemas::{PROVIDERS, config};

/// The providers that are compiled: one with many versions, one whose kinds alternate; or all of them.
fn providers() -> &'static [&'static str] {
    match std::env::var_os("HUBGEN_PROVIDERS").is_some_and(|which| which == "all") {
        true => &PROVIDERS,
        false => &["Cache", "ServiceFabric"],
    }
}

pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn the_example_crate_is_as_generated() {
    let is = |name: &str, value: &str| std::env::var_os(name).is_some_and(|found| found == value);
    let output = text(&project().join("crates/hubgen-example/src"));
    let run = |verb: &str| {
        for format in ["arm", "crd", "json"] {
            let config = text(&own_schemas(format).join("hubgen.toml"));
            hubgen(&[verb, &config, "--output", &output])?;
        }
        Ok::<_, hubgen::error::Error>(())
    };
    if is("FOLIO_BLESS", "1") && !is("CI", "true") {
        run("generate").unwrap();
    }
    run("check").expect("run `cargo xtask bless` and read the change");
}

#[test]
fn real_providers_compile_without_warnings_and_lose_nothing() {
    let Some(schemas) = real_schemas() else { return };
    let workspace = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated");
    for provider in providers() {
        write_crate(&workspace, provider, &schemas);
    }
    let members = format!("{:?}", providers());
    // The same profile as the project's, so that what they both use is compiled once.
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = {members}\n\n\
         [profile.dev]\ndebug = \"line-tables-only\"\n\n\
         [profile.dev.package.\"*\"]\nopt-level = 2\n"
    );
    write(&workspace.join("Cargo.toml"), &manifest);
    std::fs::copy(project().join("Cargo.lock"), workspace.join("Cargo.lock")).unwrap();
    let arguments = ["test", "--workspace", "--lib", "--offline", "--quiet"];
    let out = cargo(&workspace, &arguments);
    let passed = "test result: ok. 1 passed";
    assert_eq!(out.matches(passed).count(), providers().len(), "not every table was tried:\n{out}");
}

/// Writes a crate with nothing in it but what is generated.
fn write_crate(workspace: &Path, provider: &str, schemas: &Path) {
    let directory = workspace.join(provider);
    let hub = text(&project().join("crates/hub"));
    let manifest = format!(
        "[package]\nname = \"generated-{}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nhub = {{ path = {hub:?} }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\n\
         [dev-dependencies]\nhub = {{ path = {hub:?}, features = [\"testing\"] }}\n\n\
         [lints.rust]\nwarnings = \"deny\"\n",
        provider.to_lowercase()
    );
    write(&directory.join("Cargo.toml"), &manifest);
    write(&directory.join("src/lib.rs"), "//! Generated.\n\npub mod provider;\n");
    let said = config(provider, "output = \"src\"\nmodule = \"provider\"");
    let config = directory.join("hubgen.toml");
    write(&config, &said);
    let generate = || hubgen(&["generate", &text(&config), "--schemas", &text(schemas)]);
    if generate().is_err() {
        // The directory is kept between runs, and what an earlier generator left there is not this one's.
        std::fs::remove_dir_all(directory.join("src/provider")).unwrap();
        std::fs::remove_file(directory.join("src/provider.rs")).unwrap();
        generate().unwrap();
    }
}

/// Writes a file, unless it is there already: what did not change is not compiled again.
pub(crate) fn write(path: &Path, content: &str) {
    if std::fs::read_to_string(path).is_ok_and(|found| found == content) {
        return;
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// Runs cargo on a workspace in the directory for tests, and gives what it printed.
#[expect(clippy::disallowed_methods, reason = "generated code is compiled as its users would")]
pub(crate) fn cargo(workspace: &Path, arguments: &[&str]) -> String {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(arguments)
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", workspace.ancestors().nth(2).unwrap())
        .output()
        .unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "cargo {arguments:?} failed:\n{out}{err}");
    out.into_owned()
}
