//! Cases from real reports, under the ids `O..` of the project's collection. Those that need HTTP are in `cases_http`;
//! those of OAuth come with it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use mcp_sansio::client::{self, Action, CallError, CallOptions, Client, List, OutputProblem, Request};
use mcp_sansio::diagnostic::DiagnosticKind;
use mcp_sansio::json::Json;
use mcp_sansio::jsonrpc::{Message, decode};
use mcp_sansio::model::{CallToolResult, ClientCapabilities, ContentBlock, ElicitResult, InputRequest, Role, Tool};
use mcp_sansio::server::{self, Call, Definition, Progress, Reply, Sent};
use mcp_sansio::stdio::line::LineDecoder;
use mcp_sansio_tests::frames::{call, cancelled, modern, notification, request, result};
use mcp_sansio_tests::solo::Solo;
use serde_json::{Value, json};
use std::time::Duration;

fn definition() -> Definition {
    let add = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    Definition::builder("server", "1.0.0")
        .tool(Tool::new("slow"))
        .tool(Tool::new("echo"))
        .tool(Tool::new("add").input_schema(add))
        .build()
        .unwrap()
}

fn texts(result: &CallToolResult) -> Vec<&str> {
    result.content.iter().filter_map(ContentBlock::as_text).collect()
}

/// The whole input of O01, with the id of the call as given: 208 bytes for an id of one digit.
fn o01_input(id: u64) -> Vec<u8> {
    let result = r#"{"resultType":"complete","content":[{"type":"text","text":"naïve 日本"}]}"#;
    let progress =
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t1","progress":1}}"#;
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n{progress}\n").into_bytes()
}

/// Every way in which O01 cuts its input: at its own places, byte by byte, not at all.
fn o01_cuts(input: &[u8]) -> Vec<Vec<&[u8]>> {
    vec![vec![&input[..100], &input[100..151], &input[151..]], input.chunks(1).collect(), vec![input]]
}

/// O01: frames cut anywhere, within a character and within a word, are the same two messages. M-BASE-03
#[test]
fn o01_frames_cut_anywhere() {
    let input = o01_input(1);
    assert_eq!((input.len(), input[99], &input[100..102]), (208, 0xe6, &[0x97, 0xa5][..]));
    for chunks in o01_cuts(&input) {
        let mut lines = LineDecoder::new(1 << 20);
        let mut messages = Vec::new();
        for chunk in chunks {
            lines.push(bytes::Bytes::copy_from_slice(chunk));
            while let Some(line) = lines.next() {
                messages.push(decode(&line.unwrap(), 64).unwrap());
            }
        }
        assert_eq!(lines.buffered(), 0);
        let [Message::Result { result, .. }, Message::Notification { method, .. }] = &messages[..] else {
            panic!("{messages:?}")
        };
        assert_eq!(texts(&result.json().parse().unwrap()), ["naïve 日本"]);
        assert_eq!(method.as_str(), "notifications/progress");
    }
}

/// O01, through the machine: what it sends between two chunks changes nothing.
#[test]
fn o01_frames_cut_anywhere_reach_the_application() {
    for way in 0..3 {
        let mut solo = Solo::modern(Solo::config());
        let (answered, frame) = solo.tool("t", json!({}));
        let reported = solo.call(Request::call_tool("t", &Json::EMPTY_OBJECT), CallOptions::new().progress_token("t1"));
        solo.frame();
        let input = o01_input(frame["id"].as_u64().unwrap());
        for chunk in o01_cuts(&input)[way].clone() {
            solo.feed(chunk);
            solo.call(Request::call_tool("t", &Json::EMPTY_OBJECT), CallOptions::new());
        }
        let answer: CallToolResult = solo.done(answered).unwrap().parse().unwrap();
        assert_eq!(texts(&answer), ["naïve 日本"]);
        let progress = solo.peer.take(|action| match action {
            Action::Progress { call, progress } if call == reported => Ok(progress),
            other => Err(other),
        });
        assert_eq!(progress.unwrap().progress, 1.0);
        assert!(solo.peer.events.is_empty() && solo.remarks().is_empty());
    }
}

