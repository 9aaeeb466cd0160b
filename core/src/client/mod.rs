//! The client: one connection to one server, in whichever era the server speaks.
//!
//! ```text
//!   bytes ──▶ Client: lines ──▶ Core ──▶ frames ──▶ Client: Action::Write
//!                                │
//!                 ┌──────────────┼───────────────┬──────────────┐
//!             connect          calls           inbound        listen
//!        (probe, handshake) (mrtr, walk,    (requests of a  (streams of
//!                            cache, output)  legacy server)  notifications)
//! ```
//!
//! | module | decides |
//! |---|---|
//! | `connect`, `probe` | which era and revision a server speaks |
//! | `envelope` | what every request says beside its params |
//! | `send` | when a call goes out, and when it need not or may not |
//! | `calls` | which request an answer belongs to, when a call has taken too long, what progress is worth |
//! | `mrtr` | what becomes of a result that wants input first |
//! | `inbound` | what becomes of a request of a legacy server |
//! | `answer` | whether an answer of the application fits its question |
//! | `walk` | how a whole list is read, and when that is too much |
//! | `listen` | what becomes of a notification, and which stream it belongs to |
//! | `cache` | when an answer may be given twice |
//! | `exchange` | HTTP: what the messages of one exchange may be about, and what its failure means |
//! | `mirror` | HTTP: which arguments stand in headers, and which tools are dropped |
//! | `output` | whether structured content keeps the promise of its tool |
//! | `verbs` | what an application may ask, whatever the transport |
//! | `stream` | how frames become lines: stdio and every other byte stream |
//!
//! `Core` takes messages and gives frames; it knows no transport. [`http::client`](crate::http::client) adds the
//! other one. What is left to the caller: the bytes, the clock, the people who answer questions.

mod answer;
mod api;
mod cache;
mod calls;
mod config;
mod connect;
mod core;
mod envelope;
mod exchange;
mod inbound;
mod listen;
mod mirror;
mod mrtr;
mod output;
mod probe;
mod request;
mod send;
mod stream;
#[cfg(test)]
mod tests;
mod text;
mod verbs;
mod walk;

pub(crate) use self::core::{Core, Out, Route};
pub use api::{
    Action, Answer, CallError, Closed, ConnectError, InputAnswer, InputId, InputNeeded, List, OutputProblem, Progress,
    ServerFacts, TimeoutKind,
};
pub use config::{Config, ConfigError, Connect, Timeouts};
pub(crate) use exchange::{Head, Purpose};
pub use request::{CacheUse, CallOptions, Request};
pub use stream::Lines;
pub(crate) use verbs::sealed::Sealed;
pub use verbs::{Client, Transport};

/// The type of a result that is one.
pub(crate) const COMPLETE: &str = "complete";
/// The type of a result that wants input first.
pub(crate) const INPUT_REQUIRED: &str = "input_required";
