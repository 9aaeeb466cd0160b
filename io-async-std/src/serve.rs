//! Servers on streams and sockets.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_std::net::TcpListener;
use futures_io::{AsyncRead, AsyncWrite};
use futures_util::AsyncReadExt as _;
use mcp_sansio_io::BoxFuture;
use mcp_sansio_io::server::{BuiltServer, ServeError};

use crate::runtime::AsyncStdRuntime;

/// Serves the client at the other end of a stream, until it ends.
///
/// # Errors
/// When the stream fails. A client that goes away is no error.
pub async fn serve_stream<S>(server: BuiltServer, stream: S) -> Result<(), ServeError>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reader, writer) = stream.split();
    server.accept(AsyncStdRuntime::current()).serve(reader, writer).await
}

/// Serves every client that connects over TCP, at most [`MAX_CONNECTIONS`](crate::MAX_CONNECTIONS) at a time, until
/// it is dropped.
///
/// There is no authentication: bind to the loopback interface, or know your network.
///
/// # Errors
/// Never, once it runs: a connection that fails ends alone.
pub async fn serve_tcp(server: BuiltServer, listener: TcpListener) -> Result<(), ServeError> {
    let accept = accepting(listener, |listener| async move {
        let (stream, _) = listener.accept().await?;
        // Frames are whole messages: holding them back gains nothing. A socket that has gone is found out soon.
        let _ = stream.set_nodelay(true);
        Ok((stream.clone(), stream))
    });
    server.accept_all(AsyncStdRuntime::current(), accept).await;
    Ok(())
}

/// Serves every client that connects over a Unix socket, as [`serve_tcp`] does. A socket that nobody listens at any
/// more is replaced.
///
/// # Errors
/// When the socket cannot be opened.
#[cfg(unix)]
pub async fn serve_unix(server: BuiltServer, path: impl AsRef<std::path::Path>) -> Result<(), ServeError> {
    use async_std::os::unix::net::UnixListener;

    let listener = mcp_sansio_io::server::bind_unix(path.as_ref()).map_err(ServeError::Listen)?;
    let accept = accepting(UnixListener::from(listener), |listener| async move {
        let (stream, _) = listener.accept().await?;
        Ok((stream.clone(), stream))
    });
    server.accept_all(AsyncStdRuntime::current(), accept).await;
    Ok(())
}

/// Polls for connections, one after the other: listeners of async-std can only be awaited.
fn accepting<L, F, T>(listener: L, accept: impl Fn(Arc<L>) -> F) -> impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>>
where
    F: Future<Output = io::Result<T>> + Send + 'static,
{
    let listener = Arc::new(listener);
    let mut next: Option<BoxFuture<'static, io::Result<T>>> = None;
    move |cx| {
        let waiting = next.get_or_insert_with(|| Box::pin(accept(Arc::clone(&listener))));
        let polled = waiting.as_mut().poll(cx);
        if polled.is_ready() {
            next = None;
        }
        polled
    }
}
