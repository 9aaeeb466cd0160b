//! Legacy sessions: lost ones, their own stream, resumed streams.

use super::*;
use crate::client::{InputAnswer, List};
use crate::model::{ClientCapabilities, ElicitResult};

fn renewed(driver: &mut Driver) {
    match driver.event() {
        client::Action::Renewed(_) => {}
        other => panic!("{other:?}"),
    }
}

/// O10, L-SESS-07: a session that is gone is replaced, and the call goes out once more.
#[test]
fn o10_a_lost_session_is_replaced_once() {
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    let call = driver.call(Request::list(List::Tools, None));
    let fetch = driver.fetch();
    assert_eq!(fetch.header("mcp-session-id"), Some("s-1"));
    driver.respond(&fetch, 404, &[("content-type", "text/plain")], "gone");
    driver.aborted.clear();
    driver.open_session("s-2", Version::V2025_11_25);
    renewed(&mut driver);
    let again = driver.fetch();
    assert_eq!(again.rpc_method(), "tools/list");
    assert_eq!(again.header("mcp-session-id"), Some("s-2"));
    assert_ne!(again.rpc_id(), fetch.rpc_id());
    driver.respond(&again, 404, NONE, "");
    driver.aborted.clear();
    assert_eq!(driver.failed(call), ExchangeError::SessionLost);
    driver.quiet();
}

/// Calls that all find their session gone share the new one; what is under way in the old one ends by itself.
#[test]
fn one_new_session_serves_all_calls() {
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    let (a, first) = driver.tool("a");
    let (b, second) = driver.tool("b");
    let (c, third) = driver.tool("c");
    driver.head(&third, 200, EVENTS);
    driver.respond(&first, 404, NONE, "");
    let handshake = driver.fetch();
    assert_eq!(handshake.rpc_method(), "initialize");
    // The second finds out while the handshake is on its way, the fourth was not sent yet.
    driver.respond(&second, 404, NONE, "");
    let d = driver.call(Request::call_tool("d", &Json::EMPTY_OBJECT));
    driver.aborted.clear();
    driver.quiet();
    driver.fetches.push_front(handshake);
    driver.open_session("s-2", Version::V2025_11_25);
    renewed(&mut driver);
    for call in [a, b, d] {
        let fetch = driver.fetch();
        assert_eq!(fetch.header("mcp-session-id"), Some("s-2"));
        driver.answer(&fetch, json!({"content": []}));
        driver.done(call).unwrap();
    }
    driver.end(&third);
    assert_eq!(driver.failed(c), ExchangeError::Ended);
    driver.quiet();
}

/// A 404 that a late answer brings when there is a new session already needs no further one.
#[test]
fn a_late_404_of_the_old_session_only_repeats_the_call() {
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    let (a, first) = driver.tool("a");
    let (b, second) = driver.tool("b");
    driver.respond(&first, 404, NONE, "");
    driver.open_session("s-2", Version::V2025_11_25);
    renewed(&mut driver);
    let again = driver.fetch();
    driver.answer(&again, json!({"content": []}));
    driver.done(a).unwrap();
    driver.respond(&second, 404, NONE, "");
    driver.aborted.clear();
    let again = driver.fetch();
    assert_eq!((again.rpc_method().as_str(), again.header("mcp-session-id")), ("tools/call", Some("s-2")));
    driver.answer(&again, json!({"content": []}));
    driver.done(b).unwrap();
    driver.quiet();
}

