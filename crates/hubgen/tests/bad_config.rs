//! Configuration that is wrong or decides nothing: the message names the line and what was meant.

use crate::kit::{directory, hubgen, text};

const V1: &str = r#"{"title": "Shelf", "type": "object", "properties": {
    "label": {"type": "string"}, "width": {"type": "integer"}, "owner": {"type": "string"}},
    "required": ["width"]}"#;
const V2: &str = r#"{"title": "Shelf", "type": "object", "properties": {
    "label": {"type": "string"}, "holder": {"type": "string"}}}"#;

const CONFIG: &str = r#"group = "shelves"
format = "json-schema"
[[schema]]
path = "v1.json"
version = "v1"
[[schema]]
path = "v2.json"
version = "v2"
"#;

/// Adds an entry, which starts on line 9; the message has each of the parts.
fn check(entry: &str, parts: &[&str]) {
    let config = format!("{CONFIG}{entry}");
    let here = directory(&[("v1.json", V1), ("v2.json", V2), ("hubgen.toml", &config)]);
    let config = text(&here.path().join("hubgen.toml"));
    for verb in ["generate", "check", "report"] {
        let refused = hubgen(&[verb, &config]).unwrap_err();
        let message = format!("{refused}\nhint: {}", refused.hint());
        for part in parts {
            assert!(message.contains(part), "`{part}` is not in:\n{message}");
        }
    }
    assert!(!here.path().join("generated").exists(), "nothing is written");
}

#[test]
fn entries_about_what_does_not_exist_say_what_was_meant() {
    for (entry, what, hint) in [
        ("[[opaque]]\ntype = 'Shelv'\nproperty = 'label'", "the type `Shelv`", "`Shelf`"),
        ("[[opaque]]\ntype = 'Shelf'\nproperty = 'lable'", "the property `lable`", "`label`"),
        ("[[manual]]\ntype = 'Shelf'\nproperty = 'Width'", "the property `Width`", "`width`"),
        (
            "[[default]]\ntype = 'Shelf'\nproperty = 'with'\nvalue = 1",
            "the property `with`",
            "`width`",
        ),
        ("[[exclude]]\nkind = 'Shelfs'", "the kind `Shelfs`", "`Shelf`"),
        ("[[hub]]\nversion = 'v22'", "the version `v22`", "`v2`"),
        ("[[accept]]\ntype = 'Shelf'\nversion = 'v11'", "the version `v11`", "`v1`"),
        ("[[rename_type]]\nfrom = 'Shelfe'\nto = 'Shelf'", "the type `Shelfe`", "`Shelf`"),
        (
            "[[rename_property]]\ntype = 'Shelf'\nfrom = 'owner'\nto = 'holdr'",
            "the property `holdr`",
            "`holder`",
        ),
        ("[[accept]]\ntype = 'Shelf'\nproperty = 'ownr'", "the property `ownr`", "`owner`"),
        ("[[name]]\ntype = 'Shelg'\nname = 'Rack'", "the type `Shelg`", "`Shelf`"),
    ] {
        let entry = format!("{entry}\nbecause = 'of a test'\n");
        check(&entry, &["hubgen.toml:9: ", what, "which no schema has", "did you mean", hint]);
    }
}

#[test]
fn entries_that_change_nothing_are_refused() {
    for entry in [
        "[[manual]]\ntype = 'Shelf'\nproperty = 'label'",
        "[[accept]]\ntype = 'Shelf'\nproperty = 'label'",
        "[[default]]\ntype = 'Shelf'\nproperty = 'label'\nvalue = ''",
        "[[rename_property]]\ntype = 'Shelf'\nfrom = 'label'\nto = 'label'",
    ] {
        let entry = format!("{entry}\nbecause = 'of a test'\n");
        check(&entry, &["hubgen.toml:9: ", "changes nothing", "delete the entry"]);
    }
}

