//! A client and a server against a model of their calls.
//!
//! The model is a table: which calls were made, with which text, and how each must end. The link between the two
//! delays frames and cuts bytes anywhere.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::client::{self, CallError, CallOptions, Client, Config, Connect, Request};
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Input, Mono, Now, Unix};
use mcp_sansio::model::{CallToolResult, Implementation};
use mcp_sansio::rng::Seed;
use mcp_sansio::server::{self, Call, Reply, Server};
use serde_json::{Value, json};

use crate::Signature;
use crate::input::Choices;

/// How a call of the model stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expect {
    /// Open, with this number as its argument.
    Answer(usize),
    /// The client has cancelled it.
    Cancelled,
    /// It has ended.
    Ended,
}

/// Runs one input: the era, then operations.
pub fn run(input: &[u8]) -> Signature {
    let mut choices = Choices::new(input);
    let mode = choices.pick(&[Connect::Auto, Connect::Legacy, Connect::Modern]).unwrap_or(Connect::Auto);
    let mut rig = Rig::new(mode);
    while !choices.is_empty() {
        rig.operate(&mut choices);
    }
    rig.end()
}

struct Rig {
    client: Client,
    server: Server,
    now: Now,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    invocations: Vec<(SlotId, usize)>,
    model: BTreeMap<CallId, Expect>,
    signature: Signature,
}

impl Rig {
    fn new(mode: Connect) -> Self {
        let config = Config::new(Implementation::new("c", "1")).connect(mode);
        let mut rig = Self {
            client: Client::new(config).unwrap_or_else(|error| panic!("{error}")),
            server: Server::new(super::server::definition(), Seed([1; 32])),
            now: Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_000) },
            to_server: Vec::new(),
            to_client: Vec::new(),
            invocations: Vec::new(),
            model: BTreeMap::new(),
            signature: Signature::new(),
        };
        rig.client.connect(rig.now).unwrap_or_else(|error| panic!("{error}"));
        rig
    }

    fn operate(&mut self, choices: &mut Choices<'_>) {
        match choices.below(8) {
            0 | 1 => {
                let number = self.model.len();
                let arguments = Json::from(json!({"n": number, "text": "naïve 日本\n"}));
                let request = Request::call_tool("echo", &arguments);
                match self.client.call(self.now, request, CallOptions::new()) {
                    Ok(call) => drop(self.model.insert(call, Expect::Answer(number))),
                    Err(error) => self.signature.note_variant(&error),
                }
            }
            2 => self.deliver(true, choices.below(64)),
            3 => self.deliver(false, choices.below(64)),
            4 => {
                if !self.invocations.is_empty() {
                    let place = choices.below(self.invocations.len());
                    self.answer(place);
                }
            }
            5 => {
                let open: Vec<CallId> = self.open().collect();
                if let Some(call) = choices.pick(&open) {
                    self.model.insert(call, Expect::Cancelled);
                    self.client.cancel(self.now, call, Some("fuzz")).unwrap_or_else(|error| panic!("{error}"));
                }
            }
            6 => {
                let step = Duration::from_millis(u64::from(choices.byte()));
                self.now.mono = self.now.mono.after(step);
                self.client.handle_timeout(self.now);
                self.server.handle_timeout(self.now);
            }
            _ => self.settle(),
        }
        self.drain();
    }

    fn open(&self) -> impl Iterator<Item = CallId> {
        self.model.iter().filter(|(_, expect)| matches!(expect, Expect::Answer(_))).map(|(call, _)| *call)
    }

    fn answer(&mut self, place: usize) {
        let (slot, number) = self.invocations.remove(place);
        let reply = Reply::Tool(CallToolResult::text(number.to_string()));
        self.server.reply(self.now, ReplySlot::from_id(slot), reply).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Carries some of the bytes that are on their way.
    fn deliver(&mut self, up: bool, bytes: usize) {
        let buffer = if up { &mut self.to_server } else { &mut self.to_client };
        let count = bytes.min(buffer.len());
        let part: Vec<u8> = buffer.drain(..count).collect();
        if part.is_empty() {
            return;
        }
        let input = Input::Bytes(Bytes::from(part));
        let taken = if up { self.server.handle(self.now, input) } else { self.client.handle(self.now, input) };
        taken.unwrap_or_else(|error| panic!("a peer's own frame was refused: {error}"));
    }

    /// Carries and answers everything until both are quiet.
    fn settle(&mut self) {
        loop {
            self.drain();
            if self.to_server.is_empty() && self.to_client.is_empty() && self.invocations.is_empty() {
                return;
            }
            self.deliver(true, usize::MAX);
            self.deliver(false, usize::MAX);
            self.drain();
            while !self.invocations.is_empty() {
                self.answer(0);
            }
        }
    }

    fn drain(&mut self) {
        while let Some(action) = self.server.poll_action() {
            match action {
                server::Action::Write(bytes) => {
                    self.to_client.extend_from_slice(&bytes);
                    let _ = self.server.handle(self.now, Input::Written(bytes.len()));
                }
                server::Action::Invoke(invocation) => {
                    let Call::Tool { arguments, .. } = &invocation.call else { panic!("{:?}", invocation.call) };
                    let arguments: Value = arguments.parse().unwrap_or_default();
                    assert_eq!(arguments["text"], "naïve 日本\n");
                    let number = arguments["n"].as_u64().map_or(usize::MAX, |n| n as usize);
                    self.invocations.push((invocation.slot.id(), number));
                }
                other => self.signature.note_variant(&other),
            }
        }
        while let Some(action) = self.client.poll_action() {
            match action {
                client::Action::Write(bytes) => {
                    self.to_server.extend_from_slice(&bytes);
                    let _ = self.client.handle(self.now, Input::Written(bytes.len()));
                }
                client::Action::Done { call, outcome } => self.ended(call, outcome),
                other => self.signature.note_variant(&other),
            }
        }
    }

    fn ended(&mut self, call: CallId, outcome: Result<client::Answer, CallError>) {
        let expect = self.model.insert(call, Expect::Ended);
        match (expect, outcome) {
            (Some(Expect::Answer(number)), Ok(answer)) => {
                let result: CallToolResult = answer.parse().unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(result.joined_text(), number.to_string(), "an answer went to another call");
                self.signature.note("answered");
            }
            (Some(Expect::Cancelled), Err(CallError::Cancelled)) => self.signature.note("cancelled"),
            // The server bounds what is in flight.
            (Some(Expect::Answer(_)), Err(CallError::Remote(_))) => self.signature.note("refused"),
            (expect, outcome) => panic!("{call:?} was {expect:?} and ended with {outcome:?}"),
        }
    }

    fn end(mut self) -> Signature {
        self.settle();
        // The probe or the handshake is over by now, so that every call has been sent and answered.
        assert_eq!(self.open().count(), 0, "a call never ended: {:?}", self.model);
        self.client.close(self.now);
        self.drain();
        self.signature
    }
}
