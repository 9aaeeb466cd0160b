//! The driver loop of a client over HTTP: it makes the requests that the machine asks for, and tells what comes of
//! them. It decides nothing: no redirect is followed, nothing is tried again, nothing times out here.
//!
//! ```text
//!   machine ──Fetch──► Transport::send ──head──► body ──pieces──► machine
//!      └─────Abort──► dropped, wherever it is
//! ```
//!
//! When the machine is closed, requests that are on their way (a cancellation, the end of a session) are still sent,
//! for [`LINGER`] at most, with nobody waiting.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use futures_util::future::{AbortHandle, AbortRegistration, Abortable};
use futures_util::stream::{FuturesUnordered, SelectAll};
use mcp_sansio::client::Closed;
use mcp_sansio::http::Headers;
use mcp_sansio::http::client::{Action, Fetch, FetchFailed, FetchId, HttpClient, Input, Unauthorized};
use mcp_sansio::machine::{Mono, Now, TimerKind};

use super::machine::Machine;
use super::worker::Worker;
use crate::driver::Timer;
use crate::http::client::{ResponseBody, Transport, TransportError};
use crate::runtime::{BoxFuture, Runtime};
use crate::trace::{Trace, TraceHook, Tracer};

/// The most actions that are taken in one go.
const BATCH: usize = 128;
/// How often the loop goes round before it lets others run.
const ROUNDS: usize = 32;
/// How long requests that nobody waits for may take at the end.
const LINGER: Duration = Duration::from_secs(2);

type Sent = (FetchId, Result<http::Response<ResponseBody>, TransportError>);

pub(super) struct HttpDriver {
    worker: Worker,
    runtime: Arc<dyn Runtime>,
    transport: Arc<dyn Transport>,
    trace: Option<TraceHook>,
    actions: Vec<Action>,
    /// Requests whose head has not come.
    sending: FuturesUnordered<Abortable<BoxFuture<'static, Sent>>>,
    /// Bodies that are read.
    reading: SelectAll<Reading>,
    aborts: HashMap<FetchId, AbortHandle>,
    timer: Timer,
    closing: Option<(Closed, Mono)>,
}

impl HttpDriver {
    pub(super) fn new(
        worker: Worker,
        runtime: Arc<dyn Runtime>,
        transport: Arc<dyn Transport>,
        trace: Option<TraceHook>,
    ) -> Self {
        Self {
            worker,
            runtime,
            transport,
            trace,
            actions: Vec::new(),
            sending: FuturesUnordered::new(),
            reading: SelectAll::new(),
            aborts: HashMap::new(),
            timer: Timer::default(),
            closing: None,
        }
    }

    /// Uses the machine, which is one for HTTP here.
    fn quietly<T>(&self, verb: impl FnOnce(&mut HttpClient) -> T) -> Option<T> {
        self.worker.link.quietly(|state| match &mut state.machine {
            Machine::Http(machine) => Some(verb(machine)),
            Machine::Lines(_) => None,
        })
    }

    fn handle(&mut self, now: Now, input: Input) {
        if let Some(Err(error)) = self.quietly(|machine| machine.handle(now, input)) {
            self.close(now, Closed::Failed(error));
        }
    }

    fn close(&mut self, now: Now, why: Closed) {
        if self.closing.is_none() {
            self.worker.link.closed(why.clone());
            // Streams that last are of no use any more.
            self.reading = SelectAll::new();
            self.closing = Some((why, now.mono.after(LINGER)));
        }
    }

    /// Does what the machine asks for. Answers whether it asked for anything.
    fn act(&mut self, now: Now) -> bool {
        let mut actions = std::mem::take(&mut self.actions);
        self.quietly(|machine| {
            while actions.len() < BATCH
                && let Some(action) = machine.poll_action()
            {
                actions.push(action);
            }
        });
        let acted = !actions.is_empty();
        for action in actions.drain(..) {
            match action {
                Action::Fetch(fetch) => self.fetch(*fetch, now),
                Action::Abort(fetch) => {
                    if let Some(abort) = self.aborts.remove(&fetch) {
                        abort.abort();
                    }
                }
                Action::Unauthorized(unauthorized) => self.authorize(*unauthorized),
                Action::Event(event) => {
                    if let Some(trace) = &self.trace {
                        trace(Trace::ClientAction(&event));
                    }
                    self.worker.act_on(event);
                }
                // An action of a newer core has no meaning here.
                _ => {}
            }
        }
        self.actions = actions;
        self.worker.tell();
        if let Some(why) = self.worker.closed.take() {
            self.close(now, why);
        }
        acted
    }

    fn fetch(&mut self, fetch: Fetch, now: Now) {
        if let Some(trace) = &self.trace
            && !fetch.body.is_empty()
        {
            trace(Trace::Sent(&fetch.body));
        }
        let id = fetch.id;
        let request = match request(fetch) {
            Ok(request) => request,
            Err(error) => {
                let reason = FetchFailed::NotSent(error.to_string().into());
                return self.handle(now, Input::Failed { fetch: id, reason });
            }
        };
        let sending = self.transport.send(request);
        let sending: BoxFuture<'static, Sent> = Box::pin(async move { (id, sending.await) });
        let registration = self.abortable(id);
        self.sending.push(Abortable::new(sending, registration));
    }

