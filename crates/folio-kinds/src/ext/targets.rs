//! Which function is called: Fission names one, or several with weights in per cent; folio has a
//! list of targets with shares of 10,000. Time, queue and watch triggers have nothing else.

use std::collections::BTreeSet;

use hub::{Augment, Field, Object, Result, Spoke as _};

use super::lens::{self, Lens};
use crate::generated::kinds::fission_io_v1::{
    HTTPTriggerSpecFunctionref, KubernetesWatchTriggerSpec, KubernetesWatchTriggerSpecFunctionref,
    MessageQueueTriggerSpec, MessageQueueTriggerSpecFunctionref, TimeTriggerSpec,
    TimeTriggerSpecFunctionref,
};
use crate::generated::kinds::storage;

/// The share of everything.
const FULL: i64 = 10_000;

/// The share of one per cent.
const PER_CENT: i64 = 100;

/// A reference without its type's name.
#[derive(PartialEq)]
struct Plain {
    is_weighted: bool,
    name: String,
    alias: Option<String>,
    version: Option<String>,
    weights: Vec<(String, i64)>,
}

impl Plain {
    /// The targets it means, unless they do not add up or it says two things at once.
    fn targets(self) -> Option<Vec<(String, i64)>> {
        if self.is_weighted {
            if self.weights.iter().any(|(_, weight)| !(0..=FULL / PER_CENT).contains(weight)) {
                return None;
            }
            // One without a share is there for a canary to give it some.
            let shares = self.weights.into_iter();
            let shares: Vec<_> = shares.map(|(name, weight)| (name, weight * PER_CENT)).collect();
            return (sum(&shares) == FULL).then_some(shares);
        }
        let function = match (self.alias, self.version) {
            (None, None) => self.name,
            (Some(pointer), None) | (None, Some(pointer)) => format!("{}@{pointer}", self.name),
            (Some(_), Some(_)) => return None,
        };
        Some(vec![(function, FULL)])
    }

    /// The reference that targets mean, if Fission has a word for it.
    fn of(targets: &[(&String, i64)]) -> Option<Self> {
        let nothing = |name| Self {
            is_weighted: false,
            name,
            alias: None,
            version: None,
            weights: Vec::new(),
        };
        if let [(function, FULL)] = targets {
            return match function.split_once('@') {
                None if function.is_empty() => None,
                None => Some(nothing((*function).clone())),
                Some((name, alias)) => {
                    Some(Self { alias: Some(alias.to_owned()), ..nothing(name.to_owned()) })
                }
            };
        }
        let weights: Option<Vec<_>> = targets
            .iter()
            .map(|(name, weight)| {
                let is_whole = weight % PER_CENT == 0 && *weight >= 0 && !name.contains('@');
                is_whole.then(|| ((*name).clone(), weight / PER_CENT))
            })
            .collect();
        let weights = weights?;
        let names: BTreeSet<_> = weights.iter().map(|(name, _)| name).collect();
        let is_whole = names.len() == weights.len() && sum(&weights) == FULL / PER_CENT;
        is_whole.then(|| Self { is_weighted: true, weights, ..nothing(String::new()) })
    }
}

/// The sum of weights; those that overflow it are nobody's whole.
fn sum(weights: &[(String, i64)]) -> i64 {
    weights.iter().fold(0, |sum, (_, weight)| sum.saturating_add(*weight))
}

/// Declares how one kind's reference becomes its targets.
macro_rules! targets {
    ($lens:ident: $spoke:ident => $target:ident) => {
        pub(super) struct $lens;

        impl Lens for $lens {
            type Spoke = $spoke;
            type Hub = Vec<storage::$target>;
            const KEY: &'static str = "functionref@fission.io/v1";

            fn up(spoke: &$spoke) -> Option<Vec<storage::$target>> {
                let targets = plain(spoke).targets()?;
                let target = |(function, weight)| storage::$target {
                    function: Field::Value(function),
                    weight: Field::Value(weight),
                    ..Default::default()
                };
                return Some(targets.into_iter().map(target).collect());

                fn plain(spoke: &$spoke) -> Plain {
                    let weights = spoke.functionweights.value().into_iter().flatten();
                    Plain {
                        is_weighted: spoke.r#type.as_str() == "function-weights",
                        name: spoke.name.clone(),
                        alias: spoke.alias.value().cloned(),
                        version: spoke.version.value().cloned(),
                        weights: weights.map(|(name, weight)| (name.clone(), *weight)).collect(),
                    }
                }
            }

            fn down(hub: &Vec<storage::$target>, kept: Option<$spoke>) -> Option<$spoke> {
                // A version and an alias are both written after the `@`; the kept value knows.
                if let Some(kept) = kept
                    && Self::up(&kept).as_ref() == Some(hub)
                {
                    return Some(kept);
                }
                let pairs = hub.iter().map(|target| {
                    let plain = target.bag.is_empty();
                    let pair = (target.function.value()?, *target.weight.value()?);
                    plain.then_some(pair)
                });
                let Plain { is_weighted, name, alias, version: _, weights } =
                    Plain::of(&pairs.collect::<Option<Vec<_>>>()?)?;
                let word = if is_weighted { "function-weights" } else { "name" };
                Some($spoke {
                    r#type: word.to_owned().into(),
                    name,
                    alias: alias.map_or(Field::Absent, Field::Value),
                    version: Field::Absent,
                    functionweights: match is_weighted {
                        true => Field::Value(weights.into_iter().collect()),
                        false => Field::Absent,
                    },
                    unknown: Object::new(),
                })
            }

            fn nothing() -> Option<$spoke> {
                Some($spoke {
                    r#type: "name".to_owned().into(),
                    name: String::new(),
                    alias: Field::Absent,
                    version: Field::Absent,
                    functionweights: Field::Absent,
                    unknown: Object::new(),
                })
            }
        }
    };
}

