//! Streamable HTTP on sockets of async-std: the listener of a server, the connections of a client.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::task::{Context, Poll};

use async_io::Async;
use async_std::net::ToSocketAddrs;
use mcp_sansio_io::BoxFuture;
use mcp_sansio_io::client::{Client, ClientBuilder, ConnectionError};
use mcp_sansio_io::http::client::{ByteStream, Connector, Endpoint, Pool};
use mcp_sansio_io::http::{self, Bind, Listener, Stream};
use mcp_sansio_io::server::{BuiltServer, ServeError};

#[cfg(target_os = "linux")]
use crate::crowd::Crowd;
use crate::runtime::AsyncStdRuntime;
use crate::socket::Socket;

/// Serves every client that connects to `address`, until it is dropped.
///
/// There is no authentication, and requests are answered only if they name a host of this machine: see
/// [`HttpServer`] for everything else.
///
/// # Errors
/// When the address cannot be listened at, or the operating system gives no randomness.
pub async fn serve_http<A>(server: BuiltServer, address: A) -> Result<(), ServeError>
where
    A: ToSocketAddrs + Send,
    A::Iter: Send,
{
    let service = server.http(AsyncStdRuntime::current()).build()?;
    HttpServer::bind(service, address).await?.run().await;
    Ok(())
}

/// A service that listens.
pub type HttpServer = http::HttpServer<Listening>;

/// A listener, for an [`HttpServer`].
#[derive(Debug)]
pub struct Listening {
    listener: Async<TcpListener>,
    /// Those who wait together, if somebody looks for them.
    #[cfg(target_os = "linux")]
    crowd: Option<Arc<Crowd>>,
}

impl Listener for Listening {
    type Stream = Stream<Socket>;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Self::Stream>> {
        let accepted = Socket::poll_accept(&self.listener, cx);
        #[cfg(target_os = "linux")]
        let accepted = accepted.map_ok(|socket| socket.join(self.crowd.as_ref()));
        accepted.map_ok(Stream)
    }

    #[cfg(target_os = "linux")]
    fn companion(&mut self) -> Option<BoxFuture<'static, ()>> {
        let (crowd, watch) = Crowd::new().ok()?;
        self.crowd = Some(crowd);
        Some(Box::pin(watch))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.get_ref().local_addr()
    }
}

impl<A> Bind<A> for Listening
where
    A: ToSocketAddrs + Send,
    A::Iter: Send,
{
    async fn bind(address: A) -> io::Result<Self> {
        let mut last = io::Error::new(io::ErrorKind::InvalidInput, "there is no address to listen at");
        for address in address.to_socket_addrs().await? {
            match Async::<TcpListener>::bind(address) {
                Ok(listener) => {
                    return Ok(Self {
                        listener,
                        #[cfg(target_os = "linux")]
                        crowd: None,
                    });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Connects to the server at a URL.
///
/// # Errors
/// [`ConnectionError`]: a URL that is none of HTTP, a handshake that fails.
pub async fn connect_http(url: &str) -> Result<Client, ConnectionError> {
    let client = Client::builder(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    connect_endpoint(client, Endpoint::new(url)?).await
}

/// The same for a client and an endpoint with settings of their own, such as headers and credentials.
///
/// # Errors
/// [`ConnectionError`]: settings that contradict themselves, a handshake that fails.
pub async fn connect_endpoint(client: ClientBuilder, endpoint: Endpoint) -> Result<Client, ConnectionError> {
    let runtime = AsyncStdRuntime::current();
    let pool = Pool::new(Arc::clone(&runtime), TcpConnector);
    client.connect_over_http(runtime, pool, endpoint).await
}

/// Opens sockets for clients: what a [`Pool`] is made with.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpConnector;

impl Connector for TcpConnector {
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>> {
        let address = format!("{host}:{port}");
        Box::pin(async move {
            let socket = Socket::connect(address.to_socket_addrs().await?).await?;
            Ok(Box::new(socket) as Box<dyn ByteStream>)
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_listener_brings_the_task_that_looks_for_its_sockets() {
        let mut listener = async_std::task::block_on(Listening::bind("127.0.0.1:0")).unwrap();
        assert!(listener.crowd.is_none(), "without the task, sockets wait alone");
        assert!(listener.companion().is_some());
        assert!(listener.crowd.is_some());
    }
}
