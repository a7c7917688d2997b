//! Tells names that change with what a file holds from others, as builders of sites write them: `app.3f9a1c2b.js`,
//! `index-DiwrgTda.js`. Such a file is kept for ever by who has it, so a word must never pass for a hash; a hash that
//! passes for a word only costs a question. Start at [`is_fingerprinted`].

/// Characters of the shortest hash that builders write.
const HASH_MIN: usize = 8;

/// What English words begin with, where that is more than one consonant.
const ONSETS: [&str; 44] = [
    "bl", "br", "ch", "chr", "cl", "cr", "dr", "dw", "fl", "fr", "gh", "gl", "gn", "gr", "kn",
    "ph", "phr", "pl", "pr", "ps", "rh", "sc", "sch", "scr", "sh", "shr", "sk", "sl", "sm", "sn",
    "sp", "sph", "spl", "spr", "sq", "st", "str", "sw", "th", "thr", "tr", "tw", "wh", "wr",
];

/// Consonants in a row beyond which nothing is a word, as in `lengths`.
const CONSONANTS_MAX: usize = 4;

/// Whether a file's name changes with what it holds: its last part before the ending looks like a hash.
pub(crate) fn is_fingerprinted(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    let Some((stem, _ending)) = last.rsplit_once('.') else { return false };
    let mark = stem.rsplit(['.', '-']).next().filter(|mark| mark.len() < stem.len());
    mark.is_some_and(is_hash)
}

fn is_hash(mark: &str) -> bool {
    let count = |is: fn(&u8) -> bool| mark.bytes().filter(is).count();
    let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
    let plain = mark.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !plain || mark.len() < HASH_MIN || letters == 0 {
        return false;
    }
    if mark.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return true;
    }
    let mixed = count(u8::is_ascii_lowercase) > 0 && count(u8::is_ascii_uppercase) > 0;
    // Sizes, such as `1920x1080`, have one letter; letters alone are a hash only if nobody would write them so.
    (digits > 0 && letters > 1 || digits == 0 && mixed) && !is_words(mark)
}

/// Whether a text is words, run together as in `userProfile` or `XMLParser`, and perhaps a number: `bootstrap4`.
fn is_words(text: &str) -> bool {
    let text = text.trim_end_matches(|last: char| last.is_ascii_digit());
    let mut parts = text.split('_').filter(|part| !part.is_empty());
    parts.all(|part| words(part).iter().all(|word| is_word(word)))
}

/// The words of a text in which each begins with a capital. Capitals in a row are one word, without the last of them
/// if that begins another.
fn words(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    for at in 1..bytes.len() {
        let (before, this) = (bytes[at - 1].is_ascii_uppercase(), bytes[at].is_ascii_uppercase());
        let next_is_small = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        if this && (!before || next_is_small) {
            starts.push(at);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
}

fn is_word(text: &str) -> bool {
    if text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return true;
    }
    let text = text.to_ascii_lowercase();
    let is_vowel = |letter: char| "aeiouy".contains(letter);
    let onset = text.split(is_vowel).next().unwrap_or_default();
    let is_onset = onset.len() < 2 || ONSETS.contains(&onset);
    let longest = text.split(is_vowel).map(str::len).max().unwrap_or_default();
    let letters = text.bytes().all(|byte| byte.is_ascii_lowercase());
    letters && text.len() > 1 && text.contains(is_vowel) && is_onset && longest <= CONSONANTS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &str, expected: bool) {
        for name in names.split_whitespace() {
            assert_eq!(is_fingerprinted(&format!("/assets/{name}")), expected, "{name}");
        }
    }

    #[test]
    fn hashes_of_builders_are_seen() {
        // webpack, Parcel, Rails and Hugo write hexadecimal.
        check("app.3f9a1c2b.js main.deadbeef.css x.0123456789abcdef.css app-cafebabe.js", true);
        check("site-d41d8cd98f00b204e9800998ecf8427e.css hero.FACADE01.png", true);
        // Vite and Rollup write letters of both cases, digits and underscores.
        check("app-BQz1k8fL.js index-DiwrgTda.js index-BfzRwKqX.css vendor-hQ_zXw9r.js", true);
        check("logo-CkLmpWqd.svg chunk-aBcDeFgH.js page-QzvWkTrb.js a.b.c-xKjRtWqP.mjs", true);
        // esbuild writes capitals and digits.
        check("chunk-QWJ5K2ZP.js app-4TZQ7M3L.css", true);
    }

    #[test]
    fn words_numbers_and_short_marks_are_not() {
        check(
            "app.js bootstrap.js jquery-migrate.js jquery-3.7.1.min.js vue.runtime.global.js",
            false,
        );
        check("icons-bootstrap.css my-Component.js react.development.js x-background.png", false);
        check("page-UserProfile.js icon-arrowRight.svg x-JavaScript.js a-XMLParser.js", false);
        check("x-backgroundImage.png form-TextField.js a-stringUtils.js is-HTTPServer.js", false);
        check(
            "theme-bootstrap4.css doc-Chapter12.html api-version2.json part-section_12.html",
            false,
        );
        check("hero-1920x1080.jpg 2024-01-01.html log-20240101.txt photo-12345678.jpg", false);
        check("3f9a1c2b.js app-3f9a1c2.js DiwrgTda.js README-CHANGELOG.md / app-DiwrgTda", false);
    }
}
