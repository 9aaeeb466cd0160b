//! Answers, progress, clocks, cancellation.

use super::*;
use crate::error::{Error, Misuse};
use crate::ids::ProgressToken;

/// O08: progress in the packet of the result, in order; what comes after the end is dropped without a word.
#[test]
fn o08_progress_and_result_in_one_packet() {
    let mut driver = Driver::modern(config());
    let call = driver.call_with(
        Request::call_tool("t", &Json::EMPTY_OBJECT),
        CallOptions::new().progress_token(ProgressToken::from(0)),
    );
    let frame = driver.frame();
    assert_eq!(frame["params"]["_meta"]["progressToken"], 0);
    let progress = |progress: u32| {
        json!({"jsonrpc": "2.0", "method": "notifications/progress",
               "params": {"progressToken": 0, "progress": progress, "total": 2, "message": "m", "x": 1}})
    };
    let answer = json!({"jsonrpc": "2.0", "id": frame["id"], "result": complete()});
    driver.feed(format!("{}\n{}\n{}\n{}\n", progress(1), progress(2), answer, progress(2)).as_bytes());
    for expected in [1.0, 2.0] {
        let Action::Progress { call: of, progress } = driver.event() else { panic!() };
        assert_eq!((of, progress.progress, progress.total), (call, expected, Some(2.0)));
        assert_eq!(progress.message.as_deref(), Some("m"));
        assert_eq!(progress.raw.parse::<Value>().unwrap()["x"], 1);
    }
    assert!(driver.done(call).is_ok());
    driver.quiet();
}

/// M-PROG-01, -02: tokens are unique among open calls, and compared with their type.
#[test]
fn progress_tokens_are_unique() {
    let mut driver = Driver::modern(config());
    let read = || Request::read_resource("a:b");
    let first = driver.call_with(read(), CallOptions::new().progress_token("1"));
    let second = driver.call_with(read(), CallOptions::new().progress());
    let third = driver.call_with(read(), CallOptions::new().progress_token(2));
    let fourth = driver.call_with(read(), CallOptions::new().progress());
    let tokens: Vec<Value> = (0..4).map(|_| driver.frame()["params"]["_meta"]["progressToken"].clone()).collect();
    assert_eq!(tokens, [json!("1"), json!(1), json!(2), json!(3)]);
    let taken = driver.client.call(driver.now, read(), CallOptions::new().progress_token(2));
    assert!(matches!(taken, Err(Error::ApiMisuse(Misuse::Argument(_)))));
    for (token, call) in tokens.iter().zip([first, second, third, fourth]) {
        driver.notify("notifications/progress", json!({"progressToken": token, "progress": 0.5}));
        assert!(matches!(driver.event(), Action::Progress { call: of, .. } if of == call));
    }
    // A token is free again with its call.
    driver.client.cancel(driver.now, third, None).unwrap();
    driver.call_with(read(), CallOptions::new().progress_token(2));
}

/// Progress that does not increase, or is no number, is reported and goes no further.
#[test]
fn progress_must_increase() {
    let mut driver = Driver::modern(config());
    let call = driver.call_with(Request::read_resource("a:b"), CallOptions::new().progress());
    driver.frame();
    for progress in [json!(0), json!(0), json!(-1), json!("2"), json!(null)] {
        driver.notify("notifications/progress", json!({"progressToken": 1, "progress": progress}));
    }
    assert!(matches!(driver.event(), Action::Progress { .. }));
    for _ in 0..4 {
        assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    }
    // Tokens that nobody has are no fault: the call may just have ended.
    driver.notify("notifications/progress", json!({"progressToken": "1", "progress": 5}));
    driver.notify("notifications/progress", json!({"progress": 5}));
    driver.quiet();
    driver.client.cancel(driver.now, call, None).unwrap();
}

