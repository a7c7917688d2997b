//! One value in a bag: JSON as it was read, or a version's own value as it was moved in. Which of
//! the two it is cannot be seen from outside, other than by how long a conversion takes.

use std::any::Any;
use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A value that a bag can keep as it is. Every type with the traits that generated types have is
/// one.
pub trait Keep: Any + Debug + Send + Sync {
    /// Copies the value.
    fn copied(&self) -> Box<dyn Keep>;

    /// Returns whether the other is a value of the same type and equal, if it is of that type.
    fn is_equal(&self, other: &dyn Keep) -> Option<bool>;

    /// Writes the value as JSON.
    ///
    /// # Errors
    /// Fails if the value has no form in JSON.
    fn to_json(&self) -> serde_json::Result<Value>;
}

impl<T: Clone + Debug + PartialEq + Serialize + Send + Sync + 'static> Keep for T {
    fn copied(&self) -> Box<dyn Keep> {
        Box::new(self.clone())
    }

    fn is_equal(&self, other: &dyn Keep) -> Option<bool> {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>().map(|other| self == other)
    }

    fn to_json(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }
}

#[derive(Debug)]
pub(super) enum Entry {
    /// What was read, and what is JSON of its own.
    Json(Value),
    /// What was moved in by a version.
    Moved(Box<dyn Keep>),
}

impl Entry {
    /// Keeps a value. Texts, numbers and the like are JSON without asking for memory.
    pub(super) fn of<T: Keep>(value: T) -> Self {
        let mut slot = Some(value);
        let json = taken(&mut slot)
            .or_else(|| taken(&mut slot).map(Value::String))
            .or_else(|| taken(&mut slot).map(Value::Bool))
            .or_else(|| taken(&mut slot).map(Value::Number))
            .or_else(|| taken::<i64>(&mut slot).map(Value::from));
        match (json, slot) {
            (_, Some(value)) => Self::Moved(Box::new(value)),
            (json, None) => Self::Json(json.unwrap_or_default()),
        }
    }

    /// Returns the value a version asks for.
    pub(super) fn into_value<T: DeserializeOwned + Any>(self) -> serde_json::Result<T> {
        let json = match self {
            Self::Json(value) => value,
            Self::Moved(value) if (&*value as &dyn Any).is::<T>() => {
                let value: Box<dyn Any> = value;
                let value = value.downcast().expect("a value of the type just asked for");
                return Ok(*value);
            }
            Self::Moved(value) => (*value).to_json()?,
        };
        let mut slot = Some(json);
        // Where any JSON is asked for, reading it would copy it.
        match taken(&mut slot) {
            Some(value) => Ok(value),
            None => serde_json::from_value(slot.unwrap_or_default()),
        }
    }
}

/// Takes the value out of the slot if it is of the type asked for.
fn taken<T: 'static>(slot: &mut dyn Any) -> Option<T> {
    slot.downcast_mut::<Option<T>>().and_then(Option::take)
}

impl Clone for Entry {
    fn clone(&self) -> Self {
        match self {
            Self::Json(value) => Self::Json(value.clone()),
            Self::Moved(value) => Self::Moved((**value).copied()),
        }
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        let is_json = |json: &Value, moved: &dyn Keep| moved.to_json().is_ok_and(|it| it == *json);
        match (self, other) {
            (Self::Json(one), Self::Json(other)) => one == other,
            (Self::Json(json), Self::Moved(moved)) | (Self::Moved(moved), Self::Json(json)) => {
                is_json(json, &**moved)
            }
            (Self::Moved(one), Self::Moved(other)) => (**one)
                .is_equal(&**other)
                .unwrap_or_else(|| one.to_json().is_ok_and(|json| is_json(&json, &**other))),
        }
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(value) => value.serialize(serializer),
            Self::Moved(value) => {
                let json = (**value).to_json().map_err(serde::ser::Error::custom)?;
                json.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::Json)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Shelf {
        name: String,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Rack {
        name: String,
    }

    fn shelf() -> Shelf {
        Shelf { name: "A".to_owned() }
    }

    #[test]
    fn an_entry_is_what_it_is_as_json() {
        let check = |entry: Entry, json: Value| {
            assert_eq!(serde_json::to_value(&entry).unwrap(), json);
            let read: Entry = serde_json::from_value(json).unwrap();
            assert_eq!(entry, read);
            assert_eq!(read, entry);
            assert_eq!(entry, entry.clone());
        };
        check(Entry::of(shelf()), json!({"name": "A"}));
        check(Entry::of(vec![1_i64, 2]), json!([1, 2]));
        check(Entry::of("A".to_owned()), json!("A"));
        check(Entry::of(7_i64), json!(7));
        check(Entry::of(false), json!(false));
        check(Entry::of(json!([null])), json!([null]));
        let other = Shelf { name: "B".to_owned() };
        assert_ne!(Entry::of(shelf()), Entry::of(other.clone()));
        assert_ne!(Entry::of(shelf()), Entry::Json(json!({"name": "B"})));
        assert_ne!(Entry::of(Rack { name: "A".to_owned() }), Entry::of(other));
        assert_eq!(Entry::of(Rack { name: "A".to_owned() }), Entry::of(shelf()));
    }

    #[test]
    fn a_value_moved_in_is_the_one_moved_out() {
        let name = shelf().name;
        let address = name.as_ptr();
        let shelf: Shelf = Entry::of(Shelf { name }).into_value().unwrap();
        assert_eq!(shelf.name.as_ptr(), address);
        let name: String = Entry::of(shelf.name).into_value().unwrap();
        assert_eq!(name.as_ptr(), address);
        let list: Value = Entry::of(Value::Array(vec![name.into()])).into_value().unwrap();
        assert_eq!(list[0].as_str().unwrap().as_ptr(), address);
    }

    #[test]
    fn another_type_of_the_same_shape_is_read_from_json() {
        let rack: Rack = Entry::of(shelf()).into_value().unwrap();
        assert_eq!(rack.name, "A");
        assert!(Entry::of(shelf()).into_value::<i64>().is_err());
    }
}
