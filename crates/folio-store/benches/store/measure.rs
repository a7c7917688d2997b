//! Stopwatches and lines of output.

use std::time::{Duration, Instant};

/// Starts a stopwatch.
#[expect(clippy::disallowed_methods, reason = "measuring time is what a benchmark is for")]
pub(crate) fn start() -> Instant {
    Instant::now()
}

/// The middle of some durations.
pub(crate) fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort();
    durations[durations.len() / 2]
}

/// Prints one figure, and how it stands to its goal.
#[expect(clippy::print_stdout, reason = "a benchmark's output is its data")]
pub(crate) fn line(what: &str, figure: &str, goal: &str) {
    println!("{what:<58} {figure:>18}   {goal}");
}

/// A ratio and whether it reaches its goal.
pub(crate) fn at_least(ratio: f64, goal: f64) -> String {
    let met = if ratio >= goal { "met" } else { "MISSED" };
    format!("goal >= {goal:.1}: {met}")
}

/// A ratio and whether it stays under its goal.
pub(crate) fn at_most(ratio: f64, goal: f64) -> String {
    let met = if ratio <= goal { "met" } else { "MISSED" };
    format!("goal <= {goal:.1}: {met}")
}
