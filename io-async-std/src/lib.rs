//! `mcp-sansio` on async-std, and on whatever else stands on the same reactor, such as smol: stdio, child processes,
//! sockets, HTTP.
//!
//! **async-std is no longer developed**: its authors point to smol. This package is for programs that are on either
//! of them. If you are free to choose, choose `mcp-sansio-tokio`, which has the same functions under the same names.
//! Nothing of tokio's runtime is linked here.
//!
//! ```no_run
//! use mcp_sansio_async_std::server::{Context, Server, Text};
//! use mcp_sansio_async_std::{model::Tool, serve_stdio};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Echo {
//!     text: String,
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::new("echo", "1.0.0")
//!     .tool(Tool::new("echo").read_only(), |args: Echo, _: Context| async move { Text::new(args.text) })
//!     .build()?;
//! serve_stdio(server).await?;
//! # Ok(())
//! # }
//! ```
//!
//! | to serve | to connect |
//! |---|---|
//! | [`serve_stdio`] | [`connect_command`], [`Command`] |
//! | [`serve_stream`], [`serve_tcp`], `serve_unix` | [`connect_stream`], [`connect_tcp`], `connect_unix` |
//! | `serve_http`, `HttpServer`, `http::HttpService` | `connect_http`, `connect_endpoint` |
//!
//! [`serve_stream`] and [`connect_stream`] take any stream of `futures-io`: those of smol as they are. Every function
//! may be awaited on any executor; what runs beside its caller (handlers that wait, drivers of clients) runs on the
//! global executor of async-std. A program that wants them on an executor of its own brings a [`Runtime`], which is
//! three methods, to `server::BuiltServer::accept` and `client::ClientBuilder::connect_over`: the example `smol` does.
//!
//! A thread inside `async_std::task::block_on` serves the reactor by turns with the executor, and each hands the other
//! what is not its own. A busy server on streams is faster when it is spawned, and the first thread only waits, such as
//! for a channel of `std`. Over HTTP on Linux it makes no difference: the sockets of an `HttpServer` are waited for
//! together, by a task beside their connections, and the reactor is asked only when there is nothing to do.
//!
//! Handlers, calls and everything else that is not the runtime's comes from `mcp-sansio-io`, and is re-exported here.
#![forbid(unsafe_code)]

mod child;
mod connect;
#[cfg(all(feature = "http", target_os = "linux"))]
mod crowd;
#[cfg(any(unix, feature = "http"))]
mod reads;
mod runtime;
mod serve;
#[cfg(feature = "http")]
mod socket;
mod stdio;
#[cfg(feature = "http")]
mod web;

pub use mcp_sansio_io::core::{error, json, limits, model, spec};
pub use mcp_sansio_io::{
    BoxFuture, CallEvent, LONGEST_LINE, NoRandomness, Outcome, Report, Runtime, Stage, StreamError, Trace, TraceHook,
    client, core, now, server,
};

pub use mcp_sansio_io::child::{CommandError, StderrTail};

pub use self::child::{AsyncStdChild, AsyncStdProcesses, Command, connect_command};
#[cfg(unix)]
pub use self::connect::connect_unix;
pub use self::connect::{connect_stream, connect_tcp};
pub use self::runtime::AsyncStdRuntime;
#[cfg(unix)]
pub use self::serve::serve_unix;
pub use self::serve::{serve_stream, serve_tcp};
#[cfg(feature = "http")]
pub use self::socket::Socket;
pub use self::stdio::{accept_stdio, serve_stdio};
#[cfg(feature = "http")]
pub use self::web::{HttpServer, Listening, TcpConnector, connect_endpoint, connect_http, serve_http};
#[cfg(feature = "http")]
pub use mcp_sansio_io::http;
pub use mcp_sansio_io::server::{MAX_CONNECTIONS, ServeError};
