//! Questions to the client, in straight-line code: futures that are ready if the answer has come, and wait for ever
//! if not. When a run that waits ends, and the questions go out, is decided in `replay`.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use mcp_sansio::error::ErrorObject;
use mcp_sansio::json::Json;
use mcp_sansio::model::{CreateMessageResult, ElicitResult, InputRequest, ListRootsResult};
use thiserror::Error;

use super::context::Context;

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InputError {
    /// The client refused the question.
    #[error("the client refused the question: {0}")]
    Refused(ErrorObject),
    /// The client's answer is not one, or does not fit the form. With `?`, a handler tells the client so.
    #[error("the client's answer is not valid: {0}")]
    Invalid(ErrorObject),
}

/// What a question can be answered with.
pub trait InputAnswer: Sized + Send + 'static {
    /// Reads the answer that has come to what was asked.
    ///
    /// # Errors
    /// When it has another shape, or does not fit the question.
    fn read(context: &Context, key: &str, asked: &InputRequest, answer: &Json) -> Result<Self, ErrorObject>;
}

macro_rules! answers {
    ($($type:ty),*) => {$(
        impl InputAnswer for $type {
            fn read(_: &Context, _: &str, _: &InputRequest, answer: &Json) -> Result<Self, ErrorObject> {
                parse(answer)
            }
        }
    )*};
}

answers!(CreateMessageResult, ListRootsResult, Json);

impl InputAnswer for ElicitResult {
    fn read(context: &Context, key: &str, asked: &InputRequest, answer: &Json) -> Result<Self, ErrorObject> {
        match asked {
            // Checked against the form.
            InputRequest::Elicit(asked) => context.facts().elicited(key, asked).unwrap_or_else(|| parse(answer)),
            _ => parse(answer),
        }
    }
}

fn parse<T: serde::de::DeserializeOwned>(answer: &Json) -> Result<T, ErrorObject> {
    // What stands in the answer is not told.
    answer.parse().map_err(|_| ErrorObject::invalid_params("the answer has another shape than the question asks for"))
}

/// A question to the client: await it for the answer.
///
/// ```text
///   run 1:  a().await ── elicit("size").await ── …       the answer is not there: the run ends here,
///                              │                         and the question goes out
///   run 2:  a().await ── elicit("size").await ── b()     the answer is there: the run goes on
/// ```
///
/// A handler that waits for nothing but unanswered questions is dropped, all its questions go out together, and it
/// runs again with the answers. That is the same in both eras, and needs nothing of the process between two runs. So a
/// handler must ask the same things under the same keys each time, and do its side effects after the last question or
/// in [`Context::once`].
///
/// A handler that waits for other things at the same time (a timer beside the question, work that is joined with it)
/// goes on for as long as they need, but no longer than [`PATIENCE`](super::PATIENCE): then the run is dropped all the
/// same, unless a [`Context::once`] is under way, which is always waited for. Waiting for [`Context::cancelled`]
/// delays nothing.
#[must_use = "a question is asked when it is awaited"]
pub struct Question<T> {
    context: Context,
    key: String,
    request: InputRequest,
    timeout: Option<Duration>,
    /// It waits, and is registered as waiting.
    open: bool,
    answer: PhantomData<fn() -> T>,
}

impl<T> Question<T> {
    pub(super) const fn new(context: Context, key: String, request: InputRequest) -> Self {
        Self { context, key, request, timeout: None, open: false, answer: PhantomData }
    }

    /// How long the client has for its answer; after that the question counts as refused. In the modern era the
    /// client calls again with its answer, and only the age of the sealed state is bounded.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl<T: InputAnswer> Future for Question<T> {
    type Output = Result<T, InputError>;

    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match this.context.facts().input(&this.key) {
            Some(Ok(answer)) => {
                let read = T::read(&this.context, &this.key, &this.request, answer);
                Poll::Ready(read.map_err(InputError::Invalid))
            }
            Some(Err(error)) => Poll::Ready(Err(InputError::Refused(error.clone()))),
            None => {
                // No waker is kept: nothing in this run can answer.
                if !std::mem::replace(&mut this.open, true) {
                    this.context.cell().ask(&this.key, &this.request, this.timeout);
                }
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Question<T> {
    fn drop(&mut self) {
        if self.open {
            self.context.cell().unask(&self.key);
        }
    }
}

impl<T> std::fmt::Debug for Question<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question").field("key", &self.key).finish_non_exhaustive()
    }
}
