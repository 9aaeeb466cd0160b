//! Servers: what they offer, with the code behind it.
//!
//! ```text
//!   Server ──build──► BuiltServer ──accept──► (Connection, driver)      one for each client
//!                        │
//!                        └── publish, replace: for all of them
//! ```
//!
//! A handler is an async closure or function of its arguments and a [`Context`]. Its arguments may be a type of
//! yours ([`Arguments`]), its answer one of many ([`IntoToolResult`], [`IntoPrompt`], [`IntoContents`],
//! [`IntoCompletion`]), its failure any error ([`HandlerError`]). Handlers run concurrently; one that panics fails
//! its own request only.
//!
//! How questions in the middle of a handler work is told in [`Question`]; what happens on cancellation in
//! [`Context::cancelled`].

mod arguments;
mod ask;
mod builder;
mod catalogue;
mod cell;
mod connection;
mod context;
mod error;
#[cfg(feature = "http")]
pub(crate) mod http;
mod link;
mod machine;
mod replay;
mod results;
mod serve;
mod shared;
mod side;
mod worker;

use std::future::Future;
use std::sync::Arc;

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio::server::{BuildError, Closed, Definition, Event, Server as StreamMachine};

pub use self::arguments::{Args, Arguments, Derived, NoArguments, Plain};
#[cfg(feature = "schema")]
pub use self::arguments::{ToolSchemas, schema_of};
pub use self::ask::{InputAnswer, InputError, Question};
pub use self::builder::Server;
pub use self::catalogue::{CompletionRequest, NamedCall, RawRequest, SubscribeRequest};
pub use self::cell::Cancelled;
pub use self::connection::Connection;
pub use self::context::{Cancellation, Context, RequestError};
pub use self::error::{HandlerError, Shown};
#[cfg(feature = "http")]
use self::http::HttpBuilder;
use self::link::Link;
pub use self::link::Request;
use self::machine::Machine;
pub use self::replay::PATIENCE;
pub use self::results::{IntoCompletion, IntoContents, IntoPrompt, IntoToolResult, ReadRequest, Structured, Text};
#[cfg(unix)]
pub use self::serve::bind_unix;
pub use self::serve::{MAX_CONNECTIONS, ServeError};
use self::shared::Shared;
use self::side::ServerSide;
use self::worker::Worker;
use crate::driver::{Driver, StreamError};
use crate::random::{self, NoRandomness};
use crate::runtime::Runtime;
use crate::sync::lock;
use crate::trace::{TraceHook, Tracer};

/// A server that is ready to serve any number of connections. Cheap to clone: clones are the same server.
#[derive(Clone)]
pub struct BuiltServer(Arc<Shared>);

impl BuiltServer {
    /// What the server offers.
    #[must_use]
    pub fn definition(&self) -> Arc<Definition> {
        Arc::clone(&lock(&self.0.catalogue).definition)
    }

    /// Prepares a connection with one client.
    pub fn accept(&self, runtime: Arc<dyn Runtime>) -> Accept {
        Accept { server: self.clone(), runtime, trace: None }
    }

    /// Prepares a service of HTTP. Each is an endpoint with sessions of its own.
    #[cfg(feature = "http")]
    pub fn http(&self, runtime: Arc<dyn Runtime>) -> HttpBuilder {
        HttpBuilder::new(Arc::clone(&self.0), runtime)
    }

    /// Tells every client of a change that it asked to hear of.
    pub fn publish(&self, event: &Event) {
        self.0.publish(event);
    }

    /// The connections that are open: streams, and legacy sessions over HTTP.
    #[must_use]
    pub fn connections(&self) -> Vec<Connection> {
        let links = self.0.links().into_iter();
        #[cfg(feature = "http")]
        let links = links.chain(self.0.endpoints().into_iter().flat_map(|endpoint| endpoint.sessions()));
        links.map(Connection::new).collect()
    }

    /// Replaces what the server offers, with its handlers and data; clients that asked to hear of it are told what
    /// has changed. Hooks stay as they are, calls that run go on.
    ///
    /// # Errors
    /// As [`Server::build`].
    pub fn replace(&self, server: Server) -> Result<(), BuildError> {
        let catalogue = Arc::new(server.into_catalogue()?);
        // New connections first, so that none is left out.
        *lock(&self.0.catalogue) = Arc::clone(&catalogue);
        for link in self.0.links() {
            link.replace(&catalogue);
        }
        #[cfg(feature = "http")]
        for endpoint in self.0.endpoints() {
            endpoint.replace(&catalogue);
        }
        Ok(())
    }
}

impl std::fmt::Debug for BuiltServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuiltServer").field("identity", self.definition().identity()).finish_non_exhaustive()
    }
}

/// A connection in the making.
#[must_use]
pub struct Accept {
    server: BuiltServer,
    runtime: Arc<dyn Runtime>,
    trace: Option<TraceHook>,
}

impl Accept {
    /// Shows every frame and action to `hook`.
    pub fn trace(mut self, hook: TraceHook) -> Self {
        self.trace = Some(hook);
        self
    }

    /// Serves the client at the other end of a stream. The future drives the connection: it must be polled, and
    /// ends with it; dropping it ends the connection at once.
    ///
    /// # Errors
    /// When the operating system gives no randomness; of the future, when the stream fails.
    pub fn over<R, W>(
        self,
        reader: R,
        writer: W,
    ) -> Result<(Connection, impl Future<Output = Result<Closed, StreamError>> + Send + 'static), NoRandomness>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let shared = self.server.0;
        let catalogue = Arc::clone(&lock(&shared.catalogue));
        let machine = StreamMachine::new(Arc::clone(&catalogue.definition), random::seed()?);
        let link = Link::new(
            Machine::Stream(Box::new(machine)),
            Arc::clone(&catalogue),
            Arc::clone(&self.runtime),
            Arc::clone(&shared),
        );
        shared.add(&link);
        let connection = Connection::new(Arc::clone(&link));
        let side = ServerSide::new(Worker::new(link, catalogue));
        Ok((connection, Driver::new(side, self.runtime, reader, writer, self.trace.map(Tracer::new))))
    }
}

impl std::fmt::Debug for Accept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accept").field("server", &self.server).finish_non_exhaustive()
    }
}
