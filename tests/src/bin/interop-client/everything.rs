//! What is done with `@modelcontextprotocol/server-everything` (`tests/interop/FIXTURE.md`, "Reference servers").

use std::time::Duration;

use mcp_sansio_tokio::client::{Client, ClientError};
use mcp_sansio_tokio::core::client::CallError;
use mcp_sansio_tokio::model::{LoggingLevel, Tool};
use serde_json::{Value, json};

use crate::check::{
    Body, Outcome, Part, call_refused, ensure, fail, messages, only_text, part, refused, same, text, value,
};
use crate::peer::{Peer, ROOTS};

/// One of the tools that it adds when it knows the client.
const LATE: &str = "trigger-sampling-request";
const SLOW: &str = "trigger-long-running-operation";
const DOCUMENT: &str = "demo://resource/static/document/features.md";
const DYNAMIC: &str = "demo://resource/dynamic/text/1";
const BLOB: &str = "demo://resource/dynamic/blob/1";
const TEMPLATE: &str = "demo://resource/dynamic/text/{resourceId}";

pub(crate) async fn run(cell: &str, peer: &mut Peer) -> Outcome {
    match cell {
        "lists" => lists(peer).await,
        "calls" => calls(&peer.client).await,
        "prompts" => prompts(&peer.client).await,
        "resources" => resources(&peer.client).await,
        "completion" => completion(&peer.client).await,
        "progress" => progress(&peer.client).await,
        "cancellation" => cancellation(&peer.client).await,
        "elicitation" => elicitation(peer).await,
        "sampling" => sampling(peer).await,
        "roots" => roots(peer).await,
        "logging" => logging(peer).await,
        "listen" => listen(peer).await,
        _ => fail(format!("no cell {cell}")),
    }
}

/// The tools, once those are there that need something of the client.
async fn all_tools(peer: &mut Peer) -> Outcome<Vec<Tool>> {
    loop {
        let heard = peer.told()?.tools_changed;
        let tools = peer.client.tools().await?;
        if tools.iter().any(|tool| tool.name == LATE) {
            return Ok(tools);
        }
        peer.until(|told| told.tools_changed > heard).await?;
    }
}

async fn lists(peer: &mut Peer) -> Outcome {
    let tools = all_tools(peer).await?;
    same("number of tools", tools.len(), 17)?;
    let client = &peer.client;
    let page = client.tools_page(None).await?;
    same("one page", (page.items.len(), page.next_cursor), (17, None))?;
    let prompts: Vec<String> = client.prompts().await?.into_iter().map(|prompt| prompt.name).collect();
    same("number of prompts", prompts.len(), 4)?;
    ensure(prompts.iter().any(|name| name == "completable-prompt"), "a prompt is not listed")?;
    let resources = client.resources().await?;
    same("number of resources", resources.len(), 7)?;
    ensure(resources.iter().any(|resource| resource.uri == DOCUMENT), "a resource is not listed")?;
    let templates = client.templates().await?;
    same("number of templates", templates.len(), 2)?;
    ensure(templates.iter().any(|template| template.uri_template == TEMPLATE), "a template is not listed")
}

async fn calls(client: &Client) -> Outcome {
    for sample in ["plain", "grüße 🦀", "sep\u{2028}\n\"quoted\""] {
        let echo = text(client.call_tool("echo", json!({"message": sample}))).await?;
        same("echo", echo, format!("Echo: {sample}"))?;
    }
    let sum = text(client.call_tool("get-sum", json!({"a": 20, "b": 22}))).await?;
    ensure(sum.contains("42"), format!("the sum is told as {sum}"))?;
    let weather = client.call_tool("get-structured-content", json!({"location": "New York"})).await?;
    let expected = json!({"temperature": 33, "conditions": "Cloudy", "humidity": 82});
    same("structured", weather.structured_content.as_ref().map(value).transpose()?, Some(expected.clone()))?;
    same("mirrored", serde_json::from_str::<Value>(&only_text(&weather)?)?, expected)?;
    call_refused("a string for a number", client.call_tool("get-sum", json!({"a": "x", "b": 1}))).await?;
    call_refused("an unknown tool", client.call_tool("no_such_tool", json!({}))).await
}

async fn prompts(client: &Client) -> Outcome {
    let simple = messages(client.get_prompt("simple-prompt", json!({}))).await?;
    same("number of messages", simple.len(), 1)?;
    let weather = messages(client.get_prompt("args-prompt", json!({"city": "Bern"}))).await?;
    same("args-prompt", weather, vec![("user".to_owned(), "What's weather in Bern?".to_owned())])?;
    refused("a missing prompt argument", client.get_prompt("args-prompt", json!({})).await)
}

