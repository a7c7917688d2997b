//! NATS JetStream: topics are subjects, readers are durable consumers. A subject that no stream keeps gets a
//! stream of its own.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, Context, stream};
use async_nats::{Client, ConnectOptions, HeaderMap};
use async_trait::async_trait;
use bytes::Bytes;
use folio_core::ports::{Inbox, Message, MessageError, Messages, Outgoing, Reader, Receipt};
use futures::{StreamExt as _, TryStreamExt as _};

/// How long a message that was delivered is not delivered again without a word of who has it.
const ACK_WAIT: Duration = Duration::from_secs(6);

/// How long the server may be silent before a reader takes it for gone.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How long one question to the server may wait while there are no messages.
const EXPIRES: Duration = Duration::from_secs(30);

/// A connection to a NATS server, kept up through whatever happens to it.
#[derive(Debug, Clone)]
pub struct Nats {
    client: Client,
    jetstream: Context,
}

impl Nats {
    /// Connects to a server such as `nats://127.0.0.1:4222`. One that does not answer yet is tried again in the
    /// background; an address that is none is refused.
    pub async fn connect(address: &str) -> Result<Self, MessageError> {
        let options = ConnectOptions::new().name("folio").retry_on_initial_connect();
        let client = options.connect(address).await.map_err(failed("connect"))?;
        let jetstream = jetstream::new(client.clone());
        Ok(Self { client, jetstream })
    }

    /// The stream that keeps a topic's messages, made if there is none.
    async fn stream_of(&self, topic: &str) -> Result<String, MessageError> {
        if let Ok(name) = self.jetstream.stream_by_subject(topic).await {
            return Ok(name);
        }
        let name = stream_name(topic);
        let subjects = vec![topic.to_owned()];
        let config = stream::Config { name: name.clone(), subjects, ..stream::Config::default() };
        let made = self.jetstream.get_or_create_stream(config).await;
        made.map(|_| name).map_err(failed("make a stream"))
    }
}

#[async_trait]
impl Messages for Nats {
    async fn read(&self, reader: &Reader) -> Result<Inbox, MessageError> {
        let stream = self.stream_of(&reader.topic).await?;
        let config = pull::Config {
            durable_name: Some(reader.name.clone()),
            filter_subject: reader.topic.clone(),
            deliver_policy: DeliverPolicy::All,
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            ..pull::Config::default()
        };
        let consumer: Result<PullConsumer, _> =
            self.jetstream.create_consumer_on_stream(config, stream).await;
        let consumer = consumer.map_err(failed("make a consumer"))?;
        // What lies here unread is not told that somebody works on it, so no more is fetched than is worked on.
        let messages = consumer
            .stream()
            .max_messages_per_batch(reader.at_once)
            .heartbeat(HEARTBEAT)
            .expires(EXPIRES)
            .messages();
        let messages = messages.await.map_err(failed("read messages"))?;
        Ok(messages.map_err(failed("read messages")).map_ok(received).boxed())
    }

    async fn publish(&self, topic: &str, message: Outgoing) -> Result<(), MessageError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &message.headers {
            headers.append(name.as_str(), value.as_str());
        }
        let (topic, body) = (topic.to_owned(), message.body);
        if self.jetstream.stream_by_subject(topic.as_str()).await.is_err() {
            // No stream keeps it: whoever listens now hears it, as with any message of NATS.
            let said = self.client.publish_with_headers(topic, headers, body).await;
            said.map_err(failed("publish"))?;
            return self.client.flush().await.map_err(failed("publish"));
        }
        let kept = self.jetstream.publish_with_headers(topic, headers, body).await;
        kept.map_err(failed("publish"))?.await.map(|_| ()).map_err(failed("publish"))
    }

    async fn acknowledge(&self, receipt: &Receipt) -> Result<(), MessageError> {
        let said = self.client.request(receipt.0.clone(), Bytes::from_static(b"+ACK")).await;
        said.map(|_| ()).map_err(failed("acknowledge a message"))
    }

    async fn hold(&self, receipt: &Receipt) -> Result<(), MessageError> {
        let said = self.client.publish(receipt.0.clone(), Bytes::from_static(b"+WPI")).await;
        said.map_err(failed("hold a message"))
    }

    async fn forget(&self, reader: &Reader) -> Result<(), MessageError> {
        let stream = self.stream_of(&reader.topic).await?;
        let gone = self.jetstream.delete_consumer_from_stream(&reader.name, stream).await;
        gone.map(|_| ()).map_err(failed("forget a consumer"))
    }
}

fn received(message: jetstream::Message) -> Message {
    let id = message.info().map(|info| format!("{}/{}", info.stream, info.stream_sequence));
    let headers = message.headers.iter().flat_map(HeaderMap::iter);
    let headers = headers.flat_map(|(name, values)| {
        values.iter().map(|value| (name.to_string(), value.to_string()))
    });
    Message {
        topic: message.subject.to_string(),
        headers: headers.collect(),
        id: id.unwrap_or_default(),
        receipt: Receipt(message.reply.as_ref().map(ToString::to_string).unwrap_or_default()),
        body: message.payload.clone(),
    }
}

/// The name of the stream that is made for a topic: two topics never share one.
fn stream_name(topic: &str) -> String {
    let escaped = topic.chars().map(|letter| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '-' => letter.to_string(),
        other => format!("_{:02x}", u32::from(other)),
    });
    format!("folio-{}", escaped.collect::<String>())
}

fn failed<E: std::fmt::Display>(doing: &'static str) -> impl Fn(E) -> MessageError {
    move |error| MessageError { doing, why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_topics_have_different_names() {
        assert_eq!(stream_name("orders"), "folio-orders");
        assert_eq!(stream_name("orders.new"), "folio-orders_2enew");
        assert_ne!(stream_name("orders_2enew"), stream_name("orders.new"));
    }
}
