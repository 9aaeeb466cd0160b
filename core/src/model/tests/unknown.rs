//! What this crate does not know survives; what contradicts the schema does not read.

use serde::de::DeserializeOwned;

use super::{assert_json, exact, json, read, round_trip, write};
use crate::model::*;

/// O20: values from the future reach the caller, and are written again as they came.
#[test]
fn o20_values_from_the_future() {
    let result: CallToolResult = round_trip(
        r#"{"resultType":"complete","x-vendor":{"n":9007199254740993},"content":[{"type":"text","text":"hi","annotations":{"audience":["system","user"],"priority":0.5},"extra":1},{"type":"hologram","data":"zz"}]}"#,
    );
    let [ContentBlock::Text(text), ContentBlock::Unknown(hologram)] = &result.content[..] else { panic!() };
    assert_eq!(text.text, "hi");
    let annotations = text.annotations.as_ref().unwrap();
    assert_eq!(annotations.audience, Some(vec![Role::Other("system".into()), Role::User]));
    assert_eq!(text.extra.get("extra"), Some(&json("1")));
    assert_eq!(hologram.get(), r#"{"type":"hologram","data":"zz"}"#);
    assert_eq!(result.extra.get("x-vendor").unwrap().get(), r#"{"n":9007199254740993}"#);
}

/// O16, variant a: structured content of an error is kept. Variant b: a present `null` is not absence.
#[test]
fn o16_structured_content_of_an_error_and_null() {
    let failed: CallToolResult = round_trip(
        r#"{"resultType":"complete","isError":true,"content":[{"type":"text","text":"no such list"}],"structuredContent":{"code":"NOT_FOUND"}}"#,
    );
    assert!(failed.failed());
    assert_eq!(failed.structured_content, Some(json(r#"{"code":"NOT_FOUND"}"#)));

    let null: CallToolResult = round_trip(r#"{"content":[],"structuredContent":null}"#);
    assert_eq!(null.structured_content, Some(crate::json::Json::NULL));
    let absent: CallToolResult = round_trip(r#"{"content":[]}"#);
    assert_eq!(absent.structured_content, None);
    assert_ne!(null, absent);
}

/// O13: a request for input with metadata is read as one, its elicitation without `mode` as a form.
#[test]
fn o13_input_request_with_metadata() {
    let result: InputRequiredResult = round_trip(
        r#"{"resultType":"input_required","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}},"inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who approves?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}},"requestState":"A b/+=\u00e9"}"#,
    );
    assert_eq!(result.result_type, ResultType::InputRequired);
    assert_eq!(result.request_state.as_deref(), Some("A b/+=é"));
    let request = result.input_requests.as_ref().unwrap().get("who").unwrap().unwrap();
    let InputRequest::Elicit(ElicitParams::Form(form)) = &request else { panic!("{request:?}") };
    assert_eq!((&*form.message, &form.mode), ("Who approves?", &None));
    assert_eq!(request.required_capabilities(), ClientCapabilities::new().with_form());

    let mut responses = InputResponses::new();
    responses.insert_elicit("who", ElicitResult::accept(json(r#"{"name":"Kim"}"#))).unwrap();
    let retry = CallToolParams::new("deploy")
        .arguments(json(r#"{"env":"test"}"#))
        .input_responses(responses)
        .request_state(result.request_state.unwrap());
    assert_json(
        &retry,
        r#"{"name":"deploy","arguments":{"env":"test"},"inputResponses":{"who":{"action":"accept","content":{"name":"Kim"}}},"requestState":"A b/+=\u00e9"}"#,
    );

    // Variant c is told by the result type, variant d by the absent requests.
    let later: EmptyResult = read(r#"{"resultType":"later"}"#);
    assert_eq!(later.result_type, Some(ResultType::Other("later".into())));
    let state_only: InputRequiredResult = read(r#"{"resultType":"input_required","requestState":""}"#);
    assert_eq!((state_only.request_state.as_deref(), state_only.input_requests), (Some(""), None));
}

#[test]
fn unknown_strings_survive() {
    assert!(matches!(round_trip::<Role>(r#""system""#), Role::Other(_)));
    assert!(matches!(round_trip::<IconTheme>(r#""sepia""#), IconTheme::Other(_)));
    assert!(matches!(round_trip::<StopReason>(r#""refusal""#), StopReason::Other(_)));
    assert!(matches!(round_trip::<ElicitAction>(r#""later""#), ElicitAction::Other(_)));
    assert!(matches!(round_trip::<IncludeContext>(r#""some""#), IncludeContext::Other(_)));
    assert!(matches!(round_trip::<ToolChoiceMode>(r#""forced""#), ToolChoiceMode::Other(_)));
    assert!(matches!(round_trip::<OpenLoggingLevel>(r#""loud""#), OpenLoggingLevel::Other(_)));
    // A known value is known, however it was made.
    assert_eq!(Role::Other("user".into()), Role::User);
}

#[test]
fn unknown_kinds_survive() {
    for text in [r#"{"data":[1,2]}"#, r#"{"type":null,"data":1}"#, r#"{"a":1,"type":"x","b":{"c":1e400}}"#, "{}"] {
        assert!(matches!(round_trip::<ContentBlock>(text), ContentBlock::Unknown(_)), "{text}");
    }
    let reference: CompletionReference = round_trip(r#"{"type":"ref/tool","name":"t"}"#);
    assert!(matches!(reference, CompletionReference::Unknown(_)));
    let mode: ElicitParams = round_trip(r#"{"mode":"voice","message":"m"}"#);
    assert!(matches!(mode, ElicitParams::Unknown(_)));
    let request: InputRequest = round_trip(r#"{"method":"location/get","params":{"n":1e99},"x":1}"#);
    assert!(matches!(request, InputRequest::Unknown(_)));
    let contents: ResourceContents = round_trip(r#"{"uri":"file:///a","stream":"s"}"#);
    assert!(matches!(contents, ResourceContents::Unknown(_)));
    let both: ResourceContents = round_trip(r#"{"uri":"file:///a","blob":"AA==","text":"t"}"#);
    assert!(matches!(both, ResourceContents::Text(text) if text.extra.contains("blob")));
}

#[test]
fn absent_and_null_optional_members_are_the_same() {
    let tool: Tool = read(r#"{"name":"a","title":null,"inputSchema":{"type":"object"},"icons":null,"_meta":null}"#);
    assert_eq!(tool, Tool::new("a"));
    let page: ListToolsResult = read(r#"{"tools":[],"nextCursor":null}"#);
    assert_eq!(page.next_cursor, None);
    let form: ElicitParams = read(r#"{"mode":null,"message":"m","requestedSchema":{}}"#);
    assert!(matches!(form, ElicitParams::Form(_)));
}

#[track_caller]
fn refuses<T: DeserializeOwned>(text: &str, part: &str) {
    let Err(error) = json(text).parse::<T>() else { panic!("{text} was read") };
    assert!(error.to_string().contains(part), "{text}: {error}");
}

#[test]
fn a_known_member_stands_once() {
    refuses::<ContentBlock>(r#"{"type":"text","text":"a","text":"b"}"#, "duplicate field `text`");
    refuses::<ContentBlock>(r#"{"text":"a","type":"text","type":"text"}"#, "duplicate field `type`");
    refuses::<CallToolResult>(r#"{"content":[],"content":[]}"#, "duplicate field `content`");
    refuses::<CallToolResult>(r#"{"content":[],"isError":null,"isError":true}"#, "duplicate field `isError`");
    refuses::<CallToolResult>(r#"{"structuredContent":null,"structuredContent":1}"#, "duplicate field");
    refuses::<ListToolsResult>(r#"{"tools":[],"tools":[]}"#, "duplicate field `tools`");
}

/// M-MRTR-05: keys are unique within a result.
#[test]
fn m_mrtr_05_keys_of_input_requests_are_unique() {
    let twice = r#"{"a":{"method":"roots/list"},"b":{"method":"roots/list"},"a":{"method":"roots/list"}}"#;
    refuses::<InputRequests>(twice, "a key stands twice");
    refuses::<InputResponses>(r#"{"a":{},"a":{}}"#, "a key stands twice");
}

#[test]
fn what_contradicts_the_schema_does_not_read() {
    refuses::<ContentBlock>(r#"{"type":"text"}"#, "missing field `text`");
    refuses::<ContentBlock>(r#"{"type":"text","text":7}"#, "expected a string");
    refuses::<ContentBlock>(r#""text""#, "ContentBlock");
    refuses::<TextContent>(r#"{"text":"t"}"#, "missing field `type`");
    refuses::<TextContent>(r#"{"type":"image","text":"t"}"#, "`type` is not `text`");
    refuses::<Tool>(r#"{"name":"t"}"#, "missing field `inputSchema`");
    refuses::<ListToolsResult>("{}", "missing field `tools`");
    refuses::<SamplingContent>("7", "a content block or a list");
    refuses::<ProgressParams>(r#"{"progressToken":null,"progress":1}"#, "string or an integer");
    refuses::<ProgressParams>(r#"{"progressToken":1,"progress":"1"}"#, "expected a number");
    refuses::<InputRequest>(r#"{"method":"elicitation/create"}"#, "missing field `params`");
    refuses::<GetPromptParams>(r#"{"name":"p","arguments":{"a":1}}"#, "expected a string");
    refuses::<CallToolResult>("[]", "CallToolResult");
}

/// Servers exist that answer structured content only.
#[test]
fn absent_content_is_read_as_none() {
    let result: CallToolResult = read(r#"{"structuredContent":{"a":1}}"#);
    assert!(result.content.is_empty());
    assert_json(&result, r#"{"content":[],"structuredContent":{"a":1}}"#);
}

/// Nothing recurses into what a peer nests.
#[test]
fn deep_nesting_is_carried_not_followed() {
    const DEPTH: usize = 20_000;
    let block = r#"{"type":"tool_result","toolUseId":"u","content":["#.repeat(DEPTH) + &"]}".repeat(DEPTH);
    let result: ContentBlock = serde_json::from_str(&block).unwrap();
    let ContentBlock::ToolResult(outer) = result else { panic!() };
    assert!(matches!(&outer.content[..], [ContentBlock::Unknown(_)]));

    let text = format!(r#"{{"content":[],"x":{}{}}}"#, "[".repeat(DEPTH), "]".repeat(DEPTH));
    let result: CallToolResult = serde_json::from_str(&text).unwrap();
    assert_eq!(result.extra.get("x").unwrap().get().len(), 2 * DEPTH);
}

#[test]
fn numbers_keep_their_value_and_spelling() {
    for text in [
        "0",
        "-0",
        "-0.0",
        "1",
        "1.0",
        "1.50",
        "1e2",
        "1E+2",
        "0.1",
        "0.10000001",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "123456789012345678901234567890",
        "3.14159265358979323846264338327950288",
        "1e400",
        "-1e-400",
    ] {
        let number: Number = read(text);
        assert_eq!(write(&number).get(), text);
        assert_eq!(number.to_string().parse::<f64>().ok(), text.parse::<f64>().ok(), "{text}");
    }
    let number = read::<Number>;
    assert_eq!(number("100").as_i64(), Some(100));
    assert_eq!(number("1e2").as_i64(), Some(100));
    assert_eq!(number("1.0").as_i64(), Some(1));
    assert_eq!(number("1.5").as_i64(), None);
    assert_eq!(number("9223372036854775808").as_i64(), None);
    assert_eq!(number("9007199254740993.0").as_i64(), None);
    assert!(number("0.1") < number("0.10000001"));
    assert!(number("9007199254740992") < number("9007199254740993"));
    assert_eq!(number("1"), number("1.0"));
    assert_ne!(number("9007199254740993"), number("9007199254740992"));
    assert_eq!(number("1e400").saturating_u64(), u64::MAX);
    assert_eq!(number("-5").saturating_u64(), 0);
    assert_eq!(number("2.9").saturating_u64(), 2);

    assert_eq!(write(&Number::from(2.0)).get(), "2");
    assert_eq!(write(&Number::from(0.25)).get(), "0.25");
    assert_eq!(write(&Number::from(u64::MAX)).get(), "18446744073709551615");
    assert_eq!(Number::from_f64(f64::NAN), None);
    assert_eq!(Number::from(f64::NAN), Number::from(0));
    assert_eq!(Number::from(f64::INFINITY).as_f64(), f64::MAX);
}

/// M-META-21, M-META-01: unknown and reserved keys alike pass through, whatever their values are.
#[test]
fn m_meta_21_unknown_meta_keys_pass_through() {
    let params: CallToolParams = round_trip(
        r#"{"name":"t","_meta":{"progressToken":[1],"io.modelcontextprotocol/clientInfo":"?","dev.mcp/x":null,"com.example/y":{"z":12345678901234567890123}}}"#,
    );
    let meta = params.meta.unwrap();
    assert_eq!(meta.progress_token(), None);
    assert!(meta.client_info().is_err());
    assert_eq!(meta.get("dev.mcp/x"), Some(&crate::json::Json::NULL));
}

#[test]
fn extra_is_a_small_ordered_map() {
    let mut extra: Extra = read(r#"{"b":1,"a":2,"b":3}"#);
    assert_eq!(extra.len(), 3);
    assert_eq!(extra.get("b"), Some(&json("3")));
    assert_eq!(extra.insert("a", json("4")), Some(json("2")));
    assert_eq!(extra.insert("c", json("5")), None);
    assert_eq!(write(&extra).get(), r#"{"b":1,"a":4,"b":3,"c":5}"#);
    assert_eq!(extra.remove("b"), Some(json("3")));
    assert_eq!(extra.remove("b"), None);
    assert_eq!(exact(&write(&extra)), exact(&json(r#"{"a":4,"c":5}"#)));
    extra.remove("a");
    extra.remove("c");
    assert_eq!(extra, Extra::new());
    assert!(extra.is_empty());
}