targets!(Routed: HTTPTriggerSpecFunctionref => HTTPTriggerSpecTargets);
targets!(Timed: TimeTriggerSpecFunctionref => TimeTriggerSpecTargets);
targets!(Queued: MessageQueueTriggerSpecFunctionref => MessageQueueTriggerSpecTargets);
targets!(Watched: KubernetesWatchTriggerSpecFunctionref => KubernetesWatchTriggerSpecTargets);

impl Augment<storage::TimeTriggerSpec> for TimeTriggerSpec {
    const WRITTEN_FOR: &'static str = "folio.dev/v1";

    fn into_stored(mut self) -> Result<storage::TimeTriggerSpec> {
        let nothing = Timed::nothing().expect("a reference that says nothing");
        let reference = Field::Value(std::mem::replace(&mut self.functionref, nothing));
        let mut hub: storage::TimeTriggerSpec = self.up()?;
        hub.targets = lens::up::<Timed>(reference, &mut hub.bag);
        Ok(hub)
    }

    fn from_stored(mut stored: storage::TimeTriggerSpec) -> Result<Self> {
        let functionref = lens::down_required::<Timed>(&stored.targets, &mut stored.bag)?;
        Ok(Self { functionref, ..Self::down(stored)? })
    }

    fn complete(stored: &mut storage::TimeTriggerSpec, new: &mut storage::TimeTriggerSpec) {
        lens::overlay::<Timed>(&mut stored.targets, &mut new.targets);
    }
}

impl Augment<storage::MessageQueueTriggerSpec> for MessageQueueTriggerSpec {
    const WRITTEN_FOR: &'static str = "folio.dev/v1";

    fn into_stored(mut self) -> Result<storage::MessageQueueTriggerSpec> {
        let reference = self.functionref.take();
        let mut hub: storage::MessageQueueTriggerSpec = self.up()?;
        hub.targets = lens::up::<Queued>(reference, &mut hub.bag);
        Ok(hub)
    }

    fn from_stored(mut stored: storage::MessageQueueTriggerSpec) -> Result<Self> {
        let functionref = lens::down::<Queued>(&stored.targets, &mut stored.bag)?;
        Ok(Self { functionref, ..Self::down(stored)? })
    }

    fn complete(
        stored: &mut storage::MessageQueueTriggerSpec,
        new: &mut storage::MessageQueueTriggerSpec,
    ) {
        lens::overlay::<Queued>(&mut stored.targets, &mut new.targets);
    }
}

impl Augment<storage::KubernetesWatchTriggerSpec> for KubernetesWatchTriggerSpec {
    const WRITTEN_FOR: &'static str = "folio.dev/v1";

    fn into_stored(mut self) -> Result<storage::KubernetesWatchTriggerSpec> {
        let nothing = Watched::nothing().expect("a reference that says nothing");
        let reference = Field::Value(std::mem::replace(&mut self.functionref, nothing));
        let mut hub: storage::KubernetesWatchTriggerSpec = self.up()?;
        hub.targets = lens::up::<Watched>(reference, &mut hub.bag);
        Ok(hub)
    }

    fn from_stored(mut stored: storage::KubernetesWatchTriggerSpec) -> Result<Self> {
        let functionref = lens::down_required::<Watched>(&stored.targets, &mut stored.bag)?;
        Ok(Self { functionref, ..Self::down(stored)? })
    }

    fn complete(
        stored: &mut storage::KubernetesWatchTriggerSpec,
        new: &mut storage::KubernetesWatchTriggerSpec,
    ) {
        lens::overlay::<Watched>(&mut stored.targets, &mut new.targets);
    }
}
