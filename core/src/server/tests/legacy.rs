//! The rows of the legacy revisions (L-…), the differences between them (D-…) and the traps between the eras (T-…):
//! sessions, messages, ids, utilities.

mod features;
mod questions;

use super::*;

/// The legacy revisions, oldest first.
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn initialize(version: &str, capabilities: Value) -> Value {
    legacy(
        1,
        "initialize",
        json!({"protocolVersion": version, "capabilities": capabilities,
        "clientInfo": {"name": "c", "version": "1"}}),
    )
}

fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn published(rig: &mut Rig, event: &Event) -> Vec<Value> {
    let sent = rig.server.publish(rig.now, event);
    rig.drain();
    let frames = rig.take();
    assert_eq!(sent == Sent::Yes, !frames.is_empty());
    frames
}

/// L-BASE-01, L-BASE-02, L-LIFE-01, L-LIFE-03, L-LIFE-08: a session of each revision, from `initialize` to an answer
/// of a tool. T-34, T-35: the revision is the session's; a modern request is never served at it.
#[test]
fn every_revision_is_spoken() {
    for version in LEGACY {
        let mut rig = Rig::new(definition());
        rig.send(legacy(7, "tools/list", json!({})));
        assert!(rig.one().get("error").is_some(), "the session comes first");
        rig.send(initialize(version, json!({})));
        let answer = rig.one();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(1)));
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], version);
        assert!(result["capabilities"].is_object());
        assert_eq!(result["serverInfo"], json!({"name": "server", "version": "1.0.0"}));
        assert_eq!(result["instructions"], "Be kind.");
        rig.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert!(matches!(rig.others.pop(), Some(Action::Notified(Notified::Initialized))));
        rig.send(legacy(2, "tools/call", json!({"name": "slow"})));
        let invocation = rig.invoked();
        assert_eq!(invocation.context.version().as_str(), version);
        rig.reply(invocation.slot, text("hi"));
        let answer = json!({"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "hi"}]}});
        assert_eq!(rig.one(), answer);
        let mut claim = modern(3, "tools/call", json!({"name": "slow"}));
        claim["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
        rig.send(claim);
        assert_eq!(rig.one()["error"]["code"], -32022);
    }
}

/// L-LIFE-09, T-35: another revision is an offer, not an error: the newest legacy one of those on offer.
#[test]
fn counter_offers_are_the_newest() {
    for (offered, expected) in [(&Version::ALL[..2], "2025-03-26"), (&Version::ALL[..4], "2025-11-25")] {
        let mut rig = Rig::new(builder().versions(offered).build().unwrap());
        rig.send(initialize("2030-01-01", json!({})));
        assert_eq!(rig.one()["result"]["protocolVersion"], expected);
    }
}

/// L-BASE-03, L-BASE-06, L-BASE-07: results and errors carry the id of their request as it came.
#[test]
fn answers_carry_the_id_of_their_request() {
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        for id in [json!(0), json!(-5), json!(9_007_199_254_740_993_i64), json!(""), json!("0"), json!("a\n\"é")] {
            rig.send(legacy(id.clone(), "ping", json!({})));
            assert_eq!(rig.one(), json!({"jsonrpc": "2.0", "id": id, "result": {}}));
            rig.send(legacy(id.clone(), "no/such", json!({})));
            let answer = rig.one();
            assert_eq!(answer["id"], id);
            assert!(answer["error"]["code"].is_i64() && answer["error"]["message"].is_string(), "{answer}");
            assert!(answer.get("result").is_none());
        }
    }
}

