//! The front that a fixture runs on, which is all that differs between them.

use std::error::Error;
use std::future::{Future, pending};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use mcp_sansio_async_std::AsyncStdRuntime;
use mcp_sansio_io::Runtime;
use mcp_sansio_io::client::{Client, ClientBuilder, ConnectionError};
use mcp_sansio_io::core::http::server::{Options, Replay};
use mcp_sansio_io::core::spec::Era;
use mcp_sansio_io::http::client::Endpoint;
use mcp_sansio_io::http::{Bind, HttpServer};
use mcp_sansio_io::server::BuiltServer;
use mcp_sansio_tokio::TokioRuntime;

use crate::server::everything;

/// How long clients of the legacy era shall stay away when their stream has ended.
const RETRY: Duration = Duration::from_millis(500);

/// A front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Front {
    /// `mcp-sansio-tokio`.
    #[default]
    Tokio,
    /// `mcp-sansio-async-std`.
    AsyncStd,
}

impl Front {
    /// By the name of its runtime.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "tokio" => Some(Self::Tokio),
            "async-std" => Some(Self::AsyncStd),
            _ => None,
        }
    }

    /// Runs a future on the runtime to its end.
    ///
    /// # Errors
    /// When the runtime cannot be started.
    pub fn run<T>(self, future: impl Future<Output = T>) -> std::io::Result<T> {
        match self {
            Self::Tokio => Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(future)),
            Self::AsyncStd => Ok(async_std::task::block_on(future)),
        }
    }

    /// The runtime of the front, of a future that [`Front::run`] runs.
    #[must_use]
    pub fn runtime(self) -> Arc<dyn Runtime> {
        match self {
            Self::Tokio => TokioRuntime::current(),
            Self::AsyncStd => AsyncStdRuntime::current(),
        }
    }

    /// Connects to a server over HTTP.
    ///
    /// # Errors
    /// [`ConnectionError`]
    pub async fn connect(self, client: ClientBuilder, endpoint: Endpoint) -> Result<Client, ConnectionError> {
        match self {
            Self::Tokio => mcp_sansio_tokio::connect_endpoint(client, endpoint).await,
            Self::AsyncStd => mcp_sansio_async_std::connect_endpoint(client, endpoint).await,
        }
    }

    /// Serves over the standard streams, until the client has gone.
    ///
    /// # Errors
    /// When a stream fails.
    pub async fn serve_stdio(self, only: Option<Era>) -> Result<(), Box<dyn Error>> {
        let server = everything(only, &self.runtime())?;
        match self {
            Self::Tokio => mcp_sansio_tokio::serve_stdio(server).await?,
            Self::AsyncStd => mcp_sansio_async_std::serve_stdio(server).await?,
        }
        Ok(())
    }

    /// Serves over HTTP until the process is interrupted. The URL is the first line of standard output.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub async fn serve_http(self, only: Option<Era>, address: SocketAddr) -> Result<(), Box<dyn Error>> {
        let runtime = self.runtime();
        let server = everything(only, &runtime)?;
        match self {
            Self::Tokio => serve_http::<mcp_sansio_tokio::Listening>(server, runtime, address).await,
            Self::AsyncStd => serve_http::<mcp_sansio_async_std::Listening>(server, runtime, address).await,
        }
    }
}

/// Keeps what goes out, so that clients can come back for it.
async fn serve_http<L: Bind<SocketAddr>>(
    server: BuiltServer,
    runtime: Arc<dyn Runtime>,
    address: SocketAddr,
) -> Result<(), Box<dyn Error>> {
    let options = Options::default().replay(Replay { retry: RETRY, ..Replay::default() });
    let service = server.http(runtime).options(options).build()?;
    let server = HttpServer::<L>::bind(service, address).await?;
    writeln!(std::io::stdout(), "http://{}/mcp", server.local_addr())?;
    server.run_until(interrupted()).await;
    Ok(())
}

/// Works on any runtime.
async fn interrupted() {
    match async_signal::Signals::new([async_signal::Signal::Int]) {
        Ok(mut signals) => drop(signals.next().await),
        // Without a way to be told, it serves for ever.
        Err(_) => pending().await,
    }
}
