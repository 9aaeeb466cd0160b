//! The client machine under any order of frames and verbs.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::client::{Action, CallOptions, Client, Config, Connect, InputAnswer, InputId, List, Request};
use mcp_sansio::error::ErrorObject;
use mcp_sansio::ids::{CallId, ReplySlot};
use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::machine::{Input, Mono, Now, Unix};
use mcp_sansio::model::{ClientCapabilities, ElicitResult, Implementation, ListRootsResult, SubscriptionFilter};
use serde_json::{Value, json};

use crate::Signature;
use crate::input::Choices;

/// Frames that lead somewhere; `ID` is replaced by the id of a request that the client has sent.
const FRAMES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{}},"ttlMs":0,"cacheScope":"private"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[{"type":"text","text":"t"}]}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","requestState":""}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}],"nextCursor":"","ttlMs":1000,"cacheScope":"public"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","tools":[],"ttlMs":-1}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"later"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":7}"#,
    r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"m","data":{"supported":["2025-11-25"],"requested":"2026-07-28"}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"error":"nonsense"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":ID,"progress":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":ID},"notifications":{"toolsListChanged":true}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":ID}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"roots/list"}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"acme/ask"}"#,
    r#"[{"jsonrpc":"2.0","id":ID,"method":"ping"},{"jsonrpc":"2.0","id":ID,"result":{}}]"#,
    "Listening on stdio",
];

/// Runs one input: the mode, then operations.
pub fn run(input: &[u8]) -> Signature {
    let mut choices = Choices::new(input);
    let mode = choices.pick(&[Connect::Auto, Connect::Legacy, Connect::Modern]).unwrap_or(Connect::Auto);
    let mut rig = Rig::new(mode);
    while !choices.is_empty() {
        rig.operate(&mut choices);
        rig.drain();
    }
    rig.end()
}

struct Rig {
    client: Client,
    now: Now,
    open: BTreeSet<CallId>,
    inputs: Vec<InputId>,
    slots: Vec<ReplySlot>,
    ids: Vec<String>,
    unwritten: usize,
    signature: Signature,
    closed: bool,
}

impl Rig {
    fn new(mode: Connect) -> Self {
        let limits = {
            let mut limits = Limits::default();
            limits.frame_bytes = 4_096;
            limits.calls = 4;
            limits.rounds = 3;
            limits.walk_pages = 4;
            limits.cache_entries = 2;
            limits
        };
        let config = Config::new(Implementation::new("c", "1"))
            .capabilities(ClientCapabilities::new().with_form().with_roots())
            .connect(mode)
            .limits(limits)
            .server_method("acme/ask");
        let now = Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_000) };
        let mut client = Client::new(config).unwrap_or_else(|error| panic!("{error}"));
        client.connect(now).unwrap_or_else(|error| panic!("{error}"));
        Self {
            client,
            now,
            open: BTreeSet::new(),
            inputs: Vec::new(),
            slots: Vec::new(),
            ids: vec!["1".to_owned()],
            unwritten: 0,
            signature: Signature::new(),
            closed: false,
        }
    }

    fn operate(&mut self, choices: &mut Choices<'_>) {
        match choices.below(16) {
            0..=5 => {
                let frame = choices.pick(FRAMES).unwrap_or_default();
                let newest = self.ids.len().saturating_sub(1 + choices.below(4));
                let id = self.ids.get(newest).map_or("1", String::as_str);
                let frame = format!("{}\n", frame.replace("ID", id));
                self.input(Input::Bytes(Bytes::from(frame)));
            }
            6 => self.input(Input::Bytes(Bytes::copy_from_slice(choices.slice()))),
            7 | 8 => {
                let request = match choices.below(4) {
                    0 => Request::call_tool("echo", &Json::EMPTY_OBJECT),
                    1 => Request::read_resource("file:///a"),
                    2 => Request::list(List::Tools, None),
                    _ => Request::ping(),
                };
                let called = self.client.call(self.now, request, CallOptions::new().progress());
                self.opened(called);
            }
            9 => {
                let walk = self.client.walk(self.now, List::Tools, CallOptions::new());
                self.opened(walk);
            }
            10 => {
                let filter = SubscriptionFilter::new().tools_list_changed(true);
                let listen = self.client.listen(self.now, &filter, CallOptions::new());
                self.opened(listen);
            }
            11 => {
                let open: Vec<CallId> = self.open.iter().copied().collect();
                let call = choices.pick(&open).unwrap_or(CallId::from_u64(99));
                let _ = self.client.cancel(self.now, call, None);
            }
            12 => {
                if let Some(input) = self.inputs.pop() {
                    let answer = match choices.below(3) {
                        0 => InputAnswer::Elicit(ElicitResult::accept(json!({}))),
                        1 => InputAnswer::Roots(ListRootsResult::new(Vec::new())),
                        _ => InputAnswer::Elicit(ElicitResult::decline()),
                    };
                    let supplied = self.client.supply_input(self.now, input, &answer);
                    self.signature.note_variant(&supplied);
                }
            }
            13 => {
                let step = Duration::from_secs(u64::from(choices.byte()));
                self.now.mono = self.now.mono.after(step);
                self.now.unix = Unix::from_millis(self.now.unix.as_millis() + step.as_millis() as u64);
                self.client.handle_timeout(self.now);
            }
            14 => {
                let written = self.unwritten;
                self.unwritten = 0;
                self.input(Input::Written(written));
            }
            _ => match choices.below(8) {
                0 => self.input(Input::Eof),
                1 => self.client.close(self.now),
                2 => drop(self.client.roots_changed(self.now)),
                _ => {
                    if let Some(slot) = self.slots.pop() {
                        let _ = self.client.reply(self.now, slot, Err(ErrorObject::internal()));
                    }
                }
            },
        }
    }

    fn opened(&mut self, call: Result<CallId, mcp_sansio::error::Error>) {
        match call {
            Ok(call) => assert!(self.open.insert(call), "a call id came twice"),
            Err(error) => self.signature.note_variant(&error),
        }
    }

    fn input(&mut self, input: Input) {
        if let Err(error) = self.client.handle(self.now, input) {
            self.signature.note_variant(&error);
        }
    }

    fn drain(&mut self) {
        while let Some(action) = self.client.poll_action() {
            assert!(!self.closed, "an action after the last: {action:?}");
            self.signature.note_variant(&action);
            match action {
                Action::Write(bytes) => self.written(&bytes),
                Action::Done { call, outcome } => {
                    assert!(self.open.remove(&call), "a call ended twice");
                    self.signature.note_variant(&outcome.map(|_| ()));
                }
                Action::NeedInput(needed) => self.inputs.push(needed.input),
                Action::Invoke { slot, .. } => self.slots.push(slot),
                Action::Diagnostic(diagnostic) => self.signature.note_variant(&diagnostic.kind),
                Action::Closed(_) => self.closed = true,
                _ => {}
            }
        }
    }

    fn written(&mut self, bytes: &[u8]) {
        self.unwritten += bytes.len();
        assert_eq!(bytes.iter().position(|b| *b == b'\n'), Some(bytes.len() - 1), "one line");
        let frame: Value = serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("no JSON: {error}"));
        if let (Some(method), Some(id)) = (frame["method"].as_str(), frame.get("id")) {
            let id = id.to_string();
            assert!(self.ids.iter().skip(1).all(|old| *old != id), "a request id is used again");
            self.ids.push(id);
            self.signature.note(method);
        }
    }

    fn end(mut self) -> Signature {
        self.client.close(self.now);
        self.drain();
        assert!(self.open.is_empty(), "calls that never ended: {:?}", self.open);
        self.signature
    }
}
