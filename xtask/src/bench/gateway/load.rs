//! Load from `wrk`: 64 connections for a few seconds. A reading with a single failed request is an error.

use anyhow::{Context as _, Result, bail};

use crate::run::{self, Program};

/// What one round gave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) rate: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

/// Warms a server up, then measures it.
pub(crate) fn measure(url: &str) -> Result<Reading> {
    wrk(url, "1s")?;
    read(&wrk(url, "4s")?).with_context(|| format!("measuring {url}"))
}

fn wrk(url: &str, time: &str) -> Result<String> {
    let arguments = ["--threads", "1", "--connections", "64", "--duration", time, "--latency", url];
    run::output(&Program::new("wrk", &arguments))
}

/// Reads what wrk prints.
fn read(text: &str) -> Result<Reading> {
    let after = |label: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(label));
        line.map(str::trim).with_context(|| format!("wrk said no `{label}`:\n{text}"))
    };
    if let Some(bad) = text.lines().find(|line| line.contains("Non-2xx") || line.contains("errors"))
    {
        bail!("not every request was answered: {}", bad.trim());
    }
    Ok(Reading {
        rate: after("Requests/sec:")?.parse()?,
        p50_ms: milliseconds(after("50%")?)?,
        p99_ms: milliseconds(after("99%")?)?,
    })
}

fn milliseconds(text: &str) -> Result<f64> {
    let units = [("us", 0.001), ("ms", 1.0), ("s", 1000.0)];
    let found = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = found.with_context(|| format!("`{text}` is not a time"))?;
    Ok(number.parse::<f64>()? * factor)
}

/// The reading with the median rate.
pub(crate) fn median(readings: &[Reading]) -> Reading {
    let mut sorted = readings.to_vec();
    sorted.sort_by(|one, other| one.rate.total_cmp(&other.rate));
    sorted[sorted.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str =
        "  Latency Distribution\n     50%  411.00us\n     99%    2.10ms\nRequests/sec:  93900.12\n";

    #[test]
    fn what_wrk_prints_is_understood() {
        let reading = read(SAID).unwrap();
        assert!((reading.rate - 93_900.12).abs() < 0.001);
        assert!((reading.p50_ms - 0.411).abs() < 0.001);
        assert!((reading.p99_ms - 2.1).abs() < 0.001);
    }

    #[test]
    fn a_failed_request_spoils_a_reading() {
        let spoilt = format!("{SAID}  Non-2xx or 3xx responses: 1\n");
        assert!(read(&spoilt).is_err());
    }
}
