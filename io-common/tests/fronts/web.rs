//! HTTP as bytes: requests written by hand, responses read as they come.
#![allow(dead_code)]

use std::net::SocketAddr;

use crate::front::mcp::HttpServer;
use crate::front::mcp::core::http::server::Options;
use crate::front::mcp::http::{Bounds, HttpService};
use crate::front::mcp::server::BuiltServer;
use futures_util::{AsyncReadExt as _, AsyncWriteExt as _, FutureExt as _};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::front::{self, Stream, Task};

/// One connection.
pub(crate) struct Wire {
    stream: Stream,
    buffer: Vec<u8>,
}

/// The head of a response.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn is_chunked(&self) -> bool {
        self.header("transfer-encoding").is_some_and(|value| value.contains("chunked"))
    }
}

/// A whole response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The messages of an event stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.split("\n\n").filter_map(event_data);
        data.map(|data| serde_json::from_str(&data).unwrap()).collect()
    }
}

fn event_data(event: &str) -> Option<String> {
    let lines: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim_start).collect();
    let data = lines.join("\n");
    (!data.is_empty()).then_some(data)
}

impl Wire {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self { stream: front::connect(address).await.unwrap(), buffer: Vec::new() }
    }

    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Writes what the other side may not want any more.
    pub(crate) async fn try_write(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).await.is_ok()
    }

    pub(crate) async fn post(&mut self, headers: &[(&str, &str)], body: &str) {
        let mut text = String::from("POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n");
        text += "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {}\r\n\r\n{body}", body.len());
        self.write(text).await;
    }

    pub(crate) async fn get(&mut self, headers: &[(&str, &str)]) {
        let mut text = String::from("GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        self.write(text + "\r\n").await;
    }

    /// Reads more; `false` at the end.
    async fn more(&mut self) -> bool {
        let mut chunk = [0; 4096];
        let count = self.stream.read(&mut chunk).await.unwrap_or(0);
        self.buffer.extend_from_slice(&chunk[..count]);
        count > 0
    }

    /// Whether the other side closes without another byte.
    pub(crate) async fn ends(&mut self) -> bool {
        !self.more().await && self.buffer.is_empty()
    }

    /// Whether nothing has come that was not read.
    pub(crate) fn is_silent(&mut self) -> bool {
        let mut byte = [0];
        self.buffer.is_empty() && self.stream.read(&mut byte).now_or_never().is_none()
    }

    /// Reads until the other side closes. Answers how many bytes came.
    pub(crate) async fn rest(&mut self) -> usize {
        let mut total = self.buffer.len();
        while self.more().await {
            total += self.buffer.len();
            self.buffer.clear();
        }
        total
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=at).collect();
                return Some(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < count {
            if !self.more().await {
                return None;
            }
        }
        Some(self.buffer.drain(..count).collect())
    }

    /// The head of the next response; `None` if the other side closes instead.
    pub(crate) async fn head(&mut self) -> Option<Head> {
        let status = self.line().await?;
        let status = status.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Some(Head { status, headers })
    }

    /// The next chunk of a body that comes in chunks; `None` at its end, or where it breaks off.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line().await?, 16).ok()?;
        let chunk = self.exactly(length).await?;
        self.line().await?;
        (length > 0).then_some(chunk)
    }

    /// The next whole response.
    pub(crate) async fn answer(&mut self) -> Answer {
        let head = self.head().await.expect("a response");
        let mut body = Vec::new();
        if head.is_chunked() {
            while let Some(chunk) = self.chunk().await {
                body.extend_from_slice(&chunk);
            }
        } else if let Some(length) = head.header("content-length") {
            body = self.exactly(length.parse().unwrap()).await.unwrap();
        }
        Answer { head, body: String::from_utf8(body).unwrap() }
    }

    /// The next message of an event stream whose head has been read; comments and empty events are passed over.
    pub(crate) async fn event(&mut self, events: &mut Events) -> Option<Event> {
        loop {
            if let Some(event) = events.next() {
                return Some(event);
            }
            let chunk = self.chunk().await?;
            events.text += std::str::from_utf8(&chunk).unwrap();
        }
    }
}

/// What has been read of an event stream.
#[derive(Default)]
pub(crate) struct Events {
    text: String,
}

#[derive(Debug, Default)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<u64>,
    pub(crate) data: String,
}

impl Event {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

impl Events {
    fn next(&mut self) -> Option<Event> {
        loop {
            let (event, rest) =
                self.text.split_once("\n\n").map(|(event, rest)| (event.to_owned(), rest.to_owned()))?;
            self.text = rest;
            let field = |name: &str| {
                event.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim_start().to_owned())
            };
            let (id, retry) = (field("id:"), field("retry:").and_then(|value| value.parse().ok()));
            let data = event_data(&event).unwrap_or_default();
            if id.is_some() || retry.is_some() || !data.is_empty() {
                return Some(Event { id, retry, data });
            }
        }
    }
}

/// A server that listens on a port of its own.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) service: HttpService,
    stop: oneshot::Sender<()>,
    task: Task<()>,
}

pub(crate) async fn start(server: &BuiltServer) -> Running {
    start_with(server, Options::default(), Bounds::default()).await
}

pub(crate) async fn start_with(server: &BuiltServer, options: Options, bounds: Bounds) -> Running {
    let service = server.http(front::runtime()).options(options).build().unwrap();
    let listening = HttpServer::bind(service.clone(), "127.0.0.1:0").await.unwrap().bounds(bounds);
    let address = listening.local_addr();
    let (stop, stopped) = oneshot::channel();
    let task = front::spawn(listening.run_until(async { drop(stopped.await) }));
    Running { address, service, stop, task }
}

impl Running {
    pub(crate) async fn open(&self) -> Wire {
        Wire::open(self.address).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Drops the server.
    pub(crate) fn abort(self) {
        self.task.abort();
    }

    /// Asks the server to stop. The answer is ready when it has.
    pub(crate) fn stop(self) -> Task<()> {
        let Self { stop, task, .. } = self;
        let _ = stop.send(());
        task
    }
}

/// A request of the modern era.
pub(crate) fn modern_request(id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    let meta = params.as_object_mut().unwrap().entry("_meta").or_insert_with(|| json!({}));
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

impl Wire {
    /// Sends a request of the modern era, with the headers that repeat it and some more.
    pub(crate) async fn modern_with(&mut self, more: &[(&str, &str)], id: u64, method: &str, params: Value) {
        let name = params["name"].as_str().or_else(|| params["uri"].as_str()).map(str::to_owned);
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
        headers.extend_from_slice(more);
        self.post(&headers, &modern_request(id, method, params).to_string()).await;
    }

    pub(crate) async fn modern(&mut self, id: u64, method: &str, params: Value) {
        self.modern_with(&[], id, method, params).await;
    }

    /// Opens a legacy session at a revision. Answers its id.
    pub(crate) async fn initialize(&mut self, version: &str) -> String {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": version,
            "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}}});
        self.post(&[], &body.to_string()).await;
        let answer = self.answer().await;
        assert_eq!(answer.head.status, 200, "{answer:?}");
        let session = answer.head.header("mcp-session-id").expect("a session").to_owned();
        let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", version)];
        self.post(&headers, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
        assert_eq!(self.answer().await.head.status, 202);
        session
    }

    /// Sends a message in a legacy session.
    pub(crate) async fn legacy(&mut self, session: &str, message: Value) {
        let headers = [("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")];
        self.post(&headers, &message.to_string()).await;
    }
}
