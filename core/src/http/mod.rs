//! Streamable HTTP as machines: heads and body bytes in, answers and chunks out.
//!
//! | module | decides |
//! |---|---|
//! | `head` | names and values of headers, media types; what both roles share |
//! | [`server`] | which requests are served, by whom, and how their answers look |
//! | [`client`] | which requests are sent, and what their answers mean |
//! | [`sse`] | where one event of a stream ends and the next begins |
//!
//! Sources: `basic/transports/streamable-http` of 2026-07-28, `basic/transports` of the earlier revisions. No module
//! here knows a socket, and none depends on an HTTP library: names are text in lower case, as HTTP/2 wants them,
//! values are bytes.

pub mod client;
pub(crate) mod head;
mod headers;
pub mod server;
pub mod sse;

pub use headers::{Headers, Method};
