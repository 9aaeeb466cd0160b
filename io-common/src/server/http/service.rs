//! The way of a request to its machine, and of the answer back.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body::Body;
use mcp_sansio::error::Error;
use mcp_sansio::http::server::{Admitted, Body as Content, Exchange, Head, Intake, Judged, Options, Response, Routed};
use mcp_sansio::machine::Now;
use tower_service::Service;

use super::super::shared::Shared;
use super::body::HttpBody;
use super::driving::Driving;
use super::endpoint::{Endpoint, Front};
use super::session::Attached;
use crate::random::{self, NoRandomness};
use crate::report::Report;
use crate::runtime::{BoxFuture, Runtime};

/// From the end of a head to the end of its body, by default.
const BODY_TIME: Duration = Duration::from_secs(60);

/// Who is asking, as whoever stands before the service has found out: put it among the extensions of a request. It is
/// told to handlers ([`Context::principal`](crate::server::Context::principal)); sessions belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal(pub Arc<str>);

impl Principal {
    /// A principal by this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }
}

/// A service in the making.
#[must_use]
pub struct HttpBuilder {
    shared: Arc<Shared>,
    runtime: Arc<dyn Runtime>,
    options: Options,
    body_time: Duration,
}

impl HttpBuilder {
    pub(in crate::server) fn new(shared: Arc<Shared>, runtime: Arc<dyn Runtime>) -> Self {
        Self { shared, runtime, options: Options::default(), body_time: BODY_TIME }
    }

    /// What is served, to whom, and how.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// How long the body of a request may take. A minute by default.
    pub const fn body_time(mut self, time: Duration) -> Self {
        self.body_time = time;
        self
    }

    /// The service.
    ///
    /// # Errors
    /// When the operating system gives no randomness.
    pub fn build(self) -> Result<HttpService, NoRandomness> {
        let Self { shared, runtime, options, body_time } = self;
        Ok(HttpService(Endpoint::new(shared, runtime, options, body_time)?))
    }
}

/// A server as a service of tower: it answers requests at whatever path it is mounted at. Cheap to clone: clones are
/// the same endpoint. When the last one is dropped, its sessions end.
///
/// It is always ready and never fails. It mounts in axum (`Router::route_service`), and runs alone on the
/// [`Connections`](crate::http::Connections) of an adapter. Who may ask is decided before it, by whatever stands
/// there: a [`Principal`] among the extensions of a request says who it was.
#[derive(Clone)]
pub struct HttpService(Arc<Endpoint>);

impl HttpService {
    /// What it runs on.
    #[must_use]
    pub fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.0.runtime
    }

    /// The legacy sessions as bytes, with what their clients may come back for: for another process, or the next one,
    /// to go on with. Sessions with requests in flight are left out.
    #[must_use]
    pub fn export_sessions(&self) -> Vec<Bytes> {
        self.0.export()
    }

    /// Goes on with a session that was exported.
    ///
    /// # Errors
    /// When there is no room, or the bytes are no session of this server, or one that is here already.
    pub fn import_session(&self, exported: &[u8]) -> Result<(), Error> {
        self.0.import(exported)
    }

    /// Ends what waits for news, so that connections can end: listen streams are told so, standing streams of sessions
    /// just end. What was asked for goes on, and new requests are still served: whoever shuts down accepts none.
    pub fn shut_down(&self) {
        self.0.shut_down();
    }
}

impl<B> Service<http::Request<B>> for HttpService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = http::Response<HttpBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let (endpoint, front) = (Arc::clone(&self.0), self.0.front());
        let judged = judge(&front, Arc::new(parts));
        Box::pin(answer(endpoint, front, judged, body))
    }
}

/// Reads the body, finds who serves the message, and waits for the head of the answer. It is one function, for what it
/// holds is large, and each function that is awaited has its arguments moved.
async fn answer<B: Body>(
    endpoint: Arc<Endpoint>,
    front: Arc<Front>,
    judged: Judged,
    body: B,
) -> Result<http::Response<HttpBody>, Infallible> {
    let mut read_at = None;
    let routed = match judged {
        Judged::Refused(response) => Routed::Answered(response),
        Judged::Session(request) => Routed::Session(request),
        Judged::Post(mut intake) => match read(&endpoint, &mut intake, body).await {
            // The endpoint had randomness when it was made; a thread that gets none serves nobody.
            Ok(()) => match random::subseed() {
                Ok(seed) => intake.finish(&front.service, *read_at.insert(endpoint.runtime.now()), seed),
                Err(_) => Routed::Answered(Response::gone()),
            },
            Err(Unread::Broken) => Routed::Answered(intake.broken()),
            Err(Unread::TooLong(response)) => Routed::Answered(*response),
            Err(Unread::TooSlow) => Routed::Answered(intake.give_up()),
        },
        // A judgement of a newer core has no meaning here.
        _ => Routed::Answered(Response::gone()),
    };
    // One look at the clock: what is answered at once is answered at this moment.
    let now = read_at.unwrap_or_else(|| endpoint.runtime.now());
    Ok(match admit(&endpoint, routed, now) {
        Served::Answered(response) => endpoint.whole(response),
        Served::Exchange(exchange) => {
            let mut now = Some(now);
            let mut driving = Driving::new(Arc::clone(&endpoint), &front, exchange);
            let response = poll_fn(|cx| driving.poll_response(cx, now.take())).await;
            endpoint.response(response.unwrap_or_else(Response::gone), |content| match content {
                Content::Whole(bytes) => HttpBody::whole(bytes),
                Content::Stream => HttpBody::exchange(Box::new(driving)),
            })
        }
        Served::Session(mut attached) => {
            let response = poll_fn(|cx| attached.poll_response(cx)).await;
            endpoint.response(response.unwrap_or_else(Response::gone), |content| match content {
                Content::Whole(bytes) => {
                    attached.finish();
                    HttpBody::whole(bytes)
                }
                Content::Stream => HttpBody::session(attached),
            })
        }
    })
}