/// O02: noise on the server's stdout is remarked on and never answered. M-STDIO-05, M-PAT-02
#[test]
fn o02_noise_on_stdout() {
    let mut solo = Solo::modern(Solo::config());
    let (call, frame) = solo.tool("t", json!({}));
    solo.feed(b"Listening on stdio, pid 4711\r\n\r\n[debug] tool ran in 3 ms\n{\"status\":200,\"duration\":12}\n");
    let answer = json!({"jsonrpc": "2.0", "id": frame["id"], "result": {"resultType": "complete", "content": []}});
    solo.feed(format!("{answer}\r\n").as_bytes());
    assert!(solo.done(call).is_ok());
    assert_eq!(solo.remarks(), vec![DiagnosticKind::InvalidFrame; 3]);
    solo.quiet();
    assert!(!solo.peer.is_closed() && solo.peer.failure.is_none());
}

/// O03: bytes that are not UTF-8 reach no handler. L-STDIO-01
#[test]
fn o03_bytes_that_are_not_utf8() {
    let mut solo = Solo::session(definition(), "2025-11-25", json!({}));
    solo.feed(b"\xff\xfe\n");
    let call = b"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"t\":\"";
    solo.feed(&[&call[..], b"\xff\"}}}\n"].concat());
    solo.feed(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n");
    for _ in 0..2 {
        let error = solo.frame();
        assert_eq!((error["error"]["code"].as_i64(), error.get("id")), (Some(-32700), None));
    }
    assert_eq!(solo.frame(), result(7, json!({})));
    solo.quiet();
}

/// O04: `1` and `"1"` are two requests. M-BASE-07
#[test]
fn o04_one_and_one_are_two_ids() {
    let mut solo = Solo::server(definition());
    solo.say(call(1, "slow", json!({"k": "a"})));
    solo.say(call("1", "slow", json!({"k": "b"})));
    let (a, b) = (solo.invocation(), solo.invocation());
    for (invocation, id, k) in [(b, json!("1"), "b"), (a, json!(1), "a")] {
        let Call::Tool { arguments, .. } = &invocation.call else { panic!() };
        assert_eq!(arguments, &Json::from(json!({"k": k})));
        solo.reply(invocation, Reply::Tool(CallToolResult::text(k)));
        let frame = solo.frame();
        assert_eq!((&frame["id"], &frame["result"]["content"][0]["text"]), (&id, &json!(k)));
    }
    solo.quiet();
}

/// O07: a cancelled request is never answered, be its id 0. M-CANC-18, M-STDIO-11
#[test]
fn o07_cancelling_request_zero() {
    let mut solo = Solo::server(definition());
    solo.say(call(0, "slow", json!({})));
    solo.say(notification("notifications/cancelled", json!({"requestId": 0, "reason": "user"})));
    solo.say(cancelled(99));
    let invocation = solo.invocation();
    let signal = solo.peer.take(|action| match action {
        server::Action::Cancelled { slot, reason } => Ok((slot, reason)),
        other => Err(other),
    });
    assert_eq!(signal, Some((invocation.slot.id(), Some("user".into()))));
    let progress = Progress { progress: 1.0, total: None, message: None };
    assert_eq!(solo.peer.machine.progress(solo.now, invocation.slot.id(), &progress).unwrap(), Sent::NotWanted);
    solo.reply(invocation, Reply::Tool(CallToolResult::text("ignored the signal")));
    solo.say(modern(1, "server/discover", json!({})));
    assert_eq!(solo.frame()["id"], 1);
    solo.quiet();
}

/// O08: progress in the packet of the result comes before it; afterwards it is dropped. M-PROG-06
#[test]
fn o08_last_progress_in_the_packet_of_the_result() {
    let mut solo = Solo::modern(Solo::config());
    let options = CallOptions::new().progress_token(0);
    let call = solo.call(Request::call_tool("t", &Json::EMPTY_OBJECT), options);
    let frame = solo.frame();
    assert_eq!(frame["params"]["_meta"]["progressToken"], json!(0));
    let progress = |progress| {
        notification("notifications/progress", json!({"progressToken": 0, "progress": progress, "total": 2}))
    };
    let answer = result(frame["id"].clone(), json!({"resultType": "complete", "content": []}));
    let packet: String = [progress(1), progress(2), answer, progress(2)].map(|frame| format!("{frame}\n")).concat();
    solo.feed(packet.as_bytes());
    let events: Vec<_> = solo.peer.events.drain(..).collect();
    let [
        Action::Progress { progress: first, .. },
        Action::Progress { progress: second, .. },
        Action::Done { call: done, outcome },
    ] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((first.progress, second.progress, *done, outcome.is_ok()), (1.0, 2.0, call, true));
    assert!(solo.remarks().is_empty());
    solo.quiet();
}

fn probing() -> (Solo<Client>, Value) {
    let mut solo = Solo::client(Solo::config());
    let probe = solo.connect();
    assert_eq!(probe["method"], "server/discover");
    (solo, probe["id"].clone())
}

fn falls_back(solo: &mut Solo<Client>) {
    let initialize = solo.frame();
    assert_eq!(initialize["method"], "initialize");
    assert_eq!(initialize["params"]["protocolVersion"], "2025-11-25");
    solo.quiet();
}

/// O11 a, b: an error of any other kind is a legacy server. M-STDIO-18, M-STDIO-19
#[test]
fn o11_a_b_any_other_error_falls_back() {
    for error in [
        json!({"code": -32602, "message": "Invalid request parameters", "data": ""}),
        json!({"code": -32000, "message": "not initialized"}),
    ] {
        let (mut solo, probe) = probing();
        solo.say(json!({"jsonrpc": "2.0", "id": probe, "error": error}));
        falls_back(&mut solo);
    }
}

/// O11 c: silence is a legacy server too; what comes late is ignored. M-STDIO-18
#[test]
fn o11_c_silence_falls_back() {
    let (mut solo, probe) = probing();
    solo.pass(Duration::from_secs(5));
    falls_back(&mut solo);
    solo.pass(Duration::from_millis(1));
    solo.say(json!({"jsonrpc": "2.0", "id": probe, "error": {"code": -32602, "message": "x", "data": ""}}));
    solo.quiet();
}

/// O11 d: a modern error is a modern server: the next request has a new id and a revision that both speak.
/// M-STDIO-17, M-VER-07
#[test]
fn o11_d_a_modern_error_stays_modern() {
    let (mut solo, probe) = probing();
    let error =
        json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"], "requested": "2027-02-02"}});
    solo.say(json!({"jsonrpc": "2.0", "id": probe, "error": error}));
    let next = solo.frame();
    assert_ne!(next["method"], "initialize");
    assert_eq!(next["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_ne!(next["id"], probe);
    solo.quiet();
}

fn form_client() -> Solo<Client> {
    Solo::modern(Solo::config().capabilities(ClientCapabilities::new().with_form()))
}

fn who() -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    json!({"who": {"method": "elicitation/create", "params": {"message": "Who approves?", "requestedSchema": schema}}})
}

/// The call of O13 that is asked back, with whatever the result adds.
fn o13(solo: &mut Solo<Client>, more: Value) -> (mcp_sansio::ids::CallId, Value) {
    let (call, frame) = solo.tool("deploy", json!({"env": "test"}));
    let mut asked = json!({"resultType": "input_required",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}});
    for (name, value) in more.as_object().unwrap() {
        asked[name] = value.clone();
    }
    solo.say(result(frame["id"].clone(), asked));
    (call, frame)
}

/// O13: a result that asks and carries metadata is no tool result; the retry is the request again, with the answer
/// and the state as it came. M-MRTR-16, M-MRTR-18, M-MRTR-21, M-ELIC-09
#[test]
fn o13_a_result_that_asks() {
    let mut solo = form_client();
    let other = solo.tool("other", json!({})).1;
    let (call, first) = o13(&mut solo, json!({"inputRequests": who(), "requestState": "A b/+=\u{e9}"}));
    let needed = solo.question();
    assert!(matches!(needed.request, InputRequest::Elicit(mcp_sansio::model::ElicitParams::Form(_))));
    let answer = client::InputAnswer::Elicit(ElicitResult::accept(json!({"name": "Kim"})));
    solo.peer.machine.supply_input(solo.now, needed.input, &answer).unwrap();
    let retry = solo.frame();
    assert!(![&first["id"], &other["id"]].contains(&&retry["id"]));
    assert_eq!(retry["method"], "tools/call");
    let mut params = retry["params"].clone();
    let meta = params.as_object_mut().unwrap().remove("_meta").unwrap();
    assert_eq!(
        params,
        json!({"name": "deploy", "arguments": {"env": "test"},
               "inputResponses": {"who": {"action": "accept", "content": {"name": "Kim"}}}, "requestState": "A b/+=\u{e9}"})
    );
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({"elicitation": {"form": {}}}));
    solo.quiet();
    solo.say(result(retry["id"].clone(), json!({"resultType": "complete", "content": []})));
    assert!(solo.done(call).is_ok());
}

