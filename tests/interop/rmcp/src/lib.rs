//! What the rmcp client and the rmcp server of the interop tests share: the names of `../FIXTURE.md`.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The two roots that a client names.
pub const ROOTS: [&str; 2] = ["file:///fixture/one", "file:///fixture/two"];

/// The tools that do something, in listing order; 110 fillers follow.
pub const REAL_TOOLS: [&str; 10] = [
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

/// All 120 tools in listing order.
#[must_use]
pub fn tool_names() -> Vec<String> {
    let fillers = (0..110).map(|i| format!("tool_{i:03}"));
    REAL_TOOLS.iter().map(ToString::to_string).chain(fillers).collect()
}

/// Reads an SDK type from its wire form, which is how the fixture's page writes it.
///
/// # Panics
/// If the JSON is not of the type: it is written in this crate, so that is a mistake in this crate.
#[must_use]
pub fn from_wire<T: DeserializeOwned>(json: Value) -> T {
    match serde_json::from_value(json) {
        Ok(value) => value,
        Err(error) => panic!("{error}: not a {}", std::any::type_name::<T>()),
    }
}
