//! Makes a client: who it is, what it can answer, how it behaves.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio::client::{Client as LineClient, Closed, Config, ConfigError, Connect, ConnectError, Timeouts};
use mcp_sansio::error::Error;
#[cfg(feature = "http")]
use mcp_sansio::http::client::{Endpoint, HttpClient, Unauthorized};
use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::model::{
    ClientCapabilities, CreateMessageParams, ElicitFormParams, ElicitUrlParams, Implementation, InputRequest,
    LoggingLevel, Root,
};
use mcp_sansio::spec::Version;
use thiserror::Error;

use super::handlers::{Asked, Handlers, IntoInputAnswer, RawHandler, Roots, question};
#[cfg(feature = "http")]
use super::http::HttpDriver;
use super::link::{Ended, Link};
use super::machine::Machine;
use super::side::ClientSide;
use super::worker::{EndGuard, Worker};
use super::{Client, Handle};
use crate::driver::Driver;
#[cfg(feature = "http")]
use crate::http::client::Transport;
use crate::report::{Hooks, Report};
use crate::runtime::{BoxFuture, Runtime};
use crate::server::HandlerError;
use crate::trace::{TraceHook, Tracer};

/// A client in the making. What it declares to servers follows from the handlers it is given.
#[must_use]
pub struct ClientBuilder {
    config: Config,
    capabilities: ClientCapabilities,
    handlers: Handlers,
    hooks: Hooks,
    trace: Option<TraceHook>,
}

/// Why there is no connection.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The settings contradict themselves. Nothing was sent.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The URL or a header cannot be used. Nothing was sent.
    #[cfg(feature = "http")]
    #[error(transparent)]
    Endpoint(#[from] mcp_sansio::http::client::EndpointError),
    /// The two sides did not come together.
    #[error(transparent)]
    Refused(#[from] ConnectError),
    /// The machine could not begin, or could not go on.
    #[error(transparent)]
    Failed(Error),
    /// The server closed the stream during the handshake.
    #[error("the server closed the connection during the handshake")]
    Closed,
    /// The stream failed.
    #[error(transparent)]
    Stream(Arc<crate::StreamError>),
    /// The connection was closed on our side, or its driver dropped, before it was made.
    #[error("the connection was given up before it was made")]
    GivenUp,
}

impl ConnectionError {
    /// Nobody is at the address.
    #[must_use]
    pub fn unreachable(error: std::io::Error) -> Self {
        Self::Stream(Arc::new(crate::StreamError::Open(error)))
    }
}

impl From<Ended> for ConnectionError {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Stream(error) => Self::Stream(error),
            Ended::Closed(Closed::NotConnected(error)) => Self::Refused(error),
            Ended::Closed(Closed::Failed(error)) => Self::Failed(error),
            Ended::Closed(Closed::EndOfInput) => Self::Closed,
            _ => Self::GivenUp,
        }
    }
}

