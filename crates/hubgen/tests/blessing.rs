//! A published version does not change under those who use it.

use std::path::Path;

use tempfile::TempDir;

use crate::kit::{contents, copy, directory, hubgen, own_schemas, text};

const V1: &str = r##"{
  "title": "Shelf",
  "type": "object",
  "properties": {
    "label": { "type": "string" },
    "width": { "type": "integer" },
    "state": { "enum": ["Empty", "Full"] },
    "level": { "type": "integer", "enum": [1, 2, 3] },
    "code": { "type": "string", "minLength": 2, "maxLength": 9, "pattern": "^[a-z]+$" },
    "height": { "type": "integer", "minimum": 10, "maximum": 300 },
    "tags": { "type": "array", "maxItems": 4, "items": { "type": "string", "maxLength": 20 } },
    "boards": { "type": "array", "items": { "$ref": "#/definitions/Board" } }
  },
  "required": ["width"],
  "definitions": { "Board": { "type": "object", "properties": { "wood": { "type": "string" } } } }
}"##;

const CONFIG: &str = r#"
group = "shelves"
format = "json-schema"
[[schema]]
path = "v1.json"
version = "v1"
[[schema]]
path = "v2.json"
version = "v2"
"#;

fn published() -> (TempDir, String) {
    let here = directory(&[("v1.json", V1), ("v2.json", V1), ("hubgen.toml", CONFIG)]);
    let config = text(&here.path().join("hubgen.toml"));
    hubgen(&["generate", &config]).unwrap();
    hubgen(&["check", &config]).unwrap();
    (here, config)
}

fn edit(path: &Path, from: &str, to: &str) {
    let before = std::fs::read_to_string(path).unwrap();
    let after = before.replace(from, to);
    assert_ne!(before, after, "the edit changes something");
    std::fs::write(path, after).unwrap();
}

/// Edits the first version's schema after it was published; `expected` is what breaks, if any.
fn check(from: &str, to: &str, expected: Option<&str>) {
    let (here, config) = published();
    let generated = here.path().join("generated");
    let before = contents(&generated);
    edit(&here.path().join("v1.json"), from, to);
    match expected {
        None => {
            hubgen(&["generate", &config]).unwrap();
            hubgen(&["check", &config]).unwrap();
        }
        Some(line) => {
            for verb in ["check", "generate"] {
                let refused = hubgen(&[verb, &config]).unwrap_err().to_string();
                assert!(refused.contains("would break what is published"), "{refused}");
                assert!(refused.ends_with(&format!("v1: {line}")), "{refused}");
            }
            assert!(contents(&generated) == before, "nothing is written");
        }
    }
}

