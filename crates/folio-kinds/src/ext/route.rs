//! A route of Fission's: the path is one of two properties, the methods another two, and browsers
//! remember for a duration with a unit.

use std::mem::replace;

use hub::{Augment, Bag, Field, Result, Spoke as _};

use super::lens::{self, Lens};
use super::targets::Routed;
use crate::generated::kinds::fission_io_v1::{
    HTTPTriggerSpec, HTTPTriggerSpecCorsConfig, HTTPTriggerSpecMethod, HTTPTriggerSpecMethods,
};
use crate::generated::kinds::storage;

const URL: &str = "relativeurl@fission.io/v1";
const PREFIX: &str = "prefix@fission.io/v1";
const KEEP: &str = "keepPrefix@fission.io/v1";
const METHOD: &str = "method@fission.io/v1";
const METHODS: &str = "methods@fission.io/v1";

impl Augment<storage::HTTPTriggerSpec> for HTTPTriggerSpec {
    const WRITTEN_FOR: &'static str = "folio.dev/v1";

    fn into_stored(mut self) -> Result<storage::HTTPTriggerSpec> {
        let nothing = Routed::nothing().expect("a reference that says nothing");
        let reference = Field::Value(replace(&mut self.functionref, nothing));
        let place = Place {
            url: self.relativeurl.take(),
            prefix: self.prefix.take(),
            keep: self.keep_prefix.take(),
        };
        let (method, methods) = (self.method.take(), self.methods.take());
        let mut hub: storage::HTTPTriggerSpec = self.up()?;
        hub.targets = lens::up::<Routed>(reference, &mut hub.bag);
        hub.path = place.up(&mut hub.bag);
        hub.methods = methods_up(method, methods, &mut hub.bag);
        Ok(hub)
    }

    fn from_stored(mut stored: storage::HTTPTriggerSpec) -> Result<Self> {
        let bag = &mut stored.bag;
        let functionref = lens::down_required::<Routed>(&stored.targets, bag)?;
        let Place { url, prefix, keep } = Place::down(stored.path.value(), bag)?;
        let (method, methods) = methods_down(stored.methods.take(), bag)?;
        Ok(Self {
            functionref,
            relativeurl: url,
            prefix,
            keep_prefix: keep,
            method,
            methods,
            ..Self::down(stored)?
        })
    }

    fn complete(stored: &mut storage::HTTPTriggerSpec, new: &mut storage::HTTPTriggerSpec) {
        lens::overlay::<Routed>(&mut stored.targets, &mut new.targets);
        if Place::said(stored.path.value()) == Place::said(new.path.value()) {
            new.path = stored.path.take();
        }
        if stored.methods.value() == new.methods.value() {
            new.methods = stored.methods.take();
        }
    }
}

/// The three properties that are one path.
#[derive(Clone, Debug, Default, PartialEq)]
struct Place {
    url: Field<String>,
    prefix: Field<String>,
    keep: Field<bool>,
}

impl Place {
    /// The path it means: a prefix goes before a whole path. What the path does not say is kept.
    fn up(self, bag: &mut Bag) -> Field<storage::HTTPTriggerSpecPath> {
        let full = |text: &Field<String>| text.value().filter(|text| !text.is_empty()).cloned();
        let path = match (full(&self.prefix), full(&self.url)) {
            (Some(path), _) => Field::Value(below(path, self.keep == Field::Value(true))),
            (None, Some(path)) => Field::Value(exactly(path)),
            (None, None) => Field::Absent,
        };
        let said = Self::said(path.value());
        if said.url != self.url {
            bag.put(URL, self.url);
        }
        if said.prefix != self.prefix {
            bag.put(PREFIX, self.prefix);
        }
        if said.keep != self.keep {
            bag.put(KEEP, self.keep);
        }
        path
    }

    fn down(path: Option<&storage::HTTPTriggerSpecPath>, bag: &mut Bag) -> Result<Self> {
        let Self { url, prefix, keep } = Self::said(path);
        let kept_url: Field<String> = bag.take(URL)?;
        let kept_prefix: Field<String> = bag.take(PREFIX)?;
        let kept_keep: Field<bool> = bag.take(KEEP)?;
        // A whole path that is kept means nothing beside a prefix, and no prefix is kept that would.
        let is_prefix = !prefix.is_absent();
        let is_idle = |kept: &Field<String>| kept.value().is_none_or(String::is_empty);
        let url = if is_prefix || is_idle(&kept_url) { or(url, kept_url) } else { url };
        let prefix = if is_idle(&kept_prefix) { or(prefix, kept_prefix) } else { prefix };
        let may_keep = !is_prefix || kept_keep != Field::Value(true);
        let keep = if may_keep { or(keep, kept_keep) } else { keep };
        Ok(Self { url, prefix, keep })
    }

    /// What the hub says, as far as Fission has a word for it.
    fn said(path: Option<&storage::HTTPTriggerSpecPath>) -> Self {
        let Some(path) = path else { return Self::default() };
        if let Some(exact) = path.exact.value()
            && !exact.is_empty()
            && exactly(exact.clone()) == *path
        {
            return Self { url: Field::Value(exact.clone()), ..Self::default() };
        }
        let prefix = path.prefix.value();
        let Some(prefix_path) = prefix.and_then(|prefix| prefix.path.value()) else {
            return Self::default();
        };
        let keep = prefix.is_some_and(|prefix| prefix.keep == Field::Value(true));
        if prefix_path.is_empty() || below(prefix_path.clone(), keep) != *path {
            return Self::default();
        }
        let keep = if keep { Field::Value(true) } else { Field::Absent };
        Self { prefix: Field::Value(prefix_path.clone()), keep, url: Field::Absent }
    }
}

