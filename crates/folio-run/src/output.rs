//! What processes print, line by line, into the log of the function they serve.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

use folio_core::logs::{Logs, Printer, Stream};
use folio_core::ports::runtime::Plan;
use folio_model::Timestamp;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes of one line; longer ones are broken.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// Lines that are remembered to explain why a process ended.
const TAIL_LINES: usize = 8;

/// Takes what one process prints. Before it serves a function, only the last lines are kept.
pub(crate) struct Output {
    logs: Arc<Logs>,
    plan: OnceLock<Arc<Plan>>,
    printer: Printer,
    tail: Mutex<VecDeque<String>>,
}

impl Output {
    /// The output of a process that serves a plan, or will one day.
    pub(crate) fn new(logs: &Arc<Logs>, plan: Option<&Arc<Plan>>, printer: Printer) -> Arc<Self> {
        let plan = plan.map(|plan| OnceLock::from(Arc::clone(plan))).unwrap_or_default();
        Arc::new(Self { logs: Arc::clone(logs), plan, printer, tail: Mutex::default() })
    }

    /// Says whom the process serves from now on.
    pub(crate) fn bind(&self, plan: &Arc<Plan>) {
        // A process serves one plan in its life, so a second word could only repeat the first.
        drop(self.plan.set(Arc::clone(plan)));
    }

    /// Adds a line.
    pub(crate) fn add(&self, stream: Stream, text: &str) {
        let mut tail = self.tail.lock().expect("no holder panics");
        if tail.len() >= TAIL_LINES {
            tail.pop_front();
        }
        tail.push_back(text.chars().take(500).collect());
        drop(tail);
        if let Some(plan) = self.plan.get() {
            self.logs.add(plan, Timestamp::now(), stream, self.printer, text);
        }
    }

    /// The last lines, to explain a failure.
    pub(crate) fn tail(&self) -> String {
        let tail = self.tail.lock().expect("no holder panics");
        tail.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Reads a stream to its end.
    pub(crate) async fn drain(
        self: Arc<Self>,
        stream: Stream,
        from: Option<impl AsyncRead + Unpin>,
    ) {
        let Some(mut from) = from else { return };
        let mut piece = vec![0; 8 * 1024];
        let mut line = Vec::new();
        while let Ok(count @ 1..) = from.read(&mut piece).await {
            for &byte in &piece[..count] {
                if byte != b'\n' {
                    line.push(byte);
                }
                if byte == b'\n' || line.len() >= LINE_BYTES_MAX {
                    self.end(stream, &mut line);
                }
            }
        }
        if !line.is_empty() {
            self.end(stream, &mut line);
        }
    }

    fn end(&self, stream: Stream, line: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(line);
        self.add(stream, text.trim_end_matches('\r'));
        line.clear();
    }
}
