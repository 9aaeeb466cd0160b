//! The client of the conformance suite. `everything-client --help` tells how it is started.

use std::io::Write;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use futures_util::future::{Either, select};
use mcp_sansio_conformance::client::{CONTEXT, Negotiation, REVISION, SCENARIO, Scenario, ScenarioError};
use mcp_sansio_conformance::front::Front;
use mcp_sansio_io::http::client::Endpoint;

const HELP: &str = "
Usage: everything-client [--pinned] [--runtime tokio|async-std] URL

Connects to a server of the official conformance suite and does what the scenario asks for. The suite tells by the
environment: MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION, MCP_CONFORMANCE_CONTEXT.

  --pinned     speak the revision of the environment and no other; without it the client finds out by itself
  --runtime R  the runtime to run on: tokio, if not given, or async-std
  -h, --help   this text

Exit codes: 0 all went as the scenario says, and the last line of the output is `done`; 1 it did not; 2 the command
            line or the environment makes no sense; 3 it took too long.
";

/// The suite ends the shell around a client that takes too long, not the client.
const PATIENCE: Duration = Duration::from_secs(28);

fn main() -> ExitCode {
    let mut negotiation = Negotiation::Automatic;
    let mut front = Front::default();
    let mut url = None;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-h" | "--help" => return say(HELP.trim()),
            "--runtime" => match words.next().and_then(|name| Front::parse(&name)) {
                Some(chosen) => front = chosen,
                None => return usage("--runtime is tokio or async-std"),
            },
            "--pinned" => negotiation = Negotiation::Pinned,
            _ if url.is_none() && !word.starts_with('-') => url = Some(word),
            _ => return usage(&format!("{word} is not understood here")),
        }
    }
    let Some(url) = url else { return usage("which server? A URL is missing") };
    let scenario = match Scenario::from_env() {
        Ok(scenario) => scenario,
        Err(error) => return usage(&format!("{error} ({SCENARIO}, {REVISION}, {CONTEXT})")),
    };
    let ran = front.run(async {
        let patience = front.runtime().sleep(PATIENCE);
        match select(pin!(run(&scenario, negotiation, &url, front)), patience).await {
            Either::Left((ended, _)) => Some(ended),
            Either::Right(_) => None,
        }
    });
    match ran {
        Ok(Some(Ok(()))) => say("done"),
        Ok(Some(Err(error))) => {
            eprintln!("everything-client: {error}");
            ExitCode::FAILURE
        }
        Ok(None) => {
            eprintln!("everything-client: it took too long");
            ExitCode::from(3)
        }
        Err(error) => {
            eprintln!("everything-client: the runtime cannot be started: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(scenario: &Scenario, negotiation: Negotiation, url: &str, front: Front) -> Result<(), ScenarioError> {
    let endpoint = Endpoint::new(url).map_err(|error| ScenarioError::Unexpected(error.to_string()))?;
    let client = front.connect(scenario.client(negotiation), endpoint).await?;
    scenario.run(&client).await?;
    // A session is ended where it was made, before the process is gone.
    client.close();
    client.ended().await;
    Ok(())
}

fn say(text: &str) -> ExitCode {
    let told = writeln!(std::io::stdout(), "{text}");
    if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage(why: &str) -> ExitCode {
    eprintln!("everything-client: {why}\nTry `everything-client --help`.");
    ExitCode::from(2)
}
