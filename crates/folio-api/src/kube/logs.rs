//! What a worker prints, as the log of its Pod: lines of its function's log that are its own, and those of folio about
//! its version. A log that is followed ends with the worker.

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use folio_core::Folio;
use folio_core::logs::Line;
use folio_model::{AppName, Timestamp};
use futures::stream;
use percent_encoding::percent_decode_str;
use tokio::sync::watch;

use super::Asked;
use super::kinds::pod::{Worker, workers};
use super::status::Status;

/// How often it is looked whether a worker is still there.
const LOOK: Duration = Duration::from_millis(500);

/// What of a log is wanted.
#[derive(Debug, Default)]
struct Wanted {
    container: Option<String>,
    follow: bool,
    timestamps: bool,
    previous: bool,
    tail: Option<usize>,
    since: Option<Timestamp>,
    bytes_max: Option<usize>,
}

/// One reading of a log.
struct Reading {
    folio: Folio,
    app: AppName,
    worker: Worker,
    wanted: Wanted,
    closing: watch::Receiver<()>,
    /// The place of the last line that was looked at.
    after: u64,
    more: Option<watch::Receiver<u64>>,
    waiting: VecDeque<Bytes>,
    ended: bool,
}

/// `GET` of the log of a Pod.
pub(super) async fn show(asked: Asked) -> Result<Response, Status> {
    let name = asked.target.name.clone().unwrap_or_default();
    let app = asked.target.app()?.clone();
    let wanted = Wanted::parse(asked.parts.uri.query(), asked.folio.now())?;
    let worker = workers(&asked.folio, &app).into_iter().find(|worker| worker.name == name);
    let worker = worker.ok_or_else(|| asked.target.not_found(&name))?;
    if let Some(other) = wanted.container.as_deref().filter(|own| *own != worker.function.as_str())
    {
        return Err(Status::bad_request(format!("container {other} is not valid for pod {name}")));
    }
    if wanted.previous {
        let what = format!("previous terminated container of pod {name} not found");
        return Err(Status::bad_request(what));
    }
    let (folio, closing) = (asked.folio, asked.feed.closing());
    let (waiting, after, more) = (VecDeque::new(), 0, None);
    let mut reading =
        Reading { folio, app, worker, wanted, closing, after, more, waiting, ended: false };
    reading.begin().await?;
    let pieces = stream::unfold(reading, async |mut reading| {
        let piece = reading.next().await?;
        Some((Ok::<_, std::convert::Infallible>(piece), reading))
    });
    Ok(([(header::CONTENT_TYPE, "text/plain")], Body::from_stream(pieces)).into_response())
}

impl Reading {
    /// Reads what there is, as far as it is wanted.
    async fn begin(&mut self) -> Result<(), Status> {
        let mut lines = self.read().await?;
        if let Some(since) = self.wanted.since {
            lines.retain(|line| line.at >= since);
        }
        let skipped = self.wanted.tail.map_or(0, |tail| lines.len().saturating_sub(tail));
        for line in &lines[skipped..] {
            self.tell(line);
        }
        self.ended |= !self.wanted.follow;
        Ok(())
    }

    /// The worker's lines after those that were read.
    async fn read(&mut self) -> Result<Vec<Line>, Status> {
        let Worker { function, version, pid, .. } = &self.worker;
        let (after, version) = (self.after, Some(version.as_str()));
        let found = self.folio.function_logs(&self.app, function, after, version).await?;
        (self.after, self.more) = (found.after, found.more);
        let is_own = |line: &Line| line.worker.is_none() || line.worker == *pid;
        Ok(found.lines.into_iter().filter(is_own).collect())
    }

    fn tell(&mut self, line: &Line) {
        let text = match self.wanted.timestamps {
            true => format!("{} {}\n", line.at.strftime("%Y-%m-%dT%H:%M:%S.%9fZ"), line.text),
            false => format!("{}\n", line.text),
        };
        let mut piece = Bytes::from(text);
        if let Some(left) = &mut self.wanted.bytes_max {
            piece.truncate(*left);
            *left -= piece.len();
            self.ended |= *left == 0;
        }
        self.waiting.push_back(piece);
    }

    /// The next piece; none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.waiting.pop_front() {
                return Some(piece);
            }
            if self.ended {
                return None;
            }
            self.wait().await;
            match self.read().await {
                Ok(lines) => lines.iter().for_each(|line| self.tell(line)),
                Err(_) => self.ended = true,
            }
        }
    }

    /// Waits for a line, or for the end of the worker.
    async fn wait(&mut self) {
        let mut closing = self.closing.clone();
        let Some(more) = &mut self.more else {
            self.ended = true;
            return;
        };
        tokio::select! {
            changed = more.changed() => self.ended |= changed.is_err(),
            _ = closing.changed() => self.ended = true,
            () = tokio::time::sleep(LOOK) => {
                let mut all = workers(&self.folio, &self.app).into_iter();
                self.ended |= !all.any(|worker| worker.name == self.worker.name);
            }
        }
    }
}

impl Wanted {
    fn parse(query: Option<&str>, now: Timestamp) -> Result<Self, Status> {
        let mut wanted = Self::default();
        for pair in query.unwrap_or_default().split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy();
            let wrong = || Status::bad_request(format!("`{key}={value}` is not understood"));
            let number = || value.parse::<u64>().map_err(|_| wrong());
            let size = || value.parse::<usize>().map(Some).map_err(|_| wrong());
            let flag = matches!(&*value, "true" | "1");
            match key {
                "container" => {
                    wanted.container = Some(value.to_string()).filter(|name| !name.is_empty());
                }
                "follow" => wanted.follow = flag,
                "timestamps" => wanted.timestamps = flag,
                "previous" => wanted.previous = flag,
                "tailLines" => wanted.tail = size()?,
                "limitBytes" => wanted.bytes_max = size()?,
                "sinceSeconds" => {
                    let ago = Duration::from_secs(number()?);
                    wanted.since = Some(now.checked_sub(ago).map_err(|_| wrong())?);
                }
                "sinceTime" => wanted.since = Some(value.parse().map_err(|_| wrong())?),
                _ => {}
            }
        }
        Ok(wanted)
    }
}
