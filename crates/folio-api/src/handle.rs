//! What runs for each operation: decode, one verb, encode. Modules are named after what they are about.

pub(crate) mod aliases;
pub(crate) mod apps;
pub(crate) mod archives;
pub(crate) mod bindings;
pub(crate) mod bundles;
pub(crate) mod canaries;
pub(crate) mod configs;
pub(crate) mod deployments;
pub(crate) mod domains;
pub(crate) mod environments;
pub(crate) mod executions;
pub(crate) mod history;
pub(crate) mod releases;
pub(crate) mod rollouts;
pub(crate) mod routes;
pub(crate) mod running;
pub(crate) mod secrets;
pub(crate) mod service;
pub(crate) mod statics;
pub(crate) mod storage;
pub(crate) mod tags;
pub(crate) mod tokens;
pub(crate) mod triggers;
pub(crate) mod units;
pub(crate) mod versions;

use crate::failure::Failure;

/// What a handler gives.
type Outcome<T> = Result<T, Failure>;
