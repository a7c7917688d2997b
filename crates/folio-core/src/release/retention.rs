//! Decides which releases can no longer be reached, and why. Only values go in: the same releases, rules and moment
//! always give the same answer, so a dry run says what a run would do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use folio_model::{Digest, ReleaseId, Retention, Timestamp};
use jiff::tz::TimeZone;

use super::{Standing, aside};
use crate::ports::StandingRelease;

/// The files that each release holds, by digest, with their bytes.
pub(crate) type Sizes = BTreeMap<ReleaseId, BTreeMap<Digest, u64>>;

/// What becomes of a release.
#[derive(Debug, Clone)]
pub(super) struct Fate {
    pub(super) found: StandingRelease,
    /// What keeps it, whatever the plan says.
    pub(super) kept_by: Vec<String>,
    /// The rules that keep it as long as there is room.
    pub(super) rules: Vec<String>,
    /// Why it expires, if it does.
    pub(super) expires: Option<String>,
}

impl Fate {
    /// Whether it may expire where there are too many.
    fn is_free(&self) -> bool {
        self.expires.is_none() && self.kept_by.is_empty() && !self.found.release.aside
    }
}

/// What becomes of every release that can be reached, oldest first.
pub(super) fn judge(standing: &Standing, now: Timestamp, sizes: Option<&Sizes>) -> Vec<Fate> {
    let mut fates: Vec<Fate> = standing
        .accessible
        .iter()
        .map(|found| {
            let mut kept_by = standing.protectors(&found.id);
            kept_by.extend(stayed_with(standing, &found.id, now));
            let expires = forsaken(found, now);
            Fate { found: found.clone(), kept_by, rules: Vec::new(), expires }
        })
        .collect();
    let retention = &standing.plan.policy.retention;
    if retention.chooses() {
        let mut chosen = chosen(&standing.accessible, retention, now);
        for fate in fates.iter_mut().filter(|fate| !fate.found.release.aside) {
            fate.rules = chosen.remove(&fate.found.id).unwrap_or_default();
            if fate.kept_by.is_empty() && fate.rules.is_empty() {
                fate.expires = Some("no rule of the app keeps it".to_owned());
            }
        }
    }
    if let (Some(budget), Some(sizes)) = (retention.bytes, sizes) {
        within(&mut fates, budget, sizes);
    }
    let limit = standing.plan.releases as usize;
    let counts = |fate: &&Fate| fate.expires.is_none() && !fate.found.release.aside;
    let stay = fates.iter().filter(counts).count();
    let free = fates.iter_mut().filter(|fate| fate.is_free());
    for fate in free.take(stay.saturating_sub(limit)) {
        fate.expires = Some(format!("the plan allows {limit}"));
    }
    fates
}

/// Why a release aside goes: it was not renewed for long, so whoever made it is most likely gone.
fn forsaken(found: &StandingRelease, now: Timestamp) -> Option<String> {
    let age = Duration::try_from(now.duration_since(found.release.created_at)).unwrap_or_default();
    let gone = found.release.aside && age > aside::AGE_MAX;
    gone.then(|| "it stands aside, and was not renewed for a day".to_owned())
}

/// Clients that began with a release stay with it for a while after it was live.
fn stayed_with(standing: &Standing, release: &ReleaseId, now: Timestamp) -> Option<String> {
    let skew = standing.plan.policy.skew.as_ref()?;
    let until = standing.lately.get(release)?;
    let ago = Duration::try_from(now.duration_since(*until)).unwrap_or_default();
    (ago < Duration::from_secs(skew.max_age_s)).then(|| "clients stay with it".to_owned())
}

/// The releases that the rules keep, with those rules.
fn chosen(
    accessible: &[StandingRelease],
    retention: &Retention,
    now: Timestamp,
) -> BTreeMap<ReleaseId, Vec<String>> {
    let mut chosen = BTreeMap::new();
    let (mut days, mut weeks) = (BTreeSet::new(), BTreeSet::new());
    let public = accessible.iter().rev().filter(|found| !found.release.aside);
    for (rank, StandingRelease { id, release }) in public.enumerate() {
        let age = Duration::try_from(now.duration_since(release.created_at)).unwrap_or_default();
        let date = release.created_at.to_zoned(TimeZone::UTC).date();
        let week = date.iso_week_date();
        // The newest comes first, so it is the last one of its day and week.
        let of_day = days.insert(date) && within_count(days.len(), retention.daily);
        let of_week =
            weeks.insert((week.year(), week.week())) && within_count(weeks.len(), retention.weekly);
        let newest = within_count(rank + 1, retention.newest);
        let young = retention.age_s.is_some_and(|most| age <= Duration::from_secs(most));
        let rules = [(newest, "newest"), (young, "age"), (of_day, "daily"), (of_week, "weekly")];
        let rules = rules.into_iter().filter(|(keeps, _)| *keeps);
        chosen.insert(id.clone(), rules.map(|(_, rule)| rule.to_owned()).collect());
    }
    chosen
}

fn within_count(count: usize, most: Option<u32>) -> bool {
    most.is_some_and(|most| count <= most as usize)
}

