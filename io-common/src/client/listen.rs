//! Notifications of the server.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use futures_core::Stream;
use mcp_sansio::client::CallError;
use mcp_sansio::error::Error;
use mcp_sansio::ids::CallId;
use mcp_sansio::json::Json;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::spec::Method;
use serde::de::DeserializeOwned;

use super::call::ClientError;
use super::inbox::Receiver;
use super::{Handle, inbox};

/// A notification of the server: a log message, a changed list, an updated resource, or a method of its own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Notification {
    /// The method.
    pub method: Arc<str>,
    /// Its params as they came, `{}` if absent.
    pub params: Json,
}

impl Notification {
    /// The method, where the protocol knows it.
    #[must_use]
    pub fn known(&self) -> Option<Method> {
        Method::parse(&self.method)
    }

    /// Decodes the params.
    ///
    /// # Errors
    /// When they have another shape than `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        self.params.parse()
    }
}

/// Every notification of the server from now on, until the connection ends.
pub type Notifications = Receiver<Notification>;

/// A stream of notifications that the server was asked for. Dropping it ends the stream.
pub struct Listening {
    handle: Arc<Handle>,
    call: CallId,
    filter: SubscriptionFilter,
    items: Receiver<Notification>,
}

impl Listening {
    /// The name of the call that holds the stream open, as traces show it, and as
    /// [`Client::cancel`](super::Client::cancel) takes it.
    #[must_use]
    pub const fn id(&self) -> CallId {
        self.call
    }

    /// What the server tells of: at most what was asked for, and as it was granted when the stream was first open.
    #[must_use]
    pub const fn filter(&self) -> &SubscriptionFilter {
        &self.filter
    }

    /// The next notification; `None` when the stream has ended.
    pub async fn next(&mut self) -> Option<Notification> {
        self.items.next().await
    }

    /// How many notifications were lost because nobody read them.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.items.lost()
    }

    /// How often the server has opened the stream, until its end is told: never, if it has ended it before; more than
    /// once, if it broke over HTTP and was opened anew, and then notifications may have been missed.
    #[must_use]
    pub fn opened(&self) -> u64 {
        self.handle.link.opened(self.call)
    }

    /// Waits for the end, and tells how the stream ended.
    ///
    /// # Errors
    /// The server's error, or what else ended the stream.
    pub async fn ended(&mut self) -> Result<(), CallError> {
        let (link, call) = (&self.handle.link, self.call);
        std::future::poll_fn(|cx| link.poll_outcome(call, cx)).await.map(drop)
    }
}

impl Stream for Listening {
    type Item = Notification;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Notification>> {
        Pin::new(&mut self.items).poll_next(cx)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.handle.link.forget(self.call, None);
    }
}

impl std::fmt::Debug for Listening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listening").field("call", &self.call).field("filter", &self.filter).finish_non_exhaustive()
    }
}

/// A listen stream that the server has not opened yet. Dropping it gives it up.
#[must_use = "await it for the stream"]
pub struct StartListening {
    stream: Option<Listening>,
    failed: Option<Error>,
}

impl StartListening {
    /// The name of the call, as that of a [`Listening`]; `None` if it could not be made, which awaiting it tells.
    #[must_use]
    pub fn id(&self) -> Option<CallId> {
        self.stream.as_ref().map(Listening::id)
    }

    pub(super) fn new(
        handle: &Arc<Handle>,
        filter: &SubscriptionFilter,
        options: mcp_sansio::client::CallOptions,
    ) -> Self {
        let (sender, items) = inbox::inbox();
        match handle.link.call(None, Some(sender), |machine, now| machine.listen(now, filter, options)) {
            Ok(call) => {
                let filter = SubscriptionFilter::default();
                Self { stream: Some(Listening { handle: Arc::clone(handle), call, filter, items }), failed: None }
            }
            Err(error) => Self { stream: None, failed: Some(error) },
        }
    }
}

impl Future for StartListening {
    type Output = Result<Listening, ClientError>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some(error) = this.failed.take() {
            return Poll::Ready(Err(ClientError::NotMade(error)));
        }
        let Some(stream) = &this.stream else { return Poll::Pending };
        let filter = task::ready!(stream.handle.link.poll_listening(stream.call, cx));
        match (filter, this.stream.take()) {
            (Ok(filter), Some(stream)) => Poll::Ready(Ok(stream.with_filter(filter))),
            (Err(error), _) => Poll::Ready(Err(ClientError::Call(error))),
            (Ok(_), None) => Poll::Pending,
        }
    }
}

impl Listening {
    fn with_filter(mut self, filter: SubscriptionFilter) -> Self {
        self.filter = filter;
        self
    }
}

impl std::fmt::Debug for StartListening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StartListening").field("stream", &self.stream).finish_non_exhaustive()
    }
}
