//! Schemas that cannot become types: the message names the place, and nothing is written.

use std::fmt::Write;

use crate::kit::{directory, hubgen, text};

const CONFIG: &str = r#"
group = "bad"
format = "json-schema"
[[schema]]
path = "v1.json"
version = "v1"
kind = "Thing"
"#;

/// Tries a schema; the message has each of the parts.
fn check(schema: &str, parts: &[&str]) {
    let here = directory(&[("v1.json", schema), ("hubgen.toml", CONFIG)]);
    let config = text(&here.path().join("hubgen.toml"));
    let refused = hubgen(&["generate", &config]).unwrap_err();
    let message = format!("{refused}\nhint: {}", refused.hint());
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in:\n{message}");
    }
    assert!(!here.path().join("generated").exists(), "nothing is written");
}

/// Tries the schema of one property.
fn check_property(schema: &str, definitions: &str, parts: &[&str]) {
    check(
        &format!(
            r#"{{"type": "object", "properties": {{"a": {schema}}}, "definitions": {{{definitions}}}}}"#
        ),
        parts,
    );
}

#[test]
fn references_that_lead_nowhere() {
    let here = "v1.json#/properties/a: ";
    check_property(
        r##"{"$ref": "#/definitions/Gone"}"##,
        "",
        &[here, "leads to nothing: #/definitions/Gone", "define `/definitions/Gone`"],
    );
    check_property(
        r#"{"$ref": "other.json#/definitions/A"}"#,
        "",
        &[here, "a file that is not there", "add the file other.json"],
    );
    check_property(
        r#"{"$ref": "https://example.org/schemas/a.json"}"#,
        "",
        &[here, "leads out of the schemas", "nothing is fetched", "`[remote]`"],
    );
}

#[test]
fn references_out_of_the_directory_of_schemas() {
    let schema =
        |reference: &str| format!(r#"{{"properties": {{"a": {{"$ref": "{reference}"}}}}}}"#);
    let secret = r#"{"type": "object", "properties": {"secret": {"type": "string"}}}"#;
    let here = directory(&[("secret.json", secret), ("schemas/hubgen.toml", CONFIG)]);
    let absolute = text(&here.path().join("secret.json"));
    for reference in ["../secret.json", "sub/../../secret.json#/properties/secret", &absolute] {
        std::fs::write(here.path().join("schemas/v1.json"), schema(reference)).unwrap();
        let config = text(&here.path().join("schemas/hubgen.toml"));
        let refused = hubgen(&["generate", &config]).unwrap_err();
        let message = refused.to_string();
        let expected = format!(
            "v1.json#/properties/a: `$ref` leads out of the directory of schemas: {reference}"
        );
        assert_eq!(message, expected);
        assert!(refused.hint().contains("--schemas"), "{}", refused.hint());
        assert!(!here.path().join("schemas/generated").exists(), "nothing is written");
    }
}

#[test]
fn references_below_a_directory_that_the_configuration_names() {
    let schema = r#"{"properties": {"a": {"$ref": "part.json"}}}"#;
    let part = r#"{"type": "object", "properties": {"b": {"type": "string"}}}"#;
    let config = CONFIG.replace("v1.json", "../schemas/v1.json");
    let here = directory(&[
        ("schemas/v1.json", schema),
        ("schemas/part.json", part),
        ("crate/hubgen.toml", &config),
    ]);
    hubgen(&["report", &text(&here.path().join("crate/hubgen.toml"))]).unwrap();
}

#[test]
fn a_property_named_as_the_bag() {
    check(
        r#"{"properties": {"$bag": {}}}"#,
        &["has a property `$bag`, as every stored object has"],
    );
}

#[test]
fn references_that_never_end() {
    let endless = "the references from here never end in a type";
    check_property(
        r##"{"$ref": "#/definitions/A"}"##,
        r##""A": {"$ref": "#/definitions/B"}, "B": {"$ref": "#/definitions/A"}"##,
        &[endless, "mark the property `opaque`"],
    );
    check_property(
        r##"{"$ref": "#/definitions/A"}"##,
        r##""A": {"allOf": [{"type": "object"}, {"$ref": "#/definitions/A"}]}"##,
        &[endless],
    );
    check_property(
        r##"{"$ref": "#/definitions/A"}"##,
        r##""A": {"type": "array", "items": {"$ref": "#/definitions/A"}}"##,
        &["#/definitions/A: the type is a list or map of itself without end"],
    );
}

#[test]
fn all_of_that_contradicts_itself_shows_both_sides() {
    check_property(
        r#"{"allOf": [{"type": "string"}, {"type": "integer"}]}"#,
        "",
        &[
            "no value can satisfy both sides",
            "{String} at v1.json#/properties/a/allOf/0/type",
            "{Integer} at v1.json#/properties/a/allOf/1/type",
        ],
    );
    check_property(
        r#"{"allOf": [{"enum": ["x"]}, {"enum": ["y"]}]}"#,
        "",
        &[r#"["x"] at v1.json#/properties/a/allOf/0/enum"#, r#"["y"] at "#],
    );
    check(
        r#"{"allOf": [
            {"properties": {"a": {"type": "boolean"}}},
            {"properties": {"a": {"type": "array", "items": {}}}}
        ]}"#,
        &["{Boolean} at v1.json#/allOf/0/properties/a/type", "{Array} at "],
    );
}

