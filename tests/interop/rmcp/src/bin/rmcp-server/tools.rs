//! The tools of the fixture: their definitions and what each does.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateMessageRequest,
    CreateMessageRequestParams, CreateMessageResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorData, InputRequest, InputRequiredResult, JsonObject, ListRootsRequest, ListRootsResult,
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ResourceUpdatedNotificationParam,
    SamplingMessage, Tool,
};
use rmcp::service::{ServiceError, SubscriptionSink};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::sleep;

use mcp_sansio_interop_rmcp::{from_wire, tool_names};

use crate::{Context, Fixture, is_modern, refuse};

/// The tools in listing order.
pub(crate) fn definitions(has_extra: bool) -> Vec<Tool> {
    let extra = has_extra.then(|| "extra".to_owned());
    let names = tool_names().into_iter().chain(extra);
    names.map(|name| definition(&name)).collect()
}

fn definition(name: &str) -> Tool {
    let text = json!({"type": "string"});
    let integer = json!({"type": "integer"});
    let (properties, required) = match name {
        "echo" => (json!({"text": text}), json!(["text"])),
        "add" => (json!({"a": integer, "b": integer}), json!(["a", "b"])),
        "slow" => (json!({"ms": integer}), json!([])),
        "ask_model" => (json!({"prompt": text}), json!(["prompt"])),
        "touch" => (json!({"uri": text}), json!(["uri"])),
        _ => (json!({}), json!([])),
    };
    let input = json!({"type": "object", "properties": properties, "required": required});
    let mut tool = json!({"name": name, "inputSchema": input});
    if name == "add" {
        tool["outputSchema"] = json!({"type": "object", "properties": {"sum": integer}, "required": ["sum"]});
    }
    from_wire(tool)
}

/// Runs a tool.
pub(crate) async fn call(
    fixture: &Fixture,
    call: CallToolRequestParams,
    context: Context,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = call.arguments.clone().unwrap_or_default();
    match &*call.name {
        "echo" => text(argument::<String>(&arguments, "text")?),
        "add" => {
            let (a, b): (i64, i64) = (argument(&arguments, "a")?, argument(&arguments, "b")?);
            Ok(CallToolResult::structured(json!({"sum": a + b})).into())
        }
        "slow" => slow(fixture, &arguments, &context).await,
        "cancelled_count" => text(fixture.state().cancelled.to_string()),
        "ask_name" => ask_name(&call, &context).await,
        "ask_model" => ask_model(&call, argument(&arguments, "prompt")?, &context).await,
        "list_roots" => list_roots(&call, &context).await,
        "log_three" => log_three(fixture, &context).await,
        "touch" => touch(fixture, argument(&arguments, "uri")?, &context).await,
        "toggle_tool" => toggle_tool(fixture, &context).await,
        other => {
            let has_extra = fixture.state().has_extra;
            if tool_names().iter().any(|name| name == other) || (has_extra && other == "extra") {
                text(other)
            } else {
                Err(refuse(format!("unknown tool {other}")))
            }
        }
    }
}

fn text(said: impl Into<String>) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResult::success(vec![ContentBlock::text(said.into())]).into())
}

/// An argument of the type that the caller wants; rmcp does not look at schemas.
fn argument<T: DeserializeOwned>(arguments: &JsonObject, name: &str) -> Result<T, ErrorData> {
    let value = arguments.get(name).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|_| refuse(format!("bad argument {name}")))
}

async fn slow(fixture: &Fixture, arguments: &JsonObject, context: &Context) -> Result<CallToolResponse, ErrorData> {
    let ms: Option<u64> = argument(arguments, "ms")?;
    let step = Duration::from_millis(ms.unwrap_or(250) / 5);
    for done in 1..=5 {
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, f64::from(done)).with_total(5.0);
            context.peer.notify_progress(progress).await.map_err(lost)?;
        }
        tokio::select! {
            () = sleep(step) => {}
            () = context.ct.cancelled() => {
                fixture.state().cancelled += 1;
                return Err(ErrorData::internal_error("cancelled", None));
            }
        }
    }
    text("done")
}

/// The answer that the client sent with a modern request, if it has.
fn answer<T: DeserializeOwned>(call: &CallToolRequestParams, key: &str) -> Option<T> {
    let answer: &Value = call.input_responses.as_ref()?.get(key)?;
    serde_json::from_value(answer.clone()).ok()
}

fn ask(key: &str, request: InputRequest) -> Result<CallToolResponse, ErrorData> {
    let requests = [(key.to_owned(), request)].into();
    Ok(InputRequiredResult::from_input_requests(requests).into())
}