#[test]
fn what_breaks_documents_is_refused() {
    check(
        r#""label": { "type": "string" },"#,
        r#""Label": { "type": "string" },"#,
        Some("Shelf.label: the property is gone"),
    );
    check(r#""integer""#, r#""string""#, Some("Shelf.width: int became string"));
    check(r#"["width"]"#, r#"["width", "label"]"#, Some("Shelf.label: it became required"));
    check(r#""Empty", "#, "", Some("Shelf.state: the value `Empty` is gone"));
    check(r#"{ "wood": "#, r#"{ "tree": "#, Some("Shelf.boards[].wood: the property is gone"));
}

#[test]
fn a_narrower_limit_breaks_documents() {
    check("[1, 2, 3]", "[1, 3]", Some("Shelf.level: the value `2` is gone"));
    check(r#""maxLength": 9"#, r#""maxLength": 8"#, Some("Shelf.code: `maxLength` 9 became 8"));
    check(r#""minLength": 2"#, r#""minLength": 3"#, Some("Shelf.code: `minLength` 2 became 3"));
    check("[a-z]+", "[a-z]", Some(r#"Shelf.code: `pattern` "^[a-z]+$" became "^[a-z]$""#));
    check(r#""minimum": 10"#, r#""minimum": 11"#, Some("Shelf.height: `minimum` 10 became 11"));
    check(r#""maximum": 300"#, r#""maximum": 30"#, Some("Shelf.height: `maximum` 300 became 30"));
    check(r#""maxItems": 4"#, r#""maxItems": 3"#, Some("Shelf.tags: `maxItems` 4 became 3"));
    check(r#""maxLength": 20"#, r#""maxLength": 2"#, Some("Shelf.tags[]: `maxLength` 20 became 2"));
    check(
        r#""label": { "type": "string" }"#,
        r#""label": { "type": "string", "maxLength": 5 }"#,
        Some("Shelf.label: `maxLength` 5 is new"),
    );
    check(
        r#"{ "Board": { "type": "object","#,
        r#"{ "Board": { "type": "object", "additionalProperties": false,"#,
        Some("Shelf.boards[]: unknown properties are no longer allowed"),
    );
}

#[test]
fn a_wider_limit_is_allowed() {
    check("[1, 2, 3]", "[1, 2, 3, 4]", None);
    check(r#""minLength": 2, "maxLength": 9, "pattern": "^[a-z]+$""#, r#""maxLength": 10"#, None);
    check(r#""minimum": 10"#, r#""minimum": 1"#, None);
    check(r#""maxItems": 4, "#, "", None);
}

#[test]
fn what_widens_a_version_is_allowed() {
    check(r#""integer""#, r#""number""#, None);
    check(r#"["width"]"#, "[]", None);
    check(r#""Empty", "#, r#""Empty", "Half", "#, None);
    check(r#"{ "wood": "#, r#"{ "nails": { "type": "integer" }, "wood": "#, None);
    check("Board", "Plank", None);
}

#[test]
fn edited_missing_and_orphaned_files_are_found() {
    let (here, config) = published();
    let module = here.path().join("generated/shelves");
    edit(&module.join("v1.rs"), "pub", "pub ");
    std::fs::remove_file(module.join("report.json")).unwrap();
    std::fs::write(module.join("v9.rs"), "// @generated by hubgen for shelves;\n").unwrap();
    std::fs::write(module.join("v8.rs"), "// @generated by hubgen for others;\n").unwrap();
    std::fs::write(module.join("ext.rs"), "// by hand\n").unwrap();
    let refused = hubgen(&["check", &config]).unwrap_err().to_string();
    let (_, found) = refused.split_once(":\n").unwrap();
    assert_eq!(
        found,
        "  shelves/report.json: it is missing\n  \
         shelves/v1.rs: it is not what would be generated\n  \
         shelves/v9.rs: nothing generates it any more"
    );
    hubgen(&["generate", &config]).unwrap();
    hubgen(&["check", &config]).unwrap();
    assert!(module.join("ext.rs").exists(), "what people write is theirs");
    assert!(module.join("v8.rs").exists(), "what other groups generate is theirs");
    assert!(!module.join("v9.rs").exists());
}

#[test]
fn a_version_that_upstream_dropped_lives_on_from_its_blessed_schema() {
    let (here, config) = published();
    let before = contents(&here.path().join("generated"));
    let dropped = "[[schema]]\npath = \"v1.json\"\nversion = \"v1\"\n";
    edit(&here.path().join("hubgen.toml"), dropped, "");
    std::fs::remove_file(here.path().join("v1.json")).unwrap();
    hubgen(&["check", &config]).unwrap();
    assert!(contents(&here.path().join("generated")) == before, "the files stay as they were");
}

#[test]
fn every_blessed_schema_reads_back_as_itself() {
    for (format, module) in [("arm", "library"), ("crd", "readers"), ("json", "books")] {
        let here = directory(&[]);
        copy(&own_schemas(format), here.path());
        let config = here.path().join("hubgen.toml");
        hubgen(&["generate", &text(&config)]).unwrap();
        let before = contents(&here.path().join("generated"));
        let said = std::fs::read_to_string(&config).unwrap();
        let (head, tail) = said.split_once("[[schema]]").unwrap();
        let tail = tail.rsplit_once("[[schema]]").map_or(tail, |(_, tail)| tail);
        let (_, decisions) = tail.split_once("\n\n").unwrap();
        std::fs::write(&config, format!("{head}{decisions}")).unwrap();
        hubgen(&["generate", &text(&config)]).unwrap();
        assert!(contents(&here.path().join("generated")) == before, "{format} of {module}");
    }
}

#[test]
fn a_published_version_is_not_excluded_in_passing() {
    let (here, config) = published();
    let exclude = "\n[[exclude]]\nversion = \"v1\"\nbecause = \"old\"\n";
    std::fs::write(here.path().join("hubgen.toml"), format!("{CONFIG}{exclude}")).unwrap();
    let refused = hubgen(&["generate", &config]).unwrap_err().to_string();
    assert!(refused.ends_with("v1: the version is gone"), "{refused}");
}