/// Who serves a request.
enum Served {
    Answered(Response),
    Exchange(Box<Exchange>),
    Session(Box<Attached>),
}

/// Brings a request of a session to it.
fn admit(endpoint: &Arc<Endpoint>, routed: Routed, now: Now) -> Served {
    let request = match routed {
        Routed::Answered(response) => return Served::Answered(response),
        Routed::Exchange(exchange) => return Served::Exchange(exchange),
        Routed::Session(request) => request,
        // A way of a newer core leads nowhere here.
        _ => return Served::Answered(Response::gone()),
    };
    match endpoint.admit(now, request) {
        Admitted::Answered(response) => Served::Answered(response),
        Admitted::Exchange(exchange) => Served::Exchange(exchange),
        Admitted::Ended { session, response } => {
            session.close();
            Served::Answered(response)
        }
        Admitted::Session { session, request, .. } => {
            match Attached::new(Arc::clone(endpoint), session, request, now) {
                Some(attached) => Served::Session(Box::new(attached)),
                None => Served::Answered(Response::gone()),
            }
        }
        _ => Served::Answered(Response::gone()),
    }
}

/// Judges a request before its body is read.
fn judge(front: &Front, parts: Arc<Parts>) -> Judged {
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    let mut head = Head::new(parts.method.as_str(), target);
    if let Some(authority) = parts.uri.authority() {
        head = head.authority(authority.as_str());
    }
    for (name, value) in &parts.headers {
        head.header(name.as_str(), value.as_bytes());
    }
    if let Some(Principal(name)) = parts.extensions.get() {
        head = head.principal(Arc::clone(name));
    }
    front.service.judge(head.data(Arc::clone(&parts) as _))
}

/// Why a body was not read to its end.
enum Unread {
    Broken,
    TooLong(Box<Response>),
    TooSlow,
}

/// Reads a body for as long as it may come.
async fn read<B: Body>(endpoint: &Endpoint, intake: &mut Intake, body: B) -> Result<(), Unread> {
    let mut body = pin!(body);
    let mut patience: Option<BoxFuture<'static, ()>> = None;
    loop {
        let frame = poll_fn(|cx| {
            if let Poll::Ready(frame) = body.as_mut().poll_frame(cx) {
                return Poll::Ready(Some(frame));
            }
            let patience = patience.get_or_insert_with(|| endpoint.runtime.sleep(endpoint.body_time));
            patience.as_mut().poll(cx).map(|()| None)
        });
        match frame.await {
            Some(None) => return Ok(()),
            Some(Some(Ok(frame))) => {
                // Trailers say nothing to us.
                if let Ok(mut data) = frame.into_data() {
                    intake.push(data.copy_to_bytes(data.remaining())).map_err(Unread::TooLong)?;
                }
            }
            Some(Some(Err(_))) => return Err(Unread::Broken),
            None => return Err(Unread::TooSlow),
        }
    }
}

impl Endpoint {
    /// An answer that is there as a whole.
    fn whole(&self, response: Response) -> http::Response<HttpBody> {
        self.response(response, |content| match content {
            Content::Whole(bytes) => HttpBody::whole(bytes),
            // Nobody is there to write one.
            Content::Stream => HttpBody::whole(Bytes::new()),
        })
    }

    fn response(&self, response: Response, body: impl FnOnce(Content) -> HttpBody) -> http::Response<HttpBody> {
        if let Some(diagnostic) = response.diagnostic() {
            self.shared.hooks.report(&Report::Diagnostic(diagnostic));
        }
        // The core writes valid heads; what is none of HTTP would be left out.
        let status = StatusCode::from_u16(response.status()).unwrap_or_default();
        let mut headers = HeaderMap::with_capacity(4);
        for (name, value) in response.fixed_headers() {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some((name, value)) = response.session_header()
            && let Ok(value) = HeaderValue::from_str(value)
        {
            headers.append(HeaderName::from_static(name), value);
        }
        let mut answer = http::Response::new(body(response.into_body()));
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        answer
    }
}

impl std::fmt::Debug for HttpService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpService").field("sessions", &self.0.sessions().len()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for HttpBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}
