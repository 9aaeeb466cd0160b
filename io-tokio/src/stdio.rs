//! A server on the standard streams of its process.
//!
//! | stream is | read and written |
//! |---|---|
//! | a pipe or a socket (what clients give) | without blocking, by the reactor |
//! | a terminal, a file, or shared with standard error | by a thread, so that neither blocks the runtime |
//!
//! Non-blocking mode belongs to the pipe and not to this process, so it is undone at the end, and not used on a pipe
//! that standard error shares: whoever writes there does not expect it. The reading thread is not waited for, so
//! that a process whose input stays open can end.

use std::io::Read as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio_io::server::{Accept, BuiltServer, ServeError};
use tokio::sync::mpsc;

use crate::io::Adapter;
use crate::runtime::TokioRuntime;

/// How much the reading thread reads at a time.
const CHUNK: usize = 64 << 10;
/// How many chunks it is ahead at most.
const AHEAD: usize = 4;

/// Serves the client that has started this process: until end of input, when owed answers have gone out. Nothing else
/// may write to standard output meanwhile.
///
/// # Errors
/// When a stream fails. A client that goes away is no error.
pub async fn serve_stdio(server: BuiltServer) -> Result<(), ServeError> {
    accept_stdio(server.accept(TokioRuntime::current())).await
}

/// The same for a connection with settings of its own, such as a trace.
///
/// # Errors
/// As [`serve_stdio`].
pub async fn accept_stdio(accept: Accept) -> Result<(), ServeError> {
    accept.serve(input(), output()).await
}

fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    #[cfg(unix)]
    if let Some(reader) = unix::input() {
        return reader;
    }
    Box::new(Threaded::start())
}

fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    #[cfg(unix)]
    if let Some(writer) = unix::output() {
        return writer;
    }
    Box::new(Adapter(tokio::io::stdout()))
}

/// Standard input, read by a thread.
struct Threaded {
    chunks: mpsc::Receiver<std::io::Result<Bytes>>,
    current: Bytes,
}

impl Threaded {
    fn start() -> Self {
        let (sender, chunks) = mpsc::channel(AHEAD);
        std::thread::spawn(move || {
            let mut buffer = vec![0; CHUNK];
            loop {
                let chunk = match std::io::stdin().read(&mut buffer) {
                    Ok(0) => return,
                    Ok(count) => Ok(Bytes::copy_from_slice(&buffer[..count])),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = chunk.is_err();
                if sender.blocking_send(chunk).is_err() || failed {
                    return;
                }
            }
        });
        Self { chunks, current: Bytes::new() }
    }
}

impl AsyncRead for Threaded {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut [u8]) -> Poll<std::io::Result<usize>> {
        while self.current.is_empty() {
            match ready!(self.chunks.poll_recv(cx)) {
                Some(chunk) => self.current = chunk?,
                None => return Poll::Ready(Ok(0)),
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
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use crate::io::Adapter;

    /// Standard input, if the reactor can read it.
    pub(super) fn input() -> Option<Box<dyn AsyncRead + Send + Unpin>> {
        match open(&io::stdin())? {
            Stream::Pipe(fd) => {
                let pipe = pipe::Receiver::from_owned_fd(fd).ok()?;
                Some(Box::new(Restored {
                    stream: Some(Adapter(pipe)),
                    restore: |pipe| drop(pipe.0.into_blocking_fd()),
                }))
            }
            Stream::Socket(fd) => Some(Box::new(socket(fd)?)),
        }
    }

    /// Standard output, if the reactor can write it.
    pub(super) fn output() -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
        match open(&io::stdout())? {
            Stream::Pipe(fd) => {
                let pipe = pipe::Sender::from_owned_fd(fd).ok()?;
                Some(Box::new(Restored {
                    stream: Some(Adapter(pipe)),
                    restore: |pipe| drop(pipe.0.into_blocking_fd()),
                }))
            }
            Stream::Socket(fd) => Some(Box::new(socket(fd)?)),
        }
    }

    enum Stream {
        Pipe(OwnedFd),
        Socket(OwnedFd),
    }

    /// A handle of our own for a standard stream, unless it is of another kind or shared with standard error.
    fn open(stream: &impl AsFd) -> Option<Stream> {
        let file = |stream: &dyn AsFd| stream.as_fd().try_clone_to_owned().map(File::from);
        let file_of = file(stream).ok()?;
        let found = file_of.metadata().ok()?;
        if let Ok(errors) = file(&io::stderr()).and_then(|errors| errors.metadata())
            && (errors.dev(), errors.ino()) == (found.dev(), found.ino())
        {
            return None;
        }
        let kind = found.file_type();
        if kind.is_fifo() {
            Some(Stream::Pipe(file_of.into()))
        } else if kind.is_socket() {
            Some(Stream::Socket(file_of.into()))
        } else {
            None
        }
    }

    fn socket(fd: OwnedFd) -> Option<Restored<Adapter<UnixStream>>> {
        let stream = std::os::unix::net::UnixStream::from(fd);
        // Another kind of socket has no local address of this kind.
        stream.local_addr().ok()?;
        stream.set_nonblocking(true).ok()?;
        let stream = UnixStream::from_std(stream).ok()?;
        let restore = |stream: Adapter<UnixStream>| {
            if let Ok(stream) = stream.0.into_std() {
                let _ = stream.set_nonblocking(false);
            }
        };
        Some(Restored { stream: Some(Adapter(stream)), restore })
    }

    /// A stream that gets its blocking mode back.
    struct Restored<T> {
        /// There until the drop.
        stream: Option<T>,
        restore: fn(T),
    }

    impl<T: Unpin> Restored<T> {
        fn stream(self: Pin<&mut Self>) -> io::Result<Pin<&mut T>> {
            self.get_mut().stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
        }
    }

    impl<T> Drop for Restored<T> {
        fn drop(&mut self) {
            if let Some(stream) = self.stream.take() {
                (self.restore)(stream);
            }
        }
    }

    impl<T: AsyncRead + Unpin> AsyncRead for Restored<T> {
        fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
            self.stream()?.poll_read(cx, bytes)
        }
    }

    impl<T: AsyncWrite + Unpin> AsyncWrite for Restored<T> {
        fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.stream()?.poll_write(cx, bytes)
        }

        fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.stream()?.poll_flush(cx)
        }

        fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            // The descriptor is a duplicate: the stream itself ends with the process.
            self.poll_flush(cx)
        }
    }
}
