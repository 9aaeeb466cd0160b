//! Servers that are child processes of tokio. How they end is told in `mcp_sansio_io::child`.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio_io::Runtime;
use mcp_sansio_io::child;
use mcp_sansio_io::client::Client;

use crate::io::Adapter;
use crate::runtime::TokioRuntime;

/// A command that starts a server.
pub type Command = child::Command<TokioProcesses>;

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

/// How tokio starts processes: what a [`Command`] is made with.
#[derive(Clone, Copy, Debug)]
pub struct TokioProcesses;

impl child::Processes for TokioProcesses {
    type Child = TokioChild;

    fn runtime() -> Arc<dyn Runtime> {
        TokioRuntime::current()
    }

    fn spawn(command: std::process::Command, stderr: Stdio) -> io::Result<TokioChild> {
        let mut command = tokio::process::Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        command.kill_on_drop(true).spawn().map(TokioChild)
    }
}

/// A process of tokio.
#[derive(Debug)]
pub struct TokioChild(tokio::process::Child);

impl child::Child for TokioChild {
    fn id(&self) -> Option<u32> {
        self.0.id()
    }

    fn take_stdin(&mut self) -> Option<impl AsyncWrite + Unpin + Send + 'static> {
        self.0.stdin.take().map(Adapter)
    }

    fn take_stdout(&mut self) -> Option<impl AsyncRead + Unpin + Send + 'static> {
        self.0.stdout.take().map(Adapter)
    }

    fn take_stderr(&mut self) -> Option<impl AsyncRead + Unpin + Send + 'static> {
        self.0.stderr.take().map(Adapter)
    }

    async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.wait().await
    }

    fn kill(&mut self) {
        // It fails only when it has ended already.
        let _ = self.0.start_kill();
    }
}
