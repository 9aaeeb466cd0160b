//! Streams of notifications.

use super::*;
use crate::error::Error;
use crate::limits::{Bound, Limits};
use crate::model::SubscriptionFilter;

const ID: &str = "io.modelcontextprotocol/subscriptionId";

fn listen(driver: &mut Driver) -> (CallId, Value) {
    let filter = SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(vec!["a:b".to_owned()]);
    let call = driver.client.listen(driver.now, &filter, CallOptions::new()).unwrap();
    let frame = driver.frame();
    assert_eq!(frame["method"], "subscriptions/listen");
    assert_eq!(frame["params"]["notifications"], json!({"toolsListChanged": true, "resourceSubscriptions": ["a:b"]}));
    (call, frame["id"].clone())
}

fn acknowledge(driver: &mut Driver, id: &Value) {
    driver.notify(
        "notifications/subscriptions/acknowledged",
        json!({"_meta": {ID: id}, "notifications": {"toolsListChanged": true}}),
    );
}

/// M-STDIO-07, T-06: the acknowledgement opens a stream, the subscription id tells streams apart.
#[test]
fn streams_are_told_apart_by_their_id() {
    let mut driver = Driver::modern(config());
    let (first, one) = listen(&mut driver);
    let (second, two) = listen(&mut driver);
    acknowledge(&mut driver, &two);
    let Action::Listening { call, filter } = driver.event() else { panic!() };
    assert_eq!((call, filter), (second, SubscriptionFilter::new().tools_list_changed(true)));
    acknowledge(&mut driver, &one);
    assert!(matches!(driver.event(), Action::Listening { call, .. } if call == first));
    driver.notify("notifications/tools/list_changed", json!({"_meta": {ID: two}, "x": 1}));
    let Action::Notified { method, params, subscription } = driver.event() else { panic!() };
    assert_eq!((&*method, subscription), ("notifications/tools/list_changed", Some(second)));
    assert_eq!(params.parse::<Value>().unwrap()["x"], 1);
    driver.notify("notifications/resources/updated", json!({"_meta": {ID: one}, "uri": "a:b"}));
    assert!(matches!(driver.event(), Action::Notified { subscription: Some(call), .. } if call == first));
    // Of no stream that is open: an unknown number, the number as a string.
    for id in [json!(99), json!(one.to_string())] {
        driver.notify("notifications/tools/list_changed", json!({"_meta": {ID: id}}));
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    }
    // Log messages belong to no stream.
    driver.notify("notifications/message", json!({"level": "info", "data": 1}));
    assert!(matches!(driver.event(), Action::Notified { subscription: None, .. }));
    driver.quiet();
}

/// A stream is meant to stay: only the acknowledgement has a deadline.
#[test]
fn only_the_acknowledgement_has_a_deadline() {
    let mut driver = Driver::modern(config());
    let (call, _) = listen(&mut driver);
    driver.pass(seconds(60));
    assert_eq!(driver.done(call).unwrap_err(), CallError::TimedOut { kind: TimeoutKind::Idle });
    driver.frame();
    let (_, id) = listen(&mut driver);
    acknowledge(&mut driver, &id);
    driver.event();
    assert_eq!(driver.client.poll_timeout(), None);
    driver.pass(seconds(100_000));
    driver.quiet();
    acknowledge(&mut driver, &id);
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
}

/// Design 3: a teardown is a result, a cancellation, or both in either order; the first ends the call.
#[test]
fn teardown_in_any_order() {
    for order in [&["result"][..], &["cancelled"], &["result", "cancelled"], &["cancelled", "result"]] {
        let mut driver = Driver::modern(config());
        let (call, id) = listen(&mut driver);
        acknowledge(&mut driver, &id);
        driver.event();
        for (index, part) in order.iter().enumerate() {
            match *part {
                "result" => driver.result(&id, json!({"resultType": "complete", "_meta": {ID: id}})),
                _ => driver.notify("notifications/cancelled", json!({"requestId": id})),
            }
            if index == 0 {
                assert!(driver.done(call).is_ok(), "{order:?}");
            }
        }
        driver.quiet();
        // The stream's notifications that were on their way.
        driver.notify("notifications/tools/list_changed", json!({"_meta": {ID: id}}));
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
        // A third farewell is one too many.
        driver.result(&id, json!({"resultType": "complete"}));
        assert!(order.len() == 1 && order[0] == "cancelled" || driver.diagnostic().kind == DiagnosticKind::Ignored);
        driver.quiet();
    }
}