/// L-BASE-04, T-40: an id that is none makes no notification and no request of a message; only the newest legacy
/// revision lets an error leave the id out. Errors of clients without an id are noted.
#[test]
fn ids_that_are_none_are_refused() {
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        for id in [json!(null), json!(1.5), json!(true), json!([1]), json!({})] {
            rig.send(legacy(id, "tools/call", json!({"name": "slow"})));
            let answer = rig.one();
            assert_eq!(answer["error"]["code"], -32600);
            assert_eq!(answer.get("id"), (version < "2025-11-25").then_some(&Value::Null), "{version}");
        }
        rig.diagnostics.clear();
        rig.send(json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "m"}}));
        rig.send(json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "m"}}));
        assert!(rig.frames.is_empty() && rig.invocations.is_empty());
        assert_eq!(rig.diagnostics.len(), 2);
    }
}

/// L-BASE-05, D-16, T-11: an id of ours is never used again, however its request has ended; an answer under the
/// same digits as a string is nobody's.
#[test]
fn our_ids_are_never_used_again() {
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({"roots": {}}));
    let mut ids = std::collections::BTreeSet::new();
    for round in 0..12 {
        let timeout = Some(Duration::from_secs(1));
        let call = rig.server.request(rig.now, None, "roots/list", None, timeout).unwrap();
        rig.drain();
        let id = rig.one()["id"].as_i64().unwrap();
        assert!(ids.insert(id), "{id} came twice");
        match round % 3 {
            0 => {
                rig.send(json!({"jsonrpc": "2.0", "id": id.to_string(), "result": {"roots": []}}));
                assert!(rig.others.is_empty());
                rig.send(json!({"jsonrpc": "2.0", "id": id, "result": {"roots": []}}));
            }
            1 => rig.advance(Duration::from_secs(1)),
            _ => {
                rig.server.cancel_request(rig.now, call, None).unwrap();
                rig.drain();
            }
        }
        rig.take();
        rig.others.clear();
    }
}

/// L-BASE-08: nothing that has no id is answered, whatever it says; a notification's method with an id is a request
/// for something that does not exist.
#[test]
fn notifications_are_never_answered() {
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({"roots": {"listChanged": true}}));
        for method in [
            "notifications/initialized",
            "notifications/cancelled",
            "notifications/progress",
            "notifications/roots/list_changed",
            "notifications/message",
            "notifications/tasks/status",
            "x/y",
            "tools/call",
            "initialize",
            "ping",
        ] {
            for params in
                [json!({}), json!([]), json!(null), json!({"requestId": 1, "progressToken": 1, "name": "slow"})]
            {
                rig.send(notification(method, params));
            }
        }
        assert!(rig.frames.is_empty() && rig.invocations.is_empty(), "{:?}", rig.frames);
        rig.send(legacy(1, "notifications/roots/list_changed", json!({})));
        assert_eq!(rig.one()["error"]["code"], -32601);
    }
}

/// L-BASE-16: what a client writes under reserved names of `_meta` is carried, and decides nothing.
#[test]
fn reserved_names_of_meta_are_carried() {
    let meta = json!({"io.modelcontextprotocol/related-task": 5, "io.modelcontextprotocol/clientCapabilities": 7,
        "io.modelcontextprotocol/logLevel": {}, "com.mcp.tools/x": [1], "org.modelcontextprotocol/y": null});
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({"roots": {}}));
    rig.send(legacy(1, "tools/call", json!({"name": "slow", "_meta": meta})));
    let context = rig.invoked().context;
    assert_eq!(context.meta().parse::<Value>().unwrap(), meta);
    assert!(context.client_capabilities().has_roots());
}

