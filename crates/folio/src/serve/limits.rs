//! Limits as flags: any field of [`Limits`] by the name the API shows it under.

use std::str::FromStr;

use anyhow::{Context, Result};
use folio_core::Limits;
use serde_json::Value;

use crate::problem::Problem;

/// One limit to set.
#[derive(Debug, Clone)]
pub(super) struct LimitFlag {
    name: String,
    value: u64,
}

impl FromStr for LimitFlag {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> Result<Self> {
        let (name, value) = text.split_once('=').context("write NAME=VALUE")?;
        let value = value.parse().with_context(|| format!("`{value}` is not a whole number"))?;
        Ok(Self { name: name.to_owned(), value })
    }
}

/// The defaults with some of them replaced.
pub(super) fn apply(flags: &[LimitFlag]) -> Result<Limits> {
    let mut limits = serde_json::to_value(Limits::default())?;
    let fields = limits.as_object_mut().context("limits are fields by name")?;
    for LimitFlag { name, value } in flags {
        match fields.get_mut(name) {
            Some(field) => *field = Value::from(*value),
            None => {
                let names: Vec<_> = fields.keys().map(String::as_str).collect();
                let problem = Problem::usage(format!("there is no limit `{name}`"));
                return Err(problem.hint(format!("limits are {}", names.join(", "))).into());
            }
        }
    }
    Ok(serde_json::from_value(limits)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_can_be_set_by_its_name() {
        let names = serde_json::to_value(Limits::default()).unwrap();
        for name in names.as_object().unwrap().keys() {
            let limits = apply(&[format!("{name}=7").parse().unwrap()]).unwrap();
            assert_eq!(serde_json::to_value(limits).unwrap()[name], 7, "{name}");
        }
    }

    #[test]
    fn an_unknown_limit_is_refused_with_the_names_there_are() {
        let error = apply(&["x=1".parse().unwrap()]).unwrap_err();
        let hint = error.downcast::<Problem>().unwrap().hint.unwrap();
        assert!(hint.contains("contentFilesMax"), "{hint}");
    }
}
