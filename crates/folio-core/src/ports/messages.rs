//! Message queues: topics with messages that others put there. What is read stays on the queue until it is
//! acknowledged, so whoever ends in between loses nothing.

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;

/// A message as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Where it was put.
    pub topic: String,
    /// What it says.
    pub body: Bytes,
    /// What is said about it.
    pub headers: Vec<(String, String)>,
    /// Names it, the same each time it is delivered.
    pub id: String,
    /// What to give back when it has been dealt with.
    pub receipt: Receipt,
}

/// Stands for one delivery of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt(pub String);

/// A message to be put on a topic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outgoing {
    /// What it says.
    pub body: Bytes,
    /// What is said about it.
    pub headers: Vec<(String, String)>,
}

/// Why a queue did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[error("the message queue failed to {doing}: {why}")]
pub struct MessageError {
    /// What it was asked.
    pub doing: &'static str,
    /// What it said.
    pub why: String,
}

/// The messages of a topic, as they come. Ends or fails when the queue cannot be reached.
pub type Inbox = BoxStream<'static, Result<Message, MessageError>>;

/// Who reads the messages of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// The topic.
    pub topic: String,
    /// Names the reader for ever. Readers of one name share the messages, and go on where they were.
    pub name: String,
    /// Messages it has in hand at the same time.
    pub at_once: usize,
}

/// Message queues outside folio.
#[async_trait]
pub trait Messages: Send + Sync {
    /// Opens the messages of a reader. A topic that nobody keeps messages of is kept from now on.
    async fn read(&self, reader: &Reader) -> Result<Inbox, MessageError>;

    /// Puts a message on a topic. When it returns, the queue has it.
    async fn publish(&self, topic: &str, message: Outgoing) -> Result<(), MessageError>;

    /// Says that a message has been dealt with, so that it is not delivered again.
    async fn acknowledge(&self, receipt: &Receipt) -> Result<(), MessageError>;

    /// Says that a message is still being dealt with, so that it is not delivered again yet.
    async fn hold(&self, receipt: &Receipt) -> Result<(), MessageError>;

    /// Forgets a reader that nobody will be again. Messages it has not dealt with stay for others.
    async fn forget(&self, reader: &Reader) -> Result<(), MessageError>;
}
