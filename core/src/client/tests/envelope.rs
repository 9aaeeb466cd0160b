//! What requests say beside their params.

use super::*;
use crate::model::{LoggingLevel, TraceContext};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// M-META-07, M-META-08, M-ELIC-04: every modern request says version, capabilities and identity.
#[test]
fn every_modern_request_carries_the_envelope() {
    let mut driver = Driver::modern(config().capabilities(form()));
    let list = [
        Request::call_tool("t\"\n", &raw(json!({"a": [1, {}]}))),
        Request::read_resource("file:///é"),
        Request::get_prompt("p", &raw(json!({"x": "y"}))),
        Request::complete_prompt("p", "a", "v", Some(&raw(json!({"b": "w"})))),
        Request::complete_template("a:{b}", "b", "", None),
        Request::list(List::Templates, Some("")),
        Request::custom("x/y", raw(json!({"big": 9_007_199_254_740_993_u64}))).unwrap(),
    ];
    let params = [
        json!({"name": "t\"\n", "arguments": {"a": [1, {}]}}),
        json!({"uri": "file:///é"}),
        json!({"name": "p", "arguments": {"x": "y"}}),
        json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "v"},
               "context": {"arguments": {"b": "w"}}}),
        json!({"ref": {"type": "ref/resource", "uri": "a:{b}"}, "argument": {"name": "b", "value": ""}}),
        json!({"cursor": ""}),
        json!({"big": 9_007_199_254_740_993_u64}),
    ];
    let mut ids = std::collections::BTreeSet::new();
    for (request, mut expected) in list.into_iter().zip(params) {
        driver.call(request);
        let frame = driver.frame();
        assert!(ids.insert(frame["id"].as_i64().unwrap()), "M-BASE-06: ids of open requests are unique");
        expected["_meta"] = json!({VERSION: "2026-07-28", CAPABILITIES: {"elicitation": {"form": {}}}, INFO: {"name": "c", "version": "1"}});
        assert_eq!(frame["params"], expected);
    }
}

/// M-META-08: identity can be switched off; the legacy handshake needs it.
#[test]
fn identity_can_be_switched_off() {
    let mut driver = Driver::modern(config().send_client_info(false));
    let (_, frame) = driver.tool("t");
    assert_eq!(frame["params"]["_meta"], json!({VERSION: "2026-07-28", CAPABILITIES: {}}));
    let mut driver = Driver::new(config().send_client_info(false).connect(Connect::Legacy));
    driver.client.connect(driver.now).unwrap();
    assert_eq!(driver.frame()["params"]["clientInfo"]["name"], "c");
}

/// M-META-21, design §8: foreign keys pass, keys of the machine cannot be had from outside.
#[test]
fn foreign_keys_are_merged_and_filled_keys_are_protected() {
    let mut driver = Driver::modern(config().meta(raw(json!({"a/b": 1, "c/d": 1}))));
    let request = Request::custom(
        "x/y",
        raw(json!({"_meta": {"c/d": 2, "e/f": 2, VERSION: "1999-01-01", "progressToken": "stolen"}, "k": 1})),
    )
    .unwrap();
    let options = CallOptions::new().meta(raw(json!({"e/f": 3, CAPABILITIES: {"roots": {}}, LEVEL: "debug"})));
    driver.call_with(request, options);
    let frame = driver.frame();
    assert_eq!(frame["params"]["k"], 1);
    assert_eq!(
        frame["params"]["_meta"],
        json!({VERSION: "2026-07-28", CAPABILITIES: {}, INFO: {"name": "c", "version": "1"}, "a/b": 1, "c/d": 2, "e/f": 3})
    );
}

/// The legacy era has no envelope; `_meta` is there only if something is in it.
#[test]
fn legacy_requests_have_no_envelope() {
    let mut driver = Driver::legacy(config(), Version::V2025_06_18);
    let (_, frame) = driver.tool("t");
    assert_eq!(frame["params"], json!({"name": "t", "arguments": {}}));
    driver.call_with(
        Request::list(List::Tools, None),
        CallOptions::new().progress().meta(raw(json!({"a": 1}))).log_level(LoggingLevel::Info),
    );
    assert_eq!(driver.frame()["params"], json!({"_meta": {"a": 1, "progressToken": 1}}));
}

