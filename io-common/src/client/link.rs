//! What a client's driver, its calls and its handles share: the machine behind a lock.
//!
//! As on the server's side, every verb holds the lock only while the machine takes it in, and wakes the driver. A
//! call that is dropped can so always cancel itself.

use std::collections::HashMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{self, Poll, Waker};

use futures_util::future::AbortHandle;
use futures_util::task::AtomicWaker;
use mcp_sansio::client::{Answer, CallError, Client, Closed, InputId, Progress, ServerFacts, Transport};
use mcp_sansio::error::Error;
use mcp_sansio::ids::{CallId, SlotId};
use mcp_sansio::machine::Now;
use mcp_sansio::model::SubscriptionFilter;
use mcp_sansio::spec::Method;

use super::Notification;
use super::handlers::Handlers;
use super::inbox::Inbox;
use super::machine::Machine;
use crate::driver::StreamError;
use crate::report::{Hooks, Report};
use crate::runtime::Runtime;
use crate::sync::lock;

pub(super) type OnProgress = Box<dyn FnMut(Progress) + Send>;

/// The shared part of a connection.
pub(super) struct Link {
    state: Mutex<State>,
    driver: AtomicWaker,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) hooks: Hooks,
    pub(super) handlers: Handlers,
}

/// What the lock guards.
pub(super) struct State {
    pub(super) machine: Machine,
    calls: HashMap<CallId, Entry>,
    listeners: Vec<Inbox<Notification>>,
    pub(super) facts: Option<Arc<ServerFacts>>,
    /// Handlers of questions and requests of the server.
    pub(super) inputs: HashMap<InputId, AbortHandle>,
    pub(super) invokes: HashMap<SlotId, AbortHandle>,
    /// The machine takes nothing in any more.
    pub(super) closed: Option<Closed>,
    ended: Option<Ended>,
    /// Those who wait for the connection to be made or to end.
    waiting: Vec<Waker>,
}

/// How a connection ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Ended {
    /// The machine says why.
    Closed(Closed),
    /// The stream failed.
    Stream(Arc<StreamError>),
    /// The driver was dropped, perhaps with its runtime.
    Dropped,
}

/// A call that somebody waits for.
#[derive(Default)]
struct Entry {
    waker: Option<Waker>,
    outcome: Option<Result<Answer, CallError>>,
    on_progress: Option<Arc<Mutex<OnProgress>>>,
    /// A listen stream has notifications of its own, once it is open.
    inbox: Option<Inbox<Notification>>,
    filter: Option<SubscriptionFilter>,
    /// How often such a stream was opened.
    opened: u64,
}

impl Link {
    pub(super) fn new(machine: Machine, runtime: Arc<dyn Runtime>, hooks: Hooks, handlers: Handlers) -> Arc<Self> {
        let state = State {
            machine,
            calls: HashMap::new(),
            listeners: Vec::new(),
            facts: None,
            inputs: HashMap::new(),
            invokes: HashMap::new(),
            closed: None,
            ended: None,
            waiting: Vec::new(),
        };
        Arc::new(Self { state: Mutex::new(state), driver: AtomicWaker::new(), runtime, hooks, handlers })
    }

    pub(super) fn register(&self, waker: &Waker) {
        self.driver.register(waker);
    }

    /// Looks at the state, or uses the machine for the driver itself.
    pub(super) fn quietly<T>(&self, verb: impl FnOnce(&mut State) -> T) -> T {
        verb(&mut lock(&self.state))
    }

    /// Uses the machine, and wakes the driver.
    pub(super) fn with<T>(&self, verb: impl FnOnce(&mut Client<dyn Transport>, Now) -> T) -> T {
        let now = self.runtime.now();
        let value = verb(lock(&self.state).machine.verbs(), now);
        self.driver.wake();
        value
    }

    /// Has the driver look again.
    #[cfg(feature = "http")]
    pub(super) fn wake(&self) {
        self.driver.wake();
    }

