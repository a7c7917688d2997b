//! The committed document is what the table says now.

use std::collections::BTreeSet;
use std::path::Path;

use crate::contract::{DOCUMENT, operations};

#[test]
fn the_committed_document_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi/folio-v1.openapi.json");
    let is = |name: &str, value: &str| std::env::var_os(name).is_some_and(|found| found == value);
    if is("FOLIO_BLESS", "1") && !is("CI", "true") {
        std::fs::write(&path, folio_api::document()).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == folio_api::document(),
        "{} is not what the table says; run `cargo xtask bless` and read the change",
        path.display()
    );
}

#[test]
fn every_reference_in_the_document_leads_somewhere() {
    let text = folio_api::document();
    let references =
        text.split("\"$ref\": \"#").skip(1).map(|rest| rest.split('"').next().unwrap());
    for pointer in references {
        assert!(DOCUMENT.pointer(pointer).is_some(), "{pointer}");
    }
}

#[test]
fn names_are_unique_and_say_something() {
    let id = |(method, path): &(String, String)| {
        DOCUMENT["paths"][path][method]["operationId"].as_str().unwrap().to_owned()
    };
    let ids: Vec<_> = operations().iter().map(id).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    let schemas = DOCUMENT["components"]["schemas"].as_object().unwrap();
    for name in schemas.keys() {
        assert!(!name.ends_with(char::is_numeric), "two types share the name of `{name}`");
    }
}

#[test]
fn every_name_in_a_path_is_described() {
    for (method, path) in operations() {
        let inside = |part: &str| Some(part.strip_prefix('{')?.strip_suffix('}')?.to_owned());
        let written: BTreeSet<_> = path.split('/').filter_map(inside).collect();
        let described = DOCUMENT["paths"][&path][&method]["parameters"].as_array();
        let described = described.into_iter().flatten().filter(|one| one["in"] == "path");
        let described = described.map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(written, described, "{method} {path}");
    }
}