/// M-META-19: trace context travels if it is well-formed.
#[test]
fn trace_context_travels_if_it_is_well_formed() {
    let mut driver = Driver::legacy(config(), Version::V2025_11_25);
    let mut trace = TraceContext::default();
    trace.traceparent = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into());
    trace.tracestate = Some("a=b".into());
    trace.baggage = Some("not baggage".into());
    driver.call_with(Request::ping(), CallOptions::new().trace(trace));
    assert_eq!(
        driver.frame()["params"]["_meta"],
        json!({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "a=b"})
    );
}

/// T-27: the level of log messages is the session's in the legacy era and each request's in the modern one.
#[test]
fn log_levels_by_era() {
    let mut driver = Driver::modern(config().log_level(LoggingLevel::Warning));
    let (_, frame) = driver.tool("t");
    assert_eq!(frame["params"]["_meta"][LEVEL], "warning");
    assert_eq!(driver.diagnostic().kind, DiagnosticKind::Deprecated);
    driver.call_with(Request::read_resource("a:b"), CallOptions::new().log_level(LoggingLevel::Debug));
    assert_eq!(driver.frame()["params"]["_meta"][LEVEL], "debug");
    let call = driver.client.set_level(driver.now, LoggingLevel::Error).unwrap();
    assert_eq!(driver.done(call).unwrap().json(), raw(json!({})));
    let (_, frame) = driver.tool("t");
    assert_eq!(frame["params"]["_meta"][LEVEL], "error");
    driver.quiet();

    let mut driver = Driver::legacy(config(), Version::V2024_11_05);
    let call = driver.client.set_level(driver.now, LoggingLevel::Error).unwrap();
    let frame = driver.frame();
    assert_eq!((&frame["method"], &frame["params"]), (&json!("logging/setLevel"), &json!({"level": "error"})));
    driver.result(&frame["id"], json!({}));
    assert!(driver.done(call).is_ok());
}

#[test]
fn params_and_meta_must_be_objects() {
    assert!(Request::custom("x", raw(json!([]))).is_err());
    assert!(Request::custom("x", Json::from_text(r#"{"_meta":{},"_meta":{}}"#).unwrap()).is_err());
    assert!(Request::custom("initialize", Json::EMPTY_OBJECT).is_err());
    assert!(Request::custom("subscriptions/listen", Json::EMPTY_OBJECT).is_err());
    let mut driver = Driver::modern(config());
    let options = CallOptions::new().meta(raw(json!(1)));
    assert!(driver.client.call(driver.now, Request::discover(), options).is_err());
    driver.quiet();
}

/// Methods that an era does not have are not sent.
#[test]
fn methods_of_the_other_era_are_not_sent() {
    let mut driver = Driver::modern(config());
    for request in [Request::ping(), Request::subscribe("a:b"), Request::unsubscribe("a:b")] {
        let call = driver.call(request);
        assert!(matches!(driver.done(call), Err(CallError::NotInVersion { version: Version::V2026_07_28, .. })));
    }
    let mut legacy = Driver::legacy(config(), Version::V2025_11_25);
    let call = legacy.call(Request::discover());
    assert!(matches!(legacy.done(call), Err(CallError::NotInVersion { version: Version::V2025_11_25, .. })));
    let filter = crate::model::SubscriptionFilter::new().tools_list_changed(true);
    let call = legacy.client.listen(legacy.now, &filter, CallOptions::new()).unwrap();
    assert!(matches!(legacy.done(call), Err(CallError::NotInVersion { .. })));
    driver.quiet();
    legacy.quiet();
}

/// L-LIFE-12: with strict capabilities nothing goes out that the server has not declared.
#[test]
fn strict_capabilities_hold_calls_back() {
    let mut driver = Driver::legacy(config().strict_capabilities(true), Version::V2025_06_18);
    let call = driver.call(Request::list(List::Prompts, None));
    assert_eq!(driver.done(call).unwrap_err(), CallError::CapabilityMissing { capability: "prompts" });
    let call = driver.call(Request::complete_prompt("p", "a", "", None));
    assert_eq!(driver.done(call).unwrap_err(), CallError::CapabilityMissing { capability: "completions" });
    driver.tool("t");
    driver.quiet();
    // T-30: 2024-11-05 has completion without the capability.
    let mut driver = Driver::legacy(config().strict_capabilities(true), Version::V2024_11_05);
    driver.call(Request::complete_prompt("p", "a", "", None));
    assert_eq!(driver.frame()["method"], "completion/complete");
}