/// Questions of a session that is gone are withdrawn.
#[test]
fn questions_of_a_lost_session_are_withdrawn() {
    let mut driver = Driver::legacy(config().capabilities(ClientCapabilities::new().with_form()), Version::V2025_06_18);
    let (_, fetch) = driver.tool("t");
    driver.head(&fetch, 200, EVENTS);
    let ask = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
        "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}});
    driver.body(&fetch, &event(&ask));
    let client::Action::NeedInput(needed) = driver.event() else { panic!("a question") };
    let ping = driver.call(Request::ping());
    let second = driver.fetch();
    driver.respond(&second, 404, NONE, "");
    driver.aborted.clear();
    assert!(matches!(driver.event(), client::Action::CancelledInput { input, .. } if input == needed.input));
    let late = InputAnswer::Elicit(ElicitResult::decline());
    assert!(driver.client.supply_input(driver.now, needed.input, &late).is_err());
    driver.open_session("s-2", Version::V2025_06_18);
    renewed(&mut driver);
    let again = driver.fetch();
    driver.answer(&again, json!({}));
    driver.done(ping).unwrap();
    driver.quiet();
}

/// A server that has no session for the new handshake either ends the connection.
#[test]
fn a_new_session_that_does_not_come_about_is_the_end() {
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    let (call, fetch) = driver.tool("t");
    driver.respond(&fetch, 404, NONE, "");
    driver.aborted.clear();
    let handshake = driver.fetch();
    driver.respond(&handshake, 404, NONE, "");
    assert_eq!(driver.done(call).unwrap_err(), CallError::Disconnected);
    let status = ExchangeError::Status { status: 404 };
    assert_eq!(driver.closed(), Closed::NotConnected(ConnectError::Exchange(status)));
    driver.quiet();
}

/// L-HTTP-09, -10, -22, L-HTTP-24: a stream that ends early is resumed by a GET, after the time that the server asks
/// for.
#[test]
fn l_http_09_10_22_a_stream_is_resumed() {
    let mut driver = Driver::legacy(config(), Version::V2025_03_26);
    let (call, fetch) = driver.tool("test_reconnection");
    driver.head(&fetch, 200, EVENTS);
    driver.body(&fetch, "id: e1\nretry: 500\ndata: \n\n");
    driver.end(&fetch);
    driver.quiet();
    assert_eq!(driver.client.poll_timeout().unwrap().1, TimerKind::Backoff);
    driver.pass(millis(499));
    driver.quiet();
    driver.pass(millis(1));
    let resumed = driver.fetch();
    assert_eq!(resumed.method, Method::Get);
    assert_eq!(resumed.header("last-event-id"), Some("e1"));
    assert_eq!(resumed.header("mcp-session-id"), Some("s-1"));
    assert_eq!(resumed.header("mcp-protocol-version"), Some("2025-03-26"));
    assert_eq!(resumed.header("accept"), Some("text/event-stream"));
    assert_eq!(resumed.header("content-type"), None);
    driver.head(&resumed, 200, EVENTS);
    // It may break again, and goes on after the last event that was whole.
    driver.body(&resumed, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x/y\"}\n\nid: e3\ndata: {");
    assert!(matches!(driver.event(), client::Action::Notified { .. }));
    driver.broken(&resumed);
    driver.quiet();
    assert_eq!(driver.wait(), (millis(500), TimerKind::Backoff));
    let resumed = driver.fetch();
    assert_eq!(resumed.header("last-event-id"), Some("e2"));
    driver.head(&resumed, 200, EVENTS);
    driver.body(&resumed, &format!("id: e3\n{}", event(&result(&fetch.rpc_id(), json!({"content": []})))));
    driver.done(call).unwrap();
    driver.end(&resumed);
    driver.quiet();
    assert_eq!(driver.client.poll_timeout(), None);
}

