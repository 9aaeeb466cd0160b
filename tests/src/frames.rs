//! Frames that many tests write.

use serde_json::{Value, json};

/// The envelope of a modern request that declares these capabilities.
#[must_use]
pub fn envelope(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// A request as it is.
pub fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

/// A modern request of a client that declares nothing.
pub fn modern(id: impl Into<Value>, method: &str, params: Value) -> Value {
    modern_with(id, method, params, json!({}))
}

/// A modern request of a client that declares these capabilities. `_meta` of the params is kept.
pub fn modern_with(id: impl Into<Value>, method: &str, mut params: Value, capabilities: Value) -> Value {
    let mut meta = envelope(capabilities);
    if let Some(more) = params["_meta"].as_object() {
        for (key, value) in more {
            meta[key] = value.clone();
        }
    }
    params["_meta"] = meta;
    request(id, method, params)
}

/// A modern call of a tool.
pub fn call(id: impl Into<Value>, name: &str, arguments: Value) -> Value {
    modern(id, "tools/call", json!({"name": name, "arguments": arguments}))
}

/// A notification.
#[must_use]
pub fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// The notification that cancels a request.
pub fn cancelled(id: impl Into<Value>) -> Value {
    notification("notifications/cancelled", json!({"requestId": id.into()}))
}

/// A result.
pub fn result(id: impl Into<Value>, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": result})
}

/// The requests that open a legacy session.
#[must_use]
pub fn handshake(version: &str, capabilities: Value) -> [Value; 2] {
    let client = json!({"name": "c", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
    [request("session", "initialize", params), json!({"jsonrpc": "2.0", "method": "notifications/initialized"})]
}
