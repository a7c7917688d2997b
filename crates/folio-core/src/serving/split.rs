//! Shares of the calls: which of several versions answers a request. Exact over all draws, and sticky by key
//! without a table of keys.

use std::sync::Arc;

use folio_model::{FULL_WEIGHT, drawn};

use crate::ports::runtime::{Plan, Stage};

/// Versions with their shares of the calls, which sum to [`FULL_WEIGHT`].
#[derive(Debug, Clone)]
pub struct Split {
    shares: Vec<Share>,
}

#[derive(Debug, Clone)]
struct Share {
    plan: Arc<Plan>,
    weight: u32,
    /// Tells this version from others in a hash, the same on every node and after every restart.
    seed: u64,
}

impl Split {
    /// All calls to one version.
    pub fn only(plan: Arc<Plan>) -> Self {
        Self::new(vec![(plan, FULL_WEIGHT)])
    }

    /// Takes shares that sum to the whole. Those of zero are left out.
    ///
    /// # Panics
    /// If the shares do not sum to [`FULL_WEIGHT`].
    pub fn new(shares: Vec<(Arc<Plan>, u32)>) -> Self {
        let sum: u64 = shares.iter().map(|(_, weight)| u64::from(*weight)).sum();
        assert_eq!(sum, u64::from(FULL_WEIGHT), "shares sum to the whole");
        let shares = shares.into_iter().filter(|(_, weight)| *weight > 0);
        let shares =
            shares.map(|(plan, weight)| Share { seed: seed(&plan), plan, weight }).collect();
        Self { shares }
    }

    /// The version that gets everything, unless there are several.
    pub fn sole(&self) -> Option<&Arc<Plan>> {
        match self.shares.as_slice() {
            [only] => Some(&only.plan),
            _ => None,
        }
    }

    /// The version for a draw; each gets exactly its share of the draws 0 to 9,999.
    pub fn pick(&self, draw: u32) -> &Arc<Plan> {
        let at = drawn(draw % FULL_WEIGHT, self.shares.iter().map(|share| share.weight));
        &self.shares[at.expect("shares sum to the whole, so every draw falls to one")].plan
    }

    /// The version for a key, the same each time. Raising the weight of a version moves keys only to it, lowering
    /// it only away from it.
    pub fn pick_sticky(&self, key: u64) -> &Arc<Plan> {
        // Weighted rendezvous: every version bids for the key; a bid depends on its own weight only.
        let bid = |share: &Share| f64::from(share.weight) / -uniform(mix(key ^ share.seed)).ln();
        let best = self.shares.iter().max_by(|a, b| bid(a).total_cmp(&bid(b)));
        &best.expect("shares sum to the whole, so there is one").plan
    }

    /// The versions, each once.
    pub fn plans(&self) -> impl Iterator<Item = &Arc<Plan>> {
        self.shares.iter().map(|share| &share.plan)
    }

    /// The versions with their shares of [`FULL_WEIGHT`].
    pub fn shares(&self) -> impl Iterator<Item = (&Arc<Plan>, u32)> {
        self.shares.iter().map(|share| (&share.plan, share.weight))
    }
}

fn seed(plan: &Plan) -> u64 {
    let (high, low) = plan.unit.0.as_u64_pair();
    let stage = match &plan.at {
        Stage::Version(number, _) => number.get(),
        Stage::Draft => 0,
    };
    mix(mix(high) ^ mix(low.wrapping_add(1)) ^ mix(stage.wrapping_add(2)))
}

/// Spreads the bits of a number over all others (the finaliser of splitmix64).
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A number between 0 and 1, neither of them.
fn uniform(bits: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "the upper 53 bits fit a float exactly")]
    let fraction = (bits >> 11) as f64;
    (fraction + 0.5) / 9_007_199_254_740_992.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use folio_model::{
        Access, Content, Digest, EnvironmentSpec, Layout, Number, RuntimeKind, UnitUid, VersionId,
    };
    use proptest::prelude::*;

    use super::*;
    use crate::measure::Meter;
    use crate::ports::runtime::{RunLimits, Variables};

    fn plan(number: u64) -> Arc<Plan> {
        let id: VersionId = format!("v{number}").parse().unwrap();
        Arc::new(Plan {
            app: "default".parse().unwrap(),
            function: "hello".parse().unwrap(),
            unit: UnitUid(uuid::Uuid::from_u128(7)),
            at: Stage::Version(Number::new(number).unwrap(), id),
            digest: Digest::of(b"x"),
            environment: "nodejs".parse().unwrap(),
            spec: EnvironmentSpec::of(RuntimeKind::Nodejs),
            code: Content { tree: Digest::of(b"t"), layout: Layout::File },
            entrypoint: None,
            variables: Variables::default(),
            files: Vec::new(),
            limits: RunLimits {
                timeout: Duration::from_secs(1),
                memory_bytes: 1,
                cpu_millis: None,
                concurrency: 1,
                idle: Duration::ZERO,
                scale_min: 0,
                scale_max: 1,
                requests_per_worker: None,
            },
            access: Access::Public,
            meter: Arc::new(Meter::default()),
        })
    }

    fn split(weights: &[u32]) -> Split {
        Split::new(weights.iter().zip(1..).map(|(weight, at)| (plan(at), *weight)).collect())
    }

    fn cuts() -> impl Strategy<Value = Vec<u32>> {
        proptest::collection::vec(0..=FULL_WEIGHT, 0..4).prop_map(|mut cuts| {
            cuts.extend([0, FULL_WEIGHT]);
            cuts.sort_unstable();
            cuts.windows(2).map(|cut| cut[1] - cut[0]).collect()
        })
    }

    proptest! {
        #[test]
        fn every_version_gets_exactly_its_share_of_all_draws(weights in cuts()) {
            let split = split(&weights);
            for (weight, number) in weights.iter().zip(1..) {
                let at = plan(number).at.clone();
                let drawn = (0..FULL_WEIGHT).filter(|draw| split.pick(*draw).at == at).count();
                prop_assert_eq!(drawn, *weight as usize);
            }
        }

        #[test]
        fn raising_a_weight_only_moves_keys_towards_it(from in 0..FULL_WEIGHT, more in 1..FULL_WEIGHT, key: u64) {
            let to = (from + more).min(FULL_WEIGHT);
            let before = split(&[FULL_WEIGHT - from, from]).pick_sticky(key).at.clone();
            let after = split(&[FULL_WEIGHT - to, to]).pick_sticky(key).at.clone();
            prop_assert!(before == after || after == plan(2).at, "{} became {}", before, after);
        }
    }

    #[test]
    fn keys_are_spread_as_the_weights_say() {
        let split = split(&[2_500, 7_500]);
        let hits = (0..20_000_u64).filter(|key| split.pick_sticky(mix(*key)).at == plan(1).at);
        let hits = hits.count();
        assert!((4_600..5_400).contains(&hits), "{hits} of 20000 keys for a quarter");
    }

    #[test]
    fn a_share_of_zero_gets_nothing() {
        let split = split(&[0, FULL_WEIGHT]);
        assert_eq!(split.sole().map(|plan| plan.at.clone()), Some(plan(2).at.clone()));
    }
}
