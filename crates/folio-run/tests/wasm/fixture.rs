//! Components from text: no wasm toolchain is needed. What is made from the same text has the same bytes.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// A component from the text of a core module and the interfaces in `wasi.wit`.
pub(super) fn component(wat: &str) -> Vec<u8> {
    let mut module = wat::parse_str(wat).unwrap();
    let mut wit = Resolve::default();
    let package = wit.push_str("wasi.wit", include_str!("wasi.wit")).unwrap();
    let world = wit.select_world(&[package], Some("fixture")).unwrap();
    embed_component_metadata(&mut module, &wit, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

pub(super) fn hello() -> Vec<u8> {
    component(include_str!("hello.wat"))
}

pub(super) fn echo() -> Vec<u8> {
    component(include_str!("echo.wat"))
}

pub(super) fn behaviours() -> Vec<u8> {
    component(include_str!("behaviours.wat"))
}

/// A core module with WASI preview 1.
pub(super) fn command() -> Vec<u8> {
    wat::parse_str(include_str!("command.wat")).unwrap()
}

#[test]
fn the_example_is_what_its_text_makes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/wasm-hello/hello.wasm");
    let made = hello();
    let is = |name, wanted| std::env::var_os(name).is_some_and(|value| value == wanted);
    if is("FOLIO_BLESS", "1") && !is("CI", "true") {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read(&path).unwrap();
    assert!(kept == made, "run `cargo xtask bless`, then commit examples/wasm-hello/hello.wasm");
}
