//! What somebody may have meant by a name that does not exist.

/// What to do about the name of something that does not exist: the one most like it, and all there
/// are where that is a short list.
pub fn suggestion<T: AsRef<str>>(
    noun: &str,
    name: &str,
    names: impl IntoIterator<Item = T>,
) -> String {
    const LISTED_MAX: usize = 50;
    let names: Vec<T> = names.into_iter().collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let listed = match names.len() {
        0 => format!("there is no {noun}"),
        1..=LISTED_MAX => format!("the {noun}s are {}", names.join(", ")),
        many => format!("there are {many} {noun}s; `hubgen report` shows them"),
    };
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? {listed}"),
        None => listed,
    }
}

/// What to do about a configuration file that cannot be read: where a key is unknown, the known
/// one most like it.
pub(super) fn hint(message: &str) -> String {
    const GUIDE: &str = "the guide of hubgen lists every table and key";
    let mut quoted = message.split('`').skip(1).step_by(2);
    let is_unknown = ["unknown field", "unknown variant"].iter().any(|it| message.starts_with(it));
    let unknown = is_unknown.then(|| quoted.next()).flatten();
    match unknown.and_then(|unknown| nearest(unknown, quoted)) {
        Some(near) => format!("did you mean `{near}`? {GUIDE}"),
        None => GUIDE.to_owned(),
    }
}

/// The name most like another, if any is like it at all.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let scored = names.map(|known| (distance(&wanted, &known.to_lowercase()), known));
    let (score, known) = scored.min()?;
    (score <= name.chars().count().div_ceil(2)).then_some(known)
}

/// The number of letters to add, drop or change that makes one text the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, from) in left.chars().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for (column, to) in right.iter().enumerate() {
            let change = corner + usize::from(from != *to);
            corner = row[column + 1];
            row[column + 1] = change.min(corner + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, hint, nearest, suggestion};

    #[test]
    fn distance_counts_letters() {
        for (left, right, expected) in
            [("shelf", "shelf", 0), ("shelf", "self", 1), ("book", "back", 2), ("", "abc", 3)]
        {
            assert_eq!(distance(left, right), expected);
        }
    }

    #[test]
    fn only_what_is_alike_is_suggested() {
        let names = ["pages", "title"];
        assert_eq!(nearest("Page", names.into_iter()), Some("pages"));
        assert_eq!(nearest("isbn", names.into_iter()), None);
    }

    #[test]
    fn a_suggestion_lists_what_there_is() {
        let all = ["v1", "v2"];
        assert_eq!(suggestion("version", "v3", all), "did you mean `v1`? the versions are v1, v2");
        assert_eq!(suggestion("version", "spring", all), "the versions are v1, v2");
    }

    #[test]
    fn an_unknown_key_is_told_the_known_one() {
        let message = "unknown field `opaqe`, expected one of `group`, `opaque`, `name`";
        assert!(hint(message).starts_with("did you mean `opaque`?"));
        assert_eq!(hint("expected `=`"), hint(""));
    }
}
