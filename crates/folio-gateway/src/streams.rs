//! The requests of one HTTP/2 connection. Each takes turns with its client, and one whose client does not take its
//! answer is given up: the connection as a whole is not silent then, so that the gate cannot tell.
//!
//! What a stream waits for is known to the body of its answer, which hyper polls inside the stream and stops polling
//! while the client takes nothing. So the body leaves word with the thread it runs on, for whoever polls the stream.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use hyper::rt::Executor;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};

use crate::settings::GatewayLimits;
use crate::taking::Taking;

thread_local! {
    static WORD: Cell<Word> = const { Cell::new(Word { turn: Turn::Function, bytes: 0 }) };
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Function,
    Client,
}

/// What bodies say while a stream is polled.
#[derive(Clone, Copy)]
struct Word {
    turn: Turn,
    /// Bytes of an answer that were handed over.
    bytes: usize,
}

/// Says that bytes of an answer were handed over, which the client has to take before there are more.
pub(crate) fn handed_over(bytes: usize) {
    WORD.with(|word| {
        let bytes = word.get().bytes + bytes;
        word.set(Word { turn: Turn::Client, bytes });
    });
}

/// Says that there is nothing for the client to take.
pub(crate) fn nothing_yet() {
    WORD.with(|word| word.set(Word { turn: Turn::Function, ..word.get() }));
}

/// The requests of one connection. They end with it.
#[derive(Clone)]
pub(crate) struct Streams {
    tasks: Arc<Mutex<JoinSet<()>>>,
    limits: GatewayLimits,
}

impl Streams {
    pub(crate) fn new(limits: GatewayLimits) -> Self {
        Self { tasks: Arc::default(), limits }
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        let mut watch = Watch::new(&self.limits);
        tasks.spawn(async move {
            let mut stream = pin!(stream);
            poll_fn(|context| watch.poll(stream.as_mut(), context)).await;
        });
    }
}

/// Looks at the turns of one request. It ends early, which resets the stream, if its client takes the answer too
/// slowly.
struct Watch {
    turn: Turn,
    taking: Taking,
    /// Made when the client is waited for.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Watch {
    fn new(limits: &GatewayLimits) -> Self {
        Self { turn: Turn::Function, taking: Taking::new(limits), timer: None }
    }

    fn poll(
        &mut self,
        stream: Pin<&mut impl Future<Output = ()>>,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        WORD.set(Word { turn: self.turn, bytes: 0 });
        if stream.poll(context).is_ready() {
            return Poll::Ready(());
        }
        let Word { turn, bytes } = WORD.get();
        self.turn = turn;
        if bytes > 0 {
            self.taking.took(bytes);
        }
        match turn {
            Turn::Client => self.wait(context),
            Turn::Function => {
                self.taking.goes_on();
                Poll::Pending
            }
        }
    }

    /// The client has its turn. Ready once it has had it for too long.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.taking.waits();
        let left = self.taking.left();
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(left)));
        while timer.as_mut().poll(context).is_ready() {
            let left = self.taking.left();
            if left.is_zero() {
                return Poll::Ready(());
            }
            timer.as_mut().reset(Instant::now() + left);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Polls a stream until it ends by itself or is given up, and says when that was.
    async fn watched(stream: impl Future<Output = ()>) -> u64 {
        let (mut watch, mut stream) = (Watch::new(&GatewayLimits::default()), pin!(stream));
        let began = Instant::now();
        poll_fn(|context| watch.poll(stream.as_mut(), context)).await;
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_nothing_of_an_answer_is_given_up() {
        let nothing = async {
            handed_over(1000);
            std::future::pending::<()>().await;
        };
        assert_eq!(watched(nothing).await, 75);
    }

    #[tokio::test(start_paused = true)]
    async fn a_function_may_take_as_long_as_it_is_let() {
        let slow = async {
            handed_over(1000);
            tokio::time::sleep(SECOND * 70).await;
            nothing_yet();
            tokio::time::sleep(SECOND * 1000).await;
            handed_over(20_000);
            tokio::time::sleep(SECOND * 70).await;
        };
        assert_eq!(watched(slow).await, 1140);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_taken_at_a_least_rate() {
        let taken = |bytes| async move {
            for _ in 0..1000 {
                handed_over(bytes);
                tokio::time::sleep(SECOND).await;
            }
        };
        assert_eq!(watched(taken(300)).await, 1000);
        assert!((75..300).contains(&watched(taken(64)).await));
    }
}
