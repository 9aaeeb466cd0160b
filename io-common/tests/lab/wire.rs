//! A client that writes frames by hand.

use std::sync::{Arc, Mutex};

use mcp_sansio::server::Closed;
use mcp_sansio_io::StreamError;
use mcp_sansio_io::server::{BuiltServer, Connection};
use serde_json::{Value, json};

use super::{Lab, Pipe};

pub type End = Arc<Mutex<Option<Result<Closed, StreamError>>>>;

/// A client that writes lines by hand.
pub struct Wire {
    pub lab: Arc<Lab>,
    pub to: Pipe,
    pub from: Pipe,
    pub connection: Connection,
    pub end: End,
}

impl Wire {
    pub fn new(server: &BuiltServer) -> Self {
        Self::with_room(server, usize::MAX)
    }

    pub fn with_room(server: &BuiltServer, room: usize) -> Self {
        let lab = Lab::new();
        let (to, from) = (Pipe::new(usize::MAX), Pipe::new(room));
        let (connection, driver) = server.accept(lab.runtime()).over(to.clone(), from.clone()).unwrap();
        let end = End::default();
        let ended = Arc::clone(&end);
        lab.spawn(async move {
            let outcome = driver.await;
            *ended.lock().unwrap() = Some(outcome);
        });
        Self { lab, to, from, connection, end }
    }

    /// A legacy session that is open, with every capability.
    pub fn legacy(server: &BuiltServer) -> Self {
        let wire = Self::new(server);
        let capabilities = json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}});
        wire.to.line(
            &json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "t", "version": "1"}}})
            .to_string(),
        );
        wire.to.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        wire.lab.settle();
        assert_eq!(wire.from.lines().len(), 1);
        wire
    }

    pub fn call(&self, id: i64, tool: &str, arguments: Value) {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
        self.to.line(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string());
    }

    pub fn modern(&self, id: i64, method: &str, mut params: Value) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}, "sampling": {}, "roots": {}},
        });
        self.to.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
    }

    pub fn lines(&self) -> Vec<Value> {
        self.lab.settle();
        self.from.lines()
    }

    pub fn line(&self) -> Value {
        let mut lines = self.lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines.remove(0)
    }

    pub fn end(&self) -> Option<Result<Closed, StreamError>> {
        self.lab.settle();
        self.end.lock().unwrap().take()
    }
}

pub fn text(line: &Value) -> &str {
    line["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {line}"))
}
