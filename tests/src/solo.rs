//! One machine, fed with frames by hand. Everything that it writes is held to the schema of its revision.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::client::{self, Answer, CallError, CallOptions, Client, Config, Connect, InputNeeded, Request};
use mcp_sansio::diagnostic::DiagnosticKind;
use mcp_sansio::error::ErrorObject;
use mcp_sansio::ids::CallId;
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Input, Mono, Now, Unix};
use mcp_sansio::model::{CallToolResult, Implementation};
use mcp_sansio::rng::Seed;
use mcp_sansio::server::{self, Definition, Invocation, Reply, Server};
use mcp_sansio::spec::Version;
use mcp_sansio::testing::{Frame, Machine, Peer, Side};
use serde_json::{Value, json};

use crate::frames::{handshake, result};
use crate::schema::Reader;

/// One machine with its clock.
pub struct Solo<M: Machine> {
    /// The machine, its events and its remarks.
    pub peer: Peer<M>,
    /// The time.
    pub now: Now,
    written: VecDeque<Value>,
    reader: Reader,
    side: Side,
}

impl<M: Machine> Solo<M>
where
    M::Action: Debug,
{
    fn of(machine: M, side: Side) -> Self {
        let now = Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_800_000_000_000) };
        Self { peer: Peer::new(machine), now, written: VecDeque::new(), reader: Reader::new(), side }
    }

    /// Gives the machine bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.drain();
        for line in bytes.split(|byte| *byte == b'\n') {
            let from = if self.side == Side::Server { Side::Client } else { Side::Server };
            let text = String::from_utf8_lossy(line).into_owned();
            // What a test feeds may be wrong on purpose: only what is understood counts.
            let _ = self.reader.read(&Frame { from, at: self.now.mono, text, wrong: false });
        }
        self.peer.receive(self.now, Input::Bytes(bytes.to_vec().into()));
        self.drain();
    }

    /// Gives the machine a frame.
    pub fn say(&mut self, frame: Value) {
        self.feed(format!("{frame}\n").as_bytes());
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.after(time);
        self.now.unix = Unix::from_millis(self.now.unix.as_millis() + u64::try_from(time.as_millis()).unwrap_or(0));
        self.peer.wake(self.now);
        self.drain();
    }

    /// Takes what the machine has to say.
    ///
    /// # Panics
    /// When a frame does not fit its schema.
    pub fn drain(&mut self) {
        for text in self.peer.drain(self.now) {
            let frame = Frame { from: self.side, at: self.now.mono, text, wrong: false };
            if let Err(problem) = self.reader.read(&frame) {
                panic!("the machine wrote what its schema forbids: {problem}");
            }
            self.written.push_back(serde_json::from_str(&frame.text).expect("the reader has parsed it"));
        }
    }

    /// The next frame that the machine wrote.
    ///
    /// # Panics
    /// When there is none.
    pub fn frame(&mut self) -> Value {
        self.drain();
        self.written.pop_front().unwrap_or_else(|| panic!("nothing was written; events: {:?}", self.peer.events))
    }

    /// Asserts that the machine has written nothing more.
    ///
    /// # Panics
    /// When it has.
    pub fn silent(&mut self) {
        self.drain();
        assert!(self.written.is_empty(), "written: {:?}", self.written);
    }

    /// Asserts that nothing is left: neither frames nor events.
    ///
    /// # Panics
    /// When something is.
    pub fn quiet(&mut self) {
        self.silent();
        assert!(self.peer.events.is_empty(), "events: {:?}", self.peer.events);
    }

    /// The kinds of remarks since the last look.
    pub fn remarks(&mut self) -> Vec<DiagnosticKind> {
        self.drain();
        std::mem::take(&mut self.peer.diagnostics).into_iter().map(|remark| remark.kind).collect()
    }
}

impl Solo<Server> {
    /// A server that nothing has happened to.
    #[must_use]
    pub fn server(definition: Definition) -> Self {
        Self::of(Server::new(Arc::new(definition), Seed([7; 32])), Side::Server)
    }

    /// A server with a legacy session.
    ///
    /// # Panics
    /// When the session does not open.
    #[must_use]
    pub fn session(definition: Definition, version: &str, capabilities: Value) -> Self {
        let mut solo = Self::server(definition);
        for frame in handshake(version, capabilities) {
            solo.say(frame);
        }
        assert_eq!(solo.frame()["result"]["protocolVersion"], version);
        solo.peer.events.clear();
        solo
    }