/// L-LIFE-06: before the client has said that it is ready, it is asked nothing but `ping`; log lines may go out.
#[test]
fn nothing_is_asked_before_the_session_is_ready() {
    let loud = builder().early_log_level(crate::model::LoggingLevel::Debug).build().unwrap();
    let mut rig = Rig::new(loud);
    rig.send(initialize("2025-11-25", json!({"roots": {}, "elicitation": {}})));
    rig.take();
    assert!(rig.server.request(rig.now, None, "roots/list", None, None).is_err());
    rig.server.request(rig.now, None, "ping", None, None).unwrap();
    let line = LogMessage { level: crate::model::LoggingLevel::Info, logger: None, data: json!("d").into() };
    assert_eq!(rig.server.log(rig.now, None, &line).unwrap(), Sent::Yes);
    for event in [Event::ToolsListChanged, Event::PromptsListChanged, Event::ResourcesListChanged] {
        assert_eq!(rig.server.publish(rig.now, &event), Sent::NotWanted);
    }
    rig.drain();
    let methods: Vec<_> = rig.take().iter().map(|frame| frame["method"].clone()).collect();
    assert_eq!(methods, ["ping", "notifications/message"]);
    rig.send(legacy(2, "tools/call", json!({"name": "slow"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::InputRequired(questions::roots()));
    let answer = rig.one();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(2), &json!(true)));
    rig.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    rig.send(legacy(3, "tools/call", json!({"name": "slow"})));
    let slot = rig.invoked().slot;
    rig.reply(slot, Reply::InputRequired(questions::roots()));
    assert_eq!(rig.one()["method"], "roots/list");
}

/// L-LIFE-14: each request of ours has its own time, which no progress puts off; then the client is told.
#[test]
fn deadlines_of_our_requests_are_hard() {
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({"roots": {}}));
    let short = rig.server.request(rig.now, None, "roots/list", None, Some(Duration::from_secs(5))).unwrap();
    let long = rig.server.request(rig.now, None, "roots/list", None, None).unwrap();
    rig.drain();
    let ids: Vec<_> = rig.take().iter().map(|frame| frame["id"].clone()).collect();
    for second in 1..5 {
        rig.advance(Duration::from_secs(1));
        rig.send(notification("notifications/progress", json!({"progressToken": ids[0], "progress": second})));
        rig.send(notification("notifications/progress", json!({"progressToken": ids[1], "progress": second})));
    }
    assert!(rig.frames.is_empty() && rig.others.is_empty());
    let timed_out = |rig: &mut Rig, id: &Value, expected: crate::ids::CallId| {
        let frame = rig.one();
        assert_eq!((&frame["method"], &frame["params"]["requestId"]), (&json!("notifications/cancelled"), id));
        assert!(matches!(
            rig.others.pop(),
            Some(Action::Answered { call, outcome: Err(RequestFailure::TimedOut) }) if call == expected
        ));
    };
    rig.advance(Duration::from_secs(1));
    timed_out(&mut rig, &ids[0], short);
    rig.advance(Duration::from_secs(594));
    assert!(rig.frames.is_empty());
    rig.advance(Duration::from_secs(1));
    timed_out(&mut rig, &ids[1], long);
}

/// An answer that is no message, or nests too deep, is one all the same: nobody waits for another.
#[test]
fn malformed_answers_end_our_requests() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    for answer in [r#""result":{},"error":{"code":1,"message":"m"}"#.to_owned(), format!(r#""result":{{"a":{deep}}}"#)]
    {
        let mut rig = Rig::legacy(definition(), "2025-11-25", json!({"roots": {}}));
        let asked = rig.server.request(rig.now, None, "roots/list", None, None).unwrap();
        rig.drain();
        let id = rig.one()["id"].clone();
        rig.send_bytes(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{answer}}}\n").as_bytes());
        let refusal = rig.one();
        assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&Value::Null, &json!(-32600)));
        assert!(
            rig.others
                .iter()
                .any(|action| matches!(action, Action::Answered { call, outcome: Err(_) } if *call == asked)),
            "{answer}: {:?}",
            rig.others
        );
    }
}

