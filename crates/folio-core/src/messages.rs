//! Calls functions for messages.
//!
//! Which triggers there are is what the live release says, and a message is dealt with in the release that is live
//! when it is taken. It is acknowledged after its answer was published, so it is dealt with at least once; one whose calls failed for good goes to the error topic with the reason. Start at
//! [`Folio::run_messages`].

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use folio_model::{AppName, Digest, Name, QueueSpec, TriggerSpec, UnitUid};
use futures::StreamExt as _;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::Folio;
use crate::deliver::{Delivered, Envelope};
use crate::ports::{Message, MessageError, Messages, Outgoing, Reader, StoreError};
use crate::release::held;

/// How often a queue hears that a message is still in hand.
const HOLD_EVERY: Duration = Duration::from_secs(2);

/// How long to wait before a queue that failed is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest wait between two looks at the triggers, where one could not be read.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Messages of one trigger that are in hand at the same time, whatever it says.
const AT_ONCE_MAX: u32 = 64;

/// How long messages in hand may take when told to stop.
const STOP_TIME_MAX: Duration = Duration::from_secs(10);

/// A trigger of messages as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Standing {
    app: AppName,
    name: Name,
    snapshot: Digest,
    spec: QueueSpec,
}

/// A reader at work. Dropping `_stop` has it finish what it has in hand and end.
struct Reading {
    snapshot: Digest,
    reader: Reader,
    _stop: watch::Sender<()>,
}

impl Folio {
    /// Adds the message queue that triggers read from. Without it, they are refused.
    #[must_use]
    pub fn with_messages(self, messages: Arc<dyn Messages>) -> Self {
        Self { messages: Some(messages), ..self }
    }

    /// Calls functions for messages until told to stop; lets what is in hand then finish for a while.
    pub async fn run_messages(&self, shutdown: impl Future<Output = ()>) -> Result<(), StoreError> {
        let Some(messages) = self.messages.clone() else { return Ok(()) };
        let mut head = self.head();
        let (mut readings, mut at_work) = (HashMap::new(), JoinSet::new());
        tokio::pin!(shutdown);
        loop {
            head.borrow_and_update();
            match self.queue_triggers().await {
                Ok(standing) => self.follow(&messages, standing, &mut readings, &mut at_work).await,
                Err(error) => tracing::error!(%error, "Triggers of messages could not be read"),
            }
            tokio::select! {
                () = &mut shutdown => break,
                _ = head.changed() => {}
                Some(_) = at_work.join_next() => {}
                () = tokio::time::sleep(PAUSE_MAX) => {}
            }
        }
        readings.clear();
        let finish = async { while at_work.join_next().await.is_some() {} };
        drop(tokio::time::timeout(STOP_TIME_MAX, finish).await);
        Ok(())
    }

    async fn queue_triggers(&self) -> Result<HashMap<UnitUid, Standing>, StoreError> {
        self.look(|state| {
            let mut found = HashMap::new();
            for one in held::live_triggers(state)? {
                let held::LiveTrigger { unit, app, name, snapshot, spec, .. } = one;
                if let TriggerSpec::Queue(spec) = spec {
                    found.insert(unit, Standing { app, name, snapshot, spec });
                }
            }
            Ok(found)
        })
        .await
    }

    /// Has a reader for every trigger as it stands, and none for those that are gone.
    async fn follow(
        &self,
        messages: &Arc<dyn Messages>,
        standing: HashMap<UnitUid, Standing>,
        readings: &mut HashMap<UnitUid, Reading>,
        at_work: &mut JoinSet<()>,
    ) {
        let gone: Vec<_> =
            readings.keys().filter(|uid| !standing.contains_key(uid)).copied().collect();
        for uid in gone {
            if let Some(reading) = readings.remove(&uid)
                && let Err(error) = messages.forget(&reading.reader).await
            {
                tracing::warn!(%error, "A reader of messages was not forgotten");
            }
        }
        for (uid, trigger) in standing {
            if readings.get(&uid).is_some_and(|reading| reading.snapshot == trigger.snapshot) {
                continue;
            }
            let at_once = trigger.spec.readers_max.unwrap_or(1).clamp(1, AT_ONCE_MAX);
            let reader = Reader {
                topic: trigger.spec.topic.clone(),
                name: format!("folio-{}", uid.0.simple()),
                at_once: usize::try_from(at_once).unwrap_or(1),
            };
            let (stop, stopped) = watch::channel(());
            let reading =
                Reading { snapshot: trigger.snapshot, reader: reader.clone(), _stop: stop };
            readings.insert(uid, reading);
            let (folio, messages) = (self.clone(), Arc::clone(messages));
            at_work.spawn(async move { folio.read_on(messages, reader, trigger, stopped).await });
        }
    }

