//! What becomes of answers: JSON, events, refusals, and everything that is neither.

use super::*;
use crate::client::{InputAnswer, List};
use crate::model::{ClientCapabilities, ElicitResult, SubscriptionFilter};

/// U-44, M-HTTP-14, -20: every way to write an event, cut at each byte, in the modern era.
#[test]
fn u44_events_are_read_however_they_are_cut() {
    for cut in [usize::MAX, 1, 2, 3, 7] {
        let mut driver = Driver::modern(config());
        driver.cut = cut;
        let (call, fetch) = driver.tool("t");
        let id = fetch.rpc_id();
        driver.head(&fetch, 200, EVENTS);
        driver.body(&fetch, "\u{feff}:keep-alive\r\n\r\n");
        driver.body(&fetch, "id: 5\r\nretry: 10\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\n");
        driver.body(
            &fetch,
            &format!("data: \"id\":{id},\"result\":{{\"resultType\":\"complete\",\"content\":[]}}}}\r\n"),
        );
        driver.quiet();
        driver.body(&fetch, "\r\n");
        assert_eq!(driver.done(call).unwrap().json().get(), r#"{"resultType":"complete","content":[]}"#);
        // The server ends the stream; nobody comes back for the rest.
        driver.body(&fetch, ":\r\n\r\n");
        driver.end(&fetch);
        driver.quiet();
        assert_eq!(driver.client.poll_timeout(), None);
    }
}

/// O09: a legacy stream with everything in it, in each of the three line ends.
#[test]
fn o09_a_stream_with_everything_in_it() {
    let text = "\u{feff}: hello\n\nid: s1-1\ndata:\n\nretry: 2500\nevent: message\nid: s1-2\n\
        data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":3,\"result\":{\"tools\":[]}}\n\n:\n\n";
    assert_eq!(text.replace('\n', "\r\n").len(), 141);
    for ending in ["\r\n", "\n", "\r"] {
        for cut in [usize::MAX, 1] {
            let mut driver = Driver::legacy(config(), Version::V2025_11_25);
            driver.cut = cut;
            let ping = driver.call(Request::ping());
            let fetch = driver.fetch();
            driver.answer(&fetch, json!({}));
            driver.done(ping).unwrap();
            let call = driver.call(Request::list(List::Tools, None));
            let fetch = driver.fetch();
            assert_eq!(fetch.rpc_id(), 3);
            driver.head(&fetch, 200, EVENTS);
            driver.body(&fetch, &text.replace('\n', ending));
            assert_eq!(driver.done(call).unwrap().json().get(), r#"{"tools":[]}"#);
            driver.end(&fetch);
            driver.quiet();
        }
    }
}

/// The server does not end a stream whose answer has come: it is dropped after a moment.
#[test]
fn a_stream_that_goes_on_after_its_answer_is_dropped() {
    let mut driver = Driver::modern(config());
    let (call, fetch) = driver.tool("t");
    driver.head(&fetch, 200, EVENTS);
    driver.body(&fetch, &event(&result(&fetch.rpc_id(), complete())));
    driver.done(call).unwrap();
    // A second answer is nobody's.
    driver.body(&fetch, &event(&result(&fetch.rpc_id(), complete())));
    driver.quiet();
    assert_eq!(driver.wait(), (seconds(1), TimerKind::Drain));
    assert_eq!(std::mem::take(&mut driver.aborted), [fetch.id]);
    driver.end(&fetch);
    driver.quiet();
}

/// Only events that are called `message`, or nothing, hold messages; others are passed over, whatever their data say.
#[test]
fn events_of_other_names_are_passed_over() {
    for name in ["message", ""] {
        let mut driver = Driver::modern(config());
        let (call, fetch) = driver.tool("t");
        driver.head(&fetch, 200, EVENTS);
        let answer = event(&result(&fetch.rpc_id(), complete()));
        for other in ["ping", "endpoint", "error", "Message"] {
            driver.body(&fetch, &format!("event: {other}\n{answer}"));
            driver.quiet();
        }
        driver.body(&fetch, &format!("event: {name}\n{answer}"));
        driver.done(call).unwrap();
        driver.end(&fetch);
        driver.quiet();
    }
}

/// Notifications of a request come before its answer, in its own stream.
#[test]
fn notifications_come_in_the_stream_of_their_request() {
    let mut driver = Driver::modern(config());
    let call = driver.call_with(Request::call_tool("t", &Json::EMPTY_OBJECT), CallOptions::new().progress());
    let fetch = driver.fetch();
    driver.head(&fetch, 200, EVENTS);
    let progress = json!({"progressToken": 1, "progress": 1});
    driver.body(&fetch, &event(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})));
    assert!(matches!(driver.event(), client::Action::Progress { call: of, .. } if of == call));
    let log = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
    driver.body(&fetch, &event(&log));
    assert!(matches!(driver.event(), client::Action::Notified { subscription: None, .. }));
    // An error in a stream is the answer, too.
    driver.body(&fetch, &event(&error(&fetch.rpc_id(), -32603, Value::Null)));
    assert!(matches!(driver.done(call), Err(CallError::Remote(error)) if error.code.0 == -32603));
    driver.end(&fetch);
    driver.quiet();
}

