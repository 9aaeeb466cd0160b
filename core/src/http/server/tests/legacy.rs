//! Legacy sessions: their life, their streams, who may use them.

use super::*;
use crate::ids::RequestId;
use crate::limits::Limits;
use crate::model::{ElicitParams, InputRequest};
use crate::server::{Closed, InputRequired, LogMessage, Notified, RequestFailure};
use crate::spec::Version;

const LATEST: &str = "2025-11-25";

/// L-SESS-01, L-SESS-02, L-SESS-05, L-SESS-06, L-SESS-08: a session begins, is needed, and ends.
#[test]
fn l_sess_01_02_05_06_08_a_session_begins_and_ends() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default());
        let first = rig.open(LATEST, json!({}));
        let second = rig.open(LATEST, json!({}));
        assert_ne!(first, second);
        assert!(first.len() >= 22 && first.bytes().all(|b| b.is_ascii_graphic()));
        let list = request(2, "tools/list", json!({}));
        let answer = rig.legacy(Some(&first), &list);
        assert_eq!(rig.answered(answer), 2);
        assert!(!rig.answers[answer].headers.contains_key("mcp-session-id"));
        let answer = rig.legacy(None, &list);
        assert_eq!(rig.refusal(answer), (400, -32600, json!(2)));
        let answer = rig.delete(Some(&first));
        assert_eq!(rig.status(answer), 204);
        assert!(matches!(rig.others[..], [Action::Closed(Closed::Requested)]), "{:?}", rig.others);
        let answer = rig.legacy(Some(&first), &list);
        assert_eq!(rig.refusal(answer), (404, -32600, json!(2)));
        for answer in [rig.get(Some(&first), &[]), rig.delete(Some(&first))] {
            assert_eq!(rig.status(answer), 404);
        }
        for answer in [rig.get(None, &[]), rig.delete(None)] {
            assert_eq!(rig.status(answer), 400);
        }
        for unknown in ["", "x", "0123456789abcdef0123456789abcdef", "0123456789ABCDEF0123456789ABCDEF"] {
            let answer = rig.legacy(Some(unknown), &list);
            assert_eq!(rig.status(answer), 404, "{unknown:?}");
        }
        let answer = rig.legacy(Some(&second), &list);
        assert_eq!(rig.status(answer), 200, "the other one lives");
    });
}

/// A failed `initialize` leaves nothing; a second one is refused and changes nothing.
#[test]
fn initialize_opens_one_session_or_none() {
    let mut rig = Rig::new(definition(), Options::default());
    let answer = rig.legacy(None, &request(1, "initialize", json!({"protocolVersion": LATEST})));
    assert_eq!(rig.refusal(answer), (400, -32602, json!(1)));
    assert!(!rig.answers[answer].headers.contains_key("mcp-session-id"));
    assert_eq!(rig.endpoint.sessions().count(), 0);
    let id = rig.open(LATEST, json!({}));
    let answer = rig.legacy(Some(&id), &initialize(LATEST, json!({})));
    assert_eq!(rig.refusal(answer), (400, -32600, json!("init")));
    assert_eq!(rig.endpoint.sessions().count(), 1);
    let answer = rig.legacy(Some(&id), &request(2, "tools/list", json!({})));
    assert_eq!(rig.status(answer), 200);
}

