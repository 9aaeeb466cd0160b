//! What a front needs of an async runtime: a clock, a way to sleep, a way to run a future beside its caller.
//!
//! Everything else (sockets, pipes, child processes) comes in as byte streams. A runtime for tests can be written in
//! twenty lines; the one for tokio is in `mcp-sansio-tokio`.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use mcp_sansio::machine::Now;

/// A boxed future that may cross threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A runtime, as one object that is shared by every connection on it.
pub trait Runtime: Send + Sync + 'static {
    /// The time. `mono` counts from any fixed moment and never goes back.
    fn now(&self) -> Now;

    /// A future that is ready after `duration`, by the clock of [`Runtime::now`].
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Runs a future to its end, or until the runtime ends.
    fn spawn(&self, future: BoxFuture<'static, ()>);
}
