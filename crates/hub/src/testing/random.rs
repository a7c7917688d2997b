//! Random values of any type, from a seed. Small and often empty, because what goes wrong does so
//! at the edges; never deeper than [`DEPTH_MAX`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Number, Value};

use crate::bag::{Bag, Keep};
use crate::field::Field;
use crate::open::Object;

/// How deep values nest before fields stay absent and lists empty.
const DEPTH_MAX: u32 = 8;

/// Items of a list at most; one of them makes many mistakes, three make nearly all.
const ITEMS_MAX: u64 = 3;

/// A source of randomness, by the method called `SplitMix64`.
#[derive(Debug)]
pub struct Random {
    state: u64,
    depth: u32,
}

impl Random {
    /// Starts from a seed; the same seed gives the same values everywhere.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed, depth: 0 }
    }

    /// Returns a number below `limit`, which is not zero.
    pub const fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// Returns a random value of any type.
    pub fn value<T: Sample>(&mut self) -> T {
        self.depth += 1;
        let value = T::sample(self);
        self.depth -= 1;
        value
    }

    /// Returns a field that is not absent.
    pub fn present<T: Sample>(&mut self) -> Field<T> {
        if self.below(4) == 0 { Field::Null } else { Field::Value(self.value()) }
    }

    /// Returns one of the texts an enum lists, or another.
    pub fn listed<'a>(&mut self, listed: &[&'a str]) -> Cow<'a, str> {
        let at = usize::try_from(self.below(listed.len() as u64 + 1)).unwrap_or(usize::MAX);
        listed.get(at).map_or_else(|| Cow::Owned(self.unlisted()), |text| Cow::Borrowed(*text))
    }

    /// Returns a text that no schema lists.
    pub fn unlisted(&mut self) -> String {
        format!("unlisted {}", self.below(1000))
    }

    /// Returns properties that no schema lists.
    pub fn unknown(&mut self) -> Object {
        let count = self.below(8).saturating_sub(5);
        (0..count).map(|_| (self.unlisted(), self.value())).collect()
    }

    /// Puts a property into a bag, or not.
    pub fn bag<T: Sample + Keep>(&mut self, bag: &mut Bag, key: &'static str) {
        let field: Field<T> = self.value();
        bag.put(key, field);
    }

    /// Puts a property into a bag that some version requires.
    pub fn bag_required<T: Sample + Keep>(&mut self, bag: &mut Bag, key: &'static str) {
        let field = Field::Value(self.value::<T>());
        bag.put(key, field);
    }

    /// Puts into a bag what a version of the type did not know itself.
    pub fn bag_unknown(&mut self, bag: &mut Bag, key: &'static str) {
        let unknown = self.unknown();
        bag.put_unknown(key, unknown);
    }

    const fn is_deep(&self) -> bool {
        self.depth > DEPTH_MAX
    }
}

/// A type with random values.
pub trait Sample: Sized {
    /// Returns a random value; call it through [`Random::value`], which counts the depth.
    fn sample(random: &mut Random) -> Self;
}

impl Sample for bool {
    fn sample(random: &mut Random) -> Self {
        random.below(2) == 1
    }
}

impl Sample for i64 {
    fn sample(random: &mut Random) -> Self {
        match random.below(8) {
            0 => Self::MIN,
            1 => Self::MAX,
            _ => random.below(200).cast_signed() - 100,
        }
    }
}

impl Sample for Number {
    /// Fractions are eighths: their text has few digits, so reading it gives the same number.
    fn sample(random: &mut Random) -> Self {
        let eighths = i32::try_from(random.below(4000)).unwrap_or_default() - 2000;
        let fraction = Self::from_f64(f64::from(eighths) / 8.0);
        fraction.filter(|_| random.below(2) == 0).unwrap_or_else(|| i64::sample(random).into())
    }
}

impl Sample for String {
    fn sample(random: &mut Random) -> Self {
        const TEXTS: [&str; 8] = ["", "a", "null", "0", "ä\u{1f4d8}", "\"\\\n", "$bag", "Bronze"];
        match random.below(16) {
            at @ 0..8 => TEXTS[at as usize].to_owned(),
            at => format!("text {at}"),
        }
    }
}

