//! What a front needs of an async runtime: a clock, a way to sleep, a way to run a future beside its caller.
//!
//! Everything else (sockets, pipes, child processes) comes in as byte streams. A runtime for tests can be written in
//! twenty lines; those for tokio and async-std are in `mcp-sansio-tokio` and
//! `mcp-sansio-async-std`.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_sansio::machine::{Mono, Now, Unix};

/// A boxed future that may cross threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The time, given what a monotonic clock shows.
#[must_use]
pub fn now(elapsed: Duration) -> Now {
    // A clock before 1970 is taken as 1970.
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let unix = u64::try_from(unix.as_millis()).unwrap_or(u64::MAX);
    Now { mono: mono(elapsed), unix: Unix::from_millis(unix) }
}

/// The same for the monotonic clock alone.
#[must_use]
pub fn mono(elapsed: Duration) -> Mono {
    Mono::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
}

/// A runtime, as one object that is shared by every connection on it.
pub trait Runtime: Send + Sync + 'static {
    /// The time. `mono` counts from any fixed moment and never goes back.
    fn now(&self) -> Now;

    /// The `mono` of [`Runtime::now`] alone, which may be had for less.
    fn mono(&self) -> Mono {
        self.now().mono
    }

    /// A future that is ready after `duration`, by the clock of [`Runtime::now`].
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Runs a future to its end, or until the runtime ends.
    fn spawn(&self, future: BoxFuture<'static, ()>);
}

/// A runtime for tests in which no time passes and nothing runs.
#[cfg(test)]
pub(crate) struct Still;

#[cfg(test)]
impl Runtime for Still {
    fn now(&self) -> Now {
        Now::default()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }

    fn spawn(&self, _: BoxFuture<'static, ()>) {}
}
