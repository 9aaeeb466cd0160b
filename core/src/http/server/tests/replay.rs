//! Connections that are lost, or left, and clients that come back.

use super::*;
use crate::limits::Limits;

const LATEST: &str = "2025-11-25";

fn kept() -> Options {
    Options::default().replay(Replay { retry: Duration::from_millis(2_500), ..Replay::default() })
}

fn raw(rig: &Rig, answer: usize) -> String {
    String::from_utf8(rig.answers[answer].body.clone()).unwrap()
}

/// L-HTTP-07, L-HTTP-08, L-HTTP-21, L-HTTP-22, L-HTTP-24: a stream begins with an id, the handler leaves it, and the
/// client finds the rest by a `GET`.
#[test]
fn l_http_07_08_21_22_24_a_handler_leaves_its_stream() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), kept());
        let id = rig.open(LATEST, json!({}));
        let answer = rig.legacy(Some(&id), &call(1, "slow", json!({})));
        let first = rig.events(answer);
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].1, Value::Null, "an empty event");
        let prime = first[0].0.clone().unwrap();
        assert!(raw(&rig, answer).contains("retry: 2500\n"));
        let (who, invocation) = rig.invoked();
        let Who::Session(session) = who else { panic!("a session") };
        let slot = invocation.slot.id();
        assert_eq!(rig.sessions[session].close_stream(rig.now, slot), Sent::Yes);
        assert_eq!(rig.sessions[session].close_stream(rig.now, slot), Sent::NotWanted, "it is left already");
        rig.drain(who);
        assert!(rig.answers[answer].done);
        assert!(raw(&rig, answer).ends_with("retry: 2500\n\n"), "L-HTTP-08");
        let _ = rig.progress(who, slot, 1.0);
        let back = rig.get(Some(&id), &[("Last-Event-ID", &prime)]);
        assert_eq!(rig.messages(back).len(), 1);
        assert!(!rig.answers[back].done);
        rig.reply(who, invocation.slot, text("x"));
        let last = rig.events(back);
        assert_eq!(last[0].1["id"], 1);
        assert!(rig.answers[back].done, "L-HTTP-11");
        // Whoever missed the answer may ask once more; ids are not used twice.
        let again = rig.get(Some(&id), &[("Last-Event-ID", &prime)]);
        let events = rig.events(again);
        assert_eq!(events.len(), 2);
        assert_ne!(events[0].0, events[1].0);
        assert_eq!(events[1].0, last[0].0);
        assert!(rig.answers[again].done);
        let nothing = rig.get(Some(&id), &[("Last-Event-ID", last[0].0.as_deref().unwrap())]);
        assert!(rig.messages(nothing).is_empty() && rig.answers[nothing].done);
    });
}

/// L-HTTP-23: nothing of another stream is sent again.
#[test]
fn l_http_23_streams_are_kept_apart() {
    let mut rig = Rig::new(definition(), kept());
    let id = rig.open(LATEST, json!({}));
    let listening = rig.get(Some(&id), &[]);
    let standing = rig.events(listening)[0].0.clone().unwrap();
    let mut primes = Vec::new();
    let mut running = Vec::new();
    for number in 0..3 {
        let answer = rig.legacy(Some(&id), &call(number, "slow", json!({})));
        primes.push(rig.events(answer)[0].0.clone().unwrap());
        running.push(rig.invoked());
        rig.disconnect(answer);
    }
    rig.disconnect(listening);
    for (number, (who, invocation)) in running.into_iter().enumerate() {
        let _ = rig.progress(who, invocation.slot.id(), 1.0);
        rig.publish(&Event::ToolsListChanged);
        if number > 0 {
            rig.reply(who, invocation.slot, text("x"));
        }
    }
    assert!(rig.cancelled.is_empty());
    let mut seen = std::collections::BTreeSet::new();
    for (number, prime) in primes.iter().enumerate() {
        let back = rig.get(Some(&id), &[("Last-Event-ID", prime)]);
        let events = rig.events(back);
        assert_eq!(events.len(), if number == 0 { 1 } else { 2 });
        assert!(events.iter().all(|(id, _)| seen.insert(id.clone().unwrap())), "L-HTTP-21: unique in the session");
        assert_eq!(rig.answers[back].done, number > 0);
    }
    let back = rig.get(Some(&id), &[("Last-Event-ID", &standing)]);
    let events = rig.events(back);
    assert_eq!(events.len(), 3);
    assert!(events.iter().all(
        |(id, message)| seen.insert(id.clone().unwrap()) && message["method"] == "notifications/tools/list_changed"
    ));
}

