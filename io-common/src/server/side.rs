//! The server's side of the driver loop: actions become handlers, handlers become replies.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Poll, Waker};

use futures_util::FutureExt as _;
use mcp_sansio::error::Error;
use mcp_sansio::ids::ReplySlot;
use mcp_sansio::machine::{Input, Now, TimerKind};
use mcp_sansio::server::{Action, Call, Closed, Invocation, Notified, Reply};
use mcp_sansio::spec::Method;

use super::catalogue::Catalogue;
use super::cell::Cancelled;
use super::connection::Connection;
use super::context::Context;
use super::error::HandlerError;
use super::link::{Batch, Link, SlotGuard, settle};
use super::replay::{Probe, Run, Task, panic_text};
use crate::driver::{Outbox, Side, Status};
use crate::report::Report;
use crate::trace::Tracer;

/// The most actions that are taken in one go.
const BATCH: usize = 128;

/// The most notifications of a connection that handlers work on at a time. Unlike a request, a notification cannot be
/// refused, so that a client would not notice that it sends more than are worked off: further ones are dropped.
const MAX_NOTIFIED: usize = 1_024;

pub(super) struct ServerSide {
    link: Arc<Link>,
    batch: Batch,
    /// Replies of handlers that were ready at once.
    replies: Vec<(ReplySlot, Reply)>,
    probe: Probe,
    /// Held by each handler of a notification that is not done yet.
    notified: Arc<()>,
    closed: Option<Closed>,
    failed: Option<Error>,
}

impl ServerSide {
    pub(super) fn new(link: Arc<Link>, catalogue: Arc<Catalogue>) -> Self {
        Self {
            link,
            batch: Batch { catalogue, actions: Vec::new() },
            replies: Vec::new(),
            probe: Probe::silent(),
            notified: Arc::default(),
            closed: None,
            failed: None,
        }
    }

    /// Answers what is ready and takes what is next, under one lock.
    fn exchange(&mut self, now: Now) -> Vec<Action> {
        let Self { link, batch, replies, .. } = self;
        link.quietly(|state| {
            for (slot, reply) in replies.drain(..) {
                // A machine that has failed takes no answers.
                let _ = state.machine.reply(now, slot, reply);
            }
            state.take(batch, BATCH);
        });
        std::mem::take(&mut batch.actions)
    }

    fn start(&mut self, invocation: Invocation, now: Now) {
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

    fn notified(&self, notified: Notified) {
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
        let held = Arc::clone(&self.notified);
        // One is ours, and one is `held`.
        if matches!(notified, Notified::Custom { .. }) && Arc::strong_count(&held) >= MAX_NOTIFIED + 2 {
            let error = "too many notifications are being worked on, and this one is dropped";
            return report_failure(&link, &method, Err(HandlerError::hidden(error)));
        }
        match catch_unwind(AssertUnwindSafe(|| self.batch.catalogue.notified(notified, connection))) {
            Ok(None) => {}
            Ok(Some(work)) => self.link.runtime.spawn(Box::pin(async move {
                let _held = held;
                let outcome = AssertUnwindSafe(work).catch_unwind().await;
                report_failure(&link, &method, outcome.unwrap_or_else(|payload| Err(panicked(payload))));
            })),
            Err(payload) => report_failure(&link, &method, Err(panicked(payload))),
        }
    }

    fn act_on(&mut self, action: Action, now: Now, outbox: &mut Outbox, tracer: Option<&Tracer>) {
        if let Some(tracer) = tracer {
            tracer.server(&action);
        }
        match action {
            Action::Write(frame) => outbox.push(frame),
            Action::Invoke(invocation) => self.start(*invocation, now),
            Action::Cancelled { slot, reason } => {
                // A machine that closes cancels what runs.
                let why = if self.link.quietly(|state| state.machine.is_closed()) {
                    Cancelled::Disconnected
                } else {
                    Cancelled::ByClient(reason.map(Arc::from))
                };
                self.link.cancel(slot, why);
            }
            Action::Notified(notified) => self.notified(notified),
            Action::Answered { call, outcome } => self.link.answered(call, outcome),
            Action::Diagnostic(diagnostic) => self.link.shared.hooks.report(&Report::Diagnostic(&diagnostic)),
            Action::Closed(why) => {
                self.closed = Some(why);
                self.link.end();
            }
            // An action of a newer core has no meaning here.
            _ => {}
        }
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

impl Side for ServerSide {
    type Closed = Closed;
    // More requests, which nobody would get the answers of.
    const HEARS_LAST_WORDS: bool = false;

    fn register(&self, waker: &Waker) {
        self.link.register(waker);
    }

    fn status(&self) -> Status {
        self.link.quietly(|state| Status {
            wants_input: state.machine.wants_input(),
            // Queued actions are done in any case.
            deadline: state.machine.poll_timeout().filter(|(_, kind)| *kind != TimerKind::Actions).map(|(at, _)| at),
        })
    }

    fn handle(&mut self, now: Now, input: Input) {
        if let Err(error) = self.link.quietly(|state| state.machine.handle(now, input)) {
            self.failed.get_or_insert(error);
        }
    }

    fn timeout(&mut self, now: Now) {
        self.link.quietly(|state| state.machine.handle_timeout(now));
    }

    fn act(&mut self, now: Now, outbox: &mut Outbox, tracer: Option<&Tracer>) -> bool {
        let mut acted = false;
        loop {
            let mut actions = self.exchange(now);
            if actions.is_empty() {
                return acted;
            }
            acted = true;
            for action in actions.drain(..) {
                self.act_on(action, now, outbox, tracer);
            }
            self.batch.actions = actions;
        }
    }

    fn close(&mut self, now: Now) {
        self.link.quietly(|state| state.machine.close(now));
    }

    fn closed(&mut self) -> Option<Closed> {
        let closed = self.closed.take().or_else(|| self.failed.take().map(Closed::Failed));
        if closed.is_some() {
            self.link.end();
        }
        closed
    }
}

impl Drop for ServerSide {
    fn drop(&mut self) {
        // A driver that is dropped ends its connection.
        self.link.end();
    }
}
