//! Servers that are child processes.
//!
//! ```text
//!   stream closed ──► stdin closed ── waits ──► SIGTERM ── waits ──► SIGKILL
//!                          │ exits                 │ exits
//!                          └───────────► group left? SIGTERM, SIGKILL
//! ```
//!
//! On Unix the child leads a process group of its own, so that what it starts (a package runner starts the server
//! proper) ends with it. A connection that is dropped without being closed, with its runtime perhaps, kills the group
//! at once. A group of its own gets no signal from the terminal: a host that is interrupted ends its runtime, or its
//! servers go by the end of their input. On Windows there is no gentle signal: a child that does not end by itself is killed.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp_sansio_io::child::{STDERR_LINE, StderrSink, StderrTail};
use mcp_sansio_io::client::{Client, ClientBuilder, ConnectionError};
use thiserror::Error;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::connect::connect_halves;

/// How long a child may take to end by itself, and again after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How long the rest of standard error is waited for after the child has ended.
const STDERR_REST: Duration = Duration::from_millis(200);
/// How often it is looked whether a process group has ended. There is nothing to wait for it with.
#[cfg(unix)]
const LOOK: Duration = Duration::from_millis(10);

/// A command that starts a server.
#[must_use]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    directory: Option<PathBuf>,
    inherit: bool,
    variables: Vec<(OsString, OsString)>,
    inherit_stderr: bool,
    sink: StderrSink,
    tail: Option<StderrTail>,
    grace: Duration,
}

/// Why a command brought no connection.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The program could not be started.
    #[error("cannot start {program:?}: {source}")]
    Spawn {
        /// The program.
        program: OsString,
        /// Why not.
        source: std::io::Error,
    },
    /// It was started, and there is no connection. It has ended meanwhile.
    #[error("{source}{}", .status.map_or_else(String::new, |status| format!(" (the server ended: {status})")))]
    Connect {
        /// Why not.
        source: ConnectionError,
        /// How the server ended, where it can be told.
        status: Option<ExitStatus>,
        /// What it last wrote to standard error, if that was captured.
        stderr: Option<String>,
    },
}

/// Starts a server and connects to it, as a client without a name of its own that can answer nothing.
///
/// # Errors
/// [`CommandError`]
pub async fn connect_command<I, S>(program: impl Into<OsString>, args: I) -> Result<Client, CommandError>
where
    I: IntoIterator<Item = S>,
    S: Into<OsString>,
{
    let client = Client::builder(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    Command::new(program).args(args).connect(client).await
}

impl Command {
    /// A program: a path, or a name that is looked up in `PATH`.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            directory: None,
            inherit: true,
            variables: Vec::new(),
            inherit_stderr: true,
            sink: StderrSink::default(),
            tail: None,
            grace: GRACE,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The folder to start in. By default our own.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets an environment variable, beside those that are inherited.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Gives the server no variables but those that are set here: nothing of ours leaks.
    pub const fn clear_env(mut self) -> Self {
        self.inherit = false;
        self
    }

    /// Throws standard error away. By default it goes where ours goes.
    pub fn null_stderr(mut self) -> Self {
        self.inherit_stderr = false;
        self.sink = StderrSink::default();
        self.tail = None;
        self
    }

    /// Hands each line of standard error over. The function is called on a task of its own.
    pub fn stderr_lines(mut self, on_line: impl FnMut(&str) + Send + 'static) -> Self {
        self.inherit_stderr = false;
        self.sink.on_line(Box::new(on_line));
        self
    }

    /// Keeps the end of standard error, for error messages. May be combined with [`Command::stderr_lines`].
    pub fn capture_stderr(mut self) -> (Self, StderrTail) {
        self.inherit_stderr = false;
        let tail = self.sink.capture();
        self.tail = Some(tail.clone());
        (self, tail)
    }

    /// How long the server may take to end by itself, and again after it was asked to. Two seconds.
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Starts the server and connects to it. When the connection ends, so does the server:
    /// [`Client::ended`] waits for both.
    ///
    /// # Errors
    /// [`CommandError`]
    pub async fn connect(self, client: ClientBuilder) -> Result<Client, CommandError> {
        let fail = |source| CommandError::Connect { source, status: None, stderr: None };
        client.check().map_err(fail)?;
        let spawned = self.prepare().spawn();
        let mut child = spawned.map_err(|source| CommandError::Spawn { program: self.program.clone(), source })?;
        let streams = (child.stdin.take(), child.stdout.take());
        let errors = child.stderr.take().map(|stderr| tokio::spawn(read_stderr(stderr, self.sink)));
        let status = Arc::new(OnceLock::new());
        let process = Process { child, errors, grace: self.grace, status: Arc::clone(&status), ended: false };
        let (Some(stdin), Some(stdout)) = streams else {
            return Err(fail(ConnectionError::GivenUp));
        };
        let connected = connect_halves(client, stdout, stdin, Box::pin(process.put_away())).await;
        connected.map_err(|source| CommandError::Connect {
            source,
            status: status.get().copied(),
            stderr: self.tail.map(|tail| tail.text()),
        })
    }

    fn prepare(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(self.find());
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        if !self.inherit {
            command.env_clear();
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.stderr(match (self.inherit_stderr, self.sink.is_idle()) {
            (true, _) => Stdio::inherit(),
            (false, false) => Stdio::piped(),
            (false, true) => Stdio::null(),
        });
        #[cfg(unix)]
        command.process_group(0);
        command
    }

    #[cfg(not(windows))]
    fn find(&self) -> &OsStr {
        &self.program
    }

    #[cfg(windows)]
    fn find(&self) -> OsString {
        let is_path = |name: &OsStr| name.eq_ignore_ascii_case("PATH");
        let path = self.variables.iter().rev().find(|(name, _)| is_path(name)).map(|(_, value)| value.clone());
        mcp_sansio_io::child::find(&self.program, path)
    }
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Arguments and variables may be secrets.
        f.debug_struct("Command").field("program", &self.program).finish_non_exhaustive()
    }
}

/// Reads standard error to its end.
async fn read_stderr(mut stderr: ChildStderr, mut sink: StderrSink) {
    let mut chunk = vec![0; STDERR_LINE];
    // A pipe that fails has ended.
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        sink.push(&chunk[..count]);
    }
}

