//! Clients and a server of Streamable HTTP in memory, on one clock that stands still unless the test moves it.
//!
//! ```text
//!   HttpClient ──Fetch──▶ flight ──delay──▶ HttpFront ──Invoke──▶ handler, or `front.next_event()`
//!       ▲  ▲                │ ◀──head, body, end── (cut into pieces, delayed, in order within one answer)
//!       │  └─ Failed ◀──────┤ lost before it is sent, or broken off in the middle: the server sees its client go
//!       └──── Abort ───────▶┘
//! ```
//!
//! Answers overtake each other as their delays have it: HTTP promises order within one answer only. A request may
//! arrive twice, as proxies make it that try again; nobody reads the answer to the other one. All faults are drawn
//! from the seed: the same test sees the same faults. Whatever a test does, the pair holds the clients to their
//! promises: a call ends once, and nothing comes for it afterwards.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::front::{AskId, HttpFront, HttpMachine, HttpPiece, HttpRequest};
use crate::client::{self, Answer, CallError, Config};
use crate::http::client::{Action, Endpoint, Fetch, FetchFailed, FetchId, HttpClient, Input, Unauthorized};
use crate::http::server::{self, Options};
use crate::ids::CallId;
use crate::machine::{Mono, Now, Unix};
use crate::rng::{Rng, Seed};
use crate::server::{Definition, Invocation};

/// Turns at one moment after which machines that still talk are taken for a loop.
const TURNS_MOST: usize = 100_000;

/// What connects clients with their server.
#[derive(Clone, Copy, Debug, Default)]
pub struct HttpLink {
    delay: Duration,
    jitter: Duration,
    split: Option<usize>,
    cut: Option<u32>,
    lose: Option<u32>,
    double: Option<u32>,
}

impl HttpLink {
    /// A link that carries everything at once, whole.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How long a request, or a piece of an answer, is on its way; and up to so much more, for each anew.
    #[must_use]
    pub const fn delay(mut self, delay: Duration, jitter: Duration) -> Self {
        (self.delay, self.jitter) = (delay, jitter);
        self
    }

    /// Cuts bodies into pieces of one to `most` bytes, in both directions.
    #[must_use]
    pub const fn split(mut self, most: usize) -> Self {
        self.split = Some(if most == 0 { 1 } else { most });
        self
    }

    /// Breaks an answer off before one in `n` of its pieces; the head and the end are pieces.
    #[must_use]
    pub const fn cut(mut self, n: u32) -> Self {
        self.cut = Some(n);
        self
    }

    /// Finds no connection for one in `n` requests.
    #[must_use]
    pub const fn lose(mut self, n: u32) -> Self {
        self.lose = Some(n);
        self
    }

    /// Lets one in `n` requests arrive twice.
    #[must_use]
    pub const fn double(mut self, n: u32) -> Self {
        self.double = Some(n);
        self
    }
}

/// A client of a pair.
#[derive(Debug)]
pub struct HttpPeer {
    /// The machine.
    pub client: HttpClient,
    /// What it wanted of its application and nobody has taken, oldest first.
    pub events: VecDeque<client::Action>,
    /// What it wants credentials for.
    pub unauthorized: Vec<Unauthorized>,
    /// Every request that it has made.
    pub fetches: usize,
    principal: Option<Arc<str>>,
    ended: BTreeSet<CallId>,
    closed: bool,
}

impl HttpPeer {
    /// Takes the outcome of a call, if it has ended.
    pub fn done(&mut self, call: CallId) -> Option<Result<Answer, CallError>> {
        let is_it = |event: &client::Action| matches!(event, client::Action::Done { call: done, .. } if *done == call);
        let at = self.events.iter().position(is_it)?;
        match self.events.remove(at) {
            Some(client::Action::Done { outcome, .. }) => Some(outcome),
            _ => None,
        }
    }
}

type Handler = Box<dyn FnMut(&mut HttpFront, Now, HttpMachine, Invocation)>;

