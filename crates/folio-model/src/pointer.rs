//! Pointers: the only things that move. An alias splits calls among versions of one function; a tag names a
//! set of function versions across the app; a split says what a route's targets get now; a canary moves one of them.
//! Of an app move what is live, its tags on releases, whether a release can be reached, its plan, and its domains. Marks
//! are what is said about any object.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use uuid::Uuid;

use crate::{
    AppName, AppPlan, Binding, Canary, DomainName, Live, Marks, Name, Number, Release, ReleaseId,
    Target, UnitUid, VersionId, VersionKey, drawn,
};

/// The whole of an alias's traffic, in basis points.
pub const FULL_WEIGHT: u32 = 10_000;

/// A share in words: 2,000 is `20 %`.
pub fn percent(weight: u32) -> String {
    let (whole, rest) = (weight / 100, weight % 100);
    if rest == 0 { format!("{whole} %") } else { format!("{whole}.{rest:02} %") }
}

/// What a ledger entry can move.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Pointer {
    /// A function's alias.
    Alias {
        /// The function.
        unit: UnitUid,
        /// The alias.
        name: VersionId,
    },
    /// An app's tag.
    Tag {
        /// The app.
        app: AppName,
        /// The tag.
        name: VersionId,
    },
    /// What the targets of a route get, where that is no longer what its spec says.
    Split {
        /// The trigger.
        unit: UnitUid,
    },
    /// An app's canary.
    Canary {
        /// The app.
        app: AppName,
        /// The canary.
        name: Name,
    },
    /// Whether a release of an app can be reached.
    Release {
        /// The app.
        app: AppName,
        /// The release.
        id: ReleaseId,
    },
    /// A tag on a release of an app.
    ReleaseTag {
        /// The app.
        app: AppName,
        /// The tag.
        name: ReleaseId,
    },
    /// What an app's own host shows.
    Live {
        /// The app.
        app: AppName,
    },
    /// How much an app may have.
    Plan {
        /// The app.
        app: AppName,
    },
    /// A job or webhook of an app, or a name for a newest version.
    Binding {
        /// The app.
        app: AppName,
        /// Its identity.
        id: Uuid,
    },
    /// What is said about an object of an app.
    Marks {
        /// The app.
        app: AppName,
        /// The object's identity.
        object: Uuid,
    },
    /// The app that a domain is of.
    Domain {
        /// The domain.
        name: DomainName,
    },
}

impl Pointer {
    /// The unit it belongs to, if it belongs to one.
    pub fn unit(&self) -> Option<UnitUid> {
        match self {
            Self::Alias { unit, .. } | Self::Split { unit } => Some(*unit),
            _ => None,
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alias { name, .. } => write!(f, "alias `{name}`"),
            Self::Tag { name, .. } => write!(f, "tag `{name}`"),
            Self::Split { .. } => f.write_str("the shares of a route"),
            Self::Canary { name, .. } => write!(f, "canary `{name}`"),
            Self::Release { id, .. } => write!(f, "release `{id}`"),
            Self::ReleaseTag { name, .. } => write!(f, "release tag `{name}`"),
            Self::Live { .. } => f.write_str("the live release"),
            Self::Plan { .. } => f.write_str("the plan"),
            Self::Binding { id, .. } => write!(f, "binding {id}"),
            Self::Marks { .. } => f.write_str("the marks of an object"),
            Self::Domain { name } => write!(f, "domain `{name}`"),
        }
    }
}

/// Where a pointer points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// An alias's targets.
    Versions(Weights),
    /// A tag's members.
    Members(Members),
    /// A route's targets.
    Targets(Vec<Target>),
    /// How far a canary is.
    Canary(Box<Canary>),
    /// A release, and whether it can be reached.
    Release(Release),
    /// The release that a tag is on.
    Tagged(ReleaseId),
    /// What is live.
    Live(Live),
    /// What an app may have.
    Plan(AppPlan),
    /// What a job or webhook is.
    Binding(Box<Binding>),
    /// What is said about an object.
    Marks(Box<Marks>),
    /// The app that a domain shows.
    App(AppName),
}

impl Place {
    /// Every version the pointer keeps from being deleted, given the unit an alias belongs to.
    pub fn versions<'a>(&'a self, pointer: &Pointer) -> Box<dyn Iterator<Item = VersionKey> + 'a> {
        match (self, pointer) {
            (Self::Members(members), _) => {
                Box::new(members.iter().map(|(&unit, &number)| VersionKey { unit, number }))
            }
            (Self::Versions(weights), &Pointer::Alias { unit, .. }) => Box::new(
                weights.shares().iter().map(move |share| VersionKey { unit, number: share.number }),
            ),
            (Self::Binding(binding), _) => Box::new(binding.version().into_iter()),
            // A route keeps what it leads to by its spec, a canary by what it moves, and a release by what it shows.
            _ => Box::new(std::iter::empty()),
        }
    }
}

