//! What is started, and with what.

#[cfg(not(windows))]
use std::ffi::OsStr;
use std::ffi::OsString;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use thiserror::Error;

use super::process::{Child as _, Process, Processes};
use super::stderr::{StderrSink, StderrTail};
use crate::client::{Client, ClientBuilder, ConnectionError};

/// How long a child may take to end by itself, and again after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// A command that starts a server. `P` is how the runtime does it: adapters for a runtime name this type with
/// theirs.
#[must_use]
pub struct Command<P> {
    program: OsString,
    args: Vec<OsString>,
    directory: Option<PathBuf>,
    inherit: bool,
    variables: Vec<(OsString, OsString)>,
    inherit_stderr: bool,
    sink: StderrSink,
    tail: Option<StderrTail>,
    grace: Duration,
    processes: PhantomData<fn() -> P>,
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

impl<P: Processes> Command<P> {
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
            processes: PhantomData,
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
        let spawned = P::spawn(self.prepare(), self.stderr());
        let mut child = spawned.map_err(|source| CommandError::Spawn { program: self.program.clone(), source })?;
        let streams = (child.take_stdin(), child.take_stdout());
        let runtime = P::runtime();
        let status = Arc::new(OnceLock::new());
        let process = Process::new(child, self.sink, self.grace, Arc::clone(&runtime), Arc::clone(&status));
        let (Some(stdin), Some(stdout)) = streams else {
            return Err(fail(ConnectionError::GivenUp));
        };
        let connected = client.connect_over(runtime, stdout, stdin, process.put_away()).await;
        connected.map_err(|source| CommandError::Connect {
            source,
            status: status.get().copied(),
            stderr: self.tail.map(|tail| tail.text()),
        })
    }

    fn prepare(&self) -> std::process::Command {
        let mut command = std::process::Command::new(self.find());
        command.args(&self.args);
        if !self.inherit {
            command.env_clear();
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }

    fn stderr(&self) -> Stdio {
        match (self.inherit_stderr, self.sink.is_idle()) {
            (true, _) => Stdio::inherit(),
            (false, false) => Stdio::piped(),
            (false, true) => Stdio::null(),
        }
    }

    #[cfg(not(windows))]
    fn find(&self) -> &OsStr {
        &self.program
    }

    #[cfg(windows)]
    fn find(&self) -> OsString {
        let is_path = |name: &std::ffi::OsStr| name.eq_ignore_ascii_case("PATH");
        let path = self.variables.iter().rev().find(|(name, _)| is_path(name)).map(|(_, value)| value.clone());
        super::resolve::find(&self.program, path)
    }
}

impl<P> std::fmt::Debug for Command<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Arguments and variables may be secrets.
        f.debug_struct("Command").field("program", &self.program).finish_non_exhaustive()
    }
}
