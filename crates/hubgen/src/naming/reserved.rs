//! Names that are taken before a schema names anything: words of the language, and what generated
//! code uses itself.
//!
//! The emitter imports [`RUNTIME`] from here, so a name it comes to use is a name no type has.

/// What generated modules import of the crate `hub`, each where it is mentioned.
pub const RUNTIME: &[&str] = &[
    "AugmentHook",
    "Bag",
    "Change",
    "Field",
    "Number",
    "Object",
    "Probe",
    "Result",
    "Stored",
    "Symbol",
    "Value",
];

/// What generated modules use besides, of the language, of `serde` and of `hub::traits`.
const USED: &[&str] = &[
    "BTreeMap",
    "Box",
    "Default",
    "Deserialize",
    "None",
    "Ok",
    "Option",
    "Self",
    "Serialize",
    "Some",
    "Spoke",
    "String",
    "Vec",
];

/// Modules beside those of the versions, and crates that generated modules name.
const MODULES: &[&str] =
    &["alloc", "core", "hooks", "hub", "serde", "serde_json", "std", "storage", "tests"];

/// Words of the language that can be a name as `r#word`.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Words of the language that cannot be a name in any way.
const PATHS: &[&str] = &["crate", "self", "super"];

/// Fields that every generated object has.
const FIELDS: &[&str] = &["bag", "unknown"];

/// Whether generated code uses the name of a type itself.
pub fn is_used_type(name: &str) -> bool {
    RUNTIME.contains(&name) || USED.contains(&name)
}

/// Whether every generated object has a field of the name.
pub fn is_used_field(name: &str) -> bool {
    FIELDS.contains(&name)
}

/// Whether a module of a version cannot have the name, because another has it.
pub fn is_used_module(name: &str) -> bool {
    MODULES.contains(&name)
}

/// Whether the word can be a name only as `r#word`.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Whether the word can be no name at all.
pub fn is_path(word: &str) -> bool {
    PATHS.contains(&word)
}

/// The name of a type, as another where generated code uses it itself.
pub fn free_type(name: String) -> String {
    if is_used_type(&name) { name + "Type" } else { name }
}

/// Whether a text can be the name of a module: `service_fabric`.
pub fn is_module(text: &str) -> bool {
    is_small(text) && !is_keyword(text) && !is_path(text)
}

/// Whether a text can be the name of a field: `node_types`. A keyword can, as `r#type`.
pub fn is_field(text: &str) -> bool {
    is_small(text) && !text.ends_with('_') && !is_path(text) && !is_used_field(text)
}

/// Whether a text can be the name of a type: `NodeTypes`.
pub fn is_type(text: &str) -> bool {
    let is_inside = |letter: char| letter.is_ascii_alphanumeric();
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.chars().all(is_inside)
        && !is_used_type(text)
}

fn is_small(text: &str) -> bool {
    let is_inside =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    text.starts_with(|first: char| first.is_ascii_lowercase()) && text.chars().all(is_inside)
}

#[cfg(test)]
mod tests {
    use super::{free_type, is_field, is_module, is_type};

    #[test]
    fn names_are_what_the_language_takes() {
        for (text, module, field, ty) in [
            ("books", true, true, false),
            ("v1_2", true, true, false),
            ("type", false, true, false),
            ("self", false, false, false),
            ("bag", true, false, false),
            ("name_", true, false, false),
            ("Books", false, false, true),
            ("Books_", false, false, false),
            ("Value", false, false, false),
            ("Hook", false, false, true),
            ("../../q", false, false, false),
            ("", false, false, false),
            ("2a", false, false, false),
        ] {
            assert_eq!(
                (is_module(text), is_field(text), is_type(text)),
                (module, field, ty),
                "{text}"
            );
        }
    }

    #[test]
    fn a_type_makes_way_for_what_generated_code_uses() {
        assert_eq!(free_type("Value".to_owned()), "ValueType");
        assert_eq!(free_type("Hook".to_owned()), "Hook");
    }
}
