//! What to convert into what: the decided step for every property of every pair of types.
//!
//! Plain values without behaviour. The planner makes a [`Plan`] from a [`Group`] and its
//! configuration; the report and the emitter only read it. Each storage type is the hub version's
//! type with every property optional, every enum a string, and a bag on every object.
//! A pair of types occurs once, however many versions and properties use it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::ir::{Group, Resource, Type, TypeId};
use crate::version::Version;

/// Everything to be emitted for one group.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The spoke types, shared where versions agree.
    pub group: Group,
    /// The types that are stored: objects and unions of the hub versions, and what they contain.
    pub storage: BTreeSet<TypeId>,
    /// Every pair of spoke type and storage type, each listed once.
    pub pairs: BTreeMap<PairId, Pair>,
    /// The resources, by kind as the hub version spells it.
    pub resources: BTreeMap<String, ResourcePlan>,
}

/// One resource through its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePlan {
    /// The version whose shape is stored.
    pub hub: Version,
    /// The stored type: the hub version's root type.
    pub storage: TypeId,
    /// The resource in every version that has it, oldest first, the hub's own included. The pair
    /// of each root with `storage` is in [`Plan::pairs`].
    pub spokes: BTreeMap<Version, Resource>,
}

/// Names a pair.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairId {
    /// The API type.
    pub spoke: TypeId,
    /// The hub version's type that the storage type is made from.
    pub hub: TypeId,
}

/// How values of a spoke type become values of a storage type and come back.
#[derive(Clone, Debug, PartialEq)]
pub enum Pair {
    /// Both are objects: one step for each property, in order of the field's name.
    Object(Vec<PropertyStep>),
    /// Both are unions: one step for each arm of the spoke, in order of the tag's value.
    Union(Vec<ArmStep>),
}

/// What happens to one property.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyStep {
    /// The wire name on the spoke; absent only for [`Step::Skip`].
    pub spoke: Option<String>,
    /// The wire name on the hub; absent only where the hub has no such property.
    pub hub: Option<String>,
    /// The decision.
    pub step: Step,
    /// Present where both sides have the property with types of different names: a hand-written
    /// converter for it goes before `step`.
    pub change: Option<Change>,
    /// The value a required spoke property takes on the way down when there is none to convert.
    /// Without it that is an error.
    pub default: Option<Value>,
}

/// The decision for one property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Both have it: converted.
    Convert {
        /// How.
        conversion: Conversion,
        /// Present where some spoke values do not fit the hub: a fraction where it has whole
        /// numbers. These go to the bag under this key instead, and the way down looks there
        /// first. A null always fits, because storage tells absent, null and empty apart.
        bag: Option<String>,
    },
    /// The spoke's value goes to the bag of the storage object under this key, as JSON, and comes
    /// back from there. The hub may have a property of that name; it is left alone.
    Bag {
        /// `property@version`: the first version with this property in exactly this shape.
        key: String,
    },
    /// Only the hub has it: absent on the way up, dropped on the way down, and carried over from
    /// the stored object when a spoke's document replaces it.
    Skip,
    /// Nothing is generated; the hand-written hook of the whole type takes care of it.
    Manual,
}

/// A property whose type changed: what a hand-written converter would convert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The Rust name of its marker, unique in its pair: `ReliabilityLevel`.
    pub name: String,
    /// The spoke's type.
    pub spoke: Type,
    /// The hub's type; the storage type is made from it.
    pub hub: Type,
}

/// How a value of the spoke's type becomes one of the storage type, and back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// The same boolean, number or free JSON on both sides.
    Copy,
    /// A string or an enum on either side; the storage has a string.
    Text,
    /// The storage has a number; a fraction on the way down is an error.
    IntegerToNumber,
    /// The storage has a whole number; a fraction on the way up goes to the bag.
    NumberToInteger,
    /// The storage has free JSON; on the way down it must have the spoke's shape.
    ToAny,
    /// Every item.
    List(Box<Self>),
    /// Every value, under its name.
    Map(Box<Self>),
    /// Objects, by their own pair.
    Object(PairId),
    /// Unions, by their own pair.
    Union(PairId),
}

/// What happens to one arm of a union. An arm or tag that the other side does not know is kept as
/// free JSON in the other side's open arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmStep {
    /// The tag's value on both sides.
    pub value: String,
    /// The spoke's arm.
    pub spoke: TypeId,
    /// The hub's arm with the same tag; the pair of the two is in [`Plan::pairs`].
    pub hub: Option<TypeId>,
}
