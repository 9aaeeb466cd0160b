//! The standard streams of a process, for a server.
//!
//! | stream is | read and written |
//! |---|---|
//! | a pipe or a socket (what clients give) | without blocking, by the reactor |
//! | a terminal, a file, or shared with standard error | by a thread, so that neither blocks the runtime |
//!
//! Non-blocking mode belongs to the pipe and not to this process, so it is undone at the end, and not used on a pipe
//! that standard error shares: whoever writes there does not expect it. The reading thread is not waited for, so
//! that a process whose input stays open can end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use futures_io::{AsyncRead, AsyncWrite};
use futures_util::task::AtomicWaker;

/// How much the reading thread reads at a time.
const CHUNK: usize = 64 << 10;
/// How many chunks it is ahead at most.
const AHEAD: usize = 4;

/// A reader of any kind.
pub type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// A writer of any kind.
pub type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input. `open` makes a reader of the runtime of a pipe or a socket; where it cannot, a thread reads.
pub fn input(open: impl FnOnce(Stream) -> io::Result<Reader>) -> Reader {
    #[cfg(unix)]
    if let Some(reader) = unix::restored(&io::stdin(), open) {
        return Box::new(reader);
    }
    #[cfg(not(unix))]
    drop(open);
    Box::new(Threaded::start(io::stdin()))
}

/// Standard output. `open` makes a writer of the runtime of a pipe or a socket; where it cannot, `blocking` makes one
/// that blocks no task.
pub fn output(open: impl FnOnce(Stream) -> io::Result<Writer>, blocking: impl FnOnce() -> Writer) -> Writer {
    #[cfg(unix)]
    if let Some(writer) = unix::restored(&io::stdout(), open) {
        return Box::new(writer);
    }
    #[cfg(not(unix))]
    drop(open);
    blocking()
}

#[cfg(unix)]
pub use self::unix::Stream;

/// A standard stream that can be used without blocking. There is none on this platform.
#[cfg(not(unix))]
#[derive(Debug)]
pub enum Stream {}

/// What a runtime makes of a stream that there is not.
///
/// # Errors
/// Never: it cannot be called.
#[cfg(not(unix))]
pub fn never<T>(stream: Stream) -> io::Result<T> {
    match stream {}
}

/// A blocking reader, read by a thread.
struct Threaded {
    chunks: Receiver<io::Result<Bytes>>,
    more: Arc<AtomicWaker>,
    current: Bytes,
}

impl Threaded {
    fn start(mut reader: impl io::Read + Send + 'static) -> Self {
        let (sender, chunks) = sync_channel(AHEAD);
        let more = Arc::new(AtomicWaker::new());
        let ended = WakeAtEnd(Arc::clone(&more));
        std::thread::spawn(move || {
            let ended = ended;
            // Dropped before `ended`, which tells of it.
            let sender = sender;
            let mut buffer = vec![0; CHUNK];
            loop {
                let chunk = match reader.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(count) => Ok(Bytes::copy_from_slice(&buffer[..count])),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = chunk.is_err();
                if sender.send(chunk).is_err() || failed {
                    return;
                }
                ended.0.wake();
            }
        });
        Self { chunks, more, current: Bytes::new() }
    }

    fn next(&self, cx: &Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        // Registered first: a chunk that comes in between wakes.
        self.more.register(cx.waker());
        match self.chunks.try_recv() {
            Ok(chunk) => Poll::Ready(Some(chunk)),
            Err(TryRecvError::Empty) => Poll::Pending,
            Err(TryRecvError::Disconnected) => Poll::Ready(None),
        }
    }
}

struct WakeAtEnd(Arc<AtomicWaker>);

impl Drop for WakeAtEnd {
    fn drop(&mut self) {
        self.0.wake();
    }
}

impl AsyncRead for Threaded {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        while self.current.is_empty() {
            match self.next(cx) {
                Poll::Ready(Some(chunk)) => self.current = chunk?,
                Poll::Ready(None) => return Poll::Ready(Ok(0)),
                Poll::Pending => return Poll::Pending,
            }
        }
        let count = bytes.len().min(self.current.len());
        self.current.copy_to_slice(&mut bytes[..count]);
        Poll::Ready(Ok(count))
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use futures_io::{AsyncRead, AsyncWrite};

