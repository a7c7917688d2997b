//! Shares of the whole by chance: which of several gets a request that is nobody's in particular. Exact over all draws.

use crate::FULL_WEIGHT;

/// A draw, a number below [`FULL_WEIGHT`], from 32 bits of chance. Uneven by one in 400,000.
pub fn draw(chance: u32) -> u32 {
    let scaled = u64::from(chance) * u64::from(FULL_WEIGHT);
    u32::try_from(scaled >> 32).expect("a share of 32 bits has 32 bits")
}

/// The place of the share that a draw falls to; nothing if the shares are not the whole. Each gets exactly its share of
/// the draws 0 to 9,999.
pub fn drawn(draw: u32, weights: impl IntoIterator<Item = u32>) -> Option<usize> {
    let mut left = draw;
    for (at, weight) in weights.into_iter().enumerate() {
        match left.checked_sub(weight) {
            Some(rest) => left = rest,
            None => return Some(at),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_gets_exactly_its_share_of_all_draws() {
        for weights in [[10_000, 0, 0], [0, 1, 9_999], [3_333, 3_333, 3_334]] {
            let mut counts = [0_u32; 3];
            for draw in 0..FULL_WEIGHT {
                counts[drawn(draw, weights).expect("they are the whole")] += 1;
            }
            assert_eq!(counts, weights);
        }
        assert_eq!(drawn(9_999, [9_999]), None);
    }

    #[test]
    fn chance_covers_every_draw_evenly() {
        assert_eq!([0, 1, 2, 3].map(draw), [0; 4]);
        assert_eq!(draw(u32::MAX), 9_999);
        assert_eq!(draw(1 << 31), 5_000);
    }
}
