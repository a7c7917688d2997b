//! `folio mqtrigger`: functions that are called for messages of a queue.

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::trigger::{QueueFields, TriggerFields, TriggerType, TriggerView};
use folio_model::{QueueSpec, TriggerSpec};

use super::{Called, Calls, Which};
use crate::command::Session;
use crate::command::deleting::Deleting;
use crate::command::idle::QueueIdle;
use crate::command::saving::Creating;
use crate::output::{Details, Format, Table};

/// What one can do with triggers of messages.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call a function for every message of a topic
    Create(Creating<Set>),
    /// Change a trigger; what is left out stays
    Update(Set),
    /// List triggers of messages
    List,
    /// Show one trigger
    #[command(visible_alias = "get")]
    Show(Which),
    /// Delete a trigger; the functions stay
    Delete(Deleting),
}

/// A trigger of messages as it shall be.
#[derive(Debug, Args)]
pub(crate) struct Set {
    #[command(flatten)]
    called: Called,
    /// Read this topic
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// The kind of message queue [default: nats-jetstream]
    #[arg(long, value_name = "TYPE")]
    mqtype: Option<String>,
    /// Send answers to this topic
    #[arg(long, value_name = "TOPIC")]
    resptopic: Option<String>,
    /// Send messages to this topic whose calls failed for good, with the reason
    #[arg(long, value_name = "TOPIC")]
    errortopic: Option<String>,
    /// Repeat a failed call so often [default: 0]
    #[arg(long, value_name = "COUNT")]
    maxretries: Option<u32>,
    /// Call with this content type [default: application/json]
    #[arg(long, value_name = "TYPE")]
    contenttype: Option<String>,
    /// Work on so many messages at the same time [default: 1]
    #[arg(long, value_name = "COUNT")]
    maxreplicacount: Option<u32>,
    #[command(flatten)]
    calls: Calls,
    #[command(flatten)]
    idle: QueueIdle,
}

/// Runs a command on triggers of messages.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Create(Creating { what, saving }) => {
            let (called, fields) = what.fields()?;
            super::create(session, called, fields, saving).await
        }
        Command::Update(set) => {
            let (called, fields) = set.fields()?;
            super::update(session, called, fields).await
        }
        Command::List => super::list(session, TriggerType::Queue, table).await,
        Command::Show(which) => super::show(session, &which, details).await,
        Command::Delete(deleting) => super::delete(session, &deleting, TriggerType::Queue).await,
    }
}

impl Set {
    fn fields(self) -> Result<(Called, TriggerFields)> {
        self.idle.warn();
        let fields = QueueFields {
            queue: self.mqtype,
            topic: self.topic,
            response_topic: self.resptopic,
            error_topic: self.errortopic,
            retries_max: self.maxretries,
            content_type: self.contenttype,
            readers_max: self.maxreplicacount,
            targets: self.calls.targets()?,
        };
        Ok((self.called, TriggerFields::Queue(fields)))
    }
}

fn queue(view: &TriggerView) -> Option<&QueueSpec> {
    match &view.spec {
        TriggerSpec::Queue(queue) => Some(queue),
        _ => None,
    }
}

fn table(triggers: &[TriggerView], _: Format) -> Table {
    let mut table = Table::new([
        "NAME",
        "FUNCTION_NAME",
        "MESSAGE_QUEUE_TYPE",
        "TOPIC",
        "RESPONSE_TOPIC",
        "ERROR_TOPIC",
        "MAX_RETRIES",
        "PUB_MSG_CONTENT_TYPE",
        "NAMESPACE",
    ]);
    for view in triggers {
        let Some(queue) = queue(view) else { continue };
        table.row([
            view.name.to_string(),
            super::leads(&view.spec),
            queue.queue().to_owned(),
            queue.topic.clone(),
            queue.response_topic.clone().unwrap_or_default(),
            queue.error_topic.clone().unwrap_or_default(),
            queue.retries_max.unwrap_or(0).to_string(),
            queue.content_type().to_owned(),
            view.app.to_string(),
        ]);
    }
    table
}

fn details(view: &TriggerView) -> Details {
    let Some(queue) = queue(view) else { return Details::default() };
    Details::default()
        .line("Name", &view.name)
        .line("App", &view.app)
        .line("Version", view.version.number)
        .line("Queue", queue.queue())
        .line("Topic", &queue.topic)
        .line("Answers to", queue.response_topic.as_deref().unwrap_or_default())
        .line("Failures to", queue.error_topic.as_deref().unwrap_or_default())
        .line("Retries", queue.retries_max.unwrap_or(0))
        .line("Content type", queue.content_type())
        .line("Calls", super::leads(&view.spec))
        .line("Revision", view.revision)
}
