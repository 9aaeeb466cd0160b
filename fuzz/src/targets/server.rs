//! The server machine under any order of frames and verbs.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::limits::Limits;
use mcp_sansio::machine::{Input, Mono, Now, Unix};
use mcp_sansio::model::{
    CallToolResult, ElicitParams, GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceTemplate, Tool,
};
use mcp_sansio::rng::Seed;
use mcp_sansio::server::request_state::SealKeys;
use mcp_sansio::server::{Action, Call, Definition, Event, InputRequired, LogMessage, Progress, Reply, Server};
use serde_json::{Value, json};

use crate::Signature;
use crate::input::Choices;

/// Runs one input: a sequence of operations.
pub fn run(input: &[u8]) -> Signature {
    let mut rig = Rig::new();
    let mut choices = Choices::new(input);
    // Each operation takes at least one byte, so this ends.
    while !choices.is_empty() {
        rig.operate(&mut choices);
        rig.drain();
    }
    rig.end()
}

/// A server with a little of everything, built once.
pub(super) fn definition() -> Arc<Definition> {
    static DEFINITION: LazyLock<Arc<Definition>> = LazyLock::new(|| Arc::new(build()));
    Arc::clone(&DEFINITION)
}

fn build() -> Definition {
    let limits = {
        let mut limits = Limits::server();
        limits.frame_bytes = 4_096;
        limits.in_flight = 4;
        limits.calls = 4;
        limits.output_bytes = 2_048;
        limits.listen_streams = 2;
        limits.rounds = 2;
        limits
    };
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let built = Definition::builder("fuzz", "1")
        .tool(Tool::new("echo"))
        .tool(Tool::new("typed").input_schema(schema.clone()).output_schema(schema))
        .prompt(Prompt::new("greet"))
        .resource(Resource::new("a", "file:///a"))
        .template(ResourceTemplate::new("item", "item://{id}"))
        .completions()
        .logging()
        .ask_subscriptions()
        .list_changed()
        .method("acme/do")
        .notification("acme/said")
        .page_size(1)
        .limits(limits)
        .seal(SealKeys::new([5; 32]))
        .build();
    built.unwrap_or_else(|error| panic!("{error}"))
}

/// Frames that lead somewhere; `ID` is replaced by a small id, `STATE` by the last state that was given out.
const FRAMES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":ID,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"progressToken":1}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":2,"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"echo","requestState":"STATE","inputResponses":{"k":{"action":"accept"}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"typed","arguments":{"n":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"resources/read","params":{"uri":"item://7","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"prompts/get","params":{"name":"greet"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"logging/setLevel","params":{"level":"debug"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"acme/do","params":{"x":123456789012345678901234567890}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"action":"accept"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-1,"message":"no"}}"#,
    r#"[{"jsonrpc":"2.0","id":ID,"method":"ping"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"echo"}}]"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":ID,"progress":1}}"#,
];

struct Rig {
    server: Server,
    now: Now,
    slots: Vec<(SlotId, Call)>,
    calls: Vec<CallId>,
    state: String,
    unwritten: usize,
    /// Requests sent and not answered, by id: how often each id was asked.
    asked: BTreeMap<String, usize>,
    signature: Signature,
    closed: bool,
}

