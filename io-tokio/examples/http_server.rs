//! A server over HTTP, for both eras at once: `cargo run --example http_server -- 127.0.0.1:8000`
//!
//! It stops when it is interrupted: streams that wait for news are ended, calls that run may finish.

use std::error::Error;
use std::process::ExitCode;

use mcp_sansio_tokio::model::Tool;
use mcp_sansio_tokio::server::{Context, Server, Structured};
use mcp_sansio_tokio::{HttpServer, TokioRuntime};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
}

#[derive(serde::Serialize)]
struct Sum {
    sum: f64,
}

pub(crate) fn adder() -> Server {
    Server::new("adder", "1.0.0").tool(
        Tool::new("add").description("Adds two numbers").read_only(),
        |add: Add, cx: Context| async move {
            // Nobody need have asked for it.
            let _ = cx.progress(1.0, Some(2.0)).await;
            Structured(Sum { sum: add.a + add.b })
        },
    )
}

const HELP: &str = "http_server [ADDRESS]

Serves the tool `add` over HTTP, at 127.0.0.1:8000 unless told, until it is interrupted. It exits with 1 if it cannot.";

#[tokio::main]
#[expect(clippy::print_stdout, reason = "help is what was asked for")]
async fn main() -> ExitCode {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".into());
    if address.starts_with('-') {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match run(&address).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("http_server at {address}: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(address: &str) -> Result<(), Box<dyn Error>> {
    let service = adder().build()?.http(TokioRuntime::current()).build()?;
    let listening = HttpServer::bind(service, address).await?;
    eprintln!("listening at http://{}/mcp", listening.local_addr());
    listening
        .run_until(async {
            // Without a handler for the signal there is nothing to wait for.
            let _ = tokio::signal::ctrl_c().await;
        })
        .await;
    Ok(())
}
