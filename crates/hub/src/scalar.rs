//! How values that are no objects convert where their type is not the same on both sides.

use std::borrow::Cow;

use serde_json::Number;

use crate::error::{Error, Result};
use crate::open::Symbol;
use crate::spoke::Spoke;

macro_rules! same {
    ($($scalar:ty),*) => { $(
        impl Spoke<$scalar> for $scalar {
            fn up(self) -> Result<$scalar> {
                Ok(self)
            }

            fn down(hub: $scalar) -> Result<Self> {
                Ok(hub)
            }
        }
    )* };
}

same!(bool, i64, Number, String);

/// A string that the hub lists values of.
impl Spoke<Symbol> for String {
    fn up(self) -> Result<Symbol> {
        Ok(Cow::Owned(self))
    }

    fn down(hub: Symbol) -> Result<Self> {
        Ok(hub.into_owned())
    }
}

/// A whole number that the hub has as any number.
impl Spoke<Number> for i64 {
    fn up(self) -> Result<Number> {
        Ok(self.into())
    }

    fn down(hub: Number) -> Result<Self> {
        hub.as_i64().ok_or_else(|| Error::new("a whole number of 64 bits", hub.to_string()))
    }
}

/// Any number that the hub has as a whole number.
impl Spoke<i64> for Number {
    fn up(self) -> Result<i64> {
        self.as_i64().ok_or_else(|| Error::new("a whole number of 64 bits", self.to_string()))
    }

    fn down(hub: i64) -> Result<Self> {
        Ok(hub.into())
    }

    /// `3.0` does not fit, because it would come back as `3`.
    fn fits(&self) -> bool {
        self.is_i64()
    }
}
