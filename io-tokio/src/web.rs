//! Streamable HTTP on sockets of tokio: the listener of a server, the connections of a client.

use std::future::{Future, pending};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper_util::rt::TokioIo;
use mcp_sansio_io::BoxFuture;
use mcp_sansio_io::client::{Client, ClientBuilder, ConnectionError};
use mcp_sansio_io::http::client::{ByteStream, Connector, Endpoint, Pool};
use mcp_sansio_io::http::{Bounds, Connections, HttpService};
use mcp_sansio_io::server::BuiltServer;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};

use crate::io::Adapter;
use crate::runtime::TokioRuntime;
use crate::serve::ServeError;

/// Serves every client that connects to `address`, until it is dropped.
///
/// There is no authentication, and requests are answered only if they name a host of this machine: see
/// [`HttpServer`] for everything else.
///
/// # Errors
/// When the address cannot be listened at, or the operating system gives no randomness.
pub async fn serve_http(server: BuiltServer, address: impl ToSocketAddrs) -> Result<(), ServeError> {
    let service = server.http(TokioRuntime::current()).build()?;
    HttpServer::bind(service, address).await?.run().await;
    Ok(())
}

/// A service that listens.
#[derive(Debug)]
pub struct HttpServer {
    service: HttpService,
    listener: TcpListener,
    address: SocketAddr,
    bounds: Bounds,
}

impl HttpServer {
    /// Listens. Nothing is accepted until it runs.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub async fn bind(service: HttpService, address: impl ToSocketAddrs) -> Result<Self, ServeError> {
        let listener = TcpListener::bind(address).await.map_err(ServeError::Listen)?;
        let address = listener.local_addr().map_err(ServeError::Listen)?;
        Ok(Self { service, listener, address, bounds: Bounds::default() })
    }

    /// What connections may cost.
    #[must_use]
    pub const fn bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it is dropped, and every connection with it.
    pub async fn run(self) {
        self.run_until(pending()).await;
    }

    /// Serves until `shutdown` is ready. Then nothing is accepted any more, streams that wait for news are ended as
    /// the protocol wants it, and calls that run have [`Bounds::drain_time`] to finish.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) {
        let Self { service, listener, bounds, .. } = self;
        let finish = service.clone();
        let accept = move |cx: &mut Context<'_>| {
            let (stream, _) = ready!(listener.poll_accept(cx))?;
            // Messages are whole: holding them back gains nothing. A socket that has gone is found out soon.
            let _ = stream.set_nodelay(true);
            Poll::Ready(Ok(TokioIo::new(stream)))
        };
        let connections = Connections::new(TokioRuntime::current(), bounds);
        connections.accept_all(service, accept, shutdown, || finish.shut_down()).await;
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
    let runtime = TokioRuntime::current();
    let pool = Pool::new(Arc::clone(&runtime), TcpConnector);
    let (connecting, driver) = client.over_http(runtime, pool, endpoint)?;
    tokio::spawn(driver);
    connecting.await
}

/// Opens sockets for clients: what a [`Pool`] is made with.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpConnector;

impl Connector for TcpConnector {
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>> {
        let address = format!("{host}:{port}");
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(Adapter(stream)) as Box<dyn ByteStream>)
        })
    }
}