/// Clients and a server in memory. See the module's documentation.
pub struct HttpPair {
    /// The server.
    pub front: HttpFront,
    /// The clients, in the order in which they were added.
    pub peers: Vec<HttpPeer>,
    /// The time. Move it with [`HttpPair::pass`].
    pub now: Now,
    /// What requests travel on from now on.
    pub link: HttpLink,
    rng: Rng,
    flights: BTreeMap<(usize, FetchId), Flight>,
    /// Requests that arrived a second time.
    ghosts: Vec<AskId>,
    handler: Option<Handler>,
    broken: usize,
}

/// A request on its way, and its answer.
struct Flight {
    fetch: Box<Fetch>,
    due: Mono,
    ask: Option<AskId>,
    pieces: VecDeque<(Mono, Option<HttpPiece>)>,
    last_due: Mono,
    told: bool,
}

impl HttpPair {
    /// A server that no client has reached yet. Seeds are fixed, which only a test may do.
    #[must_use]
    pub fn new(definition: impl Into<Arc<Definition>>, options: Options, seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self {
            front: HttpFront::new(definition, options),
            peers: Vec::new(),
            now: Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_800_000_000_000) },
            link: HttpLink::new(),
            rng: Rng::new(Seed(bytes)),
            flights: BTreeMap::new(),
            ghosts: Vec::new(),
            handler: None,
            broken: 0,
        }
    }

    /// Adds a client, which begins to connect. Answers its place in [`HttpPair::peers`].
    ///
    /// # Panics
    /// When the configuration or the endpoint makes no client.
    pub fn join(&mut self, config: Config, endpoint: Endpoint, principal: Option<&str>) -> usize {
        let made = HttpClient::over_http(config, endpoint);
        let mut client = made.unwrap_or_else(|error| panic!("the configuration makes no client: {error}"));
        client.connect(self.now).unwrap_or_else(|error| panic!("the client does not connect: {error}"));
        self.peers.push(HttpPeer {
            client,
            events: VecDeque::new(),
            unauthorized: Vec::new(),
            fetches: 0,
            principal: principal.map(Into::into),
            ended: BTreeSet::new(),
            closed: false,
        });
        self.peers.len() - 1
    }

    /// Sets what runs for every invocation from now on.
    pub fn serve(&mut self, handler: impl FnMut(&mut HttpFront, Now, HttpMachine, Invocation) + 'static) {
        self.handler = Some(Box::new(handler));
    }

    /// How many answers were broken off, or requests not sent.
    #[must_use]
    pub const fn broken(&self) -> usize {
        self.broken
    }

    /// Requests whose answers are not complete.
    #[must_use]
    pub fn open(&self) -> usize {
        self.flights.len()
    }

    /// Lets everything happen that happens now.
    ///
    /// # Panics
    /// When a machine breaks a promise, or the machines do not come to rest.
    pub fn drive(&mut self) {
        for _ in 0..TURNS_MOST {
            if !self.turn() {
                return;
            }
        }
        panic!("the machines do not come to rest");
    }

    /// Lets time pass, stopping wherever something is due.
    ///
    /// # Panics
    /// As [`HttpPair::drive`].
    pub fn pass(&mut self, time: Duration) {
        let end = self.now.mono.after(time);
        self.drive();
        while let Some(at) = self.next().filter(|at| *at <= end) {
            self.move_to(at);
        }
        self.move_to(end);
    }

    /// Lets time pass until `done` says so, or nothing is waited for, or so much time has passed.
    ///
    /// # Panics
    /// As [`HttpPair::drive`].
    pub fn run_until(&mut self, most: Duration, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now.mono.after(most);
        self.drive();
        loop {
            if done(self) {
                return true;
            }
            match self.next().filter(|at| *at <= end) {
                Some(at) => self.move_to(at),
                None => return false,
            }
        }
    }

    /// When something is due next.
    fn next(&self) -> Option<Mono> {
        let sent = self.flights.values().filter(|flight| flight.ask.is_none()).map(|flight| flight.due);
        let pieces = self.flights.values().filter_map(|flight| flight.pieces.front()).map(|(due, _)| *due);
        let clients = self.peers.iter().filter_map(|peer| peer.client.poll_timeout()).map(|(at, _)| at);
        let front = self.front.poll_timeout().map(|(at, _)| at);
        sent.chain(pieces).chain(clients).chain(front).min()
    }

    fn move_to(&mut self, at: Mono) {
        let step = self.now.mono.until(at);
        self.now.mono = self.now.mono.max(at);
        self.now.unix = Unix::from_millis(self.now.unix.as_millis() + step.as_millis() as u64);
        for peer in &mut self.peers {
            peer.client.handle_timeout(self.now);
        }
        self.front.handle_timeout(self.now);
        self.drive();
    }

    fn turn(&mut self) -> bool {
        let mut busy = false;
        for place in 0..self.peers.len() {
            busy |= self.obey(place);
        }
        busy |= self.arrive();
        if self.handler.is_some() {
            busy |= self.handle_events();
        }
        for ghost in std::mem::take(&mut self.ghosts) {
            let (.., over) = self.front.read(self.now, ghost);
            if !over {
                self.ghosts.push(ghost);
            }
        }
        busy | self.collect() | self.deliver()
    }

    /// Does what a client wants.
    fn obey(&mut self, place: usize) -> bool {
        let mut busy = false;
        while let Some(action) = self.peers[place].client.poll_action() {
            busy = true;
            let peer = &mut self.peers[place];
            match action {
                Action::Fetch(fetch) => {
                    peer.fetches += 1;
                    let due = self.later();
                    let flight = Flight { due, ask: None, pieces: VecDeque::new(), last_due: due, told: false, fetch };
                    let before = self.flights.insert((place, flight.fetch.id), flight);
                    assert!(before.is_none(), "the name of an exchange is used twice");
                }
                Action::Abort(fetch) => {
                    let ask = self.flights.remove(&(place, fetch)).and_then(|flight| flight.ask);
                    if let Some(ask) = ask {
                        self.front.disconnect(self.now, ask);
                    }
                }
                Action::Unauthorized(unauthorized) => peer.unauthorized.push(*unauthorized),
                Action::Event(event) => peer.hear(event),
            }
        }
        busy
    }

    /// Requests reach the server.
    fn arrive(&mut self) -> bool {
        let due = |flight: &Flight| flight.ask.is_none() && !flight.told && flight.due <= self.now.mono;
        let arrived: Vec<_> = self.flights.iter().filter(|(_, flight)| due(flight)).map(|(key, _)| *key).collect();
        for key in &arrived {
            if self.chance(self.link.lose) {
                self.fail(*key, FetchFailed::NotSent("no connection".into()));
                continue;
            }
            let ask = self.send(*key);
            if self.chance(self.link.double) {
                let ghost = self.send(*key);
                self.ghosts.extend(ghost);
            }
            if let Some(flight) = self.flights.get_mut(key) {
                flight.ask = ask;
            }
        }
        !arrived.is_empty()
    }

    fn send(&mut self, key: (usize, FetchId)) -> Option<AskId> {
        let flight = self.flights.get(&key)?;
        let mut request = HttpRequest::of(&flight.fetch);
        request.principal = self.peers[key.0].principal.clone();
        let mut body = flight.fetch.body.clone();
        let ask = self.front.begin(self.now, &request);
        while !body.is_empty() && self.front.wants_body(ask) {
            let length = self.piece(body.len());
            self.front.body(self.now, ask, body.split_to(length));
        }
        self.front.end(self.now, ask);
        Some(ask)
    }

    fn handle_events(&mut self) -> bool {
        let mut busy = false;
        while let Some((machine, action)) = self.front.next_event() {
            busy = true;
            if let (server::Action::Invoke(invocation), Some(handler)) = (action, &mut self.handler) {
                handler(&mut self.front, self.now, machine, *invocation);
            }
        }
        busy
    }

    /// What the server has said goes on its way.
    fn collect(&mut self) -> bool {
        let mut busy = false;
        let keys: Vec<_> = self.flights.keys().copied().collect();
        for key in keys {
            let Some(ask) = self.flights.get(&key).and_then(|flight| flight.ask) else { continue };
            while let Some(piece) = self.front.poll(self.now, ask) {
                busy = true;
                match piece {
                    HttpPiece::Body(mut bytes) => {
                        while !bytes.is_empty() {
                            let length = self.piece(bytes.len());
                            self.fly(key, HttpPiece::Body(bytes.split_to(length)));
                        }
                    }
                    piece => self.fly(key, piece),
                }
            }
        }
        busy
    }

    fn fly(&mut self, key: (usize, FetchId), piece: HttpPiece) {
        let due = self.later();
        let cut = self.chance(self.link.cut);
        let Some(flight) = self.flights.get_mut(&key) else { return };
        flight.last_due = flight.last_due.max(due);
        if cut {
            flight.pieces.push_back((flight.last_due, None));
        }
        flight.pieces.push_back((flight.last_due, Some(piece)));
    }

    /// What has come reaches the clients.
    fn deliver(&mut self) -> bool {
        let mut busy = false;
        let keys: Vec<_> = self.flights.keys().copied().collect();
        for key in keys {
            while let Some(flight) = self.flights.get_mut(&key) {
                if flight.pieces.front().is_none_or(|(due, _)| *due > self.now.mono) {
                    break;
                }
                busy = true;
                let fetch = key.1;
                let input = match flight.pieces.pop_front() {
                    Some((_, Some(HttpPiece::Head { status, headers }))) => Input::Head { fetch, status, headers },
                    Some((_, Some(HttpPiece::Body(bytes)))) => Input::Body { fetch, bytes },
                    Some((_, Some(HttpPiece::End))) => {
                        self.flights.remove(&key);
                        Input::End { fetch }
                    }
                    _ => {
                        self.fail(key, FetchFailed::Broken("the connection was cut".into()));
                        break;
                    }
                };
                self.feed(key.0, input);
            }
        }
        busy
    }

    /// An exchange breaks. The server sees its client go.
    fn fail(&mut self, key: (usize, FetchId), reason: FetchFailed) {
        self.broken += 1;
        if let Some(ask) = self.flights.remove(&key).and_then(|flight| flight.ask) {
            self.front.disconnect(self.now, ask);
        }
        self.feed(key.0, Input::Failed { fetch: key.1, reason });
    }

    fn feed(&mut self, place: usize, input: Input) {
        // A machine that has failed says so at every input; what it owes comes as actions.
        let _ = self.peers[place].client.handle(self.now, input);
        self.obey(place);
    }

    fn later(&mut self) -> Mono {
        let jitter = u64::try_from(self.link.jitter.as_nanos()).unwrap_or(u64::MAX);
        let more = if jitter == 0 { 0 } else { self.draw() % jitter };
        self.now.mono.after(self.link.delay).after(Duration::from_nanos(more))
    }

    fn piece(&mut self, length: usize) -> usize {
        match self.link.split {
            Some(most) => (1 + self.draw() as usize % most).min(length),
            None => length,
        }
    }

    fn chance(&mut self, one_in: Option<u32>) -> bool {
        one_in.is_some_and(|n| self.draw().is_multiple_of(u64::from(n.max(1))))
    }

    fn draw(&mut self) -> u64 {
        u64::from_le_bytes(self.rng.bytes())
    }
}

impl HttpPeer {
    fn hear(&mut self, event: client::Action) {
        assert!(!self.closed, "an event after the last: {event:?}");
        match &event {
            client::Action::Done { call, .. } => assert!(self.ended.insert(*call), "{call:?} has ended twice"),
            client::Action::Progress { call, .. } | client::Action::Listening { call, .. } => {
                assert!(!self.ended.contains(call), "{call:?} has ended, and goes on: {event:?}");
            }
            client::Action::Notified { subscription: Some(call), .. } => {
                assert!(!self.ended.contains(call), "{call:?} has ended, and goes on: {event:?}");
            }
            client::Action::Closed(_) => self.closed = true,
            client::Action::Write(_) => panic!("a client of HTTP writes a frame"),
            _ => {}
        }
        self.events.push_back(event);
    }
}

impl std::fmt::Debug for HttpPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpPair")
            .field("front", &self.front)
            .field("peers", &self.peers.len())
            .field("flights", &self.flights.len())
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}
