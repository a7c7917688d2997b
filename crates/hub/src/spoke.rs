//! Conversions between a version and the hub, and what it takes for a version not to lose what
//! it cannot express. Lists, maps, boxes and fields of spokes are spokes themselves.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, Result, Segment};
use crate::field::Field;
use crate::hook::AugmentHook;

/// A type of one API version, which is stored as `Hub`.
///
/// Generated code implements it for every object, enum and union of every version; types that are
/// the same in several versions are one type. Values are moved.
pub trait Spoke<Hub>: Sized {
    /// The hand-written part of the conversion, if there is one: what [`Probe`] finds.
    ///
    /// [`Probe`]: crate::Probe
    const AUGMENT: Option<AugmentHook<Self, Hub>> = None;

    /// Converts to the hub, without the hand-written part.
    ///
    /// # Errors
    /// Fails if the hook of a property, or of an object in this one, does.
    fn up(self) -> Result<Hub>;

    /// Converts from the hub, without the hand-written part.
    ///
    /// # Errors
    /// Fails if a value that this version requires is missing or not of its type, or if the hook
    /// of a property, or of an object in this one, does.
    fn down(hub: Hub) -> Result<Self>;

    /// Converts to the hub.
    ///
    /// # Errors
    /// Fails if a hook does; no other conversion to the hub can.
    fn into_hub(self) -> Result<Hub> {
        match Self::AUGMENT {
            Some(hook) => (hook.into_stored)(self),
            None => self.up(),
        }
    }

    /// Converts from the hub.
    ///
    /// # Errors
    /// Fails if a value that this version requires is missing or not of its type, or a hook does.
    fn from_hub(hub: Hub) -> Result<Self> {
        match Self::AUGMENT {
            Some(hook) => (hook.from_stored)(hub),
            None => Self::down(hub),
        }
    }

    /// Completes a new value of the hub, which comes from this version, with what this version
    /// cannot express and the stored value has. What it can express is left as it is.
    fn overlay(_stored: Hub, _new: &mut Hub) {}

    /// Returns whether an item of a stored list and one of a new list are the same thing.
    ///
    /// Types with a key compare it. All others are the same, so that items match in order.
    fn is_same(_stored: &Hub, _new: &Hub) -> bool {
        true
    }

    /// Returns whether the hub can hold the value; what it cannot hold is kept in the bag.
    fn fits(&self) -> bool {
        true
    }

    /// Converts to the hub, to be written in place of what is stored.
    ///
    /// # Errors
    /// Fails as [`Spoke::into_hub`] does.
    fn into_hub_over(self, stored: Hub) -> Result<Hub> {
        let mut new = self.into_hub()?;
        Self::overlay(stored, &mut new);
        Ok(new)
    }
}

/// An object as it is stored. Generated code implements it for every object of the hub.
pub trait Stored {
    /// The first API version in which the object has exactly the shape it is stored in.
    const VERSION: &'static str;
}

impl<T: Spoke<H>, H> Spoke<Field<H>> for Field<T> {
    fn up(self) -> Result<Field<H>> {
        self.try_map(T::into_hub)
    }

    fn down(hub: Field<H>) -> Result<Self> {
        hub.try_map(T::from_hub)
    }

    fn overlay(stored: Field<H>, new: &mut Field<H>) {
        if let (Field::Value(stored), Field::Value(new)) = (stored, new) {
            T::overlay(stored, new);
        }
    }

    fn fits(&self) -> bool {
        self.value().is_none_or(T::fits)
    }
}

impl<T: Spoke<H>, H> Spoke<Box<H>> for Box<T> {
    fn up(self) -> Result<Box<H>> {
        (*self).into_hub().map(Box::new)
    }

    fn down(hub: Box<H>) -> Result<Self> {
        T::from_hub(*hub).map(Self::new)
    }

    fn overlay(stored: Box<H>, new: &mut Box<H>) {
        T::overlay(*stored, new);
    }

