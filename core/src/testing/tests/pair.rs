//! Pairs move time only as they are told, and find machines and tests that break the rules.

use std::time::Duration;

use super::*;
use crate::client::{CallError, Connect, TimeoutKind};
use crate::error::ErrorObject;
use crate::spec::Version;

fn echo(pair: &mut Pair) {
    pair.serve_with(|invocation| Reply::Tool(CallToolResult::text(invocation.context.params().get())));
}

#[test]
fn calls_are_answered_over_every_faithful_link() {
    for (mode, seed) in [(Connect::Auto, 1), (Connect::Legacy, 2), (Connect::Pinned(Version::V2025_03_26), 3)] {
        for links in [
            (Link::new(), Link::new()),
            (Link::seeded(seed).split(1), Link::seeded(seed).split(1).merge()),
            (Link::seeded(seed).delay(Duration::from_millis(40)), Link::seeded(seed).jitter(Duration::from_millis(9))),
        ] {
            let mut pair = Pair::new(definition(), config().connect(mode)).links(links.0, links.1);
            pair.connect();
            echo(&mut pair);
            let answer = pair.run(Request::call_tool("echo", &raw(json!({"a": "日本"})))).unwrap();
            assert!(answer.parse::<CallToolResult>().unwrap().joined_text().contains("日本"));
            assert_eq!(pair.up.sent(), pair.up.received());
            assert_eq!(pair.down.sent(), pair.down.received());
            pair.assert_quiet();
        }
    }
}

#[test]
fn driving_moves_the_clock_as_far_as_the_links_take() {
    let mut pair = Pair::new(definition(), config())
        .links(Link::new().delay(Duration::from_millis(10)), Link::new().delay(Duration::from_millis(5)));
    pair.connect();
    assert_eq!(pair.now.mono, Mono::from_nanos(15_000_000));
    let call = pair.call(Request::call_tool("echo", &Json::EMPTY_OBJECT), CallOptions::new());
    pair.drive();
    assert_eq!(pair.now.mono, Mono::from_nanos(25_000_000));
    assert!(pair.done(call).is_none() && pair.invocation().is_some());
}

#[test]
fn time_passes_with_everything_that_happens_in_it() {
    let mut pair = Pair::connected(definition(), config());
    let call = pair.call(Request::call_tool("echo", &Json::EMPTY_OBJECT), CallOptions::new());
    pair.pass(Duration::from_millis(59_999));
    assert!(pair.done(call).is_none());
    pair.pass(Duration::from_millis(1));
    assert_eq!(pair.done(call).unwrap().unwrap_err(), CallError::TimedOut { kind: TimeoutKind::Idle });
    assert_eq!(pair.now.unix.as_millis(), 1_800_000_060_000);
    // The server heard of it.
    assert!(pair.server.events.iter().any(|event| matches!(event, crate::server::Action::Cancelled { .. })));
}

#[test]
fn exchange_asserts_that_received_is_sent() {
    let mut pair = Pair::connected(definition(), config());
    let params = Json::from_text(r#"{"name":"echo","arguments":{"big":123456789012345678901234567890}}"#).unwrap();
    let request = Request::custom("tools/call", params).unwrap();
    let reply = Reply::Tool(CallToolResult::structured(Json::from_text("{\"n\":18446744073709551616}").unwrap()));
    let answer = pair.exchange(request.clone(), reply).unwrap();
    assert!(answer.json().get().contains("18446744073709551616"));
    let error = ErrorObject::invalid_params("no").with_data(raw(json!({"why": [1]})));
    assert_eq!(pair.exchange(request, Reply::Error(error.clone())).unwrap_err(), CallError::Remote(error));
    pair.assert_quiet();
}

#[test]
fn an_exchange_over_a_link_that_tampers_is_found_out() {
    let tampering = Link::new().tamper(|frame| {
        let text = String::from_utf8(frame.clone()).unwrap();
        *frame = text.replace("\"a\":1", "\"a\":2").into_bytes();
    });
    let mut pair = Pair::new(definition(), config()).links(tampering, Link::new());
    pair.connect();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pair.exchange(Request::call_tool("echo", &raw(json!({"a": 1}))), Reply::Tool(CallToolResult::text("x")))
    }));
    let text = *outcome.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("\"arguments\" was {\"a\":1} and became {\"a\":2}"), "{text}");
}

#[test]
fn a_lost_answer_ends_in_a_timeout_not_in_a_hang() {
    let mut pair = Pair::connected(definition(), config());
    echo(&mut pair);
    pair.down = Link::new().lose(1);
    let outcome = pair.run(Request::call_tool("echo", &Json::EMPTY_OBJECT));
    assert_eq!(outcome.unwrap_err(), CallError::TimedOut { kind: TimeoutKind::Idle });
}

#[test]
fn hanging_up_ends_both_sides() {
    let mut pair = Pair::connected(definition(), config());
    let call = pair.call(Request::call_tool("echo", &Json::EMPTY_OBJECT), CallOptions::new());
    pair.drive();
    pair.hang_up();
    assert!(!pair.server.is_closed());
    let invocation = pair.invocation().unwrap();
    pair.reply(invocation, Reply::Tool(CallToolResult::text("owed")));
    pair.drive();
    assert!(pair.server.is_closed() && pair.client.is_closed());
    assert!(pair.done(call).unwrap().is_ok());
    pair.server.events.clear();
    pair.client.events.clear();
    pair.assert_quiet();
}

#[test]
fn events_that_are_not_taken_keep_their_order() {
    let mut pair = Pair::connected(definition(), config());
    let calls: Vec<_> =
        (0..3).map(|n| pair.call(Request::call_tool("echo", &raw(json!({"n": n}))), CallOptions::new())).collect();
    pair.drive();
    for n in [0, 1, 2] {
        let invocation = pair.invocation().unwrap();
        assert!(invocation.context.params().get().contains(&format!("\"n\":{n}")));
        pair.reply(invocation, Reply::Failed);
    }
    pair.drive();
    assert!(pair.done(calls[1]).is_some() && pair.done(calls[1]).is_none());
    assert!(pair.done(calls[0]).is_some() && pair.done(calls[2]).is_some());
    pair.assert_quiet();
}
