//! Triggers: what starts functions. An HTTP route is one; its parts are parsed once, here. The others have files
//! of their own.

mod queue;
mod timer;
mod watch;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::snapshot::{Bag, SnapshotError, check_text};
use crate::{FULL_WEIGHT, Name, PathTemplate, Reference, VersionId};

pub use self::queue::QueueSpec;
pub use self::timer::{Misfire, TimerSpec};
pub use self::watch::WatchSpec;

/// What starts a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "trigger", rename_all = "lowercase")]
pub enum TriggerSpec {
    /// A request that arrives at the gateway.
    Http(RouteSpec),
    /// A moment that comes.
    Timer(TimerSpec),
    /// A message that arrives.
    Queue(QueueSpec),
    /// An object that changes.
    Watch(WatchSpec),
}

/// Which requests go to which function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteSpec {
    /// The host it answers to; all of the app's hosts if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The path it answers to.
    pub path: RoutePath,
    /// The methods it answers to, in capitals; all if empty.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub methods: BTreeSet<String>,
    /// Where requests go.
    pub targets: Vec<Target>,
    /// What keeps a client with one target, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Sticky>,
    /// What browsers on other sites may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cors: Option<Cors>,
    /// What a manifest says beyond this; folio keeps it and never reads it.
    #[serde(rename = "$bag", default, skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

/// The paths a route answers to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum RoutePath {
    /// The whole path, with `{name}` or `{name:regex}` for a segment. The function sees `/`.
    Exact(String),
    /// Everything at and below a path. The function sees the rest, or all of it if `keep` is set.
    #[serde(rename_all = "camelCase")]
    Prefix {
        /// The path, which `/` may end.
        path: String,
        /// Whether the function sees the prefix too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keep: bool,
    },
}

impl RoutePath {
    /// The path as written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Exact(path) | Self::Prefix { path, .. } => path,
        }
    }
}

/// A function that gets a share of the requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RouteTarget")]
pub struct Target {
    /// The function of this app, and which of its versions; unqualified means latest.
    pub function: Reference,
    /// Its share of 10,000.
    pub weight: u32,
}

/// What tells one client from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Sticky {
    /// The value of a header.
    Header(String),
    /// The value of a cookie; a client without one is given one.
    Cookie(String),
    /// The client's address.
    Address,
}

impl Sticky {
    /// The name it gives, if neither a header nor a cookie can have it.
    pub fn odd_name(&self) -> Option<&str> {
        let sign = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let is_token = |name: &str| !name.is_empty() && name.len() <= 128 && name.bytes().all(sign);
        match self {
            Self::Header(name) | Self::Cookie(name) if !is_token(name) => Some(name),
            Self::Header(_) | Self::Cookie(_) | Self::Address => None,
        }
    }
}

/// What browsers on other sites may do.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Cors {
    /// Origins that may call, or `*`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub allow_origins: BTreeSet<String>,
    /// Methods they may use; the route's if empty.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub allow_methods: BTreeSet<String>,
    /// Headers they may send, or `*`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub allow_headers: BTreeSet<String>,
    /// Headers they may read.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub expose_headers: BTreeSet<String>,
    /// Whether cookies come along.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_credentials: bool,
    /// How long a browser may remember the answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub max_age_seconds: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl TriggerSpec {
    /// The functions it names.
    pub fn targets(&self) -> &[Target] {
        match self {
            Self::Http(route) => &route.targets,
            Self::Timer(timer) => &timer.targets,
            Self::Queue(queue) => &queue.targets,
            Self::Watch(watch) => &watch.targets,
        }
    }

    /// The tag it names.
    pub fn tag(&self) -> Option<&VersionId> {
        match self {
            Self::Timer(timer) => timer.tag.as_ref(),
            Self::Http(_) | Self::Queue(_) | Self::Watch(_) => None,
        }
    }

    /// The word for it in commands and messages.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Http(_) => "route",
            Self::Timer(_) => "timer",
            Self::Queue(_) => "mqtrigger",
            Self::Watch(_) => "watch",
        }
    }

    pub(crate) fn validate(&self) -> Result<(), SnapshotError> {
        match self {
            Self::Http(route) => route.validate(),
            Self::Timer(timer) => timer.validate(),
            Self::Queue(queue) => queue.validate(),
            Self::Watch(watch) => watch.validate(),
        }
    }
}

impl RouteSpec {
    fn validate(&self) -> Result<(), SnapshotError> {
        check_text("the host", self.host.as_deref())?;
        let path = self.path.as_str();
        check_text("the path", Some(path))?;
        if let Err(why) = PathTemplate::parse(path) {
            return Err(SnapshotError::Path { path: path.to_owned(), why });
        }
        if path.split('/').any(|segment| segment == "..") {
            return Err(SnapshotError::Path { path: path.to_owned(), why: "must not hold `..`" });
        }
        if path.starts_with("/_folio/") {
            let why = "is below `/_folio/`, which belongs to folio itself";
            return Err(SnapshotError::Path { path: path.to_owned(), why });
        }
        self.methods.iter().try_for_each(|method| check_method(method))?;
        if let Some(name) = self.sticky.as_ref().and_then(Sticky::odd_name) {
            return Err(SnapshotError::Sticky(name.to_owned()));
        }
        check_targets(&self.targets)
    }
}

/// Refuses a word that is no method.
fn check_method(method: &str) -> Result<(), SnapshotError> {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"];
    if known.contains(&method) { Ok(()) } else { Err(SnapshotError::Method(method.to_owned())) }
}

/// Refuses a path that no request to a function can have.
fn check_path(path: &str) -> Result<(), SnapshotError> {
    check_text("the path", Some(path))?;
    let refused = |why| Err(SnapshotError::Path { path: path.to_owned(), why });
    if !path.starts_with('/') {
        return refused("must begin with `/`");
    }
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return refused("must be of ASCII characters without spaces");
    }
    Ok(())
}

/// Refuses shares that are no whole, and functions of other apps.
fn check_targets(targets: &[Target]) -> Result<(), SnapshotError> {
    let sum: u64 = targets.iter().map(|target| u64::from(target.weight)).sum();
    if sum != u64::from(FULL_WEIGHT) {
        return Err(SnapshotError::Weights(sum));
    }
    match targets.iter().find(|target| target.function.app.is_some()) {
        Some(target) => Err(SnapshotError::ForeignTarget(target.function.to_string())),
        None => Ok(()),
    }
}

/// The name of the function a target means, where it is written as a plain name.
impl Target {
    /// All requests to one function.
    pub fn only(function: Reference) -> Self {
        Self { function, weight: FULL_WEIGHT }
    }

    /// The function's name, if the reference is well formed.
    pub fn name(&self) -> Option<&Name> {
        match &self.function.name {
            crate::Subject::Name(name) => Some(name),
            crate::Subject::Joined(_) => None,
        }
    }
}