/// M-HTTP-16, M-HTTP-10: what belongs to another request does not count, and no request of a modern server is answered.
#[test]
fn m_http_10_16_a_modern_exchange_is_about_its_own_request_only() {
    let mut driver = Driver::modern(config().capabilities(ClientCapabilities::new().with_form()));
    let options = || CallOptions::new().progress();
    let first = driver.call_with(Request::call_tool("a", &Json::EMPTY_OBJECT), options());
    let a = driver.fetch();
    let second = driver.call_with(Request::call_tool("b", &Json::EMPTY_OBJECT), options());
    let b = driver.fetch();
    driver.head(&a, 200, EVENTS);
    driver.body(&a, &event(&result(&b.rpc_id(), complete())));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.body(&a, &event(&error(&b.rpc_id(), -1, Value::Null)));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    let progress = json!({"progressToken": 2, "progress": 1});
    driver.body(&a, &event(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.body(&a, &event(&json!({"jsonrpc": "2.0", "id": 7, "method": "roots/list"})));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.body(&a, &event(&json!([result(&a.rpc_id(), complete())])));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::InvalidFrame);
    driver.quiet();
    // The stream ends without the answer: that is the end of one call, and of no other.
    driver.end(&a);
    assert_eq!(driver.failed(first), ExchangeError::Ended);
    driver.answer(&b, complete());
    driver.done(second).unwrap();
    driver.quiet();
}

/// A JSON body, in pieces, with white space, up to the bound.
#[test]
fn json_bodies_are_read_in_pieces_and_bounded() {
    let mut limits = crate::limits::Limits::default();
    limits.frame_bytes = 200;
    let mut driver = Driver::modern(config().limits(limits));
    driver.cut = 1;
    let (call, fetch) = driver.tool("t");
    let text = format!("\n  {}\n", serde_json::to_string_pretty(&result(&fetch.rpc_id(), complete())).unwrap());
    driver.respond(&fetch, 200, &[("Content-Type", "Application/JSON; charset=utf-8")], &text);
    driver.done(call).unwrap();
    driver.quiet();
    driver.cut = 64;
    for (headers, body) in [
        (JSON, "x".repeat(201)),
        (&[("content-type", "application/json"), ("content-length", "201")][..], String::new()),
        (EVENTS, format!("data: {}", "x".repeat(201))),
        (EVENTS, format!(":{}\n\ndata: x\ndata: {}", "x".repeat(400), "x".repeat(199))),
    ] {
        let (call, fetch) = driver.tool("t");
        driver.head(&fetch, 200, headers);
        driver.body(&fetch, &body);
        assert_eq!(driver.failed(call), ExchangeError::TooLong { limit: 200 });
        assert_eq!(std::mem::take(&mut driver.aborted), [fetch.id]);
        driver.end(&fetch);
        driver.quiet();
    }
    // The body of a refusal is bounded, too.
    let (call, fetch) = driver.tool("t");
    driver.head(&fetch, 500, NONE);
    driver.body(&fetch, &"x".repeat(1_000));
    assert_eq!(driver.failed(call), ExchangeError::Status { status: 500 });
    driver.aborted.clear();
    driver.quiet();
}

/// Every way in which an answer can be none ends the call once, typed.
#[test]
fn answers_that_are_none_end_the_call() {
    type Step = fn(&mut Driver, &Fetch);
    let steps: [(Step, ExchangeError); 15] = [
        (|d, f| d.respond(f, 200, JSON, ""), ExchangeError::Ended),
        (|d, f| d.respond(f, 200, JSON, "{"), ExchangeError::Malformed),
        (|d, f| d.respond(f, 200, JSON, r#"{"jsonrpc":"2.0","method":"a"}"#), ExchangeError::Ended),
        (|d, f| d.respond(f, 200, JSON, r#"{"jsonrpc":"2.0","id":99,"result":{}}"#), ExchangeError::Ended),
        (|d, f| d.respond(f, 200, EVENTS, ""), ExchangeError::Ended),
        (|d, f| d.respond(f, 200, EVENTS, "id: 1\ndata:\n\n"), ExchangeError::Ended),
        (|d, f| d.respond(f, 202, NONE, ""), ExchangeError::Ended),
        (|d, f| d.respond(f, 200, &[("content-type", "text/html")], "<p>"), ExchangeError::ContentType { status: 200 }),
        (|d, f| d.respond(f, 302, &[("location", "https://evil")], ""), ExchangeError::Redirected { status: 302 }),
        (|d, f| d.respond(f, 500, NONE, "x"), ExchangeError::Status { status: 500 }),
        (|d, f| d.respond(f, 404, JSON, "[]"), ExchangeError::Status { status: 404 }),
        (|d, f| d.respond(f, 413, NONE, ""), ExchangeError::Status { status: 413 }),
        (|d, f| d.broken(f), ExchangeError::Broken("reset".into())),
        (
            |d, f| {
                d.head(f, 200, JSON);
                d.body(f, "{");
                d.broken(f);
            },
            ExchangeError::Broken("reset".into()),
        ),
        (
            |d, f| {
                d.head(f, 200, EVENTS);
                d.body(f, "data: {");
                d.broken(f);
            },
            ExchangeError::Broken("reset".into()),
        ),
    ];
    for (number, (step, expected)) in steps.into_iter().enumerate() {
        let mut driver = Driver::modern(config());
        let (call, fetch) = driver.tool("t");
        step(&mut driver, &fetch);
        driver.events.retain(|event| matches!(event, client::Action::Done { .. }));
        assert_eq!(driver.failed(call), expected, "{number}");
        driver.aborted.clear();
        // What comes late is nobody's.
        driver.respond(&fetch, 200, JSON, &result(&fetch.rpc_id(), complete()).to_string());
        driver.quiet();
        assert_eq!(driver.client.poll_timeout(), None);
    }
}

/// An error in the body of a refusal is the answer to the request of its exchange, whatever id it has.
#[test]
fn an_error_in_a_refusal_is_the_answer() {
    for (status, id) in [(400, json!(null)), (404, json!("server-error")), (200, json!(null)), (503, json!(1))] {
        let mut driver = Driver::modern(config());
        let (call, fetch) = driver.tool("t");
        driver.respond(&fetch, status, JSON, &error(&id, -32601, Value::Null).to_string());
        assert!(matches!(driver.done(call), Err(CallError::Remote(error)) if error.code.0 == -32601), "{status}");
        driver.quiet();
    }
}

/// M-CANC: to cancel a modern request is to abort its exchange, and nothing is said.
#[test]
fn m_canc_a_modern_request_is_cancelled_by_aborting_it() {
    let mut driver = Driver::modern(config());
    let (call, fetch) = driver.tool("t");
    driver.head(&fetch, 200, EVENTS);
    driver.client.cancel(driver.now, call, Some("no")).unwrap();
    assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);
    assert_eq!(std::mem::take(&mut driver.aborted), [fetch.id]);
    driver.body(&fetch, &event(&result(&fetch.rpc_id(), complete())));
    driver.quiet();
    // So is one that takes too long.
    let (call, fetch) = driver.tool("t");
    assert_eq!(driver.wait(), (seconds(60), TimerKind::CallIdle));
    assert!(matches!(driver.done(call), Err(CallError::TimedOut { .. })));
    assert_eq!(std::mem::take(&mut driver.aborted), [fetch.id]);
    driver.quiet();
}

/// A call that is cancelled before anybody looked is never sent.
#[test]
fn what_is_cancelled_at_once_is_never_sent() {
    for version in [Version::V2026_07_28, Version::V2025_11_25] {
        let mut driver = match version {
            Version::V2026_07_28 => Driver::modern(config()),
            version => Driver::legacy(config(), version),
        };
        let request = Request::call_tool("t", &Json::EMPTY_OBJECT);
        let call = driver.client.call(driver.now, request, CallOptions::new()).unwrap();
        driver.client.cancel(driver.now, call, None).unwrap();
        assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);
        driver.quiet();
    }
}

/// L-HTTP-14, L-HTTP-13: a legacy server is told that a request is cancelled.
#[test]
fn l_http_14_a_legacy_request_is_cancelled_by_a_notification() {
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    let (call, fetch) = driver.tool("t");
    driver.head(&fetch, 200, EVENTS);
    driver.client.cancel(driver.now, call, Some("no")).unwrap();
    assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);
    let told = driver.fetch();
    assert_eq!(
        told.message(),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": fetch.rpc_id(), "reason": "no"}})
    );
    assert_eq!(told.header("mcp-session-id"), Some("s-1"));
    assert_eq!(std::mem::take(&mut driver.aborted), [fetch.id]);
    driver.respond(&told, 202, NONE, "");
    driver.quiet();
}

/// A legacy server asks in the stream of a request; the answer is a POST of its own (L-HTTP-04).
#[test]
fn l_http_04_answers_to_a_legacy_server_are_posts() {
    let mut driver = Driver::legacy(config().capabilities(ClientCapabilities::new().with_form()), Version::V2025_06_18);
    let (call, fetch) = driver.tool("t");
    driver.head(&fetch, 200, EVENTS);
    let ask = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
        "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}});
    driver.body(&fetch, &event(&ask));
    let client::Action::NeedInput(needed) = driver.event() else { panic!("a question") };
    driver.client.supply_input(driver.now, needed.input, &InputAnswer::Elicit(ElicitResult::decline())).unwrap();
    let reply = driver.fetch();
    assert_eq!(reply.message(), json!({"jsonrpc": "2.0", "id": "q", "result": {"action": "decline"}}));
    assert_eq!(reply.header("mcp-session-id"), Some("s-1"));
    assert_eq!(reply.header("accept"), Some("application/json, text/event-stream"));
    driver.respond(&reply, 202, NONE, "");
    driver.body(&fetch, &event(&result(&fetch.rpc_id(), json!({"content": []}))));
    driver.done(call).unwrap();
    // A reply that is not taken is a remark.
    driver.body(&fetch, &event(&json!({"jsonrpc": "2.0", "id": 5, "method": "ping"})));
    driver.end(&fetch);
    driver.quiet();
}

#[test]
fn what_nobody_waits_for_and_is_refused_is_a_remark() {
    let mut driver = Driver::modern(config());
    driver.client.notify(driver.now, "x/y", &Json::EMPTY_OBJECT).unwrap();
    let fetch = driver.fetch();
    assert_eq!(fetch.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(fetch.header("mcp-method"), Some("x/y"));
    driver.respond(&fetch, 400, NONE, "");
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Exchange);
    assert_eq!(std::mem::take(&mut driver.aborted), [fetch.id]);
    driver.quiet();
    // Servers that answer with a body are tolerated.
    for (status, body) in [(200, "{}"), (204, ""), (202, "ok")] {
        driver.client.notify(driver.now, "x/y", &Json::EMPTY_OBJECT).unwrap();
        let fetch = driver.fetch();
        driver.respond(&fetch, status, NONE, body);
        driver.quiet();
    }
}

/// M-SUB: a stream of notifications that breaks is opened again, and one that the server ends is not.
#[test]
fn m_sub_a_listen_stream_is_opened_again() {
    let mut driver = Driver::modern(config());
    let filter = SubscriptionFilter { tools_list_changed: Some(true), ..SubscriptionFilter::default() };
    let call = driver.client.listen(driver.now, &filter, CallOptions::new()).unwrap();
    let open = |driver: &mut Driver| {
        let fetch = driver.fetch();
        assert_eq!(fetch.rpc_method(), "subscriptions/listen");
        driver.head(&fetch, 200, EVENTS);
        let params = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": fetch.rpc_id()},
            "notifications": {"toolsListChanged": true}});
        let acknowledged =
            json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params});
        driver.body(&fetch, &event(&acknowledged));
        assert!(matches!(driver.event(), client::Action::Listening { call: of, .. } if of == call));
        fetch
    };
    let first = open(&mut driver);
    assert_eq!(driver.client.poll_timeout(), None, "an open stream may be silent");
    driver.end(&first);
    driver.quiet();
    assert_eq!(driver.wait(), (millis(100), TimerKind::Backoff));
    let second = open(&mut driver);
    assert_ne!(first.rpc_id(), second.rpc_id());
    assert_eq!(second.header("last-event-id"), None, "M-HTTP-21");
    // A notification of the first stream belongs to nobody.
    let changed = |id: &Value| {
        event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
            "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": id}}}))
    };
    driver.body(&second, &changed(&first.rpc_id()));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.body(&second, &changed(&second.rpc_id()));
    assert!(matches!(driver.event(), client::Action::Notified { subscription: Some(of), .. } if of == call));
    // Attempts that bring nothing come ever more rarely, and not for ever.
    driver.broken(&second);
    let (mut spent, mut waits) = (Duration::ZERO, Vec::new());
    while let Some((at, TimerKind::Backoff)) = driver.client.poll_timeout() {
        let time = driver.now.mono.until(at);
        driver.pass(time);
        waits.push(time);
        spent += time;
        let fetch = driver.fetch();
        driver.respond(&fetch, 503, NONE, "");
    }
    assert_eq!(waits[..4], [millis(100), millis(200), millis(400), millis(800)]);
    assert!(waits.iter().all(|wait| *wait <= seconds(10)));
    assert!(spent <= seconds(300) && spent > seconds(280), "{spent:?}");
    assert_eq!(driver.failed(call), ExchangeError::Status { status: 503 });
    driver.quiet();
    assert_eq!(driver.client.poll_timeout(), None);
}

