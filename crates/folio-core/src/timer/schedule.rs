//! When a timer comes: cron expressions, and `@every`. Slots are a function of the expression and the slot
//! before, never of when somebody looks.

use std::collections::VecDeque;
use std::str::FromStr as _;

use croner::Cron;
use folio_model::{TimerSpec, Timestamp};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span};

/// How many missed slots are counted one by one.
const COUNTED_MAX: u64 = 10_000;

/// Why nobody can say when a timer comes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// No cron expression.
    #[error("`{text}` is no cron expression: {why}")]
    Cron {
        /// What was written.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A cron expression that names years.
    #[error("`{0}` has seven fields, and there is none for years")]
    Years(String),
    /// No duration after `@every`.
    #[error("`{0}` is no duration of a second or more")]
    Every(String),
    /// No time zone.
    #[error("there is no time zone `{0}` here")]
    Zone(String),
}

impl ScheduleError {
    /// What to write instead.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Cron { .. } | Self::Years(_) => {
                "write minute, hour, day, month and weekday, with seconds before them if need be: `*/5 * * * *`"
            }
            Self::Every(_) => "write `@every 30s`, `@every 5m` or `@every 1h30m`",
            Self::Zone(_) => "use a name such as `Europe/Berlin`, or leave it out for UTC",
        }
    }
}

/// When a timer comes.
#[derive(Debug, Clone)]
pub struct Schedule(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Cron(Box<Cron>, TimeZone),
    Every(SignedDuration),
}

/// The slots between two moments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slots {
    /// The newest, oldest first.
    pub(crate) newest: VecDeque<Timestamp>,
    /// Those before them.
    pub(super) older: Option<Range>,
}

/// Slots one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    /// How many there are, or how many were counted.
    pub(super) count: u64,
}

impl Range {
    /// Takes one more slot at the end.
    pub(super) fn with(range: Option<Self>, slot: Timestamp) -> Self {
        match range {
            Some(range) => Self { last: slot, count: range.count + 1, ..range },
            None => Self { first: slot, last: slot, count: 1 },
        }
    }
}

impl Schedule {
    /// Reads when a timer comes that is there already.
    pub fn of(timer: &TimerSpec) -> Result<Self, ScheduleError> {
        Self::stored(&timer.cron, timer.zone.as_deref())
    }

    /// Reads an expression, in a time zone or in UTC. It may name its zone itself: `CRON_TZ=Asia/Tokyo 0 6 * * *`.
    pub fn parse(text: &str, zone: Option<&str>) -> Result<Self, ScheduleError> {
        let is_zone = |field: &&str| field.starts_with("CRON_TZ=") || field.starts_with("TZ=");
        let fields: Vec<_> = text.split_whitespace().skip_while(is_zone).collect();
        match fields.as_slice() {
            [first, ..] if fields.len() == 7 && !first.starts_with('@') => {
                Err(ScheduleError::Years(text.trim().to_owned()))
            }
            _ => Self::stored(text, zone),
        }
    }

    /// As [`Self::parse`], for what was taken once: a year in it goes on to mean what it did.
    pub(crate) fn stored(text: &str, zone: Option<&str>) -> Result<Self, ScheduleError> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ=")) {
            let (zone, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            return Self::stored(rest, Some(zone));
        }
        if let Some(every) = text.strip_prefix("@every ") {
            return period(every.trim()).map(|period| Self(Kind::Every(period)));
        }
        let zone = match zone {
            None | Some("UTC") => TimeZone::UTC,
            Some(name) => TimeZone::get(name).map_err(|_| ScheduleError::Zone(name.to_owned()))?,
        };
        let written = if text.eq_ignore_ascii_case("@midnight") { "@daily" } else { text };
        let cron = Cron::from_str(written).map_err(|error| ScheduleError::Cron {
            text: text.to_owned(),
            why: error.to_string(),
        })?;
        Ok(Self(Kind::Cron(Box::new(cron), zone)))
    }

    /// The first slot after a moment, if there is one.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match &self.0 {
            Kind::Every(period) => after.checked_add(*period).ok(),
            Kind::Cron(cron, zone) => {
                let after = after.to_zoned(zone.clone());
                let next = cron.find_next_occurrence(&after, false).ok()?;
                Some(next.timestamp())
            }
        }
    }

    /// The slots after a moment, up to and with another. So many of the newest are told one by one.
    pub(crate) fn between(&self, after: Timestamp, until: Timestamp, keep: usize) -> Slots {
        let (mut newest, mut older) = (VecDeque::new(), None);
        let (mut at, mut counted) = (after, 0);
        while let Some(slot) = self.next(at).filter(|slot| *slot <= until) {
            counted += 1;
            let slot = if counted == COUNTED_MAX { self.last(slot, until) } else { slot };
            if newest.len() == keep
                && let Some(oldest) = newest.pop_front()
            {
                older = Some(Range::with(older, oldest));
            }
            newest.push_back(slot);
            at = slot;
        }
        Slots { newest, older }
    }

    /// The last slot up to a moment, at or after one that is a slot.
    fn last(&self, slot: Timestamp, until: Timestamp) -> Timestamp {
        match &self.0 {
            Kind::Every(period) => {
                let periods = until.duration_since(slot).as_secs() / period.as_secs();
                let whole = SignedDuration::from_secs(periods * period.as_secs());
                slot.checked_add(whole).unwrap_or(slot)
            }
            Kind::Cron(cron, zone) => {
                let until = until.to_zoned(zone.clone());
                let last = cron.find_previous_occurrence(&until, true);
                last.map_or(slot, |last| last.timestamp().max(slot))
            }
        }
    }
}

