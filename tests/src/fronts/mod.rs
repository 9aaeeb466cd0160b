//! The vectors, played over the fronts: real tasks, real streams, the handlers and verbs of a front's own API.
//!
//! ```text
//!   transcript ──▶ Stage (core) ──▶ a role of this module ──┬── the player's end of a socket ══▶ the front, on its
//!                                                           └── handlers, contexts, verbs ◀────▶ own runtime
//! ```
//!
//! Steps are read and compared by the player of the core. What stands here is a [`Role`] whose machine is inside of a
//! front: it writes and reads bytes at the other end of a stream of the front, and is the front's application. How it
//! knows that a front has said everything that it has to say is told in [`lab`]; what of a transcript a front does not
//! show is told in `tests/vectors/README.md`.
//!
//! [`Role`]: mcp_sansio::testing::player::Role

mod answers;
mod app;
mod client;
mod fetches;
mod host;
pub mod lab;
mod net;
mod server;
pub mod tap;
mod user;

use std::os::unix::net::UnixStream;
use std::sync::{Arc, LazyLock};

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio::testing::{Carrier, Feed, Frame, Mismatch, Side, Transcript};
use mcp_sansio_io::Runtime;
use mcp_sansio_io::http::client::Connector;
use mcp_sansio_io::http::{Bind, Listener};
use mcp_sansio_tokio::{Adapter, TokioRuntime};

use crate::vectors::FIXTURES;

/// Reads from a stream of a runtime.
pub type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// Writes to one.
pub type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// A runtime with its front.
pub trait Front {
    /// The front's own [`Runtime`].
    fn runtime() -> Arc<dyn Runtime>;

    /// What opens sockets for its clients.
    fn connector() -> Box<dyn Connector>;

    /// A socket as the halves of a stream of this runtime.
    fn halves(socket: UnixStream) -> (Reader, Writer);

    /// What accepts the connections of the front's HTTP server.
    type Listener: Listener;

    /// Listens at a port of this machine.
    fn listen() -> Self::Listener;
}

const ANY_PORT: &str = "127.0.0.1:0";

/// The front on tokio.
#[derive(Clone, Copy, Debug)]
pub struct Tokio;

/// The front on async-std.
#[derive(Clone, Copy, Debug)]
pub struct AsyncStd;

/// tokio, with threads of its own.
static TOKIO: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    threads.worker_threads(2).enable_all().build().expect("tokio starts")
});

impl Front for Tokio {
    fn runtime() -> Arc<dyn Runtime> {
        let _inside = TOKIO.enter();
        TokioRuntime::current()
    }

    fn connector() -> Box<dyn Connector> {
        Box::new(mcp_sansio_tokio::TcpConnector)
    }

    fn halves(socket: UnixStream) -> (Reader, Writer) {
        let _inside = TOKIO.enter();
        socket.set_nonblocking(true).expect("a socket does not block");
        let socket = tokio::net::UnixStream::from_std(socket).expect("tokio takes a socket");
        let (reader, writer) = socket.into_split();
        (Box::new(Adapter(reader)), Box::new(Adapter(writer)))
    }

    type Listener = mcp_sansio_tokio::Listening;

    fn listen() -> Self::Listener {
        TOKIO.block_on(Self::Listener::bind(ANY_PORT)).expect("there is a port")
    }
}

impl Front for AsyncStd {
    fn runtime() -> Arc<dyn Runtime> {
        mcp_sansio_async_std::AsyncStdRuntime::current()
    }

    fn connector() -> Box<dyn Connector> {
        Box::new(mcp_sansio_async_std::TcpConnector)
    }

    fn halves(socket: UnixStream) -> (Reader, Writer) {
        let socket = async_std::os::unix::net::UnixStream::from(socket);
        (Box::new(socket.clone()), Box::new(socket))
    }

    type Listener = mcp_sansio_async_std::Listening;

    fn listen() -> Self::Listener {
        async_std::task::block_on(Self::Listener::bind(ANY_PORT)).expect("there is a port")
    }
}

/// Plays a vector over a front.
///
/// # Errors
/// Where the front went another way.
///
/// # Panics
/// When there is no such fixture.
pub fn play<F: Front>(transcript: &Transcript, feed: Feed) -> Result<Vec<Frame>, Mismatch> {
    let name = &transcript.fixture;
    let fixture = FIXTURES.get(name).unwrap_or_else(|| panic!("{}: no fixture {name}", transcript.name));
    let pinned = transcript.session.as_ref().map(|session| session.version.as_str());
    let options = transcript.http.get();
    match (transcript.transport, transcript.role) {
        (Carrier::Stdio, Side::Server) => transcript.play(server::OnStream::new::<F>(fixture, feed), feed),
        (Carrier::Stdio, Side::Client) => transcript.play(client::OnStream::new::<F>(fixture, pinned, feed), feed),
        (Carrier::Http, Side::Server) => {
            let options = crate::fixtures::options(options);
            transcript.play(host::OverHttp::new::<F>(fixture, options, feed), feed)
        }
        (Carrier::Http, Side::Client) => {
            transcript.play(fetches::OnNet::new::<F>(fixture, options, pinned, feed), feed)
        }
    }
}