async fn resources(client: &Client) -> Outcome {
    let document = part(client.read_resource(DOCUMENT)).await?;
    ensure(matches!(&document.body, Body::Text(text) if !text.is_empty()), "the document is no text")?;
    same("type of the document", document.mime_type.as_deref(), Some("text/markdown"))?;
    let dynamic: Part = part(client.read_resource(DYNAMIC)).await?;
    ensure(matches!(&dynamic.body, Body::Text(text) if text.contains("Resource 1")), format!("{dynamic:?}"))?;
    let blob = part(client.read_resource(BLOB)).await?;
    ensure(matches!(&blob.body, Body::Blob(bytes) if !bytes.is_empty()), format!("{blob:?}"))?;
    refused("an unknown resource", client.read_resource("demo://nope").await)
}

async fn completion(client: &Client) -> Outcome {
    let departments = client.complete_prompt("completable-prompt", "department", "S").await?.values;
    same("departments", departments, ["Sales", "Support"])?;
    same("ids", client.complete_template(TEMPLATE, "resourceId", "7").await?.values, ["7"])
}

async fn progress(client: &Client) -> Outcome {
    let (call, mut reports) = client.call_tool(SLOW, json!({"duration": 0.5, "steps": 5})).progress_stream();
    let done = text(call).await?;
    ensure(done.contains("completed"), done)?;
    let mut steps = Vec::new();
    while let Some(report) = reports.next().await {
        steps.push((report.progress, report.total));
    }
    same("progress", steps, [1.0, 2.0, 3.0, 4.0, 5.0].map(|step| (step, Some(5.0))))
}

async fn cancellation(client: &Client) -> Outcome {
    let whole = Duration::from_secs(1);
    let (call, mut reports) =
        client.call_tool(SLOW, json!({"duration": whole.as_secs(), "steps": 2})).progress_stream();
    let call = call.send()?;
    ensure(reports.next().await.is_some(), "the call ended before its first progress")?;
    call.cancel(Some("enough"));
    same("the cancelled call", call.await, Err(ClientError::Call(CallError::Cancelled)))?;
    // It goes on working and telling its progress, which is noise now.
    tokio::time::sleep(whole).await;
    same("the connection", text(client.call_tool("echo", json!({"message": "alive"}))).await?, "Echo: alive")
}

async fn elicitation(peer: &mut Peer) -> Outcome {
    all_tools(peer).await?;
    let result = peer.client.call_tool("trigger-elicitation-request", json!({})).await?;
    ensure(!result.failed(), result.joined_text())?;
    let told = result.joined_text();
    ensure(told.contains("- Name: Ada") && told.contains("- Agreed to terms: true"), told)?;
    let forms = std::mem::take(&mut peer.asked().forms);
    same("number of forms", forms.len(), 1)?;
    same("required", &value(&forms[0].requested_schema)?["required"], &json!(["name"]))
}

async fn sampling(peer: &mut Peer) -> Outcome {
    all_tools(peer).await?;
    let told = text(peer.client.call_tool(LATE, json!({"prompt": "hi", "maxTokens": 50}))).await?;
    ensure(told.contains(&format!("You said: Resource {LATE} context: hi")), told)?;
    let bounds: Vec<_> = peer.asked().samples.iter().map(|params| params.max_tokens.as_i64()).collect();
    same("maxTokens", bounds, vec![Some(50)])
}

async fn roots(peer: &mut Peer) -> Outcome {
    all_tools(peer).await?;
    let told = text(peer.client.call_tool("get-roots-list", json!({}))).await?;
    ensure(ROOTS.iter().all(|root| told.contains(root)), told)?;
    ensure(peer.asked().roots > 0, "the roots were never asked for")
}

async fn logging(peer: &mut Peer) -> Outcome {
    peer.client.set_level(LoggingLevel::Debug).await?;
    let call = peer.client.call_tool("toggle-simulated-logging", json!({}));
    text(call).await?;
    // It says the level in each of them, and has others that we do not look for.
    let told = peer.until(|told| told.logs.iter().any(|log| log.data.get().contains("message"))).await?;
    let Some(log) = told.logs.iter().find(|log| log.data.get().contains("message")) else { return Ok(()) };
    let level = log.level.as_str();
    ensure(log.data.get().to_lowercase().contains(level), format!("{} at level {level}", log.data.get()))
}

async fn listen(peer: &mut Peer) -> Outcome {
    peer.client.subscribe(DYNAMIC).await?;
    text(peer.client.call_tool("toggle-subscriber-updates", json!({}))).await?;
    let told = peer.until(|told| !told.updated.is_empty()).await?;
    same("updates", &told.updated, &[DYNAMIC])?;
    peer.client.unsubscribe(DYNAMIC).await?;
    Ok(())
}