    /// Reads messages until told to stop, through whatever happens to the queue.
    async fn read_on(
        &self,
        messages: Arc<dyn Messages>,
        reader: Reader,
        trigger: Standing,
        mut stopped: watch::Receiver<()>,
    ) {
        loop {
            let mut told = stopped.clone();
            let until = async move { while told.changed().await.is_ok() {} };
            let read = async {
                let inbox = messages.read(&reader).await?;
                let taken = inbox.take_until(until).map(|message| {
                    let (messages, trigger) = (&messages, &trigger);
                    async move { self.handle(messages.as_ref(), trigger, message?).await }
                });
                let mut dealt_with = std::pin::pin!(taken.buffer_unordered(reader.at_once));
                while let Some(ended) = dealt_with.next().await {
                    ended?;
                }
                Ok::<(), MessageError>(())
            };
            if let Err(error) = read.await {
                tracing::warn!(%error, trigger.name = %trigger.name, "Trigger `{}` reads again in a moment", trigger.name);
            }
            tokio::select! {
                stop = stopped.changed() => if stop.is_err() { return },
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// Deals with one message. It is acknowledged if that ends well, and comes again if not.
    async fn handle(
        &self,
        messages: &dyn Messages,
        trigger: &Standing,
        message: Message,
    ) -> Result<(), MessageError> {
        let deal = async {
            match self.call(trigger, &message).await {
                Ok(answer) => self.answered(messages, trigger, answer).await?,
                Err(why) => self.failed(messages, trigger, &message, why).await?,
            }
            messages.acknowledge(&message.receipt).await
        };
        tokio::pin!(deal);
        loop {
            tokio::select! {
                dealt = &mut deal => return dealt,
                () = tokio::time::sleep(HOLD_EVERY) => messages.hold(&message.receipt).await?,
            }
        }
    }

    /// Calls the function, again where it fails, and says why if it never answers well.
    async fn call(&self, trigger: &Standing, message: &Message) -> Result<Delivered, String> {
        let spec = &trigger.spec;
        let mut why = "nothing was called".to_owned();
        let mut stamp = None;
        for _ in 0..=spec.retries_max.unwrap_or(0) {
            let release = self.stamped(&trigger.app, stamp.as_ref()).await;
            let release = release.map_err(|error| error.to_string())?;
            stamp = release.as_ref().map(|release| release.id.clone());
            let Some(function) = self.one_of(&spec.targets) else { return Err(why) };
            let envelope = Envelope::new("POST", "/")
                .body(spec.content_type(), message.body.clone())
                .header("X-Fission-MQTrigger-Topic", &message.topic)
                .header(
                    "X-Fission-MQTrigger-RespTopic",
                    spec.response_topic.as_deref().unwrap_or(""),
                )
                .header(
                    "X-Fission-MQTrigger-ErrorTopic",
                    spec.error_topic.as_deref().unwrap_or(""),
                );
            let id = format!("message {} {}", trigger.name, message.id);
            let to = (&trigger.app, &function);
            why = match self.deliver(to, &id, envelope, release.as_ref()).await {
                Ok(answer) if answer.status < 400 => return Ok(answer),
                Ok(answer) => format!("{function} answered {}", answer.status),
                Err(error) => error.to_string(),
            };
        }
        Err(why)
    }

    async fn answered(
        &self,
        messages: &dyn Messages,
        trigger: &Standing,
        answer: Delivered,
    ) -> Result<(), MessageError> {
        let Some(topic) = &trigger.spec.response_topic else { return Ok(()) };
        let content_type = answer.content_type.map(|value| ("Content-Type".to_owned(), value));
        let headers = content_type.into_iter().collect();
        messages.publish(topic, Outgoing { body: answer.body, headers }).await
    }

    async fn failed(
        &self,
        messages: &dyn Messages,
        trigger: &Standing,
        message: &Message,
        why: String,
    ) -> Result<(), MessageError> {
        let (name, topic) = (&trigger.name, &message.topic);
        let Some(errors) = &trigger.spec.error_topic else {
            tracing::error!(trigger.name = %name, message.id, why, "Trigger `{name}` gave up a message of `{topic}`: it has no error topic");
            return Ok(());
        };
        tracing::warn!(trigger.name = %name, message.id, why, "Trigger `{name}` sent a message of `{topic}` to `{errors}`");
        let mut headers = message.headers.clone();
        headers.push(("X-Fission-MQTrigger-Topic".to_owned(), topic.clone()));
        headers.push(("Folio-Error".to_owned(), why.replace(['\r', '\n'], " ")));
        messages.publish(errors, Outgoing { body: message.body.clone(), headers }).await
    }
}
