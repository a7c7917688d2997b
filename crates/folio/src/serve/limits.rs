//! Limits as flags: those of the core by the names the API shows them under, and those of everything else a server
//! runs. Start at [`apply`].

mod beyond;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result};
use folio_core::Limits;
use folio_gateway::GatewayLimits;
use serde_json::Value;

use crate::problem::Problem;

/// How much of what each function printed is kept in memory.
const LOG_BYTES_MAX: usize = 1024 * 1024;

/// One limit to set.
#[derive(Debug, Clone)]
pub(super) struct LimitFlag {
    name: String,
    value: u64,
}

impl FromStr for LimitFlag {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> Result<Self> {
        let (name, value) = text.split_once('=').context("write NAME=VALUE")?;
        let value = value.parse().with_context(|| format!("`{value}` is not a whole number"))?;
        Ok(Self { name: name.to_owned(), value })
    }
}

/// How much of everything there is on a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerLimits {
    /// What the core allows.
    pub(crate) core: Limits,
    /// What the gateway allows.
    pub(crate) gateway: GatewayLimits,
    /// How code is run and built. What is no limit in here is not looked at.
    pub(crate) running: folio_run::Settings,
    /// Bytes of what each function printed that are kept.
    pub(crate) log_bytes_max: usize,
}

impl ServerLimits {
    /// The defaults, and what is said of running code besides its limits.
    pub(crate) fn new(running: folio_run::Settings) -> Self {
        let (core, gateway) = (Limits::default(), GatewayLimits::default());
        Self { core, gateway, running, log_bytes_max: LOG_BYTES_MAX }
    }
}

/// The defaults with some of them replaced.
pub(super) fn apply(flags: &[LimitFlag], running: folio_run::Settings) -> Result<ServerLimits> {
    let mut limits = ServerLimits::new(running);
    let mut core = serde_json::to_value(limits.core)?;
    let fields = core.as_object_mut().context("limits are fields by name")?;
    for LimitFlag { name, value } in flags {
        if let Some(field) = fields.get_mut(name) {
            *field = Value::from(*value);
            continue;
        }
        let limit = beyond::LIMITS.iter().find(|limit| limit.name == name);
        let limit = limit.ok_or_else(|| {
            let others = beyond::LIMITS.iter().map(|limit| limit.name);
            let names: Vec<_> = fields.keys().map(String::as_str).chain(others).collect();
            let problem = Problem::usage(format!("there is no limit `{name}`"));
            problem.hint(format!("limits are {}", names.join(", ")))
        })?;
        limit.set(&mut limits, *value)?;
    }
    limits.core = serde_json::from_value(core)?;
    Ok(limits)
}

/// What `folio serve --help` says of the limits that the API does not show.
pub(super) fn help() -> String {
    let mut limits = defaults();
    let mut text =
        "Limits with their defaults, besides those that `GET /folio/v1` shows:\n".to_owned();
    let width = beyond::LIMITS.iter().map(|limit| limit.name.len()).max().unwrap_or_default();
    for limit in beyond::LIMITS {
        let (name, value, about) = (limit.name, limit.get(&mut limits), limit.about);
        writeln!(text, "  {name:width$}  {value:>10}  {about}").expect("a string takes everything");
    }
    text
}

