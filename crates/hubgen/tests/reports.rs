//! What `report` and `diff` say, and what `--strict` asks somebody to look at.

use tempfile::TempDir;

use crate::kit::{directory, hubgen, text};

const V1: &str = r##"{"title": "Shelf", "type": "object", "properties": {
    "label": {"type": "string"},
    "state": {"enum": ["Empty", "Full"]},
    "states": {"type": "array", "items": {"$ref": "#/definitions/State"}},
    "note": {"type": "string"},
    "lamp": {"$ref": "#/definitions/Lamp"}},
    "definitions": {
        "State": {"enum": ["On", "Off"]},
        "Lamp": {"oneOf": [{"$ref": "#/definitions/Oil"}, {"$ref": "#/definitions/Bulb"}]},
        "Oil": {"properties": {"kind": {"const": "oil"}}, "required": ["kind"]},
        "Bulb": {"properties": {"kind": {"const": "bulb"}}, "required": ["kind"]}}}"##;

const V2: &str = r##"{"title": "Shelf", "type": "object", "properties": {
    "label": {"type": "string"},
    "state": {"enum": ["Full", "Half", "Empty", "Gone"]},
    "states": {"type": "array", "items": {"$ref": "#/definitions/State"}},
    "note": {"type": ["string", "null"]},
    "lamp": {"$ref": "#/definitions/Lamp"},
    "height": {"type": "integer"}},
    "required": ["label", "height"],
    "definitions": {
        "State": {"enum": ["On"]},
        "Lamp": {"oneOf": [{"$ref": "#/definitions/Led"}, {"$ref": "#/definitions/Bulb"}]},
        "Led": {"properties": {"kind": {"const": "led"}}, "required": ["kind"]},
        "Bulb": {"properties": {"kind": {"const": "bulb"}}, "required": ["kind"]}}}"##;

const V3: &str =
    r#"{"title": "Rack", "type": "object", "properties": {"high": {"type": "integer"}}}"#;

const CONFIG: &str = r#"group = "shelves"
format = "json-schema"
[[schema]]
path = "v1.json"
version = "v1"
[[schema]]
path = "v2.json"
version = "v2"
[[schema]]
path = "v3.json"
version = "v3"
"#;

fn shelves(more: &str) -> (TempDir, String) {
    let config = format!("{CONFIG}{more}");
    let files = [("v1.json", V1), ("v2.json", V2), ("v3.json", V3), ("hubgen.toml", &config)];
    let here = directory(&files);
    let config = text(&here.path().join("hubgen.toml"));
    (here, config)
}

/// The cells of the rows that speak of a property.
fn row(printed: &str, property: &str) -> Vec<String> {
    let cells = |line: &str| {
        let cells = line.trim_matches('|').split(" | ");
        cells.map(|cell| cell.trim_matches([' ', '|']).to_owned()).collect::<Vec<_>>()
    };
    let found = printed.lines().map(cells).find(|cells| cells[0] == property);
    found.unwrap_or_else(|| panic!("there is no row for `{property}` in:\n{printed}"))
}

#[test]
fn values_nullability_and_arms_are_changes() {
    let (_here, config) = shelves("");
    let report = hubgen(&["report", &config, "--spoke", "v1", "--changed"]).unwrap();
    let diff = hubgen(&["diff", "v1", "v2", &config]).unwrap();
    for (property, spoke, hub, change) in [
        ("state", "*ShelfState", "*ShelfState", "Values Added: Half, Gone"),
        ("states", "*[]State", "*[]State", "Values Removed: Off"),
        ("note", "*string", "*string?", "Became Nullable"),
        ("label", "*string", "string", "Became Required"),
        ("height", "", "int", "New Required Property"),
        ("oil", "Oil", "", "Arm Removed"),
        ("led", "", "Led", "New Arm"),
    ] {
        assert_eq!(row(&report, property)[..4], [property, spoke, hub, change]);
        assert_eq!(row(&diff, property), [property, spoke, hub, change]);
    }
    let back = hubgen(&["diff", "v2", "v1", &config]).unwrap();
    for (property, change) in [
        ("state", "Values Removed: Half, Gone"),
        ("note", "No Longer Nullable"),
        ("height", "Property Removed"),
        ("oil", "New Arm"),
        ("led", "Arm Removed"),
    ] {
        assert_eq!(row(&back, property)[3], change);
    }
}

#[test]
fn a_comparison_says_which_versions_it_compares() {
    let (_here, config) = shelves("");
    let diff = hubgen(&["diff", "v1", "v2", &config]).unwrap();
    assert!(diff.contains("- `Shelf`: from v1 to v2\n"), "{diff}");
    assert!(!diff.contains("stored as") && !diff.contains("Handler"), "{diff}");
    assert!(diff.contains("| Property | v1 "), "{diff}");
    let diff = hubgen(&["diff", "v2", "v3", &config]).unwrap();
    assert!(diff.contains("- `Rack`: only in v3\n- `Shelf`: only in v2\n"), "{diff}");
    let json = hubgen(&["diff", "v1", "v2", &config, "-o", "json"]).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["resources"][0]["from"], "v1");
    assert_eq!(json["resources"][0]["to"], "v2");
}

#[test]
fn names_are_those_of_documents_and_of_rust() {
    let (_here, config) = shelves("");
    let report = hubgen(&["report", &config]).unwrap();
    assert!(report.contains(
        "Properties are named as documents name them; objects, enums and unions as in Rust."
    ));
    assert!(report.contains("| label ") && !report.contains("| Label "), "{report}");
}

