//! What is done with a fixture server (`tests/interop/FIXTURE.md`, "Cells").

use std::time::Duration;

use mcp_sansio_tokio::client::{Client, ClientError, Listening};
use mcp_sansio_tokio::core::client::{CallError, CallOptions};
use mcp_sansio_tokio::model::{CallToolResult, LoggingLevel, ResourceUpdatedParams, SubscriptionFilter};
use mcp_sansio_tokio::spec::Era;
use serde_json::{Value, json};

use crate::check::{
    Body, Outcome, Part, call_refused, ensure, fail, messages, only_text, part, refused, same, text, value,
};
use crate::peer::{Peer, ROOTS};

const REAL_TOOLS: [&str; 10] = [
    "echo",
    "add",
    "slow",
    "cancelled_count",
    "ask_name",
    "ask_model",
    "list_roots",
    "log_three",
    "touch",
    "toggle_tool",
];
const FILLERS: usize = 110;
const PAGE: usize = 50;
const WATCHED: &str = "fixture://text";
const OTHER: &str = "fixture://blob";
const ITEMS: &str = "fixture://items/{id}";
/// How often a count is asked for that must come to change.
const AGAIN: Duration = Duration::from_millis(10);

pub(crate) async fn run(cell: &str, peer: &mut Peer) -> Outcome {
    match cell {
        "lists" => lists(&peer.client).await,
        "calls" => calls(&peer.client).await,
        "prompts" => prompts(&peer.client).await,
        "resources" => resources(&peer.client).await,
        "completion" => completion(&peer.client).await,
        "progress" => progress(&peer.client).await,
        "cancellation" => cancellation(&peer.client).await,
        "elicitation" => elicitation(peer).await,
        "sampling" => sampling(peer).await,
        "roots" => roots(&peer.client).await,
        "logging" => logging(peer).await,
        "listen" => listen(peer).await,
        _ => fail(format!("no cell {cell}")),
    }
}

fn tool_names() -> Vec<String> {
    let fillers = (0..FILLERS).map(|number| format!("tool_{number:03}"));
    REAL_TOOLS.map(str::to_owned).into_iter().chain(fillers).collect()
}

async fn lists(client: &Client) -> Outcome {
    let tools = client.tools().await?;
    same("tools", tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>(), tool_names())?;
    let output = tools.iter().find(|tool| tool.name == "add").and_then(|tool| tool.output_schema.as_ref());
    let Some(output) = output else { return fail("add has no output schema") };
    same("required output", &value(output)?["required"], &json!(["sum"]))?;

    let mut page = client.tools_page(None).await?;
    let mut sizes = vec![page.items.len()];
    while let Some(cursor) = page.next_cursor {
        page = client.tools_page(Some(&cursor)).await?;
        sizes.push(page.items.len());
    }
    same("sizes of pages", sizes, vec![PAGE, PAGE, 20])?;

    let prompts = client.prompts().await?;
    same("prompts", prompts.iter().map(|prompt| &*prompt.name).collect::<Vec<_>>(), vec!["greet", "plain"])?;
    let arguments = prompts.iter().flat_map(|prompt| prompt.arguments.iter().flatten());
    let arguments: Vec<_> = arguments.map(|argument| (&*argument.name, argument.is_required())).collect();
    same("arguments of prompts", arguments, vec![("who", true)])?;
    let resources = client.resources().await?;
    same("resources", resources.iter().map(|resource| &*resource.uri).collect::<Vec<_>>(), vec![WATCHED, OTHER])?;
    let templates = client.templates().await?;
    same("templates", templates.iter().map(|template| &*template.uri_template).collect::<Vec<_>>(), vec![ITEMS])
}

async fn calls(client: &Client) -> Outcome {
    let samples = [
        "plain",
        "grüße 🦀 日本",
        "two\nlines\r\n",
        "sep\u{2028}para\u{2029}",
        "\"quoted\" \\ \u{0}",
        "",
        "{\"a\": 1}",
    ];
    for sample in samples {
        same("echo", text(client.call_tool("echo", json!({"text": sample}))).await?, sample)?;
    }
    let sum = client.call_tool("add", json!({"a": 20, "b": 22})).await?;
    same("structured", sum.structured_content.as_ref().map(value).transpose()?, Some(json!({"sum": 42})))?;
    same("mirrored", serde_json::from_str::<Value>(&only_text(&sum)?)?, json!({"sum": 42}))?;
    call_refused("a string for an integer", client.call_tool("add", json!({"a": "x", "b": 1}))).await?;
    call_refused("an unknown tool", client.call_tool("no_such_tool", json!({}))).await?;
    same("the last tool", text(client.call_tool("tool_109", json!({}))).await?, "tool_109")
}

