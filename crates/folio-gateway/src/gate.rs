//! Stands between a connection's socket and hyper: lets through only requests that can be read in one way, keeps
//! the time of silent and slow clients, and answers itself what never becomes a request.
//!
//! A refusal waits until everything admitted before it was answered, so that a bad request never takes the answer
//! of a good one with it.

mod frames;
mod framing;
#[cfg(test)]
mod slow;

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop::has_budget_remaining;
use tokio::time::{Instant, Sleep};

use self::frames::Frames;
use self::framing::{Fault, Framing, HeadLimits};
use crate::problem::Problem;
use crate::settings::GatewayLimits;
use crate::taking::Taking;
use crate::wire::Wire;

pub(crate) use frames::PREFACE;

/// Bytes that are read and thrown away after a refusal, so that the client reads it before its connection breaks.
const LINGER_BYTES_MAX: usize = 256 * 1024;
/// How long that may take.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes of an answer that are written in one piece: copying so few costs less than having the system gather them.
const TOGETHER_BYTES_MAX: usize = 2048;

/// A socket with a gate in front.
pub(crate) struct Gate<S> {
    stream: S,
    wire: Arc<Wire>,
    /// Bytes that were read to find out which protocol this is.
    ahead: Vec<u8>,
    spoken: Spoken,
    phase: Phase,
    patience: Patience,
    clock: Clock,
}

/// Follows what is spoken.
enum Spoken {
    Http1(Framing),
    Http2 { read: Frames, written: Frames },
}

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
struct Patience {
    head: Duration,
    idle: Duration,
}

/// What the gate is doing.
enum Phase {
    Open,
    /// Refused, but an answer to something before is not out yet.
    Held(Problem),
    Refusing {
        bytes: Vec<u8>,
        written: usize,
    },
    Lingering {
        left: usize,
    },
    Ended,
}

/// The one timer of a connection. It is set rarely: whoever did something since it was set gets another period.
struct Clock {
    timer: Option<Timer>,
    /// When the head, or the frame, that is being read has to be complete.
    head_by: Option<Instant>,
    /// Reads and writes that got anywhere, and how many there were when the timer was set last. Over HTTP/2 only answers
    /// count: a client that sends no requests gets nowhere, whatever else it sends.
    progress: u64,
    progress_before: u64,
    /// How long that is the same, as far as anybody looked.
    still_since: Instant,
    /// Whether something written has not been taken by the client.
    unwritten: bool,
    taking: Taking,
}

/// A timer that knows whom it wakes: asking whether it fired costs less than polling it, which happens on every
/// request.
struct Timer {
    sleep: Pin<Box<Sleep>>,
    wakes: Option<Waker>,
}

impl Timer {
    fn after(period: Duration) -> Self {
        Self { sleep: Box::pin(tokio::time::sleep(period)), wakes: None }
    }

