//! The runtime-free async front of `mcp-sansio`.
#![forbid(unsafe_code)]

pub mod child;
pub mod client;
mod driver;
mod random;
mod report;
mod runtime;
pub mod server;
#[cfg(feature = "tracing")]
mod spans;
mod sync;
mod trace;

pub use driver::StreamError;
pub use mcp_sansio as core;
pub use random::NoRandomness;
pub use report::{CallEvent, Outcome, Report, Stage};
pub use runtime::{BoxFuture, Runtime};
pub use trace::{LONGEST_LINE, Trace, TraceHook};
