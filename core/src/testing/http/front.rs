//! What a front does for a server of Streamable HTTP, without sockets.
//!
//! ```text
//!   begin(head) ──▶ body(bytes)… ──▶ end ──▶ machines ──Respond, Chunk, Finish──▶ poll(ask): Head, Body…, End
//!                      disconnect(ask) ──▶      │
//!                                               └──Invoke, Answered, Cancelled…──▶ next_event()
//! ```
//!
//! Whatever a test does, the front holds the machines to what they promise: a request is answered once, a stream has
//! its chunks between its head and its one end, nothing comes for an exchange that is over, and no action waits while
//! a machine says that it waits for nothing. What is left to the test: the handlers, the clock, and when what was said
//! is read ([`HttpFront::poll`]): a test that does not read is a client that does not.

mod inside;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::error::Error;
use crate::http::Headers;
use crate::http::client::Fetch;
use crate::http::server::{
    Action, Admitted, Body, Endpoint, Exchange, ExchangeId, Head, Input, Intake, Judged, Options, Request, Response,
    Routed, Service, Session, SessionKey,
};
use crate::ids::{CallId, ReplySlot, SlotId};
use crate::json::Json;
use crate::machine::{Mono, Now, TimerKind};
use crate::rng::{Rng, Seed};
use crate::server::{Definition, Event, LogMessage, Progress, Reply, Sent};

/// A request that the front has taken, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(u64);

impl AskId {
    /// The request as a number.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        self.0
    }

    /// The inverse of [`AskId::to_u64`].
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }
}

/// Which machine serves a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HttpMachine {
    /// An exchange that stands alone.
    Exchange(u64),
    /// A legacy session.
    Session(u64),
}

/// The head of a request, and who sends it.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers.
    pub headers: Headers,
    /// The principal that the front has authenticated.
    pub principal: Option<Arc<str>>,
    /// The authority of a request of HTTP/2, or of one in absolute form.
    pub authority: Option<String>,
}

impl HttpRequest {
    /// A request to the host `localhost`.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        let headers = [("host", "localhost")].into_iter().collect();
        Self { method: method.to_owned(), target: target.to_owned(), headers, principal: None, authority: None }
    }

    /// What a client wants to be sent, as it arrives at its server.
    #[must_use]
    pub fn of(fetch: &Fetch) -> Self {
        let rest = fetch.url.split_once("://").map_or(&*fetch.url, |(_, rest)| rest);
        let at = rest.find('/').unwrap_or(rest.len());
        let (host, target) = rest.split_at(at);
        let mut headers = fetch.headers.clone();
        headers.push("host", Bytes::copy_from_slice(host.as_bytes()));
        let target = if target.is_empty() { "/" } else { target };
        Self { headers, ..Self::new(fetch.method.as_str(), target) }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<Bytes>) -> Self {
        self.headers.push(name.to_owned(), value);
        self
    }
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpPiece {
    /// The head.
    Head {
        /// The status.
        status: u16,
        /// The headers.
        headers: Headers,
    },
    /// A part of the body.
    Body(Bytes),
    /// The body is whole.
    End,
}

/// A server of Streamable HTTP without sockets. See the module's documentation.
pub struct HttpFront {
    service: Arc<Service>,
    endpoint: Endpoint<u64, u64>,
    seeds: Rng,
    exchanges: BTreeMap<u64, Exchange>,
    sessions: BTreeMap<u64, (SessionKey, Session)>,
    asks: BTreeMap<AskId, Ask>,
    routes: BTreeMap<(HttpMachine, ExchangeId), AskId>,
    events: VecDeque<(HttpMachine, Action)>,
    last: u64,
    now: Now,
}

struct Ask {
    intake: Option<Intake>,
    route: Option<(HttpMachine, ExchangeId)>,
    /// Which machine it has come to, whether that is done with it or not.
    served: Option<HttpMachine>,
    /// Its client reads nothing.
    stalled: bool,
    state: State,
    out: VecDeque<HttpPiece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Streaming,
    Over,
}

impl HttpFront {
    /// A server of this definition. Its seeds are fixed, which only a test may do.
    #[must_use]
    pub fn new(definition: impl Into<Arc<Definition>>, options: Options) -> Self {
        let service = Arc::new(Service::new(definition.into(), options));
        let mut endpoint = Endpoint::new(Arc::clone(&service), Seed([11; 32]));
        Self {
            seeds: Rng::new(endpoint.seed()),
            endpoint,
            service,
            exchanges: BTreeMap::new(),
            sessions: BTreeMap::new(),
            asks: BTreeMap::new(),
            routes: BTreeMap::new(),
            events: VecDeque::new(),
            last: 0,
            now: Now::default(),
        }
    }