/// M-CANC: a modern server cancels streams, and nothing else.
#[test]
fn a_modern_server_cancels_nothing_else() {
    let mut driver = Driver::modern(config());
    let (call, frame) = driver.tool("t");
    driver.notify("notifications/cancelled", json!({"requestId": frame["id"]}));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.notify("notifications/cancelled", json!({}));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.result(&frame["id"], complete());
    assert!(driver.done(call).is_ok());
    driver.quiet();
}

/// Cancelling a stream tells the server; its number is free again.
#[test]
fn cancelling_a_stream() {
    let mut limits = Limits::default();
    limits.listen_streams = 1;
    limits.subscriptions = 2;
    let mut driver = Driver::modern(config().limits(limits));
    let (call, id) = listen(&mut driver);
    acknowledge(&mut driver, &id);
    driver.event();
    let filter = SubscriptionFilter::new().tools_list_changed(true);
    let full = driver.client.listen(driver.now, &filter, CallOptions::new()).unwrap_err();
    assert!(matches!(full, Error::LimitExceeded { bound: Bound::ListenStreams, limit: 1 }));
    driver.client.cancel(driver.now, call, None).unwrap();
    assert_eq!(driver.frame()["params"], json!({"requestId": id}));
    assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);
    let many = SubscriptionFilter::new().resource_subscriptions(vec!["a:b".to_owned(); 3]);
    let error = driver.client.listen(driver.now, &many, CallOptions::new()).unwrap_err();
    assert!(matches!(error, Error::LimitExceeded { bound: Bound::Subscriptions, limit: 2 }));
    listen(&mut driver);
    driver.quiet();
}

/// Legacy notifications come without a stream, whatever their metadata says.
#[test]
fn legacy_notifications_have_no_stream() {
    let mut driver = Driver::legacy(config(), Version::V2025_06_18);
    driver.notify("notifications/resources/updated", json!({"uri": "a:b", "_meta": {ID: 5}}));
    assert!(matches!(driver.event(), Action::Notified { subscription: None, .. }));
    driver.notify("x/y", json!({"n": 9_007_199_254_740_993_u64}));
    let Action::Notified { params, .. } = driver.event() else { panic!() };
    assert_eq!(params.get(), r#"{"n":9007199254740993}"#);
    driver.notify("notifications/x", json!([]));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::InvalidFrame);
    driver.quiet();
}

/// L-ELIC-06: completions of elicitations that nobody knows, and second ones, are ignored.
#[test]
fn completions_of_unknown_elicitations_are_ignored() {
    let mut driver = Driver::legacy(config().capabilities(form().with_url()), Version::V2025_11_25);
    let (call, frame) = driver.tool("t");
    let url = json!({"mode": "url", "message": "m", "url": "https://e", "elicitationId": "e1"});
    driver.error(&frame["id"], -32042, json!({"elicitations": [url]}));
    assert!(matches!(driver.done(call), Err(CallError::Remote(_))));
    driver.say(json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create",
        "params": {"mode": "url", "message": "m", "url": "https://e", "elicitationId": "e2"}}));
    driver.ask();
    for id in ["e1", "e2"] {
        driver.notify("notifications/elicitation/complete", json!({"elicitationId": id}));
        assert!(matches!(driver.event(), Action::Notified { .. }));
        driver.notify("notifications/elicitation/complete", json!({"elicitationId": id}));
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    }
    driver.notify("notifications/elicitation/complete", json!({"elicitationId": "e3"}));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.quiet();
}
