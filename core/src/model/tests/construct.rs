//! What the constructors make.

use super::{assert_json, json, read};
use crate::model::*;

#[test]
fn text_results_have_nothing_that_was_not_said() {
    assert_eq!(super::write(&CallToolResult::text("hi")).get(), r#"{"content":[{"type":"text","text":"hi"}]}"#);
    assert_json(&CallToolResult::error("no"), r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#);
}

/// M-TOOL-19, M-TOOL-20: any value, with its JSON as a text.
#[test]
fn m_tool_19_20_structured_results_have_a_text_mirror() {
    for value in [r#"{"t":22.50,"n":18446744073709551617}"#, "[1,2]", "\"s\"", "7", "true", "null"] {
        let result = CallToolResult::structured(json(value));
        assert_eq!(result.structured_content.as_ref().unwrap().get(), value);
        assert_eq!(result.content[0].as_text(), Some(value));
    }
    let typed = CallToolResult::structured_value(&[("a", 1)]).unwrap();
    assert_json(&typed, r#"{"content":[{"type":"text","text":"[[\"a\",1]]"}],"structuredContent":[["a",1]]}"#);
}

/// M-PROMPT-05, M-PROMPT-06, M-RES-15: bytes are base64.
#[test]
fn m_prompt_05_06_m_res_15_bytes_are_encoded() {
    assert_json(
        &ContentBlock::image([0xfb, 0xff], "image/png"),
        r#"{"type":"image","data":"+/8=","mimeType":"image/png"}"#,
    );
    assert_json(&ContentBlock::audio(b"", "audio/wav"), r#"{"type":"audio","data":"","mimeType":"audio/wav"}"#);
    assert_json(
        &ResourceContents::blob("file:///a", "x/y", [0]),
        r#"{"uri":"file:///a","mimeType":"x/y","blob":"AA=="}"#,
    );
    let ContentBlock::Image(image) = ContentBlock::image_base64("+/8", "image/png") else { panic!() };
    assert_eq!(image.bytes(), Ok(vec![0xfb, 0xff]));
    assert_eq!(ImageContent::new("-_8=", "x").bytes(), Err(Base64Error));
}

#[test]
fn tools_are_built_in_one_chain() {
    let tool = Tool::new("forecast")
        .description("Forecast for a city")
        .title("Forecast")
        .icon(Icon::new("https://a.example/i.png").theme(IconTheme::Light))
        .input_schema(json(r#"{"type":"object","required":["city"]}"#))
        .read_only()
        .idempotent()
        .open_world(false)
        .meta([("com.example/x", json("1"))].into_iter().collect::<Meta>());
    assert_json(
        &tool,
        r#"{"name":"forecast","title":"Forecast","description":"Forecast for a city",
            "inputSchema":{"type":"object","required":["city"]},
            "icons":[{"src":"https://a.example/i.png","theme":"light"}],
            "annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false},
            "_meta":{"com.example/x":1}}"#,
    );
    assert_json(&Tool::new("now"), r#"{"name":"now","inputSchema":{"type":"object"}}"#);
    assert_eq!(tool.display_name(), "Forecast");
}

#[test]
fn prompts_and_their_messages() {
    let prompt = Prompt::new("review").argument(PromptArgument::new("code").required(true)).argument("style");
    assert_json(&prompt, r#"{"name":"review","arguments":[{"name":"code","required":true},{"name":"style"}]}"#);
    let result: GetPromptResult =
        vec![PromptMessage::user("hi"), PromptMessage::assistant(ContentBlock::resource_link("a", "file:///a"))].into();
    assert_json(
        &result,
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}},
            {"role":"assistant","content":{"type":"resource_link","name":"a","uri":"file:///a"}}]}"#,
    );
}

/// At most 100 values, and what is left out shows.
#[test]
fn completion_values_are_cut() {
    let all = Completion::from_all((0..250).map(|n| n.to_string()));
    assert_eq!(all.values.len(), MAX_COMPLETION_VALUES);
    assert_eq!((all.total, all.has_more), (Some(250.into()), Some(true)));
    let few = Completion::from_all(["a"]);
    assert_eq!((few.total, few.has_more), (Some(1.into()), Some(false)));

    let mut own = Completion::new(vec![String::new(); 101]);
    own.truncate();
    assert_eq!((own.values.len(), own.total, own.has_more), (100, Some(101.into()), Some(true)));
    let mut counted = Completion::new(vec![String::new(); 101]).total(5_000);
    counted.truncate();
    assert_eq!(counted.total, Some(5_000.into()));
}

#[test]
fn pages_and_hints() {
    let page = ListToolsResult::new(vec![Tool::new("a")]).next_cursor("").cached(CacheHints::public(5));
    assert_json(
        &page,
        r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"","ttlMs":5,"cacheScope":"public"}"#,
    );
    let contents = ReadResourceResult::text("file:///a", "text/plain", "x").cached(CacheHints::private(0));
    assert!(contents.states_cache_hints());
    assert_json(
        &contents,
        r#"{"contents":[{"uri":"file:///a","mimeType":"text/plain","text":"x"}],"ttlMs":0,"cacheScope":"private"}"#,
    );
}

/// M-MRTR-06, M-MRTR-11: requests have a method and parameters, and no more.
#[test]
fn m_mrtr_06_11_input_required() {
    let result = InputRequiredResult::new()
        .ask("who", ElicitParams::form("Who?", json(r#"{"type":"object","properties":{}}"#)))
        .and_then(|result| result.ask("roots", ListRootsParams::new()))
        .and_then(|result| result.ask("model", CreateMessageParams::new(vec![SamplingMessage::user("hi")], 10)))
        .unwrap();
    assert!(result.is_well_formed());
    assert!(!InputRequiredResult::new().is_well_formed());
    assert!(InputRequiredResult::new().request_state("").is_well_formed());
    assert_json(
        &result,
        r#"{"resultType":"input_required","inputRequests":{
            "who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}},
            "roots":{"method":"roots/list"},
            "model":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}}}}"#,
    );
}

/// M-MRTR-20, T-25: answers are bare results; the metadata of the legacy form is left out.
#[test]
fn m_mrtr_20_t_25_answers_are_bare() {
    let mut responses = InputResponses::new();
    let meta = || [("a", json("1"))].into_iter().collect::<Meta>();
    responses.insert_elicit("e", ElicitResult::decline().meta(meta())).unwrap();
    responses.insert_roots("r", ListRootsResult::new(vec![Root::new("file:///a")]).meta(meta())).unwrap();
    responses.insert_sample("s", &CreateMessageResult::assistant("m", "hi").meta(meta())).unwrap();
    assert_json(
        &responses,
        r#"{"e":{"action":"decline"},"r":{"roots":[{"uri":"file:///a"}]},
            "s":{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m","_meta":{"a":1}}}"#,
    );
    assert!(!responses.elicit("e").unwrap().unwrap().accepted());
    assert_eq!(responses.roots("r").unwrap().unwrap().roots[0].uri, "file:///a");
    assert_eq!(responses.sample("s").unwrap().unwrap().model, "m");
    assert!(responses.sample("e").is_err());
    assert_eq!(responses.elicit("none").unwrap(), None);
}

/// M-ELIC-09, T-21: no mode is form.
#[test]
fn m_elic_09_t_21_absent_mode_is_form() {
    let params: ElicitParams = read(r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#);
    assert!(matches!(params, ElicitParams::Form(_)));
    assert_eq!(params.message(), Some("m"));
}

/// M-ELIC-13: a URL request has its mode and no id of its own accord.
#[test]
fn m_elic_13_url_requests() {
    assert_json(
        &ElicitParams::url("m", "https://x.example"),
        r#"{"mode":"url","message":"m","url":"https://x.example"}"#,
    );
    assert_json(&ElicitResult::accept_url(), r#"{"action":"accept"}"#);
}

#[test]
fn annotations_go_to_blocks_that_can_have_them() {
    let hints = Annotations::new().audience(vec![Role::User]).priority(1.0);
    assert_json(
        &ContentBlock::text("t").annotations(hints.clone()),
        r#"{"type":"text","text":"t","annotations":{"audience":["user"],"priority":1}}"#,
    );
    let unknown = ContentBlock::Unknown(json(r#"{"type":"x"}"#));
    assert_eq!(unknown.clone().annotations(hints), unknown);
}

/// A result of one text is what most calls make and move: rare kinds of blocks do not make it larger.
#[test]
fn a_block_stays_small() {
    assert!(size_of::<ContentBlock>() <= 96, "{}", size_of::<ContentBlock>());
}
