//! What becomes of an answer: its head, its body, its end.
//!
//! | where the exchange stands | a part of the body | the end | a failure |
//! |---|---|---|---|
//! | the head is awaited | ignored | broken | not sent, or broken |
//! | `Json` | gathered, up to the bound | the message | broken |
//! | `Events` | each event a message, each up to the bound | broken, unless answered | broken, unless answered |
//! | `Refused` | gathered, up to the bound | the error, or the status | the status |
//! | `Rest` | ignored | over | over |
//!
//! After every message the question is whether the request still waits: an answer, a cancellation or a time-out that
//! it brought about ends the exchange. A request never outlives its exchange, unless the stream can be resumed.

use std::time::Duration;

use bytes::Bytes;

use super::api::{Action, FetchFailed, FetchId, Unauthorized};
use super::error::{Challenge, ExchangeError};
use super::exchange::{Body, Exchange, Kind, Phase};
use super::machine::Http;
use super::status::{Sent, Verdict, judge};
use crate::client::{Core, Purpose};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::ErrorObject;
use crate::http::Headers;
use crate::http::head::name;
use crate::http::sse::{Decoder, Event, SseError};
use crate::jsonrpc::{Message, decode_owned};
use crate::machine::Now;

/// How long the end of a complete answer is awaited, so that its connection can be used again.
const REST: Duration = Duration::from_secs(1);
/// How often one request may ask for credentials: new ones, and more of them.
const ASKED_MOST: u8 = 3;
/// The longest id of a session: it goes back in a header each time.
const SESSION_MOST: usize = 1 << 10;

impl Http {
    pub(super) fn on_head(&mut self, core: &mut Core, now: Now, fetch: FetchId, status: u16, headers: &Headers) {
        let waits = |exchange: &Exchange| matches!(exchange.phase, Phase::Head);
        if status < 200 || !self.exchanges.get(&fetch).is_some_and(waits) {
            return;
        }
        let Some(mut exchange) = self.exchanges.remove(&fetch) else { return };
        core.on_written(now, std::mem::take(&mut exchange.unwritten));
        let sent = match &exchange.kind {
            Kind::Call(call) if !call.resumed => Sent::Request,
            Kind::Call(_) | Kind::Listen(_) | Kind::Pair => Sent::Stream,
            Kind::Delete | Kind::Message { .. } | Kind::Posted { .. } => Sent::Message,
        };
        let limit = core.limits().frame_bytes;
        match judge(sent, exchange.session.is_some(), status, headers, limit) {
            Verdict::Json => self.read(core, fetch, exchange, headers, Phase::Json(Body::Empty)),
            Verdict::Refused => self.read(core, fetch, exchange, headers, Phase::Refused { status, body: Body::Empty }),
            Verdict::Events => {
                if let Kind::Listen(resume) = &mut exchange.kind {
                    resume.opened = Some(now.mono);
                    self.timers.clear(fetch);
                }
                let decoder = Box::new(Decoder::new(limit));
                self.read(core, fetch, exchange, headers, Phase::Events(decoder));
            }
            Verdict::Taken => self.taken(core, now, fetch, exchange),
            Verdict::Ask(challenge) => {
                self.over(fetch);
                self.ask(core, now, fetch, exchange, challenge);
            }
            Verdict::Gone => {
                self.over(fetch);
                self.gone(core, now, exchange);
            }
            Verdict::Fail(error) => {
                self.over(fetch);
                self.failed(core, now, fetch, exchange, error);
            }
        }
    }

    /// An exchange is not read on.
    fn over(&mut self, fetch: FetchId) {
        self.timers.clear(fetch);
        self.actions.push_back(Action::Abort(fetch));
    }

