//! Transcripts pass when the machine does what they say, and fail when it does anything else.

use super::*;

fn server() -> Server {
    Server::new(std::sync::Arc::new(definition()), Seed([7; 32]))
}

fn transcript(role: &str, session: Option<&str>, steps: Value) -> Transcript {
    let mut file = json!({"name": "t", "about": "a", "role": role, "fixture": "f", "steps": steps});
    if let Some(version) = session {
        file["session"] = json!({"version": version});
    }
    Transcript::read(&file.to_string()).unwrap()
}

fn play(session: Option<&str>, steps: Value) -> Result<Vec<Frame>, Mismatch> {
    let transcript = transcript("server", session, steps);
    let outcomes: Vec<_> = Feed::ALL.into_iter().map(|feed| transcript.play_server(server(), feed)).collect();
    assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]), "{outcomes:?}");
    outcomes.into_iter().next().unwrap()
}

fn call(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "echo", "arguments": {"n": id}}})
}

fn result(id: u64, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}})
}

#[test]
fn a_conversation_is_played_however_its_input_is_cut() {
    let frames = play(Some("2025-11-25"), json!([
        {"in": call(1)},
        {"invoke": {"call": "tool", "name": "echo", "arguments": {"n": 1}}, "as": "a"},
        {"in": call(2)},
        {"invoke": {"call": "tool", "arguments": {"n": 2}}, "reply": {"tool": {"content": [{"type": "text", "text": "two"}]}}},
        {"out": result(2, "two")},
        {"in": {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "r"}}},
        {"cancelled": "a", "reason": "r"},
        {"reply": {"failed": true}, "to": "a"},
        {"diagnostic": "muted"},
        {"in": "not json", "invalid": true},
        {"out": {"jsonrpc": "2.0", "error": {"code": -32700}}},
        {"idle": true},
        {"end": true},
        {"closed": "end_of_input"}
    ]))
    .unwrap();
    assert_eq!(frames.iter().filter(|frame| frame.from == Side::Server).count(), 3);
}

#[test]
fn deviations_are_found() {
    let ping = json!({"in": {"jsonrpc": "2.0", "id": 1, "method": "ping"}});
    let cases = [
        (json!([ping]), 2, "said more"),
        (json!([ping, {"out": {"jsonrpc": "2.0", "id": "1", "result": {}}}]), 2, "\"/id\""),
        (json!([ping, {"out": {"jsonrpc": "2.0", "id": 1, "result": {"x": 1}}}]), 2, "\"/result/x\""),
        (json!([ping, {"out": {"jsonrpc": "2.0", "id": 1}}]), 2, "\"/result\""),
        (json!([{"out": {}}]), 1, "nothing was written"),
        (json!([{"invoke": {}}]), 1, "nothing happened"),
        (json!([ping, {"invoke": {}}]), 2, "instead of an event"),
        (json!([{"timeout": {"in_ms": 1, "kind": "drain"}}]), 1, "nothing is waited for"),
        (json!([{"diagnostic": "ignored"}]), 1, "no such remark"),
        (json!([{"reply": {"failed": true}, "to": "nobody"}]), 1, "nobody"),
    ];
    for (steps, step, problem) in cases {
        let mismatch = play(Some("2025-06-18"), steps).unwrap_err();
        assert!(mismatch.step == step && mismatch.problem.contains(problem), "{mismatch}");
    }
}

#[test]
fn words_stand_for_what_a_file_cannot_know() {
    play(Some("2025-11-25"), json!([
        {"in": call(1)},
        {"invoke": {}, "reply": {"tool": {"content": [], "structuredContent": {"token": "xyz"}}}},
        {"out": {"jsonrpc": "2.0", "id": "$integer", "result": {"$more": true, "structuredContent": {"token": "$keep:t"}}}},
        {"in": {"jsonrpc": "2.0", "id": "$use:t", "method": "ping"}},
        {"out": {"jsonrpc": "$string", "id": "xyz", "result": "$any"}}
    ]))
    .unwrap();
}

