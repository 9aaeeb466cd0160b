//! Modern requests: headers against bodies, answers, streams, listening.

use super::*;
use crate::limits::Limits;
use crate::machine::TimerKind;
use crate::model::{ElicitParams, InputRequest, ReadResourceResult};
use crate::server::InputRequired;
use crate::server::request_state::SealKeys;
use crate::spec::Version;

fn modern_only() -> Definition {
    builder().versions(&[Version::V2026_07_28]).build().unwrap()
}

/// M-HTTP-13: a request that is answered at once is one JSON object.
#[test]
fn m_http_13_a_quick_answer_is_json() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default());
        let answer = rig.modern(&modern(7, "tools/list", json!({})));
        assert_eq!(rig.answered(answer), 7);
        assert_eq!(rig.status(answer), 200);
        assert!(!rig.answers[answer].headers.contains_key("mcp-session-id"));
        let answer = rig.modern(&modern("x", "tools/call", json!({"name": "slow"})));
        assert_eq!(rig.status(answer), 0);
        let (who, invocation) = rig.invoked();
        rig.reply(who, invocation.slot, text("hi"));
        assert_eq!(rig.json(answer)["result"]["content"][0]["text"], "hi");
        assert!(rig.exchanges.iter().all(Exchange::is_over));
    });
}

/// M-HTTP-15, M-HTTP-17, M-HTTP-18, U-16: what is said before the answer makes a stream, which the answer ends.
#[test]
fn u16_m_http_15_17_18_a_notification_makes_a_stream() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default());
        let params = json!({"name": "slow", "_meta": {"progressToken": 5}});
        let answer = rig.modern(&modern(1, "tools/call", params));
        let (who, invocation) = rig.invoked();
        assert_eq!(rig.progress(who, invocation.slot.id(), 1.0), Sent::Yes);
        assert_eq!(rig.progress(who, invocation.slot.id(), 1.0), Sent::NotWanted);
        assert!(!rig.answers[answer].done);
        rig.reply(who, invocation.slot, text("hi"));
        let events = rig.events(answer);
        assert_eq!(events.len(), 2);
        assert_eq!(events[0].1["params"]["progressToken"], 5);
        assert_eq!(events[1].1["id"], 1);
        assert!(events.iter().all(|(id, _)| id.is_none()), "M-HTTP-21: nothing to resume");
        assert!(rig.answers[answer].done);
    });
}

/// A long answer goes out in pieces, and arrives whole.
#[test]
fn long_events_are_not_copied() {
    let mut rig = Rig::new(definition(), Options::default());
    let answer = rig.modern(&modern(1, "tools/call", json!({"name": "slow", "_meta": {"progressToken": 5}})));
    let (who, invocation) = rig.invoked();
    let _ = rig.progress(who, invocation.slot.id(), 1.0);
    let long = "x".repeat(100_000);
    rig.reply(who, invocation.slot, text(&long));
    assert_eq!(rig.messages(answer)[1]["result"]["content"][0]["text"], long);
}

/// An answer that takes long becomes a stream with signs of life.
#[test]
fn a_slow_answer_becomes_a_stream() {
    let mut rig = Rig::new(definition(), Options::default());
    let answer = rig.modern(&modern(1, "tools/call", json!({"name": "slow"})));
    let due = rig.now.mono.after(Duration::from_secs(15));
    assert_eq!(rig.exchanges[0].poll_timeout(), Some((due, TimerKind::KeepAlive)));
    rig.advance(Duration::from_millis(14_999));
    assert_eq!(rig.status(answer), 0);
    rig.advance(Duration::from_millis(1));
    assert_eq!(rig.answers[answer].body, b":\n\n");
    rig.advance(Duration::from_secs(15));
    assert_eq!(rig.answers[answer].body, b":\n\n:\n\n");
    let (who, invocation) = rig.invoked();
    rig.reply(who, invocation.slot, text("hi"));
    assert_eq!(rig.messages(answer)[0]["id"], 1);
    let mut rig = Rig::new(definition(), Options::default().keep_alive(None));
    rig.modern(&modern(1, "tools/call", json!({"name": "slow"})));
    assert_eq!(rig.exchanges[0].poll_timeout(), None);
}

