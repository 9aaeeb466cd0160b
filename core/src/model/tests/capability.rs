//! What is declared, what it means, and what is missing.

use super::{assert_json, read, round_trip};
use crate::model::*;

fn client(text: &str) -> ClientCapabilities {
    round_trip(text)
}

/// M-ELIC-05, T-20: `{}` means form, `url` alone means no form.
#[test]
fn m_elic_05_t_20_empty_elicitation_is_form() {
    let modes = |text| (client(text).has_form(), client(text).has_url());
    assert_eq!(modes("{}"), (false, false));
    assert_eq!(modes(r#"{"elicitation":{}}"#), (true, false));
    assert_eq!(modes(r#"{"elicitation":{"form":{}}}"#), (true, false));
    assert_eq!(modes(r#"{"elicitation":{"url":{}}}"#), (false, true));
    assert_eq!(modes(r#"{"elicitation":{"form":{},"url":{"x":1}}}"#), (true, true));
    assert_eq!(modes(r#"{"elicitation":{"voice":{}}}"#), (true, false));
}

#[test]
fn sampling_and_roots_are_told_apart() {
    let plain = client(r#"{"sampling":{}}"#);
    assert!(plain.has_sampling() && !plain.has_sampling_tools() && !plain.has_sampling_context());
    assert!(client(r#"{"sampling":{"tools":{}}}"#).has_sampling_tools());
    assert!(client(r#"{"sampling":{"context":{}}}"#).has_sampling_context());
    assert!(!client("{}").has_roots());
    assert!(!client(r#"{"roots":{}}"#).has_roots_list_changed());
    // T-47: tolerated on every revision.
    assert!(client(r#"{"roots":{"listChanged":true}}"#).has_roots_list_changed());
}

/// M-META-13, U-23: exactly what is missing, nothing that was declared.
#[test]
fn m_meta_13_missing_names_exactly_what_is_missing() {
    let cases = [
        ("{}", r#"{"elicitation":{"form":{}}}"#, Some(r#"{"elicitation":{"form":{}}}"#)),
        (r#"{"elicitation":{}}"#, r#"{"elicitation":{"url":{}}}"#, Some(r#"{"elicitation":{"url":{}}}"#)),
        (r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#, None),
        (r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":{"form":{}}}"#, Some(r#"{"elicitation":{"form":{}}}"#)),
        (r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":{}}"#, Some(r#"{"elicitation":{}}"#)),
        (
            r#"{"elicitation":{"url":{}}}"#,
            r#"{"elicitation":{"form":{},"url":{}},"roots":{}}"#,
            Some(r#"{"elicitation":{"form":{}},"roots":{}}"#),
        ),
        (r#"{"sampling":{}}"#, r#"{"sampling":{"tools":{}}}"#, Some(r#"{"sampling":{"tools":{}}}"#)),
        ("{}", r#"{"sampling":{"tools":{}}}"#, Some(r#"{"sampling":{"tools":{}}}"#)),
        (r#"{"sampling":{"tools":{"a":1}}}"#, r#"{"sampling":{"tools":{}}}"#, None),
        ("{}", r#"{"roots":{}}"#, Some(r#"{"roots":{}}"#)),
        (r#"{"roots":{}}"#, r#"{"roots":{"listChanged":true}}"#, Some(r#"{"roots":{"listChanged":true}}"#)),
        (r#"{"roots":{}}"#, r#"{"roots":{"listChanged":false}}"#, None),
        (
            r#"{"extensions":{"a.b/c":{}}}"#,
            r#"{"extensions":{"a.b/c":{"x":1},"a.b/d":{}}}"#,
            Some(r#"{"extensions":{"a.b/d":{}}}"#),
        ),
        (r#"{"x":{}}"#, r#"{"x":{},"y":{}}"#, Some(r#"{"y":{}}"#)),
        (r#"{"roots":{}}"#, "{}", None),
    ];
    for (declared, required, missing) in cases {
        let answer = client(declared).missing(&client(required));
        assert_eq!(answer, missing.map(read), "{declared} lacks of {required}");
    }
}

#[test]
fn requests_know_what_they_need() {
    let sample = CreateMessageParams::new(vec![], 5);
    assert_json(&sample.required_capabilities(), r#"{"sampling":{}}"#);
    assert_json(&sample.clone().tools(vec![]).required_capabilities(), r#"{"sampling":{"tools":{}}}"#);
    assert_json(&sample.tool_choice(ToolChoice::new()).required_capabilities(), r#"{"sampling":{"tools":{}}}"#);
    assert_json(&ElicitParams::url("m", "https://x").required_capabilities(), r#"{"elicitation":{"url":{}}}"#);
    assert_json(&InputRequest::from(ListRootsParams::new()).required_capabilities(), r#"{"roots":{}}"#);
}

/// The prefix of an extension identifier is mandatory.
#[test]
fn extensions_need_a_prefix() {
    let settings = || super::json(r#"{"mimeTypes":["text/html;profile=mcp-app"]}"#);
    let declared = ClientCapabilities::new().with_extension("io.modelcontextprotocol/ui", settings()).unwrap();
    assert_json(
        &declared,
        r#"{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}"#,
    );
    assert_eq!(declared.extension("io.modelcontextprotocol/ui"), Some(&settings()));
    assert_eq!(ClientCapabilities::new().with_extension("ui", settings()), Err(KeyError::NoPrefix));
    assert_eq!(ServerCapabilities::new().with_extension("1a/ui", settings()), Err(KeyError::Label));
}

/// U-31: the acknowledgement is the part that is honoured.
#[test]
fn u_31_honoured_is_a_subset() {
    let asked: SubscriptionFilter =
        read(r#"{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["file:///a"],"x":true}"#);
    let tools_only: ServerCapabilities = read(r#"{"tools":{"listChanged":true},"resources":{"subscribe":false}}"#);
    assert_json(&asked.honoured(&tools_only), r#"{"toolsListChanged":true}"#);
    let all: ServerCapabilities = read(
        r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}"#,
    );
    assert_json(
        &asked.honoured(&all),
        r#"{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["file:///a"]}"#,
    );
    assert!(asked.honoured(&ServerCapabilities::new()).is_empty());
}
