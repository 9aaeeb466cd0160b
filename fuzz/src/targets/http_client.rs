//! The HTTP client under any outcome of its exchanges: heads, bodies, ends and failures in any order, and verbs.
//!
//! The model is a table: which calls are open, and what each of them carries. An answer names what its request
//! carried, whatever exchange and whatever stream it comes by, so that a mix-up shows.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::client::{self, CallOptions, Config, Connect, InputAnswer, InputId, List, Request};
use mcp_sansio::http::Method;
use mcp_sansio::http::client::{Action, Endpoint, Fetch, FetchFailed, FetchId, HttpClient, Input};
use mcp_sansio::ids::CallId;
use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::machine::{Mono, Now, TimerKind, Unix};
use mcp_sansio::model::{CallToolResult, ClientCapabilities, ElicitResult, Implementation, SubscriptionFilter};
use mcp_sansio::spec::Version;
use serde_json::{Value, json};

use crate::Signature;
use crate::input::Choices;

/// Runs one input: the mode, then operations.
pub fn run(input: &[u8]) -> Signature {
    let mut choices = Choices::new(input);
    let mut rig = Rig::new(choices.byte());
    while !choices.is_empty() {
        rig.operate(&mut choices);
        rig.drain();
    }
    rig.end()
}

/// An exchange that the client waits for.
struct Open {
    fetch: Fetch,
    message: Value,
    head: bool,
    events: u32,
}

struct Rig {
    client: HttpClient,
    now: Now,
    exchanges: Vec<Open>,
    /// Exchanges that are over: what comes of them is ignored.
    stale: Vec<FetchId>,
    asked: Vec<FetchId>,
    calls: BTreeMap<CallId, String>,
    inputs: Vec<InputId>,
    made: usize,
    signature: Signature,
    closed: bool,
}

