//! Connections to servers, kept for the next request.
//!
//! ```text
//!   send ──► idle connection? ──yes──► send on it ──closed meanwhile, nothing sent──┐
//!                 │ no                                                              │
//!                 └──────────► open one ◄───────────────────────────────────────────┘
//!   body read to its end ──► idle again, for IDLE_TIME, at most IDLE_MOST of an origin
//!   dropped before ────────► closed
//! ```
//!
//! A connection carries one exchange at a time, so that a stream that lasts holds up nobody.

use std::collections::HashMap;
use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::future::{Either, select};
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use mcp_sansio::machine::Mono;

use super::super::io::Stream as HyperStream;
#[cfg(feature = "tls")]
use super::connect::Tls;
use super::connect::{ByteStream, Connector};
use super::transport::{ResponseBody, Transport, TransportError};
use crate::runtime::{BoxFuture, Runtime};
use crate::sync::lock;

/// How long a connection is kept idle. Servers that close earlier are found out when it is used.
pub const IDLE_TIME: Duration = Duration::from_secs(60);
/// How many idle connections to one origin are kept.
pub const IDLE_MOST: usize = 16;
/// How long opening a connection may take, TLS included.
pub const CONNECT_TIME: Duration = Duration::from_secs(30);
/// How long a connection may take to be ready after its last exchange.
const SETTLE_TIME: Duration = Duration::from_millis(20);
/// The most bytes of a response's head.
const HEAD_BYTES: usize = 64 << 10;

/// A pool of HTTP/1.1 connections. Cheap to clone: clones are the same pool.
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    runtime: Arc<dyn Runtime>,
    connector: Arc<dyn Connector>,
    /// `None` for that of the platform.
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
    idle: Mutex<HashMap<Origin, Vec<Idle>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Origin {
    secure: bool,
    host: String,
    port: u16,
}

struct Idle {
    sender: SendRequest<Whole>,
    until: Mono,
}

impl Pool {
    /// An empty pool. HTTPS trusts whom the platform trusts.
    pub fn new(runtime: Arc<dyn Runtime>, connector: impl Connector) -> Self {
        Self(Arc::new(Shared {
            runtime,
            connector: Arc::new(connector),
            #[cfg(feature = "tls")]
            tls: None,
            idle: Mutex::default(),
        }))
    }

    /// An empty pool like this one that speaks TLS with settings of its own.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(&self, tls: Tls) -> Self {
        let (runtime, connector) = (Arc::clone(&self.0.runtime), Arc::clone(&self.0.connector));
        Self(Arc::new(Shared { runtime, connector, tls: Some(tls), idle: Mutex::default() }))
    }
}

impl Transport for Pool {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<ResponseBody>, TransportError>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let origin = Origin::of(request.uri())?;
            let mut request = for_origin(request)?;
            loop {
                let (mut sender, fresh) = match shared.take(&origin).await {
                    Some(sender) => (sender, false),
                    None => (shared.open(&origin).await?, true),
                };
                match sender.try_send_request(request).await {
                    Ok(response) => return Ok(response.map(|body| shared.body(origin, sender, body))),
                    Err(mut error) => match error.take_message() {
                        // It was closed while it was idle, and nothing was sent.
                        Some(unsent) if !fresh => request = unsent,
                        _ => return Err(TransportError::broken("the request failed", error.into_error())),
                    },
                }
            }
        })
    }
}

impl Shared {
    /// An idle connection that seems alive.
    async fn take(&self, origin: &Origin) -> Option<SendRequest<Whole>> {
        while let Some(mut sender) = self.pop(origin) {
            if sender.is_ready() {
                return Some(sender);
            }
            // Its task may not have noticed yet that the last exchange is over.
            let ready = Box::pin(async move { sender.ready().await.is_ok().then_some(sender) });
            if let Either::Left((Some(sender), _)) = select(ready, self.runtime.sleep(SETTLE_TIME)).await {
                return Some(sender);
            }
        }
        None
    }

    fn pop(&self, origin: &Origin) -> Option<SendRequest<Whole>> {
        let now = self.runtime.now().mono;
        let mut idle = lock(&self.idle);
        let kept = idle.get_mut(origin)?;
        while let Some(Idle { sender, until }) = kept.pop() {
            if until > now && !sender.is_closed() {
                return Some(sender);
            }
        }
        idle.remove(origin);
        None
    }

