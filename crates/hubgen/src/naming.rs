//! Rust names for what schemas call by any text at all.
//!
//! Names come out the same whatever else a schema holds, so a type keeps its name from version to
//! version. Keywords that `r#` can escape are left for the emitter to escape.

pub mod reserved;

use std::collections::BTreeSet;

/// The name of a type, a variant or a marker, or a part of one: `nodeTypes` becomes `NodeTypes`.
/// It may be `Self`, which as a whole is none of these.
pub fn pascal(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for word in words(text) {
        let mut letters = word.chars();
        name.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        name.push_str(letters.as_str());
    }
    match name.chars().next() {
        None => "Empty".to_owned(),
        Some(first) if first.is_numeric() => format!("V{name}"),
        Some(_) => name,
    }
}

/// The name of a field or a module: `nodeTypes` becomes `node_types`.
pub fn snake(text: &str) -> String {
    let words: Vec<_> = words(text).map(|word| humps(&word)).collect();
    let name = words.join("_");
    match name.chars().next() {
        None => "empty".to_owned(),
        Some(first) if first.is_numeric() => format!("n{name}"),
        // These four are the keywords that no `r#` makes a name.
        Some(_) if ["self", "super", "crate", "_"].contains(&name.as_str()) => format!("{name}_"),
        Some(_) => name,
    }
}

/// `name`, or `name` with the first number from two on that makes it new to `taken`.
pub fn distinct(name: String, taken: &mut BTreeSet<String>) -> String {
    if taken.insert(name.clone()) {
        return name;
    }
    let numbered = (2_usize..).map(|number| format!("{name}{number}"));
    let free = numbered.into_iter().find(|candidate| !taken.contains(candidate));
    let free = free.expect("there are more numbers than names");
    taken.insert(free.clone());
    free
}

/// The runs of letters and digits in a text.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
}

/// Lowercase with an underscore before every hump: `IPAddress` becomes `ip_address`.
fn humps(word: &str) -> String {
    let letters: Vec<char> = word.chars().collect();
    let mut name = String::with_capacity(word.len() + 4);
    for (index, letter) in letters.iter().enumerate() {
        let after_small = index > 0 && !letters[index - 1].is_uppercase();
        let before_small = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && index > 0 && (after_small || before_small) {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::{distinct, pascal, snake};

    #[test]
    fn types_are_written_in_humps() {
        for (text, expected) in [
            ("nodeTypes", "NodeTypes"),
            ("managedClusters_applications", "ManagedClustersApplications"),
            ("2.8", "V28"),
            ("", "Empty"),
            ("self", "Self"),
            ("$expand", "Expand"),
        ] {
            assert_eq!(pascal(text), expected);
        }
    }

    #[test]
    fn fields_are_written_in_small_letters() {
        for (text, expected) in [
            ("nodeTypes", "node_types"),
            ("x509StoreName", "x509_store_name"),
            ("IPAddress", "ip_address"),
            ("maxmemory-policy", "maxmemory_policy"),
            ("type", "type"),
            ("self", "self_"),
            ("2fa", "n2fa"),
            ("$", "empty"),
        ] {
            assert_eq!(snake(text), expected);
        }
    }

    #[test]
    fn a_taken_name_gets_the_first_free_number() {
        let mut taken = ["A", "A2"].map(str::to_owned).into();
        assert_eq!(distinct("A".to_owned(), &mut taken), "A3");
        assert_eq!(distinct("B".to_owned(), &mut taken), "B");
    }
}
