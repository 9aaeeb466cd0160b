//! Byte streams and timers of the fronts as those of hyper, and a stream that does not wait for ever.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_io::{AsyncRead, AsyncWrite};
use hyper::rt::{Read, ReadBufCursor, Sleep, Timer, Write};

use crate::runtime::{BoxFuture, Runtime};
use crate::sync::lock;

/// The most that is read at once: what hyper reads into by default.
const CHUNK: usize = 8 << 10;
/// A head and a body that are no longer together are written as one: that is cheaper than to have the operating system
/// gather them.
const GATHERED: usize = 1 << 10;

/// A byte stream of `futures-io` as one of hyper.
#[derive(Debug)]
pub struct Stream<T>(pub T);

impl<T: AsyncRead + Unpin> Read for Stream<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, mut room: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        // Writing into the cursor's own memory needs unsafe code, which there is none of here.
        let mut chunk = [0; CHUNK];
        let most = room.remaining().min(CHUNK);
        let count = ready!(Pin::new(&mut self.0).poll_read(cx, &mut chunk[..most]))?;
        room.put_slice(&chunk[..count.min(most)]);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> Write for Stream<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

/// A stream whose peer must take something within a time, or the stream fails. What it sends is not waited for here:
/// reading has bounds of its own.
pub(crate) struct Impatient<S> {
    stream: S,
    runtime: Arc<dyn Runtime>,
    patience: Duration,
    /// There while writing waits.
    waiting: Option<BoxFuture<'static, ()>>,
}

impl<S> Impatient<S> {
    pub(crate) const fn new(stream: S, runtime: Arc<dyn Runtime>, patience: Duration) -> Self {
        Self { stream, runtime, patience, waiting: None }
    }

    fn judge<T>(&mut self, polled: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let (runtime, patience) = (&self.runtime, self.patience);
        let waiting = self.waiting.get_or_insert_with(|| runtime.sleep(patience));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: Read + Unpin> Read for Impatient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, room: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, room)
    }
}

impl<S: Write + Unpin> Write for Impatient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(polled, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(polled, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.judge(polled, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut room = [0; GATHERED];
        let polled = match gather(bytes, &mut room) {
            Some(one) => Pin::new(&mut self.stream).poll_write(cx, one),
            None => Pin::new(&mut self.stream).poll_write_vectored(cx, bytes),
        };
        self.judge(polled, cx)
    }
}

/// Copies what fits into `room` as a whole. `None`: it does not.
fn gather<'r>(pieces: &[io::IoSlice<'_>], room: &'r mut [u8]) -> Option<&'r [u8]> {
    let mut filled = 0;
    for piece in pieces {
        room.get_mut(filled..filled + piece.len())?.copy_from_slice(piece);
        filled += piece.len();
    }
    room.get(..filled)
}

/// The timers of one connection, for hyper, by the clock of the runtime.
///
/// hyper awaits one head at a time, makes a sleep for each, and drops it when the head has come. The runtime's sleep
/// under them is kept: it ends too early for those that follow, and is only then replaced. So a connection that is busy
/// sets one timer in the time that a head may take, and not one with every request.
#[derive(Clone)]
pub(crate) struct Timers(Arc<Kept>);

struct Kept {
    runtime: Arc<dyn Runtime>,
    /// What hyper calls the beginning of the runtime's clock.
    epoch: Instant,
    sleep: Mutex<Option<(Instant, BoxFuture<'static, ()>)>>,
}

impl Timers {
    pub(crate) fn new(runtime: Arc<dyn Runtime>) -> Self {
        Self(Arc::new(Kept { runtime, epoch: Instant::now(), sleep: Mutex::default() }))
    }
}

/// One of hyper's sleeps.
struct Sleeping {
    timers: Timers,
    deadline: Instant,
}

impl Future for Sleeping {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { timers, deadline } = &*self;
        let mut sleep = lock(&timers.0.sleep);
        loop {
            let kept = sleep.take().filter(|(end, _)| end <= deadline);
            let (end, waiting) = sleep.insert(kept.unwrap_or_else(|| {
                let time = deadline.saturating_duration_since(timers.now());
                (*deadline, timers.0.runtime.sleep(time))
            }));
            ready!(waiting.as_mut().poll(cx));
            let over = end == deadline;
            *sleep = None;
            if over {
                return Poll::Ready(());
            }
        }
    }
}

impl Sleep for Sleeping {}

impl Timer for Timers {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Sleeping { timers: self.clone(), deadline })
    }

    fn now(&self) -> Instant {
        self.0.epoch + Duration::from_nanos(self.0.runtime.now().mono.as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_gathered_if_all_of_them_fit() {
        let pieces = [io::IoSlice::new(b"head"), io::IoSlice::new(b""), io::IoSlice::new(b"body")];
        assert_eq!(gather(&pieces, &mut [0; 9]), Some(&b"headbody"[..]));
        assert_eq!(gather(&pieces, &mut [0; 8]), Some(&b"headbody"[..]));
        assert_eq!(gather(&pieces, &mut [0; 7]), None);
    }
}
