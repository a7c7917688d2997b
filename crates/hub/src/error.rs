//! Why a value could not be converted, and where in the object it stands.

use std::borrow::Cow;
use std::fmt;

/// What a conversion returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A value that could not be converted: where it stands, what was expected, what was found.
///
/// It is one pointer wide, because every step of a conversion returns it or nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot convert `{}`: expected {}, found {}", .0.path, .0.expected, .0.found)]
pub struct Error(Box<Mismatch>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mismatch {
    path: Path,
    expected: Cow<'static, str>,
    found: Cow<'static, str>,
}

impl Error {
    /// Says what was expected of a value and what it is; its place is added by the callers.
    pub fn new(
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (expected, found) = (expected.into(), found.into());
        Self(Box::new(Mismatch { path: Path::default(), expected, found }))
    }

    /// Returns where in the object the value stands.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns what the value should have been.
    pub fn expected(&self) -> &str {
        &self.0.expected
    }

    /// Returns what the value is.
    pub fn found(&self) -> &str {
        &self.0.found
    }

    /// Adds the part of the object the value was found in.
    #[must_use]
    pub fn within(mut self, segment: impl Into<Segment>) -> Self {
        self.0.path.inside_out.push(segment.into());
        self
    }
}

/// The way from an object to a value in it, such as `properties.nodeTypes[2].name`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    inside_out: Vec<Segment>,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.inside_out.is_empty() {
            return f.write_str("the object");
        }
        for (at, segment) in self.inside_out.iter().rev().enumerate() {
            match segment {
                Segment::Property(name) if at == 0 => f.write_str(name)?,
                Segment::Property(name) => write!(f, ".{name}")?,
                Segment::Key(key) => write!(f, "[{key:?}]")?,
                Segment::Item(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A property of an object, by its name in JSON.
    Property(&'static str),
    /// A value of a map, by its key.
    Key(String),
    /// An item of a list, counted from zero.
    Item(usize),
}

impl From<&'static str> for Segment {
    fn from(name: &'static str) -> Self {
        Self::Property(name)
    }
}

/// Says where a result comes from.
pub trait At {
    /// Names the property whose value is converted; it shows only in an error.
    #[must_use]
    fn at(self, property: &'static str) -> Self;
}

impl<T> At for Result<T> {
    fn at(self, property: &'static str) -> Self {
        self.map_err(|error| error.within(property))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_where() {
        let error = Error::new("a number", "\"x\"").within("size");
        let error = error.within(Segment::Item(2)).within("disks");
        let error = error.within(Segment::Key("a b".to_owned())).within("machines");
        let text =
            r#"cannot convert `machines["a b"].disks[2].size`: expected a number, found "x""#;
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn an_error_without_a_place_is_about_the_object() {
        let text = "cannot convert `the object`: expected a, found b";
        assert_eq!(Error::new("a", "b").to_string(), text);
    }
}