    /// A standard stream that can be used without blocking, and is in that mode: a handle of its own.
    #[derive(Debug)]
    #[non_exhaustive]
    pub enum Stream {
        /// A pipe.
        Pipe(OwnedFd),
        /// A socket, of any kind.
        Socket(OwnedFd),
    }

    /// What `open` makes of a standard stream, unless it is of another kind or shared with standard error.
    pub(super) fn restored<T>(stream: &impl AsFd, open: impl FnOnce(Stream) -> io::Result<T>) -> Option<Restored<T>> {
        let file = |stream: &dyn AsFd| stream.as_fd().try_clone_to_owned().map(File::from);
        let file_of = file(stream).ok()?;
        let found = file_of.metadata().ok()?;
        if let Ok(errors) = file(&io::stderr()).and_then(|errors| errors.metadata())
            && (errors.dev(), errors.ino()) == (found.dev(), found.ino())
        {
            return None;
        }
        let kind = found.file_type();
        let handle = file_of.try_clone().ok()?.into();
        let stream = if kind.is_fifo() {
            Stream::Pipe(handle)
        } else if kind.is_socket() {
            Stream::Socket(handle)
        } else {
            return None;
        };
        let mode = Blocking(file_of.into());
        rustix::io::ioctl_fionbio(&mode.0, true).ok()?;
        Some(Restored { stream: open(stream).ok()?, _mode: mode })
    }

    /// A stream that gets its blocking mode back.
    pub(super) struct Restored<T> {
        stream: T,
        _mode: Blocking,
    }

    struct Blocking(OwnedFd);

    impl Drop for Blocking {
        fn drop(&mut self) {
            // A stream that has no mode any more needs none.
            let _ = rustix::io::ioctl_fionbio(&self.0, false);
        }
    }

    impl<T: AsyncRead + Unpin> AsyncRead for Restored<T> {
        fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.stream).poll_read(cx, bytes)
        }
    }

    impl<T: AsyncWrite + Unpin> AsyncWrite for Restored<T> {
        fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.stream).poll_write(cx, bytes)
        }

        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_flush(cx)
        }

        fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            // The descriptor is a duplicate: the stream itself ends with the process.
            self.poll_flush(cx)
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::AsyncReadExt as _;

    use super::*;

    /// A reader that gives its parts one by one.
    struct Parts(std::vec::IntoIter<io::Result<&'static [u8]>>);

    impl io::Read for Parts {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let Some(part) = self.0.next() else { return Ok(0) };
            let part = part?;
            bytes[..part.len()].copy_from_slice(part);
            Ok(part.len())
        }
    }

    fn read_all(parts: Vec<io::Result<&'static [u8]>>) -> (io::Result<usize>, Vec<u8>) {
        let mut threaded = Threaded::start(Parts(parts.into_iter()));
        let mut read = Vec::new();
        (block_on(threaded.read_to_end(&mut read)), read)
    }

    /// Runs a future on this thread, which is parked meanwhile.
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        struct Unpark(std::thread::Thread);
        impl std::task::Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Arc::new(Unpark(std::thread::current())).into();
        let mut future = std::pin::pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(answer) => return answer,
                Poll::Pending => std::thread::park(),
            }
        }
    }

    #[test]
    fn a_thread_reads_to_the_end_and_is_interrupted_in_between() {
        let interrupted = || Err(io::ErrorKind::Interrupted.into());
        let (count, read) = read_all(vec![Ok(b"one"), interrupted(), Ok(b"two"), Ok(b"three")]);
        assert_eq!((count.unwrap(), read.as_slice()), (11, &b"onetwothree"[..]));
        assert_eq!(read_all(vec![]).1, b"");
    }

    #[test]
    fn a_reader_that_fails_is_an_error_after_what_it_gave() {
        let (count, read) = read_all(vec![Ok(b"one"), Err(io::ErrorKind::UnexpectedEof.into())]);
        assert_eq!((count.unwrap_err().kind(), read.as_slice()), (io::ErrorKind::UnexpectedEof, &b"one"[..]));
    }
}
