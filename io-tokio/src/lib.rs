//! `mcp-sansio` on tokio: stdio, child processes, sockets, HTTP.
//!
//! ```no_run
//! use mcp_sansio_tokio::server::{Context, Server, Text};
//! use mcp_sansio_tokio::{model::Tool, serve_stdio};
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
//! | `serve_http`, `HttpServer`, `http::HttpService` in axum | `connect_http`, `connect_endpoint` |
//!
//! Handlers, calls and everything else that is not tokio's comes from `mcp-sansio-io`, and is re-exported here.
#![forbid(unsafe_code)]

mod child;
mod connect;
mod io;
mod runtime;
mod serve;
mod stdio;
#[cfg(feature = "http")]
mod web;

pub use mcp_sansio_io::core::{error, json, limits, model, spec};
pub use mcp_sansio_io::{
    BoxFuture, CallEvent, LONGEST_LINE, NoRandomness, Outcome, Report, Runtime, Stage, StreamError, Trace, TraceHook,
    client, core, now, server,
};

pub use mcp_sansio_io::child::{CommandError, StderrTail};

pub use self::child::{Command, TokioChild, TokioProcesses, connect_command};
#[cfg(unix)]
pub use self::connect::connect_unix;
pub use self::connect::{connect_stream, connect_tcp};
pub use self::io::Adapter;
pub use self::runtime::TokioRuntime;
#[cfg(unix)]
pub use self::serve::serve_unix;
pub use self::serve::{serve_stream, serve_tcp};
pub use self::stdio::{accept_stdio, serve_stdio};
#[cfg(feature = "http")]
pub use self::web::{HttpServer, Listening, TcpConnector, connect_endpoint, connect_http, serve_http};
#[cfg(feature = "http")]
pub use mcp_sansio_io::http;
pub use mcp_sansio_io::server::{MAX_CONNECTIONS, ServeError};