/// A child that must not be left behind.
struct Process {
    child: Child,
    errors: Option<JoinHandle<()>>,
    grace: Duration,
    status: Arc<OnceLock<ExitStatus>>,
    ended: bool,
}

impl Process {
    /// Ends the child, gently at first. Its standard input is closed already.
    async fn put_away(mut self) {
        let group = self.child.id();
        if !self.wait().await {
            signal(group, Signal::Terminate);
            if !self.wait().await {
                signal(group, Signal::Kill);
                // Where there are no groups.
                let _ = self.child.start_kill();
                self.wait().await;
            }
        }
        end_group(group, self.grace).await;
        self.ended = true;
        if let Some(errors) = self.errors.take() {
            // Someone outside of the group may hold the other end.
            let abort = errors.abort_handle();
            if timeout(STDERR_REST, errors).await.is_err() {
                abort.abort();
            }
        }
    }

    /// Whether the child has ended within its time.
    async fn wait(&mut self) -> bool {
        match timeout(self.grace, self.child.wait()).await {
            Ok(Ok(status)) => {
                let _ = self.status.set(status);
                true
            }
            // A child that cannot be waited for is not ours any more.
            Ok(Err(_)) => true,
            Err(_) => false,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended {
            // An id that is still there was not waited for, so nobody else can have it.
            signal(self.child.id(), Signal::Kill);
        }
    }
}

#[derive(Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
}

/// What is left of the group after its leader has ended.
#[cfg(unix)]
async fn end_group(group: Option<u32>, grace: Duration) {
    let is_there = || pid(group).is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok());
    if !is_there() {
        return;
    }
    signal(group, Signal::Terminate);
    let end = tokio::time::Instant::now() + grace;
    while is_there() && tokio::time::Instant::now() < end {
        tokio::time::sleep(LOOK).await;
    }
    signal(group, Signal::Kill);
}

#[cfg(unix)]
fn signal(group: Option<u32>, signal: Signal) {
    let signal = match signal {
        Signal::Terminate => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
    };
    if let Some(group) = pid(group) {
        // A group that has ended needs no signal.
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

#[cfg(unix)]
fn pid(id: Option<u32>) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(id?).ok()?)
}

#[cfg(not(unix))]
async fn end_group(_: Option<u32>, _: Duration) {}

#[cfg(not(unix))]
fn signal(_: Option<u32>, _: Signal) {}
