//! A server on the standard streams of its process. How they are read and written is told in `mcp_sansio_io::stdio`.

use mcp_sansio_io::server::{Accept, BuiltServer, ServeError};
use mcp_sansio_io::stdio;

use crate::runtime::AsyncStdRuntime;

/// Serves the client that has started this process: until end of input, when owed answers have gone out. Nothing else
/// may write to standard output meanwhile.
///
/// # Errors
/// When a stream fails. A client that goes away is no error.
pub async fn serve_stdio(server: BuiltServer) -> Result<(), ServeError> {
    accept_stdio(server.accept(AsyncStdRuntime::current())).await
}

/// The same for a connection with settings of its own, such as a trace.
///
/// # Errors
/// As [`serve_stdio`].
pub async fn accept_stdio(accept: Accept) -> Result<(), ServeError> {
    let input = stdio::input(open::input);
    let output = stdio::output(open::output, || Box::new(async_std::io::stdout()));
    accept.serve(input, output).await
}

#[cfg(unix)]
mod open {
    use std::fs::File;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};

    use async_io::Async;
    use futures_io::AsyncRead;
    use mcp_sansio_io::stdio::{Reader, Stream, Writer};

    use crate::reads::read_once;

    pub(super) fn input(stream: Stream) -> io::Result<Reader> {
        Ok(Box::new(Input { file: open(stream)?, drained: false }))
    }

    /// A pipe or socket that does not ask in vain.
    struct Input {
        file: Async<File>,
        /// Whether the last read took all that there was.
        drained: bool,
    }

    impl AsyncRead for Input {
        fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
            let this = &mut *self;
            loop {
                if this.drained {
                    ready!(this.file.poll_readable(cx))?;
                }
                if let Some(done) = read_once(this.file.get_ref(), &mut this.drained, bytes) {
                    return Poll::Ready(done);
                }
            }
        }
    }

    pub(super) fn output(stream: Stream) -> io::Result<Writer> {
        Ok(Box::new(open(stream)?))
    }

    /// A file is read and written as pipes and sockets are.
    fn open(stream: Stream) -> io::Result<Async<File>> {
        Async::new_nonblocking(File::from(match stream {
            Stream::Pipe(fd) | Stream::Socket(fd) => fd,
            _ => return Err(io::ErrorKind::Unsupported.into()),
        }))
    }
}

#[cfg(not(unix))]
mod open {
    pub(super) use mcp_sansio_io::stdio::{never as input, never as output};
}
