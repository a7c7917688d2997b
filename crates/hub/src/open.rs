//! Enums and unions that stay open: a value the schema does not list is kept, not refused.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// A JSON object that is kept as it is.
pub type Object = Map<String, Value>;

/// What an enum is in storage: its text, borrowed from the program where the value is listed.
pub type Symbol = Cow<'static, str>;

/// Declares an enum of strings that keeps values it does not list.
///
/// ```
/// hub::open_enum! {
///     /// How much is kept of a thing.
///     pub enum Level {
///         /// Little.
///         Bronze = "Bronze",
///         Gold = "Gold",
///     }
/// }
/// let level: Level = serde_json::from_str(r#""Tin""#).unwrap();
/// assert_eq!(level, Level::Unlisted("Tin".to_owned()));
/// assert_eq!(Level::from("Gold".to_owned()), Level::Gold);
/// ```
#[macro_export]
macro_rules! open_enum {
    ($(
        $(#[$attribute:meta])*
        pub enum $name:ident { $( $(#[$doc:meta])* $variant:ident = $text:literal ),* $(,)? }
    )*) => { $(
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $( $(#[$doc])* #[doc = concat!("\n\n`", $text, "`")] $variant, )*
            /// A value that the schema does not list.
            Unlisted(::std::string::String),
        }

        impl $name {
            /// The values that the schema lists.
            pub const LISTED: &'static [&'static str] = &[$($text),*];

            /// Returns the value's text.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $text, )*
                    Self::Unlisted(text) => text,
                }
            }
        }

        impl ::core::convert::From<::std::string::String> for $name {
            fn from(text: ::std::string::String) -> Self {
                match text.as_str() {
                    $( $text => Self::$variant, )*
                    _ => Self::Unlisted(text),
                }
            }
        }

        impl $crate::Spoke<$crate::Symbol> for $name {
            fn up(self) -> $crate::Result<$crate::Symbol> {
                ::core::result::Result::Ok(match self {
                    $( Self::$variant => $crate::Symbol::Borrowed($text), )*
                    Self::Unlisted(text) => $crate::Symbol::Owned(text),
                })
            }

            fn down(hub: $crate::Symbol) -> $crate::Result<Self> {
                ::core::result::Result::Ok(match hub.as_ref() {
                    $( $text => Self::$variant, )*
                    _ => Self::Unlisted(hub.into_owned()),
                })
            }
        }

        impl $crate::Spoke<::std::string::String> for $name {
            fn up(self) -> $crate::Result<::std::string::String> {
                <Self as $crate::Spoke<$crate::Symbol>>::up(self).map($crate::Symbol::into_owned)
            }

            fn down(hub: ::std::string::String) -> $crate::Result<Self> {
                ::core::result::Result::Ok(Self::from(hub))
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                <::std::string::String as $crate::serde::Deserialize>::deserialize(deserializer).map(Self::from)
            }
        }
    )* };
}

/// Declares a union of objects told apart by a property, which keeps arms it does not list.
///
/// The property that tells, the tag, is not part of the arms.
///
/// ```
/// # #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
/// # pub struct Circle { pub radius: i64 }
/// hub::open_union! {
///     /// A shape.
///     pub enum Shape by "kind" {
///         Circle(Circle) = "circle",
///     }
/// }
/// let shape: Shape = serde_json::from_str(r#"{"kind": "circle", "radius": 2}"#).unwrap();
/// assert_eq!(shape, Shape::Circle(Circle { radius: 2 }));
/// ```
#[macro_export]
macro_rules! open_union {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident by $tag:literal {
            $( $(#[$doc:meta])* $variant:ident($arm:ty) = $text:literal ),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, $crate::serde::Serialize)]
        #[serde(crate = "hub::serde", tag = $tag)]
        pub enum $name {
            $( $(#[$doc])* #[doc = concat!("\n\n`", $text, "`")] #[serde(rename = $text)] $variant($arm), )*
            /// An arm that the schema does not list, with its tag if it has one.
            #[serde(untagged)]
            Unlisted($crate::Object),
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                let object = <$crate::Object as $crate::serde::Deserialize>::deserialize(deserializer)?;
                match $crate::tag_of(&object, $tag) {
                    $( ::core::option::Option::Some($text) => $crate::read_arm(object, $tag).map(Self::$variant), )*
                    _ => ::core::result::Result::Ok(Self::Unlisted(object)),
                }
            }
        }
    };
}

/// Returns the tag of a union, if there is one.
#[doc(hidden)]
pub fn tag_of<'a>(object: &'a Object, tag: &str) -> Option<&'a str> {
    object.get(tag).and_then(Value::as_str)
}

/// Reads an arm of a union from its object without the tag.
///
/// # Errors
/// Fails if the object does not have the arm's shape.
#[doc(hidden)]
pub fn read_arm<T: DeserializeOwned, E: serde::de::Error>(
    mut object: Object,
    tag: &str,
) -> Result<T, E> {
    object.shift_remove(tag);
    serde_json::from_value(Value::Object(object)).map_err(E::custom)
}

/// Writes an arm that the other side of a conversion does not list as the JSON it keeps instead.
///
/// # Errors
/// Fails if the value has no form in JSON.
pub fn unlist(union: impl Serialize) -> Result<Object> {
    match serde_json::to_value(union) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(Error::new("an arm of a union, which is an object", other.to_string())),
        Err(error) => Err(Error::new("a value JSON can hold", error.to_string())),
    }
}

/// Reads what the other side of a conversion did not list as an arm of this side.
///
/// # Errors
/// Fails if it is an arm that this side lists, but not of its shape.
pub fn relist<T: DeserializeOwned>(object: Object) -> Result<T> {
    serde_json::from_value(Value::Object(object))
        .map_err(|error| Error::new("an arm of a union", error.to_string()))
}
