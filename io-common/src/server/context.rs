//! The circumstances of a call, and what a handler can do beside answering: the verbs of a handler, on the machine
//! behind the connection's lock. What a question is, and how a run ends with one, is decided in `ask` and `replay`.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{self, Poll};
use std::time::Duration;

use mcp_sansio::error::{Error, ErrorObject};
use mcp_sansio::ids::{ProgressToken, RequestId, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::Mono;
use mcp_sansio::model::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, Implementation,
    InputRequest, ListRootsParams, ListRootsResult, LoggingLevel, TraceContext,
};
use mcp_sansio::server::{Context as Facts, Event, LogMessage, Progress, RequestFailure, Sent};
use mcp_sansio::spec::{Era, Method, Version};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ask::{InputAnswer, Question};
use super::catalogue::Catalogue;
use super::cell::{Cancelled, Cell};
use super::connection::Connection;
use super::error::HandlerError;
use super::link::{Link, Request};
use crate::runtime::Runtime;
use crate::sync::lock;

/// The circumstances of a call, and what a handler can do beside answering.
///
/// | what | how |
/// |---|---|
/// | who asks, and how | [`request_id`](Self::request_id), [`era`](Self::era), [`client_info`](Self::client_info), … |
/// | tell the client | [`progress`](Self::progress), [`log`](Self::log), [`notify`](Self::notify) |
/// | ask the client | [`elicit`](Self::elicit), [`sample`](Self::sample), [`roots`](Self::roots), [`ping`](Self::ping) |
/// | do something once only | [`once`](Self::once) |
/// | tell every client | [`publish`](Self::publish), [`resource_updated`](Self::resource_updated) |
/// | be told | [`cancelled`](Self::cancelled) |
///
/// Cheap to clone, and usable from any thread. It stays valid after its request has ended; what it says then is not
/// wanted any more.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

pub(super) struct Inner {
    facts: Facts,
    slot: SlotId,
    tool: bool,
    link: Arc<Link>,
    catalogue: Arc<Catalogue>,
    begun: Mono,
    /// Made when it is first needed: most calls never do.
    cell: OnceLock<Mutex<Cell>>,
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

impl Inner {
    pub(super) fn cancel(&self, why: Cancelled) {
        let wakers = self.cell().cancel(why);
        wakers.into_iter().for_each(task::Waker::wake);
    }

    fn cell(&self) -> MutexGuard<'_, Cell> {
        lock(self.cell.get_or_init(Mutex::default))
    }
}

/// What the machinery around a handler needs.
impl Context {
    pub(super) fn new(
        facts: Facts,
        slot: SlotId,
        tool: bool,
        link: Arc<Link>,
        catalogue: Arc<Catalogue>,
        begun: Mono,
    ) -> Self {
        Self(Arc::new(Inner {
            #[cfg(feature = "tracing")]
            span: crate::spans::call(&facts),
            facts,
            slot,
            tool,
            link,
            catalogue,
            begun,
            cell: OnceLock::new(),
        }))
    }

    pub(super) const fn inner(&self) -> &Arc<Inner> {
        &self.0
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.0.facts
    }

    pub(super) fn cell(&self) -> MutexGuard<'_, Cell> {
        self.0.cell()
    }

    pub(super) fn link(&self) -> &Arc<Link> {
        &self.0.link
    }

    pub(super) fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.0.link.runtime
    }

    pub(super) fn is_tool(&self) -> bool {
        self.0.tool
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.begun.until(self.runtime().now().mono)
    }

    #[cfg(feature = "tracing")]
    pub(crate) fn span(&self) -> &tracing::Span {
        &self.0.span
    }

    /// Runs a piece of the handler inside its span.
    #[cfg(feature = "tracing")]
    pub(super) fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.span.in_scope(work)
    }

    /// Runs a piece of the handler.
    #[cfg(not(feature = "tracing"))]
    #[allow(clippy::unused_self)]
    pub(super) fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        work()
    }
}

