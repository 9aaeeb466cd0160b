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

use std::collections::BTreeMap;
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

/// What is kept for a client that does not listen, where nothing is kept for replay.
const PENDING: (usize, usize) = (64, 256 << 10);

/// A request about a legacy session, judged as far as its head and its body alone tell.
#[derive(Debug)]
pub struct Request {
    pub(super) kind: RequestKind,
    pub(super) kept: Kept,
}

#[derive(Debug)]
pub(super) enum RequestKind {
    Delete,
    Get,
    /// The `initialize` that has opened the session.
    Opened,
    /// A message, and a seed in case it is served by itself after all.
    Posted(Box<Message>, Seed),
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
    pub(super) streams: BTreeMap<u64, Stream>,
    pub(super) standing: Stream,
    /// The last event of the standing stream that went out.
    pub(super) delivered: u64,
    pub(super) log: Log,
    /// Which stream an open exchange carries.
    exchanges: BTreeMap<ExchangeId, u64>,
    pub(super) last_exchange: u64,
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
            streams: BTreeMap::new(),
            standing: Stream::default(),
            delivered: 0,
            log: Log::new(events, bytes),
            exchanges: BTreeMap::new(),
            last_exchange: 0,
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
        session.core.set_sender(kept.sender.clone());
        session.last_exchange = 1;
        session.core.on_message(now, message, session.last_exchange);
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
            Some(Response::refused_head(404, "the session has ended"))
        } else if self.exchanges.len() >= self.core.definition().limits().session_streams {
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
            RequestKind::Get => self.listen(now, exchange, &kept.last_event),
            RequestKind::Posted(message, _) => self.post(now, exchange, kept, *message),
            // The endpoint answers these itself.
            RequestKind::Delete | RequestKind::Opened => {
                self.out.push(Action::Respond { exchange, response: Response::ended() });
            }
        }
        self.drain(now);
        exchange
    }

    fn begin(&mut self, now: Now, exchange: ExchangeId) {
        let mut outlet = Outlet::new(now, exchange, self.keep_alive);
        if self.json_answers {
            outlet.stays_json();
        }
        self.streams.insert(exchange.0, Stream { outlet: Some(outlet), ..Stream::default() });
        self.exchanges.insert(exchange, exchange.0);
    }

    fn post(&mut self, now: Now, exchange: ExchangeId, kept: Kept, message: Message) {
        self.core.set_sender(kept.sender);
        match message {
            Message::Request { .. } | Message::Batch(_) => {
                self.begin(now, exchange);
                self.core.on_message(now, message, exchange.0);
                self.drain(now);
                self.prime(now, exchange.0);
            }
            message => {
                self.out.push(Action::Respond { exchange, response: Response::accepted() });
                self.core.on_message(now, message, exchange.0);
            }
        }
    }

    /// Whether streams begin with an event that says nothing.
    fn primes(&self) -> Option<Duration> {
        let retry = self.replay?.retry;
        (!self.json_answers && self.core.session_version()? >= Version::V2025_11_25).then_some(retry)
    }

    /// Opens the stream of a request that is not answered at once.
    fn prime(&mut self, now: Now, origin: u64) {
        let Some(retry) = self.primes() else { return };
        let Some(stream) = self.streams.get_mut(&origin) else { return };
        let Some(outlet) = stream.outlet.as_mut().filter(|outlet| outlet.is_waiting()) else { return };
        stream.last += 1;
        let id = EventId { stream: origin, number: stream.last };
        outlet.prime(&mut self.out, now, &id.to_string(), retry);
    }

    /// A `GET`: the standing stream, or one that was lost.
    fn listen(&mut self, now: Now, exchange: ExchangeId, last_event: &Single<Option<EventId>>) {
        let resumed = match last_event {
            _ if self.replay.is_none() => None,
            Single::Absent => None,
            Single::One(Some(id)) if self.resumable(*id) => Some(*id),
            Single::One(_) | Single::Many => {
                let response = Response::refused_head(400, "the event is not known, or not any more");
                return self.out.push(Action::Respond { exchange, response });
            }
        };
        let mut outlet = Outlet::new(now, exchange, self.keep_alive);
        outlet.open(&mut self.out, now);
        let from = resumed.unwrap_or(EventId { stream: STANDING, number: self.delivered });
        let mut sent = 0;
        for event in self.log.after(from.stream, from.number) {
            let id = self.replay.map(|_| event.id.to_string());
            outlet.event(&mut self.out, now, id.as_deref(), &event.frame);
            sent = event.id.number;
        }
        if from.stream == STANDING {
            self.delivered = self.delivered.max(sent);
            if self.replay.is_none() {
                self.log.forget(STANDING);
            }
        }
        let primes = self.primes().filter(|_| resumed.is_none() && sent == 0);
        let stream = match from.stream {
            STANDING => Some(&mut self.standing),
            other => self.streams.get_mut(&other),
        };
        let Some(stream) = stream else { return outlet.finish(&mut self.out) };
        if let Some(retry) = primes {
            stream.last += 1;
            self.delivered = stream.last;
            let id = EventId { stream: from.stream, number: stream.last };
            outlet.prime(&mut self.out, now, &id.to_string(), retry);
        }
        if let Some(mut old) = stream.outlet.take() {
            self.exchanges.remove(&old.exchange());
            old.finish(&mut self.out);
        }
        if stream.done {
            return outlet.finish(&mut self.out);
        }
        stream.outlet = Some(outlet);
        self.exchanges.insert(exchange, from.stream);
    }

    /// Whether all that came after an event can be sent again. What was missed of the standing stream is no loss to
    /// any request.
    fn resumable(&self, id: EventId) -> bool {
        match id.stream {
            STANDING => id.number <= self.standing.last,
            stream => {
                self.streams.get(&stream).is_some_and(|stream| stream.lost <= id.number && id.number <= stream.last)
            }
        }
    }

    /// Says what happened on an exchange. A lost connection does not end the request that came by it.
    pub fn handle(&mut self, now: Now, exchange: ExchangeId, input: Input) {
        self.touch(now);
        let Some(stream) = self.exchanges.get(&exchange) else { return };
        let stream = match *stream {
            STANDING => Some(&mut self.standing),
            other => self.streams.get_mut(&other),
        };
        match (input, stream) {
            (Input::Written(bytes), Some(Stream { outlet: Some(outlet), .. })) => outlet.written(bytes),
            (Input::Written(_), _) => {}
            (Input::Disconnected, stream) => {
                if let Some(stream) = stream {
                    stream.outlet = None;
                }
                self.exchanges.remove(&exchange);
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
        let outlet = self.streams.get_mut(&origin).and_then(|stream| stream.outlet.take());
        let Some(mut outlet) = outlet else { return Sent::NotWanted };
        self.exchanges.remove(&outlet.exchange());
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
            Some(slot) => self.core.origin_of(slot).and_then(|origin| self.streams.get(&origin)),
        };
        let outlet = stream.and_then(|stream| stream.outlet.as_ref());
        outlet.is_some_and(|outlet| outlet.unwritten() > self.core.definition().limits().output_bytes)
    }

    // ---- What the engine says.

    fn drain(&mut self, now: Now) {
        while let Some(out) = self.core.take() {
            match out {
                Out::Frame(frame, Route::Answer(origin, fate)) => self.answer(now, origin, frame, fate),
                Out::Frame(frame, Route::Related(origin, request)) => self.related(now, origin, frame, request),
                Out::Frame(frame, Route::Standing(_)) => self.stand(now, frame),
                Out::Ended(origin) => self.ended(origin),
                Out::Event(Said::Closed(closed)) => self.closed(closed),
                Out::Event(said) => {
                    if let Some(action) = Action::of(said) {
                        self.out.push(action);
                    }
                }
                // The legacy era has none.
                Out::Listen(..) => {}
            }
        }
    }

    /// The answer to a request: alone, or as the last event of its stream.
    fn answer(&mut self, now: Now, origin: u64, frame: Bytes, fate: Fate) {
        // The answer to `initialize` names the session, and comes before there is a revision to know events by.
        let opens = origin == 1 && self.streams.len() == 1 && self.last_exchange == 1;
        if !opens && !matches!(fate, Fate::Refused(_)) {
            self.prime(now, origin);
        }
        let Some(stream) = self.streams.get_mut(&origin) else { return };
        if let Some(outlet) = stream.outlet.as_mut().filter(|outlet| outlet.is_waiting()) {
            let mut response = Response::json(legacy_status(fate), frame);
            if opens && fate == Fate::Result {
                response = response.in_session(self.id.to_text());
            }
            outlet.respond(&mut self.out, response);
            self.exchanges.remove(&ExchangeId(origin));
            self.streams.remove(&origin);
            return;
        }
        self.event(now, origin, frame);
        self.complete(origin);
    }

    /// A request has ended without an answer.
    fn ended(&mut self, origin: u64) {
        let outlet = self.streams.get_mut(&origin).and_then(|stream| stream.outlet.as_mut());
        if let Some(outlet) = outlet.filter(|outlet| outlet.is_waiting()) {
            outlet.respond(&mut self.out, Response::accepted());
        }
        self.complete(origin);
    }

    /// Nothing more comes on a stream.
    fn complete(&mut self, origin: u64) {
        let Some(stream) = self.streams.get_mut(&origin) else { return };
        if let Some(mut outlet) = stream.outlet.take() {
            self.exchanges.remove(&outlet.exchange());
            outlet.finish(&mut self.out);
        }
        stream.done = true;
        if stream.kept == 0 {
            self.streams.remove(&origin);
        }
    }

    /// What belongs to a request. Where it cannot be delivered, a question has no answer.
    fn related(&mut self, now: Now, origin: u64, frame: Bytes, request: Option<i64>) {
        let reachable = self.streams.get(&origin).is_some_and(|stream| stream.outlet.is_some());
        if !reachable && self.replay.is_none() {
            self.lost();
            if let Some(id) = request {
                self.core.request_gone(now, id);
            }
            return;
        }
        self.event(now, origin, frame);
        self.cut_if_slow(now, origin);
    }

    /// Sends a frame on the stream of a request, and keeps it where that is wanted.
    fn event(&mut self, now: Now, origin: u64, frame: Bytes) {
        let Some(stream) = self.streams.get_mut(&origin) else { return };
        let Some(_) = self.replay else {
            match &mut stream.outlet {
                Some(outlet) => outlet.event(&mut self.out, now, None, &frame),
                None => self.lost(),
            }
            return;
        };
        stream.last += 1;
        stream.kept += 1;
        let id = EventId { stream: origin, number: stream.last };
        if let Some(outlet) = &mut stream.outlet {
            outlet.event(&mut self.out, now, Some(&id.to_string()), &frame);
        }
        self.keep(Stored { id, frame });
    }

    /// What belongs to no request: to the client that listens, or kept until it does.
    fn stand(&mut self, now: Now, frame: Bytes) {
        self.standing.last += 1;
        let id = EventId { stream: STANDING, number: self.standing.last };
        let text = self.replay.map(|_| id.to_string());
        if let Some(outlet) = &mut self.standing.outlet {
            outlet.event(&mut self.out, now, text.as_deref(), &frame);
            self.delivered = id.number;
            if self.replay.is_none() {
                return self.cut_if_slow(now, STANDING);
            }
        }
        self.keep(Stored { id, frame });
        self.cut_if_slow(now, STANDING);
    }

    fn keep(&mut self, event: Stored) {
        let streams = &mut self.streams;
        self.log.push(event, |oldest| {
            let Some(stream) = streams.get_mut(&oldest.stream) else { return };
            stream.lost = oldest.number;
            stream.kept = stream.kept.saturating_sub(1);
            if stream.done && stream.kept == 0 {
                streams.remove(&oldest.stream);
            }
        });
    }

    /// Ends a connection whose client reads so slowly that twice the bound waits for it.
    fn cut_if_slow(&mut self, now: Now, stream: u64) {
        let bound = self.core.definition().limits().output_bytes;
        let stream = match stream {
            STANDING => &mut self.standing,
            other => match self.streams.get_mut(&other) {
                Some(stream) => stream,
                None => return,
            },
        };
        let slow = stream.outlet.as_ref().is_some_and(|outlet| outlet.unwritten() > bound.saturating_mul(2));
        let Some(mut outlet) = stream.outlet.take_if(|_| slow) else { return };
        self.exchanges.remove(&outlet.exchange());
        match self.replay {
            Some(replay) => outlet.leave(&mut self.out, now, replay.retry),
            None => outlet.finish(&mut self.out),
        }
        let kind = DiagnosticKind::Limit(Bound::OutputBytes);
        let text = Error::limit(Bound::OutputBytes, bound).to_string();
        self.out.push(Action::Diagnostic(Diagnostic::new(kind, text)));
    }

    #[cold]
    fn lost(&mut self) {
        let text = "a message was lost: its client is gone, and nothing is kept for replay";
        self.out.push(Action::Diagnostic(Diagnostic::new(DiagnosticKind::Muted, text)));
    }

    fn closed(&mut self, closed: Closed) {
        for stream in self.streams.values_mut().chain([&mut self.standing]) {
            if let Some(mut outlet) = stream.outlet.take() {
                if outlet.is_waiting() {
                    outlet.respond(&mut self.out, Response::refused_head(404, "the session has ended"));
                }
                outlet.finish(&mut self.out);
            }
        }
        self.streams.clear();
        self.exchanges.clear();
        self.out.push(Action::Closed(closed));
    }
}
