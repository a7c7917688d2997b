//! What may follow the `?`. Parameters nobody knows are refused, so that a misspelt one is noticed.

use std::num::NonZeroU64;

use folio_core::Folio;
use folio_core::trigger::TriggerType;
use folio_core::upload::Part;
use folio_model::{ExecutionStatus, Kind, Name, Number, Qualifier, Reference, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Compared, ReleaseName};

/// How many items a page has when nothing is said.
const PAGE_ITEMS: u64 = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CascadeQuery {
    /// Whether memberships in tags go along.
    #[serde(default)]
    pub(crate) cascade: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeploymentQuery {
    /// Only what this deployment owns.
    #[serde(default)]
    pub(crate) uid: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AfterQuery {
    /// Only versions with a larger number.
    #[serde(default)]
    pub(crate) after: u64,
    /// At most so many; the server may give fewer.
    pub(crate) limit: Option<NonZeroU64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BelowQuery {
    /// Only what has a smaller number.
    pub(crate) below: Option<Number>,
    /// At most so many; the server may give fewer.
    pub(crate) limit: Option<NonZeroU64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecutionQuery {
    /// Only those of this function.
    pub(crate) function: Option<Name>,
    /// Only those that are so far.
    pub(crate) status: Option<ExecutionStatus>,
    /// Only those with a smaller `seq`.
    pub(crate) below: Option<u64>,
    /// At most so many; the server may give fewer.
    pub(crate) limit: Option<NonZeroU64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DeletionQuery {
    /// The release that becomes live if the deleted one is.
    #[serde(default)]
    pub(crate) replace_with: Option<ReleaseName>,
    /// Whether the tags on it go too.
    #[serde(default)]
    pub(crate) untag: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TriggerQuery {
    /// Only those of this type.
    #[serde(rename = "type", default)]
    pub(crate) of: Option<TriggerType>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReferenceQuery {
    /// What to resolve, such as `hello@qa`.
    #[serde(rename = "ref")]
    pub(crate) reference: Reference,
    /// What it is a reference to.
    #[serde(default = "function")]
    pub(crate) kind: Kind,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiffQuery {
    /// What both are.
    #[serde(default = "function")]
    pub(crate) kind: Kind,
    /// The older side, such as `hello@1`.
    pub(crate) from: Reference,
    /// The newer side, such as `hello@2`.
    pub(crate) to: Reference,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimeQuery {
    /// The moment, as RFC 3339 writes it.
    pub(crate) time: Timestamp,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareQuery {
    /// The older app version: its id or number, `latest`, or the id or tag of a release of it, or `live`.
    pub(crate) from: Compared,
    /// The newer app version: its id or number, `latest`, or the id or tag of a release of it, or `live`.
    pub(crate) to: Compared,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartQuery {
    /// Which part; without it, what runs, or else what is built.
    pub(crate) part: Option<Part>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogQuery {
    /// Only lines after this place.
    #[serde(default)]
    pub(crate) after: u64,
    /// Only lines of this version: its number or id, an alias, `latest` or `draft`.
    #[schemars(with = "Option<String>")]
    pub(crate) version: Option<Qualifier>,
    /// Only lines of this request.
    pub(crate) request: Option<String>,
    /// Whether to wait for more, for as long as the client listens.
    #[serde(default)]
    pub(crate) follow: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BuildQuery {
    /// Only what was printed after this many bytes.
    #[serde(default)]
    pub(crate) after: u64,
    /// Whether to wait a while for something new.
    #[serde(default)]
    pub(crate) wait: bool,
}

fn function() -> Kind {
    Kind::Function
}

/// How many items to give: what was asked for, as far as allowed.
pub(crate) fn page_items(folio: &Folio, limit: Option<NonZeroU64>) -> usize {
    let asked = limit.map_or(PAGE_ITEMS, NonZeroU64::get);
    usize::try_from(asked.min(folio.limits().page_items_max)).unwrap_or(usize::MAX)
}
