//! Names and arguments in headers, tools that are dropped for theirs, and what a refusal of headers leads to.

use super::*;
use crate::client::List;

fn tool(name: &str, schema: Value) -> Value {
    json!({"name": name, "inputSchema": schema})
}

fn tools(tools: &[Value]) -> Value {
    json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"})
}

fn annotated(kind: &str, header: &str) -> Value {
    json!({"type": kind, "x-mcp-header": header})
}

/// A driver that has read this list.
fn knowing(list: &[Value]) -> Driver {
    let mut driver = Driver::modern(config());
    let call = driver.call(Request::list(List::Tools, None));
    let fetch = driver.fetch();
    driver.answer(&fetch, tools(list));
    driver.done(call).unwrap();
    driver.quiet();
    driver
}

fn call_with(driver: &mut Driver, name: &str, arguments: Value) -> (CallId, Fetch) {
    let call = driver.call(Request::call_tool(name, &Json::from(arguments)));
    (call, driver.fetch())
}

/// M-HDR-08 … -10, M-ENC-03, O12 (client): what names a request is in its head.
#[test]
fn m_hdr_09_10_o12_names_are_in_headers() {
    let mut driver = Driver::modern(config());
    for (request, method, name) in [
        (Request::call_tool("my-tool", &Json::EMPTY_OBJECT), "tools/call", Some("my-tool")),
        (
            Request::get_prompt("=?base64?literal?=", &Json::EMPTY_OBJECT),
            "prompts/get",
            Some("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ),
        (
            Request::read_resource("file:///path/to/file%20name.txt"),
            "resources/read",
            Some("file:///path/to/file%20name.txt"),
        ),
        (
            Request::read_resource("file:///data/文件.txt"),
            "resources/read",
            Some("=?base64?ZmlsZTovLy9kYXRhL+aWh+S7ti50eHQ=?="),
        ),
        (Request::list(List::Prompts, None), "prompts/list", None),
        (
            Request::custom("tools/call", Json::from(json!({"name": "custom", "arguments": {}}))).unwrap(),
            "tools/call",
            Some("custom"),
        ),
        (Request::custom("x/y", Json::from(json!({"name": "n"}))).unwrap(), "x/y", None),
    ] {
        driver.call(request);
        let fetch = driver.fetch();
        assert_eq!(fetch.header("mcp-method"), Some(method));
        assert_eq!(fetch.header("mcp-name"), name);
        assert_eq!(fetch.header("mcp-protocol-version"), Some("2026-07-28"));
    }
    driver.quiet();
}

/// M-XMH-01, -02, -11, -16, -22 … -24, M-ENC-01 … -03, -06, -08, U-47: annotated arguments are mirrored.
#[test]
fn m_xmh_02_u47_arguments_are_mirrored() {
    let mut driver = knowing(&[
        tool(
            "q",
            json!({"type": "object", "properties": {
                "region": annotated("string", "Region"),
                "priority": annotated("integer", "Priority"),
                "verbose": annotated("boolean", "Verbose"),
                "text": annotated("string", "Text"),
                "query": {"type": "string"},
                "at": {"type": "object", "properties": {"city": annotated("string", "City")}},
            }}),
        ),
        tool("plain", json!({"type": "object"})),
    ]);
    let params = |fetch: &Fetch| {
        let names = ["region", "priority", "verbose", "text", "query", "city"];
        names.map(|name| fetch.header(&format!("mcp-param-{name}")).map(str::to_owned))
    };
    let text = |text: &str| Some(text.to_owned());
    let arguments = json!({"region": "us-west1", "priority": 42, "verbose": false, "text": "", "query": "SELECT 1",
        "at": {"city": "Zürich"}});
    let (_, fetch) = call_with(&mut driver, "q", arguments);
    let city = text("=?base64?WsO8cmljaA==?=");
    assert_eq!(params(&fetch), [text("us-west1"), text("42"), text("false"), text(""), None, city]);
    let (_, fetch) = call_with(&mut driver, "q", json!({"region": null, "verbose": true, "text": " padded "}));
    assert_eq!(params(&fetch), [None, None, text("true"), text("=?base64?IHBhZGRlZCA=?="), None, None]);
    for (value, header) in [
        ("us west 1", "us west 1"),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("\tindented", "=?base64?CWluZGVudGVk?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ] {
        let (_, fetch) = call_with(&mut driver, "q", json!({"text": value}));
        assert_eq!(fetch.header("mcp-param-text"), Some(header));
    }
    let (_, fetch) = call_with(&mut driver, "plain", json!({"region": "x"}));
    assert_eq!(params(&fetch), [None, None, None, None, None, None]);
    driver.quiet();
}

/// M-XMH-08: what a header cannot carry is not sent at all.
#[test]
fn m_xmh_08_an_argument_that_no_header_can_carry_ends_the_call() {
    let mut driver = knowing(&[tool("q", json!({"type": "object", "properties": {"n": annotated("integer", "N")}}))]);
    let arguments = Json::from(json!({"n": 9_007_199_254_740_992_i64}));
    let call = driver.call(Request::call_tool("q", &arguments));
    assert!(matches!(driver.done(call), Err(CallError::Mirror(_))));
    driver.quiet();
    assert_eq!(driver.client.poll_timeout(), None);
}

/// U-46, M-XMH-12, -13: tools whose annotations break the rules are left out, the others stay, with a remark each.
#[test]
fn u46_m_xmh_12_13_invalid_tools_are_left_out() {
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let bad = [
        ("A", object(json!({"a": annotated("number", "X")}))),
        ("B", object(json!({"a": {"type": "array", "items": annotated("string", "X")}}))),
        ("C", object(json!({"a": {"oneOf": [annotated("string", "X")]}}))),
        ("D", json!({"properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": annotated("string", "X")}})),
        ("E", json!({"if": {"properties": {"a": annotated("string", "X")}}})),
        ("F", object(json!({"a": annotated("string", "A"), "n": {"properties": {"b": annotated("string", "a")}}}))),
        ("G", object(json!({"a": annotated("string", "a/b")}))),
    ];
    let good = [
        ("H", object(json!({"x-mcp-header": {"type": "string"}}))),
        ("I", object(json!({"a": {"type": "string", "default": {"x-mcp-header": "a/b"}}}))),
        ("J", object(json!({"loc": {"properties": {"city": annotated("string", "City")}}}))),
        ("K", object(json!({}))),
    ];
    let all: Vec<Value> = bad.iter().chain(&good).map(|(name, schema)| tool(name, schema.clone())).collect();
    for whole in [false, true] {
        let mut driver = Driver::modern(config());
        let call = match whole {
            true => driver.client.walk(driver.now, List::Tools, CallOptions::new()).unwrap(),
            false => driver.call(Request::list(List::Tools, None)),
        };
        let fetch = driver.fetch();
        driver.answer(&fetch, tools(&all));
        for (name, _) in &bad {
            let diagnostic = driver.diagnostic();
            assert_eq!(diagnostic.kind, DiagnosticKind::ToolDropped);
            assert!(diagnostic.text.contains(&format!("{name:?}")), "{}", diagnostic.text);
        }
        let answer = driver.done(call).unwrap();
        let names: Vec<String> = answer
            .items()
            .iter()
            .map(|item| item.parse::<Value>().unwrap()["name"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["H", "I", "J", "K"]);
        driver.quiet();
    }
    // M-XMH-14: a legacy server means nothing by it.
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    let call = driver.call(Request::list(List::Tools, None));
    let fetch = driver.fetch();
    driver.answer(&fetch, json!({"tools": all}));
    assert_eq!(driver.done(call).unwrap().items().len(), all.len());
    driver.quiet();
}

/// U-49, M-XMH-17: refused headers lead to one look at the tools and one more try.
#[test]
fn u49_m_xmh_17_refused_headers_are_put_right_once() {
    let mut driver = Driver::modern(config());
    let (call, fetch) = call_with(&mut driver, "q", json!({"region": "eu"}));
    assert_eq!(fetch.header("mcp-param-region"), None);
    driver.respond(&fetch, 400, JSON, &error(&fetch.rpc_id(), -32020, Value::Null).to_string());
    // The tool is on the second page.
    let first = driver.fetch();
    assert_eq!((first.rpc_method().as_str(), first.header("mcp-method")), ("tools/list", Some("tools/list")));
    assert_eq!(first.message()["params"]["cursor"], Value::Null);
    let mut page = tools(&[tool("other", json!({"type": "object"}))]);
    page["nextCursor"] = json!("2");
    driver.answer(&first, page);
    let second = driver.fetch();
    assert_eq!(second.message()["params"]["cursor"], "2");
    let mut page = tools(&[tool("q", json!({"properties": {"region": annotated("string", "Region")}}))]);
    page["nextCursor"] = json!("3");
    driver.answer(&second, page);
    let again = driver.fetch();
    assert_eq!(again.rpc_method(), "tools/call");
    assert_ne!(again.rpc_id(), fetch.rpc_id());
    assert_eq!(again.header("mcp-param-region"), Some("eu"));
    assert_eq!(again.message()["params"]["arguments"], json!({"region": "eu"}));
    driver.respond(&again, 400, JSON, &error(&again.rpc_id(), -32020, Value::Null).to_string());
    assert!(matches!(driver.done(call), Err(CallError::Remote(error)) if error.code.0 == -32020));
    driver.quiet();
    assert_eq!(driver.client.poll_timeout(), None);
}

/// If the tools cannot be read, the refusal is the answer; a call that is cancelled meanwhile ends once.
#[test]
fn a_look_at_the_tools_that_fails_changes_nothing() {
    let start = || {
        let mut driver = Driver::modern(config());
        let (call, fetch) = call_with(&mut driver, "q", json!({}));
        driver.respond(&fetch, 400, JSON, &error(&fetch.rpc_id(), -32020, Value::Null).to_string());
        let look = driver.fetch();
        (driver, call, look)
    };
    type Step = fn(&mut Driver, &Fetch);
    let steps: [Step; 3] = [
        |driver, look| driver.respond(look, 500, NONE, ""),
        |driver, look| driver.respond(look, 400, JSON, &error(&look.rpc_id(), -32603, Value::Null).to_string()),
        |driver, look| driver.broken(look),
    ];
    for step in steps {
        let (mut driver, call, look) = start();
        step(&mut driver, &look);
        assert!(matches!(driver.done(call), Err(CallError::Remote(error)) if error.code.0 == -32020));
        driver.quiet();
    }
    let (mut driver, call, look) = start();
    driver.client.cancel(driver.now, call, None).unwrap();
    assert_eq!(driver.done(call).unwrap_err(), CallError::Cancelled);
    assert_eq!(std::mem::take(&mut driver.aborted), [look.id]);
    driver.quiet();
    let (mut driver, call, look) = start();
    assert_eq!(driver.wait(), (seconds(60), TimerKind::CallIdle));
    assert!(matches!(driver.done(call), Err(CallError::TimedOut { .. })));
    assert_eq!(std::mem::take(&mut driver.aborted), [look.id]);
    driver.quiet();
}

/// Credentials and the application's own headers are on every request.
#[test]
fn every_request_carries_what_the_endpoint_says() {
    let endpoint = endpoint().authorization("Bearer abc").unwrap().header("X-Tenant", "7").unwrap();
    let mut driver = Driver::legacy_at(config(), Version::V2025_11_25, endpoint);
    let stream = driver.fetch();
    let (_, call) = driver.tool("t");
    driver.client.set_authorization(Some("Bearer def".into())).unwrap();
    assert!(driver.client.set_authorization(Some("a\nb".into())).is_err());
    driver.client.close(driver.now);
    driver.drain();
    let delete = driver.fetch();
    for (fetch, authorization) in [(stream, "Bearer abc"), (call, "Bearer abc"), (delete, "Bearer def")] {
        assert_eq!(fetch.header("authorization"), Some(authorization));
        assert_eq!(fetch.header("x-tenant"), Some("7"));
        assert!(!format!("{fetch:?}").contains("Bearer"));
    }
}
