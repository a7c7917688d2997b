//! Names of API versions and the order they were made in.
//!
//! Dates (`2016-03-01`, `2016-03-01-preview`) order by date, a preview before the release of the
//! same day. Kubernetes names order as Kubernetes does: `v1alpha1 < v1beta1 < v1 < v2`. Anything
//! else orders by its text, after these. Start at [`Version::new`].

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

    /// Whether the version is a release: neither a preview nor an alpha or beta.
    pub fn is_stable(&self) -> bool {
        match key(&self.text) {
            Key::Kubernetes { stage, .. } => stage == STABLE,
            Key::Date { stable, .. } => stable,
            Key::Other => true,
        }
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        key(&self.text).cmp(&key(&other.text)).then_with(|| self.text.cmp(&other.text))
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
    use super::Version;

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
    fn previews_alphas_and_betas_are_not_stable() {
        for (text, stable) in [
            ("v1", true),
            ("v1beta1", false),
            ("v2alpha3", false),
            ("2016-03-01", true),
            ("2016-03-01-preview", false),
            ("spring", true),
        ] {
            assert_eq!(Version::new(text).is_stable(), stable, "{text}");
        }
    }
}
