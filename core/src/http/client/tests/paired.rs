//! Our client and our server over a link that delays, splits and cuts: in a legacy session nothing is lost and nothing
//! comes twice; in the modern era what is cut ends; everything ends once.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::http::server::{
    self, Admitted, Body, Endpoint as Registry, Exchange, ExchangeId, Head, Judged, Options, Replay, Response, Routed,
    Service, Session, SessionKey,
};
use crate::model::{CallToolResult, Tool};
use crate::rng::{Rng, Seed};
use crate::server::{Call, Definition, Event, Invocation, Progress, Reply, Sent};

/// Which machine of the server does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Exchange(usize),
    Session(usize),
}

/// One answer on its way.
#[derive(Debug, Default)]
struct Link {
    fetch: u64,
    from: Option<(Who, ExchangeId)>,
    head: Option<(u16, Vec<(String, String)>)>,
    bytes: Vec<u8>,
    done: bool,
    head_given: bool,
    /// An event has arrived, so that the stream can be resumed if its server keeps events.
    primed: bool,
    is_request: bool,
}

/// A call of the client, as its handler on the server knows it.
#[derive(Debug, Default)]
struct Told {
    progress: f64,
    sent: usize,
    heard: usize,
    cut: bool,
}

struct World {
    driver: Driver,
    service: Arc<Service>,
    registry: Registry<usize, usize>,
    seeds: Rng,
    exchanges: Vec<Exchange>,
    sessions: Vec<Session>,
    keys: BTreeMap<usize, SessionKey>,
    links: Vec<Link>,
    running: Vec<(Who, Invocation, String)>,
    calls: BTreeMap<CallId, String>,
    told: BTreeMap<String, Told>,
    published: usize,
    noted: usize,
    made: usize,
    cancelled: usize,
}

impl World {
    fn new(version: Version) -> Self {
        let definition = Definition::builder("s", "1").tool(Tool::new("echo")).build().unwrap();
        let replay = Replay { retry: millis(50), ..Replay::default() };
        let service = Arc::new(Service::new(Arc::new(definition), Options::default().replay(replay)));
        let mut registry = Registry::new(Arc::clone(&service), Seed([5; 32]));
        let mut driver = Driver::new(config().connect(Connect::Pinned(version)));
        driver.client.connect(driver.now).unwrap();
        let mut world = Self {
            driver,
            service,
            seeds: Rng::new(registry.seed()),
            registry,
            exchanges: Vec::new(),
            sessions: Vec::new(),
            keys: BTreeMap::new(),
            links: Vec::new(),
            running: Vec::new(),
            calls: BTreeMap::new(),
            told: BTreeMap::new(),
            published: 0,
            noted: 0,
            made: 0,
            cancelled: 0,
        };
        world.settle();
        world
    }

    // ---- The client.

    fn call(&mut self) {
        self.made += 1;
        let name = format!("call-{}", self.made);
        let arguments = Json::from(json!({"name": name}));
        let options = CallOptions::new().progress().idle(None).hard(None);
        let call = self.driver.call_with(Request::call_tool("echo", &arguments), options);
        self.calls.insert(call, name.clone());
        self.told.insert(name, Told::default());
        self.look();
    }

