//! Every type, with all of its members, reads and writes as the same JSON value.

use super::round_trip;
use crate::model::*;

const META: &str = r#"{"progressToken":"p-1","com.example/trace":{"n":18446744073709551617}}"#;
const ANNOTATIONS: &str = r#"{"audience":["user","assistant"],"priority":0.75,"lastModified":"2026-02-03T04:05:06Z"}"#;
const ICON: &str =
    r#"{"src":"https://icons.example/a.png","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"}"#;

#[test]
fn implementation_and_icon() {
    let client: Implementation = round_trip(&format!(
        r#"{{"name":"c","title":"C","version":"1.2","description":"d","websiteUrl":"https://c.example","icons":[{ICON}]}}"#
    ));
    assert_eq!(client.display_name(), "C");
    assert_eq!(client.icons.unwrap()[0].theme, Some(IconTheme::Dark));
    assert_eq!(round_trip::<Implementation>(r#"{"name":"c","version":""}"#).display_name(), "c");
}

#[test]
fn content_blocks() {
    for text in [
        format!(r#"{{"type":"text","text":"größe\n","annotations":{ANNOTATIONS},"_meta":{META}}}"#),
        format!(
            r#"{{"type":"image","data":"AAEC","mimeType":"image/png","annotations":{ANNOTATIONS},"_meta":{META}}}"#
        ),
        format!(
            r#"{{"type":"audio","data":"AAEC","mimeType":"audio/wav","annotations":{ANNOTATIONS},"_meta":{META}}}"#
        ),
        format!(
            r#"{{"type":"resource_link","uri":"file:///a.rs","name":"a","title":"A","description":"d","mimeType":"text/x-rust","size":17,"icons":[{ICON}],"annotations":{ANNOTATIONS},"_meta":{META}}}"#
        ),
        format!(
            r#"{{"type":"resource","resource":{{"uri":"file:///a","mimeType":"text/plain","text":"x","_meta":{META}}},"annotations":{ANNOTATIONS},"_meta":{META}}}"#
        ),
        r#"{"type":"resource","resource":{"uri":"file:///a","blob":"AAEC"}}"#.to_owned(),
        format!(r#"{{"type":"tool_use","id":"u1","name":"forecast","input":{{"city":"Bern"}},"_meta":{META}}}"#),
        format!(
            r#"{{"type":"tool_result","toolUseId":"u1","content":[{{"type":"text","text":"sun"}}],"structuredContent":[1],"isError":false,"_meta":{META}}}"#
        ),
    ] {
        let block: ContentBlock = round_trip(&text);
        assert!(!matches!(block, ContentBlock::Unknown(_)), "{text}");
    }
}

#[test]
fn the_tag_may_stand_anywhere() {
    for text in [
        r#"{"type":"text","text":"hi","x":[1,{}]}"#,
        r#"{"text":"hi","type":"text","x":[1,{}]}"#,
        r#"{"x":[1,{}],"text":"hi","type":"text"}"#,
    ] {
        let block: ContentBlock = round_trip(text);
        assert_eq!(block.as_text(), Some("hi"));
    }
}

#[test]
fn tools() {
    let tool: Tool = round_trip(&format!(
        r#"{{"name":"forecast","title":"Forecast","description":"d",
            "inputSchema":{{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{{"z":{{"type":"string"}},"a":{{"multipleOf":0.10}}}},"required":["z"]}},
            "outputSchema":{{"type":"array","items":{{"type":"string"}}}},
            "annotations":{{"title":"T","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}},
            "execution":{{"taskSupport":"optional"}},"icons":[{ICON}],"_meta":{META}}}"#
    ));
    // T-18: the schema is the author's text, order and spelling included.
    assert!(tool.input_schema.get().contains(r#""z":{"type":"string"},"a":{"multipleOf":0.10}"#));
    round_trip::<Tool>(r#"{"name":"now","inputSchema":{"type":"object","additionalProperties":false}}"#);

    round_trip::<CallToolParams>(&format!(
        r#"{{"name":"forecast","arguments":{{"n":123456789012345678901234567890}},"inputResponses":{{"who":{{"action":"decline"}}}},"requestState":"","_meta":{META}}}"#
    ));
    round_trip::<CallToolResult>(&format!(
        r#"{{"resultType":"complete","content":[{{"type":"text","text":"{{}}"}}],"structuredContent":{{"t":22.50}},"isError":false,"_meta":{META}}}"#
    ));
}

#[test]
fn resources() {
    round_trip::<Resource>(&format!(
        r#"{{"uri":"file:///a","name":"a","title":"A","description":"d","mimeType":"text/plain","size":4096,"icons":[{ICON}],"annotations":{ANNOTATIONS},"_meta":{META}}}"#
    ));
    round_trip::<ResourceTemplate>(&format!(
        r#"{{"uriTemplate":"file:///{{+path}}","name":"a","title":"A","description":"d","mimeType":"text/plain","icons":[{ICON}],"annotations":{ANNOTATIONS},"_meta":{META}}}"#
    ));
    let result: ReadResourceResult = round_trip(&format!(
        r#"{{"resultType":"complete","contents":[{{"uri":"file:///a","text":""}},{{"uri":"file:///b","mimeType":"image/png","blob":"AAEC","_meta":{META}}}],"ttlMs":60000,"cacheScope":"public"}}"#
    ));
    assert_eq!(result.cache_hints(), CacheHints::public(60_000));
    let [ResourceContents::Text(text), ResourceContents::Blob(blob)] = &result.contents[..] else { panic!() };
    assert_eq!((&*text.text, blob.bytes().unwrap()), ("", vec![0, 1, 2]));
    round_trip::<ReadResourceParams>(r#"{"uri":"file:///a","inputResponses":{},"requestState":"s"}"#);
    round_trip::<SubscribeParams>(r#"{"uri":"file:///a","_meta":{}}"#);
    round_trip::<ResourceUpdatedParams>(
        r#"{"uri":"file:///a/b","_meta":{"io.modelcontextprotocol/subscriptionId":0}}"#,
    );
}

#[test]
fn prompts() {
    round_trip::<Prompt>(&format!(
        r#"{{"name":"review","title":"R","description":"d","arguments":[{{"name":"code","title":"C","description":"d","required":true}}],"icons":[{ICON}],"_meta":{META}}}"#
    ));
    round_trip::<GetPromptParams>(r#"{"name":"review","arguments":{"code":"x = 1"},"requestState":"s"}"#);
    round_trip::<GetPromptResult>(
        r#"{"resultType":"complete","description":"d","messages":[{"role":"user","content":{"type":"text","text":"t"}},{"role":"assistant","content":{"type":"resource_link","uri":"file:///a","name":"a"}}]}"#,
    );
}

#[test]
fn completion() {
    let params: CompleteParams = round_trip(
        r#"{"ref":{"type":"ref/prompt","name":"review","title":"R"},"argument":{"name":"lang","value":"py"},"context":{"arguments":{"framework":"flask"}},"_meta":{}}"#,
    );
    assert!(matches!(params.reference, CompletionReference::Prompt(prompt) if prompt.name == "review"));
    round_trip::<CompleteParams>(
        r#"{"ref":{"type":"ref/resource","uri":"file:///{path}"},"argument":{"name":"path","value":""}}"#,
    );
    round_trip::<CompleteResult>(
        r#"{"resultType":"complete","completion":{"values":["a","b"],"total":10,"hasMore":true}}"#,
    );
}

#[test]
fn sampling() {
    let params: CreateMessageParams = round_trip(&format!(
        r#"{{"messages":[
            {{"role":"user","content":{{"type":"text","text":"Weather?"}},"_meta":{META}}},
            {{"role":"assistant","content":[{{"type":"tool_use","id":"u1","name":"forecast","input":{{}}}}]}},
            {{"role":"user","content":[{{"type":"tool_result","toolUseId":"u1","content":[]}}]}}],
          "modelPreferences":{{"hints":[{{"name":"sonnet"}},{{}}],"costPriority":0.3,"speedPriority":1,"intelligencePriority":0}},
          "systemPrompt":"s","includeContext":"thisServer","temperature":0.10,"maxTokens":100,"stopSequences":["."],
          "metadata":{{"seed":18446744073709551616}},"tools":[{{"name":"forecast","inputSchema":{{"type":"object"}}}}],
          "toolChoice":{{"mode":"required"}},"task":{{"ttl":5}}}}"#
    ));
    assert_eq!(params.check(), Ok(()));
    assert_eq!(params.max_tokens.as_i64(), Some(100));
    assert_eq!(params.temperature.unwrap().as_f64(), 0.1);
    round_trip::<CreateMessageResult>(
        r#"{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"m-1","stopReason":"endTurn"}"#,
    );
}

/// T-19: one block stays one block, and a list of one stays a list.
#[test]
fn t_19_sampling_content_keeps_its_form() {
    let one: SamplingMessage = round_trip(r#"{"role":"user","content":{"type":"text","text":"a"}}"#);
    let list: SamplingMessage = round_trip(r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#);
    let empty: SamplingMessage = round_trip(r#"{"role":"user","content":[]}"#);
    assert!(matches!(one.content, SamplingContent::One(_)));
    assert!(matches!(&list.content, SamplingContent::Many(blocks) if blocks.len() == 1));
    assert_eq!(one.content.blocks(), list.content.blocks());
    assert!(empty.content.blocks().is_empty());
}

#[test]
fn elicitation() {
    round_trip::<ElicitParams>(
        r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"age":{"type":"integer","minimum":0}},"required":["age"]},"_meta":{}}"#,
    );
    let url: ElicitParams =
        round_trip(r#"{"message":"m","url":"https://x.example/?a=1","mode":"url","elicitationId":"e1"}"#);
    assert!(matches!(url, ElicitParams::Url(url) if url.elicitation_id.as_deref() == Some("e1")));
    round_trip::<ElicitResult>(r#"{"action":"accept","content":{"name":"Kim","colours":["a","b"]},"_meta":{}}"#);
    round_trip::<ElicitResult>(r#"{"action":"cancel"}"#);
    round_trip::<ElicitationCompleteParams>(r#"{"elicitationId":"e1"}"#);
}

#[test]
fn roots() {
    round_trip::<ListRootsParams>("{}");
    round_trip::<ListRootsResult>(r#"{"roots":[{"uri":"file:///home/u","name":"Home","_meta":{}}],"_meta":{}}"#);
}

#[test]
fn introductions() {
    round_trip::<InitializeParams>(
        r#"{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}},"tasks":{"list":{}},"experimental":{"x":{"y":1}}},"clientInfo":{"name":"c","version":"1"}}"#,
    );
    round_trip::<InitializeResult>(
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true,"listChanged":false},"completions":{},"logging":{},"tasks":{},"extensions":{"com.example/x":{"a":[]}},"experimental":{}},"serverInfo":{"name":"s","version":"1"},"instructions":"i","_meta":{}}"#,
    );
    let discovered: DiscoverResult = round_trip(
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"i","ttlMs":3600000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#,
    );
    assert_eq!(discovered.server_info().unwrap().name, "s");
    assert_eq!(discovered.cache_hints(), CacheHints::public(3_600_000));
}

/// T-33: some servers name themselves in the body, and some not at all.
#[test]
fn t_33_server_info_is_read_from_meta_first_then_from_the_body() {
    let name = |text| read_name(&round_trip::<DiscoverResult>(text));
    let body = r#"{"supportedVersions":[],"capabilities":{},"serverInfo":{"name":"body","version":"1"}}"#;
    assert_eq!(name(body).as_deref(), Some("body"));
    let both = r#"{"supportedVersions":[],"capabilities":{},"serverInfo":{"name":"body","version":"1"},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"meta","version":"1"}}}"#;
    assert_eq!(name(both).as_deref(), Some("meta"));
    let odd = r#"{"supportedVersions":[],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":7}}"#;
    assert_eq!(name(odd), None);
    assert_eq!(name(r#"{"supportedVersions":[],"capabilities":{}}"#), None);
}

fn read_name(result: &DiscoverResult) -> Option<String> {
    result.server_info().map(|info| info.name)
}

#[test]
fn logging_and_progress() {
    let message: LogMessageParams = round_trip(r#"{"level":"notice","logger":"db","data":{"port":5432},"_meta":{}}"#);
    assert_eq!(message.level.known(), Some(LoggingLevel::Notice));
    round_trip::<LogMessageParams>(r#"{"level":"error","data":null}"#);
    round_trip::<SetLevelParams>(r#"{"level":"emergency"}"#);
    let progress: ProgressParams =
        round_trip(r#"{"progressToken":"7","progress":0.10000001,"total":100,"message":"m","_meta":{}}"#);
    assert_eq!(progress.progress_token, "7".into());
    round_trip::<ProgressParams>(r#"{"progressToken":7,"progress":1e2}"#);
    round_trip::<CancelledParams>(r#"{"requestId":0,"reason":"r"}"#);
    round_trip::<CancelledParams>("{}");
}

#[test]
fn subscriptions() {
    round_trip::<ListenParams>(
        r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourcesListChanged":true,"resourceSubscriptions":["file:///a"]},"_meta":{}}"#,
    );
    round_trip::<AcknowledgedParams>(
        r#"{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":"L-1"}}"#,
    );
    let ended: ListenResult =
        round_trip(r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":0}}"#);
    assert_eq!(ended.meta.subscription_id(), Some(0.into()));
}

#[test]
fn pages() {
    let page: ListToolsResult = round_trip(
        r#"{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"","ttlMs":300000,"cacheScope":"private","x":1}"#,
    );
    // M-PAGE, T-43: an empty cursor is a cursor.
    assert_eq!(page.next_cursor.as_deref(), Some(""));
    assert_eq!(page.items[0].name, "a");
    round_trip::<ListPromptsResult>(r#"{"prompts":[{"name":"p"}]}"#);
    round_trip::<ListResourcesResult>(r#"{"resources":[],"_meta":{}}"#);
    round_trip::<ListResourceTemplatesResult>(r#"{"resourceTemplates":[{"name":"t","uriTemplate":"x:{a}"}]}"#);
    round_trip::<PaginatedParams>(r#"{"cursor":"c","_meta":{}}"#);
    round_trip::<PaginatedParams>("{}");
    round_trip::<EmptyResult>(r#"{"resultType":"complete","_meta":{}}"#);
}

#[test]
fn input_required() {
    let result: InputRequiredResult = round_trip(
        r#"{"resultType":"input_required","inputRequests":{
            "b":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}},
            "a":{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}},
            "c":{"method":"roots/list","id":"x"}},"requestState":"s","_meta":{}}"#,
    );
    let requests = result.input_requests.unwrap();
    let keys: Vec<&str> = requests.iter_raw().map(|(key, _)| key).collect();
    assert_eq!(keys, ["b", "a", "c"]);
    assert!(matches!(requests.get("b"), Ok(Some(InputRequest::Sample(_)))));
    assert!(matches!(requests.get("a"), Ok(Some(InputRequest::Elicit(ElicitParams::Form(_))))));
    assert!(matches!(requests.get("c"), Ok(Some(InputRequest::Roots(_)))));
    assert!(matches!(requests.get("d"), Ok(None)));
    round_trip::<InputRequiredResult>(r#"{"resultType":"input_required","requestState":""}"#);
    round_trip::<InputRequest>(r#"{"method":"roots/list"}"#);
    round_trip::<InputRequest>(r#"{"method":"roots/list","params":{"_meta":{"a":1}}}"#);
}

#[test]
fn error_data() {
    round_trip::<UnsupportedVersionData>(r#"{"supported":["2026-07-28"],"requested":"1900-01-01"}"#);
    round_trip::<MissingCapabilityData>(r#"{"requiredCapabilities":{"elicitation":{}}}"#);
    round_trip::<UrlElicitationData>(
        r#"{"elicitations":[{"mode":"url","message":"m","url":"https://x.example","elicitationId":"e"}]}"#,
    );
    round_trip::<ResourceNotFoundData>(r#"{"uri":"file:///none"}"#);
}
