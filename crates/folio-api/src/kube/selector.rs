//! Selectors: by labels, and by the few fields that can be selected by.

use serde_json::Value;

use super::status::Status;

/// A selector by labels; empty selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Labels(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    /// Also where there is no such label.
    NotIn(Vec<String>),
}

/// A selector by fields; empty selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, String, bool)>);

/// What can be selected by.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "involvedObject.uid",
    "reason",
    "status.phase",
    "type",
];

impl Labels {
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // A part that says nothing is a mistake: taken for no requirement, it would select everything.
        let parsed = split(text).into_iter().map(str::trim).map(|part| {
            requirement(part).ok_or_else(|| {
                let what =
                    format!("unable to parse requirement: `{part}` of labelSelector `{text}`");
                Status::bad_request(what)
            })
        });
        parsed.collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object is selected.
    pub(crate) fn select(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.0.iter().all(|Requirement { key, test }| {
            let value = labels.get(key).and_then(Value::as_str);
            match test {
                Test::Exists => value.is_some(),
                Test::Absent => value.is_none(),
                Test::In(values) => {
                    value.is_some_and(|value| values.iter().any(|own| own == value))
                }
                Test::NotIn(values) => {
                    !value.is_some_and(|value| values.iter().any(|own| own == value))
                }
            }
        })
    }
}

/// The parts between commas that are in no parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

fn requirement(part: &str) -> Option<Requirement> {
    let made = |key: &str, test| {
        let key = key.trim().to_owned();
        is_key(&key).then_some(Requirement { key, test })
    };
    let one = |value: &str| {
        let value = value.trim().to_owned();
        is_value(&value).then(|| vec![value])
    };
    if let Some((key, value)) = part.split_once("!=") {
        return made(key, Test::NotIn(one(value)?));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return made(key, Test::In(one(value)?));
    }
    if let Some(rest) = part.strip_suffix(')') {
        let (head, values) =
            rest.split_once('(').filter(|(_, values)| !values.trim().is_empty())?;
        let values: Vec<_> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if !values.iter().all(|value| is_value(value)) {
            return None;
        }
        let mut words = head.split_whitespace();
        let (key, word) = (words.next()?, words.next()?);
        return match (word, words.next()) {
            ("in", None) => made(key, Test::In(values)),
            ("notin", None) => made(key, Test::NotIn(values)),
            _ => None,
        };
    }
    match part.strip_prefix('!') {
        Some(key) => made(key, Test::Absent),
        None => made(part, Test::Exists),
    }
}

/// Whether a text can be the key of a label: a name, perhaps below a domain.
pub(crate) fn is_key(text: &str) -> bool {
    let (domain, name) = text.rsplit_once('/').map_or((None, text), |(a, b)| (Some(a), b));
    let is_part = |part: &str| {
        let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let ends = part.starts_with('-') || part.ends_with('-');
        !part.is_empty() && part.chars().all(known) && !ends
    };
    let is_domain = |domain: &str| domain.len() <= 253 && domain.split('.').all(is_part);
    !name.is_empty() && is_value(name) && domain.is_none_or(is_domain)
}

/// Whether a text can be the value of a label.
pub(crate) fn is_value(text: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let ends = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && text.chars().all(known)
        && ends(text.chars().next())
        && ends(text.chars().next_back())
}

impl Fields {
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        let mut tests = Vec::new();
        if text.is_empty() {
            return Ok(Self(tests));
        }
        for part in text.split(',') {
            let (key, value, is) = if let Some((key, value)) = part.split_once("!=") {
                (key, value, false)
            } else if let Some((key, value)) =
                part.split_once("==").or_else(|| part.split_once('='))
            {
                (key, value, true)
            } else {
                let what = format!("invalid field selector: `{part}` is no comparison");
                return Err(Status::bad_request(what));
            };
            // An object is the same in all its versions.
            if key == "involvedObject.apiVersion" {
                continue;
            }
            if !FIELDS.contains(&key) {
                let what = format!("field label not supported: {key}");
                return Err(Status::bad_request(what));
            }
            tests.push((key.to_owned(), value.to_owned(), is));
        }
        Ok(Self(tests))
    }

    /// Whether an object is selected.
    pub(crate) fn select(&self, object: &Value) -> bool {
        self.0.iter().all(|(path, value, is)| {
            let found = path.split('.').fold(object, |value, step| &value[step]);
            (found.as_str().unwrap_or_default() == value) == *is
        })
    }

    /// The name that is asked for, if one is.
    pub(crate) fn name(&self) -> Option<&str> {
        let named = |(path, _, is): &&(String, String, bool)| *is && path == "metadata.name";
        self.0.iter().find(named).map(|(_, value, _)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(selector: &str, expected: bool) {
        let object =
            json!({"metadata": {"name": "hello", "labels": {"app": "shop", "tier": "web"}}});
        let labels = Labels::parse(selector).unwrap();
        assert_eq!(labels.select(&object), expected, "{selector}");
    }

    #[test]
    fn labels_are_compared() {
        for selector in [
            "",
            " ",
            "app=shop",
            "app in (,shop)",
            "none!=",
            "app==shop,tier",
            "app in (a, shop)",
            "!none",
            "none!=x",
            "tier notin (db)",
        ] {
            check(selector, true);
        }
        for selector in
            ["app=x", "none", "!app", "app notin (shop,x)", "app!=shop", "app=shop,tier=db"]
        {
            check(selector, false);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for selector in [
            "a=b=c d",
            "(",
            "a in b",
            "a in (b",
            "=x",
            "a of (b)",
            "a=ü",
            "-a",
            "a/b/c",
            "/a",
            "a/",
            "a b",
            ",",
            ",,",
            " , ",
            "a,",
            ",a",
            "a,,b",
            "a,b,",
            "a in ()",
            "a notin ( )",
            "!",
            "A.b/c",
            "-a.b/c",
        ] {
            assert!(Labels::parse(selector).is_err(), "{selector}");
        }
        for selector in
            ["metadata.name", "spec.environment=x", ",", "metadata.name=a,", ",metadata.name=a"]
        {
            assert!(Fields::parse(selector).is_err(), "{selector}");
        }
    }

    #[test]
    fn fields_are_compared() {
        let object = json!({"metadata": {"name": "hello", "namespace": "default"}});
        let select = |text: &str| Fields::parse(text).unwrap().select(&object);
        assert!(select("metadata.name=hello,metadata.namespace!=other"));
        assert!(!select("metadata.name!=hello"));
        assert_eq!(Fields::parse("metadata.name=hello").unwrap().name(), Some("hello"));
    }
}
