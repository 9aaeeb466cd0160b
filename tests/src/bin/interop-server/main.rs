//! The fixture server of `tests/interop/FIXTURE.md`, written with this library: what the clients of other SDKs drive.
//!
//! `interop-server [--http] [legacy|modern]` speaks until end of input: in both eras, or in one, for tests of those who
//! want the other. It speaks over its standard streams, or, with `--http`, on a port of its own, and then its one line
//! of output is the URL.

mod features;
mod tools;

use std::error::Error;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};

use mcp_sansio_tokio::server::{BuiltServer, Server};
use mcp_sansio_tokio::spec::{Era, Version};
use mcp_sansio_tokio::{HttpServer, TokioRuntime, serve_stdio};
use tokio::io::AsyncReadExt as _;

const PAGE: usize = 50;

/// What the process remembers.
struct State {
    /// The revisions offered.
    versions: Vec<Version>,
    /// How many `slow` calls were cancelled.
    cancelled: AtomicUsize,
    /// Whether the tool `extra` is there.
    extra: AtomicBool,
    /// The server, so that a tool can change what it offers.
    server: OnceLock<BuiltServer>,
}

/// What the server offers, with the tool `extra` or without.
fn fixture(state: &Arc<State>, extra: bool) -> Server {
    let server = Server::new("interop-server", env!("CARGO_PKG_VERSION"))
        .instructions("A fixture for tests.")
        .versions(&state.versions)
        .page_size(PAGE)
        .logging()
        .subscriptions()
        .list_changed()
        .data(Arc::clone(state))
        .error_reporter(|report| eprintln!("interop-server: {report}"));
    features::add(tools::add(server, extra))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let is_http = arguments.next_if(|argument| argument == "--http").is_some();
    let era = arguments.next();
    let is_offered: fn(Era) -> bool = match era.as_deref() {
        None => |_| true,
        Some("legacy") => |era| era == Era::Legacy,
        Some("modern") => |era| era == Era::Modern,
        Some(_) => return Err("usage: interop-server [--http] [legacy|modern]".into()),
    };
    let versions = Version::ALL.into_iter().filter(|version| is_offered(version.era())).collect();
    let (cancelled, extra, server) = (AtomicUsize::new(0), AtomicBool::new(false), OnceLock::new());
    let state = Arc::new(State { versions, cancelled, extra, server });
    let server = fixture(&state, false).build()?;
    let server = state.server.get_or_init(|| server).clone();
    if is_http { serve_url(&server).await } else { Ok(serve_stdio(server).await?) }
}

/// Serves on a port that the system chooses, says where, and stops when nobody holds the other end of the input.
async fn serve_url(server: &BuiltServer) -> Result<(), Box<dyn Error>> {
    let service = server.http(TokioRuntime::current()).build()?;
    let listening = HttpServer::bind(service, "127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "http://{}/mcp", listening.local_addr())?;
    let abandoned = async {
        let mut input = [0; 64];
        while let Ok(1..) = tokio::io::stdin().read(&mut input).await {}
    };
    listening.run_until(abandoned).await;
    Ok(())
}
