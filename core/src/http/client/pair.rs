//! The deprecated HTTP+SSE transport of 2024-11-05: one stream for everything that the server says, and an address for
//! everything that the client says.
//!
//! ```text
//!   initialize refused (400, 404, 405, and no error of the protocol)
//!        │
//!        ▼
//!   Asking: GET ──first event `endpoint`──▶ Open: messages are posted there, answers come in the stream
//!        └──anything else──▶ the refusal is the answer
//! ```
//!
//! The address must have the origin of the endpoint: whoever controls the stream must not choose who gets our messages
//! and credentials. The end of the stream is the end of the connection. Sources: `basic/transports` of 2024-11-05 (HTTP
//! with SSE), `basic/transports/streamable-http` of 2026-07-28 (Backward Compatibility).

use std::sync::Arc;

use super::error::ExchangeError;
use super::exchange::{Exchange, Kind};
use super::machine::Http;
use crate::client::{Core, Purpose};
use crate::http::sse::Event;
use crate::machine::Now;

/// The name of the event that tells where to post.
const ENDPOINT: &str = "endpoint";

/// Whether the old transport is used.
#[derive(Debug, Default)]
pub(super) enum Pair {
    #[default]
    No,
    /// The stream is asked for; what `initialize` came to waits.
    Asking { refused: Box<Exchange>, why: ExchangeError },
    /// Messages go to this address.
    Open { post: Arc<str> },
}

impl Http {
    /// Looks for the old transport if `initialize` was refused in the way of its servers. Gives back what is not for it.
    pub(super) fn look_for_pair(&mut self, core: &Core, exchange: Exchange, why: &ExchangeError) -> Option<Exchange> {
        let fits = matches!(&exchange.kind, Kind::Call(call) if call.head.purpose == Purpose::Initialize && !call.resumed)
            && matches!(why, ExchangeError::Status { status: 400 | 404 | 405 })
            && matches!(self.pair, Pair::No)
            && self.endpoint.wants_deprecated_sse()
            && self.spoken.is_none();
        if !fits {
            return Some(exchange);
        }
        self.pair = Pair::Asking { refused: Box::new(exchange), why: why.clone() };
        self.launch(core, Exchange::new(Kind::Pair, 0));
        None
    }

    /// An event of the stream.
    pub(super) fn pair_event(&mut self, core: &mut Core, now: Now, event: Event) {
        let is_endpoint = event.name.as_deref() == Some(ENDPOINT);
        match std::mem::take(&mut self.pair) {
            Pair::Asking { mut refused, why } if is_endpoint => {
                let text = std::str::from_utf8(&event.data).unwrap_or_default();
                let Some(post) = resolve(self.endpoint.url(), text) else {
                    self.pair = Pair::Asking { refused, why };
                    return self.pair_ended(core, now);
                };
                self.pair = Pair::Open { post: post.into() };
                if let Kind::Call(call) = refused.kind {
                    refused.kind = Kind::Posted { wire: call.wire, frame: call.frame };
                    self.launch(core, *refused);
                }
            }
            pair => {
                self.pair = pair;
                if !event.data.is_empty() && event.name.as_deref().is_none_or(|name| name == "message") {
                    core.on_exchange(now, None, event.data);
                }
            }
        }
    }

    /// The stream has ended, or never began.
    pub(super) fn pair_ended(&mut self, core: &mut Core, now: Now) {
        match std::mem::take(&mut self.pair) {
            Pair::Asking { refused, why } => {
                if let Kind::Call(call) = refused.kind {
                    self.by_wire.remove(&call.wire);
                    core.exchange_failed(now, call.wire, why, None);
                }
            }
            Pair::Open { post } => {
                self.pair = Pair::Open { post };
                core.on_eof();
            }
            Pair::No => {}
        }
    }

    /// The address for messages.
    pub(super) fn post_url(&self) -> Arc<str> {
        match &self.pair {
            Pair::Open { post } => Arc::clone(post),
            Pair::No | Pair::Asking { .. } => self.endpoint.shared_url(),
        }
    }

    pub(super) const fn is_pair(&self) -> bool {
        matches!(self.pair, Pair::Open { .. })
    }
}

/// Resolves a reference against an address; `None` if it leads to another origin, or is malformed.
fn resolve(base: &str, reference: &str) -> Option<String> {
    let reference = reference.trim();
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    if reference.is_empty() || reference.contains('#') || !reference.bytes().all(plain) {
        return None;
    }
    let (scheme, rest) = base.split_once("://")?;
    let authority = rest.split(['/', '?']).next()?;
    let path = rest.get(authority.len()..)?.split('?').next()?;
    let origin = format!("{scheme}://{authority}");
    if let Some((other, rest)) = reference.split_once("://").filter(|(scheme, _)| !scheme.contains(['/', '?'])) {
        let there = rest.split(['/', '?']).next()?;
        let same = other.eq_ignore_ascii_case(scheme) && same_authority(scheme, there, authority);
        return same.then(|| reference.to_owned());
    }
    if let Some(rest) = reference.strip_prefix("//") {
        let there = rest.split(['/', '?']).next()?;
        return same_authority(scheme, there, authority).then(|| format!("{scheme}:{reference}"));
    }
    let (relative, query) = match reference.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (reference, None),
    };
    let merged = if relative.is_empty() {
        path.to_owned()
    } else if relative.starts_with('/') {
        relative.to_owned()
    } else {
        let parent = path.rfind('/').and_then(|end| path.get(..=end)).unwrap_or("/");
        format!("{parent}{relative}")
    };
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{origin}{}{query}", without_dots(&merged)))
}

fn same_authority(scheme: &str, one: &str, other: &str) -> bool {
    let default = if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
    let bare = |authority: &str| authority.strip_suffix(default).unwrap_or(authority).to_ascii_lowercase();
    bare(one) == bare(other)
}

/// Takes `.` and `..` out of a path (RFC 3986 §5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-17: references are resolved against the stream's address, and stay within its origin.
    #[test]
    fn d17_where_messages_are_posted() {
        let base = "https://example.com/a/sse?x=1";
        for (reference, expected) in [
            ("/messages?session=1", Some("https://example.com/messages?session=1")),
            ("messages", Some("https://example.com/a/messages")),
            ("./messages/", Some("https://example.com/a/messages/")),
            ("../m/./n/..", Some("https://example.com/m/")),
            ("../../../m", Some("https://example.com/m")),
            ("?session=1", Some("https://example.com/a/sse?session=1")),
            ("https://example.com:443/m", Some("https://example.com:443/m")),
            ("HTTPS://EXAMPLE.com/m", Some("HTTPS://EXAMPLE.com/m")),
            ("//example.com/m", Some("https://example.com/m")),
            ("/m?to=https://evil.example/", Some("https://example.com/m?to=https://evil.example/")),
            ("https://evil.example/m", None),
            ("https://example.com@evil.example/m", None),
            ("https://example.com.evil.example/m", None),
            ("http://example.com/m", None),
            ("https://example.com:8443/m", None),
            ("//evil.example/m", None),
            ("/a b", None),
            ("/a#b", None),
            ("", None),
        ] {
            assert_eq!(resolve(base, reference).as_deref(), expected, "{reference}");
        }
        assert_eq!(resolve("http://127.0.0.1:8080", "m").as_deref(), Some("http://127.0.0.1:8080/m"));
    }
}
