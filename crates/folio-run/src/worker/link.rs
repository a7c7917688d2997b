//! One connection to one worker process. Requests are written into one buffer that whoever is alone sends at
//! once and a task of the link sends otherwise, so that many share a write; another task reads and wakes whom
//! the frames are for. A request costs no task and no channel of its own.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use folio_core::ports::runtime::{CallError, RequestId};
use tokio::net::UnixStream;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::table::{Answer, Effect, Table};
use crate::frames::{self, Header, Kind};

const READ: usize = 64 * 1024;
// A buffer that a burst made larger than this is not kept.
const KEPT_MAX: usize = 1024 * 1024;
/// Bytes of one line that are kept. Workers send one more of a longer one, so that it is known to be cut.
const LINE_MAX: usize = 60 * 1024;
/// How long a worker may take to let go of a request nobody waits for.
const GRACE: Duration = Duration::from_secs(1);

/// The connection to a worker.
pub(crate) struct Link {
    socket: UnixStream,
    inner: Mutex<Inner>,
    flush: Notify,
    started: Instant,
    // Microseconds since `started` when the worker last finished something, or last became busy.
    progress_us: AtomicU64,
    stage: watch::Sender<Stage>,
    open: AtomicBool,
    /// Whether a request took too long and the worker has not let go of it.
    overdue: AtomicBool,
    booted: watch::Sender<bool>,
    listener: OnceLock<Listener>,
}

/// Takes a line a worker printed: the request it belongs to, the stream, and the text.
pub(crate) type LineTaker = Box<dyn Fn(Option<RequestId>, u8, &str) + Send + Sync>;

/// What a link tells whoever gave the worker its work.
pub(crate) struct Listener {
    /// So many requests were finished.
    pub(crate) finished: Box<dyn Fn(usize) + Send + Sync>,
    /// A line was printed on stream 1 or 2 while answering a request, if that is known.
    pub(crate) line: LineTaker,
    /// The connection is gone, and everything in hand has failed.
    pub(crate) gone: Box<dyn Fn() + Send + Sync>,
}

/// How far a worker is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Waiting for a function, or loading it.
    Generic,
    /// The function is loaded.
    Ready,
    /// It could not be loaded, or the connection is gone.
    Over(CallError),
}

pub(super) struct Inner {
    pub(super) table: Table,
    outgoing: BytesMut,
    flushing: bool,
    closed: Option<CallError>,
}

impl Link {
    /// Takes a connected socket. [`Link::read`] and [`Link::write`] have to run.
    pub(crate) fn new(socket: UnixStream) -> Arc<Self> {
        let inner = Inner {
            table: Table::default(),
            outgoing: BytesMut::with_capacity(READ),
            flushing: false,
            closed: None,
        };
        Arc::new(Self {
            socket,
            inner: Mutex::new(inner),
            flush: Notify::new(),
            started: Instant::now(),
            progress_us: AtomicU64::new(0),
            stage: watch::Sender::new(Stage::Generic),
            open: AtomicBool::new(true),
            overdue: AtomicBool::new(false),
            booted: watch::Sender::new(false),
            listener: OnceLock::new(),
        })
    }

    /// Makes the worker a function and waits until it is one.
    pub(crate) async fn specialise(
        &self,
        order: &[u8],
        listener: Listener,
    ) -> Result<(), CallError> {
        if self.listener.set(listener).is_err() {
            return Err(CallError::Crashed("it already is a function".to_owned()));
        }
        self.send(Header { kind: Kind::Specialise, last: false, stream: 0 }, order);
        let mut stage = self.stage.subscribe();
        let reached = stage.wait_for(|stage| *stage != Stage::Generic).await;
        match reached.as_deref() {
            Ok(Stage::Ready) => Ok(()),
            Ok(Stage::Over(error)) => Err(error.clone()),
            Ok(Stage::Generic) | Err(_) => Err(CallError::Crashed("it is gone".to_owned())),
        }
    }

