//! Whatever a schema names its types, what is generated compiles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use hubgen::naming::reserved::RUNTIME;
use serde_json::{Map, Value, json};

use crate::compiled::{cargo, project, write};
use crate::kit::{contents, directory, hubgen, own_schemas, text};

/// Names that generated code may come to use, whether it does now or not.
const COMMON: &[&str] = &[
    "Any",
    "AsRef",
    "Augment",
    "Bool",
    "Clone",
    "Convert",
    "Copy",
    "Cow",
    "Debug",
    "Drop",
    "Eq",
    "Err",
    "Extend",
    "Fn",
    "From",
    "Hash",
    "Hook",
    "HookKind",
    "I64",
    "Into",
    "IntoIterator",
    "Iterator",
    "Map",
    "Ord",
    "PartialEq",
    "Random",
    "RoundTrip",
    "Sample",
    "Send",
    "Sized",
    "Str",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "Unlisted",
];

/// The names that generated code uses itself: those it has in common whatever the schemas, what it
/// imports, and the common ones.
fn words() -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for format in ["arm", "crd", "json"] {
        let here = directory(&[]);
        let config = text(&own_schemas(format).join("hubgen.toml"));
        hubgen(&["generate", &config, "--output", &text(here.path())]).unwrap();
        let mut words = BTreeSet::new();
        for (_, bytes) in contents(here.path()).iter().filter(|(path, _)| is_rust(path)) {
            let code = String::from_utf8(bytes.clone()).unwrap();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            let is_end = |letter: char| !letter.is_ascii_alphanumeric();
            words.extend(
                lines.flat_map(|line| line.split(is_end)).filter(is_type).map(str::to_owned),
            );
        }
        words.into_iter().for_each(|word| *times.entry(word).or_default() += 1);
    }
    let shared = times.into_iter().filter(|(_, times)| *times > 1).map(|(word, _)| word);
    let known = COMMON.iter().chain(RUNTIME).map(|&word| word.to_owned());
    shared.chain(known).collect()
}

