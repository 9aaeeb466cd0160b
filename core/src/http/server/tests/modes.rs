//! Legacy clients without sessions, and answers that are JSON alone.

use super::*;
use crate::error::{Error, Misuse};
use crate::model::{ElicitParams, InputRequest, LoggingLevel};
use crate::server::{InputRequired, LogMessage};
use crate::spec::Version;

const LATEST: &str = "2025-11-25";

fn ask() -> Reply {
    let form = ElicitParams::form("Who?", json!({"type": "object", "properties": {}}));
    let requests = vec![("who".to_owned(), InputRequest::from(form))];
    Reply::InputRequired(InputRequired { requests, ..InputRequired::default() })
}

#[test]
fn stateless_servers_have_no_sessions() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default().stateless());
        for _ in 0..2 {
            let answer = rig.legacy(None, &initialize(LATEST, json!({})));
            let result = rig.json(answer)["result"].clone();
            assert_eq!(result["protocolVersion"], LATEST);
            assert!(!rig.answers[answer].headers.contains_key("mcp-session-id"));
            let capabilities = &result["capabilities"];
            assert!(capabilities["tools"].get("listChanged").is_none(), "nothing could be delivered: {capabilities}");
            assert!(capabilities["resources"].get("subscribe").is_none());
        }
        let answer = rig.legacy(None, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(rig.status(answer), 202);
        // A session that never was does not matter.
        let answer = rig.legacy(Some("x"), &request(1, "tools/list", json!({})));
        assert_eq!(rig.answered(answer), 1);
        for answer in [rig.get(None, &[]), rig.delete(None)] {
            assert_eq!(rig.status(answer), 405);
            assert_eq!(rig.answers[answer].headers["allow"], "POST");
        }
        let answer = rig.legacy(None, &request(2, "resources/subscribe", json!({"uri": "file:///x"})));
        assert_eq!(rig.refusal(answer).1, -32601);
        let answer = rig.legacy(None, &json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
        assert_eq!(rig.refusal(answer), (400, -32600, Value::Null));
        assert_eq!(rig.endpoint.sessions().count(), 0);
        // The modern era is served as ever.
        let answer = rig.modern(&modern(3, "tools/list", json!({})));
        assert_eq!(rig.json(answer)["result"]["resultType"], "complete");
    });
}

/// What belongs to a request is dropped, and questions are an error of the handler.
#[test]
fn stateless_handlers_answer_and_no_more() {
    let mut rig = Rig::new(definition(), Options::default().stateless());
    let answer = rig.legacy(None, &call(1, "slow", json!({})));
    let (who, invocation) = rig.invoked();
    let Who::Exchange(index) = who else { panic!("an exchange") };
    assert!(!invocation.context.can_ask());
    assert_eq!(invocation.context.client_info(), None);
    assert_eq!(rig.progress(who, invocation.slot.id(), 1.0), Sent::NotWanted);
    let log = LogMessage { level: LoggingLevel::Emergency, logger: None, data: json!(1).into() };
    assert_eq!(rig.exchanges[index].log(rig.now, Some(invocation.slot.id()), &log), Ok(Sent::NotWanted));
    rig.advance(Duration::from_secs(3_600));
    assert_eq!(rig.status(answer), 0, "it never becomes a stream");
    rig.reply(who, invocation.slot, ask());
    assert_eq!(rig.json(answer)["result"]["isError"], true);
    // A client that goes away has not cancelled.
    let answer = rig.legacy(None, &call(1, "slow", json!({})));
    let (who, invocation) = rig.invoked();
    rig.disconnect(answer);
    assert!(rig.cancelled.is_empty());
    rig.reply(who, invocation.slot, text("x"));
    assert!(rig.exchanges.iter().all(Exchange::is_over));
}

