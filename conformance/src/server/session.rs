//! Tools that talk to their client while they run: progress, log lines, and questions in the words of the legacy era.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio_io::Runtime;
use mcp_sansio_io::core::json::Json;
use mcp_sansio_io::core::model::{
    CreateMessageParams, ElicitParams, ElicitResult, LoggingLevel, SamplingMessage, Tool,
};
use mcp_sansio_io::server::{Context, HandlerError, NoArguments, Server};
use serde_json::json;

/// Between two reports of progress, or two lines.
const PAUSE: Duration = Duration::from_millis(50);
/// How long an answer takes after its stream was ended.
const AWAY: Duration = Duration::from_millis(100);
const MAX_TOKENS: i64 = 100;

pub(super) fn add(server: Server, runtime: &Arc<dyn Runtime>) -> Server {
    server
        .tool(Tool::new("test_tool_with_progress").description("Reports progress"), timed(runtime, progress))
        .tool(Tool::new("test_tool_with_logging").description("Writes to the log"), timed(runtime, logging))
        .tool(Tool::new("test_sampling").description("Asks the client's model"), sampling)
        .tool(Tool::new("test_elicitation").description("Asks the user"), elicitation)
        .tool(Tool::new("test_elicitation_sep1034_defaults").description("Asks with defaults"), |_: NoArguments, cx| {
            completed(cx, default_form())
        })
        .tool(Tool::new("test_elicitation_sep1330_enums").description("Asks with choices"), |_: NoArguments, cx| {
            completed(cx, choice_form())
        })
        .tool(
            Tool::new("test_reconnection").description("Lets its client come back for the answer"),
            timed(runtime, reconnection),
        )
}

/// A handler that needs time to pass.
fn timed<F, Fut>(runtime: &Arc<dyn Runtime>, handler: F) -> impl Fn(NoArguments, Context) -> Fut + Send + Sync + 'static
where
    F: Fn(Context, Arc<dyn Runtime>) -> Fut + Send + Sync + 'static,
{
    let runtime = Arc::clone(runtime);
    move |_, cx| handler(cx, Arc::clone(&runtime))
}

async fn progress(cx: Context, runtime: Arc<dyn Runtime>) -> String {
    for step in [0.0, 50.0, 100.0] {
        let _ = cx.progress(step, Some(100.0)).await;
        runtime.sleep(PAUSE).await;
    }
    cx.progress_token().map_or_else(|| "nobody listens".to_owned(), |token| token.0.to_string())
}

async fn logging(cx: Context, runtime: Arc<dyn Runtime>) -> &'static str {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let _ = cx.log(LoggingLevel::Info, text).await;
        runtime.sleep(PAUSE).await;
    }
    "Tool with logging executed successfully"
}

/// Ends the stream of its answer, where it has one, and answers later.
async fn reconnection(cx: Context, runtime: Arc<dyn Runtime>) -> &'static str {
    let _ = cx.close_stream();
    runtime.sleep(AWAY).await;
    "Reconnection test completed successfully"
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Prompt {
    /// What to ask the model.
    prompt: String,
}

async fn sampling(args: Prompt, cx: Context) -> Result<String, HandlerError> {
    let params = CreateMessageParams::new(vec![SamplingMessage::user(args.prompt)], MAX_TOKENS);
    let answer = cx.sample("sample", params).await?;
    let text = answer.content.blocks().iter().find_map(|block| block.as_text()).unwrap_or_default();
    Ok(format!("LLM response: {text}"))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Message {
    /// What to ask the user.
    message: String,
}

async fn elicitation(args: Message, cx: Context) -> Result<String, HandlerError> {
    let form = json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    });
    let answer = cx.elicit("user", ElicitParams::form(args.message, form)).await?;
    Ok(format!("User response: {}", told(&answer)))
}

async fn completed(cx: Context, form: serde_json::Value) -> Result<String, HandlerError> {
    let answer = cx.elicit("form", ElicitParams::form("Please fill this in", form)).await?;
    Ok(format!("Elicitation completed: {}", told(&answer)))
}

fn told(answer: &ElicitResult) -> String {
    let content = answer.content.as_ref().map_or("{}", Json::get);
    format!("action={}, content={content}", answer.action)
}

/// A default of each type.
fn default_form() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {
                "type": "string",
                "description": "User status",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "description": "Verification status", "default": true},
        },
        "required": [],
    })
}

/// A choice of each kind.
fn choice_form() -> serde_json::Value {
    let titled = |noun: &str| {
        let option = |value: &str, number: &str| json!({"const": value, "title": format!("{number} {noun}")});
        json!([option("value1", "First"), option("value2", "Second"), option("value3", "Third")])
    };
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
            },
            "titledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"anyOf": titled("Choice")}},
        },
        "required": [],
    })
}