    /// Makes a call.
    pub(super) fn call(
        &self,
        on_progress: Option<OnProgress>,
        inbox: Option<Inbox<Notification>>,
        verb: impl FnOnce(&mut Client<dyn Transport>, Now) -> Result<CallId, Error>,
    ) -> Result<CallId, Error> {
        let now = self.runtime.now();
        let call = {
            let mut state = lock(&self.state);
            let call = verb(state.machine.verbs(), now)?;
            let on_progress = on_progress.map(|hook| Arc::new(Mutex::new(hook)));
            state.calls.insert(call, Entry { on_progress, inbox, ..Entry::default() });
            call
        };
        self.driver.wake();
        Ok(call)
    }

    /// Waits for the outcome of a call.
    pub(super) fn poll_outcome(&self, call: CallId, cx: &task::Context<'_>) -> Poll<Result<Answer, CallError>> {
        let mut state = lock(&self.state);
        let Some(entry) = state.calls.get_mut(&call) else { return Poll::Ready(Err(CallError::Disconnected)) };
        match entry.outcome.take() {
            Some(outcome) => {
                state.calls.remove(&call);
                Poll::Ready(outcome)
            }
            None => {
                entry.wait(cx);
                Poll::Pending
            }
        }
    }

    /// Waits for a listen stream to be open, or to fail.
    pub(super) fn poll_listening(
        &self,
        call: CallId,
        cx: &task::Context<'_>,
    ) -> Poll<Result<SubscriptionFilter, CallError>> {
        let mut state = lock(&self.state);
        let Some(entry) = state.calls.get_mut(&call) else { return Poll::Ready(Err(CallError::Disconnected)) };
        if let Some(filter) = entry.filter.take() {
            return Poll::Ready(Ok(filter));
        }
        match &entry.outcome {
            // The server has ended the stream before it told that it was open: an empty one.
            Some(Ok(_)) => Poll::Ready(Ok(SubscriptionFilter::default())),
            Some(Err(error)) => Poll::Ready(Err(error.clone())),
            None => {
                entry.wait(cx);
                Poll::Pending
            }
        }
    }

    /// Nobody waits for a call any more: it is cancelled if it has not ended.
    pub(super) fn forget(&self, call: CallId, reason: Option<&str>) {
        let entry = lock(&self.state).calls.remove(&call);
        if entry.is_some_and(|entry| entry.outcome.is_none()) {
            // It may have ended this very moment.
            let _ = self.with(|machine, now| machine.cancel(now, call, reason));
        }
    }

    /// Asks for a call to end. Its outcome tells that it did.
    pub(super) fn cancel(&self, call: CallId, reason: Option<&str>) {
        // A call that has ended has its outcome already.
        let _ = self.with(|machine, now| machine.cancel(now, call, reason));
    }

    pub(super) fn progressed(&self, call: CallId, progress: Progress) {
        let hook = lock(&self.state).calls.get(&call).and_then(|entry| entry.on_progress.clone());
        // It runs on the driver, which has other calls to look after.
        if let Some(hook) = hook
            && catch_unwind(AssertUnwindSafe(|| lock(&hook)(progress))).is_err()
        {
            let (method, error) = (Method::Progress.as_str(), std::io::Error::other("it panicked"));
            self.hooks.report(&Report::NotificationFailed { method, error: &error });
        }
    }

