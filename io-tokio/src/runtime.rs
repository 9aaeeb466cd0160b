//! tokio as a runtime of the fronts.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio_io::core::machine::{Mono, Now};
use mcp_sansio_io::{BoxFuture, Runtime};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// The tokio runtime that it was made in.
#[derive(Clone, Debug)]
pub struct TokioRuntime {
    handle: Handle,
    epoch: Instant,
}

impl TokioRuntime {
    /// The runtime of the caller.
    ///
    /// # Panics
    /// Outside of a tokio runtime, as everything of tokio does.
    #[must_use]
    pub fn current() -> Arc<dyn Runtime> {
        Arc::new(Self { handle: Handle::current(), epoch: Instant::now() })
    }
}

impl Runtime for TokioRuntime {
    fn now(&self) -> Now {
        mcp_sansio_io::now(self.epoch.elapsed())
    }

    fn mono(&self) -> Mono {
        mcp_sansio_io::mono(self.epoch.elapsed())
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let _inside = self.handle.enter();
        Box::pin(tokio::time::sleep(duration))
    }

    fn spawn(&self, future: BoxFuture<'static, ()>) {
        // Detached: the task tells its end through what it shares with the connection.
        drop(self.handle.spawn(future));
    }
}
