//! A server of HTTP without sockets: fed with heads and bytes by hand. Everything that it writes is held to the schema
//! of its revision when it is looked at.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::http::server::{
    Action, Admitted, Body, Endpoint, Exchange, ExchangeId, Head, Input, Judged, Options, Request, Response, Routed,
    Service, Session, SessionKey,
};
use mcp_sansio::http::sse;
use mcp_sansio::ids::SlotId;
use mcp_sansio::machine::{Mono, Now, Unix};
use mcp_sansio::model::CallToolResult;
use mcp_sansio::rng::{Rng, Seed};
use mcp_sansio::server::{Definition, Event, Invocation, Progress, Reply, Sent};
use mcp_sansio::testing::{Frame, Side};
use serde_json::{Value, json};

use crate::frames::handshake;
use crate::schema::Reader;

/// The headers of a message, but for those that repeat it.
const USUAL: [(&str, &str); 3] = [
    ("host", "localhost:8080"),
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
];

/// An answer, as its client sees it.
#[derive(Debug, Default)]
pub struct Answer {
    /// The status; 0 before there is one.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: BTreeMap<&'static str, String>,
    /// What has come of the body.
    pub body: Vec<u8>,
    /// Whether it is complete.
    pub done: bool,
    streamed: bool,
    seen: usize,
    /// The conversation that it belongs to.
    reader: usize,
}

enum Machine {
    Exchange(Box<Exchange>),
    Session(Box<Session>, SessionKey),
}

/// A server with its clock, its machines and all its answers.
pub struct Site {
    service: Arc<Service>,
    endpoint: Endpoint<usize, usize>,
    seeds: Rng,
    /// The time.
    pub now: Now,
    /// How request bodies are cut.
    pub cut: usize,
    /// Who asks, as a front would have found out.
    pub principal: Option<&'static str>,
    machines: Vec<Machine>,
    routes: BTreeMap<(usize, ExchangeId), usize>,
    /// All answers, in the order of their requests.
    pub answers: Vec<Answer>,
    invocations: VecDeque<(usize, Invocation)>,
    /// What nobody wants any more.
    pub cancelled: Vec<SlotId>,
    readers: Vec<Reader>,
    conversations: BTreeMap<String, usize>,
}

/// Runs a test with request bodies in one piece, and byte by byte.
pub fn whole_and_split(test: impl Fn(&dyn Fn(Definition, Options) -> Site)) {
    for cut in [usize::MAX, 1] {
        test(&|definition, options| Site { cut, ..Site::new(definition, options) });
    }
}

