//! What a query asks for. Unknown parameters are let pass, as clients of many versions send many.

use axum::http::HeaderMap;
use axum::http::header;
use percent_encoding::percent_decode_str;

use super::selector::{Fields, Labels};
use super::status::Status;

/// The parameters of a request.
#[expect(clippy::struct_excessive_bools, reason = "each is a parameter that a client may give")]
#[derive(Debug, Default)]
pub(crate) struct Query {
    pub(crate) labels: Labels,
    pub(crate) fields: Fields,
    pub(crate) limit: Option<usize>,
    pub(crate) continued: Option<String>,
    pub(crate) watch: bool,
    /// The revision to watch from; none for now, with everything there is first.
    pub(crate) from: Option<u64>,
    pub(crate) bookmarks: bool,
    pub(crate) initial_events: bool,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) dry_run: bool,
    pub(crate) manager: Option<String>,
    pub(crate) validation: Option<Validation>,
    pub(crate) force: bool,
    pub(crate) whole_rows: bool,
    pub(crate) propagation: Option<String>,
}

/// What becomes of fields that nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Validation {
    Strict,
    Warn,
    Ignore,
}

impl Query {
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Status> {
        let mut query = Self::default();
        for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = value.replace('+', " ");
            let value = percent_decode_str(&value).decode_utf8();
            let value = value.map_err(|_| Status::bad_request(format!("`{key}` is not UTF-8")))?;
            query.take(key, &value)?;
        }
        if query.initial_events && !query.watch {
            let what = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list";
            return Err(Status::invalid("sendInitialEvents", what));
        }
        Ok(query)
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), Status> {
        let flag = || match value {
            "" | "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(Status::bad_request(format!("`{key}={value}` is neither true nor false"))),
        };
        let number = || {
            let parsed = value.parse::<u64>();
            parsed.map_err(|_| Status::bad_request(format!("`{key}={value}` is not a number")))
        };
        let size = || number().map(|found| usize::try_from(found).unwrap_or(usize::MAX));
        match key {
            "labelSelector" => self.labels = Labels::parse(value)?,
            "fieldSelector" => self.fields = Fields::parse(value)?,
            "limit" => self.limit = Some(size()?).filter(|limit| *limit > 0),
            "continue" => self.continued = Some(value.to_owned()).filter(|text| !text.is_empty()),
            "watch" => self.watch = flag()?,
            "resourceVersion" => self.from = revision(value)?.filter(|revision| *revision > 0),
            "allowWatchBookmarks" => self.bookmarks = flag()?,
            "sendInitialEvents" => self.initial_events = flag()?,
            "timeoutSeconds" => self.timeout_seconds = Some(number()?),
            "dryRun" => self.dry_run = is_dry(value)?,
            "fieldManager" => self.manager = Some(manager(value)?).filter(|name| !name.is_empty()),
            "fieldValidation" => self.validation = Some(validation(value)?),
            "force" => self.force = flag()?,
            "includeObject" => self.whole_rows = value == "Object",
            "propagationPolicy" => self.propagation = Some(value.to_owned()),
            _ => {}
        }
        Ok(())
    }

    /// Who writes, as the client calls itself.
    pub(crate) fn manager(&self, headers: &HeaderMap) -> String {
        if let Some(manager) = &self.manager {
            return manager.clone();
        }
        let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        let name = agent.and_then(|agent| agent.split('/').next()).filter(|name| !name.is_empty());
        name.unwrap_or("unknown").chars().take(128).collect()
    }
}

/// A revision; none where it is empty.
pub(crate) fn revision(text: &str) -> Result<Option<u64>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = || {
        let what = format!("resourceVersion: Invalid value: \"{text}\": it is not a number");
        Status::invalid("resourceVersion", what)
    };
    text.parse().map(Some).map_err(|_| wrong())
}

/// Whether `dryRun` asks for one.
pub(crate) fn is_dry(value: &str) -> Result<bool, Status> {
    match value {
        "" => Ok(false),
        "All" => Ok(true),
        other => {
            let what = format!("dryRun: Unsupported value: \"{other}\": supported values: \"All\"");
            Err(Status::invalid("dryRun", what))
        }
    }
}

fn manager(value: &str) -> Result<String, Status> {
    let fits = value.len() <= 128 && value.chars().all(|c| !c.is_control());
    let what = "fieldManager: Invalid value: it is at most 128 printable characters";
    if fits { Ok(value.to_owned()) } else { Err(Status::invalid("fieldManager", what)) }
}

fn validation(value: &str) -> Result<Validation, Status> {
    match value {
        "Strict" => Ok(Validation::Strict),
        "" | "Warn" => Ok(Validation::Warn),
        "Ignore" => Ok(Validation::Ignore),
        other => {
            let what = format!(
                "fieldValidation: Unsupported value: \"{other}\": supported values: \"Ignore\", \"Strict\", \"Warn\""
            );
            Err(Status::invalid("fieldValidation", what))
        }
    }
}
