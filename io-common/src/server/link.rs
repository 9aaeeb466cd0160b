//! What a connection's driver, its handlers and its handles share: the machine behind a lock.
//!
//! ```text
//!   driver ──┐                       ┌── Context (progress, log, …)
//!            ├──► Mutex<State> ◄─────┤
//!   Task  ───┘     machine, waiters  └── Connection (publish, close, …)
//! ```
//!
//! Every verb holds the lock for as long as the machine needs to take it in, never across an `await`, and then wakes
//! the driver, which does what the machine asks for. There is no queue between a handle and the machine, so there is
//! none to bound: what is accepted is bounded by the machine's own limits, and a guard that is dropped can always
//! say so.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{self, Poll, Waker};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use mcp_sansio::diagnostic::Diagnostic;
use mcp_sansio::error::Error;
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::Now;
use mcp_sansio::server::{Reply, RequestFailure};

use super::catalogue::Catalogue;
use super::cell::Cancelled;
use super::context::{Context, Inner};
use super::machine::{Deed, Machine};
use super::replay::Ending;
use super::shared::Shared;
use crate::report::{Outcome, Report};
use crate::runtime::Runtime;
use crate::sync::lock;

/// The shared part of a connection.
pub(crate) struct Link {
    state: Mutex<State>,
    driver: AtomicWaker,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) shared: Arc<Shared>,
}

/// What the lock guards.
pub(super) struct State {
    pub(super) machine: Machine,
    pub(super) catalogue: Arc<Catalogue>,
    /// Deeds that were queued for an earlier catalogue, whose indices they carry.
    backlog: VecDeque<(Arc<Catalogue>, Deed)>,
    /// Handlers on tasks of their own.
    running: HashMap<SlotId, Weak<Inner>>,
    requests: HashMap<CallId, Waiter>,
    closed: bool,
}

enum Waiter {
    Waiting(Option<Waker>),
    Answered(Result<Json, RequestFailure>),
}

impl Link {
    pub(super) fn new(
        machine: Machine,
        catalogue: Arc<Catalogue>,
        runtime: Arc<dyn Runtime>,
        shared: Arc<Shared>,
    ) -> Arc<Self> {
        let state = State {
            machine,
            catalogue,
            backlog: VecDeque::new(),
            running: HashMap::new(),
            requests: HashMap::new(),
            closed: false,
        };
        Arc::new(Self { state: Mutex::new(state), driver: AtomicWaker::new(), runtime, shared })
    }

    pub(super) fn register(&self, waker: &Waker) {
        self.driver.register(waker);
    }

    /// Uses the machine, for the driver itself.
    pub(super) fn quietly<T>(&self, verb: impl FnOnce(&mut State) -> T) -> T {
        verb(&mut lock(&self.state))
    }

    /// Uses the machine, and wakes the driver.
    pub(super) fn with<T>(&self, verb: impl FnOnce(&mut Machine, Now) -> T) -> T {
        let now = self.runtime.now();
        let value = verb(&mut lock(&self.state).machine, now);
        self.driver.wake();
        value
    }

