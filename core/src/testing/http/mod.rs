//! Streamable HTTP without sockets: a front for a server, and clients that reach it over a link.

mod front;
mod pair;

pub use front::{AskId, HttpFront, HttpMachine, HttpPiece, HttpRequest};
pub use pair::{HttpLink, HttpPair, HttpPeer};