    fn read(&mut self, core: &mut Core, fetch: FetchId, mut exchange: Exchange, headers: &Headers, phase: Phase) {
        let begins = matches!(&exchange.kind, Kind::Call(call) if call.head.purpose == Purpose::Initialize);
        if begins && !matches!(phase, Phase::Refused { .. }) {
            self.session = headers.get(name::SESSION_ID).and_then(|id| {
                let valid = (1..=SESSION_MOST).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic);
                if !valid {
                    let text = "the server gave a session an id that no header can carry: it is not used";
                    core.diagnose(Diagnostic::new(DiagnosticKind::Exchange, text));
                }
                std::str::from_utf8(id).ok().filter(|_| valid).map(Into::into)
            });
        }
        exchange.phase = phase;
        self.exchanges.insert(fetch, exchange);
    }

    fn taken(&mut self, core: &mut Core, now: Now, fetch: FetchId, mut exchange: Exchange) {
        let opens = matches!(exchange.kind, Kind::Message { opens: true, .. });
        self.forget_wire(&exchange);
        exchange.phase = Phase::Rest;
        self.exchanges.insert(fetch, exchange);
        self.timers.set(fetch, now.mono.after(REST));
        if opens && self.opening == Some(fetch) {
            self.opened(core, now);
        }
    }

    /// The server wants credentials. The exchange is over.
    fn ask(&mut self, core: &mut Core, now: Now, fetch: FetchId, mut exchange: Exchange, challenge: Challenge) {
        exchange.asked = exchange.asked.saturating_add(1);
        if !self.endpoint.asks() || exchange.asked > ASKED_MOST || matches!(exchange.kind, Kind::Delete) {
            return self.fail(core, now, exchange, ExchangeError::Unauthorized(challenge));
        }
        if let Some(wire) = exchange.kind.wire() {
            core.hold(now, wire);
        }
        // The time that people take is not the stream's silence.
        if let Some(resume) = exchange.kind.resume_mut() {
            resume.heard(now.mono);
        }
        exchange.phase = Phase::Asked(challenge.clone());
        self.exchanges.insert(fetch, exchange);
        self.actions.push_back(Action::Unauthorized(Box::new(Unauthorized { fetch, challenge })));
    }

    /// The server does not know the session.
    fn gone(&mut self, core: &mut Core, now: Now, exchange: Exchange) {
        let current = exchange.session == self.session;
        match &exchange.kind {
            Kind::Call(call) if call.resumed => self.fail(core, now, exchange, ExchangeError::SessionLost),
            Kind::Call(call) => {
                let wire = call.wire;
                self.forget_wire(&exchange);
                core.session_gone(now, wire, current);
            }
            Kind::Listen(_) => {
                if current {
                    core.renew(now);
                }
            }
            Kind::Delete | Kind::Message { .. } | Kind::Pair | Kind::Posted { .. } => {
                self.fail(core, now, exchange, ExchangeError::SessionLost);
            }
        }
    }

    /// An attempt has failed: the next one may be due.
    fn failed(&mut self, core: &mut Core, now: Now, fetch: FetchId, exchange: Exchange, why: ExchangeError) {
        let again = match &exchange.kind {
            Kind::Call(call) => call.resumed && why.is_passing(),
            Kind::Listen(_) => why.is_passing(),
            Kind::Delete | Kind::Message { .. } | Kind::Pair | Kind::Posted { .. } => false,
        };
        let none = matches!((&exchange.kind, &why), (Kind::Listen(_), ExchangeError::Status { status: 405 }));
        if again {
            self.broken(core, now, fetch, exchange, why);
        } else if !none {
            self.fail(core, now, exchange, why);
        }
    }

    pub(super) fn on_body(&mut self, core: &mut Core, now: Now, fetch: FetchId, bytes: Bytes) {
        let limit = core.limits().frame_bytes;
        let Some(mut exchange) = self.exchanges.remove(&fetch) else { return };
        let too_long = match &mut exchange.phase {
            Phase::Json(body) => (!body.push(bytes, limit)).then_some(ExchangeError::TooLong { limit }),
            Phase::Refused { status, body } => {
                (!body.push(bytes, limit)).then_some(ExchangeError::Status { status: *status })
            }
            Phase::Events(_) => return self.events(core, now, fetch, exchange, bytes),
            Phase::Asked(_) | Phase::Head | Phase::Rest | Phase::Waiting => None,
        };
        match too_long {
            Some(error) => {
                self.over(fetch);
                self.fail(core, now, exchange, error);
            }
            None => {
                self.exchanges.insert(fetch, exchange);
            }
        }
    }

    /// Reads the events of a stream.
    fn events(&mut self, core: &mut Core, now: Now, fetch: FetchId, mut exchange: Exchange, mut bytes: Bytes) {
        loop {
            let Phase::Events(decoder) = &mut exchange.phase else { break };
            let next = decoder.next(&mut bytes);
            if let Some(resume) = exchange.kind.resume_mut() {
                // An id counts at the end of its event; one that was taken back is forgotten.
                if decoder.has_ids() {
                    resume.last_id = decoder.last_event_id().cloned();
                }
                resume.retry = decoder.retry().or(resume.retry);
            }
            match next {
                Ok(Some(event)) => {
                    if self.event(core, now, fetch, &mut exchange, event) {
                        exchange.phase = Phase::Rest;
                        self.forget_wire(&exchange);
                        self.timers.set(fetch, now.mono.after(REST));
                    }
                }
                Ok(None) => break,
                Err(SseError::TooLong { limit } | SseError::IdTooLong { limit }) => {
                    self.over(fetch);
                    return self.fail(core, now, exchange, ExchangeError::TooLong { limit });
                }
            }
        }
        self.exchanges.insert(fetch, exchange);
    }

    /// Takes one event. True if the stream has nothing more to say.
    fn event(&mut self, core: &mut Core, now: Now, fetch: FetchId, exchange: &mut Exchange, event: Event) -> bool {
        if matches!(exchange.kind, Kind::Pair) {
            self.pair_event(core, now, event);
            return false;
        }
        // An event without data primes a stream, or keeps it open.
        if event.data.is_empty() || event.name.as_deref().is_some_and(|name| name != "message") {
            return false;
        }
        let budget = core.limits().resume_budget;
        let wire = match &mut exchange.kind {
            Kind::Call(call) => {
                call.resume.heard(now.mono);
                if call.resumed {
                    self.timers.set(fetch, call.resume.deadline(now.mono));
                }
                Some(call.wire)
            }
            Kind::Listen(resume) => {
                resume.start_over(budget);
                None
            }
            Kind::Delete | Kind::Message { .. } | Kind::Pair | Kind::Posted { .. } => return false,
        };
        let heard = core.on_exchange(now, wire, event.data);
        if let Some(other) = heard.other {
            self.answered_elsewhere(core, now, other);
        }
        wire.is_some_and(|wire| !core.is_open(wire))
    }

    /// A request was answered in a stream that is not its own.
    fn answered_elsewhere(&mut self, core: &mut Core, now: Now, wire: i64) {
        if let Some(fetch) = self.by_wire.get(&wire).copied() {
            let unwritten = self.drop_exchange(fetch);
            core.on_written(now, unwritten);
        }
    }

    pub(super) fn on_end(&mut self, core: &mut Core, now: Now, fetch: FetchId) {
        let Some(mut exchange) = self.exchanges.remove(&fetch) else { return };
        match std::mem::replace(&mut exchange.phase, Phase::Rest) {
            Phase::Json(body) => self.whole(core, now, exchange, body.finish()),
            Phase::Events(_) => {
                self.timers.clear(fetch);
                self.broken(core, now, fetch, exchange, ExchangeError::Ended);
            }
            Phase::Refused { status, body } => self.refused(core, now, exchange, status, body.finish()),
            Phase::Head => {
                self.timers.clear(fetch);
                let why = ExchangeError::Broken("the answer has no head".into());
                self.failed(core, now, fetch, exchange, why);
            }
            Phase::Rest => self.timers.clear(fetch),
            // There is no exchange that could end.
            phase @ (Phase::Asked(_) | Phase::Waiting) => {
                exchange.phase = phase;
                self.exchanges.insert(fetch, exchange);
            }
        }
    }

    /// A JSON body is whole.
    fn whole(&mut self, core: &mut Core, now: Now, exchange: Exchange, body: Bytes) {
        let Kind::Call(call) = &exchange.kind else { return };
        let wire = call.wire;
        self.forget_wire(&exchange);
        if body.iter().all(u8::is_ascii_whitespace) {
            return self.fail(core, now, exchange, ExchangeError::Ended);
        }
        let heard = core.on_exchange(now, Some(wire), body);
        if let Some(other) = heard.other {
            self.answered_elsewhere(core, now, other);
        }
        if core.is_open(wire) {
            let why = if heard.malformed { ExchangeError::Malformed } else { ExchangeError::Ended };
            self.fail(core, now, exchange, why);
        }
    }

    /// The body of a refusal is whole. Whatever id its error has, it is about the request of this exchange.
    fn refused(&mut self, core: &mut Core, now: Now, exchange: Exchange, status: u16, body: Bytes) {
        let Kind::Call(call) = &exchange.kind else { return };
        match decode_owned(body, core.limits().json_depth) {
            Ok(Message::Error { error, .. }) => {
                let wire = call.wire;
                self.forget_wire(&exchange);
                core.exchange_refused(now, wire, status, ErrorObject::read(&error));
            }
            _ => self.fail(core, now, exchange, ExchangeError::Status { status }),
        }
    }

    pub(super) fn on_failed(&mut self, core: &mut Core, now: Now, fetch: FetchId, reason: FetchFailed) {
        let Some(exchange) = self.exchanges.remove(&fetch) else { return };
        let broken = |reason| match reason {
            FetchFailed::NotSent(text) | FetchFailed::Broken(text) => ExchangeError::Broken(text),
        };
        if exchange.is_running() {
            self.timers.clear(fetch);
        }
        match &exchange.phase {
            Phase::Head => {
                let why = match reason {
                    FetchFailed::NotSent(text) => ExchangeError::NotSent(text),
                    FetchFailed::Broken(text) => ExchangeError::Broken(text),
                };
                self.failed(core, now, fetch, exchange, why);
            }
            Phase::Events(_) => self.broken(core, now, fetch, exchange, broken(reason)),
            Phase::Json(_) => self.fail(core, now, exchange, broken(reason)),
            Phase::Refused { status, .. } => {
                let status = *status;
                self.fail(core, now, exchange, ExchangeError::Status { status });
            }
            Phase::Rest => {}
            Phase::Asked(_) | Phase::Waiting => {
                self.exchanges.insert(fetch, exchange);
            }
        }
    }
}
