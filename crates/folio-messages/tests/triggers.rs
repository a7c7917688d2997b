//! What becomes of messages: answered, repeated, given up, and never lost.

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::{self, stream};
use folio_core::Folio;
use folio_core::request::Onto;
use folio_core::trigger::QueueFields;
use futures::StreamExt as _;
use tokio::task::JoinSet;

use crate::platform::{Platform, Script};
use crate::server::Server;

fn fields() -> QueueFields {
    QueueFields {
        topic: Some("orders".to_owned()),
        response_topic: Some("answers".to_owned()),
        error_topic: Some("failures".to_owned()),
        ..QueueFields::default()
    }
}

/// A server at work; dropped, it dies.
fn run(folio: &Folio) -> JoinSet<()> {
    let folio = folio.clone();
    let mut running = JoinSet::new();
    running.spawn(async move { folio.run_messages(std::future::pending()).await.unwrap() });
    running
}

/// Keeps what goes to a topic.
async fn keep(client: &jetstream::Context, topic: &str) -> stream::Stream {
    let (name, subjects) = (format!("kept-{topic}"), vec![topic.to_owned()]);
    let config = stream::Config { name, subjects, ..stream::Config::default() };
    client.create_stream(config).await.unwrap()
}

/// The first messages of a stream: what each says, and why it is there.
async fn first(stream: &stream::Stream, count: usize) -> Vec<(String, String)> {
    let consumer = stream.create_consumer(pull::Config::default()).await.unwrap();
    let messages = consumer.messages().await.unwrap().take(count);
    let read = messages.map(|message| {
        let message = message.unwrap();
        let why = message.headers.as_ref().and_then(|headers| headers.get("Folio-Error"));
        let why = why.map(ToString::to_string).unwrap_or_default();
        (String::from_utf8(message.payload.to_vec()).unwrap(), why)
    });
    read.collect().await
}

/// Sends as soon as somebody keeps the topic: until then nobody answers, and nothing is kept.
async fn send(client: &jetstream::Context, body: &'static str) {
    while let Err(error) = client.publish("orders", body.into()).await.unwrap().await {
        assert_eq!(error.kind(), PublishErrorKind::StreamNotFound, "{error}");
    }
}

fn said(body: &str) -> (String, String) {
    (body.to_owned(), String::new())
}

fn order(body: &str) -> (String, String) {
    ("orders".to_owned(), body.to_owned())
}

#[tokio::test]
async fn an_answer_goes_to_its_topic_and_the_message_goes() {
    let server = Server::start();
    let (client, platform) = (server.client().await, Platform::new().await);
    let (orders, answers) = (keep(&client, "orders").await, keep(&client, "answers").await);
    let folio = platform.connected(&server.address().await).await;
    platform.set(&folio, Onto::Nothing, fields()).await;
    let _running = run(&folio);
    send(&client, "one").await;
    send(&client, "two").await;
    assert_eq!(first(&answers, 2).await, [said("ONE"), said("TWO")]);
    assert_eq!(platform.function.called(2).await, [order("one"), order("two")]);
    // Acknowledged, so nothing is left to be delivered.
    let pending = async || {
        let readers: Vec<_> = orders.consumers().collect().await;
        let reader = readers.into_iter().next().unwrap().unwrap();
        reader.num_ack_pending + usize::try_from(reader.num_pending).unwrap()
    };
    while pending().await > 0 {}
}

#[tokio::test]
async fn a_failed_call_is_repeated_and_then_given_up_with_its_reason() {
    let server = Server::start();
    let (client, platform) = (server.client().await, Platform::new().await);
    let (answers, failures) = (keep(&client, "answers").await, keep(&client, "failures").await);
    let folio = platform.connected(&server.address().await).await;
    for _ in 0..3 {
        platform.function.then(Script::Status(500));
    }
    platform.function.then(Script::Status(503));
    platform.function.then(Script::Answer);
    let twice = QueueFields { retries_max: Some(2), ..fields() };
    platform.set(&folio, Onto::Nothing, twice).await;
    let _running = run(&folio);
    // Nobody keeps the topic yet: the trigger has it kept.
    send(&client, "bad").await;
    send(&client, "good").await;
    let expected = ("bad".to_owned(), "take answered 500".to_owned());
    assert_eq!(first(&failures, 1).await, [expected]);
    assert_eq!(first(&answers, 1).await, [said("GOOD")]);
    let calls = platform.function.called(5).await;
    assert_eq!(calls, ["bad", "bad", "bad", "good", "good"].map(order));
}

#[tokio::test]
async fn what_a_dead_server_had_in_hand_is_delivered_again() {
    let server = Server::start();
    let (client, platform) = (server.client().await, Platform::new().await);
    let (_orders, answers) = (keep(&client, "orders").await, keep(&client, "answers").await);
    let address = server.address().await;
    platform.function.then(Script::Hang);
    let first_life = platform.connected(&address).await;
    platform.set(&first_life, Onto::Nothing, fields()).await;
    let running = run(&first_life);
    send(&client, "one").await;
    platform.function.called(1).await;
    // Killed between receiving and acknowledging: nothing of it is said to the queue.
    drop(running);
    drop(first_life);
    let second_life = platform.connected(&address).await;
    let _running = run(&second_life);
    assert_eq!(platform.function.called(2).await, [order("one"), order("one")]);
    assert_eq!(first(&answers, 1).await, [said("ONE")]);
}

#[tokio::test]
async fn a_change_is_followed_and_a_deleted_trigger_is_forgotten() {
    let server = Server::start();
    let (client, platform) = (server.client().await, Platform::new().await);
    let (orders, answers) = (keep(&client, "orders").await, keep(&client, "answers").await);
    let other = keep(&client, "other").await;
    let folio = platform.connected(&server.address().await).await;
    platform.set(&folio, Onto::Nothing, fields()).await;
    let _running = run(&folio);
    send(&client, "one").await;
    assert_eq!(first(&answers, 1).await, [said("ONE")]);
    let changed =
        QueueFields { response_topic: Some("other".to_owned()), ..QueueFields::default() };
    platform.set(&folio, Onto::Existing, changed).await;
    // A reader that was told to stop still finishes, so the change may take a message to be seen.
    let mut sent = 0;
    while other.get_info().await.unwrap().state.messages == 0 {
        sent += 1;
        send(&client, "two").await;
        platform.function.called(1 + sent).await;
        assert!(sent < 100, "the change was followed");
    }
    assert_eq!(first(&other, 1).await, [said("TWO")]);
    platform.delete(&folio).await;
    while orders.consumer_names().next().await.is_some() {}
}