impl Rig {
    fn new() -> Self {
        Self {
            server: Server::new(definition(), Seed([1; 32])),
            now: Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_000) },
            slots: Vec::new(),
            calls: Vec::new(),
            state: String::new(),
            unwritten: 0,
            asked: BTreeMap::new(),
            signature: Signature::new(),
            closed: false,
        }
    }

    fn operate(&mut self, choices: &mut Choices<'_>) {
        let slot = |rig: &Self, choices: &mut Choices<'_>| {
            let place = choices.below(rig.slots.len() + 1);
            rig.slots.get(place).map_or_else(|| SlotId::from_u64(u64::from(choices.byte())), |(slot, _)| *slot)
        };
        match choices.below(16) {
            0..=5 => self.frame(choices),
            6 => {
                let bytes = choices.slice().to_vec();
                self.note_requests(&bytes);
                self.input(Input::Bytes(bytes.into()));
            }
            7 | 8 => self.reply(choices),
            9 => {
                let slot = slot(self, choices);
                let progress =
                    Progress { progress: f64::from(choices.byte()), total: Some(1.0), message: Some("m".to_owned()) };
                let sent = self.server.progress(self.now, slot, &progress);
                self.signature.note_variant(&sent);
            }
            10 => {
                let message =
                    LogMessage { level: mcp_sansio::model::LoggingLevel::Error, logger: None, data: json!("d").into() };
                let on = (choices.below(2) == 0).then(|| slot(self, choices));
                let sent = self.server.log(self.now, on, &message);
                self.signature.note_variant(&sent);
            }
            11 => {
                let event = if choices.below(2) == 0 {
                    Event::ToolsListChanged
                } else {
                    Event::ResourceUpdated { uri: "file:///a".into() }
                };
                let sent = self.server.publish(self.now, &event);
                self.signature.note_variant(&sent);
            }
            12 => {
                let method = choices.pick(&["ping", "roots/list", "tools/list", "acme/ask"]).unwrap_or("ping");
                let on = (choices.below(2) == 0).then(|| slot(self, choices));
                if let Ok(call) = self.server.request(self.now, on, method, None, Some(Duration::from_secs(1))) {
                    self.calls.push(call);
                    self.signature.note("request");
                }
            }
            13 => {
                let step = Duration::from_millis(u64::from(choices.byte()) * 100);
                self.now.mono = self.now.mono.after(step);
                self.server.handle_timeout(self.now);
            }
            14 => {
                let written = self.unwritten.min(choices.below(256) * 64);
                self.unwritten -= written;
                self.input(Input::Written(written));
            }
            _ => match choices.below(8) {
                0 => self.input(Input::Eof),
                1 => self.server.close(self.now),
                _ => {
                    if let Some(call) = self.calls.pop() {
                        let _ = self.server.cancel_request(self.now, call, None);
                    }
                }
            },
        }
    }

    fn frame(&mut self, choices: &mut Choices<'_>) {
        let frame = choices.pick(FRAMES).unwrap_or_default();
        let id = choices.pick(&["1", "2", "\"1\"", "0", "3"]).unwrap_or("1");
        let frame = format!("{}\n", frame.replace("ID", id).replace("STATE", &self.state));
        self.note_requests(frame.as_bytes());
        self.input(Input::Bytes(Bytes::from(frame)));
    }

    /// Counts the requests in bytes that may be frames, so that answers can be held against them. Bytes that
    /// continue an unfinished line make no request that is counted here; the answer is then not checked.
    fn note_requests(&mut self, bytes: &[u8]) {
        for line in bytes.split(|b| *b == b'\n') {
            let Ok(value) = serde_json::from_slice::<Value>(line) else { continue };
            let messages = value.as_array().cloned().unwrap_or_else(|| vec![value]);
            for message in messages {
                if message.get("method").is_some() {
                    *self.asked.entry(message["id"].to_string()).or_default() += 1;
                }
            }
        }
    }

    fn input(&mut self, input: Input) {
        if let Err(error) = self.server.handle(self.now, input) {
            self.signature.note_variant(&error);
        }
    }

    fn reply(&mut self, choices: &mut Choices<'_>) {
        let place = choices.below(self.slots.len().max(1));
        if place >= self.slots.len() {
            return;
        }
        let (slot, call) = self.slots.remove(place);
        let reply = match choices.below(6) {
            0 => Reply::Failed,
            1 => Reply::InputRequired(InputRequired {
                requests: vec![("k".to_owned(), ElicitParams::form("?", json!({"type": "object"})).into())],
                state: Some("s".to_owned()),
                // Shorter than any other clock, so that questions run out too.
                timeouts: [("k".to_owned(), Duration::from_secs(1))].into(),
                memo: None,
            }),
            2 => Reply::Raw(json!({"_meta": {"a": 1}}).into()),
            3 => Reply::StateUsed,
            _ => match call {
                Call::Tool { .. } => Reply::Tool(CallToolResult::structured(json!({"n": choices.byte()}))),
                Call::Prompt { .. } => Reply::Prompt(GetPromptResult::new(Vec::new())),
                Call::Read { uri, .. } => Reply::Resource(ReadResourceResult::text(uri, "text/plain", "t")),
                _ => Reply::Empty { meta: None },
            },
        };
        let again = ReplySlot::from_id(slot);
        let answered = self.server.reply(self.now, ReplySlot::from_id(slot), reply);
        assert!(self.server.reply(self.now, again, Reply::Failed).is_err(), "a slot answers twice");
        self.signature.note_variant(&answered);
    }

    fn drain(&mut self) {
        while let Some(action) = self.server.poll_action() {
            assert!(!self.closed, "an action after the last: {action:?}");
            self.signature.note_variant(&action);
            match action {
                Action::Write(bytes) => self.written(&bytes),
                Action::Invoke(invocation) => self.slots.push((invocation.slot.id(), invocation.call)),
                Action::Closed(_) => self.closed = true,
                Action::Diagnostic(diagnostic) => self.signature.note_variant(&diagnostic.kind),
                _ => {}
            }
        }
        let timeout = self.server.poll_timeout();
        assert!(timeout.is_none_or(|(_, kind)| kind != mcp_sansio::machine::TimerKind::Actions), "drained");
    }

    fn written(&mut self, bytes: &[u8]) {
        self.unwritten += bytes.len();
        assert_eq!(bytes.iter().position(|b| *b == b'\n'), Some(bytes.len() - 1), "one line");
        let frame: Value = serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("no JSON: {error}"));
        for frame in frame.as_array().cloned().unwrap_or_else(|| vec![frame]) {
            assert_eq!(frame["jsonrpc"], "2.0");
            if let Some(state) = frame["result"]["requestState"].as_str() {
                state.clone_into(&mut self.state);
            }
            if let Some(code) = frame["error"]["code"].as_i64() {
                self.signature.note(&code.to_string());
            }
            let answers = frame.get("method").is_none() && frame.get("id").is_some_and(|id| !id.is_null());
            if let (true, Some(open)) = (answers, self.asked.get_mut(&frame["id"].to_string())) {
                assert!(*open > 0, "answered more often than asked: {frame}");
                *open -= 1;
            }
        }
    }

    fn end(mut self) -> Signature {
        self.server.close(self.now);
        self.drain();
        assert!(self.server.is_closed());
        self.signature
    }
}