/// The function versions of a tag, one per function.
pub type Members = BTreeMap<UnitUid, Number>;

/// A function-level pointer with one or more weighted targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// Its name.
    pub name: VersionId,
    /// Its targets.
    pub weights: Weights,
    /// The ledger entry that last moved it.
    pub revision: u64,
}

/// An app-wide named set of function versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Its name.
    pub name: VersionId,
    /// Its versions.
    pub members: Members,
    /// The ledger entry that last moved it.
    pub revision: u64,
}

/// One target of an alias and its share in basis points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// The version.
    pub number: Number,
    /// Its share of 10,000.
    pub weight: u32,
}

/// Targets whose shares sum to [`FULL_WEIGHT`], each version once, in order of number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<Share>", into = "Vec<Share>")]
#[schemars(with = "Vec<Share>")]
pub struct Weights(Vec<Share>);

/// Why targets do not make a split.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    /// The shares do not add up.
    #[error("weights sum to {0}, not {FULL_WEIGHT}")]
    Sum(u64),
    /// A version was named twice.
    #[error("version {0} is named twice")]
    Twice(Number),
}

impl Weights {
    /// All traffic to one version.
    pub fn only(number: Number) -> Self {
        Self(vec![Share { number, weight: FULL_WEIGHT }])
    }

    /// Checks and orders targets.
    pub fn new(mut shares: Vec<Share>) -> Result<Self, WeightsError> {
        shares.sort_by_key(|share| share.number);
        if let Some(twice) = shares.windows(2).find(|pair| pair[0].number == pair[1].number) {
            return Err(WeightsError::Twice(twice[0].number));
        }
        let sum = shares.iter().map(|share| u64::from(share.weight)).sum();
        if sum == u64::from(FULL_WEIGHT) { Ok(Self(shares)) } else { Err(WeightsError::Sum(sum)) }
    }

    /// The targets, by number.
    pub fn shares(&self) -> &[Share] {
        &self.0
    }

    /// The version that gets everything, unless the alias is split.
    pub fn sole(&self) -> Option<Number> {
        self.0.iter().find(|share| share.weight == FULL_WEIGHT).map(|share| share.number)
    }

    /// The version for a draw from 0 to 9,999. A share of zero is never picked.
    pub fn pick(&self, draw: u32) -> Number {
        let at = drawn(draw % FULL_WEIGHT, self.0.iter().map(|share| share.weight));
        self.0[at.expect("shares sum to the whole, so every draw falls to one")].number
    }
}

impl TryFrom<Vec<Share>> for Weights {
    type Error = WeightsError;
    fn try_from(shares: Vec<Share>) -> Result<Self, WeightsError> {
        Self::new(shares)
    }
}

impl From<Weights> for Vec<Share> {
    fn from(weights: Weights) -> Self {
        weights.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_weights() -> impl Strategy<Value = Weights> {
        proptest::collection::vec(0..=FULL_WEIGHT, 0..5).prop_map(|mut cuts| {
            cuts.extend([0, FULL_WEIGHT]);
            cuts.sort_unstable();
            let shares = cuts.windows(2).zip(1..).map(|(cut, number)| Share {
                number: Number::new(number).unwrap(),
                weight: cut[1] - cut[0],
            });
            Weights::new(shares.collect()).unwrap()
        })
    }

    proptest! {
        #[test]
        fn every_version_gets_exactly_its_share_of_all_draws(weights in any_weights()) {
            for share in weights.shares() {
                let drawn = (0..FULL_WEIGHT).filter(|&draw| weights.pick(draw) == share.number).count();
                prop_assert_eq!(drawn, share.weight as usize);
            }
        }

        #[test]
        fn weights_read_back(weights in any_weights()) {
            let text = serde_json::to_string(&weights).unwrap();
            prop_assert_eq!(serde_json::from_str::<Weights>(&text).unwrap(), weights);
        }
    }

    #[test]
    fn shares_must_add_up_and_name_each_version_once() {
        let share = |number, weight| Share { number: Number::new(number).unwrap(), weight };
        assert_eq!(Weights::new(vec![]), Err(WeightsError::Sum(0)));
        assert_eq!(Weights::new(vec![share(1, 9_999)]), Err(WeightsError::Sum(9_999)));
        assert_eq!(
            Weights::new(vec![share(1, u32::MAX), share(2, u32::MAX)]),
            Err(WeightsError::Sum(2 * u64::from(u32::MAX)))
        );
        let twice = Weights::new(vec![share(1, 5_000), share(1, 5_000)]);
        assert_eq!(twice, Err(WeightsError::Twice(Number::FIRST)));
    }
}
