//! Work that its caller does as long as it waits, and somebody else from then on. A task of its own for each would be
//! two more wake-ups of threads for everyone who does wait.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::BoxFuture;

/// A future that is handed on, wherever it is, if it is dropped before its end.
pub(super) struct Carried<T, H: FnOnce(BoxFuture<'static, T>)> {
    work: Option<(BoxFuture<'static, T>, H)>,
}

impl<T, H: FnOnce(BoxFuture<'static, T>)> Carried<T, H> {
    /// Carries work; `hand_on` gets what is left of it.
    pub(super) fn new(work: impl Future<Output = T> + Send + 'static, hand_on: H) -> Self {
        Self { work: Some((Box::pin(work), hand_on)) }
    }
}

impl<T, H: FnOnce(BoxFuture<'static, T>) + Unpin> Future for Carried<T, H> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let (work, _) = self.work.as_mut().expect("nobody asks after the end");
        let ended = work.as_mut().poll(context);
        if ended.is_ready() {
            self.work = None;
        }
        ended
    }
}

impl<T, H: FnOnce(BoxFuture<'static, T>)> Drop for Carried<T, H> {
    fn drop(&mut self) {
        if let Some((work, hand_on)) = self.work.take() {
            hand_on(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use futures::FutureExt as _;
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn work_that_ends_is_not_handed_on() {
        let handed = RefCell::new(None);
        let mut carried = Carried::new(async { 7 }, |rest| drop(handed.replace(Some(rest))));
        assert_eq!((&mut carried).now_or_never(), Some(7));
        drop(carried);
        assert!(handed.into_inner().is_none());
    }

    #[test]
    fn what_is_left_goes_on_where_it_was() {
        let (answer, answered) = oneshot::channel();
        let handed = RefCell::new(None);
        let mut carried = Carried::new(answered, |rest| drop(handed.replace(Some(rest))));
        assert_eq!((&mut carried).now_or_never(), None);
        drop(carried);
        let rest = handed.into_inner().expect("the work is handed on");
        answer.send(7).expect("somebody still waits");
        assert_eq!(rest.now_or_never(), Some(Ok(7)));
    }
}
