//! The cases and rows that need HTTP, once over real sockets: what `tests/tests/cases_http.rs` and `untested_http.rs`
//! hold the machines to under the same ids, with the transport in between. Which answer is right is argued there.

use crate::front::mcp::core::spec::Version;
use crate::front::mcp::model::{Resource, Tool};
use crate::front::mcp::server::{BuiltServer, Context, ReadRequest, Server};
use serde_json::{Value, json};

use super::web::{Wire, modern_request, start};
use crate::front;

fn server() -> BuiltServer {
    let mirrored = json!({"type": "object", "properties": {
        "region": {"type": ["string", "null"], "x-mcp-header": "Region"},
        "n": {"type": "integer", "x-mcp-header": "N"}}});
    let add = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let done = |_: Value, _: Context| async { "done" };
    Server::new("s", "1")
        .versions(&[Version::V2026_07_28])
        .tool(Tool::new("größe"), done)
        .tool(Tool::new("mirrored").input_schema(mirrored), done)
        .tool(Tool::new("add").input_schema(add), done)
        .resource(Resource::new("file", "file:///data/文件.txt"), |_: ReadRequest, _: Context| async { "read" })
        .build()
        .unwrap()
}

/// What is to come: the status, and the code of an error or none.
type Expected = (u16, Option<i64>);

const OK: Expected = (200, None);
const MISMATCH: Expected = (400, Some(-32020));

async fn check(wire: &mut Wire, case: &str, headers: &[(&str, &str)], body: &Value, expected: Expected) {
    let mut all = vec![("mcp-protocol-version", "2026-07-28")];
    all.extend_from_slice(headers);
    wire.post(&all, &body.to_string()).await;
    let answer = wire.answer().await;
    let said: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((answer.head.status, said["error"]["code"].as_i64()), expected, "{case}: {said}");
    let is_result = said.get("result").is_some();
    assert_eq!(is_result, expected == OK, "{case}: {said}");
    let id = body.get("id").filter(|id| id.is_i64() || id.is_string());
    assert_eq!(said.get("id"), id, "{case}");
}

fn call(id: u64, name: &str, arguments: Value) -> Value {
    modern_request(id, "tools/call", json!({"name": name, "arguments": arguments}))
}