impl Sample for Cow<'static, str> {
    fn sample(random: &mut Random) -> Self {
        Self::Owned(String::sample(random))
    }
}

impl Sample for Value {
    /// Never `null`: where a value may be that, it is a field, which has a state for it.
    fn sample(random: &mut Random) -> Self {
        let kinds = if random.is_deep() { 3 } else { 5 };
        match random.below(kinds) {
            0 => Self::Bool(random.value()),
            1 => Self::Number(random.value()),
            2 => Self::String(random.value()),
            3 => Self::Array(random.value()),
            _ => Self::Object(random.value::<BTreeMap<_, _>>().into_iter().collect()),
        }
    }
}

impl<T: Sample> Sample for Field<T> {
    fn sample(random: &mut Random) -> Self {
        // The deeper, the rarer: values stay small, and small ones show mistakes as well.
        match random.below(8 + u64::from(random.depth)) {
            0 => Self::Null,
            1..5 if !random.is_deep() => Self::Value(random.value()),
            _ => Self::Absent,
        }
    }
}

impl<T: Sample> Sample for Box<T> {
    fn sample(random: &mut Random) -> Self {
        Self::new(T::sample(random))
    }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(random: &mut Random) -> Self {
        let count = if random.is_deep() { 0 } else { random.below(ITEMS_MAX + 1) };
        (0..count).map(|_| random.value()).collect()
    }
}

impl<T: Sample> Sample for BTreeMap<String, T> {
    fn sample(random: &mut Random) -> Self {
        let count = if random.is_deep() { 0 } else { random.below(ITEMS_MAX + 1) };
        (0..count).map(|_| (random.value(), random.value())).collect()
    }
}

/// Says how to make random values of a generated type.
///
/// A spoke lists its fields, and those that are present but may be `null`; a hub its fields, those
/// some version requires, and what may be in the bag, where `unless` names a property that is not
/// there if its converter is written.
#[macro_export]
macro_rules! sample {
    (spoke $type:path { $($field:ident),* $(,)? } $(present { $($present:ident),* $(,)? })?) => {
        impl $crate::testing::Sample for $type {
            fn sample(random: &mut $crate::testing::Random) -> Self {
                Self {
                    $( $field: random.value(), )*
                    $( $( $present: random.present(), )* )?
                    unknown: random.unknown(),
                }
            }
        }
    };
    (
        hub $type:path { $($field:ident),* $(,)? }
        $(required { $($required:ident),* $(,)? })?
        bag { $( $kind:ident $key:literal $(: $bagged:ty)? $(, unless $change:ty)?; )* }
    ) => {
        impl $crate::testing::Sample for $type {
            fn sample(random: &mut $crate::testing::Random) -> Self {
                let mut bag = $crate::Bag::default();
                $(
                    let is_bagged = true $( && $crate::Probe::<$change>::CONVERT.is_none() )?;
                    if is_bagged {
                        random.$kind $(::<$bagged>)? (&mut bag, $key);
                    }
                )*
                Self {
                    $( $field: random.value(), )*
                    $( $( $required: $crate::Field::Value(random.value()), )* )?
                    bag,
                }
            }
        }
    };
    (enum $type:path) => {
        impl $crate::testing::Sample for $type {
            fn sample(random: &mut $crate::testing::Random) -> Self {
                Self::from(random.listed(Self::LISTED).into_owned())
            }
        }
    };
    (union $type:path, $tag:literal { $($arm:ident),* $(,)? }) => {
        impl $crate::testing::Sample for $type {
            fn sample(random: &mut $crate::testing::Random) -> Self {
                let arms: &[fn(&mut $crate::testing::Random) -> Self] = &[
                    $( |random| Self::$arm(random.value()), )*
                    |random| {
                        let mut object = random.unknown();
                        object.insert($tag.to_owned(), random.unlisted().into());
                        Self::Unlisted(object)
                    },
                ];
                arms[random.below(arms.len() as u64) as usize](random)
            }
        }
    };
}
