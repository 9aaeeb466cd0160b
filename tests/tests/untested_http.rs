//! Statements that no scenario of the official suite tests and that need HTTP, under the ids `U-..` of the project's
//! collection. Machines are fed with heads and bytes, whole and byte by byte; no test has a socket. Those of OAuth come
//! with it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use mcp_sansio::client::{Action, CallError, Closed, ConnectError, List, Request};
use mcp_sansio::diagnostic::DiagnosticKind;
use mcp_sansio::http::server::Options;
use mcp_sansio::json::Json;
use mcp_sansio::model::{CallToolResult, ElicitParams, InputRequest, ListRootsParams, Tool};
use mcp_sansio::server::request_state::SealKeys;
use mcp_sansio::server::{Definition, DefinitionBuilder, Event, InputRequired, Reply, Sent};
use mcp_sansio::spec::Version;
use mcp_sansio_tests::frames::{call, cancelled, modern, modern_with, request};
use mcp_sansio_tests::guest::{EVENTS, Guest, JSON, config, event, header, message};
use mcp_sansio_tests::site::{Site, watched, whole_and_split};
use serde_json::{Value, json};

fn builder() -> DefinitionBuilder {
    let mirrored = json!({"type": "object", "properties": {
        "region": {"type": ["string", "null"], "x-mcp-header": "Region"},
        "n": {"type": "integer", "x-mcp-header": "N"}}});
    Definition::builder("server", "1.0.0")
        .tool(Tool::new("slow"))
        .tool(Tool::new("größe"))
        .tool(Tool::new("mirrored").input_schema(mirrored))
        .list_changed()
}

fn definition() -> Definition {
    builder().build().unwrap()
}

fn modern_only() -> Definition {
    builder().versions(&[Version::V2026_07_28]).build().unwrap()
}

fn ask(request: impl Into<InputRequest>) -> Reply {
    let requests = vec![("k".to_owned(), request.into())];
    Reply::InputRequired(InputRequired { requests, ..InputRequired::default() })
}

fn form() -> ElicitParams {
    ElicitParams::form("Who?", json!({"type": "object", "properties": {"name": {"type": "string"}}}))
}

// ---- Servers.

/// U-01: a notification that is taken is a 202 without a body; a bad one is an error without an id. M-HTTP-11,
/// M-HTTP-12
#[test]
fn u01_notifications_are_taken_or_refused() {
    whole_and_split(|site| {
        for definition in [definition(), modern_only()] {
            let mut site = site(definition, Options::default());
            let answer = site.modern(&cancelled(99), &[]);
            assert_eq!((site.status(answer), site.answers[answer].body.len()), (202, 0));
            assert!(site.answers[answer].done && !site.answers[answer].headers.contains_key("content-type"));
            let answer = site.modern(&json!({"jsonrpc": "2.0", "method": 7}), &[]);
            let (status, code, id) = site.refusal(answer);
            assert_eq!((status, code), (400, -32600));
            assert!(id.is_none_or(|id| id.is_null()));
        }
    });
}

/// U-02: there are no batches in 2026-07-28; the refusal is one object, and nothing runs. M-HTTP-09, T-39
#[test]
fn u02_no_batches() {
    whole_and_split(|site| {
        for definition in [definition(), modern_only()] {
            let mut site = site(definition, Options::default());
            let inner = call(1, "slow", json!({}));
            for batch in [json!([inner]), json!([inner, inner]), json!([]), json!([cancelled(1)])] {
                let answer = site.post(&inner, batch.to_string().as_bytes(), &[]);
                let (status, code, _) = site.refusal(answer);
                assert_eq!((status, code), (400, -32600), "{batch}");
            }
            site.idle();
        }
    });
}

/// U-04: a modern-only server needs the revision in the head. M-HDR-07, M-HDR-15
#[test]
fn u04_a_missing_revision_is_refused() {
    whole_and_split(|site| {
        for definition in [modern_only(), definition()] {
            let mut site = site(definition, Options::default());
            let answer = site.modern(&modern(1, "server/discover", json!({})), &[("mcp-protocol-version", "-")]);
            assert_eq!(site.refusal(answer), (400, -32020, Some(json!(1))));
        }
    });
}

