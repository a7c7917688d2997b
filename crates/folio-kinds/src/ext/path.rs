//! The path of a route in `folio.dev/v1beta1`, which was one text.

use hub::{Convert, Error, Field, Result};

use crate::generated::kinds::folio_dev_v1beta1::change::HTTPTriggerSpecPath;
use crate::generated::kinds::storage;

impl Convert for HTTPTriggerSpecPath {
    const WRITTEN_FOR: &'static str = "folio.dev/v1";

    fn up(text: String) -> Result<storage::HTTPTriggerSpecPath> {
        Ok(read(text))
    }

    fn down(path: storage::HTTPTriggerSpecPath) -> Result<String> {
        let text = written(&path);
        let text = text.filter(|text| read(text.clone()) == path);
        text.ok_or_else(|| {
            Error::new(
                "a path that `/a`, `/a/*` or `/a/**` can say",
                "one that needs a later version",
            )
        })
    }
}

fn read(text: String) -> storage::HTTPTriggerSpecPath {
    let kept = text.strip_suffix("/**").map(|path| (path, Field::Value(true)));
    let prefix = kept.or_else(|| text.strip_suffix("/*").map(|path| (path, Field::Absent)));
    let Some((path, keep)) = prefix else {
        return storage::HTTPTriggerSpecPath { exact: Field::Value(text), ..Default::default() };
    };
    let path = if path.is_empty() { "/" } else { path };
    let path = Field::Value(path.to_owned());
    let prefix = storage::HTTPTriggerSpecPathPrefix { path, keep, ..Default::default() };
    storage::HTTPTriggerSpecPath { prefix: Field::Value(prefix), ..Default::default() }
}

fn written(path: &storage::HTTPTriggerSpecPath) -> Option<String> {
    let Some(prefix) = path.prefix.value() else { return path.exact.value().cloned() };
    let end = if prefix.keep == Field::Value(true) { "/**" } else { "/*" };
    let path = prefix.path.value()?;
    Some(format!("{}{end}", if path == "/" { "" } else { path }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_comes_back_as_it_was_written() {
        for text in ["/a", "/a/*", "/a/**", "/*", "/**", "/a/{id}", "", "a"] {
            let up = HTTPTriggerSpecPath::up(text.to_owned()).unwrap();
            assert_eq!(HTTPTriggerSpecPath::down(up).unwrap(), text);
        }
    }

    #[test]
    fn a_path_that_was_not_possible_then_is_refused() {
        let exact = Field::Value("/a/*".to_owned());
        let path = storage::HTTPTriggerSpecPath { exact, ..Default::default() };
        let error = HTTPTriggerSpecPath::down(path).unwrap_err().to_string();
        assert!(error.contains("`/a/*`"), "{error}");
    }
}
