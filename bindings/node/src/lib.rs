//! The machines as values that JavaScript can hold: translation, and nothing else.
//!
//! ```text
//!   lib/*.ts   the objects of the package: builders, actions, errors, time and seeds
//!      │ numbers and texts
//!   src/*.rs   the classes here, which no user sees
//!      │
//!   mcp-sansio-told   machines that are told what to do in JSON
//! ```
//!
//! What costs at this boundary is values, so few cross it. An action is one text, cut by the wrapper, and numbers that
//! are written into memory that it owns ([`pack`]); payloads are JSON text that JavaScript parses when somebody asks.
//!
//! | module | translates |
//! |---|---|
//! | [`pack`], [`value`] | actions; errors and time |
//! | [`call`] | the verbs that every call makes |
//! | [`server`], [`action`] | the other verbs of a server, and what its machines say |
//! | [`http`] | service, registry, requests |
//! | [`client`] | the machines of a client, and what they say |

mod action;
mod call;
mod client;
mod http;
mod pack;
mod server;
mod value;
