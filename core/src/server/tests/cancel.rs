//! Cancellation, progress and deadlines.

use super::*;

fn cancelled(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id.into(), "reason": "user"}})
}

/// O07: a cancelled request is never answered, be its id 0; unknown ones are ignored.
#[test]
fn o07_cancelling_request_zero() {
    let mut rig = Rig::new(definition());
    rig.send(modern(0, "tools/call", json!({"name": "slow", "_meta": {"progressToken": "t"}})));
    let slot = rig.invoked().slot;
    rig.send(cancelled(0));
    rig.send(cancelled(99));
    rig.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}));
    rig.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}));
    assert_eq!(rig.cancelled, vec![(slot.id(), Some("user".into()))]);
    let progress = Progress { progress: 1.0, total: None, message: None };
    assert_eq!(rig.server.progress(rig.now, slot.id(), &progress).unwrap(), Sent::NotWanted);
    rig.reply(slot, text("ignored the signal"));
    rig.send(modern(1, "server/discover", json!({})));
    assert_eq!(rig.one()["id"], 1);
}

/// U-26: tokens keep their type, progress increases strictly and stops with the answer.
#[test]
fn u26_progress_goes_where_it_was_asked_for() {
    let mut rig = Rig::new(definition());
    rig.send(modern(1, "tools/call", json!({"name": "slow", "_meta": {"progressToken": 7}})));
    rig.send(modern(2, "tools/call", json!({"name": "slow", "_meta": {"progressToken": "7"}})));
    rig.send(modern(3, "tools/call", json!({"name": "slow"})));
    let [a, b, c] = <[Invocation; 3]>::try_from(std::mem::take(&mut rig.invocations)).unwrap();
    let report = |rig: &mut Rig, slot: SlotId, progress: f64| {
        let progress = Progress { progress, total: Some(2.0), message: Some("on it".to_owned()) };
        let sent = rig.server.progress(rig.now, slot, &progress).unwrap();
        rig.drain();
        (sent, rig.take().pop().map(|frame| frame["params"].clone()))
    };
    let (_, first) = report(&mut rig, a.slot.id(), 0.1);
    assert_eq!(first, Some(json!({"progressToken": 7, "progress": 0.1, "total": 2.0, "message": "on it"})));
    assert_eq!(report(&mut rig, b.slot.id(), 1.0).1.unwrap()["progressToken"], "7");
    assert_eq!(report(&mut rig, a.slot.id(), 0.100_000_01).0, Sent::Yes);
    for again in [0.1, 0.100_000_01, f64::NAN, f64::INFINITY] {
        assert_eq!(report(&mut rig, a.slot.id(), again), (Sent::NotWanted, None), "{again}");
    }
    assert_eq!(report(&mut rig, c.slot.id(), 1.0), (Sent::NotWanted, None));
    let id = a.slot.id();
    rig.reply(a.slot, text("done"));
    let late = Progress { progress: 9.0, total: None, message: None };
    assert!(rig.server.progress(rig.now, id, &late).is_err());
    rig.send(modern(9, "tools/call", json!({"name": "slow", "_meta": {"progressToken": 1.5}})));
    assert_eq!(rig.take().pop().unwrap()["error"]["code"], -32602);
}

/// 2024-11-05 has no message in progress.
#[test]
fn progress_is_shaped_for_the_revision() {
    let mut rig = Rig::legacy(definition(), "2024-11-05", json!({}));
    rig.send(legacy(1, "tools/call", json!({"name": "slow", "_meta": {"progressToken": 1}})));
    let slot = rig.invoked().slot;
    let progress = Progress { progress: 1.0, total: None, message: Some("m".to_owned()) };
    assert_eq!(rig.server.progress(rig.now, slot.id(), &progress).unwrap(), Sent::Yes);
    rig.drain();
    assert_eq!(rig.one()["params"], json!({"progressToken": 1, "progress": 1.0}));
}

/// A handler that never answers is bounded, if the definition says so.
#[test]
fn invocations_can_have_a_deadline() {
    let limits = {
        let mut limits = crate::limits::Limits::server();
        limits.invocation = Some(Duration::from_secs(5));
        limits
    };
    let mut rig = Rig::new(builder().limits(limits).build().unwrap());
    rig.send(modern(1, "tools/call", json!({"name": "slow"})));
    let slot = rig.invoked().slot;
    rig.advance(Duration::from_secs(4));
    assert!(rig.frames.is_empty());
    rig.advance(Duration::from_secs(1));
    assert_eq!(rig.one()["error"]["code"], -32603);
    assert_eq!(rig.cancelled.len(), 1);
    rig.reply(slot, text("late"));
    assert!(rig.frames.is_empty());
    assert_eq!(rig.server.poll_timeout(), None);
}

/// A slow reader loses progress and log messages first, never answers; then reading stops.
#[test]
fn a_slow_reader_loses_progress_first() {
    let limits = {
        let mut limits = crate::limits::Limits::server();
        limits.output_bytes = 1_000;
        limits
    };
    let mut server = Server::new(Arc::new(builder().limits(limits).build().unwrap()), Seed([1; 32]));
    let now = Now::default();
    let frame = |id| {
        Bytes::from(format!("{}\n", modern(id, "tools/call", json!({"name": "slow", "_meta": {"progressToken": id}}))))
    };
    server.handle(now, Input::Bytes(frame(1))).unwrap();
    let Some(Action::Invoke(invocation)) = server.poll_action() else { panic!() };
    let mut written = 0;
    let mut progress = 0.0;
    let full = loop {
        progress += 1.0;
        match server.progress(now, invocation.slot.id(), &Progress { progress, total: None, message: None }).unwrap() {
            Sent::Yes => {}
            other => break other,
        }
        while let Some(Action::Write(bytes)) = server.poll_action() {
            written += bytes.len();
        }
        assert!(progress < 1_000.0);
    };
    assert_eq!(full, Sent::Full);
    assert!(!server.wants_input());
    server.reply(now, invocation.slot, text("the answer still goes out")).unwrap();
    assert!(matches!(server.poll_action(), Some(Action::Write(_))));
    server.handle(now, Input::Written(written)).unwrap();
    assert!(server.wants_input());
}

/// Requests beyond the bound are refused by name; answers and cancellations still get in.
#[test]
fn requests_in_flight_are_bounded() {
    let limits = {
        let mut limits = crate::limits::Limits::server();
        limits.in_flight = 2;
        limits
    };
    let mut rig = Rig::new(builder().limits(limits).build().unwrap());
    for id in 1..=3 {
        rig.send(modern(id, "tools/call", json!({"name": "slow"})));
    }
    let error = rig.one();
    assert_eq!(error["id"], 3);
    assert!(error["error"]["message"].as_str().unwrap().contains("in_flight = 2"));
    rig.send(cancelled(1));
    let first = rig.invocations.remove(0);
    rig.reply(first.slot, text("x"));
    rig.send(modern(4, "tools/call", json!({"name": "slow"})));
    assert!(rig.frames.is_empty());
    assert_eq!(rig.invocations.len(), 2);
}
