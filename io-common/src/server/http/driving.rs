//! One exchange and its answer. It has no task of its own: it moves when its answer is polled, or waits for a waker.
//! A handler that is ready at once is so answered in the poll that the request came with.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use mcp_sansio::http::server::{Action, Exchange, Input, ListenKey, Response, Subscription};
use mcp_sansio::machine::{Now, TimerKind};

use super::super::link::Link;
use super::super::machine::{Deed, Machine};
use super::super::worker::{Ready, Worker};
use super::endpoint::{Endpoint, Front};
use crate::driver::Timer;

/// How much it does before it lets others run.
const ROUNDS: usize = 256;

pub(super) struct Driving {
    worker: Worker,
    ready: Option<Ready>,
    endpoint: Arc<Endpoint>,
    timer: Timer,
    response: Option<Response>,
    chunks: VecDeque<Bytes>,
    /// Bytes that were given to the writer and not reported as written.
    given: usize,
    finished: bool,
    listening: Option<ListenKey>,
}

impl Driving {
    pub(super) fn new(endpoint: Arc<Endpoint>, front: &Front, exchange: Box<Exchange>) -> Self {
        let (runtime, shared) = (Arc::clone(&endpoint.runtime), Arc::clone(&endpoint.shared));
        let link = Link::new(Machine::Exchange(exchange), Arc::clone(&front.catalogue), runtime, shared);
        Self {
            worker: Worker::new(link, Arc::clone(&front.catalogue)),
            ready: None,
            endpoint,
            timer: Timer::default(),
            response: None,
            chunks: VecDeque::new(),
            given: 0,
            finished: false,
            listening: None,
        }
    }

    /// Waits for the head of the answer. `None`: there is none, which does not happen. `now` saves a look at the clock.
    pub(super) fn poll_response(&mut self, cx: &mut Context<'_>, now: Option<Now>) -> Poll<Option<Response>> {
        let now = now.unwrap_or_else(|| self.endpoint.runtime.now());
        self.run(cx, now, |this| this.response.is_some() || this.finished);
        match self.response.take() {
            None if !self.finished => Poll::Pending,
            response => Poll::Ready(response),
        }
    }

    /// Waits for the next piece of a stream.
    pub(super) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let now = self.endpoint.runtime.now();
        let given = std::mem::take(&mut self.given);
        if given > 0 {
            // Whoever asks for more has room for more.
            self.quietly(|machine| machine.handle(now, Input::Written(given)));
        }
        self.run(cx, now, |this| !this.chunks.is_empty() || this.finished);
        match self.chunks.pop_front() {
            Some(chunk) => {
                self.given = chunk.len();
                Poll::Ready(Some(chunk))
            }
            None if self.finished => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    fn quietly<T>(&self, verb: impl FnOnce(&mut Exchange) -> T) -> Option<T> {
        self.worker.link.quietly(|state| match &mut state.machine {
            Machine::Exchange(machine) => Some(verb(machine)),
            _ => None,
        })
    }

    /// Does what is to be done, until `enough`, or until nothing is. Then the waker is registered.
    fn run(&mut self, cx: &mut Context<'_>, mut now: Now, enough: impl Fn(&Self) -> bool) {
        let mut registered = false;
        for _ in 0..ROUNDS {
            if enough(self) {
                return;
            }
            if let Some(deed) = self.worker.next(now, &mut self.ready) {
                if let Deed::Http(action) = deed {
                    self.act_on(action, now);
                }
                continue;
            }
            if !registered {
                // Whoever is answered at once has no use for a waker. Others look again: something may have come.
                self.worker.link.register(cx.waker());
                registered = true;
                continue;
            }
            let due = self.quietly(|machine| machine.poll_timeout()).flatten();
            // Queued actions are done in any case.
            let due = due.filter(|(_, kind)| *kind != TimerKind::Actions).map(|(at, _)| at);
            if due.is_some_and(|at| at <= now.mono) {
                self.quietly(|machine| machine.handle_timeout(now));
            } else if self.timer.poll(&self.endpoint.runtime, now, due, cx).is_pending() {
                return;
            }
            now = self.endpoint.runtime.now();
        }
        cx.waker().wake_by_ref();
    }

    fn act_on(&mut self, action: Action, now: Now) {
        match action {
            Action::Respond { response, .. } => self.response = Some(response),
            Action::Chunk { bytes, .. } => self.chunks.push_back(bytes),
            Action::Finish { .. } => self.finished = true,
            Action::Invoke(invocation) => self.ready = self.worker.invoke(*invocation, now),
            Action::Cancelled { slot, reason } => self.worker.cancelled(slot, reason),
            Action::Notified(notified) => self.worker.notified(notified),
            Action::Answered { call, outcome } => self.worker.answered(call, outcome),
            Action::Listen(subscription) => self.listen(subscription, now),
            Action::Publish(event) => self.endpoint.shared.publish(&event),
            Action::Diagnostic(diagnostic) => self.worker.diagnostic(&diagnostic),
            // An action of a newer core has no meaning here.
            _ => {}
        }
    }

    /// Does what is queued and needs no client.
    fn rest(&mut self, now: Now) {
        while let Some(deed) = self.worker.next(now, &mut self.ready) {
            match deed {
                Deed::Http(Action::Invoke(_) | Action::Listen(_)) | Deed::Stream(_) => {}
                Deed::Http(action) => self.act_on(action, now),
            }
        }
    }

    fn listen(&mut self, subscription: Subscription, now: Now) {
        let admitted = self.endpoint.listen(subscription, Arc::downgrade(&self.worker.link));
        self.listening = admitted.as_ref().ok().copied();
        self.quietly(|machine| machine.listening(now, admitted));
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        if let Some(key) = self.listening.take() {
            self.endpoint.unlisten(key);
        }
        // What is left to be done is for others than the client: a notification comes after its answer.
        let now = self.endpoint.runtime.now();
        self.rest(now);
        if self.quietly(|machine| machine.is_over()) != Some(true) {
            // The client has gone, or the connection is dropped.
            self.quietly(|machine| machine.handle(now, Input::Disconnected));
            self.rest(now);
        }
        self.worker.link.leave();
    }
}

impl std::fmt::Debug for Driving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driving").field("finished", &self.finished).finish_non_exhaustive()
    }
}
