//! The fixtures against each other, in memory: what the suite asks for is there in both eras, and every question is
//! answered.
#![allow(clippy::unwrap_used, reason = "a helper of a test may panic")]

use mcp_sansio_conformance::client::{Negotiation, Scenario, ScenarioError};
use mcp_sansio_conformance::server::everything;
use mcp_sansio_tokio::client::{Client, ClientError};
use mcp_sansio_tokio::core::client::CallError;
use mcp_sansio_tokio::model::{ContentBlock, ElicitParams, ResourceContents, Tool};
use mcp_sansio_tokio::server::{BuiltServer, Context, HandlerError, NoArguments, Server};
use mcp_sansio_tokio::spec::{Era, Version};
use mcp_sansio_tokio::{connect_stream, serve_stream};
use serde_json::{Value, json};

const BOTH: [Version; 2] = [Version::V2025_11_25, Version::V2026_07_28];

async fn connect(server: BuiltServer, scenario: &Scenario, negotiation: Negotiation) -> Client {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    tokio::spawn(serve_stream(server, theirs));
    connect_stream(scenario.client(negotiation), ours).await.unwrap()
}

/// The client of the suite, connected to the server of the suite at one revision.
async fn pair(version: Version) -> Client {
    let scenario = Scenario::new("tools_call", version, Value::Null);
    let client = connect(everything(None).unwrap(), &scenario, Negotiation::Pinned).await;
    assert_eq!(client.version(), Some(version));
    client
}

async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call_tool(tool, arguments).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
    assert!(!result.failed(), "{tool}: {}", result.joined_text());
    result.joined_text()
}

#[tokio::test]
async fn every_tool_answers_in_both_eras() {
    for version in BOTH {
        let client = pair(version).await;
        let tools = client.tools().await.unwrap();
        assert_eq!(tools.first().unwrap().name, "test_simple_text", "the suite calls the first tool without arguments");
        for Tool { name, description, .. } in tools {
            assert!(description.is_some_and(|text| !text.is_empty()), "{name} has no description");
            let arguments = match name.as_str() {
                "test_sampling" => json!({"prompt": "Say something"}),
                "test_elicitation" => json!({"message": "Who are you?"}),
                "test_x_mcp_header" => json!({"region": "us-west1", "priority": 42, "verbose": false}),
                "json_schema_2020_12_tool" => {
                    json!({"contactMethod": "phone", "phone": "1", "address": {"city": "Bern"}})
                }
                _ => json!({}),
            };
            let result = client.call_tool(&name, arguments).await.unwrap_or_else(|e| panic!("{version} {name}: {e}"));
            assert_eq!(result.failed(), name == "test_error_handling", "{version} {name}: {}", result.joined_text());
            assert!(!result.content.is_empty(), "{version} {name}");
        }
    }
}

#[tokio::test]
async fn questions_are_answered_with_the_same_text_in_both_eras() {
    let expected = [
        ("test_input_required_result_elicitation", "Hello, an answer!"),
        ("test_input_required_result_sampling", "The model says: This is what the model says."),
        ("test_input_required_result_list_roots", "Roots: file:///conformance"),
        ("test_input_required_result_request_state", "state-ok: true"),
        ("test_input_required_result_multiple_inputs", "This is what the model says., an answer! 1 roots."),
        ("test_input_required_result_multi_round", "an answer likes an answer."),
        ("test_input_required_result_capabilities", "Model: This is what the model says.; user: an answer"),
    ];
    for version in BOTH {
        let client = pair(version).await;
        for (tool, answer) in expected {
            assert_eq!(text(&client, tool, json!({})).await, answer, "{version}");
        }
        let defaults = text(&client, "test_elicitation_sep1034_defaults", json!({})).await;
        for part in ["action=accept", r#""name":"John Doe""#, r#""age":30"#, r#""score":95.5"#, r#""verified":true"#] {
            assert!(defaults.contains(part), "{version}: {defaults}");
        }
        let choices = text(&client, "test_elicitation_sep1330_enums", json!({})).await;
        for part in [r#""titledSingle":"value1""#, r#""legacyEnum":"opt1""#, r#""titledMulti":["value1"]"#] {
            assert!(choices.contains(part), "{version}: {choices}");
        }
    }
}

#[tokio::test]
async fn progress_comes_in_three_steps() {
    for version in BOTH {
        let client = pair(version).await;
        let (call, mut reports) = client.call_tool("test_tool_with_progress", json!({})).progress_stream();
        call.await.unwrap();
        let mut seen = Vec::new();
        while let Some(report) = reports.next().await {
            seen.push((report.progress, report.total));
        }
        assert_eq!(seen, [(0.0, Some(100.0)), (50.0, Some(100.0)), (100.0, Some(100.0))], "{version}");
    }
}

