//! How a function is run, as flags say it. Fission's spellings are understood where they mean the same.

use std::time::Duration;

use clap::{Args, ValueEnum};
use folio_core::request::Mounting;
use folio_model::{Access, RunSettings};

/// How a function is run.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Running")]
pub(crate) struct RunFlags {
    /// Set an environment variable; repeat it for more
    #[arg(short = 'e', long = "env-var", value_name = "KEY=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,
    /// Give each request at most this long, such as `30s`
    #[arg(long, value_name = "TIME", visible_aliases = ["fntimeout", "ft"], value_parser = time)]
    timeout: Option<Duration>,
    /// Give each worker at most this much memory, such as `256MiB`
    #[arg(long, value_name = "BYTES", visible_alias = "maxmemory", value_parser = bytes)]
    memory: Option<u64>,
    /// Give each worker at most this many thousandths of a processor
    #[arg(long, value_name = "MILLIS", visible_alias = "maxcpu")]
    cpu: Option<u32>,
    /// Give each worker at most this many requests at the same time
    #[arg(long, value_name = "NUMBER", visible_aliases = ["requestsperpod", "rpp"])]
    requests_at_once: Option<u32>,
    /// Keep a worker without requests for this long, such as `2m`
    #[arg(long, value_name = "TIME", visible_alias = "idletimeout", value_parser = time)]
    idle: Option<Duration>,
    /// Keep at least this many workers
    #[arg(long, value_name = "NUMBER")]
    minscale: Option<u32>,
    /// Start at most this many workers
    #[arg(long, value_name = "NUMBER")]
    maxscale: Option<u32>,
    /// Start at most this many workers, as Fission says it; `--maxscale` counts before it
    #[arg(long, value_name = "NUMBER", visible_alias = "con")]
    concurrency: Option<u32>,
    /// Replace a worker after so many requests; 1 gives each request a fresh one
    #[arg(long, value_name = "NUMBER")]
    requests_per_worker: Option<u32>,
    /// Give each request a fresh worker
    #[arg(long, visible_alias = "yolo", conflicts_with = "requests_per_worker")]
    onceonly: bool,
    /// Who may call it through the gateway: everybody, holders of a token, or other functions only
    #[arg(long, value_name = "WHO", value_enum)]
    access: Option<AccessName>,
}

/// Who may call a function through the gateway.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum AccessName {
    /// Everybody
    Public,
    /// Whoever has a token that allows to call functions of the app
    Token,
    /// Other functions and triggers of the app only
    Internal,
}

impl From<AccessName> for Access {
    fn from(name: AccessName) -> Self {
        match name {
            AccessName::Public => Self::Public,
            AccessName::Token => Self::Token,
            AccessName::Internal => Self::Internal,
        }
    }
}

/// What a function reads, in place of what it reads so far.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct MountFlags {
    /// Let it read this config, its files at PATH if one is given; repeat it for more
    #[arg(long, value_name = "NAME[:PATH]", visible_aliases = ["configmap", "cfgmap"], value_parser = mounting)]
    config: Vec<Mounting>,
    /// Let it read this secret, its files at PATH if one is given; repeat it for more
    #[arg(long, value_name = "NAME[:PATH]", value_parser = mounting)]
    secret: Vec<Mounting>,
    /// Let it read no configs
    #[arg(long, conflicts_with = "config")]
    no_config: bool,
    /// Let it read no secrets
    #[arg(long, conflicts_with = "secret")]
    no_secret: bool,
}

/// What was said of configs or secrets; nothing leaves them as they are.
type Mountings = Option<Vec<Mounting>>;

impl MountFlags {
    /// The configs and the secrets.
    pub(crate) fn mountings(self) -> (Mountings, Mountings) {
        let said = |named: Vec<Mounting>, none| (none || !named.is_empty()).then_some(named);
        (said(self.config, self.no_config), said(self.secret, self.no_secret))
    }
}

fn mounting(text: &str) -> Result<Mounting, String> {
    let (name, path) = match text.split_once(':') {
        Some((name, path)) => (name, Some(path.to_owned())),
        None => (text, None),
    };
    let name = name.parse().map_err(|error: folio_model::NameError| error.to_string())?;
    Ok(Mounting { name, mount_path: path })
}

impl RunFlags {
    /// What was said; the rest is left as it is.
    pub(crate) fn settings(self) -> RunSettings {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        RunSettings {
            variables: self.variables.into_iter().collect(),
            timeout_ms: self.timeout.map(ms),
            memory_bytes: self.memory,
            cpu_millis: self.cpu,
            concurrency: self.requests_at_once,
            idle_ms: self.idle.map(ms),
            scale_min: self.minscale,
            scale_max: self.maxscale.or(self.concurrency),
            requests_per_worker: self.requests_per_worker.or(self.onceonly.then_some(1)),
            access: self.access.map(Access::from),
        }
    }
}

fn variable(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A time; a bare number is seconds, as Fission has it.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    text.parse().map_or_else(|_| span(text), |seconds| Ok(Duration::from_secs(seconds)))
}

/// A time with its unit; days have 24 hours.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let days = text.strip_suffix('d').and_then(|days| days.trim().parse::<u64>().ok());
    let seconds = days.and_then(|days| days.checked_mul(24 * 60 * 60));
    let span = seconds.map(Duration::from_secs).or_else(|| {
        let time: jiff::SignedDuration = text.parse().ok()?;
        Duration::try_from(time).ok()
    });
    span.ok_or_else(|| format!("`{text}` is no time; write `500ms`, `30s`, `10m`, `1h30m` or `1d`"))
}

/// A number of bytes; a bare number is mebibytes, as Fission has it.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 6] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
    ];
    let found = UNITS.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)));
    let (number, factor) = found.unwrap_or((text, 1 << 20));
    let number: u64 = number.trim().parse().map_err(|_| format!("`{text}` is not a size"))?;
    number.checked_mul(factor).ok_or_else(|| format!("`{text}` is too large"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: RunFlags,
    }

    #[test]
    fn workers_and_the_requests_of_each_are_said_in_fissions_words_or_in_folios() {
        let check = |words: &str, workers: Option<u32>, requests: Option<u32>| {
            let line = Line::try_parse_from(format!("folio {words}").split_whitespace()).unwrap();
            let settings = line.run.settings();
            assert_eq!((settings.scale_max, settings.concurrency), (workers, requests), "{words}");
        };
        check("--concurrency 500 --rpp 5", Some(500), Some(5));
        check("--con 500 --requestsperpod 5", Some(500), Some(5));
        check("--concurrency 500", Some(500), None);
        check("--requests-at-once 5", None, Some(5));
        check("--maxscale 3 --requests-at-once 5", Some(3), Some(5));
        check("--maxscale 3 --concurrency 500", Some(3), None);
    }

    #[test]
    fn times_and_sizes_read_as_people_write_them() {
        assert_eq!(time("30"), Ok(Duration::from_secs(30)));
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(time("1d"), Ok(Duration::from_secs(24 * 60 * 60)));
        assert_eq!(span("1h30m"), Ok(Duration::from_secs(90 * 60)));
        for odd in ["-1s", "30", "d", "1.5d", "99999999999999999d", "soon", ""] {
            let error = span(odd).unwrap_err();
            assert!(error.contains("is no time; write"), "{odd}: {error}");
        }
        assert_eq!(bytes("128"), Ok(128 << 20));
        assert_eq!(bytes("64KiB"), Ok(64 << 10));
        assert_eq!(bytes("1Gi"), Ok(1 << 30));
        assert!(bytes("lots").is_err());
    }
}