    // ---- Requests.

    /// The head of a request. The body follows, if [`HttpFront::wants_body`] says so.
    pub fn begin(&mut self, now: Now, request: &HttpRequest) -> AskId {
        self.now = now;
        let ask = AskId(self.number());
        let state = State::Waiting;
        let fresh = Ask { intake: None, route: None, served: None, stalled: false, state, out: VecDeque::new() };
        self.asks.insert(ask, fresh);
        let mut head = Head::new(&request.method, &request.target);
        for (name, value) in request.headers.iter() {
            head.header(name, value);
        }
        if let Some(authority) = &request.authority {
            head = head.authority(authority);
        }
        if let Some(principal) = &request.principal {
            head = head.principal(Arc::clone(principal));
        }
        match self.service.judge(head) {
            Judged::Refused(response) => self.respond(ask, response),
            Judged::Session(request) => self.admit(ask, request),
            Judged::Post(intake) => {
                if let Some(ask) = self.asks.get_mut(&ask) {
                    ask.intake = Some(intake);
                }
            }
        }
        ask
    }

    /// Whether the body of a request is still read.
    #[must_use]
    pub fn wants_body(&self, ask: AskId) -> bool {
        self.asks.get(&ask).is_some_and(|ask| ask.intake.is_some())
    }

    /// A part of the body.
    pub fn body(&mut self, now: Now, ask: AskId, bytes: Bytes) {
        self.now = now;
        let Some(intake) = self.asks.get_mut(&ask).and_then(|ask| ask.intake.as_mut()) else { return };
        if let Err(response) = intake.push(bytes) {
            self.asks.entry(ask).and_modify(|ask| ask.intake = None);
            self.respond(ask, *response);
        }
    }

    /// The body is whole.
    pub fn end(&mut self, now: Now, ask: AskId) {
        self.now = now;
        let Some(intake) = self.asks.get_mut(&ask).and_then(|ask| ask.intake.take()) else { return };
        match intake.finish(&self.service, now, self.seeds.subseed()) {
            Routed::Answered(response) => self.respond(ask, response),
            Routed::Exchange(exchange) => self.exchange(ask, *exchange),
            Routed::Session(request) => self.admit(ask, request),
        }
    }

    /// The body does not come.
    pub fn give_up(&mut self, now: Now, ask: AskId) {
        self.now = now;
        if let Some(intake) = self.asks.get_mut(&ask).and_then(|ask| ask.intake.take()) {
            self.respond(ask, intake.give_up());
        }
    }

    /// The body breaks off.
    pub fn broken(&mut self, now: Now, ask: AskId) {
        self.now = now;
        if let Some(intake) = self.asks.get_mut(&ask).and_then(|ask| ask.intake.take()) {
            self.respond(ask, intake.broken());
        }
    }

    /// From here on the client of a request reads nothing: what [`HttpFront::poll`] gives is not reported as written.
    pub fn stall(&mut self, ask: AskId) {
        self.asks.entry(ask).and_modify(|ask| ask.stalled = true);
    }

    /// A whole request.
    pub fn ask(&mut self, now: Now, request: &HttpRequest, body: impl Into<Bytes>) -> AskId {
        let ask = self.begin(now, request);
        self.body(now, ask, body.into());
        self.end(now, ask);
        ask
    }

    /// The next part of an answer that has not been read. Reading is what tells the machine that it was written.
    pub fn poll(&mut self, now: Now, ask: AskId) -> Option<HttpPiece> {
        self.now = now;
        let entry = self.asks.get_mut(&ask)?;
        let piece = entry.out.pop_front()?;
        let route = entry.route;
        match (&piece, route) {
            (HttpPiece::End, _) => drop(self.asks.remove(&ask)),
            (HttpPiece::Body(bytes), Some((machine, exchange))) if !entry.stalled => {
                self.input(machine, exchange, Input::Written(bytes.len()));
            }
            _ => {}
        }
        Some(piece)
    }

    /// Everything of an answer that has not been read: status, body, and whether it is complete.
    pub fn read(&mut self, now: Now, ask: AskId) -> (Option<u16>, Vec<u8>, bool) {
        let (mut status, mut body) = (None, Vec::new());
        while let Some(piece) = self.poll(now, ask) {
            match piece {
                HttpPiece::Head { status: said, .. } => status = Some(said),
                HttpPiece::Body(bytes) => body.extend_from_slice(&bytes),
                HttpPiece::End => return (status, body, true),
            }
        }
        (status, body, false)
    }

