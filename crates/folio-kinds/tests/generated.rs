//! The committed types are what the schemas and the configuration give.

use std::path::Path;

use hubgen::{generate::generate, read};

#[test]
fn the_generated_code_is_as_generated() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = read::config(&root.join("hubgen.toml")).unwrap();
    let output = root.join("src/generated");
    let input = read::input(&config, root, &output).unwrap();
    let generated = generate(&config, &input).unwrap();
    let is = |name: &str, value: &str| std::env::var_os(name).is_some_and(|found| found == value);
    if is("FOLIO_BLESS", "1") && !is("CI", "true") {
        generated.output.write(&output).unwrap();
    }
    let stale = generated.output.stale(&output).unwrap();
    assert_eq!(stale, [""; 0], "run `cargo xtask bless`, and never edit these files");
}