/// U-05: the sentinel of a name is decoded before it is compared, and is spelled exactly. M-HDR-17, M-ENC-03
#[test]
fn u05_the_sentinel_is_decoded() {
    whole_and_split(|site| {
        let mut site = site(definition(), Options::default());
        let message = call(1, "größe", json!({}));
        let answer = site.modern(&message, &[("mcp-name", "=?base64?Z3LDtsOfZQ==?=")]);
        site.answer("x");
        assert_eq!((site.status(answer), &site.only(answer)["id"]), (200, &json!(1)));
        for wrong in ["=?base64?Z3LDtsOfZQ?=", "=?BASE64?Z3LDtsOfZQ==?=", "=?base64?Z3LDtsOfZQ==", "größe"] {
            let answer = site.modern(&message, &[("mcp-name", wrong)]);
            assert_eq!(site.refusal(answer), (400, -32020, Some(json!(1))), "{wrong}");
        }
        site.idle();
    });
}

/// U-07: a value that is null or absent has no header, and a header has a value. M-XMH-25, M-XMH-20
#[test]
fn u07_absent_values_have_no_header() {
    whole_and_split(|site| {
        let mut site = site(definition(), Options::default());
        for arguments in [json!({"region": null}), json!({})] {
            let message = call(1, "mirrored", arguments);
            let answer = site.modern(&message, &[]);
            site.answer("x");
            assert_eq!(site.status(answer), 200);
            let answer = site.modern(&message, &[("Mcp-Param-Region", "eu")]);
            assert_eq!(site.refusal(answer), (400, -32020, Some(json!(1))));
            site.idle();
        }
    });
}

/// U-08: integers are compared as numbers. M-HDR-18
#[test]
fn u08_integers_are_compared_as_numbers() {
    let mut site = Site::new(definition(), Options::default());
    let message = call(1, "mirrored", json!({"n": 42}));
    for good in ["42", "42.0", "4.2e1"] {
        let answer = site.modern(&message, &[("Mcp-Param-N", good)]);
        site.answer("x");
        assert_eq!(site.status(answer), 200, "{good}");
    }
    for bad in ["43", "4e1x", "", "0x2a", "42 43", "NaN", "42.0000000001", "١"] {
        let answer = site.modern(&message, &[("Mcp-Param-N", bad)]);
        assert_eq!(site.refusal(answer), (400, -32020, Some(json!(1))), "{bad}");
    }
    site.idle();
}

/// U-10, U-11: a modern-only server has no sessions, and reads nothing about them. M-HCOMP-04, M-HCOMP-05, M-HCOMP-06
#[test]
fn u10_u11_a_modern_server_has_no_sessions() {
    whole_and_split(|site| {
        let mut site = site(modern_only(), Options::default());
        let get = site.send("GET", &[("host", "localhost"), ("accept", "text/event-stream")], b"");
        let delete = site.send("DELETE", &[("host", "localhost"), ("mcp-session-id", "x")], b"");
        for answer in [get, delete] {
            assert_eq!((site.status(answer), site.answers[answer].headers["allow"].as_str()), (405, "POST"));
        }
        let more = [("Mcp-Session-Id", "abc"), ("Last-Event-ID", "17")];
        let answer = site.modern(&modern(1, "tools/list", json!({})), &more);
        assert_eq!(site.status(answer), 200);
        assert_eq!(site.only(answer)["result"]["tools"].as_array().map(Vec::len), Some(3));
        assert!(!site.answers[answer].headers.contains_key("mcp-session-id"));
    });
}