/// L-PVH-03: the revision of a client that has none to name.
#[test]
fn l_pvh_03_stateless_revisions() {
    let mut rig = Rig::new(definition(), Options::default().stateless());
    let list = call(1, "slow", json!({}));
    for (header, version) in [
        (None, Version::V2025_03_26),
        (Some("2025-06-18"), Version::V2025_06_18),
        (Some("2024-11-05"), Version::V2024_11_05),
    ] {
        let headers: Vec<_> = header.map(|version| ("mcp-protocol-version", version)).into_iter().collect();
        rig.legacy_with(None, &list, &headers);
        assert_eq!(rig.invoked().1.context.version(), version);
    }
    let legacy_only = builder().versions(&[Version::V2025_11_25]).build().unwrap();
    let mut rig = Rig::new(legacy_only, Options::default().stateless());
    rig.legacy(None, &list);
    assert_eq!(rig.invoked().1.context.version(), Version::V2025_11_25);
    let answer = rig.legacy_with(None, &list, &[("mcp-protocol-version", "2025-06-18")]);
    assert_eq!(rig.refusal(answer), (400, -32600, Value::Null), "L-PVH-04");
    // An envelope is unknown to a legacy server, so that clients fall back as from any older one.
    rig.legacy(None, &modern(1, "tools/call", json!({"name": "slow"})));
    assert_eq!(rig.invoked().1.context.version(), Version::V2025_11_25);
    // Batches belong to their revision.
    let batch = json!([request(1, "ping", json!({})), request(2, "ping", json!({}))]);
    let answer = rig.legacy(None, &batch);
    assert_eq!(rig.refusal(answer), (400, -32600, Value::Null));
    let mut rig = Rig::new(definition(), Options::default().stateless());
    let answer = rig.legacy(None, &batch);
    assert_eq!(rig.json(answer).as_array().map(Vec::len), Some(2));
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answer = rig.legacy(None, &json!([note]));
    assert_eq!((rig.status(answer), rig.answers[answer].body.len()), (202, 0));
}

/// JSON alone: what belongs to requests is dropped, what a client listens for is not.
#[test]
fn json_answers_drop_what_belongs_to_requests() {
    let mut rig = Rig::new(definition(), Options::default().json_answers().replay(Replay::default()));
    let id = rig.open(LATEST, json!({"elicitation": {}, "roots": {}}));
    let listening = rig.get(Some(&id), &[]);
    let answer = rig.legacy(Some(&id), &call(1, "slow", json!({})));
    let (who, invocation) = rig.invoked();
    let Who::Session(session) = who else { panic!("a session") };
    let slot = Some(invocation.slot.id());
    assert!(!invocation.context.can_ask());
    assert_eq!(rig.progress(who, invocation.slot.id(), 1.0), Sent::NotWanted);
    for slot in [slot, None] {
        let asked = rig.sessions[session].request(rig.now, slot, "roots/list", None, None);
        assert!(matches!(asked, Err(Error::ApiMisuse(Misuse::WrongState(_)))), "{asked:?}");
    }
    rig.advance(Duration::from_secs(60));
    assert_eq!(rig.status(answer), 0, "it never becomes a stream");
    rig.publish(&Event::ToolsListChanged);
    assert_eq!(rig.messages(listening).len(), 1);
    rig.reply(who, invocation.slot, ask());
    assert_eq!(rig.json(answer)["result"]["isError"], true);
    assert_eq!(rig.diagnostics.len(), 1, "{:?}", rig.diagnostics);
    // In the modern era too, but for questions, which are answers there, and for listening.
    let answer = rig.modern(&modern(1, "tools/call", json!({"name": "slow", "_meta": {"progressToken": 1}})));
    let (who, invocation) = rig.invoked();
    assert!(invocation.context.can_ask());
    assert_eq!(rig.progress(who, invocation.slot.id(), 1.0), Sent::NotWanted);
    rig.reply(who, invocation.slot, text("x"));
    assert_eq!(rig.answered(answer), 1);
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let answer = rig.modern(&modern(2, "subscriptions/listen", filter));
    rig.publish(&Event::ToolsListChanged);
    assert_eq!(rig.messages(answer).len(), 2);
}

/// Legacy-only: an envelope is unknown, and whoever has no session is told so.
#[test]
fn legacy_only_servers_ignore_envelopes() {
    let legacy = [Version::V2025_06_18, Version::V2025_11_25];
    let mut rig = Rig::new(builder().versions(&legacy).build().unwrap(), Options::default());
    let body = modern(1, "server/discover", json!({}));
    let answer = rig.modern(&body);
    assert_eq!(rig.refusal(answer), (400, -32600, json!(1)), "no modern code: the client falls back");
    let id = rig.open(LATEST, json!({}));
    let answer = rig.legacy(Some(&id), &modern(2, "tools/list", json!({})));
    assert_eq!(rig.answered(answer), 2);
}
