//! Hand-written parts of conversions. A hook is found by the compiler if it is there: an inherent
//! constant of [`Probe`], which needs the hook's trait, hides the constant of the same name of a
//! trait that every type has. A misspelt or wrongly typed hook is therefore an error of the
//! compiler and never silently left out. Start at [`Augment`].

use std::marker::PhantomData;

use crate::error::Result;
use crate::spoke::{Spoke, Stored};

/// Adds to the generated conversion of one type, which it calls.
///
/// It takes what it converts itself, lets [`Spoke::up`] or [`Spoke::down`] move the rest, and
/// completes what they return. Nothing is cloned that a hook does not clone.
pub trait Augment<Hub: Stored>: Spoke<Hub> {
    /// The version of the hub's type this hook was written for, which is [`Stored::VERSION`]. When
    /// the hub moves and its type changes, the build fails until somebody has looked at the hook.
    const WRITTEN_FOR: &'static str;

    /// Converts to the hub, with the help of [`Spoke::up`].
    ///
    /// # Errors
    /// Fails if the value cannot be converted.
    fn into_stored(self) -> Result<Hub>;

    /// Converts from the hub, with the help of [`Spoke::down`].
    ///
    /// # Errors
    /// Fails if the value cannot be converted.
    fn from_stored(stored: Hub) -> Result<Self>;

    /// Completes a new value of the hub, which comes from this version, with what the stored value
    /// has and this version cannot express, in the properties that are left to the hook. What it
    /// takes from the stored value is gone there. It runs before the rest is completed. A hook that
    /// writes such properties whole needs nothing here.
    fn complete(stored: &mut Hub, new: &mut Hub) {
        let _ = (stored, new);
    }
}

/// A property whose type in a version is not the one in the hub. Generated, for [`Convert`].
pub trait Change {
    /// The type in the version.
    type Spoke;
    /// The type in the hub.
    type Hub;
    /// The version of the hub's type that has the property.
    const HUB_VERSION: &'static str;
}

/// Converts one property whose type changed, instead of what is generated for it.
pub trait Convert: Change {
    /// The version of the hub this hook was written for, as in [`Augment::WRITTEN_FOR`].
    const WRITTEN_FOR: &'static str;

    /// Converts the property to the hub.
    ///
    /// # Errors
    /// Fails if the value has no counterpart.
    fn up(value: Self::Spoke) -> Result<Self::Hub>;

    /// Converts the property from the hub.
    ///
    /// # Errors
    /// Fails if the value has no counterpart.
    fn down(value: Self::Hub) -> Result<Self::Spoke>;
}

/// The functions of an [`Augment`].
#[derive(Debug)]
pub struct AugmentHook<S, H> {
    /// [`Augment::into_stored`].
    pub into_stored: fn(S) -> Result<H>,
    /// [`Augment::from_stored`].
    pub from_stored: fn(H) -> Result<S>,
    /// [`Augment::complete`].
    pub complete: fn(&mut H, &mut H),
}

/// The two functions of a [`Convert`].
#[derive(Debug)]
pub struct ConvertHook<C: Change> {
    /// [`Convert::up`].
    pub up: fn(C::Spoke) -> Result<C::Hub>,
    /// [`Convert::down`].
    pub down: fn(C::Hub) -> Result<C::Spoke>,
}

/// Asks the compiler whether a pair of a spoke and its hub, or a property, has a hook.
///
/// Works with concrete types only: in a generic function the answer is always no.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

/// What [`Probe`] answers for types without an [`Augment`].
pub trait NoAugment<S, H> {
    /// No hook.
    const AUGMENT: Option<AugmentHook<S, H>> = None;
}

/// What [`Probe`] answers for properties without a [`Convert`].
pub trait NoConvert<C: Change> {
    /// No hook.
    const CONVERT: Option<ConvertHook<C>> = None;
}

impl<S: Spoke<H>, H> NoAugment<S, H> for Probe<(S, H)> {}

impl<C: Change> NoConvert<C> for Probe<C> {}

impl<S: Augment<H>, H: Stored> Probe<(S, H)> {
    /// The hook of the type.
    pub const AUGMENT: Option<AugmentHook<S, H>> = {
        assert_current(S::WRITTEN_FOR, H::VERSION);
        Some(AugmentHook {
            into_stored: S::into_stored,
            from_stored: S::from_stored,
            complete: S::complete,
        })
    };
}

impl<C: Convert> Probe<C> {
    /// The hook of the property.
    pub const CONVERT: Option<ConvertHook<C>> = {
        assert_current(C::WRITTEN_FOR, C::HUB_VERSION);
        Some(ConvertHook { up: C::up, down: C::down })
    };
}

const fn assert_current(written_for: &str, hub: &str) {
    let (written_for, hub) = (written_for.as_bytes(), hub.as_bytes());
    let mut equal = written_for.len() == hub.len();
    let mut at = 0;
    while equal && at < hub.len() {
        equal = written_for[at] == hub[at];
        at += 1;
    }
    assert!(
        equal,
        "this hook was written for another version of the hub: check that it still does what it \
         should, then set WRITTEN_FOR to the VERSION of the type it writes"
    );
}

/// A place where a hook can be, in the table of a generated module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The version the type is from, the first one of those that share it.
    pub version: &'static str,
    /// The type, or the type and the property as `Type.property`.
    pub name: &'static str,
    /// What the hook would do.
    pub kind: HookKind,
    /// Whether the hook is written.
    pub is_implemented: bool,
}

/// What a hook does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookKind {
    /// Completes the conversion of a type: [`Augment`].
    Augment,
    /// Converts a property: [`Convert`].
    Convert,
}

impl Hook {
    /// The hook of a type.
    pub const fn augment(version: &'static str, name: &'static str, is_implemented: bool) -> Self {
        Self { version, name, kind: HookKind::Augment, is_implemented }
    }

    /// The hook of a property.
    pub const fn convert(version: &'static str, name: &'static str, is_implemented: bool) -> Self {
        Self { version, name, kind: HookKind::Convert, is_implemented }
    }
}
