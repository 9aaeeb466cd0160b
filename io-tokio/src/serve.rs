//! Servers on streams and sockets.

use std::task::{Context, Poll, ready};

use mcp_sansio_io::server::{BuiltServer, ServeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use crate::io::Adapter;
use crate::runtime::TokioRuntime;

/// Serves the client at the other end of a stream, until it ends.
///
/// # Errors
/// When the stream fails. A client that goes away is no error.
pub async fn serve_stream<S>(server: BuiltServer, stream: S) -> Result<(), ServeError>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reader, writer) = tokio::io::split(stream);
    server.accept(TokioRuntime::current()).serve(Adapter(reader), Adapter(writer)).await
}

/// Serves every client that connects over TCP, at most [`MAX_CONNECTIONS`](crate::MAX_CONNECTIONS) at a time, until
/// it is dropped.
///
/// There is no authentication: bind to the loopback interface, or know your network.
///
/// # Errors
/// Never, once it runs: a connection that fails ends alone.
pub async fn serve_tcp(server: BuiltServer, listener: TcpListener) -> Result<(), ServeError> {
    let accept = move |cx: &mut Context<'_>| {
        let (stream, _) = ready!(listener.poll_accept(cx))?;
        // Frames are whole messages: holding them back gains nothing. A socket that has gone is found out soon.
        let _ = stream.set_nodelay(true);
        let (reader, writer) = stream.into_split();
        Poll::Ready(Ok((Adapter(reader), Adapter(writer))))
    };
    server.accept_all(TokioRuntime::current(), accept).await;
    Ok(())
}

/// Serves every client that connects over a Unix socket, as [`serve_tcp`] does. A socket that nobody listens at any
/// more is replaced.
///
/// # Errors
/// When the socket cannot be opened.
#[cfg(unix)]
pub async fn serve_unix(server: BuiltServer, path: impl AsRef<std::path::Path>) -> Result<(), ServeError> {
    let listener = mcp_sansio_io::server::bind_unix(path.as_ref()).map_err(ServeError::Listen)?;
    listener.set_nonblocking(true).map_err(ServeError::Listen)?;
    let listener = tokio::net::UnixListener::from_std(listener).map_err(ServeError::Listen)?;
    let accept = move |cx: &mut Context<'_>| {
        let (stream, _) = ready!(listener.poll_accept(cx))?;
        let (reader, writer) = stream.into_split();
        Poll::Ready(Ok((Adapter(reader), Adapter(writer))))
    };
    server.accept_all(TokioRuntime::current(), accept).await;
    Ok(())
}