/// M-ERR-10, L-LIFE-14: silence ends a call, progress ends a silence, and the hard clock ends it all.
#[test]
fn timeouts_idle_and_hard() {
    let mut driver = Driver::modern(config());
    let options = || CallOptions::new().idle(Some(seconds(10))).hard(Some(seconds(25))).progress();
    let call = driver.call_with(Request::call_tool("t", &Json::EMPTY_OBJECT), options());
    let frame = driver.frame();
    for report in 1..=2 {
        assert_eq!(driver.client.poll_timeout(), Some((driver.now.mono.after(seconds(10)), TimerKind::CallIdle)));
        driver.pass(seconds(9));
        driver.notify("notifications/progress", json!({"progressToken": 1, "progress": report}));
        driver.event();
    }
    assert_eq!(driver.client.poll_timeout(), Some((driver.now.mono.after(seconds(7)), TimerKind::CallHard)));
    driver.pass(seconds(7));
    assert_eq!(driver.done(call).unwrap_err(), CallError::TimedOut { kind: TimeoutKind::Hard });
    assert_eq!(
        driver.frame(),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": frame["id"], "reason": "timed out"}})
    );
    // M-CANC: the answer comes too late, and changes nothing.
    driver.result(&frame["id"], complete());
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.quiet();
    assert_eq!(driver.client.poll_timeout(), None);

    let call = driver.call_with(Request::call_tool("t", &Json::EMPTY_OBJECT), options());
    driver.frame();
    driver.pass(seconds(10));
    assert_eq!(driver.done(call).unwrap_err(), CallError::TimedOut { kind: TimeoutKind::Idle });
    // For ever.
    driver.call_with(Request::read_resource("a:b"), CallOptions::new().idle(None).hard(None));
    assert_eq!(driver.client.poll_timeout(), None);
}

/// Many calls: the next deadline is exact whatever ended, in whatever order.
#[test]
fn deadlines_are_exact() {
    let mut driver = Driver::modern(config());
    let mut open = Vec::new();
    for round in 0_u64..300 {
        let idle = seconds(1 + (round * 7919) % 50);
        let call = driver.call_with(Request::read_resource("a:b"), CallOptions::new().idle(Some(idle)).hard(None));
        let frame = driver.frame();
        open.push((driver.now.mono.after(idle), call, frame["id"].clone()));
        if round % 3 != 0 {
            let (_, call, id) = open.remove(((round * 31) % open.len() as u64) as usize);
            driver.result(&id, json!({"contents": []}));
            assert!(driver.done(call).is_ok());
        }
        let first = open.iter().map(|(at, ..)| *at).min();
        assert_eq!(driver.client.poll_timeout().map(|(at, _)| at), first);
        driver.now.mono = driver.now.mono.after(millis(1));
    }
    driver.pass(seconds(60));
    assert_eq!(driver.events.iter().filter(|event| matches!(event, Action::Done { .. })).count(), open.len());
    assert_eq!(driver.client.poll_timeout(), None);
}

/// M-STDIO-09: cancelling tells the server, with the reason, once; afterwards the call is not open.
#[test]
fn cancelling_a_call() {
    let mut driver = Driver::modern(config());
    let (call, frame) = driver.tool("t");
    driver.client.cancel(driver.now, call, Some("user \"x\"\n")).unwrap();
    assert_eq!(
        driver.frame(),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": frame["id"], "reason": "user \"x\"\n"}})
    );
    assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);
    let again = driver.client.cancel(driver.now, call, None);
    assert_eq!(again, Err(Error::ApiMisuse(Misuse::CallNotOpen)));
    driver.error(&frame["id"], -32603, json!(null));
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Ignored);
    driver.quiet();
}

/// A name is never used twice, though its place is.
#[test]
fn names_of_calls_are_never_used_twice() {
    let mut driver = Driver::modern(config());
    let mut names = std::collections::BTreeSet::new();
    for _ in 0..10 {
        let (call, frame) = driver.tool("t");
        assert!(names.insert(call));
        assert_eq!(CallId::from_u64(call.to_u64()), call);
        driver.result(&frame["id"], complete());
        assert!(driver.done(call).is_ok());
    }
}

/// A duplicate answer is a diagnostic; the call has ended once.
#[test]
fn a_second_answer_is_ignored() {
    let mut driver = Driver::modern(config());
    let (call, frame) = driver.tool("t");
    driver.result(&frame["id"], complete());
    driver.result(&frame["id"], complete());
    assert!(driver.done(call).is_ok());
    let diagnostic = driver.diagnostic();
    assert_eq!(
        (diagnostic.kind, diagnostic.id.and_then(|id| id.as_i64())),
        (DiagnosticKind::Ignored, frame["id"].as_i64())
    );
    driver.quiet();
}