/// L-HTTP-09, the same with a stream that is cut at each byte.
#[test]
fn a_stream_is_resumed_wherever_it_breaks() {
    let text = |id: &Value| {
        let log = json!({"jsonrpc": "2.0", "method": "x/y"});
        format!("id: 1\ndata:\n\nid: 2\ndata: {log}\n\nid: 3\n{}", event(&result(id, json!({"content": []}))))
    };
    let length = text(&json!(2)).len();
    for cut in 0..length {
        let mut driver = Driver::legacy(config(), Version::V2025_11_25);
        let (call, fetch) = driver.tool("t");
        let whole = text(&fetch.rpc_id());
        assert_eq!(whole.len(), length);
        driver.head(&fetch, 200, EVENTS);
        driver.body(&fetch, &whole[..cut]);
        driver.broken(&fetch);
        // Where the events end that were whole.
        let last = whole[..cut].matches("\n\n").count();
        if last > 0 {
            driver.wait();
            let resumed = driver.fetch();
            assert_eq!(resumed.header("last-event-id"), Some(&*last.to_string()));
            let rest: String = whole.split_inclusive("\n\n").skip(last).collect();
            driver.head(&resumed, 200, EVENTS);
            driver.body(&resumed, &rest);
            driver.end(&resumed);
        }
        let notified = driver.events.iter().filter(|event| matches!(event, client::Action::Notified { .. })).count();
        driver.events.retain(|event| !matches!(event, client::Action::Notified { .. }));
        if last > 0 {
            assert_eq!(notified, 1, "not lost, and not twice");
            driver.done(call).unwrap();
        } else {
            assert_eq!(driver.failed(call), ExchangeError::Broken("reset".into()));
        }
        driver.quiet();
        assert_eq!(driver.client.poll_timeout(), None);
    }
}

/// A stream whose server gave no id, or took it back, cannot be resumed.
#[test]
fn a_stream_without_an_id_is_not_resumed() {
    for text in
        ["", "data: {\"jsonrpc\":\"2.0\",\"method\":\"x/y\"}\n\n", "id: 1\ndata:\n\nid\ndata:\n\n", "id: a\u{7}\n\n"]
    {
        let mut driver = Driver::legacy(config(), Version::V2025_11_25);
        let (call, fetch) = driver.tool("t");
        driver.respond(&fetch, 200, EVENTS, text);
        driver.events.retain(|event| !matches!(event, client::Action::Notified { .. }));
        assert_eq!(driver.failed(call), ExchangeError::Ended, "{text:?}");
        driver.quiet();
    }
}

/// The budget: attempts that bring nothing come ever more rarely, and end after 300 s; the idle clock of the call
/// stands still meanwhile.
#[test]
fn resuming_has_a_budget() {
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    let (call, fetch) = driver.tool("t");
    driver.respond(&fetch, 200, EVENTS, "id: 1\ndata:\n\n");
    let start = driver.now.mono;
    let mut waits = Vec::new();
    loop {
        let (wait, kind) = driver.wait();
        if !driver.events.is_empty() {
            break;
        }
        assert_eq!(kind, TimerKind::Backoff);
        waits.push(wait);
        let attempt = driver.fetch();
        match waits.len() % 3 {
            0 => driver.broken(&attempt),
            1 => driver.respond(&attempt, 503, NONE, ""),
            _ => driver.respond(&attempt, 200, EVENTS, ":\n\n"),
        }
        driver.aborted.clear();
        if !driver.events.is_empty() {
            break;
        }
    }
    assert_eq!(waits[..5], [millis(100), millis(200), millis(400), millis(800), millis(1_600)]);
    let spent = start.until(driver.now.mono);
    assert!(spent <= seconds(300) && spent >= seconds(289), "{spent:?}");
    assert!(matches!(
        driver.failed(call),
        ExchangeError::Broken(_) | ExchangeError::Status { .. } | ExchangeError::Ended
    ));
    driver.quiet();
    assert_eq!(driver.client.poll_timeout(), None);
}