    /// Waits until the interpreter is up; a worker that is gone never will be.
    pub(crate) async fn booted(&self) -> Result<(), CallError> {
        let mut booted = self.booted.subscribe();
        let up = booted.wait_for(|up| *up || !self.is_open()).await;
        match up.map(|up| *up) {
            Ok(true) => Ok(()),
            _ => Err(self.lock().closed.clone().unwrap_or(CallError::Stopping)),
        }
    }

    /// Whether the connection stands.
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Whether it is not known yet if the worker will ever let go of a request that took too long.
    pub(crate) fn is_overdue(&self) -> bool {
        self.overdue.load(Ordering::Acquire)
    }

    /// How long the worker has been busy without finishing anything.
    pub(crate) fn silence(&self) -> Duration {
        let progress = Duration::from_micros(self.progress_us.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(progress)
    }

    /// Sends a request's head and the beginning of its body; `last` if that is all of it.
    pub(super) fn open(&self, opening: Opening<'_>) -> Result<u32, CallError> {
        let now = Instant::now();
        let mut inner = self.lock();
        if let Some(error) = &inner.closed {
            return Err(error.clone());
        }
        let stream = inner.table.open(opening.request, opening.timeout, now);
        let stream = stream.ok_or(CallError::Busy)?;
        let header = Header { kind: Kind::Request, last: opening.last, stream };
        frames::put_request(&mut inner.outgoing, header, opening.head, opening.body);
        if inner.table.unfinished() == 1 {
            self.progressed(now);
            self.send_now(&mut inner);
        } else {
            self.send_soon(&mut inner);
        }
        Ok(stream)
    }

    /// Queues a frame.
    pub(super) fn send(&self, header: Header, payload: &[u8]) {
        let mut inner = self.lock();
        self.queue(&mut inner, header, payload);
    }

    pub(super) fn queue(&self, inner: &mut Inner, header: Header, payload: &[u8]) {
        if inner.closed.is_none() {
            frames::put(&mut inner.outgoing, header, payload);
            self.send_soon(inner);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nothing panics while it holds the lock")
    }

    // Alone there is nothing to share a write with, and a switch to the writing task costs more than the call.
    fn send_now(&self, inner: &mut Inner) {
        if inner.flushing {
            return;
        }
        if let Ok(written) = self.socket.try_write(&inner.outgoing) {
            inner.outgoing.advance(written);
        }
        if !inner.outgoing.is_empty() {
            self.send_soon(inner);
        }
    }

    fn send_soon(&self, inner: &mut Inner) {
        if !inner.flushing {
            inner.flushing = true;
            self.flush.notify_one();
        }
    }

    /// Sends what is queued, until the connection is gone.
    pub(crate) async fn write(&self) {
        let mut batch = BytesMut::with_capacity(READ);
        loop {
            self.flush.notified().await;
            // Whoever is ready to run queues its frames first, and they all share the write.
            tokio::task::yield_now().await;
            while self.take_outgoing(&mut batch) {
                // Why it broke is told by reading, which ends then too.
                if self.write_all(&batch).await.is_err() {
                    return;
                }
                batch.clear();
                if batch.capacity() > KEPT_MAX {
                    batch = BytesMut::with_capacity(READ);
                }
            }
        }
    }

    fn take_outgoing(&self, batch: &mut BytesMut) -> bool {
        let mut inner = self.lock();
        std::mem::swap(&mut inner.outgoing, batch);
        inner.flushing = !batch.is_empty();
        inner.flushing
    }

    async fn write_all(&self, mut bytes: &[u8]) -> std::io::Result<()> {
        while !bytes.is_empty() {
            match self.socket.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    self.socket.writable().await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads frames until the connection is gone or makes no sense, and says which. Whoever runs this closes the
    /// link then.
    pub(crate) async fn read(&self) -> CallError {
        let mut buffer = BytesMut::with_capacity(READ);
        loop {
            if let Err(error) = self.socket.readable().await {
                return CallError::Crashed(error.to_string());
            }
            match self.socket.try_read_buf(&mut buffer) {
                Ok(0) => return CallError::Crashed("it closed its connection".to_owned()),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                Err(error) => return CallError::Crashed(error.to_string()),
            }
            if let Err(nonsense) = self.understand(&mut buffer) {
                return CallError::Garbled(nonsense);
            }
            if !self.is_open() {
                return CallError::Crashed("it was ended".to_owned());
            }
            buffer.reserve(READ);
        }
    }

    fn understand(&self, buffer: &mut BytesMut) -> Result<(), String> {
        let now = Instant::now();
        let mut finished = 0;
        while let Some((header, payload)) =
            frames::take(buffer).map_err(|error| error.to_string())?
        {
            let effect = self.accept(header, payload, now)?;
            finished += usize::from(effect.finished);
            if let Some(waker) = effect.waker {
                waker.wake();
            }
        }
        if finished > 0 {
            self.progressed(now);
            if self.overdue.load(Ordering::Acquire) {
                let inner = self.lock();
                self.overdue.store(inner.table.is_overdue(), Ordering::Release);
            }
            if let Some(listener) = self.listener.get() {
                (listener.finished)(finished);
            }
        }
        Ok(())
    }

    fn accept(&self, header: Header, payload: Bytes, now: Instant) -> Result<Effect, String> {
        match header.kind {
            Kind::Log => self.line(header.stream, &payload),
            Kind::Pong => {
                self.booted.send_replace(true);
            }
            Kind::Ready => self.ready()?,
            Kind::Failed if header.stream == 0 => {
                self.stage.send_replace(Stage::Over(CallError::Load(text(&payload))));
            }
            Kind::Failed => return self.failed(header.stream, &payload),
            Kind::Response | Kind::Body | Kind::Credit => {
                return self.progress(header, payload, now);
            }
            Kind::Specialise | Kind::Request | Kind::Cancel | Kind::Ping => {
                return Err("a frame only folio sends".to_owned());
            }
        }
        Ok(Effect::default())
    }

    fn ready(&self) -> Result<(), String> {
        let first = self.stage.send_if_modified(|stage| {
            let first = *stage == Stage::Generic;
            if first {
                *stage = Stage::Ready;
            }
            first
        });
        first.then_some(()).ok_or("ready twice".to_owned())
    }

    fn progress(&self, header: Header, payload: Bytes, now: Instant) -> Result<Effect, String> {
        let mut inner = self.lock();
        let Some(slot) = inner.table.find(header.stream) else {
            // It answered what was cancelled meanwhile.
            let known = inner.table.knows(header.stream);
            return known.then(Effect::default).ok_or("an answer to nothing".to_owned());
        };
        let waker = match header.kind {
            Kind::Response => slot.answer(Answer { payload, whole: header.last }, now)?,
            Kind::Body => slot.piece(payload, now)?,
            _ => {
                let count = payload.first_chunk::<4>().ok_or("credit without a number")?;
                slot.grant(u32::from_le_bytes(*count) as usize)?
            }
        };
        if header.last && header.kind != Kind::Credit {
            return Ok(Effect { waker, ..inner.table.finish(header.stream, Ok(())) });
        }
        Ok(Effect { waker, finished: false })
    }

    fn failed(&self, stream: u32, payload: &[u8]) -> Result<Effect, String> {
        if !payload.is_empty() {
            let mut line = vec![2];
            line.extend_from_slice(payload);
            self.line(stream, &line);
        }
        let mut inner = self.lock();
        if !inner.table.knows(stream) {
            return Err("a failure of nothing".to_owned());
        }
        Ok(inner.table.finish(stream, Err(CallError::Failed)))
    }

    fn line(&self, stream: u32, payload: &[u8]) {
        let (Some(listener), Some((from, text))) = (self.listener.get(), payload.split_first())
        else {
            return;
        };
        let request = self.lock().table.find(stream).map(|slot| slot.request);
        let text = printed(text);
        for line in text.lines() {
            (listener.line)(request, *from, line);
        }
    }

    fn progressed(&self, now: Instant) {
        let us = now.duration_since(self.started).as_micros();
        self.progress_us.store(u64::try_from(us).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Ends requests whose time is over. Says whether the worker does not react any more and must be ended.
    pub(crate) fn tick(&self) -> bool {
        let now = Instant::now();
        let mut inner = self.lock();
        let expired = inner.table.expire(now, GRACE);
        for (stream, _) in &expired {
            self.queue(
                &mut inner,
                Header { kind: Kind::Cancel, last: false, stream: *stream },
                &[],
            );
        }
        let stuck = inner.table.is_stuck(now);
        if inner.table.is_overdue() {
            self.overdue.store(true, Ordering::Release);
        }
        drop(inner);
        expired.into_iter().filter_map(|(_, waker)| waker).for_each(std::task::Waker::wake);
        stuck
    }

    /// Fails everything in hand and whatever comes. The first reason stays.
    pub(crate) fn close(&self, error: &CallError) {
        let mut inner = self.lock();
        if inner.closed.is_some() {
            return;
        }
        inner.closed = Some(error.clone());
        self.open.store(false, Ordering::Release);
        inner.outgoing = BytesMut::new();
        let (wakers, finished) = inner.table.fail_all(error);
        drop(inner);
        self.stage.send_if_modified(|stage| {
            let live = !matches!(stage, Stage::Over(_));
            if live {
                *stage = Stage::Over(error.clone());
            }
            live
        });
        self.booted.send_modify(|_| ());
        wakers.into_iter().for_each(std::task::Waker::wake);
        if let Some(listener) = self.listener.get() {
            (listener.finished)(finished);
            (listener.gone)();
        }
    }

    /// Whoever waited for a stream wants nothing more of it.
    pub(super) fn forget(&self, stream: u32) {
        let mut inner = self.lock();
        if inner.table.let_go(stream, Instant::now, GRACE) {
            self.queue(&mut inner, Header { kind: Kind::Cancel, last: false, stream }, &[]);
        }
    }
}

/// A request on its way out.
pub(super) struct Opening<'a> {
    pub(super) request: RequestId,
    pub(super) timeout: Duration,
    pub(super) head: &'a [u8],
    pub(super) body: &'a [u8],
    pub(super) last: bool,
}

fn text(payload: &[u8]) -> String {
    let text = String::from_utf8_lossy(&payload[..payload.len().min(LINE_MAX)]);
    text.lines().next().unwrap_or_default().to_owned()
}

/// What was printed, with a mark where something is missing of it.
fn printed(bytes: &[u8]) -> Cow<'_, str> {
    if bytes.len() <= LINE_MAX {
        return String::from_utf8_lossy(bytes);
    }
    let mut kept = &bytes[..LINE_MAX];
    // A character that was cut in half is left out, and not shown as one that nobody printed.
    if let Err(error) = std::str::from_utf8(kept)
        && error.error_len().is_none()
    {
        kept = &kept[..error.valid_up_to()];
    }
    let text = String::from_utf8_lossy(kept);
    Cow::Owned(format!("{text} [cut: longer than {LINE_MAX} bytes]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_cut_says_so() {
        let check = |bytes: &[u8], expected: &str| {
            assert!(printed(bytes) == expected, "{} bytes", bytes.len());
        };
        let mark = " [cut: longer than 61440 bytes]";
        let (long, longer) = ("x".repeat(LINE_MAX), "x".repeat(LINE_MAX + 1));
        check(b"hello", "hello");
        check(long.as_bytes(), &long);
        check(longer.as_bytes(), &format!("{long}{mark}"));
        // Three bytes each, and 61,440 is a multiple of three.
        let wide = format!("x{}", "\u{20ac}".repeat(LINE_MAX / 3));
        let kept = format!("x{}", "\u{20ac}".repeat(LINE_MAX / 3 - 1));
        check(wide.as_bytes(), &format!("{kept}{mark}"));
    }
}
