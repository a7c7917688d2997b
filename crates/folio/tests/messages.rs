//! Message queue triggers, from the command line to the answers of the versions they lead to.

mod server;

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::{self, stream};
use folio_testkit::transcript::Session;
use futures::StreamExt as _;

use self::server::Server;
use crate::program::{refused, session, works};

/// A client of the queue, as somebody else would have.
struct Client {
    context: jetstream::Context,
    /// Where answers are kept.
    answers: stream::Stream,
    /// How many of them were read.
    read: usize,
}

impl Client {
    async fn new(server: &Server) -> Self {
        let context = jetstream::new(async_nats::connect(server.address()).await.unwrap());
        let (name, subjects) = ("answers".to_owned(), vec!["answers.>".to_owned()]);
        let config = stream::Config { name, subjects, ..stream::Config::default() };
        let answers = context.create_stream(config).await.unwrap();
        Self { context, answers, read: 0 }
    }

    /// Sends a message and waits for its answer. Until the trigger has its topic kept, nothing is.
    async fn ask(&mut self, topic: &'static str, body: &'static str) -> String {
        while let Err(error) = self.context.publish(topic, body.into()).await.unwrap().await {
            assert_eq!(error.kind(), PublishErrorKind::StreamNotFound, "{error}");
        }
        self.read += 1;
        let consumer = self.answers.create_consumer(pull::Config::default()).await.unwrap();
        let mut messages = consumer.messages().await.unwrap().skip(self.read - 1);
        let message = messages.next().await.unwrap().unwrap();
        assert_eq!(message.subject.as_str(), format!("answers.{topic}"));
        String::from_utf8(message.payload.to_vec()).unwrap()
    }
}

/// Code that answers with its name and what it is sent.
fn code(session: &Session, name: &str) {
    let text = "module.exports = async (context) => ({ status: 200, body: 'NAME ' + context.request.body });\n";
    session.write("code.js", &text.replace("NAME", name)).unwrap();
}

fn publish(session: &Session, version: &str) {
    code(session, version);
    let flags = format!("hello --env nodejs --code code.js --version {version}");
    works(session, &format!("folio fn version create {flags}"));
}

fn trigger(session: &Session, topic: &str, function: &str) -> String {
    let topics = format!("--topic {topic} --resptopic answers.{topic} --contenttype text/plain");
    works(session, &format!("folio mqtrigger create --name {topic} {topics} --function {function}"))
}

const MANIFESTS: &str = "\
kind: ArchiveUploadSpec
name: code
include: [code.js]
---
kind: Package
metadata: {name: applied-pkg}
spec: {environment: {name: nodejs}, deployment: {url: 'archive://code'}}
---
kind: Function
metadata: {name: applied}
spec: {environment: {name: nodejs}, package: {packageref: {name: applied-pkg}}}
---
kind: MessageQueueTrigger
metadata: {name: applied}
spec:
  functionref: {name: applied, type: name, version: latest}
  messageQueueType: nats-jetstream
  topic: applied
  respTopic: answers.applied
  contentType: text/plain
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_reach_the_version_that_their_trigger_leads_to() {
    let server = Server::start();
    let mut client = Client::new(&server).await;
    let session = session(&["--nats", &server.address()]);
    publish(&session, "v1");
    publish(&session, "v2");
    publish(&session, "v3");
    works(&session, "folio fn alias create hello --alias prod --version v2");
    let said = trigger(&session, "pinned", "hello --version v1");
    assert!(said.contains("pinned -> hello@v1"), "{said}");
    trigger(&session, "aliased", "hello --alias prod");
    trigger(&session, "newest", "hello --version latest");
    assert_eq!(client.ask("pinned", "one").await, "v1 one");
    assert_eq!(client.ask("aliased", "two").await, "v2 two");
    assert_eq!(client.ask("newest", "three").await, "v3 three");

    // What a trigger leads to stays, and what moves takes the next message along.
    let said = refused(&session, "folio fn version delete hello --version v1");
    assert!(said.contains("pinned"), "{said}");
    works(&session, "folio fn alias update hello --alias prod --version v3");
    assert_eq!(client.ask("aliased", "four").await, "v3 four");
    publish(&session, "v4");
    assert_eq!(client.ask("newest", "five").await, "v4 five");
    assert_eq!(client.ask("pinned", "six").await, "v1 six");

    // The same from a manifest.
    code(&session, "first");
    works(&session, "folio spec init --name applied --deployid applied");
    session.write("all.yaml", MANIFESTS).unwrap();
    works(&session, "mv all.yaml specs");
    works(&session, "folio spec version apply");
    assert_eq!(client.ask("applied", "seven").await, "first seven");
    code(&session, "second");
    works(&session, "folio spec version apply");
    assert_eq!(client.ask("applied", "eight").await, "second eight");
}
