//! The client of Streamable HTTP: exchanges as values.
//!
//! ```text
//!                    ┌──────────────────── HttpClient ────────────────────┐
//!   verbs ──────────▶│ Core (eras, calls, rounds of input, cache, …)      │
//!                    │   │ frames                      ▲ messages         │
//!                    │   ▼                             │                  │
//!   Action::Fetch  ◀─┤ heads ──▶ exchanges ──▶ heads judged, bodies read ◀├── Input::Head, Body, End, Failed
//!   Action::Abort  ◀─┤              │  ▲                                  │
//!                    │              ▼  │ broken streams resumed           │
//!                    │           waiting                                  │
//!                    └────────────────────────────────────────────────────┘
//! ```
//!
//! | module | decides |
//! |---|---|
//! | [`Endpoint`] | where the server is, and what every request to it carries |
//! | `request` | the head of every request |
//! | `status` | what the head of an answer says |
//! | `answer` | what becomes of an answer |
//! | `resume` | when a broken stream is resumed, and when it is given up |
//! | `machine` | what the frames of the core become |
//! | `pair` | when the transport of 2024-11-05 is used, and where its messages go |
//! | [`ExchangeError`] | what can go wrong, and whose fault it is |
//!
//! Each message has an exchange of its own. In the modern era that is all: a request ends with its exchange, and to
//! abort the exchange is to cancel the request. A legacy session has more: an id that every request names, one stream
//! that belongs to no request, and streams that are resumed when they break.
//!
//! ```text
//!   Head ──▶ Json ───────────────▶ answered
//!    │  └──▶ Events ──▶ answered ──▶ Rest (the end is awaited for a moment)
//!    │          │ broken, with the id of an event (legacy)
//!    │          └──▶ Waiting ──due──▶ Head (a GET) ──▶ Events
//!    ├──▶ Refused ──▶ an error of the protocol, or a status
//!    └──▶ Asked ──authorize──▶ Head (the same again)
//! ```
//!
//! What is left to the caller: connections, TLS, compression, the clock. No redirect is followed. Sources:
//! `basic/transports/streamable-http` of 2026-07-28, `basic/transports` of 2025-03-26 to 2025-11-25.

mod answer;
mod api;
mod endpoint;
mod error;
mod exchange;
mod machine;
mod pair;
mod request;
mod resume;
mod status;
#[cfg(test)]
mod tests;

pub use api::{Action, Fetch, FetchFailed, FetchId, Input, Unauthorized};
pub use endpoint::{Endpoint, EndpointError};
pub use error::{Challenge, ExchangeError};
pub use machine::Http;

use crate::client::Client;

/// A client that speaks Streamable HTTP.
///
/// ```
/// use bytes::Bytes;
/// use mcp_sansio::client::{self, CallOptions, Config, Request};
/// use mcp_sansio::http::client::{Action, Endpoint, HttpClient, Input};
/// use mcp_sansio::json::Json;
/// use mcp_sansio::machine::Now;
/// use mcp_sansio::model::Implementation;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let now = Now::default();
/// let config = Config::new(Implementation::new("visitor", "1.0.0"));
/// let mut client = HttpClient::over_http(config, Endpoint::new("https://example.com/mcp")?)?;
/// client.connect(now)?;
/// let Some(Action::Fetch(fetch)) = client.poll_action() else { return Err("no request".into()) };
/// assert_eq!((fetch.method.as_str(), &*fetch.url), ("POST", "https://example.com/mcp"));
/// assert_eq!(fetch.headers.get("mcp-method"), Some(&b"server/discover"[..]));
///
/// // What an HTTP library would report:
/// let headers = [("content-type", "application/json")].into_iter().collect();
/// client.handle(now, Input::Head { fetch: fetch.id, status: 200, headers })?;
/// let body = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
/// client.handle(now, Input::Body { fetch: fetch.id, bytes: Bytes::from_static(body.as_bytes()) })?;
/// client.handle(now, Input::End { fetch: fetch.id })?;
/// assert!(matches!(client.poll_action(), Some(Action::Event(client::Action::Connected(_)))));
/// # Ok(())
/// # }
/// ```
pub type HttpClient = Client<Http>;
