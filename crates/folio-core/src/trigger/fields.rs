//! The fields of a trigger that a command gives; what it leaves out stays as it is.

use folio_model::{
    Bag, Misfire, Name, QueueSpec, Snapshot, Target, TimerSpec, TriggerSpec, VersionId, WatchSpec,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Error, TriggerType};

/// The fields of a trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "trigger", rename_all = "lowercase")]
pub enum TriggerFields {
    /// Of a timer.
    Timer(TimerFields),
    /// Of a trigger of messages.
    Queue(QueueFields),
    /// Of a watch.
    Watch(WatchFields),
}

/// The fields of a timer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TimerFields {
    /// When: `0 30 6 * * *`, `30 6 * * *`, `@hourly` or `@every 5m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// The time zone; an empty one means UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The method of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Where calls go; takes the place of a tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<Target>>,
    /// The tag whose members are all called; takes the place of targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<VersionId>,
    /// What becomes of slots that nobody was there for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misfire: Option<Misfire>,
    /// Whether a slot is run again whose run was cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<bool>,
}

/// The fields of a trigger of messages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct QueueFields {
    /// The kind of message queue: `nats-jetstream`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The topic messages come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The topic answers go to; an empty one means nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_topic: Option<String>,
    /// The topic failures go to; an empty one means nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_topic: Option<String>,
    /// How often a failed call is repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries_max: Option<u32>,
    /// The content type of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Messages that are worked on at the same time at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readers_max: Option<u32>,
    /// Where messages go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<Target>>,
}

/// The fields of a watch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WatchFields {
    /// The kind of the objects, such as `function`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_type: Option<String>,
    /// The name of the only object that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_name: Option<Name>,
    /// Where changes go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<Target>>,
}

impl TriggerFields {
    /// What they are fields of.
    pub fn of(&self) -> TriggerType {
        match self {
            Self::Timer(_) => TriggerType::Timer,
            Self::Queue(_) => TriggerType::Queue,
            Self::Watch(_) => TriggerType::Watch,
        }
    }

    /// The trigger they describe by themselves.
    pub fn fresh(&self) -> Result<TriggerSpec, Error> {
        let spec = self.over(None)?;
        if spec.targets().is_empty() && spec.tag().is_none() {
            return Err(Error::NoTarget(spec.noun()));
        }
        Snapshot::Trigger(spec.clone()).validate()?;
        Ok(spec)
    }

    pub(super) fn targets(&self) -> Option<&[Target]> {
        let targets = match self {
            Self::Timer(fields) => &fields.targets,
            Self::Queue(fields) => &fields.targets,
            Self::Watch(fields) => &fields.targets,
        };
        targets.as_deref()
    }

    /// Lays the fields over a trigger of the same type, or over nothing.
    pub(super) fn over(&self, base: Option<&TriggerSpec>) -> Result<TriggerSpec, Error> {
        Ok(match (self, base) {
            (Self::Timer(fields), Some(TriggerSpec::Timer(base))) => {
                TriggerSpec::Timer(fields.over(base.clone()))
            }
            (Self::Queue(fields), Some(TriggerSpec::Queue(base))) => {
                TriggerSpec::Queue(fields.over(base.clone()))
            }
            (Self::Watch(fields), Some(TriggerSpec::Watch(base))) => {
                TriggerSpec::Watch(fields.over(base.clone()))
            }
            (Self::Timer(fields), _) => TriggerSpec::Timer(fields.over(fields.fresh()?)),
            (Self::Queue(fields), _) => TriggerSpec::Queue(fields.over(fields.fresh()?)),
            (Self::Watch(fields), _) => TriggerSpec::Watch(fields.over(fields.fresh()?)),
        })
    }
}

impl TimerFields {
    fn fresh(&self) -> Result<TimerSpec, Error> {
        let what = "a cron expression";
        let cron = self.cron.clone().ok_or(Error::Incomplete { noun: "timer", what })?;
        Ok(TimerSpec {
            cron,
            zone: None,
            method: None,
            path: None,
            targets: Vec::new(),
            tag: None,
            misfire: Misfire::default(),
            retry: false,
            bag: Bag::new(),
        })
    }

    fn over(&self, base: TimerSpec) -> TimerSpec {
        // A function and a tag exclude one another, so one given alone takes the other's place.
        let targets = match (&self.targets, &self.tag) {
            (Some(targets), _) => targets.clone(),
            (None, Some(_)) => Vec::new(),
            (None, None) => base.targets,
        };
        let tag =
            if self.targets.is_some() { self.tag.clone() } else { self.tag.clone().or(base.tag) };
        let method = self.method.as_ref().map(|method| method.to_ascii_uppercase());
        TimerSpec {
            cron: self.cron.clone().unwrap_or(base.cron),
            zone: given(self.zone.as_ref(), base.zone),
            method: given(method.as_ref(), base.method),
            path: given(self.path.as_ref(), base.path),
            targets,
            tag,
            misfire: self.misfire.unwrap_or(base.misfire),
            retry: self.retry.unwrap_or(base.retry),
            bag: base.bag,
        }
    }
}

impl QueueFields {
    fn fresh(&self) -> Result<QueueSpec, Error> {
        let what = "a topic";
        let topic = self.topic.clone().ok_or(Error::Incomplete { noun: "mqtrigger", what })?;
        Ok(QueueSpec {
            queue: None,
            topic,
            response_topic: None,
            error_topic: None,
            retries_max: None,
            content_type: None,
            poll_seconds: None,
            readers_min: None,
            readers_max: None,
            options: std::collections::BTreeMap::new(),
            secret: None,
            targets: Vec::new(),
            bag: Bag::new(),
        })
    }

    fn over(&self, base: QueueSpec) -> QueueSpec {
        QueueSpec {
            queue: given(self.queue.as_ref(), base.queue),
            topic: self.topic.clone().unwrap_or(base.topic),
            response_topic: given(self.response_topic.as_ref(), base.response_topic),
            error_topic: given(self.error_topic.as_ref(), base.error_topic),
            retries_max: self.retries_max.or(base.retries_max),
            content_type: given(self.content_type.as_ref(), base.content_type),
            readers_max: self.readers_max.or(base.readers_max),
            targets: self.targets.clone().unwrap_or(base.targets),
            ..base
        }
    }
}

impl WatchFields {
    fn fresh(&self) -> Result<WatchSpec, Error> {
        let what = "a kind of objects";
        let object_type = self.object_type.clone();
        let object_type = object_type.ok_or(Error::Incomplete { noun: "watch", what })?;
        Ok(WatchSpec {
            object_type,
            object_name: None,
            namespace: None,
            labels: std::collections::BTreeMap::new(),
            targets: Vec::new(),
            bag: Bag::new(),
        })
    }

    fn over(&self, base: WatchSpec) -> WatchSpec {
        WatchSpec {
            object_type: self.object_type.clone().unwrap_or(base.object_type),
            object_name: self.object_name.clone().or(base.object_name),
            targets: self.targets.clone().unwrap_or(base.targets),
            ..base
        }
    }
}

/// What was given, or what was there; an empty text means nothing.
fn given(given: Option<&String>, base: Option<String>) -> Option<String> {
    match given {
        Some(text) if text.is_empty() => None,
        Some(text) => Some(text.clone()),
        None => base,
    }
}