/// O13, variant b: without a state the retry has none. M-MRTR-17
#[test]
fn o13_b_without_a_state() {
    let mut solo = form_client();
    o13(&mut solo, json!({"inputRequests": who()}));
    let input = solo.question().input;
    solo.peer.machine.supply_input(solo.now, input, &client::InputAnswer::Declined).unwrap();
    let retry = solo.frame();
    assert_eq!(retry["params"].get("requestState"), None);
    assert_eq!(retry["params"]["inputResponses"], json!({"who": {"action": "decline"}}));
}

/// O13, variant c: an unknown type of result is an error, neither a retry nor complete. M-BASE-11
#[test]
fn o13_c_an_unknown_type() {
    let mut solo = form_client();
    let (call, _) = o13(&mut solo, json!({"resultType": "later", "inputRequests": who(), "content": []}));
    assert!(matches!(solo.done(call), Err(CallError::InvalidResult { .. })));
    solo.quiet();
}

/// O13, variant d: a state without questions is retried at once, without answers. M-MRTR-15
#[test]
fn o13_d_a_state_alone() {
    let mut solo = form_client();
    let (_, first) = o13(&mut solo, json!({"requestState": "s"}));
    let retry = solo.frame();
    assert_ne!(retry["id"], first["id"]);
    assert_eq!(retry["params"]["requestState"], "s");
    assert_eq!(retry["params"].get("inputResponses"), None);
    solo.quiet();
}

