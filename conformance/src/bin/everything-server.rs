//! The server of the conformance suite. `everything-server --help` tells how it is started.

use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;

use mcp_sansio_conformance::front::Front;
use mcp_sansio_io::core::spec::Era;

const HELP: &str = "
Usage: everything-server (--http ADDR | --stdio) [--modern-only | --legacy-only] [--runtime tokio|async-std]

Offers every tool, prompt and resource that the official conformance suite asks for.

  --http ADDR     serve over HTTP at this address and port, such as 127.0.0.1:3000, until it is interrupted;
                  port 0 takes any. The URL is the first line of the output
  --stdio         serve over standard input and output, until end of input
  --modern-only   serve revisions from 2026-07-28 on
  --legacy-only   serve revisions up to 2025-11-25
  --runtime R     the runtime to serve on: tokio, if not given, or async-std
  -h, --help      this text

Exit codes: 0 the client has gone, or it was interrupted; 1 the server failed; 2 the command line makes no sense.
";

/// How to serve.
enum Way {
    Http(SocketAddr),
    Stdio,
}

fn main() -> ExitCode {
    let (mut way, mut only, mut front) = (None, None, Front::default());
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
            "--runtime" => match words.next().and_then(|name| Front::parse(&name)) {
                Some(chosen) => front = chosen,
                None => return usage("--runtime is tokio or async-std"),
            },
            "--modern-only" if only.is_none() => only = Some(Era::Modern),
            "--legacy-only" if only.is_none() => only = Some(Era::Legacy),
            _ => return usage(&format!("{word} is not understood here")),
        }
    }
    let Some(way) = way else { return usage("say how to serve: --http ADDR or --stdio") };
    match serve(way, only, front) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("everything-server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(way: Way, only: Option<Era>, front: Front) -> Result<(), Box<dyn Error>> {
    front.run(async {
        match way {
            Way::Http(address) => front.serve_http(only, address).await,
            Way::Stdio => front.serve_stdio(only).await,
        }
    })?
}

fn usage(why: &str) -> ExitCode {
    eprintln!("everything-server: {why}\nTry `everything-server --help`.");
    ExitCode::from(2)
}