/// M-CANC-04, M-CANC-17, M-CANC-18, M-HTTP-23, U-13: a client that goes away has cancelled.
#[test]
fn u13_m_canc_04_17_18_m_http_23_disconnecting_cancels() {
    let mut rig = Rig::new(definition(), Options::default());
    let answer = rig.modern(&modern(1, "tools/call", json!({"name": "slow", "_meta": {"progressToken": 5}})));
    let (who, invocation) = rig.invoked();
    let _ = rig.progress(who, invocation.slot.id(), 1.0);
    rig.disconnect(answer);
    assert_eq!(rig.cancelled, [(who, invocation.slot.id(), None)]);
    let length = rig.answers[answer].body.len();
    assert!(!rig.exchanges[0].is_over(), "the handler runs");
    assert_eq!(rig.progress(who, invocation.slot.id(), 2.0), Sent::NotWanted);
    rig.reply(who, invocation.slot, text("late"));
    assert_eq!(rig.answers[answer].body.len(), length, "nothing more is sent");
    assert!(rig.exchanges[0].is_over());
    // Another client is served.
    let answer = rig.modern(&modern(1, "tools/list", json!({})));
    assert_eq!(rig.status(answer), 200);
}

/// O05: an id is a string or an integer.
#[test]
fn o05_null_and_fractional_ids_are_refused() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default());
        for id in [json!(null), json!(1.5)] {
            let answer = rig.modern(&modern(id, "tools/list", json!({})));
            assert_eq!(rig.refusal(answer), (400, -32600, Value::Null));
            assert!(rig.json(answer).get("id").is_none());
        }
        assert!(rig.invocations.is_empty());
    });
}

