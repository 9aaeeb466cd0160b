//! A server that listens: its process, which says where on its first line, and ends when its input does.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::Task;
use crate::check::{Outcome, fail};
use crate::peer::Ground;

/// How long a server may take to notice that nobody needs it any more.
const CLOSE: Duration = Duration::from_secs(5);

/// The process, which goes with this value however the cell ends.
pub(crate) struct Served {
    child: Child,
    /// What it writes after its first line is not read, but has a place to go.
    _stdout: BufReader<ChildStdout>,
    pub(crate) url: String,
}

impl Served {
    pub(crate) async fn start(task: &Task, ground: &Ground) -> Outcome<Self> {
        let Some((program, arguments)) = task.command.split_first() else { return fail("there is no command") };
        let spawned = Command::new(program)
            .args(arguments)
            .envs(ground.variables(task.server))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => return fail(format!("cannot start {}: {error}", program.display())),
        };
        let Some(stdout) = child.stdout.take() else { return fail("standard output is not piped") };
        let mut stdout = BufReader::new(stdout);
        let mut url = String::new();
        stdout.read_line(&mut url).await?;
        let url = url.trim().to_owned();
        if url.is_empty() {
            return fail("the server ended before it said where it listens");
        }
        Ok(Self { child, _stdout: stdout, url })
    }

    /// Lets the server end, and ends it when it does not.
    pub(crate) async fn end(mut self) -> Outcome {
        drop(self.child.stdin.take());
        if timeout(CLOSE, self.child.wait()).await.is_err() {
            eprintln!("interop-client: the server outlives its input, and is killed");
            self.child.kill().await?;
        }
        Ok(())
    }
}
