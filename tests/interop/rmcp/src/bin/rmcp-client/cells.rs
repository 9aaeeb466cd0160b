//! What the rmcp client does with a fixture server (`FIXTURE.md`, "Cells"). rmcp offers every feature in both eras, so
//! no cell says `cannot`.

use std::fmt::Debug;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ElicitRequestParams, GetPromptRequestParams,
    LoggingLevel, ReadResourceRequestParams, ReadResourceResult, RequestMetaObject, ServerNotification,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::PeerRequestOptions;
use serde_json::{Value, json};
use tokio::time::sleep;

use mcp_sansio_interop_rmcp::{ROOTS, from_wire, tool_names};

use crate::{Outcome, Peer, Record};

/// All cells in the order of `FIXTURE.md`.
pub(crate) const NAMES: [&str; 12] = [
    "lists",
    "calls",
    "prompts",
    "resources",
    "completion",
    "progress",
    "cancellation",
    "elicitation",
    "sampling",
    "roots",
    "logging",
    "listen",
];

pub(crate) async fn run(cell: &str, peer: &Peer) -> Outcome {
    match cell {
        "lists" => lists(peer).await,
        "calls" => calls(peer).await,
        "prompts" => prompts(peer).await,
        "resources" => resources(peer).await,
        "completion" => completion(peer).await,
        "progress" => progress(peer).await,
        "cancellation" => cancellation(peer).await,
        "elicitation" => elicitation(peer).await,
        "sampling" => sampling(peer).await,
        "roots" => roots(peer).await,
        "logging" => logging(peer).await,
        "listen" if peer.modern => listen_modern(peer).await,
        "listen" => listen_legacy(peer).await,
        _ => Err(format!("no cell {cell}").into()),
    }
}

fn same<A: PartialEq<B> + Debug, B: Debug>(actual: A, expected: B) -> Outcome {
    if actual == expected {
        return Ok(());
    }
    Err(format!("expected {expected:?}, got {actual:?}").into())
}

fn params(name: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(name).with_arguments(from_wire(arguments))
}

async fn call(peer: &Peer, name: &'static str, arguments: Value) -> Outcome<CallToolResult> {
    Ok(peer.client.call_tool(params(name, arguments)).await?)
}

/// The one text block of a successful call.
async fn text(peer: &Peer, name: &'static str, arguments: Value) -> Outcome<String> {
    text_of(&call(peer, name, arguments).await?)
}

fn text_of(result: &CallToolResult) -> Outcome<String> {
    match result.content.as_slice() {
        [block] if result.is_error != Some(true) => {
            let block = block.as_text().ok_or("not a text block")?;
            Ok(block.text.clone())
        }
        _ => Err(format!("not one text block of a success: {result:?}").into()),
    }
}

fn refused<T: Debug, E>(what: &str, answer: Result<T, E>) -> Outcome {
    match answer {
        Err(_) => Ok(()),
        Ok(answer) => Err(format!("{what} was accepted: {answer:?}").into()),
    }
}

/// Waits until what was recorded fits; the cell's own time limit ends the waiting.
async fn until(peer: &Peer, fits: impl Fn(&Record) -> bool) {
    while !fits(&peer.host.record()) {
        sleep(Duration::from_millis(10)).await;
    }
}

async fn lists(peer: &Peer) -> Outcome {
    let first = peer.client.list_tools(None).await?;
    same(first.tools.len(), 50)?;
    let tools = peer.client.list_all_tools().await?;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
    same(names, tool_names())?;
    let add = tools.get(1).and_then(|tool| tool.output_schema.as_ref());
    same(add.and_then(|schema| schema.get("required")), Some(&json!(["sum"])))?;
    let prompts = peer.client.list_all_prompts().await?;
    let names: Vec<_> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    same(names, ["greet", "plain"])?;
    let resources = peer.client.list_all_resources().await?;
    let uris: Vec<_> = resources.iter().map(|r| r.uri.as_str()).collect();
    same(uris, ["fixture://text", "fixture://blob"])?;
    let templates = peer.client.list_all_resource_templates().await?;
    let uris: Vec<_> = templates.iter().map(|t| t.uri_template.as_str()).collect();
    same(uris, ["fixture://items/{id}"])
}

