//! What functions print: a bounded ring of lines per function, for whoever asks or follows. Nothing here waits,
//! so a function that floods its log only loses its own older lines.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use folio_model::{AppName, Name, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::ports::runtime::{Plan, RequestId};

/// One line a function printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// Its place among the lines of its function: 1, 2, 3.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The version's id, or `draft`.
    pub version: String,
    /// The request it belongs to, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The process that printed it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// Where it was printed.
    pub stream: Stream,
    /// The text, without its line break.
    pub text: String,
}

/// Who printed a line, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Printer {
    /// For which request.
    pub request: Option<RequestId>,
    /// In which process.
    pub worker: Option<u32>,
}

/// Where a line was printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// folio itself, about the function.
    System,
}

/// The newest lines of every function.
pub struct Logs {
    rings: Mutex<HashMap<(AppName, Name), Arc<Ring>>>,
    bytes_max: usize,
    captures: Mutex<HashMap<RequestId, Captured>>,
    /// How many captures there are, so that whoever prints need not ask for them.
    capturing: AtomicUsize,
}

/// What one request printed so far.
struct Captured {
    text: String,
    bytes_max: usize,
    is_cut: bool,
}

/// Collects what one request prints, from when it is made until it is dropped.
pub struct Capture {
    logs: Arc<Logs>,
    request: RequestId,
}

impl Capture {
    /// What was printed so far, and whether that is not all of it.
    pub fn take(&self) -> (String, bool) {
        let mut captures = self.logs.captures();
        let captured = captures.get_mut(&self.request);
        captured.map_or_else(Default::default, |one| (std::mem::take(&mut one.text), one.is_cut))
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.logs.captures().remove(&self.request);
        self.logs.capturing.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Ring {
    lines: Mutex<Lines>,
    newest: watch::Sender<u64>,
}

#[derive(Default)]
struct Lines {
    kept: VecDeque<Line>,
    bytes: usize,
    next: u64,
}

impl Logs {
    /// Keeps so many bytes of each function's newest lines.
    pub fn new(bytes_max: usize) -> Self {
        let (captures, capturing) = (Mutex::default(), AtomicUsize::new(0));
        Self { rings: Mutex::default(), bytes_max, captures, capturing }
    }

    /// Collects what a request prints to standard output, and what folio says of it, up to so many bytes.
    pub fn capture(self: &Arc<Self>, request: RequestId, bytes_max: usize) -> Capture {
        let captured = Captured { text: String::new(), bytes_max, is_cut: false };
        self.captures().insert(request, captured);
        self.capturing.fetch_add(1, Ordering::Relaxed);
        Capture { logs: Arc::clone(self), request }
    }

    fn captures(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, Captured>> {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn catch(&self, request: Option<RequestId>, text: &str) {
        let Some(request) = request else { return };
        if self.capturing.load(Ordering::Relaxed) == 0 {
            return;
        }
        if let Some(captured) = self.captures().get_mut(&request) {
            let room = captured.bytes_max.saturating_sub(captured.text.len() + 1);
            let cut = text.floor_char_boundary(text.len().min(room));
            captured.is_cut |= cut < text.len();
            if room > 0 {
                captured.text.push_str(&text[..cut]);
                captured.text.push('\n');
            }
        }
    }

    /// Adds a line; the oldest leave for it. Longer lines than the ring are cut.
    #[expect(
        clippy::too_many_arguments,
        reason = "a line is all of these, and whoever runs code has them at hand one by one"
    )]
    pub fn add(
        &self,
        plan: &Plan,
        at: Timestamp,
        stream: Stream,
        Printer { request, worker }: Printer,
        text: &str,
    ) {
        if stream != Stream::Stderr {
            self.catch(request, text);
        }
        let ring = self.ring(&plan.app, &plan.function);
        let cut = text.floor_char_boundary(text.len().min(self.bytes_max / 4));
        let mut lines = ring.lines.lock().expect("no writer panics while it holds the lock");
        lines.next += 1;
        let line = Line {
            seq: lines.next,
            at,
            version: plan.at.to_string(),
            request: request.map(|id| id.to_string()),
            worker,
            stream,
            text: text[..cut].to_owned(),
        };
        lines.bytes += line.cost();
        lines.kept.push_back(line);
        while lines.bytes > self.bytes_max {
            let Some(oldest) = lines.kept.pop_front() else { break };
            lines.bytes -= oldest.cost();
        }
        let newest = lines.next;
        drop(lines);
        ring.newest.send_replace(newest);
    }

    /// The lines after a place, oldest first, and a watch that changes when there are more.
    pub fn after(
        &self,
        app: &AppName,
        function: &Name,
        after: u64,
    ) -> (Vec<Line>, watch::Receiver<u64>) {
        let ring = self.ring(app, function);
        let newest = ring.newest.subscribe();
        let lines = ring.lines.lock().expect("no writer panics while it holds the lock");
        (lines.kept.iter().filter(|line| line.seq > after).cloned().collect(), newest)
    }

    fn ring(&self, app: &AppName, function: &Name) -> Arc<Ring> {
        let mut rings = self.rings.lock().expect("no holder panics");
        let ring = rings.entry((app.clone(), function.clone())).or_insert_with(|| {
            Arc::new(Ring { lines: Mutex::default(), newest: watch::Sender::new(0) })
        });
        Arc::clone(ring)
    }
}

impl Line {
    fn cost(&self) -> usize {
        self.text.len() + 64
    }
}