impl Site {
    /// A server that nothing has happened to.
    #[must_use]
    pub fn new(definition: Definition, options: Options) -> Self {
        let service = Arc::new(Service::new(Arc::new(definition), options));
        let mut endpoint = Endpoint::new(Arc::clone(&service), Seed([5; 32]));
        Self {
            seeds: Rng::new(endpoint.seed()),
            endpoint,
            service,
            now: Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_800_000_000_000) },
            cut: usize::MAX,
            principal: None,
            machines: Vec::new(),
            routes: BTreeMap::new(),
            answers: Vec::new(),
            invocations: VecDeque::new(),
            cancelled: Vec::new(),
            readers: Vec::new(),
            conversations: BTreeMap::new(),
        }
    }

    /// Sends a request; where its answer will be.
    ///
    /// # Panics
    /// When a machine asks for what no machine may.
    pub fn send(&mut self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> usize {
        let answer = self.answers.len();
        let session = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"));
        let reader = self.reader(session.map(|(_, id)| *id));
        let text = String::from_utf8_lossy(body).into_owned();
        // What a test sends may be wrong on purpose: only what is understood counts.
        let _ = self.readers[reader].read(&Frame { from: Side::Client, at: self.now.mono, text, wrong: false });
        self.answers.push(Answer { reader, ..Answer::default() });
        let mut head = Head::new(method, "/mcp");
        for (name, value) in headers {
            head.header(name, value.as_bytes());
        }
        if let Some(principal) = self.principal {
            head = head.principal(principal.into());
        }
        match self.service.judge(head) {
            Judged::Refused(response) => self.respond(answer, response),
            Judged::Session(request) => self.admit(answer, request),
            Judged::Post(mut intake) => {
                for piece in body.chunks(self.cut) {
                    if let Err(response) = intake.push(Bytes::copy_from_slice(piece)) {
                        self.respond(answer, *response);
                        return answer;
                    }
                }
                match intake.finish(&self.service, self.now, self.seeds.subseed()) {
                    Routed::Answered(response) => self.respond(answer, response),
                    Routed::Exchange(exchange) => self.start(answer, exchange),
                    Routed::Session(request) => self.admit(answer, request),
                    other => panic!("{other:?}"),
                }
            }
            other => panic!("{other:?}"),
        }
        answer
    }

    /// Sends a modern message with the headers that repeat it. `changes` replaces headers and adds them; `-` leaves
    /// one out.
    pub fn modern(&mut self, message: &Value, changes: &[(&str, &str)]) -> usize {
        self.post(message, message.to_string().as_bytes(), changes)
    }

    /// Sends bytes under the headers that `message` would have.
    pub fn post(&mut self, message: &Value, body: &[u8], changes: &[(&str, &str)]) -> usize {
        let params = &message["params"];
        let name = params["name"].as_str().or_else(|| params["uri"].as_str());
        let mut headers = USUAL.to_vec();
        headers.push(("mcp-protocol-version", "2026-07-28"));
        headers.push(("mcp-method", message["method"].as_str().unwrap_or_default()));
        headers.extend(name.map(|name| ("mcp-name", name)));
        headers.retain(|(name, _)| !changes.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
        headers.extend(changes.iter().filter(|(_, value)| *value != "-"));
        self.send("POST", &headers, body)
    }

    /// Sends a message of a legacy session.
    pub fn legacy(&mut self, session: Option<&str>, message: &Value) -> usize {
        let mut headers = USUAL.to_vec();
        headers.extend(session.map(|id| ("mcp-session-id", id)));
        self.send("POST", &headers, message.to_string().as_bytes())
    }

    /// Opens a legacy session; its name.
    ///
    /// # Panics
    /// When it does not open.
    pub fn open(&mut self, version: &str, capabilities: Value) -> String {
        let [initialize, initialized] = handshake(version, capabilities);
        let answer = self.legacy(None, &initialize);
        assert_eq!(self.only(answer)["result"]["protocolVersion"], version);
        let id = self.answers[answer].headers["mcp-session-id"].clone();
        self.conversations.insert(id.clone(), self.answers[answer].reader);
        let answer = self.legacy(Some(&id), &initialized);
        assert_eq!(self.answers[answer].status, 202);
        id
    }

    fn reader(&mut self, session: Option<&str>) -> usize {
        if let Some(known) = session.and_then(|id| self.conversations.get(id)) {
            return *known;
        }
        self.readers.push(Reader::new());
        self.readers.len() - 1
    }

    fn start(&mut self, answer: usize, exchange: Box<Exchange>) {
        self.routes.insert((self.machines.len(), ExchangeId::default()), answer);
        self.machines.push(Machine::Exchange(exchange));
        self.drain(self.machines.len() - 1);
    }

    fn admit(&mut self, answer: usize, request: Box<Request>) {
        let machines = &mut self.machines;
        let admitted = self.endpoint.admit(self.now, request, |key, session| {
            machines.push(Machine::Session(Box::new(session), key));
            machines.len() - 1
        });
        match admitted {
            Admitted::Answered(response) => self.respond(answer, response),
            Admitted::Exchange(exchange) => self.start(answer, exchange),
            Admitted::Ended { session, response } => {
                if let Machine::Session(machine, _) = &mut self.machines[session] {
                    machine.close(self.now);
                }
                self.drain(session);
                self.respond(answer, response);
            }
            Admitted::Session { session, request, .. } => {
                let Machine::Session(machine, _) = &mut self.machines[session] else { panic!("a session") };
                let exchange = machine.accept(self.now, request);
                self.routes.insert((session, exchange), answer);
                self.drain(session);
            }
            other => panic!("{other:?}"),
        }
    }

    fn respond(&mut self, answer: usize, response: Response) {
        let place = &mut self.answers[answer];
        assert_eq!(place.status, 0, "a request is answered once");
        place.status = response.status();
        place.headers = response.headers().map(|(name, value)| (name, value.to_owned())).collect();
        match response.into_body() {
            Body::Whole(bytes) => {
                place.body = bytes.to_vec();
                place.done = true;
            }
            Body::Stream => place.streamed = true,
        }
    }

    fn drain(&mut self, index: usize) {
        loop {
            let action = match &mut self.machines[index] {
                Machine::Exchange(exchange) => exchange.poll_action(),
                Machine::Session(session, _) => session.poll_action(),
            };
            match action {
                None => return,
                Some(Action::Respond { exchange, response }) => {
                    let answer = self.routes[&(index, exchange)];
                    self.respond(answer, response);
                    if self.answers[answer].done {
                        self.ended(index);
                    }
                }
                Some(Action::Chunk { exchange, bytes }) => {
                    let answer = &mut self.answers[self.routes[&(index, exchange)]];
                    assert!(answer.streamed && !answer.done, "a chunk belongs to an open stream");
                    answer.body.extend_from_slice(&bytes);
                    self.input(index, exchange, Input::Written(bytes.len()));
                }
                Some(Action::Finish { exchange }) => {
                    self.answers[self.routes[&(index, exchange)]].done = true;
                    self.ended(index);
                }
                Some(Action::Invoke(invocation)) => self.invocations.push_back((index, *invocation)),
                Some(Action::Cancelled { slot, .. }) => self.cancelled.push(slot),
                Some(Action::Listen(subscription)) => {
                    let admitted = self.endpoint.listen(subscription, index);
                    if let Machine::Exchange(exchange) = &mut self.machines[index] {
                        exchange.listening(self.now, admitted);
                    }
                }
                Some(Action::Publish(event)) => self.publish(&event),
                Some(_) => {}
            }
        }
    }

    fn input(&mut self, index: usize, exchange: ExchangeId, input: Input) {
        match &mut self.machines[index] {
            Machine::Exchange(machine) => machine.handle(self.now, input),
            Machine::Session(machine, _) => machine.handle(self.now, exchange, input),
        }
    }

    fn ended(&mut self, index: usize) {
        match &self.machines[index] {
            Machine::Session(_, key) => self.endpoint.exchange_ended(self.now, *key),
            Machine::Exchange(exchange) => {
                if let Some(key) = exchange.listen_key() {
                    self.endpoint.unlisten(key);
                }
            }
        }
    }

    /// Tells an event to all who want to hear it.
    pub fn publish(&mut self, event: &Event) {
        let hearers: Vec<usize> = self.endpoint.sessions().chain(self.endpoint.listeners(event)).copied().collect();
        for index in hearers {
            let _ = match &mut self.machines[index] {
                Machine::Exchange(exchange) => exchange.deliver(self.now, event),
                Machine::Session(session, _) => session.deliver(self.now, event),
            };
            self.drain(index);
        }
    }

    /// The server ends gracefully, as far as exchanges go.
    pub fn shutdown(&mut self) {
        for index in 0..self.machines.len() {
            if let Machine::Exchange(exchange) = &mut self.machines[index] {
                exchange.shutdown(self.now);
            }
            self.drain(index);
        }
    }

    /// The client of an answer goes away.
    ///
    /// # Panics
    /// When the answer is complete.
    pub fn disconnect(&mut self, answer: usize) {
        assert!(!self.answers[answer].done, "the answer is complete");
        let route = self.routes.iter().find(|(_, place)| **place == answer).map(|(route, _)| *route);
        let (index, exchange) = route.expect("a machine answers");
        self.answers[answer].done = true;
        self.input(index, exchange, Input::Disconnected);
        self.drain(index);
        self.ended(index);
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.after(time);
        self.now.unix = Unix::from_millis(self.now.unix.as_millis() + u64::try_from(time.as_millis()).unwrap_or(0));
        for index in 0..self.machines.len() {
            match &mut self.machines[index] {
                Machine::Exchange(exchange) => exchange.handle_timeout(self.now),
                Machine::Session(session, _) => session.handle_timeout(self.now),
            }
            self.drain(index);
        }
        self.endpoint.handle_timeout(self.now);
    }

    /// The oldest invocation, and the machine that it belongs to.
    ///
    /// # Panics
    /// When there is none.
    pub fn invocation(&mut self) -> (usize, Invocation) {
        self.invocations.pop_front().unwrap_or_else(|| panic!("no handler was asked: {:?}", self.answers))
    }

    /// Asserts that no handler was asked.
    ///
    /// # Panics
    /// When one was.
    pub fn idle(&self) {
        assert!(self.invocations.is_empty(), "{:?}", self.invocations);
    }

    /// Answers an invocation.
    ///
    /// # Panics
    /// When its machine refuses the reply.
    pub fn reply(&mut self, (index, invocation): (usize, Invocation), reply: Reply) {
        match &mut self.machines[index] {
            Machine::Exchange(exchange) => exchange.reply(self.now, invocation.slot, reply),
            Machine::Session(session, _) => session.reply(self.now, invocation.slot, reply),
        }
        .expect("the slot is open");
        self.drain(index);
    }

    /// Answers the oldest invocation with a text.
    pub fn answer(&mut self, text: &str) {
        let invocation = self.invocation();
        self.reply(invocation, Reply::Tool(CallToolResult::text(text)));
    }

    /// Reports progress.
    ///
    /// # Panics
    /// When the slot is gone.
    pub fn progress(&mut self, (index, invocation): &(usize, Invocation), progress: f64) -> Sent {
        let progress = Progress { progress, total: None, message: None };
        let slot = invocation.slot.id();
        let sent = match &mut self.machines[*index] {
            Machine::Exchange(exchange) => exchange.progress(self.now, slot, &progress),
            Machine::Session(session, _) => session.progress(self.now, slot, &progress),
        };
        self.drain(*index);
        sent.expect("the slot is open")
    }

    /// The status of an answer.
    #[must_use]
    pub fn status(&self, answer: usize) -> u16 {
        self.answers[answer].status
    }

    /// An answer that is one JSON object.
    ///
    /// # Panics
    /// When it is none, or does not fit its schema.
    pub fn only(&mut self, answer: usize) -> Value {
        let place = &self.answers[answer];
        assert!(place.done && !place.streamed, "{place:?}");
        assert_eq!(place.headers["content-type"], "application/json");
        let message: Value = serde_json::from_slice(&place.body).expect("a whole answer is JSON");
        assert!(message.is_object(), "{message}");
        self.check(answer, &message);
        message
    }

    /// Status, code and id of a refusal. `None` is an id that is not there.
    ///
    /// # Panics
    /// When the answer is none.
    pub fn refusal(&mut self, answer: usize) -> (u16, i64, Option<Value>) {
        let body = self.only(answer);
        let code = body["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {body}"));
        (self.status(answer), code, body.get("id").cloned())
    }

    /// The messages of a stream since the last look.
    ///
    /// # Panics
    /// When it is none, or one of them does not fit its schema.
    pub fn messages(&mut self, answer: usize) -> Vec<Value> {
        let place = &self.answers[answer];
        assert_eq!((place.status, place.streamed), (200, true), "{place:?}");
        assert_eq!(place.headers["content-type"], "text/event-stream");
        let mut bytes = Bytes::copy_from_slice(&place.body);
        let mut decoder = sse::Decoder::new(8 << 20);
        let mut messages = Vec::new();
        while let Some(event) = decoder.next(&mut bytes).expect("events are well-formed") {
            if !event.data.is_empty() {
                messages.push(serde_json::from_slice(&event.data).expect("an event is JSON"));
            }
        }
        let new = messages.split_off(place.seen);
        self.answers[answer].seen += new.len();
        for message in &new {
            self.check(answer, message);
        }
        new
    }

    fn check(&mut self, answer: usize, message: &Value) {
        let reader = &mut self.readers[self.answers[answer].reader];
        let frame = Frame { from: Side::Server, at: self.now.mono, text: message.to_string(), wrong: false };
        if let Err(problem) = reader.read(&frame) {
            panic!("the server wrote what its schema forbids: {problem}");
        }
    }
}

/// A modern call that wants progress.
#[must_use]
pub fn watched(id: impl Into<Value>, name: &str) -> Value {
    let params = json!({"name": name, "arguments": {}, "_meta": {"progressToken": "t"}});
    crate::frames::modern(id, "tools/call", params)
}