/// Who asks, and how.
impl Context {
    /// The id of the request on the wire.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        self.facts().request_id()
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.facts().method()
    }

    /// The name of the tool or prompt, or the URI of the resource.
    #[must_use]
    pub fn target(&self) -> Option<Cow<'_, str>> {
        self.facts().target()
    }

    /// The revision that the request is served at.
    #[must_use]
    pub fn version(&self) -> Version {
        self.facts().version()
    }

    /// The era of that revision.
    #[must_use]
    pub fn era(&self) -> Era {
        self.facts().era()
    }

    /// The params as they came, `{}` if absent.
    #[must_use]
    pub fn params(&self) -> Json {
        self.facts().params()
    }

    /// The metadata of the request, `{}` if absent.
    #[must_use]
    pub fn meta(&self) -> Json {
        self.facts().meta()
    }

    /// Name and version of the client: what it says of itself, not to be trusted.
    #[must_use]
    pub fn client_info(&self) -> Option<Implementation> {
        self.facts().client_info()
    }

    /// What the client can do.
    #[must_use]
    pub fn client_capabilities(&self) -> ClientCapabilities {
        self.facts().client_capabilities()
    }

    /// Refuses the request unless the client has declared all of `required`.
    ///
    /// # Errors
    /// The refusal, for `?`.
    pub fn require_capabilities(&self, required: &ClientCapabilities) -> Result<(), ErrorObject> {
        self.facts().require_capabilities(required)
    }

    /// The same for one capability by its path, such as `sampling.tools` or `elicitation.url`.
    ///
    /// # Errors
    /// As [`Context::require_capabilities`].
    pub fn require_capability(&self, path: &str) -> Result<(), ErrorObject> {
        self.facts().require_capability(path)
    }

    /// The refusal of a read whose resource does not exist.
    #[must_use]
    pub fn not_found(&self) -> HandlerError {
        let uri = self.target().unwrap_or_default();
        HandlerError::protocol(mcp_sansio::server::resource_not_found(self.version(), &uri))
    }

    /// The token that the client wants progress under; `None` if it wants none.
    #[must_use]
    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.facts().progress_token()
    }

    /// The trace context of the request.
    #[must_use]
    pub fn trace_context(&self) -> TraceContext {
        self.facts().trace_context()
    }

    /// Who is asking, as the front has authenticated it.
    #[must_use]
    pub fn principal(&self) -> Option<&str> {
        self.facts().principal()
    }

    /// The head of the HTTP request, as the service got it: method, target, headers, and the extensions that others
    /// have put there. `None` on other transports.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn http(&self) -> Option<&http::request::Parts> {
        self.facts().data()
    }

    /// The value of a header of the HTTP request, if it is text. `None` on other transports.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.http()?.headers.get(name)?.to_str().ok()
    }

    /// Application data that was given with [`Server::data`](super::Server::data).
    #[must_use]
    pub fn data<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.catalogue.data.get()
    }

    /// The same, for data that a handler cannot do without.
    ///
    /// # Errors
    /// When there is no data of this type.
    pub fn require_data<T: Send + Sync + 'static>(&self) -> Result<&T, HandlerError> {
        self.data().ok_or_else(|| HandlerError::hidden(format!("no data of type {}", std::any::type_name::<T>())))
    }

    /// The connection that the request came over.
    #[must_use]
    pub fn connection(&self) -> Connection {
        Connection::new(Arc::clone(self.link()))
    }
}

/// Telling the client.
impl Context {
    /// Reports progress: how far, and of how much. Each report must exceed the one before.
    ///
    /// Awaiting it lets the report out before the handler goes on.
    pub async fn progress(&self, progress: f64, total: Option<f64>) -> Sent {
        self.report_progress(Progress { progress, total, message: None }).await
    }

    /// Reports progress, with a sentence for people.
    pub async fn report_progress(&self, progress: Progress) -> Sent {
        let slot = self.0.slot;
        let sent = self.link().with(|machine, now| machine.progress(now, slot, &progress));
        let_out(sent).await
    }

    /// Writes a line of any JSON to the client's log, if the client wants lines of this level.
    pub async fn log(&self, level: LoggingLevel, data: impl Serialize + Send) -> Sent {
        match Json::from_value(&data) {
            Ok(data) => self.log_message(LogMessage { level, logger: None, data }).await,
            Err(_) => Sent::NotWanted,
        }
    }

