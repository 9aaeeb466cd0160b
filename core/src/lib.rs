//! The Model Context Protocol as pure, sans-IO state machines.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod canonical;
pub mod client;
pub mod diagnostic;
mod engine;
pub mod error;
pub mod ids;
pub mod json;
pub mod jsonrpc;
pub mod limits;
pub mod machine;
pub mod model;
pub mod rng;
pub mod schema;
pub mod server;
pub mod spec;
pub mod stdio;
#[cfg(feature = "testing")]
pub mod testing;
pub mod uri_template;
