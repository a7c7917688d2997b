//! Work that no request asks for is done in the release that was live when it came up, to its end.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use folio_core::ports::runtime::CallError;
use folio_core::ports::{Inbox, Message, MessageError, Messages, Outgoing, Reader, Receipt};
use folio_core::release::ReleaseRef;
use folio_core::request::Onto;
use folio_core::trigger::{QueueFields, TriggerFields, WatchFields};
use folio_core::watch::Looked;
use folio_model::Target;
use futures::StreamExt as _;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::runtime::{Running, reference, running};
use crate::world::{app, function};

/// A topic with one message.
#[derive(Default)]
struct One {
    acknowledged: Notify,
}

#[async_trait]
impl Messages for One {
    async fn read(&self, reader: &Reader) -> Result<Inbox, MessageError> {
        let message = Message {
            topic: reader.topic.clone(),
            body: Bytes::from("hello"),
            headers: Vec::new(),
            id: "1".to_owned(),
            receipt: Receipt("1".to_owned()),
        };
        let one = futures::stream::iter([Ok(message)]);
        Ok(one.chain(futures::stream::pending()).boxed())
    }
    async fn publish(&self, _: &str, _: Outgoing) -> Result<(), MessageError> {
        Ok(())
    }
    async fn acknowledge(&self, _: &Receipt) -> Result<(), MessageError> {
        self.acknowledged.notify_one();
        Ok(())
    }
    async fn hold(&self, _: &Receipt) -> Result<(), MessageError> {
        Ok(())
    }
    async fn forget(&self, _: &Reader) -> Result<(), MessageError> {
        Ok(())
    }
}

impl Running {
    async fn trigger(&self, fields: TriggerFields) {
        let name = "work".parse().unwrap();
        let (at, onto) = ((&app(), Some(&name)), (Onto::Nothing, None));
        self.world.folio.set_trigger(&self.world.caller, at, fields, onto).await.unwrap();
    }

    async fn set_live(&self, at: &str) -> String {
        let at: ReleaseRef = at.parse().unwrap();
        let done = self.world.folio.set_live(&self.world.caller, &app(), &at).await.unwrap();
        done.result.label.id.to_string()
    }

    async fn until_called(&self, times: usize) {
        let mut seen = self.stub.seen.subscribe();
        let called = seen.wait_for(|_| self.stub.releases.lock().unwrap().len() >= times);
        let waited = tokio::time::timeout(Duration::from_secs(60), called).await;
        drop(waited.expect("the call comes").unwrap());
    }

    /// Has `hello` at `v1` in the release that is live, and at `v2` in a newer one; its calls wait, and the first fails.
    async fn two(&self) -> String {
        let old = self.set_live("latest").await;
        self.world.version(&function("hello"), "two", "v2").await;
        *self.stub.failure.lock().unwrap() = Some(CallError::Failed);
        self.stub.holds.store(true, std::sync::atomic::Ordering::SeqCst);
        old
    }

    /// Lets the first call fail after something else became live, and the second go well; both were in one release.
    async fn moves_between(&self, old: &str) {
        self.until_called(1).await;
        assert_ne!(self.set_live("latest").await, old);
        self.stub.gate.notify_one();
        self.until_called(2).await;
        *self.stub.failure.lock().unwrap() = None;
        self.stub.gate.notify_one();
        let releases = self.stub.releases.lock().unwrap().clone();
        assert_eq!(releases, [Some(old.to_owned()), Some(old.to_owned())]);
        let calls = (self.stub.happened("call hello@v1"), self.stub.happened("call hello@v2"));
        assert_eq!(calls, (2, 0));
    }
}

#[tokio::test]
async fn a_message_is_dealt_with_in_the_release_in_which_it_came() {
    let mut running = running().await;
    let messages = Arc::new(One::default());
    let folio = running.world.folio.clone();
    running.world.folio = folio.with_messages(Arc::clone(&messages) as Arc<_>);
    running.world.version(&function("hello"), "one", "v1").await;
    let fields = QueueFields {
        queue: Some("nats-jetstream".to_owned()),
        topic: Some("orders".to_owned()),
        retries_max: Some(1),
        targets: Some(vec![Target::only(reference("hello"))]),
        ..QueueFields::default()
    };
    running.trigger(TriggerFields::Queue(fields)).await;
    let old = running.two().await;
    let (folio, mut work) = (running.world.folio.clone(), JoinSet::new());
    work.spawn(async move { folio.run_messages(std::future::pending()).await.unwrap() });
    running.moves_between(&old).await;
    let dealt_with = messages.acknowledged.notified();
    tokio::time::timeout(Duration::from_secs(60), dealt_with).await.expect("it is acknowledged");
}

#[tokio::test]
async fn a_watch_is_told_again_in_the_release_in_which_it_was_told_first() {
    let running = running().await;
    let world = &running.world;
    world.version(&function("hello"), "one", "v1").await;
    let fields = WatchFields {
        object_type: Some("function".to_owned()),
        object_name: Some("other".parse().unwrap()),
        targets: Some(vec![Target::only(reference("hello"))]),
    };
    running.trigger(TriggerFields::Watch(fields)).await;
    let mut looked = Looked::default();
    world.folio.tell_watches(&mut looked).await.unwrap();
    let old = running.two().await;
    world.version(&function("other"), "other", "o1").await;
    let (folio, mut work) = (world.folio.clone(), JoinSet::new());
    work.spawn(async move { folio.tell_watches(&mut looked).await.unwrap() });
    running.moves_between(&old).await;
    work.join_all().await;
}
