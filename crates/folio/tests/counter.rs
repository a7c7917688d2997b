//! A line between a command and its server, on which everything that is sent can be heard.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use folio_testkit::transcript::Session;

use crate::program::works;

/// Hears what a client sends, before it is passed on, and says whether it is.
type Hear = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Passes everything on and keeps what clients send.
pub(crate) struct Counter {
    pub(crate) url: String,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Counter {
    pub(crate) fn before(session: &Session) -> Self {
        Self::hearing(session, |_| {})
    }

    /// As [`Self::before`]; what is heard happens before the server knows.
    pub(crate) fn hearing(session: &Session, hear: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self::passing(session, move |bytes| {
            hear(bytes);
            true
        })
    }

    /// As [`Self::before`]; the line is cut, and stays so, once clients have sent so many bytes.
    pub(crate) fn cut_after(session: &Session, bytes_max: usize) -> Self {
        let sent = AtomicUsize::new(0);
        Self::passing(session, move |bytes| {
            sent.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len() <= bytes_max
        })
    }

    fn passing(session: &Session, hear: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = session.url().trim_start_matches("http://").to_owned();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&sent);
        let hear: Hear = Arc::new(move |bytes: &[u8]| {
            kept.lock().unwrap().extend_from_slice(bytes);
            hear(bytes)
        });
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(&server).unwrap();
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let hear = Arc::clone(&hear);
                std::thread::spawn(move || pass(from, to, &hear));
                let deaf: Hear = Arc::new(|_: &[u8]| true);
                std::thread::spawn(move || pass(server, client, &deaf));
            }
        });
        Self { url, sent }
    }

    /// What a command says that must work, and what it sends. `$SERVER` in it is the line.
    #[track_caller]
    pub(crate) fn during(&self, session: &Session, line: &str) -> (String, Vec<u8>) {
        self.sent();
        let said = works(session, &line.replace("$SERVER", &self.url));
        (said, self.sent())
    }

    /// What was sent since this was asked last.
    pub(crate) fn sent(&self) -> Vec<u8> {
        std::mem::take(&mut self.sent.lock().unwrap())
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, hear: &Hear) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        if !hear(&buffer[..bytes]) {
            drop(from.shutdown(Shutdown::Both));
            drop(to.shutdown(Shutdown::Both));
            return;
        }
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    // Either side may be gone already.
    drop(to.shutdown(Shutdown::Write));
}