/// L-PVH-03, L-PVH-04: the header names a revision that is offered, or none.
#[test]
fn l_pvh_03_04_revisions_in_the_header() {
    let versions = [Version::V2025_06_18, Version::V2025_11_25, Version::V2026_07_28];
    let mut rig = Rig::new(builder().versions(&versions).build().unwrap(), Options::default());
    let id = rig.open(LATEST, json!({}));
    let list = request(2, "tools/list", json!({}));
    for (version, status) in
        [(LATEST, 200), ("2025-06-18", 200), (MODERN, 200), ("2024-11-05", 400), ("1999-01-01", 400), ("", 400)]
    {
        let answer = rig.legacy_with(Some(&id), &list, &[("MCP-Protocol-Version", version)]);
        assert_eq!(rig.status(answer), status, "{version}");
        let answer = rig.get(Some(&id), &[("MCP-Protocol-Version", version)]);
        assert_eq!(rig.status(answer), status, "{version}");
    }
    // An envelope on a session is a contradiction.
    let answer = rig.legacy_with(Some(&id), &modern(3, "tools/list", json!({})), &[("MCP-Protocol-Version", MODERN)]);
    assert_eq!(rig.refusal(answer), (400, -32600, json!(3)));
    // A handshake is one, whatever legacy revision its headers name.
    let more = [("mcp-protocol-version", LATEST), ("mcp-method", "initialize")];
    let answer = rig.legacy_with(None, &initialize(LATEST, json!({})), &more);
    assert_eq!(rig.status(answer), 200);
}

/// M-VER-11: both eras are served on one endpoint at once.
#[test]
fn m_ver_11_both_eras_at_once() {
    let mut rig = Rig::new(definition(), Options::default());
    let id = rig.open(LATEST, json!({}));
    let old = rig.legacy(Some(&id), &call(1, "slow", json!({})));
    let new = rig.modern(&modern(1, "tools/call", json!({"name": "slow"})));
    let (first, legacy) = rig.invocations.remove(0);
    let (second, modern) = rig.invoked();
    assert_eq!((legacy.context.version(), modern.context.version()), (Version::V2025_11_25, Version::V2026_07_28));
    rig.reply(second, modern.slot, text("new"));
    rig.reply(first, legacy.slot, text("old"));
    assert_eq!(rig.json(old)["result"]["content"][0]["text"], "old");
    assert_eq!(rig.json(new)["result"]["content"][0]["text"], "new");
    assert!(rig.json(old)["result"].get("resultType").is_none());
}

/// O06: an id that is in flight is refused, and the request that has it goes on.
#[test]
fn o06_the_same_id_twice() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default());
        let id = rig.open(LATEST, json!({}));
        let a = rig.legacy(Some(&id), &call(1, "slow", json!({"k": "a"})));
        let (who, invocation) = rig.invoked();
        let b = rig.legacy(Some(&id), &call(1, "slow", json!({"k": "b"})));
        assert_eq!(rig.refusal(b), (400, -32600, json!(1)));
        assert!(rig.invocations.is_empty());
        rig.reply(who, invocation.slot, text("a"));
        assert_eq!(rig.json(a)["result"]["content"][0]["text"], "a");
        let c = rig.legacy(Some(&id), &call(1, "slow", json!({"k": "c"})));
        let (who, invocation) = rig.invoked();
        rig.reply(who, invocation.slot, text("c"));
        assert_eq!(rig.json(c)["result"]["content"][0]["text"], "c");
    });
}

