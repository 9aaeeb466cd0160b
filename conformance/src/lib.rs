//! What the official conformance suite is run against: a server and a client that exercise everything.
//!
//! ```text
//!   suite's client ───► everything-server        server::everything: every tool, prompt and resource that the suite
//!                                                asks for, and a few that it does not
//!   suite's servers ◄── everything-client URL    client::Scenario: what a client does in each scenario, chosen by the
//!                                                environment that the suite sets
//! ```
//!
//! Both are written with the public API of `mcp-sansio-io` alone; only [`front`] knows that there are runtimes.
//! Names and texts are the suite's. `cargo xtask conformance` runs it.
#![forbid(unsafe_code)]

pub mod client;
pub mod front;
pub mod server;