    /// Writes to the client's log.
    pub async fn log_message(&self, message: LogMessage) -> Sent {
        let slot = self.0.slot;
        let sent = self.link().with(|machine, now| machine.log(now, Some(slot), &message));
        let_out(sent).await
    }

    /// Says that an elicitation by URL is complete, where the revision can say so.
    pub fn elicitation_complete(&self, elicitation: &str) -> Sent {
        self.connection().elicitation_complete(elicitation)
    }

    /// Ends the stream that carries the answer of this request, so that the client comes back for it: for calls that
    /// take longer than proxies are patient. Where clients cannot come back, nothing happens.
    pub fn close_stream(&self) -> Sent {
        let slot = self.0.slot;
        self.link().with(|machine, now| machine.close_stream(now, slot))
    }

    /// Sends a custom notification. `params` is an object.
    ///
    /// # Errors
    /// When the method belongs to the protocol, `params` is no object, or the connection has ended.
    pub fn notify(&self, method: &str, params: Option<&Json>) -> Result<(), Error> {
        let slot = Some(self.0.slot);
        self.link().with(|machine, now| machine.notify(now, slot, method, params))
    }

    /// Tells every client of this server of a change that it asked to hear of.
    pub fn publish(&self, event: &Event) {
        self.link().shared.publish(event);
    }

    /// Tells every client that asked to hear of it that a resource has changed.
    pub fn resource_updated(&self, uri: &str) {
        self.publish(&Event::ResourceUpdated { uri: uri.into() });
    }
}

/// Lets the driver write before the caller goes on.
async fn let_out(sent: Result<Sent, Error>) -> Sent {
    // A request that has ended, or a connection: nobody listens any more.
    let sent = sent.unwrap_or(Sent::NotWanted);
    let mut yielded = sent == Sent::NotWanted;
    std::future::poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    sent
}

/// Asking the client. How a handler is run again with the answers is told in [`Question`].
impl Context {
    /// Asks the user by a form or a page. `key` names the question within this call.
    pub fn elicit(&self, key: impl Into<String>, params: impl Into<ElicitParams>) -> Question<ElicitResult> {
        self.ask(key, InputRequest::Elicit(params.into()))
    }

    /// Sends the user to a page.
    pub fn elicit_url(
        &self,
        key: impl Into<String>,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Question<ElicitResult> {
        self.elicit(key, ElicitParams::url(message, url))
    }

    /// Asks the client's model.
    pub fn sample(&self, key: impl Into<String>, params: CreateMessageParams) -> Question<CreateMessageResult> {
        self.ask(key, params.into())
    }

    /// Asks for the folders and files that the client lets servers work in.
    pub fn roots(&self, key: impl Into<String>) -> Question<ListRootsResult> {
        self.ask(key, ListRootsParams::new().into())
    }

    /// Asks anything, for an answer of a type that fits.
    pub fn ask<T: InputAnswer>(&self, key: impl Into<String>, request: InputRequest) -> Question<T> {
        Question::new(self.clone(), key.into(), request)
    }

    /// The answer to a question, if it has come: for handlers that ask by answering
    /// [`InputRequired`](mcp_sansio::server::InputRequired).
    #[must_use]
    pub fn input(&self, key: &str) -> Option<&Result<Json, ErrorObject>> {
        self.facts().input(key)
    }

    /// Every answer so far, by key.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &Result<Json, ErrorObject>)> {
        self.facts().inputs()
    }

