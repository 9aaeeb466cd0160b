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
use mcp_sansio::http::server::{
    Admitted, Body as Content, Exchange, Head, Intake, Judged, Options, Request, Response, Routed,
};
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
        let endpoint = Arc::clone(&self.0);
        Box::pin(async move { Ok(answer(endpoint, request).await) })
    }
}

async fn answer<B: Body>(endpoint: Arc<Endpoint>, request: http::Request<B>) -> http::Response<HttpBody> {
    let (parts, body) = request.into_parts();
    let front = endpoint.front();
    match judge(&front, Arc::new(parts)) {
        Judged::Refused(response) => endpoint.whole(response),
        Judged::Session(request) => {
            let now = endpoint.runtime.now();
            admit(endpoint, &front, request, now).await
        }
        Judged::Post(intake) => {
            let intake = match read(&endpoint, intake, body).await {
                Ok(intake) => intake,
                Err(response) => return endpoint.whole(*response),
            };
            // The endpoint had randomness when it was made; a thread that gets none serves nobody.
            let Ok(seed) = random::subseed() else { return endpoint.whole(Response::gone()) };
            // One look at the clock: what is answered at once is answered at this moment.
            let now = endpoint.runtime.now();
            match intake.finish(&front.service, now, seed) {
                Routed::Answered(response) => endpoint.whole(response),
                Routed::Exchange(exchange) => drive(endpoint, &front, exchange, now).await,
                Routed::Session(request) => admit(endpoint, &front, request, now).await,
                // A way of a newer core leads nowhere here.
                _ => endpoint.whole(Response::gone()),
            }
        }
        _ => endpoint.whole(Response::gone()),
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

/// Reads a body for as long as it may come.
async fn read<B: Body>(endpoint: &Endpoint, mut intake: Intake, body: B) -> Result<Intake, Box<Response>> {
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
            Some(None) => return Ok(intake),
            Some(Some(Ok(frame))) => {
                // Trailers say nothing to us.
                if let Ok(mut data) = frame.into_data() {
                    intake.push(data.copy_to_bytes(data.remaining()))?;
                }
            }
            Some(Some(Err(_))) => return Err(Box::new(intake.broken())),
            None => return Err(Box::new(intake.give_up())),
        }
    }
}

async fn drive(endpoint: Arc<Endpoint>, front: &Front, exchange: Box<Exchange>, now: Now) -> http::Response<HttpBody> {
    let mut now = Some(now);
    let mut driving = Driving::new(Arc::clone(&endpoint), front, exchange);
    let response = poll_fn(|cx| driving.poll_response(cx, now.take())).await;
    let response = response.unwrap_or_else(Response::gone);
    endpoint.response(response, |content| match content {
        Content::Whole(bytes) => HttpBody::whole(bytes),
        Content::Stream => HttpBody::exchange(Box::new(driving)),
    })
}

/// Brings a request to its session.
async fn admit(endpoint: Arc<Endpoint>, front: &Front, request: Box<Request>, now: Now) -> http::Response<HttpBody> {
    let (session, request) = match endpoint.admit(now, request) {
        Admitted::Answered(response) => return endpoint.whole(response),
        Admitted::Exchange(exchange) => return drive(endpoint, front, exchange, now).await,
        Admitted::Ended { session, response } => {
            session.close();
            return endpoint.whole(response);
        }
        Admitted::Session { session, request, .. } => (session, request),
        _ => return endpoint.whole(Response::gone()),
    };
    let Some(mut attached) = Attached::new(Arc::clone(&endpoint), session, request, now) else {
        return endpoint.whole(Response::gone());
    };
    let response = poll_fn(|cx| attached.poll_response(cx)).await;
    let response = response.unwrap_or_else(Response::gone);
    endpoint.response(response, |content| match content {
        Content::Whole(bytes) => {
            attached.finish();
            HttpBody::whole(bytes)
        }
        Content::Stream => HttpBody::session(Box::new(attached)),
    })
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
