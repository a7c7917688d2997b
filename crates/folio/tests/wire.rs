//! A connection to a server, as plain as can be: what is sent is what was written, and everything that goes
//! wrong is an error. Counts as a client that hides nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer that arrived whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One kept-alive connection.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects to `http://ADDRESS` or `ADDRESS`.
    pub(crate) fn open(url: &str) -> std::io::Result<Self> {
        let address: SocketAddr =
            url.trim_start_matches("http://").parse().map_err(std::io::Error::other)?;
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Asks with a method, a path and further header lines, each ended by `\r\n`.
    pub(crate) fn ask(
        &mut self,
        line: &str,
        headers: &str,
        body: &[u8],
    ) -> std::io::Result<Answer> {
        let head = format!(
            "{line} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        );
        self.send(&[head.as_bytes(), body].concat())?;
        self.answer()
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Reads one answer to its end.
    pub(crate) fn answer(&mut self) -> std::io::Result<Answer> {
        let mut answer = self.head()?;
        answer.body = self.body(&answer)?;
        Ok(answer)
    }

    /// Reads an answer up to its body.
    pub(crate) fn head(&mut self) -> std::io::Result<Answer> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| std::io::Error::other(format!("`{first}`")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        Ok(Answer { status, headers, body: Vec::new() })
    }

    /// Reads the next chunk of a body that comes in chunks; the last one is empty.
    pub(crate) fn chunk(&mut self) -> std::io::Result<Vec<u8>> {
        let size = usize::from_str_radix(&self.line()?, 16).map_err(std::io::Error::other)?;
        let mut chunk = vec![0; size];
        self.stream.read_exact(&mut chunk)?;
        self.line()?;
        Ok(chunk)
    }

    fn body(&mut self, answer: &Answer) -> std::io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if answer.header("transfer-encoding").is_some() {
            loop {
                match self.chunk()? {
                    chunk if chunk.is_empty() => return Ok(body),
                    chunk => body.extend(chunk),
                }
            }
        }
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        body.resize(length.unwrap_or(0), 0);
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