    /// Has the driver look again.
    #[cfg(feature = "http")]
    pub(super) fn wake(&self) {
        self.driver.wake();
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Replaces the catalogue. Actions that carry indices of the old one keep it.
    pub(super) fn replace(&self, catalogue: &Arc<Catalogue>) {
        let now = self.runtime.now();
        {
            let mut state = lock(&self.state);
            while let Some(deed) = state.machine.poll_queued() {
                let old = Arc::clone(&state.catalogue);
                state.backlog.push_back((old, deed));
            }
            state.catalogue = Arc::clone(catalogue);
            state.machine.replace_definition(now, Arc::clone(&catalogue.definition));
        }
        self.driver.wake();
    }

    /// Makes a request to the client.
    pub(super) fn request(
        self: &Arc<Self>,
        slot: Option<SlotId>,
        method: &str,
        params: Option<&Json>,
        timeout: Option<Duration>,
    ) -> Result<Request, Error> {
        let now = self.runtime.now();
        let call = {
            let mut state = lock(&self.state);
            let call = state.machine.request(now, slot, method, params, timeout)?;
            state.requests.insert(call, Waiter::Waiting(None));
            call
        };
        self.driver.wake();
        Ok(Request { link: Arc::clone(self), call, done: false })
    }

    /// The client has answered.
    pub(super) fn answered(&self, call: CallId, outcome: Result<Json, RequestFailure>) {
        let waker = match lock(&self.state).requests.get_mut(&call) {
            Some(waiter) => match std::mem::replace(waiter, Waiter::Answered(outcome)) {
                Waiter::Waiting(waker) => waker,
                Waiter::Answered(_) => None,
            },
            // Whoever asked has gone away.
            None => None,
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// A handler goes on as a task.
    pub(super) fn add_running(&self, slot: SlotId, inner: &Arc<Inner>) {
        lock(&self.state).running.insert(slot, Arc::downgrade(inner));
    }

    pub(super) fn cancel(&self, slot: SlotId, why: Cancelled) {
        let inner = lock(&self.state).running.get(&slot).and_then(Weak::upgrade);
        if let Some(inner) = inner {
            inner.cancel(why);
        }
    }

    /// Nobody drives the machine any more. Handlers may go on, if the machine has not cancelled them.
    #[cfg(feature = "http")]
    pub(super) fn leave(&self) {
        lock(&self.state).closed = true;
    }

    /// The connection is over: whoever waits for it is told.
    pub(super) fn end(&self) {
        let (running, wakers) = {
            let mut state = lock(&self.state);
            state.closed = true;
            let running: Vec<_> = state.running.drain().filter_map(|(_, inner)| inner.upgrade()).collect();
            let gone = || Waiter::Answered(Err(RequestFailure::Gone));
            let waiters = state.requests.values_mut().filter(|waiter| matches!(waiter, Waiter::Waiting(_)));
            let wakers: Vec<_> = waiters
                .filter_map(|waiter| match std::mem::replace(waiter, gone()) {
                    Waiter::Waiting(waker) => waker,
                    Waiter::Answered(_) => None,
                })
                .collect();
            (running, wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
        for inner in running {
            inner.cancel(Cancelled::Disconnected);
        }
    }
}

impl State {
    /// Gives the machine what a handler has answered.
    pub(super) fn answer(&mut self, now: Now, (slot, reply): (ReplySlot, Reply)) {
        // A machine that has failed takes no answers.
        let _ = self.machine.reply(now, slot, reply);
    }

    /// The next deed. `catalogue` becomes that which it belongs to.
    pub(super) fn next(&mut self, catalogue: &mut Arc<Catalogue>) -> Option<Deed> {
        if let Some((old, deed)) = self.backlog.pop_front() {
            *catalogue = old;
            return Some(deed);
        }
        if !Arc::ptr_eq(catalogue, &self.catalogue) {
            *catalogue = Arc::clone(&self.catalogue);
        }
        self.machine.poll_deed()
    }

    /// What a machine remarks on that may be driven by nobody any more. The rest of what it asks for stays where a
    /// driver finds it: a session answers requests that come to it at its very end.
    fn last_remarks(&mut self) -> Vec<Diagnostic> {
        let mut remarks = Vec::new();
        while self.closed
            && let Some(deed) = self.machine.poll_queued()
        {
            match deed.into_remark() {
                Ok(remark) => remarks.push(remark),
                Err(deed) => self.backlog.push_back((Arc::clone(&self.catalogue), deed)),
            }
        }
        remarks
    }

    /// Moves the next deed to `deeds`, and those that are queued behind it. All of them belong to one catalogue. For no
    /// more than the first is input read: what is taken together is held together.
    pub(super) fn take(&mut self, catalogue: &mut Arc<Catalogue>, deeds: &mut Vec<Deed>) {
        let alone = !self.backlog.is_empty();
        deeds.extend(self.next(catalogue));
        while !alone && let Some(deed) = self.machine.poll_queued() {
            deeds.push(deed);
        }
    }
}

/// The duty to answer a request. Dropped without an answer (a panic, a task that is dropped), it ends the request.
pub(super) struct SlotGuard<L: Borrow<Link>> {
    link: L,
    slot: Option<ReplySlot>,
}

impl<L: Borrow<Link>> SlotGuard<L> {
    pub(super) const fn new(link: L, slot: ReplySlot) -> Self {
        Self { link, slot: Some(slot) }
    }

    /// Takes the slot out, for someone who answers it at once.
    pub(super) fn into_slot(mut self) -> Option<ReplySlot> {
        self.slot.take()
    }

    /// Answers as a run has ended.
    pub(super) fn finish(mut self, context: &Context, ending: Ending) {
        let reply = settle(context, ending);
        let Some(slot) = self.slot.take() else { return };
        let (id, link) = (slot.id(), self.link.borrow());
        let now = link.runtime.now();
        let remarks = {
            let mut state = lock(&link.state);
            state.running.remove(&id);
            match reply {
                // A connection that has ended takes no answers, and needs none.
                Some(reply) => drop(state.machine.reply(now, slot, reply)),
                None => state.machine.abandon(now, slot),
            }
            state.last_remarks()
        };
        for remark in remarks {
            link.shared.hooks.report(&Report::Diagnostic(&remark));
        }
        link.driver.wake();
    }
}

impl<L: Borrow<Link>> Drop for SlotGuard<L> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            let (id, link) = (slot.id(), self.link.borrow());
            let now = link.runtime.now();
            {
                let mut state = lock(&link.state);
                state.running.remove(&id);
                state.machine.abandon(now, slot);
            }
            link.driver.wake();
        }
    }
}

/// Turns the ending of a run into a reply, and reports what is to be reported. `None` abandons the request.
pub(super) fn settle(context: &Context, ending: Ending) -> Option<Reply> {
    let shared = &context.link().shared;
    let (reply, outcome) = match ending {
        Ending::Done(Ok(reply)) => {
            let outcome = Outcome::of(&reply);
            (Some(reply), outcome)
        }
        Ending::Done(Err(error)) => {
            let (reply, source) = error.into_reply(context.is_tool());
            if let Some(source) = source {
                shared.hooks.report(&Report::HandlerFailed { context, error: &*source });
            }
            let outcome = Outcome::of(&reply);
            (Some(reply), outcome)
        }
        Ending::Asks(input) => (Some(Reply::InputRequired(input)), Outcome::InputRequired),
        Ending::Panicked(text) => {
            shared.hooks.report(&Report::HandlerPanicked { context, text: &text });
            (Some(Reply::Failed), Outcome::Panicked)
        }
        Ending::Dropped => (None, Outcome::Dropped),
    };
    shared.hooks.ended(context, outcome);
    reply
}

/// A request to the client that waits for its answer. Dropping it withdraws the request.
#[must_use = "a request is withdrawn when it is dropped"]
pub struct Request {
    link: Arc<Link>,
    call: CallId,
    done: bool,
}

impl Future for Request {
    type Output = Result<Json, RequestFailure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        if self.done {
            return Poll::Pending;
        }
        let answer = {
            let mut state = lock(&self.link.state);
            match state.requests.get_mut(&self.call) {
                Some(Waiter::Waiting(waker)) => {
                    *waker = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                _ => state.requests.remove(&self.call),
            }
        };
        self.done = true;
        Poll::Ready(match answer {
            Some(Waiter::Answered(outcome)) => outcome,
            _ => Err(RequestFailure::Gone),
        })
    }
}

impl Request {
    /// Withdraws the request, and tells the client why. Dropping it withdraws it without a reason.
    pub fn cancel(mut self, reason: &str) {
        self.withdraw(Some(reason));
    }

    fn withdraw(&mut self, reason: Option<&str>) {
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        let waiting = matches!(lock(&self.link.state).requests.remove(&self.call), Some(Waiter::Waiting(_)));
        if waiting {
            let call = self.call;
            // The request may have ended this very moment.
            let _ = self.link.with(|machine, now| machine.cancel_request(now, call, reason));
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.withdraw(None);
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("call", &self.call).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use mcp_sansio::machine::Input;
    use mcp_sansio::rng::Seed;
    use mcp_sansio::server::Action;

    use super::*;
    use crate::runtime::Still;
    use crate::server::Server;

    /// Requests of one chunk are not taken all at once: they would be held together.
    #[test]
    fn no_more_is_taken_than_is_queued() {
        let shared = Server::new("s", "1").build().unwrap().0;
        let mut catalogue = Arc::clone(&lock(&shared.catalogue));
        let machine = mcp_sansio::server::Server::new(Arc::clone(&catalogue.definition), Seed([7; 32]));
        let link = Link::new(Machine::Stream(Box::new(machine)), Arc::clone(&catalogue), Arc::new(Still), shared);
        link.quietly(|state| {
            let Machine::Stream(machine) = &mut state.machine else { unreachable!("it was made so") };
            machine.handle(Now::default(), Input::Bytes("no JSON\n".repeat(20).into())).unwrap();
            let mut taken = 0;
            loop {
                let mut deeds = Vec::new();
                state.take(&mut catalogue, &mut deeds);
                if deeds.is_empty() {
                    break;
                }
                // Each line is a remark and an answer; no third line is read while there are four of them.
                assert!(deeds.len() <= 4, "{}", deeds.len());
                taken += deeds.len();
            }
            assert_eq!(taken, 40);
        });
    }

    #[test]
    fn last_remarks_leave_to_a_driver_what_is_its_own() {
        let shared = Server::new("s", "1").build().unwrap().0;
        let catalogue = Arc::clone(&lock(&shared.catalogue));
        let machine = mcp_sansio::server::Server::new(Arc::clone(&catalogue.definition), Seed([7; 32]));
        let link = Link::new(Machine::Stream(Box::new(machine)), Arc::clone(&catalogue), Arc::new(Still), shared);
        link.quietly(|state| {
            let mut catalogue = catalogue;
            let Machine::Stream(machine) = &mut state.machine else { unreachable!("it was made so") };
            machine.handle(Now::default(), Input::Bytes("no JSON\n".into())).unwrap();
            assert!(state.last_remarks().is_empty(), "somebody drives it");
            state.closed = true;
            assert_eq!(state.last_remarks().len(), 1);
            assert!(matches!(state.next(&mut catalogue), Some(Deed::Stream(Action::Write(_)))));
            assert!(state.next(&mut catalogue).is_none());
        });
    }
}
