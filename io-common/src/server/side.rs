//! The server's side of the driver loop: bytes become frames of a machine, and what it asks for becomes work.

use std::task::Waker;

use mcp_sansio::error::Error;
use mcp_sansio::machine::{Input, Now, TimerKind};
use mcp_sansio::server::{Action, Closed};

use super::machine::{Deed, Machine};
use super::worker::{Ready, Worker};
use crate::driver::{Outbox, Side, Status};
use crate::trace::Tracer;

pub(super) struct ServerSide {
    worker: Worker,
    ready: Vec<Ready>,
    deeds: Vec<Deed>,
    closed: Option<Closed>,
    failed: Option<Error>,
}

impl ServerSide {
    pub(super) const fn new(worker: Worker) -> Self {
        Self { worker, ready: Vec::new(), deeds: Vec::new(), closed: None, failed: None }
    }

    /// Uses the machine, which is one for streams here.
    fn quietly<T>(&self, verb: impl FnOnce(&mut mcp_sansio::server::Server) -> T) -> Option<T> {
        self.worker.link.quietly(|state| match &mut state.machine {
            Machine::Stream(machine) => Some(verb(machine)),
            #[cfg(feature = "http")]
            _ => None,
        })
    }

    fn act_on(&mut self, action: Action, now: Now, outbox: &mut Outbox, tracer: Option<&Tracer>) {
        if let Some(tracer) = tracer {
            tracer.server(&action);
        }
        match action {
            Action::Write(frame) => outbox.push(frame),
            Action::Invoke(invocation) => self.ready.extend(self.worker.invoke(*invocation, now)),
            Action::Cancelled { slot, reason } => self.worker.cancelled(slot, reason),
            Action::Notified(notified) => self.worker.notified(notified),
            Action::Answered { call, outcome } => self.worker.answered(call, outcome),
            Action::Diagnostic(diagnostic) => self.worker.diagnostic(&diagnostic),
            Action::Closed(why) => {
                self.closed = Some(why);
                self.worker.link.end();
            }
            // An action of a newer core has no meaning here.
            _ => {}
        }
    }
}

impl Side for ServerSide {
    type Closed = Closed;
    // More requests, which nobody would get the answers of.
    const HEARS_LAST_WORDS: bool = false;

    fn register(&self, waker: &Waker) {
        self.worker.link.register(waker);
    }

    fn status(&self) -> Status {
        let status = self.quietly(|machine| Status {
            wants_input: machine.wants_input(),
            // Queued actions are done in any case.
            deadline: machine.poll_timeout().filter(|(_, kind)| *kind != TimerKind::Actions).map(|(at, _)| at),
        });
        status.unwrap_or(Status { wants_input: false, deadline: None })
    }

    fn handle(&mut self, now: Now, input: Input) {
        if let Some(Err(error)) = self.quietly(|machine| machine.handle(now, input)) {
            self.failed.get_or_insert(error);
        }
    }

    fn timeout(&mut self, now: Now) {
        self.quietly(|machine| machine.handle_timeout(now));
    }

    fn act(&mut self, now: Now, outbox: &mut Outbox, tracer: Option<&Tracer>) -> bool {
        let mut acted = false;
        // What was answered has left by now, or waits for the client.
        self.worker.tidy();
        let mut deeds = std::mem::take(&mut self.deeds);
        loop {
            self.worker.take(now, &mut self.ready, &mut deeds);
            if deeds.is_empty() {
                self.deeds = deeds;
                return acted;
            }
            acted = true;
            for deed in deeds.drain(..) {
                match deed {
                    Deed::Stream(action) => self.act_on(action, now, outbox, tracer),
                    #[cfg(feature = "http")]
                    Deed::Http(_) => {}
                }
            }
        }
    }

    fn close(&mut self, now: Now) {
        self.quietly(|machine| machine.close(now));
    }

    fn closed(&mut self) -> Option<Closed> {
        let closed = self.closed.take().or_else(|| self.failed.take().map(Closed::Failed));
        if closed.is_some() {
            self.worker.link.end();
        }
        closed
    }
}

impl Drop for ServerSide {
    fn drop(&mut self) {
        // A driver that is dropped ends its connection.
        self.worker.link.end();
    }
}
