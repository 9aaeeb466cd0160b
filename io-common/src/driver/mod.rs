//! The one driver loop: it moves bytes between a stream and a machine, does what the machine asks for, and sleeps.
//!
//! ```text
//!            ┌────────────── poll ──────────────┐
//!            │ 1. deadline come? tell the side  │
//!  reader ──►│ 2. read, if the machine wants it │
//!            │ 3. do every action               │──► handlers, callers
//!            │ 4. write what is queued          │──► writer
//!            │ 5. nothing moved? sleep          │
//!            └──────────────────────────────────┘
//! ```
//!
//! The loop is the same for servers and clients: what differs is a [`Side`]. It knows nothing of the protocol. All
//! it holds between two polls is in its fields, so that it may be dropped at any point, and a read that finds
//! nothing loses nothing.
//!
//! A connection ends when the machine says so. What is still queued then is written, for at most [`LINGER`], and the
//! writer is closed. A stream that fails is told to the machine and is the outcome of the connection. A peer that
//! takes nothing any more may have said something before it went: a side that wants to hear it reads on, for
//! [`LINGER`] at most.

mod outbox;
mod timer;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio::machine::{Input, Mono, Now};
use thiserror::Error;

pub(crate) use self::outbox::Outbox;
pub(crate) use self::timer::Timer;
use crate::runtime::Runtime;
use crate::trace::Tracer;

/// The first size of the read buffer; it grows while reads fill it.
const READ_FIRST: usize = 8 << 10;
/// The last size of the read buffer.
const READ_MOST: usize = 256 << 10;
/// How often the loop goes round before it lets others run.
const ROUNDS: usize = 32;
/// How long a connection that is over waits for a peer that does not read.
const LINGER: Duration = Duration::from_secs(2);

/// One side of a connection: a machine, with those who use it.
pub(crate) trait Side: Send + Unpin + 'static {
    /// Why the connection is over, as the machine says it.
    type Closed: Send + Unpin;
    /// Whether what the peer has said is still of use when it cannot be answered any more.
    const HEARS_LAST_WORDS: bool;

    /// Whom to wake when someone else has used the machine.
    fn register(&self, waker: &Waker);
    /// What the machine wants next.
    fn status(&self) -> Status;
    /// Passes on what happened on the stream.
    fn handle(&mut self, now: Now, input: Input);
    /// A deadline has come.
    fn timeout(&mut self, now: Now);
    /// Does what the machine asks for, until it asks for nothing more. Answers whether it asked for anything.
    fn act(&mut self, now: Now, outbox: &mut Outbox, tracer: Option<&Tracer>) -> bool;
    /// Ends the connection.
    fn close(&mut self, now: Now);
    /// Why the connection is over, once it is.
    fn closed(&mut self) -> Option<Self::Closed>;
}

/// What a machine wants next.
pub(crate) struct Status {
    pub(crate) wants_input: bool,
    pub(crate) deadline: Option<Mono>,
}

