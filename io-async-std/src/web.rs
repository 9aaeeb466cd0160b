//! Streamable HTTP on sockets of async-std: the listener of a server, the connections of a client.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_std::net::{TcpListener, TcpStream, ToSocketAddrs};
use mcp_sansio_io::BoxFuture;
use mcp_sansio_io::client::{Client, ClientBuilder, ConnectionError};
use mcp_sansio_io::http::client::{ByteStream, Connector, Endpoint, Pool};
use mcp_sansio_io::http::{self, Bind, Listener, Stream};
use mcp_sansio_io::server::{BuiltServer, ServeError};

use crate::runtime::AsyncStdRuntime;
use crate::serve::accepting;

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

/// A listener of async-std, for an [`HttpServer`].
pub struct Listening {
    address: SocketAddr,
    accept: Accept,
}

type Accept = Box<dyn FnMut(&mut Context<'_>) -> Poll<io::Result<TcpStream>> + Send>;

impl Listener for Listening {
    type Stream = Stream<TcpStream>;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Self::Stream>> {
        (self.accept)(cx).map_ok(Stream)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

impl<A> Bind<A> for Listening
where
    A: ToSocketAddrs + Send,
    A::Iter: Send,
{
    fn bind(address: A) -> impl Future<Output = io::Result<Self>> + Send {
        async move {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            let accept = accepting(listener, |listener| async move {
                let (stream, _) = listener.accept().await?;
                // Messages are whole: holding them back gains nothing. A socket that has gone is found out soon.
                let _ = stream.set_nodelay(true);
                Ok(stream)
            });
            Ok(Self { address, accept: Box::new(accept) })
        }
    }
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listening").field(&self.address).finish()
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
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn ByteStream>)
        })
    }
}
