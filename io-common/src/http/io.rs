//! Byte streams and timers of the fronts as those of hyper, and a stream that does not wait for ever.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_io::{AsyncRead, AsyncWrite};
use hyper::rt::{Read, ReadBufCursor, Sleep, Write};

use crate::runtime::{BoxFuture, Runtime};

/// The most that is read at once: what hyper reads into by default.
const CHUNK: usize = 8 << 10;

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
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.judge(polled, cx)
    }
}

/// The timers of a runtime, for hyper.
#[derive(Clone)]
pub(crate) struct Timers(pub(crate) Arc<dyn Runtime>);

/// hyper wants sleeps that threads may share; nobody does.
struct Sleeping(Mutex<BoxFuture<'static, ()>>);

impl Future for Sleeping {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.get_mut().0.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().poll(cx)
    }
}

impl Sleep for Sleeping {}

impl hyper::rt::Timer for Timers {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(Sleeping(Mutex::new(self.0.sleep(duration))))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.sleep(deadline.saturating_duration_since(Instant::now()))
    }
}
