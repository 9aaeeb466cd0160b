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

    use async_io::Async;
    use mcp_sansio_io::stdio::{Reader, Stream, Writer};

    pub(super) fn input(stream: Stream) -> io::Result<Reader> {
        Ok(Box::new(open(stream)?))
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
