//! A service that listens.

use std::future::{Future, pending};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::rt::{Read, Write};

use super::{Bounds, Connections, HttpService};
use crate::runtime::BoxFuture;
use crate::server::ServeError;

/// What accepts connections.
pub trait Listener: Sized + Send + 'static {
    /// A connection.
    type Stream: Read + Write + Unpin + Send + 'static;

    /// Accepts the next one.
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Self::Stream>>;

    /// What has to run beside the connections that are accepted from now on, for them to move; if there is anything.
    /// It is asked for once, and spawned where connections are. It ends when they and the listener have gone.
    fn companion(&mut self) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the operating system does not tell.
    fn local_addr(&self) -> io::Result<SocketAddr>;
}

/// A listener that can be opened at an address.
pub trait Bind<A>: Listener {
    /// Listens.
    fn bind(address: A) -> impl Future<Output = io::Result<Self>> + Send;
}

/// A service that listens. `L` is the listener of a runtime: adapters name this type with theirs.
#[derive(Debug)]
pub struct HttpServer<L> {
    service: HttpService,
    listener: L,
    address: SocketAddr,
    bounds: Bounds,
}

impl<L: Listener> HttpServer<L> {
    /// Listens. Nothing is accepted until it runs.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub async fn bind<A>(service: HttpService, address: A) -> Result<Self, ServeError>
    where
        L: Bind<A>,
    {
        let listener = L::bind(address).await.map_err(ServeError::Listen)?;
        let address = listener.local_addr().map_err(ServeError::Listen)?;
        Ok(Self { service, listener, address, bounds: Bounds::default() })
    }

    /// What connections may cost.
    #[must_use]
    pub const fn bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it is dropped, and every connection with it.
    pub async fn run(self) {
        self.run_until(pending()).await;
    }

    /// Serves until `shutdown` is ready. Then nothing is accepted any more, streams that wait for news are ended as
    /// the protocol wants it, and calls that run have [`Bounds::drain_time`] to finish.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) {
        let Self { service, mut listener, bounds, .. } = self;
        if let Some(companion) = listener.companion() {
            service.runtime().spawn(companion);
        }
        let finish = service.clone();
        let connections = Connections::new(Arc::clone(service.runtime()), bounds);
        let accept = move |cx: &mut Context<'_>| listener.poll_accept(cx);
        connections.accept_all(service, accept, shutdown, || finish.shut_down()).await;
    }
}
