//! One property of a version and the part of the hub that says the same in other words.
//!
//! What the hub cannot say is kept in the bag beside it. What the hub says wins: a kept value only
//! adds what the hub has no word for, so that a change made through another version is seen.

use hub::serde::de::DeserializeOwned;
use hub::{Bag, Error, Field, Keep, Result};

/// Two spellings of one thing.
pub(super) trait Lens {
    /// What a version writes.
    type Spoke: Clone + PartialEq + Keep + DeserializeOwned;
    /// What the hub has.
    type Hub: Clone + PartialEq;
    /// Where in the bag the version's value is kept if the hub's does not say all of it.
    const KEY: &'static str;

    /// What the hub can say of a value, if anything.
    fn up(spoke: &Self::Spoke) -> Option<Self::Hub>;

    /// The value that the hub's means, with what is kept of the version's; nothing if the version
    /// has no word for it.
    fn down(hub: &Self::Hub, kept: Option<Self::Spoke>) -> Option<Self::Spoke>;

    /// The value that says nothing, where the version requires one.
    fn nothing() -> Option<Self::Spoke> {
        None
    }
}

/// Returns the hub's value for a version's, and keeps what it does not say.
pub(super) fn up<L: Lens>(spoke: Field<L::Spoke>, bag: &mut Bag) -> Field<L::Hub> {
    if spoke.value().is_some() && spoke.value() == L::nothing().as_ref() {
        return Field::Absent;
    }
    let hub = spoke.value().and_then(L::up);
    let said = hub.as_ref().and_then(|hub| L::down(hub, None));
    if said.as_ref() != spoke.value() || matches!(spoke, Field::Null) {
        bag.put(L::KEY, spoke);
    }
    hub.map_or(Field::Absent, Field::Value)
}

/// Returns the version's value for the hub's, with what was kept of it.
pub(super) fn down<L: Lens>(hub: &Field<L::Hub>, bag: &mut Bag) -> Result<Field<L::Spoke>> {
    let kept: Field<L::Spoke> = bag.take(L::KEY)?;
    let said = hub.value().and_then(|hub| L::down(hub, kept.value().cloned()));
    if let Some(said) = said {
        return Ok(Field::Value(said));
    }
    // A kept value that the hub has a word for is out of date once the hub does not say it.
    let is_current = |kept: &L::Spoke| L::up(kept).is_none_or(|up| hub.value() == Some(&up));
    Ok(if kept.value().is_none_or(is_current) { kept } else { Field::Absent })
}

/// Completes a new value of the hub: what the version cannot tell apart stays as it is stored.
pub(super) fn overlay<L: Lens>(stored: &mut Field<L::Hub>, new: &mut Field<L::Hub>) {
    let seen = |hub: &Field<L::Hub>| hub.value().and_then(|hub| L::down(hub, None));
    if seen(stored) == seen(new) {
        *new = stored.take();
    }
}

/// Returns what [`down`] does, or the value that says nothing.
pub(super) fn down_required<L: Lens>(hub: &Field<L::Hub>, bag: &mut Bag) -> Result<L::Spoke> {
    let value = down::<L>(hub, bag)?.into_value().or_else(L::nothing);
    value.ok_or_else(|| Error::new("a value, which this version requires", "none"))
}