/// O14: the empty string is a cursor; `null` is none. M-PAGE-07
#[test]
fn o14_the_empty_cursor() {
    let mut solo = Solo::modern(Solo::config());
    let call = solo.peer.machine.walk(solo.now, List::Tools, CallOptions::new()).unwrap();
    let page = |name: &str, next: Value| {
        json!({"resultType": "complete", "tools": [{"name": name, "inputSchema": {"type": "object"}}],
               "nextCursor": next, "ttlMs": 0, "cacheScope": "private"})
    };
    let first = solo.frame();
    assert_eq!(first["params"].get("cursor"), None);
    solo.say(result(first["id"].clone(), page("a", json!(""))));
    let second = solo.frame();
    assert_eq!(second["params"]["cursor"], "");
    solo.say(result(second["id"].clone(), page("b", Value::Null)));
    let tools: Vec<Tool> = solo.done(call).unwrap().parse_items().unwrap();
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["a", "b"]);
    solo.quiet();
}

/// A client that has listed these tools.
fn listed(tools: Value) -> Solo<Client> {
    let mut solo = Solo::modern(Solo::config());
    let call = solo.call(Request::list(List::Tools, None), CallOptions::new());
    let frame = solo.frame();
    let page = json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"});
    solo.say(result(frame["id"].clone(), page));
    assert_eq!(solo.done(call).unwrap().items().len(), tools.as_array().unwrap().len());
    solo
}

/// The outcome of a call whose result has these members.
fn called(solo: &mut Solo<Client>, name: &str, members: Value) -> Result<client::Answer, CallError> {
    let (call, frame) = solo.tool(name, json!({}));
    let mut answer = json!({"resultType": "complete", "content": []});
    for (name, value) in members.as_object().unwrap() {
        answer[name] = value.clone();
    }
    solo.say(result(frame["id"].clone(), answer));
    solo.silent();
    solo.done(call)
}

/// O15: a schema is used in the dialect that it declares, and never fetched. M-JS-03, M-JS-07, M-JS-10
#[test]
fn o15_declared_dialects_and_foreign_references() {
    let items = json!([{"type": "integer"}, {"type": "string"}]);
    let pair = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": {"pair": {"type": "array", "items": items}}, "required": ["pair"]});
    let mut solo = listed(json!([
        {"name": "pair", "inputSchema": {"type": "object"}, "outputSchema": pair},
        {"name": "ext", "inputSchema": {"type": "object"}, "outputSchema": {"$ref": "http://127.0.0.1:9/s.json"}}
    ]));
    assert!(called(&mut solo, "pair", json!({"structuredContent": {"pair": [1, "x"]}})).is_ok());
    let mismatch = called(&mut solo, "pair", json!({"structuredContent": {"pair": ["x", 1]}}));
    assert!(
        matches!(mismatch, Err(CallError::OutputInvalid { problem: OutputProblem::Mismatch(_), .. })),
        "{mismatch:?}"
    );
    let foreign = called(&mut solo, "ext", json!({"structuredContent": {"ok": true}}));
    assert!(
        matches!(foreign, Err(CallError::OutputInvalid { problem: OutputProblem::UnusableSchema(_), .. })),
        "{foreign:?}"
    );
    solo.quiet();
}

