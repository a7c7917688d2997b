//! A property that need not be there, with the three states JSON knows.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// A property of an object that need not be there.
///
/// JSON tells `{}`, `{"a": null}` and `{"a": []}` apart, and so does this. In an object it is
/// written `#[serde(default, skip_serializing_if = "Field::is_absent")]`; anywhere else an absent
/// field is written as `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field<T> {
    /// The object has no such property.
    #[default]
    Absent,
    /// The property is there and `null`.
    Null,
    /// The property has a value, which may well be empty.
    Value(T),
}

impl<T> Field<T> {
    /// Returns whether the object has no such property.
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Returns the value, if there is one.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }

    /// Returns the value, if there is one, to be changed in place.
    pub const fn value_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }

    /// Returns the value, or nothing if it is absent or `null`.
    pub fn into_value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }

    /// Returns the field and leaves it absent.
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Changes the value; absent stays absent, and `null` stays `null`.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Field<U> {
        match self {
            Self::Absent => Field::Absent,
            Self::Null => Field::Null,
            Self::Value(value) => Field::Value(change(value)),
        }
    }

    /// Changes the value as [`Field::map`] does, with a change that may fail.
    pub fn try_map<U>(self, change: impl FnOnce(T) -> Result<U>) -> Result<Field<U>> {
        Ok(match self {
            Self::Absent => Field::Absent,
            Self::Null => Field::Null,
            Self::Value(value) => Field::Value(change(value)?),
        })
    }

    /// Returns the value a version requires.
    ///
    /// # Errors
    /// Fails if there is none, for no value is made up on the way to a version.
    pub fn required(self) -> Result<T> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Absent => Err(Error::new("a value, which this version requires", "none")),
            Self::Null => Err(Error::new("a value, which this version requires", "null")),
        }
    }

    /// Returns the field of a version that requires it to be there, be it `null`.
    ///
    /// # Errors
    /// Fails if it is absent.
    pub fn present(self) -> Result<Self> {
        match self {
            Self::Absent => Err(Error::new("a value or null, which this version requires", "none")),
            Self::Null | Self::Value(_) => Ok(self),
        }
    }

    /// Returns the value a version requires, or the one configured for where there is none.
    pub fn required_or(self, default: impl FnOnce() -> T) -> T {
        self.into_value().unwrap_or_else(default)
    }
}

impl<T: DeserializeOwned> Field<T> {
    /// Returns the value a version requires, or the one configured, which is JSON.
    ///
    /// # Errors
    /// Fails if the configured value does not have the property's shape.
    pub fn required_or_json(self, default: &'static str) -> Result<T> {
        self.into_value().map_or_else(|| configured(default), Ok)
    }

    /// Returns the field of a version that requires it to be there, be it `null`, or the value
    /// configured, which is JSON.
    ///
    /// # Errors
    /// Fails if the configured value does not have the property's shape.
    pub fn present_or_json(self, default: &'static str) -> Result<Self> {
        if self.is_absent() { configured(default).map(Self::Value) } else { Ok(self) }
    }
}

fn configured<T: DeserializeOwned>(default: &'static str) -> Result<T> {
    serde_json::from_str(default)
        .map_err(|error| Error::new(format!("`{default}`, which is configured"), error.to_string()))
}

impl<T> From<T> for Field<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl<T: Serialize> Serialize for Field<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::deserialize(deserializer)?;
        Ok(value.map_or(Self::Null, Self::Value))
    }
}
