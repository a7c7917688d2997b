//! The access log: what a request leaves in it, and what it does not.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use tracing_subscriber::fmt::MakeWriter;

use crate::client::Answer;
use crate::world::{World, exact};

/// What was logged so far.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// The log of all tests, because whoever listens to events listens for the whole process.
fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Log::default();
        let listener = tracing_subscriber::fmt().with_ansi(false).with_writer(log.clone()).finish();
        tracing::subscriber::set_global_default(listener).unwrap();
        log
    })
}

/// The one line that a request left.
fn line_of(answer: &Answer) -> String {
    let id = answer.header("folio-request-id").unwrap();
    let mut lines = log().lines();
    lines.retain(|line| line.contains(id));
    assert_eq!(lines.len(), 1, "{lines:#?}");
    lines.remove(0)
}

#[tokio::test]
async fn each_request_leaves_one_line_without_its_query() {
    log();
    let world = World::new().await;
    world.publish("crashed", "v1").await;
    world.route(exact("/hello"), "echo").await;
    world.route(exact("/broken"), "crashed").await;
    let mut client = world.client().await;
    let hello = client.get("/hello?token=hidden").await;
    let (broken, none) = (client.get("/broken").await, client.get("/none").await);
    let lengths = "Content-Length: 3\r\nTransfer-Encoding: chunked";
    let twofold = client.ask(format!("GET / HTTP/1.1\r\nHost: a\r\n{lengths}\r\n\r\n")).await;
    assert!(client.is_closed().await);

    let line = line_of(&hello);
    for part in ["method=GET", "host=localhost", "path=/hello", "status=200", "version=\"echo@v1\""]
    {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!line.contains("hidden"), "{line}");
    // What clients are not told is for whoever runs the server.
    let line = line_of(&broken);
    assert!(line.contains("status=502") && line.contains("secret detail"), "{line}");
    assert!(line_of(&none).contains("code=\"route_not_found\""));
    assert!(line_of(&twofold).contains("status=400"));
}
