//! Refuses names that are none: of the group, of its module, of types and fields.
//!
//! These become paths of files and words of the language, so nothing else may be in them.

use super::Config;
use crate::error::Error;
use crate::naming::reserved;
use crate::naming::{pascal, snake};

/// Refuses the first name that cannot be one.
pub(super) fn names(config: &Config) -> Result<(), Error> {
    group(config)?;
    module(config)?;
    config.said.name.iter().try_for_each(|entry| {
        let name = &entry.get_ref().name;
        let (is_name, what, form) = match &entry.get_ref().property {
            Some(property) => (reserved::is_field(name), "a field", snake(property)),
            None => (reserved::is_type(name), "a type", pascal(&entry.get_ref().ty)),
        };
        if is_name {
            return Ok(());
        }
        let why = if reserved::is_used_type(name) || reserved::is_used_field(name) {
            "generated code uses it itself"
        } else {
            "it is not written as one"
        };
        Err(config.error(
            entry,
            format!("[[name]] `{name}` cannot be the name of {what}: {why}"),
            format!("write it as Rust does, like `{form}2`"),
        ))
    })
}

fn group(config: &Config) -> Result<(), Error> {
    let is_inside = |letter: char| letter.is_ascii_alphanumeric() || "._-/".contains(letter);
    let name = config.group();
    if name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.chars().all(is_inside)
    {
        return Ok(());
    }
    Err(config.error(
        &config.said.group,
        format!("{name:?} cannot be the name of a group"),
        "use letters, digits, `.`, `_`, `-` and `/`, as in `library.example`".to_owned(),
    ))
}

fn module(config: &Config) -> Result<(), Error> {
    let name = config.module();
    if reserved::is_module(&name) {
        return Ok(());
    }
    let entry = config.said.module.as_ref().unwrap_or(&config.said.group);
    Err(config.error(
        entry,
        format!("`{name}` cannot be the name of a module"),
        "set `module` to a word in small letters that is no keyword, like `books`".to_owned(),
    ))
}
