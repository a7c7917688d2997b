//! Who may do what: the roles that tokens have, and where.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Actor, AppName, Digest, Timestamp};

/// What someone wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    /// Call functions.
    Invoke,
    /// See everything but secret values.
    View,
    /// Change units and move pointers.
    Deploy,
    /// Give tokens out; of the server also make apps, set plans and care for the store.
    Administer,
}

/// Who may call a function through the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Everybody.
    #[default]
    Public,
    /// Whoever has a token that allows to call functions of the app.
    Token,
    /// Nobody: only other functions, triggers and the control API.
    Internal,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Public => "public",
            Self::Token => "token",
            Self::Internal => "internal",
        })
    }
}

/// What the holder of a token may do.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything.
    #[default]
    Admin,
    /// See, call and change.
    Deployer,
    /// See.
    Viewer,
    /// Call.
    Invoker,
}

impl Role {
    /// Every role, the mightiest first.
    pub const ALL: [Self; 4] = [Self::Admin, Self::Deployer, Self::Viewer, Self::Invoker];

    /// Whether it has a right.
    pub fn has(self, right: Right) -> bool {
        match self {
            Self::Admin => true,
            Self::Deployer => right != Right::Administer,
            Self::Viewer => right == Right::View,
            Self::Invoker => right == Right::Invoke,
        }
    }

    /// The role as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Deployer => "deployer",
            Self::Viewer => "viewer",
            Self::Invoker => "invoker",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A role, and where it holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Grant {
    /// The role.
    #[serde(default)]
    pub role: Role,
    /// The only app it holds in; everywhere if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<AppName>,
}

impl Grant {
    /// Whether it allows something in an app; without one, for the server as a whole.
    pub fn allows(&self, right: Right, app: Option<&AppName>) -> bool {
        self.role.has(right) && (self.app.is_none() || self.app.as_ref() == app)
    }

    /// Whether it allows all that another does.
    pub fn covers(&self, other: &Self) -> bool {
        let rights = [Right::Invoke, Right::View, Right::Deploy, Right::Administer];
        let here = other.app.as_ref();
        rights.into_iter().all(|right| !other.role.has(right) || self.allows(right, here))
    }
}

/// A token as it is kept: everything but its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenRecord {
    /// The SHA-256 of its secret part.
    pub secret: Digest,
    /// Who it speaks for.
    pub actor: Actor,
    /// What they may do; of the first token nothing is said.
    #[serde(default, skip_serializing_if = "TokenTerms::is_default")]
    pub terms: TokenTerms,
}

/// What a token is good for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TokenTerms {
    /// What its holder may do.
    pub grant: Grant,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it ceases to be valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl TokenTerms {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(role: Role, app: Option<&str>) -> Grant {
        Grant { role, app: app.map(|app| app.parse().unwrap()) }
    }

    #[test]
    fn a_grant_for_one_app_allows_nothing_elsewhere() {
        let (shop, other) = ("shop".parse().unwrap(), "other".parse().unwrap());
        for role in Role::ALL {
            for right in [Right::Invoke, Right::View, Right::Deploy, Right::Administer] {
                let here = grant(role, Some("shop"));
                assert_eq!(here.allows(right, Some(&shop)), role.has(right));
                assert!(!here.allows(right, Some(&other)) && !here.allows(right, None));
                assert_eq!(grant(role, None).allows(right, None), role.has(right));
            }
        }
    }

    #[test]
    fn nobody_gives_out_more_than_they_have() {
        let admin = grant(Role::Admin, Some("shop"));
        assert!(admin.covers(&grant(Role::Deployer, Some("shop"))));
        assert!(!admin.covers(&grant(Role::Viewer, None)));
        assert!(!admin.covers(&grant(Role::Viewer, Some("other"))));
        assert!(!grant(Role::Deployer, None).covers(&grant(Role::Admin, Some("shop"))));
        assert!(grant(Role::Admin, None).covers(&grant(Role::Admin, None)));
    }
}