#[tokio::test]
async fn resources_prompts_and_completions_are_there() {
    for version in BOTH {
        let client = pair(version).await;
        let uris: Vec<String> = client.resources().await.unwrap().into_iter().map(|resource| resource.uri).collect();
        assert_eq!(uris, ["test://static-text", "test://static-binary", "test://watched-resource"]);
        let read = client.read_resource("test://template/123/data").await.unwrap();
        let ResourceContents::Text(contents) = &read.contents[0] else { panic!("{read:?}") };
        let data: Value = serde_json::from_str(&contents.text).unwrap();
        assert_eq!(data, json!({"id": "123", "templateTest": true, "data": "Data for ID: 123"}));
        assert_eq!(contents.uri, "test://template/123/data");
        let read = client.read_resource("test://static-binary").await.unwrap();
        let ResourceContents::Blob(contents) = &read.contents[0] else { panic!("{read:?}") };
        assert!(contents.bytes().unwrap().starts_with(b"\x89PNG"));

        for prompt in client.prompts().await.unwrap() {
            let arguments = match prompt.name.as_str() {
                "test_prompt_with_arguments" => json!({"arg1": "one", "arg2": "two"}),
                "test_prompt_with_embedded_resource" => json!({"resourceUri": "test://example-resource"}),
                _ => json!({}),
            };
            let filled = client.get_prompt(&prompt.name, arguments).await.unwrap();
            let first = filled.messages[0].content.as_text().map(str::to_owned);
            match prompt.name.as_str() {
                "test_simple_prompt" => assert_eq!(first.unwrap(), "This is a simple prompt for testing."),
                "test_prompt_with_arguments" => {
                    assert_eq!(first.unwrap(), "Prompt with arguments: arg1='one', arg2='two'");
                }
                "test_prompt_with_image" => assert!(matches!(filled.messages[0].content, ContentBlock::Image(_))),
                "test_input_required_result_prompt" => assert_eq!(first.unwrap(), "Use this context: an answer"),
                _ => assert!(matches!(filled.messages[0].content, ContentBlock::Resource(_)), "{}", prompt.name),
            }
        }
        let completed = client.complete_prompt("test_prompt_with_arguments", "arg1", "test").await.unwrap();
        assert_eq!(completed.values, ["testValue1"]);
    }
}

#[tokio::test]
async fn an_era_that_is_not_offered_is_refused() {
    for (only, other) in [(Era::Legacy, Version::V2026_07_28), (Era::Modern, Version::V2025_11_25)] {
        let scenario = Scenario::new("tools_call", other, Value::Null);
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        tokio::spawn(serve_stream(everything(Some(only)).unwrap(), theirs));
        connect_stream(scenario.client(Negotiation::Pinned), ours).await.unwrap_err();

        let client = connect(everything(Some(only)).unwrap(), &scenario, Negotiation::Automatic).await;
        assert_eq!(client.era(), Some(only));
    }
}

/// A stand-in for the servers of the suite.
fn stand_in() -> BuiltServer {
    let add = |arguments: Value, _: Context| async move { format!("{}", arguments["a"].as_i64().unwrap()) };
    Server::new("stand-in", "1.0.0")
        .tool(Tool::new("add_numbers").description("Adds"), add)
        .tool(Tool::new("test_mrtr_echo_state"), |_: NoArguments, cx: Context| async move {
            cx.set_state("left");
            let form = json!({"type": "object", "properties": {"confirmed": {"type": "boolean"}}});
            let answer = cx.elicit("confirm", ElicitParams::form("Please confirm", form)).await?;
            Ok::<_, HandlerError>(format!("{}", answer.content.unwrap()))
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_scenario_tells_success_from_failure() {
    for version in BOTH {
        let run = |name: &'static str| async move {
            let scenario = Scenario::new(name, version, Value::Null);
            let client = connect(stand_in(), &scenario, Negotiation::Automatic).await;
            scenario.run(&client).await
        };
        run("tools_call").await.unwrap();
        run("json-schema-ref-no-deref").await.unwrap();
        assert!(matches!(run("sse-retry").await, Err(ScenarioError::Unexpected(_))), "the tool is not listed");
        let failed = run("sep-2322-client-request-state").await;
        assert!(matches!(failed, Err(ScenarioError::Call { .. })), "a tool is missing: {failed:?}");
        assert!(matches!(run("no-such-scenario").await, Err(ScenarioError::Unknown(_))));
    }
}

#[tokio::test]
async fn a_missing_capability_is_refused_with_what_is_missing() {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    tokio::spawn(serve_stream(everything(None).unwrap(), theirs));
    let client = connect_stream(Client::builder("bare", "1.0.0"), ours).await.unwrap();
    let refused = client.call_tool("test_missing_capability", json!({})).await.unwrap_err();
    let ClientError::Call(CallError::Remote(error)) = refused else { panic!("{refused:?}") };
    let data: Value = error.data.unwrap().parse().unwrap();
    assert_eq!(data, json!({"requiredCapabilities": {"sampling": {}}}));
}