/// O16: an error has a structured content of its own; a present `null` is not an absent one. M-TOOL-20
#[test]
fn o16_structured_content_of_an_error() {
    let things = json!({"type": "object", "properties": {"things": {"type": "array"}}, "required": ["things"],
        "additionalProperties": false});
    let mut solo = listed(json!([
        {"name": "things", "inputSchema": {"type": "object"}, "outputSchema": things},
        {"name": "nil", "inputSchema": {"type": "object"}, "outputSchema": {"type": "null"}}
    ]));
    let failed = json!({"isError": true, "content": [{"type": "text", "text": "no such list"}],
        "structuredContent": {"code": "NOT_FOUND"}});
    let answer = called(&mut solo, "things", failed).unwrap();
    assert!(answer.is_error());
    assert_eq!(answer.structured_content(), Some(Json::from(json!({"code": "NOT_FOUND"}))));
    assert_eq!(texts(&answer.parse().unwrap()), ["no such list"]);
    let present = called(&mut solo, "nil", json!({"structuredContent": null})).unwrap();
    assert_eq!(present.structured_content(), Some(Json::NULL));
    assert_eq!(present.parse::<CallToolResult>().unwrap().structured_content, Some(Json::NULL));
    let absent = called(&mut solo, "nil", json!({}));
    assert!(matches!(absent, Err(CallError::OutputInvalid { problem: OutputProblem::Missing, .. })));
    let unknown = called(&mut solo, "unlisted", json!({})).unwrap();
    assert_eq!(unknown.structured_content(), None);
}

/// O19, over stdio: which error it is. M-TOOL-23, M-TOOL-24, M-META-10
#[test]
fn o19_which_error_it_is() {
    let mut solo = Solo::server(definition());
    solo.say(modern(31, "tools/frobnicate", json!({})));
    solo.say(call(32, "nope", json!({})));
    solo.say(call(33, "add", json!([1])));
    solo.say(call(34, "add", json!({"a": "x"})));
    solo.say(request(35, "tools/list", json!({})));
    for (id, code) in [(31, -32601), (32, -32602), (33, -32602)] {
        let error = solo.frame();
        assert_eq!((error["id"].as_i64(), error["error"]["code"].as_i64()), (Some(id), Some(code)));
    }
    let bad_arguments = solo.frame();
    assert_eq!((&bad_arguments["id"], &bad_arguments["result"]["isError"]), (&json!(34), &json!(true)));
    assert!(bad_arguments["result"]["content"][0]["text"].as_str().unwrap().contains('a'));
    let no_envelope = solo.frame();
    assert_eq!((&no_envelope["id"], &no_envelope["error"]["code"]), (&json!(35), &json!(-32602)));
    solo.quiet();
}

/// O20: what we do not know yet arrives as it came, to the last digit. M-META-21
#[test]
fn o20_values_from_the_future() {
    let mut solo = Solo::modern(Solo::config());
    let (call, frame) = solo.tool("t", json!({}));
    let future = r#"{"resultType":"complete","x-vendor":{"n":9007199254740993},"content":[{"type":"text","text":"hi","annotations":{"audience":["system","user"],"priority":0.5},"extra":1},{"type":"hologram","data":"zz"}]}"#;
    solo.feed(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{future}}}\n", frame["id"]).as_bytes());
    let answer = solo.done(call).unwrap();
    assert_eq!(answer.json().get(), future);
    let result: CallToolResult = answer.parse().unwrap();
    assert_eq!(result.content.len(), 2);
    let ContentBlock::Text(text) = &result.content[0] else { panic!("{:?}", result.content) };
    assert_eq!(text.text, "hi");
    let audience = text.annotations.as_ref().unwrap().audience.as_ref().unwrap();
    assert!(audience[0] != Role::User && audience[0] != Role::Assistant && audience[1] == Role::User);
    assert!(matches!(result.content[1], ContentBlock::Unknown(_)));
    assert_eq!(result.extra.get("x-vendor").unwrap().get(), r#"{"n":9007199254740993}"#);
    let again = Json::from_value(&result).unwrap();
    assert_eq!(again, answer.json());
    assert!(again.get().contains("9007199254740993"));
}