impl Rig {
    fn new(mode: u8) -> Self {
        let connect = match mode % 4 {
            0 => Connect::Auto,
            1 => Connect::Modern,
            2 => Connect::Legacy,
            _ => Connect::Pinned(Version::V2025_03_26),
        };
        let limits = {
            let mut limits = Limits::default();
            limits.frame_bytes = 4_096;
            limits.calls = 6;
            limits.rounds = 3;
            limits.walk_pages = 4;
            limits.resume_budget = Duration::from_secs(20);
            limits
        };
        let config = Config::new(Implementation::new("c", "1"))
            .capabilities(ClientCapabilities::new().with_form())
            .connect(connect)
            .limits(limits);
        let endpoint = Endpoint::new("http://localhost/mcp").unwrap_or_else(|error| panic!("{error}"));
        let endpoint = endpoint.ask_authorization(mode & 16 != 0).get_stream(mode & 32 == 0);
        let now = Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_000) };
        let mut client = HttpClient::over_http(config, endpoint).unwrap_or_else(|error| panic!("{error}"));
        client.connect(now).unwrap_or_else(|error| panic!("{error}"));
        let mut rig = Self {
            client,
            now,
            exchanges: Vec::new(),
            stale: Vec::new(),
            asked: Vec::new(),
            calls: BTreeMap::new(),
            inputs: Vec::new(),
            made: 0,
            signature: Signature::new(),
            closed: false,
        };
        rig.drain();
        rig
    }

    fn operate(&mut self, choices: &mut Choices<'_>) {
        match choices.below(16) {
            0..=3 => self.proper(choices),
            4..=6 => self.improper(choices),
            7 | 8 => {
                let name = format!("tool-{}", self.made);
                let options = CallOptions::new().progress();
                let called = self.client.call(self.now, Request::call_tool(&name, &Json::EMPTY_OBJECT), options);
                self.opened(called, name);
            }
            9 => {
                let called = match choices.below(3) {
                    0 => self.client.walk(self.now, List::Tools, CallOptions::new()),
                    1 => self.client.call(self.now, Request::ping(), CallOptions::new()),
                    _ => {
                        let filter = SubscriptionFilter::new().tools_list_changed(true);
                        self.client.listen(self.now, &filter, CallOptions::new())
                    }
                };
                self.opened(called, String::new());
            }
            10 => {
                let open: Vec<CallId> = self.calls.keys().copied().collect();
                if let Some(call) = choices.pick(&open) {
                    self.client.cancel(self.now, call, None).unwrap_or_else(|error| panic!("an open call: {error}"));
                }
            }
            11 => {
                if let Some(input) = self.inputs.pop() {
                    let answer = InputAnswer::Elicit(ElicitResult::accept(json!({})));
                    let _ = self.client.supply_input(self.now, input, &answer);
                }
            }
            12 | 13 => {
                let unit = choices.pick(&[1, 50, 1_000]).unwrap_or(1);
                self.now.mono = self.now.mono.after(Duration::from_millis(u64::from(choices.byte()) * unit));
                self.client.handle_timeout(self.now);
            }
            14 => {
                if let Some(fetch) = self.asked.pop() {
                    let done = match choices.below(2) {
                        0 => self.client.authorize(self.now, fetch, "Bearer x"),
                        _ => self.client.refuse_authorization(self.now, fetch),
                    };
                    self.signature.note(if done.is_ok() { "authorized" } else { "not asked" });
                }
            }
            _ => {
                if choices.below(8) == 0 {
                    self.client.close(self.now);
                }
            }
        }
    }

    fn opened(&mut self, called: Result<CallId, mcp_sansio::error::Error>, name: String) {
        match called {
            Ok(call) => {
                self.made += 1;
                assert!(self.calls.insert(call, name).is_none(), "the name of a call is used twice");
            }
            Err(error) => self.signature.note_variant(&error),
        }
    }

    /// The next step of a server that does what it should.
    fn proper(&mut self, choices: &mut Choices<'_>) {
        let place = choices.below(self.exchanges.len().max(1));
        let how = choices.byte();
        let Some(open) = self.exchanges.get_mut(place) else { return };
        let (fetch, message) = (open.fetch.id, open.message.clone());
        let id = message["id"].clone();
        if open.fetch.method == Method::Delete || (open.fetch.method == Method::Post && id.is_null()) {
            self.head(place, 202, &[]);
            return self.finish(place);
        }
        if open.fetch.method == Method::Post && message.get("method").is_none() {
            self.head(place, 202, &[]);
            return self.finish(place);
        }
        let streams = how & 1 == 1 || open.fetch.method == Method::Get;
        if !open.head {
            let kind = if streams { "text/event-stream" } else { "application/json" };
            open.head = true;
            self.head(place, 200, &[("content-type", kind), ("mcp-session-id", "s-1")]);
            if !streams {
                let body = answer(&message, how >> 1).to_string();
                self.body(fetch, body.as_bytes(), how);
                self.finish(place);
            }
            return;
        }
        open.events += 1;
        let number = open.events;
        let said = match how >> 1 & 3 {
            0 => json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": id, "progress": number}}),
            1 if open.fetch.method == Method::Post => answer(&message, how >> 3),
            // The answer to another request, as a stream that is resumed may bring it.
            2 => {
                let other = self.exchanges.get(usize::from(how >> 3) % self.exchanges.len());
                other.map_or(Value::Null, |other| answer(&other.message, 0))
            }
            _ => json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}),
        };
        let event = format!("id: {fetch:?}-{number}\nretry: 20\ndata: {said}\n\n").replace(['(', ')'], "");
        self.body(fetch, event.as_bytes(), how);
    }

    /// The next step of a server or a connection that does not.
    fn improper(&mut self, choices: &mut Choices<'_>) {
        if let (0, Some(fetch)) = (choices.below(8), self.stale.last().copied()) {
            self.input(Input::Body { fetch, bytes: Bytes::from_static(b"data: {}\n\n") });
            return self.input(Input::End { fetch });
        }
        let place = choices.below(self.exchanges.len().max(1));
        let Some(fetch) = self.exchanges.get(place).map(|open| open.fetch.id) else { return };
        match choices.below(8) {
            0 => self.finish(place),
            1 => self.fail(place, FetchFailed::Broken("b".into())),
            2 => self.fail(place, FetchFailed::NotSent("n".into())),
            3 => {
                let status = choices.pick(&[200, 202, 301, 400, 401, 403, 404, 405, 408, 500, 503]).unwrap_or(200);
                let kind = choices.pick(&["application/json", "text/event-stream", "text/html"]).unwrap_or_default();
                self.head(place, status, &[("content-type", kind)]);
            }
            4 => self.body(fetch, choices.slice(), 0),
            5 => {
                let code = choices.pick(&[-32022, -32020, -32601, -32600, -1]).unwrap_or(-1);
                let data = json!({"supported": ["2025-11-25"], "requested": "2026-07-28"});
                let error = json!({"code": code, "message": "m", "data": data});
                let body = json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string();
                self.head(place, 400, &[("content-type", "application/json")]);
                self.body(fetch, body.as_bytes(), 0);
                self.finish(place);
            }
            6 => self.body(fetch, &[b'x'; 3_000], 0),
            _ => self.body(fetch, b"retry: 1\nid: \ndata: [\n\n", 0),
        }
    }

    fn head(&mut self, place: usize, status: u16, headers: &[(&'static str, &'static str)]) {
        let Some(open) = self.exchanges.get_mut(place) else { return };
        open.head = true;
        let fetch = open.fetch.id;
        self.signature.note(&format!("{status}"));
        self.input(Input::Head { fetch, status, headers: headers.iter().copied().collect() });
    }

    fn body(&mut self, fetch: FetchId, body: &[u8], how: u8) {
        let size = if how & 0x80 == 0 { body.len().max(1) } else { 3 };
        for piece in body.chunks(size) {
            self.input(Input::Body { fetch, bytes: Bytes::copy_from_slice(piece) });
        }
    }

    fn finish(&mut self, place: usize) {
        if place < self.exchanges.len() {
            let fetch = self.exchanges.remove(place).fetch.id;
            self.stale.push(fetch);
            self.input(Input::End { fetch });
        }
    }

    fn fail(&mut self, place: usize, reason: FetchFailed) {
        if place < self.exchanges.len() {
            let fetch = self.exchanges.remove(place).fetch.id;
            self.stale.push(fetch);
            self.input(Input::Failed { fetch, reason });
        }
    }

    fn input(&mut self, input: Input) {
        if let Err(error) = self.client.handle(self.now, input) {
            self.signature.note_variant(&error);
        }
    }

    fn drain(&mut self) {
        while let Some(action) = self.client.poll_action() {
            match action {
                Action::Fetch(fetch) => {
                    let message = serde_json::from_slice(&fetch.body).unwrap_or_default();
                    assert!(self.exchanges.iter().all(|open| open.fetch.id != fetch.id), "an exchange is begun twice");
                    self.signature.note(fetch.method.as_str());
                    self.exchanges.push(Open { fetch: *fetch, message, head: false, events: 0 });
                }
                Action::Abort(fetch) => {
                    self.exchanges.retain(|open| open.fetch.id != fetch);
                    self.stale.push(fetch);
                    self.signature.note("abort");
                }
                Action::Unauthorized(unauthorized) => self.asked.push(unauthorized.fetch),
                Action::Event(event) => self.event(event),
                other => panic!("an action that this target does not know: {other:?}"),
            }
        }
        let timeout = self.client.poll_timeout();
        assert!(timeout.is_none_or(|(_, kind)| kind != TimerKind::Actions), "drained");
    }

    fn event(&mut self, event: client::Action) {
        assert!(!self.closed, "an event after the last: {event:?}");
        self.signature.note_variant(&event);
        match event {
            client::Action::Done { call, outcome } => {
                let name = self.calls.remove(&call).unwrap_or_else(|| panic!("{call:?} is not open, and ends"));
                match outcome {
                    Ok(answer) if !name.is_empty() => {
                        let result: CallToolResult = answer.parse().unwrap_or_else(|error| panic!("{error}"));
                        assert_eq!(result.joined_text(), name, "an answer went to another call");
                    }
                    Ok(_) => {}
                    Err(error) => self.signature.note_variant(&error),
                }
            }
            client::Action::Progress { call, .. } | client::Action::Listening { call, .. } => {
                assert!(self.calls.contains_key(&call), "{call:?} has ended, and goes on");
            }
            client::Action::NeedInput(needed) => self.inputs.push(needed.input),
            client::Action::Closed(why) => {
                self.closed = true;
                self.signature.note_variant(&why);
            }
            _ => {}
        }
    }

    fn end(mut self) -> Signature {
        self.client.close(self.now);
        self.drain();
        assert!(self.calls.is_empty(), "calls that never ended: {:?}", self.calls);
        assert!(self.closed, "a client that is closed says so");
        self.signature
    }
}

/// What a server that does what it should answers.
fn answer(message: &Value, how: u8) -> Value {
    let modern = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
    let result = match message["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
        "initialize" => json!({"protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {"listChanged": true}}, "serverInfo": {"name": "s", "version": "1"}}),
        "tools/list" => json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}),
        "tools/call" if modern && how & 7 == 7 => json!({"resultType": "input_required", "requestState": "s",
            "inputRequests": {"k": {"method": "elicitation/create", "params": {"message": "?",
            "requestedSchema": {"type": "object", "properties": {}}}}}}),
        "tools/call" => json!({"resultType": "complete",
            "content": [{"type": "text", "text": message["params"]["name"]}]}),
        _ => json!({"resultType": "complete"}),
    };
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}