/// U-13: whoever goes away has cancelled; nothing more is written for them, and others are served. M-CANC-04,
/// M-CANC-17, M-HTTP-23
#[test]
fn u13_disconnecting_cancels() {
    whole_and_split(|site| {
        let mut site = site(definition(), Options::default());
        let answer = site.modern(&watched(1, "slow"), &[]);
        let running = site.invocation();
        assert_eq!(site.progress(&running, 1.0), Sent::Yes);
        assert_eq!(site.messages(answer).len(), 1);
        site.disconnect(answer);
        assert_eq!(site.cancelled, [running.1.slot.id()]);
        let written = site.answers[answer].body.len();
        assert_eq!(site.progress(&running, 2.0), Sent::NotWanted);
        let other = site.modern(&call(1, "slow", json!({})), &[]);
        site.answer("other");
        assert_eq!(site.only(other)["result"]["content"][0]["text"], "other");
        site.reply(running, Reply::Tool(CallToolResult::text("late")));
        site.pass(Duration::from_secs(60));
        assert_eq!(site.answers[answer].body.len(), written);
    });
}

/// U-13, for those who have not heard a word yet.
#[test]
fn u13_disconnecting_before_the_first_word_cancels() {
    let mut site = Site::new(definition(), Options::default());
    let answer = site.modern(&call(1, "slow", json!({})), &[]);
    let running = site.invocation();
    site.disconnect(answer);
    assert_eq!(site.cancelled, [running.1.slot.id()]);
    site.reply(running, Reply::Tool(CallToolResult::text("late")));
    assert_eq!((site.status(answer), site.answers[answer].body.len()), (0, 0));
}

/// U-14, over HTTP: ids come back as they were sent. M-BASE-07
#[test]
fn u14_ids_come_back_as_they_were_sent() {
    whole_and_split(|site| {
        let mut site = site(definition(), Options::default());
        for id in [json!(0), json!(-1), json!(9_007_199_254_740_991_i64), json!(""), json!("1"), json!("00")] {
            let answer = site.modern(&modern(id.clone(), "server/discover", json!({})), &[]);
            assert_eq!(site.only(answer)["id"].to_string(), id.to_string());
            let answer = site.modern(&modern(id.clone(), "x/y", json!({})), &[]);
            assert_eq!(site.refusal(answer), (404, -32601, Some(id)));
        }
    });
}

/// U-16: no proxy may collect a stream. M-HTTP-18
#[test]
fn u16_streams_are_not_buffered() {
    let mut site = Site::new(definition(), Options::default());
    let session = site.open("2025-11-25", json!({}));
    let legacy = request(1, "tools/call", json!({"name": "slow", "_meta": {"progressToken": 1}}));
    let answers = [site.modern(&watched(1, "slow"), &[]), site.legacy(Some(&session), &legacy)];
    for answer in answers {
        let running = site.invocation();
        let _ = site.progress(&running, 1.0);
        assert_eq!(site.messages(answer).len(), 1);
        assert_eq!(site.answers[answer].headers["x-accel-buffering"], "no");
    }
    let filter = json!({"notifications": {}});
    let listening = site.modern(&modern(2, "subscriptions/listen", filter), &[]);
    assert_eq!(site.answers[listening].headers["x-accel-buffering"], "no");
}

/// U-17: what cannot be read has no id. M-BASE-13
#[test]
fn u17_a_parse_error_has_no_id() {
    whole_and_split(|site| {
        let mut site = site(definition(), Options::default());
        let list = modern(3, "tools/list", json!({}));
        for cut in [&br#"{"jsonrpc":"2.0","id":3,"method":"#[..], b"", b"{", b"\xff\xfe", b"{\"id\":3}{\"id\":3}"] {
            let answer = site.post(&list, cut, &[]);
            let (status, code, id) = site.refusal(answer);
            assert_eq!((status, code), (400, -32700));
            assert!(id.is_none_or(|id| id.is_null()));
        }
    });
}

