//! Counters as `OpenMetrics` text: what every version did, by app, function and version.

use std::fmt::Write as _;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use folio_core::measure::BUCKETS_US;
use folio_core::ports::runtime::RuntimeStatus;
use folio_core::serving::MeasuredVersion;
use serde_json::json;

use crate::openapi::Schemas;
use crate::operation::{Encode, Output};

const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A whole exposition.
pub(crate) struct Metrics(String);

/// A counter or gauge of every version: its name, what it says, its type, and how it is read.
type Family = (&'static str, &'static str, &'static str, fn(&MeasuredVersion) -> u64);

const FAMILIES: [Family; 5] = [
    ("folio_requests", "Answers given.", "counter", |version| version.measured.requests),
    ("folio_client_errors", "Answers with status 400 to 499.", "counter", |version| {
        version.measured.client_errors
    }),
    ("folio_server_errors", "Answers with status 500 or above.", "counter", |version| {
        version.measured.server_errors
    }),
    ("folio_cold_starts", "Workers made.", "counter", |version| version.measured.cold_starts),
    ("folio_active_requests", "Requests being answered.", "gauge", |version| {
        version.measured.active
    }),
];

impl Metrics {
    /// Writes counters down.
    pub(crate) fn new(versions: &[MeasuredVersion], runtime: &RuntimeStatus) -> Self {
        let mut text = String::new();
        for family in FAMILIES {
            write_family(&mut text, family, versions);
        }
        write_durations(&mut text, versions);
        write_runtime(&mut text, runtime);
        text.push_str("# EOF\n");
        Self(text)
    }
}

fn head(text: &mut String, (name, says, kind): (&str, &str, &str)) {
    text.push_str(&format!("# TYPE {name} {kind}\n# HELP {name} {says}\n"));
}

/// Names and ids hold nothing that would have to be escaped.
fn labels(version: &MeasuredVersion) -> String {
    format!(
        "app=\"{}\",function=\"{}\",version=\"{}\",environment=\"{}\"",
        version.app, version.function, version.version, version.environment
    )
}

fn write_family(text: &mut String, family: Family, versions: &[MeasuredVersion]) {
    let (name, says, kind, read) = family;
    head(text, (name, says, kind));
    let suffix = if kind == "counter" { "_total" } else { "" };
    for version in versions {
        text.push_str(&format!("{name}{suffix}{{{}}} {}\n", labels(version), read(version)));
    }
}

fn write_durations(text: &mut String, versions: &[MeasuredVersion]) {
    const NAME: &str = "folio_request_duration_seconds";
    head(text, (NAME, "Time until the answer began.", "histogram"));
    for version in versions {
        let (labels, measured) = (labels(version), &version.measured);
        let mut seen = 0;
        for (at, count) in measured.buckets.iter().enumerate() {
            seen += count;
            let bound = BUCKETS_US.get(at).map_or("+Inf".to_owned(), |&bound| seconds(bound));
            let row = format!("{NAME}_bucket{{{labels},le=\"{bound}\"}} {seen}\n");
            text.push_str(&row);
        }
        let sum = seconds(measured.total_us);
        text.push_str(&format!("{NAME}_sum{{{labels}}} {sum}\n{NAME}_count{{{labels}}} {seen}\n"));
    }
}

/// Microseconds as exact decimal seconds.
fn seconds(us: u64) -> String {
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}

fn write_runtime(text: &mut String, runtime: &RuntimeStatus) {
    head(text, ("folio_starts", "Requests by how they found a worker.", "counter"));
    let starts = [
        ("warm", runtime.warm_starts),
        ("cold", runtime.cold_starts),
        ("refused", runtime.refused_starts),
    ];
    for (kind, count) in starts {
        text.push_str(&format!("folio_starts_total{{kind=\"{kind}\"}} {count}\n"));
    }
    head(text, ("folio_workers", "Workers there are.", "gauge"));
    writeln!(text, "folio_workers {}", runtime.workers.len()).expect("a string takes all");
}

impl IntoResponse for Metrics {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, MEDIA_TYPE)], self.0).into_response()
    }
}

impl Encode for Metrics {
    fn describe(_: &mut Schemas) -> Vec<Output> {
        let content = json!({ "application/openmetrics-text": {} });
        vec![Output { status: 200, says: "The counters.", content, headers: &[] }]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use folio_core::measure::Meter;

    use super::*;

    #[test]
    fn every_version_has_its_counters_and_a_cumulative_histogram() {
        let meter = Meter::default();
        meter.record(200, Duration::from_micros(150));
        meter.record(503, Duration::from_secs(1));
        let version = MeasuredVersion {
            app: "default".parse().unwrap(),
            function: "hello".parse().unwrap(),
            version: "v1".to_owned(),
            environment: "nodejs".parse().unwrap(),
            measured: meter.read(),
        };
        let Metrics(text) = Metrics::new(&[version], &RuntimeStatus::default());
        let labels = "app=\"default\",function=\"hello\",version=\"v1\",environment=\"nodejs\"";
        for line in [
            format!("folio_requests_total{{{labels}}} 2"),
            format!("folio_server_errors_total{{{labels}}} 1"),
            format!("folio_request_duration_seconds_bucket{{{labels},le=\"0.000100\"}} 0"),
            format!("folio_request_duration_seconds_bucket{{{labels},le=\"0.000200\"}} 1"),
            format!("folio_request_duration_seconds_bucket{{{labels},le=\"+Inf\"}} 2"),
            format!("folio_request_duration_seconds_sum{{{labels}}} 1.000150"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}
