//! One legacy session over HTTP: its requests, each with a stream of its own, and the stream that it listens on.
//!
//! ```text
//!   POST request ──▶ stream n ── answer only ─────────────────▶ one JSON object
//!                       │        progress, questions, answer ─▶ events n-1, n-2, …
//!                       └─ the connection is lost: the work goes on; with a replay store its events are kept
//!   POST other ────▶ 202
//!   GET ───────────▶ stream 0: what belongs to no request
//!   GET with the id of an event ──▶ the stream of that event, from there on
//! ```
//!
//! Each message goes out on one stream, that of its request. A client listens on one connection: a further `GET`
//! takes the place of the one before, which may be dead without anybody having noticed. With a replay store, and
//! from 2025-11-25 on, streams begin with an event that says nothing, so that there is an id to come back with.
//! Source: `basic/transports` (Streamable HTTP) of 2025-03-26, 2025-06-18 and 2025-11-25.

mod export;
mod numbered;
mod pair;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::action::{Action, ExchangeId, Input};
use super::head::{Kept, Service, Single};
use super::options::Replay;
use super::outlet::Outlet;
use super::replay::{EventId, Log, STANDING, Stored};
use super::response::{Response, legacy_status};
use super::session_id::SessionId;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::Error;
use crate::ids::{CallId, ReplySlot, SlotId};
use crate::json::Json;
use crate::jsonrpc::Message;
use crate::limits::Bound;
use crate::machine::{Mono, Now, Queue, TimerKind};
use crate::rng::Seed;
use crate::server::core::{Core, Out};
use crate::server::wire::{Fate, Route, Wire};
use crate::server::{Action as Said, Closed, Definition, Event, LogMessage, Progress, Reply, Sent};
use crate::spec::Version;

use numbered::Numbered;
pub(super) use pair::SESSION;

/// What is kept for a client that does not listen, where nothing is kept for replay.
const PENDING: (usize, usize) = (64, 256 << 10);

/// A request about a legacy session, judged as far as its head and its body alone tell.
#[derive(Debug)]
pub struct Request {
    pub(super) kind: RequestKind,
    pub(super) kept: Kept,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "it lives in a box, and is mostly the large one")]
pub(super) enum RequestKind {
    Delete,
    Get,
    /// The `initialize` that has opened the session.
    Opened,
    /// A `GET` that opens a session of the old transport.
    Pair,
    /// A message, and a seed in case it is served by itself after all.
    Posted(Message, Seed),
}

impl RequestKind {
    /// Whether it takes a stream. Answers and notifications take none: what holds the streams may wait for them.
    const fn streams(&self) -> bool {
        match self {
            Self::Get | Self::Pair => true,
            Self::Posted(message, _) => matches!(message, Message::Request { .. } | Message::Batch(_)),
            Self::Delete | Self::Opened => false,
        }
    }
}

/// Who opened a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) principal: Option<Arc<str>>,
    pub(super) origin: Option<Box<[u8]>>,
}

/// One legacy session. See the module's documentation.
#[derive(Debug)]
pub struct Session {
    pub(super) id: SessionId,
    pub(super) owner: Owner,
    pub(super) core: Core,
    out: Queue<Action>,
    keep_alive: Option<Duration>,
    json_answers: bool,
    replay: Option<Replay>,
    /// The streams of requests, by the exchange that the request came with.
    pub(super) streams: Numbered<Stream>,
    pub(super) standing: Stream,
    /// The last event of the standing stream that went out.
    pub(super) delivered: u64,
    pub(super) log: Log,
    /// Which stream an open exchange carries.
    exchanges: Numbered<u64>,
    pub(super) last_exchange: u64,
    /// Where a client of the old transport posts to.
    post_to: Option<Box<str>>,
}

