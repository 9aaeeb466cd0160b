//! Drives a server with this library's client, in either era: our side of `tests/interop/FIXTURE.md`.
//!
//! ```text
//! interop-client [--server everything|filesystem|memory] [--http] legacy|modern COMMAND [ARGUMENT…]
//!        stdout: {"cell": "calls", "verdict": "pass", "why": ""}      one line for each cell
//! ```
//!
//! Without `--server` the command is a fixture server; the reference servers have features of their own, so their
//! cells are others. Each cell runs on a process of its own, within a time limit (`INTEROP_CELL_SECONDS`). With
//! `--http` the command starts a server that listens and says at which URL on its first line.

mod check;
mod everything;
mod filesystem;
mod fixture;
mod memory;
mod peer;
mod served;
mod wire;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use mcp_sansio_tokio::spec::Era;
use serde_json::json;
use tokio::time::{Instant, timeout, timeout_at};

use crate::check::{Outcome, Stop};
use crate::peer::{Ground, Peer};
use crate::served::Served;

const CELLS: [&str; 12] = [
    "lists",
    "calls",
    "prompts",
    "resources",
    "completion",
    "progress",
    "cancellation",
    "elicitation",
    "sampling",
    "roots",
    "logging",
    "listen",
];
const CELL_SECONDS: u64 = 10;
/// Putting a server away takes three waits of two seconds at most; the rest is for slow machines.
const CLOSE: Duration = Duration::from_secs(20);
const USAGE: &str =
    "usage: interop-client [--server everything|filesystem|memory] [--http] legacy|modern COMMAND [ARGUMENT...]";

/// Which server it is, and so what is expected of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    Fixture,
    Everything,
    Filesystem,
    Memory,
}

impl Server {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "everything" => Some(Self::Everything),
            "filesystem" => Some(Self::Filesystem),
            "memory" => Some(Self::Memory),
            _ => None,
        }
    }
}

/// What is to be done.
struct Task {
    /// Over HTTP, not over the standard streams.
    http: bool,
    server: Server,
    era: Era,
    command: Vec<OsString>,
}

impl Task {
    fn parse(arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut arguments = arguments.peekable();
        let server = if arguments.next_if(|argument| argument == "--server").is_some() {
            Server::parse(arguments.next()?.to_str()?)?
        } else {
            Server::Fixture
        };
        let http = arguments.next_if(|argument| argument == "--http").is_some();
        let era = match arguments.next()?.to_str()? {
            "legacy" => Era::Legacy,
            "modern" => Era::Modern,
            _ => return None,
        };
        let command: Vec<OsString> = arguments.collect();
        (!command.is_empty()).then_some(Self { http, server, era, command })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(task) = Task::parse(std::env::args_os().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let seconds = std::env::var("INTEROP_CELL_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let limit = Duration::from_secs(seconds.unwrap_or(CELL_SECONDS));
    let only = std::env::var("INTEROP_CELLS").ok();
    let cells: Vec<&str> = only.as_ref().map_or_else(|| CELLS.to_vec(), |names| names.split(',').collect());
    for cell in cells {
        let (verdict, why) = match judge(cell, &task, limit).await {
            Ok(()) => ("pass", String::new()),
            Err(Stop::Cannot(why)) => ("cannot", why),
            Err(Stop::Fail(why)) => ("fail", why.split_whitespace().collect::<Vec<_>>().join(" ")),
        };
        let line = json!({"cell": cell, "verdict": verdict, "why": why});
        if writeln!(std::io::stdout(), "{line}").is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Runs one cell on a process of its own.
async fn judge(cell: &str, task: &Task, limit: Duration) -> Outcome {
    let late = |_| Stop::Fail(format!("no end within {} s", limit.as_secs()));
    let deadline = Instant::now() + limit;
    let ground = Ground::new(task.server, cell)?;
    let served = match task.http {
        true => Some(timeout_at(deadline, Served::start(task, &ground)).await.map_err(late)??),
        false => None,
    };
    let url = served.as_ref().map(|served| &*served.url);
    let mut peer = timeout_at(deadline, Peer::connect(task, cell, &ground, url)).await.map_err(late)??;
    let outcome = timeout_at(deadline, run(task, cell, &mut peer, &ground)).await;
    peer.client.close();
    if timeout(CLOSE, peer.client.ended()).await.is_err() {
        return Err(Stop::Fail("the connection does not close".into()));
    }
    if let Some(served) = served {
        served.end().await?;
    }
    outcome.map_err(late)??;
    peer.wire.check(task.era)
}

async fn run(task: &Task, cell: &str, peer: &mut Peer, ground: &Ground) -> Outcome {
    match (task.server, peer.era == task.era) {
        (Server::Fixture, true) => fixture::run(cell, peer).await,
        (Server::Fixture, false) => Err(Stop::Fail(format!("connected in the {} era", peer.era))),
        // No reference server speaks modern yet; when one does, this cell fails as stale.
        (_, false) if task.era == Era::Modern => Err(Stop::Cannot(
            "built on @modelcontextprotocol/sdk 1.x, which knows no revision after 2025-11-25; the probe falls back"
                .into(),
        )),
        (_, false) => Err(Stop::Fail(format!("connected in the {} era", peer.era))),
        (Server::Everything, true) => everything::run(cell, peer).await,
        (Server::Filesystem, true) => filesystem::run(cell, peer, ground).await,
        (Server::Memory, true) => memory::run(cell, peer).await,
    }
}