/// The stream under a connection failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// There is no stream: nobody is at the address.
    #[error("cannot reach the peer: {0}")]
    Open(#[source] io::Error),
    /// Reading failed. What was owed to the peer has been written.
    #[error("reading from the peer failed: {0}")]
    Read(#[source] io::Error),
    /// Writing failed.
    #[error("writing to the peer failed: {0}")]
    Write(#[source] io::Error),
}

/// The future that drives a connection.
pub(crate) struct Driver<S: Side, R, W> {
    side: S,
    runtime: Arc<dyn Runtime>,
    reader: Option<R>,
    writer: W,
    buffer: Vec<u8>,
    outbox: Outbox,
    timer: Timer,
    tracer: Option<Tracer>,
    failed: Option<StreamError>,
    /// Writing has failed: when to stop reading, too.
    deaf: Option<Mono>,
    /// The machine was closed for that, and has nothing to say of its own.
    forced: bool,
    closing: Option<Closing<S::Closed>>,
}

struct Closing<C> {
    why: C,
    until: Mono,
}

impl<S, R, W> Driver<S, R, W>
where
    S: Side,
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    pub(crate) fn new(side: S, runtime: Arc<dyn Runtime>, reader: R, writer: W, tracer: Option<Tracer>) -> Self {
        Self {
            side,
            runtime,
            reader: Some(reader),
            writer,
            buffer: vec![0; READ_FIRST],
            outbox: Outbox::default(),
            timer: Timer::default(),
            tracer,
            failed: None,
            deaf: None,
            forced: false,
            closing: None,
        }
    }

    /// Reads once. Answers whether anything came.
    fn read(&mut self, now: Now, cx: &mut Context<'_>) -> bool {
        let Some(reader) = &mut self.reader else { return false };
        let count = match Pin::new(reader).poll_read(cx, &mut self.buffer) {
            Poll::Pending => return false,
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => return true,
            Poll::Ready(Err(error)) => {
                self.failed.get_or_insert(StreamError::Read(error));
                0
            }
            // A reader that claims more than it was given room for is taken at its buffer's length.
            Poll::Ready(Ok(count)) => count.min(self.buffer.len()),
        };
        if count == 0 {
            self.reader = None;
            self.side.handle(now, Input::Eof);
            return true;
        }
        let bytes = &self.buffer[..count];
        if let Some(tracer) = &mut self.tracer {
            tracer.received(bytes);
        }
        self.side.handle(now, Input::Bytes(Bytes::copy_from_slice(bytes)));
        if count == self.buffer.len() && count < READ_MOST {
            self.buffer.resize(count * 2, 0);
        }
        true
    }

    /// Writes what the writer takes. Answers whether anything left.
    fn write(&mut self, now: Now, cx: &mut Context<'_>) -> bool {
        if self.deaf.is_some() {
            self.outbox.clear();
            return false;
        }
        let mut written = 0;
        let result = match self.outbox.write(&mut self.writer, cx) {
            Ok(count) => {
                written = count;
                match self.outbox.flush(&mut self.writer, cx) {
                    Poll::Ready(result) => result,
                    Poll::Pending => Ok(()),
                }
            }
            Err(error) => Err(error),
        };
        if written > 0 {
            self.side.handle(now, Input::Written(written));
        }
        if let Err(error) = result {
            self.failed.get_or_insert(StreamError::Write(error));
            self.outbox.clear();
            self.deaf = Some(now.mono.after(LINGER));
            if !S::HEARS_LAST_WORDS {
                self.forced = true;
                self.side.close(now);
            }
            return true;
        }
        written > 0
    }

    /// Waits until what was queued has left, once the machine is closed.
    fn finish(&mut self, now: Now, cx: &mut Context<'_>) -> Poll<()> {
        let Some(closing) = &self.closing else { return Poll::Pending };
        if now.mono >= closing.until || self.deaf.is_some() {
            return Poll::Ready(());
        }
        if !self.outbox.is_empty() || self.outbox.flush(&mut self.writer, cx).is_pending() {
            return Poll::Pending;
        }
        // Whether the peer takes note of the end does not matter any more.
        Pin::new(&mut self.writer).poll_close(cx).map(drop)
    }

    fn outcome(&mut self) -> Option<Result<S::Closed, StreamError>> {
        let closing = self.closing.take()?;
        Some(match self.failed.take() {
            // It has taken nothing more, and has then said why, or just ended: an end like any other.
            Some(StreamError::Write(error)) if !self.forced && is_gone(&error) => Ok(closing.why),
            Some(error) => Err(error),
            None => Ok(closing.why),
        })
    }
}

/// Whether an error of writing says no more than that nobody reads.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted
    )
}

impl<S, R, W> Future for Driver<S, R, W>
where
    S: Side,
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    type Output = Result<S::Closed, StreamError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.side.register(cx.waker());
        for _ in 0..ROUNDS {
            let now = this.runtime.now();
            let status = this.side.status();
            let mut moved = false;
            if status.deadline.is_some_and(|at| at <= now.mono) {
                this.side.timeout(now);
                moved = true;
            }
            if this.closing.is_none() && this.deaf.is_some_and(|until| until <= now.mono) {
                this.forced = true;
                this.side.close(now);
            }
            if status.wants_input && this.closing.is_none() {
                moved |= this.read(now, cx);
            }
            moved |= this.side.act(now, &mut this.outbox, this.tracer.as_ref());
            moved |= this.write(now, cx);
            if this.closing.is_none() {
                let until = now.mono.after(LINGER);
                this.closing = this.side.closed().map(|why| Closing { why, until });
            }
            if this.finish(now, cx).is_ready()
                && let Some(outcome) = this.outcome()
            {
                return Poll::Ready(outcome);
            }
            if moved {
                continue;
            }
            let lingering = this.closing.as_ref().map(|closing| closing.until);
            let deadline = lingering.or_else(|| this.side.status().deadline.into_iter().chain(this.deaf).min());
            if this.timer.poll(&this.runtime, now, deadline, cx).is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
