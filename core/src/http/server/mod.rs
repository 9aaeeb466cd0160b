//! The server of Streamable HTTP: both eras, on one endpoint.
//!
//! ```text
//!   head ─▶ Service::judge ─┬─▶ Refused ────────────────────────────────▶ answer, the body unread
//!                           ├─▶ Post: Intake ◀─ body                      │
//!                           │     └─ finish ─┬─▶ Answered ───────────────▶ answer
//!                           │                ├─▶ Exchange ───────────────▶ drive it
//!                           │                └─▶ Session ─┐
//!                           └─▶ Session (GET, DELETE) ────┴─▶ Endpoint::admit ─┬─▶ Answered, Exchange
//!                                                                             └─▶ Session: accept, drive it
//! ```
//!
//! | module | decides |
//! |---|---|
//! | `head`, `options` | what is refused without its body |
//! | `intake`, `echo` | who serves a message; whether its headers repeat it |
//! | `exchange` | one request that stands alone |
//! | `session`, `replay` | one legacy session |
//! | `endpoint` | which sessions and listen streams there are |
//! | `outlet`, `response` | how an answer looks |
//!
//! A [`Service`] is immutable and shared. An [`Exchange`] belongs to one request, a [`Session`] to one client: each
//! is a machine of its own, with actions, deadlines and verbs as [`Server`](crate::server::Server) has them. The
//! [`Endpoint`] is the one thing that is shared and changes: whoever drives it keeps it behind a lock, and modern
//! requests do not touch it.

mod action;
mod echo;
mod endpoint;
mod exchange;
mod head;
mod intake;
mod options;
mod outlet;
mod replay;
mod response;
mod session;
mod session_id;
#[cfg(test)]
mod tests;

pub use action::{Action, ExchangeId, Input, Subscription};
pub use endpoint::{Admitted, Endpoint, ListenKey, NoRoom, SessionKey};
pub use exchange::Exchange;
pub use head::{Head, Judged, Service};
pub use intake::{Intake, Routed};
pub use options::{Allow, Claim, Options, Replay};
pub use response::{Body, Response};
pub use session::{Request, Session};
