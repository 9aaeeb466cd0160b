//! What every driver of a server does: machines ask for code to be run, handlers answer.
//!
//! Drivers differ in where bytes come from and go to; all of them hand what is not bytes to a [`Worker`].

use std::sync::Arc;
use std::task::Poll;

use mcp_sansio::diagnostic::Diagnostic;
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::Now;
use mcp_sansio::server::{Call, Invocation, Notified, Reply, RequestFailure};

use super::catalogue::Catalogue;
use super::cell::Cancelled;
use super::connection::Connection;
use super::context::Context;
use super::link::{Batch, Link, SlotGuard, settle};
use super::machine::Deed;
use super::replay::{Probe, Run, Task};
use crate::report::Report;

/// The most deeds that are taken in one go.
const BATCH: usize = 128;

pub(super) struct Worker {
    pub(super) link: Arc<Link>,
    batch: Batch,
    /// Replies of handlers that were ready at once.
    replies: Vec<(ReplySlot, Reply)>,
    probe: Probe,
}

impl Worker {
    pub(super) fn new(link: Arc<Link>, catalogue: Arc<Catalogue>) -> Self {
        let batch = Batch { catalogue, deeds: Vec::new() };
        Self { link, batch, replies: Vec::new(), probe: Probe::silent() }
    }

    /// Answers what is ready and takes what is next, under one lock. The vector comes back with
    /// [`Worker::give_back`].
    pub(super) fn take(&mut self, now: Now) -> Vec<Deed> {
        let Self { link, batch, replies, .. } = self;
        link.quietly(|state| {
            for (slot, reply) in replies.drain(..) {
                // A machine that has failed takes no answers.
                let _ = state.machine.reply(now, slot, reply);
            }
            state.take(batch, BATCH);
        });
        std::mem::take(&mut batch.deeds)
    }

    pub(super) fn give_back(&mut self, empty: Vec<Deed>) {
        self.batch.deeds = empty;
    }

    /// Runs a handler: to its end if it is ready at once, else on a task of its own.
    pub(super) fn invoke(&mut self, invocation: Invocation, now: Now) {
        let Invocation { slot, call, context, .. } = invocation;
        let id = slot.id();
        let shared = &self.link.shared;
        if let (Some(first_time), Some(token)) = (&shared.hooks.first_time, context.state_token())
            && !first_time(&token)
        {
            return self.replies.push((slot, Reply::StateUsed));
        }
        let tool = matches!(call, Call::Tool { .. });
        let catalogue = Arc::clone(&self.batch.catalogue);
        let cx = Context::new(context, id, tool, Arc::clone(&self.link), Arc::clone(&catalogue), now.mono);
        shared.hooks.begun(&cx);
        let guard = SlotGuard::new(Arc::clone(&self.link), slot);
        let handler_cx = cx.clone();
        let mut run = match Run::start(cx.clone(), move || catalogue.call(call, handler_cx)) {
            Ok(run) => run,
            Err(ending) => return guard.finish(&cx, ending),
        };
        if !shared.always_spawn
            && let Poll::Ready(ending) = run.poll_inline(&mut self.probe)
        {
            // Without a reply, the guard abandons the request.
            if let Some(reply) = settle(&cx, ending)
                && let Some(slot) = guard.into_slot()
            {
                self.replies.push((slot, reply));
            }
            return;
        }
        self.link.add_running(id, cx.inner());
        self.link.runtime.spawn(Box::pin(Task { run, guard: Some(guard) }));
    }

    pub(super) fn notified(&self, notified: Notified) {
        let method = match &notified {
            Notified::Custom { method, .. } => method.clone(),
            _ => "".into(),
        };
        let link = Arc::clone(&self.link);
        let Some(work) = self.batch.catalogue.notified(notified, Connection::new(Arc::clone(&link))) else { return };
        let work = async move {
            if let Err(error) = work.await
                && let (_, Some(error)) = error.into_object()
            {
                link.shared.hooks.report(&Report::NotificationFailed { method: &method, error: &*error });
            }
        };
        self.link.runtime.spawn(Box::pin(work));
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
