//! Round trips: from a version through the hub and back, and from the hub through a version and
//! back over what is stored, as values and as JSON text. Nothing may differ.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::random::{Random, Sample};
use crate::hook::Hook;
use crate::spoke::Spoke;

/// Values tried for each round trip, if `HUB_ROUNDTRIPS` does not say otherwise.
const VALUES: u64 = 1_000;

/// A line in the table of a generated test: one version of one resource.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    name: &'static str,
    run: fn(&mut Random) -> Outcome,
    refusals: Refusals,
}

/// Whether a hub may hold what a version cannot express, such as a fraction for whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Refusals {
    Wrong,
    Expected,
}

/// What became of one random value.
enum Outcome {
    Same,
    Refused(String),
    Different(String),
}

impl RoundTrip {
    /// Round trips between a version `S` and its hub `H`.
    pub const fn of<S, H>(name: &'static str) -> Self
    where
        S: Spoke<H> + Sample + Clone + Debug + PartialEq + Serialize + DeserializeOwned,
        H: Sample + Clone + Debug + PartialEq + Serialize + DeserializeOwned,
    {
        Self { name, run: run::<S, H>, refusals: Refusals::Wrong }
    }

    /// Accepts that the version refuses some values of the hub; those it takes must come back.
    #[must_use]
    pub const fn partial(mut self) -> Self {
        self.refusals = Refusals::Expected;
        self
    }

    fn check(&self, values: u64, is_hooked: bool) {
        let Self { name, run, refusals } = self;
        let mut accepted = 0;
        for seed in 0..values {
            match run(&mut Random::new(seed)) {
                Outcome::Same => accepted += 1,
                Outcome::Refused(_) if is_hooked || *refusals == Refusals::Expected => {}
                Outcome::Refused(why) | Outcome::Different(why) => {
                    panic!("{name}: seed {seed}: {why}")
                }
            }
        }
        assert!(accepted > 0, "{name}: every value was refused, so nothing was tried");
    }
}

/// Tries every round trip with many values. Hand-written hooks may refuse values of the hub, so
/// where there is one, that is no mistake.
///
/// # Panics
/// Panics with the first value that comes back different, and the seed that made it.
pub fn check(round_trips: &[RoundTrip], hooks: &[Hook]) {
    let values = values();
    let is_hooked = hooks.iter().any(|hook| hook.is_implemented);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for first in 0..threads {
            let some = round_trips.iter().skip(first).step_by(threads);
            scope.spawn(move || some.for_each(|it| it.check(values, is_hooked)));
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "how long a test tries is the tester's choice")]
fn values() -> u64 {
    let text = std::env::var("HUB_ROUNDTRIPS").ok();
    text.map_or(VALUES, |text| text.parse().expect("HUB_ROUNDTRIPS is a number"))
}

fn run<S, H>(random: &mut Random) -> Outcome
where
    S: Spoke<H> + Sample + Clone + Debug + PartialEq + Serialize + DeserializeOwned,
    H: Sample + Clone + Debug + PartialEq + Serialize + DeserializeOwned,
{
    let there = from_spoke::<S, H>(random.value()).and_then(|()| from_hub::<S, H>(random.value()));
    there.err().unwrap_or(Outcome::Same)
}

fn from_spoke<S, H>(spoke: S) -> Result<(), Outcome>
where
    S: Spoke<H> + Clone + Debug + PartialEq + Serialize + DeserializeOwned,
    H: Clone + Debug + PartialEq + Serialize + DeserializeOwned,
{
    let failed = |error| Outcome::Different(format!("{error}\nin {spoke:#?}"));
    let hub = reread(&reread(&spoke)?.into_hub().map_err(failed)?)?;
    let back = reread(&S::from_hub(hub).map_err(failed)?)?;
    same("spoke to hub to spoke", &spoke, &back)?;
    // In between nothing is written, so that what was moved into a bag is moved out of it.
    let moved = spoke.clone().into_hub().and_then(S::from_hub).map_err(failed)?;
    same("spoke to hub to spoke in memory", &spoke, &moved)
}

fn from_hub<S, H>(stored: H) -> Result<(), Outcome>
where
    S: Spoke<H> + Clone + Debug + PartialEq + Serialize + DeserializeOwned,
    H: Clone + Debug + PartialEq + Serialize + DeserializeOwned,
{
    let refused = |error| Outcome::Refused(format!("{error}\nin {stored:#?}"));
    let failed = |error| Outcome::Different(format!("{error}\nin {stored:#?}"));
    let spoke = reread(&S::from_hub(reread(&stored)?).map_err(refused)?)?;
    let back = reread(&spoke.into_hub_over(stored.clone()).map_err(failed)?)?;
    same("hub to spoke to hub", &stored, &back)?;
    let spoke = S::from_hub(stored.clone()).map_err(refused)?;
    let moved = spoke.into_hub_over(stored.clone()).map_err(failed)?;
    same("hub to spoke to hub in memory", &stored, &moved)
}

/// Writes a value as text and reads it; both the value and a second text must be the same.
fn reread<T>(value: &T) -> Result<T, Outcome>
where
    T: Debug + PartialEq + Serialize + DeserializeOwned,
{
    let failed = |error| Outcome::Different(format!("JSON: {error}\nin {value:#?}"));
    let text = serde_json::to_string(value).map_err(failed)?;
    let read: T = serde_json::from_str(&text).map_err(failed)?;
    same("value to text to value", value, &read)?;
    same("text to value to text", &text, &serde_json::to_string(&read).map_err(failed)?)?;
    Ok(read)
}

fn same<T: Debug + PartialEq>(way: &str, before: &T, after: &T) -> Result<(), Outcome> {
    if before == after {
        return Ok(());
    }
    Err(Outcome::Different(format!("{way}: before {before:#?}\nafter {after:#?}")))
}
