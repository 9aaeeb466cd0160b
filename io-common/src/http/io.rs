//! Byte streams of the fronts as those of hyper, and what does not wait for ever.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use futures_io::{AsyncRead, AsyncWrite};
use hyper::rt::{Read, ReadBufCursor, Write};
use mcp_sansio::machine::Mono;

use crate::runtime::{BoxFuture, Runtime};

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
pub(super) struct Impatient<S> {
    stream: S,
    runtime: Arc<dyn Runtime>,
    patience: Duration,
    /// There while writing waits.
    waiting: Option<BoxFuture<'static, ()>>,
    /// Whether writing waits, for those who do not have the stream.
    waits: Arc<AtomicBool>,
}

impl<S> Impatient<S> {
    pub(super) fn new(stream: S, runtime: Arc<dyn Runtime>, patience: Duration) -> Self {
        Self { stream, runtime, patience, waiting: None, waits: Arc::default() }
    }

    pub(super) const fn waits(&self) -> &Arc<AtomicBool> {
        &self.waits
    }

    fn judge<T>(&mut self, polled: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            if self.waiting.take().is_some() {
                self.waits.store(false, Ordering::Relaxed);
            }
            return polled;
        }
        self.waits.store(true, Ordering::Relaxed);
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

/// How long each of many things may be waited for, one after the other.
///
/// The runtime's sleep under it is kept: it ends too early for things that come later, and is only then replaced. So a
/// connection that is busy sets one timer in the time that a head may take, and not one with every request.
pub(super) struct Patience {
    runtime: Arc<dyn Runtime>,
    time: Duration,
    /// What is waited for, and until when.
    awaited: Option<(usize, Mono)>,
    sleep: Option<Asleep>,
}

struct Asleep {
    end: Mono,
    /// Whom it wakes.
    waker: Waker,
    sleep: BoxFuture<'static, ()>,
}

impl Patience {
    pub(super) const fn new(runtime: Arc<dyn Runtime>, time: Duration) -> Self {
        Self { runtime, time, awaited: None, sleep: None }
    }

    /// Waits for the thing of this number. It is ready when that takes too long.
    pub(super) fn poll(&mut self, number: usize, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = match self.awaited {
            Some((known, deadline)) if known == number => deadline,
            _ => {
                let now = self.runtime.mono();
                let deadline = now.after(self.time);
                self.awaited = Some((number, deadline));
                let sleeps = |asleep: &Asleep| asleep.end > now && asleep.waker.will_wake(cx.waker());
                if self.sleep.as_ref().is_some_and(sleeps) {
                    return Poll::Pending;
                }
                deadline
            }
        };
        loop {
            let asleep = self.sleep.get_or_insert_with(|| Asleep {
                end: deadline,
                waker: cx.waker().clone(),
                sleep: self.runtime.sleep(self.runtime.mono().until(deadline)),
            });
            if asleep.sleep.as_mut().poll(cx).is_pending() {
                asleep.waker.clone_from(cx.waker());
                return Poll::Pending;
            }
            let over = asleep.end >= deadline;
            self.sleep = None;
            if over {
                return Poll::Ready(());
            }
        }
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
