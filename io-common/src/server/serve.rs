//! Serving one stream to its end, and why serving stops.

use std::io;

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio::error::Error;
use mcp_sansio::server::Closed;
use thiserror::Error;

use super::Accept;
use crate::driver::{StreamError, is_gone};
use crate::random::NoRandomness;

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
