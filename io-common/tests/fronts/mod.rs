//! What every front must do, whatever its runtime: these tests are compiled into each of them.
//!
//! The package that includes them brings a module `front`: its own API as `mcp`, the attribute `test`, the runtime, and
//! sockets.

mod child;
#[cfg(feature = "http")]
mod http_cases;
#[cfg(feature = "http")]
mod http_client;
#[cfg(feature = "http")]
mod http_server;
#[cfg(feature = "tls")]
mod https;
mod sockets;
mod stdio;
#[cfg(feature = "http")]
mod web;