async fn calls(peer: &Peer) -> Outcome {
    for sample in ["plain", "grüße 🦀 日本", "two\nlines\r\n", "sep\u{2028}para\u{2029}", "\"quoted\" \\ \0", ""]
    {
        same(text(peer, "echo", json!({"text": sample})).await?, sample)?;
    }
    let sum = call(peer, "add", json!({"a": 20, "b": 22})).await?;
    same(sum.structured_content, Some(json!({"sum": 42})))?;
    let wrong = text(peer, "add", json!({"a": "x", "b": 1})).await;
    refused("a string for an integer", wrong)?;
    refused("an unknown tool", text(peer, "no_such_tool", json!({})).await)?;
    same(text(peer, "tool_109", json!({})).await?, "tool_109")
}

async fn prompts(peer: &Peer) -> Outcome {
    let get = async |params: Value| -> Outcome<Value> {
        let params: GetPromptRequestParams = from_wire(params);
        let result = peer.client.get_prompt(params).await?;
        Ok(serde_json::to_value(result.messages)?)
    };
    let said = |said: &str| json!([{"role": "user", "content": {"type": "text", "text": said}}]);
    let greet = get(json!({"name": "greet", "arguments": {"who": "Zoë"}})).await?;
    same(greet, said("Please greet Zoë."))?;
    same(get(json!({"name": "plain"})).await?, said("A plain prompt."))?;
    let missing = get(json!({"name": "greet", "arguments": {}})).await;
    refused("a missing prompt argument", missing)?;
    refused("an unknown prompt", get(json!({"name": "no_such_prompt"})).await)
}

async fn resources(peer: &Peer) -> Outcome {
    let read = async |uri: &str| -> Outcome<Value> {
        let params = ReadResourceRequestParams::new(uri);
        let ReadResourceResult { contents, .. } = peer.client.read_resource(params).await?;
        Ok(serde_json::to_value(contents)?)
    };
    let text = |uri: &str, text: &str| json!([{"uri": uri, "mimeType": "text/plain", "text": text}]);
    let blob = json!([{
        "uri": "fixture://blob",
        "mimeType": "application/octet-stream",
        "blob": "AAEC/w==",
    }]);
    same(read("fixture://text").await?, text("fixture://text", "fixture text"))?;
    same(read("fixture://blob").await?, blob)?;
    let item = "fixture://items/two";
    same(read(item).await?, text(item, "item two"))?;
    refused("an unknown resource", read("fixture://nowhere").await)
}

async fn completion(peer: &Peer) -> Outcome {
    let item = "fixture://items/{id}";
    let who = peer.client.complete_prompt_simple("greet", "who", "al").await?;
    same(who, ["alice", "albert"])?;
    let ids = peer.client.complete_resource_simple(item, "id", "t").await?;
    same(ids, ["two", "three"])?;
    let none = peer.client.complete_resource_simple(item, "id", "x").await?;
    same(none, [""; 0])
}

async fn progress(peer: &Peer) -> Outcome {
    // rmcp sends a token with every request.
    same(text(peer, "slow", json!({"ms": 100})).await?, "done")?;
    let steps = std::mem::take(&mut peer.host.record().progress);
    same(steps, [1.0, 2.0, 3.0, 4.0, 5.0].map(|step| (step, Some(5.0))))
}

async fn cancellation(peer: &Peer) -> Outcome {
    let request = CallToolRequest::new(params("slow", json!({"ms": 30_000})));
    let request = ClientRequest::CallToolRequest(request);
    let options = PeerRequestOptions::no_options();
    let slow = peer.client.send_cancellable_request(request, options).await?;
    until(peer, |record| !record.progress.is_empty()).await;
    slow.cancel(Some("enough".into())).await?;
    while text(peer, "cancelled_count", json!({})).await? != "1" {
        sleep(Duration::from_millis(10)).await;
    }
    same(text(peer, "echo", json!({"text": "alive"})).await?, "alive")
}

async fn elicitation(peer: &Peer) -> Outcome {
    same(text(peer, "ask_name", json!({})).await?, "Hello, Ada")?;
    peer.host.record().decline = true;
    same(text(peer, "ask_name", json!({})).await?, "declined")?;
    let forms = std::mem::take(&mut peer.host.record().elicited);
    same(forms.len(), 2)?;
    for form in forms {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = form else {
            return Err("not a form".into());
        };
        same(message, "What is your name?")?;
        let schema = serde_json::to_value(requested_schema)?;
        let name = schema.pointer("/properties/name/type");
        same(name, Some(&json!("string")))?;
        same(schema.get("required"), Some(&json!(["name"])))?;
    }
    Ok(())
}