#[test]
fn a_version_that_an_entry_names_is_looked_at() {
    for entry in [
        "[[manual]]\ntype = 'Shelf'\nproperty = 'owner'\nversion = 'VERSION'",
        "[[default]]\ntype = 'Shelf'\nproperty = 'width'\nversion = 'VERSION'\nvalue = 1",
    ] {
        let entry = |version| entry.replace("VERSION", version) + "\nbecause = 'of a test'\n";
        let unknown = "speaks of the version `v11`, which no schema has";
        check(&entry("v11"), &["hubgen.toml:9: ", unknown, "did you mean `v1`?"]);
        check(&entry("v2"), &["hubgen.toml:9: ", "changes nothing", "did you mean version `v1`?"]);
        accept(&entry("v1"));
    }
}

/// Adds an entry that decides something.
fn accept(entry: &str) {
    let config = format!("{CONFIG}{entry}");
    let here = directory(&[("v1.json", V1), ("v2.json", V2), ("hubgen.toml", &config)]);
    hubgen(&["report", &text(&here.path().join("hubgen.toml"))]).unwrap();
}

#[test]
fn an_unknown_version_or_kind_is_told_all_there_are() {
    let because = "because = 'of a test'\n";
    let hub = format!("[[hub]]\nversion = 'summer'\n{because}");
    check(&hub, &["the version `summer`", "the versions are v1, v2"]);
    let exclude = format!("[[exclude]]\nkind = 'Lamp'\n{because}");
    check(&exclude, &["the kind `Lamp`", "the kinds are Shelf"]);
}

/// Replaces a part of the configuration; the message has each of the parts.
fn check_head(from: &str, to: &str, parts: &[&str]) {
    let config = CONFIG.replace(from, to);
    assert_ne!(config, CONFIG);
    let here = directory(&[("v1.json", V1), ("v2.json", V2), ("crate/a/hubgen.toml", &config)]);
    let schemas = text(here.path());
    let config = text(&here.path().join("crate/a/hubgen.toml"));
    for verb in ["generate", "check", "report"] {
        let refused = hubgen(&[verb, &config, "--schemas", &schemas]).unwrap_err();
        let message = format!("{refused}\nhint: {}", refused.hint());
        for part in parts {
            assert!(message.contains(part), "`{part}` is not in:\n{message}");
        }
    }
    let files = crate::kit::contents(here.path());
    assert_eq!(files.len(), 3, "nothing is written: {files:?}");
}

#[test]
fn a_module_is_a_name() {
    for module in ["../../q", "Shelves", "a-b", "", "mod", "self", "a/b"] {
        let to = format!("group = \"shelves\"\nmodule = '{module}'");
        let what = format!("hubgen.toml:2: `{module}` cannot be the name of a module");
        check_head("group = \"shelves\"", &to, &[&what, "set `module`"]);
    }
    let keyword = ["hubgen.toml:1: `type` cannot be the name of a module", "set `module`"];
    check_head("group = \"shelves\"", "group = 'type'", &keyword);
}

#[test]
fn a_group_is_a_name() {
    for group in ["", " ", "a`b", "a b", "../a", "a\\nb"] {
        let to = format!("group = \"{group}\"");
        check_head(
            "group = \"shelves\"",
            &to,
            &["hubgen.toml:1: ", "cannot be the name of a group", "library.example"],
        );
    }
}

#[test]
fn a_given_name_is_one() {
    for (property, name, why) in [
        ("", "shelf", "cannot be the name of a type: it is not written as one"),
        ("", "Value", "cannot be the name of a type: generated code uses it itself"),
        ("", "A::B", "it is not written as one"),
        ("property = 'label'\n", "Label", "cannot be the name of a field"),
        ("property = 'label'\n", "bag", "generated code uses it itself"),
        ("property = 'label'\n", "self", "cannot be the name of a field"),
        ("property = 'label'\n", "a, b", "it is not written as one"),
    ] {
        let entry =
            format!("[[name]]\ntype = 'Shelf'\n{property}name = '{name}'\nbecause = 'of a test'\n");
        check(&entry, &["hubgen.toml:9: ", &format!("[[name]] `{name}`"), why, "as Rust does"]);
    }
}