/// Has the oldest that are free expire until the others hold no more than a budget of bytes.
fn within(fates: &mut [Fate], budget: u64, sizes: &Sizes) {
    let held = |fate: &Fate| sizes.get(&fate.found.id).into_iter().flatten();
    let (mut holders, mut bytes) = (BTreeMap::<&Digest, usize>::new(), 0);
    for (digest, size) in fates.iter().filter(|fate| fate.expires.is_none()).flat_map(held) {
        let count = holders.entry(digest).or_default();
        bytes += if *count == 0 { *size } else { 0 };
        *count += 1;
    }
    while bytes > budget {
        let Some(oldest) = fates.iter_mut().find(|fate| fate.is_free()) else { return };
        oldest.expires = Some(format!("all together hold {bytes} bytes, more than {budget}"));
        for (digest, size) in held(oldest) {
            let count = holders.get_mut(digest).expect("everything held was counted");
            *count -= 1;
            bytes -= if *count == 0 { *size } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use folio_model::{AppPlan, Release, ReleasePolicy, ReleaseState};

    use super::*;

    fn standing(made: &[(&str, &str)], retention: Retention) -> Standing {
        let release = |(id, at): &(&str, &str)| StandingRelease {
            id: id.parse().unwrap(),
            release: Release {
                app_version: "v1".parse().unwrap(),
                entry: 1,
                created_at: at.parse().unwrap(),
                state: ReleaseState::Accessible,
                ended_at: None,
                aside: false,
            },
        };
        let policy = ReleasePolicy { retention, ..ReleasePolicy::default() };
        Standing {
            accessible: made.iter().map(release).collect(),
            tags: Vec::new(),
            live: None,
            plan: AppPlan { releases: 100, tagged: 10, policy },
            lately: BTreeMap::new(),
        }
    }

    const MADE: [(&str, &str); 7] = [
        ("a1", "2026-01-01T08:00:00Z"),
        ("a2", "2026-01-01T20:00:00Z"),
        ("b1", "2026-01-06T08:00:00Z"),
        ("b2", "2026-01-07T08:00:00Z"),
        ("c1", "2026-01-12T08:00:00Z"),
        ("c2", "2026-01-12T09:00:00Z"),
        ("c3", "2026-01-13T08:00:00Z"),
    ];

    fn kept(standing: &Standing, sizes: Option<&Sizes>) -> Vec<String> {
        let now = "2026-01-13T12:00:00Z".parse().unwrap();
        let fates = judge(standing, now, sizes).into_iter();
        let kept = fates.filter(|fate| fate.expires.is_none());
        kept.map(|fate| fate.found.id.to_string()).collect()
    }

    fn check(retention: Retention, expected: &[&str]) {
        assert_eq!(kept(&standing(&MADE, retention), None), expected);
    }

    #[test]
    fn without_rules_everything_stays() {
        check(Retention::default(), &["a1", "a2", "b1", "b2", "c1", "c2", "c3"]);
    }

    #[test]
    fn each_rule_keeps_its_own_and_together_they_keep_all_of_them() {
        let none = Retention::default();
        check(Retention { newest: Some(2), ..none }, &["c2", "c3"]);
        check(Retention { age_s: Some(2 * 86_400), ..none }, &["c1", "c2", "c3"]);
        check(Retention { daily: Some(3), ..none }, &["b2", "c2", "c3"]);
        check(Retention { weekly: Some(2), ..none }, &["b2", "c3"]);
        check(Retention { weekly: Some(9), newest: Some(2), ..none }, &["a2", "b2", "c2", "c3"]);
        check(Retention { newest: Some(0), ..none }, &["c3"]);
    }

    #[test]
    fn the_budget_of_bytes_takes_the_oldest_and_counts_what_is_shared_once() {
        let retention = Retention { bytes: Some(100), ..Retention::default() };
        let mut standing = standing(&MADE, retention);
        standing.tags = vec![("beta".parse().unwrap(), "a1".parse().unwrap())];
        let held = |own: &str, bytes: u64| {
            BTreeMap::from([(Digest::of(own.as_bytes()), bytes), (Digest::of(b"shared"), 40)])
        };
        let sizes: Sizes = MADE.iter().map(|(id, _)| (id.parse().unwrap(), held(id, 20))).collect();
        assert_eq!(kept(&standing, Some(&sizes)), ["a1", "c2", "c3"]);
    }

    #[test]
    fn what_is_kept_by_hand_tagged_live_or_stayed_with_never_expires() {
        let mut standing = standing(&MADE, Retention { newest: Some(1), ..Retention::default() });
        let at = |text: &str| text.parse::<ReleaseId>().unwrap();
        standing.tags = vec![(at("beta"), at("a1"))];
        standing.plan.policy.kept = BTreeSet::from([at("a2")]);
        standing.plan.policy.skew = Some(folio_model::Skew { max_age_s: 3_600, oldest: None });
        let ended = |text: &str| text.parse().unwrap();
        standing.lately = BTreeMap::from([
            (at("c1"), ended("2026-01-13T11:30:00Z")),
            (at("b1"), ended("2026-01-13T10:30:00Z")),
        ]);
        assert_eq!(kept(&standing, None), ["a1", "a2", "c1", "c3"]);
    }

    #[test]
    fn releases_aside_are_not_counted_and_go_when_they_are_not_renewed() {
        let mut standing = standing(&MADE, Retention { newest: Some(2), ..Retention::default() });
        for (at, tag) in [(3, "dev-old"), (6, "dev-new")] {
            standing.accessible[at].release.aside = true;
            let release = standing.accessible[at].id.clone();
            standing.tags.push((tag.parse().unwrap(), release));
        }
        assert_eq!(standing.latest().map(ReleaseId::as_str), Some("c2"));
        assert_eq!(kept(&standing, None), ["c1", "c2", "c3"]);
        standing.plan.releases = 1;
        assert_eq!(kept(&standing, None), ["c2", "c3"], "the plan does not count it");
    }
}
