//! Versions whose modules would be one, or would be taken.

use crate::kit::{directory, hubgen, text};

const SCHEMA: &str = r#"{"title": "Shelf", "properties": {"label": {"type": "string"}}}"#;

fn refusal(versions: &[&str]) -> Option<String> {
    let mut config = "group = 'shelves'\nformat = 'json-schema'\n".to_owned();
    for version in versions {
        config += &format!("[[schema]]\npath = 'shelf.json'\nversion = '{version}'\n");
    }
    let here = directory(&[("shelf.json", SCHEMA), ("hubgen.toml", &config)]);
    let path = text(&here.path().join("hubgen.toml"));
    let refused = hubgen(&["generate", &path]).err()?;
    assert!(!here.path().join("generated").exists(), "nothing is written");
    assert!(refused.hint().contains("[[schema]]"), "{}", refused.hint());
    Some(refused.to_string())
}

#[test]
fn two_versions_are_not_one_module() {
    for (one, other, module) in
        [("v1.1", "v1-1", "v1_1"), ("v1", "V1", "v1"), ("2020-01-01", "v2020.01.01", "v2020_01_01")]
    {
        let message = refusal(&[one, other]).unwrap();
        let would = format!("would both be the module `{module}`");
        for part in [&format!("`{one}`"), &format!("`{other}`"), &would] {
            assert!(message.contains(part.as_str()), "`{part}` is not in: {message}");
        }
    }
}

#[test]
fn a_version_is_not_a_module_that_is_there_already() {
    for version in ["storage", "hooks", "tests", "hub", "std", "serde", "mod", "Super", "type"] {
        let message = refusal(&["v1", version]).unwrap();
        let part = format!("the version `{version}` would be the module");
        assert!(message.contains(&part), "{message}");
    }
}

#[test]
fn a_version_can_name_a_file() {
    for version in ["../v1", "a/v1", "v 1", "", "v1`"] {
        let message = refusal(&[version]).unwrap();
        assert!(message.contains("cannot be the name of a version"), "{message}");
    }
    assert_eq!(refusal(&["v1", "v2beta1", "2020-01-01-preview", "spring_2"]), None);
}