async fn sampling(peer: &Peer) -> Outcome {
    let answer = text(peer, "ask_model", json!({"prompt": "one + one?"})).await?;
    same(answer, "You said: one + one?")?;
    let record = peer.host.record();
    let limits: Vec<_> = record.sampled.iter().map(|p| p.max_tokens).collect();
    same(limits, [50])
}

async fn roots(peer: &Peer) -> Outcome {
    same(text(peer, "list_roots", json!({})).await?, ROOTS.join("\n"))
}

/// One message as level, logger and data.
type Line = (LoggingLevel, Option<String>, Value);

async fn logs_at(peer: &Peer, level: Option<LoggingLevel>) -> Outcome<Vec<Line>> {
    let mut request = params("log_three", json!({}));
    match level {
        Some(level) if peer.modern => {
            let mut meta = RequestMetaObject::new();
            meta.set_log_level(level);
            request.meta = Some(meta);
        }
        Some(level) => peer.client.set_level(SetLevelRequestParams::new(level)).await?,
        None => {}
    }
    peer.host.record().logs.clear();
    same(text_of(&peer.client.call_tool(request).await?)?, "logged")?;
    text(peer, "echo", json!({"text": "fence"})).await?;
    let logs = std::mem::take(&mut peer.host.record().logs);
    Ok(logs.into_iter().map(|log| (log.level, log.logger, log.data)).collect())
}

async fn logging(peer: &Peer) -> Outcome {
    let line = |level, data| (level, Some("fixture".to_owned()), json!(data));
    let all = [line(LoggingLevel::Info, "one"), line(LoggingLevel::Warning, "two"), line(LoggingLevel::Error, "three")];
    same(logs_at(peer, Some(LoggingLevel::Info)).await?, &all[..])?;
    same(logs_at(peer, Some(LoggingLevel::Error)).await?, &all[2..])?;
    if peer.modern {
        same(logs_at(peer, None).await?, &all[..0])?;
    }
    Ok(())
}

const WATCHED: &str = "fixture://text";

async fn touch(peer: &Peer, uri: &str) -> Outcome {
    same(text(peer, "touch", json!({"uri": uri})).await?, "touched")
}

/// The list has the tool that `toggle_tool` added, and the tool works.
async fn extra_is_there(peer: &Peer) -> Outcome {
    let tools = peer.client.list_all_tools().await?;
    same(tools.len(), 121)?;
    same(tools.last().map(|tool| tool.name.as_ref()), Some("extra"))?;
    same(text(peer, "extra", json!({})).await?, "extra")
}

async fn listen_modern(peer: &Peer) -> Outcome {
    let filter = SubscriptionFilter::builder().tools_list_changed().resource_subscription(WATCHED).build();
    let mut events = peer.client.listen(filter.clone()).await?;
    same(events.acknowledged(), &filter)?;
    touch(peer, "fixture://blob").await?;
    touch(peer, WATCHED).await?;
    match events.next().await? {
        Some(ServerNotification::ResourceUpdatedNotification(event)) => {
            same(event.params.uri, WATCHED)?;
        }
        other => return Err(format!("not an update: {other:?}").into()),
    }
    same(text(peer, "toggle_tool", json!({})).await?, "toggled")?;
    match events.next().await? {
        Some(ServerNotification::ToolListChangedNotification(_)) => {}
        other => return Err(format!("not a change of the tools: {other:?}").into()),
    }
    extra_is_there(peer).await?;
    events.cancel().await?;
    touch(peer, WATCHED).await?;
    text(peer, "echo", json!({"text": "fence"})).await?;
    // An update for a stream that is gone would end up with the host.
    let record = peer.host.record();
    same((record.updated.len(), record.tools_changed), (0, 0))
}

async fn listen_legacy(peer: &Peer) -> Outcome {
    peer.client.subscribe(SubscribeRequestParams::new(WATCHED)).await?;
    touch(peer, "fixture://blob").await?;
    touch(peer, WATCHED).await?;
    until(peer, |record| !record.updated.is_empty()).await;
    same(&peer.host.record().updated[..], [WATCHED])?;
    same(text(peer, "toggle_tool", json!({})).await?, "toggled")?;
    until(peer, |record| record.tools_changed > 0).await;
    extra_is_there(peer).await?;
    peer.client.unsubscribe(UnsubscribeRequestParams::new(WATCHED)).await?;
    touch(peer, WATCHED).await?;
    text(peer, "echo", json!({"text": "fence"})).await?;
    same(&peer.host.record().updated[..], [WATCHED])
}
