//! Clients on streams.

use async_std::net::{TcpStream, ToSocketAddrs};
use futures_io::{AsyncRead, AsyncWrite};
use futures_util::AsyncReadExt as _;
use mcp_sansio_io::client::{Client, ClientBuilder, ConnectionError, nothing};

use crate::runtime::AsyncStdRuntime;

/// Connects to the server at the other end of a stream.
///
/// # Errors
/// [`ConnectionError`]: settings that contradict themselves, a handshake that fails.
pub async fn connect_stream<S>(client: ClientBuilder, stream: S) -> Result<Client, ConnectionError>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reader, writer) = stream.split();
    connect_halves(client, reader, writer).await
}

/// Connects over TCP.
///
/// # Errors
/// As [`connect_stream`], and when there is nobody at the address.
pub async fn connect_tcp(client: ClientBuilder, address: impl ToSocketAddrs) -> Result<Client, ConnectionError> {
    client.check()?;
    let stream = TcpStream::connect(address).await.map_err(ConnectionError::unreachable)?;
    // Frames are whole messages: holding them back gains nothing.
    stream.set_nodelay(true).map_err(ConnectionError::unreachable)?;
    connect_halves(client, stream.clone(), stream).await
}

/// Connects over a Unix socket.
///
/// # Errors
/// As [`connect_stream`], and when there is nobody at the path.
#[cfg(unix)]
pub async fn connect_unix(client: ClientBuilder, path: impl AsRef<std::path::Path>) -> Result<Client, ConnectionError> {
    use async_std::os::unix::net::UnixStream;

    client.check()?;
    let stream = UnixStream::connect(path.as_ref()).await.map_err(ConnectionError::unreachable)?;
    connect_halves(client, stream.clone(), stream).await
}

async fn connect_halves<R, W>(client: ClientBuilder, reader: R, writer: W) -> Result<Client, ConnectionError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    client.connect_over(AsyncStdRuntime::current(), reader, writer, nothing()).await
}
