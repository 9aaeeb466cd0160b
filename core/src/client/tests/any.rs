//! Whatever a server sends and an application does, in whatever order: nothing panics, every call ends once, every
//! question is answered or withdrawn once, and a modern server never gets a response.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::ids::ReplySlot;
use crate::model::{ElicitResult, ListRootsResult, SubscriptionFilter};
use crate::spec::Era;

/// What is open, as the application sees it.
#[derive(Default)]
struct Open {
    calls: BTreeSet<CallId>,
    questions: BTreeSet<InputId>,
    slots: Vec<ReplySlot>,
    /// Ids of the requests that were written, answered or not.
    wires: Vec<Value>,
    closed: bool,
}

impl Open {
    fn note(&mut self, action: Action, era: Option<Era>) {
        assert!(!self.closed, "something comes after the end: {action:?}");
        match action {
            Action::Write(bytes) => {
                let frame: Value = serde_json::from_slice(&bytes).unwrap();
                let is_response = frame.get("method").is_none();
                assert!(!is_response || era == Some(Era::Legacy), "a response to a modern server: {frame}");
                if !is_response && frame.get("id").is_some() {
                    assert!(!self.wires.contains(&frame["id"]), "an id is used twice");
                    self.wires.push(frame["id"].clone());
                }
            }
            Action::Done { call, .. } => assert!(self.calls.remove(&call), "a call ends twice"),
            Action::Progress { call, .. } | Action::Listening { call, .. } => assert!(self.calls.contains(&call)),
            Action::NeedInput(needed) => assert!(self.questions.insert(needed.input)),
            Action::CancelledInput { input, .. } => assert!(self.questions.remove(&input)),
            Action::Invoke { slot, .. } => self.slots.push(slot),
            Action::Closed(_) => self.closed = true,
            _ => {}
        }
    }
}

fn pick<T: Clone>(from: &[T], seed: u16) -> Option<T> {
    (!from.is_empty()).then(|| from[usize::from(seed) % from.len()].clone())
}

/// A frame of the server.
fn frame(kind: u8, id: &Value, seed: u16) -> Value {
    let form = json!({"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}});
    let question = json!({"method": "elicitation/create", "params": form});
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let notification = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    let subscription = json!({"io.modelcontextprotocol/subscriptionId": id});
    match kind % 20 {
        0 => result(json!({"resultType": "complete", "content": [], "tools": [], "ttlMs": 5, "nextCursor": null})),
        1 => result(json!({"resultType": "input_required", "requestState": "s"})),
        2 => result(json!({"resultType": "input_required", "inputRequests": {"k": question, "l": question}})),
        3 => result(json!({"resultType": "input_required", "inputRequests": {"k": {"method": "roots/list"}}})),
        4 => result(
            json!({"tools": [{"name": "t", "outputSchema": {"type": "object"}}], "nextCursor": seed.to_string()}),
        ),
        5 => result(json!({"supportedVersions": ["2026-07-28"], "capabilities": {}})),
        6 => result(session("2025-03-26")),
        7 => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32022, "message": "m", "data": {"supported": ["2026-07-28"]}}})
        }
        8 => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "m"}}),
        9 => notification("notifications/progress", json!({"progressToken": seed % 4, "progress": seed})),
        10 => notification("notifications/cancelled", json!({"requestId": id})),
        11 => notification(
            "notifications/subscriptions/acknowledged",
            json!({"_meta": subscription, "notifications": {}}),
        ),
        12 => notification("notifications/tools/list_changed", json!({"_meta": subscription})),
        13 => notification("notifications/resources/updated", json!({"uri": "a:b"})),
        14 => json!({"jsonrpc": "2.0", "id": seed % 5, "method": "elicitation/create", "params": form}),
        15 => json!({"jsonrpc": "2.0", "id": seed % 5, "method": "x/y"}),
        16 => json!({"jsonrpc": "2.0", "id": seed % 5, "method": "ping"}),
        17 => {
            json!([{"jsonrpc": "2.0", "id": seed % 5, "method": "roots/list"}, {"jsonrpc": "2.0", "id": "p", "method": "ping"}])
        }
        18 => json!({"jsonrpc": "2.0", "error": {"code": 1, "message": "m"}}),
        _ => json!({"jsonrpc": "2.0", "id": id}),
    }
}