impl ClientBuilder {
    /// A client with this name and version that can answer nothing.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            config: Config::new(Implementation::new(name, version)),
            capabilities: ClientCapabilities::new(),
            handlers: Handlers::default(),
            hooks: Hooks::default(),
            trace: None,
        }
    }

    fn configure(mut self, change: impl FnOnce(Config) -> Config) -> Self {
        self.config = change(self.config);
        self
    }

    fn declare(mut self, change: impl FnOnce(ClientCapabilities) -> ClientCapabilities) -> Self {
        self.capabilities = change(self.capabilities);
        self
    }

    /// Connects over a stream. Two futures come back: one is ready when the handshake is over, the other drives the
    /// connection. It must be polled, by a task of its own; dropping it ends the connection at once.
    ///
    /// `after` runs when the stream is closed, and counts as part of the connection: it puts a child process away,
    /// or does nothing.
    ///
    /// # Errors
    /// When the settings contradict themselves.
    pub fn over<R, W>(
        self,
        runtime: Arc<dyn Runtime>,
        reader: R,
        writer: W,
        after: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(Connecting, impl Future<Output = ()> + Send + 'static), ConnectionError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let machine = LineClient::new(self.config())?;
        let link = Link::new(Machine::Lines(Box::new(machine)), Arc::clone(&runtime), self.hooks, self.handlers);
        link.with(|machine, now| machine.connect(now)).map_err(ConnectionError::Failed)?;
        let side = ClientSide::new(Worker::new(Arc::clone(&link)));
        let driver = Driver::new(side, runtime, reader, writer, self.trace.map(Tracer::new));
        let guard = EndGuard(Arc::clone(&link));
        let drive = async move {
            let outcome = driver.await;
            after.await;
            guard.0.end(match outcome {
                Ok(closed) => Ended::Closed(closed),
                Err(error) => Ended::Stream(Arc::new(error)),
            });
        };
        Ok((Connecting(Some(Arc::new(Handle { link }))), drive))
    }

    /// Connects over HTTP, with any library that makes requests. As with [`ClientBuilder::over`], the second future
    /// drives the connection.
    ///
    /// # Errors
    /// When the settings contradict themselves.
    #[cfg(feature = "http")]
    pub fn over_http(
        self,
        runtime: Arc<dyn Runtime>,
        transport: impl Transport,
        endpoint: Endpoint,
    ) -> Result<(Connecting, impl Future<Output = ()> + Send + 'static), ConnectionError> {
        let asks = self.handlers.credentials.is_some();
        let machine = HttpClient::over_http(self.config(), endpoint.ask_authorization(asks))?;
        let link = Link::new(Machine::Http(Box::new(machine)), Arc::clone(&runtime), self.hooks, self.handlers);
        link.with(|machine, now| machine.connect(now)).map_err(ConnectionError::Failed)?;
        let driver = HttpDriver::new(Worker::new(Arc::clone(&link)), runtime, Arc::new(transport), self.trace);
        let guard = EndGuard(Arc::clone(&link));
        let drive = async move {
            let closed = driver.await;
            guard.0.end(Ended::Closed(closed));
        };
        Ok((Connecting(Some(Arc::new(Handle { link }))), drive))
    }

    fn config(&self) -> Config {
        self.config.clone().capabilities(self.capabilities.clone())
    }

    /// Connects over a stream, and drives the connection on a task of its own. `after` is as for
    /// [`ClientBuilder::over`].
    ///
    /// # Errors
    /// [`ConnectionError`]: settings that contradict themselves, a handshake that fails.
    pub async fn connect_over<R, W>(
        self,
        runtime: Arc<dyn Runtime>,
        reader: R,
        writer: W,
        after: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Client, ConnectionError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (connecting, driver) = self.over(Arc::clone(&runtime), reader, writer, after)?;
        runtime.spawn(Box::pin(driver));
        connecting.await
    }

    /// The same over HTTP.
    ///
    /// # Errors
    /// [`ConnectionError`]: settings that contradict themselves, a handshake that fails.
    #[cfg(feature = "http")]
    pub async fn connect_over_http(
        self,
        runtime: Arc<dyn Runtime>,
        transport: impl Transport,
        endpoint: Endpoint,
    ) -> Result<Client, ConnectionError> {
        let (connecting, driver) = self.over_http(Arc::clone(&runtime), transport, endpoint)?;
        runtime.spawn(Box::pin(driver));
        connecting.await
    }

    /// Checks the settings before anything is started for them.
    ///
    /// # Errors
    /// When they contradict themselves.
    pub fn check(&self) -> Result<(), ConnectionError> {
        LineClient::new(self.config())?;
        Ok(())
    }
}