    pub(super) fn listening(&self, call: CallId, filter: SubscriptionFilter) {
        let waker = lock(&self.state).calls.get_mut(&call).and_then(|entry| {
            entry.filter = Some(filter);
            entry.opened += 1;
            entry.waker.take()
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// How often a listen stream was opened.
    pub(super) fn opened(&self, call: CallId) -> u64 {
        lock(&self.state).calls.get(&call).map_or(0, |entry| entry.opened)
    }

    /// Gives a notification to everyone who listens.
    pub(super) fn notified(&self, notification: &Notification, subscription: Option<CallId>) {
        let mut state = lock(&self.state);
        if let Some(inbox) = subscription.and_then(|call| state.calls.get(&call)).and_then(|entry| entry.inbox.as_ref())
        {
            inbox.push(notification.clone());
        }
        state.listeners.retain(|inbox| inbox.is_read() && inbox.push(notification.clone()));
    }

    pub(super) fn add_listener(&self, inbox: Inbox<Notification>) {
        let mut state = lock(&self.state);
        // One who comes after the end has nothing to wait for.
        if state.closed.is_none() {
            state.listeners.push(inbox);
        }
    }

    /// Calls have ended.
    pub(super) fn done(&self, outcomes: &mut Vec<(CallId, Result<Answer, CallError>)>, wakers: &mut Vec<Waker>) {
        {
            let mut state = lock(&self.state);
            for (call, outcome) in outcomes.drain(..) {
                // A call that nobody waits for was forgotten.
                if let Some(entry) = state.calls.get_mut(&call) {
                    entry.outcome = Some(outcome);
                    entry.inbox = None;
                    wakers.extend(entry.waker.take());
                }
            }
        }
        wakers.drain(..).for_each(Waker::wake);
    }

    pub(super) fn connected(&self, facts: ServerFacts) {
        let wakers = {
            let mut state = lock(&self.state);
            state.facts = Some(Arc::new(facts));
            std::mem::take(&mut state.waiting)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The machine is closed: whoever waits for it is told.
    pub(super) fn closed(&self, why: Closed) {
        let (wakers, handlers) = {
            let mut state = lock(&self.state);
            state.closed.get_or_insert(why);
            state.listeners.clear();
            let mut wakers = std::mem::take(&mut state.waiting);
            for entry in state.calls.values_mut() {
                if entry.outcome.is_none() {
                    entry.outcome = Some(Err(CallError::Disconnected));
                }
                entry.inbox = None;
                wakers.extend(entry.waker.take());
            }
            let mut handlers: Vec<_> = state.inputs.drain().map(|(_, handle)| handle).collect();
            handlers.extend(state.invokes.drain().map(|(_, handle)| handle));
            (wakers, handlers)
        };
        wakers.into_iter().for_each(Waker::wake);
        handlers.iter().for_each(AbortHandle::abort);
    }

    /// The driver has ended, and what comes after it.
    pub(super) fn end(&self, how: Ended) {
        let wakers = {
            let mut state = lock(&self.state);
            if state.ended.is_some() {
                return;
            }
            state.ended = Some(how);
            std::mem::take(&mut state.waiting)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits for the handshake, or for the end.
    pub(super) fn poll_connected(&self, cx: &task::Context<'_>) -> Poll<Result<(), Ended>> {
        let mut state = lock(&self.state);
        if state.facts.is_some() {
            return Poll::Ready(Ok(()));
        }
        if let Some(ended) = &state.ended {
            return Poll::Ready(Err(ended.clone()));
        }
        state.wait(cx);
        Poll::Pending
    }

    pub(super) fn poll_ended(&self, cx: &task::Context<'_>) -> Poll<Ended> {
        let mut state = lock(&self.state);
        if let Some(ended) = &state.ended {
            return Poll::Ready(ended.clone());
        }
        state.wait(cx);
        Poll::Pending
    }
}

impl State {
    fn wait(&mut self, cx: &task::Context<'_>) {
        if !self.waiting.iter().any(|known| known.will_wake(cx.waker())) {
            self.waiting.push(cx.waker().clone());
        }
    }
}

impl Entry {
    fn wait(&mut self, cx: &task::Context<'_>) {
        match &mut self.waker {
            Some(known) => known.clone_from(cx.waker()),
            None => self.waker = Some(cx.waker().clone()),
        }
    }
}

/// Ready when the connection is over and everything that belongs to it is put away, a child process included.
#[must_use = "await it to wait for the end"]
pub struct WaitEnded(pub(super) Arc<Link>);

impl Future for WaitEnded {
    type Output = Ended;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Ended> {
        self.0.poll_ended(cx)
    }
}

impl std::fmt::Debug for WaitEnded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WaitEnded").finish_non_exhaustive()
    }
}
