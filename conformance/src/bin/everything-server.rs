//! The server of the conformance suite. `everything-server --help` tells how it is started.

use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use mcp_sansio_conformance::server::everything;
use mcp_sansio_tokio::core::http::server::{Options, Replay};
use mcp_sansio_tokio::server::BuiltServer;
use mcp_sansio_tokio::spec::Era;
use mcp_sansio_tokio::{HttpServer, TokioRuntime, serve_stdio};

const HELP: &str = "
Usage: everything-server (--http ADDR | --stdio) [--modern-only | --legacy-only]

Offers every tool, prompt and resource that the official conformance suite asks for.

  --http ADDR     serve over HTTP at this address and port, such as 127.0.0.1:3000, until it is interrupted;
                  port 0 takes any. The URL is the first line of the output
  --stdio         serve over standard input and output, until end of input
  --modern-only   serve revisions from 2026-07-28 on
  --legacy-only   serve revisions up to 2025-11-25
  -h, --help      this text

Exit codes: 0 the client has gone, or it was interrupted; 1 the server failed; 2 the command line makes no sense.
";

/// How long clients of the legacy era shall stay away when their stream has ended.
const RETRY: Duration = Duration::from_millis(500);

/// How to serve.
enum Way {
    Http(SocketAddr),
    Stdio,
}

#[tokio::main]
async fn main() -> ExitCode {
    let (mut way, mut only) = (None, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-h" | "--help" => {
                let told = writeln!(std::io::stdout(), "{}", HELP.trim());
                return if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
            }
            "--http" if way.is_none() => match words.next().map(|address| address.parse()) {
                Some(Ok(address)) => way = Some(Way::Http(address)),
                _ => return usage("--http needs an address and a port"),
            },
            "--stdio" if way.is_none() => way = Some(Way::Stdio),
            "--modern-only" if only.is_none() => only = Some(Era::Modern),
            "--legacy-only" if only.is_none() => only = Some(Era::Legacy),
            _ => return usage(&format!("{word} is not understood here")),
        }
    }
    let Some(way) = way else { return usage("say how to serve: --http ADDR or --stdio") };
    match serve(way, only).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("everything-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(way: Way, only: Option<Era>) -> Result<(), Box<dyn Error>> {
    let server = everything(only)?;
    match way {
        Way::Http(address) => serve_http(server, address).await,
        Way::Stdio => Ok(serve_stdio(server).await?),
    }
}

/// Keeps what goes out, so that clients can come back for it.
async fn serve_http(server: BuiltServer, address: SocketAddr) -> Result<(), Box<dyn Error>> {
    let options = Options::default().replay(Replay { retry: RETRY, ..Replay::default() });
    let service = server.http(TokioRuntime::current()).options(options).build()?;
    let server = HttpServer::bind(service, address).await?;
    writeln!(std::io::stdout(), "http://{}/mcp", server.local_addr())?;
    server
        .run_until(async {
            // Without a way to be told, it serves for ever.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
        .await;
    Ok(())
}

fn usage(why: &str) -> ExitCode {
    eprintln!("everything-server: {why}\nTry `everything-server --help`.");
    ExitCode::from(2)
}
