//! Statements about clients that no scenario of the official suite tests and that need HTTP, under the ids `U-..` of the
//! project's collection. Machines are fed with heads and bytes, however they are cut; no test has a socket. Those of
//! OAuth come with it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use mcp_sansio::client::{Action, CallError, Closed, ConnectError, List, Request};
use mcp_sansio::diagnostic::DiagnosticKind;
use mcp_sansio::json::Json;
use mcp_sansio::model::ClientCapabilities;
use mcp_sansio::spec::Version;
use mcp_sansio_tests::guest::{EVENTS, Guest, JSON, config, event, header, message};
use serde_json::{Value, json};

/// U-44: events in every spelling are one answer; comments mean nothing, and nobody comes back. M-HTTP-14, M-HTTP-20,
/// M-HTTP-21
#[test]
fn u44_events_in_every_spelling() {
    let text = |id: &Value| {
        format!(
            "\u{feff}:keep-alive\r\n\r\nevent: message\r\nid: 5\r\nretry: 10\r\ndata: {{\"jsonrpc\":\"2.0\",\r\n\
             data: \"id\":{id},\"result\":{{\"resultType\":\"complete\",\"content\":[]}}}}\r\n\r\n"
        )
    };
    // Cut at each place in turn, and everywhere.
    for place in 0..text(&json!(2)).len() {
        let mut guest = Guest::modern(config());
        let (call, fetch) = guest.tool("t", json!({}));
        let whole = text(&message(&fetch)["id"]);
        guest.cut = if place == 0 { 1 } else { usize::MAX };
        guest.head(&fetch, 200, EVENTS);
        guest.body(&fetch, &whole.as_bytes()[..place]);
        guest.body(&fetch, &whole.as_bytes()[place..]);
        assert_eq!(guest.done(call).unwrap().json().get(), r#"{"resultType":"complete","content":[]}"#);
        guest.end(&fetch);
        guest.pass(Duration::from_secs(600));
        guest.quiet();
        assert!(guest.remarks().is_empty());
    }
}

/// U-46, over HTTP: tools whose annotations break a rule are not shown. M-XMH-07, M-XMH-09, M-XMH-10, M-XMH-12, M-XMH-13
#[test]
fn u46_tools_with_invalid_annotations_are_left_out() {
    let mark = |kind: &str, header: &str| json!({"type": kind, "x-mcp-header": header});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let bad = [
        ("A", object(json!({"a": mark("number", "X")}))),
        ("B", object(json!({"a": {"type": "array", "items": mark("string", "X")}}))),
        ("C", object(json!({"a": {"oneOf": [mark("string", "X")]}}))),
        (
            "D",
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": mark("string", "X")}}),
        ),
        ("E", json!({"type": "object", "if": {"properties": {"a": mark("string", "X")}}})),
        ("E2", json!({"type": "object", "then": {"properties": {"a": mark("string", "X")}}})),
        ("F", object(json!({"a": mark("string", "A"), "o": object(json!({"b": mark("string", "a")}))}))),
        ("G", object(json!({"a": mark("string", "a/b")}))),
    ];
    let good = [
        ("H", object(json!({"x-mcp-header": {"type": "string"}}))),
        ("I", object(json!({"a": {"type": "string", "default": "x", "examples": [{"x-mcp-header": "a/b"}]}}))),
        ("J", object(json!({"loc": object(json!({"city": mark("string", "City")}))}))),
    ];
    let mut guest = Guest::modern(config());
    let list = guest.call(Request::list(List::Tools, None));
    let fetch = guest.fetch();
    let tools: Vec<_> =
        bad.iter().chain(&good).map(|(name, schema)| json!({"name": name, "inputSchema": schema})).collect();
    guest.answer(&fetch, json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}));
    let answer = guest.done(list).unwrap();
    let shown: Vec<String> =
        answer.items().iter().map(|tool| tool.parse::<Value>().unwrap()["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(shown, ["H", "I", "J"]);
    assert_eq!(guest.remarks(), vec![DiagnosticKind::ToolDropped; bad.len()]);
    let (_, fetch) = guest.tool("J", json!({"loc": {"city": "Bern"}}));
    assert_eq!(header(&fetch, "mcp-param-city"), Some("Bern"));
}

/// A client that knows the tool `t`, whose argument `v` travels as a header.
fn knowing() -> Guest {
    let mut guest = Guest::modern(config());
    let list = guest.call(Request::list(List::Tools, None));
    let fetch = guest.fetch();
    guest.answer(&fetch, tools("V"));
    guest.done(list).unwrap();
    guest
}

fn tools(header: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"v": {"type": "string", "x-mcp-header": header}}});
    json!({"resultType": "complete", "tools": [{"name": "t", "inputSchema": schema}], "ttlMs": 0,
        "cacheScope": "private"})
}

