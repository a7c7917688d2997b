//! MD5, which Qinling's client names packages by. Nothing here depends on it being hard to forge: folio's own
//! digests are SHA-256.

/// How far each step of a round turns.
const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The digest of some bytes, in hexadecimal.
pub(super) fn md5(bytes: &[u8]) -> String {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let whole = bytes.len() / 64 * 64;
    for block in bytes[..whole].chunks_exact(64) {
        mix(&mut state, block);
    }
    let mut rest = bytes[whole..].to_vec();
    rest.push(0x80);
    while rest.len() % 64 != 56 {
        rest.push(0);
    }
    rest.extend((bytes.len() as u64).wrapping_mul(8).to_le_bytes());
    for block in rest.chunks_exact(64) {
        mix(&mut state, block);
    }
    let words = state.iter().flat_map(|word| word.to_le_bytes());
    words.map(|byte| format!("{byte:02x}")).collect()
}

/// The constant of a step: a sine, as the algorithm defines it.
fn sine(step: usize) -> u32 {
    let at = f64::from(u32::try_from(step).unwrap_or_default() + 1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^32")]
    let sine = (at.sin().abs() * 4_294_967_296.0) as u32;
    sine
}

fn mix(state: &mut [u32; 4], block: &[u8]) {
    let words: Vec<u32> = block
        .chunks_exact(4)
        .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect();
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64 {
        let round = step / 16;
        let (mixed, word) = match round {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(sine(step)).wrapping_add(words[word]);
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(TURNS[round][step % 4]));
    }
    for (word, more) in state.iter_mut().zip([a, b, c, d]) {
        *word = word.wrapping_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        let check = |text: &str, digest: &str| assert_eq!(md5(text.as_bytes()), digest, "{text}");
        check("", "d41d8cd98f00b204e9800998ecf8427e");
        check("abc", "900150983cd24fb0d6963f7d28e17f72");
        check("message digest", "f96b697d7cb7938d525a2f31aaf161d0");
        let long =
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890";
        check(long, "57edf4a22be3c955ac49da2e2107b67a");
    }
}