/// A client that comes back before its old connection is known to be dead takes the stream over.
#[test]
fn the_newer_connection_has_the_stream() {
    let mut rig = Rig::new(definition(), kept());
    let id = rig.open(LATEST, json!({}));
    let answer = rig.legacy(Some(&id), &call(1, "slow", json!({})));
    let prime = rig.events(answer)[0].0.clone().unwrap();
    let (who, invocation) = rig.invoked();
    let back = rig.get(Some(&id), &[("Last-Event-ID", &prime)]);
    assert!(rig.answers[answer].done && !rig.answers[back].done);
    rig.reply(who, invocation.slot, text("x"));
    assert_eq!((rig.messages(answer).len(), rig.messages(back).len()), (0, 1), "L-HTTP-20: once");
}

/// What listens and is lost finds what it has missed; what was sent already does not come twice.
#[test]
fn the_standing_stream_goes_on() {
    let mut rig = Rig::new(definition(), kept());
    let id = rig.open(LATEST, json!({}));
    rig.publish(&Event::ToolsListChanged);
    let first = rig.get(Some(&id), &[]);
    let heard = rig.events(first);
    assert_eq!(heard.len(), 1, "no empty event where there is a full one");
    rig.publish(&Event::ToolsListChanged);
    let last = rig.events(first)[0].0.clone().unwrap();
    rig.disconnect(first);
    rig.publish(&Event::PromptsListChanged);
    let fresh = rig.get(Some(&id), &[]);
    let missed = rig.messages(fresh);
    assert_eq!(missed.len(), 1, "who names no event gets what nobody has got");
    assert_eq!(missed[0]["method"], "notifications/prompts/list_changed");
    let back = rig.get(Some(&id), &[("Last-Event-ID", &last)]);
    assert_eq!(rig.messages(back).len(), 1, "who names one gets what came after it");
    assert!(rig.answers[fresh].done);
}

/// Ids that are not known, or not any more, are refused: the client must not wait for what never comes.
#[test]
fn unknown_events_are_refused() {
    let options = Options::default().replay(Replay { events: 4, ..Replay::default() });
    let mut rig = Rig::new(definition(), options);
    let id = rig.open(LATEST, json!({}));
    let answer = rig.legacy(Some(&id), &call(1, "slow", json!({})));
    let prime = rig.events(answer)[0].0.clone().unwrap();
    let (who, invocation) = rig.invoked();
    rig.disconnect(answer);
    for step in 1..=4 {
        let _ = rig.progress(who, invocation.slot.id(), f64::from(step));
    }
    let back = rig.get(Some(&id), &[("Last-Event-ID", &prime)]);
    assert_eq!(rig.messages(back).len(), 4);
    rig.disconnect(back);
    let _ = rig.progress(who, invocation.slot.id(), 5.0);
    for unknown in [prime.as_str(), "x", "", "99-1", "0-99", "3-999"] {
        let back = rig.get(Some(&id), &[("Last-Event-ID", unknown)]);
        assert_eq!(rig.status(back), 400, "{unknown:?}");
    }
    rig.reply(who, invocation.slot, text("x"));
    assert_eq!(rig.status(answer), 200);
}

/// Only 2025-11-25 has empty events; older clients take an event for a message.
#[test]
fn older_clients_get_no_empty_events() {
    for version in ["2025-03-26", "2025-06-18"] {
        let mut rig = Rig::new(definition(), kept());
        let id = rig.open(version, json!({}));
        let answer = rig.legacy(Some(&id), &call(1, "slow", json!({})));
        assert_eq!(rig.status(answer), 0, "decided late");
        let (who, invocation) = rig.invoked();
        let Who::Session(session) = who else { panic!("a session") };
        assert_eq!(rig.sessions[session].close_stream(rig.now, invocation.slot.id()), Sent::NotWanted);
        let _ = rig.progress(who, invocation.slot.id(), 1.0);
        let seen = rig.events(answer).remove(0);
        assert_eq!(seen.1["method"], "notifications/progress");
        rig.disconnect(answer);
        rig.reply(who, invocation.slot, text("x"));
        let back = rig.get(Some(&id), &[("Last-Event-ID", &seen.0.unwrap())]);
        assert_eq!(rig.messages(back)[0]["id"], 1);
        let listening = rig.get(Some(&id), &[]);
        assert!(rig.messages(listening).is_empty());
    }
}

/// Refusals keep their status, and quick answers are events like others: they can be lost too.
#[test]
fn quick_answers_can_be_found_again() {
    let mut rig = Rig::new(definition(), kept());
    let id = rig.open(LATEST, json!({}));
    let answer = rig.legacy(Some(&id), &request(1, "tools/list", json!({})));
    let events = rig.events(answer);
    assert_eq!((events.len(), &events[1].1["id"]), (2, &json!(1)));
    assert!(rig.answers[answer].done);
    let back = rig.get(Some(&id), &[("Last-Event-ID", events[0].0.as_deref().unwrap())]);
    assert_eq!(rig.messages(back)[0]["id"], 1);
    let answer = rig.legacy(Some(&id), &initialize(LATEST, json!({})));
    assert_eq!(rig.refusal(answer), (400, -32600, json!("init")));
}

