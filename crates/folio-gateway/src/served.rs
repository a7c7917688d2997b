//! A route made ready for requests: what never changes about it is worked out once, when the table is built.

use std::cell::LazyCell;
use std::sync::Arc;

use folio_core::ports::runtime::Plan;
use folio_core::serving::{Meaning, Route, Unresolved};
use folio_model::{RoutePath, Sticky, drawn};
use http::header::HeaderName;

use crate::cors::CorsHeaders;

/// A route made ready.
#[derive(Debug)]
pub struct Served {
    /// The route itself.
    pub route: Arc<Route>,
    pub(crate) view: View,
    pub(crate) sticky: Option<Stickiness>,
    pub(crate) cors: Option<CorsHeaders>,
}

/// What a function sees of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// `/`, whatever was asked for.
    Root,
    /// What follows the prefix.
    Rest,
    /// All of it.
    Whole,
}

/// What tells one client from another.
#[derive(Debug)]
pub(crate) enum Stickiness {
    Header(HeaderName),
    Cookie(String),
    Address,
    /// A header that no request can have, so that all clients are alike.
    Nothing,
}

impl Stickiness {
    pub(crate) fn of(sticky: &Sticky) -> Self {
        match sticky {
            Sticky::Header(name) => name.parse().map_or(Self::Nothing, Self::Header),
            Sticky::Cookie(name) => Self::Cookie(name.clone()),
            Sticky::Address => Self::Address,
        }
    }
}

/// What decides which of several versions answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// Chance: bits of which each half is used once.
    Draw(u64),
    /// The client.
    Client(u64),
}

impl Served {
    /// Makes a route ready.
    pub fn new(route: &Arc<Route>) -> Self {
        let spec = &route.spec;
        let view = match &spec.path {
            RoutePath::Exact(_) => View::Root,
            RoutePath::Prefix { keep: false, .. } => View::Rest,
            RoutePath::Prefix { keep: true, .. } => View::Whole,
        };
        let sticky = spec.sticky.as_ref().map(Stickiness::of);
        let cors = spec.cors.as_ref().map(|cors| CorsHeaders::new(cors, &spec.methods));
        Self { route: Arc::clone(route), view, sticky, cors }
    }

    /// Hands on the version that answers now. Each target gets exactly its share of all draws; a client keeps its target
    /// and its version until a weight moves it towards another.
    pub(crate) fn pick<F: FnOnce() -> Key, T>(
        &self,
        key: &LazyCell<Key, F>,
        to: impl FnOnce(&Arc<Plan>) -> T,
    ) -> Result<T, Unresolved> {
        let slot = match self.route.targets.as_slice() {
            [(only, _)] => only,
            targets => {
                let weights = targets.iter().map(|(_, weight)| *weight);
                let seeds = 1_u64..;
                &targets[key.pick(weights.zip(seeds))].0
            }
        };
        match &**slot.load() {
            Meaning::Nothing(unresolved) => Err(unresolved.clone()),
            Meaning::Versions(split) => Ok(to(match split.sole() {
                Some(plan) => plan,
                None => match **key {
                    Key::Draw(bits) => split.pick(draw(bits >> 32)),
                    Key::Client(key) => split.pick_sticky(key),
                },
            })),
        }
    }
}

impl Key {
    /// Which of several shares it falls to, each with what tells it from the others. Each gets exactly its share of
    /// all draws; a client keeps its own until a weight moves it towards another.
    pub(crate) fn pick(self, shares: impl Iterator<Item = (u32, u64)>) -> usize {
        match self {
            Self::Draw(bits) => {
                drawn(draw(bits), shares.map(|(weight, _)| weight)).unwrap_or_default()
            }
            Self::Client(key) => by_client(shares, key),
        }
    }
}

/// A draw from the lower half of bits of chance.
fn draw(bits: u64) -> u32 {
    let low = u32::try_from(bits & 0xffff_ffff).expect("it is cut to 32 bits");
    folio_model::draw(low)
}

/// The target for a client: the highest bid, where a bid depends on its own weight only. So raising one weight
/// moves clients towards that target and nowhere else.
fn by_client(shares: impl Iterator<Item = (u32, u64)>, key: u64) -> usize {
    let bids = shares.map(|(weight, seed)| {
        #[expect(clippy::cast_precision_loss, reason = "the upper 53 bits fit a float exactly")]
        let uniform = ((mix(key ^ mix(seed)) >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0;
        f64::from(weight) / -uniform.ln()
    });
    let best = bids.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    best.map_or(0, |(at, _)| at)
}

/// A client's key from what tells it from others; the same on every node and after every restart.
pub(crate) fn key_of(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Spreads the bits of a number over all others.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use folio_model::FULL_WEIGHT;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn raising_a_weight_only_moves_clients_towards_it(from in 0..FULL_WEIGHT, more in 1..FULL_WEIGHT, key: u64) {
            let to = (from + more).min(FULL_WEIGHT);
            let before = by_client([(FULL_WEIGHT - from, 1), (from, 2)].into_iter(), key);
            let after = by_client([(FULL_WEIGHT - to, 1), (to, 2)].into_iter(), key);
            prop_assert!(before == after || after == 1);
        }
    }

    #[test]
    fn clients_are_spread_as_the_weights_say() {
        let clients = (0..20_000_u32).map(|at| key_of(&at.to_le_bytes()));
        let hits = clients
            .filter(|key| by_client([(2_500, 1), (7_500, 2)].into_iter(), *key) == 0)
            .count();
        assert!((4_600..5_400).contains(&hits), "{hits} of 20000 clients for a quarter");
    }
}