/// The stream of a request, or the standing one.
#[derive(Debug, Default)]
pub(super) struct Stream {
    outlet: Option<Outlet>,
    /// The number of the last event.
    pub(super) last: u64,
    /// The last event that is not kept any more.
    pub(super) lost: u64,
    /// How many events are kept.
    pub(super) kept: usize,
    /// The answer is sent, or none is due.
    pub(super) done: bool,
}

impl Session {
    pub(super) fn new(service: &Service, id: SessionId, owner: Owner, seed: Seed) -> Self {
        let options = &service.options;
        let wire = Wire::Session { streams: !options.json_answers };
        let (events, bytes) = options.replay.map_or(PENDING, |replay| (replay.events, replay.bytes));
        Self {
            id,
            owner,
            core: Core::new(Arc::clone(&service.definition), wire, seed),
            out: Queue::new(),
            keep_alive: options.keep_alive,
            json_answers: options.json_answers,
            replay: options.replay,
            streams: Numbered::new(),
            standing: Stream::default(),
            delivered: 0,
            log: Log::new(events, bytes),
            exchanges: Numbered::new(),
            last_exchange: 0,
            post_to: None,
        }
    }

    /// A session that `initialize` opens, with its answer queued; or the answer that refuses it.
    pub(super) fn open(
        service: &Service,
        now: Now,
        id: SessionId,
        kept: &Kept,
        seed: Seed,
        message: Message,
    ) -> Result<Self, Response> {
        let owner = Owner { principal: kept.sender.principal.clone(), origin: kept.origin.clone() };
        let mut session = Self::new(service, id, owner, seed);
        session.touch(now);
        session.last_exchange = 1;
        session.core.on_message_of(now, kept.sender.clone(), message, session.last_exchange);
        if session.core.session_version().is_some() {
            return Ok(session);
        }
        while let Some(out) = session.core.take() {
            if let Out::Frame(frame, Route::Answer(_, fate)) = out {
                return Err(Response::json(legacy_status(fate), frame));
            }
        }
        Err(Response::refused_head(400, "the session cannot be opened"))
    }

    /// The name of the session, as the client has it.
    #[must_use]
    pub fn id(&self) -> Box<str> {
        self.id.to_text()
    }

    /// The definition that new requests are served by.
    #[must_use]
    pub const fn definition(&self) -> &Arc<Definition> {
        self.core.definition()
    }

    /// Takes a request that the endpoint has led here. The answer names the exchange in which it is answered.
    pub fn accept(&mut self, now: Now, request: Box<Request>) -> ExchangeId {
        self.touch(now);
        let Request { kind, kept } = *request;
        if let RequestKind::Opened = kind {
            let exchange = ExchangeId(self.last_exchange);
            self.begin(now, exchange);
            self.drain(now);
            return exchange;
        }
        self.last_exchange += 1;
        let exchange = ExchangeId(self.last_exchange);
        let refusal = if self.core.is_closed() {
            Some(streams::session_over())
        } else if kind.streams() && self.exchanges.len() >= self.core.definition().limits().session_streams {
            let bound = self.core.definition().limits().session_streams;
            Some(Response::refused(503, None, &Error::limit(Bound::SessionStreams, bound).to_object()))
        } else {
            None
        };
        if let Some(response) = refusal {
            self.out.push(Action::Respond { exchange, response });
            return exchange;
        }
        match kind {
            RequestKind::Pair => self.open_pair(now, exchange),
            RequestKind::Posted(message, _) if self.post_to.is_some() => {
                self.post_pair(now, exchange, kept, message);
            }
            RequestKind::Get => self.listen(now, exchange, &kept.last_event),
            RequestKind::Posted(message, _) => self.post(now, exchange, kept, message),
            // The endpoint answers these itself.
            RequestKind::Delete | RequestKind::Opened => {
                self.out.push(Action::Respond { exchange, response: Response::ended() });
            }
        }
        self.drain(now);
        exchange
    }

