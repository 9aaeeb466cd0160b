//! Bytes: cuts, noise, bounds, back-pressure.

use super::*;
use crate::error::Error;
use crate::limits::{Bound, Limits};

const O01: &str = concat!(
    r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[{"type":"text","text":"naïve 日本"}]}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t1","progress":1}}"#,
    "\n",
);

/// An answer that nests too deep ends its call at once, rather than by a time-out.
#[test]
fn answers_that_nest_too_deep_end_their_call() {
    let mut driver = Driver::modern(config());
    let (call, frame) = driver.tool("t");
    let (other, _) = driver.tool("t");
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    driver.feed(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"a\":{deep}}}}}\n", frame["id"]).as_bytes());
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Limit(Bound::JsonDepth));
    let Err(CallError::InvalidResult { problem, .. }) = driver.done(call) else { panic!() };
    assert!(problem.contains("json_depth"), "{problem}");
    driver.quiet();
    driver.client.cancel(driver.now, other, None).unwrap();
}

/// An answer that is no message ends its call too; a request that is none ends nothing, whatever its id.
#[test]
fn malformed_answers_end_their_call() {
    for answer in [
        r#"{"id":ID,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{},"result":{}}"#,
    ] {
        let mut driver = Driver::modern(config());
        let (call, frame) = driver.tool("t");
        let line = |text: &str| text.replace("ID", &frame["id"].to_string()) + "\n";
        driver.feed(line(r#"{"id":ID,"method":"ping"}"#).as_bytes());
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::InvalidFrame);
        driver.quiet();
        driver.feed(line(answer).as_bytes());
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::InvalidFrame);
        assert!(matches!(driver.done(call), Err(CallError::InvalidResult { .. })), "{answer}");
        driver.quiet();
    }
}

/// O01: frames cut anywhere, inside a character too, with writes between.
#[test]
fn o01_frames_cut_anywhere() {
    let bytes = O01.as_bytes();
    let cuts: Vec<Vec<usize>> = vec![vec![], vec![100, 151], (1..bytes.len()).collect(), vec![101], vec![102]];
    for cuts in cuts {
        let mut driver = Driver::modern(config());
        let (call, frame) = driver.tool("t");
        assert_eq!(frame["id"], 2);
        driver.call_with(Request::read_resource("a:b"), CallOptions::new().progress_token("t1"));
        driver.frame();
        let mut last = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            driver.feed(&bytes[last..cut]);
            // A frame goes out between two reads, and is withdrawn again.
            let other = driver.call(Request::read_resource("c:d"));
            driver.client.cancel(driver.now, other, None).unwrap();
            assert_eq!(driver.frame()["method"], "resources/read");
            assert_eq!(driver.frame()["method"], "notifications/cancelled");
            driver.events.retain(|event| !matches!(event, Action::Done { call, .. } if *call == other));
            last = cut;
        }
        let answer = driver.done(call).unwrap();
        let result: crate::model::CallToolResult = answer.parse().unwrap();
        assert_eq!(result.joined_text(), "naïve 日本");
        assert!(matches!(driver.event(), Action::Progress { .. }));
        driver.quiet();
    }
}

/// O02: noise on the server's output gives diagnostics, and never a byte to the server.
#[test]
fn o02_noise_is_reported_and_never_answered() {
    let mut driver = Driver::modern(config());
    let (call, frame) = driver.tool("t");
    let before = driver.bytes;
    driver.feed(b"Listening on stdio, pid 4711\r\n\r\n[debug] tool ran in 3 ms\n{\"status\":200,\"duration\":12}\n");
    driver.feed(format!("{}\r\n", json!({"jsonrpc": "2.0", "id": frame["id"], "result": complete()})).as_bytes());
    for _ in 0..3 {
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::InvalidFrame);
    }
    assert!(driver.done(call).is_ok());
    driver.quiet();
    assert_eq!(driver.bytes, before);
    assert!(driver.client.wants_input());
}