/// A wait that would pass the budget is not begun: the call fails at once. One that fits is never shortened.
#[test]
fn a_wait_beyond_the_budget_fails_at_once() {
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    let (call, fetch) = driver.tool("t");
    driver.respond(&fetch, 200, EVENTS, "id: 1\nretry: 300000\ndata:\n\n");
    assert_eq!(driver.failed(call), ExchangeError::Ended);
    driver.quiet();
    let (_, fetch) = driver.tool("t");
    driver.respond(&fetch, 200, EVENTS, "id: 1\nretry: 299999\ndata:\n\n");
    driver.quiet();
    assert_eq!(driver.wait(), (millis(299_999), TimerKind::Backoff));
    driver.fetch();
    // The floor holds where the server wants no wait at all.
    let (_, fetch) = driver.tool("t");
    driver.respond(&fetch, 200, EVENTS, "id: 1\nretry: 0\ndata:\n\n");
    let at = driver.client.poll_timeout().unwrap().0;
    assert!(driver.now.mono.until(at) <= millis(100));
}

/// What is left of the budget is how long a resumed stream may be silent, and silence is paid for.
#[test]
fn a_resumed_stream_may_be_silent_for_what_is_left() {
    let log = event(&json!({"jsonrpc": "2.0", "method": "x/y"}));
    let mut driver =
        Driver::legacy(config().timeouts(crate::client::Timeouts::default().hard(None)), Version::V2025_11_25);
    let (call, fetch) = driver.tool("t");
    driver.respond(&fetch, 200, EVENTS, "id: 1\nretry: 50000\ndata:\n\n");
    assert_eq!(driver.wait(), (seconds(50), TimerKind::Backoff));
    let resumed = driver.fetch();
    driver.head(&resumed, 200, EVENTS);
    driver.pass(seconds(50));
    driver.body(&resumed, &format!("id: 2\n{log}"));
    driver.event();
    // 100 s are spent: 200 s of silence are left, as long as nothing comes.
    driver.pass(seconds(199));
    driver.body(&resumed, &log);
    driver.event();
    assert_eq!(driver.wait(), (seconds(200), TimerKind::Stream));
    assert_eq!(driver.failed(call), ExchangeError::Ended);
    assert_eq!(std::mem::take(&mut driver.aborted), [resumed.id]);
    driver.quiet();
    assert_eq!(driver.client.poll_timeout(), None);
}

/// A server that does not know the stream any more has nothing to resume.
#[test]
fn what_cannot_be_resumed_ends_the_call() {
    for (status, expected) in [
        (404, ExchangeError::SessionLost),
        (400, ExchangeError::Status { status: 400 }),
        (405, ExchangeError::Status { status: 405 }),
        (204, ExchangeError::Ended),
    ] {
        let mut driver = Driver::legacy(config(), Version::V2025_11_25);
        let (call, fetch) = driver.tool("t");
        driver.respond(&fetch, 200, EVENTS, "id: 1\ndata:\n\n");
        driver.wait();
        let resumed = driver.fetch();
        driver.respond(&resumed, status, NONE, "");
        driver.aborted.clear();
        if status == 204 {
            // A stream that ends without a word may be tried again.
            driver.wait();
            driver.client.cancel(driver.now, call, None).unwrap();
            driver.drain();
            continue;
        }
        assert_eq!(driver.failed(call), expected);
        driver.quiet();
    }
}

/// A call that is cancelled while its stream waits to be resumed tells the server, and comes back no more.
#[test]
fn a_waiting_stream_can_be_cancelled() {
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    let (call, fetch) = driver.tool("t");
    driver.respond(&fetch, 200, EVENTS, "id: 1\ndata:\n\n");
    driver.client.cancel(driver.now, call, None).unwrap();
    assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);
    let told = driver.fetch();
    assert_eq!(told.rpc_method(), "notifications/cancelled");
    driver.respond(&told, 202, NONE, "");
    driver.pass(seconds(400));
    driver.quiet();
}

