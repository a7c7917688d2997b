//! The environment that a function or a package of Fission's names: folio has its name, and its
//! namespace is kept.

use hub::{Bag, Field, Object, Result};

use crate::generated::kinds::fission_io_v1::{FunctionSpecEnvironment, PackageSpecEnvironment};

const KEY: &str = "environment@fission.io/v1";

/// A reference to an environment.
pub(super) trait Reference: Sized {
    /// The one that says nothing, as Fission requires one.
    fn unnamed() -> Self;

    /// Takes the name for the hub, and keeps the rest if it says anything.
    fn up(self, bag: &mut Bag) -> Field<String>;

    /// Puts the hub's name to what was kept.
    fn down(name: Field<String>, bag: &mut Bag) -> Result<Self>;
}

/// Completes a new name: what Fission does not tell apart stays as it is stored.
pub(super) fn overlay(stored: &mut Field<String>, new: &mut Field<String>) {
    if stored.value() == new.value() {
        *new = stored.take();
    }
}

macro_rules! reference {
    ($environment:ident) => {
        impl Reference for $environment {
            fn unnamed() -> Self {
                Self { name: Field::Absent, namespace: String::new(), unknown: Object::new() }
            }

            fn up(mut self, bag: &mut Bag) -> Field<String> {
                let name = match self.name {
                    Field::Value(_) => self.name.take(),
                    Field::Null | Field::Absent => Field::Absent,
                };
                if self != Self::unnamed() {
                    bag.put(KEY, Field::Value(self));
                }
                name
            }

            fn down(name: Field<String>, bag: &mut Bag) -> Result<Self> {
                let kept: Field<Self> = bag.take(KEY)?;
                let mut environment = kept.into_value().unwrap_or_else(Self::unnamed);
                say(&mut environment.name, name.into_value());
                Ok(environment)
            }
        }
    };
}

reference!(FunctionSpecEnvironment);
reference!(PackageSpecEnvironment);

/// Writes what the hub says; what it does not say stays only where it is no value.
pub(super) fn say<T>(field: &mut Field<T>, said: Option<T>) {
    match said {
        Some(said) => *field = Field::Value(said),
        None if field.value().is_some() => *field = Field::Absent,
        None => {}
    }
}