/// M-PAT-02, M-STDIO-06: whatever a modern server sends, no response is written.
#[test]
fn no_response_is_ever_written_to_a_modern_server() {
    let mut driver = Driver::modern(config().capabilities(form()));
    let before = driver.bytes;
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"elicitation/create","params":{"message":"m","requestedSchema":{}}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        "{",
        "\u{1}",
    ] {
        driver.feed(format!("{line}\n").as_bytes());
        assert!(matches!(driver.diagnostic().kind, DiagnosticKind::Ignored | DiagnosticKind::InvalidFrame), "{line}");
    }
    driver.feed(b"\xff\xfe\n");
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::InvalidFrame);
    driver.quiet();
    assert_eq!(driver.bytes, before);
}

/// Bounds on frames: too long and too deep are reported by name; a line without end ends the connection.
#[test]
fn frames_are_bounded() {
    let mut limits = Limits::default();
    limits.frame_bytes = 300;
    limits.json_depth = 8;
    let mut driver = Driver::modern(config().limits(limits));
    let (call, frame) = driver.tool("t");
    driver.feed(format!("\"{}\"\n", "x".repeat(300)).as_bytes());
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Limit(Bound::FrameBytes));
    driver.feed(format!("{}{}\n", "[".repeat(9), "]".repeat(9)).as_bytes());
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Limit(Bound::JsonDepth));
    driver.result(&frame["id"], complete());
    assert!(driver.done(call).is_ok());
    let (call, _) = driver.tool("t");
    let flood = Bytes::from(vec![b'x'; 300 * 16 + 1]);
    let error = driver.client.handle(driver.now, Input::Bytes(flood)).unwrap_err();
    assert!(matches!(error, Error::LimitExceeded { bound: Bound::FrameBytes, .. }));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Limit(Bound::FrameBytes));
    assert_eq!(driver.done(call).unwrap_err(), CallError::Disconnected);
    assert!(matches!(driver.event(), Action::Closed(Closed::Failed(_))));
    driver.quiet();
    // The error is kept, and repeated.
    assert_eq!(driver.client.handle(driver.now, Input::Eof).unwrap_err(), error);
    // Reports of what has left are taken all the same.
    assert_eq!(driver.client.handle(driver.now, Input::Written(1)), Ok(()));
    assert_eq!(driver.client.cancel(driver.now, call, None).unwrap_err(), error);
}

/// A chunk that is one whole line in plain text takes a shorter way, which changes nothing: not the bound, nor what is
/// held from before, nor the rest of a line that is too long.
#[test]
fn whole_plain_lines_are_read_as_any_others() {
    let log = |filler: usize| {
        let params = json!({"level": "info", "data": "x".repeat(filler)});
        format!("{}\n", json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}))
    };
    let mut limits = Limits::default();
    limits.frame_bytes = log(300).len() - 1;
    let mut driver = Driver::modern(config().limits(limits));
    driver.feed(log(300).as_bytes());
    assert!(!matches!(driver.event(), Action::Diagnostic(_)), "as long as the bound");
    driver.quiet();
    driver.feed(log(301).as_bytes());
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Limit(Bound::FrameBytes));
    // A whole line after half of one is the end of that.
    driver.feed(b"{");
    driver.feed(log(1).as_bytes());
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::InvalidFrame);
    driver.feed(&[b'x'; 1_000]);
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Limit(Bound::FrameBytes));
    driver.feed(log(1).as_bytes());
    driver.quiet();
    driver.feed(log(1).as_bytes());
    assert!(!matches!(driver.event(), Action::Diagnostic(_)), "the next line is read");
    driver.quiet();
}

/// End of input ends every call once; a last line without a newline still counts.
#[test]
fn end_of_input_ends_every_call_once() {
    let mut driver = Driver::modern(config());
    let (first, frame) = driver.tool("t");
    let (second, _) = driver.tool("t");
    driver.feed(json!({"jsonrpc": "2.0", "id": frame["id"], "result": complete()}).to_string().as_bytes());
    driver.quiet();
    driver.client.handle(driver.now, Input::Eof).unwrap();
    assert!(driver.done(first).is_ok());
    assert_eq!(driver.done(second).unwrap_err(), CallError::Disconnected);
    assert!(matches!(driver.event(), Action::Closed(Closed::EndOfInput)));
    driver.quiet();
    assert!(!driver.client.wants_input());
}

