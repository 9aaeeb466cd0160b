//! What is called in each scenario, and what must come back.

use mcp_sansio_io::client::{Client, ClientError, FromAnswer, Prepared};
use mcp_sansio_io::core::model::{CallToolResult, Tool};
use serde_json::{Value, json};

use super::ScenarioError;

pub(super) async fn run(client: &Client, name: &str, context: &Value) -> Result<(), ScenarioError> {
    match name {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => tools(client).await.map(drop),
        "tools_call" => call_listed(client, "add_numbers", json!({"a": 5, "b": 3})).await.map(drop),
        "elicitation-sep1034-client-defaults" => {
            call_listed(client, "test_client_elicitation_defaults", json!({})).await.map(drop)
        }
        "sse-retry" => reconnect(client).await,
        "http-standard-headers" => use_everything(client).await,
        "http-custom-headers" => replay(client, context).await,
        "http-invalid-tool-headers" => call_what_is_left(client).await,
        "json-schema-2020-12-preservation" => echo_schema(client).await,
        "sep-2322-client-request-state" => answer_and_retry(client).await,
        // Authorization is the transport's business; what is behind it is the same for all.
        name if name.starts_with("auth/") => call_listed(client, "test-tool", json!({})).await.map(drop),
        _ => Err(ScenarioError::Unknown(name.to_owned())),
    }
}

async fn done<T: FromAnswer>(what: &str, call: Prepared<T>) -> Result<T, ScenarioError> {
    call.await.map_err(|source: ClientError| ScenarioError::Call { what: what.to_owned(), source })
}

async fn tools(client: &Client) -> Result<Vec<Tool>, ScenarioError> {
    done("list of tools", client.tools()).await
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Result<CallToolResult, ScenarioError> {
    let result = done(&format!("call of {tool}"), client.call_tool(tool, arguments)).await?;
    if result.failed() {
        return Err(ScenarioError::Unexpected(format!("the tool {tool} failed: {}", result.joined_text())));
    }
    Ok(result)
}

/// Calls a tool that the list must name.
async fn call_listed(client: &Client, tool: &str, arguments: Value) -> Result<CallToolResult, ScenarioError> {
    if !tools(client).await?.iter().any(|listed| listed.name == tool) {
        return Err(ScenarioError::Unexpected(format!("the server does not list {tool}")));
    }
    call(client, tool, arguments).await
}

/// The server closes the stream of the call; its result comes on the stream that the client opens then.
async fn reconnect(client: &Client) -> Result<(), ScenarioError> {
    let result = call_listed(client, "test_reconnection", json!({})).await?;
    if result.joined_text().is_empty() {
        return Err(ScenarioError::Unexpected("the result came without its text".to_owned()));
    }
    Ok(())
}

/// Lists and uses everything, so that every request with a name of its own is seen.
async fn use_everything(client: &Client) -> Result<(), ScenarioError> {
    for tool in tools(client).await? {
        call(client, &tool.name, json!({})).await?;
    }
    for resource in done("list of resources", client.resources()).await? {
        done(&format!("reading of {}", resource.uri), client.read_resource(&resource.uri)).await?;
    }
    for prompt in done("list of prompts", client.prompts()).await? {
        done(&format!("prompt {}", prompt.name), client.get_prompt(&prompt.name, json!({}))).await?;
    }
    Ok(())
}

/// Makes the calls that the scenario prescribes.
async fn replay(client: &Client, context: &Value) -> Result<(), ScenarioError> {
    tools(client).await?;
    let Some(calls) = context["toolCalls"].as_array() else {
        return Err(ScenarioError::Environment(super::CONTEXT));
    };
    for prescribed in calls {
        let name = prescribed["name"].as_str().ok_or(ScenarioError::Environment(super::CONTEXT))?;
        call(client, name, prescribed["arguments"].clone()).await?;
    }
    Ok(())
}

/// Calls every tool that the list still offers: those whose headers make no sense must be gone.
async fn call_what_is_left(client: &Client) -> Result<(), ScenarioError> {
    for tool in tools(client).await? {
        call(client, &tool.name, json!({"region": "us-west1"})).await?;
    }
    Ok(())
}

/// Sends a schema back as it came.
async fn echo_schema(client: &Client) -> Result<(), ScenarioError> {
    let listed = tools(client).await?;
    let Some(tool) = listed.iter().find(|tool| tool.name == "json_schema_2020_12_tool") else {
        return Err(ScenarioError::Unexpected("the server does not list the tool with the schema".to_owned()));
    };
    // Put together as text: nothing decodes the schema on its way.
    let arguments = format!("{{\"schema\":{}}}", tool.input_schema);
    let arguments = mcp_sansio_io::core::json::Json::from_text(arguments)
        .map_err(|error| ScenarioError::Unexpected(format!("the schema is no JSON: {error}")))?;
    let result = done("call of json_schema_echo", client.call_tool("json_schema_echo", arguments)).await?;
    if result.failed() {
        return Err(ScenarioError::Unexpected(format!("the echo failed: {}", result.joined_text())));
    }
    Ok(())
}

/// Calls that need input: states come back as they were, and stay with their call. Two calls run at the same time, so
/// that they could be mixed up.
async fn answer_and_retry(client: &Client) -> Result<(), ScenarioError> {
    tools(client).await?;
    let with_state = call(client, "test_mrtr_echo_state", json!({}));
    let unrelated = call(client, "test_mrtr_unrelated", json!({}));
    let without_state = call(client, "test_mrtr_no_state", json!({}));
    let (with_state, unrelated, without_state) =
        futures_util::future::join3(with_state, unrelated, without_state).await;
    for answered in [with_state, unrelated, without_state] {
        answered?;
    }
    call(client, "test_mrtr_no_result_type", json!({})).await.map(drop)
}
