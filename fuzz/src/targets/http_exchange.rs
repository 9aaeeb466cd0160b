//! Requests that stand alone: heads, pieces of bodies and verbs in any order.
//!
//! The harness asserts that each request is answered once, with its stream in order; here every handler answers in
//! the end, and then nothing may be left.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::http::server::{Action, Options};
use mcp_sansio::ids::{ReplySlot, SlotId};
use mcp_sansio::machine::{Mono, Now, Unix};
use mcp_sansio::model::{CallToolResult, ElicitParams, LoggingLevel, ReadResourceResult};
use mcp_sansio::server::{Call, Event, InputRequired, LogMessage, Progress, Reply};
use mcp_sansio::testing::{AskId, HttpFront, HttpMachine, HttpPiece, HttpRequest};
use serde_json::{Value, json};

use crate::Signature;
use crate::input::Choices;

/// Messages that lead somewhere, without their envelope.
const BODIES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"debug",ENVELOPE}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"typed","arguments":{"n":1},"_meta":{ENVELOPE}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","requestState":"STATE","inputResponses":{"k":{"action":"accept"}},"_meta":{ENVELOPE}}}"#,
    r#"{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]},"_meta":{ENVELOPE}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{ENVELOPE}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"item://7","_meta":{ENVELOPE}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"acme/do","params":{"x":1,"_meta":{ENVELOPE}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"nothing/known","params":{"_meta":{ENVELOPE}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","method":"acme/said","params":{"_meta":{ENVELOPE}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"_meta":{ENVELOPE}}}"#,
    r#"[{"jsonrpc":"2.0","id":4,"method":"ping"},{"jsonrpc":"2.0","method":"acme/said"}]"#,
    r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
    "{",
];

const ENVELOPE: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}"#;

/// Runs one input: the options, then operations.
pub fn run(input: &[u8]) -> Signature {
    let mut choices = Choices::new(input);
    let mut rig = Rig::new(choices.below(4));
    while !choices.is_empty() {
        rig.operate(&mut choices);
        rig.look();
    }
    rig.end()
}

/// An answer as it is read.
#[derive(Debug, Default)]
struct Answer {
    status: Option<u16>,
    body: Vec<u8>,
    over: bool,
}

struct Rig {
    front: HttpFront,
    now: Now,
    asks: BTreeMap<AskId, Answer>,
    /// What is still to come of the body of a request that was begun.
    bodies: Vec<(AskId, Bytes)>,
    slots: Vec<(HttpMachine, SlotId, Call)>,
    state: String,
    signature: Signature,
}