async fn prompts(client: &Client) -> Outcome {
    let user = |text: &str| vec![("user".to_owned(), text.to_owned())];
    let greet = messages(client.get_prompt("greet", json!({"who": "Zoë"}))).await?;
    same("greet", greet, user("Please greet Zoë."))?;
    same("plain", messages(client.get_prompt("plain", json!({}))).await?, user("A plain prompt."))?;
    refused("a missing prompt argument", client.get_prompt("greet", json!({})).await)?;
    refused("an unknown prompt", client.get_prompt("no_such_prompt", json!({})).await)
}

async fn resources(client: &Client) -> Outcome {
    let expected = [
        Part::text(WATCHED, "text/plain", "fixture text"),
        Part::new(OTHER, "application/octet-stream", Body::Blob(vec![0, 1, 2, 0xff])),
        Part::text("fixture://items/two", "text/plain", "item two"),
    ];
    for expected in expected {
        same("a resource", part(client.read_resource(&expected.uri)).await?, expected)?;
    }
    refused("an unknown resource", client.read_resource("fixture://nowhere").await)
}

async fn completion(client: &Client) -> Outcome {
    same("who", client.complete_prompt("greet", "who", "al").await?.values, ["alice", "albert"])?;
    same("id", client.complete_template(ITEMS, "id", "t").await?.values, ["two", "three"])?;
    same("no id", client.complete_template(ITEMS, "id", "x").await?.values, [""; 0])
}

async fn progress(client: &Client) -> Outcome {
    let (call, mut reports) = client.call_tool("slow", json!({"ms": 100})).progress_stream();
    same("slow", text(call).await?, "done")?;
    let mut steps = Vec::new();
    while let Some(report) = reports.next().await {
        steps.push((report.progress, report.total));
    }
    same("progress", steps, [1.0, 2.0, 3.0, 4.0, 5.0].map(|step| (step, Some(5.0))))?;
    same("without a token", text(client.call_tool("slow", json!({"ms": 10}))).await?, "done")
}

async fn cancellation(client: &Client) -> Outcome {
    let (call, mut reports) = client.call_tool("slow", json!({"ms": 30_000})).progress_stream();
    let call = call.send()?;
    ensure(reports.next().await.is_some(), "the call ended before its first progress")?;
    call.cancel(Some("enough"));
    same("the cancelled call", call.await, Err(ClientError::Call(CallError::Cancelled)))?;
    while text(client.call_tool("cancelled_count", json!({}))).await? != "1" {
        tokio::time::sleep(AGAIN).await;
    }
    same("the connection", text(client.call_tool("echo", json!({"text": "alive"}))).await?, "alive")
}

async fn elicitation(peer: &Peer) -> Outcome {
    let ask = || peer.client.call_tool("ask_name", json!({}));
    same("accepted", text(ask()).await?, "Hello, Ada")?;
    peer.asked().decline = true;
    same("declined", text(ask()).await?, "declined")?;
    let forms = std::mem::take(&mut peer.asked().forms);
    same("number of forms", forms.len(), 2)?;
    for form in forms {
        same("message", &*form.message, "What is your name?")?;
        let schema = value(&form.requested_schema)?;
        same("type of the name", &schema["properties"]["name"]["type"], "string")?;
        same("required", &schema["required"], &json!(["name"]))?;
    }
    Ok(())
}

async fn sampling(peer: &Peer) -> Outcome {
    let answer = text(peer.client.call_tool("ask_model", json!({"prompt": "one + one?"}))).await?;
    same("the answer", answer, "You said: one + one?")?;
    let bounds: Vec<_> = peer.asked().samples.iter().map(|params| params.max_tokens.as_i64()).collect();
    same("maxTokens", bounds, vec![Some(50)])
}

