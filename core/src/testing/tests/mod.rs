//! The harness is a product too: what it promises, it keeps.

mod link;
mod pair;
mod transcript;

use serde_json::{Value, json};

use super::*;
use crate::client::{CallOptions, Client, Config, Request};
use crate::http::client::{Endpoint, HttpClient};
use crate::http::server::Options;
use crate::json::Json;
use crate::machine::{Input, Mono};
use crate::model::{CallToolResult, Implementation, Tool};
use crate::rng::Seed;
use crate::server::{Definition, Reply, Server};

fn definition() -> Definition {
    Definition::builder("server", "1.0.0").tool(Tool::new("echo")).logging().build().unwrap()
}

fn config() -> Config {
    Config::new(Implementation::new("client", "1.0.0"))
}

fn raw(value: Value) -> Json {
    Json::from(value)
}
