//! A whole server: one tool over stdio.
//!
//! `cargo run --example inspect -- --call add '{"a":1,"b":2}' -- cargo run --quiet --example stdio_server`

use mcp_sansio_tokio::model::Tool;
use mcp_sansio_tokio::serve_stdio;
use mcp_sansio_tokio::server::{Context, Server, Structured, ToolSchemas as _};

/// Doc comments become descriptions in the tool's schema.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Sum {
    sum: f64,
}

async fn add(args: Add, _: Context) -> Structured<Sum> {
    Structured(Sum { sum: args.a + args.b })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new("adder", "1.0.0")
        .tool(Tool::new("add").description("Adds two numbers").read_only().answers::<Sum>(), add)
        .error_reporter(|report| eprintln!("{report}"))
        .build()?;
    Ok(serve_stdio(server).await?)
}