    /// The client of a request goes away.
    pub fn disconnect(&mut self, now: Now, ask: AskId) {
        self.now = now;
        let Some(entry) = self.asks.remove(&ask) else { return };
        if let (Some((machine, exchange)), false) = (entry.route, entry.state == State::Over) {
            // Nothing may come for it from here on: the route is gone.
            self.routes.remove(&(machine, exchange));
            self.input(machine, exchange, Input::Disconnected);
            self.ended(machine);
        }
    }

    // ---- The application.

    /// The next thing that a machine wants of the application, oldest first.
    pub fn next_event(&mut self) -> Option<(HttpMachine, Action)> {
        self.events.pop_front()
    }

    /// Answers an invocation.
    ///
    /// # Errors
    /// As the machine's own `reply`; when the machine is gone.
    pub fn reply(&mut self, now: Now, machine: HttpMachine, slot: ReplySlot, reply: Reply) -> Result<(), Error> {
        self.with(
            now,
            machine,
            |exchange| exchange.reply(now, slot_of(&slot), reply.clone()),
            |session| session.reply(now, slot_of(&slot), reply.clone()),
        )
    }

    /// Reports how far a request has got.
    ///
    /// # Errors
    /// As the machine's own `progress`; when the machine is gone.
    pub fn progress(
        &mut self,
        now: Now,
        machine: HttpMachine,
        slot: SlotId,
        progress: &Progress,
    ) -> Result<Sent, Error> {
        self.with(
            now,
            machine,
            |exchange| exchange.progress(now, slot, progress),
            |session| session.progress(now, slot, progress),
        )
    }