impl Rig {
    fn new(options: usize) -> Self {
        let base = Options::default().keep_alive(Some(Duration::from_secs(2)));
        let options = match options {
            0 => base,
            1 => base.json_answers(),
            2 => base.stateless(),
            _ => Options::default().keep_alive(None).stateless().json_answers(),
        };
        Self {
            front: HttpFront::new(super::server::definition(), options),
            now: Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_000) },
            asks: BTreeMap::new(),
            bodies: Vec::new(),
            slots: Vec::new(),
            state: String::new(),
            signature: Signature::new(),
        }
    }

    fn operate(&mut self, choices: &mut Choices<'_>) {
        match choices.below(16) {
            0..=4 => self.request(choices),
            5 => {
                if let Some((ask, mut rest)) = self.bodies.pop() {
                    let piece = rest.split_to(choices.below(256).min(rest.len()));
                    self.front.body(self.now, ask, piece);
                    self.bodies.push((ask, rest));
                }
            }
            6 => {
                if let Some((ask, rest)) = self.bodies.pop() {
                    self.front.body(self.now, ask, rest);
                    self.front.end(self.now, ask);
                }
            }
            7 => {
                if let Some((ask, _)) = self.bodies.pop() {
                    self.front.end(self.now, ask);
                }
            }
            8 | 9 => self.reply(choices),
            10 => {
                let (machine, slot) = self.slot(choices);
                let progress = Progress { progress: f64::from(choices.byte()), total: None, message: None };
                let sent = self.front.progress(self.now, machine, slot, &progress);
                self.signature.note(&format!("{sent:?}"));
            }
            11 => {
                let (machine, slot) = self.slot(choices);
                let slot = (choices.below(2) == 0).then_some(slot);
                if choices.below(2) == 0 {
                    let message = LogMessage { level: LoggingLevel::Error, logger: None, data: json!("d").into() };
                    let sent = self.front.log(self.now, machine, slot, &message);
                    self.signature.note(&format!("log {sent:?}"));
                } else {
                    let sent = self.front.notify(self.now, machine, slot, "acme/news", None);
                    self.signature.note(if sent.is_ok() { "notify" } else { "no notify" });
                }
            }
            12 => {
                let event = match choices.below(2) {
                    0 => Event::ToolsListChanged,
                    _ => Event::ResourceUpdated { uri: "file:///a".into() },
                };
                self.front.publish(self.now, &event);
            }
            13 => {
                self.now.mono = self.now.mono.after(Duration::from_millis(u64::from(choices.byte()) * 20));
                self.front.handle_timeout(self.now);
            }
            14 => self.read(choices),
            _ => {
                let asks: Vec<_> = self.asks.iter().filter(|(_, answer)| !answer.over).map(|(ask, _)| *ask).collect();
                if let Some(ask) = choices.pick(&asks) {
                    self.asks.remove(&ask);
                    self.bodies.retain(|(other, _)| *other != ask);
                    self.front.disconnect(self.now, ask);
                    self.signature.note("disconnect");
                }
            }
        }
    }

    fn request(&mut self, choices: &mut Choices<'_>) {
        let body = choices.pick(BODIES).unwrap_or_default();
        let body = body.replace("ENVELOPE", ENVELOPE).replace("STATE", &self.state);
        let message: Value = serde_json::from_str(&body).unwrap_or_default();
        let mut request =
            HttpRequest::new("POST", "/mcp").header("content-type", "application/json").header("accept", "*/*");
        let how = choices.byte();
        if body.contains("protocolVersion\":\"2026") && how & 3 != 3 {
            request = request.header("mcp-protocol-version", "2026-07-28");
        }
        if let Some(method) = message["method"].as_str().filter(|_| how & 0x30 != 0x30) {
            request = request.header("mcp-method", method.to_owned());
        }
        let name = message["params"]["name"].as_str().or_else(|| message["params"]["uri"].as_str());
        if let Some(name) = name.filter(|_| how & 0xc0 != 0xc0) {
            request = request.header("mcp-name", name.to_owned());
        }
        if how & 4 != 0 {
            request.principal = Some("p".into());
        }
        let ask = self.front.begin(self.now, &request);
        self.asks.insert(ask, Answer::default());
        let body = Bytes::from(body);
        if how & 8 == 0 {
            self.front.body(self.now, ask, body);
            self.front.end(self.now, ask);
        } else {
            self.bodies.push((ask, body));
        }
    }

    fn slot(&self, choices: &mut Choices<'_>) -> (HttpMachine, SlotId) {
        let place = choices.below(self.slots.len() + 1);
        match self.slots.get(place) {
            Some((machine, slot, _)) => (*machine, *slot),
            None => (HttpMachine::Exchange(u64::from(choices.byte())), SlotId::from_u64(u64::from(choices.byte()))),
        }
    }

    fn reply(&mut self, choices: &mut Choices<'_>) {
        if self.slots.is_empty() {
            return;
        }
        let (machine, slot, call) = self.slots.remove(choices.below(self.slots.len()));
        let reply = match choices.below(5) {
            0 => Reply::Failed,
            1 => Reply::InputRequired(InputRequired {
                requests: vec![("k".to_owned(), ElicitParams::form("?", json!({"type": "object"})).into())],
                state: Some("s".to_owned()),
                timeouts: std::iter::empty().collect(),
                memo: None,
            }),
            _ => match call {
                Call::Tool { .. } => Reply::Tool(CallToolResult::structured(json!({"n": 1}))),
                Call::Read { uri, .. } => Reply::Resource(ReadResourceResult::text(uri, "text/plain", "t")),
                _ => Reply::Empty { meta: None },
            },
        };
        let answered = self.front.reply(self.now, machine, ReplySlot::from_id(slot), reply);
        assert!(answered.is_ok(), "an open slot was refused: {answered:?}");
        let again = self.front.reply(self.now, machine, ReplySlot::from_id(slot), Reply::Failed);
        assert!(again.is_err(), "a slot answers twice");
    }

    /// Reads some of an answer.
    fn read(&mut self, choices: &mut Choices<'_>) {
        let asks: Vec<_> = self.asks.keys().copied().collect();
        let Some(ask) = choices.pick(&asks) else { return };
        for _ in 0..=choices.below(8) {
            if !self.piece(ask) {
                return;
            }
        }
    }

    fn piece(&mut self, ask: AskId) -> bool {
        let Some(piece) = self.front.poll(self.now, ask) else { return false };
        let answer = self.asks.entry(ask).or_default();
        assert!(!answer.over, "a piece after the end: {piece:?}");
        match piece {
            HttpPiece::Head { status, .. } => {
                assert!(answer.status.replace(status).is_none(), "two heads");
                self.signature.note(&status.to_string());
            }
            HttpPiece::Body(bytes) => answer.body.extend_from_slice(&bytes),
            HttpPiece::End => {
                answer.over = true;
                assert!(answer.status.is_some(), "an end without a head");
                let text = String::from_utf8_lossy(&answer.body).into_owned();
                self.whole(&text);
            }
        }
        true
    }

    /// What a whole answer holds: at most one response.
    fn whole(&mut self, text: &str) {
        let events: Vec<&str> = text.split('\n').filter_map(|line| line.strip_prefix("data: ")).collect();
        let messages = if events.is_empty() { vec![text] } else { events };
        let mut responses = 0;
        for message in messages.into_iter().filter(|message| !message.is_empty() && *message != ":\n\n") {
            let Ok(message) = serde_json::from_str::<Value>(message) else { continue };
            responses += usize::from(message.get("result").is_some() || message.get("error").is_some());
            if let Some(state) = message["result"]["requestState"].as_str() {
                state.clone_into(&mut self.state);
            }
            if let Some(code) = message["error"]["code"].as_i64() {
                self.signature.note(&code.to_string());
            }
        }
        assert!(responses <= 1, "two responses: {text}");
    }

    fn look(&mut self) {
        while let Some((machine, action)) = self.front.next_event() {
            self.signature.note_variant(&action);
            if let Action::Invoke(invocation) = action {
                self.slots.push((machine, invocation.slot.id(), invocation.call));
            }
        }
    }

    /// Every body comes whole, every handler answers, the server ends: every request must be over then.
    fn end(mut self) -> Signature {
        while let Some((ask, rest)) = self.bodies.pop() {
            self.front.body(self.now, ask, rest);
            self.front.end(self.now, ask);
        }
        self.look();
        while let Some((machine, slot, _)) = self.slots.pop() {
            let _ = self.front.reply(self.now, machine, ReplySlot::from_id(slot), Reply::Failed);
            self.look();
        }
        self.front.shut_down(self.now);
        self.look();
        for ask in self.asks.keys().copied().collect::<Vec<_>>() {
            while self.piece(ask) {}
        }
        for (ask, answer) in &self.asks {
            assert!(answer.over, "{ask:?} has not ended: {answer:?}");
        }
        assert_eq!(self.front.exchanges().count(), 0, "exchanges that are over are left");
        self.signature
    }
}