#[test]
fn a_listen_stream_ends_with_its_result_or_its_cancellation() {
    let mut driver = Driver::modern(config());
    for gracefully in [true, false] {
        let call = driver.client.listen(driver.now, &SubscriptionFilter::default(), CallOptions::new()).unwrap();
        let fetch = driver.fetch();
        driver.head(&fetch, 200, EVENTS);
        let params = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": fetch.rpc_id()}, "notifications": {}});
        let acknowledged =
            json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params});
        driver.body(&fetch, &event(&acknowledged));
        driver.event();
        if gracefully {
            driver.body(&fetch, &event(&result(&fetch.rpc_id(), json!({"resultType": "complete"}))));
            driver.done(call).unwrap();
            driver.end(&fetch);
        } else {
            driver.client.cancel(driver.now, call, None).unwrap();
            assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);
            assert_eq!(std::mem::take(&mut driver.aborted), [fetch.id]);
        }
        driver.quiet();
        assert_eq!(driver.client.poll_timeout(), None);
    }
    // One that never opens is not tried again.
    let call = driver.client.listen(driver.now, &SubscriptionFilter::default(), CallOptions::new()).unwrap();
    let fetch = driver.fetch();
    driver.respond(&fetch, 503, NONE, "");
    assert_eq!(driver.failed(call), ExchangeError::Status { status: 503 });
    driver.quiet();
}

