//! Serving one stream to its end, or all those of a listener, and why serving stops.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};
use futures_util::future::select;
use mcp_sansio::error::Error;
use mcp_sansio::server::Closed;
use thiserror::Error;

use super::{Accept, BuiltServer};
use crate::driver::{StreamError, is_gone};
use crate::listen::Room;
use crate::random::NoRandomness;
use crate::runtime::Runtime;

/// Why a server stopped.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The stream failed.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The machine could not go on.
    #[error(transparent)]
    Failed(Error),
    /// A server needs randomness.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The listener could not be opened.
    #[error("cannot listen: {0}")]
    Listen(#[source] io::Error),
}

/// The most connections of one listener at a time; further ones wait to be accepted. Each may hold several frames.
pub const MAX_CONNECTIONS: usize = 1_024;

impl BuiltServer {
    /// Serves every connection that `accept` gives, as the two halves of a stream, each on a task of its own, at most
    /// [`MAX_CONNECTIONS`] at a time. Dropping the future ends them all. An error of `accept` is waited out: it may be
    /// that too many files are open.
    pub async fn accept_all<R, W>(
        &self,
        runtime: Arc<dyn Runtime>,
        accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<(R, W)>>,
    ) where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let room = Room::new(Arc::clone(&runtime), MAX_CONNECTIONS);
        let serve = |(reader, writer)| {
            let serving = Box::pin(self.accept(Arc::clone(&runtime)).serve(reader, writer));
            let (stopped, place) = (Box::pin(room.signal().watch().stopped()), room.enter());
            runtime.spawn(Box::pin(async move {
                // One connection that fails is no matter for the others, nor for the listener.
                select(serving, stopped).await;
                drop(place);
            }));
        };
        room.fill(accept, pending(), serve).await;
    }
}

/// Listens at a Unix socket. One that nobody listens at any more is replaced.
///
/// # Errors
/// When the socket cannot be opened.
#[cfg(unix)]
pub fn bind_unix(path: &std::path::Path) -> io::Result<std::os::unix::net::UnixListener> {
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::{UnixListener, UnixStream};

    let stale = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
        && UnixStream::connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
    if stale {
        std::fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}

impl Accept {
    /// Serves the client at the other end of a stream, until it ends. Dropping the future ends the connection at once.
    ///
    /// # Errors
    /// When the stream fails. A client that goes away is no error.
    pub async fn serve<R, W>(self, reader: R, writer: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (_, driver) = self.over(reader, writer)?;
        match driver.await {
            Ok(Closed::Failed(error)) => Err(ServeError::Failed(error)),
            Ok(_) => Ok(()),
            // The client has gone, and with it those who waited for answers.
            Err(StreamError::Read(error) | StreamError::Write(error)) if is_gone(&error) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