    fn is_same(stored: &Box<H>, new: &Box<H>) -> bool {
        T::is_same(stored, new)
    }

    fn fits(&self) -> bool {
        T::fits(self)
    }
}

impl<T: Spoke<H>, H> Spoke<Vec<H>> for Vec<T> {
    fn up(self) -> Result<Vec<H>> {
        each(self, T::into_hub)
    }

    fn down(hub: Vec<H>) -> Result<Self> {
        each(hub, T::from_hub)
    }

    /// Completes every new item with the first stored one that is the same and not used yet.
    fn overlay(stored: Vec<H>, new: &mut Vec<H>) {
        let mut stored: Vec<_> = stored.into_iter().map(Some).collect();
        let mut first_left = 0;
        for new in new {
            while stored.get(first_left).is_some_and(Option::is_none) {
                first_left += 1;
            }
            let is_same =
                |old: &&mut Option<H>| old.as_ref().is_some_and(|old| T::is_same(old, new));
            if let Some(same) = stored[first_left..].iter_mut().find(is_same).and_then(Option::take)
            {
                T::overlay(same, new);
            }
        }
    }

    fn fits(&self) -> bool {
        self.iter().all(T::fits)
    }
}

impl<T: Spoke<H>, H> Spoke<BTreeMap<String, H>> for BTreeMap<String, T> {
    fn up(self) -> Result<BTreeMap<String, H>> {
        let converted = self.into_iter().map(|(key, value)| match value.into_hub() {
            Ok(value) => Ok((key, value)),
            Err(error) => Err(error.within(Segment::Key(key))),
        });
        converted.collect()
    }

    fn down(hub: BTreeMap<String, H>) -> Result<Self> {
        let converted = hub.into_iter().map(|(key, value)| match T::from_hub(value) {
            Ok(value) => Ok((key, value)),
            Err(error) => Err(error.within(Segment::Key(key))),
        });
        converted.collect()
    }

    fn overlay(mut stored: BTreeMap<String, H>, new: &mut BTreeMap<String, H>) {
        for (key, new) in new {
            if let Some(stored) = stored.remove(key) {
                T::overlay(stored, new);
            }
        }
    }

    fn fits(&self) -> bool {
        self.values().all(T::fits)
    }
}

/// Converts every item; an error names the item. Collecting results would not know how many there
/// are and ask for memory again and again.
fn each<T, U>(items: Vec<T>, convert: impl Fn(T) -> Result<U>) -> Result<Vec<U>> {
    let mut converted = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let item = convert(item).map_err(|error| error.within(Segment::Item(index)))?;
        converted.push(item);
    }
    Ok(converted)
}

/// Keeps what is stored of a property that the writing version cannot express.
///
/// A value that is there already comes from a hook, which knows better.
pub fn keep<T>(stored: Field<T>, new: &mut Field<T>) {
    if new.is_absent() {
        *new = stored;
    }
}

/// Leaves out again what a version was given as configured default, where nothing is stored.
///
/// Without this, reading through a version and writing back would store the default.
pub fn forget_default<T: Serialize>(stored: &Field<T>, new: &mut Field<T>, default: &str) {
    let (None, Some(value)) = (stored.value(), new.value()) else { return };
    let is_default = serde_json::to_value(value).is_ok_and(|value| {
        serde_json::from_str(default).is_ok_and(|default: Value| value == default)
    });
    if is_default {
        *new = match stored {
            Field::Null => Field::Null,
            Field::Absent | Field::Value(_) => Field::Absent,
        };
    }
}

/// Converts between a property and one that is free JSON on the other side, whole or in parts.
///
/// # Errors
/// Fails if the JSON does not have the shape the other side asks for.
pub fn recode<T: Serialize, U: DeserializeOwned>(field: Field<T>) -> Result<Field<U>> {
    field.try_map(|value| {
        let through = serde_json::to_value(value).and_then(serde_json::from_value);
        through.map_err(|error| Error::new("a value of this version's shape", error.to_string()))
    })
}