/// O12, M-HDR-17, M-ENC-04, M-ENC-05, M-ENC-07: encoded names are decoded before they are compared.
#[test]
fn o12_m_hdr_17_encoded_names() {
    let resource = "file:///data/文件.txt";
    let mut rig = Rig::new(definition(), Options::default());
    let body = modern(2, "resources/read", json!({"uri": resource}));
    let sentinel = "=?base64?ZmlsZTovLy9kYXRhL+aWh+S7ti50eHQ=?=";
    assert_eq!(crate::http::head::value::encode(resource), sentinel);
    let answer = rig.modern_with(&body, &[("mcp-name", sentinel)]);
    let (who, invocation) = rig.invoked();
    rig.reply(who, invocation.slot, Reply::Resource(ReadResourceResult::text(resource, "text/plain", "x")));
    assert_eq!(rig.status(answer), 200);
    for wrong in [
        "=?base64?%%%?=",
        "=?BASE64?ZmlsZTovLy9kYXRhL+aWh+S7ti50eHQ=?=",
        "-",
        "file:///data/other.txt",
        "file:///data/文件.txt",
    ] {
        let answer = rig.modern_with(&body, &[("Mcp-Name", wrong)]);
        assert_eq!(rig.refusal(answer), (400, -32020, json!(2)), "{wrong}");
    }
    let prompt = modern(3, "prompts/get", json!({"name": "=?base64?literal?="}));
    let answer = rig.modern_with(&prompt, &[("mcp-name", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=")]);
    assert_eq!(rig.status(answer), 0, "it is led to its handler");
    let answer = rig.modern_with(&prompt, &[("mcp-name", "=?base64?literal?=")]);
    assert_eq!(rig.refusal(answer), (400, -32020, json!(3)));
}

/// O19, M-HDR-05: which error it is, with which status.
#[test]
fn o19_m_hdr_05_which_error_it_is() {
    whole_and_split(|rig| {
        let mut rig = rig(modern_only(), Options::default());
        let answer = rig.modern(&modern(31, "tools/frobnicate", json!({})));
        assert_eq!(rig.refusal(answer), (404, -32601, json!(31)));
        let answer = rig.modern(&modern(32, "tools/call", json!({"name": "nope", "arguments": {}})));
        assert_eq!(rig.refusal(answer).1, -32602);
        let answer = rig.modern(&modern(33, "tools/call", json!({"name": "add", "arguments": [1]})));
        assert_eq!(rig.refusal(answer).1, -32602);
        let answer = rig.modern(&modern(34, "tools/call", json!({"name": "add", "arguments": {"a": "x"}})));
        let result = rig.json(answer);
        assert_eq!((&result["id"], &result["result"]["isError"]), (&json!(34), &json!(true)));
        assert!(result["result"]["content"][0]["text"].as_str().unwrap().contains('a'));
        let answer = rig.modern(&request(35, "tools/list", json!({})));
        assert_eq!(rig.refusal(answer), (400, -32602, json!(35)));
        assert!(rig.invocations.is_empty());
    });
}

/// M-HDR-05, T-15: methods of the legacy era are gone, `initialize` too.
#[test]
fn m_hdr_05_legacy_methods_are_not_found() {
    for offered in [modern_only(), definition()] {
        let mut rig = Rig::new(offered, Options::default());
        for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "x/y"]
        {
            let answer = rig.modern(&modern(500, method, json!({})));
            assert_eq!(rig.refusal(answer), (404, -32601, json!(500)), "{method}");
        }
        // The header alone says which era is meant.
        let answer = rig.modern(&request(1, "initialize", json!({})));
        assert_eq!(rig.refusal(answer), (404, -32601, json!(1)));
    }
    let mut rig = Rig::new(modern_only(), Options::default());
    let answer = rig.legacy(None, &initialize("2025-11-25", json!({})));
    assert_eq!(rig.refusal(answer), (400, -32022, json!("init")));
    assert!(rig.json(answer)["error"]["message"].as_str().unwrap().contains(MODERN));
}

/// M-META-11, M-HDR-03, M-HDR-04, M-ERR-11, M-ERR-13: the envelope first, then the header, then what is offered.
#[test]
fn m_meta_11_m_hdr_03_04_the_revision_is_judged_in_order() {
    let mut rig = Rig::new(definition(), Options::default());
    let mut body = modern(1, "server/discover", json!({}));
    let meta = "io.modelcontextprotocol/";
    for missing in ["protocolVersion", "clientCapabilities"] {
        let mut body = body.clone();
        body["params"]["_meta"].as_object_mut().unwrap().remove(&format!("{meta}{missing}"));
        let answer = rig.modern(&body);
        assert_eq!(rig.refusal(answer), (400, -32602, json!(1)), "{missing}");
    }
    let answer = rig.modern_with(&body, &[("mcp-protocol-version", "2025-11-25")]);
    assert_eq!(rig.refusal(answer), (400, -32020, json!(1)));
    let answer = rig.modern_with(&body, &[("mcp-protocol-version", "-")]);
    assert_eq!(rig.refusal(answer), (400, -32020, json!(1)), "M-HDR-07, M-HDR-15");
    body["params"]["_meta"][format!("{meta}protocolVersion")] = json!("v999.0.0");
    let answer = rig.modern_with(&body, &[("mcp-protocol-version", MODERN)]);
    assert_eq!(rig.refusal(answer), (400, -32020, json!(1)), "a contradiction wins");
    let answer = rig.modern(&body);
    assert_eq!(rig.refusal(answer), (400, -32022, json!(1)));
    let data = rig.json(answer)["error"]["data"].clone();
    assert_eq!(data["requested"], "v999.0.0");
    assert!(data["supported"].as_array().unwrap().contains(&json!(MODERN)));
}

/// M-HDR-12 … M-HDR-16, M-HDR-19, M-HDR-22: the headers that repeat the body.
#[test]
fn m_hdr_12_to_16_19_22_headers_repeat_the_body() {
    let mut rig = Rig::new(definition(), Options::default());
    let list = modern(1, "tools/list", json!({}));
    let call = modern(1, "tools/call", json!({"name": "slow"}));
    for (body, header, value) in [
        (&list, "mcp-method", "prompts/list"),
        (&list, "mcp-method", "-"),
        (&list, "mcp-method", "TOOLS/LIST"),
        (&list, "mcp-method", "=?base64?dG9vbHMvbGlzdA==?="),
        (&call, "mcp-name", "wrong"),
        (&call, "mcp-name", "-"),
        (&call, "mcp-name", "sl\u{f6}w"),
    ] {
        let answer = rig.modern_with(body, &[(header, value)]);
        assert_eq!(rig.refusal(answer), (400, -32020, json!(1)), "{header}: {value}");
    }
    let answer = rig.modern_with(&list, &[("Mcp-Method", "tools/list"), ("mcp-method", "tools/list")]);
    assert_eq!(rig.refusal(answer), (400, -32020, json!(1)), "twice is not once");
    assert!(rig.invocations.is_empty());
    for (header, value) in [("mcp-name", "  slow  "), ("MCP-NAME", "slow"), ("mCp-nAmE", "=?base64?c2xvdw==?=")] {
        rig.modern_with(&call, &[(header, value)]);
        assert_eq!(rig.invocations.len(), 1, "{header}: {value:?}");
        rig.invocations.clear();
    }
    // A name where none is needed is somebody else's.
    let answer = rig.modern_with(&list, &[("mcp-name", "anything")]);
    assert_eq!(rig.status(answer), 200);
}

/// U-07, U-08, M-XMH-19 … M-XMH-21, M-XMH-25, M-XMH-26, M-HDR-18: arguments that travel as headers too.
#[test]
fn u07_u08_m_xmh_19_to_26_mirrored_arguments() {
    let mut rig = Rig::new(definition(), Options::default());
    for (arguments, headers, served) in [
        (json!({"region": null}), vec![], true),
        (json!({}), vec![], true),
        (json!({}), vec![("Mcp-Param-Region", "eu")], false),
        (json!({"region": "eu"}), vec![("Mcp-Param-Region", "eu")], true),
        (json!({"region": "eu"}), vec![("mcp-param-REGION", "  eu ")], true),
        (json!({"region": "eu"}), vec![("Mcp-Param-Region", "us")], false),
        (json!({"region": "eu"}), vec![], false),
        (json!({"region": "eu"}), vec![("Mcp-Param-Region", "eu"), ("mcp-param-region", "eu")], false),
        (json!({"region": "Hello"}), vec![("Mcp-Param-Region", "=?base64?SGVsbG8=?=")], true),
        (json!({"region": "Hello"}), vec![("Mcp-Param-Region", "=?base64?SGVsbG8?=")], false),
        (json!({"region": "Hello"}), vec![("Mcp-Param-Region", "=?base64?SGVs!!!bG8=?=")], false),
        (json!({"region": "SGVsbG8="}), vec![("Mcp-Param-Region", "SGVsbG8=")], true),
        (json!({"region": "=?base64?SGVsbG8="}), vec![("Mcp-Param-Region", "=?base64?SGVsbG8=")], true),
        (json!({"region": "\u{7}"}), vec![("Mcp-Param-Region", "\u{7}")], false),
        (json!({"n": 42}), vec![("Mcp-Param-N", "42.0")], true),
        (json!({"n": 42}), vec![("Mcp-Param-N", "43")], false),
        (json!({"n": 42}), vec![("Mcp-Param-N", "4e1x")], false),
        (json!({}), vec![("Mcp-Param-Other", "x")], true),
    ] {
        let body = modern(9, "tools/call", json!({"name": "mirrored", "arguments": arguments}));
        let answer = rig.modern_with(&body, &headers);
        if served {
            assert_eq!(rig.status(answer), 0, "{arguments} {headers:?}");
            rig.invoked();
        } else {
            assert_eq!(rig.refusal(answer), (400, -32020, json!(9)), "{arguments} {headers:?}");
        }
    }
    // An argument of another type breaks the schema, and nothing can mirror it.
    let body = modern(9, "tools/call", json!({"name": "mirrored", "arguments": {"n": "x"}}));
    let answer = rig.modern(&body);
    assert_eq!(rig.json(answer)["result"]["isError"], true);
}

/// U-01, M-HTTP-11, M-HTTP-12: notifications.
#[test]
fn u01_m_http_11_12_notifications() {
    whole_and_split(|rig| {
        let mut rig = rig(builder().notification("x/custom").build().unwrap(), Options::default());
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}});
        let answer = rig.modern(&cancelled);
        assert_eq!(rig.status(answer), 202);
        assert!(rig.answers[answer].body.is_empty() && rig.answers[answer].done);
        let answer = rig.modern(&json!({"jsonrpc": "2.0", "method": 7}));
        assert_eq!(rig.refusal(answer), (400, -32600, Value::Null));
        let answer = rig.modern_with(&json!({"jsonrpc": "2.0", "method": "x/custom"}), &[("mcp-method", "-")]);
        assert_eq!(rig.status(answer), 202, "M-HDR-22: no header is needed");
        assert_eq!(rig.others.len(), 1, "{:?}", rig.others);
        // L-PVH-04: of which revision they are is said by the header alone.
        let answer = rig.modern_with(&cancelled, &[("mcp-protocol-version", "2199-01-01")]);
        assert_eq!(rig.refusal(answer), (400, -32022, Value::Null));
        let answer = rig.modern_with(&cancelled, &[("mcp-protocol-version", "-")]);
        assert_eq!(rig.refusal(answer), (400, -32020, Value::Null));
        let answer = rig.modern(&json!({"jsonrpc": "2.0", "method": "x/custom", "params": [1]}));
        assert_eq!(rig.refusal(answer), (400, -32602, Value::Null));
        assert_eq!(rig.others.len(), 1, "{:?}", rig.others);
    });
}