    /// Says what happened on an exchange. A lost connection does not end the request that came by it; it does end a
    /// session of the old transport.
    pub fn handle(&mut self, now: Now, exchange: ExchangeId, input: Input) {
        self.touch(now);
        let Some(stream) = self.exchanges.get(exchange.0) else { return };
        let stream = match *stream {
            STANDING => Some(&mut self.standing),
            other => self.streams.get_mut(other),
        };
        match (input, stream) {
            (Input::Written(bytes), Some(Stream { outlet: Some(outlet), .. })) => outlet.written(bytes),
            (Input::Written(_), _) => {}
            (Input::Disconnected, stream) => {
                if let Some(stream) = stream {
                    stream.outlet = None;
                }
                self.exchanges.remove(exchange.0);
                if self.post_to.is_some() {
                    self.close(now);
                }
            }
        }
    }

    /// Lets deadlines that have come take effect.
    pub fn handle_timeout(&mut self, now: Now) {
        self.touch(now);
        self.core.on_timeout(now);
        self.drain(now);
        for stream in self.streams.values_mut().chain([&mut self.standing]) {
            if let Some(outlet) = &mut stream.outlet {
                outlet.beat(&mut self.out, now);
            }
        }
    }

    /// The next thing to do.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<Action> {
        self.out.pop()
    }

    /// When to call `handle_timeout`, and why; `None` if nothing is waited for.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        let outlets = self.streams.values().chain([&self.standing]).filter_map(|stream| stream.outlet.as_ref());
        let beat = outlets.filter_map(Outlet::due).min().map(|at| (at, TimerKind::KeepAlive));
        let own = self.core.poll_timeout();
        self.out.deadline(match (beat, own) {
            (Some(beat), Some(own)) => Some(if beat.0 < own.0 { beat } else { own }),
            (beat, own) => beat.or(own),
        })
    }

    /// Whether the session is over: only its queue is left.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.core.is_closed()
    }

    /// Answers an invocation. The slot is used up, whatever comes of it; see
    /// [`Server::reply`](crate::server::Server::reply).
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`](crate::error::Misuse::SlotNotOpen).
    pub fn reply(&mut self, now: Now, slot: ReplySlot, reply: Reply) -> Result<(), Error> {
        self.touch(now);
        let done = self.core.reply(now, slot, reply);
        self.drain(now);
        done
    }

    /// Ends the request of a slot without an answer of the application: its handler is gone.
    pub fn abandon(&mut self, now: Now, slot: ReplySlot) {
        // A slot that is answered already has nothing left to abandon.
        let _ = self.reply(now, slot, Reply::Failed);
    }

    /// Reports how far the request of `slot` has got.
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`](crate::error::Misuse::SlotNotOpen).
    pub fn progress(&mut self, now: Now, slot: SlotId, progress: &Progress) -> Result<Sent, Error> {
        self.touch(now);
        let full = self.is_full(Some(slot));
        let sent = self.core.progress(now, slot, progress, full);
        self.drain(now);
        sent
    }

    /// Sends a log message: for the request of `slot`, or for the session as a whole.
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`](crate::error::Misuse::SlotNotOpen).
    pub fn log(&mut self, now: Now, slot: Option<SlotId>, message: &LogMessage) -> Result<Sent, Error> {
        self.touch(now);
        let full = self.is_full(slot);
        let sent = self.core.log(now, slot, message, full);
        self.drain(now);
        sent
    }

    /// Sends a notification of a method that is not the protocol's, or, for a gateway, of one that is: with the
    /// request of `slot`, or for the session as a whole.
    ///
    /// # Errors
    /// [`Misuse::SlotNotOpen`](crate::error::Misuse::SlotNotOpen), [`Misuse::Closed`](crate::error::Misuse::Closed),
    /// or params that are no object.
    pub fn notify(&mut self, now: Now, slot: Option<SlotId>, method: &str, params: Option<&Json>) -> Result<(), Error> {
        self.touch(now);
        self.core.notify(now, slot, method, params)?;
        self.drain(now);
        Ok(())
    }

    /// Sends a request to the client: with the request of `slot`, or on the stream that it listens on. See
    /// [`Server::request`](crate::server::Server::request).
    ///
    /// # Errors
    /// As there; and [`Misuse::WrongState`](crate::error::Misuse::WrongState) where answers are JSON alone.
    pub fn request(
        &mut self,
        now: Now,
        slot: Option<SlotId>,
        method: &str,
        params: Option<&Json>,
        timeout: Option<Duration>,
    ) -> Result<CallId, Error> {
        self.touch(now);
        let call = self.core.request(now, slot, method, params, timeout);
        self.drain(now);
        call
    }

    /// Withdraws a request: the client is told, and no answer is delivered.
    ///
    /// # Errors
    /// [`Misuse::CallNotOpen`](crate::error::Misuse::CallNotOpen).
    pub fn cancel_request(&mut self, now: Now, call: CallId, reason: Option<&str>) -> Result<(), Error> {
        self.touch(now);
        let done = self.core.cancel_request(now, call, reason);
        self.drain(now);
        done
    }

    /// Announces that an elicitation by URL has ended (2025-11-25 only; elsewhere nothing is sent).
    pub fn elicitation_complete(&mut self, now: Now, elicitation_id: &str) -> Sent {
        self.touch(now);
        let sent = self.core.elicitation_complete(now, elicitation_id);
        self.drain(now);
        sent
    }

    /// Ends the connection of the request of `slot`, which goes on: the client comes back for the rest. It does so
    /// since 2025-11-25, and where a replay store keeps the rest for it; elsewhere nothing happens.
    pub fn close_stream(&mut self, now: Now, slot: SlotId) -> Sent {
        self.touch(now);
        let (Some(retry), Some(origin)) = (self.primes(), self.core.origin_of(slot)) else { return Sent::NotWanted };
        let outlet = self.streams.get_mut(origin).and_then(|stream| stream.outlet.take());
        let Some(mut outlet) = outlet else { return Sent::NotWanted };
        self.exchanges.remove(outlet.exchange().0);
        outlet.leave(&mut self.out, now, retry);
        Sent::Yes
    }

    /// Tells everybody that something has changed, by way of [`Action::Publish`].
    pub fn publish(&mut self, now: Now, event: Event) {
        self.touch(now);
        self.out.push(Action::Publish(event));
    }

    /// An event that the endpoint has led here. The answer says whether this session wants to hear it.
    pub fn deliver(&mut self, now: Now, event: &Event) -> Sent {
        self.touch(now);
        let sent = self.core.publish(now, event);
        self.drain(now);
        sent
    }

    /// Serves new requests by another definition, and tells the client which lists have changed.
    pub fn replace_definition(&mut self, now: Now, definition: Arc<Definition>) {
        self.touch(now);
        self.core.replace_definition(now, definition);
        self.drain(now);
    }

    /// The server ends: the standing stream ends. Requests in flight go on.
    pub fn shutdown(&mut self, now: Now) {
        self.touch(now);
        if let Some(mut outlet) = self.standing.outlet.take() {
            self.exchanges.remove(outlet.exchange().0);
            outlet.finish(&mut self.out);
        }
    }

    /// Ends the session: every stream ends, what is not answered is cancelled.
    pub fn close(&mut self, now: Now) {
        self.touch(now);
        self.core.close(now);
        self.drain(now);
    }

    fn touch(&mut self, now: Now) {
        self.core.touch(now);
        self.out.touch(now);
    }

    /// Whether the client reads the stream of a slot, or the standing one, too slowly.
    fn is_full(&mut self, slot: Option<SlotId>) -> bool {
        let stream = match slot {
            None => Some(&self.standing),
            Some(slot) => self.core.origin_of(slot).and_then(|origin| self.streams.get(origin)),
        };
        let outlet = stream.and_then(|stream| stream.outlet.as_ref());
        outlet.is_some_and(|outlet| outlet.unwritten() > self.core.definition().limits().output_bytes)
    }
}