fn is_type(word: &&str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
        && word.contains(|letter: char| letter.is_ascii_lowercase())
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// A schema with a type of each name, which is also a kind where it is an object, and a resource
/// that has a property of each of them; `shape` says what the types are.
fn schema(words: &BTreeSet<String>, shape: impl Fn(&str) -> Value) -> String {
    let reference = |word: &str| json!({"$ref": format!("#/definitions/{word}")});
    let properties: Map<_, _> =
        words.iter().map(|word| (format!("p{word}"), reference(word))).collect();
    let mut definitions: Map<_, _> = words.iter().map(|word| (word.clone(), shape(word))).collect();
    let kinds = words.iter().filter(|word| definitions[*word].get("properties").is_some());
    let mut kinds: Map<_, _> = kinds.map(|word| (word.clone(), reference(word))).collect();
    definitions.insert("Root".to_owned(), json!({"type": "object", "properties": properties}));
    kinds.insert("Root".to_owned(), reference("Root"));
    json!({"x-resources": kinds, "definitions": definitions}).to_string()
}

/// An object whose properties have names that generated code uses.
fn object(kind: &str) -> Value {
    let text = || json!({"type": "string"});
    json!({"type": "object", "required": ["some"], "properties": {
        "some": {"type": kind},
        "none": {"enum": ["Some", "None", "LISTED", "Unlisted", "Self", "Ok"]},
        "list": {"type": "array", "items": {"type": "number"}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "any": {}, "bag": text(), "unknown": text(), "self": text(), "v1": text(), "v2": text(),
        "storage": text(), "unless": text(), "hub": text(), "stored": text(), "new": text(),
        "a\nb`": text()}})
}

/// A union whose arms, but for one, have tags that generated code uses.
fn choice(words: &BTreeSet<String>, more: &str) -> Value {
    let arm = |value: &str| {
        json!({
            "properties": {"kind": {"const": value}, "size": {"type": "integer"}},
            "required": ["kind"]
        })
    };
    let few = ["Value", "Number", "Object", "Bag", "Result", "Self", "Some"];
    let few = few.iter().filter(|word| words.contains(**word));
    json!({"oneOf": few.map(|word| arm(word)).chain([arm(more)]).collect::<Vec<_>>()})
}

/// An enum whose values, but for one, are names that generated code uses.
fn enumeration(words: &BTreeSet<String>, more: &str) -> Value {
    let values: Vec<_> = words.iter().map(String::as_str).chain([more]).collect();
    json!({"enum": values})
}

/// One union with many arms, and of each name one with a single arm.
fn unions(words: &BTreeSet<String>, more: &str) -> String {
    let one = BTreeSet::new();
    schema(words, |word| choice(if word == "Hook" { words } else { &one }, more))
}

#[test]
fn every_name_that_generated_code_uses_can_be_that_of_a_type() {
    let words = words();
    for word in ["Hook", "Bag", "Value", "Vec", "Option", "String", "Box", "Convert", "Spoke"] {
        assert!(words.contains(word), "`{word}` is tried");
    }
    let workspace = Path::new(env!("CARGO_TARGET_TMPDIR")).join("names");
    let groups: [(&str, [String; 2]); 3] = [
        ("objects", ["string", "boolean"].map(|kind| schema(&words, |_| object(kind)))),
        ("enums", ["A", "B"].map(|value| schema(&words, |_| enumeration(&words, value)))),
        ("unions", ["two", "three"].map(|value| unions(&words, value))),
    ];
    let mut modules = "//! Generated.\n\n".to_owned();
    for (module, schemas) in &groups {
        generate(&workspace, module, schemas);
        writeln!(modules, "pub mod {module};").unwrap();
    }
    write(&workspace.join("src/lib.rs"), &modules);
    write(&workspace.join("Cargo.toml"), &manifest());
    std::fs::copy(project().join("Cargo.lock"), workspace.join("Cargo.lock")).unwrap();
    cargo(&workspace, &["check", "--tests", "--offline", "--quiet"]);
}

fn generate(workspace: &Path, module: &str, schemas: &[String; 2]) -> PathBuf {
    let mut config = format!(
        "group = '{module}'\nformat = 'json-schema'\nmodule = '{module}'\noutput = 'src'\n"
    );
    for (index, schema) in schemas.iter().enumerate() {
        let (path, version) = (format!("{module}-{index}.json"), format!("v{}", index + 1));
        write(&workspace.join(&path), schema);
        write!(config, "[[schema]]\npath = '{path}'\nversion = '{version}'\n").unwrap();
    }
    let path = workspace.join(format!("{module}.toml"));
    write(&path, &config);
    let made = workspace.join("src").join(module);
    if made.join("blessed").exists() {
        // Another run may have tried other names.
        std::fs::remove_dir_all(made.join("blessed")).unwrap();
    }
    hubgen(&["generate", &text(&path)]).unwrap();
    made
}

fn manifest() -> String {
    let hub = text(&project().join("crates/hub"));
    format!(
        "[package]\nname = \"names\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nhub = {{ path = {hub:?} }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\n\
         [dev-dependencies]\nhub = {{ path = {hub:?}, features = [\"testing\"] }}\n\n\
         [workspace]\n\n[lints.rust]\nwarnings = \"deny\"\n\n\
         [profile.dev]\ndebug = \"line-tables-only\"\n\n\
         [profile.dev.package.\"*\"]\nopt-level = 2\n"
    )
}

#[test]
fn names_that_meet_after_making_way_are_refused() {
    let schema = r##"{"title": "Root", "properties": {
        "a": {"$ref": "#/definitions/Value"}, "b": {"$ref": "#/definitions/ValueType"}},
        "definitions": {
            "Value": {"type": "object", "properties": {"x": {}}},
            "ValueType": {"type": "object", "properties": {"y": {}}}}}"##;
    let config =
        "group = 'g'\nformat = 'json-schema'\n[[schema]]\npath = 'v1.json'\nversion = 'v1'\n";
    let here = directory(&[("v1.json", schema), ("hubgen.toml", config)]);
    let path = text(&here.path().join("hubgen.toml"));
    let refused = hubgen(&["generate", &path]).unwrap_err();
    assert!(refused.to_string().contains("its type would be `ValueType`"), "{refused}");
    let name = "[[name]]\ntype = 'Value'\nname = 'Amount'\nbecause = 'of a test'\n";
    std::fs::write(&path, format!("{config}{name}")).unwrap();
    hubgen(&["generate", &path]).unwrap();
}

#[test]
fn markers_of_different_properties_have_different_names() {
    let schema = |kind: &str| {
        format!(
            r##"{{"title": "Root", "properties": {{
                "a": {{"$ref": "#/definitions/Ab"}}, "b": {{"$ref": "#/definitions/AbC"}}}},
                "definitions": {{
                    "Ab": {{"type": "object", "properties": {{"cD": {{"type": "{kind}"}}}}}},
                    "AbC": {{"type": "object", "properties": {{"d": {{"type": "{kind}"}}}}}}}}}}"##
        )
    };
    let config = "group = 'g'\nformat = 'json-schema'\n\
                  [[schema]]\npath = 'v1.json'\nversion = 'v1'\n\
                  [[schema]]\npath = 'v2.json'\nversion = 'v2'\n";
    let (v1, v2) = (schema("string"), schema("integer"));
    let here = directory(&[("v1.json", &v1), ("v2.json", &v2), ("hubgen.toml", config)]);
    hubgen(&["generate", &text(&here.path().join("hubgen.toml"))]).unwrap();
    let made = std::fs::read_to_string(here.path().join("generated/g/v1.rs")).unwrap();
    for marker in ["AbCD", "AbCD2"] {
        assert_eq!(made.matches(&format!("pub struct {marker};")).count(), 1, "{made}");
    }
}