    async fn open(&self, origin: &Origin) -> Result<SendRequest<Whole>, TransportError> {
        let failed = |error| TransportError::not_sent("cannot connect", error);
        let opening = Box::pin(self.stream(origin));
        let stream = match select(opening, self.runtime.sleep(CONNECT_TIME)).await {
            Either::Left((stream, _)) => stream.map_err(failed)?,
            Either::Right(_) => return Err(failed(std::io::ErrorKind::TimedOut.into())),
        };
        let handshake = http1::Builder::new().max_header_size(HEAD_BYTES).handshake(HyperStream(stream)).await;
        let (sender, connection) = handshake.map_err(|error| TransportError::not_sent("cannot connect", error))?;
        // Ends when the sender and the body are dropped, or the server closes.
        self.runtime.spawn(Box::pin(async move { drop(connection.await) }));
        Ok(sender)
    }

    async fn stream(&self, origin: &Origin) -> std::io::Result<Box<dyn ByteStream>> {
        let stream = self.connector.connect(&origin.host, origin.port).await?;
        if !origin.secure {
            return Ok(stream);
        }
        #[cfg(feature = "tls")]
        {
            let tls = self.tls.clone().map_or_else(Tls::platform, Ok)?;
            tls.secure(&origin.host, stream).await
        }
        #[cfg(not(feature = "tls"))]
        Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "this program was built without TLS"))
    }

    fn body(self: &Arc<Self>, origin: Origin, sender: SendRequest<Whole>, body: Incoming) -> ResponseBody {
        Box::pin(Lent { body, lender: Some((Arc::downgrade(self), origin, sender)) })
    }

    fn give_back(&self, origin: Origin, sender: SendRequest<Whole>) {
        let now = self.runtime.now().mono;
        let mut idle = lock(&self.idle);
        let kept = idle.entry(origin).or_default();
        kept.retain(|idle| idle.until > now && !idle.sender.is_closed());
        if kept.len() < IDLE_MOST {
            kept.push(Idle { sender, until: now.after(IDLE_TIME) });
        }
    }
}

impl Origin {
    fn of(uri: &Uri) -> Result<Self, TransportError> {
        let bad = |text: &'static str| TransportError::not_sent("the URL is not one of HTTP", text);
        let secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(bad("its scheme is neither http nor https")),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| bad("it has no host"))?;
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        Ok(Self { secure, host: host.to_ascii_lowercase(), port })
    }
}

/// The request as it stands on a connection to its origin: a path, and the host beside it.
fn for_origin(request: Request<Bytes>) -> Result<Request<Whole>, TransportError> {
    let (mut head, body) = request.into_parts();
    let bad = |error: Box<dyn Error + Send + Sync>| TransportError::not_sent("the request cannot be sent", error);
    let authority = head.uri.authority().map(Authority::as_str).unwrap_or_default();
    // Credentials in URLs are nobody's business.
    let host = authority.rsplit('@').next().unwrap_or_default().to_owned();
    let host = http::HeaderValue::from_str(&host).map_err(|error| bad(error.into()))?;
    head.headers.entry(http::HeaderName::from_static("host")).or_insert(host);
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = Uri::try_from(path).map_err(|error| bad(error.into()))?;
    Ok(Request::from_parts(head, Whole(Some(body))))
}

/// A body that is there as a whole.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.0.take().filter(|bytes| !bytes.is_empty()).map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Bytes::is_empty)
    }

    fn size_hint(&self) -> http_body::SizeHint {
        http_body::SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// The body of a response, on a connection that goes back to the pool when the body has been read.
struct Lent {
    body: Incoming,
    lender: Option<(Weak<Shared>, Origin, SendRequest<Whole>)>,
}

impl Lent {
    fn return_connection(&mut self) {
        if let Some((pool, origin, sender)) = self.lender.take()
            && let Some(pool) = pool.upgrade()
        {
            pool.give_back(origin, sender);
        }
    }
}

impl Stream for Lent {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    // Trailers say nothing to us.
                    if let Ok(bytes) = frame.into_data() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Some(Err(error)) => {
                    this.lender = None;
                    return Poll::Ready(Some(Err(TransportError::broken("the response broke off", error))));
                }
                None => {
                    this.return_connection();
                    return Poll::Ready(None);
                }
            }
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}
