//! What a build prints, on its way to whoever reads it: whole lines, without anything a terminal would obey. How much of
//! it is kept, the reader decides.

use std::sync::Arc;

use bytes::Bytes;
use folio_core::ports::runtime::BuildLog;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::Mutex;

/// Bytes of one line; longer ones are broken.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// Takes the output of one build, from both of its streams.
#[derive(Clone)]
pub(super) struct Log(Arc<Mutex<BuildLog>>);

impl Log {
    pub(super) fn new(log: BuildLog) -> Self {
        Self(Arc::new(Mutex::new(log)))
    }

    /// Adds a line of folio's own.
    pub(super) async fn say(&self, line: &str) {
        self.add(format!("{}\n", neutral(line.as_bytes()))).await;
    }

    /// Reads a stream to its end.
    pub(super) async fn drain(&self, mut stream: impl AsyncRead + Unpin) {
        let mut lines = Lines::default();
        let mut piece = vec![0; 8 * 1024];
        while let Ok(count @ 1..) = stream.read(&mut piece).await {
            let text = lines.take(&piece[..count]);
            self.add(text).await;
        }
        self.add(lines.rest()).await;
    }

    /// Reads a stream to its end, if there is one.
    pub(super) async fn drain_some(&self, stream: Option<impl AsyncRead + Unpin>) {
        if let Some(stream) = stream {
            self.drain(stream).await;
        }
    }

    async fn add(&self, text: String) {
        if text.is_empty() {
            return;
        }
        // Held while the reader is slow, which keeps the two streams from filling the memory instead.
        let log = self.0.lock().await;
        // A reader that left does not stop the build.
        drop(log.send(Bytes::from(text)).await);
    }
}

/// Cuts a stream into lines.
#[derive(Default)]
struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// The lines that are complete, made harmless.
    fn take(&mut self, piece: &[u8]) -> String {
        let mut text = String::new();
        for &byte in piece {
            match byte {
                b'\n' | b'\r' => self.end(&mut text),
                _ => self.begun.push(byte),
            }
            if self.begun.len() >= LINE_BYTES_MAX {
                self.end(&mut text);
            }
        }
        text
    }

    fn rest(&mut self) -> String {
        let mut text = String::new();
        self.end(&mut text);
        text
    }

    /// Ends a line. Empty ones are left out: a `\r\n` ends one line, not two.
    fn end(&mut self, text: &mut String) {
        if !self.begun.is_empty() {
            text.push_str(&neutral(&std::mem::take(&mut self.begun)));
            text.push('\n');
        }
    }
}

/// Shows control characters instead of sending them: `\x1b` becomes `␛`.
fn neutral(line: &[u8]) -> String {
    let shown = |c: char| match c {
        '\t' => '\t',
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        // Marks that turn the direction of writing could make a line read as another.
        '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        _ => c,
    };
    String::from_utf8_lossy(line).chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn printed(output: &[u8]) -> String {
        let (log, mut lines) = tokio::sync::mpsc::channel(1);
        let log = Log::new(log);
        let drain = async move { log.drain(output).await };
        let collect = async move {
            let mut text = Vec::new();
            while let Some(bytes) = lines.recv().await {
                text.extend_from_slice(&bytes);
            }
            String::from_utf8(text).unwrap()
        };
        tokio::join!(drain, collect).1
    }

    #[tokio::test]
    async fn nothing_in_a_log_moves_a_cursor() {
        let text = printed(b"10%\r20%\r\n\x1b[31mred\x07\nbad \xff\n\n\ttab\nlast").await;
        assert_eq!(text, "10%\n20%\n\u{241b}[31mred\u{2407}\nbad \u{fffd}\n\ttab\nlast\n");
    }

    #[tokio::test]
    async fn an_endless_line_is_broken() {
        let text = printed(&[b'x'; 3 * LINE_BYTES_MAX]).await;
        assert_eq!(text.lines().count(), 3);
    }
}