    fn reset(&mut self, by: Instant) {
        self.sleep.as_mut().reset(by);
        self.wakes = None;
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let wakes = self.wakes.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        if wakes && !self.sleep.is_elapsed() {
            return Poll::Pending;
        }
        // Without a budget the poll only asks to be polled again.
        self.wakes = has_budget_remaining().then(|| context.waker().clone());
        self.sleep.as_mut().poll(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Gate<S> {
    /// A gate for HTTP/1, which has been read ahead.
    pub(crate) fn http1(
        stream: S,
        wire: Arc<Wire>,
        ahead: Vec<u8>,
        limits: &GatewayLimits,
    ) -> Self {
        let heads =
            HeadLimits { bytes_max: limits.header_bytes_max, headers_max: limits.headers_max };
        let spoken = Spoken::Http1(Framing::new(heads));
        Self::new((stream, wire), ahead, spoken, limits)
    }

    /// A gate for HTTP/2, which has its own framing.
    pub(crate) fn http2(
        stream: S,
        wire: Arc<Wire>,
        ahead: Vec<u8>,
        limits: &GatewayLimits,
    ) -> Self {
        let spoken = Spoken::Http2 { read: Frames::of_client(), written: Frames::default() };
        Self::new((stream, wire), ahead, spoken, limits)
    }

    fn new(
        (stream, wire): (S, Arc<Wire>),
        ahead: Vec<u8>,
        spoken: Spoken,
        limits: &GatewayLimits,
    ) -> Self {
        Self {
            stream,
            wire,
            ahead,
            spoken,
            phase: Phase::Open,
            patience: Patience { head: limits.header_timeout, idle: limits.idle_timeout },
            clock: Clock {
                timer: None,
                head_by: None,
                progress: 0,
                progress_before: 0,
                still_since: Instant::now(),
                unwritten: false,
                taking: Taking::new(limits),
            },
        }
    }

    /// Whether everything admitted was answered and taken by the client.
    fn is_quiet(&self) -> bool {
        let passed = match &self.spoken {
            Spoken::Http1(framing) => Some(framing.passed()),
            Spoken::Http2 { .. } => None,
        };
        self.wire.is_quiet(passed) && !self.clock.unwritten
    }

    fn read_open(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if !self.ahead.is_empty() {
            let taken = self.ahead.len().min(buffer.remaining());
            buffer.put_slice(&self.ahead[..taken]);
            self.ahead.drain(..taken);
        } else if Pin::new(&mut self.stream).poll_read(context, buffer)?.is_pending() {
            return self.wait(context);
        }
        let bytes = &buffer.filled()[before..];
        let framing = match &mut self.spoken {
            Spoken::Http1(framing) => framing,
            Spoken::Http2 { read, .. } => {
                let seen = read.follow(bytes);
                let known = self.clock.head_by.filter(|_| !seen.began);
                self.clock.head_by = seen
                    .within
                    .then(|| known.unwrap_or_else(|| Instant::now() + self.patience.head));
                return Poll::Ready(Ok(()));
            }
        };
        self.clock.progress += 1;
        if self.wire.is_tunnel() {
            return Poll::Ready(Ok(()));
        }
        if let Err((good, fault)) = framing.follow(bytes) {
            buffer.set_filled(before + good);
            self.phase = match fault {
                Fault::HeadTooLarge => Phase::Held(Problem::head_too_large()),
                Fault::Malformed(why) => Phase::Held(Problem::bad(why)),
                // The request that has it hears that its body ended.
                Fault::Chunk => Phase::Ended,
            };
            return if good > 0 { Poll::Ready(Ok(())) } else { self.read(context, buffer) };
        }
        let within = framing.is_within_head();
        self.clock.head_by = match self.clock.head_by {
            Some(by) if within => Some(by),
            _ => within.then(|| Instant::now() + self.patience.head),
        };
        Poll::Ready(Ok(()))
    }

    fn read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            match &mut self.phase {
                Phase::Open => return self.read_open(context, buffer),
                Phase::Held(_) => {
                    // Registered first: what becomes quiet after the look below wakes this task.
                    self.wire.wake_when_quiet(context.waker());
                    if !self.is_quiet() {
                        return Poll::Pending;
                    }
                    let Phase::Held(problem) = std::mem::replace(&mut self.phase, Phase::Ended)
                    else {
                        unreachable!("the phase was looked at");
                    };
                    let bytes = self.wire.refuse(&problem);
                    self.phase = Phase::Refusing { bytes, written: 0 };
                }
                Phase::Refusing { bytes, written } => {
                    while *written < bytes.len() {
                        let stream = Pin::new(&mut self.stream);
                        *written += ready!(stream.poll_write(context, &bytes[*written..]))?;
                    }
                    ready!(Pin::new(&mut self.stream).poll_flush(context))?;
                    ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
                    self.begin_to_linger();
                }
                Phase::Lingering { .. } => ready!(self.linger(context)),
                Phase::Ended => return Poll::Ready(Ok(())),
            }
        }
    }

    fn begin_to_linger(&mut self) {
        self.clock.timer = Some(Timer::after(LINGER));
        self.phase = Phase::Lingering { left: LINGER_BYTES_MAX };
    }

    /// Throws away what the client still sends: closing on it would break the connection under an answer that the
    /// client has not read yet.
    fn linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [0; 4096];
        while let Phase::Lingering { left } = &mut self.phase {
            let mut thrown = ReadBuf::new(&mut scratch);
            let read = Pin::new(&mut self.stream).poll_read(context, &mut thrown);
            let timer = self.clock.timer.as_mut();
            let late = timer.is_none_or(|timer| timer.poll(context).is_ready());
            let bytes = thrown.filled().len();
            match read {
                Poll::Pending if !late => return Poll::Pending,
                Poll::Ready(Ok(())) if !late && bytes > 0 && bytes < *left => *left -= bytes,
                _ => self.phase = Phase::Ended,
            }
        }
        Poll::Ready(())
    }

    /// Notes whether anything got anywhere since it was asked last.
    fn look(&mut self, now: Instant) {
        let progress = self.clock.progress + self.wire.started();
        if progress != self.clock.progress_before {
            self.clock.progress_before = progress;
            self.clock.still_since = now;
        }
    }

    /// The timer, if need be set for when the connection was silent for too long.
    fn idle_timer(&mut self) -> &mut Timer {
        if self.clock.timer.is_none() {
            let now = Instant::now();
            self.look(now);
            let still = now.duration_since(self.clock.still_since);
            self.clock.timer = Some(Timer::after(self.patience.idle.saturating_sub(still)));
        }
        self.clock.timer.as_mut().expect("it was set")
    }

