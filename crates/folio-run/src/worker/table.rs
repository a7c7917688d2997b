//! The requests one worker has in hand. Plain state under the link's lock: who waits for what, what arrived and
//! was not taken yet, and until when the worker has to answer. It never waits and never wakes anybody itself.

use std::collections::VecDeque;
use std::task::Waker;
use std::time::Duration;

use bytes::Bytes;
use folio_core::ports::runtime::{CallError, RequestId};
use tokio::time::Instant;

use crate::frames::WINDOW;

/// What the worker has in hand, by stream. A stream is a place in the table and how often the place was used.
#[derive(Default)]
pub(super) struct Table {
    slots: Vec<Slot>,
    free: Vec<u16>,
    unfinished: usize,
}

/// One request.
pub(super) struct Slot {
    stream: u32,
    state: State,
    pub(super) request: RequestId,
    timeout: Duration,
    deadline: Instant,
    /// Whether it took too long.
    overdue: bool,
    answer: Option<Answer>,
    answered: bool,
    pieces: VecDeque<Bytes>,
    queued: usize,
    untaken: usize,
    outcome: Option<Result<(), CallError>>,
    waker: Option<Waker>,
    credit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    /// Somebody waits for the answer.
    Wanted,
    /// Nobody waits; the worker has to let go of it until then.
    Unwanted(Instant),
}

/// The frame that begins an answer.
pub(super) struct Answer {
    pub(super) payload: Bytes,
    pub(super) whole: bool,
}

/// What comes next of an answer's body.
pub(super) enum Piece {
    Bytes(Bytes),
    End(Result<(), CallError>),
}

/// What a frame did to a request.
#[derive(Default)]
pub(super) struct Effect {
    /// Whoever waits and now has something to do.
    pub(super) waker: Option<Waker>,
    /// The worker is done with it.
    pub(super) finished: bool,
}

