//! A client of HTTP without sockets: its requests are looked at and answered by hand. Everything that it sends is held
//! to the schema of its revision.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::client::{self, Answer, CallError, CallOptions, Config, Connect, Request};
use mcp_sansio::diagnostic::{Diagnostic, DiagnosticKind};
use mcp_sansio::http::client::{Action, Endpoint, Fetch, FetchId, HttpClient, Input};
use mcp_sansio::ids::CallId;
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Mono, Now, TimerKind};
use mcp_sansio::model::Implementation;
use mcp_sansio::spec::Version;
use mcp_sansio::testing::{Frame, Side};
use serde_json::{Value, json};

use crate::frames::result;
use crate::schema::Reader;

/// The head of an answer that is JSON.
pub const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
/// The head of an answer that is a stream.
pub const EVENTS: &[(&str, &str)] = &[("content-type", "text/event-stream")];

/// A client with its clock, its requests and its events.
pub struct Guest {
    /// The machine.
    pub client: HttpClient,
    /// The time.
    pub now: Now,
    /// How the bodies of answers are cut.
    pub cut: usize,
    fetches: VecDeque<Fetch>,
    /// Exchanges that the client has dropped.
    pub aborted: Vec<FetchId>,
    events: VecDeque<client::Action>,
    diagnostics: Vec<Diagnostic>,
    reader: Reader,
}

/// What a request carries.
#[must_use]
pub fn message(fetch: &Fetch) -> Value {
    serde_json::from_slice(&fetch.body).unwrap_or(Value::Null)
}

/// A header of a request.
#[must_use]
pub fn header<'a>(fetch: &'a Fetch, name: &str) -> Option<&'a str> {
    fetch.headers.get(name).map(|value| std::str::from_utf8(value).expect("headers of ours are text"))
}

/// An event with this message.
#[must_use]
pub fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

/// A plain configuration.
#[must_use]
pub fn config() -> Config {
    Config::new(Implementation::new("c", "1"))
}

