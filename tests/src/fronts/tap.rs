//! Streams with a tap: what the player and the front have said to each other, and what of it is still on its way.
//!
//! ```text
//!   player ── given ──▶ │ socket │ ── taken ──▶ front      due: given, and the front waits for it
//!          ◀── heard ── │        │ ◀── said ───            unheard: said, and the player has not read it yet
//! ```

use std::any::Any;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker, ready};
use std::time::Duration;

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio::testing::Feed;

use super::lab::Lab;

/// What is known of one stream.
#[derive(Default)]
pub struct Wire {
    /// Bytes that the player has written.
    given: u64,
    /// The player writes no more.
    ended: bool,
    /// Bytes that the front has read.
    taken: u64,
    /// The front has read to the end.
    end_taken: bool,
    /// Bytes that the front has written.
    said: u64,
    /// Bytes that the player has read.
    heard: u64,
    /// The front writes no more.
    shut: bool,
    /// The front reads no more.
    deaf: bool,
    /// The front waits for bytes, or for room: the number of the poll that found it so.
    reading: Option<u64>,
    writing: Option<u64>,
    polls: u64,
    /// The player has gone.
    gone: bool,
    /// What the front has let go. It stays open until everything is heard, as the network may not take back what was
    /// said when a connection is closed with something unread.
    left: Vec<Box<dyn Any + Send>>,
}

impl Wire {
    /// Whether the front waits for something that is on its way.
    pub(super) fn is_due(&self) -> bool {
        let comes = self.given > self.taken || (self.ended && !self.end_taken);
        (self.reading.is_some() && comes) || (self.writing.is_some() && !self.gone)
    }

    /// Whether the player has something to read.
    pub(super) const fn is_unheard(&self) -> bool {
        self.said > self.heard && !self.gone
    }

    fn waiting(&mut self, way: Way) -> &mut Option<u64> {
        match way {
            Way::In => &mut self.reading,
            Way::Out => &mut self.writing,
        }
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { given, ended, taken, end_taken, said, heard, reading, writing, .. } = self;
        write!(f, "in {taken}/{given} end {end_taken}/{ended} out {heard}/{said} waits {reading:?}/{writing:?}")
    }
}

/// Which way bytes go, seen from the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// The player's end of a stream.
pub struct End<S> {
    stream: S,
    lab: Arc<Lab>,
    wire: usize,
}

/// How long the player writes to a front that takes nothing before it looks whether it is still there.
pub(super) const LOOK: Duration = Duration::from_millis(10);

/// A stream, of which the player has one end. The other is for a [`Tap`]. Writing must fail after [`LOOK`], reading
/// must not.
pub(super) fn end<S: Read + Write>(lab: &Arc<Lab>, stream: S, feed: Feed) -> (End<S>, Place) {
    let place = place(lab, feed);
    (place.end(stream), place)
}

/// A stream that is still to be made.
pub(super) fn place(lab: &Arc<Lab>, feed: Feed) -> Place {
    let wire = lab.change(|state| {
        state.wires.push(Wire::default());
        state.wires.len() - 1
    });
    let most = if feed == Feed::Bytes { 1 } else { usize::MAX };
    Place { lab: Arc::clone(lab), wire, most }
}

impl<S: Read + Write> End<S> {
    /// Writes bytes, for as long as the front has the stream. What it says meanwhile is heard: it may wait for that.
    ///
    /// # Errors
    /// When the other side is gone, or takes nothing.
    pub fn give(&mut self, mut bytes: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        self.lab.state().wires[self.wire].given += bytes.len() as u64;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !self.lab.state().wires[self.wire].deaf => {
                    self.hear(into)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes no more, which `shut` tells the stream.
    pub fn finish(&mut self, shut: impl FnOnce(&S)) {
        self.lab.state().wires[self.wire].ended = true;
        shut(&self.stream);
    }

    /// Reads what the front has written.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn hear(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        let count = {
            let mut state = self.lab.state();
            let wire = &mut state.wires[self.wire];
            if !wire.is_unheard() {
                return Ok(false);
            }
            let count = wire.said - wire.heard;
            wire.heard = wire.said;
            count
        };
        let most = usize::try_from(count).unwrap_or(usize::MAX);
        let before = into.len();
        into.resize(before + most, 0);
        self.stream.read_exact(&mut into[before..])?;
        Ok(true)
    }