fn act(client: &mut Client, now: &mut Now, open: &mut Open, (verb, kind, seed): (u8, u8, u16)) {
    let calls: Vec<CallId> = open.calls.iter().copied().collect();
    let questions: Vec<InputId> = open.questions.iter().copied().collect();
    let started = match verb % 12 {
        0 | 1 => {
            let (request, options) = match kind % 5 {
                0 => (Request::call_tool("t", &Json::EMPTY_OBJECT), CallOptions::new().progress()),
                1 => (Request::read_resource("a:b"), CallOptions::new().idle(None)),
                2 => (Request::list(List::Tools, None), CallOptions::new()),
                3 => (Request::discover(), CallOptions::new().cache(CacheUse::Bypass)),
                _ => (Request::ping(), CallOptions::new().progress_token(i64::from(seed % 4))),
            };
            client.call(*now, request, options).ok()
        }
        2 => client.walk(*now, List::Tools, CallOptions::new()).ok(),
        3 => client.listen(*now, &SubscriptionFilter::new(), CallOptions::new()).ok(),
        4 => {
            if let Some(call) = pick(&calls, seed) {
                assert_eq!(client.cancel(*now, call, None).is_ok(), !open.closed);
            }
            None
        }
        5 => {
            if let Some(input) = pick(&questions, seed) {
                let answer = match kind % 4 {
                    0 => InputAnswer::Elicit(ElicitResult::accept(raw(json!({"a": "x"})))),
                    1 => InputAnswer::Roots(ListRootsResult::new(Vec::new())),
                    2 => InputAnswer::Declined,
                    _ => InputAnswer::Raw(raw(json!({"action": "cancel"}))),
                };
                if client.supply_input(*now, input, &answer).is_ok() {
                    open.questions.remove(&input);
                }
            }
            None
        }
        6 => {
            if let Some(slot) = open.slots.pop() {
                let _ = client.reply(*now, slot, Ok(Json::EMPTY_OBJECT));
            }
            None
        }
        7 => {
            now.mono = now.mono.after(millis(u64::from(seed)));
            client.handle_timeout(*now);
            None
        }
        8 => {
            let _ = client.connect(*now);
            None
        }
        _ => {
            let id = pick(&open.wires, seed).unwrap_or_else(|| json!(seed % 7));
            let text = format!("{}\n", frame(kind, &id, seed));
            let _ = client.handle(*now, Input::Bytes(Bytes::from(text)));
            None
        }
    };
    open.calls.extend(started);
    while let Some(action) = client.poll_action() {
        let written = if let Action::Write(bytes) = &action { bytes.len() } else { 0 };
        let era = match client.core_era() {
            Some(era) => Some(era),
            None => Some(Era::Modern),
        };
        open.note(action, era);
        if written > 0 {
            let _ = client.handle(*now, Input::Written(written));
        }
    }
    assert!(client.poll_timeout().is_none_or(|(at, _)| at > Mono::from_nanos(0)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_breaks_the_client(mode in 0_u8..4, steps in prop::collection::vec((0_u8..12, any::<u8>(), any::<u16>()), 1..120)) {
        let mode = match mode {
            0 => Connect::Auto,
            1 => Connect::Modern,
            2 => Connect::Legacy,
            _ => Connect::Pinned(Version::V2025_03_26),
        };
        let config = config().capabilities(form().with_roots()).connect(mode).server_method("x/y");
        let mut client = Client::new(config).unwrap();
        let mut now = Now { mono: Mono::from_nanos(1), unix: Unix::from_millis(0) };
        let mut open = Open::default();
        client.connect(now).unwrap();
        for step in steps {
            act(&mut client, &mut now, &mut open, step);
        }
        let _ = client.handle(now, Input::Eof);
        while let Some(action) = client.poll_action() {
            open.note(action, Some(Era::Legacy));
        }
        prop_assert!(open.closed && open.calls.is_empty() && open.questions.is_empty());
        prop_assert_eq!(client.poll_timeout(), None);
    }
}
