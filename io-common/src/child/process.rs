//! How a child ends.
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

use std::future::Future;
use std::io;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_io::{AsyncRead, AsyncWrite};
use futures_util::AsyncReadExt as _;
use futures_util::future::{AbortHandle, Abortable, Either, select};
use futures_util::lock::Mutex;

use super::stderr::{STDERR_LINE, StderrSink};
use crate::runtime::Runtime;

/// How long the rest of standard error is waited for after the child has ended.
const STDERR_REST: Duration = Duration::from_millis(200);
/// How often it is looked whether a process group has ended. There is nothing to wait for it with.
#[cfg(unix)]
const LOOK: Duration = Duration::from_millis(10);

/// How a runtime starts processes.
pub trait Processes: 'static {
    /// A process that runs.
    type Child: Child;

    /// The runtime of the caller.
    fn runtime() -> Arc<dyn Runtime>;

    /// Starts a process that is killed when it is dropped, with pipes as its standard input and output.
    ///
    /// # Errors
    /// When it cannot be started.
    fn spawn(command: std::process::Command, stderr: Stdio) -> io::Result<Self::Child>;
}

/// A process that a runtime has started. Dropping it kills it.
pub trait Child: Send + 'static {
    /// Its id, as long as nobody else can have it.
    fn id(&self) -> Option<u32>;

    /// Its standard input, once.
    fn take_stdin(&mut self) -> Option<impl AsyncWrite + Unpin + Send + 'static>;

    /// Its standard output, once.
    fn take_stdout(&mut self) -> Option<impl AsyncRead + Unpin + Send + 'static>;

    /// Its standard error, once.
    fn take_stderr(&mut self) -> Option<impl AsyncRead + Unpin + Send + 'static>;

    /// Waits until it has ended. May be dropped, and asked for again.
    fn wait(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + Send;

    /// Kills it, and nothing that it has started.
    fn kill(&mut self);
}

/// A child that must not be left behind.
pub(super) struct Process<C: Child> {
    child: C,
    runtime: Arc<dyn Runtime>,
    errors: Option<Reading>,
    grace: Duration,
    status: Arc<OnceLock<ExitStatus>>,
    ended: bool,
}

impl<C: Child> Process<C> {
    pub(super) fn new(
        mut child: C,
        sink: StderrSink,
        grace: Duration,
        runtime: Arc<dyn Runtime>,
        status: Arc<OnceLock<ExitStatus>>,
    ) -> Self {
        let errors = child.take_stderr().map(|stderr| Reading::start(&runtime, stderr, sink));
        Self { child, runtime, errors, grace, status, ended: false }
    }

    /// Ends the child, gently at first. Its standard input is closed already.
    pub(super) async fn put_away(mut self) {
        let group = self.child.id();
        if !self.wait().await {
            signal(group, Signal::Terminate);
            if !self.wait().await {
                signal(group, Signal::Kill);
                // Where there are no groups.
                self.child.kill();
                self.wait().await;
            }
        }
        end_group(&self.runtime, group, self.grace).await;
        self.ended = true;
        if let Some(errors) = self.errors.take() {
            errors.finish(&self.runtime).await;
        }
    }

    /// Whether the child has ended within its time.
    async fn wait(&mut self) -> bool {
        let status = pin!(self.child.wait());
        match select(status, self.runtime.sleep(self.grace)).await {
            Either::Left((Ok(status), _)) => {
                let _ = self.status.set(status);
                true
            }
            // A child that cannot be waited for is not ours any more.
            Either::Left((Err(_), _)) => true,
            Either::Right(_) => false,
        }
    }
}

/// Ends what is left of the group after its leader has ended.
#[cfg(unix)]
async fn end_group(runtime: &Arc<dyn Runtime>, group: Option<u32>, grace: Duration) {
    let is_there = || pid(group).is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok());
    if !is_there() {
        return;
    }
    signal(group, Signal::Terminate);
    let end = runtime.now().mono.after(grace);
    while is_there() && runtime.now().mono < end {
        runtime.sleep(LOOK).await;
    }
    signal(group, Signal::Kill);
}

#[cfg(not(unix))]
async fn end_group(_: &Arc<dyn Runtime>, _: Option<u32>, _: Duration) {}

impl<C: Child> Drop for Process<C> {
    fn drop(&mut self) {
        if !self.ended {
            // An id that is still there was not waited for, so nobody else can have it.
            signal(self.child.id(), Signal::Kill);
        }
    }
}

/// Reads standard error on a task of its own.
struct Reading {
    /// Held while there is more.
    busy: Arc<Mutex<()>>,
    abort: AbortHandle,
}

impl Reading {
    fn start(
        runtime: &Arc<dyn Runtime>,
        mut stderr: impl AsyncRead + Unpin + Send + 'static,
        mut sink: StderrSink,
    ) -> Self {
        let busy = Arc::new(Mutex::new(()));
        let held = busy.try_lock_owned();
        let (abort, registration) = AbortHandle::new_pair();
        let read = async move {
            let _held = held;
            let mut chunk = vec![0; STDERR_LINE];
            // A pipe that fails has ended.
            while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
                sink.push(&chunk[..count]);
            }
            // The last line may have had no end.
            drop(sink);
        };
        let read = Abortable::new(read, registration);
        runtime.spawn(Box::pin(async move {
            // Whether it ended or was given up is the same.
            let _ = read.await;
        }));
        Self { busy, abort }
    }

    /// Waits for the rest, but not for long: someone outside of the group may hold the other end.
    async fn finish(self, runtime: &Arc<dyn Runtime>) {
        select(self.busy.lock(), runtime.sleep(STDERR_REST)).await;
        self.abort.abort();
    }
}

#[derive(Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
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
fn signal(_: Option<u32>, _: Signal) {}
