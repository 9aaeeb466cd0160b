//! Servers that are child processes of async-process, which async-std and smol share. How they end is told in
//! `mcp_sansio_io::child`.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio_io::Runtime;
use mcp_sansio_io::child;
use mcp_sansio_io::client::Client;

use crate::runtime::AsyncStdRuntime;

/// A command that starts a server.
pub type Command = child::Command<AsyncStdProcesses>;

/// Starts a server and connects to it, as a client without a name of its own that can answer nothing.
///
/// # Errors
/// [`child::CommandError`]
pub async fn connect_command<I, S>(program: impl Into<OsString>, args: I) -> Result<Client, child::CommandError>
where
    I: IntoIterator<Item = S>,
    S: Into<OsString>,
{
    let client = Client::builder(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    Command::new(program).args(args).connect(client).await
}

/// How processes are started: what a [`Command`] is made with.
#[derive(Clone, Copy, Debug)]
pub struct AsyncStdProcesses;

impl child::Processes for AsyncStdProcesses {
    type Child = AsyncStdChild;

    fn runtime() -> Arc<dyn Runtime> {
        AsyncStdRuntime::current()
    }

    fn spawn(command: std::process::Command, stderr: Stdio) -> io::Result<AsyncStdChild> {
        let mut command = async_process::Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let child = command.kill_on_drop(true).spawn()?;
        Ok(AsyncStdChild { child, ended: false })
    }
}

/// A process of async-process.
#[derive(Debug)]
pub struct AsyncStdChild {
    child: async_process::Child,
    /// It was waited for: its id may be somebody else's.
    ended: bool,
}

impl child::Child for AsyncStdChild {
    fn id(&self) -> Option<u32> {
        (!self.ended).then(|| self.child.id())
    }

    fn take_stdin(&mut self) -> Option<impl AsyncWrite + Unpin + Send + 'static> {
        self.child.stdin.take()
    }

    fn take_stdout(&mut self) -> Option<impl AsyncRead + Unpin + Send + 'static> {
        self.child.stdout.take()
    }

    fn take_stderr(&mut self) -> Option<impl AsyncRead + Unpin + Send + 'static> {
        self.child.stderr.take()
    }

    async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.status().await?;
        self.ended = true;
        Ok(status)
    }

    fn kill(&mut self) {
        // It fails only when it has ended already.
        let _ = self.child.kill();
    }
}