/// L-CANC-01, D-25, T-10: we cancel what we have asked and what is not answered yet, and nothing else. A modern
/// client is never told of a cancellation but at the end of a stream.
#[test]
fn only_our_own_open_requests_are_cancelled() {
    let mut rig = Rig::legacy(definition(), "2025-11-25", json!({"roots": {}}));
    rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
    let slot = rig.invoked().slot;
    let call = rig.server.request(rig.now, Some(slot.id()), "roots/list", None, None).unwrap();
    rig.drain();
    let id = rig.one()["id"].clone();
    rig.server.cancel_request(rig.now, call, Some("enough")).unwrap();
    rig.drain();
    assert_eq!(rig.one(), notification("notifications/cancelled", json!({"requestId": id, "reason": "enough"})));
    assert!(rig.server.cancel_request(rig.now, call, None).is_err());
    assert!(rig.server.cancel_request(rig.now, crate::ids::CallId::from_u64(99), None).is_err());
    // Our id 1 is not the client's.
    rig.reply(slot, text("done"));
    assert_eq!(rig.one()["result"]["content"][0]["text"], "done");
    let mut rig = Rig::new(definition());
    rig.send(modern(1, "tools/call", json!({"name": "slow"})));
    let slot = rig.invoked().slot;
    rig.server.abandon(rig.now, slot);
    rig.drain();
    assert_eq!(rig.one()["id"], 1);
}

/// L-CANC-04, L-CANC-05: cancellations and answers that cross each other, in both directions. D-24, T-41: a
/// cancellation that names nothing is ignored on every revision.
#[test]
fn races_are_harmless() {
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({"roots": {}}));
        // Theirs: the answer first, then the cancellation.
        rig.send(legacy(1, "tools/call", json!({"name": "slow"})));
        let slot = rig.invoked().slot;
        rig.reply(slot, text("first"));
        rig.one();
        for params in [json!({"requestId": 1}), json!({"requestId": 77}), json!({}), json!({"reason": "r"})] {
            rig.send(notification("notifications/cancelled", params));
        }
        assert!(rig.cancelled.is_empty() && rig.frames.is_empty());
        // Theirs: the cancellation first. The reason reaches whoever may log it; no answer goes out.
        rig.send(legacy(2, "tools/call", json!({"name": "slow"})));
        rig.send(notification("notifications/cancelled", json!({"requestId": 2, "reason": "late"})));
        let slot = rig.invoked().slot;
        assert_eq!(rig.cancelled.pop(), Some((slot.id(), Some("late".into()))));
        rig.reply(slot, text("too late"));
        assert!(rig.frames.is_empty());
        // Ours: the answer crosses our cancellation.
        let call = rig.server.request(rig.now, None, "roots/list", None, None).unwrap();
        rig.server.cancel_request(rig.now, call, None).unwrap();
        rig.drain();
        let id = rig.take()[0]["id"].clone();
        rig.diagnostics.clear();
        rig.send(json!({"jsonrpc": "2.0", "id": id, "result": {"roots": []}}));
        assert!(rig.others.is_empty() && rig.frames.is_empty());
        assert_eq!(rig.diagnostics.len(), 1);
    }
}

/// L-CANC-02: the client cannot cancel `initialize`: it is answered before anything else is read.
#[test]
fn initialize_cannot_be_cancelled() {
    let mut rig = Rig::new(definition());
    let cancel = notification("notifications/cancelled", json!({"requestId": 1}));
    rig.send_bytes(format!("{}\n{cancel}\n", initialize("2025-11-25", json!({}))).as_bytes());
    assert_eq!(rig.one()["result"]["protocolVersion"], "2025-11-25");
    rig.send(legacy(2, "tools/list", json!({})));
    assert!(rig.one().get("result").is_some());
}