/// U-47: a value that looks encoded is encoded. M-ENC-06
#[test]
fn u47_what_looks_encoded_is_encoded() {
    let mut guest = knowing();
    for (value, expected) in [
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="),
        ("=?base64?open", "=?base64?open"),
        ("closed?=", "closed?="),
    ] {
        let (_, fetch) = guest.tool("t", json!({"v": value}));
        assert_eq!(header(&fetch, "mcp-param-v"), Some(expected), "{value}");
    }
}

/// U-49: a refusal of headers leads to a look at the tools and one more try, and to no third. M-XMH-17
#[test]
fn u49_a_header_mismatch_is_put_right_once() {
    for refused_again in [false, true] {
        let mut guest = knowing();
        let (call, first) = guest.tool("t", json!({"v": "x"}));
        assert_eq!(header(&first, "mcp-param-v"), Some("x"));
        guest.refuse(&first, 400, -32020, Value::Null);
        let look = guest.fetch();
        assert_eq!(message(&look)["method"], "tools/list");
        guest.answer(&look, tools("W"));
        let again = guest.fetch();
        assert_eq!((header(&again, "mcp-param-v"), header(&again, "mcp-param-w")), (None, Some("x")));
        assert_ne!(message(&again)["id"], message(&first)["id"]);
        assert_eq!(message(&again)["params"]["arguments"], json!({"v": "x"}));
        if refused_again {
            guest.refuse(&again, 400, -32020, Value::Null);
            assert!(matches!(guest.done(call), Err(CallError::Remote(error)) if error.code.0 == -32020));
        } else {
            guest.answer(&again, json!({"resultType": "complete", "content": []}));
            guest.done(call).unwrap();
        }
        guest.quiet();
    }
}

/// U-50: what the answer to the first request says of the server's era. M-HCOMP-01, M-HCOMP-02, M-HCOMP-03, M-VER-07,
/// T-08, T-13
#[test]
fn u50_what_the_first_answer_says_of_the_era() {
    let start = || {
        let mut guest = Guest::new(config());
        let probe = guest.connect();
        (guest, probe)
    };
    // a, b, f: no modern server.
    let no_session = json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": "Bad Request: No valid session ID"},
        "id": null})
    .to_string();
    let none: &[(&str, &str)] = &[];
    let html: &[(&str, &str)] = &[("content-type", "text/html")];
    // T-13: what an older server says of a request that it does not understand.
    let wrong = json!({"code": -32602, "message": "Invalid request parameters"});
    let wrong = json!({"jsonrpc": "2.0", "error": wrong, "id": 1}).to_string();
    let refusals = [
        (400, none, ""),
        (400, JSON, no_session.as_str()),
        (400, JSON, wrong.as_str()),
        (200, JSON, wrong.as_str()),
        (404, html, "<h1>Not Found</h1>"),
    ];
    for cut in [usize::MAX, 1] {
        for (status, headers, body) in refusals {
            let (mut guest, probe) = start();
            guest.cut = cut;
            guest.respond(&probe, status, headers, body.as_bytes());
            let initialize = guest.fetch();
            assert_eq!(initialize.method.as_str(), "POST");
            guest.open(&initialize, Version::V2025_11_25, "s");
            assert_eq!(guest.connected(), Version::V2025_11_25);
            guest.quiet();
        }
    }
    // c: a modern one, and a revision that both speak.
    let (mut guest, probe) = start();
    guest.refuse(&probe, 400, -32022, json!({"supported": ["2026-07-28"], "requested": "2026-07-28"}));
    let again = guest.fetch();
    assert_eq!(message(&again)["method"], "server/discover");
    assert_eq!(header(&again, "mcp-protocol-version"), Some("2026-07-28"));
    guest.answer(
        &again,
        json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0,
            "cacheScope": "private"}),
    );
    assert_eq!(guest.connected(), Version::V2026_07_28);
    guest.quiet();
    // d: its answer is the error.
    let (mut guest, probe) = start();
    guest.refuse(&probe, 400, -32020, Value::Null);
    assert!(matches!(guest.event(), Action::Closed(Closed::NotConnected(ConnectError::Refused(_)))));
    guest.quiet();
    // e: a modern one that has no such method.
    let (mut guest, probe) = start();
    guest.refuse(&probe, 404, -32601, Value::Null);
    assert_eq!(guest.connected(), Version::V2026_07_28);
    let (_, fetch) = guest.tool("t", json!({}));
    assert_eq!(header(&fetch, "mcp-method"), Some("tools/call"));
    guest.quiet();
}

