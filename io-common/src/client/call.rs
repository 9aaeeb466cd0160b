//! Calls: prepared, awaited, dropped.
//!
//! ```text
//!   client.call_tool("add", args).timeout(…).progress(…)      prepared: nothing is sent yet
//!          .await                                             sent, and waited for
//!   dropped before the answer                                 cancelled
//! ```

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use mcp_sansio::client::{Answer, CallError, CallOptions, Client as Machine, List, Progress, Request, Transport};
use mcp_sansio::error::Error;
use mcp_sansio::ids::CallId;
use mcp_sansio::json::Json;
use mcp_sansio::machine::Now;
use mcp_sansio::model::{
    CallToolResult, CompleteResult, Completion, GetPromptResult, ListResult, Listed, LoggingLevel, ReadResourceResult,
    TraceContext,
};
use thiserror::Error;

use super::Handle;
use super::inbox::{Receiver, inbox};
use super::link::OnProgress;

/// Why a call brought nothing.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// It could not be made: the connection is over, too many calls are open, or the arguments cannot be sent.
    #[error("the call could not be made: {0}")]
    NotMade(Error),
    /// It failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// What the answer to a call can be read as.
pub trait FromAnswer: Sized + Send + 'static {
    /// Reads the answer.
    ///
    /// # Errors
    /// When it has another shape.
    fn from_answer(answer: Answer) -> Result<Self, CallError>;
}

fn invalid(answer: &Answer, error: &serde_json::Error) -> CallError {
    CallError::InvalidResult { problem: error.to_string().into(), result: answer.json() }
}

macro_rules! parsed {
    ($($type:ty),*) => {$(
        impl FromAnswer for $type {
            fn from_answer(answer: Answer) -> Result<Self, CallError> {
                answer.parse().map_err(|error| invalid(&answer, &error))
            }
        }
    )*};
}

parsed!(CallToolResult, ReadResourceResult, GetPromptResult, CompleteResult);

impl FromAnswer for () {
    fn from_answer(_: Answer) -> Result<Self, CallError> {
        Ok(())
    }
}

impl FromAnswer for Answer {
    fn from_answer(answer: Answer) -> Result<Self, CallError> {
        Ok(answer)
    }
}

impl FromAnswer for Json {
    fn from_answer(answer: Answer) -> Result<Self, CallError> {
        Ok(answer.json())
    }
}

impl FromAnswer for Completion {
    fn from_answer(answer: Answer) -> Result<Self, CallError> {
        CompleteResult::from_answer(answer).map(|result| result.completion)
    }
}

impl<T: Listed + Send + 'static> FromAnswer for ListResult<T> {
    fn from_answer(answer: Answer) -> Result<Self, CallError> {
        answer.parse().map_err(|error| invalid(&answer, &error))
    }
}

impl<T: Listed + Send + 'static> FromAnswer for Vec<T> {
    fn from_answer(answer: Answer) -> Result<Self, CallError> {
        answer.parse_items().map_err(|error| invalid(&answer, &error))
    }
}

/// What a call asks of the machine.
pub(super) enum Verb {
    Request(Request),
    Walk(List),
    SetLevel(LoggingLevel),
    /// It cannot be asked.
    Refused(Error),
}

/// A call in the making: await it to send it.
#[must_use = "nothing is sent until the call is awaited"]
pub struct Prepared<T> {
    handle: Arc<Handle>,
    verb: Verb,
    options: CallOptions,
    on_progress: Option<OnProgress>,
    answer: PhantomData<fn() -> T>,
}

impl<T: FromAnswer> Prepared<T> {
    pub(super) fn new(handle: &Arc<Handle>, verb: Verb) -> Self {
        let handle = Arc::clone(handle);
        Self { handle, verb, options: CallOptions::new(), on_progress: None, answer: PhantomData }
    }

