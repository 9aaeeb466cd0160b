//! The HTTP client machine under any order of heads, bodies, failures and verbs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::client::{self, CallOptions, Config, Connect, InputAnswer, InputId, List, Request};
use mcp_sansio::http::client::{Action, Endpoint, Fetch, FetchFailed, FetchId, HttpClient, Input};
use mcp_sansio::ids::CallId;
use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::machine::{Mono, Now, Unix};
use mcp_sansio::model::{ClientCapabilities, ElicitResult, Implementation, SubscriptionFilter};
use serde_json::Value;

use crate::Signature;
use crate::input::Choices;

/// Messages that lead somewhere; `ID` is replaced by the id of the request of the exchange.
const MESSAGES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[]}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}},{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}}],"ttlMs":1000,"cacheScope":"public"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28"],"requested":"x"}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32020,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":ID},"notifications":{}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#,
    "no message",
];

/// What comes around a message in a stream; `MESSAGE` is replaced.
const EVENTS: &[&str] = &[
    "data: MESSAGE\n\n",
    "id: e1\nretry: 10\ndata: MESSAGE\r\n\r\n",
    "id: e2\ndata:\n\n",
    "event: endpoint\ndata: /post\n\n",
    ":\n\n",
    "data: MESSAGE",
];

const STATUSES: &[u16] = &[200, 202, 400, 401, 403, 404, 405, 500, 503, 307];

const TYPES: &[&str] = &["application/json", "text/event-stream", "text/html"];

/// Runs one input: the mode, then operations.
pub fn run(input: &[u8]) -> Signature {
    let mut choices = Choices::new(input);
    let mode = choices.pick(&[Connect::Auto, Connect::Legacy, Connect::Modern]).unwrap_or(Connect::Auto);
    let mut rig = Rig::new(mode, choices.below(2) == 1);
    rig.drain();
    while !choices.is_empty() {
        rig.operate(&mut choices);
        rig.drain();
    }
    rig.end()
}

struct Rig {
    client: HttpClient,
    now: Now,
    calls: BTreeSet<CallId>,
    /// Exchanges that the client waits for, with the id of their request.
    open: BTreeMap<FetchId, String>,
    asked: Vec<FetchId>,
    inputs: Vec<InputId>,
    last: u64,
    signature: Signature,
    closed: bool,
}

