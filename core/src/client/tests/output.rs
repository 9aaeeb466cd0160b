//! Structured content and the promises of tools.

use super::*;

/// Lists these tools.
fn list(driver: &mut Driver, tools: Value) {
    let call = driver.call_with(Request::list(List::Tools, None), CallOptions::new());
    let frame = driver.frame();
    driver.result(&frame["id"], json!({"tools": tools}));
    assert!(driver.done(call).is_ok());
}

fn tool(name: &str, schema: Value) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}, "outputSchema": schema})
}

/// Calls a tool that answers this.
fn call(driver: &mut Driver, name: &str, result: Value) -> Result<Answer, CallError> {
    let (call, frame) = driver.tool(name);
    driver.result(&frame["id"], result);
    driver.done(call)
}

fn problem(outcome: Result<Answer, CallError>) -> OutputProblem {
    match outcome {
        Err(CallError::OutputInvalid { problem, .. }) => problem,
        other => panic!("{other:?}"),
    }
}

/// O15: declared dialects are obeyed, foreign references are never followed and never taken as "anything goes".
#[test]
fn o15_dialects_and_foreign_references() {
    let mut driver = Driver::modern(config());
    list(
        &mut driver,
        json!([
            tool(
                "pair",
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["pair"],
                 "properties": {"pair": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}}})
            ),
            tool("ext", json!({"$ref": "http://127.0.0.1:9/s.json"})),
            tool("odd", json!({"$schema": "https://e/own", "type": "object"})),
        ]),
    );
    assert!(call(&mut driver, "pair", json!({"content": [], "structuredContent": {"pair": [1, "x"]}})).is_ok());
    let wrong = json!({"content": [], "structuredContent": {"pair": ["x", 1]}});
    let outcome = call(&mut driver, "pair", wrong.clone());
    let Err(CallError::OutputInvalid { result, .. }) = &outcome else { panic!() };
    assert_eq!(result.parse::<Value>().unwrap(), wrong, "the result comes with the report");
    assert!(matches!(problem(outcome), OutputProblem::Mismatch(_)));
    let ok = || json!({"content": [], "structuredContent": {"ok": true}});
    let OutputProblem::UnusableSchema(why) = problem(call(&mut driver, "ext", ok())) else { panic!() };
    assert!(why.contains("outside of its document"), "{why}");
    // Each time, and by name.
    assert!(matches!(problem(call(&mut driver, "ext", ok())), OutputProblem::UnusableSchema(_)));
    let dialect = problem(call(&mut driver, "odd", ok()));
    assert_eq!(dialect, OutputProblem::UnsupportedDialect("https://e/own".into()));
    driver.quiet();
}

/// O16 a: an error has a shape of its own; b: a present `null` is content.
#[test]
fn o16_errors_and_null() {
    let mut driver = Driver::modern(config());
    list(
        &mut driver,
        json!([
            tool(
                "things",
                json!({"type": "object", "properties": {"things": {"type": "array"}}, "required": ["things"],
                 "additionalProperties": false})
            ),
            tool("null", json!({"type": "null"})),
        ]),
    );
    let error = json!({"resultType": "complete", "isError": true, "content": [{"type": "text", "text": "no such list"}],
                       "structuredContent": {"code": "NOT_FOUND"}});
    let answer = call(&mut driver, "things", error.clone()).unwrap();
    assert!(answer.is_error());
    assert_eq!(answer.json(), raw(error));
    assert_eq!(answer.structured_content(), Some(raw(json!({"code": "NOT_FOUND"}))));

    let answer = call(&mut driver, "null", json!({"content": [], "structuredContent": null})).unwrap();
    assert_eq!(answer.structured_content(), Some(Json::NULL));
    assert_eq!(problem(call(&mut driver, "null", json!({"content": []}))), OutputProblem::Missing);
    assert!(matches!(
        problem(call(&mut driver, "things", json!({"content": [], "structuredContent": null}))),
        OutputProblem::Mismatch(_)
    ));
    driver.quiet();
}

/// Tools that were never listed, have no schema, lost it, or are not checked.
#[test]
fn only_known_promises_are_checked() {
    let odd = || json!({"content": [], "structuredContent": 5});
    let mut driver = Driver::modern(config());
    assert!(call(&mut driver, "t", odd()).is_ok());
    list(&mut driver, json!([tool("t", json!({"type": "object"}))]));
    assert!(call(&mut driver, "t", odd()).is_err());
    assert!(call(&mut driver, "other", odd()).is_ok());
    list(&mut driver, json!([{"name": "t", "inputSchema": {}}]));
    assert!(call(&mut driver, "t", odd()).is_ok());
    list(&mut driver, json!([tool("t", json!({"type": "object"})), 7, {"no": "name"}]));
    assert!(call(&mut driver, "t", odd()).is_err());
    // The list has changed: what is known may be wrong.
    driver.notify("notifications/tools/list_changed", json!({}));
    driver.event();
    assert!(call(&mut driver, "t", odd()).is_ok());

    let mut driver = Driver::modern(config().validate_output(false));
    list(&mut driver, json!([tool("t", json!({"type": "object"}))]));
    assert!(call(&mut driver, "t", odd()).is_ok());
}

/// Walks show schemas too, raw calls are checked as well, names with escapes are found.
#[test]
fn schemas_of_walks_and_raw_calls() {
    let mut driver = Driver::legacy(config(), Version::V2025_06_18);
    let walk = driver.client.walk(driver.now, List::Tools, CallOptions::new()).unwrap();
    let frame = driver.frame();
    driver.result(&frame["id"], json!({"tools": [tool("a\"é", json!({"type": "object", "required": ["x"]}))]}));
    assert!(driver.done(walk).is_ok());
    let result = json!({"content": [], "structuredContent": {}});
    assert!(matches!(problem(call(&mut driver, "a\"é", result.clone())), OutputProblem::Mismatch(_)));
    let request =
        Request::custom("tools/call", Json::from_text(r#"{"arguments":{},"name":"a\"\u00e9"}"#).unwrap()).unwrap();
    let id = driver.call(request);
    let frame = driver.frame();
    driver.result(&frame["id"], result);
    assert!(matches!(problem(driver.done(id)), OutputProblem::Mismatch(_)));
}

/// Rule 7: a schema that would take for ever takes a bounded time, and is reported.
#[test]
fn schemas_that_explode_are_reported() {
    let twice = json!({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/x"}});
    let schema = json!({"$ref": "#/$defs/x", "$defs": {"x": {"anyOf": [twice, twice]}}});
    let mut driver = Driver::modern(config());
    list(&mut driver, json!([tool("t", schema)]));
    let nested = format!("{}{}", "[".repeat(40), "]".repeat(40));
    let (id, frame) = driver.tool("t");
    driver.feed(
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"content\":[],\"structuredContent\":{nested}}}}}\n",
            frame["id"]
        )
        .as_bytes(),
    );
    let OutputProblem::UnusableSchema(why) = problem(driver.done(id)) else { panic!() };
    assert!(why.contains("steps"), "{why}");
}
