//! A client that sends exactly the bytes it is told and reads answers one by one.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) struct Client<S = TcpStream> {
    pub(crate) stream: S,
    read: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).await.unwrap())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) fn over(stream: S) -> Self {
        Self { stream, read: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends bytes and reads one answer.
    pub(crate) async fn ask(&mut self, bytes: impl AsRef<[u8]>) -> Answer {
        self.send(bytes).await;
        self.answer().await.expect("an answer")
    }

    /// A request without a body, and its answer.
    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.ask(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await
    }

    /// The next answer; nothing if the connection ends before it begins.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        let (length, mut answer) = loop {
            let mut room = [httparse::EMPTY_HEADER; 64];
            let mut response = httparse::Response::new(&mut room);
            if let Ok(httparse::Status::Complete(length)) = response.parse(&self.read) {
                let line = |header: &httparse::Header<'_>| {
                    (
                        header.name.to_ascii_lowercase(),
                        String::from_utf8_lossy(header.value).into_owned(),
                    )
                };
                let headers = response.headers.iter().map(line).collect();
                break (
                    length,
                    Answer { status: response.code.unwrap(), headers, body: Vec::new() },
                );
            }
            if !self.fill().await {
                assert!(
                    self.read.is_empty(),
                    "half an answer: {:?}",
                    String::from_utf8_lossy(&self.read)
                );
                return None;
            }
        };
        self.read.drain(..length);
        answer.body = match answer.header("content-length") {
            Some(length) => self.take(length.parse().unwrap()).await,
            None if answer.header("transfer-encoding") == Some("chunked") => self.chunks().await,
            None => Vec::new(),
        };
        Some(answer)
    }

    /// Whether the server has closed the connection without sending more.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.read.is_empty() && !self.fill().await
    }

    pub(crate) async fn take(&mut self, bytes: usize) -> Vec<u8> {
        while self.read.len() < bytes {
            assert!(self.fill().await, "the answer ended early");
        }
        self.read.drain(..bytes).collect()
    }

    async fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                match self.read.windows(2).position(|pair| pair == b"\r\n") {
                    Some(end) => break end,
                    None => assert!(self.fill().await, "the answer ended early"),
                }
            };
            let line = self.take(end + 2).await;
            let size =
                usize::from_str_radix(std::str::from_utf8(&line[..end]).unwrap(), 16).unwrap();
            body.extend(self.take(size).await);
            assert_eq!(self.take(2).await, b"\r\n");
            if size == 0 {
                return body;
            }
        }
    }

    async fn fill(&mut self) -> bool {
        matches!(self.stream.read_buf(&mut self.read).await, Ok(1..))
    }
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of an error, whose body has to have the right form and the id of the header.
    pub(crate) fn code(&self) -> String {
        let error = &self.json()["error"];
        assert_eq!(error["requestId"].as_str(), self.header("folio-request-id"), "{self:?}");
        assert_eq!(error["requestId"].as_str().map(str::len), Some(32));
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
        error["code"].as_str().unwrap().to_owned()
    }

    /// What a function that echoes was given.
    pub(crate) fn told(&self, key: &str) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()[key].clone()
    }
}