/// O05, O12, O19, U-02, U-05, U-07, U-08, U-14
#[front::test]
async fn requests_have_their_answers() {
    let running = start(&server()).await;
    let mut wire = running.open().await;
    let list = [("mcp-method", "tools/list")];
    for id in [json!(null), json!(1.5)] {
        let body = modern_request(id, "tools/list", json!({}));
        check(&mut wire, "O05", &list, &body, (400, Some(-32600))).await;
    }
    let batch = json!([modern_request(1, "tools/list", json!({}))]);
    check(&mut wire, "U-02", &list, &batch, (400, Some(-32600))).await;
    for id in [json!(0), json!(-1), json!(9_007_199_254_740_991_i64), json!(""), json!("1"), json!("00")] {
        let body = modern_request(id, "server/discover", json!({}));
        check(&mut wire, "U-14", &[("mcp-method", "server/discover")], &body, OK).await;
    }

    let read = modern_request(2, "resources/read", json!({"uri": "file:///data/文件.txt"}));
    for (name, expected) in [
        ("=?base64?ZmlsZTovLy9kYXRhL+aWh+S7ti50eHQ=?=", OK),
        ("=?base64?%%%?=", MISMATCH),
        ("=?BASE64?ZmlsZTovLy9kYXRhL+aWh+S7ti50eHQ=?=", MISMATCH),
    ] {
        let headers = [("mcp-method", "resources/read"), ("mcp-name", name)];
        check(&mut wire, "O12", &headers, &read, expected).await;
    }
    check(&mut wire, "O12", &[("mcp-method", "resources/read")], &read, MISMATCH).await;

    let size = call(1, "größe", json!({}));
    for (name, expected) in
        [("=?base64?Z3LDtsOfZQ==?=", OK), ("=?base64?Z3LDtsOfZQ?=", MISMATCH), ("=?BASE64?Z3LDtsOfZQ==?=", MISMATCH)]
    {
        check(&mut wire, "U-05", &[("mcp-method", "tools/call"), ("mcp-name", name)], &size, expected).await;
    }

    let mirrored = [("mcp-method", "tools/call"), ("mcp-name", "mirrored")];
    for (arguments, header, expected) in [
        (json!({"region": null}), None, OK),
        (json!({}), None, OK),
        (json!({}), Some(("mcp-param-region", "eu")), MISMATCH),
        (json!({"n": 42}), Some(("mcp-param-n", "42.0")), OK),
        (json!({"n": 42}), Some(("mcp-param-n", "43")), MISMATCH),
        (json!({"n": 42}), Some(("mcp-param-n", "4e1x")), MISMATCH),
    ] {
        let headers: Vec<_> = mirrored.into_iter().chain(header).collect();
        check(&mut wire, "U-07, U-08", &headers, &call(1, "mirrored", arguments), expected).await;
    }

    let add = |name| [("mcp-method", "tools/call"), ("mcp-name", name)];
    let unknown = modern_request(31, "tools/frobnicate", json!({}));
    check(&mut wire, "O19", &[("mcp-method", "tools/frobnicate")], &unknown, (404, Some(-32601))).await;
    check(&mut wire, "O19", &add("nope"), &call(32, "nope", json!({})), (200, Some(-32602))).await;
    check(&mut wire, "O19", &add("add"), &call(33, "add", json!([1])), (200, Some(-32602))).await;
    // A result that says that it failed.
    check(&mut wire, "O19", &add("add"), &call(34, "add", json!({"a": "x"})), OK).await;
    let bare = json!({"jsonrpc": "2.0", "id": 35, "method": "tools/list", "params": {}});
    check(&mut wire, "O19", &list, &bare, (400, Some(-32602))).await;
}

/// U-01, U-04, U-10, U-11, U-17: what is no request, and what a modern server does not have.
#[front::test]
async fn everything_else_has_its_status() {
    let running = start(&server()).await;
    let mut wire = running.open().await;
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}});
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "notifications/cancelled")];
    wire.post(&headers, &cancelled.to_string()).await;
    let answer = wire.answer().await;
    assert_eq!((answer.head.status, &*answer.body), (202, ""), "U-01");
    wire.post(&headers, r#"{"jsonrpc":"2.0","method":7}"#).await;
    let answer = wire.answer().await;
    assert_eq!((answer.head.status, answer.json().get("id")), (400, None), "U-01");

    wire.post(&[("mcp-method", "server/discover")], &modern_request(1, "server/discover", json!({})).to_string()).await;
    let answer = wire.answer().await;
    assert_eq!((answer.head.status, &answer.json()["error"]["code"]), (400, &json!(-32020)), "U-04");

    wire.get(&[]).await;
    let got = wire.answer().await;
    wire.write("DELETE /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nmcp-session-id: x\r\n\r\n").await;
    for answer in [got, wire.answer().await] {
        assert_eq!((answer.head.status, answer.head.header("allow")), (405, Some("POST")), "U-10");
    }

    let more = [("mcp-session-id", "abc"), ("last-event-id", "17")];
    wire.modern_with(&more, 1, "tools/list", json!({})).await;
    let answer = wire.answer().await;
    assert_eq!((answer.head.status, answer.head.header("mcp-session-id")), (200, None), "U-11");
    assert_eq!(answer.json()["result"]["tools"].as_array().map(Vec::len), Some(3), "U-11");

    wire.post(&[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")], r#"{"jsonrpc":"2.0","id":3,"#)
        .await;
    let answer = wire.answer().await;
    let said = answer.json();
    assert_eq!((answer.head.status, &said["error"]["code"], said.get("id")), (400, &json!(-32700), None), "U-17");
}
