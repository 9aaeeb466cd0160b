//! The HTTP server, driven by heads and bytes on a virtual clock. No test has a socket.

mod heads;
mod hostile;
mod interleavings;
mod legacy;
mod modern;
mod modes;
mod pair;
mod replay;
mod requirements;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::diagnostic::Diagnostic;
use crate::http::sse;
use crate::ids::{ReplySlot, SlotId};
use crate::machine::{Mono, Now, Unix};
use crate::model::{CallToolResult, Prompt, Resource, Tool};
use crate::rng::{Rng, Seed};
use crate::server::{Definition, DefinitionBuilder, Event, Invocation, Progress, Reply, Sent};

/// Which machine does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    Exchange(usize),
    Session(usize),
}

/// An answer, as a client sees it.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<&'static str, String>,
    pub(super) body: Vec<u8>,
    pub(super) done: bool,
    pub(super) streamed: bool,
    seen: usize,
}

/// A front without sockets: it moves bytes, keeps handles and drains machines.
pub(super) struct Rig {
    pub(super) service: Arc<Service>,
    pub(super) endpoint: Endpoint<usize, usize>,
    seeds: Rng,
    pub(super) now: Now,
    /// Whether bodies arrive byte by byte.
    pub(super) split: bool,
    pub(super) exchanges: Vec<Exchange>,
    pub(super) sessions: Vec<Session>,
    keys: BTreeMap<usize, SessionKey>,
    routes: BTreeMap<(Who, ExchangeId), usize>,
    pub(super) answers: Vec<Answer>,
    pub(super) invocations: Vec<(Who, Invocation)>,
    pub(super) cancelled: Vec<(Who, SlotId, Option<Box<str>>)>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) others: Vec<Action>,
    /// Whether chunks are reported as written.
    pub(super) reads: bool,
    pub(super) principal: Option<&'static str>,
}

/// Runs a test with bodies in one piece, and byte by byte.
pub(super) fn whole_and_split(test: impl Fn(&dyn Fn(Definition, Options) -> Rig)) {
    for split in [false, true] {
        test(&|definition, options| Rig { split, ..Rig::new(definition, options) });
    }
}