    /// Whether the front has said its last on this stream. What it has let go is closed then.
    #[must_use]
    pub fn is_shut(&self) -> bool {
        let (shut, left) = {
            let mut state = self.lab.state();
            let wire = &mut state.wires[self.wire];
            let over = wire.said == wire.heard;
            (over && wire.shut, if over { std::mem::take(&mut wire.left) } else { Vec::new() })
        };
        drop(left);
        shut
    }
}

impl<S> Drop for End<S> {
    fn drop(&mut self) {
        // Whoever still reads finds the end, and whoever writes an error.
        let left = self.lab.change(|state| {
            let wire = &mut state.wires[self.wire];
            wire.ended = true;
            wire.gone = true;
            std::mem::take(&mut wire.left)
        });
        drop(left);
    }
}

/// Where a [`Tap`] belongs.
#[derive(Clone, Debug)]
pub struct Place {
    lab: Arc<Lab>,
    wire: usize,
    /// The most that the front reads at once: so bytes come one by one, however the socket has gathered them.
    most: usize,
}

impl Place {
    /// The player's end of it.
    pub(super) fn end<S: Read + Write>(&self, stream: S) -> End<S> {
        End { stream, lab: Arc::clone(&self.lab), wire: self.wire }
    }

    /// The front reads no more than this at once.
    pub(super) fn at_most(mut self, most: usize) -> Self {
        self.most = self.most.min(most);
        self
    }

    fn change<T>(&self, change: impl FnOnce(&mut Wire) -> T) -> T {
        self.lab.change(|state| change(&mut state.wires[self.wire]))
    }

    /// Polls a stream with a waker that tells when it has woken: from then on the front waits no more.
    fn poll<T>(
        &self,
        way: Way,
        bells: &mut Bells,
        cx: &Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let number = self.change(|wire| {
            wire.polls += 1;
            *wire.waiting(way) = Some(wire.polls);
            wire.polls
        });
        // A runtime may take another waker for another task, and wake the one before.
        let bell = bells.of(way);
        let kept = bell.take().filter(|bell| bell.task.will_wake(cx.waker()));
        let bell = bell.insert(kept.unwrap_or_else(|| {
            let task = cx.waker().clone();
            Arc::new(Bell { place: self.clone(), way, number: AtomicU64::new(0), task })
        }));
        bell.number.store(number, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(bell));
        let polled = poll(&mut Context::from_waker(&waker));
        if polled.is_ready() {
            self.change(|wire| *wire.waiting(way) = None);
        }
        polled
    }

    fn read(&self, count: &io::Result<usize>) {
        self.change(|wire| match count {
            Ok(count) if *count > 0 => wire.taken += *count as u64,
            _ => wire.end_taken = true,
        });
    }

    /// The front has let its end go, or one half of it.
    fn leave(&self, stream: impl Any + Send, half: Half) {
        self.change(|wire| {
            if half != Half::Writer {
                wire.reading = None;
                wire.deaf = true;
            }
            if half != Half::Reader {
                wire.writing = None;
                wire.shut = true;
            }
            wire.left.push(Box::new(stream));
        });
    }
}

/// The waker of a task that waits for a stream.
struct Bell {
    place: Place,
    way: Way,
    /// The last poll that it was given to.
    number: AtomicU64,
    task: Waker,
}

#[derive(Default)]
struct Bells {
    reader: Option<Arc<Bell>>,
    writer: Option<Arc<Bell>>,
}