    /// Sets every option at once; what was set before is forgotten.
    pub fn options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Hears of progress. The function is called on the connection's own task: it should be quick.
    pub fn progress(mut self, hook: impl FnMut(Progress) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(hook));
        self.options = self.options.progress();
        self
    }

    /// Hears of progress as a stream, which ends with the call.
    pub fn progress_stream(self) -> (Self, Receiver<Progress>) {
        let (sender, receiver) = inbox();
        let prepared = self.progress(move |progress| {
            sender.push(progress);
        });
        (prepared, receiver)
    }

    /// The longest that the call may take, questions to the user not counted. `None` is for ever.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.options = self.options.hard(timeout.into());
        self
    }

    /// The longest silence; progress ends a silence. `None` is for ever.
    pub fn idle_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.options = self.options.idle(timeout.into());
        self
    }

    /// Metadata for the request, an object.
    pub fn meta(mut self, meta: impl Into<Json>) -> Self {
        self.options = self.options.meta(meta.into());
        self
    }

    /// The trace context of the request.
    pub fn trace(mut self, trace: TraceContext) -> Self {
        self.options = self.options.trace(trace);
        self
    }

    /// The same call, its answer read as another type: as an [`Answer`], it also tells whether it was kept from before.
    pub fn answer_as<U: FromAnswer>(self) -> Prepared<U> {
        let Self { handle, verb, options, on_progress, .. } = self;
        Prepared { handle, verb, options, on_progress, answer: PhantomData }
    }

    /// Sends the request now, to be awaited later.
    ///
    /// # Errors
    /// When the connection is over, too many calls are open, or the arguments cannot be sent.
    pub fn send(self) -> Result<Call<T>, ClientError> {
        let Self { handle, verb, options, on_progress, .. } = self;
        let id = handle.link.call(on_progress, None, |machine, now| verb.apply(machine, now, options));
        let id = id.map_err(ClientError::NotMade)?;
        Ok(Call { handle, id, done: false, answer: PhantomData })
    }
}

impl Verb {
    fn apply(self, machine: &mut Machine<dyn Transport>, now: Now, options: CallOptions) -> Result<CallId, Error> {
        match self {
            Self::Request(request) => machine.call(now, request, options),
            Self::Walk(list) => machine.walk(now, list, options),
            Self::SetLevel(level) => machine.set_level(now, level),
            Self::Refused(error) => Err(error),
        }
    }
}

impl<T: FromAnswer> IntoFuture for Prepared<T> {
    type Output = Result<T, ClientError>;
    type IntoFuture = Pending<T>;

    fn into_future(self) -> Pending<T> {
        Pending(match self.send() {
            Ok(call) => Step::Sent(call),
            Err(error) => Step::Failed(Some(error)),
        })
    }
}

/// A call that is awaited. Dropping it cancels the call.
pub struct Pending<T>(Step<T>);

enum Step<T> {
    Sent(Call<T>),
    Failed(Option<ClientError>),
}

impl<T: FromAnswer> Future for Pending<T> {
    type Output = Result<T, ClientError>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        match &mut self.get_mut().0 {
            Step::Sent(call) => Pin::new(call).poll(cx),
            Step::Failed(error) => match error.take() {
                Some(error) => Poll::Ready(Err(error)),
                // Polled again after it was ready.
                None => Poll::Pending,
            },
        }
    }
}

/// A call that was sent. Await it for the answer; dropping it cancels the call.
#[must_use = "a call is cancelled when it is dropped"]
pub struct Call<T> {
    handle: Arc<Handle>,
    id: CallId,
    done: bool,
    answer: PhantomData<fn() -> T>,
}

impl<T> Call<T> {
    /// The name of the call, as questions of the server and traces show it, and as
    /// [`Client::cancel`](super::Client::cancel) takes it.
    #[must_use]
    pub const fn id(&self) -> CallId {
        self.id
    }

    /// Cancels the call with a reason for the server. Awaiting it then tells that it was cancelled.
    pub fn cancel(&self, reason: Option<&str>) {
        self.handle.link.cancel(self.id, reason);
    }
}

impl<T: FromAnswer> Future for Call<T> {
    type Output = Result<T, ClientError>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if this.done {
            return Poll::Pending;
        }
        let outcome = task::ready!(this.handle.link.poll_outcome(this.id, cx));
        this.done = true;
        Poll::Ready(outcome.and_then(T::from_answer).map_err(ClientError::Call))
    }
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        if !self.done {
            self.handle.link.forget(self.id, None);
        }
    }
}

impl<T> std::fmt::Debug for Prepared<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<T> std::fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

impl<T> std::fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("id", &self.id).field("done", &self.done).finish_non_exhaustive()
    }
}
