//! async-std as a runtime of the fronts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_io::Timer;
use mcp_sansio_io::core::machine::{Mono, Now};
use mcp_sansio_io::{BoxFuture, Runtime};

/// The executor of async-std, which is there once for the process, and starts when it is first used.
#[derive(Clone, Debug)]
pub struct AsyncStdRuntime {
    epoch: Instant,
}

impl AsyncStdRuntime {
    /// The runtime. There is no need to be inside of it.
    #[must_use]
    pub fn current() -> Arc<dyn Runtime> {
        Arc::new(Self { epoch: Instant::now() })
    }
}

impl Runtime for AsyncStdRuntime {
    fn now(&self) -> Now {
        mcp_sansio_io::now(self.epoch.elapsed())
    }

    fn mono(&self) -> Mono {
        mcp_sansio_io::mono(self.epoch.elapsed())
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let timer = Timer::after(duration);
        Box::pin(async move {
            timer.await;
        })
    }

    fn spawn(&self, future: BoxFuture<'static, ()>) {
        // Detached: the task tells its end through what it shares with the connection.
        drop(async_std::task::spawn(future));
    }
}