/// L-HTTP-05, L-HTTP-12, L-HTTP-20: each message goes out once, on the stream of its request.
#[test]
fn l_http_05_12_20_streams_carry_what_is_theirs() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default());
        let id = rig.open(LATEST, json!({"elicitation": {}}));
        let answer = rig.legacy(Some(&id), &request(0, "logging/setLevel", json!({"level": "info"})));
        assert_eq!(rig.json(answer)["result"], json!({}));
        let listening = rig.get(Some(&id), &[]);
        let a = rig.legacy(Some(&id), &call("a", "slow", json!({})));
        let (who, first) = rig.invoked();
        let b = rig.legacy(Some(&id), &call("b", "slow", json!({})));
        let (_, second) = rig.invoked();
        assert_eq!(rig.progress(who, first.slot.id(), 1.0), Sent::Yes);
        let Who::Session(session) = who else { panic!("a session") };
        let log = LogMessage { level: crate::model::LoggingLevel::Info, logger: None, data: json!("x").into() };
        let now = rig.now;
        assert_eq!(rig.sessions[session].log(now, Some(second.slot.id()), &log), Ok(Sent::Yes));
        assert_eq!(rig.sessions[session].log(now, None, &log), Ok(Sent::Yes));
        let params = json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}).into();
        let slot = Some(second.slot.id());
        let asked = rig.sessions[session].request(now, slot, "elicitation/create", Some(&params), None).unwrap();
        let pinged = rig.sessions[session].request(now, None, "ping", None, None).unwrap();
        rig.drain(who);
        rig.publish(&Event::ToolsListChanged);
        assert_eq!(rig.messages(a).len(), 1);
        let on_b = rig.messages(b);
        assert_eq!(on_b.len(), 2, "{on_b:?}");
        assert_eq!(on_b[1]["method"], "elicitation/create");
        let heard = rig.messages(listening);
        assert_eq!(heard.len(), 3, "{heard:?}");
        assert_eq!(heard[1]["method"], "ping");
        assert_eq!(heard[2]["method"], "notifications/tools/list_changed");
        // Responses are taken with 202, in any order.
        for (request, call) in [(&heard[1], pinged), (&on_b[1], asked)] {
            let response = json!({"jsonrpc": "2.0", "id": request["id"], "result": {}});
            let answer = rig.legacy(Some(&id), &response);
            assert_eq!(rig.status(answer), 202);
            assert!(rig.answers[answer].body.is_empty());
            assert!(matches!(rig.others.pop(), Some(Action::Answered { call: done, outcome: Ok(_) }) if done == call));
        }
        rig.reply(who, second.slot, text("b"));
        rig.reply(who, first.slot, text("a"));
        assert_eq!(rig.messages(b)[0]["id"], "b");
        assert_eq!(rig.messages(a)[0]["id"], "a");
        assert!(rig.answers[a].done && rig.answers[b].done && !rig.answers[listening].done);
        assert!(rig.messages(listening).is_empty(), "L-HTTP-18: no response on it");
    });
}

/// Questions of a handler go out on the stream of its request, and their answers come by other requests.
#[test]
fn questions_go_out_on_the_stream_of_their_request() {
    let mut rig = Rig::new(definition(), Options::default());
    let id = rig.open(LATEST, json!({"elicitation": {}}));
    let answer = rig.legacy(Some(&id), &call(1, "slow", json!({})));
    let (who, invocation) = rig.invoked();
    assert!(invocation.context.can_ask());
    let form = ElicitParams::form("Who?", json!({"type": "object", "properties": {"name": {"type": "string"}}}));
    let requests = vec![("who".to_owned(), InputRequest::from(form))];
    rig.reply(who, invocation.slot, Reply::InputRequired(InputRequired { requests, ..InputRequired::default() }));
    let question = rig.messages(answer).remove(0);
    assert_eq!(question["method"], "elicitation/create");
    let result = json!({"action": "accept", "content": {"name": "Kim"}});
    let taken = rig.legacy(Some(&id), &json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
    assert_eq!(rig.status(taken), 202);
    let (who, invocation) = rig.invoked();
    assert!(invocation.context.input("who").is_some());
    rig.reply(who, invocation.slot, text("Kim"));
    assert_eq!(rig.messages(answer)[0]["result"]["content"][0]["text"], "Kim");
}

/// L-HTTP-13, L-HTTP-14: a lost connection is no cancellation; a notification is.
#[test]
fn l_http_13_14_disconnecting_does_not_cancel() {
    let mut rig = Rig::new(definition(), Options::default());
    let id = rig.open(LATEST, json!({}));
    let lost = rig.legacy(Some(&id), &call(1, "slow", json!({})));
    let (who, invocation) = rig.invoked();
    rig.disconnect(lost);
    assert!(rig.cancelled.is_empty());
    rig.reply(who, invocation.slot, text("nobody hears"));
    assert_eq!(rig.diagnostics.len(), 1, "{:?}", rig.diagnostics);
    for streams in [false, true] {
        let answer = rig.legacy(Some(&id), &call(2, "slow", json!({})));
        let (who, invocation) = rig.invoked();
        if streams {
            let _ = rig.progress(who, invocation.slot.id(), 1.0);
        }
        let cancel = json!({"requestId": 2, "reason": "enough"});
        let taken =
            rig.legacy(Some(&id), &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}));
        assert_eq!(rig.status(taken), 202);
        assert_eq!(rig.cancelled.pop(), Some((who, invocation.slot.id(), Some("enough".into()))));
        assert!(rig.answers[answer].done, "the stream has nothing more to bring");
        assert_eq!(rig.status(answer), if streams { 200 } else { 202 });
        rig.reply(who, invocation.slot, text("late"));
    }
}

