//! Servers on streams and sockets.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mcp_sansio_io::server::{BuiltServer, ServeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::io::Adapter;
use crate::runtime::TokioRuntime;

/// The most connections of one listener at a time; further ones wait to be accepted. Each may hold several frames.
pub const MAX_CONNECTIONS: usize = 1_024;

/// How long a listener waits after an error, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

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

/// Serves every client that connects over TCP, at most [`MAX_CONNECTIONS`] at a time, until it is dropped.
///
/// There is no authentication: bind to the loopback interface, or know your network.
///
/// # Errors
/// Never, once it runs: a connection that fails ends alone.
pub async fn serve_tcp(server: BuiltServer, listener: TcpListener) -> Result<(), ServeError> {
    accept_all(server, move |cx| {
        let (stream, _) = ready!(listener.poll_accept(cx))?;
        // Frames are whole messages: holding them back gains nothing.
        stream.set_nodelay(true)?;
        Poll::Ready(Ok(stream.into_split()))
    })
    .await
}

/// Serves every client that connects over a Unix socket, as [`serve_tcp`] does. A socket that nobody listens at any
/// more is replaced.
///
/// # Errors
/// When the socket cannot be opened.
#[cfg(unix)]
pub async fn serve_unix(server: BuiltServer, path: impl AsRef<std::path::Path>) -> Result<(), ServeError> {
    use std::os::unix::fs::FileTypeExt;

    let path = path.as_ref();
    let stale = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
        && std::os::unix::net::UnixStream::connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
    if stale {
        std::fs::remove_file(path).map_err(ServeError::Listen)?;
    }
    let listener = tokio::net::UnixListener::bind(path).map_err(ServeError::Listen)?;
    accept_all(server, move |cx| {
        let (stream, _) = ready!(listener.poll_accept(cx))?;
        Poll::Ready(Ok(stream.into_split()))
    })
    .await
}

async fn accept_all<R, W>(
    server: BuiltServer,
    accept: impl Fn(&mut Context<'_>) -> Poll<io::Result<(R, W)>>,
) -> Result<(), ServeError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    // Dropped with this future, and the connections with it.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return Ok(()) };
        match std::future::poll_fn(&accept).await {
            Ok((reader, writer)) => {
                let accepted = server.accept(TokioRuntime::current());
                connections.spawn(async move {
                    // One connection that fails is no matter for the others, nor for the listener.
                    let _ = accepted.serve(Adapter(reader), Adapter(writer)).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}