/// U-22, over HTTP: a state opens for whoever it was given to, for the same request, while it lasts. M-MRTR-08,
/// M-MRTR-09
#[test]
fn u22_states_are_bound_to_their_principal() {
    let definition = builder().seal(SealKeys::new([9; 32])).build().unwrap();
    let mut site = Site::new(definition, Options::default());
    let ask_again = |site: &mut Site, principal, name: &str, arguments: Value, state: &Value| {
        site.principal = principal;
        let params = json!({"name": name, "arguments": arguments, "requestState": state,
            "inputResponses": {"k": {"action": "accept", "content": {"name": "Kim"}}}});
        site.modern(&modern_with(2, "tools/call", params, json!({"elicitation": {}})), &[])
    };
    site.principal = Some("T1");
    let params = json!({"name": "slow", "arguments": {"x": 1}});
    let answer = site.modern(&modern_with(1, "tools/call", params, json!({"elicitation": {}})), &[]);
    let invocation = site.invocation();
    site.reply(invocation, ask(form()));
    let result = site.only(answer)["result"].clone();
    assert_eq!(result["resultType"], "input_required");
    let state = result["requestState"].clone();
    for (principal, name, x) in [(Some("T2"), "slow", 1), (None, "slow", 1), (Some("T1"), "slow", 2)] {
        let answer = ask_again(&mut site, principal, name, json!({"x": x}), &state);
        assert_eq!(site.refusal(answer).1, -32602, "{principal:?} {name} {x}");
    }
    site.idle();
    let answer = ask_again(&mut site, Some("T1"), "slow", json!({"x": 1}), &state);
    site.answer("Kim");
    assert_eq!(site.only(answer)["result"]["resultType"], "complete");
    site.pass(Duration::from_secs(301));
    let answer = ask_again(&mut site, Some("T1"), "slow", json!({"x": 1}), &state);
    assert_eq!(site.refusal(answer).1, -32602);
    site.idle();
}

/// U-23, over HTTP: what cannot be asked is a 400 that names the missing capability. M-META-13, M-META-14, M-ERR-12
#[test]
fn u23_undeclared_input_is_a_400() {
    whole_and_split(|site| {
        let mut site = site(definition(), Options::default());
        let page = ElicitParams::url("Pay", "https://example.com/pay");
        let cases: [(Value, InputRequest, Value); 3] = [
            (json!({"elicitation": {}}), page.into(), json!({"elicitation": {"url": {}}})),
            (json!({}), form().into(), json!({"elicitation": {"form": {}}})),
            (json!({}), ListRootsParams::new().into(), json!({"roots": {}})),
        ];
        for (declared, asked, missing) in cases {
            let params = json!({"name": "slow", "arguments": {}});
            let answer = site.modern(&modern_with(1, "tools/call", params, declared), &[]);
            let invocation = site.invocation();
            site.reply(invocation, ask(asked));
            assert_eq!(site.refusal(answer), (400, -32021, Some(json!(1))));
            assert_eq!(site.only(answer)["error"]["data"]["requiredCapabilities"], missing);
        }
    });
}

/// U-32, U-35, over HTTP: frames of a stream carry the id of its request; the server ends it with a result and the end
/// of the body, and with no cancellation. M-SUB-07, M-SUB-10, M-SUB-11
#[test]
fn u32_u35_streams_carry_their_id_and_end_gracefully() {
    whole_and_split(|site| {
        let mut site = site(definition(), Options::default());
        for id in [json!("L-1"), json!(0), json!(9)] {
            let filter = json!({"notifications": {"toolsListChanged": true}});
            let answer = site.modern(&modern(id.clone(), "subscriptions/listen", filter), &[]);
            site.publish(&Event::ToolsListChanged);
            let heard = site.messages(answer);
            assert_eq!(heard.len(), 2);
            for message in &heard {
                assert_eq!(message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
            }
            site.shutdown();
            let last = site.messages(answer);
            assert_eq!(last.len(), 1);
            assert_eq!((&last[0]["id"], &last[0]["result"]["resultType"]), (&id, &json!("complete")));
            assert_eq!(last[0]["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
            assert!(site.answers[answer].done);
        }
    });
}

// ---- Clients.

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

/// U-50: what the answer to the first request says of the server's era. M-HCOMP-01, M-HCOMP-02, M-HCOMP-03, M-VER-07
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
    let refusals = [(400, none, ""), (400, JSON, no_session.as_str()), (404, html, "<h1>Not Found</h1>")];
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
