//! Clients that use what they know of the server's numbers, and bounds that are reached.

use super::*;
use crate::limits::Limits;

fn kept() -> Options {
    Options::default().replay(Replay { retry: Duration::from_millis(2_500), ..Replay::default() })
}

/// A request whose answer has not begun has no event that anybody could come back with: its connection is not taken.
#[test]
fn an_answer_that_has_not_begun_is_not_taken_over() {
    for (options, version) in [(kept(), "2025-06-18"), (kept().json_answers(), "2025-11-25")] {
        let mut rig = Rig::new(definition(), options);
        let id = rig.open(version, json!({}));
        let answer = rig.legacy(Some(&id), &call(1, "slow", json!({})));
        let (who, invocation) = rig.invoked();
        for event in ["1-0", "2-0", "3-0", "4-0"] {
            let back = rig.get(Some(&id), &[("Last-Event-ID", event)]);
            assert!(rig.answers[back].status >= 400, "{event}");
        }
        rig.reply(who, invocation.slot, text("x"));
        assert_eq!(rig.answered(answer), 1, "it is answered where it was asked");
    }
}

/// What needs no stream is taken when there is no room for another: the answers that the streams wait for, and
/// cancellations.
#[test]
fn answers_are_taken_when_every_stream_is_in_use() {
    let limits = Limits { session_streams: 2, ..Limits::default() };
    let mut rig = Rig::new(builder().limits(limits).build().unwrap(), Options::default());
    let id = rig.open("2025-11-25", json!({"roots": {}}));
    let running: Vec<_> = (1..3).map(|n| rig.legacy(Some(&id), &call(n, "slow", json!({})))).collect();
    let (who, invocation) = rig.invocations.remove(0);
    let further = rig.legacy(Some(&id), &call(3, "slow", json!({})));
    assert_eq!(rig.status(further), 503);
    let slot = Some(invocation.slot.id());
    let asked = rig.sessions[0].request(rig.now, slot, "roots/list", None, None).unwrap();
    rig.drain(who);
    let question = rig.messages(running[0]).pop().unwrap();
    let response = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
    let answer = rig.legacy(Some(&id), &response);
    assert_eq!(rig.status(answer), 202);
    assert!(rig.others.iter().any(|action| matches!(action, Action::Answered { call, .. } if *call == asked)));
    let params = json!({"requestId": 2});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    let answer = rig.legacy(Some(&id), &cancel);
    assert_eq!((rig.status(answer), rig.cancelled.len()), (202, 1));
}

/// A client of the old transport has one stream: whoever asks for another one opens a session of its own.
#[test]
fn a_stream_of_the_old_transport_is_not_replaced() {
    let mut rig = Rig::new(definition(), Options::default().sse_pair("/sse", "/messages"));
    let headers = [("host", "localhost"), ("content-type", "application/json")];
    let first = rig.send_to("GET", "/sse", &headers, b"");
    let body = String::from_utf8(std::mem::take(&mut rig.answers[first].body)).unwrap();
    let (_, query) = body.trim_end().split_once('?').unwrap();
    let second = rig.send_to("GET", &format!("/sse?{query}"), &headers, b"");
    assert_eq!((rig.status(second), rig.sessions.len()), (200, 2));
    let open = initialize("2024-11-05", json!({})).to_string();
    rig.send_to("POST", &format!("/messages?{query}"), &headers, open.as_bytes());
    assert_eq!(rig.messages(first)[0]["result"]["protocolVersion"], "2024-11-05");
}

/// Numbers that cannot be counted on from are none that a session has exported.
#[test]
fn sessions_with_numbers_at_the_end_are_not_imported() {
    let mut rig = Rig::new(definition(), kept());
    let _ = rig.open("2025-11-25", json!({}));
    let exported = String::from_utf8(rig.sessions[0].export().unwrap().to_vec()).unwrap();
    let exported: Value = serde_json::from_str(&exported).unwrap();
    for (member, value) in [
        ("last_exchange", json!(u64::MAX)),
        ("standing", json!([u64::MAX, 0])),
        ("delivered", json!(u64::MAX)),
        ("streams", json!([{"stream": 1, "last": u64::MAX, "lost": 0}])),
    ] {
        let mut wrong = exported.clone();
        wrong[member] = value;
        let mut other = Rig::new(definition(), kept());
        assert!(other.endpoint.import(other.now, wrong.to_string().as_bytes(), |_, _| 0).is_err(), "{member}");
    }
}
