//! Tasks on whatever runtime is under test.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{AbortHandle, Abortable};
use tokio::sync::oneshot::{self, error::RecvError};

/// A task. Dropping this lets it go on.
pub(crate) struct Task<T> {
    abort: AbortHandle,
    done: oneshot::Receiver<T>,
}

pub(crate) fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
    let (sender, done) = oneshot::channel();
    let (abort, registration) = AbortHandle::new_pair();
    super::runtime().spawn(Box::pin(async move {
        if let Ok(value) = Abortable::new(future, registration).await {
            let _ = sender.send(value);
        }
    }));
    Task { abort, done }
}

impl<T> Task<T> {
    /// Drops the task.
    pub(crate) fn abort(&self) {
        self.abort.abort();
    }
}

/// An error if it was aborted, or panicked.
impl<T> Future for Task<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.done).poll(cx)
    }
}

pub(crate) async fn sleep(duration: Duration) {
    super::runtime().sleep(duration).await;
}

/// An example of the package under test, which `cargo test` has built.
pub(crate) fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is missing: run `cargo build --examples` first", path.display());
    path
}
