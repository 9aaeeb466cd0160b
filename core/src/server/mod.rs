//! The server: what it offers ([`Definition`]), and the machine that serves it ([`Server`]).
//!
//! | module | decides |
//! |---|---|
//! | `definition`, `builder`, `pages`, `capability` | what is offered, written out once |
//! | `advice` | what the specification would rather not see in it |
//! | `envelope`, `session` | who asks, at which revision |
//! | `admit`, `uri` | what becomes of a request |
//! | `rounds`, `ask`, [`request_state`] | questions of a handler, in both eras |
//! | `result` | how a reply is written for a revision |
//! | `listen` | streams of notifications |
//! | `core`, `receive`, `answer`, `wire` | the engine under every transport |
//! | `machine` | one byte stream |
//! | `http` | what the transports of HTTP ask beyond that; they are in [`crate::http::server`] |

mod admit;
mod advice;
mod answer;
mod api;
mod ask;
mod builder;
mod capability;
pub(crate) mod context;
pub(crate) mod core;
mod definition;
pub(crate) mod envelope;
mod http;
pub(crate) mod listen;
mod machine;
mod names;
mod pages;
mod receive;
pub mod request_state;
mod result;
mod rounds;
pub(crate) mod session;
#[cfg(test)]
mod tests;
mod uri;
pub(crate) mod wire;

pub use admit::resource_not_found;
pub use api::{
    Action, Call, Closed, Event, InputRequired, Invocation, List, ListPage, LogMessage, Notified, Progress, ReadTarget,
    Reference, Reply, RequestFailure, Sent,
};
pub use builder::{BuildError, DefinitionBuilder};
pub use context::{ClientFacts, Context};
pub use definition::Definition;
pub use machine::Server;