/// The defaults, where nothing is to be run.
fn defaults() -> ServerLimits {
    ServerLimits::new(folio_run::Settings::new(PathBuf::new(), PathBuf::new()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Every limit with its default, the core's first.
    fn all() -> Vec<(String, u64)> {
        let core = serde_json::to_value(Limits::default()).unwrap();
        let core = core.as_object().unwrap().clone().into_iter();
        let core = core.map(|(name, value)| (name, value.as_u64().unwrap()));
        let mut limits = defaults();
        let beyond = beyond::LIMITS.iter();
        core.chain(beyond.map(|limit| (limit.name.to_owned(), limit.get(&mut limits)))).collect()
    }

    fn set(flags: &[&str]) -> Result<ServerLimits> {
        let flags: Vec<_> = flags.iter().map(|flag| flag.parse().unwrap()).collect();
        apply(&flags, defaults().running)
    }

    /// What an operator is told about a flag: what is wrong, and what to do.
    fn check(flag: &str, problem: &str, hint: &str) {
        let error = set(&[flag]).unwrap_err();
        assert_eq!(error.to_string(), problem);
        let problem = error.downcast::<Problem>().unwrap();
        assert!(
            problem.exit == 2 && problem.hint.as_deref().unwrap().contains(hint),
            "{problem:?}"
        );
    }

    #[test]
    fn every_limit_of_the_core_can_be_set_by_its_name() {
        let names = serde_json::to_value(Limits::default()).unwrap();
        for name in names.as_object().unwrap().keys() {
            let limits = set(&[&format!("{name}=7")]).unwrap();
            assert_eq!(serde_json::to_value(limits.core).unwrap()[name], 7, "{name}");
        }
    }

    #[test]
    fn every_other_limit_can_be_set_by_its_name_and_no_other_changes() {
        let before = all();
        for (at, limit) in beyond::LIMITS.iter().enumerate() {
            let value = limit.get(&mut defaults()) / 2;
            let mut limits = set(&[&format!("{}={value}", limit.name)]).unwrap();
            for (other, limit) in beyond::LIMITS.iter().enumerate() {
                let found = before.iter().find(|(name, _)| name == limit.name).unwrap().1;
                let expected = if at == other { value } else { found };
                assert_eq!(limit.get(&mut limits), expected, "{}", limit.name);
            }
        }
    }

    #[test]
    fn limits_reach_whom_they_are_for() {
        let flags =
            ["requestBodyBytesMax=5", "idleTimeoutMs=1500", "workersMax=3", "buildTimeoutMs=9"];
        let ServerLimits { gateway, running, .. } = set(&flags).unwrap();
        assert_eq!((gateway.body_bytes_max, running.workers_max), (5, 3));
        assert_eq!(gateway.idle_timeout, Duration::from_millis(1500));
        assert_eq!(running.build.timeout, Duration::from_millis(9));
    }

    #[test]
    fn an_unknown_limit_is_refused_with_the_names_there_are() {
        check("x=1", "there is no limit `x`", "contentFilesMax");
        check("x=1", "there is no limit `x`", "requestBodyBytesMax");
    }

    #[test]
    fn a_limit_with_which_nothing_would_work_is_refused() {
        check("connectionsMax=0", "limit `connectionsMax` cannot be 0", "from 1 to 4294967295");
        check("headersMax=1000", "limit `headersMax` cannot be 1000", "from 1 to 256");
        check("workersMax=5000000000", "limit `workersMax` cannot be 5000000000", "from 1 to");
        check("idleTimeoutMs=0", "limit `idleTimeoutMs` cannot be 0", "from 1 to");
    }

    #[test]
    fn help_has_a_line_for_each_limit_that_the_api_does_not_show() {
        let help = help();
        assert_eq!(help.lines().count(), beyond::LIMITS.len() + 1, "{help}");
        assert!(help.lines().all(|line| line.len() <= 100), "{help}");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["x", "x=", "x=-1", "x=1.5", "x=1k"] {
            assert!(text.parse::<LimitFlag>().is_err(), "{text}");
        }
    }

    #[test]
    fn no_two_limits_have_one_name_and_all_are_documented_with_their_defaults() {
        let page = include_str!("../../../../docs/limits.md");
        let mut names: Vec<_> = all().into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        let row =
            |(name, value): &(String, u64)| format!("| `{name}` | {} |", spoken(name, *value));
        let missing: Vec<_> = all().iter().map(row).filter(|row| !page.contains(row)).collect();
        assert!(missing.is_empty(), "docs/limits.md lacks\n{}", missing.join("\n"));
    }

    /// A default as people write it.
    fn spoken(name: &str, value: u64) -> String {
        const TIMES: &[(u64, &str)] =
            &[(86_400_000, "days"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")];
        const SIZES: &[(u64, &str)] =
            &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")];
        let units = match name {
            _ if name.contains("Ms") => TIMES,
            _ if name.contains("Bytes") => SIZES,
            _ => &[(1, "")],
        };
        let (size, unit) = units.iter().find(|(size, _)| value.is_multiple_of(*size)).unwrap();
        format!("{} {unit}", value / size).trim_end().to_owned()
    }
}
