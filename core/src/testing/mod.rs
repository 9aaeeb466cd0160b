//! Tests of your own servers and clients, without processes, ports and sleeps. With the feature `testing`.
//!
//! | part | is |
//! |---|---|
//! | [`Pair`] | a server and a client in memory, on a clock that the test moves |
//! | [`Link`] | what their frames travel on: it delays, cuts, merges, and if told so loses, doubles, swaps and spoils |
//! | [`HttpPair`] | clients and a server of Streamable HTTP in memory, over an [`HttpLink`] that delays, cuts and breaks |
//! | [`HttpFront`] | the server of it alone, driven by heads and bytes |
//! | [`Transcript`] | a conversation in a file, played against one machine: the same file runs in every language |
//! | [`Peer`], [`Machine`] | one machine with what it has said, for harnesses of your own |
//!
//! ```
//! use mcp_sansio::client::{Config, Request};
//! use mcp_sansio::json::Json;
//! use mcp_sansio::model::{CallToolResult, Implementation, Tool};
//! use mcp_sansio::server::{Call, Definition, Reply};
//! use mcp_sansio::testing::{Link, Pair};
//!
//! let definition = Definition::builder("clock", "1.0.0").tool(Tool::new("now")).build()?;
//! let mut pair = Pair::new(definition, Config::new(Implementation::new("test", "1.0.0")))
//!     .links(Link::seeded(1).split(7), Link::seeded(2).split(3).merge());
//! pair.connect();
//! pair.serve_with(|invocation| match &invocation.call {
//!     Call::Tool { name, .. } if &**name == "now" => Reply::Tool(CallToolResult::text("noon")),
//!     _ => Reply::Failed,
//! });
//! let answer = pair.run(Request::call_tool("now", &Json::EMPTY_OBJECT))?;
//! assert_eq!(answer.parse::<CallToolResult>()?.joined_text(), "noon");
//! pair.assert_quiet();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The harness reads no clock and does no IO. What it decides: the order in which things happen, the time, and
//! when a test has found a machine that breaks its contract; it panics then, as a test does. What it leaves to the
//! test: the files of transcripts, and what the machines are for.

mod http;
mod link;
mod pair;
mod peer;
#[cfg(test)]
mod tests;
mod transcript;
mod tree;

pub use http::{AskId, HttpFront, HttpLink, HttpMachine, HttpPair, HttpPeer, HttpPiece, HttpRequest};
pub use link::Link;
pub use pair::{Frame, Pair, Side, assert_carried};
pub use peer::{Machine, Peer, Sorted};
pub use transcript::{BadTranscript, Carrier, Feed, Mismatch, Session, Transcript};

/// What plays a [`Transcript`]: for players of your own, whose machine is inside of something else.
///
/// | part | is |
/// |---|---|
/// | [`Role`], [`Serves`](player::Serves), [`Calls`](player::Calls) | what there is to implement: what it says, and the verbs of its application |
/// | [`Lines`](player::Lines) | the same for a byte stream |
/// | [`Hosts`](player::Hosts), [`Fetches`](player::Fetches) | the same over HTTP |
/// | [`Stage`](player::Stage) | takes the steps one by one, and compares |
///
/// [`Role`]: player::Role
pub mod player {
    pub use super::transcript::{
        Calls, ClientEvent, ClientMemory, ClientVerbs, Deadline, Fetches, Hosts, HttpClientEvent, Lines, Message,
        Problem, Reason, Role, Said, ServerEvent, ServerMemory, Serves, Stage, Step, Wanted,
    };
}