/// L-HTTP-15, -16: the stream of the session carries what no request asked for, is opened again, and is no loss where
/// there is none.
#[test]
fn l_http_15_the_stream_of_the_session() {
    let mut driver = Driver::legacy_at(config(), Version::V2025_11_25, endpoint());
    let stream = driver.fetch();
    assert_eq!((stream.method, stream.header("accept")), (Method::Get, Some("text/event-stream")));
    driver.head(&stream, 200, EVENTS);
    driver.body(&stream, "id: g-1\n");
    driver.body(&stream, &event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})));
    assert!(matches!(driver.event(), client::Action::Notified { .. }));
    driver.pass(seconds(3_600));
    driver.quiet();
    driver.end(&stream);
    assert_eq!(driver.wait(), (millis(100), TimerKind::Backoff));
    let stream = driver.fetch();
    assert_eq!(stream.header("last-event-id"), Some("g-1"));
    driver.head(&stream, 200, EVENTS);
    // A request of the server, too.
    driver.body(&stream, &event(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})));
    let pong = driver.fetch();
    assert_eq!(pong.message(), json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    driver.respond(&pong, 202, NONE, "");
    // Short streams in a row come ever more rarely, a long one starts over.
    driver.end(&stream);
    for expected in [100, 200, 400] {
        assert_eq!(driver.wait(), (millis(expected), TimerKind::Backoff));
        let stream = driver.fetch();
        driver.respond(&stream, 200, EVENTS, "");
    }
    assert_eq!(driver.wait(), (millis(800), TimerKind::Backoff));
    let stream = driver.fetch();
    driver.head(&stream, 200, EVENTS);
    driver.pass(seconds(60));
    driver.quiet();
    driver.end(&stream);
    assert_eq!(driver.wait(), (millis(100), TimerKind::Backoff));
    let stream = driver.fetch();
    driver.respond(&stream, 405, NONE, "");
    driver.aborted.clear();
    driver.quiet();
    assert_eq!(driver.client.poll_timeout(), None);
}

/// A session that is gone is found out by its stream, too: the application hears of the new one at once.
#[test]
fn the_stream_of_a_lost_session_leads_to_a_new_one() {
    let mut driver = Driver::legacy_at(config(), Version::V2025_11_25, endpoint());
    let stream = driver.fetch();
    driver.respond(&stream, 200, EVENTS, "");
    driver.wait();
    let stream = driver.fetch();
    driver.respond(&stream, 404, NONE, "");
    driver.aborted.clear();
    driver.open_session("s-2", Version::V2025_11_25);
    renewed(&mut driver);
    let stream = driver.fetch();
    assert_eq!((stream.method, stream.header("mcp-session-id")), (Method::Get, Some("s-2")));
    driver.respond(&stream, 500, NONE, "");
    driver.aborted.clear();
    assert_eq!(driver.wait().1, TimerKind::Backoff);
    driver.fetch();
    driver.quiet();
}

/// Some legacy servers answer in a stream that is not the request's own.
#[test]
fn a_legacy_answer_is_taken_from_any_stream() {
    let mut driver = Driver::legacy_at(config(), Version::V2025_11_25, endpoint());
    let stream = driver.fetch();
    driver.head(&stream, 200, EVENTS);
    let (call, fetch) = driver.tool("t");
    driver.head(&fetch, 200, EVENTS);
    driver.body(&stream, &event(&result(&fetch.rpc_id(), json!({"content": []}))));
    driver.done(call).unwrap();
    assert_eq!(std::mem::take(&mut driver.aborted), [fetch.id]);
    // Once is enough.
    driver.body(&stream, &event(&result(&fetch.rpc_id(), json!({"content": []}))));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.quiet();
}

/// 2025-03-26: a batch answers, and is answered by a batch.
#[test]
fn a_batch_of_2025_03_26_is_read() {
    let mut driver = Driver::legacy(config(), Version::V2025_03_26);
    let (call, fetch) = driver.tool("t");
    let ping = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let body = json!([ping(1), result(&fetch.rpc_id(), json!({"content": []})), ping(2)]);
    driver.respond(&fetch, 200, JSON, &body.to_string());
    driver.done(call).unwrap();
    let reply = driver.fetch();
    let answers = reply.message();
    assert_eq!(answers.as_array().map(Vec::len), Some(2));
    driver.respond(&reply, 202, NONE, "");
    driver.quiet();
}