/// L-PROG-01, T-28: progress goes out under the token as it came, rises, stops with the answer, and belongs to its
/// own request. D-01: the oldest revision has no message in it.
#[test]
fn progress_of_every_revision() {
    for version in LEGACY {
        let mut rig = Rig::legacy(definition(), version, json!({}));
        rig.send(legacy(1, "tools/call", json!({"name": "slow", "_meta": {"progressToken": "1"}})));
        rig.send(legacy(2, "tools/call", json!({"name": "slow", "_meta": {"progressToken": 1}})));
        let [a, b] = <[Invocation; 2]>::try_from(std::mem::take(&mut rig.invocations)).unwrap();
        let report = |rig: &mut Rig, slot: SlotId, progress: f64| {
            let progress = Progress { progress, total: Some(9.0), message: Some("m".to_owned()) };
            let _ = rig.server.progress(rig.now, slot, &progress);
            rig.drain();
            rig.take().pop().map(|frame| frame["params"].clone())
        };
        let mut expected = json!({"progressToken": "1", "progress": 1.0, "total": 9.0});
        if version >= "2025-03-26" {
            expected["message"] = json!("m");
        }
        assert_eq!(report(&mut rig, a.slot.id(), 1.0), Some(expected));
        assert_eq!(report(&mut rig, a.slot.id(), 1.0), None);
        assert_eq!(report(&mut rig, a.slot.id(), 0.5), None);
        let id = a.slot.id();
        rig.reply(a.slot, text("x"));
        rig.take();
        assert_eq!(report(&mut rig, id, 2.0), None);
        assert_eq!(report(&mut rig, b.slot.id(), 0.5).unwrap()["progressToken"], 1);
    }
}