/// Answering the server.
impl ClientBuilder {
    /// Answers forms.
    pub fn on_form<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitFormParams, Asked) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoInputAnswer,
    {
        self.handlers.form = Some(question(handler));
        self.declare(ClientCapabilities::with_form)
    }

    /// Answers questions that send the user to a page.
    pub fn on_url<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitUrlParams, Asked) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoInputAnswer,
    {
        self.handlers.url = Some(question(handler));
        self.declare(ClientCapabilities::with_url)
    }

    /// Answers questions to the model. [`ClientBuilder::sampling_tools`] lets them lend tools.
    pub fn on_sample<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessageParams, Asked) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoInputAnswer,
    {
        self.handlers.sample = Some(question(handler));
        self.declare(ClientCapabilities::with_sampling)
    }

    /// Says that questions to the model may lend tools.
    pub fn sampling_tools(self) -> Self {
        self.declare(ClientCapabilities::with_sampling_tools)
    }

    /// Says that questions to the model may ask for context of servers.
    pub fn sampling_context(self) -> Self {
        self.declare(ClientCapabilities::with_sampling_context)
    }

    /// Answers requests for roots. Changes are announced with [`Client::roots_changed`].
    pub fn on_roots(mut self, roots: impl Fn() -> Vec<Root> + Send + Sync + 'static) -> Self {
        let roots: Roots = Arc::new(roots);
        self.handlers.roots = Some(question(move |(), _| std::future::ready(roots())));
        self.declare(|capabilities| {
            let mut capabilities = capabilities.with_roots();
            if let Some(roots) = &mut capabilities.roots {
                roots.list_changed = Some(true);
            }
            capabilities
        })
    }

    /// Answers every question that has no handler of its own: for gateways, which pass questions on. It declares nothing
    /// by itself: [`ClientBuilder::capabilities`] does.
    pub fn on_question<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(InputRequest, Asked) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoInputAnswer,
    {
        self.handlers.any = Some(question(handler));
        self
    }

    /// Answers requests of a legacy server for another method. The answer is an object.
    pub fn on_request<F, Fut>(mut self, method: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Json) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, HandlerError>> + Send + 'static,
    {
        let method = method.into();
        let boxed: RawHandler = Box::new(move |params| Box::pin(handler(params)));
        self.handlers.methods.insert(method.as_str().into(), boxed);
        self.configure(|config| config.server_method(method))
    }

    /// Gets credentials when a server over HTTP wants some, or other ones: the value for the header that carries them,
    /// or nothing, and the call fails. Without it, such calls fail at once.
    #[cfg(feature = "http")]
    pub fn on_unauthorized<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(Unauthorized) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<bytes::Bytes>> + Send + 'static,
    {
        self.handlers.credentials = Some(Box::new(move |unauthorized| Box::pin(handler(unauthorized))));
        self
    }

    /// Declares more than follows from the handlers, such as extensions.
    pub fn capabilities(self, change: impl FnOnce(ClientCapabilities) -> ClientCapabilities) -> Self {
        self.declare(change)
    }

    /// Hears of what went wrong inside, and of what the machine noticed. Without it, nobody does.
    pub fn error_reporter(mut self, hook: impl Fn(&Report<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.reporter = Some(Arc::new(hook));
        self
    }

    /// Shows every frame and action to `hook`.
    pub fn trace(mut self, hook: TraceHook) -> Self {
        self.trace = Some(hook);
        self
    }

    /// The revisions that the client speaks. All of them.
    pub fn versions(self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.configure(|config| config.versions(versions))
    }
}

macro_rules! settings {
    ($($(#[doc = $doc:literal])* $name:ident => $setting:ident($argument:ident: $type:ty);)*) => {
        /// Policy.
        impl ClientBuilder {
            $(
                $(#[doc = $doc])*
                pub fn $name(self, $argument: $type) -> Self {
                    self.configure(|config| config.$setting($argument))
                }
            )*
        }
    };
}

settings! {
    /// Whether accepted forms get the schema's defaults for what the user left out. Off.
    apply_defaults => apply_defaults(apply: bool);
    /// Whether answers are kept for as long as the server allows. On.
    cache => cache(cache: bool);
    /// How the era is found. Automatic.
    mode => connect(mode: Connect);
    /// Whether the machine asks for input and retries. On; off hands such results over as answers.
    drive_input => drive_input(drive: bool);
    /// The bounds.
    limits => limits(limits: Limits);
    /// The least level of log messages wanted for every request of the modern era. None.
    log_level => log_level(level: LoggingLevel);
    /// Metadata for every request, an object.
    meta => meta(meta: Json);
    /// Accepts results of this type from an extension that is declared.
    result_type => result_type(name: impl Into<Box<str>>);
    /// Whether requests say who we are. On.
    send_client_info => send_client_info(send: bool);
    /// Whether calls whose capability the server has not declared fail here. Off: some servers under-declare.
    strict_capabilities => strict_capabilities(strict: bool);
    /// How long things may take.
    timeouts => timeouts(timeouts: Timeouts);
    /// Whether structured tool results are checked against the schemas that lists have shown. On.
    validate_output => validate_output(validate: bool);
}

/// A handshake under way. Dropping it gives the connection up.
#[must_use = "await it for the client"]
pub struct Connecting(Option<Arc<Handle>>);

impl Connecting {
    /// A handle before the connection is made: calls wait for it.
    ///
    /// The handshake may still fail; then they do too.
    #[must_use]
    pub fn client(&self) -> Option<Client> {
        self.0.clone().map(Client)
    }
}

impl Future for Connecting {
    type Output = Result<Client, ConnectionError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let Some(handle) = &self.0 else { return Poll::Pending };
        let outcome = task::ready!(handle.link.poll_connected(cx));
        let handle = self.0.take();
        Poll::Ready(match (outcome, handle) {
            (Ok(()), Some(handle)) => Ok(Client(handle)),
            (Err(ended), _) => Err(ended.into()),
            (Ok(()), None) => Err(ConnectionError::GivenUp),
        })
    }
}

impl std::fmt::Debug for Connecting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connecting").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBuilder").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A future that does nothing, for streams that need nothing put away.
#[must_use]
pub fn nothing() -> BoxFuture<'static, ()> {
    Box::pin(std::future::ready(()))
}