/// A duration as Go writes it, in whole seconds.
fn period(text: &str) -> Result<SignedDuration, ScheduleError> {
    let wrong = || ScheduleError::Every(text.to_owned());
    let span: Span = text.parse().map_err(|_| wrong())?;
    let period = SignedDuration::try_from(span).map_err(|_| wrong())?;
    let seconds = SignedDuration::from_secs(period.as_secs());
    if seconds.is_positive() { Ok(seconds) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn check(cron: &str, zone: Option<&str>, expected: [&str; 3]) {
        let schedule = Schedule::parse(cron, zone).unwrap();
        let mut slot = at("2026-03-28T12:00:00.5Z");
        let mut slots = Vec::new();
        for _ in 0..3 {
            slot = schedule.next(slot).unwrap();
            slots.push(slot.to_string());
        }
        assert_eq!(slots, expected, "{cron}");
    }

    #[test]
    fn expressions_come_when_they_say() {
        check(
            "*/5 * * * *",
            None,
            ["2026-03-28T12:05:00Z", "2026-03-28T12:10:00Z", "2026-03-28T12:15:00Z"],
        );
        check(
            "*/20 * * * * *",
            None,
            ["2026-03-28T12:00:20Z", "2026-03-28T12:00:40Z", "2026-03-28T12:01:00Z"],
        );
        check(
            "@hourly",
            None,
            ["2026-03-28T13:00:00Z", "2026-03-28T14:00:00Z", "2026-03-28T15:00:00Z"],
        );
        check(
            "@every 1h30m",
            None,
            ["2026-03-28T13:30:00.5Z", "2026-03-28T15:00:00.5Z", "2026-03-28T16:30:00.5Z"],
        );
    }

    #[test]
    fn a_zone_follows_its_clocks() {
        // Clocks go from 02:00 to 03:00 on the 29th.
        let expected = ["2026-03-29T04:00:00Z", "2026-03-30T04:00:00Z", "2026-03-31T04:00:00Z"];
        check("0 6 * * *", Some("Europe/Berlin"), expected);
        check("CRON_TZ=Europe/Berlin 0 6 * * *", None, expected);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let check = |cron: &str, zone: Option<&str>, expected: &str| {
            let error = Schedule::parse(cron, zone).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        check("often", None, "`often` is no cron expression");
        check("61 * * * *", None, "no cron expression");
        check("0 0 3 * * * 2027", None, "has seven fields, and there is none for years");
        Schedule::stored("0 0 3 * * * 2027", None).unwrap();
        Schedule::parse("@every 1 hour 30 minutes 10 seconds", None).unwrap();
        check("@every soon", None, "`soon` is no duration");
        check("@every 10ms", None, "`10ms` is no duration");
        check("* * * * *", Some("Mars/Base"), "no time zone `Mars/Base`");
        check("TZ=Mars/Base * * * * *", None, "no time zone `Mars/Base`");
    }

    #[test]
    fn slots_between_moments_are_counted() {
        let (after, until) = (at("2026-01-01T00:00:00Z"), at("2026-01-01T00:00:10Z"));
        let schedule = Schedule::parse("*/2 * * * * *", None).unwrap();
        let slots = schedule.between(after, until, 2);
        assert_eq!(slots.newest, [at("2026-01-01T00:00:08Z"), until]);
        let older =
            Range { first: at("2026-01-01T00:00:02Z"), last: at("2026-01-01T00:00:06Z"), count: 3 };
        assert_eq!(slots.older, Some(older));
        let nothing = Slots { newest: VecDeque::new(), older: None };
        assert_eq!(schedule.between(until, after, 2), nothing);
    }

    #[test]
    fn years_of_seconds_are_not_counted_one_by_one() {
        let (after, until) = (at("2026-01-01T00:00:00Z"), at("2036-01-01T00:00:00Z"));
        for cron in ["* * * * * *", "@every 1s"] {
            let slots = Schedule::parse(cron, None).unwrap().between(after, until, 1);
            assert_eq!(slots.newest, [until]);
            assert_eq!(slots.older.map(|older| older.count), Some(COUNTED_MAX - 1));
        }
    }
}