#[test]
fn what_does_not_exist_is_told_what_does() {
    let (_here, config) = shelves("");
    for (arguments, what, hint) in [
        (
            ["diff", "v1", "v9"].as_slice(),
            "shelves has no version `v9`",
            "the versions are v1, v2, v3",
        ),
        (&["report", "--spoke", "v22"], "has no version `v22`", "did you mean `v2`?"),
        (&["report", "--hub", "spring"], "has no version `spring`", "the versions are v1, v2, v3"),
        (&["report", "--resource", "Shelv"], "has no kind `Shelv`", "did you mean `Shelf`?"),
        (&["report", "--type", "Lam"], "has no type `Lam`", "did you mean `Lamp`?"),
        (
            &["report", "--resource", "Shelf", "--spoke", "v3"],
            "`Shelf` is not in these versions",
            "the versions that have it are v1, v2",
        ),
    ] {
        let refused = hubgen(&[arguments, &[config.as_str()]].concat()).unwrap_err();
        assert!(refused.to_string().contains(what), "{refused}");
        assert!(refused.hint().contains(hint), "{}", refused.hint());
    }
}

fn strict(more: &str) -> Option<String> {
    let (here, config) = shelves(more);
    let refused = hubgen(&["generate", &config, "--strict"]).err()?.to_string();
    assert!(!here.path().join("generated").exists(), "nothing is written");
    Some(refused)
}

#[test]
fn strict_asks_about_what_may_be_missing_and_about_arms() {
    let refused = strict("").unwrap();
    assert!(
        refused.ends_with(
            ":\n  Lamp.oil (Arm Removed)\n  Shelf.height (New Required Property)\n  \
             Shelf.label (Became Required)"
        ),
        "{refused}"
    );
    let because = "because = 'of a test'\n";
    let default = |property: &str, value: &str| {
        format!("[[default]]\ntype = 'Shelf'\nproperty = '{property}'\nvalue = {value}\n{because}")
    };
    let accept = |ty: &str, property: &str, more: &str| {
        format!("[[accept]]\ntype = '{ty}'\nproperty = '{property}'\n{more}{because}")
    };
    let entries = default("height", "1") + &default("label", "''") + &accept("Lamp", "oil", "");
    assert_eq!(strict(&entries), None);
    let entries =
        accept("Shelf", "height", "") + &default("label", "''") + &accept("Lamp", "oil", "");
    assert_eq!(strict(&entries), None);
}

#[test]
fn an_acceptance_can_be_for_one_version() {
    let accept = |version: &str| {
        format!(
            "[[accept]]\ntype = 'Shelf'\nproperty = 'height'\nversion = '{version}'\n\
             because = 'of a test'\n"
        )
    };
    let refused = strict(&accept("v1")).unwrap();
    assert!(!refused.contains("height"), "{refused}");
    let (_here, config) = shelves(&accept("v2"));
    let refused = hubgen(&["report", &config]).unwrap_err();
    assert!(refused.to_string().contains("[[accept]] changes nothing"), "{refused}");
}

/// Weak schemas, and why each becomes free JSON.
const WEAK: &[(&str, &str)] = &[
    (
        r#"{"oneOf": [{"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "boolean"}]}"#,
        "one of its choices is a choice again: free JSON",
    ),
    (
        r#"{"anyOf": [{"type": "object", "properties": {"x": {}}}, {"type": "string"}]}"#,
        "no property tells the choices apart: free JSON",
    ),
    (r#"{"type": ["string", "integer"]}"#, "several types are possible: free JSON"),
    (r#"{"enum": ["auto", 1]}"#, "several types are possible: free JSON"),
    (
        r#"{"type": "array", "items": {"type": ["string", "null"]}}"#,
        "items that may be null are free JSON",
    ),
    (
        r#"{"type": "array", "prefixItems": [{"type": "string"}]}"#,
        "a list with a schema for each place is one of free JSON",
    ),
    (
        r#"{"type": "object", "patternProperties": {"^x": {"type": "string"}}}"#,
        "properties are named by a pattern: free JSON",
    ),
];

#[test]
fn weak_schemas_are_listed_and_strict_asks_about_them() {
    for (schema, why) in WEAK {
        let schema = format!(r#"{{"title": "Shelf", "properties": {{"weak": {schema}}}}}"#);
        let config =
            "group = 'g'\nformat = 'json-schema'\n[[schema]]\npath = 'v1.json'\nversion = 'v1'\n";
        let here = directory(&[("v1.json", &schema), ("hubgen.toml", config)]);
        let path = text(&here.path().join("hubgen.toml"));
        let report = hubgen(&["report", &path]).unwrap();
        let line = format!("- v1 `Shelf.weak`: {why} (v1.json#/properties/weak");
        assert!(report.contains(&line), "`{line}` is not in:\n{report}");
        let refused = hubgen(&["generate", &path, "--strict"]).unwrap_err().to_string();
        assert!(refused.ends_with(&format!("\n  Shelf.weak ({why})")), "{refused}");
        for table in ["accept", "opaque"] {
            let entry =
                format!("[[{table}]]\ntype = 'Shelf'\nproperty = 'weak'\nbecause = 'of a test'\n");
            std::fs::write(&path, format!("{config}{entry}")).unwrap();
            hubgen(&["report", &path, "--strict"]).unwrap();
        }
    }
}

#[test]
fn what_only_says_that_anything_goes_is_not_weak() {
    let schema = r#"{"title": "Shelf", "properties": {
        "any": {}, "free": {"type": "object"}, "list": {"type": "array"},
        "maybe": {"type": ["string", "null"]}, "number": {"type": ["integer", "number"]}}}"#;
    let config =
        "group = 'g'\nformat = 'json-schema'\n[[schema]]\npath = 'v1.json'\nversion = 'v1'\n";
    let here = directory(&[("v1.json", schema), ("hubgen.toml", config)]);
    hubgen(&["report", &text(&here.path().join("hubgen.toml")), "--strict"]).unwrap();
}