    fn abortable(&mut self, id: FetchId) -> AbortRegistration {
        let (abort, registration) = AbortHandle::new_pair();
        self.aborts.insert(id, abort);
        registration
    }

    /// A head has come, or will not.
    fn sent(&mut self, now: Now, (id, outcome): Sent) {
        // Aborted since.
        if self.aborts.remove(&id).is_none() {
            return;
        }
        match outcome {
            Ok(response) => {
                let (head, body) = response.into_parts();
                let headers = head.headers.iter();
                let headers: Headers =
                    headers.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
                let registration = self.abortable(id);
                let tracer = self.trace.clone().map(Tracer::new);
                self.handle(now, Input::Head { fetch: id, status: head.status.as_u16(), headers });
                if self.closing.is_none() {
                    self.reading.push(Reading { id, body: Some(Abortable::new(body, registration)), tracer });
                }
            }
            Err(error) => self.handle(now, Input::Failed { fetch: id, reason: failed(&error) }),
        }
    }

    fn authorize(&self, unauthorized: Unauthorized) {
        let link = Arc::clone(&self.worker.link);
        let runtime = &self.runtime;
        runtime.spawn(Box::pin(async move {
            let fetch = unauthorized.fetch;
            let answer = match &link.handlers.credentials {
                Some(handler) => handler(unauthorized).await,
                None => None,
            };
            let now = link.runtime.now();
            link.quietly(|state| {
                let Machine::Http(machine) = &mut state.machine else { return };
                // A call that has ended needs no credentials.
                let _ = match answer {
                    Some(credentials) => machine.authorize(now, fetch, credentials),
                    None => machine.refuse_authorization(now, fetch),
                };
            });
            link.wake();
        }));
    }

    /// Looks at everything that can move. Answers whether anything did.
    fn step(&mut self, now: Now, cx: &mut Context<'_>) -> bool {
        let mut moved = self.act(now);
        while let Poll::Ready(Some(sent)) = Pin::new(&mut self.sending).poll_next(cx) {
            moved = true;
            if let Ok(sent) = sent {
                self.sent(now, sent);
            }
        }
        if self.closing.is_none()
            && self.quietly(|machine| machine.wants_input()) == Some(true)
            && let Poll::Ready(Some(input)) = Pin::new(&mut self.reading).poll_next(cx)
        {
            moved = true;
            if matches!(input, Input::End { .. } | Input::Failed { .. }) {
                self.aborts.remove(&input.fetch());
            }
            self.handle(now, input);
        }
        moved
    }
}

impl Future for HttpDriver {
    type Output = Closed;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Closed> {
        let this = &mut *self;
        this.worker.link.register(cx.waker());
        for _ in 0..ROUNDS {
            let now = this.runtime.now();
            if this.closing.is_none() {
                let due = this.due();
                if due.is_some_and(|at| at <= now.mono) {
                    this.quietly(|machine| machine.handle_timeout(now));
                }
            }
            if this.step(now, cx) {
                continue;
            }
            let due = match &this.closing {
                Some((why, until)) if this.sending.is_empty() || *until <= now.mono => {
                    return Poll::Ready(why.clone());
                }
                Some((_, until)) => Some(*until),
                None => this.due(),
            };
            if this.timer.poll(&this.runtime, now, due, cx).is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl HttpDriver {
    fn due(&self) -> Option<Mono> {
        let due = self.quietly(|machine| machine.poll_timeout()).flatten();
        // Queued actions are done in any case.
        due.filter(|(_, kind)| *kind != TimerKind::Actions).map(|(at, _)| at)
    }
}

impl Drop for HttpDriver {
    fn drop(&mut self) {
        // A driver that is dropped ends its connection; after an orderly end this changes nothing.
        self.worker.link.closed(Closed::Requested);
    }
}

fn request(fetch: Fetch) -> Result<http::Request<bytes::Bytes>, http::Error> {
    let mut request = http::Request::builder().method(fetch.method.as_str()).uri(&*fetch.url);
    for (name, value) in fetch.headers.iter() {
        request = request.header(name, value.as_ref());
    }
    request.body(fetch.body)
}

fn failed(error: &TransportError) -> FetchFailed {
    let text = error.to_string().into();
    if error.sent { FetchFailed::Broken(text) } else { FetchFailed::NotSent(text) }
}

/// A body, as inputs of the machine.
struct Reading {
    id: FetchId,
    /// `None` at its end.
    body: Option<Abortable<ResponseBody>>,
    tracer: Option<Tracer>,
}

impl Stream for Reading {
    type Item = Input;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Input>> {
        let this = &mut *self;
        let fetch = this.id;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let next = std::task::ready!(Pin::new(&mut *body).poll_next(cx));
        if body.is_aborted() {
            this.body = None;
            return Poll::Ready(None);
        }
        Poll::Ready(Some(match next {
            Some(Ok(bytes)) => {
                if let Some(tracer) = &mut this.tracer {
                    tracer.received(&bytes);
                }
                Input::Body { fetch, bytes }
            }
            last => {
                this.body = None;
                if let Some(tracer) = &mut this.tracer {
                    tracer.ended();
                }
                match last {
                    Some(Err(error)) => Input::Failed { fetch, reason: failed(&error) },
                    _ => Input::End { fetch },
                }
            }
        }))
    }
}
