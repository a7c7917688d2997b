//! Random values and round trips for the tests of generated code.
//!
//! A generated module lists how to make random values of its types with [`sample!`] and which of
//! them are spokes of which hub with [`RoundTrip::of`]; [`check`] does the rest. Every value comes
//! from a seed that a failure names.
//!
//! [`sample!`]: crate::sample

mod random;
mod round_trip;

pub use self::random::{Random, Sample};
pub use self::round_trip::{RoundTrip, check};
