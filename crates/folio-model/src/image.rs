//! Fission's images, by which manifests say what they mean. folio pulls none of them: a name it knows stands for
//! the runtime that does the same.

use crate::RuntimeKind;

/// What a well-known image runs.
pub fn runtime(image: &str) -> Option<RuntimeKind> {
    let language = language(image, "-env")?;
    Some(match language {
        "binary" => RuntimeKind::Binary,
        "wasm" => RuntimeKind::Wasm,
        _ if is(language, "node") => RuntimeKind::Nodejs,
        _ if is(language, "python") => RuntimeKind::Python,
        _ => return None,
    })
}

/// Whether a well-known image builds what one of folio's runtimes runs.
pub fn is_builder(image: &str) -> bool {
    let language = language(image, "-builder");
    language.is_some_and(|name| name == "binary" || is(name, "node") || is(name, "python"))
}

/// The language of an image that ends in a word, perhaps with a variant after it: `node-env`, `node-env-22`.
fn language<'a>(image: &'a str, word: &str) -> Option<&'a str> {
    let (language, variant) = plain(image)?.split_once(word)?;
    (variant.is_empty() || variant.starts_with('-')).then_some(language)
}

/// The name of one of Fission's images, without registry and tag: `node-env` of `ghcr.io/fission/node-env:1.32`.
fn plain(image: &str) -> Option<&str> {
    let (owner, name) = image.rsplit_once('/')?;
    let owner = owner.rsplit('/').next()?;
    let name = name.split(['@', ':']).next()?;
    (owner == "fission").then_some(name)
}

/// Whether a name is a language, perhaps with a variant: `python`, `python3`, `python-fastapi`, `nodejs`.
fn is(name: &str, language: &str) -> bool {
    let rest = name.strip_prefix(language);
    rest.is_some_and(|rest| {
        rest.is_empty()
            || rest == "js"
            || rest.starts_with(|first: char| first == '-' || first.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fissions_images_stand_for_runtimes() {
        let check = |image: &str, expected: Option<RuntimeKind>| {
            assert_eq!(runtime(image), expected, "{image}");
        };
        check("fission/node-env", Some(RuntimeKind::Nodejs));
        check("fission/node-env-22", Some(RuntimeKind::Nodejs));
        check("ghcr.io/fission/node-env:1.32.3", Some(RuntimeKind::Nodejs));
        check("fission/python-environment", None);
        check("fission/python-env", Some(RuntimeKind::Python));
        check("fission/python-fastapi-env", Some(RuntimeKind::Python));
        check("fission/binary-env@sha256:00", Some(RuntimeKind::Binary));
        check("fission/go-env", None);
        check("node-env", None);
        check("somebody/node-env", None);
    }

    #[test]
    fn builder_images_stand_for_the_runtimes_own_way() {
        assert!(is_builder("fission/python-builder:latest"));
        assert!(is_builder("fission/node-builder"));
        assert!(!is_builder("./build.sh"));
        assert!(!is_builder("fission/go-builder"));
    }
}
