//! One legacy session: a machine that several exchanges share.
//!
//! ```text
//!   Attached (POST) ──┐                        ┌──► mailbox of each exchange ──► its answer
//!   Attached (GET)  ──┼──► pump ──► machine ───┤
//!   task: time, verbs ┘   (one at a time)      └──► handlers
//! ```
//!
//! Whoever has changed something pumps: the request that came, or the session's task, which is woken by verbs of
//! handlers and by the clock. So a handler that is ready at once is answered without a change of tasks.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use mcp_sansio::http::server::{Action, ExchangeId, Input, Request, Response, Session, SessionKey};
use mcp_sansio::machine::{Mono, Now, TimerKind};

use super::super::catalogue::Catalogue;
use super::super::link::Link;
use super::super::machine::{Deed, Machine};
use super::super::worker::Worker;
use super::endpoint::Endpoint;
use crate::driver::Timer;
use crate::sync::lock;

/// How often the task goes round before it lets others run.
const ROUNDS: usize = 32;

/// A session with those who wait for what it says.
pub(in crate::server) struct Shared {
    pub(in crate::server) link: Arc<Link>,
    key: SessionKey,
    endpoint: Weak<Endpoint>,
    worker: Mutex<Worker>,
    /// There is something to do for whoever holds the worker.
    again: AtomicBool,
    mailboxes: Mutex<Mailboxes>,
    closed: AtomicBool,
    /// When the task looks at the clock next, in nanoseconds.
    armed: AtomicU64,
}

/// Those of the exchanges that are open, by their numbers, which count up. Mostly there is one.
#[derive(Default)]
struct Mailboxes(Vec<(ExchangeId, Mailbox)>);

impl Mailboxes {
    fn find(&self, exchange: ExchangeId) -> Option<usize> {
        self.0.binary_search_by_key(&exchange, |(known, _)| *known).ok()
    }

    fn get_mut(&mut self, exchange: ExchangeId) -> Option<&mut Mailbox> {
        self.find(exchange).map(|at| &mut self.0[at].1)
    }

    fn add(&mut self, exchange: ExchangeId) {
        if self.0.is_empty() {
            self.0.reserve_exact(1);
        }
        self.0.push((exchange, Mailbox::default()));
    }

    fn remove(&mut self, exchange: ExchangeId) {
        if let Some(at) = self.find(exchange) {
            self.0.remove(at);
        }
    }
}

/// What a session has said to one exchange.
#[derive(Default)]
struct Mailbox {
    response: Option<Response>,
    chunks: VecDeque<Bytes>,
    finished: bool,
    waker: Option<Waker>,
}

impl Shared {
    pub(super) fn new(
        endpoint: &Arc<Endpoint>,
        catalogue: &Arc<Catalogue>,
        key: SessionKey,
        session: Session,
    ) -> Arc<Self> {
        let (runtime, shared) = (Arc::clone(&endpoint.runtime), Arc::clone(&endpoint.shared));
        let link = Link::new(Machine::Session(Box::new(session)), Arc::clone(catalogue), runtime, shared);
        Arc::new(Self {
            worker: Mutex::new(Worker::new(Arc::clone(&link), Arc::clone(catalogue))),
            link,
            key,
            endpoint: Arc::downgrade(endpoint),
            again: AtomicBool::new(false),
            mailboxes: Mutex::default(),
            closed: AtomicBool::new(false),
            armed: AtomicU64::new(u64::MAX),
        })
    }

    fn quietly<T>(&self, verb: impl FnOnce(&mut Session) -> T) -> Option<T> {
        self.link.quietly(|state| match &mut state.machine {
            Machine::Session(machine) => Some(verb(machine)),
            _ => None,
        })
    }

    /// Uses the machine, and does what it asks for then.
    pub(super) fn with<T>(&self, verb: impl FnOnce(&mut Session, Now) -> T) -> Option<T> {
        let now = self.link.runtime.now();
        let value = self.quietly(|machine| verb(machine, now));
        self.settle(now);
        value
    }