async fn roots(client: &Client) -> Outcome {
    same("roots", text(client.call_tool("list_roots", json!({}))).await?, ROOTS.join("\n"))
}

async fn logging(peer: &mut Peer) -> Outcome {
    let all = [("info", "one"), ("warning", "two"), ("error", "three")];
    same("at info", logs(peer, Some(LoggingLevel::Info)).await?, all.map(log).to_vec())?;
    same("at error", logs(peer, Some(LoggingLevel::Error)).await?, vec![log(all[2])])?;
    match peer.era {
        Era::Legacy => Ok(()),
        Era::Modern => same("without a level", logs(peer, None).await?, Vec::new()),
    }
}

/// A message as [`logs`] shows it.
fn log((level, text): (&str, &str)) -> (String, Option<String>, Value) {
    (level.to_owned(), Some("fixture".to_owned()), json!(text))
}

/// What a call logs at a level: of the session in the legacy era, of the call in the modern one.
async fn logs(peer: &mut Peer, level: Option<LoggingLevel>) -> Outcome<Vec<(String, Option<String>, Value)>> {
    let mut options = CallOptions::new();
    if let Some(level) = level {
        match peer.era {
            Era::Legacy => peer.client.set_level(level).await?,
            Era::Modern => options = options.log_level(level),
        }
    }
    peer.told()?.logs.clear();
    same("the call", text(peer.client.call_tool("log_three", json!({})).options(options)).await?, "logged")?;
    fence(&peer.client).await?;
    let logs = std::mem::take(&mut peer.told()?.logs);
    logs.into_iter().map(|log| Ok((log.level.as_str().to_owned(), log.logger, value(&log.data)?))).collect()
}

/// What was sent before its answer has arrived.
async fn fence(client: &Client) -> Outcome {
    same("the fence", text(client.call_tool("echo", json!({"text": "fence"}))).await?, "fence")
}

async fn touch(client: &Client, uri: &str) -> Outcome {
    same("touch", text(client.call_tool("touch", json!({"uri": uri}))).await?, "touched")
}

async fn listen(peer: &mut Peer) -> Outcome {
    let client = peer.client.clone();
    let mut watch = Watch::begin(peer).await?;
    touch(&client, OTHER).await?;
    touch(&client, WATCHED).await?;
    same("updates", &peer.until(|told| !told.updated.is_empty()).await?.updated, &[WATCHED])?;
    watch.check().await?;

    same("toggle", text(client.call_tool("toggle_tool", json!({}))).await?, "toggled")?;
    peer.until(|told| told.tools_changed > 0).await?;
    let names: Vec<String> = client.tools().await?.into_iter().map(|tool| tool.name).collect();
    let mut expected = tool_names();
    expected.push("extra".into());
    same("tools with the new one", names, expected)?;
    let extra: CallToolResult = client.call_tool("extra", json!({})).await?;
    same("the new tool", only_text(&extra)?, "extra")?;

    watch.end(&client).await?;
    touch(&client, WATCHED).await?;
    fence(&client).await?;
    same("updates after the end of the watch", &peer.told()?.updated, &[WATCHED])
}

/// Being told of changes, as the era has it.
enum Watch {
    Subscription,
    Stream(Box<Listening>),
}

impl Watch {
    async fn begin(peer: &Peer) -> Outcome<Self> {
        if peer.era == Era::Legacy {
            peer.client.subscribe(WATCHED).await?;
            return Ok(Self::Subscription);
        }
        let uris = vec![WATCHED.to_owned()];
        let filter = SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(uris);
        let stream = peer.client.listen(&filter).await?;
        same("the acknowledged filter", stream.filter(), &filter)?;
        Ok(Self::Stream(Box::new(stream)))
    }

    /// The stream carries the update itself.
    async fn check(&mut self) -> Outcome {
        let Self::Stream(stream) = self else { return Ok(()) };
        let Some(notification) = stream.next().await else { return fail("the stream has ended") };
        same("the update in the stream", notification.parse::<ResourceUpdatedParams>()?.uri, WATCHED)
    }

    async fn end(self, client: &Client) -> Outcome {
        if let Self::Subscription = self {
            client.unsubscribe(WATCHED).await?;
        }
        Ok(())
    }
}
