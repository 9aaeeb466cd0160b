//! What bindings of `mcp-sansio` to other languages share: machines that are told what to do in JSON.
//!
//! ```text
//!   an object of the language ──▶ its binding (values, memory) ──▶ here (names, JSON) ──▶ mcp-sansio
//! ```
//!
//! A language has no use for a hundred types of Rust. It has numbers, texts and objects, so here a definition is an object
//! of settings, a verb an object whose one member is the verb's name, a slot a number, and an error an object with `blame`,
//! `code`, `message` and `data`. What a binding adds is how its language holds values; it knows no protocol.
//!
//! | module | makes |
//! |---|---|
//! | [`definition`], [`reply`] | a definition, a reply, and what a handler can ask of its request |
//! | [`server`] | the server of a stream, of an HTTP exchange and of a session: one machine, for their verbs are the same |
//! | [`http`] | service, registry, and a request on its way through them |
//! | [`role`], [`say`] | a machine of either role, and what it says, for languages without a packing of their own |
//! | [`cell`] | a machine that is safe among threads and collected objects |
//! | [`tree`] | JSON text to the values of a language |
//! | [`client`], `request` | the client of a stream and that of HTTP |
//! | [`told`] | errors as JSON; time, seeds, texts |

pub mod cell;
pub mod client;
pub mod definition;
pub mod http;
pub mod reply;
mod request;
pub mod role;
pub mod say;
pub mod server;
pub mod told;
pub mod tree;

use mcp_sansio::error::Error;

/// What everything here answers.
pub type Result<T> = std::result::Result<T, Error>;
