//! Drives a fixture server with rmcp's client, in either era. See `../../../../FIXTURE.md`.
//!
//! `rmcp-client [--http] legacy|modern COMMAND [ARGUMENT…]`

#![expect(deprecated, reason = "roots, sampling and logging are what is tested here")]

mod cells;

use std::error::Error;
use std::io::Write;
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult, ErrorData,
    ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion,
    ResourceUpdatedNotificationParam,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, RoleClient};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use mcp_sansio_interop_rmcp::{ROOTS, from_wire};

const CELL_SECONDS: u64 = 10;
const CLOSE: Duration = Duration::from_secs(10);

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What arrived, and how the next elicitation is answered.
#[derive(Default)]
struct Record {
    progress: Vec<(f64, Option<f64>)>,
    logs: Vec<LoggingMessageNotificationParam>,
    updated: Vec<String>,
    tools_changed: usize,
    elicited: Vec<ElicitRequestParams>,
    sampled: Vec<CreateMessageRequestParams>,
    decline: bool,
}

/// The client's side of `FIXTURE.md`: it answers, and it writes down.
#[derive(Clone, Default)]
struct Host(Arc<Mutex<Record>>);

impl Host {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        from_wire(json!({
            "protocolVersion": "2025-11-25",
            "clientInfo": {"name": "interop-rmcp-client", "version": "1.0.0"},
            "capabilities": {"elicitation": {"form": {}}, "sampling": {}, "roots": {"listChanged": true}},
        }))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let mut record = self.record();
        record.elicited.push(params);
        Ok(from_wire(if record.decline {
            json!({"action": "decline"})
        } else {
            json!({"action": "accept", "content": {"name": "Ada"}})
        }))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let prompt = params.messages.first().and_then(|m| m.content.first());
        let prompt = prompt.and_then(|block| block.as_text());
        let said = format!("You said: {}", prompt.map_or("nothing", |text| &text.text));
        self.record().sampled.push(params);
        Ok(from_wire(json!({
            "role": "assistant",
            "model": "fixture-model",
            "stopReason": "endTurn",
            "content": {"type": "text", "text": said},
        })))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(from_wire(json!({"roots": ROOTS.map(|uri| json!({"uri": uri}))})))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let step = (params.progress, params.total);
        self.record().progress.push(step);
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.record().logs.push(params);
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.record().updated.push(params.uri);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.record().tools_changed += 1;
    }
}

/// A connection and what came over it.
struct Peer {
    client: RunningService<RoleClient, Host>,
    host: Host,
    modern: bool,
}

impl Peer {
    /// Connects to a process of its own, or to the one that listens at `url`.
    async fn connect(modern: bool, command: &[String], url: Option<&str>) -> Outcome<Self> {
        let lifecycle = if modern {
            // Probes with server/discover, as a host does that does not know its server.
            ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None }
        } else {
            ClientLifecycleMode::Initialize
        };
        let host = Host::default();
        let client = match url {
            Some(url) => {
                let transport = StreamableHttpClientTransport::from_uri(url);
                host.clone().serve_with_lifecycle(transport, lifecycle).await?
            }
            None => {
                let child = TokioChildProcess::builder(start(command)?).stderr(Stdio::inherit());
                host.clone().serve_with_lifecycle(child.spawn()?.0, lifecycle).await?
            }
        };
        let version = client.peer_info().map(|info| info.protocol_version.clone());
        let connected = version == Some(ProtocolVersion::V_2026_07_28);
        if connected != modern {
            return Err(format!("connected at {version:?}").into());
        }
        Ok(Self { client, host, modern })
    }
}

fn start(command: &[String]) -> Outcome<Command> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let mut child = Command::new(program);
    child.args(arguments);
    Ok(child)
}

/// A server that listens: its process, which says where on its first line, and ends when its input does.
struct Served {
    child: Child,
    /// What it writes after its first line is not read, but has a place to go.
    _stdout: BufReader<ChildStdout>,
    url: String,
}

impl Served {
    async fn start(command: &[String]) -> Outcome<Self> {
        let mut child = start(command)?;
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = child.spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or("standard output is not piped")?);
        let mut url = String::new();
        stdout.read_line(&mut url).await?;
        Ok(Self { child, _stdout: stdout, url: url.trim().to_owned() })
    }

    /// Lets the server end, and ends it when it does not.
    async fn end(mut self) -> Outcome {
        drop(self.child.stdin.take());
        if timeout(CLOSE, self.child.wait()).await.is_err() {
            self.child.kill().await?;
        }
        Ok(())
    }
}

/// Runs one cell on a process of its own. rmcp kills the child of a connection that is dropped.
async fn judge(cell: &str, modern: bool, command: &[String], http: bool, limit: Duration) -> Outcome {
    let late = |_| format!("no end within {} s", limit.as_secs());
    let deadline = tokio::time::Instant::now() + limit;
    let served = match http {
        true => Some(tokio::time::timeout_at(deadline, Served::start(command)).await.map_err(late)??),
        false => None,
    };
    let url = served.as_ref().map(|served| &*served.url);
    let mut peer = tokio::time::timeout_at(deadline, Peer::connect(modern, command, url)).await.map_err(late)??;
    let outcome = tokio::time::timeout_at(deadline, cells::run(cell, &peer)).await;
    if peer.client.close_with_timeout(CLOSE).await?.is_none() {
        return Err("the connection does not close".into());
    }
    if let Some(served) = served {
        served.end().await?;
    }
    outcome.map_err(late)?
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let http = arguments.next_if(|argument| argument == "--http").is_some();
    let era = arguments.next().unwrap_or_default();
    let command: Vec<String> = arguments.collect();
    if !["legacy", "modern"].contains(&era.as_str()) || command.is_empty() {
        eprintln!("usage: rmcp-client [--http] legacy|modern COMMAND [ARGUMENT...]");
        return ExitCode::from(2);
    }
    let only = std::env::var("INTEROP_CELLS").ok();
    let chosen: Vec<&str> = match &only {
        Some(names) => names.split(',').collect(),
        None => cells::NAMES.to_vec(),
    };
    let seconds = std::env::var("INTEROP_CELL_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let limit = Duration::from_secs(seconds.unwrap_or(CELL_SECONDS));
    for cell in chosen {
        let (verdict, why) = match judge(cell, era == "modern", &command, http, limit).await {
            Ok(()) => ("pass", String::new()),
            Err(error) => ("fail", error.to_string()),
        };
        let line = json!({"cell": cell, "verdict": verdict, "why": why});
        if writeln!(std::io::stdout(), "{line}").is_err() {
            return ExitCode::FAILURE;
        }
    }
    // Lets rmcp reap the children of connections that were dropped, if any.
    let _ = timeout(Duration::from_millis(50), std::future::pending::<()>()).await;
    ExitCode::SUCCESS
}