/// U-02: no batches; and no responses.
#[test]
fn u02_no_batches_and_no_responses() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default());
        for body in [
            json!([modern(1, "tools/call", json!({"name": "slow"}))]),
            json!([]),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}),
        ] {
            let answer = rig.modern(&body);
            assert_eq!(rig.refusal(answer), (400, -32600, Value::Null), "{body}");
        }
        for garbage in [&b""[..], b"{", b"\xff"] {
            let headers = [("host", "localhost"), ("content-type", "application/json")];
            let answer = rig.send("POST", &headers, garbage);
            assert_eq!(rig.refusal(answer), (400, -32700, Value::Null));
        }
        assert!(rig.invocations.is_empty());
    });
}

/// U-10, U-11, M-HCOMP-04 … M-HCOMP-06: a modern-only server knows no sessions.
#[test]
fn u10_u11_m_hcomp_04_05_06_no_sessions() {
    let mut rig = Rig::new(modern_only(), Options::default());
    for answer in [rig.get(None, &[]), rig.delete(Some("x"))] {
        assert_eq!(rig.status(answer), 405);
        assert_eq!(rig.answers[answer].headers["allow"], "POST");
    }
    let more = [("mcp-session-id", "abc"), ("last-event-id", "17")];
    let answer = rig.modern_with(&modern(1, "tools/list", json!({})), &more);
    assert_eq!(rig.answered(answer), 1);
    assert!(!rig.answers[answer].headers.contains_key("mcp-session-id"));
    // Nor does a modern request that meets a server of both eras.
    let mut rig = Rig::new(definition(), Options::default());
    let answer = rig.modern_with(&modern(1, "tools/list", json!({})), &more);
    assert_eq!(rig.answered(answer), 1);
}