impl Table {
    /// Takes a place. There may be none: a request that the worker is done with keeps its place for as long as its
    /// client takes the answer.
    pub(super) fn open(
        &mut self,
        request: RequestId,
        timeout: Duration,
        now: Instant,
    ) -> Option<u32> {
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                let at = u16::try_from(self.slots.len()).ok()?;
                self.slots.push(Slot::free(now));
                at
            }
        };
        let slot = &mut self.slots[usize::from(at)];
        let uses = ((slot.stream >> 16) as u16).checked_add(1).unwrap_or(1);
        *slot = Slot {
            stream: u32::from(uses) << 16 | u32::from(at),
            state: State::Wanted,
            request,
            timeout,
            deadline: now + timeout,
            pieces: std::mem::take(&mut slot.pieces),
            ..Slot::free(now)
        };
        self.unfinished += 1;
        Some(slot.stream)
    }

    /// Requests the worker is not done with.
    pub(super) fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// The request of a stream. Absent if the place is free or used by another by now.
    pub(super) fn find(&mut self, stream: u32) -> Option<&mut Slot> {
        self.slots
            .get_mut((stream & 0xffff) as usize)
            .filter(|slot| slot.stream == stream && slot.state != State::Free)
    }

    /// Whether a stream was ever given out.
    pub(super) fn knows(&self, stream: u32) -> bool {
        let slot = self.slots.get((stream & 0xffff) as usize);
        slot.is_some_and(|slot| stream >> 16 != 0 && slot.stream != 0)
    }

    /// The worker is done with a stream, one way or the other.
    pub(super) fn finish(&mut self, stream: u32, outcome: Result<(), CallError>) -> Effect {
        let Some(slot) = self.find(stream).filter(|slot| slot.outcome.is_none()) else {
            return Effect::default();
        };
        slot.outcome = Some(outcome);
        let waker = slot.waker.take();
        let unwanted = slot.state != State::Wanted;
        self.unfinished -= 1;
        if unwanted {
            self.release(stream);
        }
        Effect { waker, finished: true }
    }

    /// Whoever waited for it has everything, or wants nothing more. Says whether the worker should be told.
    pub(super) fn let_go(
        &mut self,
        stream: u32,
        now: impl FnOnce() -> Instant,
        grace: Duration,
    ) -> bool {
        let Some(slot) = self.find(stream).filter(|slot| slot.state == State::Wanted) else {
            return false;
        };
        if slot.outcome.is_some() {
            self.release(stream);
            return false;
        }
        // The function may be within its time although the client is gone.
        slot.state = State::Unwanted(slot.deadline.max(now()) + grace);
        slot.waker = None;
        slot.pieces.clear();
        slot.answer = None;
        true
    }

    /// Fails everything that is not finished. Returns whom to wake and how many that were.
    pub(super) fn fail_all(&mut self, error: &CallError) -> (Vec<Waker>, usize) {
        let open: Vec<u32> =
            self.slots.iter().filter(|slot| slot.is_open()).map(|s| s.stream).collect();
        let wakers =
            open.iter().filter_map(|stream| self.finish(*stream, Err(error.clone())).waker);
        (wakers.collect(), open.len())
    }

    /// Requests whose time is over: their streams and whom to wake. Nothing is over while it is the client that
    /// is waited for.
    pub(super) fn expire(&mut self, now: Instant, grace: Duration) -> Vec<(u32, Option<Waker>)> {
        let mut expired = Vec::new();
        for slot in self.slots.iter_mut().filter(|slot| slot.is_open()) {
            if !slot.pieces.is_empty() {
                slot.deadline = now + slot.timeout;
            }
            if slot.deadline > now {
                continue;
            }
            slot.overdue = true;
            if slot.state == State::Wanted {
                slot.state = State::Unwanted(now + grace);
                slot.answer = None;
                let waker = slot.waker.take();
                expired.push((slot.stream, waker));
            }
        }
        expired
    }

    /// Whether the worker has not yet let go of a request that took too long: it may never do so.
    pub(super) fn is_overdue(&self) -> bool {
        self.slots.iter().any(|slot| slot.is_open() && slot.overdue)
    }

    /// Whether the worker holds on to a request it should have let go of.
    pub(super) fn is_stuck(&self, now: Instant) -> bool {
        self.slots.iter().any(|slot| {
            slot.is_open() && matches!(slot.state, State::Unwanted(until) if until <= now)
        })
    }

    fn release(&mut self, stream: u32) {
        let at = (stream & 0xffff) as u16;
        let slot = &mut self.slots[usize::from(at)];
        slot.state = State::Free;
        slot.waker = None;
        slot.answer = None;
        slot.pieces.clear();
        self.free.push(at);
    }
}

impl Slot {
    fn free(now: Instant) -> Self {
        Self {
            stream: 0,
            state: State::Free,
            request: RequestId(0),
            timeout: Duration::ZERO,
            deadline: now,
            overdue: false,
            answer: None,
            answered: false,
            pieces: VecDeque::new(),
            queued: 0,
            untaken: 0,
            outcome: None,
            waker: None,
            credit: WINDOW,
        }
    }

    fn is_open(&self) -> bool {
        self.state != State::Free && self.outcome.is_none()
    }

    /// The answer begins.
    pub(super) fn answer(&mut self, answer: Answer, now: Instant) -> Result<Option<Waker>, String> {
        if self.answered {
            return Err("two answers to one request".to_owned());
        }
        self.answered = true;
        self.deadline = now + self.timeout;
        if self.state == State::Wanted {
            self.answer = Some(answer);
        }
        Ok(self.waker.take())
    }

    /// A piece of the answer's body.
    pub(super) fn piece(&mut self, bytes: Bytes, now: Instant) -> Result<Option<Waker>, String> {
        if !self.answered || self.outcome.is_some() {
            return Err("a body without an answer".to_owned());
        }
        self.untaken += bytes.len();
        if self.untaken > WINDOW {
            return Err("more of a body than was asked for".to_owned());
        }
        self.deadline = now + self.timeout;
        if self.state == State::Wanted && !bytes.is_empty() {
            self.queued += bytes.len();
            self.pieces.push_back(bytes);
        }
        Ok(self.waker.take())
    }

