//! What an object in storage keeps for versions that have more to say than the hub.

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::entry::Entry;
pub use self::entry::Keep;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::open::Object;
use crate::spoke::Spoke;

mod entry;

/// Values the hub has no property for, by `property@version`.
///
/// The version is the first in which the property has exactly this shape: versions that agree
/// share an entry, and two shapes never meet under one key. What a spoke does not know itself is
/// kept under `*@version`. Values are moved in and out; they become JSON when the bag is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bag(BTreeMap<Cow<'static, str>, Entry>);

impl Bag {
    /// Returns whether nothing is in the bag. An empty bag is not written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts JSON into the bag, in place of what was there.
    pub fn insert(&mut self, key: impl Into<Cow<'static, str>>, value: Value) {
        self.0.insert(key.into(), Entry::Json(value));
    }

    /// Throws an entry away, if there is one.
    pub fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// Puts a property into the bag, by moving it; one that is absent leaves no entry.
    pub fn put<T: Keep>(&mut self, key: &'static str, field: Field<T>) {
        match field {
            Field::Absent => {}
            Field::Null => self.insert(key, Value::Null),
            Field::Value(value) => {
                self.0.insert(Cow::Borrowed(key), Entry::of(value));
            }
        }
    }

    /// Takes a property out of the bag, by moving it; it is absent if there is no entry.
    ///
    /// # Errors
    /// Fails if the entry does not have the shape the property has.
    pub fn take<T: DeserializeOwned + Any>(&mut self, key: &'static str) -> Result<Field<T>> {
        match self.0.remove(key) {
            None => Ok(Field::Absent),
            Some(Entry::Json(Value::Null)) => Ok(Field::Null),
            Some(entry) => entry.into_value().map(Field::Value).map_err(|error| {
                Error::new(format!("what the bag keeps as `{key}`"), error.to_string())
            }),
        }
    }

    /// Puts into the bag what a spoke does not know itself.
    pub fn put_unknown(&mut self, key: &'static str, unknown: Object) {
        if !unknown.is_empty() {
            self.insert(key, Value::Object(unknown));
        }
    }

    /// Takes out of the bag what a spoke does not know itself.
    ///
    /// # Errors
    /// Fails if the entry is no object.
    pub fn take_unknown(&mut self, key: &'static str) -> Result<Object> {
        match self.0.remove(key) {
            None => Ok(Object::new()),
            Some(Entry::Json(Value::Object(unknown))) => Ok(unknown),
            Some(other) => {
                let found = serde_json::to_string(&other).unwrap_or_else(|error| error.to_string());
                Err(Error::new(format!("an object in the bag as `{key}`"), found))
            }
        }
    }

    /// Converts a property to the hub, or keeps it in the bag if the hub cannot hold it.
    ///
    /// # Errors
    /// Fails if the conversion does.
    pub fn spill<S, H>(&mut self, key: &'static str, field: Field<S>) -> Result<Field<H>>
    where
        S: Spoke<H> + Keep,
    {
        if field.fits() {
            return field.into_hub();
        }
        self.put(key, field);
        Ok(Field::Absent)
    }

    /// Converts a property from the hub, or takes it out of the bag if the hub could not hold it.
    ///
    /// # Errors
    /// Fails if the conversion does, or the entry does not have the shape the property has.
    pub fn unspill<S, H>(&mut self, key: &'static str, field: Field<H>) -> Result<Field<S>>
    where
        S: Spoke<H> + DeserializeOwned + Any,
    {
        match self.take(key)? {
            Field::Absent => Field::from_hub(field),
            spilled => Ok(spilled),
        }
    }

    /// Returns a property as it is, or takes it out of the bag if it is absent.
    ///
    /// This is how a property whose converter was written later finds what was stored before.
    ///
    /// # Errors
    /// Fails if the entry does not have the shape the property has.
    pub fn or_take<T: DeserializeOwned + Any>(
        &mut self,
        key: &'static str,
        field: Field<T>,
    ) -> Result<Field<T>> {
        if field.is_absent() { self.take(key) } else { Ok(field) }
    }

    /// Takes over from the stored bag what the writing spoke cannot express: all but `owned`.
    pub fn overlay(&mut self, stored: Self, owned: &[&str]) {
        for (key, value) in stored.0 {
            if !owned.contains(&&*key) {
                self.0.entry(key).or_insert(value);
            }
        }
    }
}
