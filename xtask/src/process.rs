//! Starting other programs: from the workspace root, loudly, and with a clear word when one is missing.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cli::Error;
use crate::report::Tally;
use crate::workspace::Workspace;

/// A program to start, with its arguments and environment.
pub(crate) struct Run {
    command: Command,
    shown: String,
}

impl Run {
    pub(crate) fn new(workspace: &Workspace, program: impl AsRef<OsStr>) -> Self {
        let shown = program.as_ref().to_string_lossy().into_owned();
        let mut command = Command::new(program);
        command.current_dir(workspace.root()).stdin(Stdio::null());
        Self { command, shown }
    }

    /// The cargo that runs us, so that both use one toolchain.
    pub(crate) fn cargo(workspace: &Workspace, line: &str) -> Self {
        let mut run = Self::new(workspace, env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        run.shown = "cargo".to_owned();
        run.args(line.split_whitespace())
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        for arg in args {
            self.shown.push(' ');
            self.shown.push_str(&arg.as_ref().to_string_lossy());
            self.command.arg(arg);
        }
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs in another folder than the root of the workspace.
    pub(crate) fn at(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Runs to the end with the output going where ours goes.
    pub(crate) fn go(mut self) -> Result<(), Error> {
        println!("  $ {}", self.shown);
        let status = self.command.status().map_err(|error| self.absent(&error))?;
        if status.success() { Ok(()) } else { Err(self.ended(&status)) }
    }

    /// Runs to the end and hands back standard output; standard error goes where ours goes.
    pub(crate) fn output(mut self) -> Result<String, Error> {
        let output = self.command.stderr(Stdio::inherit()).output().map_err(|error| self.absent(&error))?;
        if !output.status.success() {
            return Err(self.ended(&output.status));
        }
        String::from_utf8(output.stdout).map_err(|_| Error::failed(format!("`{}` did not print UTF-8", self.shown)))
    }

    /// Runs to the end, showing each line of standard output and counting the closing lines of test runners in it. A run
    /// that has run no test has not held.
    pub(crate) fn tests(self, tally: &mut Tally) -> Result<(), Error> {
        let (before, shown) = (*tally, self.shown.clone());
        self.watch(&mut |line| tally.read(line))?;
        if *tally == before { Err(Error::failed(format!("`{shown}` ran no test"))) } else { Ok(()) }
    }

    /// Runs to the end, showing each line of standard output and handing it to `see`.
    pub(crate) fn watch(mut self, see: &mut dyn FnMut(&str)) -> Result<(), Error> {
        println!("  $ {}", self.shown);
        let mut child = self.command.stdout(Stdio::piped()).spawn().map_err(|error| self.absent(&error))?;
        let lines = child.stdout.take().map(BufReader::new);
        for line in lines.into_iter().flat_map(|lines| lines.split(b'\n')).map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            see(&line);
        }
        let status = child.wait().map_err(|error| self.absent(&error))?;
        if status.success() { Ok(()) } else { Err(self.ended(&status)) }
    }

    /// Whether the program starts and succeeds; nothing is shown.
    pub(crate) fn works(mut self) -> bool {
        self.command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    fn absent(&self, error: &std::io::Error) -> Error {
        Error::failed(format!("`{}` cannot be started: {error}", self.shown))
    }

    fn ended(&self, status: &std::process::ExitStatus) -> Error {
        Error::failed(format!("`{}` failed ({status})", self.shown))
    }
}

/// What cargo knows of the packages.
pub(crate) fn metadata(workspace: &Workspace, option: &str) -> Result<Value, Error> {
    let text = Run::cargo(workspace, "metadata --format-version 1").args([option]).output()?;
    serde_json::from_str(&text).map_err(|error| Error::failed(format!("cargo metadata is not understood: {error}")))
}

/// The packages of this workspace that are for others: those without `publish = false`.
pub(crate) fn published(workspace: &Workspace) -> Result<Vec<String>, Error> {
    let metadata = metadata(workspace, "--no-deps")?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let public = packages.iter().filter(|package| package["publish"].is_null());
    Ok(public.filter_map(|package| package["name"].as_str()).map(str::to_owned).collect())
}
