//! The client machine, driven by frames on a virtual clock.

mod any;
mod cache;
mod calls;
mod connect;
mod envelope;
mod framing;
mod inbound;
mod legacy;
mod listen;
mod mrtr;
mod output;
mod requirements;
mod walk;

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::ids::CallId;
use crate::json::Json;
use crate::machine::{Input, Mono, Now, TimerKind, Unix};
use crate::model::{ClientCapabilities, Implementation};
use crate::spec::Version;

/// A client with what it has done.
struct Driver {
    client: Client,
    now: Now,
    /// Frames that were written and not looked at.
    written: Vec<Value>,
    /// Everything else.
    events: Vec<Action>,
    bytes: usize,
}

fn config() -> Config {
    Config::new(Implementation::new("c", "1"))
}

fn raw(value: Value) -> Json {
    Json::from(value)
}

fn form() -> ClientCapabilities {
    ClientCapabilities::new().with_form()
}

impl Driver {
    fn new(config: Config) -> Self {
        Self::of(Client::new(config).unwrap())
    }

    fn of(client: Client) -> Self {
        let now = Now { mono: Mono::from_nanos(1_000), unix: Unix::from_millis(0) };
        Self { client, now, written: Vec::new(), events: Vec::new(), bytes: 0 }
    }

    /// A client on a modern connection.
    fn modern(config: Config) -> Self {
        let mut driver = Self::new(config.connect(Connect::Modern));
        driver.client.connect(driver.now).unwrap();
        let probe = driver.frame();
        assert_eq!(probe["method"], "server/discover");
        driver.result(&probe["id"], json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}));
        driver.connected();
        driver
    }

    /// A client on a session of this revision.
    fn legacy(config: Config, version: Version) -> Self {
        let mut driver = Self::new(config.connect(Connect::Pinned(version)));
        driver.client.connect(driver.now).unwrap();
        let request = driver.frame();
        assert_eq!(request["method"], "initialize");
        driver.result(&request["id"], session(version.as_str()));
        assert_eq!(driver.frame()["method"], "notifications/initialized");
        driver.connected();
        driver
    }

    fn connected(&mut self) -> ServerFacts {
        match self.event() {
            Action::Connected(facts) => *facts,
            other => panic!("{other:?}"),
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.after(time);
        self.client.handle_timeout(self.now);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(action) = self.client.poll_action() {
            match action {
                Action::Write(bytes) => {
                    assert_eq!(bytes.last(), Some(&b'\n'));
                    assert_eq!(memchr::memchr_iter(b'\n', &bytes).count(), 1);
                    self.bytes += bytes.len();
                    self.written.push(serde_json::from_slice(&bytes).unwrap());
                    self.client.handle(self.now, Input::Written(bytes.len())).unwrap();
                }
                other => self.events.push(other),
            }
        }
    }

    /// Bytes from the server.
    fn feed(&mut self, bytes: &[u8]) {
        self.client.handle(self.now, Input::Bytes(Bytes::copy_from_slice(bytes))).unwrap();
        self.drain();
    }

    /// A frame from the server.
    fn say(&mut self, message: Value) {
        self.feed(format!("{message}\n").as_bytes());
    }

    fn result(&mut self, id: &Value, result: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn error(&mut self, id: &Value, code: i64, data: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no", "data": data}}));
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The next frame that was written.
    fn frame(&mut self) -> Value {
        self.drain();
        assert!(!self.written.is_empty(), "nothing was written; events: {:?}", self.events);
        self.written.remove(0)
    }

    /// The next event.
    fn event(&mut self) -> Action {
        self.drain();
        assert!(!self.events.is_empty(), "nothing happened; written: {:?}", self.written);
        self.events.remove(0)
    }

    /// Asserts that nothing more happened and nothing more was written.
    fn quiet(&mut self) {
        self.drain();
        assert!(self.events.is_empty(), "{:?}", self.events);
        assert!(self.written.is_empty(), "{:?}", self.written);
    }

    fn diagnostic(&mut self) -> Diagnostic {
        match self.event() {
            Action::Diagnostic(diagnostic) => diagnostic,
            other => panic!("{other:?}"),
        }
    }

    fn done(&mut self, call: CallId) -> Result<Answer, CallError> {
        match self.event() {
            Action::Done { call: done, outcome } if done == call => outcome,
            other => panic!("{other:?}"),
        }
    }

    fn ask(&mut self) -> InputNeeded {
        match self.event() {
            Action::NeedInput(needed) => *needed,
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

    /// A tool call that is on its way, and its frame.
    fn tool(&mut self, name: &str) -> (CallId, Value) {
        let call = self.call(Request::call_tool(name, &Json::EMPTY_OBJECT));
        (call, self.frame())
    }
}

/// The result of `initialize`.
fn session(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})
}

fn complete() -> Value {
    json!({"resultType": "complete", "content": []})
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn public_values_cross_threads() {
    fn crosses<T: Send + 'static>() {}
    crosses::<Client>();
    crosses::<Action>();
    crosses::<Request>();
    crosses::<CallOptions>();
    crosses::<InputAnswer>();
}
