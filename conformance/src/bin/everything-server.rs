//! The server of the conformance suite. `everything-server --help` tells how it is started.

use std::process::ExitCode;

use mcp_sansio_conformance::server::everything;
use mcp_sansio_tokio::serve_stdio;
use mcp_sansio_tokio::spec::Era;

const HELP: &str = "
Usage: everything-server --stdio [--modern-only | --legacy-only]

Offers every tool, prompt and resource that the official conformance suite asks for.

  --stdio         serve over standard input and output, until end of input
  --modern-only   serve revisions from 2026-07-28 on
  --legacy-only   serve revisions up to 2025-11-25
  -h, --help      this text

Exit codes: 0 the client has gone; 1 the server failed; 2 the command line makes no sense.
";

#[tokio::main]
async fn main() -> ExitCode {
    let (mut stdio, mut only) = (false, None);
    for word in std::env::args().skip(1) {
        match word.as_str() {
            "-h" | "--help" => {
                eprintln!("{}", HELP.trim());
                return ExitCode::SUCCESS;
            }
            "--stdio" => stdio = true,
            "--modern-only" if only.is_none() => only = Some(Era::Modern),
            "--legacy-only" if only.is_none() => only = Some(Era::Legacy),
            _ => return usage(&format!("{word} is not understood")),
        }
    }
    if !stdio {
        return usage("say how to serve");
    }
    let served = async { Ok::<_, Box<dyn std::error::Error>>(serve_stdio(everything(only)?).await?) };
    match served.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("everything-server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage(why: &str) -> ExitCode {
    eprintln!("everything-server: {why}\nTry `everything-server --help`.");
    ExitCode::from(2)
}