/// M-ERR-12, M-META-14: a handler that needs a capability.
#[test]
fn m_err_12_m_meta_14_missing_capabilities_are_400() {
    let mut rig = Rig::new(definition(), Options::default());
    let answer = rig.modern(&modern(1, "tools/call", json!({"name": "slow"})));
    let (who, invocation) = rig.invoked();
    let needed = crate::model::ClientCapabilities::new().with_sampling();
    let error = invocation.context.require_capabilities(&needed).unwrap_err();
    rig.reply(who, invocation.slot, Reply::Error(error));
    assert_eq!(rig.refusal(answer), (400, -32021, json!(1)));
    assert!(rig.json(answer)["error"]["data"]["requiredCapabilities"]["sampling"].is_object());
}

/// M-SUB-04, M-SUB-06, M-HTTP-16, M-HTTP-19: listening.
#[test]
fn m_sub_04_m_http_19_listening() {
    whole_and_split(|rig| {
        let mut rig = rig(definition(), Options::default());
        let filter = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["file:///x"]}});
        let answer = rig.modern(&modern(4, "subscriptions/listen", filter));
        let first = rig.messages(answer);
        assert_eq!(first.len(), 1);
        assert_eq!(first[0]["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(first[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 4);
        rig.publish(&Event::PromptsListChanged);
        rig.publish(&Event::ToolsListChanged);
        rig.publish(&Event::ResourceUpdated { uri: "file:///y".into() });
        rig.publish(&Event::ResourceUpdated { uri: "file:///x".into() });
        let heard = rig.messages(answer);
        assert_eq!(heard.len(), 2);
        assert_eq!(heard[0]["method"], "notifications/tools/list_changed");
        assert_eq!(heard[1]["params"]["uri"], "file:///x");
        let before = rig.answers[answer].body.len();
        rig.advance(Duration::from_secs(15));
        assert_eq!(&rig.answers[answer].body[before..], b":\n\n");
        // The server ends: a result and the end of the stream, no request of ours, no cancellation.
        rig.exchanges[0].shutdown(rig.now);
        rig.drain(Who::Exchange(0));
        let last = rig.messages(answer);
        assert_eq!(last.len(), 1);
        assert_eq!((&last[0]["id"], &last[0]["result"]["resultType"]), (&json!(4), &json!("complete")));
        assert!(rig.answers[answer].done && rig.exchanges[0].is_over());
        assert_eq!(rig.endpoint.all_listeners().count(), 0);
    });
}