/// A question that cannot reach its client has no answer.
#[test]
fn questions_to_a_client_that_is_gone_have_no_answer() {
    let mut rig = Rig::new(definition(), Options::default());
    let id = rig.open(LATEST, json!({"roots": {}}));
    let lost = rig.legacy(Some(&id), &call(1, "slow", json!({})));
    let (who, invocation) = rig.invoked();
    rig.disconnect(lost);
    let Who::Session(session) = who else { panic!("a session") };
    let slot = Some(invocation.slot.id());
    let asked = rig.sessions[session].request(rig.now, slot, "roots/list", None, None).unwrap();
    rig.drain(who);
    let Some(Action::Answered { call, outcome: Err(RequestFailure::Gone) }) = rig.others.pop() else {
        panic!("{:?}", rig.others)
    };
    assert_eq!(call, asked);
}

/// L-HTTP-16, L-HTTP-17: the stream that a client listens on; a newer one takes its place.
#[test]
fn l_http_17_listening() {
    let mut rig = Rig::new(definition(), Options::default());
    let id = rig.open(LATEST, json!({}));
    // What comes before the client listens is kept for it, within bounds.
    rig.publish(&Event::ToolsListChanged);
    let first = rig.get(Some(&id), &[]);
    assert_eq!(rig.messages(first).len(), 1);
    rig.publish(&Event::PromptsListChanged);
    assert_eq!(rig.messages(first).len(), 1);
    rig.publish(&Event::ResourcesListChanged);
    assert_eq!(rig.messages(first).len(), 1);
    let second = rig.get(Some(&id), &[]);
    assert!(rig.answers[first].done && !rig.answers[second].done);
    rig.publish(&Event::ToolsListChanged);
    assert_eq!(rig.messages(second).len(), 1, "nothing twice");
    let before = rig.answers[second].body.len();
    rig.advance(Duration::from_secs(15));
    assert_eq!(&rig.answers[second].body[before..], b":\n\n");
    rig.disconnect(second);
    for _ in 0..100 {
        rig.publish(&Event::ToolsListChanged);
    }
    let third = rig.get(Some(&id), &[]);
    assert_eq!(rig.messages(third).len(), 64, "bounded");
}

/// Resource updates reach those who have subscribed.
#[test]
fn updates_reach_subscribers() {
    let mut rig = Rig::new(definition(), Options::default());
    let (a, b) = (rig.open(LATEST, json!({})), rig.open(LATEST, json!({})));
    let answer = rig.legacy(Some(&a), &request(1, "resources/subscribe", json!({"uri": "file:///x"})));
    assert_eq!(rig.json(answer)["result"], json!({}));
    let (on_a, on_b) = (rig.get(Some(&a), &[]), rig.get(Some(&b), &[]));
    rig.publish(&Event::ResourceUpdated { uri: "file:///x".into() });
    assert_eq!((rig.messages(on_a).len(), rig.messages(on_b).len()), (1, 0));
    rig.publish(&Event::ToolsListChanged);
    assert_eq!((rig.messages(on_a).len(), rig.messages(on_b).len()), (1, 1));
}

