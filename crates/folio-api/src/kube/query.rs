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
    /// The revision to watch from, or that a list is to have; none for now, with everything there is first.
    pub(crate) from: Option<u64>,
    /// Whether a list is of the very revision it names, and not of a newer one.
    pub(crate) exact: bool,
    pub(crate) bookmarks: bool,
    /// Whether a watch begins with everything there is, where that is said.
    pub(crate) initial_events: Option<bool>,
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
        let mut revision = Revision::default();
        for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = value.replace('+', " ");
            let value = percent_decode_str(&value).decode_utf8();
            let value = value.map_err(|_| Status::bad_request(format!("`{key}` is not UTF-8")))?;
            match key {
                "resourceVersion" => revision.text = value.into_owned(),
                "resourceVersionMatch" => revision.matching = value.into_owned(),
                _ => query.take(key, &value)?,
            }
        }
        query.from = self::revision(&revision.text)?.filter(|revision| *revision > 0);
        revision.check(&query)?;
        query.exact = revision.matching == EXACT;
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
            "allowWatchBookmarks" => self.bookmarks = flag()?,
            "sendInitialEvents" => self.initial_events = Some(flag()?),
            "timeoutSeconds" => self.timeout_seconds = Some(number()?),
            "dryRun" => self.dry_run = is_dry(value)?,
            "fieldManager" => self.manager = Some(manager(value)?).filter(|name| !name.is_empty()),
            "fieldValidation" => self.validation = Some(validation(value)?),
            "force" => self.force = flag()?,
            "includeObject" => self.whole_rows = value == "Object",
            "propagationPolicy" => {
                self.propagation = Some(value.to_owned()).filter(|policy| !policy.is_empty());
            }
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

const EXACT: &str = "Exact";
const NOT_OLDER: &str = "NotOlderThan";

/// What is said of the revision of a list or watch.
#[derive(Debug, Default)]
struct Revision {
    text: String,
    matching: String,
}

impl Revision {
    /// Refuses what makes no sense together, in the words of Kubernetes.
    fn check(&self, query: &Query) -> Result<(), Status> {
        let (matching, field) = (self.matching.as_str(), "resourceVersionMatch");
        let forbidden = |field: &str, what: &str| {
            Err(Status::invalid(field, format!("{field}: Forbidden: {what}")))
        };
        if query.initial_events.is_some() && !query.watch {
            let what = "sendInitialEvents is forbidden for list";
            return forbidden("sendInitialEvents", what);
        }
        let supported: &[&str] = if query.watch { &[NOT_OLDER] } else { &[EXACT, NOT_OLDER] };
        if !matching.is_empty() && !supported.contains(&matching) {
            let supported = supported.join("\", \"");
            let what = format!(
                "{field}: Unsupported value: \"{matching}\": supported values: \"{supported}\""
            );
            return Err(Status::invalid(field, what));
        }
        let why = match (matching, query.watch) {
            ("", true) if query.initial_events.is_some() => {
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            }
            ("", _) => "",
            (_, true) if query.initial_events.is_none() => {
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            }
            _ if query.continued.is_some() => {
                "resourceVersionMatch is forbidden when continue is provided"
            }
            (_, false) if self.text.is_empty() => {
                "resourceVersionMatch is forbidden unless resourceVersion is provided"
            }
            (EXACT, _) if query.from.is_none() => {
                "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\""
            }
            _ => "",
        };
        if !why.is_empty() {
            return forbidden(field, why);
        }
        if query.continued.is_some() && query.from.is_some() {
            let what = "specifying resource version is not allowed when using continue";
            return Err(Status::bad_request(what));
        }
        Ok(())
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
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
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
