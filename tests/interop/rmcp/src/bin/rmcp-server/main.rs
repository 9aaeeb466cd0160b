//! The fixture server (`../../../../FIXTURE.md`) on rmcp: both eras over stdio, or, with `--http`, over HTTP.

#![expect(deprecated, reason = "roots, sampling and logging are what is served here")]

mod tools;

use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, LoggingLevel, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService, stdio};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use mcp_sansio_interop_rmcp::from_wire;

const PAGE_SIZE: usize = 50;

/// What this process remembers.
struct State {
    cancelled: usize,
    has_extra: bool,
    level: LoggingLevel,
    subscribed: BTreeSet<String>,
    /// The streams of `subscriptions/listen` that are open.
    listeners: Vec<SubscriptionSink>,
    /// How many more have been accepted, but do not run yet.
    opening: usize,
}

struct Fixture {
    state: Mutex<State>,
    /// Tells that one more stream runs.
    opened: Notify,
}

type Context = RequestContext<RoleServer>;

fn is_modern(context: &Context) -> bool {
    context.protocol_version() >= Some(ProtocolVersion::V_2026_07_28)
}

fn refuse(message: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(message.into(), None)
}

/// A result from its wire form. rmcp marks results complete only in its own constructors, and takes the mark away again
/// for older revisions.
fn result<T: DeserializeOwned>(mut json: Value) -> T {
    json["resultType"] = json!("complete");
    from_wire(json)
}

impl Fixture {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The streams that are open. rmcp acknowledges a stream before it runs the handler that holds it, so that a call
    /// made after the acknowledgement may overtake that handler.
    async fn listeners(&self) -> Vec<SubscriptionSink> {
        loop {
            let opened = self.opened.notified();
            if self.state().opening == 0 {
                return self.state().listeners.clone();
            }
            opened.await;
        }
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        from_wire(json!({
            "protocolVersion": "2025-11-25",
            "serverInfo": {"name": "interop-rmcp-server", "version": "1.0.0"},
            "capabilities": {
                "tools": {"listChanged": true},
                "prompts": {},
                "resources": {"subscribe": true},
                "completions": {},
                "logging": {},
            },
        }))
    }

    async fn list_tools(&self, page: Option<PaginatedRequestParams>, _: Context) -> Result<ListToolsResult, ErrorData> {
        let start = match page.and_then(|page| page.cursor) {
            Some(cursor) => cursor.parse().map_err(|_| refuse("unknown cursor"))?,
            None => 0,
        };
        let all = tools::definitions(self.state().has_extra);
        let end = start + PAGE_SIZE;
        let next_cursor = (end < all.len()).then(|| end.to_string());
        let mut page = ListToolsResult::with_all_items(all.into_iter().skip(start).take(PAGE_SIZE).collect());
        page.next_cursor = next_cursor;
        Ok(page)
    }

    async fn call_tool(&self, call: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        tools::call(self, call, context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let greet = json!({"name": "greet", "arguments": [{"name": "who", "required": true}]});
        Ok(result(json!({"prompts": [greet, {"name": "plain"}]})))
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, _: Context) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let said = match request.name.as_str() {
            "plain" => "A plain prompt.".to_owned(),
            "greet" => {
                let who = arguments.get("who").and_then(|who| who.as_str());
                let who = who.ok_or_else(|| refuse("greet needs the argument \"who\""))?;
                format!("Please greet {who}.")
            }
            other => return Err(refuse(format!("unknown prompt {other}"))),
        };
        let message = json!({"role": "user", "content": {"type": "text", "text": said}});
        Ok(result::<GetPromptResult>(json!({"messages": [message]})).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(result(json!({"resources": [
            {"uri": "fixture://text", "name": "text", "mimeType": "text/plain"},
            {"uri": "fixture://blob", "name": "blob", "mimeType": "application/octet-stream"},
        ]})))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(result(json!({"resourceTemplates": [
            {"uriTemplate": "fixture://items/{id}", "name": "items", "mimeType": "text/plain"},
        ]})))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let text = |text: String| json!({"uri": uri, "mimeType": "text/plain", "text": text});
        let content = match (uri, uri.strip_prefix("fixture://items/")) {
            ("fixture://text", _) => text("fixture text".into()),
            ("fixture://blob", _) => {
                json!({"uri": uri, "mimeType": "application/octet-stream", "blob": "AAEC/w=="})
            }
            (_, Some(id)) if !id.is_empty() && !id.contains('/') => text(format!("item {id}")),
            _ => {
                let data = Some(json!({"uri": uri}));
                return Err(ErrorData::resource_not_found("resource not found", data));
            }
        };
        Ok(result::<ReadResourceResult>(json!({"contents": [content]})).into())
    }

    async fn complete(&self, request: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        let known: &[&str] = match request.argument.name.as_str() {
            "who" => &["alice", "albert", "bob"],
            "id" => &["one", "two", "three"],
            _ => &[],
        };
        let prefix = request.argument.value.as_str();
        let values: Vec<_> = known.iter().filter(|v| v.starts_with(prefix)).collect();
        Ok(result(json!({"completion": {"values": values, "hasMore": false}})))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        self.state().level = request.level;
        Ok(())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.state().subscribed.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.state().subscribed.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.state().opening += 1;
        // rmcp itself takes away what the capabilities do not declare.
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let sink = context.sink().clone();
        let id = sink.id().clone();
        {
            let mut state = self.state();
            state.opening -= 1;
            state.listeners.push(sink);
        }
        self.opened.notify_waiters();
        context.cancelled().await;
        self.state().listeners.retain(|sink| sink.id() != &id);
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let state = State {
        cancelled: 0,
        has_extra: false,
        level: LoggingLevel::Debug,
        subscribed: BTreeSet::new(),
        listeners: Vec::new(),
        opening: 0,
    };
    let fixture = Fixture { state: Mutex::new(state), opened: Notify::new() };
    if std::env::args().nth(1).is_some_and(|argument| argument == "--http") {
        return serve_http(fixture).await;
    }
    fixture.serve(stdio()).await?.waiting().await?;
    Ok(())
}

/// Serves on a port that the system chooses, says where, and stops when nobody holds the other end of the input.
async fn serve_http(fixture: Fixture) -> Result<(), Box<dyn Error>> {
    let fixture = Arc::new(fixture);
    let service = StreamableHttpService::new(
        move || Ok(Arc::clone(&fixture)),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    let accept = async {
        loop {
            let (stream, _) = listener.accept().await?;
            let service = TowerToHyperService::new(service.clone());
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // One that breaks is of no concern to the others.
            tokio::spawn(async move { drop(connection.await) });
        }
    };
    let abandoned = async {
        let mut input = [0; 64];
        while let Ok(1..) = tokio::io::stdin().read(&mut input).await {}
    };
    tokio::select! {
        broken = accept => broken,
        () = abandoned => Ok(()),
    }
}
