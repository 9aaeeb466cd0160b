//! The runtime-free async front of `mcp-sansio`: handlers for servers, a handle for clients, and the one loop that
//! drives both.
//!
//! ```text
//!   your handlers ── server::Server ──┐                       ┌── client::Client ── your calls
//!                                     ├── one driver loop ────┤
//!   any AsyncRead + AsyncWrite ───────┘   over the machines   └── any Runtime: now, sleep, spawn
//!                                          of `mcp_sansio`
//! ```
//!
//! An adapter for a runtime, such as `mcp-sansio-tokio`, adds what is the runtime's: a [`Runtime`], stdio, child
//! processes, sockets. Everything here works without one, on any byte stream of `futures-io`:
//!
//! ```
//! use std::sync::Arc;
//!
//! use futures_io::{AsyncRead, AsyncWrite};
//! use mcp_sansio::model::Tool;
//! use mcp_sansio_io::Runtime;
//! use mcp_sansio_io::server::{NoArguments, Server};
//!
//! async fn serve(
//!     runtime: Arc<dyn Runtime>,
//!     reader: impl AsyncRead + Send + Unpin + 'static,
//!     writer: impl AsyncWrite + Send + Unpin + 'static,
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     let server = Server::new("greeter", "1.0.0")
//!         .tool(Tool::new("greet").read_only(), |_: NoArguments, _| async { "hello" })
//!         .build()?;
//!     let (_connection, driver) = server.accept(runtime).over(reader, writer)?;
//!     driver.await?;
//!     Ok(())
//! }
//! ```
//!
//! No protocol decision is made here: those are the machines'. What is decided here is how code is called, and when
//! it is dropped ([`server::Context::cancelled`], [`server::Question`]).
#![forbid(unsafe_code)]

pub mod child;
pub mod client;
mod driver;
#[cfg(feature = "http")]
pub mod http;
mod listen;
mod random;
mod report;
mod runtime;
pub mod server;
mod signal;
#[cfg(feature = "tracing")]
mod spans;
pub mod stdio;
mod sync;
mod trace;

pub use driver::StreamError;
pub use mcp_sansio as core;
pub use random::NoRandomness;
pub use report::{CallEvent, Outcome, Report, Stage};
pub use runtime::{BoxFuture, Runtime, mono, now};
pub use trace::{LONGEST_LINE, Trace, TraceHook};