/// A server that does not read: calls wait in line, reading goes on while one is open, and nothing grows.
#[test]
fn a_full_pipe_holds_calls_back() {
    let mut limits = Limits::default();
    limits.output_bytes = 300;
    let mut driver = Driver::modern(config().limits(limits));
    let mut frames = Vec::new();
    let mut calls = Vec::new();
    for _ in 0..4 {
        calls.push(driver.client.call(driver.now, Request::discover(), CallOptions::new()).unwrap());
    }
    while let Some(action) = driver.client.poll_action() {
        if let Action::Write(frame) = action {
            frames.push(frame);
        }
    }
    assert_eq!(frames.len(), 2, "two frames fill the pipe");
    // A call is open, so its answer must be able to get in.
    assert!(driver.client.wants_input());
    // One that waits was never sent: ending it says nothing to the server.
    driver.client.cancel(driver.now, calls[2], None).unwrap();
    assert_eq!(driver.done(calls[2]).unwrap_err(), CallError::Cancelled);
    driver.quiet();
    driver.client.handle(driver.now, Input::Written(frames.iter().map(Bytes::len).sum())).unwrap();
    assert_eq!(driver.frame()["method"], "server/discover");
    driver.quiet();
    for call in [calls[0], calls[1], calls[3]] {
        driver.client.cancel(driver.now, call, None).unwrap();
    }
    // Nothing is open any more, and notifications fill the pipe up to the bound.
    let mut sent = 0;
    let full = loop {
        match driver.client.notify(driver.now, "x/y", &Json::EMPTY_OBJECT) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
        assert!(sent < 100);
    };
    assert!(matches!(full, Error::LimitExceeded { bound: Bound::OutputBytes, limit: 300 }));
    assert!(!driver.client.wants_input());
}

/// Rule 2: while actions are queued, the machine asks to be woken at once.
#[test]
fn undrained_is_loud() {
    let mut driver = Driver::modern(config());
    assert_eq!(driver.client.poll_timeout(), None);
    driver.client.call(driver.now, Request::discover(), CallOptions::new()).unwrap();
    assert_eq!(driver.client.poll_timeout(), Some((driver.now.mono, TimerKind::Actions)));
    driver.drain();
    assert_eq!(driver.client.poll_timeout(), Some((driver.now.mono.after(seconds(60)), TimerKind::CallIdle)));
}

/// T-39: a batch is read on 2025-03-26 only, and its requests are answered together.
#[test]
fn batches_of_2025_03_26() {
    let mut driver =
        Driver::legacy(config().capabilities(ClientCapabilities::new().with_roots()), Version::V2025_03_26);
    let (call, frame) = driver.tool("t");
    driver.say(json!([
        {"jsonrpc": "2.0", "id": "p", "method": "ping"},
        {"jsonrpc": "2.0", "id": frame["id"], "result": {"content": []}},
        {"jsonrpc": "2.0", "id": 7, "method": "roots/list"},
        {"jsonrpc": "2.0", "id": 8, "method": "no/such"},
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}},
        [],
    ]));
    assert!(driver.done(call).is_ok());
    let needed = driver.ask();
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Refused);
    assert!(matches!(driver.event(), Action::Notified { .. }));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.quiet();
    let roots = crate::model::ListRootsResult::new(Vec::new());
    driver.client.supply_input(driver.now, needed.input, &InputAnswer::Roots(roots)).unwrap();
    assert_eq!(
        driver.frame(),
        json!([
            {"jsonrpc": "2.0", "id": "p", "result": {}},
            {"jsonrpc": "2.0", "id": 8, "error": {"code": -32601, "message": "method not found: no/such"}},
            {"jsonrpc": "2.0", "id": 7, "result": {"roots": []}},
        ])
    );
    driver.quiet();

    // All of it notifications and answers: nothing to say. Empty, and too many: no messages.
    driver.say(json!([{"jsonrpc": "2.0", "method": "notifications/x"}]));
    assert!(matches!(driver.event(), Action::Notified { .. }));
    driver.say(json!([]));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::InvalidFrame);
    driver.say(Value::Array(vec![json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}); 101]));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Limit(Bound::BatchMessages));
    driver.quiet();
    for version in [Version::V2024_11_05, Version::V2025_06_18] {
        let mut driver = Driver::legacy(config(), version);
        driver.say(json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]));
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::InvalidFrame);
        driver.quiet();
    }
}
