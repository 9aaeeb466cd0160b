//! Frames on their way out. Those that are queued together leave in one write.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_io::AsyncWrite;

/// The most bytes that are gathered for one write. Larger frames go out alone, without a copy.
const GATHER: usize = 64 << 10;

/// The queue. What it holds is bounded by the machine, which counts every byte until it is reported as written.
#[derive(Default)]
pub(crate) struct Outbox {
    frames: VecDeque<Bytes>,
    /// Gathered frames, of which `sent` bytes have left.
    gathered: Vec<u8>,
    /// A frame that goes out alone, without the bytes that have left.
    alone: Bytes,
    sent: usize,
    /// Something was written since the last flush.
    dirty: bool,
}

impl Outbox {
    pub(crate) fn push(&mut self, frame: Bytes) {
        self.frames.push_back(frame);
    }

    /// Whether everything has been handed to the writer.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.alone.is_empty() && self.sent == self.gathered.len()
    }

    /// Forgets what has not left: the other side is gone.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Writes as much as the writer takes. Answers how many bytes that was; zero means that nothing could be done.
    pub(crate) fn write<W: AsyncWrite + Unpin>(&mut self, writer: &mut W, cx: &mut Context<'_>) -> io::Result<usize> {
        let mut total = 0;
        while self.refill() {
            let lone = !self.alone.is_empty();
            let bytes = if lone { &self.alone[..] } else { &self.gathered[self.sent..] };
            match Pin::new(&mut *writer).poll_write(cx, bytes) {
                Poll::Pending => break,
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => {
                    total += count;
                    self.dirty = true;
                    if lone {
                        let _ = self.alone.split_to(count);
                    } else {
                        self.sent += count;
                    }
                }
            }
        }
        Ok(total)
    }

    /// Makes the writer pass on what it holds back.
    pub(crate) fn flush<W: AsyncWrite + Unpin>(
        &mut self,
        writer: &mut W,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.dirty {
            return Poll::Ready(Ok(()));
        }
        let done = Pin::new(writer).poll_flush(cx);
        if done.is_ready() {
            self.dirty = false;
        }
        done
    }

    /// Prepares the next write; `false` if there is nothing to write.
    fn refill(&mut self) -> bool {
        if !self.alone.is_empty() || self.sent < self.gathered.len() {
            return true;
        }
        self.gathered.clear();
        self.sent = 0;
        let Some(first) = self.frames.pop_front() else { return false };
        let fits = |frame: &Bytes, held: usize| held + frame.len() <= GATHER;
        if self.frames.front().is_none_or(|second| !fits(second, first.len())) {
            self.alone = first;
            return true;
        }
        self.gathered.extend_from_slice(&first);
        while let Some(frame) = self.frames.front()
            && fits(frame, self.gathered.len())
        {
            self.gathered.extend_from_slice(frame);
            self.frames.pop_front();
        }
        true
    }
}