    /// Does what the machine asks for. Its task is woken for what is due sooner than it knows.
    fn settle(&self, now: Now) {
        self.pump(now);
        let due = self.due().map_or(u64::MAX, Mono::as_nanos);
        if due < self.armed.load(Ordering::SeqCst) || self.closed.load(Ordering::Acquire) {
            self.link.wake();
        }
    }

    fn due(&self) -> Option<Mono> {
        let due = self.quietly(|machine| machine.poll_timeout()).flatten();
        // Queued actions are done in any case.
        due.filter(|(_, kind)| *kind != TimerKind::Actions).map(|(at, _)| at)
    }

    /// Does what the machine asks for, until it asks for nothing more, unless somebody else is at it.
    fn pump(&self, now: Now) {
        self.again.store(true, Ordering::SeqCst);
        while self.again.load(Ordering::SeqCst) {
            let mut worker = match self.worker.try_lock() {
                Ok(worker) => worker,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                // It looks again when it is done.
                Err(TryLockError::WouldBlock) => return,
            };
            while self.again.swap(false, Ordering::SeqCst) {
                self.work(&mut worker, now);
            }
        }
    }

    fn work(&self, worker: &mut Worker, now: Now) {
        let mut ready = None;
        while let Some(deed) = worker.next(now, &mut ready) {
            match deed {
                Deed::Http(Action::Invoke(invocation)) => ready = worker.invoke(*invocation, now),
                Deed::Http(action) => self.act_on(action, worker),
                Deed::Stream(_) => {}
            }
        }
    }

    fn act_on(&self, action: Action, worker: &mut Worker) {
        match action {
            Action::Respond { exchange, response } => self.post(exchange, |mailbox| mailbox.response = Some(response)),
            Action::Chunk { exchange, bytes } => self.post(exchange, |mailbox| mailbox.chunks.push_back(bytes)),
            Action::Finish { exchange } => self.post(exchange, |mailbox| mailbox.finished = true),
            Action::Cancelled { slot, reason } => worker.cancelled(slot, reason),
            Action::Notified(notified) => worker.notified(notified),
            Action::Answered { call, outcome } => worker.answered(call, outcome),
            Action::Publish(event) => self.link.shared.publish(&event),
            Action::Diagnostic(diagnostic) => worker.diagnostic(&diagnostic),
            Action::Closed(_) => self.end(),
            // An action of a newer core has no meaning here.
            _ => {}
        }
    }