/// L-PROG-04, T-49: `ping` in both directions, before the session is ready too; the modern era has none.
#[test]
fn ping_goes_both_ways() {
    for version in LEGACY {
        let mut rig = Rig::new(definition());
        rig.send(initialize(version, json!({})));
        rig.take();
        rig.send(legacy("p", "ping", json!({})));
        assert_eq!(rig.one(), json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
        let call = rig.server.request(rig.now, None, "ping", None, None).unwrap();
        rig.drain();
        let ping = rig.one();
        assert_eq!(ping["method"], "ping");
        rig.send(json!({"jsonrpc": "2.0", "id": ping["id"], "result": {}}));
        assert!(matches!(rig.others.pop(), Some(Action::Answered { call: of, outcome: Ok(_) }) if of == call));
    }
    let mut rig = Rig::new(definition());
    rig.send(modern(1, "ping", json!({})));
    assert_eq!(rig.one()["error"]["code"], -32601);
    assert!(rig.server.request(rig.now, None, "ping", None, None).is_err());
}

/// D-06, D-07, T-39: a batch is one revision's, and `initialize` is never part of one.
#[test]
fn initialize_does_not_come_in_a_batch() {
    let mut rig = Rig::new(definition());
    rig.send(json!([initialize("2025-03-26", json!({}))]));
    assert_eq!(rig.one()["error"]["code"], -32600);
    rig.send(legacy(2, "tools/list", json!({})));
    assert!(rig.one().get("error").is_some(), "no session has come of it");
    let mut rig = Rig::legacy(definition(), "2025-03-26", json!({}));
    rig.send(json!([legacy(1, "initialize", json!({})), legacy(2, "ping", json!({}))]));
    let answer = rig.one();
    assert_eq!((&answer[0]["id"], &answer[0]["error"]["code"]), (&json!(1), &json!(-32600)));
    assert_eq!(answer[1], json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
}

/// L-TASK-06, L-TASK-14, D-19, T-01 … T-04, T-45, T-46, T-54: there are no core tasks. The capability is absent
/// whatever the client declares, `task` is ignored, the methods are unknown and the notification says nothing.
#[test]
fn core_tasks_are_not_offered() {
    let declared = json!({"tasks": {"list": {}, "requests": {"elicitation": {"create": {}}}}});
    let call = json!({"name": "add", "arguments": {"a": 1}, "task": {"ttl": 60_000}});
    for version in LEGACY {
        let mut rig = Rig::new(definition());
        rig.send(initialize(version, declared.clone()));
        assert!(rig.one()["result"]["capabilities"].get("tasks").is_none());
        for method in ["tasks/get", "tasks/list", "tasks/cancel", "tasks/result"] {
            rig.send(legacy(2, method, json!({"taskId": "t"})));
            assert_eq!(rig.one()["error"]["code"], -32601);
        }
        rig.send(notification("notifications/tasks/status", json!({"taskId": "t", "status": "failed"})));
        rig.send(legacy(3, "tools/call", call.clone()));
        let slot = rig.invoked().slot;
        rig.reply(slot, text("now"));
        assert_eq!(rig.one()["result"], json!({"content": [{"type": "text", "text": "now"}]}));
    }
    let mut rig = Rig::new(definition());
    rig.send(with_capabilities(1, "server/discover", json!({}), declared.clone()));
    assert!(rig.one()["result"]["capabilities"].get("tasks").is_none());
    rig.send(with_capabilities(2, "tools/call", call, declared));
    let slot = rig.invoked().slot;
    rig.reply(slot, text("now"));
    let answer = rig.one();
    assert_eq!((&answer["result"]["resultType"], answer["result"].get("task")), (&json!("complete"), None));
}

/// D-19, T-44: extensions are declared in both eras, in their own places; tasks are an extension of the modern one.
#[test]
fn extensions_have_a_first_revision() {
    let made = || {
        builder()
            .extension("io.modelcontextprotocol/ui", json!({"mimeTypes": ["text/html"]}).into())
            .extension("io.modelcontextprotocol/tasks", Json::EMPTY_OBJECT)
            .build()
            .unwrap()
    };
    let declared = json!({"extensions": {"com.example/x": {"n": 1}}});
    for version in LEGACY {
        let mut rig = Rig::new(made());
        rig.send(initialize(version, declared.clone()));
        assert_eq!(
            rig.one()["result"]["capabilities"]["extensions"],
            json!({"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}})
        );
        rig.send(legacy(2, "tools/call", json!({"name": "slow"})));
        assert!(rig.invoked().context.client_capabilities().extension("com.example/x").is_some());
    }
    let mut rig = Rig::new(made());
    rig.send(modern(1, "server/discover", json!({})));
    let extensions = &rig.one()["result"]["capabilities"]["extensions"];
    assert!(
        extensions["io.modelcontextprotocol/ui"].is_object() && extensions["io.modelcontextprotocol/tasks"].is_object()
    );
    rig.send(with_capabilities(2, "tools/call", json!({"name": "slow"}), declared));
    assert!(rig.invoked().context.client_capabilities().extension("com.example/x").is_some());
}

/// T-33, D-21: who the client is, read in one way in both eras. L-ELIC-25: it is what the client says of itself, and
/// nobody is authenticated by it.
#[test]
fn the_client_introduces_itself_and_is_not_trusted() {
    let meta = json!({"principal": "root", "io.modelcontextprotocol/principal": "root", "user": "root",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"}});
    for legacy_era in [true, false] {
        let mut rig =
            if legacy_era { Rig::legacy(definition(), "2025-11-25", json!({})) } else { Rig::new(definition()) };
        let params = json!({"name": "slow", "principal": "root", "_meta": meta});
        rig.send(if legacy_era { legacy(1, "tools/call", params) } else { modern(1, "tools/call", params) });
        let context = rig.invoked().context;
        let info = context.client_info().unwrap();
        assert_eq!((&*info.name, &*info.version), ("c", "1"));
        assert_eq!(context.principal(), None);
    }
}

/// T-15: a modern-only server says in the text which revisions it speaks: `initialize` has no other place for them.
#[test]
fn t15_initialize_at_a_modern_only_server() {
    let mut rig = Rig::new(builder().versions(&[Version::LATEST]).build().unwrap());
    rig.send(initialize("2025-11-25", json!({})));
    let error = rig.one();
    assert!(error["error"]["message"].as_str().unwrap().contains(LATEST));
    assert_eq!(error["error"]["data"]["supported"], json!([LATEST]));
}
