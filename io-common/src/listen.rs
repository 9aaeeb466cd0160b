//! The connections of a listener: how many there are at a time, and that they end with it.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::task::AtomicWaker;

use crate::runtime::{BoxFuture, Runtime};
use crate::signal::{Signal, Stage};

/// How long a listener waits after an error, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The room for the connections of a listener. Dropping it tells them all to stop.
pub(crate) struct Room(Arc<Shared>);

struct Shared {
    runtime: Arc<dyn Runtime>,
    signal: Arc<Signal>,
    open: AtomicUsize,
    most: usize,
    /// Woken when a connection ends.
    fewer: AtomicWaker,
}

impl Room {
    pub(crate) fn new(runtime: Arc<dyn Runtime>, most: usize) -> Self {
        let (signal, open, fewer) = (Arc::default(), AtomicUsize::new(0), AtomicWaker::new());
        Self(Arc::new(Shared { runtime, signal, open, most, fewer }))
    }

    #[cfg(feature = "http")]
    pub(crate) fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.0.runtime
    }

    /// What its connections watch.
    pub(crate) fn signal(&self) -> &Arc<Signal> {
        &self.0.signal
    }

    /// How many are open.
    pub(crate) fn open(&self) -> usize {
        self.0.open.load(Ordering::Acquire)
    }

    /// Counts one more, until the answer is dropped.
    pub(crate) fn enter(&self) -> Place {
        self.0.open.fetch_add(1, Ordering::AcqRel);
        Place(Arc::clone(&self.0))
    }

    /// Hands over every connection that `accept` gives, while there is room, until `shutdown` is ready. An error of
    /// the listener is waited out; one of a connection that has gone already is that connection's.
    pub(crate) async fn fill<I>(
        &self,
        mut accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<I>>,
        shutdown: impl Future<Output = ()>,
        serve: impl Fn(I),
    ) {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut pause: Option<BoxFuture<'static, ()>> = None;
        std::future::poll_fn(|cx| {
            loop {
                if shutdown.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                if let Some(waiting) = &mut pause {
                    ready!(waiting.as_mut().poll(cx));
                    pause = None;
                }
                self.0.fewer.register(cx.waker());
                if self.open() >= self.0.most {
                    return Poll::Pending;
                }
                match ready!(accept(cx)) {
                    Ok(stream) => serve(stream),
                    Err(error) if is_of_a_connection(&error) => {}
                    Err(_) => pause = Some(self.0.runtime.sleep(ACCEPT_PAUSE)),
                }
            }
        })
        .await;
    }

    /// Waits until none is open.
    #[cfg(feature = "http")]
    pub(crate) async fn empty(&self) {
        std::future::poll_fn(|cx| {
            self.0.fewer.register(cx.waker());
            if self.open() == 0 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// Whether only the connection that was to be accepted has failed, and the next one may be as good as any.
fn is_of_a_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

impl Drop for Room {
    fn drop(&mut self) {
        self.0.signal.raise(Stage::Stopped);
    }
}

/// A connection that counts.
pub(crate) struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
        self.0.fewer.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;
    use std::future::pending;

    use futures_util::FutureExt;

    use super::*;
    use crate::runtime::Still;

    /// Which connections are served before any time has passed.
    fn served(accepted: impl IntoIterator<Item = Result<u32, io::ErrorKind>>) -> Vec<u32> {
        let mut accepted: VecDeque<_> = accepted.into_iter().collect();
        let served = RefCell::new(Vec::new());
        let accept = |_: &mut Context<'_>| match accepted.pop_front() {
            Some(next) => Poll::Ready(next.map_err(io::Error::from)),
            None => Poll::Pending,
        };
        let room = Room::new(Arc::new(Still), 10);
        assert_eq!(room.fill(accept, pending(), |each| served.borrow_mut().push(each)).now_or_never(), None);
        served.into_inner()
    }

    #[test]
    fn a_connection_that_has_gone_keeps_nobody_waiting() {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset};
        assert_eq!(served([Err(ConnectionReset), Ok(1), Err(ConnectionAborted), Ok(2)]), [1, 2]);
    }

    #[test]
    fn a_listener_that_fails_is_given_time() {
        assert_eq!(served([Ok(1), Err(io::ErrorKind::Other), Ok(2)]), [1]);
    }
}