    /// Nothing came. Sets the timer, and decides when it fires.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let head_by = self.clock.head_by;
            let timer = self.idle_timer();
            if let Some(by) = head_by
                && timer.sleep.deadline() > by
            {
                timer.reset(by);
            }
            ready!(timer.poll(context));
            let now = Instant::now();
            self.look(now);
            let clock = &mut self.clock;
            clock.timer = None;
            if clock.head_by.is_some_and(|by| now >= by) {
                clock.head_by = None;
                if self.is_quiet() {
                    self.phase = match &self.spoken {
                        Spoken::Http1(_) => Phase::Held(Problem::slow_head()),
                        // There is no request to answer yet.
                        Spoken::Http2 { .. } => Phase::Ended,
                    };
                    // The refusal needs no room.
                    return self.read(context, &mut ReadBuf::new(&mut []));
                }
            } else if clock.unwritten && clock.taking.left().is_zero() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            } else if now >= clock.still_since + self.patience.idle {
                if self.is_quiet() && !self.wire.is_tunnel() {
                    self.phase = Phase::Ended;
                    return Poll::Ready(Ok(()));
                }
                // It is not the client that is silent.
                self.clock.still_since = now;
            }
        }
    }

    /// The client takes nothing. Fails once it has kept the connection waiting for too long.
    fn stall(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        self.clock.taking.waits();
        loop {
            let clock = &mut self.clock;
            let timer = clock.timer.get_or_insert_with(|| Timer::after(clock.taking.left()));
            ready!(timer.poll(context));
            clock.timer = None;
            if self.clock.taking.left().is_zero() {
                return Poll::Ready(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// Some of these bytes may have been written.
    fn wrote<'a>(
        &mut self,
        context: &mut Context<'_>,
        wrote: Poll<io::Result<usize>>,
        pieces: impl Iterator<Item = &'a [u8]>,
    ) -> Poll<io::Result<usize>> {
        self.clock.unwritten = true;
        let Poll::Ready(wrote) = wrote else { return self.stall(context).map(Err) };
        let count = *wrote.as_ref().unwrap_or(&0);
        self.clock.taking.took(count);
        self.clock.progress += match &mut self.spoken {
            Spoken::Http1(_) => 1,
            Spoken::Http2 { written, .. } => u64::from(has_content(written, pieces, count)),
        };
        Poll::Ready(wrote)
    }
}

/// Whether any of the first bytes are of an answer.
fn has_content<'a>(
    written: &mut Frames,
    pieces: impl Iterator<Item = &'a [u8]>,
    mut count: usize,
) -> bool {
    let mut content = false;
    for piece in pieces {
        let passed = piece.len().min(count);
        count -= passed;
        content |= written.follow(&piece[..passed]).content;
    }
    content
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Gate<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Gate<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(context, wrote, std::iter::once(bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut room = [0; TOGETHER_BYTES_MAX];
        let stream = Pin::new(&mut self.stream);
        let wrote = match join(pieces, &mut room) {
            Some(whole) => stream.poll_write(context, whole),
            None => stream.poll_write_vectored(context, pieces),
        };
        self.wrote(context, wrote, pieces.iter().map(|piece| &**piece))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if Pin::new(&mut self.stream).poll_flush(context)?.is_pending() {
            return self.stall(context).map(Err);
        }
        self.clock.taking.goes_on();
        self.clock.unwritten = false;
        if matches!(self.phase, Phase::Held(_)) {
            context.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !matches!(self.phase, Phase::Lingering { .. }) {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            if !matches!(&self.spoken, Spoken::Http1(framing) if framing.is_within_body()) {
                return Poll::Ready(Ok(()));
            }
            self.begin_to_linger();
        }
        self.linger(context).map(Ok)
    }
}

/// Several pieces as one, where there is room for all of them.
fn join<'a>(pieces: &[io::IoSlice<'_>], room: &'a mut [u8]) -> Option<&'a [u8]> {
    let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
    if pieces.len() < 2 || bytes > room.len() {
        return None;
    }
    let mut end = 0;
    for piece in pieces {
        room[end..end + piece.len()].copy_from_slice(piece);
        end += piece.len();
    }
    Some(&room[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&[u8]], expected: Option<&[u8]>) {
        let pieces: Vec<_> = pieces.iter().map(|piece| io::IoSlice::new(piece)).collect();
        assert_eq!(join(&pieces, &mut [0; 8]), expected);
    }

    #[test]
    fn small_pieces_are_written_as_one() {
        check(&[b"head", b"", b"body"], Some(b"headbody"));
        check(&[b"head", b"a body"], None);
        check(&[b"head"], None);
        check(&[], None);
    }
}