    /// How often input was asked for before this run.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.facts().round()
    }

    /// The state that an earlier run left.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.facts().state()
    }

    /// The memo that an earlier run left, an object: what [`Context::once`] has kept, or a handler that asks by
    /// answering [`InputRequired`](mcp_sansio::server::InputRequired).
    #[must_use]
    pub fn memo(&self) -> Option<&Json> {
        self.facts().memo()
    }

    /// Leaves state for the next run: it travels with the questions of this one.
    pub fn set_state(&self, state: impl Into<String>) {
        self.cell().set_state(state.into());
    }

    /// Does `work` in one run only: its result is kept under `key` and given to later runs. Failures are not kept.
    ///
    /// Where states are not sealed ([`Server::unsealed`](super::Server::unsealed)) nothing can be kept, and `work`
    /// is done in every run.
    ///
    /// # Errors
    /// What `work` fails with, and a result that does not become JSON and back.
    pub async fn once<T, F>(&self, key: &str, work: F) -> Result<T, HandlerError>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T, HandlerError>>,
    {
        let kept = self.cell().memo(self.facts().memo()).get(key).cloned();
        if let Some(json) = kept {
            return Ok(json.parse()?);
        }
        let busy = Busy::new(self);
        let value = work.await?;
        let json = Json::from_value(&value)?;
        self.cell().memo(self.facts().memo()).insert(key.to_owned(), json);
        drop(busy);
        Ok(value)
    }

    /// Asks whether the client is alive. Legacy sessions only: the modern era has no such request.
    ///
    /// # Errors
    /// When there is no session, or no answer.
    pub async fn ping(&self, timeout: Option<Duration>) -> Result<(), RequestError> {
        self.request(Method::Ping.as_str(), None, timeout)?.await?;
        Ok(())
    }

    /// Makes a request of any method, for gateways. Legacy sessions only. `params` is an object.
    ///
    /// # Errors
    /// When there is no session, too many requests are open, or the connection has ended.
    pub fn request(&self, method: &str, params: Option<&Json>, timeout: Option<Duration>) -> Result<Request, Error> {
        self.link().request(Some(self.0.slot), method, params, timeout)
    }
}

/// Why a request to the client brought nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// It could not be made.
    #[error(transparent)]
    NotMade(#[from] Error),
    /// The client answered with an error.
    #[error("the client answered: {0}")]
    Remote(ErrorObject),
    /// No answer came in time.
    #[error("the client did not answer in time")]
    TimedOut,
    /// The connection has ended, or the request that this one belonged to.
    #[error("the connection or the request ended first")]
    Gone,
}

impl From<RequestFailure> for RequestError {
    fn from(failure: RequestFailure) -> Self {
        match failure {
            RequestFailure::Remote(error) => Self::Remote(error),
            RequestFailure::TimedOut => Self::TimedOut,
            _ => Self::Gone,
        }
    }
}

/// Work that must not be interrupted by a question.
struct Busy<'a>(&'a Context);

impl<'a> Busy<'a> {
    fn new(context: &'a Context) -> Self {
        context.cell().start_work();
        Self(context)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.cell().end_work();
    }
}

/// Being told.
impl Context {
    /// Ready when the answer is not wanted any more.
    ///
    /// **A handler that never calls this is dropped at its next await** when its request is cancelled. One that has
    /// called it goes on, and decides itself what to do.
    pub fn cancelled(&self) -> Cancellation {
        self.cell().watch();
        Cancellation { context: self.clone(), number: None }
    }

    /// Why the answer is not wanted any more, if that is so. Does not count as calling [`Context::cancelled`].
    #[must_use]
    pub fn cancellation(&self) -> Option<Cancelled> {
        self.cell().cancelled().cloned()
    }

    /// Whether the answer is not wanted any more. Does not count as calling [`Context::cancelled`].
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cell().cancelled().is_some()
    }
}

/// See [`Context::cancelled`].
#[must_use = "await it to be told"]
pub struct Cancellation {
    context: Context,
    number: Option<u64>,
}

impl Future for Cancellation {
    type Output = Cancelled;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Cancelled> {
        let this = &mut *self;
        let mut cell = this.context.cell();
        if let Some(why) = cell.cancelled() {
            return Poll::Ready(why.clone());
        }
        this.number = Some(cell.add_watcher(this.number, cx.waker()));
        Poll::Pending
    }
}

impl Drop for Cancellation {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.context.cell().remove_watcher(number);
        }
    }
}

impl std::fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cancellation").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("id", self.request_id()).field("method", &self.method()).finish_non_exhaustive()
    }
}