    /// Sends a log message.
    ///
    /// # Errors
    /// As the machine's own `log`; when the machine is gone.
    pub fn log(
        &mut self,
        now: Now,
        machine: HttpMachine,
        slot: Option<SlotId>,
        message: &LogMessage,
    ) -> Result<Sent, Error> {
        self.with(now, machine, |exchange| exchange.log(now, slot, message), |session| session.log(now, slot, message))
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// As the machine's own `notify`; when the machine is gone.
    pub fn notify(
        &mut self,
        now: Now,
        machine: HttpMachine,
        slot: Option<SlotId>,
        method: &str,
        params: Option<&Json>,
    ) -> Result<(), Error> {
        self.with(
            now,
            machine,
            |exchange| exchange.notify(now, slot, method, params),
            |session| session.notify(now, slot, method, params),
        )
    }

    /// Sends a request to the client of a session.
    ///
    /// # Errors
    /// As [`Session::request`]; when the machine is gone, or no session.
    pub fn request(
        &mut self,
        now: Now,
        machine: HttpMachine,
        slot: Option<SlotId>,
        (method, params): (&str, Option<&Json>),
        timeout: Option<Duration>,
    ) -> Result<CallId, Error> {
        let act = |session: &mut Session| session.request(now, slot, method, params, timeout);
        self.with(now, machine, no_session, act)
    }

    /// Withdraws a request to the client of a session.
    ///
    /// # Errors
    /// As [`Session::cancel_request`]; when the machine is gone, or no session.
    pub fn cancel_request(
        &mut self,
        now: Now,
        machine: HttpMachine,
        call: CallId,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        self.with(now, machine, no_session, |session| session.cancel_request(now, call, reason))
    }

    /// Ends the connection of an invocation's request, which goes on.
    ///
    /// # Errors
    /// When the machine is gone, or no session.
    pub fn close_stream(&mut self, now: Now, machine: HttpMachine, slot: SlotId) -> Result<Sent, Error> {
        self.with(now, machine, no_session, |session| Ok(session.close_stream(now, slot)))
    }

    /// Tells everybody that something has changed.
    pub fn publish(&mut self, now: Now, event: &Event) {
        self.now = now;
        let sessions: Vec<u64> = self.endpoint.sessions().copied().collect();
        let listeners: Vec<u64> = self.endpoint.listeners(event).copied().collect();
        for place in sessions {
            if let Some((_, session)) = self.sessions.get_mut(&place) {
                let _ = session.deliver(now, event);
            }
            self.drain(HttpMachine::Session(place));
        }
        for place in listeners {
            if let Some(exchange) = self.exchanges.get_mut(&place) {
                let _ = exchange.deliver(now, event);
            }
            self.drain(HttpMachine::Exchange(place));
        }
    }

    /// Does something with a session that has no method here. `None` if there is none.
    pub fn session<R>(&mut self, now: Now, place: u64, act: impl FnOnce(&mut Session) -> R) -> Option<R> {
        self.now = now;
        let (_, session) = self.sessions.get_mut(&place)?;
        let done = act(session);
        self.drain(HttpMachine::Session(place));
        Some(done)
    }

    /// The sessions that live.
    pub fn sessions(&self) -> impl Iterator<Item = u64> {
        self.sessions.keys().copied()
    }

    /// The exchanges that stand alone and are not over.
    pub fn exchanges(&self) -> impl Iterator<Item = u64> {
        self.exchanges.keys().copied()
    }

    /// Which machine serves a request, or has served it; as long as its answer is not read to the end.
    #[must_use]
    pub fn served_by(&self, ask: AskId) -> Option<HttpMachine> {
        self.asks.get(&ask).and_then(|ask| ask.served)
    }

    /// Whether nothing more can come of a request: its answer was read to the end, or went with its session.
    #[must_use]
    pub fn is_gone(&self, ask: AskId) -> bool {
        !self.asks.contains_key(&ask)
    }

    /// Takes a session out, as a process does that gives it to another one: its machine and its open answers are gone.
    ///
    /// # Errors
    /// The bytes are those of [`Session::export`]; [`HttpFront::adopt`] takes them. `None` if it cannot travel now.
    pub fn release(&mut self, place: u64) -> Option<Bytes> {
        let exported = self.sessions.get(&place)?.1.export()?;
        let (key, _) = self.sessions.remove(&place)?;
        let _ = self.endpoint.remove(key);
        let machine = HttpMachine::Session(place);
        let gone: Vec<_> = self.routes.keys().filter(|(of, _)| *of == machine).copied().collect();
        for route in gone {
            if let Some(ask) = self.routes.remove(&route) {
                self.asks.remove(&ask);
            }
        }
        Some(exported)
    }

    /// Takes a session in.
    ///
    /// # Errors
    /// As [`Endpoint::import`].
    pub fn adopt(&mut self, now: Now, exported: &[u8]) -> Result<u64, Error> {
        self.now = now;
        let place = self.number();
        let mut made = None;
        let key = self.endpoint.import(now, exported, |_, session| {
            made = Some(session);
            place
        })?;
        if let Some(session) = made {
            self.sessions.insert(place, (key, session));
        }
        Ok(place)
    }

    /// Lets deadlines that have come take effect.
    pub fn handle_timeout(&mut self, now: Now) {
        self.now = now;
        for place in self.exchanges.keys().copied().collect::<Vec<_>>() {
            if let Some(exchange) = self.exchanges.get_mut(&place) {
                exchange.handle_timeout(now);
            }
            self.drain(HttpMachine::Exchange(place));
        }
        for place in self.sessions.keys().copied().collect::<Vec<_>>() {
            if let Some((_, session)) = self.sessions.get_mut(&place) {
                session.handle_timeout(now);
            }
            self.drain(HttpMachine::Session(place));
        }
        self.endpoint.handle_timeout(now);
        self.close_expired();
    }

    /// The earliest deadline of all machines.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        let exchanges = self.exchanges.values().filter_map(Exchange::poll_timeout);
        let sessions = self.sessions.values().filter_map(|(_, session)| session.poll_timeout());
        exchanges.chain(sessions).chain(self.endpoint.poll_timeout()).min()
    }

    /// The server ends: listen streams get their results, sessions are closed.
    pub fn shut_down(&mut self, now: Now) {
        self.now = now;
        for place in self.exchanges.keys().copied().collect::<Vec<_>>() {
            if let Some(exchange) = self.exchanges.get_mut(&place) {
                exchange.shutdown(now);
            }
            self.drain(HttpMachine::Exchange(place));
        }
        for place in self.sessions.keys().copied().collect::<Vec<_>>() {
            self.close(place);
        }
    }
}

impl std::fmt::Debug for HttpFront {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpFront")
            .field("exchanges", &self.exchanges.len())
            .field("sessions", &self.sessions.len())
            .field("asks", &self.asks.len())
            .finish_non_exhaustive()
    }
}

fn slot_of(slot: &ReplySlot) -> ReplySlot {
    ReplySlot::from_id(slot.id())
}

/// What only sessions do.
fn no_session<R>(_exchange: &mut Exchange) -> Result<R, Error> {
    Err(crate::error::Misuse::WrongState("the machine is no session").into())
}
