//! The HTTP machine, driven by heads and bytes on a virtual clock.

mod answers;
mod authorize;
mod connect;
mod headers;
mod interleaved;
mod pair;
mod session;

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::client::{
    self, Answer, CallError, CallOptions, Closed, Config, Connect, ConnectError, Request, ServerFacts,
};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::http::Method;
use crate::ids::CallId;
use crate::json::Json;
use crate::machine::{Mono, Now, TimerKind};
use crate::model::Implementation;
use crate::spec::Version;

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
const EVENTS: &[(&str, &str)] = &[("content-type", "text/event-stream")];
const NONE: &[(&str, &str)] = &[];

/// A client with what it has done.
struct Driver {
    client: HttpClient,
    now: Now,
    /// Requests that were not looked at.
    fetches: VecDeque<Fetch>,
    aborted: Vec<FetchId>,
    asked: Vec<Unauthorized>,
    events: VecDeque<client::Action>,
    /// How bodies are cut.
    cut: usize,
}

fn config() -> Config {
    Config::new(Implementation::new("c", "1"))
}

fn endpoint() -> Endpoint {
    Endpoint::new("https://example.com/mcp").unwrap()
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The result of `server/discover`.
fn discovered() -> Value {
    json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
        "ttlMs": 0, "cacheScope": "private"})
}

/// The result of `initialize`.
fn session(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})
}

fn complete() -> Value {
    json!({"resultType": "complete", "content": []})
}