impl Guest {
    /// A client that nothing has happened to; it listens to no stream of its session.
    ///
    /// # Panics
    /// When the configuration contradicts itself.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let endpoint = Endpoint::new("https://example.com/mcp").expect("an address").get_stream(false);
        Self {
            client: HttpClient::over_http(config, endpoint).expect("a configuration"),
            now: Now { mono: Mono::from_nanos(1_000), ..Now::default() },
            cut: usize::MAX,
            fetches: VecDeque::new(),
            aborted: Vec::new(),
            events: VecDeque::new(),
            diagnostics: Vec::new(),
            reader: Reader::new(),
        }
    }

    /// A client on a modern server.
    #[must_use]
    pub fn modern(config: Config) -> Self {
        let mut guest = Self::new(config.connect(Connect::Modern));
        let probe = guest.connect();
        let capabilities = json!({"tools": {}, "prompts": {}, "resources": {}});
        let discovered = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"});
        guest.answer(&probe, discovered);
        guest.connected();
        guest
    }

    /// A client in a session.
    #[must_use]
    pub fn legacy(config: Config, version: Version, session: &str) -> Self {
        let mut guest = Self::new(config.connect(Connect::Pinned(version)));
        let initialize = guest.connect();
        guest.open(&initialize, version, session);
        guest.connected();
        guest
    }

    /// Connects; the first request.
    ///
    /// # Panics
    /// When that is not possible.
    pub fn connect(&mut self) -> Fetch {
        self.client.connect(self.now).expect("connect comes once");
        self.fetch()
    }

    /// Answers `initialize`, and takes what follows.
    ///
    /// # Panics
    /// When the client does not open the session.
    pub fn open(&mut self, initialize: &Fetch, version: Version, session: &str) {
        assert_eq!(message(initialize)["method"], "initialize");
        assert_eq!(header(initialize, "mcp-session-id"), None, "a new session has no name yet");
        let server = json!({"name": "s", "version": "1"});
        let opened = json!({"protocolVersion": version.as_str(), "capabilities": {"tools": {}}, "serverInfo": server});
        let text = result(message(initialize)["id"].clone(), opened).to_string();
        self.respond(
            initialize,
            200,
            &[("content-type", "application/json"), ("mcp-session-id", session)],
            text.as_bytes(),
        );
        let initialized = self.fetch();
        assert_eq!(message(&initialized)["method"], "notifications/initialized");
        assert_eq!(header(&initialized, "mcp-session-id"), Some(session));
        self.respond(&initialized, 202, &[], b"");
    }

    fn drain(&mut self) {
        while let Some(action) = self.client.poll_action() {
            match action {
                Action::Fetch(fetch) => {
                    let text = String::from_utf8(fetch.body.to_vec()).expect("a request is text");
                    let frame = Frame { from: Side::Client, at: self.now.mono, text, wrong: false };
                    if let Err(problem) = self.reader.read(&frame) {
                        panic!("the client wrote what its schema forbids: {problem}");
                    }
                    self.fetches.push_back(*fetch);
                }
                Action::Abort(fetch) => self.aborted.push(fetch),
                Action::Event(client::Action::Diagnostic(diagnostic)) => self.diagnostics.push(diagnostic),
                Action::Event(event) => self.events.push_back(event),
                other => panic!("{other:?}"),
            }
        }
    }

    fn input(&mut self, input: Input) {
        self.client.handle(self.now, input).expect("the exchange is known");
        self.drain();
    }

    /// The head of an answer.
    pub fn head(&mut self, fetch: &Fetch, status: u16, headers: &[(&str, &str)]) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.input(Input::Head { fetch: fetch.id, status, headers });
    }

    /// A part of its body, cut as the test wants.
    pub fn body(&mut self, fetch: &Fetch, bytes: &[u8]) {
        for part in bytes.chunks(self.cut) {
            self.input(Input::Body { fetch: fetch.id, bytes: Bytes::copy_from_slice(part) });
        }
    }

    /// The end of its body.
    pub fn end(&mut self, fetch: &Fetch) {
        self.input(Input::End { fetch: fetch.id });
    }

    /// A whole answer.
    pub fn respond(&mut self, fetch: &Fetch, status: u16, headers: &[(&str, &str)], body: &[u8]) {
        if let Ok(text) = String::from_utf8(body.to_vec()) {
            // What a test answers may be wrong on purpose: only what is understood counts.
            let frame = Frame { from: Side::Server, at: self.now.mono, text, wrong: false };
            let _ = self.reader.read(&frame);
        }
        self.head(fetch, status, headers);
        self.body(fetch, body);
        self.end(fetch);
    }

    /// A result.
    pub fn answer(&mut self, fetch: &Fetch, value: Value) {
        let text = result(message(fetch)["id"].clone(), value).to_string();
        self.respond(fetch, 200, JSON, text.as_bytes());
    }

    /// An error of the protocol.
    pub fn refuse(&mut self, fetch: &Fetch, status: u16, code: i64, data: Value) {
        let error = json!({"code": code, "message": "no", "data": data});
        let text = json!({"jsonrpc": "2.0", "id": message(fetch)["id"], "error": error}).to_string();
        self.respond(fetch, status, JSON, text.as_bytes());
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.after(time);
        self.client.handle_timeout(self.now);
        self.drain();
    }

    /// How long it is until the machine wants to be woken, and why.
    ///
    /// # Panics
    /// When it waits for nothing.
    pub fn due(&mut self) -> (Duration, TimerKind) {
        self.drain();
        let (at, kind) = self.client.poll_timeout().expect("something is waited for");
        (self.now.mono.until(at), kind)
    }

    /// The next request.
    ///
    /// # Panics
    /// When there is none.
    pub fn fetch(&mut self) -> Fetch {
        self.drain();
        self.fetches.pop_front().unwrap_or_else(|| panic!("no request; events: {:?}", self.events))
    }

    /// The next request, if there is one.
    pub fn next_fetch(&mut self) -> Option<Fetch> {
        self.drain();
        self.fetches.pop_front()
    }

    /// The next event, diagnostics aside.
    ///
    /// # Panics
    /// When there is none.
    pub fn event(&mut self) -> client::Action {
        self.drain();
        self.events.pop_front().unwrap_or_else(|| panic!("nothing happened; requests: {:?}", self.fetches))
    }

    /// The kinds of remarks since the last look.
    pub fn remarks(&mut self) -> Vec<DiagnosticKind> {
        self.drain();
        std::mem::take(&mut self.diagnostics).into_iter().map(|remark| remark.kind).collect()
    }

    /// Asserts that nothing is left: neither requests nor events.
    ///
    /// # Panics
    /// When something is.
    pub fn quiet(&mut self) {
        self.drain();
        assert!(self.events.is_empty(), "{:?}", self.events);
        assert!(self.fetches.is_empty(), "{:?}", self.fetches);
    }

    /// Asserts that the connection is made.
    ///
    /// # Panics
    /// When it is not.
    pub fn connected(&mut self) -> Version {
        match self.event() {
            client::Action::Connected(facts) => facts.version,
            other => panic!("{other:?}"),
        }
    }

    /// Starts a call.
    ///
    /// # Panics
    /// When the client refuses it.
    pub fn call(&mut self, request: Request) -> CallId {
        let call = self.client.call(self.now, request, CallOptions::new()).expect("the client takes calls");
        self.drain();
        call
    }

    /// Starts the call of a tool; its name and its request.
    pub fn tool(&mut self, name: &str, arguments: Value) -> (CallId, Fetch) {
        let call = self.call(Request::call_tool(name, &Json::from(arguments)));
        (call, self.fetch())
    }

    /// The end of a call.
    ///
    /// # Errors
    /// How it failed.
    ///
    /// # Panics
    /// When it has not ended.
    pub fn done(&mut self, call: CallId) -> Result<Answer, CallError> {
        match self.event() {
            client::Action::Done { call: done, outcome } if done == call => outcome,
            other => panic!("{other:?}"),
        }
    }
}