#[test]
fn a_client_is_played_too() {
    let transcript = transcript(
        "client",
        None,
        json!([
            {"connect": true},
            {"out": {"jsonrpc": "2.0", "id": "$keep:probe", "method": "server/discover", "params": "$any"}},
            {"timeout": {"in_ms": 5000, "kind": "probe"}},
            {"in": {"jsonrpc": "2.0", "id": "$use:probe", "result": {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}}},
            {"connected": "2026-07-28"},
            {"call": {"method": "x/y", "params": {"a": 1}}, "as": "c", "options": {"progress": "t", "idle_ms": 50}},
            {"out": {"jsonrpc": "2.0", "id": "$keep:id", "method": "x/y", "params": {"a": 1, "_meta": {"$more": true, "progressToken": "t"}}}},
            {"in": {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t", "progress": 0.5}}},
            {"progress": {"progressToken": "t", "progress": 0.5}, "of": "c"},
            {"advance_ms": 50},
            {"out": {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "$use:id", "reason": "$string"}}},
            {"done": "c", "error": "timed_out_idle"},
            {"idle": true}
        ]),
    );
    for feed in Feed::ALL {
        transcript.play_client(Client::new(config()).unwrap(), feed).unwrap();
    }
}

#[test]
fn files_that_are_no_transcripts_are_refused() {
    let file =
        |role: &str, steps: Value| json!({"name": "t", "about": "a", "role": role, "fixture": "f", "steps": steps});
    for (file, why) in [
        (json!({}), "missing field"),
        (file("peer", json!([])), "no role"),
        (file("server", json!([{}])), "no step with"),
        (file("server", json!([{"call": {}}])), "no step with call"),
        (file("client", json!([{"in": {}, "out": {}}])), "no step with in, out"),
    ] {
        let error = Transcript::read(&file.to_string()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn frames_are_one_line_however_the_file_is_laid_out() {
    let file = r#"{"name":"t","about":"a","role":"server","fixture":"f","session":{"version":"2025-11-25"},"steps":[
        {"in": {
            "jsonrpc": "2.0",
            "id": "a b\" \\",  "method": "ping"
        }},
        {"out": {"jsonrpc":"2.0","id":"a b\" \\","result":{}}}
    ]}"#;
    Transcript::read(file).unwrap().play_server(server(), Feed::Bytes).unwrap();
}

#[test]
fn bytes_can_be_given_in_hexadecimal() {
    play(
        Some("2025-11-25"),
        json!([
            {"in": {"hex": "FF FE 0A"}},
            {"out": {"jsonrpc": "2.0", "error": {"code": -32700}}}
        ]),
    )
    .unwrap();
}

fn http(role: &str, steps: Value) -> Transcript {
    let file = json!({"name": "t", "about": "a", "role": role, "transport": "http", "fixture": "f", "steps": steps});
    Transcript::read(&file.to_string()).unwrap()
}

fn play_http(steps: Value) -> Result<Vec<Frame>, Mismatch> {
    let transcript = http("server", steps);
    let play = |feed| transcript.play_http_server(definition(), Options::default(), feed);
    let outcomes: Vec<_> = Feed::ALL.into_iter().map(play).collect();
    assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]), "{outcomes:?}");
    outcomes.into_iter().next().unwrap()
}

fn asked(name: &str) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {},
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": "t"}}});
    let headers = json!({"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo"});
    json!({"ask": {"headers": headers, "body": body}, "as": name})
}