    /// The oldest invocation.
    ///
    /// # Panics
    /// When there is none.
    pub fn invocation(&mut self) -> Invocation {
        self.drain();
        let invocation = self.peer.take(|action| match action {
            server::Action::Invoke(invocation) => Ok(*invocation),
            other => Err(other),
        });
        invocation.unwrap_or_else(|| panic!("no handler was asked; written: {:?}", self.written))
    }

    /// Answers an invocation.
    ///
    /// # Panics
    /// When the server refuses the reply.
    pub fn reply(&mut self, invocation: Invocation, reply: Reply) {
        self.peer.machine.reply(self.now, invocation.slot, reply).expect("the slot is open");
        self.drain();
    }

    /// Answers the oldest invocation with a text.
    pub fn answer(&mut self, text: &str) {
        let invocation = self.invocation();
        self.reply(invocation, Reply::Tool(CallToolResult::text(text)));
    }
}

impl Solo<Client> {
    /// A client that nothing has happened to.
    ///
    /// # Panics
    /// When the configuration contradicts itself.
    #[must_use]
    pub fn client(config: Config) -> Self {
        Self::of(Client::new(config).expect("a configuration"), Side::Client)
    }

    /// A plain configuration.
    #[must_use]
    pub fn config() -> Config {
        Config::new(Implementation::new("c", "1"))
    }

    /// A client on a modern connection.
    #[must_use]
    pub fn modern(config: Config) -> Self {
        let mut solo = Self::client(config.connect(Connect::Modern));
        let probe = solo.connect();
        let capabilities = json!({"tools": {}, "prompts": {}, "resources": {}});
        let discovered = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"});
        solo.say(result(probe["id"].clone(), discovered));
        solo.connected();
        solo
    }

    /// A client with a legacy session.
    #[must_use]
    pub fn legacy(config: Config, version: Version) -> Self {
        let mut solo = Self::client(config.connect(Connect::Pinned(version)));
        let initialize = solo.connect();
        let server = json!({"name": "s", "version": "1"});
        let session = json!({"protocolVersion": version.as_str(), "capabilities": {}, "serverInfo": server});
        solo.say(result(initialize["id"].clone(), session));
        solo.frame();
        solo.connected();
        solo
    }

    /// Connects; the first frame.
    ///
    /// # Panics
    /// When that is not possible.
    pub fn connect(&mut self) -> Value {
        self.peer.machine.connect(self.now).expect("connect comes once");
        self.frame()
    }

    /// Asserts that the connection is made.
    ///
    /// # Panics
    /// When it is not.
    pub fn connected(&mut self) {
        let facts = self.peer.take(|action| match action {
            client::Action::Connected(facts) => Ok(facts),
            other => Err(other),
        });
        assert!(facts.is_some(), "not connected: {:?}", self.peer.events);
    }

    /// Starts a call; its name.
    ///
    /// # Panics
    /// When the client refuses it.
    pub fn call(&mut self, request: Request, options: CallOptions) -> CallId {
        let call = self.peer.machine.call(self.now, request, options).expect("the client takes calls");
        self.drain();
        call
    }

    /// Starts the call of a tool; its name and its frame.
    pub fn tool(&mut self, name: &str, arguments: Value) -> (CallId, Value) {
        let call = self.call(Request::call_tool(name, &Json::from(arguments)), CallOptions::new());
        (call, self.frame())
    }

    /// The end of a call.
    ///
    /// # Errors
    /// How it failed.
    ///
    /// # Panics
    /// When it has not ended.
    pub fn done(&mut self, call: CallId) -> Result<Answer, CallError> {
        self.drain();
        let outcome = self.peer.take(|action| match action {
            client::Action::Done { call: done, outcome } if done == call => Ok(outcome),
            other => Err(other),
        });
        outcome.unwrap_or_else(|| panic!("the call has not ended: {:?}", self.peer.events))
    }

    /// The oldest question.
    ///
    /// # Panics
    /// When there is none.
    pub fn question(&mut self) -> InputNeeded {
        self.drain();
        let needed = self.peer.take(|action| match action {
            client::Action::NeedInput(needed) => Ok(*needed),
            other => Err(other),
        });
        needed.unwrap_or_else(|| panic!("nothing was asked: {:?}", self.peer.events))
    }
}

/// What a server answered with an error, as its code.
#[must_use]
pub fn code(outcome: &Result<Answer, CallError>) -> Option<i64> {
    match outcome {
        Err(CallError::Remote(ErrorObject { code, .. })) => Some(code.0),
        _ => None,
    }
}
