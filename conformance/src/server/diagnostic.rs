//! Tools that show how a request without a session is served: what it needs, what travels on its stream, whom it
//! tells.

use mcp_sansio_io::core::model::{ClientCapabilities, ElicitParams, LoggingLevel, Tool};
use mcp_sansio_io::core::server::Event;
use mcp_sansio_io::server::{Context, HandlerError, NoArguments, Server};
use serde_json::json;

pub(super) fn add(server: Server) -> Server {
    server
        .tool(Tool::new("test_missing_capability").description("Needs a client with a model"), needs_sampling)
        .tool(Tool::new("test_streaming_elicitation").description("Asks after it has streamed"), stream_then_ask)
        .tool(Tool::new("test_logging_tool").description("Logs if the request wants it"), logs)
        .tool(
            Tool::new("test_trigger_tool_change").description("Says that the list of tools has changed"),
            |_: NoArguments, cx: Context| trigger(cx, Event::ToolsListChanged),
        )
        .tool(
            Tool::new("test_trigger_prompt_change").description("Says that the list of prompts has changed"),
            |_: NoArguments, cx: Context| trigger(cx, Event::PromptsListChanged),
        )
}

async fn needs_sampling(_: NoArguments, cx: Context) -> Result<&'static str, HandlerError> {
    cx.require_capabilities(&ClientCapabilities::new().with_sampling())?;
    Ok("The client has declared what this tool needs.")
}

async fn stream_then_ask(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    let _ = cx.progress(1.0, Some(2.0)).await;
    let form = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
    let answer = cx.elicit("answer", ElicitParams::form("Please answer", form)).await?;
    Ok(format!("action={}", answer.action))
}

async fn logs(_: NoArguments, cx: Context) -> &'static str {
    let _ = cx.log(LoggingLevel::Info, "A line for those who want lines").await;
    "Logged, if the request wanted it."
}

async fn trigger(cx: Context, event: Event) -> &'static str {
    cx.publish(&event);
    "Told everybody who asked to hear of it."
}
