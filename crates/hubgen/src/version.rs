//! Names of API versions and the order they were made in.
//!
//! Dates (`2016-03-01`, `2016-03-01-preview`) order by date, a preview before the release of the
//! same day. Kubernetes names order as Kubernetes does: `v1alpha1 < v1beta1 < v1 < v2`. Anything
//! else orders by its text, after these. A name may be spelled with its API group, as in
//! `library.example/v1`; then groups order by their text, and versions within their group. Start
//! at [`Version::new`].

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The name of an API version, ordered by age.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Version {
    text: Arc<str>,
}

impl Version {
    /// Takes a version's name as its schema spells it.
    pub fn new(text: &str) -> Self {
        Self { text: text.into() }
    }

    /// The name as the schema spells it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the name holds only what a file's name may hold, and the slash after an API group.
    pub fn is_plain(&self) -> bool {
        let (group, version) = self.parts();
        let is_inside = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let is_word = |text: &str| !text.is_empty() && text.chars().all(is_inside);
        is_word(version) && (group.is_empty() || is_word(group))
    }

    /// Whether the version is a release: neither a preview nor an alpha or beta.
    pub fn is_stable(&self) -> bool {
        match key(self.parts().1) {
            Key::Kubernetes { stage, .. } => stage == STABLE,
            Key::Date { stable, .. } => stable,
            Key::Other => true,
        }
    }

    /// The name for a file: without the slash after an API group.
    pub fn file_stem(&self) -> String {
        self.text.replace('/', "_")
    }

    /// The Rust module of the version: `2016-03-01` becomes `v2016_03_01`.
    pub fn module(&self) -> String {
        let text = self.text.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
        let text = text.to_ascii_lowercase();
        let is_digit = |letter: char| letter.is_ascii_digit();
        if text.starts_with(is_digit) { format!("v{text}") } else { text }
    }

    /// Reads what [`Version::file_stem`] wrote. API groups and their versions hold no underscore.
    pub fn from_file_stem(stem: &str, spelling: Spelling) -> Self {
        match spelling {
            Spelling::Plain => Self::new(stem),
            Spelling::Qualified => Self::new(&stem.replacen('_', "/", 1)),
        }
    }

    /// The API group, empty if the name does not say it, and the rest.
    fn parts(&self) -> (&str, &str) {
        self.text.split_once('/').unwrap_or(("", &self.text))
    }
}

/// How a group of schemas spells its versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// `v1`.
    #[default]
    Plain,
    /// `library.example/v1`, where the schemas are of several API groups.
    Qualified,
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let ((group, version), (other_group, other_version)) = (self.parts(), other.parts());
        let by_group = group.cmp(other_group);
        let by_age = by_group.then_with(|| key(version).cmp(&key(other_version)));
        by_age.then_with(|| version.cmp(other_version))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The stage of `v1`; alpha and beta come before it.
const STABLE: u8 = 2;

/// What orders a version; the variants' order is part of it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Kubernetes { major: u64, stage: u8, step: u64 },
    Date { day: [u32; 3], stable: bool },
    Other,
}

fn key(text: &str) -> Key {
    kubernetes(text).or_else(|| date(text)).unwrap_or(Key::Other)
}

fn kubernetes(text: &str) -> Option<Key> {
    let rest = text.strip_prefix('v')?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let major = rest[..digits].parse().ok()?;
    let rest = &rest[digits..];
    let (stage, step) = match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
        (Some(step), _) => (0, step.parse().ok()?),
        (None, Some(step)) => (1, step.parse().ok()?),
        (None, None) if rest.is_empty() => (STABLE, 0),
        (None, None) => return None,
    };
    Some(Key::Kubernetes { major, stage, step })
}

fn date(text: &str) -> Option<Key> {
    let day = text.get(..10)?;
    let mut parts = day.split('-').map(|part| part.parse::<u32>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    match text.as_bytes().get(10) {
        None => Some(Key::Date { day: [year, month, day], stable: true }),
        Some(b'-') => Some(Key::Date { day: [year, month, day], stable: false }),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Spelling, Version};

    fn check(oldest_first: &[&str]) {
        let mut sorted: Vec<_> = oldest_first.iter().rev().map(|text| Version::new(text)).collect();
        sorted.sort();
        let sorted: Vec<_> = sorted.iter().map(Version::as_str).collect();
        assert_eq!(sorted, oldest_first);
    }

    #[test]
    fn kubernetes_names_order_by_major_then_stage() {
        check(&["v1alpha1", "v1alpha2", "v1beta1", "v1", "v2alpha1", "v2", "v10"]);
    }

    #[test]
    fn a_preview_comes_before_the_release_of_its_day() {
        check(&["2016-03-01", "2019-03-01-preview", "2019-03-01", "2019-06-01-preview"]);
    }

    #[test]
    fn names_with_their_group_order_within_it() {
        check(&["a.example/v2", "b.example/v1beta1", "b.example/v1", "b.example/v10"]);
    }

    #[test]
    fn a_name_with_its_group_can_name_a_file() {
        for (text, spelling) in [("v1", Spelling::Plain), ("a.example/v1", Spelling::Qualified)] {
            let version = Version::new(text);
            assert_eq!(Version::from_file_stem(&version.file_stem(), spelling), version);
        }
    }

    #[test]
    fn previews_alphas_and_betas_are_not_stable() {
        for (text, stable) in [
            ("v1", true),
            ("v1beta1", false),
            ("v2alpha3", false),
            ("2016-03-01", true),
            ("2016-03-01-preview", false),
            ("spring", true),
            ("a.example/v1beta1", false),
            ("a.example/v1", true),
        ] {
            assert_eq!(Version::new(text).is_stable(), stable, "{text}");
        }
    }
}