// The three tools below ask in the result on the modern wire, and by a request on the legacy one: rmcp bridges neither.

async fn ask_name(call: &CallToolRequestParams, context: &Context) -> Result<CallToolResponse, ErrorData> {
    let form: ElicitRequestParams = from_wire(json!({
        "mode": "form",
        "message": "What is your name?",
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    }));
    let answer: ElicitResult = match answer(call, "name") {
        Some(answer) => answer,
        None if is_modern(context) => {
            return ask("name", InputRequest::Elicitation(ElicitRequest::new(form)));
        }
        None => context.peer.create_elicitation(form).await.map_err(lost)?,
    };
    let name = answer.content.as_ref().and_then(|form| form.get("name"));
    match (answer.action, name.and_then(Value::as_str)) {
        (ElicitationAction::Accept, Some(name)) => text(format!("Hello, {name}")),
        _ => text("declined"),
    }
}

async fn ask_model(
    call: &CallToolRequestParams,
    prompt: String,
    context: &Context,
) -> Result<CallToolResponse, ErrorData> {
    let params = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 50);
    let answer: CreateMessageResult = match answer(call, "model") {
        Some(answer) => answer,
        None if is_modern(context) => {
            let request = CreateMessageRequest::new(params);
            return ask("model", InputRequest::CreateMessage(request));
        }
        None => context.peer.create_message(params).await.map_err(lost)?,
    };
    let said = answer.message.content.first();
    let said = said.and_then(|block| block.as_text());
    text(said.map_or("", |said| &said.text))
}

async fn list_roots(call: &CallToolRequestParams, context: &Context) -> Result<CallToolResponse, ErrorData> {
    let answer: ListRootsResult = match answer(call, "roots") {
        Some(answer) => answer,
        None if is_modern(context) => {
            let request = from_wire::<ListRootsRequest>(json!({"method": "roots/list"}));
            return ask("roots", InputRequest::ListRoots(request));
        }
        None => context.peer.list_roots().await.map_err(lost)?,
    };
    let uris: Vec<_> = answer.roots.iter().map(|root| root.uri.as_str()).collect();
    text(uris.join("\n"))
}

async fn log_three(fixture: &Fixture, context: &Context) -> Result<CallToolResponse, ErrorData> {
    let least = if is_modern(context) { context.meta.log_level() } else { Some(fixture.state().level) };
    let lines = [(LoggingLevel::Info, "one"), (LoggingLevel::Warning, "two"), (LoggingLevel::Error, "three")];
    for (level, data) in lines {
        if least.is_some_and(|least| severity(level) >= severity(least)) {
            let line = LoggingMessageNotificationParam::new(level, json!(data));
            let line = line.with_logger("fixture");
            let sent = context.peer.notify_logging_message(line).await;
            sent.map_err(lost)?;
        }
    }
    text("logged")
}

/// rmcp's levels have no order.
fn severity(level: LoggingLevel) -> usize {
    use LoggingLevel::{Alert, Critical, Debug, Emergency, Error, Info, Notice, Warning};
    let order = [Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency];
    order.iter().position(|known| *known == level).unwrap_or(0)
}

async fn touch(fixture: &Fixture, uri: String, context: &Context) -> Result<CallToolResponse, ErrorData> {
    let update = ResourceUpdatedNotificationParam::new(uri.as_str());
    let listeners = fixture.listeners().await;
    let subscribed = fixture.state().subscribed.contains(&uri);
    if subscribed {
        let sent = context.peer.notify_resource_updated(update).await;
        sent.map_err(lost)?;
    }
    let wants = |sink: &&SubscriptionSink| {
        let uris = sink.accepted().resource_subscriptions.as_ref();
        uris.is_some_and(|uris| uris.contains(&uri))
    };
    for sink in listeners.iter().filter(wants) {
        // A stream may have ended meanwhile.
        let _ = sink.notify_resource_updated(uri.as_str()).await;
    }
    text("touched")
}

async fn toggle_tool(fixture: &Fixture, context: &Context) -> Result<CallToolResponse, ErrorData> {
    let listeners = fixture.listeners().await;
    {
        let mut state = fixture.state();
        state.has_extra = !state.has_extra;
    }
    if is_modern(context) {
        for sink in &listeners {
            let _ = sink.notify_tool_list_changed().await;
        }
    } else {
        let sent = context.peer.notify_tool_list_changed().await;
        sent.map_err(lost)?;
    }
    text("toggled")
}

fn lost(error: ServiceError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