/// Whoever has opened a session owns it.
#[test]
fn sessions_have_owners() {
    let list = request(2, "tools/list", json!({}));
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let check = |rig: &mut Rig, id: &str, origin: &[(&str, &str)], expected: [u16; 4]| {
        let answers = [
            rig.legacy_with(Some(id), &list, origin),
            rig.legacy_with(Some(id), &initialized, origin),
            rig.legacy_with(Some(id), &json!({"jsonrpc": "2.0", "id": 1, "result": {}}), origin),
            rig.get(Some(id), origin),
        ];
        assert_eq!(answers.map(|answer| rig.status(answer)), expected, "{origin:?}");
    };
    let (home, other) = ([("origin", "http://localhost:1")], [("origin", "http://localhost:2")]);
    let mut rig = Rig::new(definition(), Options::default());
    let answer = rig.legacy_with(None, &initialize(LATEST, json!({})), &home);
    let id = rig.answers[answer].headers["mcp-session-id"].clone();
    check(&mut rig, &id, &home, [200, 202, 202, 200]);
    check(&mut rig, &id, &other, [403; 4]);
    check(&mut rig, &id, &[], [403; 4]);
    rig.principal = Some("mallory");
    check(&mut rig, &id, &home, [403; 4]);
    let answer = rig.delete(Some(&id));
    assert_eq!(rig.status(answer), 403);
    // The application's own judgement goes before that.
    let options = Options::default().owner(|claim| claim.opened_by == claim.principal && claim.session.len() == 32);
    let mut rig = Rig::new(definition(), options);
    rig.principal = Some("kim");
    let id = rig.open(LATEST, json!({}));
    check(&mut rig, &id, &other, [200, 202, 202, 200]);
    rig.principal = None;
    check(&mut rig, &id, &other, [403; 4]);
}

/// Sessions expire when they are idle, and make room; live ones never do.
#[test]
fn idle_sessions_expire() {
    let limits = Limits { sessions: Some(2), ..Limits::server() };
    let mut rig = Rig::new(builder().limits(limits).build().unwrap(), Options::default());
    let first = rig.open(LATEST, json!({}));
    let listening = rig.get(Some(&first), &[]);
    rig.advance(Duration::from_secs(60));
    let second = rig.open(LATEST, json!({}));
    let full = rig.legacy(None, &initialize(LATEST, json!({})));
    assert_eq!(rig.refusal(full).0, 503);
    let look = rig.endpoint.poll_timeout().map(|(at, _)| rig.now.mono.until(at));
    assert_eq!(look, Some(Duration::from_secs(1_740)), "when the first may have been idle for long enough");
    // At the bound the expired are reclaimed, whether or not their time-out was seen.
    rig.now.mono = rig.now.mono.after(Duration::from_secs(1_800));
    let third = rig.open(LATEST, json!({}));
    assert_ne!(third, second);
    let list = request(2, "tools/list", json!({}));
    let answer = rig.legacy(Some(&second), &list);
    assert_eq!(rig.status(answer), 404);
    assert!(rig.sessions[1].is_closed(), "its machine was handed out to be closed");
    let answer = rig.legacy(Some(&first), &list);
    assert_eq!(rig.status(answer), 200, "an open stream keeps a session alive");
    rig.disconnect(listening);
    rig.advance(Duration::from_secs(1_799));
    let answer = rig.legacy(Some(&first), &list);
    assert_eq!(rig.status(answer), 200);
    rig.advance(Duration::from_secs(1_799));
    assert_eq!(rig.endpoint.sessions().count(), 1);
    rig.advance(Duration::from_secs(1));
    assert_eq!(rig.endpoint.sessions().count(), 0);
    assert_eq!(rig.endpoint.poll_timeout(), None);
}

