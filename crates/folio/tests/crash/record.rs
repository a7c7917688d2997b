//! What a client was told, and whether the server still stands by it.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Answer, Client};

/// One function with an alias and executions, driven by one client.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) function: String,
    /// Acknowledged versions: id and number.
    pub(super) versions: BTreeMap<String, u64>,
    /// Acknowledged deletions.
    pub(super) deleted: Vec<String>,
    /// Where the alias was last known to be, and where an unanswered request may have moved it.
    pub(super) alias: Option<String>,
    pub(super) alias_unsure: Option<String>,
    /// Acknowledged executions: id and how each ended.
    pub(super) executions: BTreeMap<String, String>,
    /// An unanswered request, to be sent again under its key.
    pub(super) unanswered: Option<Step>,
    /// Steps begun so far.
    pub(super) steps: u64,
}

/// One request of the story.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Publish {
        id: String,
        key: String,
    },
    Point {
        id: String,
        key: String,
    },
    Delete {
        id: String,
        key: String,
    },
    Sweep {
        key: String,
    },
    /// Runs the function and waits for its end.
    Run {
        key: String,
    },
}

impl Record {
    pub(super) fn new(function: &str) -> Self {
        Self { function: function.to_owned(), ..Self::default() }
    }

    /// The next request: publish, point the alias at it, publish, delete that one, sweep, run it, and again.
    pub(super) fn next(&mut self) -> Step {
        self.steps += 1;
        let step = self.steps;
        let key = format!("{}-{step}", self.function);
        let newest =
            || self.versions.iter().max_by_key(|(_, number)| **number).map(|(id, _)| id.clone());
        match (step % 6, newest()) {
            (2, Some(id)) => Step::Point { id, key },
            (4, Some(id)) if self.alias.as_ref() != Some(&id) => Step::Delete { id, key },
            (5, _) => Step::Sweep { key },
            (0, Some(_)) => Step::Run { key },
            _ => Step::Publish { id: format!("v{step}"), key },
        }
    }

    /// Sends a request and writes down what was answered. Returns false if the connection broke.
    pub(super) async fn take(&mut self, client: &Client, step: Step) -> bool {
        let function = format!("/apps/default/functions/{}", self.function);
        let answer = match &step {
            Step::Publish { id, key } => client.publish(&self.function, id, key).await,
            Step::Point { id, key } => {
                let targets = json!([{ "version": id, "weight": 10_000 }]);
                let (method, path, body) = match self.alias {
                    None => (
                        Method::POST,
                        format!("{function}/aliases"),
                        json!({ "name": "live-now", "targets": targets }),
                    ),
                    Some(_) => (
                        Method::PUT,
                        format!("{function}/aliases/live-now"),
                        json!({ "targets": targets }),
                    ),
                };
                client.send(method, &path, &body, key).await
            }
            Step::Delete { id, key } => {
                client
                    .send(Method::DELETE, &format!("{function}/versions/{id}"), &Value::Null, key)
                    .await
            }
            Step::Sweep { key } => {
                client.send(Method::POST, "/storage/sweep", &Value::Null, key).await
            }
            Step::Run { key } => {
                let body = json!({ "function": self.function, "mode": "sync" });
                client.send(Method::POST, "/apps/default/executions", &body, key).await
            }
        };
        self.note(step, answer)
    }

    fn note(&mut self, step: Step, answer: Answer) -> bool {
        match (&step, answer) {
            (Step::Point { id, .. }, Answer::Unknown) => {
                self.alias_unsure = Some(id.clone());
                self.unanswered = Some(step);
                return false;
            }
            (_, Answer::Unknown) => {
                self.unanswered = Some(step);
                return false;
            }
            (_, Answer::Refused(status, said)) => panic!("{step:?} was refused: {status} {said}"),
            (Step::Publish { id, .. }, Answer::Acknowledged(said)) => {
                let number = said["version"]["number"].as_u64().unwrap();
                let reused = self.versions.values().any(|&known| known >= number);
                assert!(!reused, "number {number} was given twice or went back");
                self.versions.insert(id.clone(), number);
            }
            (Step::Point { id, .. }, Answer::Acknowledged(_)) => {
                self.alias = Some(id.clone());
                self.alias_unsure = None;
            }
            (Step::Delete { id, .. }, Answer::Acknowledged(_)) => {
                self.versions.remove(id);
                self.deleted.push(id.clone());
            }
            (Step::Sweep { .. }, Answer::Acknowledged(_)) => {}
            (Step::Run { .. }, Answer::Acknowledged(said)) => {
                // One that was cut off is shown as it is by whoever asks again: it may not have ended yet.
                let [id, status] =
                    [&said["id"], &said["status"]].map(|word| word.as_str().unwrap());
                if status != "running" {
                    self.executions.insert(id.to_owned(), status.to_owned());
                }
            }
        }
        true
    }

    /// Sends the unanswered request again, which must now succeed exactly once.
    pub(super) async fn retry(&mut self, client: &Client) {
        if let Some(step) = self.unanswered.take() {
            assert!(
                self.take(client, step.clone()).await,
                "{step:?} has no answer after a restart"
            );
        }
    }

    /// Compares what was acknowledged with what is there.
    pub(super) async fn verify(&self, client: &Client) {
        if self.versions.is_empty() {
            return;
        }
        let path = format!("/apps/default/functions/{}/versions?limit=1000", self.function);
        let Answer::Acknowledged(listed) = client.get(&path).await else {
            panic!("{} cannot be listed", self.function)
        };
        let listed: BTreeMap<String, u64> = listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|version| {
                (version["id"].as_str().unwrap().to_owned(), version["number"].as_u64().unwrap())
            })
            .collect();
        for (id, number) in &self.versions {
            // A deletion that got no answer may have happened.
            let unsure =
                matches!(&self.unanswered, Some(Step::Delete { id: gone, .. }) if gone == id);
            assert!(unsure || listed.get(id) == Some(number), "{}@{id} was lost", self.function);
        }
        for id in &self.deleted {
            assert!(!listed.contains_key(id), "{}@{id} came back", self.function);
        }
        self.verify_alias(client).await;
        self.verify_executions(client).await;
    }

    async fn verify_executions(&self, client: &Client) {
        for (id, status) in &self.executions {
            match client.get(&format!("/apps/default/executions/{id}")).await {
                Answer::Acknowledged(found) => assert_eq!(found["status"], status.as_str()),
                lost => panic!("execution {id} of {} was lost: {lost:?}", self.function),
            }
        }
    }

    async fn verify_alias(&self, client: &Client) {
        let Some(alias) = &self.alias else { return };
        let path = format!("/apps/default/functions/{}/aliases", self.function);
        let Answer::Acknowledged(listed) = client.get(&path).await else {
            panic!("the aliases of {} cannot be listed", self.function)
        };
        let found = listed["items"][0]["targets"][0]["id"].as_str().map(str::to_owned);
        let known =
            found.as_ref() == Some(alias) || (found.is_some() && found == self.alias_unsure);
        assert!(known, "the alias of {} is at {found:?}, not at {alias}", self.function);
    }
}