/// The end of the client aborts what is open, and everything ends once.
#[test]
fn close_aborts_what_is_open() {
    let mut driver = Driver::modern(config());
    let (call, fetch) = driver.tool("t");
    driver.client.close(driver.now);
    assert_eq!(driver.done(call).unwrap_err(), CallError::Disconnected);
    assert_eq!(driver.closed(), Closed::Requested);
    assert_eq!(std::mem::take(&mut driver.aborted), [fetch.id]);
    driver.respond(&fetch, 200, JSON, "{}");
    driver.quiet();
    assert_eq!(driver.client.poll_timeout(), None);
    assert!(!driver.client.wants_input());
}

/// What waits to be sent is bounded, and what was sent makes room.
#[test]
fn requests_that_are_not_answered_hold_the_next_ones_back() {
    let mut limits = crate::limits::Limits::default();
    limits.output_bytes = 500;
    let mut driver = Driver::modern(config().limits(limits));
    let arguments = Json::from_text(format!(r#"{{"a":"{}"}}"#, "x".repeat(600))).unwrap();
    let first = driver.call(Request::call_tool("t", &arguments));
    let fetch = driver.fetch();
    let second = driver.call(Request::call_tool("t", &arguments));
    driver.quiet();
    driver.head(&fetch, 200, EVENTS);
    let next = driver.fetch();
    driver.answer(&next, complete());
    driver.done(second).unwrap();
    driver.body(&fetch, &event(&result(&fetch.rpc_id(), complete())));
    driver.done(first).unwrap();
    driver.end(&fetch);
    driver.quiet();
}

/// A server that asks faster than it reads our answers: only so many of them are under way, and it is not heard for
/// ever.
#[test]
fn answers_to_a_server_that_does_not_read_are_bounded() {
    let mut limits = crate::limits::Limits::default();
    limits.output_bytes = 4_000;
    let mut driver = Driver::legacy(config().limits(limits), Version::V2025_11_25);
    let (call, fetch) = driver.tool("t");
    driver.head(&fetch, 200, EVENTS);
    let ping = |id: usize| event(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    for id in 0..100 {
        driver.body(&fetch, &ping(id));
    }
    assert_eq!(driver.fetches.len(), 32);
    // Each one that is taken makes room for the next, in order.
    for id in 0..100 {
        let pong = driver.fetch();
        assert_eq!(pong.rpc_id(), id);
        driver.respond(&pong, if id % 2 == 0 { 202 } else { 500 }, NONE, "");
    }
    driver.events.clear();
    driver.aborted.clear();
    driver.quiet();
    let flood: String = (0..400).map(ping).collect();
    let failed = driver.client.handle(driver.now, Input::Body { fetch: fetch.id, bytes: Bytes::from(flood) });
    assert!(matches!(failed, Err(crate::error::Error::LimitExceeded { .. })));
    assert_eq!(driver.done(call).unwrap_err(), CallError::Disconnected);
    assert!(matches!(driver.closed(), Closed::Failed(_)));
}

/// An answer that nests too deeply to be read ends its call, in a stream as in a body.
#[test]
fn an_answer_that_nests_too_deeply_ends_its_call() {
    for events in [true, false] {
        let mut driver = Driver::modern(config());
        let (call, fetch) = driver.tool("t");
        let deep = format!("{}{}", "[".repeat(70), "]".repeat(70));
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":{deep}}}}}"#, fetch.rpc_id());
        match events {
            true => {
                driver.head(&fetch, 200, EVENTS);
                driver.body(&fetch, &format!("data: {text}\n\n"));
            }
            false => driver.respond(&fetch, 200, JSON, &text),
        }
        assert!(matches!(driver.diagnostic().kind, DiagnosticKind::Limit(_)));
        assert!(matches!(driver.done(call), Err(CallError::InvalidResult { .. })));
        driver.end(&fetch);
        driver.quiet();
    }
}
