//! Triggers of message queues: which messages call which function.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Target, check_targets};
use crate::snapshot::{Bag, SnapshotError, check_text};

/// Which messages call which function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueSpec {
    /// The kind of message queue: `nats-jetstream`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The topic messages come from.
    pub topic: String,
    /// The topic answers go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_topic: Option<String>,
    /// The topic messages go to whose calls failed for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_topic: Option<String>,
    /// How often a failed call is repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries_max: Option<u32>,
    /// The content type of the request; `application/json` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// How often a queue that has to be asked is looked at. NATS sends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_seconds: Option<u32>,
    /// Readers at least; one server has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers_min: Option<u32>,
    /// Messages that are worked on at the same time at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers_max: Option<u32>,
    /// What other kinds of queue ask for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// The secret for the queue. The server knows its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Where messages go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// What a manifest says beyond this; folio keeps it and never reads it.
    #[serde(rename = "$bag", default, skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

impl QueueSpec {
    /// The kinds of message queue that folio reads.
    pub const QUEUES: [&'static str; 2] = ["nats-jetstream", "nats"];

    /// The kind of message queue.
    pub fn queue(&self) -> &str {
        self.queue.as_deref().unwrap_or(Self::QUEUES[0])
    }

    /// The content type of its requests.
    pub fn content_type(&self) -> &str {
        self.content_type.as_deref().unwrap_or("application/json")
    }

    pub(super) fn validate(&self) -> Result<(), SnapshotError> {
        if !Self::QUEUES.contains(&self.queue()) {
            return Err(SnapshotError::Queue(self.queue().to_owned()));
        }
        check_text("the content type", self.content_type.as_deref())?;
        if !self.content_type().is_ascii() {
            return Err(SnapshotError::Text("the content type"));
        }
        check_topic(Some(&self.topic), Wildcards::Allowed)?;
        check_topic(self.response_topic.as_deref(), Wildcards::Refused)?;
        check_topic(self.error_topic.as_deref(), Wildcards::Refused)?;
        for topic in [&self.response_topic, &self.error_topic].into_iter().flatten() {
            if hears(&self.topic, topic) {
                let why = "is one that the trigger hears itself: it would never end";
                return Err(SnapshotError::Topic { topic: topic.clone(), why });
            }
        }
        check_targets(&self.targets)
    }
}

/// Whether messages of a topic are among those that a topic with wildcards means.
fn hears(pattern: &str, topic: &str) -> bool {
    let mut parts = topic.split('.');
    for own in pattern.split('.') {
        match (own, parts.next()) {
            (">", part) => return part.is_some(),
            (own, Some(part)) if own == "*" || own == part => {}
            _ => return false,
        }
    }
    parts.next().is_none()
}

#[derive(PartialEq, Eq)]
enum Wildcards {
    Allowed,
    Refused,
}

/// Refuses a topic that no message can have.
fn check_topic(topic: Option<&str>, wildcards: Wildcards) -> Result<(), SnapshotError> {
    let Some(topic) = topic else { return Ok(()) };
    check_text("the topic", Some(topic))?;
    let refused = |why| Err(SnapshotError::Topic { topic: topic.to_owned(), why });
    if topic.is_empty() || topic.split('.').any(str::is_empty) {
        return refused("has a part without a name");
    }
    if topic.chars().any(char::is_whitespace) || !topic.is_ascii() {
        return refused("must be of ASCII characters without spaces");
    }
    let is_wild = topic.split('.').any(|part| part == "*" || part == ">");
    if is_wild && wildcards == Wildcards::Refused {
        return refused("must not hold a wildcard: messages go to one topic");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trigger_never_hears_what_it_sends_itself() {
        let check = |topic: &str, sent: &str, expected: bool| {
            let spec = |response: Option<&str>, error: Option<&str>| QueueSpec {
                queue: None,
                topic: topic.to_owned(),
                response_topic: response.map(str::to_owned),
                error_topic: error.map(str::to_owned),
                retries_max: None,
                content_type: None,
                poll_seconds: None,
                readers_min: None,
                readers_max: None,
                options: BTreeMap::new(),
                secret: None,
                targets: vec![Target {
                    function: "f".parse().unwrap(),
                    weight: crate::FULL_WEIGHT,
                }],
                bag: Bag::default(),
            };
            assert_eq!(spec(Some(sent), None).validate().is_err(), expected, "{topic} {sent}");
            assert_eq!(spec(None, Some(sent)).validate().is_err(), expected, "{topic} {sent}");
        };
        check("orders", "orders", true);
        check("orders", "orders.done", false);
        check("orders.*", "orders.done", true);
        check("orders.*", "orders.done.twice", false);
        check("orders.>", "orders.done.twice", true);
        check("orders.>", "orders", false);
        check(">", "anything", true);
    }
}