/// A slow reader is sent away and finds everything when it comes back.
#[test]
fn slow_readers_come_back() {
    let limits = Limits { output_bytes: 1_000, ..Limits::server() };
    let mut rig = Rig::new(builder().limits(limits).build().unwrap(), kept());
    let id = rig.open(LATEST, json!({}));
    let listening = rig.get(Some(&id), &[]);
    let prime = rig.events(listening)[0].0.clone().unwrap();
    rig.reads = false;
    for _ in 0..100 {
        rig.publish(&Event::ToolsListChanged);
    }
    assert!(rig.answers[listening].done);
    assert!(raw(&rig, listening).ends_with("retry: 2500\n\n"));
    rig.reads = true;
    let back = rig.get(Some(&id), &[("Last-Event-ID", &prime)]);
    assert_eq!(rig.messages(back).len(), 100);
}

/// Without a store nothing is promised: no ids, no empty events, and an id is not looked at.
#[test]
fn without_a_store_nothing_is_promised() {
    let mut rig = Rig::new(definition(), Options::default());
    let id = rig.open(LATEST, json!({}));
    let listening = rig.get(Some(&id), &[("Last-Event-ID", "0-17")]);
    rig.publish(&Event::ToolsListChanged);
    let events = rig.events(listening);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].0, None);
    let answer = rig.legacy(Some(&id), &call(1, "slow", json!({})));
    let (who, invocation) = rig.invoked();
    let Who::Session(session) = who else { panic!("a session") };
    assert_eq!(rig.sessions[session].close_stream(rig.now, invocation.slot.id()), Sent::NotWanted);
    rig.reply(who, invocation.slot, text("x"));
    assert_eq!(rig.answered(answer), 1);
}

/// A session goes on in another process, its replay window included.
#[test]
fn sessions_travel_with_their_replay_window() {
    let mut rig = Rig::new(definition(), kept());
    rig.principal = Some("kim");
    let id = rig.open(LATEST, json!({"roots": {}}));
    let listening = rig.get(Some(&id), &[]);
    let standing = rig.events(listening)[0].0.clone().unwrap();
    let answer = rig.legacy(Some(&id), &call(1, "slow", json!({})));
    let prime = rig.events(answer)[0].0.clone().unwrap();
    let (who, invocation) = rig.invoked();
    assert_eq!(rig.sessions[0].export(), None, "requests in flight do not travel");
    rig.disconnect(answer);
    let pinged = rig.sessions[0].request(rig.now, None, "ping", None, None).unwrap();
    rig.drain(who);
    assert_eq!(rig.sessions[0].export(), None, "nor do our own");
    rig.sessions[0].cancel_request(rig.now, pinged, None).unwrap();
    rig.drain(who);
    rig.reply(who, invocation.slot, text("x\ny"));
    let exported = rig.sessions[0].export().unwrap();
    let heard = rig.messages(listening);

    let mut other = Rig::new(definition(), kept());
    other.principal = Some("kim");
    let sessions = &mut other.sessions;
    let mut wrap = |_: SessionKey, session| {
        sessions.push(session);
        sessions.len() - 1
    };
    let key = other.endpoint.import(other.now, &exported, &mut wrap).unwrap();
    assert!(other.endpoint.import(other.now, &exported, &mut wrap).is_err(), "it is here already");
    for wrong in [&b""[..], b"{}", b"\xff", &exported[1..]] {
        assert!(other.endpoint.import(other.now, wrong, &mut wrap).is_err());
    }
    let text = String::from_utf8(exported.to_vec()).unwrap();
    for (from, to) in [("\"format\":1", "\"format\":2"), ("\"format\":1", "\"format\":1,\"x\":1")] {
        assert!(text.contains(from));
        let wrong = text.replacen(from, to, 1);
        assert!(other.endpoint.import(other.now, wrong.as_bytes(), &mut wrap).is_err(), "{to}");
    }
    assert_eq!(other.sessions.len(), 1);
    other.keys.insert(0, key);
    let back = other.get(Some(&id), &[("Last-Event-ID", &prime)]);
    assert_eq!(other.messages(back)[0]["result"]["content"][0]["text"], "x\ny");
    assert!(other.answers[back].done);
    let listening = other.get(Some(&id), &[("Last-Event-ID", &standing)]);
    assert_eq!(other.messages(listening), heard);
    let asked = other.sessions[0].request(other.now, None, "ping", None, None).unwrap();
    other.drain(Who::Session(0));
    assert_eq!(asked.to_u64(), pinged.to_u64() + 1, "no id is used again");
    let answer = other.legacy(Some(&id), &request(2, "tools/list", json!({})));
    assert_eq!(other.messages(answer).pop().unwrap()["id"], 2);
    other.principal = None;
    let answer = other.legacy(Some(&id), &request(3, "tools/list", json!({})));
    assert_eq!(other.status(answer), 403, "it is still kim's");
    other.sessions[0].cancel_request(other.now, asked, None).unwrap();
    other.drain(Who::Session(0));
    assert!(other.sessions[0].export().is_some(), "and goes on from there");
}