/// Listen streams are bounded, in all and for each principal.
#[test]
fn listen_streams_are_bounded() {
    let limits = Limits { listens: Some(3), listens_per_principal: Some(2), ..Limits::server() };
    let mut rig = Rig::new(builder().limits(limits).build().unwrap(), Options::default());
    let listen = |rig: &mut Rig, principal| {
        rig.principal = principal;
        let answer = rig.modern(&modern(1, "subscriptions/listen", json!({"notifications": {}})));
        (answer, rig.status(answer))
    };
    let (first, status) = listen(&mut rig, Some("kim"));
    assert_eq!((status, listen(&mut rig, Some("kim")).1, listen(&mut rig, Some("kim")).1), (200, 200, 503));
    assert_eq!((listen(&mut rig, None).1, listen(&mut rig, Some("lee")).1), (200, 503));
    rig.disconnect(first);
    let (answer, status) = listen(&mut rig, Some("kim"));
    assert_eq!(status, 200);
    assert!(rig.cancelled.is_empty(), "no handler runs");
    let refused = listen(&mut rig, Some("lee")).0;
    assert_eq!(rig.refusal(refused), (503, -32600, json!(1)));
    assert!(!rig.answers[answer].done);
}

/// A listener that does not read loses its stream, and nobody else does.
#[test]
fn slow_listeners_are_cut() {
    let limits = Limits { output_bytes: 1_000, ..Limits::server() };
    let mut rig = Rig::new(builder().limits(limits).build().unwrap(), Options::default());
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let quick = rig.modern(&modern(1, "subscriptions/listen", filter.clone()));
    let slow = rig.modern(&modern(2, "subscriptions/listen", filter));
    for _ in 0..50 {
        rig.publish_read(&Event::ToolsListChanged, &[0]);
    }
    assert_eq!(rig.messages(quick).len(), 51);
    assert!(rig.answers[slow].done && !rig.answers[quick].done);
    assert_eq!(rig.endpoint.all_listeners().count(), 1);
    assert!(rig.messages(slow).len() < 20);
}

/// M-MRTR-01: questions are answers, and their state opens in another exchange.
#[test]
fn m_mrtr_01_questions_travel_in_results() {
    let definition = builder().seal(SealKeys::new([9; 32])).build().unwrap();
    let mut rig = Rig::new(definition, Options::default().json_answers());
    let params = json!({"name": "slow", "arguments": {}});
    let body = with_capabilities(1, "tools/call", params, json!({"elicitation": {}}));
    let answer = rig.modern(&body);
    let (who, invocation) = rig.invoked();
    assert!(invocation.context.can_ask());
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let form = ElicitParams::form("Who?", schema);
    let asked = InputRequired {
        requests: vec![("who".to_owned(), InputRequest::from(form))],
        state: Some("s".to_owned()),
        memo: None,
        ..InputRequired::default()
    };
    rig.reply(who, invocation.slot, Reply::InputRequired(asked));
    let result = rig.json(answer)["result"].clone();
    assert_eq!(result["resultType"], "input_required");
    let params = json!({"name": "slow", "arguments": {}, "requestState": result["requestState"],
        "inputResponses": {"who": {"action": "accept", "content": {"name": "Kim"}}}});
    rig.modern(&with_capabilities(2, "tools/call", params.clone(), json!({"elicitation": {}})));
    let (_, invocation) = rig.invoked();
    assert_eq!(invocation.context.state(), Some("s"));
    assert!(invocation.context.input("who").is_some());
    // The state is bound to whoever asked.
    rig.principal = Some("somebody");
    let answer = rig.modern(&with_capabilities(3, "tools/call", params, json!({"elicitation": {}})));
    assert_eq!(rig.refusal(answer).1, -32602);
}

/// The context tells who asks, and what the front gave along.
#[test]
fn principals_and_data_reach_the_handler() {
    let service = Service::new(Arc::new(definition()), Options::default());
    let mut head = Head::new("POST", "/mcp").principal("kim".into()).data(Arc::new(vec![1_u8, 2]));
    for (name, value) in [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", "slow"),
    ] {
        head.header(name, value.as_bytes());
    }
    let Judged::Post(mut intake) = service.judge(head) else { panic!("a good head") };
    intake.push(modern(1, "tools/call", json!({"name": "slow"})).to_string().into()).unwrap();
    let now = Now::default();
    let Routed::Exchange(mut exchange) = intake.finish(&service, now, Seed([1; 32])) else { panic!("a good body") };
    let Some(Action::Invoke(invocation)) = exchange.poll_action() else { panic!("a tool runs") };
    assert_eq!(invocation.context.principal(), Some("kim"));
    assert_eq!(invocation.context.data::<Vec<u8>>(), Some(&vec![1, 2]));
    assert_eq!(invocation.context.data::<String>(), None);
}