#[test]
fn every_entry_says_why() {
    let place = "[[manual]]\ntype = 'Shelf'\nproperty = 'owner'\n";
    check(place, &["hubgen.toml:9: ", "missing field `because`"]);
    check(&format!("{place}because = ' '"), &["hubgen.toml:9: ", "does not say why"]);
}

#[test]
fn misspelt_tables_and_keys_are_refused() {
    let unknown = "hubgen.toml:9: unknown field `opaqe`";
    check("[[opaqe]]\n", &[unknown, "expected one of", "did you mean `opaque`?"]);
    check(
        "[[opaque]]\ntype = 'Shelf'\npropery = 'label'\nbecause = 'x'\n",
        &["hubgen.toml:11: unknown field `propery`", "did you mean `property`?"],
    );
    check(
        "[[schema]]\npath = 'v3.json'\n",
        &["hubgen.toml:9: there is no schema at ", "--schemas"],
    );
    check_head(
        "\"json-schema\"",
        "'json-shema'",
        &["hubgen.toml:2: unknown variant `json-shema`", "did you mean `json-schema`?"],
    );
}

#[test]
fn two_configurations_never_write_one_module() {
    let here =
        directory(&[("v1.json", V1), ("v2.json", V2), ("a.toml", CONFIG), ("b.toml", CONFIG)]);
    let (a, b) = (text(&here.path().join("a.toml")), text(&here.path().join("b.toml")));
    let refused = hubgen(&["generate", &a, &b]).unwrap_err().to_string();
    assert_eq!(refused, format!("{b} writes the same module as another configuration"));
    assert!(!here.path().join("generated").exists(), "nothing is written");
}

#[test]
fn a_yaml_file_without_a_definition_is_refused() {
    let config = "group = 'g'\nformat = 'crd'\n[[schema]]\npath = 'a.yaml'\n";
    let here = directory(&[("a.yaml", "kind: Namespace\n"), ("hubgen.toml", config)]);
    let refused = hubgen(&["report", &text(&here.path().join("hubgen.toml"))]).unwrap_err();
    assert!(refused.to_string().ends_with(":3: a.yaml holds no CustomResourceDefinition"));
}

#[test]
fn a_default_is_of_the_type_of_its_property() {
    let entry = "[[default]]\ntype = 'Shelf'\nproperty = 'width'\nvalue = 'wide'\nbecause = 'x'";
    check(entry, &["hubgen.toml:9: the default \"wide\" is not a value of `Shelf.width`", "int"]);
}

#[test]
fn two_shapes_never_meet_under_one_key() {
    let v1 = r##"{"title": "Shelf", "properties": {
        "left": {"$ref": "#/definitions/Left"}, "right": {"$ref": "#/definitions/Right"}},
        "definitions": {
            "Left": {"type": "object", "properties": {"mark": {"type": "string"}}},
            "Right": {"type": "object", "properties": {"mark": {"type": "integer"}}}}}"##;
    let v2 = r##"{"title": "Shelf", "properties": {
        "left": {"$ref": "#/definitions/Side"}, "right": {"$ref": "#/definitions/Side"}},
        "definitions": {"Side": {"type": "object", "properties": {"high": {"type": "integer"}}}}}"##;
    let renames = "[[rename_type]]\nfrom = 'Left'\nto = 'Side'\nbecause = 'x'\n\
                   [[rename_type]]\nfrom = 'Right'\nto = 'Side'\nbecause = 'x'\n";
    let config = format!("{CONFIG}{renames}");
    let here = directory(&[("v1.json", v1), ("v2.json", v2), ("hubgen.toml", &config)]);
    let refused = hubgen(&["generate", &text(&here.path().join("hubgen.toml"))]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`Left` and `Right` both become `Side`, and would keep different values under `mark@v1`"
    );
}
