//! A whole server on async-std: one tool over stdio, or over HTTP at the address that is given.
//!
//! `cargo run --package mcp-sansio-async-std --example async_std_server -- 127.0.0.1:8000`

use mcp_sansio_async_std::model::Tool;
use mcp_sansio_async_std::serve_stdio;
use mcp_sansio_async_std::server::{Context, Server, Structured, ToolSchemas as _};

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new("adder", "1.0.0")
        .tool(Tool::new("add").description("Adds two numbers").read_only().answers::<Sum>(), add)
        .error_reporter(|report| eprintln!("{report}"))
        .build()?;
    async_std::task::block_on(async {
        #[cfg(feature = "http")]
        if let Some(address) = std::env::args().nth(1) {
            return Ok(mcp_sansio_async_std::serve_http(server, address).await?);
        }
        Ok(serve_stdio(server).await?)
    })
}
