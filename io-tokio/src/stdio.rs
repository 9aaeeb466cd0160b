//! A server on the standard streams of its process. How they are read and written is told in `mcp_sansio_io::stdio`.

use mcp_sansio_io::server::{Accept, BuiltServer, ServeError};
use mcp_sansio_io::stdio;

use crate::io::Adapter;
use crate::runtime::TokioRuntime;

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
    let input = stdio::input(open::input);
    let output = stdio::output(open::output, || Box::new(Adapter(tokio::io::stdout())));
    accept.serve(input, output).await
}

#[cfg(unix)]
mod open {
    use std::io;
    use std::os::fd::OwnedFd;

    use mcp_sansio_io::stdio::{Reader, Stream, Writer};
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use crate::io::Adapter;

    pub(super) fn input(stream: Stream) -> io::Result<Reader> {
        Ok(match stream {
            Stream::Pipe(fd) => Box::new(Adapter(pipe::Receiver::from_owned_fd(fd)?)),
            Stream::Socket(fd) => Box::new(socket(fd)?),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        })
    }

    pub(super) fn output(stream: Stream) -> io::Result<Writer> {
        Ok(match stream {
            Stream::Pipe(fd) => Box::new(Adapter(pipe::Sender::from_owned_fd(fd)?)),
            Stream::Socket(fd) => Box::new(socket(fd)?),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        })
    }

    fn socket(fd: OwnedFd) -> io::Result<Adapter<UnixStream>> {
        let stream = std::os::unix::net::UnixStream::from(fd);
        // Another kind of socket has no local address of this kind.
        stream.local_addr()?;
        UnixStream::from_std(stream).map(Adapter)
    }
}

#[cfg(not(unix))]
mod open {
    pub(super) use mcp_sansio_io::stdio::{never as input, never as output};
}
