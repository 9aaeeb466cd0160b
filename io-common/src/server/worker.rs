//! What every driver of a server does: machines ask for code to be run, handlers answer.
//!
//! Drivers differ in where bytes come from and go to; all of them hand what is not bytes to a [`Worker`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt as _;
use mcp_sansio::diagnostic::Diagnostic;
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::Now;
use mcp_sansio::server::{Call, Invocation, Notified, Reply, RequestFailure};
use mcp_sansio::spec::Method;

use super::catalogue::Catalogue;
use super::cell::Cancelled;
use super::connection::Connection;
use super::context::Context;
use super::error::HandlerError;
use super::link::{Link, SlotGuard, settle};
use super::machine::Deed;
use super::replay::{Run, Task, panic_text};
use crate::report::Report;

/// The most notifications of a connection that handlers work on at a time. Unlike a request, a notification cannot be
/// refused, so that a client would not notice that it sends more than are worked off: further ones are dropped.
const MAX_NOTIFIED: usize = 1_024;

pub(super) struct Worker {
    pub(super) link: Arc<Link>,
    /// That of the deeds that were taken last.
    catalogue: Arc<Catalogue>,
    /// Held by each handler of a notification that is not done yet.
    notified: Option<Arc<()>>,
    /// What the last call that was answered at once has held: on a stream until its answer has left or another call takes
    /// its place, for to let go of it takes time, and nobody needs to wait for that.
    spent: Option<Run>,
}

/// The answer of a handler that was ready at once.
pub(super) type Ready = (ReplySlot, Reply);

impl Worker {
    pub(super) const fn new(link: Arc<Link>, catalogue: Arc<Catalogue>) -> Self {
        Self { link, catalogue, notified: None, spent: None }
    }

    /// Answers what is ready, and takes what is next.
    #[cfg(feature = "http")]
    pub(super) fn next(&mut self, now: Now, ready: &mut Option<Ready>) -> Option<Deed> {
        // A session may wait for long now.
        self.tidy();
        let Self { link, catalogue, .. } = self;
        link.quietly(|state| {
            if let Some(ready) = ready.take() {
                state.answer(now, ready);
            }
            state.next(catalogue)
        })
    }

    /// The same for several of each, under one lock.
    pub(super) fn take(&mut self, now: Now, ready: &mut Vec<Ready>, deeds: &mut Vec<Deed>) {
        let Self { link, catalogue, .. } = self;
        link.quietly(|state| {
            for ready in ready.drain(..) {
                state.answer(now, ready);
            }
            state.take(catalogue, deeds);
        });
    }

    /// Lets go of what is needed no more, once nobody waits.
    pub(super) fn tidy(&mut self) {
        self.spent = None;
    }

    /// Runs a handler: to its end if it is ready at once, else on a task of its own.
    pub(super) fn invoke(&mut self, invocation: Invocation, now: Now) -> Option<Ready> {
        let Invocation { slot, call, context, .. } = invocation;
        let id = slot.id();
        let shared = &self.link.shared;
        if let (Some(first_time), Some(token)) = (&shared.hooks.first_time, context.state_token())
            && !first_time(&token)
        {
            return Some((slot, Reply::StateUsed));
        }
        let tool = matches!(call, Call::Tool { .. });
        let cx = Context::new(context, id, tool, Arc::clone(&self.link), Arc::clone(&self.catalogue), now.mono);
        shared.hooks.begun(&cx);
        let guard = SlotGuard::new(&*self.link, slot);
        let mut run = Run::new(cx);
        if let Err(ending) = run.start(|cx| self.catalogue.call(call, cx)) {
            guard.finish(run.context(), ending);
            return None;
        }
        if !shared.always_spawn
            && let Poll::Ready(ending) = run.poll_inline()
        {
            // Without a reply, the guard abandons the request.
            let reply = settle(run.context(), ending)?;
            let slot = guard.into_slot();
            self.spent = Some(run);
            return slot.map(|slot| (slot, reply));
        }
        self.link.add_running(id, run.context().inner());
        let guard = guard.into_slot().map(|slot| SlotGuard::new(Arc::clone(&self.link), slot));
        self.link.runtime.spawn(Box::pin(Task { run, guard }));
        None
    }

    /// Runs the handler of a notification: nobody waits for an answer, so that failures and panics are reported.
    pub(super) fn notified(&mut self, notified: Notified) {
        let method: Box<str> = match &notified {
            Notified::Custom { method, .. } => method.clone(),
            Notified::Initialized => Method::Initialized.as_str().into(),
            Notified::RootsListChanged => Method::RootsListChanged.as_str().into(),
            _ => "".into(),
        };
        let link = Arc::clone(&self.link);
        let connection = Connection::new(Arc::clone(&link));
        // A notification has no answer that could tell of a panic, and must not take the connection down either.
        let panicked = |payload| HandlerError::hidden(format!("it panicked: {}", panic_text(payload)));
        let held = Arc::clone(self.notified.get_or_insert_default());
        // One is ours, and one is `held`.
        if matches!(notified, Notified::Custom { .. }) && Arc::strong_count(&held) >= MAX_NOTIFIED + 2 {
            let error = "too many notifications are being worked on, and this one is dropped";
            return report_failure(&link, &method, Err(HandlerError::hidden(error)));
        }
        match catch_unwind(AssertUnwindSafe(|| self.catalogue.notified(notified, connection))) {
            Ok(None) => {}
            Ok(Some(work)) => self.link.runtime.spawn(Box::pin(async move {
                let _held = held;
                let outcome = AssertUnwindSafe(work).catch_unwind().await;
                report_failure(&link, &method, outcome.unwrap_or_else(|payload| Err(panicked(payload))));
            })),
            Err(payload) => report_failure(&link, &method, Err(panicked(payload))),
        }
    }

    pub(super) fn cancelled(&self, slot: SlotId, reason: Option<Box<str>>) {
        // A machine that closes cancels what runs.
        let why = if self.link.quietly(|state| state.machine.is_closed()) {
            Cancelled::Disconnected
        } else {
            Cancelled::ByClient(reason.map(Arc::from))
        };
        self.link.cancel(slot, why);
    }

    pub(super) fn answered(&self, call: CallId, outcome: Result<Json, RequestFailure>) {
        self.link.answered(call, outcome);
    }

    pub(super) fn diagnostic(&self, diagnostic: &Diagnostic) {
        self.link.shared.hooks.report(&Report::Diagnostic(diagnostic));
    }
}

/// What the handler of a notification could not do is for the error reporter alone.
fn report_failure(link: &Link, method: &str, outcome: Result<(), HandlerError>) {
    if let Err(error) = outcome
        && let (_, Some(error)) = error.into_object()
    {
        link.shared.hooks.report(&Report::NotificationFailed { method, error: &*error });
    }
}
