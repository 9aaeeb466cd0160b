//! The transport of 2024-11-05, which later revisions deprecate: one stream to the client, one address to post to.
//!
//! ```text
//!   GET events ──▶ event `endpoint`: where to post ──▶ every message of the server, answers included
//!   POST there ──▶ 202, whatever comes of it
//!   the stream ends ──▶ so does the session
//! ```
//!
//! Source: `basic/transports` (HTTP with SSE) of 2024-11-05.

use super::*;
use crate::http::sse;

impl Session {
    /// A session that a `GET` opens, before any message has come. Its client posts to `messages`.
    pub(in super::super) fn pair(service: &Service, id: SessionId, kept: &Kept, seed: Seed, messages: &str) -> Self {
        let owner = Owner { principal: kept.sender.principal.clone(), origin: kept.origin.clone() };
        let mut session = Self::new(service, id, owner, seed.clone());
        session.core = Core::new(Arc::clone(&service.definition), Wire::Session { streams: true }, seed);
        session.json_answers = false;
        session.replay = None;
        session.post_to = Some(format!("{messages}?{SESSION}={id}").into());
        session
    }

    /// Opens the stream, which says first where to post.
    pub(super) fn open_pair(&mut self, now: Now, exchange: ExchangeId) {
        let Some(address) = &self.post_to else { return };
        let mut outlet = Outlet::new(now, exchange, self.keep_alive);
        outlet.send(&mut self.out, now, sse::Outgoing::data(address.as_bytes()).name("endpoint"));
        self.standing.outlet = Some(outlet);
        self.exchanges.insert(exchange.0, STANDING);
    }

    /// Takes a message: what it brings goes out on the stream.
    pub(super) fn post_pair(&mut self, now: Now, exchange: ExchangeId, kept: Kept, message: Message) {
        self.out.push(Action::Respond { exchange, response: Response::accepted() });
        self.core.on_message_of(now, kept.sender, message, exchange.0);
    }
}

/// The parameter of the query that names the session.
pub(in super::super) const SESSION: &str = "sessionId";
