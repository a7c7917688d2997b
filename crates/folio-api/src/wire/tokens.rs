//! Tokens as they are asked for and handed out.

use folio_core::token::TokenView;
use folio_model::{Actor, AppName, Grant, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::encode::Wire;

/// A token to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TokenRequest {
    /// Who it speaks for; their name in the ledger.
    pub(crate) actor: Actor,
    /// What they may do.
    pub(crate) role: Role,
    /// The only app they may do it in; everywhere if absent.
    #[serde(default)]
    pub(crate) app: Option<AppName>,
    /// How long it is valid; until it is revoked if absent.
    #[serde(default)]
    pub(crate) valid_for_seconds: Option<u64>,
}

/// A token that was made, with its secret, which is shown this once.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RevealedToken {
    /// The token to send as `Authorization: Bearer`.
    pub(crate) token: String,
    #[serde(flatten)]
    pub(crate) view: TokenView,
}

/// Who a token speaks for.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Myself {
    /// Their name in the ledger.
    pub(crate) actor: Actor,
    /// What they may do.
    #[serde(flatten)]
    pub(crate) grant: Grant,
}

impl Wire for RevealedToken {}
impl Wire for Myself {}