/// Errors of the server come as they are: unknown codes, data, and -32042 with its elicitations.
#[test]
fn errors_are_handed_over_as_they_came() {
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    for (code, data) in [
        (-32002, json!({"uri": "a:b"})),
        (12345, json!([1, 9_007_199_254_740_993_u64])),
        (-32042, json!({"elicitations": [{"mode": "url", "message": "m", "url": "https://e", "elicitationId": "e1"}]})),
        (-32022, json!(null)),
    ] {
        let (call, frame) = driver.tool("t");
        driver.error(&frame["id"], code, data.clone());
        let Err(CallError::Remote(error)) = driver.done(call) else { panic!() };
        assert_eq!(error.code.0, code);
        assert_eq!(error.data.map_or(Value::Null, |data| data.parse().unwrap()), data);
    }
    driver.quiet();
}

/// O20: values from the future reach the caller, and nothing is lost.
#[test]
fn o20_values_from_the_future_survive() {
    let text = r#"{"resultType":"complete","x-vendor":{"n":9007199254740993},"content":[{"type":"text","text":"hi","annotations":{"audience":["system","user"],"priority":0.5},"extra":1},{"type":"hologram","data":"zz"}]}"#;
    let mut driver = Driver::modern(config());
    let (call, frame) = driver.tool("t");
    driver.feed(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{text}}}\n", frame["id"]).as_bytes());
    let answer = driver.done(call).unwrap();
    assert_eq!(answer.json().get(), text);
    assert_eq!((&*answer.result_type(), answer.is_error()), ("complete", false));
    let result: crate::model::CallToolResult = answer.parse().unwrap();
    assert_eq!(result.content.len(), 2);
    assert!(matches!(&result.content[0], crate::model::ContentBlock::Text(text) if text.text == "hi"));
    assert_eq!(Json::from_value(&result).unwrap(), answer.json());
    driver.quiet();
}

/// U-40, M-BASE-11, -12: an unknown result type makes a result invalid, an absent one is complete.
#[test]
fn u40_unknown_result_types_are_invalid() {
    for result in [
        json!({"resultType": "later", "content": []}),
        json!({"resultType": "task", "taskId": "t"}),
        json!({"resultType": 1, "content": []}),
        json!([]),
        json!("complete"),
    ] {
        let mut driver = Driver::modern(config());
        let (call, frame) = driver.tool("t");
        driver.result(&frame["id"], result);
        assert!(matches!(driver.done(call), Err(CallError::InvalidResult { .. })));
        driver.quiet();
    }
    let mut driver = Driver::modern(config().result_type("task"));
    let (call, frame) = driver.tool("t");
    driver.result(&frame["id"], json!({"resultType": "task", "taskId": "t"}));
    assert_eq!(driver.done(call).unwrap().result_type(), "task");
    let (call, frame) = driver.tool("t");
    driver.result(&frame["id"], json!({"content": []}));
    assert_eq!(driver.done(call).unwrap().result_type(), "complete");
    // T-14: the legacy era has no result types.
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    let (call, frame) = driver.tool("t");
    driver.result(&frame["id"], json!({"content": [], "resultType": "input_required"}));
    assert!(driver.done(call).is_ok());
}

/// A frame in which a member stands twice is not trusted.
#[test]
fn a_result_with_a_member_twice_is_invalid() {
    let mut driver = Driver::modern(config());
    let (call, frame) = driver.tool("t");
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"complete","resultType":"input_required","content":[]}}}}"#,
        frame["id"]
    );
    driver.feed(format!("{text}\n").as_bytes());
    assert!(matches!(driver.done(call), Err(CallError::InvalidResult { .. })));
}

/// Custom notifications and their bounds.
#[test]
fn notifications_to_the_server() {
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    driver.client.notify(driver.now, "x/changed", &raw(json!({"a": 1}))).unwrap();
    assert_eq!(driver.frame(), json!({"jsonrpc": "2.0", "method": "x/changed", "params": {"a": 1}}));
    for method in ["notifications/cancelled", "notifications/progress", "notifications/initialized", "ping"] {
        assert!(driver.client.notify(driver.now, method, &Json::EMPTY_OBJECT).is_err());
    }
    assert!(driver.client.notify(driver.now, "x/changed", &raw(json!([]))).is_err());
    let mut idle = Driver::new(config());
    assert!(matches!(
        idle.client.notify(idle.now, "x/changed", &Json::EMPTY_OBJECT),
        Err(Error::ApiMisuse(Misuse::WrongState(_)))
    ));
    driver.quiet();
}
