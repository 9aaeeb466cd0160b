//! The servers that are compared. Each is the echo, in one thread on tokio if nothing else is said, and says on standard
//! output where it listens.
//!
//! | server | what it is |
//! |---|---|
//! | raw hyper | hyper, whose service reads the body and answers it like the floor |
//! | mcp-sansio | [`mcp_sansio_tokio::HttpServer`], typed arguments, derived schema, validated |
//! | mcp-sansio on async-std | [`mcp_sansio_async_std::HttpServer`], the same, on the one thread of its executor |
//! | rmcp | its `StreamableHttpService` on hyper, as it comes |
//! | TypeScript, Python | the fixtures of the interop tests (`tests/interop`), whose tools are more than a hundred |

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, mpsc};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use mcp_sansio_tokio::http::{Bind, HttpServer};
use mcp_sansio_tokio::{Runtime, TokioRuntime};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use crate::frames::Era;
use crate::{echo, floor, os};

/// One of the servers. The first is what the others are held to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Raw,
    Ours,
    AsyncStd,
    Rmcp,
    TypeScript,
    Python,
}

impl Kind {
    /// Those that can be started here. The peers of other languages are there if `xtask` has installed them.
    pub(super) fn all() -> Vec<Self> {
        let ours = [Self::Raw, Self::Ours, Self::AsyncStd, Self::Rmcp];
        let others = [Self::TypeScript, Self::Python].into_iter().filter(|kind| kind.command().is_some());
        ours.into_iter().chain(others).collect()
    }

    /// How the server is started: this program again, or a peer's.
    pub(super) fn command(self) -> Option<Command> {
        let script = |program: PathBuf, script: PathBuf| {
            let mut command = Command::new(program);
            command.arg(script).arg("--http");
            command
        };
        match self {
            Self::Raw | Self::Ours | Self::AsyncStd | Self::Rmcp => {
                let mut command = Command::new(std::env::current_exe().ok()?);
                command.args(["--serve", &format!("http-{}", self.name()), "1"]);
                Some(command)
            }
            Self::TypeScript => Some(script("node".into(), cache()?.join("node/server2.mjs"))),
            Self::Python => Some(script(cache()?.join("venv/bin/python"), "tests/interop/python/server.py".into())),
        }
    }

    /// Whether it is of another language.
    pub(super) const fn is_foreign(self) -> bool {
        matches!(self, Self::TypeScript | Self::Python)
    }

    /// The name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Ours => "ours",
            Self::AsyncStd => "async-std",
            Self::Rmcp => "rmcp",
            Self::TypeScript => "typescript",
            Self::Python => "python",
        }
    }

    /// The name in the table.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Raw => "raw hyper",
            Self::Ours => "mcp-sansio",
            Self::AsyncStd => "mcp-sansio on async-std",
            Self::Rmcp => "rmcp 3.11.0",
            Self::TypeScript => "TypeScript SDK 2.4.0",
            Self::Python => "Python SDK 2.3.0",
        }
    }
}

/// Where `xtask` has put the peers.
fn cache() -> Option<PathBuf> {
    std::env::var_os("MCP_INTEROP_CACHE").map(PathBuf::from)
}

/// Is the server `name`, until it is ended.
pub(crate) fn serve(name: &str, tools: usize) -> Result<(), Box<dyn Error>> {
    let own = [Kind::Raw, Kind::Ours, Kind::AsyncStd, Kind::Rmcp];
    let kind = own.into_iter().find(|kind| kind.name() == name).ok_or("no server of that name")?;
    os::pin(0);
    if kind == Kind::AsyncStd {
        return on_async_std(tools);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Its tasks are not all `Send`.
    runtime.block_on(tokio::task::LocalSet::new().run_until(async {
        match kind {
            Kind::Raw => raw().await,
            Kind::Ours => {
                let served = ours::<mcp_sansio_tokio::Listening>(tools, TokioRuntime::current()).await;
                served.map_err(|error| -> Box<dyn Error> { error })
            }
            Kind::Rmcp => rmcp(tools).await,
            Kind::AsyncStd | Kind::TypeScript | Kind::Python => Err("a peer is a program of its own".into()),
        }
    }))
}

async fn listen() -> Result<TcpListener, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    say(listener.local_addr()?)?;
    Ok(listener)
}

fn say(address: std::net::SocketAddr) -> std::io::Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{address}")?;
    output.flush()
}

async fn raw() -> Result<(), Box<dyn Error>> {
    let listener = listen().await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(raw_answer));
        tokio::task::spawn_local(async move { drop(connection.await) });
    }
}

async fn raw_answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    let mut out = Vec::with_capacity(384);
    let is_modern = memchr::memmem::find(&body, b"protocolVersion\":\"2026").is_some();
    if memchr::memmem::find(&body[..body.len().min(64)], b"tools/call").is_some() {
        floor::echo_into(if is_modern { Era::Modern } else { Era::Legacy }, &body, &mut out);
    } else {
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}");
    }
    let mut response = Response::new(Full::new(Bytes::from(out)));
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    Ok(response)
}

/// Serves on the executor, while this thread sleeps. Within `block_on` it would serve the reactor too, by turns with the
/// executor, and hand it every event.
fn on_async_std(tools: usize) -> Result<(), Box<dyn Error>> {
    let (ended, end) = mpsc::channel();
    async_std::task::spawn(async move {
        let runtime = mcp_sansio_async_std::AsyncStdRuntime::current();
        let served = ours::<mcp_sansio_async_std::Listening>(tools, runtime).await;
        drop(ended.send(served.map_err(|error| error.to_string())));
    });
    Ok(end.recv()??)
}

async fn ours<L: Bind<&'static str>>(
    tools: usize,
    runtime: Arc<dyn Runtime>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let service = echo::ours(tools)?.http(runtime).build()?;
    let server = HttpServer::<L>::bind(service, "127.0.0.1:0").await?;
    say(server.local_addr())?;
    server.run().await;
    Ok(())
}

async fn rmcp(tools: usize) -> Result<(), Box<dyn Error>> {
    let peer = echo::Peer::new(tools);
    let service = StreamableHttpService::new(
        move || Ok(peer.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = listen().await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(service.clone());
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::task::spawn_local(async move { drop(connection.await) });
    }
}
