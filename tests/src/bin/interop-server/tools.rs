//! The 120 tools of the fixture, in listing order, and the one that comes and goes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_sansio_tokio::core::server::LogMessage;
use mcp_sansio_tokio::json::Json;
use mcp_sansio_tokio::model::{CreateMessageParams, ElicitParams, LoggingLevel, SamplingMessage, Tool};
use mcp_sansio_tokio::server::{Context, HandlerError, NoArguments, Server, Structured, schema_of};
use serde_json::json;

use crate::State;

const FILLERS: usize = 110;
const STEPS: u32 = 5;
const SLOW_MS: u64 = 250;
const MAX_TOKENS: i64 = 50;

pub(crate) fn add(server: Server, extra: bool) -> Server {
    let mut summing = Tool::new("add").description("Adds two integers").read_only();
    summing.output_schema = schema_of::<Sum>();
    let server = server
        .tool(Tool::new("echo").description("Answers its text").read_only(), echo)
        .tool(summing, sum)
        .tool(Tool::new("slow").description("Takes its time, in five steps"), slow)
        .tool(Tool::new("cancelled_count").description("Counts cancelled calls of slow"), cancelled_count)
        .tool(Tool::new("ask_name").description("Asks for a name"), ask_name)
        .tool(Tool::new("ask_model").description("Asks the client's model"), ask_model)
        .tool(Tool::new("list_roots").description("Names the client's roots"), list_roots)
        .tool(Tool::new("log_three").description("Logs three messages"), log_three)
        .tool(Tool::new("touch").description("Says that a resource has changed"), touch)
        .tool(Tool::new("toggle_tool").description("Adds or removes the tool extra"), toggle_tool);
    let named = (0..FILLERS).map(|number| format!("tool_{number:03}")).chain(extra.then(|| "extra".to_owned()));
    named.fold(server, |server, name| {
        let tool = Tool::new(&*name).description("Answers its own name");
        server.tool(tool, move |_: NoArguments, _| std::future::ready(name.clone()))
    })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

async fn echo(args: Echo, _: Context) -> String {
    args.text
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Terms {
    a: i64,
    b: i64,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Sum {
    sum: i64,
}

async fn sum(Terms { a, b }: Terms, _: Context) -> Result<Structured<Sum>, HandlerError> {
    let sum = a.checked_add(b).ok_or_else(|| HandlerError::shown("the sum is too large"))?;
    Ok(Structured(Sum { sum }))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Slow {
    /// How long it takes, in milliseconds.
    ms: Option<u64>,
}

async fn slow(args: Slow, cx: Context) -> Result<&'static str, HandlerError> {
    let rest = Duration::from_millis(args.ms.unwrap_or(SLOW_MS)) / STEPS;
    let work = async {
        for step in 1..=STEPS {
            let _ = cx.progress(f64::from(step), Some(f64::from(STEPS))).await;
            tokio::time::sleep(rest).await;
        }
    };
    tokio::select! {
        () = work => Ok("done"),
        _ = cx.cancelled() => {
            state(&cx)?.cancelled.fetch_add(1, Ordering::Relaxed);
            Err(HandlerError::shown("cancelled"))
        }
    }
}

async fn cancelled_count(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    Ok(state(&cx)?.cancelled.load(Ordering::Relaxed).to_string())
}

#[derive(serde::Deserialize)]
struct Name {
    name: String,
}

async fn ask_name(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    let form = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let answer = cx.elicit("name", ElicitParams::form("What is your name?", form)).await?;
    match answer.content.as_ref().filter(|_| answer.accepted()) {
        Some(content) => Ok(format!("Hello, {}", content.parse::<Name>()?.name)),
        None => Ok("declined".into()),
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Prompt {
    prompt: String,
}

async fn ask_model(args: Prompt, cx: Context) -> Result<String, HandlerError> {
    let params = CreateMessageParams::new(vec![SamplingMessage::user(args.prompt)], MAX_TOKENS);
    let answer = cx.sample("model", params).await?;
    let text = answer.content.blocks().iter().find_map(|block| block.as_text());
    text.map(str::to_owned).ok_or_else(|| HandlerError::shown("the model answered no text"))
}

async fn list_roots(_: NoArguments, cx: Context) -> Result<String, HandlerError> {
    let roots = cx.roots("roots").await?.roots;
    Ok(roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join("\n"))
}

async fn log_three(_: NoArguments, cx: Context) -> Result<&'static str, HandlerError> {
    for (level, text) in [(LoggingLevel::Info, "one"), (LoggingLevel::Warning, "two"), (LoggingLevel::Error, "three")] {
        let data = Json::from_value(text)?;
        let _ = cx.log_message(LogMessage { level, logger: Some("fixture".into()), data }).await;
    }
    Ok("logged")
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Uri {
    uri: String,
}

async fn touch(args: Uri, cx: Context) -> &'static str {
    cx.resource_updated(&args.uri);
    "touched"
}

async fn toggle_tool(_: NoArguments, cx: Context) -> Result<&'static str, HandlerError> {
    let state = state(&cx)?;
    let extra = !state.extra.fetch_xor(true, Ordering::Relaxed);
    let server = state.server.get().ok_or_else(|| HandlerError::hidden("the server is not there yet"))?;
    server.replace(crate::fixture(state, extra))?;
    Ok("toggled")
}

fn state(cx: &Context) -> Result<&Arc<State>, HandlerError> {
    cx.require_data()
}