/// Batches, on a session of 2025-03-26 alone.
#[test]
fn batches_are_answered_as_batches() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default());
        let id = rig.open("2025-03-26", json!({}));
        let note = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
        let answer = rig.legacy(Some(&id), &json!([request(1, "ping", json!({})), note, call(2, "slow", json!({}))]));
        assert!(matches!(rig.others.pop(), Some(Action::Notified(Notified::RootsListChanged))));
        let (who, invocation) = rig.invoked();
        assert_eq!(invocation.context.request_id(), &RequestId::from(2));
        assert_eq!(rig.status(answer), 0);
        rig.reply(who, invocation.slot, text("x"));
        let answers = rig.json(answer);
        assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(1), &json!(2)));
        let answer = rig.legacy(Some(&id), &json!([note]));
        assert_eq!(rig.status(answer), 202);
        assert!(rig.answers[answer].body.is_empty());
        let answer = rig.legacy(Some(&id), &json!([]));
        assert_eq!(rig.refusal(answer), (400, -32600, Value::Null));
        let id = rig.open(LATEST, json!({}));
        let answer = rig.legacy(Some(&id), &json!([request(1, "ping", json!({}))]));
        assert_eq!(rig.refusal(answer), (400, -32600, Value::Null));
        assert_eq!(rig.endpoint.sessions().count(), 2);
    });
}

/// A slow client of a session loses its connection, and not its session.
#[test]
fn slow_clients_lose_their_connection() {
    let limits = Limits { output_bytes: 1_000, ..Limits::server() };
    let mut rig = Rig::new(builder().limits(limits).build().unwrap(), Options::default());
    let id = rig.open(LATEST, json!({}));
    let listening = rig.get(Some(&id), &[]);
    let answer = rig.legacy(Some(&id), &call(1, "slow", json!({})));
    let (who, invocation) = rig.invoked();
    rig.reads = false;
    let mut sent = Vec::new();
    for step in 1..100 {
        sent.push(rig.progress(who, invocation.slot.id(), f64::from(step)));
        rig.publish(&Event::ToolsListChanged);
    }
    assert!(sent.contains(&Sent::Full), "progress is dropped first");
    assert!(!rig.answers[answer].done);
    assert!(rig.answers[listening].done, "what cannot be dropped ends the stream");
    rig.reads = true;
    rig.reply(who, invocation.slot, text("x"));
    assert_eq!(rig.messages(answer).pop().unwrap()["id"], 1);
    let answer = rig.legacy(Some(&id), &request(2, "ping", json!({})));
    assert_eq!(rig.status(answer), 200);
}

/// Ending a session ends all that it has open.
#[test]
fn deleting_ends_everything() {
    let mut rig = Rig::new(definition(), Options::default());
    let id = rig.open(LATEST, json!({}));
    let listening = rig.get(Some(&id), &[]);
    let waiting = rig.legacy(Some(&id), &call(1, "slow", json!({})));
    let (who, invocation) = rig.invoked();
    let answer = rig.delete(Some(&id));
    assert_eq!(rig.status(answer), 204);
    assert!(rig.answers[listening].done && rig.answers[waiting].done);
    assert_eq!(rig.status(waiting), 404, "it went with its session");
    assert_eq!(rig.cancelled.len(), 1);
    rig.reply(who, invocation.slot, text("late"));
}

/// A new definition is announced to those who hear of changes.
#[test]
fn a_new_definition_is_announced() {
    let mut rig = Rig::new(definition(), Options::default());
    let id = rig.open(LATEST, json!({}));
    let listening = rig.get(Some(&id), &[]);
    let new = Arc::new(builder().tool(Tool::new("new")).build().unwrap());
    let service = Arc::new(Service::new(Arc::clone(&new), Options::default()));
    assert_eq!(rig.endpoint.replace_service(service), [Event::ToolsListChanged]);
    rig.sessions[0].replace_definition(rig.now, new);
    rig.drain(Who::Session(0));
    assert_eq!(rig.messages(listening)[0]["method"], "notifications/tools/list_changed");
    let answer = rig.legacy(Some(&id), &request(1, "tools/list", json!({})));
    assert_eq!(rig.json(answer)["result"]["tools"].as_array().unwrap().len(), 4);
}
