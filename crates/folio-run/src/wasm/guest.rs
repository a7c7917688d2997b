//! A guest at work on one request. Nothing is spawned for it: whoever waits for the answer's head, and later
//! whoever reads its body, is who runs the guest, so that backpressure and giving up reach it by themselves.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use folio_core::ports::runtime::CallError;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;

use super::command::Reader;
use super::component::{Answer, Instance};
use super::failure::Failure;
use super::loaded::Loaded;
use super::request::{Broken, Caller};

/// The guest's code running. Gives its instance back where that can serve another request.
pub(super) type Run = Pin<Box<dyn Future<Output = Result<Option<Instance>, Failure>> + Send>>;

/// Where the head of the answer comes from.
pub(super) enum Head {
    /// What a component sets.
    Component(oneshot::Receiver<Answer>),
    /// What a command prints.
    Command(Reader),
}

/// A guest at work on one request. Dropping it ends the guest.
pub(super) struct Guest {
    loaded: Arc<Loaded>,
    caller: Caller,
    broken: Option<Broken>,
    run: Option<Run>,
    failed: Option<CallError>,
    kept: Option<Instance>,
    /// Runs from the first time the guest has to be waited for. Most never are.
    patience: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

/// What a guest works on.
pub(super) struct Work {
    /// The version.
    pub(super) loaded: Arc<Loaded>,
    /// Whose request it is.
    pub(super) caller: Caller,
    /// Says whether the request's body broke off.
    pub(super) broken: Option<Broken>,
    /// Its place among the version's guests.
    pub(super) place: OwnedSemaphorePermit,
}

impl Guest {
    /// Takes a guest that has not started.
    pub(super) fn new(work: Work, run: Run) -> Self {
        let Work { loaded, caller, broken, place } = work;
        Self {
            loaded,
            caller,
            broken,
            run: Some(run),
            failed: None,
            kept: None,
            patience: None,
            _place: place,
        }
    }

    /// Runs the guest until its answer begins.
    pub(super) async fn begin(
        &mut self,
        mut head: Head,
    ) -> Result<http::Response<HyperOutgoingBody>, CallError> {
        poll_fn(|context| self.poll_begin(&mut head, context)).await
    }

    fn poll_begin(
        &mut self,
        head: &mut Head,
        context: &mut Context<'_>,
    ) -> Poll<Result<http::Response<HyperOutgoingBody>, CallError>> {
        let running = self.poll_run(context).is_pending();
        if let Some(broken) = self.broken.as_ref().and_then(|broken| broken.get()) {
            return Poll::Ready(Err(CallError::Body(broken.clone())));
        }
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        let answer = match head {
            Head::Command(reader) => reader.poll_head(context),
            Head::Component(answer) => match answer.try_recv() {
                Ok(Ok(answer)) => Poll::Ready(answer),
                Ok(Err(code)) => {
                    self.note(&format!("the function answered with the error {code:?}"));
                    return Poll::Ready(Err(CallError::Failed));
                }
                Err(_) => Poll::Pending,
            },
        };
        match answer {
            Poll::Ready(answer) => {
                self.rest();
                Poll::Ready(Ok(answer))
            }
            Poll::Pending if running => self.poll_patience(context).map(Err),
            Poll::Pending => {
                let text = "it ended without an answer".to_owned();
                Poll::Ready(Err(CallError::Garbled(text)))
            }
        }
    }

    /// Runs the guest. Ready once it ended, then and ever after.
    pub(super) fn poll_run(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(run) = &mut self.run else { return Poll::Ready(()) };
        self.loaded.host.ticker.wake();
        let Poll::Ready(ended) = run.as_mut().poll(context) else { return Poll::Pending };
        self.run = None;
        match ended {
            Ok(kept) => self.kept = kept,
            Err(failure) => {
                self.note(&failure.text);
                self.failed = Some(failure.error);
            }
        }
        Poll::Ready(())
    }

    /// Ready with the reason when the guest was waited for long enough since it last [`rest`](Self::rest)ed.
    pub(super) fn poll_patience(&mut self, context: &mut Context<'_>) -> Poll<CallError> {
        let limit = self.caller.plan.limits.timeout;
        let patience = self.patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        // A thread that only runs guests may be late to look at its timers.
        if patience.as_mut().poll(context).is_ready() || patience.deadline() <= Instant::now() {
            self.note(&format!("no answer within {} ms; the guest was ended", limit.as_millis()));
            return Poll::Ready(CallError::Timeout(limit));
        }
        Poll::Pending
    }

    /// Says that something came, so that patience starts anew.
    pub(super) fn rest(&mut self) {
        self.patience = None;
    }

    /// Whether its code has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.run.is_none()
    }

    /// Drops an ended guest's instance and with it whatever it still holds open. Says whether there was one.
    pub(super) fn discard(&mut self) -> bool {
        self.kept.take().is_some()
    }

    /// Takes leave of a guest whose answer is complete. One that still runs may go on for a while.
    pub(super) fn leave(mut self) -> Result<(), CallError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.has_ended() {
            self.give_back();
        } else {
            let afterwork = Arc::clone(&self.loaded.host.afterwork);
            afterwork.take(self);
        }
        Ok(())
    }

    async fn finish(mut self) {
        self.rest();
        poll_fn(|context| match self.poll_run(context) {
            Poll::Pending => self.poll_patience(context).map(drop),
            Poll::Ready(()) => Poll::Ready(()),
        })
        .await;
        self.give_back();
    }

    fn give_back(&mut self) {
        if let Some(instance) = self.kept.take() {
            self.loaded.give_back(instance);
        }
    }

    fn note(&self, text: &str) {
        self.loaded.host.journal.note(&self.caller, text);
    }
}

/// Guests that go on after their answer ended, and the tasks that run them.
#[derive(Default)]
pub(super) struct Afterwork(Mutex<JoinSet<()>>);

impl Afterwork {
    fn take(&self, guest: Guest) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let mut tasks = self.0.lock().expect("no holder panics");
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(guest.finish(), &runtime);
    }

    /// Ends when every guest has, or never.
    pub(super) async fn drain(&self) {
        let mut tasks = std::mem::take(&mut *self.0.lock().expect("no holder panics"));
        while tasks.join_next().await.is_some() {}
    }
}