#[test]
fn exchanges_are_played_by_their_names() {
    let frames = play_http(json!([
        asked("a"),
        {"invoke": {"call": "tool"}, "on": "a", "as": "i"},
        asked("b"),
        {"invoke": {}, "on": "b", "reply": {"tool": {"content": []}}},
        {"answer": {"status": 200, "headers": {"content-type": "application/json"}, "body": "$any"}, "of": "b"},
        {"report": {"progress": 1}, "of": "i", "sent": "yes"},
        {"stream": {"status": 200, "headers": {"$more": true, "content-type": "text/event-stream"}}, "of": "a"},
        {"event": {"data": {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t", "progress": 1}}}, "of": "a"},
        {"advance_ms": 15000},
        {"comment": "a"},
        {"disconnect": "a"},
        {"cancelled": "i"},
        {"abandon": "i"},
        {"idle": true},
        {"ask": {"method": "PUT"}, "as": "a", "open": true},
        {"answer": {"status": 405, "body": {"jsonrpc": "2.0", "error": {"code": -32600}}}, "of": "a"}
    ]))
    .unwrap();
    assert_eq!(frames.iter().filter(|frame| frame.from == Side::Client).count(), 2);
}

#[test]
fn deviations_over_http_are_found() {
    let put = json!({"ask": {"method": "PUT"}, "as": "a"});
    let cases = [
        (json!([put]), 2, "said more"),
        (json!([put, {"answer": {"status": 200}, "of": "a"}]), 2, "status"),
        (json!([put, {"answer": {"headers": {}}, "of": "a"}]), 2, "\"/allow\""),
        (json!([put, {"answer": {"body": null}, "of": "a"}]), 2, "body"),
        (json!([put, {"answer": {"head": 1}, "of": "a"}]), 2, "no \"head\""),
        (json!([put, {"stream": {"status": 405}, "of": "a"}]), 2, "something else"),
        (json!([put, {"answer": {}, "of": "b"}]), 2, "no request is called"),
        (json!([{"finished": "a"}]), 1, "no request is called"),
        (json!([put, put]), 2, "another request has this name"),
        (json!([{"log": {"level": "info", "data": 1}}]), 1, "to which machine"),
        (json!([{"ask": {"target": "$use:nothing"}}]), 1, "nothing is kept as \"nothing\""),
        (json!([asked("a"), {"invoke": {}, "on": "b"}]), 2, "no machine serves"),
        (json!([{"publish": "tools", "sent": "yes"}]), 1, "nobody says"),
    ];
    for (steps, step, problem) in cases {
        let mismatch = play_http(steps).unwrap_err();
        assert!(mismatch.step == step && mismatch.problem.contains(problem), "{mismatch}");
    }
}

#[test]
fn a_client_over_http_is_played_too() {
    let transcript = http(
        "client",
        json!([
            {"connect": true},
            {"fetch": {"method": "POST", "url": "http://localhost/mcp", "headers": {"$more": true, "mcp-method": "server/discover"}, "body": {"jsonrpc": "2.0", "id": "$keep:p", "method": "server/discover", "params": "$any"}}, "as": "p"},
            {"stream": {}, "of": "p"},
            {"in": ":\r\n\r\ndata: {\"jsonrpc\":\"2.0\",", "of": "p"},
            {"in": {"hex": "0A"}, "of": "p"},
            {"in": "data: \"method\":\"notifications/x\"}\n\n", "of": "p"},
            {"notified": {"method": "notifications/x"}},
            {"event": {"data": {"jsonrpc": "2.0", "id": "$use:p", "result": {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}}}, "of": "p"},
            {"connected": "2026-07-28"},
            {"finished": "p"},
            {"call": {"method": "x/y"}, "as": "c"},
            {"fetch": {"body": {"$more": true, "method": "x/y"}}, "as": "f"},
            {"answer": {"status": 503}, "of": "f"},
            {"done": "c", "error": "exchange", "exchange": "status", "status": 503},
            {"idle": true}
        ]),
    );
    for feed in Feed::ALL {
        let client = HttpClient::over_http(config(), Endpoint::new("http://localhost/mcp").unwrap()).unwrap();
        transcript.play_http_client(client, feed).unwrap();
    }
}
