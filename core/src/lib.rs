//! The Model Context Protocol as pure, sans-IO state machines: frames go in, actions come out.
//!
//! ```text
//!    bytes ──▶ handle ──▶ ┌─────────┐ ──▶ poll_action   write this, run that, this call has ended
//!    time  ──▶ timeout ─▶ │ machine │ ──▶ poll_timeout  wake me then, for this reason
//!    verbs ──▶ reply … ─▶ └─────────┘ ──▶ wants_input   go on reading, or not
//! ```
//!
//! [`server::Server`] and [`client::Client`] are the machines of a byte stream that carries lines: stdio, a socket,
//! a pipe. Both serve the legacy era (2024-11-05 … 2025-11-25, a session that `initialize` opens) and the modern one
//! (2026-07-28, an envelope in every request).
//!
//! # The loop
//!
//! ```
//! use std::sync::Arc;
//!
//! use mcp_sansio::client::{self, CallOptions, Client, Config, Request};
//! use mcp_sansio::json::Json;
//! use mcp_sansio::machine::{Input, Now};
//! use mcp_sansio::model::{CallToolResult, Implementation, Tool};
//! use mcp_sansio::rng::Seed;
//! use mcp_sansio::server::{self, Definition, Reply, Server};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let definition = Definition::builder("greeter", "1.0.0").tool(Tool::new("greet")).build()?;
//! let mut server = Server::new(Arc::new(definition), Seed([0; 32])); // from the operating system, in earnest
//! let mut client = Client::new(Config::new(Implementation::new("visitor", "1.0.0")))?;
//!
//! let now = Now::default(); // the time is an argument
//! client.connect(now)?;
//! let call = client.call(now, Request::call_tool("greet", &Json::EMPTY_OBJECT), CallOptions::new())?;
//!
//! let mut answer = None;
//! while answer.is_none() {
//!     while let Some(action) = client.poll_action() {
//!         match action {
//!             client::Action::Write(bytes) => server.handle(now, Input::Bytes(bytes))?,
//!             client::Action::Done { call: done, outcome } if done == call => answer = Some(outcome?),
//!             _ => {}
//!         }
//!     }
//!     while let Some(action) = server.poll_action() {
//!         match action {
//!             server::Action::Write(bytes) => client.handle(now, Input::Bytes(bytes))?,
//!             server::Action::Invoke(call) => {
//!                 server.reply(now, call.slot, Reply::Tool(CallToolResult::text("Hello!")))?;
//!             }
//!             _ => {}
//!         }
//!     }
//! }
//! let result: CallToolResult = answer.ok_or("no answer")?.parse()?;
//! assert_eq!(result.joined_text(), "Hello!");
//! # Ok(())
//! # }
//! ```
//!
//! A real driver also sleeps until `poll_timeout`, stops reading while `wants_input` is false, and reports with
//! [`machine::Input::Written`] what has left.
//!
//! # Rules that hold everywhere
//!
//! * No clock, randomness, thread, lock, IO or log line inside: the same inputs give the same actions.
//! * Every request ends exactly once, and nothing is said about it afterwards.
//! * Nothing that a peer sends, and no order of calls, panics. Everything has a bound ([`limits::Limits`]).
//! * Unknown members, values and notifications survive, in their own spelling ([`json::Json`]).
//! * Errors say whose fault it is ([`error::Error`]).
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod canonical;
pub mod client;
mod copy;
pub mod diagnostic;
mod engine;
pub mod error;
pub mod ext;
pub mod http;
pub mod ids;
pub mod json;
pub mod jsonrpc;
pub mod limits;
pub mod machine;
pub mod model;
mod names;
pub mod rng;
pub mod schema;
pub mod server;
pub mod spec;
pub mod stdio;
#[cfg(feature = "testing")]
pub mod testing;
pub mod uri_template;

/// The programs of the README that need this crate alone.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