    /// The worker took some of the request's body.
    pub(super) fn grant(&mut self, bytes: usize) -> Result<Option<Waker>, String> {
        self.credit += bytes;
        if self.credit > WINDOW {
            return Err("credit for bytes that were never sent".to_owned());
        }
        Ok(self.waker.take())
    }

    /// How many bytes of the request's body may be sent now.
    pub(super) fn credit(&self) -> usize {
        self.credit
    }

    /// Bytes of the request's body were sent.
    pub(super) fn spend(&mut self, bytes: usize, now: Instant) {
        self.credit -= bytes;
        if !self.answered {
            self.deadline = now + self.timeout;
        }
    }

    /// The beginning of the answer, once; or why there is none.
    pub(super) fn take_answer(&mut self) -> Option<Result<Answer, CallError>> {
        if let Some(answer) = self.answer.take() {
            return Some(Ok(answer));
        }
        match &self.outcome {
            Some(Err(error)) => Some(Err(error.clone())),
            Some(Ok(())) => Some(Err(CallError::Garbled("an end without an answer".to_owned()))),
            None if self.state != State::Wanted => Some(Err(CallError::Timeout(self.timeout))),
            None => None,
        }
    }

    /// What comes next of the body, and how many bytes the worker should be told were taken.
    pub(super) fn take_piece(&mut self) -> (Option<Piece>, usize) {
        if let Some(bytes) = self.pieces.pop_front() {
            self.queued -= bytes.len();
            let taken = self.untaken - self.queued;
            // Half a window at a time keeps the worker busy and the frames few.
            let told = if taken >= WINDOW / 2 { taken } else { 0 };
            self.untaken -= told;
            return (Some(Piece::Bytes(bytes)), told);
        }
        if let Some(outcome) = &self.outcome {
            return (Some(Piece::End(outcome.clone())), 0);
        }
        if self.state != State::Wanted {
            return (Some(Piece::End(Err(CallError::Timeout(self.timeout)))), 0);
        }
        (None, 0)
    }

    /// Whom to wake when something happens.
    pub(super) fn wait(&mut self, waker: &Waker) {
        match &mut self.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_doubted_whether_or_not_somebody_still_waits() {
        const LIMIT: Duration = Duration::from_secs(60);
        let begun = Instant::now();
        for gives_up in [false, true] {
            let mut table = Table::default();
            let stream = table.open(RequestId(1), LIMIT, begun).unwrap();
            if gives_up {
                assert!(table.let_go(stream, || begun, LIMIT), "the worker is to be told");
            }
            assert!(table.expire(begun, LIMIT).is_empty() && !table.is_overdue());
            let expired = table.expire(begun + LIMIT, LIMIT);
            assert_eq!((expired.is_empty(), table.is_overdue()), (gives_up, true));
            table.finish(stream, Ok(()));
            assert!(!table.is_overdue(), "it let go");
        }
    }

    #[test]
    fn a_full_table_refuses_until_an_answer_was_taken() {
        const LIMIT: Duration = Duration::from_secs(60);
        let (mut table, begun) = (Table::default(), Instant::now());
        let open = |table: &mut Table| table.open(RequestId(1), LIMIT, begun);
        let streams: Vec<_> = (0..=u16::MAX).map_while(|_| open(&mut table)).collect();
        assert_eq!(streams.len(), usize::from(u16::MAX) + 1);
        assert_eq!(open(&mut table), None);
        table.finish(streams[7], Ok(()));
        assert_eq!(open(&mut table), None, "its answer was not taken yet");
        assert!(!table.let_go(streams[7], || begun, LIMIT), "the worker need not be told");
        assert!(open(&mut table).is_some());
    }
}