impl Rig {
    pub(super) fn new(definition: Definition, options: Options) -> Self {
        let service = Arc::new(Service::new(Arc::new(definition), options));
        let mut endpoint = Endpoint::new(Arc::clone(&service), Seed([3; 32]));
        Self {
            seeds: Rng::new(endpoint.seed()),
            endpoint,
            service,
            now: Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_800_000_000_000) },
            split: false,
            exchanges: Vec::new(),
            sessions: Vec::new(),
            keys: BTreeMap::new(),
            routes: BTreeMap::new(),
            answers: Vec::new(),
            invocations: Vec::new(),
            cancelled: Vec::new(),
            diagnostics: Vec::new(),
            others: Vec::new(),
            reads: true,
            principal: None,
        }
    }

    /// Sends a request and says where its answer will be.
    pub(super) fn send(&mut self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> usize {
        self.send_to(method, "/mcp", headers, body)
    }

    pub(super) fn send_to(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> usize {
        let answer = self.answers.len();
        self.answers.push(Answer::default());
        let mut head = Head::new(method, target);
        for (name, value) in headers {
            head.header(name, value.as_bytes());
        }
        if let Some(principal) = self.principal {
            head = head.principal(principal.into());
        }
        match self.service.judge(head) {
            Judged::Refused(response) => self.answer(answer, response),
            Judged::Session(request) => self.admit(answer, request),
            Judged::Post(mut intake) => {
                let pieces: Vec<_> = if self.split { body.chunks(1).collect() } else { vec![body] };
                for piece in pieces {
                    if let Err(response) = intake.push(Bytes::copy_from_slice(piece)) {
                        self.answer(answer, *response);
                        return answer;
                    }
                }
                match intake.finish(&self.service, self.now, self.seeds.subseed()) {
                    Routed::Answered(response) => self.answer(answer, response),
                    Routed::Exchange(exchange) => self.exchange(answer, *exchange),
                    Routed::Session(request) => self.admit(answer, request),
                }
            }
        }
        answer
    }

    fn exchange(&mut self, answer: usize, exchange: Exchange) {
        let who = Who::Exchange(self.exchanges.len());
        self.exchanges.push(exchange);
        self.routes.insert((who, ExchangeId::default()), answer);
        self.drain(who);
    }

    fn admit(&mut self, answer: usize, request: Box<Request>) {
        let sessions = &mut self.sessions;
        let admitted = self.endpoint.admit(self.now, request, |_, session| {
            sessions.push(session);
            sessions.len() - 1
        });
        match admitted {
            Admitted::Answered(response) => self.answer(answer, response),
            Admitted::Exchange(exchange) => self.exchange(answer, *exchange),
            Admitted::Ended { session, response } => {
                self.sessions[session].close(self.now);
                self.drain(Who::Session(session));
                self.answer(answer, response);
            }
            Admitted::Session { key, session, request } => {
                self.keys.insert(session, key);
                let exchange = self.sessions[session].accept(self.now, request);
                self.routes.insert((Who::Session(session), exchange), answer);
                self.drain(Who::Session(session));
            }
        }
        self.close_expired();
    }

    fn close_expired(&mut self) {
        while let Some(session) = self.endpoint.poll_expired() {
            self.sessions[session].close(self.now);
            self.drain(Who::Session(session));
        }
    }

    fn answer(&mut self, answer: usize, response: Response) {
        let place = &mut self.answers[answer];
        assert_eq!(place.status, 0, "answered once");
        place.status = response.status();
        for (name, value) in response.headers() {
            assert!(place.headers.insert(name, value.to_owned()).is_none(), "{name} stands once");
        }
        self.diagnostics.extend(response.diagnostic().cloned());
        match response.into_body() {
            Body::Whole(bytes) => {
                place.body.extend_from_slice(&bytes);
                place.done = true;
            }
            Body::Stream => place.streamed = true,
        }
    }

    pub(super) fn drain(&mut self, who: Who) {
        loop {
            let action = match who {
                Who::Exchange(index) => self.exchanges[index].poll_action(),
                Who::Session(index) => self.sessions[index].poll_action(),
            };
            let Some(action) = action else { return };
            match action {
                Action::Respond { exchange, response } => {
                    let answer = self.routes[&(who, exchange)];
                    self.answer(answer, response);
                    if self.answers[answer].done {
                        self.ended(who, exchange);
                    }
                }
                Action::Chunk { exchange, bytes } => {
                    let answer = &mut self.answers[self.routes[&(who, exchange)]];
                    assert!(answer.streamed && !answer.done);
                    answer.body.extend_from_slice(&bytes);
                    if self.reads {
                        self.input(who, exchange, Input::Written(bytes.len()));
                    }
                }
                Action::Finish { exchange } => {
                    let answer = &mut self.answers[self.routes[&(who, exchange)]];
                    assert!(answer.streamed && !answer.done);
                    answer.done = true;
                    self.ended(who, exchange);
                }
                Action::Invoke(invocation) => self.invocations.push((who, *invocation)),
                Action::Cancelled { slot, reason } => self.cancelled.push((who, slot, reason)),
                Action::Diagnostic(diagnostic) => self.diagnostics.push(diagnostic),
                Action::Listen(subscription) => {
                    let Who::Exchange(index) = who else { panic!("only exchanges listen") };
                    let admitted = self.endpoint.listen(subscription, index);
                    self.exchanges[index].listening(self.now, admitted);
                }
                Action::Publish(event) => self.publish(&event),
                Action::Closed(_) => {
                    let Who::Session(index) = who else { panic!("only sessions close") };
                    self.endpoint.remove(self.keys[&index]);
                    self.others.push(action);
                }
                other => self.others.push(other),
            }
        }
    }

    fn input(&mut self, who: Who, exchange: ExchangeId, input: Input) {
        match who {
            Who::Exchange(index) => self.exchanges[index].handle(self.now, input),
            Who::Session(index) => self.sessions[index].handle(self.now, exchange, input),
        }
    }

    fn ended(&mut self, who: Who, _exchange: ExchangeId) {
        match who {
            Who::Session(index) => self.endpoint.exchange_ended(self.now, self.keys[&index]),
            Who::Exchange(index) => {
                if let Some(key) = self.exchanges[index].listen_key() {
                    self.endpoint.unlisten(key);
                }
            }
        }
    }

    /// What a front does with an event: every session, and the streams that want it.
    pub(super) fn publish(&mut self, event: &Event) {
        let sessions: Vec<usize> = self.endpoint.sessions().copied().collect();
        let listeners: Vec<usize> = self.endpoint.listeners(event).copied().collect();
        for session in sessions {
            let _ = self.sessions[session].deliver(self.now, event);
            self.drain(Who::Session(session));
        }
        for index in listeners {
            let _ = self.exchanges[index].deliver(self.now, event);
            self.drain(Who::Exchange(index));
        }
    }

    /// The same, where only the clients of some exchanges read.
    pub(super) fn publish_read(&mut self, event: &Event, readers: &[usize]) {
        let listeners: Vec<usize> = self.endpoint.listeners(event).copied().collect();
        for index in listeners {
            let _ = self.exchanges[index].deliver(self.now, event);
            self.reads = readers.contains(&index);
            self.drain(Who::Exchange(index));
        }
        self.reads = true;
    }

    /// The client of an answer goes away.
    pub(super) fn disconnect(&mut self, answer: usize) {
        let (who, exchange) = *self.routes.iter().find(|(_, place)| **place == answer).map(|(key, _)| key).unwrap();
        assert!(!self.answers[answer].done);
        self.answers[answer].done = true;
        self.input(who, exchange, Input::Disconnected);
        self.drain(who);
        self.ended(who, exchange);
    }

    pub(super) fn advance(&mut self, duration: Duration) {
        self.now.mono = self.now.mono.after(duration);
        self.now.unix = Unix::from_millis(self.now.unix.as_millis() + duration.as_millis() as u64);
        for index in 0..self.exchanges.len() {
            self.exchanges[index].handle_timeout(self.now);
            self.drain(Who::Exchange(index));
        }
        for index in 0..self.sessions.len() {
            self.sessions[index].handle_timeout(self.now);
            self.drain(Who::Session(index));
        }
        self.endpoint.handle_timeout(self.now);
        self.close_expired();
    }

    pub(super) fn reply(&mut self, who: Who, slot: ReplySlot, reply: Reply) {
        match who {
            Who::Exchange(index) => self.exchanges[index].reply(self.now, slot, reply).unwrap(),
            Who::Session(index) => self.sessions[index].reply(self.now, slot, reply).unwrap(),
        }
        self.drain(who);
    }

    pub(super) fn progress(&mut self, who: Who, slot: SlotId, progress: f64) -> Sent {
        let progress = Progress { progress, total: None, message: None };
        let sent = match who {
            Who::Exchange(index) => self.exchanges[index].progress(self.now, slot, &progress).unwrap(),
            Who::Session(index) => self.sessions[index].progress(self.now, slot, &progress).unwrap(),
        };
        self.drain(who);
        sent
    }

    /// The only invocation since the last look.
    pub(super) fn invoked(&mut self) -> (Who, Invocation) {
        assert_eq!(self.invocations.len(), 1, "{:?}", self.invocations);
        self.invocations.remove(0)
    }

    /// A modern request with its headers.
    pub(super) fn modern(&mut self, body: &Value) -> usize {
        self.modern_with(body, &[])
    }

    /// The same with more headers. One that is there already takes the place of the usual one; `-` leaves it out.
    pub(super) fn modern_with(&mut self, body: &Value, more: &[(&str, &str)]) -> usize {
        let method = body["method"].as_str().unwrap_or_default();
        let params = &body["params"];
        let name = params["name"].as_str().or_else(|| params["uri"].as_str());
        let version = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str().unwrap_or(MODERN);
        let mut headers = vec![
            ("host", "localhost:8080"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", version),
            ("mcp-method", method),
        ];
        headers.extend(name.map(|name| ("mcp-name", name)));
        headers.retain(|(name, _)| !more.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
        headers.extend(more.iter().filter(|(_, value)| *value != "-"));
        self.send("POST", &headers, body.to_string().as_bytes())
    }

    /// A legacy message, in a session if there is one.
    pub(super) fn legacy(&mut self, session: Option<&str>, body: &Value) -> usize {
        self.legacy_with(session, body, &[])
    }

    pub(super) fn legacy_with(&mut self, session: Option<&str>, body: &Value, more: &[(&str, &str)]) -> usize {
        let mut headers = vec![
            ("Host", "localhost:8080"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        headers.extend(session.map(|id| ("Mcp-Session-Id", id)));
        headers.extend(more);
        self.send("POST", &headers, body.to_string().as_bytes())
    }

    pub(super) fn get(&mut self, session: Option<&str>, more: &[(&str, &str)]) -> usize {
        let mut headers = vec![("Host", "localhost"), ("Accept", "text/event-stream")];
        headers.extend(session.map(|id| ("Mcp-Session-Id", id)));
        headers.extend(more);
        self.send("GET", &headers, b"")
    }

    pub(super) fn delete(&mut self, session: Option<&str>) -> usize {
        let mut headers = vec![("Host", "localhost")];
        headers.extend(session.map(|id| ("Mcp-Session-Id", id)));
        self.send("DELETE", &headers, b"")
    }

    /// Opens a session at this revision, and says what it is called.
    pub(super) fn open(&mut self, version: &str, capabilities: Value) -> String {
        let answer = self.legacy(None, &initialize(version, capabilities));
        assert_eq!(self.json(answer)["result"]["protocolVersion"], version);
        let id = self.answers[answer].headers["mcp-session-id"].clone();
        let answer = self.legacy(Some(&id), &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(self.status(answer), 202);
        assert!(self.answers[answer].body.is_empty());
        self.others.clear();
        id
    }

    pub(super) fn status(&self, answer: usize) -> u16 {
        self.answers[answer].status
    }

    /// A whole answer.
    pub(super) fn json(&self, answer: usize) -> Value {
        let answer = &self.answers[answer];
        assert!(answer.done && !answer.streamed, "{answer:?}");
        assert_eq!(answer.headers["content-type"], "application/json");
        assert_ne!(answer.body.last(), Some(&b'\n'));
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// The id of a request that was answered with a result, at once and whole.
    pub(super) fn answered(&self, answer: usize) -> Value {
        let body = self.json(answer);
        assert!(self.status(answer) == 200 && body.get("result").is_some(), "{body}");
        body["id"].clone()
    }

    /// The status and the error of a whole answer.
    pub(super) fn refusal(&self, answer: usize) -> (u16, i64, Value) {
        let body = self.json(answer);
        (self.status(answer), body["error"]["code"].as_i64().unwrap(), body.get("id").cloned().unwrap_or(Value::Null))
    }

    /// The messages of a stream since the last look, with the ids of their events.
    pub(super) fn events(&mut self, answer: usize) -> Vec<(Option<String>, Value)> {
        let answer = &mut self.answers[answer];
        assert_eq!((answer.status, answer.streamed), (200, true), "{answer:?}");
        assert_eq!(answer.headers["content-type"], "text/event-stream");
        assert_eq!(answer.headers["x-accel-buffering"], "no");
        let mut bytes = Bytes::copy_from_slice(&answer.body);
        let mut decoder = sse::Decoder::new(8 << 20);
        let mut events = Vec::new();
        while let Some(event) = decoder.next(&mut bytes).unwrap() {
            let value = if event.data.is_empty() { Value::Null } else { serde_json::from_slice(&event.data).unwrap() };
            events.push((event.id.as_deref().map(str::to_owned), value));
        }
        let new = events.split_off(answer.seen);
        answer.seen += new.len();
        new
    }

    /// The messages alone.
    pub(super) fn messages(&mut self, answer: usize) -> Vec<Value> {
        self.events(answer).into_iter().map(|(_, message)| message).collect()
    }
}

pub(super) const MODERN: &str = "2026-07-28";

/// A modern request.
pub(super) fn modern(id: impl Into<Value>, method: &str, params: Value) -> Value {
    with_capabilities(id, method, params, json!({}))
}

pub(super) fn with_capabilities(id: impl Into<Value>, method: &str, mut params: Value, capabilities: Value) -> Value {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

pub(super) fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

pub(super) fn initialize(version: &str, capabilities: Value) -> Value {
    let client = json!({"name": "c", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
    request("init", "initialize", params)
}

pub(super) fn call(id: impl Into<Value>, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": "t"}});
    request(id, "tools/call", params)
}

pub(super) fn text(text: &str) -> Reply {
    Reply::Tool(CallToolResult::text(text))
}

/// A server with a little of everything.
pub(super) fn builder() -> DefinitionBuilder {
    let mirrored = json!({"type": "object", "properties": {
        "region": {"type": ["string", "null"], "x-mcp-header": "Region"},
        "n": {"type": "integer", "x-mcp-header": "N"}}});
    let add = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    Definition::builder("server", "1.0.0")
        .tool(Tool::new("slow"))
        .tool(Tool::new("mirrored").input_schema(mirrored))
        .tool(Tool::new("add").input_schema(add))
        .prompt(Prompt::new("=?base64?literal?="))
        .resource(Resource::new("a", "file:///data/文件.txt"))
        .logging()
        .subscriptions()
        .list_changed()
}

pub(super) fn definition() -> Definition {
    builder().build().unwrap()
}