#[test]
fn an_enum_of_ten_megabytes() {
    let mut values = String::new();
    for number in 0..900_000 {
        write!(values, "\"v{number:06}\",").unwrap();
    }
    values.pop();
    assert!(values.len() > 8_000_000);
    check_property(
        &format!(r#"{{"enum": [{values}]}}"#),
        "",
        &["v1.json#/properties/a: the enum has 900000 values", "mark the property `opaque`"],
    );
}

#[test]
fn names_that_become_one() {
    check(
        r#"{"properties": {"someName": {}, "some_name": {}}}"#,
        &[
            "properties `someName` and `some_name` of `Thing` would both be the field `some_name`",
            r#"[[name]] type = "Thing", property = "some_name""#,
        ],
    );
    check_property(
        r##"{"type": "object", "properties": {
            "x": {"$ref": "#/definitions/Part"}, "y": {"$ref": "#/definitions/part"}}}"##,
        r#""Part": {"type": "object"}, "part": {"type": "object"}"#,
        &["its type would be `Part`, as is that of v1.json#/definitions/Part", "[[name]]"],
    );
}

#[test]
fn a_given_name_settles_it() {
    let schema = r#"{"properties": {"someName": {}, "some_name": {}, "self": {}, "type": {}}}"#;
    let name = r#"
        [[name]]
        type = "Thing"
        property = "some_name"
        name = "other_name"
        because = "both exist"
    "#;
    let config = format!("{CONFIG}{name}");
    let here = directory(&[("v1.json", schema), ("hubgen.toml", &config)]);
    hubgen(&["generate", &text(&here.path().join("hubgen.toml"))]).unwrap();
    let made = std::fs::read_to_string(here.path().join("generated/bad/v1.rs")).unwrap();
    for field in ["pub some_name:", "pub other_name:", "pub self_:", "pub r#type:"] {
        assert!(made.contains(field), "`{field}` is not in:\n{made}");
    }
}

#[test]
fn schemas_that_are_no_schemas() {
    check("{", &["v1.json cannot be read", "EOF"]);
    check(r#"{"type": "thing"}"#, &["v1.json#/type: there is no type \"thing\""]);
    check(r#"{"type": "string"}"#, &["the resource `Thing` is not an object with properties"]);
    check(
        r#"{"$schema": "http://json-schema.org/draft-03/schema#"}"#,
        &["v1.json#/$schema: the schema is of an unknown draft", "use draft-04"],
    );
}

#[test]
fn deep_schemas_do_not_exhaust_the_stack() {
    let mut definitions = String::new();
    for number in 0..5_000 {
        let next = number + 1;
        write!(
            definitions,
            r##""D{number}": {{"type": "object", "properties": {{"a": {{"$ref": "#/definitions/D{next}"}}}}}},"##
        )
        .unwrap();
    }
    definitions.push_str(r#""D5000": {"type": "string", "enum": []}"#);
    let schema = format!(
        r##"{{"properties": {{"a": {{"$ref": "#/definitions/D0"}}}}, "definitions": {{{definitions}}}}}"##
    );
    let here = directory(&[("v1.json", &schema), ("hubgen.toml", CONFIG)]);
    let config = text(&here.path().join("hubgen.toml"));
    hubgen(&["report", &config, "--type", "Thing"]).unwrap();
}

#[test]
fn a_list_whose_items_do_not_have_its_key() {
    let schema = "
kind: CustomResourceDefinition
spec:
  group: g
  names: {kind: Thing}
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          type: object
          properties:
            parts:
              type: array
              x-kubernetes-list-type: map
              x-kubernetes-list-map-keys: [name]
              items: {type: object, properties: {nam: {type: string}}}
";
    let config = "group = 'bad'\nformat = 'crd'\n[[schema]]\npath = 'a.yaml'\n";
    let here = directory(&[("a.yaml", schema), ("hubgen.toml", config)]);
    let refused = hubgen(&["generate", &text(&here.path().join("hubgen.toml"))]).unwrap_err();
    let message = refused.to_string();
    assert!(message.contains("told apart by `name`, which they do not have"), "{message}");
    assert!(message.contains("/properties/parts"), "{message}");
    assert!(!here.path().join("generated").exists(), "nothing is written");
}
