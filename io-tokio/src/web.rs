//! Streamable HTTP on sockets of tokio: the listener of a server, the connections of a client.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use hyper_util::rt::TokioIo;
use mcp_sansio_io::BoxFuture;
use mcp_sansio_io::client::{Client, ClientBuilder, ConnectionError};
use mcp_sansio_io::http::client::{ByteStream, Connector, Endpoint, Pool};
use mcp_sansio_io::http::{self, Bind, Listener};
use mcp_sansio_io::server::{BuiltServer, ServeError};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};

use crate::io::Adapter;
use crate::runtime::TokioRuntime;

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
{
    let service = server.http(TokioRuntime::current()).build()?;
    HttpServer::bind(service, address).await?.run().await;
    Ok(())
}

/// A service that listens.
pub type HttpServer = http::HttpServer<Listening>;

/// A listener of tokio, for an [`HttpServer`].
#[derive(Debug)]
pub struct Listening(TcpListener);

impl Listener for Listening {
    type Stream = TokioIo<TcpStream>;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Self::Stream>> {
        let (stream, _) = ready!(self.0.poll_accept(cx))?;
        // Messages are whole: holding them back gains nothing. A socket that has gone is found out soon.
        let _ = stream.set_nodelay(true);
        Poll::Ready(Ok(TokioIo::new(stream)))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl<A: ToSocketAddrs + Send> Bind<A> for Listening {
    fn bind(address: A) -> impl Future<Output = io::Result<Self>> + Send {
        async move { TcpListener::bind(address).await.map(Self) }
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
    let pool = Pool::new(std::sync::Arc::clone(&runtime), TcpConnector);
    client.connect_over_http(runtime, pool, endpoint).await
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
