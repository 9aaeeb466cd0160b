//! Streamable HTTP, without a runtime: a service for servers, a transport for clients, and what both stand on.
//!
//! ```text
//!   a listener ──► Connections ──► Service ──► exchanges and sessions of the core ──► handlers
//!                  (hyper, bounds)    ▲
//!   axum, tower ──────────────────────┘
//!
//!   client::Client ──► the HTTP client of the core ──► Transport ──► Pool ──► Connector, TLS
//!                                                          └──► any HTTP library
//! ```
//!
//! No decision about HTTP is made here: which header means what, which status answers what, is the core's.

mod accept;
pub mod client;
mod io;
mod server;

pub use self::accept::{Bounds, Connections};
pub use self::io::Stream;
pub use self::server::{Bind, HttpServer, Listener};
pub use crate::server::http::{HttpBody, HttpBuilder, HttpService, Principal};
pub use mcp_sansio::http::server::{Allow, Claim, Options, Replay};
