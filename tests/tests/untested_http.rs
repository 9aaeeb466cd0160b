//! Statements about servers that no scenario of the official suite tests and that need HTTP, under the ids `U-..` of the
//! project's collection. Machines are fed with heads and bytes, whole and byte by byte; no test has a socket. Those of
//! OAuth come with it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use mcp_sansio::http::server::Options;
use mcp_sansio::model::{CallToolResult, ElicitParams, InputRequest, ListRootsParams, Tool};
use mcp_sansio::server::request_state::SealKeys;
use mcp_sansio::server::{Definition, DefinitionBuilder, Event, InputRequired, Reply, Sent};
use mcp_sansio::spec::Version;
use mcp_sansio_tests::frames::{call, cancelled, modern, modern_with, request};
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
            assert_eq!(site.status(answer), 200);
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

/// U-26, over HTTP: progress keeps the type of its token, grows strictly, ends with the answer, and needs a token.
/// M-PROG-02, M-PROG-03, M-PROG-05, M-PROG-08
#[test]
fn u26_progress_tokens() {
    whole_and_split(|site| {
        let mut site = site(definition(), Options::default());
        let params = |token: Value| json!({"name": "slow", "arguments": {}, "_meta": {"progressToken": token}});
        let silent = site.modern(&call(1, "slow", json!({})), &[]);
        let without = site.invocation();
        assert_eq!(site.progress(&without, 1.0), Sent::NotWanted);
        site.reply(without, Reply::Tool(CallToolResult::text("x")));
        assert_eq!(site.only(silent)["id"], 1, "no stream, for there was nothing to say");
        let answers = [json!(7), json!("7")].map(|token| {
            let answer = site.modern(&modern(1, "tools/call", params(token.clone())), &[]);
            (token, answer, site.invocation())
        });
        for (token, answer, running) in answers {
            for (progress, sent) in [
                (0.1, Sent::Yes),
                (0.100_000_01, Sent::Yes),
                (0.100_000_01, Sent::NotWanted),
                (0.05, Sent::NotWanted),
                (2.0, Sent::Yes),
            ] {
                assert_eq!(site.progress(&running, progress), sent, "{progress}");
            }
            site.reply(running, Reply::Tool(CallToolResult::text("x")));
            let heard = site.messages(answer);
            assert_eq!(heard.len(), 4, "{heard:?}");
            assert!(heard[..3].iter().all(|message| message["params"]["progressToken"] == token), "{heard:?}");
            assert_eq!(heard[3]["id"], 1);
            assert!(site.answers[answer].done);
        }
    });
}

/// U-31, U-34, over HTTP: the acknowledgement comes first and names what is honoured; only that is heard afterwards.
/// M-SUB-03, M-SUB-05, M-SUB-17, M-SUB-18
#[test]
fn u31_u34_streams_carry_the_honoured_subset() {
    whole_and_split(|site| {
        let mut site = site(builder().build().unwrap(), Options::default());
        let filter = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true,
            "resourceSubscriptions": ["file:///a"]}});
        let answer = site.modern(&modern("l", "subscriptions/listen", filter), &[]);
        let first = site.messages(answer);
        assert_eq!(first.len(), 1);
        assert_eq!(first[0]["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(first[0]["params"]["notifications"], json!({"toolsListChanged": true}));
        let running = site.modern(&watched(1, "slow"), &[]);
        let invocation = site.invocation();
        let _ = site.progress(&invocation, 1.0);
        for event in
            [Event::ResourceUpdated { uri: "file:///b".into() }, Event::PromptsListChanged, Event::ToolsListChanged]
        {
            site.publish(&event);
        }
        let heard = site.messages(answer);
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert_eq!(heard[0]["method"], "notifications/tools/list_changed");
        assert_eq!(site.messages(running).len(), 1, "and nothing of it on the stream of a call");
    });
}