fn result(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn error(id: &Value, code: i64, data: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no", "data": data}})
}

/// An event with a message.
fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

impl Fetch {
    fn message(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    fn rpc_method(&self) -> String {
        self.message()["method"].as_str().unwrap_or_default().to_owned()
    }

    fn rpc_id(&self) -> Value {
        self.message()["id"].clone()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| std::str::from_utf8(value).unwrap())
    }
}

impl Driver {
    fn new(config: Config) -> Self {
        Self::at(config, endpoint())
    }

    fn at(config: Config, endpoint: Endpoint) -> Self {
        let client = HttpClient::over_http(config, endpoint).unwrap();
        let now = Now { mono: Mono::from_nanos(1_000), ..Now::default() };
        let (fetches, events) = (VecDeque::new(), VecDeque::new());
        Self { client, now, fetches, aborted: Vec::new(), asked: Vec::new(), events, cut: usize::MAX }
    }

    /// A client that has asked what the server speaks.
    fn probing(config: Config) -> (Self, Fetch) {
        let mut driver = Self::new(config);
        driver.client.connect(driver.now).unwrap();
        let probe = driver.fetch();
        assert_eq!(probe.rpc_method(), "server/discover");
        (driver, probe)
    }

    fn modern(config: Config) -> Self {
        Self::modern_at(config, endpoint())
    }

    fn modern_at(config: Config, endpoint: Endpoint) -> Self {
        let mut driver = Self::at(config.connect(Connect::Modern), endpoint);
        driver.client.connect(driver.now).unwrap();
        let probe = driver.fetch();
        driver.answer(&probe, discovered());
        driver.connected();
        driver
    }

    /// A client in a session of this revision, whose own stream the server does not have.
    fn legacy(config: Config, version: Version) -> Self {
        Self::legacy_at(config, version, endpoint().get_stream(false))
    }

    fn legacy_at(config: Config, version: Version, endpoint: Endpoint) -> Self {
        let mut driver = Self::at(config.connect(Connect::Pinned(version)), endpoint);
        driver.client.connect(driver.now).unwrap();
        driver.open_session("s-1", version);
        driver.connected();
        driver
    }

    /// Answers `initialize` and what follows.
    fn open_session(&mut self, id: &str, version: Version) {
        let request = self.fetch();
        assert_eq!(request.rpc_method(), "initialize");
        assert_eq!(request.header("mcp-session-id"), None);
        let headers = [("content-type", "application/json"), ("mcp-session-id", id)];
        self.head(&request, 200, &headers);
        self.body(&request, &result(&request.rpc_id(), session(version.as_str())).to_string());
        self.end(&request);
        let opening = self.fetch();
        assert_eq!(opening.rpc_method(), "notifications/initialized");
        assert_eq!(opening.header("mcp-session-id"), Some(id));
        self.head(&opening, 202, NONE);
        self.end(&opening);
    }

    fn drain(&mut self) {
        while let Some(action) = self.client.poll_action() {
            match action {
                Action::Fetch(fetch) => self.fetches.push_back(*fetch),
                Action::Abort(fetch) => self.aborted.push(fetch),
                Action::Unauthorized(asked) => self.asked.push(*asked),
                Action::Event(event) => self.events.push_back(event),
            }
        }
        assert!(!matches!(self.client.poll_timeout(), Some((_, TimerKind::Actions))), "all actions are done");
    }

    fn input(&mut self, input: Input) {
        self.client.handle(self.now, input).unwrap();
        self.drain();
    }

    fn head(&mut self, fetch: &Fetch, status: u16, headers: &[(&str, &str)]) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.input(Input::Head { fetch: fetch.id, status, headers });
    }

    fn body(&mut self, fetch: &Fetch, text: &str) {
        self.bytes(fetch, text.as_bytes());
    }

    fn bytes(&mut self, fetch: &Fetch, bytes: &[u8]) {
        for part in bytes.chunks(self.cut) {
            self.input(Input::Body { fetch: fetch.id, bytes: Bytes::copy_from_slice(part) });
        }
    }

    fn end(&mut self, fetch: &Fetch) {
        self.input(Input::End { fetch: fetch.id });
    }

    fn broken(&mut self, fetch: &Fetch) {
        self.input(Input::Failed { fetch: fetch.id, reason: FetchFailed::Broken("reset".into()) });
    }

    /// A whole answer.
    fn respond(&mut self, fetch: &Fetch, status: u16, headers: &[(&str, &str)], body: &str) {
        self.head(fetch, status, headers);
        self.body(fetch, body);
        self.end(fetch);
    }

    /// A result as JSON.
    fn answer(&mut self, fetch: &Fetch, value: Value) {
        self.respond(fetch, 200, JSON, &result(&fetch.rpc_id(), value).to_string());
    }

    fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.after(time);
        self.client.handle_timeout(self.now);
        self.drain();
    }

    /// Waits for the next deadline.
    fn wait(&mut self) -> (Duration, TimerKind) {
        let (at, kind) = self.client.poll_timeout().expect("something is waited for");
        let time = self.now.mono.until(at);
        self.pass(time);
        (time, kind)
    }

    /// The next request.
    fn fetch(&mut self) -> Fetch {
        self.drain();
        assert!(!self.fetches.is_empty(), "no request; events: {:?}", self.events);
        self.fetches.pop_front().unwrap()
    }

    /// The next event.
    fn event(&mut self) -> client::Action {
        self.drain();
        assert!(!self.events.is_empty(), "nothing happened; requests: {:?}", self.fetches);
        self.events.pop_front().unwrap()
    }

    /// Asserts that nothing more happened.
    fn quiet(&mut self) {
        self.drain();
        assert!(self.events.is_empty(), "{:?}", self.events);
        assert!(self.fetches.is_empty(), "{:?}", self.fetches);
        assert!(self.aborted.is_empty(), "{:?}", self.aborted);
        assert!(self.asked.is_empty(), "{:?}", self.asked);
    }

    fn connected(&mut self) -> ServerFacts {
        match self.event() {
            client::Action::Connected(facts) => *facts,
            other => panic!("{other:?}"),
        }
    }

    fn closed(&mut self) -> Closed {
        match self.event() {
            client::Action::Closed(why) => why,
            other => panic!("{other:?}"),
        }
    }

    fn diagnostic(&mut self) -> Diagnostic {
        match self.event() {
            client::Action::Diagnostic(diagnostic) => diagnostic,
            other => panic!("{other:?}"),
        }
    }

    fn done(&mut self, call: CallId) -> Result<Answer, CallError> {
        match self.event() {
            client::Action::Done { call: done, outcome } if done == call => outcome,
            other => panic!("{other:?}"),
        }
    }

    fn failed(&mut self, call: CallId) -> ExchangeError {
        match self.done(call) {
            Err(CallError::Exchange(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    fn call(&mut self, request: Request) -> CallId {
        self.call_with(request, CallOptions::new())
    }

    fn call_with(&mut self, request: Request, options: CallOptions) -> CallId {
        let call = self.client.call(self.now, request, options).unwrap();
        self.drain();
        call
    }

    /// A tool call that is on its way, and its request.
    fn tool(&mut self, name: &str) -> (CallId, Fetch) {
        let call = self.call(Request::call_tool(name, &Json::EMPTY_OBJECT));
        (call, self.fetch())
    }
}

#[test]
fn public_values_cross_threads() {
    fn crosses<T: Send + 'static>() {}
    crosses::<HttpClient>();
    crosses::<Action>();
    crosses::<Input>();
    crosses::<Endpoint>();
}
