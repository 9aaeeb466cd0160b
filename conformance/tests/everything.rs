//! The fixtures against each other, over streams in memory and over HTTP on real sockets: what the suite asks for is
//! there in both eras, and every question is answered.
#![allow(clippy::unwrap_used, reason = "a helper of a test may panic")]

use std::time::Duration;

use mcp_sansio_conformance::client::{Negotiation, Scenario, ScenarioError};
use mcp_sansio_conformance::server::everything;
use mcp_sansio_tokio::client::{Client, ClientBuilder, ClientError, ConnectionError};
use mcp_sansio_tokio::core::client::CallError;
use mcp_sansio_tokio::core::http::server::{Options, Replay};
use mcp_sansio_tokio::http::client::Endpoint;
use mcp_sansio_tokio::model::{ContentBlock, ElicitParams, ResourceContents, SubscriptionFilter, Tool};
use mcp_sansio_tokio::server::{BuiltServer, Context, HandlerError, NoArguments, Server};
use mcp_sansio_tokio::spec::{Era, Version};
use mcp_sansio_tokio::{HttpServer, TokioRuntime, connect_endpoint, connect_stream, serve_stream};
use serde_json::{Value, json};

/// Each way to serve, with each era.
const EVERY: [(Way, Version); 4] = [
    (Way::Stream, Version::V2025_11_25),
    (Way::Stream, Version::V2026_07_28),
    (Way::Http, Version::V2025_11_25),
    (Way::Http, Version::V2026_07_28),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Stream,
    Http,
}

async fn try_connect(way: Way, server: BuiltServer, client: ClientBuilder) -> Result<Client, ConnectionError> {
    match way {
        Way::Stream => {
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            tokio::spawn(serve_stream(server, theirs));
            connect_stream(client, ours).await
        }
        Way::Http => {
            let options = Options::default().replay(Replay { retry: Duration::from_millis(50), ..Replay::default() });
            let service = server.http(TokioRuntime::current()).options(options).build().unwrap();
            let server = HttpServer::bind(service, "127.0.0.1:0").await.unwrap();
            // By name: the name may lead to other addresses too.
            let url = format!("http://localhost:{}/mcp", server.local_addr().port());
            tokio::spawn(server.run());
            connect_endpoint(client, Endpoint::new(&url).unwrap()).await
        }
    }
}

async fn connect(way: Way, server: BuiltServer, scenario: &Scenario, negotiation: Negotiation) -> Client {
    try_connect(way, server, scenario.client(negotiation)).await.unwrap()
}

/// The client of the suite, connected to the server of the suite at one revision.
async fn pair(way: Way, version: Version) -> Client {
    let scenario = Scenario::new("tools_call", version, Value::Null);
    let client =
        connect(way, everything(None, &TokioRuntime::current()).unwrap(), &scenario, Negotiation::Pinned).await;
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
    for (way, version) in EVERY {
        let client = pair(way, version).await;
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
    for (way, version) in EVERY {
        let client = pair(way, version).await;
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
    for (way, version) in EVERY {
        let client = pair(way, version).await;
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
    for (way, version) in EVERY {
        let client = pair(way, version).await;
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
        for way in [Way::Stream, Way::Http] {
            let server = everything(Some(only), &TokioRuntime::current()).unwrap();
            try_connect(way, server.clone(), scenario.client(Negotiation::Pinned)).await.unwrap_err();
            let client = connect(way, server, &scenario, Negotiation::Automatic).await;
            assert_eq!(client.era(), Some(only), "{way:?}");
        }
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
    for (way, version) in EVERY {
        let run = |name: &'static str| async move {
            let scenario = Scenario::new(name, version, Value::Null);
            let client = connect(way, stand_in(), &scenario, Negotiation::Automatic).await;
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
    for way in [Way::Stream, Way::Http] {
        let bare = Client::builder("bare", "1.0.0");
        let client = try_connect(way, everything(None, &TokioRuntime::current()).unwrap(), bare).await.unwrap();
        let refused = client.call_tool("test_missing_capability", json!({})).await.unwrap_err();
        let ClientError::Call(CallError::Remote(error)) = refused else { panic!("{refused:?}") };
        let data: Value = error.data.unwrap().parse().unwrap();
        assert_eq!(data, json!({"requiredCapabilities": {"sampling": {}}}));
    }
}

/// SEP-1699: the server ends the stream of the call before its answer, and the client comes back for it, many at a time.
#[tokio::test]
async fn answers_are_fetched_after_their_stream_was_ended() {
    let client = pair(Way::Http, Version::V2025_11_25).await;
    let calls = (0..8).map(|_| async { text(&client, "test_reconnection", json!({})).await });
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer, "Reconnection test completed successfully");
    }
}

/// A listen stream hears of what calls on other connections bring about, and of nothing that it did not ask for.
#[tokio::test]
async fn changes_reach_those_who_listen() {
    for way in [Way::Stream, Way::Http] {
        let client = pair(way, Version::V2026_07_28).await;
        let mut filter = SubscriptionFilter::default();
        filter.prompts_list_changed = Some(true);
        let mut stream = client.listen(&filter).await.unwrap();
        text(&client, "test_trigger_tool_change", json!({})).await;
        text(&client, "test_trigger_prompt_change", json!({})).await;
        let first = stream.next().await.unwrap();
        assert_eq!(&*first.method, "notifications/prompts/list_changed", "{way:?}");
    }
}
