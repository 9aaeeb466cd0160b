//! The connections of a server that runs alone: how many, how long, and how they end. What they may cost is in
//! [`Bounds`].
//!
//! How large a body may be, how many streams and sessions there are, and who may ask at all are the protocol's
//! affairs, and bounded in the core.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
use tower_service::Service;

use super::io::{Impatient, Patience};
use crate::listen::{Place, Room};
use crate::runtime::Runtime;
use crate::signal::{Stage, Watch};

/// What connections may cost.
///
/// | against | bound | by default |
/// |---|---|---|
/// | too many connections | [`Self::connections`]; further ones wait to be accepted | 4,096 |
/// | slow heads (slow-loris), idle connections | [`Self::head_time`] | 30 s |
/// | floods of headers | [`Self::headers`], [`Self::head_bytes`] | 100, 32 KiB |
/// | slow bodies | [`HttpBuilder::body_time`](super::HttpBuilder::body_time) | 60 s |
/// | peers that take nothing | [`Self::write_time`] | 30 s |
/// | a shutdown that takes too long | [`Self::drain_time`] | 10 s |
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Bounds {
    /// Connections at a time. Each may hold some buffers; streams that wait for news are connections too.
    pub connections: usize,
    /// From the first byte that is awaited to the end of the head, idle time between requests included.
    pub head_time: Duration,
    /// Headers of a request.
    pub headers: usize,
    /// Bytes of the head of a request.
    pub head_bytes: usize,
    /// How long a peer may take nothing of what is written to it.
    pub write_time: Duration,
    /// How long a graceful shutdown waits for what has begun.
    pub drain_time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 4_096,
            head_time: Duration::from_secs(30),
            headers: 100,
            head_bytes: 32 << 10,
            write_time: Duration::from_secs(30),
            drain_time: Duration::from_secs(10),
        }
    }
}

/// The connections of one listener. Dropping it ends them all.
pub struct Connections {
    room: Room,
    bounds: Bounds,
    builder: http1::Builder,
}

impl Connections {
    /// None yet.
    #[must_use]
    pub fn new(runtime: Arc<dyn Runtime>, bounds: Bounds) -> Self {
        let mut builder = http1::Builder::new();
        // Heads are awaited here, at less cost: hyper would look twice for the next one.
        builder.header_read_timeout(None).max_headers(bounds.headers).max_header_size(bounds.head_bytes);
        Self { room: Room::new(runtime, bounds.connections), bounds, builder }
    }

    /// How many are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.room.open()
    }

    /// Serves every connection that `accept` gives, until `shutdown` is ready; then `finish` is called, and open
    /// connections have [`Bounds::drain_time`] to finish what has begun. `accept` is dropped before that, and the
    /// listener with it, if it holds one. Dropping the future ends everything at once.
    ///
    /// An error of `accept` is waited out: it may be that too many files are open.
    pub async fn accept_all<I, S, B>(
        self,
        service: S,
        accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<I>>,
        shutdown: impl Future<Output = ()>,
        finish: impl FnOnce(),
    ) where
        I: Read + Write + Unpin + Send + 'static,
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.room.fill(accept, shutdown, |stream| self.serve(stream, service.clone())).await;
        finish();
        self.shut_down().await;
    }

    /// Serves the client at the other end of a stream, on a task of its own.
    pub fn serve<I, S, B>(&self, stream: I, service: S)
    where
        I: Read + Write + Unpin + Send + 'static,
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let runtime = self.room.runtime();
        let stream = Impatient::new(stream, Arc::clone(runtime), self.bounds.write_time);
        let (head, writing) = (Patience::new(Arc::clone(runtime), self.bounds.head_time), Arc::clone(stream.waits()));
        let requests = Arc::new(Requests::default());
        let seen = Arc::clone(&requests);
        let service = service_fn(move |request| {
            let request_begun = Begun::new(&seen);
            // Ours are always ready; hyper asks nobody.
            let answer = service.clone().call(request);
            async move { answer.await.map(|answer| answer.map(|body| Answer { body, _request: request_begun })) }
        });
        let inner = self.builder.serve_connection(stream, service);
        let (watch, place) = (self.room.signal().watch(), self.room.enter());
        runtime.spawn(Box::pin(Connection { inner, watch, requests, writing, head, finishing: false, _place: place }));
    }

    /// Lets open connections finish what has begun, for [`Bounds::drain_time`] at most, and ends them. Nothing may
    /// be accepted any more.
    pub async fn shut_down(self) {
        self.room.signal().raise(Stage::Finishing);
        let patience = self.room.runtime().sleep(self.bounds.drain_time);
        let finished = std::pin::pin!(self.room.empty());
        futures_util::future::select(finished, patience).await;
    }
}

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").field("open", &self.open()).finish_non_exhaustive()
    }
}

/// The requests of one connection. Whoever looks has the connection to itself.
#[derive(Default)]
struct Requests {
    begun: AtomicUsize,
    /// Those that are not answered to the end.
    open: AtomicUsize,
}

/// A request, until it is answered to the end, or nobody waits for that.
struct Begun(Arc<Requests>);

impl Begun {
    fn new(requests: &Arc<Requests>) -> Self {
        requests.begun.fetch_add(1, Ordering::Relaxed);
        requests.open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(requests))
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of an answer. hyper drops it when all of it is written.
struct Answer<B> {
    body: B,
    _request: Begun,
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// One connection, until it ends or is told to.
struct Connection<I, S>
where
    S: HttpService<Incoming>,
{
    inner: http1::Connection<I, S>,
    watch: Watch,
    requests: Arc<Requests>,
    /// Whether an answer waits to be taken.
    writing: Arc<AtomicBool>,
    head: Patience,
    finishing: bool,
    _place: Place,
}

impl<I, S> Future for Connection<I, S>
where
    I: Read + Write + Unpin,
    S: HttpService<Incoming>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::ResBody: 'static,
    <S::ResBody as Body>::Error: Into<Box<dyn Error + Send + Sync>>,
    http1::Connection<I, S>: Future<Output = hyper::Result<()>> + Unpin,
{
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let begun = |requests: &Requests| requests.begun.load(Ordering::Relaxed);
        match this.watch.poll(cx) {
            Stage::Running => {}
            Stage::Finishing if this.finishing => {}
            // hyper waits for the first request of a connection even then.
            Stage::Finishing if begun(&this.requests) == 0 => return Poll::Ready(()),
            Stage::Finishing => {
                this.finishing = true;
                Pin::new(&mut this.inner).graceful_shutdown();
            }
            Stage::Stopped => return Poll::Ready(()),
        }
        // A connection that fails is no matter for the others.
        if Pin::new(&mut this.inner).poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if this.requests.open.load(Ordering::Relaxed) > 0 || this.writing.load(Ordering::Relaxed) {
            // No head is awaited: an answer is on its way, whose time is bounded elsewhere.
            return Poll::Pending;
        }
        this.head.poll(begun(&this.requests), cx)
    }
}
