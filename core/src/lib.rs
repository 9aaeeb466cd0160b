//! The Model Context Protocol as pure, sans-IO state machines.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod error;
pub mod ids;
pub mod json;
pub mod jsonrpc;
pub mod limits;
pub mod machine;
pub mod spec;
