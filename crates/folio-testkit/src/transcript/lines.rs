//! Compares lines that were found with lines that were expected and may hold wildcards.

const ANY_LINES: &str = "...";
const ANY_TEXT: &str = "[..]";

/// Whether the lines found are what was expected.
pub(super) fn matches(expected: &[String], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((first, rest)) if first == ANY_LINES => {
            (0..=found.len()).any(|skipped| matches(rest, &found[skipped..]))
        }
        Some((first, rest)) => match found.split_first() {
            Some((line, found)) => line_matches(first, line) && matches(rest, found),
            None => false,
        },
    }
}

/// The lines found, with the wildcards of what was expected where they still fit.
pub(super) fn bless(expected: &[String], found: Vec<String>) -> Vec<String> {
    let mut patterns = expected.iter().filter(|line| line.contains(ANY_TEXT)).peekable();
    let keep = |line: String| match patterns.next_if(|pattern| line_matches(pattern, &line)) {
        Some(pattern) => pattern.clone(),
        None => line,
    };
    found.into_iter().map(keep).collect()
}

fn line_matches(pattern: &str, line: &str) -> bool {
    let Some((start, rest)) = pattern.split_once(ANY_TEXT) else { return pattern == line };
    let Some(line) = line.strip_prefix(start) else { return false };
    let mut places = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    places.any(|at| line_matches(rest, &line[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: &str, found: &str, fits: bool) {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(matches(&lines(expected), &lines(found)), fits, "{expected:?} {found:?}");
    }

    #[test]
    fn text_matches_itself_and_wildcards_match_within_their_bounds() {
        check("", "", true);
        check("a\nb", "a\nb", true);
        check("a", "a\nb", false);
        check("a [..] c", "a b c", true);
        check("a [..] c", "a  c", true);
        check("a [..] c", "a\nc", false);
        check("[..]b[..]", "abc", true);
        check("[..]", "ä", true);
        check("a\n...\nd", "a\nb\nc\nd", true);
        check("...\nd", "d", true);
        check("...\nd", "d\ne", false);
        check("...", "", true);
    }

    #[test]
    fn blessing_keeps_wildcards_that_still_fit() {
        let expected = ["id [..]", "old", "at [..]"].map(str::to_owned);
        let found = ["new", "id 7", "at 8"].map(str::to_owned).to_vec();
        assert_eq!(bless(&expected, found), ["new", "id [..]", "at [..]"]);
    }
}