    /// Puts something into a mailbox; if it is not there any more, nobody waits.
    fn post(&self, exchange: ExchangeId, change: impl FnOnce(&mut Mailbox)) {
        let waker = lock(&self.mailboxes).get_mut(exchange).and_then(|mailbox| {
            change(mailbox);
            mailbox.waker.take()
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The session is over: whoever waits for it is told.
    fn end(&self) {
        self.closed.store(true, Ordering::Release);
        let wakers: Vec<Waker> = lock(&self.mailboxes)
            .0
            .iter_mut()
            .filter_map(|(_, mailbox)| {
                mailbox.finished = true;
                mailbox.waker.take()
            })
            .collect();
        wakers.into_iter().for_each(Waker::wake);
        self.link.end();
        if let Some(endpoint) = self.endpoint.upgrade() {
            endpoint.remove(self.key);
        }
    }

    /// What a session needs beside its exchanges: a look at the clock, and somebody to do what handlers ask for.
    pub(super) fn task(self: &Arc<Self>) -> impl Future<Output = ()> + Send + 'static {
        Task { session: Arc::clone(self), timer: Timer::default() }
    }

    pub(super) fn export(&self) -> Option<Bytes> {
        self.quietly(|machine| machine.export()).flatten()
    }

    /// Ends the session.
    pub(super) fn close(&self) {
        self.with(|machine, now| machine.close(now));
    }
}

struct Task {
    session: Arc<Shared>,
    timer: Timer,
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { session, timer } = &mut *self;
        session.link.register(cx.waker());
        for _ in 0..ROUNDS {
            let now = session.link.runtime.now();
            // Until it is known when to look next, whoever sets a deadline wakes us.
            session.armed.store(u64::MAX, Ordering::SeqCst);
            session.pump(now);
            if session.closed.load(Ordering::Acquire) {
                return Poll::Ready(());
            }
            let due = session.due();
            if due.is_some_and(|at| at <= now.mono) {
                session.quietly(|machine| machine.handle_timeout(now));
                continue;
            }
            session.armed.store(due.map_or(u64::MAX, Mono::as_nanos), Ordering::SeqCst);
            if timer.poll(&session.link.runtime, now, due, cx).is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// An exchange of a session, seen by whoever writes its answer.
pub(super) struct Attached {
    session: Arc<Shared>,
    endpoint: Arc<Endpoint>,
    exchange: ExchangeId,
    /// Bytes that were given to the writer and not reported as written.
    given: usize,
    over: bool,
}

impl Attached {
    /// Gives a request to its session.
    pub(super) fn new(endpoint: Arc<Endpoint>, session: Arc<Shared>, request: Box<Request>, now: Now) -> Option<Self> {
        let exchange = {
            // Nothing is posted before the mailbox is there.
            let mut mailboxes = lock(&session.mailboxes);
            let exchange = session.quietly(|machine| machine.accept(now, request))?;
            mailboxes.add(exchange);
            exchange
        };
        session.settle(now);
        Some(Self { session, endpoint, exchange, given: 0, over: false })
    }

    fn poll_mailbox<T>(&self, cx: &Context<'_>, take: impl FnOnce(&mut Mailbox) -> Poll<T>) -> Poll<Option<T>> {
        let mut mailboxes = lock(&self.session.mailboxes);
        let Some(mailbox) = mailboxes.get_mut(self.exchange) else { return Poll::Ready(None) };
        match take(mailbox) {
            Poll::Ready(taken) => Poll::Ready(Some(taken)),
            Poll::Pending if mailbox.finished => Poll::Ready(None),
            Poll::Pending => {
                mailbox.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Waits for the head of the answer. `None`: the session has ended without one.
    pub(super) fn poll_response(&self, cx: &Context<'_>) -> Poll<Option<Response>> {
        self.poll_mailbox(cx, |mailbox| mailbox.response.take().map_or(Poll::Pending, Poll::Ready))
    }

    /// The answer is whole: nothing more is waited for.
    pub(super) const fn finish(&mut self) {
        self.over = true;
    }

    /// Waits for the next piece of a stream.
    pub(super) fn poll_chunk(&mut self, cx: &Context<'_>) -> Poll<Option<Bytes>> {
        let given = std::mem::take(&mut self.given);
        if given > 0 {
            // Whoever asks for more has room for more.
            let exchange = self.exchange;
            self.session.with(|machine, now| machine.handle(now, exchange, Input::Written(given)));
        }
        let chunk = self.poll_mailbox(cx, |mailbox| mailbox.chunks.pop_front().map_or(Poll::Pending, Poll::Ready));
        match &chunk {
            Poll::Ready(Some(bytes)) => self.given = bytes.len(),
            Poll::Ready(None) => self.over = true,
            Poll::Pending => {}
        }
        chunk
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let exchange = self.exchange;
        lock(&self.session.mailboxes).remove(exchange);
        if !self.over {
            self.session.with(|machine, now| machine.handle(now, exchange, Input::Disconnected));
        }
        self.endpoint.exchange_ended(self.session.key);
    }
}

impl std::fmt::Debug for Attached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attached").field("over", &self.over).finish_non_exhaustive()
    }
}