/// U-43, over HTTP: what was not declared is not answered: the call fails here, and nothing more is sent. M-ELIC-07,
/// M-SAMP-12
#[test]
fn u43_undeclared_input_fails_the_call() {
    let page = json!({"method": "elicitation/create",
        "params": {"mode": "url", "message": "Pay", "url": "https://example.com/pay", "elicitationId": "e"}});
    let sample = json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}});
    for asked in [page, sample, json!({"method": "roots/list"})] {
        for streamed in [false, true] {
            let mut guest = Guest::modern(config().capabilities(ClientCapabilities::new().with_form()));
            let (call, fetch) = guest.tool("t", json!({}));
            let value = json!({"resultType": "input_required", "inputRequests": {"k": asked}, "requestState": "s"});
            if streamed {
                let answer = json!({"jsonrpc": "2.0", "id": message(&fetch)["id"], "result": value});
                guest.respond(&fetch, 200, EVENTS, event(&answer).as_bytes());
            } else {
                guest.answer(&fetch, value);
            }
            assert!(guest.done(call).is_err(), "{asked}");
            guest.quiet();
        }
    }
}

/// U-40, over HTTP: an unknown type of result is an error, and nothing more is sent. M-BASE-11
#[test]
fn u40_unknown_result_types() {
    for streamed in [false, true] {
        for value in [json!({"resultType": "later", "content": []}), json!({"resultType": "task", "taskId": "t"})] {
            let mut guest = Guest::modern(config());
            let (call, fetch) = guest.tool("t", json!({}));
            if streamed {
                let answer = json!({"jsonrpc": "2.0", "id": message(&fetch)["id"], "result": value});
                guest.respond(&fetch, 200, EVENTS, event(&answer).as_bytes());
            } else {
                guest.answer(&fetch, value);
            }
            assert!(guest.done(call).is_err());
            guest.quiet();
        }
    }
}

/// U-41, over HTTP: a state alone is sent back in a new request. M-MRTR-15, M-MRTR-16
#[test]
fn u41_states_alone() {
    let mut guest = Guest::modern(config());
    let call = guest.call(Request::call_tool("t", &Json::EMPTY_OBJECT));
    let mut before = guest.fetch();
    let mut rounds = 0;
    let outcome = loop {
        guest.answer(&before, json!({"resultType": "input_required", "requestState": ""}));
        guest.pass(Duration::from_secs(5));
        rounds += 1;
        assert!(rounds < 100, "it ends");
        let Some(next) = guest.next_fetch() else { break guest.done(call) };
        assert_ne!(message(&next)["id"], message(&before)["id"]);
        assert_eq!(message(&next)["params"]["requestState"], "");
        assert!(message(&next)["params"].get("inputResponses").is_none());
        before = next;
    };
    assert!(outcome.is_err());
    guest.quiet();
}