impl Bells {
    const fn of(&mut self, way: Way) -> &mut Option<Arc<Bell>> {
        match way {
            Way::In => &mut self.reader,
            Way::Out => &mut self.writer,
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Which poll is meant is known before the task may poll again.
        let rung = self.number.load(Ordering::SeqCst);
        // The task counts as busy before the stream counts as not waited for.
        self.task.wake_by_ref();
        self.place.change(|wire| {
            let waiting = wire.waiting(self.way);
            *waiting = waiting.filter(|number| *number != rung);
        });
    }
}

/// Which half of a stream a [`Tap`] is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The front reads from it.
    Reader,
    /// The front writes to it.
    Writer,
    /// Both.
    Whole,
}

/// The front's end of a stream, or one half of it: a stream of `futures-io` or of hyper, as what is inside.
pub struct Tap<S: Send + 'static> {
    /// `None` when it is let go.
    stream: Option<S>,
    place: Place,
    half: Half,
    bells: Bells,
}

impl<S: Send + 'static> Tap<S> {
    /// A tap on a stream.
    pub fn new(stream: S, place: &Place, half: Half) -> Self {
        Self { stream: Some(stream), place: place.clone(), half, bells: Bells::default() }
    }
}

impl<S: Send + 'static> Drop for Tap<S> {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            self.place.leave(stream, self.half);
        }
    }
}

/// The stream inside, pinned, with its place and its wakers; whoever has let it go cannot ask for it.
macro_rules! inside {
    ($tap:ident) => {{
        let Tap { stream, place, bells, .. } = &mut *$tap;
        let Some(stream) = stream else { return Poll::Ready(Err(io::ErrorKind::NotConnected.into())) };
        (Pin::new(stream), &*place, bells)
    }};
}

impl<S: AsyncRead + Unpin + Send + 'static> AsyncRead for Tap<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        let (stream, place, bells) = inside!(self);
        let most = place.most.min(bytes.len());
        let count = ready!(place.poll(Way::In, bells, cx, |cx| stream.poll_read(cx, &mut bytes[..most])));
        place.read(&count);
        Poll::Ready(count)
    }
}

impl<S: AsyncWrite + Unpin + Send + 'static> AsyncWrite for Tap<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let (stream, place, bells) = inside!(self);
        let count = ready!(place.poll(Way::Out, bells, cx, |cx| stream.poll_write(cx, bytes)))?;
        place.change(|wire| wire.said += count as u64);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        inside!(self).0.poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (stream, place, bells) = inside!(self);
        let closed = ready!(place.poll(Way::Out, bells, cx, |cx| stream.poll_close(cx)));
        place.change(|wire| wire.shut = true);
        Poll::Ready(closed)
    }
}

/// The most that is read at once for hyper, whose own memory only unsafe code can lend to a stream in parts.
const CHUNK: usize = 8 << 10;

impl<S: hyper::rt::Read + Unpin + Send + 'static> hyper::rt::Read for Tap<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut room: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let (stream, place, bells) = inside!(self);
        let mut chunk = [0; CHUNK];
        let most = place.most.min(room.remaining()).min(CHUNK);
        let mut buffer = hyper::rt::ReadBuf::new(&mut chunk[..most]);
        let read = ready!(place.poll(Way::In, bells, cx, |cx| stream.poll_read(cx, buffer.unfilled())));
        let count = read.map(|()| buffer.filled().len());
        place.read(&count);
        room.put_slice(buffer.filled());
        Poll::Ready(count.map(drop))
    }
}

impl<S: hyper::rt::Write + Unpin + Send + 'static> hyper::rt::Write for Tap<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let (stream, place, bells) = inside!(self);
        let count = ready!(place.poll(Way::Out, bells, cx, |cx| stream.poll_write(cx, bytes)))?;
        place.change(|wire| wire.said += count as u64);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        inside!(self).0.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (stream, place, bells) = inside!(self);
        let closed = ready!(place.poll(Way::Out, bells, cx, |cx| stream.poll_shutdown(cx)));
        place.change(|wire| wire.shut = true);
        Poll::Ready(closed)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(hyper::rt::Write::is_write_vectored)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let (stream, place, bells) = inside!(self);
        let count = ready!(place.poll(Way::Out, bells, cx, |cx| stream.poll_write_vectored(cx, bytes)))?;
        place.change(|wire| wire.said += count as u64);
        Poll::Ready(Ok(count))
    }
}
