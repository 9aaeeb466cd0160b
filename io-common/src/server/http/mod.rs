//! Servers over HTTP: requests become machines of the core, which share nothing but what the endpoint keeps.
//!
//! ```text
//!   HttpService::call ──► judge the head ──► read the body ──┬──► Driving: one request, no shared lock
//!                             │                              └──► Endpoint (lock) ──► Session (its own lock)
//!                             └──► refused: the body is not read
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `service` | the way of a request to its machine |
//! | `endpoint` | the lock around sessions, listen streams and their caps; shutdown, replacing, publishing |
//! | `driving` | one exchange and its answer: it is driven by whoever reads the answer |
//! | `session` | one legacy session: driven by whoever reads an answer, and by a task of its own |
//! | `body` | answers as bodies |

mod body;
mod driving;
mod endpoint;
mod service;
mod session;

pub use self::body::HttpBody;
pub(super) use self::endpoint::Endpoint;
pub use self::service::{HttpBuilder, HttpService, Principal};
