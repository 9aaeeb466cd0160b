//! Frames: what is accepted is the same value again.

use bytes::Bytes;
use mcp_sansio::jsonrpc::{InvalidFrame, Members, Message, decode};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Signature;

/// Runs one frame.
pub fn run(input: &[u8]) -> Signature {
    let mut signature = Signature::new();
    let frame = Bytes::copy_from_slice(input);
    let is_json = serde_json::from_slice::<&RawValue>(input).is_ok();
    let message = match decode(&frame, 64) {
        Ok(message) => {
            assert!(is_json, "what is no JSON was taken for a message");
            message
        }
        Err(error) => {
            assert!(!is_json || !matches!(error, InvalidFrame::NotJson), "JSON was taken for none");
            signature.note(&error.to_string());
            return signature;
        }
    };
    signature.note_variant(&message);
    // Numbers beyond what a float can say are JSON, and carried; this reader cannot compare them.
    let Ok(value) = serde_json::from_slice::<Value>(input) else { return signature };
    match message {
        Message::Batch(parts) => {
            let parts: Vec<Value> = parts.iter().filter_map(|part| serde_json::from_slice(part).ok()).collect();
            assert_eq!(Value::Array(parts), value);
        }
        Message::Request { id, method, params } => {
            assert_eq!(value["id"], read(id.to_json().get()));
            assert_eq!(value["method"], method.as_str());
            same(&params, &value["params"]);
            signature.note_variant(&method);
        }
        Message::Notification { method, params } => {
            assert!(value.get("id").is_none());
            assert_eq!(value["method"], method.as_str());
            same(&params, &value["params"]);
            signature.note_variant(&method);
        }
        Message::Result { id, result } => {
            assert_eq!(value["id"], read(id.to_json().get()));
            same(&result, &value["result"]);
        }
        Message::Error { id, error } => {
            assert_eq!(
                value.get("id").cloned().unwrap_or(Value::Null),
                id.map_or(Value::Null, |id| read(id.to_json().get()))
            );
            assert_eq!(value["error"], read(error.get()));
        }
    }
    signature
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("carried text is no JSON: {error}"))
}

fn same(members: &Members, value: &Value) {
    let expected = if value.is_null() { json!({}) } else { value.clone() };
    assert_eq!(read(members.json().get()), expected);
}