/// What is said, or else what is kept.
fn or<T>(said: Field<T>, kept: Field<T>) -> Field<T> {
    if said.is_absent() { kept } else { said }
}

fn exactly(path: String) -> storage::HTTPTriggerSpecPath {
    storage::HTTPTriggerSpecPath { exact: Field::Value(path), ..Default::default() }
}

fn below(path: String, keep: bool) -> storage::HTTPTriggerSpecPath {
    let prefix = storage::HTTPTriggerSpecPathPrefix {
        path: Field::Value(path),
        keep: if keep { Field::Value(true) } else { Field::Absent },
        ..Default::default()
    };
    storage::HTTPTriggerSpecPath { prefix: Field::Value(prefix), ..Default::default() }
}

/// The methods that count: those of the list, or else the single one. The single one is kept, and
/// the list beside it, so that both come back.
fn methods_up(
    method: Field<HTTPTriggerSpecMethod>,
    methods: Field<Vec<HTTPTriggerSpecMethods>>,
    bag: &mut Bag,
) -> Field<Vec<String>> {
    let hub = methods_that_count(&method, &methods);
    if !method.is_absent() {
        bag.put(METHOD, method);
        bag.put(METHODS, methods);
    } else if matches!(methods, Field::Null) {
        bag.put(METHODS, methods);
    }
    hub
}

fn methods_that_count(
    method: &Field<HTTPTriggerSpecMethod>,
    methods: &Field<Vec<HTTPTriggerSpecMethods>>,
) -> Field<Vec<String>> {
    let only = method.value().map(HTTPTriggerSpecMethod::as_str);
    let only = only.filter(|method| !method.is_empty());
    match (methods.value(), only) {
        (Some(methods), only) if only.is_none() || !methods.is_empty() => {
            Field::Value(methods.iter().map(|method| method.as_str().to_owned()).collect())
        }
        (_, Some(only)) => Field::Value(vec![only.to_owned()]),
        (_, None) => Field::Absent,
    }
}

fn methods_down(
    hub: Field<Vec<String>>,
    bag: &mut Bag,
) -> Result<(Field<HTTPTriggerSpecMethod>, Field<Vec<HTTPTriggerSpecMethods>>)> {
    let method = bag.take(METHOD)?;
    let methods = bag.take(METHODS)?;
    let is_kept = !(method.is_absent() && methods.is_absent());
    if is_kept && methods_that_count(&method, &methods).value() == hub.value() {
        return Ok((method, methods));
    }
    let said = hub.into_value().map(|methods| methods.into_iter().map(Into::into).collect());
    Ok((Field::Absent, said.map_or(Field::Absent, Field::Value)))
}

impl Augment<storage::HTTPTriggerSpecCors> for HTTPTriggerSpecCorsConfig {
    const WRITTEN_FOR: &'static str = "folio.dev/v1beta1";

    fn into_stored(mut self) -> Result<storage::HTTPTriggerSpecCors> {
        let max_age = self.max_age.take();
        let mut hub: storage::HTTPTriggerSpecCors = self.up()?;
        hub.max_age_seconds = lens::up::<MaxAge>(max_age, &mut hub.bag);
        Ok(hub)
    }

    fn from_stored(mut stored: storage::HTTPTriggerSpecCors) -> Result<Self> {
        let max_age = lens::down::<MaxAge>(&stored.max_age_seconds, &mut stored.bag)?;
        Ok(Self { max_age, ..Self::down(stored)? })
    }

    fn complete(stored: &mut storage::HTTPTriggerSpecCors, new: &mut storage::HTTPTriggerSpecCors) {
        lens::overlay::<MaxAge>(&mut stored.max_age_seconds, &mut new.max_age_seconds);
    }
}

/// A duration such as `1h30m` as seconds.
struct MaxAge;

impl Lens for MaxAge {
    type Spoke = String;
    type Hub = i64;
    const KEY: &'static str = "maxAge@fission.io/v1";

    fn up(text: &String) -> Option<i64> {
        let mut seconds: i64 = 0;
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
            let number: i64 = rest[..digits].parse().ok()?;
            let unit = match rest.as_bytes()[digits] {
                b'h' => 3600,
                b'm' => 60,
                b's' => 1,
                _ => return None,
            };
            seconds = seconds.checked_add(number.checked_mul(unit)?)?;
            rest = &rest[digits + 1..];
        }
        (seconds > 0).then_some(seconds)
    }

    fn down(seconds: &i64, kept: Option<String>) -> Option<String> {
        let kept = kept.filter(|kept| Self::up(kept).as_ref() == Some(seconds));
        (*seconds > 0).then(|| kept.unwrap_or_else(|| format!("{seconds}s")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_of_seconds() {
        let check = |text: &str, expected| assert_eq!(MaxAge::up(&text.to_owned()), expected);
        check("10m", Some(600));
        check("1h30m", Some(5400));
        check("5s", Some(5));
        check("1ms", None);
        check("", None);
        check("9999999999999999h", None);
        check("ä", None);
    }
}
