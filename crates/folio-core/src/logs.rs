//! What functions print: a bounded ring of lines per function, for whoever asks or follows. Nothing here waits,
//! so a function that floods its log only loses its own older lines.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

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
    /// Where it was printed.
    pub stream: Stream,
    /// The text, without its line break.
    pub text: String,
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
        Self { rings: Mutex::default(), bytes_max }
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
        request: Option<RequestId>,
        text: &str,
    ) {
        let ring = self.ring(&plan.app, &plan.function);
        let cut = text.floor_char_boundary(text.len().min(self.bytes_max / 4));
        let mut lines = ring.lines.lock().expect("no writer panics while it holds the lock");
        lines.next += 1;
        let line = Line {
            seq: lines.next,
            at,
            version: plan.at.to_string(),
            request: request.map(|id| id.to_string()),
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