impl Rig {
    fn new(mode: Connect, asks: bool) -> Self {
        let limits = {
            let mut limits = Limits::default();
            limits.frame_bytes = 4_096;
            limits.output_bytes = 16_384;
            limits.calls = 4;
            limits.rounds = 3;
            limits.walk_pages = 4;
            limits
        };
        let config = Config::new(Implementation::new("c", "1"))
            .capabilities(ClientCapabilities::new().with_form())
            .connect(mode)
            .limits(limits);
        let endpoint = Endpoint::new("https://example.com/mcp").unwrap_or_else(|error| panic!("{error}"));
        let client = HttpClient::over_http(config, endpoint.ask_authorization(asks));
        let now = Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_000) };
        let mut client = client.unwrap_or_else(|error| panic!("{error}"));
        client.connect(now).unwrap_or_else(|error| panic!("{error}"));
        Self {
            client,
            now,
            calls: BTreeSet::new(),
            open: BTreeMap::new(),
            asked: Vec::new(),
            inputs: Vec::new(),
            last: 0,
            signature: Signature::new(),
            closed: false,
        }
    }

    fn operate(&mut self, choices: &mut Choices<'_>) {
        let open: Vec<FetchId> = self.open.keys().copied().collect();
        // Sometimes one that is over, or never was.
        let fetch = match choices.below(16) {
            0 => FetchId::from_u64(choices.below(8) as u64),
            newest => open.get(open.len().saturating_sub(1 + newest % 4)).copied().unwrap_or(FetchId::from_u64(99)),
        };
        match choices.below(16) {
            0..=3 => {
                let status = choices.pick(STATUSES).unwrap_or(200);
                let mut headers = vec![("content-type".to_owned(), choices.pick(TYPES).unwrap_or_default().to_owned())];
                match choices.below(4) {
                    0 => headers.push(("mcp-session-id".to_owned(), format!("s-{}", choices.byte()))),
                    1 => headers.push(("www-authenticate".to_owned(), "Bearer".to_owned())),
                    _ => {}
                }
                self.input(Input::Head { fetch, status, headers: headers.into_iter().collect() });
            }
            4..=7 => {
                let id = self.open.get(&fetch).map_or("1", String::as_str);
                let message = choices.pick(MESSAGES).unwrap_or_default().replace("ID", id);
                let text = match choices.below(3) {
                    0 => message,
                    _ => choices.pick(EVENTS).unwrap_or_default().replace("MESSAGE", &message),
                };
                let (head, tail) = text.split_at(choices.below(text.len().max(1)).min(text.len()));
                self.body(fetch, head.as_bytes());
                self.body(fetch, tail.as_bytes());
            }
            8 => self.body(fetch, choices.slice()),
            9 => self.over(Input::End { fetch }),
            10 => {
                let reason = match choices.below(2) {
                    0 => FetchFailed::NotSent("x".into()),
                    _ => FetchFailed::Broken("x".into()),
                };
                self.over(Input::Failed { fetch, reason });
            }
            11 | 12 => self.verb(choices),
            13 => {
                let step = Duration::from_millis(u64::from(choices.byte()).pow(2) * 4);
                self.now.mono = self.now.mono.after(step);
                self.client.handle_timeout(self.now);
            }
            14 => {
                let Some(asked) = self.asked.pop() else { return };
                let outcome = match choices.below(2) {
                    0 => self.client.authorize(self.now, asked, "Bearer x"),
                    _ => self.client.refuse_authorization(self.now, asked),
                };
                self.signature.note_variant(&outcome);
            }
            _ => match choices.below(8) {
                0 => self.client.close(self.now),
                1 => drop(self.client.notify(self.now, "x/y", &Json::EMPTY_OBJECT)),
                _ => {
                    if let Some(input) = self.inputs.pop() {
                        let answer = InputAnswer::Elicit(ElicitResult::decline());
                        let _ = self.client.supply_input(self.now, input, &answer);
                    }
                }
            },
        }
    }

    fn verb(&mut self, choices: &mut Choices<'_>) {
        let options = CallOptions::new().progress();
        let called = match choices.below(6) {
            0 => self.client.call(self.now, Request::list(List::Tools, None), options),
            1 => self.client.walk(self.now, List::Tools, options),
            2 => self.client.listen(self.now, &SubscriptionFilter::new().tools_list_changed(true), options),
            3 => {
                let open: Vec<CallId> = self.calls.iter().copied().collect();
                let call = choices.pick(&open).unwrap_or(CallId::from_u64(99));
                drop(self.client.cancel(self.now, call, None));
                return;
            }
            _ => {
                let arguments = Json::from_text(r#"{"a":"é"}"#).unwrap_or(Json::EMPTY_OBJECT);
                self.client.call(self.now, Request::call_tool("echo", &arguments), options)
            }
        };
        match called {
            Ok(call) => assert!(self.calls.insert(call), "a call id came twice"),
            Err(error) => self.signature.note_variant(&error),
        }
    }

    fn body(&mut self, fetch: FetchId, bytes: &[u8]) {
        self.input(Input::Body { fetch, bytes: Bytes::copy_from_slice(bytes) });
    }

    /// An exchange ends.
    fn over(&mut self, input: Input) {
        self.open.remove(&input.fetch());
        self.input(input);
    }

    fn input(&mut self, input: Input) {
        if let Err(error) = self.client.handle(self.now, input) {
            self.signature.note_variant(&error);
        }
    }

    fn drain(&mut self) {
        while let Some(action) = self.client.poll_action() {
            assert!(!self.closed, "an action after the last: {action:?}");
            match action {
                Action::Fetch(fetch) => self.fetched(&fetch),
                Action::Abort(fetch) => {
                    self.signature.note("abort");
                    self.open.remove(&fetch);
                }
                Action::Unauthorized(asked) => {
                    self.signature.note("unauthorized");
                    self.asked.push(asked.fetch);
                }
                Action::Event(event) => self.event(event),
                _ => {}
            }
        }
    }

    fn fetched(&mut self, fetch: &Fetch) {
        assert!(fetch.id.to_u64() > self.last, "an exchange id is used again");
        self.last = fetch.id.to_u64();
        for (name, value) in fetch.headers.iter() {
            assert!(name.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase()), "{name}");
            assert!(value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..)), "{name}");
        }
        self.signature.note(fetch.method.as_str());
        let message: Value = match fetch.body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&fetch.body).unwrap_or_else(|error| panic!("no JSON: {error}")),
        };
        self.signature.note(message["method"].as_str().unwrap_or_default());
        self.open.insert(fetch.id, message["id"].to_string());
    }

    fn event(&mut self, event: client::Action) {
        self.signature.note_variant(&event);
        match event {
            client::Action::Write(_) => panic!("there is no stream to write to"),
            client::Action::Done { call, outcome } => {
                assert!(self.calls.remove(&call), "a call ended twice");
                self.signature.note_variant(&outcome.map(|_| ()));
            }
            client::Action::NeedInput(needed) => self.inputs.push(needed.input),
            client::Action::Diagnostic(diagnostic) => self.signature.note_variant(&diagnostic.kind),
            client::Action::Closed(_) => self.closed = true,
            _ => {}
        }
    }

    fn end(mut self) -> Signature {
        self.client.close(self.now);
        self.drain();
        assert!(self.calls.is_empty(), "calls that never ended: {:?}", self.calls);
        assert!(self.closed, "the end is not told");
        assert_eq!(self.client.poll_timeout(), None, "something is waited for after the end");
        self.signature
    }
}
