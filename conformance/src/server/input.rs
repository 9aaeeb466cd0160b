//! Tools and a prompt that need input before they can answer, in straight-line code: each question is a round, and
//! two that are awaited together are one.

use futures_util::future::{join, join3};
use mcp_sansio_io::core::model::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, Prompt, SamplingMessage, Tool,
};
use mcp_sansio_io::server::{Context, HandlerError, NoArguments, Question, Server};
use serde_json::json;

/// What a tool leaves for its next round.
const LEFT: &str = "state-ok";

pub(super) fn add(server: Server) -> Server {
    let tool = |name: &str, text: &str| Tool::new(format!("test_input_required_result_{name}")).description(text);
    server
        .tool(tool("elicitation", "Asks for a name"), greet)
        .tool(tool("sampling", "Asks the model"), capital)
        .tool(tool("list_roots", "Asks for the roots"), list_roots)
        .tool(tool("request_state", "Leaves state between rounds"), keep_state)
        .tool(tool("multiple_inputs", "Asks three things at once"), three_at_once)
        .tool(tool("multi_round", "Asks one thing after the other"), two_rounds)
        .tool(tool("tampered_state", "Leaves state that must come back as it was"), keep_state)
        .tool(tool("capabilities", "Asks what the client can answer"), ask_what_it_can)
        .prompt(
            Prompt::new("test_input_required_result_prompt").description("Asks for context before it answers"),
            context_prompt,
        )
}

/// A form with one required field.
fn form(message: &str, field: &str, kind: &str) -> ElicitParams {
    ElicitParams::form(message, json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]}))
}

fn name_question(cx: &Context) -> Question<ElicitResult> {
    cx.elicit("user_name", form("What is your name?", "name", "string"))
}

/// The text of a field, if the user gave it.
fn field(answer: &ElicitResult, name: &str) -> Result<Option<String>, HandlerError> {
    let Some(content) = answer.content.as_ref().filter(|_| answer.accepted()) else { return Ok(None) };
    let content: serde_json::Value = content.parse()?;
    Ok(content.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
}

async fn greet(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    let answer = name_question(&cx).await?;
    Ok(match field(&answer, "name")? {
        Some(name) => format!("Hello, {name}!"),
        None => "Hello, whoever you are!".to_owned(),
    })
}

fn model_question(cx: &Context, key: &str, text: &str, max_tokens: i64) -> Question<CreateMessageResult> {
    cx.sample(key, CreateMessageParams::new(vec![SamplingMessage::user(text)], max_tokens))
}

fn said(answer: &CreateMessageResult) -> &str {
    answer.content.blocks().iter().find_map(|block| block.as_text()).unwrap_or_default()
}

async fn capital(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    let answer = model_question(&cx, "capital_question", "What is the capital of France?", 100).await?;
    Ok(format!("The model says: {}", said(&answer)))
}

async fn list_roots(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    let answer = cx.roots("client_roots").await?;
    let roots: Vec<&str> = answer.roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(format!("Roots: {}", roots.join(", ")))
}

async fn keep_state(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    let found = cx.state().unwrap_or("no state").to_owned();
    cx.set_state(LEFT);
    let answer = cx.elicit("confirm", form("Is this all right?", "ok", "boolean")).await?;
    Ok(format!("{found}: {}", field(&answer, "ok")?.unwrap_or_else(|| answer.action.to_string())))
}

async fn three_at_once(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    let name = name_question(&cx);
    let greeting = model_question(&cx, "greeting", "Generate a greeting", 50);
    let (name, greeting, roots) = join3(name, greeting, cx.roots("client_roots")).await;
    let (name, greeting, roots) = (name?, greeting?, roots?.roots.len());
    let name = field(&name, "name")?.unwrap_or_default();
    Ok(format!("{}, {name}! {roots} roots.", said(&greeting)))
}

async fn two_rounds(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    let name = cx.elicit("step1", form("Step 1: What is your name?", "name", "string")).await?;
    let color = cx.elicit("step2", form("Step 2: What is your favorite color?", "color", "string")).await?;
    let (name, color) = (field(&name, "name")?.unwrap_or_default(), field(&color, "color")?.unwrap_or_default());
    Ok(format!("{name} likes {color}."))
}

/// Asks in every way that the client has declared, at once.
async fn ask_what_it_can(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    let can = cx.client_capabilities();
    let model = async {
        if !can.has_sampling() {
            return Ok::<_, HandlerError>(None);
        }
        Ok(Some(
            said(&model_question(&cx, "capital_question", "What is the capital of France?", 100).await?).to_owned(),
        ))
    };
    let user = async {
        if !can.has_form() {
            return Ok::<_, HandlerError>(None);
        }
        field(&name_question(&cx).await?, "name")
    };
    let (model, user) = join(model, user).await;
    Ok(format!("Model: {}; user: {}", model?.unwrap_or_default(), user?.unwrap_or_default()))
}

async fn context_prompt(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    let answer = cx.elicit("user_context", form("What context should the prompt use?", "context", "string")).await?;
    Ok(format!("Use this context: {}", field(&answer, "context")?.unwrap_or_default()))
}
