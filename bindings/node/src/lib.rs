//! The machines as values that JavaScript can hold: translation, and nothing else.
//!
//! ```text
//!   lib/*.ts   the objects of the package: builders, actions, errors, time and seeds
//!      │ numbers and texts
//!   src/*.rs   the classes here, which no user sees
//!      │
//!   mcp-sansio
//! ```
//!
//! What costs at this boundary is values, so few cross it. An action is one text, cut by the wrapper, and numbers that
//! are written into memory that it owns ([`pack`]); payloads are JSON text that JavaScript parses when somebody asks.
//!
//! | module | translates |
//! |---|---|
//! | [`pack`], [`value`] | actions; errors, time, JSON |
//! | [`definition`] | settings into a `Definition` |
//! | [`server`], [`action`], [`reply`] | the server of a stream, of an exchange and of a session |
//! | [`http`] | service, endpoint, requests |
//! | [`client`], [`request`] | the client of a stream and that of HTTP |

mod action;
mod client;
mod definition;
mod http;
mod pack;
mod reply;
mod request;
mod server;
mod value;
