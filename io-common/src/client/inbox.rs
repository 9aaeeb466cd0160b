//! Bounded queues from the driver to whoever listens. The driver never waits for a listener: a queue that is full
//! loses its oldest item, and counts it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;

use crate::sync::lock;

/// How many items a listener may be behind.
pub const BACKLOG: usize = 1_024;

/// The sending end.
pub(super) struct Inbox<T>(Arc<Mutex<State<T>>>);

/// The receiving end: a stream that ends with what it tells of.
pub struct Receiver<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    items: VecDeque<T>,
    lost: u64,
    closed: bool,
    waker: Option<Waker>,
}

pub(super) fn inbox<T>() -> (Inbox<T>, Receiver<T>) {
    let state = State { items: VecDeque::new(), lost: 0, closed: false, waker: None };
    let state = Arc::new(Mutex::new(state));
    (Inbox(Arc::clone(&state)), Receiver(state))
}

impl<T> Inbox<T> {
    /// Adds an item. Answers whether somebody may still read it.
    pub(super) fn push(&self, item: T) -> bool {
        let waker = {
            let mut state = lock(&self.0);
            if state.items.len() >= BACKLOG {
                state.items.pop_front();
                state.lost += 1;
            }
            state.items.push_back(item);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        self.is_read()
    }

    /// Whether the receiver is still there.
    pub(super) fn is_read(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        let waker = {
            let mut state = lock(&self.0);
            state.closed = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Receiver<T> {
    /// The next item; `None` at the end.
    pub async fn next(&mut self) -> Option<T> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// How many items were lost because this end was [`BACKLOG`] items behind.
    #[must_use]
    pub fn lost(&self) -> u64 {
        lock(&self.0).lost
    }
}

impl<T> Stream for Receiver<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = lock(&self.0);
        if let Some(item) = state.items.pop_front() {
            return Poll::Ready(Some(item));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl<T> std::fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = lock(&self.0);
        f.debug_struct("Receiver").field("waiting", &state.items.len()).field("lost", &state.lost).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_listener_that_is_behind_loses_the_oldest() {
        let (sender, mut receiver) = inbox();
        for item in 0..BACKLOG + 3 {
            assert!(sender.push(item));
        }
        assert_eq!(receiver.lost(), 3);
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(Pin::new(&mut receiver).poll_next(&mut cx), Poll::Ready(Some(3)));
        drop(sender);
        let rest = std::iter::from_fn(|| match Pin::new(&mut receiver).poll_next(&mut cx) {
            Poll::Ready(item) => item,
            Poll::Pending => panic!("the end is not told"),
        });
        assert_eq!(rest.count(), BACKLOG - 1);
    }
}
