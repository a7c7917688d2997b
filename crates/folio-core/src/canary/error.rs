//! Why a canary was not started, changed or found.

use folio_model::{CanaryPlanError, Name, Number, Reference};

use crate::ports::StoreError;
use crate::{Class, Code, Explain, Referrer, folio, release, resolve};

/// Why a canary was not started, changed or found.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such canary.
    #[error("canary `{name}` does not exist")]
    NotFound {
        /// The name.
        name: Name,
        /// The nearest that exists.
        near: Option<String>,
    },
    /// It runs already.
    #[error("canary `{0}` is running already")]
    Exists(Name),
    /// It ended.
    #[error("canary `{0}` has ended, and ended canaries do not change")]
    Ended(Name),
    /// It moved since the caller looked.
    #[error("canary `{name}` is at revision {found}, not {expected}")]
    Stale {
        /// The name.
        name: Name,
        /// What the caller saw.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// Nothing, or too much, says what it moves.
    #[error("a canary moves the shares of one route or of one alias")]
    NoSubject,
    /// A trigger that is no route.
    #[error("`{0}` is a trigger, but no route")]
    NotARoute(Name),
    /// A reference that is no alias.
    #[error("`{0}` is not an alias of a function")]
    NotAnAlias(Reference),
    /// A function that the route does not lead to.
    #[error("route `{route}` does not lead to `{function}`")]
    NotATarget {
        /// The route.
        route: Name,
        /// The function.
        function: Reference,
    },
    /// A reference that is not one version of the alias's function.
    #[error("`{reference}` is not one version of function `{function}`")]
    NotAVersion {
        /// The function.
        function: Name,
        /// The reference.
        reference: Reference,
    },
    /// The alias has a share elsewhere.
    #[error("alias `{alias}` also points to version {number}")]
    AliasElsewhere {
        /// The alias.
        alias: Reference,
        /// The version.
        number: Number,
    },
    /// What it starts from could be several.
    #[error("what the canary replaces is not clear")]
    WhichOld,
    /// Old and new are one.
    #[error("`{0}` cannot replace itself")]
    Same(String),
    /// A name that is the rollout's.
    #[error("`{0}` is what the rollout of a release is called")]
    Reserved(Name),
    /// There is no rollout.
    #[error("no rollout is running in app `{0}`")]
    NoRollout(folio_model::AppName),
    /// It is not at a point where that can be said.
    #[error("the rollout is {is}, so it cannot be {wanted}")]
    NotNow {
        /// What it is.
        is: &'static str,
        /// What was asked for.
        wanted: &'static str,
    },
    /// The releases it is about are not as they would have to be.
    #[error(transparent)]
    Release(Box<release::Error>),
    /// Another canary moves the same.
    #[error("canary `{other}` is moving the same shares")]
    Busy {
        /// The other canary.
        other: Name,
    },
    /// It cannot go about it that way.
    #[error(transparent)]
    Plan(#[from] CanaryPlanError),
    /// A name leads nowhere.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

impl From<release::Error> for Error {
    fn from(error: release::Error) -> Self {
        Self::Release(Box::new(error))
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Folio(error.into())
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } => Code("canary_not_found"),
            Self::Exists(_) | Self::Busy { .. } => Code("canary_running"),
            Self::Ended(_) => Code("canary_ended"),
            Self::NotNow { .. } => Code("rollout_not_now"),
            Self::NoRollout(_) => Code("canary_not_found"),
            Self::Release(error) => error.code(),
            Self::Stale { .. } => Code("stale"),
            Self::NotARoute(_) => Code("other_trigger"),
            Self::NoSubject
            | Self::Reserved(_)
            | Self::NotAnAlias(_)
            | Self::NotATarget { .. }
            | Self::NotAVersion { .. }
            | Self::AliasElsewhere { .. }
            | Self::WhichOld
            | Self::Same(_) => Code("canary_misplaced"),
            Self::Plan(_) => Code("bad_canary"),
            Self::Resolve(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NotFound { .. } | Self::NoRollout(_) => Class::NotFound,
            Self::NoSubject | Self::Plan(_) | Self::Same(_) | Self::Reserved(_) => Class::Invalid,
            Self::Release(error) => error.class(),
            Self::Resolve(error) => error.class(),
            Self::Folio(error) => error.class(),
            _ => Class::Conflict,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::NotFound { near: None, .. } => "see `folio canary list`".to_owned(),
            Self::Exists(name) => {
                format!("see `folio canary show {name}`; change it with `folio canary update`")
            }
            Self::Ended(name) => {
                format!("start it again with `folio canary create {name}`")
            }
            Self::Stale { name, .. } => {
                format!("look at it with `folio canary show {name}`, then repeat with its revision")
            }
            Self::NoSubject => "give --trigger ROUTE or --alias FUNCTION@ALIAS".to_owned(),
            Self::NotARoute(_) => "see `folio route list`".to_owned(),
            Self::NotAnAlias(_) => {
                "write it as FUNCTION@ALIAS; see `folio fn alias list`".to_owned()
            }
            Self::NotATarget { route, function } => format!(
                "add it with `folio route update {route} --function OLD --weight 100 --function {function} --weight 0`"
            ),
            Self::NotAVersion { function, .. } => {
                format!("see `folio fn version list {function}`")
            }
            Self::AliasElsewhere { alias, .. } => {
                format!("point it to the old version first: `folio fn alias update` of {alias}")
            }
            Self::WhichOld => "say what it replaces with --oldfn or --old-version".to_owned(),
            Self::Same(_) => "name another function, version or release as the new one".to_owned(),
            Self::Reserved(_) => {
                "choose another name, or see `folio release rollout start --help`".to_owned()
            }
            Self::NoRollout(_) => "start one with `folio release rollout start RELEASE`".to_owned(),
            Self::NotNow { .. } => "see `folio release rollout show`".to_owned(),
            Self::Release(error) => return error.hint(),
            Self::Busy { other } => {
                format!("wait for it, or end it with `folio canary delete {other}`")
            }
            Self::Plan(_) => "see `folio canary create --help`".to_owned(),
            Self::Resolve(error) => return error.hint(),
            Self::Folio(error) => return error.hint(),
        })
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::Busy { other } => {
                vec![Referrer { kind: "canary".to_owned(), name: other.to_string() }]
            }
            Self::Release(error) => error.referrers(),
            _ => Vec::new(),
        }
    }
}