    /// Takes what the client did.
    fn look(&mut self) {
        self.driver.drain();
        for aborted in std::mem::take(&mut self.driver.aborted) {
            if let Some(at) = self.links.iter().position(|link| link.fetch == aborted.to_u64()) {
                self.hang_up(at);
            }
        }
        for fetch in std::mem::take(&mut self.driver.fetches) {
            self.serve(&fetch);
        }
        for event in std::mem::take(&mut self.driver.events) {
            match event {
                client::Action::Connected(_) => {}
                client::Action::Progress { call, .. } => {
                    let name = &self.calls[&call];
                    self.told.get_mut(name).unwrap().heard += 1;
                }
                client::Action::Notified { .. } => self.noted += 1,
                client::Action::Done { call, outcome } => {
                    let name = self.calls.remove(&call).expect("a call ends once");
                    let told = &self.told[&name];
                    match outcome {
                        Ok(answer) => {
                            let result: CallToolResult = answer.parse().unwrap();
                            assert_eq!(result.joined_text(), name, "no answer goes to another call");
                            assert_eq!(told.heard, told.sent, "no progress is lost or comes twice");
                        }
                        Err(error) => assert!(told.cut, "{name}: {error}"),
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }

    // ---- The server.

    fn serve(&mut self, fetch: &Fetch) {
        let at = self.links.len();
        let is_request = fetch.method == Method::Post && !fetch.rpc_id().is_null();
        self.links.push(Link { fetch: fetch.id.to_u64(), is_request, ..Link::default() });
        let mut head = Head::new(fetch.method.as_str(), "/mcp");
        head.header("host", b"localhost");
        for (name, value) in fetch.headers.iter() {
            head.header(name, value);
        }
        match self.service.judge(head) {
            Judged::Refused(response) => self.respond(at, response),
            Judged::Session(request) => self.admit(at, request),
            Judged::Post(mut intake) => {
                intake.push(fetch.body.clone()).unwrap();
                match intake.finish(&self.service, self.driver.now, self.seeds.subseed()) {
                    Routed::Answered(response) => self.respond(at, response),
                    Routed::Exchange(exchange) => self.exchange(at, *exchange),
                    Routed::Session(request) => self.admit(at, request),
                }
            }
        }
    }

    fn exchange(&mut self, at: usize, exchange: Exchange) {
        let who = Who::Exchange(self.exchanges.len());
        self.exchanges.push(exchange);
        self.links[at].from = Some((who, ExchangeId::default()));
        self.drain(who);
    }

    fn admit(&mut self, at: usize, request: Box<server::Request>) {
        let sessions = &mut self.sessions;
        let admitted = self.registry.admit(self.driver.now, request, |_, session| {
            sessions.push(session);
            sessions.len() - 1
        });
        match admitted {
            Admitted::Answered(response) => self.respond(at, response),
            Admitted::Exchange(exchange) => self.exchange(at, *exchange),
            Admitted::Ended { session, response } => {
                self.sessions[session].close(self.driver.now);
                self.drain(Who::Session(session));
                self.respond(at, response);
            }
            Admitted::Session { key, session, request } => {
                self.keys.insert(session, key);
                let exchange = self.sessions[session].accept(self.driver.now, request);
                self.links[at].from = Some((Who::Session(session), exchange));
                self.drain(Who::Session(session));
            }
        }
    }

    fn respond(&mut self, at: usize, response: Response) {
        let headers = response.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let link = &mut self.links[at];
        link.head = Some((response.status(), headers));
        match response.into_body() {
            Body::Whole(bytes) => {
                link.bytes.extend_from_slice(&bytes);
                link.done = true;
            }
            Body::Stream => {}
        }
    }

    fn drain(&mut self, who: Who) {
        loop {
            let action = match who {
                Who::Exchange(index) => self.exchanges[index].poll_action(),
                Who::Session(index) => self.sessions[index].poll_action(),
            };
            let Some(action) = action else { return };
            let place = |world: &Self, exchange| world.links.iter().position(|link| link.from == Some((who, exchange)));
            match action {
                server::Action::Respond { exchange, response } => {
                    let Some(at) = place(self, exchange) else { continue };
                    self.respond(at, response);
                }
                server::Action::Chunk { exchange, bytes } => {
                    let length = bytes.len();
                    if let Some(at) = place(self, exchange) {
                        self.links[at].bytes.extend_from_slice(&bytes);
                    }
                    self.input(who, exchange, server::Input::Written(length));
                }
                server::Action::Finish { exchange } => {
                    if let Some(at) = place(self, exchange) {
                        self.links[at].done = true;
                    }
                }
                server::Action::Invoke(invocation) => {
                    let Call::Tool { arguments, .. } = &invocation.call else { panic!("a tool") };
                    let arguments: Value = arguments.parse().unwrap();
                    let name = arguments["name"].as_str().unwrap().to_owned();
                    self.running.push((who, *invocation, name));
                }
                server::Action::Cancelled { slot, .. } => {
                    self.cancelled += 1;
                    // Names of slots are of their machine.
                    self.running.retain(|(of, invocation, _)| *of != who || invocation.slot.id() != slot);
                }
                server::Action::Publish(event) => self.publish(&event),
                server::Action::Diagnostic(_) | server::Action::Notified(_) | server::Action::Closed(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn input(&mut self, who: Who, exchange: ExchangeId, input: server::Input) {
        match who {
            Who::Exchange(index) => self.exchanges[index].handle(self.driver.now, input),
            Who::Session(index) => self.sessions[index].handle(self.driver.now, exchange, input),
        }
    }

    fn publish(&mut self, event: &Event) {
        for session in self.registry.sessions().copied().collect::<Vec<_>>() {
            if self.sessions[session].deliver(self.driver.now, event) == Sent::Yes {
                self.published += 1;
            }
            self.drain(Who::Session(session));
        }
    }

    fn progress(&mut self, which: usize) {
        if self.running.is_empty() {
            return;
        }
        let at = which % self.running.len();
        let (who, invocation, name) = &self.running[at];
        let (who, slot, name) = (*who, invocation.slot.id(), name.clone());
        let told = self.told.get_mut(&name).unwrap();
        told.progress += 1.0;
        let progress = Progress { progress: told.progress, total: None, message: None };
        let sent = match who {
            Who::Exchange(index) => self.exchanges[index].progress(self.driver.now, slot, &progress),
            Who::Session(index) => self.sessions[index].progress(self.driver.now, slot, &progress),
        };
        if sent.unwrap() == Sent::Yes {
            told.sent += 1;
        }
        self.drain(who);
    }

    /// A handler leaves its stream; the client finds the rest by coming back.
    fn leave(&mut self, which: usize) {
        let Some((who, invocation, _)) = self.running.get(which % self.running.len().max(1)) else { return };
        let (who, slot) = (*who, invocation.slot.id());
        if let Who::Session(index) = who {
            let _ = self.sessions[index].close_stream(self.driver.now, slot);
            self.drain(who);
        }
    }

    fn reply(&mut self, which: usize) {
        if self.running.is_empty() {
            return;
        }
        let (who, invocation, name) = self.running.swap_remove(which % self.running.len());
        let reply = Reply::Tool(CallToolResult::text(name));
        match who {
            Who::Exchange(index) => self.exchanges[index].reply(self.driver.now, invocation.slot, reply).unwrap(),
            Who::Session(index) => self.sessions[index].reply(self.driver.now, invocation.slot, reply).unwrap(),
        }
        self.drain(who);
    }

    // ---- The link.

    /// The client has gone from an exchange.
    fn hang_up(&mut self, at: usize) {
        let link = self.links.swap_remove(at);
        if let Some((who, exchange)) = link.from.filter(|_| !link.done) {
            self.input(who, exchange, server::Input::Disconnected);
            self.drain(who);
        }
        self.ended(&link);
    }

    fn ended(&mut self, link: &Link) {
        if let Some((Who::Session(index), _)) = link.from {
            self.registry.exchange_ended(self.driver.now, self.keys[&index]);
        }
    }

    /// Gives the client up to `most` bytes of an answer, and what comes with them.
    fn deliver(&mut self, which: usize, most: usize) -> bool {
        let ready = |link: &Link| link.head.is_some() && (!link.head_given || !link.bytes.is_empty() || link.done);
        let ready: Vec<usize> = (0..self.links.len()).filter(|at| ready(&self.links[*at])).collect();
        if ready.is_empty() {
            return false;
        }
        let at = ready[which % ready.len()];
        let link = &mut self.links[at];
        let fetch = FetchId(link.fetch);
        if !link.head_given {
            link.head_given = true;
            let (status, headers) = link.head.clone().unwrap();
            let headers = headers.into_iter().collect();
            self.driver.input(Input::Head { fetch, status, headers });
        } else if link.bytes.is_empty() {
            let link = self.links.swap_remove(at);
            self.ended(&link);
            self.driver.input(Input::End { fetch });
        } else {
            let part: Vec<u8> = link.bytes.drain(..most.min(link.bytes.len())).collect();
            link.primed |= part.windows(2).any(|two| two == b"\n\n");
            self.driver.input(Input::Body { fetch, bytes: Bytes::from(part) });
        }
        self.look();
        true
    }

    /// Cuts a stream: what is on its way is lost.
    fn cut(&mut self, which: usize, legacy: bool) {
        // In a legacy session, only what can be resumed is cut: the rest cannot but be lost.
        let fits = |link: &Link| if legacy { link.primed } else { link.is_request && link.head_given };
        let fit: Vec<usize> = (0..self.links.len()).filter(|at| fits(&self.links[*at])).collect();
        if fit.is_empty() {
            return;
        }
        let at = fit[which % fit.len()];
        let fetch = FetchId(self.links[at].fetch);
        if !legacy {
            self.told.values_mut().for_each(|told| told.cut = true);
        }
        self.hang_up(at);
        self.driver.input(Input::Failed { fetch, reason: FetchFailed::Broken("cut".into()) });
        self.look();
    }

    fn pass(&mut self, time: Duration) {
        self.driver.pass(time);
        for index in 0..self.sessions.len() {
            self.sessions[index].handle_timeout(self.driver.now);
            self.drain(Who::Session(index));
        }
        for index in 0..self.exchanges.len() {
            self.exchanges[index].handle_timeout(self.driver.now);
            self.drain(Who::Exchange(index));
        }
        self.look();
    }

    /// Everything that can arrive does.
    fn settle(&mut self) {
        self.look();
        while self.deliver(0, usize::MAX) {}
    }

    fn finish(&mut self) {
        for _ in 0..200 {
            while !self.running.is_empty() {
                self.reply(0);
            }
            self.settle();
            if self.calls.is_empty() && self.noted >= self.published {
                break;
            }
            self.pass(millis(500));
        }
        assert!(self.calls.is_empty(), "{:?}", self.calls);
        self.settle();
        self.driver.client.close(self.driver.now);
        self.driver.drain();
        assert!(matches!(self.driver.events.back(), Some(client::Action::Closed(Closed::Requested))));
        assert_eq!(self.driver.client.poll_timeout(), None);
    }
}

fn operations() -> impl Strategy<Value = Vec<(u8, usize, usize)>> {
    vec(
        (
            prop_oneof![3 => Just(0_u8), 12 => Just(1), 3 => Just(2), 2 => Just(3), 4 => Just(4), 1 => 5_u8..8],
            0..8_usize,
            1..200_usize,
        ),
        0..120,
    )
}

fn play(version: Version, operations: &[(u8, usize, usize)]) -> World {
    let legacy = version != Version::V2026_07_28;
    let mut world = World::new(version);
    for &(kind, which, size) in operations {
        match kind {
            0 if world.calls.len() < 6 => world.call(),
            1 => drop(world.deliver(which, size)),
            2 => world.cut(which, legacy),
            3 => world.reply(which),
            4 => world.progress(which),
            5 => world.pass(millis(size as u64)),
            6 => world.publish(&Event::ToolsListChanged),
            _ => world.leave(which),
        }
    }
    world.finish();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// U-44 and L-HTTP-22 together, from both ends: a session whose server keeps its events loses nothing, and repeats
    /// nothing, however its streams are cut.
    #[test]
    fn a_session_loses_nothing_and_repeats_nothing(operations in operations()) {
        let world = play(Version::V2025_11_25, &operations);
        prop_assert_eq!(world.noted, world.published);
    }

    /// M-CANC-04: what is cut in the modern era is cancelled; what is not cut is answered.
    #[test]
    fn a_modern_exchange_is_answered_or_cut(operations in operations()) {
        let world = play(Version::V2026_07_28, &operations);
        let cut = world.told.values().any(|told| told.cut);
        prop_assert!(cut || world.cancelled == 0, "nothing is cancelled that was not cut");
    }
}
